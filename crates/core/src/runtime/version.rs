//! Versions of clients: numbers with dots, found in whatever a client prints about itself.

use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Version(Vec<u32>);

impl Version {
    /// The first version in a text such as `2.1.325 (Claude Code)` or `codex-cli 0.166.0`.
    pub fn find(text: &str) -> Option<Version> {
        text.split(|c: char| !(c.is_ascii_digit() || c == '.')).find_map(|word| {
            let parts: Option<Vec<u32>> =
                word.trim_matches('.').split('.').map(|part| part.parse().ok()).collect();
            parts.filter(|parts| (2..=4).contains(&parts.len())).map(Version)
        })
    }
}

impl TryFrom<String> for Version {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        match Version::find(&text) {
            Some(version) if version.to_string() == text => Ok(version),
            _ => Err(format!("{text:?} is no version: write numbers with dots, such as \"2.1.0\"")),
        }
    }
}

impl From<Version> for String {
    fn from(version: Version) -> String {
        version.to_string()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&parts.join("."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_and_compared_by_number() {
        let find = |text: &str| Version::find(text).map(|v| v.to_string());
        assert_eq!(find("2.1.325 (Claude Code)").as_deref(), Some("2.1.325"));
        assert_eq!(find("codex-cli 0.166.0\n").as_deref(), Some("0.166.0"));
        assert_eq!(find("v1.2.").as_deref(), Some("1.2"));
        assert_eq!(find("no version 7 here"), None);
        assert!(Version::find("2.1.197") < Version::find("2.1.325"));
        assert!(Version::find("2.10.0") > Version::find("2.9.9"));
        assert!(Version::try_from("2.x".to_owned()).is_err());
    }
}
