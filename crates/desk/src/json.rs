//! JSON for programs that is also safe to display.

use serde::Serialize;
use shopfloor_core::text;

/// A value on one line.
pub fn text(value: &impl Serialize) -> String {
    shield(&serde_json::to_string(value).expect("output types have string keys only"))
}

/// A value on several lines, for people to read as well.
pub fn pretty(value: &impl Serialize) -> String {
    shield(&serde_json::to_string_pretty(value).expect("output types have string keys only"))
}

/// JSON only has to escape control characters up to U+001F; a terminal also obeys some of those beyond, and
/// the invisible ones mislead people. They occur only in strings, so escaping them changes nothing for a
/// parser.
fn shield(json: &str) -> String {
    let unsafe_to_show = |c: char| ('\u{7f}'..='\u{9f}').contains(&c) || text::is_invisible(c);
    if !json.contains(unsafe_to_show) {
        return json.to_owned();
    }
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if unsafe_to_show(c) {
            out.push_str(&format!("\\u{:04x}", c as u32));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_shows_no_control_character_and_parses_to_the_same() {
        let value = "a\u{1b}[31m\u{7f}\u{9b}2J\u{202e}b\u{feff}\n";
        let shown = shield(&serde_json::to_string(value).unwrap());
        assert!(!shown.contains(|c: char| c.is_control() || text::is_invisible(c)), "{shown}");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), value);
    }
}
