//! Text from outside: issues, reviews, logs, screens. None of it reaches a terminal, a prompt or a comment before
//! it has passed through here.

/// Makes text safe to show and to type: escape sequences are removed whole, other control
/// characters and all invisible ones are dropped, line ends become `\n`. Tabs and newlines stay, and so do the
/// joiners between pictures.
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
            JOINER if out.ends_with(is_picture) && chars.peek().copied().is_some_and(is_picture) => {
                out.push(c);
            }
            c if c.is_control() || is_invisible(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// Characters that cannot be seen, but change how the text around them reads or carry a text of their own: Unicode's
/// format characters, tags and variation selectors.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}'
        | '\u{8e2}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// What joins two pictures into one.
const JOINER: char = '\u{200d}';

fn is_picture(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{2600}'..='\u{27bf}'
        | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
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
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || is_invisible(c));
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

/// A number of bytes as people read it.
pub fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.into_iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => format!("{:.1} {name}", bytes as f64 / unit as f64),
        None => format!("{bytes} B"),
    }
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
        check(
            "a\u{61c}b\u{2066}c\u{200c}d\u{200d}e\u{feff}f\u{e0041}\u{e007f}g\u{fe0f}h\u{e0101}",
            "abcdefgh",
        );
        check(
            "\u{1f469}\u{200d}\u{1f4bb} \u{2764}\u{fe0f}\u{200d}\u{1f525}",
            "\u{1f469}\u{200d}\u{1f4bb} \u{2764}\u{200d}\u{1f525}",
        );
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
