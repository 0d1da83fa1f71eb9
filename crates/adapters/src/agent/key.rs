//! A client's key from one of the user's programs (`key_command`): asked for when it is needed, bounded in
//! time and size, and kept in memory only. Neither its output nor its complaints are ever shown: either may
//! hold the key.

use super::client;
use crate::host::command;
use std::ffi::OsString;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The command whose output is the key, and the variable in which the client looks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyCommand {
    pub argv: Vec<String>,
    pub variable: String,
}

const WITHIN: Duration = Duration::from_secs(10);
const BYTES_MAX: usize = 16 * 1024;
/// First it is checked whether a session can be started, and then it is started: the key is asked for only
/// once.
const FRESH: Duration = Duration::from_secs(5);
const KNOWN_MAX: usize = 16;

struct Known {
    argv: Vec<String>,
    at: Instant,
    key: String,
}

static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// The key, or what to do about the lack of one.
pub fn ask(wanted: &KeyCommand, env: &[(OsString, OsString)]) -> Result<String, String> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(fresh) = known.iter().find(|k| k.argv == wanted.argv && k.at.elapsed() < FRESH) {
        return Ok(fresh.key.clone());
    }
    let key = run(wanted, env)?;
    known.retain(|k| k.argv != wanted.argv);
    if known.len() >= KNOWN_MAX {
        known.remove(0);
    }
    known.push(Known { argv: wanted.argv.clone(), at: Instant::now(), key: key.clone() });
    Ok(key)
}

fn run(wanted: &KeyCommand, env: &[(OsString, OsString)]) -> Result<String, String> {
    let Some((program, arguments)) = wanted.argv.split_first() else {
        return Err("key_command is empty".into());
    };
    let Some(path) = client::find(program, env, std::path::Path::new("/")) else {
        return Err(format!("key_command: {program} is not found: install it, or write its whole path"));
    };
    let mut asked = Command::new(path);
    asked.args(arguments).env_clear().current_dir("/");
    asked.envs(env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str())));
    let again = format!("run {program} by hand to see why");
    let said =
        command::run(&mut asked, WITHIN).map_err(|e| format!("key_command: {program}: {e}; {again}"))?;
    if !said.status.success() {
        return Err(format!("key_command: {program} ended with {}; {again}", said.status));
    }
    let key = said.stdout.trim();
    if key.is_empty() || key.len() > BYTES_MAX || key.contains(['\n', '\0']) {
        return Err(format!("key_command: {program} did not print one line with a key; {again}"));
    }
    Ok(key.to_owned())
}

/// Keys that were asked for lately, to be hidden from what is shown.
pub fn known() -> Vec<String> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|k| k.key.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_what_the_program_prints_and_failures_show_nothing_of_it() {
        let env = vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())];
        let sh = |script: &str| KeyCommand {
            argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
            variable: "KEY".into(),
        };
        assert_eq!(ask(&sh("echo hunter22"), &env).as_deref(), Ok("hunter22"));
        assert!(known().contains(&"hunter22".to_owned()));
        for bad in ["echo hunter23; echo hunter23 >&2; exit 3", "echo hunter23; echo b", "true"] {
            let why = ask(&sh(bad), &env).expect_err("no key");
            assert!(why.contains("sh") && !why.contains("hunter23"), "{why}");
        }
        let nobody = KeyCommand { argv: vec!["/nowhere".into()], variable: "KEY".into() };
        assert!(ask(&nobody, &env).expect_err("not there").contains("/nowhere is not found"));
    }
}
