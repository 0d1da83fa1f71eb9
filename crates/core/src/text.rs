//! Text from outside: issues, reviews, logs, screens. None of it reaches a terminal, a prompt or a comment before
//! it has passed through here.

/// Makes text safe to show and to type: escape sequences are removed whole, other control
/// characters (and the invisible ones that reorder text) are dropped, line ends become `\n`.
/// Tabs and newlines stay.
pub fn neutralise(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_csi(&mut chars),
            '\r' => {
                if chars.peek() != Some(&'\n') {
                    out.push('\n');
                }
            }
            '\n' | '\t' => out.push(c),
            c if c.is_control() || is_invisible(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// Characters that cannot be seen but change how the text around them reads.
pub fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_csi(chars);
        }
        // OSC, DCS, SOS, PM, APC: up to BEL or ST.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            chars.next();
            while let Some(c) = chars.next() {
                if c == '\u{7}' || c == '\u{9c}' || c == '\n' {
                    break;
                }
                if c == '\u{1b}' {
                    if chars.peek() == Some(&'\\') {
                        chars.next();
                    }
                    break;
                }
            }
        }
        Some(c) if ('\u{20}'..='\u{2f}').contains(c) => {
            while chars.next_if(|c| ('\u{20}'..='\u{2f}').contains(c)).is_some() {}
            chars.next();
        }
        Some(_) => {
            chars.next();
        }
        None => {}
    }
}

fn skip_csi(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while let Some(c) = chars.peek().copied() {
        if ('\u{20}'..='\u{3f}').contains(&c) {
            chars.next();
        } else {
            if ('\u{40}'..='\u{7e}').contains(&c) {
                chars.next();
            }
            break;
        }
    }
}

/// Characters that show nothing and that clients drop from pasted text: joiners, variation selectors, soft hyphens
/// and the like.
pub fn is_ignorable(c: char) -> bool {
    is_invisible(c)
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Added below a text in which [`inert`] broke something up.
const INERT_NOTE: &str =
    "(In this text `\\@` stands for a plain @: the backslash only keeps your client from attaching a file.)";

/// A text that a client passes on to its model as it is. A command at its beginning and an `@` that the client
/// would take for a file get a backslash, and a last line says so; any other mark of `mentions` is separated from
/// its word by a character that shows nothing, for there a backslash does not help.
///
/// Measured on Claude Code 2.1.325 and Codex 0.166.0: an `@` counts at the beginning, after white space and after
/// some non-ASCII characters; characters that show nothing are dropped before that is examined.
pub fn inert(text: &str, commands: &[String], mentions: &[char]) -> String {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || is_ignorable(c));
    let mut out = String::with_capacity(text.len() + 8);
    if commands.iter().any(|command| text.starts_with(command.as_str())) {
        out.push('\\');
    }
    let mut escaped = false;
    let mut before: Option<char> = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let after = rest.as_str();
        let next = after.chars().next();
        if mentions.contains(&c) {
            let word = next.is_some_and(|next| !next.is_whitespace());
            // A hunk's header: `@@ -1,2 +1,3 @@`.
            let hunk = after.strip_prefix('@').is_some_and(|rest| rest.starts_with([' ', '\n']));
            let open = before.is_none_or(|b| b.is_whitespace() || !b.is_ascii());
            if c == '@' && open && word && !hunk {
                out.push('\\');
                escaped = true;
            }
            out.push(c);
            if c != '@' && next.is_some_and(|next| next.is_ascii_lowercase()) {
                out.push('\u{200c}');
            }
        } else {
            out.push(c);
        }
        before = Some(c);
    }
    if escaped {
        out.push_str("\n\n");
        out.push_str(INERT_NOTE);
    }
    out
}

/// The text as one line, neutralised: for titles, names and table cells.
pub fn one_line(text: &str, chars_max: usize) -> String {
    let flat: String = neutralise(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= chars_max {
        return flat;
    }
    let mut cut: String = flat.chars().take(chars_max.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// The beginning of a text, at most `bytes_max` bytes, with a note on what was left out.
pub fn head(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let mut end = bytes_max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}\n[… {} more bytes left out]", &text[..end], text.len() - end)
}

/// The end of a text, at most `bytes_max` bytes, beginning at a line where possible.
pub fn tail(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let mut start = text.len() - bytes_max;
    while !text.is_char_boundary(start) {
        start += 1;
    }
    if let Some(newline) = text[start..].find('\n')
        && start + newline + 1 < text.len()
    {
        start += newline + 1;
    }
    format!("[… {start} bytes before this left out]\n{}", &text[start..])
}

/// One word, as a shell reads it back.
pub fn shell_word(word: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./".contains(&b);
    match !word.is_empty() && word.bytes().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// A run of backticks longer than any in the text: nothing between two of them can end them.
pub fn fence(text: &str) -> String {
    let (mut longest, mut run) = (2, 0);
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    "`".repeat(longest + 1)
}

/// Replaces secrets. Holds the values of every secret that the configuration names, and knows the shape of common
/// tokens, so that even a secret nobody configured is caught on its way out.
#[derive(Clone, Default)]
pub struct Redactor {
    secrets: Vec<String>,
}

pub const REDACTED: &str = "[redacted]";

/// Prefixes of well-known tokens; the token is what follows of `[A-Za-z0-9_-]` (at least 16).
const TOKEN_PREFIXES: [&str; 12] = [
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "sk-ant-",
    "sk-proj-",
    "sk-",
    "xoxb-",
    "syt_",
    "AKIA",
];

impl Redactor {
    /// Values shorter than four characters are left alone: they would redact ordinary words.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut secrets: Vec<String> = secrets.into_iter().filter(|s| s.len() >= 4).collect();
        secrets.sort_by_key(|s| std::cmp::Reverse(s.len()));
        Redactor { secrets }
    }

    pub fn redact(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for secret in &self.secrets {
            if out.contains(secret.as_str()) {
                out = out.replace(secret.as_str(), REDACTED);
            }
        }
        redact_url_credentials(&redact_shapes(&out))
    }
}

/// Never shows what it hides.
impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} secrets)", self.secrets.len())
    }
}

fn redact_shapes(text: &str) -> String {
    let is_token = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut previous = ' ';
    while !rest.is_empty() {
        let hit =
            (!is_token(previous)).then(|| TOKEN_PREFIXES.iter().find(|p| rest.starts_with(**p))).flatten();
        if let Some(prefix) = hit {
            let len = rest.find(|c| !is_token(c)).unwrap_or(rest.len());
            if len >= prefix.len() + 16 {
                out.push_str(REDACTED);
                previous = 'x';
                rest = &rest[len..];
                continue;
            }
        }
        let c = rest.chars().next().expect("rest is not empty");
        out.push(c);
        previous = c;
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// `https://user:password@host` becomes `https://[redacted]@host`.
fn redact_url_credentials(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after
            .find(|c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\'' | '<' | '>'))
            .unwrap_or(after.len());
        rest = match after[..end].rfind('@') {
            Some(sign) if after[..sign].contains(':') => {
                out.push_str(REDACTED);
                &after[sign..]
            }
            _ => after,
        };
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_controls_vanish() {
        let check = |input: &str, expect: &str| assert_eq!(neutralise(input), expect, "{input:?}");
        check("plain\ttext\n", "plain\ttext\n");
        check("\x1b[31mred\x1b[0m", "red");
        check("\x1b]0;title\x07after", "after");
        check("\x1b]8;;http://x\x1b\\link", "link");
        check("\x1bPq#0\x1b\\six", "six");
        check("\x1b[200~paste\x1b[201~", "paste");
        check("\x1b(Bx\x1b=y\x1bcz", "xyz");
        check("a\0b\x07c\x7fd\u{9b}31me", "abcde");
        check("one\r\ntwo\rthree", "one\ntwo\nthree");
        check("abc\u{202e}def\u{200b}", "abcdef");
        check("\x1b", "");
        check("\x1b[", "");
        check("\x1b]never ends", "");
    }

    #[test]
    fn what_a_client_would_expand_is_broken_up() {
        let commands = ["/".to_owned(), "!".to_owned(), "&".to_owned()];
        let first = |text: &str| inert(text, &commands, &['@']).lines().next().unwrap_or("").to_owned();
        for (text, expect) in [
            ("see @/home/me/secret.txt", "see \\@/home/me/secret.txt"),
            ("@README.md", "\\@README.md"),
            ("see\u{3002}@README.md", "see\u{3002}\\@README.md"),
            ("see \u{ad}@README.md", "see \u{ad}\\@README.md"),
            ("see @\"a b\"", "see \\@\"a b\""),
            ("mail a@b.example, (@x), `@x`, @ x", "mail a@b.example, (@x), `@x`, @ x"),
            ("@@ -1,2 +1,3 @@ fn x", "@@ -1,2 +1,3 @@ fn x"),
            ("@@secret", "\\@@secret"),
            ("/clear", "\\/clear"),
            (" \u{ad}/clear", "\\/clear"),
            ("a /clear b & !x", "a /clear b & !x"),
            ("& later", "\\& later"),
            ("costs $skill", "costs $skill"),
        ] {
            assert_eq!(first(text), expect, "{text:?}");
        }
        assert!(inert("a\n@b", &commands, &['@']).ends_with(&format!("\n\\@b\n\n{INERT_NOTE}")));
        assert_eq!(inert("a\nb", &commands, &['@']), "a\nb", "nothing is said of nothing");
        // A backslash is not enough for skills: `\$name` counts as well.
        assert_eq!(
            inert("use $skill-x, $HOME, 5$", &commands, &['@', '$']),
            "use $\u{200c}skill-x, $HOME, 5$"
        );
    }

    #[test]
    fn a_shell_word_is_one_word() {
        let words = ["a/b-c", "", "a b", "it's", "$(x)"].map(shell_word);
        assert_eq!(words, ["a/b-c", "''", "'a b'", r"'it'\''s'", "'$(x)'"]);
    }

    #[test]
    fn cutting_keeps_characters_whole_and_says_so() {
        assert_eq!(head("äöü", 3), "ä\n[… 4 more bytes left out]");
        assert_eq!(tail("äöü", 3), "[… 4 bytes before this left out]\nü");
        assert_eq!(tail("first\nsecond\n", 9), "[… 6 bytes before this left out]\nsecond\n");
        assert_eq!(one_line(" a\n b\x1b[2J ", 10), "a b");
        assert_eq!(one_line("abcdef", 4), "abc…");
    }

    #[test]
    fn secrets_are_replaced_wherever_they_stand() {
        let r = Redactor::new(["hunter22".to_owned(), "abc".to_owned()]);
        assert_eq!(r.redact("pw=hunter22, abc"), "pw=[redacted], abc");
        let token = format!("sk-ant-{}", "a1".repeat(12));
        assert_eq!(r.redact(&format!("key {token}.")), "key [redacted].");
        assert_eq!(r.redact("task-list and sk-short"), "task-list and sk-short");
        assert_eq!(r.redact("risk-0123456789abcdefghij"), "risk-0123456789abcdefghij");
        assert_eq!(r.redact("https://bob:pw@host/x"), "https://[redacted]@host/x");
        assert_eq!(r.redact("https://host/a@b:c"), "https://host/a@b:c");
        assert_eq!(format!("{r:?}"), "Redactor(1 secrets)");
    }

    #[test]
    fn shell_words_are_taken_as_they_are() {
        for (word, expect) in [
            ("plain-5.3", "plain-5.3"),
            ("", "''"),
            ("a b", "'a b'"),
            ("$(x) `y` \"z\"", "'$(x) `y` \"z\"'"),
            ("it's", r"'it'\''s'"),
            ("a\nb", "'a\nb'"),
        ] {
            assert_eq!(shell_word(word), expect);
        }
    }
}
