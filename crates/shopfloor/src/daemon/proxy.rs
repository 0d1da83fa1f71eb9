//! Where agents' ways to the network end, at level "network": each connection goes to a host in the configuration, or
//! nowhere. Checks and setup commands have none, whatever socket they find.

use super::Projects;
use crate::asker::{self, Who, refused};
use shopfloor_adapters::jail::network;
use shopfloor_adapters::layout::Layout;
use shopfloor_core::ids::Epoch;
use shopfloor_core::text::one_line;
use shopfloor_engine::{Handle, Input};
use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// How many refusals are remembered, so that each is told once.
const TOLD_MAX: usize = 1000;
const HOST_CHARS_MAX: usize = 60;

/// Listens for as long as it lives.
pub struct Proxy {
    path: PathBuf,
}

#[derive(Clone)]
struct Server {
    layout: Layout,
    handle: Handle,
    projects: Projects,
    told: Arc<Mutex<BTreeSet<(Epoch, String)>>>,
}

impl Proxy {
    /// The door's folder is there, and the caller holds the floor's lock.
    pub fn open(layout: &Layout, handle: Handle, projects: Projects) -> io::Result<Proxy> {
        let path = layout.proxy_socket();
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        let server = Server { layout: layout.clone(), handle, projects, told: Arc::default() };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = server.clone();
                std::thread::spawn(move || {
                    // Whoever hung up has nothing to be told.
                    let _ = server.serve(&stream);
                });
            }
        });
        Ok(Proxy { path })
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Server {
    fn serve(&self, stream: &UnixStream) -> io::Result<()> {
        let Some(inside) = asker::at(stream, &self.layout)? else { return Ok(()) };
        let Who::Agent(epoch) = inside.who else { return Ok(()) };
        let Some(place) = network::serve(stream, self.projects.isolation().hosts())? else { return Ok(()) };
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let place = one_line(&place, HOST_CHARS_MAX);
        if told.len() < TOLD_MAX
            && told.insert((epoch, place.clone()))
            && let Some(project) = inside.project
        {
            let asked = ["the network:".to_owned(), place].into_iter();
            self.handle.send(Input::Event(refused(project, &inside.who, asked)));
        }
        Ok(())
    }
}
