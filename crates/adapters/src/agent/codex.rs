//! A person's own configuration of Codex, as far as our sessions have to know it: what they would otherwise
//! replace (`notify`, writable folders), switch off (servers), or find missing (a key).

use super::client::variable;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The folder with a person's configuration, according to the session's environment.
pub fn home(env: &[(OsString, OsString)]) -> Option<PathBuf> {
    let named = variable(env, "CODEX_HOME").map(PathBuf::from);
    named.or_else(|| variable(env, "HOME").map(|home| Path::new(home).join(".codex")))
}

#[derive(Clone, Debug, Default)]
pub struct Configuration(Table);

/// The default provider; it needs a login.
const OPENAI: &str = "openai";

impl Configuration {
    /// Empty if there is no such file. The error says why it cannot be read.
    pub fn read(file: &Path) -> Result<Configuration, String> {
        let mut text = String::new();
        let read = File::open(file).and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut text));
        match read {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Configuration::default()),
            Err(e) => return Err(format!("{} cannot be read: {e}", file.display())),
            Ok(_) => {}
        }
        let table: Table = text
            .parse()
            .map_err(|e: toml::de::Error| format!("{} is not TOML: {}", file.display(), e.message()))?;
        Ok(Configuration(table))
    }

    /// The program that is told about finished turns, and its first arguments.
    pub fn notify(&self) -> Option<Vec<String>> {
        let words = strings(self.0.get("notify")?)?;
        (!words.is_empty()).then_some(words)
    }

    /// Folders that an agent may write to besides its worktree.
    pub fn writable(&self) -> Vec<PathBuf> {
        let roots = self.0.get("sandbox_workspace_write").and_then(|table| table.get("writable_roots"));
        roots.and_then(strings).unwrap_or_default().into_iter().map(PathBuf::from).collect()
    }

    /// Its servers. Names that cannot appear in an override are left out.
    pub fn servers(&self) -> BTreeSet<String> {
        let plain = |name: &&String| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        };
        let servers = self.0.get("mcp_servers").and_then(Value::as_table);
        servers.into_iter().flat_map(Table::keys).filter(plain).cloned().collect()
    }

    /// Whether both configure a server in the same way.
    pub fn same_server(&self, other: &Configuration, name: &str) -> bool {
        let of = |table: &Table| table.get("mcp_servers").and_then(|servers| servers.get(name)).cloned();
        of(&self.0).is_some() && of(&self.0) == of(&other.0)
    }

    fn provider(&self) -> (&str, Option<&Table>) {
        let name = self.0.get("model_provider").and_then(Value::as_str).unwrap_or(OPENAI);
        let table = self.0.get("model_providers").and_then(|all| all.get(name)).and_then(Value::as_table);
        (name, table)
    }

    /// The variable its provider takes a key from.
    pub fn key_variable(&self) -> Option<&str> {
        self.provider().1?.get("env_key").and_then(Value::as_str)
    }

    /// Whether it works only for somebody who has logged in.
    pub fn needs_login(&self) -> bool {
        let (name, table) = self.provider();
        let says = table.and_then(|table| table.get("requires_openai_auth")).and_then(Value::as_bool);
        says.unwrap_or(name == OPENAI)
    }
}

fn strings(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Configuration {
        Configuration(text.parse().expect("TOML"))
    }

    #[test]
    fn what_matters_is_read() {
        let config = of(r#"
notify = ["notify-send", "Codex"]
model_provider = "mine"
[sandbox_workspace_write]
writable_roots = ["/cache"]
[mcp_servers.docs]
command = "docs"
[mcp_servers."odd name"]
command = "odd"
[model_providers.mine]
env_key = "MY_KEY"
"#);
        assert_eq!(
            config.notify().as_deref(),
            Some(["notify-send".to_owned(), "Codex".to_owned()].as_slice())
        );
        assert_eq!(config.writable(), [Path::new("/cache")]);
        assert_eq!(config.servers().into_iter().collect::<Vec<_>>(), ["docs"]);
        assert_eq!((config.key_variable(), config.needs_login()), (Some("MY_KEY"), false));
        let stock = Configuration::default();
        assert_eq!((stock.notify(), stock.key_variable(), stock.needs_login()), (None, None, true));
        assert!(of("notify = \"x\"").notify().is_none() && of("notify = []").notify().is_none());
        assert!(config.same_server(&config, "docs") && !config.same_server(&stock, "docs"));
        assert!(!stock.same_server(&stock, "docs"));
    }

    #[test]
    fn a_broken_file_is_told_of() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("config.toml");
        assert!(Configuration::read(&file).expect("there is none").notify().is_none());
        std::fs::write(&file, "model = ").expect("written");
        assert!(Configuration::read(&file).expect_err("broken").contains("is not TOML"));
    }
}
