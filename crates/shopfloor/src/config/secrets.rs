//! Resolves secret references. Values live in a [`Secrets`], which shows none of them.

use super::{ProjectConfig, SecretRef};
use rustix::fs::OFlags;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Keys and certificates fit; what is longer is not a secret but some other file.
const BYTES_MAX: u64 = 64 * 1024;
/// The redactor leaves shorter values alone, so they could not be hidden.
pub const CHARS_MIN: usize = 4;

/// The values of a project's secrets, by name.
#[derive(Clone, Default)]
pub struct Secrets {
    values: BTreeMap<String, String>,
}

/// Never shows what it hides.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

impl Secrets {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Names and values, for a process that is to have them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// Why a secret could not be had. Names the reference, never a value.
#[derive(Debug, thiserror::Error)]
#[error("secret `{name}`: {why}")]
pub struct SecretError {
    pub name: String,
    pub why: SecretProblem,
}

#[derive(Debug, thiserror::Error)]
pub enum SecretProblem {
    #[error("the environment variable {0} is not set")]
    NotSet(String),
    #[error("{} cannot be read: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error("{} is not a file", .0.display())]
    NotAFile(PathBuf),
    #[error("{} belongs to another user; it must be yours", .0.display())]
    NotYours(PathBuf),
    #[error("{} is open to every user of this machine; run: chmod o= {}", .0.display(), .0.display())]
    OpenToOthers(PathBuf),
    #[error("{} is larger than 64 KiB; that is not a secret", .0.display())]
    TooLarge(PathBuf),
    #[error("{} is not UTF-8 text", .0.display())]
    NotText(PathBuf),
    #[error("its value has fewer than 4 characters and could not be hidden in logs")]
    TooShort,
}

/// The values of all secrets that `config` names. `folder` is that of the configuration file, `env`
/// looks up a variable.
pub fn resolve(
    config: &ProjectConfig,
    folder: &Path,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Secrets, SecretError> {
    let mut values = BTreeMap::new();
    for (name, reference) in &config.secrets {
        let value = match reference {
            SecretRef::Env(variable) => env(variable).ok_or_else(|| SecretProblem::NotSet(variable.clone())),
            SecretRef::File(path) => read(folder.join(path)),
        };
        let value = value.and_then(|value| {
            let long_enough = value.chars().count() >= CHARS_MIN;
            if long_enough { Ok(value) } else { Err(SecretProblem::TooShort) }
        });
        values.insert(name.clone(), value.map_err(|why| SecretError { name: name.clone(), why })?);
    }
    Ok(Secrets { values })
}

/// The file's content without the newline at its end. What is checked is what was opened, so
/// nobody can exchange it in between.
fn read(path: PathBuf) -> Result<String, SecretProblem> {
    // Without it, opening a pipe would wait for its writer.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(&path);
    let (file, meta) = match opened.and_then(|file| file.metadata().map(|meta| (file, meta))) {
        Ok(both) => both,
        Err(error) => return Err(SecretProblem::Unreadable { path, error }),
    };
    if !meta.is_file() {
        return Err(SecretProblem::NotAFile(path));
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(SecretProblem::NotYours(path));
    }
    if meta.mode() & 0o007 != 0 {
        return Err(SecretProblem::OpenToOthers(path));
    }
    let mut bytes = Vec::new();
    if let Err(error) = file.take(BYTES_MAX + 1).read_to_end(&mut bytes) {
        return Err(SecretProblem::Unreadable { path, error });
    }
    if bytes.len() as u64 > BYTES_MAX {
        return Err(SecretProblem::TooLarge(path));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text.trim_end_matches(['\r', '\n']).to_owned()),
        Err(_) => Err(SecretProblem::NotText(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{FloorConfig, load};
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    fn config(secrets: &str) -> ProjectConfig {
        let text = format!("[project]\nname = \"a\"\n[ci]\nno_checks = true\n[secrets]\n{secrets}");
        load::project_from(Path::new("shopfloor.toml"), &text, &FloorConfig::default()).unwrap()
    }

    fn write(path: &Path, content: &[u8], mode: u32) {
        fs::write(path, content).unwrap();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn values_come_from_the_environment_and_from_files_and_are_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join("key"), b"-----BEGIN-----\nabcdefghijklmnop\n", 0o640);
        let config = config("TOKEN = { env = \"GH\" }\nKEY = { file = \"key\" }\n");
        let env = |name: &str| (name == "GH").then(|| "hunter22".to_owned());
        let secrets = resolve(&config, folder.path(), &env).unwrap();
        assert_eq!(secrets.get("TOKEN"), Some("hunter22"));
        assert_eq!(secrets.get("KEY"), Some("-----BEGIN-----\nabcdefghijklmnop"));
        assert_eq!(secrets.get("OTHER"), None);
        assert_eq!(secrets.iter().count(), 2);
        assert_eq!(format!("{secrets:?}"), r#"{"KEY", "TOKEN"}"#);
        assert_eq!(
            shopfloor_core::redact::Redactor::new(secrets.values.values().cloned())
                .redact("log: hunter22 and abcdefghijklmnop"),
            "log: [redacted] and [redacted]"
        );
    }

    #[test]
    fn what_cannot_be_had_is_said_without_a_value() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        write(&at("open"), b"hunter22", 0o604);
        write(&at("binary"), b"\xff\xfe\xfd\xfc", 0o600);
        write(&at("large"), &[b'x'; 65 * 1024], 0o600);
        write(&at("short"), b"abc\n", 0o600);
        let check = |reference: &str, expect: &str| {
            let config = config(&format!("TOKEN = {reference}\n"));
            let error = resolve(&config, folder.path(), &|_| None).unwrap_err();
            let shown = error.to_string().replace(folder.path().to_str().unwrap(), "DIR");
            assert_eq!(shown, format!("secret `TOKEN`: {expect}"));
            assert!(!format!("{error:?}").contains("hunter22"));
        };
        check("{ env = \"GH\" }", "the environment variable GH is not set");
        check("{ file = \"none\" }", "DIR/none cannot be read: No such file or directory (os error 2)");
        check("{ file = \".\" }", "DIR/. is not a file");
        check("{ file = \"/dev/null\" }", "/dev/null is not a file");
        check(
            "{ file = \"open\" }",
            "DIR/open is open to every user of this machine; run: chmod o= DIR/open",
        );
        check("{ file = \"binary\" }", "DIR/binary is not UTF-8 text");
        check("{ file = \"large\" }", "DIR/large is larger than 64 KiB; that is not a secret");
        check(
            "{ file = \"short\" }",
            "its value has fewer than 4 characters and could not be hidden in logs",
        );
    }
}
