//! Signatures of the commits that land. Candidates are not signed: a signature says that the queue let a
//! commit land.

use super::run::{GitError, GitResult};
use crate::host::command;
use shopfloor_core::text;
use std::ffi::OsString;
use std::io;
use std::process::Command;
use std::time::Duration;

/// An agent that holds the key may want to ask somebody for a passphrase; nobody is there to be asked.
const TIME_LIMIT: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureFormat {
    Ssh,
    OpenPgp,
}

/// What commits are signed with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signing {
    pub format: SignatureFormat,
    /// The file of the key (or of its public part, if an agent holds it); for OpenPGP the key's name.
    pub key: OsString,
    /// What the program sees: where the user's keys and their agents are.
    pub env: Vec<(OsString, OsString)>,
}

impl Signing {
    /// The signature of these bytes, as text.
    pub(super) fn sign(&self, bytes: &[u8]) -> GitResult<String> {
        let mut program = match self.format {
            SignatureFormat::Ssh => {
                let mut program = Command::new("ssh-keygen");
                program.args(["-Y", "sign", "-n", "git", "-f"]).arg(&self.key);
                program
            }
            SignatureFormat::OpenPgp => {
                let mut program = Command::new("gpg");
                program
                    .args(["--batch", "--no-tty", "--pinentry-mode", "error"])
                    .args(["--armor", "--detach-sign", "--local-user"])
                    .arg(&self.key);
                program
            }
        };
        program.env_clear().envs(self.env.iter().map(|(name, value)| (name, value)));
        let name = program.get_program().to_string_lossy().into_owned();
        let not_signed = |why: String| GitError::NotSigned(format!("`{name}` (to sign a commit) {why}"));
        let done = command::run_with(&mut program, bytes, TIME_LIMIT).map_err(|e| match e.kind() {
            io::ErrorKind::TimedOut => {
                not_signed(format!("did not end within {} s and was stopped", TIME_LIMIT.as_secs()))
            }
            _ => not_signed(format!("could not be run: {e}")),
        })?;
        if !done.status.success() || !done.stdout.starts_with("-----BEGIN ") {
            let said = text::one_line(&done.stderr, 300);
            return Err(not_signed(format!("failed: {said}{}", self.hint(&said))));
        }
        Ok(done.stdout)
    }

    /// What gpg says about a key with a passphrase is hard to make sense of.
    fn hint(&self, said: &str) -> &'static str {
        match self.format {
            SignatureFormat::OpenPgp if said.contains("No pinentry") => {
                " (the key has a passphrase that gpg-agent does not know, and nobody is asked for it)"
            }
            _ => "",
        }
    }
}
