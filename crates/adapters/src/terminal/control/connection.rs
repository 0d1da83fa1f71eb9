//! A client that stays connected: commands go in, replies come back in order, events are reported.
//!
//! One thread owns the connection: it makes it, reads from it, and remakes it. Whoever asks writes a batch of
//! commands and waits for the replies; many may wait at once.
//!
//! Invariants:
//! - Nobody waits forever: every question has a deadline, even for being written.
//! - When the connection is lost, every question under way fails at once with [`AskError::Lost`]:
//!   what became of it is unknown.
//! - A reply is never taken for another's. Only replies to our own commands are counted, in the order of the
//!   commands, and each batch ends with a question whose answer (a random word) nothing on a screen can know.
//!   If that word does not come back unchanged, the connection is given up.
//! - A connection is attempted only when wanted, and again after a growing pause. If there is no server, it
//!   is not wanted until somebody says so again.
//! - Memory is bounded: questions under way, the bytes of a reply, the length of a line.
//! - The server is never left with a client that it cannot get rid of. tmux (3.3a) waits for ever for a
//!   control client to take its last words; until then it does not end, and answers nobody: if the reader of
//!   the pipe is gone, the floor would be stuck. So the client itself holds the other end of the pipe (in
//!   place of its standard error) until the server has let it go.
//! - While the server lets a client in, we change none of its sessions (see [`super::gate`]).
//! - Events are reported on the connection's own thread, with no lock held. Whoever is told must not ask: the
//!   thread that waits for the answer would have to read it.

use super::gate::Gate;
use super::pipe::{unblock, write};
use super::protocol::{Guard, Line, Notification, Parser};
use super::quote;
use crate::host::process::timespec;
use crate::host::wake::Wake;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::fcntl_setpipe_size;
use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLockWriteGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What exceeds this is read and dropped.
const REPLY_BYTES_MAX: usize = 4 * 1024 * 1024;
const PIPE_BYTES: usize = 1024 * 1024;
const IN_FLIGHT_MAX: usize = 4096;
const GREETING_TIMEOUT: Duration = Duration::from_secs(10);
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the server may take to let us go.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// A connection that lasted this long was a good one: its loss is no reason to wait.
const GOOD_AFTER: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub ok: bool,
    /// Its lines, each with its line end.
    pub bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// Nothing was asked.
    #[error("there is no connection to tmux")]
    NotConnected,
    #[error("too many questions to tmux are under way")]
    Busy,
    /// The words cannot be expressed to tmux; nothing was asked.
    #[error("a NUL byte can not be passed on to tmux")]
    Unspeakable,
    /// Whether it was done is unknown.
    #[error("the connection to tmux was lost")]
    Lost,
    /// Whether it was or will be done is unknown.
    #[error("tmux does not answer in time")]
    TimedOut,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlEvent {
    /// A client was started; it is not connected yet.
    Started {
        pid: u32,
    },
    Connected,
    Disconnected,
    /// There is no server to connect to.
    NoServer,
    Notification(Notification),
}

pub struct ControlClient {
    shared: Arc<Shared>,
    /// The commands that end a connection.
    farewell: String,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct State {
    wanted: bool,
    closed: bool,
    /// Set while questions can be asked.
    link: Option<Link>,
    /// What is left of a link after the farewell: if it closed before the server has let us go, the last
    /// words might not be heard.
    leaving: Option<ChildStdin>,
}

struct Link {
    stdin: ChildStdin,
    pending: VecDeque<Pending>,
}

struct Pending {
    /// `None` for the connection's own commands, and when the asker stopped waiting.
    to: Option<Sender<Reply>>,
    /// What the reply must be, if this is the question that ends a batch.
    expected: Option<String>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    wake: Wake,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Changed in single steps: a panic elsewhere cannot leave it half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ControlClient {
    /// Starts the thread; there is no connection before [`ControlClient::want`]. `is_there` says whether
    /// there is a server to connect to, `command` is the tmux client to run, `greeting` holds the commands
    /// that begin every connection, `farewell` those with which [`ControlClient::close`] ends it; they must
    /// make the client leave.
    pub fn start(
        gate: Gate,
        is_there: impl Fn() -> bool + Send + 'static,
        mut command: impl FnMut() -> Command + Send + 'static,
        greeting: Vec<String>,
        farewell: String,
        on_event: impl FnMut(ControlEvent) + Send + 'static,
    ) -> io::Result<ControlClient> {
        let shared =
            Arc::new(Shared { state: Mutex::default(), changed: Condvar::new(), wake: Wake::new()? });
        let keeper =
            Keeper { shared: Arc::clone(&shared), greeting, gate, is_there: Box::new(is_there), on_event };
        let thread = std::thread::Builder::new()
            .name("tmux-control".to_owned())
            .spawn(move || keeper.run(&mut command))?;
        Ok(ControlClient { shared, farewell, thread: Mutex::new(Some(thread)) })
    }

    /// Connects, if not connected: soon, but not before this returns.
    pub fn want(&self) {
        let mut state = self.shared.state();
        if !state.wanted {
            state.wanted = true;
            self.shared.changed.notify_all();
        }
    }

    pub fn is_connected(&self) -> bool {
        self.shared.state().link.is_some()
    }

    /// Makes tmux execute the commands one after another, even if one fails; returns a reply for each, and
    /// two for a choice between two commands (`if-shell -F`): its own, and that of the command it chose.
    pub fn ask(&self, commands: &[Vec<&[u8]>], timeout: Duration) -> Result<Vec<Reply>, AskError> {
        let deadline = Instant::now() + timeout;
        let nonce = format!("{:016x}", RandomState::new().build_hasher().finish());
        let mut bytes = String::new();
        for command in commands {
            bytes.push_str(&quote::line(command).ok_or(AskError::Unspeakable)?);
        }
        bytes.push_str(&format!("display-message -p {nonce}\n"));
        let (to, replies) = channel();
        let choices = commands.iter().filter(|words| words.first() == Some(&&b"if-shell"[..])).count();
        let expected = commands.len() + choices;
        self.send(&bytes, expected, &to, nonce, timeout.min(WRITE_TIMEOUT))?;
        drop(to);
        let mut all = Vec::with_capacity(expected + 1);
        while all.len() <= expected {
            match replies.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(reply) => all.push(reply),
                Err(RecvTimeoutError::Timeout) => return Err(AskError::TimedOut),
                Err(RecvTimeoutError::Disconnected) => return Err(AskError::Lost),
            }
        }
        all.pop();
        Ok(all)
    }

    fn send(
        &self,
        bytes: &str,
        replies: usize,
        to: &Sender<Reply>,
        nonce: String,
        timeout: Duration,
    ) -> Result<(), AskError> {
        let mut state = self.shared.state();
        let link = state.link.as_mut().ok_or(AskError::NotConnected)?;
        if link.pending.len() + replies >= IN_FLIGHT_MAX {
            return Err(AskError::Busy);
        }
        if write(&link.stdin, bytes.as_bytes(), timeout).is_err() {
            // Half a command may have been written: nothing more can be said on this connection.
            state.link = None;
            drop(state);
            self.shared.wake.signal();
            return Err(AskError::Lost);
        }
        link.pending.extend((0..replies).map(|_| Pending { to: Some(to.clone()), expected: None }));
        link.pending.push_back(Pending { to: Some(to.clone()), expected: Some(nonce) });
        Ok(())
    }

    /// Leaves tmux, and waits until that is done. There is no connection ever after.
    pub fn close(&self) {
        let mut state = self.shared.state();
        state.closed = true;
        if let Some(Link { stdin, .. }) = state.link.take()
            && write(&stdin, self.farewell.as_bytes(), CLOSE_TIMEOUT).is_ok()
        {
            state.leaving = Some(stdin);
        }
        drop(state);
        self.shared.wake.signal();
        self.shared.changed.notify_all();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

impl Drop for ControlClient {
    fn drop(&mut self) {
        self.close();
    }
}

/// The connection's thread.
struct Keeper<F> {
    shared: Arc<Shared>,
    greeting: Vec<String>,
    gate: Gate,
    is_there: Box<dyn Fn() -> bool + Send>,
    on_event: F,
}

/// Why there is no connection any more.
enum End {
    NoServer,
    Lost,
}

impl<F: FnMut(ControlEvent)> Keeper<F> {
    fn run(mut self, command: &mut dyn FnMut() -> Command) {
        let mut failures = 0;
        while self.wait_until_wanted() {
            let began = Instant::now();
            match self.connect(&mut command()) {
                End::NoServer => {
                    failures = 0;
                    self.shared.state().wanted = false;
                    (self.on_event)(ControlEvent::NoServer);
                }
                End::Lost => {
                    failures = if began.elapsed() >= GOOD_AFTER { 0 } else { failures + 1 };
                    self.pause(failures);
                }
            }
        }
    }

    /// False if it never will be wanted.
    fn wait_until_wanted(&self) -> bool {
        let state = self.shared.state();
        let waits = |state: &mut State| !state.wanted && !state.closed;
        let state = self.shared.changed.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner);
        !state.closed
    }

    fn pause(&self, failures: u32) {
        if failures == 0 {
            return;
        }
        let pause = PAUSE_MAX.min(PAUSE_MIN * 2u32.saturating_pow(failures.min(16) - 1));
        let _unused = self.shared.changed.wait_timeout_while(self.shared.state(), pause, |s| !s.closed);
    }

    /// One connection, from its beginning to its end.
    fn connect(&mut self, command: &mut Command) -> End {
        use std::os::unix::process::CommandExt;
        if !(self.is_there)() {
            return End::NoServer;
        }
        let Ok((stdout, theirs)) = io::pipe() else { return End::Lost };
        // Room for the last words, in case nobody reads them. A smaller pipe is no reason to fail.
        let _ = fcntl_setpipe_size(&stdout, PIPE_BYTES);
        let Ok(also_theirs) = stdout.try_clone() else { return End::Lost };
        command.stdin(Stdio::piped()).stdout(theirs).stderr(also_theirs);
        let gate = self.gate.clone();
        let closed = gate.close();
        // Ctrl-C in the daemon's terminal is not meant for it.
        let child = command.process_group(0).spawn();
        // The command holds the pipe's ends, so drop it.
        *command = Command::new("");
        let Ok(mut child) = child else { return End::Lost };
        (self.on_event)(ControlEvent::Started { pid: child.id() });
        let connected = self.serve(&mut child, stdout, closed);
        // This drops the questions that were under way, which answers them.
        let mut state = self.shared.state();
        (state.link, state.leaving) = (None, None);
        drop(state);
        // It has ended, or will not by itself: it is our child and not reaped yet.
        let _ = child.kill();
        let _ = child.wait();
        if connected {
            (self.on_event)(ControlEvent::Disconnected);
        }
        End::Lost
    }

    /// Reads until the connection ends; returns whether there ever was one.
    fn serve(&mut self, child: &mut Child, mut stdout: PipeReader, gate: RwLockWriteGuard<'_, ()>) -> bool {
        let mut gate = Some(gate);
        let Some(stdin) = child.stdin.take() else { return false };
        if unblock(&stdin).is_err() {
            return false;
        }
        let mut reading = Reading { greeting: Some(stdin), reply: None, connected: false, broken: false };
        let mut parser = Parser::default();
        let mut buffer = vec![0; 64 * 1024];
        let mut deadline = Some(Instant::now() + GREETING_TIMEOUT);
        loop {
            match self.wait(&stdout, deadline) {
                Ready::Bytes => {}
                Ready::Woken => {
                    let mut state = self.shared.state();
                    if state.closed || (reading.greeting.is_none() && state.link.is_none()) {
                        // Somebody gave the connection up. The farewell or the end of its input tells the
                        // server, which has a moment to let go.
                        state.link = None;
                        reading.greeting = None;
                        deadline = Some(Instant::now() + CLOSE_TIMEOUT);
                    }
                    continue;
                }
                Ready::TooLate => break,
            }
            let read = match stdout.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            let greeted = reading.greeting.is_none();
            parser.feed(&buffer[..read], |line| reading.line(line, self));
            if reading.broken {
                break;
            }
            if !greeted && reading.greeting.is_none() {
                deadline = None;
                drop(gate.take());
            }
        }
        reading.connected
    }

    fn wait(&self, stdout: &PipeReader, deadline: Option<Instant>) -> Ready {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Ready::TooLate;
        }
        let mut polled = [
            PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::IN),
            PollFd::new(&self.shared.wake, PollFlags::IN),
        ];
        if poll(&mut polled, left.map(timespec).as_ref()).is_err() {
            // Interrupted: look again.
            return Ready::Woken;
        }
        if !polled[1].revents().is_empty() {
            self.shared.wake.drain();
            return Ready::Woken;
        }
        if polled[0].revents().is_empty() { Ready::TooLate } else { Ready::Bytes }
    }
}

enum Ready {
    Bytes,
    Woken,
    TooLate,
}

/// What is known of one connection.
struct Reading {
    /// The pipe for commands, kept here until the server has let us in.
    greeting: Option<ChildStdin>,
    reply: Option<(Guard, Vec<u8>)>,
    connected: bool,
    /// What is read cannot be trusted.
    broken: bool,
}

impl Reading {
    fn line(&mut self, line: Line, keeper: &mut Keeper<impl FnMut(ControlEvent)>) {
        if self.broken {
            return;
        }
        match line {
            Line::Begin(guard) => self.reply = Some((guard, Vec::new())),
            Line::Text(text) => {
                if let Some((_, bytes)) = &mut self.reply
                    && bytes.len() + text.len() < REPLY_BYTES_MAX
                {
                    bytes.extend_from_slice(&text);
                    bytes.push(b'\n');
                }
            }
            Line::End { guard, ok } => {
                let bytes = self.reply.take().map(|(_, bytes)| bytes).unwrap_or_default();
                self.broken = if guard.is_ours() {
                    !answer(&keeper.shared, Reply { ok, bytes })
                } else {
                    !ok || !self.let_in(keeper)
                };
            }
            Line::Notification(notification) => {
                (keeper.on_event)(ControlEvent::Notification(notification));
            }
            Line::Violation(_) => self.broken = true,
        }
    }

    /// The command that the client was started with is done (or, later, a hook's).
    fn let_in(&mut self, keeper: &mut Keeper<impl FnMut(ControlEvent)>) -> bool {
        let Some(stdin) = self.greeting.take() else { return true };
        let mut state = keeper.shared.state();
        if state.closed {
            return true;
        }
        let greeting = keeper.greeting.concat();
        if write(&stdin, greeting.as_bytes(), WRITE_TIMEOUT).is_err() {
            return false;
        }
        let pending = keeper.greeting.iter().map(|_| Pending { to: None, expected: None }).collect();
        state.link = Some(Link { stdin, pending });
        drop(state);
        self.connected = true;
        (keeper.on_event)(ControlEvent::Connected);
        true
    }
}

/// Passes a reply to whoever waits for it. False if nobody asked, or it is not the expected one.
fn answer(shared: &Shared, reply: Reply) -> bool {
    let mut state = shared.state();
    // The link was given up: what still arrives is nobody's.
    let Some(link) = state.link.as_mut() else { return true };
    let Some(pending) = link.pending.pop_front() else { return false };
    drop(state);
    if let Some(expected) = pending.expected
        && (!reply.ok || reply.bytes.trim_ascii_end() != expected.as_bytes())
    {
        return false;
    }
    if let Some(to) = pending.to {
        // The asker may have stopped waiting.
        let _ = to.send(reply);
    }
    true
}
