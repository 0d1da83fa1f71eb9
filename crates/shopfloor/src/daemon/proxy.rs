//! Where agents' ways to the network end, at level "network": each connection goes to a host in the configuration, or
//! nowhere. Checks and setup commands have none, whatever socket they find.
//!
//! Invariant: it takes both the kernel's word and the token of that very session, which it has while it lives; and one
//! session takes no more than its share.

use super::Projects;
use super::places::{Place, Places};
use crate::asker::{self, Inside, Who, refused};
use shopfloor_adapters::agent::Badge;
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
use std::time::Duration;

/// How many refusals are remembered, so that each is told once.
const TOLD_MAX: usize = 1000;
const HOST_CHARS_MAX: usize = 60;
const NO_ROOM: Duration = Duration::from_millis(100);
/// Connections at once, and of one session.
const CALLERS_MAX: usize = 1024;
const CALLERS_EACH_MAX: usize = 128;

/// Listens for as long as it lives.
pub struct Proxy {
    path: PathBuf,
}

#[derive(Clone)]
struct Server {
    layout: Layout,
    handle: Handle,
    projects: Projects,
    told: Arc<Mutex<BTreeSet<(String, String)>>>,
    callers: Places<Epoch>,
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
        let server = Server {
            layout: layout.clone(),
            handle,
            projects,
            told: Arc::default(),
            callers: Places::new(CALLERS_MAX, CALLERS_EACH_MAX),
        };
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else {
                    // It has no room for another: none is made by trying again at once.
                    std::thread::sleep(NO_ROOM);
                    continue;
                };
                // Who it is, the kernel knows before it says anything.
                let Some((place, inside, epoch)) = server.admit(&stream) else { continue };
                let server = server.clone();
                // Without a thread it is closed, and whoever asks tries again.
                let _ = std::thread::Builder::new().spawn(move || {
                    let _place = place;
                    // Whoever hung up has nothing to be told.
                    let _ = server.serve(&stream, &inside, epoch);
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
    /// A place for a session, if it has not taken its share; nobody else is served.
    fn admit(&self, stream: &UnixStream) -> Option<(Place<Epoch>, Inside, Epoch)> {
        let inside = asker::at(stream, &self.layout).ok()??;
        let Who::Agent(epoch) = inside.who else {
            self.put_on_record(&inside, "it is not an agent's");
            return None;
        };
        let place = self.callers.take(epoch);
        if place.is_none() {
            self.put_on_record(&inside, "more than its share");
        }
        Some((place?, inside, epoch))
    }

    fn serve(&self, stream: &UnixStream, inside: &Inside, epoch: Epoch) -> io::Result<()> {
        let token = network::read_token(stream)?;
        if Badge::shown(&self.layout, &token).is_none_or(|(shown, _)| shown != epoch) {
            self.put_on_record(inside, "without its token");
            return Ok(());
        }
        if let Some(place) = network::serve(stream, self.projects.isolation().hosts())? {
            self.put_on_record(inside, &one_line(&place, HOST_CHARS_MAX));
        }
        Ok(())
    }

    /// Each thing once.
    fn put_on_record(&self, inside: &Inside, what: &str) {
        let first = || Some(self.projects.all().into_iter().next()?.config.project.name);
        let Some(project) = inside.project.clone().or_else(first) else { return };
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < TOLD_MAX && told.insert((inside.who.to_string(), what.to_owned())) {
            let asked = ["the network:".to_owned(), what.to_owned()].into_iter();
            let redactor = self.projects.redactor_lookup()(&project);
            self.handle.send(Input::Event(refused(project, &inside.who, asked, &redactor)));
        }
    }
}
