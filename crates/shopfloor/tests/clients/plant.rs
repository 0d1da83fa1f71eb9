//! A whole floor whose agents are real clients: the daemon, tmux, the embedded forge, the checks, and the
//! scripted model that the clients talk to.

use super::home::{self, Account};
use crate::floor::Floor;
use serde_json::json;
use shopfloor_core::ids::{Epoch, IssueNumber};
use shopfloor_core::state::{JobState, Session};
use shopfloor_model_server::{Asked, Client, ModelServer, Scenario};
use std::ffi::OsString;
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longer than anything takes; only a test that fails waits for so long.
const BOUND: Duration = Duration::from_secs(90);
/// The only issue of a floor.
pub const ISSUE: IssueNumber = IssueNumber(1);
/// The file that checks wait for.
const GATE: &str = "gate";

/// What a model does that works as it should: the prompts that follow the first one.
pub const GOES_ON: &str = r#"
[[rule]]
name = "repair"
when = { prompt = "CI failed" }
then = [
  { bash = "echo hello > hello.txt && git commit -qam Repair && shopfloor phase awaiting_ci" },
  { text = "Repaired." },
]
[[rule]]
name = "passed"
when = { prompt = "CI passed" }
then = [{ bash = "shopfloor phase awaiting_review" }, { text = "It waits for its review." }]
[[rule]]
name = "approved"
when = { prompt = "Review: APPROVE" }
then = [{ bash = "shopfloor phase done" }, { text = "Done." }]
[[rule]]
name = "waits"
when = { prompt = "PR not merged yet" }
then = [{ text = "I wait." }]
[[rule]]
name = "approve"
when = { prompt = "You review pull request #*" }
then = [
  { bash = "git diff --stat origin/main...HEAD && echo '{\"verdict\": \"APPROVE\", \"verdict_reason\": \"good\", \"review_markdown\": \"It is good.\"}' > $SHOPFLOOR_RESULT_FILE && shopfloor phase done" },
  { text = "Approved." },
]
[[rule]]
name = "approve again"
when = { prompt = "Review again" }
then = [
  { bash = "echo \"{\\\"verdict\\\": \\\"APPROVE\\\", \\\"commit\\\": \\\"$(git rev-parse HEAD)\\\", \\\"verdict_reason\\\": \\\"good\\\", \\\"review_markdown\\\": \\\"It is good now.\\\"}\" > $SHOPFLOOR_RESULT_FILE && shopfloor phase done" },
  { text = "Approved." },
]
"#;

/// What implements the issue, as a shell command.
pub const IMPLEMENT: &str =
    "echo hello > hello.txt && git add -A && git commit -qm Hello && shopfloor phase awaiting_ci";

/// `rules` come first; whatever else an agent is told has it implement the issue and go on well.
pub fn scenario(rules: &str) -> String {
    let on = |(name, prompt): (&str, &str)| {
        format!(
            "[[rule]]\nname = \"{name}\"\nwhen = {{ prompt = \"{prompt}\" }}\nthen = [{{ bash = \"{IMPLEMENT}\" }}, {{ text = \"It waits.\" }}]\n"
        )
    };
    let rest = [
        ("continue", "Continue"),
        ("answered", "Answer: *"),
        ("reminded", "PHASE missing"),
        ("implement", "You implement issue #*"),
    ];
    format!("{rules}{}{GOES_ON}", rest.map(on).concat())
}

/// How a floor with clients is set up.
pub struct Setup<'a> {
    pub client: Client,
    pub account: Account,
    /// What the developer's client does without asking: everything, if nothing is said.
    pub permission_mode: Option<&'a str>,
    /// Put over the runtime.
    pub runtime: &'a str,
    /// Lines of `[limits]`.
    pub limits: &'a str,
    /// The checks wait until a test lets them begin.
    pub checks_wait: bool,
    /// The client reviews too. Where the review is not what a test is about, the scripted agent does it: a
    /// second client is a third of such a test's CPU time.
    pub reviews: bool,
    pub scenario: String,
}

impl Setup<'_> {
    /// A client that asks nobody, and pauses as short as tests need.
    pub fn new(client: Client, scenario: String) -> Setup<'static> {
        Setup {
            client,
            account: Account::Key,
            permission_mode: None,
            runtime: "[timing]\nlook_ms = 500\nsettle_ms = 1000\nidle_gap_ms = 500\n",
            limits: "",
            checks_wait: false,
            reviews: false,
            scenario,
        }
    }

    /// The same client reviews.
    pub fn with_reviews(client: Client, scenario: String) -> Setup<'static> {
        Setup { reviews: true, ..Setup::new(client, scenario) }
    }
}

pub struct Plant {
    floor: Floor,
    pub server: ModelServer,
}

impl Deref for Plant {
    type Target = Floor;
    fn deref(&self) -> &Floor {
        &self.floor
    }
}

/// Not where temporary files are: clients' sandboxes let agents write there. Sockets have short names.
fn place() -> PathBuf {
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    if place.as_os_str().len() < 60 { place } else { std::env::temp_dir() }
}

impl Plant {
    pub fn new(clients: &Path, setup: &Setup<'_>) -> Plant {
        let scenario = Scenario::parse(&setup.scenario).expect("a scenario");
        let server = ModelServer::start(scenario).expect("a port on loopback");
        let (name, asks_nobody) = match setup.client {
            Client::Claude => ("claude", "bypassPermissions"),
            Client::Codex => ("codex", "never"),
        };
        let mut floor = Floor::within(&place(), "");
        let environment = home::environment(&floor.path("tmp"), &server, setup.account);
        let passed: Vec<&str> = environment.iter().map(|(name, _)| *name).collect();
        let agent = |role: &str, mode: &str| {
            format!(
                "[agents.{role}]\nruntime = \"{name}\"\npermission_mode = \"{mode}\"\npass_env = {passed:?}\n"
            )
        };
        let file = floor.path("repo/shopfloor.toml");
        let config = std::fs::read_to_string(&file).expect("read");
        let checks = format!("until [ -e {} ]; do sleep 0.05; done; ./check.sh", floor.path(GATE).display());
        let config = config.replace("./check.sh", if setup.checks_wait { &checks } else { "./check.sh" });
        let limits = format!("[limits]\nrespawn_backoff = \"10ms\"\n{}", setup.limits);
        let config = format!(
            "{config}{}{}{limits}",
            agent("dev", setup.permission_mode.unwrap_or(asks_nobody)),
            match setup.reviews {
                true => agent("review", asks_nobody),
                false => "[agents.review]\nruntime = \"demo\"\n".to_owned(),
            }
        );
        std::fs::write(&file, config).expect("written");
        let runtimes = floor.home().join("runtimes");
        std::fs::create_dir(&runtimes).expect("a folder");
        std::fs::write(runtimes.join(format!("{name}.toml")), setup.runtime).expect("written");

        std::fs::create_dir(floor.path("tmp")).expect("a folder");
        home::seed_claude(&floor.path("home"), &json!({}));
        home::seed_codex(&floor.path("home"), &server, "");
        floor.env = environment.into_iter().map(|(name, value)| (name.into(), value)).collect();
        let mut path = clients.join("bin").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").expect("a PATH"));
        floor.env.push((OsString::from("PATH"), path));
        floor.accept();
        Plant { floor, server }
    }

    /// Sets a variable of the commands that are run from now on; a daemon that runs has it not.
    pub fn put(&mut self, name: &str, value: &str) {
        self.floor.env.retain(|(known, _)| known != name);
        self.floor.env.push((name.into(), value.into()));
    }

    /// Takes one away.
    pub fn take(&mut self, name: &str) -> String {
        let at = self.floor.env.iter().position(|(known, _)| known == name).expect("it is set");
        self.floor.env.remove(at).1.into_string().expect("text")
    }

    /// An issue comes in and is begun: the name of its session in tmux.
    pub fn begin(&self) -> String {
        assert_eq!(self.issue("Say hello", "A file hello.txt that says hello."), ISSUE);
        self.up();
        self.live(1).tmux
    }

    pub fn let_checks_begin(&self) {
        std::fs::write(self.path(GATE), "").expect("written");
    }

    /// Waits for requests to the model that are as wanted.
    pub fn asked(&self, what: &str, wanted: impl Fn(&[Asked]) -> bool) -> Vec<Asked> {
        self.server.wait_for(BOUND, wanted).unwrap_or_else(|_| panic!("the model is asked: {what}"))
    }

    /// The dev session of the floor's only issue once `is` holds.
    pub fn session(&self, epoch: u64, what: &str, is: impl Fn(&Session) -> bool) -> Session {
        crate::client::wait_for(what, || {
            self.engine().floor().sessions.get(&Epoch(epoch)).filter(|s| is(s)).cloned()
        })
    }

    /// Waits until the session's status is called that.
    pub fn status(&self, epoch: u64, name: &str) -> Session {
        self.session(epoch, &format!("session {epoch} is {name}"), |s| {
            s.status.as_ref().is_some_and(|status| status.state.as_str() == name)
        })
    }

    /// Waits until the job waits for a person's answer.
    pub fn person_asked(&self, issue: IssueNumber) {
        crate::client::wait_for("a person is asked", || {
            let engine = self.engine();
            let job = engine.floor().job_of(&self.floor.project, issue)?;
            matches!(job.state, JobState::NeedsHuman { .. }).then_some(())
        });
    }

    /// The open question of the floor, once there is one with options: number, text, options.
    pub fn question(&self, after: &str) -> (String, String, Vec<String>) {
        crate::client::wait_for("a question is shown", || {
            let (_, open) = self.json(&["questions"]);
            let first = open.as_array()?.iter().find(|q| q["id"] != after)?.clone();
            let options = first["options"].as_array()?.iter().map(|o| o.as_str().unwrap_or("").to_owned());
            let options: Vec<String> = options.collect();
            let text = |key: &str| first[key].as_str().unwrap_or_default().to_owned();
            (!options.is_empty()).then(|| (text("id"), text("question"), options))
        })
    }

    /// What starts a client is a program of the person's: it does `first` for the developer, and runs the
    /// real one.
    pub fn wrap(&mut self, clients: &Path, name: &str, first: &str) {
        self.wrap_always(clients, name, &format!("case \"$PWD\" in */issue-1) {first};; esac"));
    }

    /// The same, for whoever starts it.
    pub fn wrap_always(&mut self, clients: &Path, name: &str, first: &str) {
        let bin = self.path("bin");
        std::fs::create_dir(&bin).expect("a folder");
        let client = clients.join("bin").join(name);
        let script = format!("#!/bin/sh\n{first}\nexec '{}' \"$@\"\n", client.display());
        std::fs::write(bin.join(name), script).expect("written");
        std::fs::set_permissions(bin.join(name), std::fs::Permissions::from_mode(0o755)).expect("set");
        let path = self.take("PATH");
        self.put("PATH", &format!("{}:{path}", bin.display()));
    }

    /// Whether a message with that first line was ever taken.
    pub fn taken_ever(&self, first_line: &str) -> bool {
        self.notes("MESSAGE_TAKEN").iter().any(|line| line == first_line)
    }

    /// Merged, closed, nothing left, and nothing that anybody was asked and no rule was for.
    pub fn ends_well(&self, issue: IssueNumber) {
        self.wait_until_merged(issue);
        assert_eq!(self.landed("hello.txt"), "hello");
        self.assert_history_green();
        self.assert_cleaned_up(issue);
    }
}

impl Drop for Plant {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        for name in self.tmux(&["list-sessions", "-F", "#S"]).lines().filter(|name| *name != "shopfloor") {
            eprintln!("--- {name}\n{}", self.screen(name));
        }
        for asked in self.server.requests() {
            let text = |text: &str| text.chars().take(100).collect::<String>();
            eprintln!(
                "{} {:?} {:?} {:?} by {:?}",
                asked.number,
                asked.kind,
                text(&asked.prompt),
                text(&asked.tool_result),
                asked.by
            );
        }
    }
}
