//! Secrets in text: hidden on their way out, found in what is about to be published.

use std::fmt::Write;

/// Replaces secrets. Holds the values of every secret that the configuration names, in the forms in which programs
/// print them, and knows the shape of common tokens, so that even a secret nobody configured is caught.
#[derive(Clone, Default, Hash)]
pub struct Redactor {
    /// Values and their other forms, longest first.
    secrets: Vec<String>,
    values: usize,
    /// What is to be hidden is not known, so nothing is shown.
    blind: bool,
}

pub const REDACTED: &str = "[redacted]";
/// What is shown of a text whose secrets are not known.
pub const WITHHELD: &str = "[withheld: the project's secrets cannot be read, so nothing can be hidden in it]";

/// Shorter values would redact ordinary words.
const VALUE_MIN: usize = 4;
/// A line of a many-line secret that is this long is hidden also where it stands alone.
const LINE_MIN: usize = 12;
/// Encoded forms that are shorter than this would be found in ordinary text.
const ENCODED_MIN: usize = 10;

/// Prefixes of well-known tokens; the token is what follows of `[A-Za-z0-9_-]` (at least 16).
const TOKEN_PREFIXES: [&str; 16] = [
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "sk-ant-",
    "sk-proj-",
    "sk-",
    "xoxb-",
    "xoxa-",
    "xoxp-",
    "xoxr-",
    "syt_",
    "AKIA",
];

/// Those of them that are hardly ever anything else, with the least length of what follows: a commit is held for
/// these.
const CERTAIN: [(&str, usize); 13] = [
    ("ghp_", 36),
    ("gho_", 36),
    ("ghs_", 36),
    ("ghu_", 36),
    ("ghr_", 36),
    ("github_pat_", 40),
    ("glpat-", 20),
    ("sk-ant-", 32),
    ("xoxb-", 24),
    ("xoxa-", 24),
    ("xoxp-", 24),
    ("xoxr-", 24),
    ("AKIA", 16),
];

/// What a line holds that must not be published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leak {
    /// A value of the project's `[secrets]`.
    Configured,
    PrivateKey,
    Token,
}

impl Leak {
    pub fn as_str(self) -> &'static str {
        match self {
            Leak::Configured => "a secret of this project",
            Leak::PrivateKey => "a private key",
            Leak::Token => "an access token",
        }
    }
}

impl Redactor {
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let values: Vec<String> = secrets.into_iter().filter(|s| s.len() >= VALUE_MIN).collect();
        let mut secrets: Vec<String> = values.iter().flat_map(|value| forms(value)).collect();
        secrets.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        secrets.dedup();
        Redactor { secrets, values: values.len(), blind: false }
    }

    /// For when a secret cannot be read: shows nothing at all.
    pub fn blind() -> Self {
        Redactor { blind: true, ..Redactor::default() }
    }

    pub fn is_blind(&self) -> bool {
        self.blind
    }

    pub fn redact(&self, text: &str) -> String {
        if self.blind && !text.is_empty() {
            return WITHHELD.to_owned();
        }
        let mut out = text.to_owned();
        for secret in &self.secrets {
            if out.contains(secret.as_str()) {
                out = out.replace(secret.as_str(), REDACTED);
            }
        }
        redact_url_credentials(&redact_shapes(&redact_keys(&out)))
    }

    /// Whether a line of a file may not be published, and why.
    pub fn leak(&self, line: &str) -> Option<Leak> {
        if self.secrets.iter().any(|secret| line.contains(secret.as_str())) {
            Some(Leak::Configured)
        } else if line.contains(KEY_BEGINS) && line.contains(KEY_HEADER_ENDS) {
            Some(Leak::PrivateKey)
        } else {
            has_certain_token(line).then_some(Leak::Token)
        }
    }
}

/// Never shows what it hides.
impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} secrets)", self.values)
    }
}

/// A value, the long lines of a value of many lines (keys, certificates: tools print them line by line), and what
/// either looks like in base64, hex, a URL or JSON.
fn forms(value: &str) -> Vec<String> {
    let lines =
        value.lines().map(str::trim).filter(|line| line.len() >= LINE_MIN && !line.starts_with("-----"));
    let mut plain: Vec<&str> = vec![value];
    plain.extend(lines.filter(|line| *line != value));
    let mut forms: Vec<String> = plain.iter().map(|text| (*text).to_owned()).collect();
    for text in plain {
        let mut encoded = vec![hex(text, false), hex(text, true), in_url(text), in_json(text)];
        for shift in 0..3 {
            let base64 = base64(text.as_bytes(), shift);
            encoded.push(base64.replace('+', "-").replace('/', "_"));
            encoded.push(base64);
        }
        forms.extend(encoded.into_iter().filter(|form| form.len() >= ENCODED_MIN && form != text));
    }
    forms
}

fn hex(text: &str, upper: bool) -> String {
    text.bytes().fold(String::with_capacity(text.len() * 2), |mut out, byte| {
        let _ = if upper { write!(out, "{byte:02X}") } else { write!(out, "{byte:02x}") };
        out
    })
}

fn in_url(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(byte as char);
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

fn in_json(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
        out
    })
}

/// What base64 makes of the bytes when `shift` others stand before them: those digits that depend on nothing else.
fn base64(bytes: &[u8], shift: usize) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let all = [&[0, 0][..shift], bytes].concat();
    let bit = |at: usize| all[at / 8] >> (7 - at % 8) & 1;
    let digits = (shift * 8).div_ceil(6)..all.len() * 8 / 6;
    digits
        .map(|digit| {
            let value = (0..6).fold(0, |value, at| value << 1 | bit(digit * 6 + at));
            char::from(DIGITS[usize::from(value)])
        })
        .collect()
}

const KEY_BEGINS: &str = "-----BEGIN ";
const KEY_HEADER_ENDS: &str = "PRIVATE KEY-----";

/// A private key, from its first line to its last; one whose end is missing, to the end of the text.
fn redact_keys(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(KEY_BEGINS) {
        let header = rest[at..].lines().next().unwrap_or_default();
        let after = at + KEY_BEGINS.len();
        if !header.contains(KEY_HEADER_ENDS) {
            out.push_str(&rest[..after]);
            rest = &rest[after..];
            continue;
        }
        out.push_str(&rest[..at]);
        out.push_str(REDACTED);
        let end = rest[at..].find("-----END ").and_then(|end| {
            let end = at + end;
            rest[end..].find(KEY_HEADER_ENDS).map(|tail| end + tail + KEY_HEADER_ENDS.len())
        });
        rest = match end {
            Some(end) => &rest[end..],
            // A line alone, as of a log: what follows is not known to belong to it.
            None if rest[at..].trim_end().len() == header.trim_end().len() => &rest[at + header.len()..],
            None => "",
        };
    }
    out.push_str(rest);
    out
}

fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn has_certain_token(line: &str) -> bool {
    line.split(|c| !is_token(c)).any(|word| {
        CERTAIN.iter().any(|(prefix, least)| {
            word.strip_prefix(prefix).is_some_and(|rest| match *prefix {
                "AKIA" => {
                    rest.len() == *least
                        && rest.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
                        && !rest.ends_with("EXAMPLE")
                }
                // Placeholders repeat a letter.
                _ => rest.len() >= *least && rest.bytes().any(|b| Some(&b) != rest.as_bytes().first()),
            })
        })
    })
}

fn redact_shapes(text: &str) -> String {
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
    fn a_secret_is_hidden_in_other_forms_too() {
        let secret = "p/w \"x\"+hunter22";
        let r = Redactor::new([secret.to_owned()]);
        for form in [
            "p%2Fw%20%22x%22%2Bhunter22",
            "p/w \\\"x\\\"+hunter22",
            "702f7720227822 2b68756e7465723232".replace(' ', "").as_str(),
            "702F77202278222B68756E7465723232",
            // `p/w "x"+hunter22` alone, after one byte and after two.
            "cC93ICJ4IitodW50ZXIyMg==",
            "YXAvdyAieCIraHVudGVyMjI=",
            "YWJwL3cgIngiK2h1bnRlcjIy",
        ] {
            let shown = r.redact(&format!("<{form}>"));
            assert!(shown.contains(REDACTED), "{form}: {shown}");
            assert_eq!(r.leak(form), Some(Leak::Configured), "{form}");
        }
        assert_eq!(r.redact("hunter"), "hunter");
    }

    #[test]
    fn a_key_of_many_lines_is_hidden_line_by_line() {
        let key =
            "-----BEGIN PRIVATE KEY-----\nabcdefghijklmnop\nqrstuvwxyz012345\n-----END PRIVATE KEY-----";
        let known = Redactor::new([key.to_owned()]);
        assert_eq!(known.redact("log: qrstuvwxyz012345"), "log: [redacted]");
        assert_eq!(known.redact(&key.replace('\n', "\\n")), REDACTED);
        let unknown = Redactor::default();
        assert_eq!(unknown.redact(&format!("a\n{key}\nb")), "a\n[redacted]\nb");
        assert_eq!(unknown.redact("-----BEGIN CERTIFICATE-----\nx"), "-----BEGIN CERTIFICATE-----\nx");
        assert_eq!(unknown.redact("-----BEGIN RSA PRIVATE KEY-----"), REDACTED);
    }

    #[test]
    fn what_cannot_be_hidden_is_not_shown() {
        assert_eq!(Redactor::blind().redact("anything"), WITHHELD);
        assert_eq!(Redactor::blind().redact(""), "");
    }

    #[test]
    fn commits_are_held_for_what_is_certain() {
        let r = Redactor::new(["hunter22".to_owned()]);
        let long = "a1B2".repeat(10);
        for (line, leak) in [
            ("password = hunter22", Some(Leak::Configured)),
            ("-----BEGIN OPENSSH PRIVATE KEY-----", Some(Leak::PrivateKey)),
            ("-----BEGIN CERTIFICATE-----", None),
            (&format!("t = \"ghp_{long}\""), Some(Leak::Token)),
            (&format!("sk-ant-{long}"), Some(Leak::Token)),
            ("AKIAABCDEFGHIJKLMN12", Some(Leak::Token)),
            ("AKIAIOSFODNN7EXAMPLE", None),
            (&format!("ghp_{}", "x".repeat(36)), None),
            ("sk-learn-model-selection-helpers", None),
        ] {
            assert_eq!(r.leak(line), leak, "{line}");
        }
    }
}
