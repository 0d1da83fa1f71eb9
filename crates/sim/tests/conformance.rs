//! The fakes do what the adapters do: the same suites, on a world in fair weather.

use shopfloor_conformance::agents::AgentsWorld;
use shopfloor_conformance::ci::CiWorld;
use shopfloor_conformance::escalations::EscalationsWorld;
use shopfloor_conformance::git::{GitWorld, PRIMARY};
use shopfloor_conformance::notices::NoticesWorld;
use shopfloor_conformance::setup::SetupWorld;
use shopfloor_conformance::vault::{VaultWorld, deploy};
use shopfloor_core::effect::{Review, StartSession, Verdict};
use shopfloor_core::ids::{Epoch, ProjectName, Sha};
use shopfloor_core::policy::Policy;
use shopfloor_core::vault::Spec;
use shopfloor_engine::ports::{
    Agents, Ci, Escalations, Merger, Notices, Ports, Setup, Tree, Vault, Workspace,
};
use shopfloor_sim::git::{Move, Written, commit_of, sha};
use shopfloor_sim::ports::ports;
use shopfloor_sim::world::{Shared, World};
use std::collections::BTreeMap;
use std::sync::Mutex;

struct Fake {
    world: Shared,
    ports: Ports,
    /// What was written: the same text in the same file is the same version.
    texts: Mutex<BTreeMap<(u64, u64), u64>>,
}

fn tell(story: impl Fn(&Fake)) {
    let policy = Policy { has_checks: true, ..Policy::default() };
    let world = Shared::new(World::new(1, policy, None));
    story(&Fake { ports: ports(&world), world, texts: Mutex::default() });
}

impl Fake {
    fn version(&self, file: u64, text: u64) -> u64 {
        let mut texts = self.texts.lock().expect("no panic");
        *texts.entry((file, text)).or_insert_with(|| self.world.lock().git.write(Written::default()))
    }

    fn project(&self) -> ProjectName {
        self.world.lock().project.clone()
    }
}

impl GitWorld for Fake {
    fn workspace(&self) -> &dyn Workspace {
        &*self.ports.workspace
    }

    fn merger(&self) -> &dyn Merger {
        &*self.ports.merger
    }

    fn project(&self) -> ProjectName {
        self.project()
    }

    fn write(&self, tree: &Tree, file: u64, text: u64) {
        let version = self.version(file, text);
        self.world.lock().git.trees.get_mut(tree).expect("a worktree").dirty.insert(file, version);
    }

    fn commit(&self, tree: &Tree) -> Sha {
        let git = &mut self.world.lock().git;
        let worktree = git.trees[tree].clone();
        let (head, content) = (git.head_of(&worktree), git.tree_content(&worktree));
        let commit = git.commit(vec![head], content, true);
        git.local.insert(worktree.branch.expect("on a branch"), commit);
        git.trees.get_mut(tree).expect("a worktree").dirty.clear();
        sha(commit)
    }

    fn push(&self, branch: &str, file: u64, text: u64) -> Sha {
        let version = self.version(file, text);
        let git = &mut self.world.lock().git;
        let primary = git.hub[PRIMARY];
        let mut content = git.content(primary).clone();
        content.insert(file, version);
        let commit = git.commit(vec![primary], content, false);
        let old = git.hub.insert(branch.to_owned(), commit);
        git.moves.push(Move { branch: branch.to_owned(), old, new: Some(commit), entries: None });
        sha(commit)
    }

    fn at(&self, branch: &str) -> Option<Sha> {
        self.world.lock().git.hub.get(branch).map(|commit| sha(*commit))
    }
}

impl CiWorld for Fake {
    fn ci(&self) -> &dyn Ci {
        &*self.ports.ci
    }

    fn project(&self) -> ProjectName {
        self.project()
    }

    fn good(&self) -> Sha {
        GitWorld::at(self, PRIMARY).expect("a primary branch")
    }

    fn bad(&self) -> Sha {
        let primary = commit_of(&self.good());
        let git = &mut self.world.lock().git;
        let bug = git.write(Written { bug: true, ..Written::default() });
        let mut content = git.content(primary).clone();
        content.insert(50, bug);
        sha(git.commit(vec![primary], content, false))
    }
}

impl AgentsWorld for Fake {
    fn agents(&self) -> &dyn Agents {
        &*self.ports.agents
    }

    fn project(&self) -> ProjectName {
        self.project()
    }

    fn worktree(&self) -> String {
        "work".to_owned()
    }

    fn is_alive(&self, start: &StartSession) -> bool {
        self.world.lock().procs.get(&start.epoch).is_some_and(|proc| proc.alive)
    }

    fn approves(&self, epoch: Epoch, of: &Sha) {
        let (reason, markdown) = ("fine".to_owned(), String::new());
        let review = Review { verdict: Verdict::Approve, reason, markdown, follow_ups: Vec::new() };
        let proc = &mut self.world.lock().procs;
        proc.get_mut(&epoch).expect("a session").result = Some((Some(of.clone()), Ok(review)));
    }
}

impl SetupWorld for Fake {
    fn setup(&self) -> &dyn Setup {
        &*self.ports.setup
    }

    fn project(&self) -> ProjectName {
        self.project()
    }

    fn make(&self, _tree: &Tree) {}

    fn times(&self, tree: &Tree) -> u32 {
        self.world.lock().set_up.get(tree).map_or(0, |(times, _)| *times)
    }

    fn fails(&self, saying: &str) {
        self.world.lock().setup_fails = Some(saying.to_owned());
    }
}

impl EscalationsWorld for Fake {
    fn escalations(&self) -> &dyn Escalations {
        &*self.ports.escalations
    }

    fn project(&self) -> ProjectName {
        self.project()
    }

    fn recorded(&self) -> usize {
        self.world.lock().escalated.len()
    }
}

impl NoticesWorld for Fake {
    fn notices(&self) -> &dyn Notices {
        &*self.ports.notices
    }

    fn project(&self) -> ProjectName {
        self.project()
    }

    fn begun(&self) -> usize {
        self.world.lock().told.values().map(|times| *times as usize).sum()
    }
}

impl VaultWorld for Fake {
    fn vault(&self) -> &dyn Vault {
        &*self.ports.vault
    }

    fn project(&self) -> ProjectName {
        self.project()
    }

    fn declare(&self, spec: Option<Spec>) {
        let mut world = self.world.lock();
        match spec {
            Some(spec) => drop(world.shots.declared.insert(deploy(), spec)),
            None => drop(world.shots.declared.remove(&deploy())),
        }
    }

    fn command(&self) -> Vec<String> {
        vec!["deploy".to_owned()]
    }

    fn fired(&self) -> usize {
        self.world.lock().shots.fired.values().map(|(times, _)| *times as usize).sum()
    }
}

shopfloor_conformance::agents_suite!(tell);
shopfloor_conformance::workspace_suite!(tell);
shopfloor_conformance::merger_suite!(tell);
shopfloor_conformance::ci_suite!(tell);
shopfloor_conformance::setup_suite!(tell);
shopfloor_conformance::escalations_suite!(tell);
shopfloor_conformance::notices_suite!(tell);
shopfloor_conformance::vault_suite!(tell);
