//! The launch file: a shell script that sets an environment and a folder and becomes the program.
//!
//! Every value is a single-quoted word, in which a shell interprets nothing. The shell itself exports the
//! values instead of passing them to `env`, whose arguments every user of the machine can read. The file
//! holds secrets, so only its owner can read it, and it deletes itself once it has been read.

use crate::host::atomic::write_atomic;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The kind of terminal that tmux is, unless the environment says otherwise; every terminfo has it.
pub(super) const TERM: &str = "screen-256color";

/// `Err`: what cannot be expressed in a script, and why.
/// `record`: where the process puts itself on record, as the kernel knows it.
pub(super) fn script(
    cwd: &Path,
    argv: &[OsString],
    env: &[(OsString, OsString)],
    record: &Path,
) -> Result<Vec<u8>, String> {
    let Some((program, arguments)) = argv.split_first() else {
        return Err("there is no command to run".to_owned());
    };
    if program.is_empty() || program.as_bytes().starts_with(b"-") {
        return Err(format!("{program:?} can not be a command"));
    }
    if !cwd.is_absolute() {
        return Err(format!("{} is not an absolute path", cwd.display()));
    }
    // The whole file is one list, which the shell reads to its end before it runs any of it.
    let mut out =
        b"{\nrm -f -- \"$0\" 2>/dev/null\n{ read -r stat < /proc/$$/stat; printf '%s\\n' \"$stat\" > "
            .to_vec();
    quote(&mut out, record.as_os_str())?;
    out.extend_from_slice(b"; unset stat; } 2>/dev/null\nexport TERM=");
    quote(&mut out, OsStr::new(TERM))?;
    for (name, value) in env {
        let name = name.to_str().filter(|name| is_identifier(name)).ok_or_else(|| {
            format!("{name:?} can not be passed on: a variable's name is of letters, digits and '_'")
        })?;
        out.extend_from_slice(b"\nexport ");
        out.extend_from_slice(name.as_bytes());
        out.push(b'=');
        quote(&mut out, value)?;
    }
    out.extend_from_slice(b"\ncd ");
    quote(&mut out, cwd.as_os_str())?;
    // Exit codes as in shells: 126 cannot be run, 127 not found. The message must be on the screen before the
    // shell ends, since tmux may not read on after that.
    out.extend_from_slice(b" || { sleep 1; exit 126; }\ncommand -v ");
    quote(&mut out, program)?;
    out.extend_from_slice(b" >/dev/null || { echo ");
    quote(&mut out, program)?;
    out.extend_from_slice(b": not found; sleep 1; exit 127; }\nunset OLDPWD SHLVL\nexec");
    for word in std::iter::once(program).chain(arguments) {
        out.push(b' ');
        quote(&mut out, word)?;
    }
    out.extend_from_slice(b"\n}\n");
    Ok(out)
}

pub(super) fn write(path: &Path, script: &[u8]) -> io::Result<()> {
    write_atomic(path, script, 0o600)
}

fn quote(out: &mut Vec<u8>, word: &OsStr) -> Result<(), String> {
    out.push(b'\'');
    for byte in word.as_bytes() {
        match byte {
            0 => return Err(format!("{word:?} holds a NUL byte")),
            b'\'' => out.extend_from_slice(b"'\\''"),
            other => out.push(*other),
        }
    }
    out.push(b'\'');
    Ok(())
}

fn is_identifier(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_not_be_said_is_refused() {
        let one = |argv: &[&str], name: &str, value: &str| {
            let argv: Vec<OsString> = argv.iter().map(OsString::from).collect();
            script(Path::new("/"), &argv, &[(name.into(), value.into())], Path::new("/record"))
        };
        assert!(one(&["true"], "A", "'; touch x; '").is_ok());
        for (argv, name, value) in [
            (&[][..], "A", ""),
            (&["-x"], "A", ""),
            (&["a\0b"], "A", ""),
            (&["a"], "A B", ""),
            (&["a"], "1A", ""),
            (&["a"], "A", "\0"),
        ] {
            assert!(one(argv, name, value).is_err(), "{argv:?} {name:?} {value:?}");
        }
        assert!(script(Path::new("relative"), &["true".into()], &[], Path::new("/record")).is_err());
    }
}
