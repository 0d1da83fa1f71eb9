//! The daemon's door: a Unix socket, for the user alone. One line comes in, one line goes out.

use super::Projects;
use crate::asker;
use shopfloor_adapters::layout::Layout;
use shopfloor_engine::{Handle, Input};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::Duration;

/// Variables and their values make the largest of all requests.
const REQUEST_BYTES_MAX: u64 = 1024 * 1024;
/// How the request with variables begins.
pub const VARIABLES: &str = "variables ";
/// Precedes the name of the project whose forge may have news.
const LOOK: &str = "look ";

/// Listens for as long as it lives.
pub struct Socket {
    path: PathBuf,
}

impl Socket {
    /// The caller holds the floor's lock, so an existing socket is a dead daemon's.
    pub fn listen(layout: &Layout, handle: Handle, projects: Projects) -> std::io::Result<Socket> {
        let (path, layout) = (layout.daemon_socket(), layout.clone());
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        // The folder is 0700, so nobody can connect before the mode is set.
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (handle, projects, layout) = (handle.clone(), projects.clone(), layout.clone());
                std::thread::spawn(move || {
                    // A client that went away has nothing to be told.
                    let _ = serve(stream, &layout, &handle, &projects);
                });
            }
        });
        Ok(Socket { path })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn serve(stream: UnixStream, layout: &Layout, handle: &Handle, projects: &Projects) -> std::io::Result<()> {
    let timeout = Some(Duration::from_secs(10));
    stream.set_read_timeout(timeout)?;
    stream.set_write_timeout(timeout)?;
    let mut request = String::new();
    BufReader::new((&stream).take(REQUEST_BYTES_MAX)).read_line(&mut request)?;
    let answer = match request.trim_end() {
        asked if (asked == "stop" || asked.starts_with(VARIABLES)) && !is_person(&stream, layout) => {
            "error: this needs a person".to_owned()
        }
        asked if asked.starts_with(VARIABLES) => variables(handle, projects, &asked[VARIABLES.len()..]),
        "ping" => format!("pong {} {}", std::process::id(), projects.isolation().note()),
        "poke" => told(handle, Input::Poke),
        "stop" => told(handle, Input::Stop),
        asked if asked.starts_with(LOOK) => match asked[LOOK.len()..].parse() {
            Ok(project) => told(handle, Input::Hint(project)),
            Err(_) => "error: no such project".to_owned(),
        },
        _ => "error: unknown request".to_owned(),
    };
    (&stream).write_all(format!("{answer}\n").as_bytes())?;
    if request.trim_end() == "stop" && answer == "ok" {
        // Whoever asked waits for the connection to close: the kernel closes it when the daemon ends.
        std::mem::forget(stream);
    }
    Ok(())
}

fn told(handle: &Handle, input: Input) -> String {
    if handle.send(input) { "ok".into() } else { "error: the daemon is ending".into() }
}

/// The kernel says who is calling.
fn is_person(stream: &UnixStream, layout: &Layout) -> bool {
    matches!(asker::at(stream, layout), Ok(None))
}

/// New values of variables for agents, as a JSON object.
fn variables(handle: &Handle, projects: &Projects, told: &str) -> String {
    // Not even the error message may show a value.
    let Ok(told) = serde_json::from_str(told) else { return "error: not understood".into() };
    let (changed, events) = projects.told(told);
    let alive = events.into_iter().all(|event| handle.send(Input::Event(event)));
    if alive { format!("ok {}", changed.join(" ")) } else { "error: the daemon is ending".into() }
}
