//! Commands for tmux's own parser, written so that it takes every argument literally.
//!
//! Every argument is a double-quoted word in which everything but harmless ASCII is an octal escape: no
//! variable, comment, brace, separator, tilde or line end is left for the parser to see. What a *command*
//! makes of its argument (formats, key names, targets) is its own affair.

use std::fmt::Write;

/// One line of the connection, with its end. `None` if a word holds a NUL byte, or if there is no word: to
/// tmux, an empty line means that we want to leave.
pub fn line(words: &[impl AsRef<[u8]>]) -> Option<String> {
    let mut out = String::new();
    for word in words {
        if !out.is_empty() {
            out.push(' ');
        }
        quote(&mut out, word.as_ref())?;
    }
    if out.is_empty() {
        return None;
    }
    out.push('\n');
    Some(out)
}

fn quote(out: &mut String, word: &[u8]) -> Option<()> {
    out.push('"');
    for byte in word {
        match byte {
            0 => return None,
            b'A'..=b'Z'
            | b'a'..=b'z'
            | b'0'..=b'9'
            | b' '
            | b'-'
            | b'_'
            | b'.'
            | b'/'
            | b':'
            | b'='
            | b',' => {
                out.push(*byte as char);
            }
            // Formats stay readable; inside quotes these mean nothing to the parser.
            b'#' | b'{' | b'}' | b'|' | b'@' | b'%' => out.push(*byte as char),
            other => write!(out, "\\{other:03o}").ok()?,
        }
    }
    out.push('"');
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted() {
        for (words, expected) in [
            (&["list-panes", "-t", "=a:"][..], Some("\"list-panes\" \"-t\" \"=a:\"\n")),
            (&["a b", ""], Some("\"a b\" \"\"\n")),
            (&["it's;\n$x~\\\"ü"], Some(r#""it\047s\073\012\044x\176\134\042\303\274""#)),
            (&["#{pid}|%1@2"], Some("\"#{pid}|%1@2\"\n")),
            (&["a\0"], None),
            (&[], None),
        ] {
            let expected = expected.map(|line| format!("{}\n", line.trim_end()));
            assert_eq!(line(words), expected, "{words:?}");
        }
        assert_eq!(line(&[&[0xff_u8][..]]).as_deref(), Some("\"\\377\"\n"));
    }
}
