//! `shopfloor confine` and `shopfloor forward`: what stands between a jail and the program in it. Neither is for people.

use super::{CliError, error};
use shopfloor_adapters::jail::confine::Confinement;
use shopfloor_adapters::jail::network;
use shopfloor_adapters::layout::Layout;
use std::ffi::{OsStr, OsString};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

const PROXY: [&str; 6] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
/// What is served in the jail itself.
const NEAR: &str = "localhost,127.0.0.1,::1";

/// `confine SPEC -- PROGRAM …` becomes that program; `forward SOCKET FLOOR SESSION` brings connections to the listener on
/// standard input to that socket, for that session. Neither needs a store, nor a home.
pub(super) fn at_once(mut words: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let first = words.next()?;
    let failed = match first.to_str()? {
        "confine" => become_confined(&words.next()?, words.skip(1).collect()),
        "forward" => {
            let listener = io::stdin().as_fd().try_clone_to_owned().ok()?;
            let (socket, floor) = (PathBuf::from(words.next()?), PathBuf::from(words.next()?));
            let session = words.next()?.to_str()?.parse().ok()?;
            if !floor.is_absolute() {
                return None;
            }
            network::forward(listener, &socket, &Layout::new(floor), session);
            return Some(ExitCode::SUCCESS);
        }
        _ => return None,
    };
    error::print(&failed, false);
    Some(failed.exit.into())
}

/// Does not return if all is well.
fn become_confined(spec: &OsStr, argv: Vec<OsString>) -> CliError {
    let failed = |what: &str, e: &dyn std::fmt::Display| CliError::failed(format!("{what}: {e}"));
    let confinement: Confinement = match serde_json::from_slice(spec.as_encoded_bytes()) {
        Ok(confinement) => confinement,
        Err(e) => return CliError::usage(format!("what to keep a program from is not understood: {e}")),
    };
    let Some((program, words)) = argv.split_first() else { return CliError::usage("there is no program") };
    let mut command = Command::new(program);
    command.args(words).envs(confinement.env.iter().map(|(name, value)| (name, value)));
    if let Some(socket) = &confinement.proxy {
        match open_way(socket) {
            Ok(port) => {
                let way = format!("http://127.0.0.1:{port}");
                command.envs(PROXY.map(|name| (name, &way))).env("NO_PROXY", NEAR).env("no_proxy", NEAR);
            }
            Err(e) => return failed("the way to the network cannot be opened", &e),
        }
    }
    if let Err(e) = confinement.enter() {
        return failed("the program cannot be confined", &e);
    }
    failed(&program.to_string_lossy(), &command.exec())
}

/// A port of this jail's loopback that leads to the daemon's proxy, held by a process of its own. That one has no
/// variables of the session's, so it does not count as its work.
fn open_way(socket: &Path) -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    let variable =
        |name| std::env::var_os(name).ok_or_else(|| io::Error::other(format!("{name} is not set")));
    Command::new(std::env::current_exe()?)
        .arg("forward")
        .arg(socket)
        .arg(variable("SHOPFLOOR_HOME")?)
        .arg(variable("SHOPFLOOR_SESSION")?)
        .env_clear()
        .stdin(OwnedFd::from(listener))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    Ok(port)
}
