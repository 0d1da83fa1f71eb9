//! The suites that the simulator's fakes pass as well, on real git.

use super::floor::{Floor, each};
use shopfloor_adapters::setup::{SetupConfig, WorktreeSetup};
use shopfloor_conformance::git::{GitWorld, PRIMARY};
use shopfloor_conformance::setup::SetupWorld;
use shopfloor_core::ids::{ProjectName, Sha};
use shopfloor_core::redact::Redactor;
use shopfloor_engine::ports::{Merger, Setup, Tree, Workspace};
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

impl GitWorld for Floor {
    fn workspace(&self) -> &dyn Workspace {
        &self.workspace
    }

    fn merger(&self) -> &dyn Merger {
        &self.merger
    }

    fn project(&self) -> ProjectName {
        self.project.name.clone()
    }

    fn write(&self, tree: &Tree, file: u64, text: u64) {
        Floor::write(self, &self.layout.tree(tree), format!("file-{file}"), format!("{text}\n"));
    }

    fn commit(&self, tree: &Tree) -> Sha {
        let folder = self.layout.tree(tree);
        self.git_as("ada", &folder, &["add", "-A"]);
        self.git_as("ada", &folder, &["commit", "--quiet", "-m", "work"]);
        self.head(&folder, "HEAD")
    }

    fn push(&self, branch: &str, file: u64, text: u64) -> Sha {
        let checkout = &self.project.checkout;
        self.user(&["fetch", "--quiet", "shopfloor", PRIMARY]);
        self.user(&["checkout", "--quiet", "--detach", "FETCH_HEAD"]);
        Floor::write(self, checkout, format!("file-{file}"), format!("{text}\n"));
        self.user(&["add", "-A"]);
        self.user(&["commit", "--quiet", "-m", "a person's"]);
        self.user(&["push", "--quiet", "--force", "shopfloor", &format!("HEAD:refs/heads/{branch}")]);
        self.head(checkout, "HEAD")
    }

    fn at(&self, branch: &str) -> Option<Sha> {
        let name = format!("refs/heads/{branch}");
        let found = self.git_in(&self.hub(), &["for-each-ref", "--format=%(objectname)", &name]);
        found.trim().parse().ok()
    }
}

/// A floor whose project has a setup: a command that adds a line to a file beside the worktree.
struct Fitted<'f> {
    floor: &'f Floor,
    setup: WorktreeSetup,
}

fn fitted(story: impl Fn(&Fitted<'_>)) {
    each(|floor| {
        let home = floor.home.path().to_owned();
        let env = [("PATH", std::env::var_os("PATH").expect("PATH")), ("OUT", home.clone().into())];
        let command = r#"if [ -e "$OUT/says" ]; then cat "$OUT/says"; exit 1; fi
            echo x >> "$OUT/$(basename "$PWD").times""#;
        let config = SetupConfig {
            setup: vec![command.to_owned()],
            teardown: vec![],
            timeout: Duration::from_secs(60),
            include: vec![],
            ports: 22_000..=22_999,
            env: env.map(|(name, value)| (OsString::from(name), value)).to_vec(),
            redactor: Redactor::default(),
            checkout: floor.project.checkout.clone(),
            isolation: Arc::default(),
            network: shopfloor_adapters::jail::Network::All,
        };
        let configs = Arc::new(move |_: &ProjectName| Some(config.clone()));
        let setup = WorktreeSetup::new(floor.git.clone(), floor.layout.clone(), configs);
        story(&Fitted { floor, setup });
    });
}

impl SetupWorld for Fitted<'_> {
    fn setup(&self) -> &dyn Setup {
        &self.setup
    }

    fn project(&self) -> ProjectName {
        self.floor.project.name.clone()
    }

    fn make(&self, tree: &Tree) {
        let branch = format!("fix/{}", tree.name());
        self.floor.workspace.prepare(tree, &branch, None).expect("prepared");
    }

    fn times(&self, tree: &Tree) -> u32 {
        let file = self.floor.home.path().join(format!("{}.times", tree.name()));
        std::fs::read_to_string(file).unwrap_or_default().lines().count() as u32
    }

    fn fails(&self, saying: &str) {
        std::fs::write(self.floor.home.path().join("says"), saying).expect("written");
    }
}

shopfloor_conformance::workspace_suite!(each);
shopfloor_conformance::merger_suite!(each);
shopfloor_conformance::setup_suite!(fitted);
