//! The simulator's forge does what every forge does.

use shopfloor_conformance::forge::ForgeWorld;
use shopfloor_conformance::forge_suite;
use shopfloor_core::effect::Verdict;
use shopfloor_core::forge::Subject;
use shopfloor_core::ids::{IssueNumber, PrNumber, Sha};
use shopfloor_core::policy::Policy;
use shopfloor_engine::ports::Forge;
use shopfloor_sim::forge::{Changed, Issue, Pr, Review};
use shopfloor_sim::git::sha;
use shopfloor_sim::ports::ports;
use shopfloor_sim::world::{Shared, World};
use std::sync::Arc;
use std::time::Duration;

struct Sim {
    world: Shared,
    forge: Arc<dyn Forge>,
}

impl Sim {
    fn new() -> Sim {
        let world = Shared::new(World::new(7, Policy::default(), None));
        let forge = ports(&world).forges.of(&"sim".parse().unwrap()).unwrap();
        Sim { world, forge }
    }

    fn issue(&mut self, number: IssueNumber, change: impl FnOnce(&mut Issue)) {
        let mut world = self.world.lock();
        change(world.forge.issues.get_mut(&number).unwrap());
        world.forge_changed(Changed::Issue(number));
    }

    fn pull(&mut self, number: PrNumber, change: impl FnOnce(&mut Pr)) {
        let mut world = self.world.lock();
        change(world.forge.prs.get_mut(&number).unwrap());
        world.forge_changed(Changed::Pr(number));
    }
}

impl ForgeWorld for Sim {
    fn forge(&self) -> &dyn Forge {
        &*self.forge
    }

    fn commit(&mut self, number: u32) -> Sha {
        sha(number)
    }

    fn settle(&mut self) {
        let mut world = self.world.lock();
        world.now = world.now + Duration::from_secs(60);
    }

    fn open_issue(&mut self, title: &str, body: &str) -> IssueNumber {
        let (title, body, author) = (title.into(), body.into(), "ann".into());
        self.world.lock().make_issue(Issue { title, body, author, open: true, ..Issue::default() })
    }

    fn edit_issue(&mut self, issue: IssueNumber, title: &str, body: &str) {
        self.issue(issue, |issue| {
            (issue.title, issue.body) = (title.into(), body.into());
            issue.revision += 1;
        });
    }

    fn label(&mut self, issue: IssueNumber, add: &[&str], remove: &[&str]) {
        self.issue(issue, |issue| {
            issue.labels.extend(add.iter().map(|label| (*label).to_owned()));
            issue.labels.retain(|label| !remove.contains(&label.as_str()));
        });
    }

    fn close_issue(&mut self, issue: IssueNumber) {
        self.issue(issue, |issue| issue.open = false);
    }

    fn reopen_issue(&mut self, issue: IssueNumber) {
        self.issue(issue, |issue| issue.open = true);
    }

    fn comment(&mut self, on: Subject, text: &str) -> u64 {
        self.world.lock().comment_on(on, None, "ann", text).unwrap()
    }

    fn edit_comment(&mut self, on: Subject, id: u64, text: &str) {
        self.world.lock().edit_comment(on, id, text);
    }

    fn open_pull(&mut self, branch: &str, head: &Sha, issue: Option<IssueNumber>) -> PrNumber {
        let mut world = self.world.lock();
        let created_at = world.now;
        world.make_pr(Pr {
            title: "A change".into(),
            body: String::new(),
            author: "ann".into(),
            issue,
            branch: branch.into(),
            head: head.clone(),
            open: true,
            merged: None,
            comments: vec![],
            created_at,
        })
    }

    fn review(&mut self, pr: PrNumber, head: &Sha, verdict: Verdict, text: &str) {
        let mut world = self.world.lock();
        let (head, at, text) = (head.clone(), world.now, text.to_owned());
        let marker = format!("bob-{}", world.forge.reviews.len());
        world.post_review(Review {
            pr,
            head,
            verdict,
            marker,
            author: "bob".into(),
            text,
            dismissed: false,
            at,
        });
    }

    fn close_pull(&mut self, pr: PrNumber) {
        self.pull(pr, |pr| pr.open = false);
    }

    fn merge_pull(&mut self, pr: PrNumber, commit: &Sha) {
        self.pull(pr, |pr| (pr.open, pr.merged) = (false, Some(commit.clone())));
    }
}

forge_suite!(Sim::new());
