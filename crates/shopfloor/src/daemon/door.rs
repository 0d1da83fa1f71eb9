//! The door at which sessions, checks and setup commands ask: all that they see of the floor in a jail. Whoever shows a
//! session's token, and is that session as far as the kernel knows, has its command run for it outside of the jail, with
//! its own input and output. The command then decides by the session's role what it does.
//!
//! Invariants:
//! - A token alone opens nothing, and neither does being a session's process: it takes both.
//! - What is run is this program, on this floor, and reads no file that the asker names.
//! - A command ends with whoever asked for it, and with the daemon.
//! - Nobody takes the place of others: so many of one session are heard at once, before they have said anything.

use super::Projects;
use super::places::{Place, Places};
use crate::asker::{self, ASKER, Inside, Who, refused};
use crate::door::{Reply, Request};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use shopfloor_adapters::agent::Badge;
use shopfloor_adapters::host::env::clean_env;
use shopfloor_adapters::layout::Layout;
use shopfloor_core::ids::Epoch;
use shopfloor_core::state::Refusals;
use shopfloor_desk::{Exit, now};
use shopfloor_engine::{Handle, Input};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::DirBuilder;
use std::io::{self, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const REQUEST_BYTES_MAX: u64 = 1024 * 1024;
/// All of a request, not each part of it.
const REQUEST_WITHIN: Duration = Duration::from_secs(10);
/// At once, and of one session: more is a mistake, or an attack. Whoever comes then is sent away unheard.
const CALLERS_MAX: usize = 512;
const CALLERS_EACH_MAX: usize = 24;
const NO_ROOM: Duration = Duration::from_millis(100);
/// At once, for one session. Less than may call, so that it is told why it has to wait.
const COMMANDS_EACH_MAX: usize = 16;
/// How many are remembered that were sent away, so that each is told of once.
const TOLD_MAX: usize = 1000;
/// Standard input, output and error.
const STREAMS: usize = 3;

/// Open for as long as it lives.
pub struct Door {
    path: PathBuf,
}

#[derive(Clone)]
struct Keeper {
    layout: Layout,
    handle: Handle,
    projects: Projects,
    busy: Places<Epoch>,
    /// The commands that run here, and since when.
    commands: Arc<Mutex<BTreeMap<u32, Instant>>>,
    callers: Places<String>,
    told: Arc<Mutex<BTreeSet<String>>>,
    /// What is put on record from here: the same bound as everywhere, before anything is committed.
    refusals: Arc<Mutex<Refusals>>,
}

impl Door {
    /// The caller holds the floor's lock, so an existing socket is a dead daemon's.
    pub fn open(layout: &Layout, handle: Handle, projects: Projects) -> io::Result<Door> {
        DirBuilder::new().recursive(true).mode(0o700).create(layout.door())?;
        let path = layout.door_socket();
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        let callers = Places::new(CALLERS_MAX, CALLERS_EACH_MAX);
        let busy = Places::new(CALLERS_MAX, COMMANDS_EACH_MAX);
        let (commands, told, refusals) = Default::default();
        let keeper =
            Keeper { layout: layout.clone(), handle, projects, busy, commands, callers, told, refusals };
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else {
                    // It has no room for another: none is made by trying again at once.
                    std::thread::sleep(NO_ROOM);
                    continue;
                };
                // Who it is, the kernel knows before it says anything.
                let Some(caller) = keeper.admit(&stream) else { continue };
                let (keeper, since) = (keeper.clone(), Instant::now());
                // Without a thread it is closed, and whoever asks tries again.
                let _ = std::thread::Builder::new().spawn(move || {
                    let _caller = caller;
                    // Whoever went away has nothing to be told.
                    let _ = keeper.serve(&stream, since);
                });
            }
        });
        Ok(Door { path })
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Keeper {
    /// A place among those that are heard, if whoever calls has not taken its share.
    fn admit(&self, stream: &UnixStream) -> Option<Place<String>> {
        let inside = asker::at(stream, &self.layout).ok()?;
        let who = inside.as_ref().map_or_else(|| "a person".to_owned(), |inside| inside.who.to_string());
        let place = self.callers.take(who.clone());
        if let (None, Some(inside)) = (&place, inside) {
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            if told.len() < TOLD_MAX && told.insert(who) {
                self.put_on_record(&inside, ["more than its share of the door".to_owned()].into_iter());
            }
        }
        place
    }

    fn put_on_record(&self, inside: &Inside, asked: impl Iterator<Item = String>) {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        if !refusals.count(&inside.who.to_string(), now()) {
            return;
        }
        let first = || Some(self.projects.all().into_iter().next()?.config.project.name);
        if let Some(project) = inside.project.clone().or_else(first) {
            let redactor = self.projects.redactor_lookup()(&project);
            self.handle.send(Input::Event(refused(project, &inside.who, asked, &redactor)));
        }
    }

    fn serve(&self, mut stream: &UnixStream, since: Instant) -> io::Result<()> {
        stream.set_read_timeout(Some(REQUEST_WITHIN))?;
        stream.set_write_timeout(Some(REQUEST_WITHIN))?;
        let (text, streams) = receive(stream, since)?;
        let reply = match serde_json::from_slice::<Request>(&text) {
            Ok(request) if request.surroundings => self.tell(stream, since)?,
            Ok(request) => self.answer(stream, &request, streams),
            Err(_) => Reply::no(Exit::Usage, "that is no request"),
        };
        stream.write_all(format!("{}\n", serde_json::to_string(&reply)?).as_bytes())
    }

    fn answer(&self, stream: &UnixStream, request: &Request, streams: Vec<OwnedFd>) -> Reply {
        let (epoch, badge) = match self.identify(stream, request) {
            Ok(session) => session,
            Err(reply) => return reply,
        };
        // The floor is this one, whatever is asked for.
        if request.args.iter().any(|arg| arg == "--home" || arg.starts_with("--home=")) {
            return Reply::no(Exit::Usage, "a session has one floor: leave --home out");
        }
        let Some(_place) = self.busy.take(epoch) else {
            return Reply::no(Exit::Busy, "this session waits for too many commands");
        };
        match self.run(stream, epoch, &badge, request, streams) {
            Ok(exit) => Reply::of(exit),
            Err(e) => Reply::no(Exit::Failed, format!("the command could not be run: {e}")),
        }
    }

    /// What the projects' secrets are is known here, so that they can be hidden in what is published. It is in no
    /// environment, which others could read: the kernel says that it is a command of ours that asks.
    /// (A number may have been another's when that one connected: then the command is younger than the connection.)
    fn tell(&self, stream: &UnixStream, since: Instant) -> io::Result<Reply> {
        let caller = rustix::net::sockopt::socket_peercred(stream)?.pid.as_raw_nonzero().get().unsigned_abs();
        if self.commands().get(&caller).is_none_or(|begun| *begun > since) {
            return Ok(Reply::no(Exit::NeedsPerson, "that is for the daemon's own commands"));
        }
        let all = self.projects.surroundings();
        let surroundings = all.into_iter().filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            let is_ours = name.starts_with("SHOPFLOOR_") || name == "PROJECT_NAME";
            (!is_ours).then_some((name, value.into_string().ok()?))
        });
        Ok(Reply { surroundings: surroundings.collect(), ..Reply::of(Exit::Fine as u8) })
    }

    fn commands(&self) -> MutexGuard<'_, BTreeMap<u32, Instant>> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session that asks, if it is one.
    fn identify(&self, stream: &UnixStream, request: &Request) -> Result<(Epoch, Badge), Reply> {
        let inside = asker::at(stream, &self.layout)
            .map_err(|e| Reply::no(Exit::Failed, format!("who is asking cannot be known: {e}")))?;
        let Some(inside) = inside else {
            return Err(Reply::no(Exit::Usage, "this door is for what the factory started"));
        };
        let shown = request.token.as_deref().and_then(|token| Badge::shown(&self.layout, token));
        match (&inside.who, shown) {
            (Who::Agent(epoch), Some((named, badge))) if *epoch == named => Ok((named, badge)),
            (who, _) => {
                self.put_on_record(&inside, request.args.iter().cloned());
                Err(Reply::no(Exit::NeedsPerson, format!("this needs a person, and {who} asks")))
            }
        }
    }

    fn run(
        &self,
        stream: &UnixStream,
        epoch: Epoch,
        badge: &Badge,
        request: &Request,
        streams: Vec<OwnedFd>,
    ) -> io::Result<u8> {
        let Ok([input, output, errors]) = <[OwnedFd; STREAMS]>::try_from(streams) else {
            return Err(io::Error::other("it has no input and output"));
        };
        // It is known before it can ask.
        let mut commands = self.commands();
        let begun = Instant::now();
        let mut child = Command::new(self.layout.bin().join("shopfloor"))
            .arg("--home")
            .arg(self.layout.root())
            .args(only_its_own(&request.args, badge).into_iter().flatten())
            .args(&request.args)
            .env_clear()
            .envs(clean_env(self.projects.surroundings(), &[]))
            .env("NO_COLOR", "1")
            .env(ASKER, epoch.to_string())
            .current_dir("/")
            .stdin(input)
            .stdout(output)
            .stderr(errors)
            .process_group(0)
            .spawn()?;
        commands.insert(child.id(), begun);
        drop(commands);
        let ended = wait(&mut child, stream);
        if !matches!(ended, Ok(true)) {
            // Not reaped, so the pid is still its own.
            let _ = child.kill();
        }
        // While it is not reaped, nobody else has its number.
        self.commands().remove(&child.id());
        let status = child.wait()?;
        Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(Exit::Failed as u8))
    }
}

/// What a session asks without naming a project is about its own.
fn only_its_own<'b>(args: &[String], badge: &'b Badge) -> Option<[&'b str; 2]> {
    let names = |arg: &String| arg == "--project" || arg.starts_with("--project=") || arg.starts_with("-p");
    (!args.iter().any(names)).then_some(["--project", badge.project.as_str()])
}

/// Until the command has ended: true; or whoever asked is gone.
fn wait(child: &mut Child, stream: &UnixStream) -> io::Result<bool> {
    let exit = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    loop {
        let mut polled =
            [PollFd::new(&exit, PollFlags::IN), PollFd::new(stream, PollFlags::IN | PollFlags::RDHUP)];
        match poll(&mut polled, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(e) => return Err(e.into()),
        }
        if !polled[0].revents().is_empty() {
            return Ok(true);
        }
        if !polled[1].revents().is_empty() {
            return Ok(false);
        }
    }
}

/// The request's line, and the streams that came with it.
fn receive(stream: &UnixStream, since: Instant) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(STREAMS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut first = vec![0; 64 * 1024];
    let got = recvmsg(stream, &mut [IoSliceMut::new(&mut first)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    first.truncate(got.bytes);
    let streams = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    let streams: Vec<OwnedFd> = streams.flatten().collect();
    let mut rest = stream.take(REQUEST_BYTES_MAX);
    while !first.ends_with(b"\n") && first.len() < REQUEST_BYTES_MAX as usize {
        if since.elapsed() > REQUEST_WITHIN {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let mut part = [0; 16 * 1024];
        match rest.read(&mut part)? {
            0 => break,
            read => first.extend_from_slice(&part[..read]),
        }
    }
    Ok((first, streams))
}
