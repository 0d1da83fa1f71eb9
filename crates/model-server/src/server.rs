//! The server: a port on loopback, a thread for each connection, and the handle tests hold.
//!
//! Invariants:
//! - It listens on 127.0.0.1 and nowhere else.
//! - Whatever a connection waits for ends when the handle is dropped; no thread outlives it.

use crate::director::{Answer, Director, Part, Reply};
use crate::fault::{Fault, Wire};
use crate::http::{self, Request};
use crate::log::{Asked, Log};
use crate::scenario::{Scenario, Usage};
use crate::turn::{Client, Turn};
use crate::{anthropic, control, openai};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufReader, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Connections at a time; clients use a handful.
const CONNECTIONS_MAX: usize = 64;
/// A client that says or takes nothing for that long is gone.
const SOCKET_TIMEOUT: Duration = Duration::from_secs(30);

/// A running server. It stops when this is dropped.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Something in the state is different.
    changed: Condvar,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub director: Director,
    pub log: Log,
    released: BTreeSet<String>,
    /// Grows when faults are cleared: what hangs by then goes on.
    clearings: u64,
    connections: BTreeMap<u64, TcpStream>,
    stopping: bool,
}

impl ModelServer {
    /// On a port that is free.
    pub fn start(scenario: Scenario) -> io::Result<ModelServer> {
        ModelServer::start_on(0, scenario)
    }

    pub fn start_on(port: u16, scenario: Scenario) -> io::Result<ModelServer> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        shared.lock().director = Director::new(scenario);
        let accepting = Arc::clone(&shared);
        let listener = std::thread::spawn(move || accept(&listener, &accepting, address.port()));
        Ok(ModelServer { address, shared, listener: Some(listener) })
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// For `ANTHROPIC_BASE_URL`.
    pub fn anthropic_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// For a provider's `base_url`.
    pub fn openai_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What was asked so far, the client's own business included.
    pub fn requests(&self) -> Vec<Asked> {
        self.shared.lock().log.asked()
    }

    /// Requests for something else than an answer: method and path.
    pub fn other_requests(&self) -> Vec<String> {
        self.shared.lock().log.others()
    }

    /// Waits until the requests are as wanted, and gives them; an error has them too.
    pub fn wait_for(
        &self,
        bound: Duration,
        wanted: impl Fn(&[Asked]) -> bool,
    ) -> Result<Vec<Asked>, Vec<Asked>> {
        let deadline = Instant::now() + bound;
        let mut state = self.shared.lock();
        loop {
            let asked = state.log.asked();
            if wanted(&asked) {
                return Ok(asked);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(asked);
            }
            state = self.shared.changed.wait_timeout(state, left).expect("no holder panics").0;
        }
    }

    /// Another fault, behind those that are set.
    pub fn set_fault(&self, fault: Fault) {
        self.shared.add_fault(fault);
    }

    /// No more faults; what hangs is cut.
    pub fn clear_faults(&self) {
        self.shared.clear_faults();
    }

    /// What answers cost from now on; `None` is what the scenario says.
    pub fn set_usage(&self, usage: Option<Usage>) {
        self.shared.lock().director.set_usage(usage);
    }

    /// Answers that hold at this name go on, those that come there later as well.
    pub fn release(&self, hold: &str) {
        self.shared.release(hold);
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.stopping = true;
        for connection in state.connections.values() {
            // It may have ended by itself.
            let _ = connection.shutdown(Shutdown::Both);
        }
        drop(state);
        self.shared.changed.notify_all();
        // Wakes the listener, which then sees that it is over.
        let woken = TcpStream::connect(self.address).is_ok();
        if let Some(listener) = self.listener.take().filter(|_| woken) {
            let _ = listener.join();
        }
    }
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder panics")
    }

    pub(crate) fn add_fault(&self, fault: Fault) {
        self.lock().director.add_fault(fault);
    }

    pub(crate) fn clear_faults(&self) {
        let mut state = self.lock();
        state.director.clear_faults();
        state.clearings += 1;
        drop(state);
        self.changed.notify_all();
    }

    pub(crate) fn release(&self, hold: &str) {
        self.lock().released.insert(hold.to_owned());
        self.changed.notify_all();
    }

    /// Waits until `over` or the end of the server, which is an error.
    fn wait(&self, bound: Option<Duration>, over: impl Fn(&State) -> bool) -> io::Result<()> {
        let waits = |state: &mut State| !state.stopping && !over(state);
        let state = self.lock();
        let state = match bound {
            None => self.changed.wait_while(state, waits).expect("no holder panics"),
            Some(bound) => self.changed.wait_timeout_while(state, bound, waits).expect("no holder panics").0,
        };
        if state.stopping { Err(io::ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
    }

    fn wait_part(&self, part: &Part) -> io::Result<()> {
        match part {
            Part::DelayMs(ms) => self.wait(Some(Duration::from_millis(*ms)), |_| false),
            Part::Hold(name) => self.wait(None, |state| state.released.contains(name)),
            Part::Text(_) | Part::Call { .. } => Ok(()),
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>, port: u16) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    for (number, stream) in (0u64..).zip(listener.incoming()) {
        threads.retain(|thread| !thread.is_finished());
        let mut state = shared.lock();
        if state.stopping {
            break;
        }
        let Ok((stream, copy)) = stream.and_then(|stream| stream.try_clone().map(|copy| (stream, copy)))
        else {
            continue;
        };
        if state.connections.len() >= CONNECTIONS_MAX {
            continue;
        }
        state.connections.insert(number, copy);
        drop(state);
        let shared = Arc::clone(shared);
        threads.push(std::thread::spawn(move || {
            // A client that goes away is its own business.
            let _ = Connection { shared: &shared, port, number }.serve(&stream);
            let _ = stream.shutdown(Shutdown::Both);
            shared.lock().connections.remove(&number);
        }));
    }
    for thread in threads {
        let _ = thread.join();
    }
}

struct Connection<'a> {
    shared: &'a Shared,
    port: u16,
    /// Makes the ids of answers unique within this server; with the port, mostly beyond it.
    number: u64,
}

impl Connection<'_> {
    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(SOCKET_TIMEOUT))?;
        stream.set_write_timeout(Some(SOCKET_TIMEOUT))?;
        stream.set_nodelay(true)?;
        let Some(request) = Request::read(&mut BufReader::new(stream))? else { return Ok(()) };
        let mut to = stream;
        if let Some(what) = request.path.strip_prefix("/control/") {
            let (status, body) = control::answer(self.shared, &request.method, what, &request.body);
            return http::json(&mut to, status, &body, &[]);
        }
        let body = || serde_json::from_slice::<Value>(&request.body).unwrap_or_default();
        let session = |name: &str| request.header(name).map(str::to_owned);
        match (request.method.as_str(), request.path.as_str()) {
            ("POST", "/v1/messages") => {
                let turn = anthropic::turn(&body(), session("x-claude-code-session-id").as_deref());
                self.answer(&mut to, &turn, &request.headers)
            }
            ("POST", "/v1/responses") => {
                let turn = openai::turn(&body(), session("session-id").as_deref());
                self.answer(&mut to, &turn, &request.headers)
            }
            (method, path) => {
                self.shared.lock().log.push_other(method, path);
                if method == "HEAD" {
                    return http::nothing(&mut to);
                }
                let (status, body) = match (method, path) {
                    ("POST", "/v1/messages/count_tokens") => {
                        (200, json!({ "input_tokens": request.body.len() / 4 + 1 }))
                    }
                    ("GET", "/v1/models") => (200, json!({ "object": "list", "data": [], "models": [] })),
                    _ => (404, json!({ "error": { "type": "not_found_error", "message": "no such path" } })),
                };
                http::json(&mut to, status, &body, &[])
            }
        }
    }

    fn answer(&self, to: &mut impl Write, turn: &Turn, headers: &[(String, String)]) -> io::Result<()> {
        let mut state = self.shared.lock();
        let (reply, by) = state.director.reply(turn);
        state.log.push(turn, headers, by);
        let clearings = state.clearings;
        drop(state);
        self.shared.changed.notify_all();
        let id = format!("{}x{}", self.port, self.number);
        match reply {
            Reply::Answer(answer) => Script { id: &id, turn, answer: &answer }.send(to, self.shared),
            Reply::Fault(fault) => {
                let wire = match turn.client {
                    Client::Claude => anthropic::fault(&fault),
                    Client::Codex => openai::fault(&fault),
                };
                self.fault(to, &id, turn, wire, clearings)
            }
        }
    }

    fn fault(
        &self,
        to: &mut impl Write,
        id: &str,
        turn: &Turn,
        wire: Wire,
        clearings: u64,
    ) -> io::Result<()> {
        if let Wire::Status { status, body, headers } = wire {
            return http::json(to, status, &body, &headers);
        }
        if !turn.stream {
            return match wire {
                Wire::Hang => self.shared.wait(None, |state| state.clearings > clearings),
                _ => Ok(()),
            };
        }
        let nothing =
            Answer { parts: Vec::new(), stop: None, usage: Usage::default(), headers: BTreeMap::new() };
        Script { id, turn, answer: &nothing }.begin(to)?;
        match wire {
            Wire::Hang => self.shared.wait(None, |state| state.clearings > clearings),
            Wire::Event { name, data } => http::event(to, name, &data),
            Wire::Cut | Wire::Status { .. } => Ok(()),
        }
    }
}

/// An answer in the words of its client's API.
struct Script<'a> {
    id: &'a str,
    turn: &'a Turn,
    answer: &'a Answer,
}

impl Script<'_> {
    fn message(&self) -> anthropic::Message<'_> {
        anthropic::Message { id: self.id, model: &self.turn.model, answer: self.answer }
    }

    fn response(&self) -> openai::Response<'_> {
        openai::Response { id: self.id, answer: self.answer }
    }

    fn headers(&self) -> Vec<(String, String)> {
        self.answer.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    fn begin(&self, to: &mut impl Write) -> io::Result<()> {
        http::events(to, &self.headers())?;
        self.say(to, self.message().begin(), self.response().begin())
    }

    fn say(&self, to: &mut impl Write, claude: Events, codex: Events) -> io::Result<()> {
        let events = if self.turn.client == Client::Claude { claude } else { codex };
        events.iter().try_for_each(|(name, data)| http::event(to, name, data))
    }

    fn send(&self, to: &mut impl Write, shared: &Shared) -> io::Result<()> {
        if !self.turn.stream {
            self.answer.parts.iter().try_for_each(|part| shared.wait_part(part))?;
            return http::json(to, 200, &self.message().whole(), &self.headers());
        }
        self.begin(to)?;
        let mut index = 0;
        for part in &self.answer.parts {
            shared.wait_part(part)?;
            self.say(to, self.message().part(index, part), self.response().part(index, part))?;
            index += usize::from(part.says());
        }
        self.say(to, self.message().end(), self.response().end())
    }
}

type Events = Vec<(&'static str, Value)>;
