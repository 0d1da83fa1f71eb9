//! A floor whose agents are clients in a terminal: the demo agent stands in for Claude Code by an
//! override of that runtime, and is read, typed to and judged as Claude Code is.

use crate::floor::Floor;
use serde_json::Value;
use shopfloor_core::delivery::Stage;
use shopfloor_core::ids::{Epoch, IssueNumber};
use shopfloor_core::state::{Message, Session};
use std::time::{Duration, Instant};

/// Longer than anything takes; only a test that fails waits for so long.
const BOUND: Duration = Duration::from_secs(60);
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

/// What it is started by. `[submit]` comes last, for tests that add to it.
const RUNTIME: &str = r#"
[launch]
argv = ["shopfloor", "demo-agent", "{role}", "--terminal", "--session-id", "{session_id}"]
[version]
argv = ["shopfloor", "--version"]
minimum = "0.0.1"
[submit]
pause_ms = 100
confirm_ms = 1000
"#;

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
    /// With `[timing]` and whatever else a test puts over the runtime.
    pub fn with_clients(timing: &str) -> Floor {
        let floor = Floor::new(CONFIG);
        let folder = floor.home().join("runtimes");
        std::fs::create_dir(&folder).expect("a folder");
        std::fs::write(folder.join("claude.toml"), format!("{RUNTIME}{timing}")).expect("written");
        floor
    }

    pub fn up(&self) {
        self.ok(&["up", "--detach"]);
    }

    /// The daemon is killed, not asked.
    pub fn kill_daemon(&self) {
        let pid = std::fs::read_to_string(self.home().join("daemon.lock")).expect("the lock's holder");
        let killed = std::process::Command::new("kill").args(["-9", pid.trim()]).status().expect("kill runs");
        assert!(killed.success());
        // The next one takes the lock only when the kernel has let go of it.
        wait_for("the daemon is gone", || {
            (!std::path::Path::new(&format!("/proc/{}", pid.trim())).exists()).then_some(())
        });
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
        let prompts = told.iter().filter_map(|told| told["event"]["prompt"].as_str());
        prompts.map(|prompt| prompt.lines().next().unwrap_or_default().to_owned()).collect()
    }

    fn told(&self, epoch: u64) -> Vec<Value> {
        let file = self.home().join(format!("sessions/e{epoch}/hooks.jsonl"));
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

    /// Notes of the journal, by kind and text.
    pub fn notes(&self) -> String {
        self.ok(&["events", "--json", "--limit", "1000"])
    }

    pub fn wait_until_merged(&self, issue: IssueNumber) {
        let end = wait_for("the job ends", || {
            self.engine().floor().job_of(&self.project, issue).and_then(|job| job.end())
        });
        assert_eq!(end, shopfloor_core::state::End::Merged, "{:?}", self.job(issue).reason);
    }
}

pub fn stages(message: &Message) -> Vec<Stage> {
    message.receipts.iter().map(|receipt| receipt.to).collect()
}
