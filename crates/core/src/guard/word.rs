//! Words: quotes, variables, `$(…)`, braces. The other half of [`super::shell`].

use super::shell::{DEPTH_MAX, LOOK_MAX, Parser, Piece, Word};

/// How many alternatives a word's braces may yield.
const BRACES_MAX: usize = 64;

impl Parser {
    /// A text as inside double quotes: commands in it run.
    pub(super) fn expansions_of(&mut self, text: &str) -> Word {
        if self.depth >= DEPTH_MAX {
            return vec![Piece::Unknown];
        }
        let chars = text.chars().collect();
        let mut inner = Parser::new(chars, self.depth + 1);
        let mut word = vec![];
        while let Some(c) = inner.peek() {
            inner.in_double_quotes(c, &mut word);
        }
        self.items.append(&mut inner.items);
        word
    }

    pub(super) fn word(&mut self) -> Word {
        let mut word = vec![];
        while let Some(c) = self.peek() {
            match c {
                c if c.is_whitespace() => break,
                ';' | '&' | '|' | '(' | ')' => break,
                '<' | '>' if self.sees("<(") || self.sees(">(") => {
                    self.at += 2;
                    self.scope();
                    word.push(Piece::Unknown);
                }
                '<' | '>' => break,
                '\\' => {
                    self.at += 1;
                    match self.peek() {
                        Some('\n') => {}
                        Some(c) => word.push(Piece::Char { c, quoted: true }),
                        None => break,
                    }
                    self.at += 1;
                }
                '\'' => {
                    self.at += 1;
                    self.single_quotes(&mut word, false);
                }
                '"' => {
                    self.at += 1;
                    self.double_quotes(&mut word);
                }
                '$' if self.sees("$'") => {
                    self.at += 2;
                    self.single_quotes(&mut word, true);
                }
                '$' if self.sees("$\"") => {
                    self.at += 2;
                    self.double_quotes(&mut word);
                }
                '$' | '`' => self.expansion(false, &mut word),
                c => {
                    word.push(Piece::Char { c, quoted: false });
                    self.at += 1;
                }
            }
        }
        word
    }

    fn single_quotes(&mut self, word: &mut Word, escapes: bool) {
        // Even an empty text is a word: this keeps it one.
        while let Some(mut c) = self.peek() {
            self.at += 1;
            if c == '\'' {
                return;
            }
            if escapes && c == '\\' {
                c = match self.peek() {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    Some(other) => other,
                    None => return,
                };
                self.at += 1;
            }
            word.push(Piece::Char { c, quoted: true });
        }
    }

    fn double_quotes(&mut self, word: &mut Word) {
        while let Some(c) = self.peek() {
            if c == '"' {
                self.at += 1;
                return;
            }
            self.in_double_quotes(c, word);
        }
    }

    fn in_double_quotes(&mut self, c: char, word: &mut Word) {
        match c {
            '\\' => {
                self.at += 1;
                match self.peek() {
                    Some('\n') => {}
                    Some(c @ ('$' | '`' | '"' | '\\')) => word.push(Piece::Char { c, quoted: true }),
                    Some(c) => {
                        word.push(Piece::Char { c: '\\', quoted: true });
                        word.push(Piece::Char { c, quoted: true });
                    }
                    None => return,
                }
                self.at += 1;
            }
            '$' | '`' => self.expansion(true, word),
            c => {
                word.push(Piece::Char { c, quoted: true });
                self.at += 1;
            }
        }
    }

    /// `$name`, `${…}`, `$(…)`, `$((…))` and backticks.
    fn expansion(&mut self, quoted: bool, word: &mut Word) {
        if self.depth >= DEPTH_MAX {
            self.at += 1;
            word.push(Piece::Unknown);
            return;
        }
        self.depth += 1;
        self.expand(quoted, word);
        self.depth -= 1;
    }

    fn expand(&mut self, quoted: bool, word: &mut Word) {
        if self.take("`") {
            let rest = &self.chars[self.at..];
            let mut length = 0;
            while rest.get(length).is_some_and(|c| *c != '`') {
                length += if rest[length] == '\\' { 2 } else { 1 };
            }
            let inner: String = rest.iter().take(length).collect();
            self.at = (self.at + length + 1).min(self.chars.len());
            self.run_inner(&inner.replace("\\`", "`"));
            word.push(Piece::Output(inner));
        } else if self.sees("$((") && self.arithmetic(3) {
            word.push(Piece::Unknown);
        } else if self.take("$(") {
            let from = self.at;
            self.scope();
            let to = self.at.saturating_sub(1).clamp(from, self.chars.len());
            word.push(Piece::Output(self.chars[from..to].iter().collect()));
        } else if self.take("${") {
            self.parameter(quoted, word);
        } else {
            self.at += 1;
            let is_name = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
            let name: String =
                self.chars[self.at.min(self.chars.len())..].iter().take_while(|c| is_name(c)).collect();
            match name.chars().count() {
                0 if self.peek().is_some_and(|c| "@*#?-$!".contains(c)) => {
                    self.at += 1;
                    word.push(Piece::Unknown);
                }
                0 => word.push(Piece::Char { c: '$', quoted: true }),
                length => {
                    self.at += length;
                    word.push(Piece::Var { name, quoted });
                }
            }
        }
    }

    /// What is inside `${…}`, after its opening.
    fn parameter(&mut self, quoted: bool, word: &mut Word) {
        let mut inside = vec![];
        let from = self.at;
        while let Some(c) = self.peek() {
            match c {
                '}' => break,
                // Only for the commands in it, and to find its end.
                '\'' if !quoted => {
                    self.at += 1;
                    self.single_quotes(&mut inside, false);
                }
                '"' => {
                    self.at += 1;
                    self.double_quotes(&mut inside);
                }
                c => self.in_double_quotes(c, &mut inside),
            }
        }
        let name: String = self.chars[from..self.at.min(self.chars.len())].iter().collect();
        self.at = (self.at + 1).min(self.chars.len());
        // `${name:?}`: the shell stops if it has no value.
        let name = name.split_once(":?").map_or(name.as_str(), |(name, _)| name);
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        word.push(if is_name { Piece::Var { name: name.to_owned(), quoted } } else { Piece::Unknown });
    }

    fn run_inner(&mut self, command: &str) {
        if self.depth >= DEPTH_MAX {
            return;
        }
        let chars = command.chars().collect();
        let mut inner = Parser::new(chars, self.depth);
        inner.scope();
        self.items.append(&mut inner.items);
    }
}

/// `NAME=…` before a command.
pub(super) fn assignment(word: &Word) -> Option<(String, Word)> {
    let mut name = String::new();
    for (n, piece) in word.iter().enumerate() {
        match piece {
            Piece::Char { c: '=', quoted: false } if !name.is_empty() => {
                return Some((name, word[n + 1..].to_vec()));
            }
            Piece::Char { c, quoted: false }
                if c.is_ascii_alphabetic() || *c == '_' || (n > 0 && c.is_ascii_digit()) =>
            {
                name.push(*c);
            }
            _ => return None,
        }
    }
    None
}

/// The text of a word that has no expansion in it.
pub(super) fn plain(word: &Word) -> Option<String> {
    word.iter().map(|piece| if let Piece::Char { c, .. } = piece { Some(*c) } else { None }).collect()
}

/// Expands `a{b,c}d` to `abd` and `acd`.
pub(super) fn braces(word: Word) -> Vec<Word> {
    let mut done = vec![];
    let mut todo = vec![word];
    while let Some(word) = todo.pop() {
        let room = done.len() + todo.len() < BRACES_MAX;
        match alternatives(&word).filter(|_| room) {
            Some(more) => todo.extend(more.into_iter().rev()),
            None => done.push(word),
        }
    }
    done
}

/// The word once for each alternative of its first braces that contain a comma.
fn alternatives(word: &Word) -> Option<Vec<Word>> {
    if word.len() > LOOK_MAX {
        return None;
    }
    let bare = |piece: &Piece| if let Piece::Char { c, quoted: false } = piece { Some(*c) } else { None };
    for open in (0..word.len()).filter(|n| bare(&word[*n]) == Some('{')) {
        let (mut depth, mut cuts) = (0, vec![open]);
        for (n, piece) in word.iter().enumerate().skip(open + 1) {
            match bare(piece) {
                Some('{') => depth += 1,
                Some('}') if depth > 0 => depth -= 1,
                Some(',') if depth == 0 => cuts.push(n),
                Some('}') => {
                    cuts.push(n);
                    if cuts.len() < 3 {
                        break;
                    }
                    let part = |pair: &[usize]| {
                        [&word[..open], &word[pair[0] + 1..pair[1]], &word[n + 1..]].concat()
                    };
                    return Some(cuts.windows(2).map(part).collect());
                }
                _ => {}
            }
        }
    }
    None
}
