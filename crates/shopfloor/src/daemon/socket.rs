//! The daemon's door: a Unix socket, for the user alone. A line comes in, a line goes out.

use shopfloor_engine::{Handle, Input};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Listening for as long as it lives.
pub struct Socket {
    path: PathBuf,
}

impl Socket {
    /// The caller holds the floor's lock, so a socket that is there is a dead daemon's.
    pub fn listen(path: &Path, handle: Handle) -> std::io::Result<Socket> {
        match std::fs::remove_file(path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        // The folder is 0700, so nobody can connect before the mode is set.
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let handle = handle.clone();
                std::thread::spawn(move || {
                    // A client that went away has nothing to be told.
                    let _ = serve(stream, &handle);
                });
            }
        });
        Ok(Socket { path: path.to_owned() })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn serve(stream: UnixStream, handle: &Handle) -> std::io::Result<()> {
    let timeout = Some(Duration::from_secs(10));
    stream.set_read_timeout(timeout)?;
    stream.set_write_timeout(timeout)?;
    let mut request = String::new();
    BufReader::new((&stream).take(4096)).read_line(&mut request)?;
    let answer = match request.trim_end() {
        "ping" => format!("pong {}", std::process::id()),
        "poke" => told(handle, Input::Poke),
        "stop" => told(handle, Input::Stop),
        _ => "error: unknown request".to_owned(),
    };
    (&stream).write_all(format!("{answer}\n").as_bytes())?;
    if request.trim_end() == "stop" {
        // Whoever asked waits for the line to close: the kernel does that when the daemon ends.
        std::mem::forget(stream);
    }
    Ok(())
}

fn told(handle: &Handle, input: Input) -> String {
    if handle.send(input) { "ok".into() } else { "error: the daemon is ending".into() }
}
