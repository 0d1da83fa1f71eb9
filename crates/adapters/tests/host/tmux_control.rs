//! The connection to a real tmux: questions and answers, and what becomes of them when it breaks.

use super::support::{BOUND, Fifo};
use super::tmux::{Server, nasty};
use shopfloor_adapters::host::process::identify;
use shopfloor_adapters::terminal::control::connection::{AskError, ControlClient, ControlEvent};
use shopfloor_adapters::terminal::control::gate::Gate;
use shopfloor_adapters::terminal::control::sightings::PaneEvent;
use shopfloor_adapters::terminal::tmux::{Probe, Tmux, TmuxError};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A server of the test's own with a connection to it.
pub struct Floor {
    pub server: Server,
    /// The same as the server's, but over the connection.
    pub tmux: Tmux,
    pub events: Receiver<PaneEvent>,
}

impl Floor {
    pub fn new() -> Floor {
        let server = Server::new();
        let (tx, events) = channel();
        let tmux = server.tmux.connect(move |event| tx.send(event).unwrap_or_default()).expect("a thread");
        Floor { server, tmux, events }
    }

    pub fn spawn(&self, name: &str, script: &str) -> shopfloor_core::effect::ProcessId {
        self.tmux.spawn(&self.server.spec(name, script)).expect("spawned")
    }

    /// Waits until something is told.
    pub fn told(&self, wanted: &PaneEvent) {
        let deadline = Instant::now() + BOUND;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let event = self.events.recv_timeout(left).unwrap_or_else(|_| panic!("{wanted:?} is told"));
            if event == *wanted {
                return;
            }
        }
    }

    /// With a session that does nothing, and a connection.
    pub fn connected() -> Floor {
        let floor = Floor::new();
        floor.spawn("idle", "sleep 300");
        floor.told(&PaneEvent::Connected);
        assert!(floor.tmux.is_connected());
        floor
    }

    pub fn plain(&self, args: &[&str]) -> String {
        let output =
            Command::new("tmux").arg("-S").arg(self.tmux.socket()).args(args).output().expect("tmux runs");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn control_client(&self) -> u32 {
        let format = ["list-clients", "-t", "=shopfloor", "-F", "#{client_pid}"];
        self.plain(&format).parse().expect("one client")
    }
}

fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid");
    rustix::process::kill_process(pid, signal).expect("signalled");
}

#[test]
fn there_is_a_connection_while_there_are_sessions_and_no_server_without() {
    let floor = Floor::new();
    assert_eq!(floor.tmux.probe("a").expect("probed"), Probe::Absent);
    floor.tmux.want_connection();
    assert!(!floor.tmux.socket().exists(), "no server is started for a connection");

    let process = floor.spawn("a", "sleep 300");
    floor.told(&PaneEvent::Connected);
    assert_eq!(floor.tmux.probe("a").expect("probed"), Probe::Alive(process));
    assert_eq!(floor.tmux.list().expect("listed"), [("a".to_owned(), Probe::Alive(process))]);
    assert!(floor.plain(&["list-sessions"]).contains("shopfloor"));
    assert!(matches!(floor.tmux.end("shopfloor"), Err(TmuxError::Refused(_))));

    // Nothing of the agents is touched, and nothing of the connection is left.
    floor.tmux.close();
    assert_eq!(floor.plain(&["list-sessions", "-F", "#{session_name}"]), "a");
    assert_eq!(floor.tmux.probe("a").expect("by a process"), Probe::Alive(process));
    floor.tmux.end("a").expect("ended");
    assert_eq!(floor.server.tmux.list().expect("listed"), []);
}

#[test]
fn a_server_without_agents_ends_with_the_connection() {
    let floor = Floor::connected();
    let server: u32 = floor.plain(&["display-message", "-p", "#{pid}"]).parse().expect("a pid");
    let server = identify(server).expect("it runs");
    floor.tmux.end("idle").expect("ended");
    assert!(floor.tmux.is_connected());
    floor.tmux.close();
    super::support::wait_gone(server);
}

#[test]
fn many_ask_at_once_and_each_gets_its_own_answer() {
    let floor = Floor::connected();
    let names: Vec<String> = (0..8).map(|n| format!("s{n}")).collect();
    let processes: Vec<_> =
        names.iter().map(|name| floor.spawn(name, &format!("echo I am {name}; sleep 300"))).collect();
    std::thread::scope(|scope| {
        for (name, process) in names.iter().zip(&processes) {
            let tmux = floor.tmux.clone();
            scope.spawn(move || {
                let deadline = Instant::now() + BOUND;
                while tmux.capture(name, 5).expect("captured") != format!("I am {name}") {
                    assert!(Instant::now() < deadline, "{name} prints");
                }
                for _ in 0..50 {
                    assert_eq!(tmux.capture(name, 5).expect("captured"), format!("I am {name}"));
                    assert_eq!(tmux.probe(name).expect("probed"), Probe::Alive(*process));
                    assert_eq!(tmux.probe("nobody").expect("probed"), Probe::Absent);
                }
            });
        }
    });
    assert!(floor.tmux.is_connected());
}

/// The next event that is not a client's start.
fn next(events: &Receiver<ControlEvent>) -> ControlEvent {
    loop {
        match events.recv_timeout(BOUND).expect("an event") {
            ControlEvent::Started { .. } => {}
            other => return other,
        }
    }
}

/// A connection without all that is around it.
fn client(floor: &Floor) -> (ControlClient, Receiver<ControlEvent>) {
    let (socket, (tx, rx)) = (floor.tmux.socket().to_owned(), channel());
    let command = move || {
        let mut tmux = Command::new("tmux");
        tmux.arg("-u").arg("-S").arg(&socket).args(["-N", "-C", "attach-session", "-t", "=idle"]);
        tmux
    };
    let client = ControlClient::start(
        Gate::default(),
        || true,
        command,
        Vec::new(),
        "detach-client\n".into(),
        move |event| tx.send(event).unwrap_or_default(),
    );
    let client = client.expect("a thread");
    client.want();
    assert_eq!(next(&rx), ControlEvent::Connected);
    (client, rx)
}

#[test]
fn arguments_reach_tmux_as_they_are() {
    let floor = Floor::connected();
    let (client, _events) = client(&floor);
    let file = floor.server.folder.path().join("saved");
    for word in nasty().into_iter().filter(|word| !word.is_empty()) {
        let commands = [
            vec![&b"set-buffer"[..], b"-b", b"word", b"--", word.as_bytes()],
            vec![&b"save-buffer"[..], b"-b", b"word", file.as_os_str().as_bytes()],
            vec![&b"no-such-command"[..], word.as_bytes()],
            vec![&b"delete-buffer"[..], b"-b", b"word"],
        ];
        let replies = client.ask(&commands, BOUND).expect("answered");
        assert_eq!(replies.iter().map(|reply| reply.ok).collect::<Vec<_>>(), [true, true, false, true]);
        assert_eq!(fs::read(&file).expect("read"), word.as_bytes(), "{word:?}");
    }
    assert_eq!(client.ask(&[vec![&b"set-buffer"[..], b"a\0b"]], BOUND), Err(AskError::Unspeakable));
    assert_eq!(client.ask(&[vec![]], BOUND), Err(AskError::Unspeakable));
    assert_eq!(client.ask(&[], BOUND), Ok(vec![]));
}

#[test]
fn a_screen_may_show_lines_of_the_protocol() {
    let floor = Floor::connected();
    let lines = "%end 1 1 1\n%begin 1 1 1\n%exit\n%error 1 2 1\n%output %1 x\n%subscription-changed panes $1 - - - : x";
    floor.spawn("forger", &format!("echo '{lines}'; sleep 300"));
    let deadline = Instant::now() + BOUND;
    while floor.tmux.capture("forger", 20).expect("captured") != lines {
        assert!(Instant::now() < deadline, "it prints");
    }
    assert!(floor.tmux.is_connected());
}

#[test]
fn a_connection_that_lies_is_given_up() {
    // It lets us in, and ends a reply before its time.
    let script = "printf '%%begin 1 1 0\\n%%end 1 1 0\\n'; read -r a; read -r b; \
                  printf '%%begin 1 2 1\\nx\\n%%end 1 2 1\\n%%begin 1 3 1\\nguess\\n%%end 1 3 1\\n'; read -r c";
    let (tx, rx) = channel();
    let command = move || {
        let mut sh = Command::new("sh");
        sh.args(["-c", script]);
        sh
    };
    let client = ControlClient::start(
        Gate::default(),
        || true,
        command,
        Vec::new(),
        "detach-client\n".into(),
        move |event| tx.send(event).unwrap_or_default(),
    );
    let client = client.expect("a thread");
    client.want();
    assert_eq!(next(&rx), ControlEvent::Connected);
    assert_eq!(client.ask(&[vec![&b"a"[..]]], BOUND), Err(AskError::Lost));
    assert_eq!(next(&rx), ControlEvent::Disconnected);
    assert_eq!(next(&rx), ControlEvent::Connected, "and is made again");
    client.close();
    assert_eq!(client.ask(&[vec![&b"a"[..]]], BOUND), Err(AskError::NotConnected));
}

#[test]
fn a_server_that_hangs_is_not_waited_for_and_answers_later_are_nobodys() {
    let floor = Floor::connected();
    let (client, _events) = client(&floor);
    let server: u32 = floor.plain(&["display-message", "-p", "#{pid}"]).parse().expect("a pid");
    signal(server, rustix::process::Signal::STOP);
    let ask =
        |word: &str, timeout| client.ask(&[vec![&b"display-message"[..], b"-p", word.as_bytes()]], timeout);
    for number in 0..3 {
        assert_eq!(ask(&format!("late{number}"), Duration::from_millis(20)), Err(AskError::TimedOut));
    }
    // More than the pipe holds.
    let huge = "x".repeat(100_000);
    assert_eq!(ask(&huge, Duration::from_millis(20)), Err(AskError::Lost), "given up, half said");
    signal(server, rustix::process::Signal::CONT);
    let deadline = Instant::now() + BOUND;
    let replies = loop {
        assert!(Instant::now() < deadline, "it answers again");
        if let Ok(replies) = ask("now", BOUND) {
            break replies;
        }
    };
    assert_eq!(replies[0].bytes, b"now\n");
}

/// What is said of a process in a file of numbers under /proc: the one after `name`.
fn told_by_kernel(path: &str, name: &str) -> u64 {
    let text = fs::read_to_string(path).expect("read");
    let rest = text.split_once(name).expect("it is told").1;
    rest.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
}

/// As much as a busy client prints in a night. Every answer comes while it lasts, however long a
/// busy machine takes over it; only a flood that stands still is waited for no longer than `BOUND`.
#[test]
fn a_flood_in_a_pane_neither_stops_answers_nor_fills() {
    const FLOOD: u64 = 50_000_000;
    let floor = Floor::connected();
    let resident = || told_by_kernel("/proc/self/status", "VmRSS:") * 1024;
    let server = format!("/proc/{}/io", floor.plain(&["display-message", "-p", "#{pid}"]));
    let read_by_tmux = || told_by_kernel(&server, "rchar:");
    let (memory, began) = (resident(), read_by_tmux());
    let process = floor.spawn("flood", "exec yes 'a line of a flood'");
    let (mut flooded, mut grew) = (0, Instant::now());
    while flooded < FLOOD {
        assert_eq!(floor.tmux.probe("flood").expect("probed"), Probe::Alive(process));
        assert!(floor.tmux.capture("flood", 50).expect("captured").len() < 10_000);
        let now = read_by_tmux() - began;
        if now > flooded {
            (flooded, grew) = (now, Instant::now());
        }
        assert!(grew.elapsed() < BOUND, "the flood goes on after {flooded} bytes");
    }
    let grown = resident().saturating_sub(memory);
    assert!(grown < 32 * 1024 * 1024, "{grown} bytes");
    assert!(floor.tmux.is_connected());
}

#[test]
fn a_server_that_dies_makes_sessions_absent_and_a_new_one_is_found() {
    let floor = Floor::connected();
    floor.told(&appeared("idle", &floor));
    floor.plain(&["kill-server"]);
    floor.told(&PaneEvent::Disconnected);
    assert_eq!(floor.tmux.probe("idle").expect("an answer, not an error"), Probe::Absent);
    assert_eq!(floor.tmux.capture("idle", 5).expect("captured"), "");
    assert_eq!(floor.tmux.list().expect("listed"), []);
    floor.told(&PaneEvent::Gone { session: "idle".to_owned() });

    let process = floor.spawn("again", "sleep 300");
    floor.told(&PaneEvent::Connected);
    assert_eq!(floor.tmux.probe("again").expect("probed"), Probe::Alive(process));
}

fn appeared(session: &str, floor: &Floor) -> PaneEvent {
    let title = floor.tmux.pane_title(session).expect("asked").expect("a title");
    PaneEvent::Appeared { session: session.to_owned(), title }
}

#[test]
fn a_client_that_dies_is_replaced_and_agents_do_not_notice() {
    let floor = Floor::connected();
    let process = floor.spawn("agent", "sleep 300");
    for _ in 0..3 {
        signal(floor.control_client(), rustix::process::Signal::KILL);
        floor.told(&PaneEvent::Disconnected);
        assert_eq!(floor.tmux.probe("agent").expect("probed"), Probe::Alive(process));
        floor.told(&PaneEvent::Connected);
        assert_eq!(floor.tmux.probe("agent").expect("probed"), Probe::Alive(process));
    }
    assert_eq!(floor.tmux.list().expect("listed").len(), 2);
}

struct Ending<'a>(&'a std::sync::atomic::AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

#[test]
fn the_server_survives_connections_that_come_and_go_while_agents_do() {
    let floor = Floor::connected();
    let server = floor.plain(&["display-message", "-p", "#{pid}"]);
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (tmux, server, over) = (&floor.tmux, &floor.server, &over);
        let spawning = scope.spawn(move || {
            for number in 0.. {
                let name = format!("agent-{number}");
                tmux.spawn(&server.spec(&name, "sleep 300")).expect("spawned");
                tmux.end(&name).expect("ended");
                if over.load(std::sync::atomic::Ordering::Relaxed) {
                    return number;
                }
            }
            0
        });
        // Also if something here fails: the other thread must not go on for ever.
        let ending = Ending(over);
        // Each time the pause before the next is longer.
        for _ in 0..5 {
            let killed = floor.control_client();
            signal(killed, rustix::process::Signal::KILL);
            let deadline = Instant::now() + BOUND;
            // tmux may show the dead one for a while, alone or beside its successor.
            let others = || {
                let listed = floor.plain(&["list-clients", "-t", "=shopfloor", "-F", "#{client_pid}"]);
                let pids: Vec<u32> = listed.lines().filter_map(|pid| pid.parse().ok()).collect();
                pids.len() == 1 && pids[0] != killed
            };
            while !others() || !floor.tmux.is_connected() {
                assert!(Instant::now() < deadline, "it connects again");
            }
        }
        drop(ending);
        assert!(spawning.join().expect("no error") > 0);
    });
    assert_eq!(floor.plain(&["display-message", "-p", "#{pid}"]), server);
}

#[test]
fn titles_and_deaths_of_all_sessions_are_told() {
    let floor = Floor::connected();
    let fifos = ["titled", "fails", "killed"].map(|name| Fifo::make(floor.server.folder.path(), name));
    let title = "busy ◐ | #(touch made) #{pid}: 50% ;";
    floor.spawn("titled", &format!("read go < titled; printf '\\033]2;%s\\007' '{title}'; sleep 300"));
    floor.spawn("fails", "read go < fails; exit 3");
    floor.spawn("killed", "read go < killed; kill -KILL $$");
    floor.told(&appeared("titled", &floor));
    for fifo in &fifos {
        fs::write(&fifo.0, "go\n").expect("told");
    }
    let titled = PaneEvent::Title { session: "titled".to_owned(), title: title.to_owned() };
    let mut wanted = vec![
        PaneEvent::Died { session: "fails".to_owned(), status: 3 },
        PaneEvent::Died { session: "killed".to_owned(), status: 137 },
    ];
    // Once in a few runs under load tmux 3.3a told of neither death in 30 s; that it lost the end of
    // its children is inferred, not shown. The kernel tells the daemon of deaths, and a probe knows how
    // they were: so here a death may be told or seen.
    let (mut title_told, began) = (false, Instant::now());
    while !title_told || !wanted.is_empty() {
        assert!(began.elapsed() < BOUND, "{wanted:?} are told, title {title_told}");
        if let Ok(event) = floor.events.recv_timeout(Duration::from_millis(200)) {
            title_told |= event == titled;
            wanted.retain(|other| *other != event);
        }
        wanted.retain(|death| {
            let PaneEvent::Died { session, status } = death else { unreachable!("only deaths are wanted") };
            floor.tmux.probe(session).expect("probed") != Probe::Dead { status: Some(*status) }
        });
    }
    assert_eq!(floor.tmux.pane_title("titled").expect("asked").as_deref(), Some(title));
    assert_eq!(floor.tmux.pane_title("nobody").expect("asked"), None);
    assert!(!floor.server.folder.path().join("made").exists());
    floor.tmux.end("fails").expect("ended");
    floor.told(&PaneEvent::Gone { session: "fails".to_owned() });
}

#[test]
fn names_of_all_that_is_allowed_and_two_floors_apart() {
    let (one, other) = (Floor::connected(), Floor::connected());
    let all: String = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain("_-".chars()).collect();
    let mut names = vec![all, "0".to_owned(), "_".to_owned(), "x".repeat(200), "shopfloor-1".to_owned()];
    let mut expected: Vec<(String, Probe)> = names
        .drain(..)
        .map(|name| {
            let process = one.spawn(&name, "sleep 300");
            assert_eq!(one.tmux.probe(&name).expect("probed"), Probe::Alive(process));
            assert_eq!(other.tmux.probe(&name).expect("probed"), Probe::Absent);
            (name, Probe::Alive(process))
        })
        .collect();
    let mut listed = one.tmux.list().expect("listed");
    listed.retain(|(name, _)| name != "idle");
    listed.sort_by(|a, b| a.0.cmp(&b.0));
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(listed, expected);
    assert_eq!(other.tmux.list().expect("listed").len(), 1);
    for (name, _) in expected {
        one.tmux.end(&name).expect("ended");
        assert_eq!(one.tmux.probe(&name).expect("probed"), Probe::Absent);
    }
}
