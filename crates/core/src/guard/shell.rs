//! A shell command, taken apart far enough to see which programs it runs with which words. Not a shell: what it
//! does not understand it treats as text, and it never fails.
//!
//! Data stays data: quoted text, here-documents and comments are not commands. What a shell would run is a
//! command, wherever it stands: after `&&`, in a loop, in `$(…)` inside double quotes.

use super::word::{assignment, braces, plain};

/// One piece of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Char {
        c: char,
        quoted: bool,
    },
    Var {
        name: String,
        quoted: bool,
    },
    /// `$(…)`: its text. What runs in it is among the items before.
    Output(String),
    /// An expansion that is not followed.
    Unknown,
}

pub type Word = Vec<Piece>;

/// A program with its words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simple {
    pub assignments: Vec<(String, Word)>,
    pub words: Vec<Word>,
    /// What it reads: a here-document or a here-string.
    pub input: Option<Word>,
    /// It reads what the program before it writes.
    pub piped: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    Run(Simple),
    /// `for NAME in WORDS`.
    Each(String, Vec<Word>),
    /// A subshell begins or ends: it has its own folder and variables.
    Enter,
    Leave,
}

/// Nesting deeper than this is treated as text.
pub(super) const DEPTH_MAX: usize = 24;
/// How far ahead an end is looked for: longer words and sums are treated as text.
pub(super) const LOOK_MAX: usize = 4096;

/// What a command runs, in order.
pub fn items(command: &str) -> Vec<Item> {
    // NUL is ours: it stands for the unknown.
    let chars: Vec<char> = command.chars().filter(|c| *c != '\0').collect();
    let mut parser = Parser::new(chars, 0);
    // A closing mark without an opening one ends a list, but not the text.
    while parser.at < parser.chars.len() {
        parser.list(&[]);
        parser.at += 1;
    }
    parser.items
}

/// A here-document whose text begins after the line.
struct Document {
    end: String,
    quoted: bool,
    tabs: bool,
    /// The item that reads it.
    reader: Option<usize>,
}

pub(super) struct Parser {
    pub(super) chars: Vec<char>,
    pub(super) at: usize,
    pub(super) depth: usize,
    pub(super) items: Vec<Item>,
    documents: Vec<Document>,
}

/// Words that precede a command and change nothing about it.
const BEFORE: [&str; 12] =
    ["if", "then", "else", "elif", "fi", "do", "done", "while", "until", "!", "{", "}"];

impl Parser {
    pub(super) fn new(chars: Vec<char>, depth: usize) -> Parser {
        Parser { chars, at: 0, depth, items: vec![], documents: vec![] }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    pub(super) fn sees(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(n, c)| self.chars.get(self.at + n) == Some(&c))
    }

    pub(super) fn take(&mut self, text: &str) -> bool {
        let seen = self.sees(text);
        if seen {
            self.at += text.chars().count();
        }
        seen
    }

    /// Commands up to a `)`, a `;;`, or one of `ends` where a command would begin.
    fn list(&mut self, ends: &[&str]) {
        let mut piped = false;
        loop {
            self.blanks();
            let Some(c) = self.peek() else { return };
            match c {
                '\n' => {
                    self.at += 1;
                    self.bodies();
                }
                ')' => return,
                ';' if self.sees(";;") || self.sees(";&") => return,
                ';' => {
                    self.at += 1;
                    piped = false;
                }
                '&' => {
                    self.at += if self.sees("&&") { 2 } else { 1 };
                    piped = false;
                }
                '|' => {
                    piped = !self.sees("||");
                    self.at += if self.sees("||") || self.sees("|&") { 2 } else { 1 };
                }
                '(' if self.sees("((") && self.arithmetic(2) => {}
                '(' => {
                    self.at += 1;
                    self.scope();
                }
                _ => {
                    let before = self.at;
                    if self.reserved(ends) {
                        return;
                    }
                    if self.at == before {
                        self.simple(piped);
                        piped = false;
                    }
                    // Whatever is there, move on.
                    if self.at == before {
                        self.at += 1;
                    }
                }
            }
        }
    }

    /// A nested list, up to its `)`. The opening has been consumed.
    pub(super) fn scope(&mut self) {
        if self.depth >= DEPTH_MAX {
            self.at = self.chars.len();
            return;
        }
        self.depth += 1;
        self.items.push(Item::Enter);
        loop {
            self.list(&[]);
            // A `;;` that belongs to nothing.
            if self.sees(";") {
                self.at += 2;
                continue;
            }
            break;
        }
        self.take(")");
        self.items.push(Item::Leave);
        self.depth -= 1;
    }

    /// The plain word here, without consuming it.
    fn plain_word(&self) -> String {
        let is_word = |c: &char| !c.is_whitespace() && !";&|()<>'\"`$\\#".contains(*c);
        self.chars[self.at.min(self.chars.len())..].iter().take_while(|c| is_word(c)).take(16).collect()
    }

    /// Consumes what a shell's grammar allows before a command. Returns whether the list has ended.
    fn reserved(&mut self, ends: &[&str]) -> bool {
        let word = self.plain_word();
        let length = word.chars().count();
        if ends.contains(&word.as_str()) {
            self.at += length;
            return true;
        }
        match word.as_str() {
            "for" | "select" => {
                self.at += length;
                self.each();
            }
            "case" => {
                self.at += length;
                self.case();
            }
            "[[" => {
                self.at += length;
                self.test();
            }
            "function" => {
                self.at += length;
                self.blanks();
                self.word();
            }
            word if BEFORE.contains(&word) => self.at += length,
            _ => {}
        }
        false
    }

    fn each(&mut self) {
        self.blanks();
        let name = plain(&self.word()).unwrap_or_default();
        self.blanks();
        if self.plain_word() != "in" {
            return;
        }
        self.at += 2;
        let mut words = vec![];
        loop {
            self.blanks();
            let before = self.at;
            match self.peek() {
                None | Some('\n' | ';' | ')' | '&' | '|') => break,
                _ => words.extend(braces(self.word())),
            }
            if self.at == before {
                self.at += 1;
            }
        }
        self.items.push(Item::Each(name, words));
    }

    fn case(&mut self) {
        self.blanks();
        self.word();
        self.spaces();
        if self.plain_word() != "in" || self.depth >= DEPTH_MAX {
            return;
        }
        self.at += 2;
        self.depth += 1;
        loop {
            self.spaces();
            if self.plain_word() == "esac" {
                self.at += 4;
                break;
            }
            self.take("(");
            // The pattern.
            while self.peek().is_some_and(|c| c != ')') {
                let before = self.at;
                self.spaces();
                self.take("|");
                self.word();
                if self.at == before {
                    self.at += 1;
                }
            }
            if !self.take(")") {
                break;
            }
            self.list(&["esac"]);
            if !(self.take(";;&") || self.take(";;") || self.take(";&")) {
                break;
            }
        }
        self.depth -= 1;
    }

    /// `[[ … ]]`: no commands except in expansions.
    fn test(&mut self) {
        loop {
            self.spaces();
            let before = self.at;
            let word = plain(&self.word());
            if word.as_deref() == Some("]]") || self.peek().is_none() {
                return;
            }
            if self.at == before {
                self.at += 1;
            }
        }
    }

    /// Skips `((…))`, whose opening is `skip` characters long. `false`: it is not one.
    pub(super) fn arithmetic(&mut self, skip: usize) -> bool {
        let mut open = 0_usize;
        for at in self.at + skip..self.chars.len().min(self.at + LOOK_MAX) {
            match self.chars[at] {
                '(' => open += 1,
                ')' if open == 0 => {
                    let closed = self.chars.get(at + 1) == Some(&')');
                    if closed {
                        self.at = at + 2;
                    }
                    return closed;
                }
                ')' => open -= 1,
                '\n' => return false,
                _ => {}
            }
        }
        false
    }

    /// Spaces, tabs, continued lines and comments.
    fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t' | '\r') => self.at += 1,
                Some('\\') if self.sees("\\\n") => self.at += 2,
                Some('#') => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    /// The same, and line ends.
    fn spaces(&mut self) {
        loop {
            self.blanks();
            if !self.take("\n") {
                return;
            }
            self.bodies();
        }
    }

    fn simple(&mut self, piped: bool) {
        let mut simple = Simple { piped, ..Simple::default() };
        let first_document = self.documents.len();
        loop {
            self.blanks();
            let Some(c) = self.peek() else { break };
            match c {
                '\n' | ';' | '|' | ')' => break,
                '&' if self.sees("&>") => {
                    self.at += 2;
                    self.take(">");
                    self.blanks();
                    self.word();
                }
                '&' => break,
                '(' => {
                    // `name()`: what follows is a function body.
                    if self.take("()") {
                        return;
                    }
                    break;
                }
                '<' | '>' if !self.sees("<(") && !self.sees(">(") => self.redirection(&mut simple),
                _ => {
                    let before = self.at;
                    let word = self.word();
                    if self.at == before {
                        break;
                    }
                    let number = word
                        .iter()
                        .all(|p| matches!(p, Piece::Char { c, quoted: false } if c.is_ascii_digit()));
                    if number && matches!(self.peek(), Some('<' | '>')) {
                        continue;
                    }
                    match assignment(&word) {
                        Some(assignment) if simple.words.is_empty() => simple.assignments.push(assignment),
                        _ => simple.words.extend(braces(word)),
                    }
                }
            }
        }
        if !simple.words.is_empty() || !simple.assignments.is_empty() {
            let reader = self.items.len();
            self.items.push(Item::Run(simple));
            for document in self.documents.iter_mut().skip(first_document) {
                document.reader = Some(reader);
            }
        }
    }

    fn redirection(&mut self, simple: &mut Simple) {
        if self.take("<<<") {
            self.blanks();
            simple.input = Some(self.word());
            return;
        }
        if self.take("<<") {
            let tabs = self.take("-");
            self.blanks();
            let word = self.word();
            let quoted = word.iter().any(|piece| matches!(piece, Piece::Char { quoted: true, .. }));
            let end = plain(&word).unwrap_or_default();
            self.documents.push(Document { end, quoted, tabs, reader: None });
            return;
        }
        while self.peek().is_some_and(|c| "<>&|".contains(c)) && !self.sees("<(") && !self.sees(">(") {
            self.at += 1;
        }
        self.blanks();
        self.word();
    }

    /// The here-documents that were announced on the line that just ended.
    fn bodies(&mut self) {
        for document in std::mem::take(&mut self.documents) {
            let mut body = String::new();
            while self.at < self.chars.len() {
                let rest = &self.chars[self.at..];
                let length = rest.iter().position(|c| *c == '\n').unwrap_or(rest.len());
                let line: String = rest[..length].iter().collect();
                self.at += (length + 1).min(rest.len());
                let text = if document.tabs { line.trim_start_matches('\t') } else { &line };
                if text == document.end {
                    break;
                }
                body.push_str(text);
                body.push('\n');
            }
            let word: Word = if document.quoted {
                body.chars().map(|c| Piece::Char { c, quoted: true }).collect()
            } else {
                self.expansions_of(&body)
            };
            if let Some(Item::Run(simple)) = document.reader.and_then(|reader| self.items.get_mut(reader)) {
                simple.input = Some(word);
            }
        }
    }
}
