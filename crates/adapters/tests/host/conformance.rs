//! The suites that the simulator's fakes pass as well, on real processes and files.

use super::ci::{Floor, git};
use super::support::path_variable;
use super::tmux::Server;
use shopfloor_adapters::agent::{AgentConfig, Mcp, TmuxAgents, result_file};
use shopfloor_adapters::ci::local::LocalCi;
use shopfloor_adapters::escalations::EscalationFiles;
use shopfloor_adapters::layout::Layout;
use shopfloor_adapters::notices::{Commands, NoticeConfig};
use shopfloor_adapters::terminal::tmux::Probe;
use shopfloor_adapters::vault::{Fires, VaultConfig};
use shopfloor_conformance::agents::AgentsWorld;
use shopfloor_conformance::ci::CiWorld;
use shopfloor_conformance::escalations::EscalationsWorld;
use shopfloor_conformance::notices::NoticesWorld;
use shopfloor_conformance::vault::VaultWorld;
use shopfloor_core::allow::Allowed;
use shopfloor_core::effect::StartSession;
use shopfloor_core::ids::{Epoch, ProjectName, Role, Sha, tmux_name};
use shopfloor_core::redact::Redactor;
use shopfloor_core::runtime::{EMBEDDED, Values};
use shopfloor_core::vault::Spec;
use shopfloor_engine::ports::{Agents, Ci, Escalations, Notices, Vault};
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

/// A commit without the file `bad` passes the checks.
struct Checked {
    floor: Floor,
    ci: LocalCi,
}

fn checked(story: impl Fn(&Checked)) {
    let floor = Floor::new();
    let ci = floor.ci(&[("test", "! test -e bad", MINUTE)]);
    story(&Checked { floor, ci });
}

impl CiWorld for Checked {
    fn ci(&self) -> &dyn Ci {
        &self.ci
    }

    fn project(&self) -> ProjectName {
        self.floor.project.clone()
    }

    fn good(&self) -> Sha {
        self.floor.commit.clone()
    }

    fn bad(&self) -> Sha {
        let source = self.floor.folder.path().join("source");
        fs::write(source.join("bad"), "x").expect("written");
        git(&source, &["add", "."]);
        git(&source, &["commit", "--quiet", "-m", "bad"]);
        let hub = self.floor.layout.hub(&self.floor.project);
        git(&source, &["push", "--quiet", hub.to_str().expect("text"), "HEAD:refs/heads/bad"]);
        git(&source, &["rev-parse", "HEAD"]).parse().expect("a commit")
    }
}

/// A folder that something is kept in.
struct Kept<P> {
    folder: PathBuf,
    port: P,
}

fn name() -> ProjectName {
    "harb".parse().expect("a name")
}

fn escalated(story: impl Fn(&Kept<EscalationFiles>)) {
    let folder = tempfile::tempdir().expect("a folder");
    let port = EscalationFiles {
        layout: Layout::new(folder.path()),
        moment: |t| t.0.to_string(),
        redactor: Arc::new(|_| Redactor::default()),
    };
    story(&Kept { folder: folder.path().to_owned(), port });
}

impl EscalationsWorld for Kept<EscalationFiles> {
    fn escalations(&self) -> &dyn Escalations {
        &self.port
    }

    fn project(&self) -> ProjectName {
        name()
    }

    fn recorded(&self) -> usize {
        let file = self.port.layout.escalations(&name());
        fs::read_to_string(file).expect("there").lines().count()
    }
}

fn noticed(story: impl Fn(&Kept<Commands>)) {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let argv = ["sh", "-c", "echo begun >> $OUT"].map(str::to_owned).to_vec();
    let config = NoticeConfig {
        on_landed: argv.clone(),
        on_not_landed: argv,
        timeout: MINUTE,
        env: vec![("PATH".into(), path_variable()), ("OUT".into(), out.into())],
        redactor: Redactor::default(),
        checkout: folder.path().to_owned(),
    };
    let layout = Layout::new(folder.path().join("floor"));
    let port = Commands { layout, configs: Arc::new(move |_: &_| Some(config.clone())) };
    story(&Kept { folder: folder.path().to_owned(), port });
}

impl NoticesWorld for Kept<Commands> {
    fn notices(&self) -> &dyn Notices {
        &self.port
    }

    fn project(&self) -> ProjectName {
        name()
    }

    fn begun(&self) -> usize {
        fs::read_to_string(self.folder.join("out")).unwrap_or_default().lines().count()
    }
}

/// A vault, and how its type is declared.
struct Declared {
    vault: Kept<Fires>,
    spec: Arc<Mutex<Option<Spec>>>,
}

fn declared(story: impl Fn(&Declared)) {
    let folder = tempfile::tempdir().expect("a folder");
    let (spec, checkout) = (Arc::<Mutex<Option<Spec>>>::default(), folder.path().to_owned());
    let (known, layout) = (spec.clone(), Layout::new(folder.path().join("floor")));
    let configs = move |_: &_, _: &_| {
        Ok(VaultConfig {
            spec: known.lock().expect("not poisoned").clone(),
            secrets: Ok(Vec::new()),
            env: vec![("PATH".into(), path_variable()), ("OUT".into(), checkout.join("out").into())],
            redactor: Redactor::default(),
            checkout: checkout.clone(),
        })
    };
    let port = Fires { layout, configs: Arc::new(configs) };
    story(&Declared { vault: Kept { folder: folder.path().to_owned(), port }, spec });
}

impl VaultWorld for Declared {
    fn vault(&self) -> &dyn Vault {
        &self.vault.port
    }

    fn project(&self) -> ProjectName {
        name()
    }

    fn declare(&self, spec: Option<Spec>) {
        *self.spec.lock().expect("not poisoned") = spec;
    }

    fn command(&self) -> Vec<String> {
        ["sh", "-c", "echo fired >> $OUT"].map(str::to_owned).to_vec()
    }

    fn fired(&self) -> usize {
        fs::read_to_string(self.vault.folder.join("out")).unwrap_or_default().lines().count()
    }
}

/// Agents of a program that waits.
struct Staffed {
    server: Server,
    agents: TmuxAgents,
}

fn staffed(story: impl Fn(&Staffed)) {
    let server = Server::new();
    let folder = server.folder.path().to_owned();
    let generic = EMBEDDED.iter().find(|(name, _)| *name == "generic").expect("it comes with the program").1;
    let command = ["sleep", "1000"].map(str::to_owned).to_vec();
    let config = AgentConfig {
        spec: Arc::new(toml::from_str(generic).expect("a runtime")),
        values: Values::from([("command".to_owned(), command)]),
        env: vec![("PATH".into(), path_variable())],
        primary_branch: "main".to_owned(),
        redactor: Redactor::default(),
        files: std::collections::BTreeMap::new(),
        allow: Allowed::default(),
        mcp: Mcp::None,
        prompt: None,
        key: None,
        unset: Vec::new(),
        isolation: Arc::default(),
    };
    let agents = TmuxAgents {
        layout: Layout::new(folder.join("floor")),
        tmux: server.tmux.clone(),
        phase_dir: folder,
        configs: Arc::new(move |_: &ProjectName, _: Role| Some(config.clone())),
    };
    story(&Staffed { server, agents });
}

impl AgentsWorld for Staffed {
    fn agents(&self) -> &dyn Agents {
        &self.agents
    }

    fn project(&self) -> ProjectName {
        name()
    }

    fn worktree(&self) -> String {
        self.server.folder.path().display().to_string()
    }

    fn is_alive(&self, start: &StartSession) -> bool {
        let session = tmux_name(start.role, &start.project, start.assignment, start.epoch);
        matches!(self.server.probe(&session), Probe::Alive(_))
    }

    fn approves(&self, epoch: Epoch, of: &Sha) {
        let result = format!(r#"{{"verdict": "APPROVE", "commit": "{of}", "verdict_reason": "fine"}}"#);
        fs::write(result_file(&self.agents.layout, epoch), result).expect("written");
    }
}

shopfloor_conformance::agents_suite!(staffed);
shopfloor_conformance::ci_suite!(checked);
shopfloor_conformance::escalations_suite!(escalated);
shopfloor_conformance::notices_suite!(noticed);
shopfloor_conformance::vault_suite!(declared);
