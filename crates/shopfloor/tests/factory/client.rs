//! A floor whose agents are clients in a terminal: the demo agent stands in for Claude Code by an
//! override of that runtime, and is read, typed to and judged as Claude Code is.

use crate::floor::{Floor, git_in};
use serde_json::Value;
use shopfloor_core::ids::{Epoch, IssueNumber, Seq};
use shopfloor_core::state::{End, Message, Session};
use shopfloor_store::Store;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than anything takes; only a test that fails waits for so long.
const BOUND: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_millis(20);

const CONFIG: &str = r#"
[agents.dev]
runtime = "claude"
[agents.review]
runtime = "claude"
[limits]
max_jobs = 2
respawn_backoff = "10ms"
"#;

/// What it is started by. What keeps settings and servers of others out are options of the real client's.
const RUNTIME: &str = r#"
[launch]
argv = ["shopfloor", "demo-agent", "{role}", "--terminal", "--session-id", "{session_id}"]
[launch.options]
overrides = []
[resume]
argv = ["shopfloor", "demo-agent", "{role}", "--terminal", "--session-id", "{session_id}"]
[resume.options]
overrides = []
[version]
argv = ["shopfloor", "--version"]
minimum = "0.0.1"
"#;

/// As patient as a test needs.
pub const FAST: &str = "[submit]\npause_ms = 100\nconfirm_ms = 1000\n";

/// Waits until `found` finds something.
pub fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + BOUND;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(PAUSE);
    }
}

impl Floor {
    /// With whatever a test puts over the runtime.
    pub fn with_clients(over: &str) -> Floor {
        let floor = Floor::new(CONFIG);
        let folder = floor.home().join("runtimes");
        std::fs::create_dir(&folder).expect("a folder");
        std::fs::write(folder.join("claude.toml"), format!("{RUNTIME}{over}")).expect("written");
        floor
    }

    pub fn up(&self) {
        self.ok(&["up", "--detach"]);
    }

    /// The daemon is killed, not asked.
    pub fn kill_daemon(&self) {
        let holder = std::fs::read_to_string(self.home().join("daemon.lock")).expect("the lock's holder");
        let pid = holder.split_whitespace().next().expect("a pid");
        let killed = Command::new("kill").args(["-9", pid]).status().expect("kill runs");
        assert!(killed.success());
        // The next one gets the lock once the kernel has let go of it.
        wait_for("the daemon is gone", || (!Path::new(&format!("/proc/{pid}")).exists()).then_some(()));
    }

    /// The session of that epoch once it lives.
    pub fn live(&self, epoch: u64) -> Session {
        wait_for("the session lives", || {
            let session = self.engine().floor().sessions.get(&Epoch(epoch))?.clone();
            session.process.is_some().then_some(session)
        })
    }

    pub fn messages(&self, epoch: u64) -> Vec<Message> {
        let engine = self.engine();
        engine.floor().messages.iter().filter(|m| m.to == Some(Epoch(epoch))).cloned().collect()
    }

    /// Waits for a message to a session that `is` so.
    pub fn message(&self, epoch: u64, what: &str, is: impl Fn(&Message) -> bool) -> Message {
        wait_for(what, || self.messages(epoch).into_iter().find(|m| is(m)))
    }

    /// Waits until a message is held for that reason.
    pub fn held(&self, epoch: u64, why: &str) -> Message {
        self.message(epoch, &format!("held: {why}"), |m| {
            m.held.as_deref().is_some_and(|held| held.contains(why))
        })
    }

    pub fn explain(&self, who: &str) -> Value {
        serde_json::from_str(&self.ok(&["explain", who, "--json"])).expect("JSON")
    }

    /// What the client told, by name.
    pub fn hooks(&self, epoch: u64) -> Vec<String> {
        self.told(epoch)
            .iter()
            .map(|told| told["event"]["hook"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// The prompts it took, by their first lines.
    pub fn prompts(&self, epoch: u64) -> Vec<String> {
        let told = self.told(epoch);
        let taken = told.iter().filter(|told| told["event"]["hook"] == "user_prompt_submit");
        let prompts = taken.filter_map(|told| told["event"]["prompt"].as_str());
        prompts.map(|prompt| prompt.lines().next().unwrap_or_default().to_owned()).collect()
    }

    fn told(&self, epoch: u64) -> Vec<Value> {
        let file = self.home().join(format!("sessions/e{epoch}/own/hooks.jsonl"));
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.lines()
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }

    pub fn screen(&self, tmux: &str) -> String {
        self.tmux(&["capture-pane", "-p", "-t", &format!("={tmux}:")])
    }

    pub fn send_keys(&self, tmux: &str, key: &str) {
        self.tmux(&["send-keys", "-t", &format!("={tmux}:"), key]);
    }

    /// How far each message came, as the journal tells, by its session's epoch and its number.
    pub fn journeys(&self) -> BTreeMap<(u64, u64), Vec<String>> {
        let mut all: BTreeMap<(u64, u64), Vec<String>> = BTreeMap::new();
        for event in self.events("message_moved") {
            let key =
                (event["epoch"].as_u64().expect("a number"), event["message"].as_u64().expect("a number"));
            all.entry(key).or_default().push(event["to"]["to"].as_str().expect("a stage").to_owned());
        }
        all
    }

    /// What a session was found to be, one after the other.
    pub fn statuses(&self, epoch: u64) -> Vec<String> {
        let mine = self.events("status_seen").into_iter().filter(|event| event["epoch"] == epoch);
        mine.map(|event| event["status"]["state"]["state"].as_str().expect("a state").to_owned()).collect()
    }

    fn events(&self, kind: &str) -> Vec<Value> {
        let journal = self.engine().store().journal(Seq(0), 10_000).expect("the journal");
        let events = journal.iter().filter_map(|entry| serde_json::from_str::<Value>(&entry.body).ok());
        events.filter(|event| event["event"] == kind).collect()
    }

    /// The texts of the journal's notes of a kind.
    pub fn notes(&self, kind: &str) -> Vec<String> {
        let journal = self.engine().store().journal(Seq(0), 10_000).expect("the journal");
        journal.into_iter().filter(|entry| entry.kind == kind).map(|entry| entry.text).collect()
    }

    /// Waits until the client has drawn its status line so often: time passes for it.
    pub fn beats(&self, epoch: u64, times: usize) {
        let file = self.home().join(format!("sessions/e{epoch}/own/statusline.json"));
        let mut last = std::fs::read(&file).unwrap_or_default();
        for _ in 0..times {
            last = wait_for("the status line moves", || std::fs::read(&file).ok().filter(|now| *now != last));
        }
    }

    /// What runs of a session, by its mark in the environment.
    pub fn processes(&self, tmux: &str) -> Vec<u32> {
        let mark = format!("SHOPFLOOR_PANE={}:{tmux}", self.home().join("tmux.sock").display());
        let all = std::fs::read_dir("/proc").expect("/proc").flatten();
        let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let marked = |pid: &u32| {
            let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environ.split(|b| *b == 0).any(|variable| variable == mark.as_bytes())
        };
        pids.filter(marked).collect()
    }

    /// git in the repository that keeps what agents' trees held.
    pub fn clone_git(&self, args: &[&str]) -> String {
        git_in(&self.home().join("projects/sample/clone.git"), &self.path("home"), args)
    }

    pub fn wait_until_merged(&self, issue: IssueNumber) {
        let end = wait_for("the job ends", || {
            self.engine().floor().job_of(&self.project, issue).and_then(|job| job.end())
        });
        assert_eq!(end, End::Merged, "{:?}", self.job(issue).reason);
    }
}

/// A person at a terminal that is attached to a session: a tmux client in a tmux of its own.
pub struct Person<'f> {
    floor: &'f Floor,
}

impl Person<'_> {
    pub fn attach<'f>(floor: &'f Floor, session: &str) -> Person<'f> {
        let socket = floor.home().join("tmux.sock");
        Person::at(floor, &format!("tmux -S {} attach-session -t '={session}'", socket.display()))
    }

    /// Runs a command of ours in their terminal.
    pub fn run<'f>(floor: &'f Floor, command: &str) -> Person<'f> {
        let (program, home) = (env!("CARGO_BIN_EXE_shopfloor"), floor.home());
        Person::at(floor, &format!("SHOPFLOOR_HOME={} {program} {command}", home.display()))
    }

    fn at<'f>(floor: &'f Floor, command: &str) -> Person<'f> {
        let person = Person { floor };
        let command = format!("env -u TMUX TERM=screen-256color {command}");
        person.tmux(&["new-session", "-d", "-x", "100", "-y", "40", "-s", "person", &command]);
        person
    }

    pub fn press(&self, key: &str) {
        self.tmux(&["send-keys", "-t", "=person:", key]);
    }

    fn tmux(&self, args: &[&str]) {
        let socket = self.floor.path("person.sock");
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(socket).args(["-f", "/dev/null"]).args(args);
        // Whoever runs the tests may have a shell that lets nobody in.
        tmux.env("SHELL", "/bin/sh");
        tmux.stdin(Stdio::null()).stderr(Stdio::null()).status().expect("tmux runs");
    }
}

impl Drop for Person<'_> {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}
