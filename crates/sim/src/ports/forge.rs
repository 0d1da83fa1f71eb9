//! The forge port on the forge model. Reading is paged; what changed shows after a lag.

use crate::forge::{Changed, Issue, Pr, REVIEWER, Review as Posted};
use crate::world::{Mutation, Shared, World, short};
use shopfloor_core::effect::{Review, StatusState};
use shopfloor_core::event::Observation;
use shopfloor_core::hints::Hints;
use shopfloor_core::ids::{Epoch, IssueNumber, PrNumber, ProjectName, RunId, Sha};
use shopfloor_engine::ports::{Changes, Final, Forge, IssueText, NewPr, PortError, PortResult, PullText};
use std::time::Duration;

pub struct FakeForge(pub Shared);

const PAGE: usize = 3;

impl World {
    /// Records a change; it can be read at once or a little later.
    pub fn forge_changed(&mut self, what: Changed) {
        let lag = if self.rng.permille(200) { self.rng.range(1, 8_000) } else { 0 };
        let visible = self.now + Duration::from_millis(lag);
        if let Changed::Issue(number) = what
            && let Some(issue) = self.forge.issues.get_mut(&number)
        {
            issue.version += 1;
        }
        self.forge.changed(visible, what);
    }

    fn observe(&self, what: Changed) -> Observation {
        match what {
            Changed::Issue(number) => issue_observation(number, &self.forge.issues[&number]),
            Changed::Pr(number) => {
                let pr = &self.forge.prs[&number];
                let (branch, fixes) = (pr.branch.clone(), pr.issue.into_iter().collect());
                let head = Some(pr.head.clone());
                Observation::Pr {
                    number,
                    open: pr.open,
                    branch,
                    head,
                    fixes,
                    title: String::new(),
                    ours: pr.issue.is_some(),
                }
            }
            Changed::Review(at) => {
                let review = &self.forge.reviews[at];
                Observation::Review {
                    pr: review.pr,
                    head: review.head.clone(),
                    verdict: review.verdict,
                    text: format!("review {at}"),
                    author: review.author.clone(),
                    agent: review.author == REVIEWER,
                    dismissed: false,
                    id: at as u64 + 1,
                }
            }
        }
    }
}

fn issue_observation(number: IssueNumber, issue: &Issue) -> Observation {
    Observation::Issue {
        number,
        title: issue.title.clone(),
        labels: issue.labels.iter().cloned().collect(),
        open: issue.open,
        deps: issue.deps.clone(),
        created_at: issue.created_at,
        revision: issue.revision,
        version: issue.version,
        hints: Hints { after: issue.after.clone(), ..Hints::default() },
    }
}

impl Forge for FakeForge {
    fn changes(&self, _project: &ProjectName, cursor: u64) -> PortResult<Changes> {
        self.0.call("changes", |world| {
            let now = world.now;
            let page: Vec<Changed> = world
                .forge
                .log
                .iter()
                .skip(cursor as usize)
                .take_while(|(visible, _)| *visible <= now)
                .take(PAGE)
                .map(|(_, what)| *what)
                .collect();
            let mut observations: Vec<Observation> = page.iter().map(|what| world.observe(*what)).collect();
            // A lagging replica: the newest change shows the issue as it was before, and again later.
            let rough = world.weather.transient > 0;
            if let (Some(Changed::Issue(number)), Some(last)) = (page.last(), observations.last_mut())
                && rough
                && world.rng.permille(20)
                && let Some(old) = world.forge.before.get(number).cloned()
            {
                *last = issue_observation(*number, &old);
                world.saw("stale observation");
                let number = *number;
                world.say(format!("fault: #{number} is shown as it was before"));
                world.forge.changed(now + Duration::from_millis(5_000), Changed::Issue(number));
            }
            Ok(Changes { cursor: cursor + page.len() as u64, observations })
        })
    }

    fn issue_text(&self, _project: &ProjectName, issue: IssueNumber) -> PortResult<IssueText> {
        self.0.call("issue_text", |world| {
            let title = world.forge.issues.get(&issue).map(|i| i.title.clone()).unwrap_or_default();
            Ok(IssueText { title, ..IssueText::default() })
        })
    }

    fn review_texts(&self, _project: &ProjectName, _pr: PrNumber) -> PortResult<Vec<String>> {
        self.0.call("review_texts", |_| Ok(Vec::new()))
    }

    fn pull_text(&self, _project: &ProjectName, pr: PrNumber) -> PortResult<PullText> {
        self.0.call("pull_text", |world| {
            let pr = world
                .forge
                .prs
                .get(&pr)
                .ok_or_else(|| PortError::permanent(Final::Missing, "no such pull request"))?;
            Ok(PullText {
                title: "t".into(),
                head: pr.head.clone(),
                checks: Vec::new(),
                author: "ada".into(),
                body: String::new(),
                comments: Vec::new(),
                issue: pr.issue,
            })
        })
    }

    fn abandoned_pull(&self, _project: &ProjectName, issue: IssueNumber) -> PortResult<Option<PrNumber>> {
        self.0.call("abandoned_pull", |world| {
            let given_up = |pr: &crate::forge::Pr| pr.issue == Some(issue) && !pr.open;
            Ok(world.forge.prs.iter().rfind(|(_, pr)| given_up(pr)).map(|(number, _)| *number))
        })
    }

    fn edit_labels(
        &self,
        _project: &ProjectName,
        number: IssueNumber,
        add: &[String],
        remove: &[String],
    ) -> PortResult<u64> {
        self.0.call("edit_labels", |world| {
            let issue = world
                .forge
                .issues
                .get_mut(&number)
                .ok_or_else(|| PortError::permanent(Final::Missing, "no such issue"))?;
            let before = issue.clone();
            issue.labels.extend(add.iter().cloned());
            world.forge.before.insert(number, before);
            world.crash_point("edit_labels", "crash inside a port call");
            let issue = world.forge.issues.get_mut(&number).expect("just seen");
            for label in remove {
                issue.labels.remove(label);
            }
            let labels = issue.labels.iter().cloned().collect::<Vec<_>>().join(",");
            world.say(format!("labels of #{number}: {labels}"));
            world.forge_changed(Changed::Issue(number));
            Ok(world.forge.issues.get(&number).expect("just seen").version)
        })
    }

    fn comment(
        &self,
        _project: &ProjectName,
        number: IssueNumber,
        marker: &str,
        _body: &str,
    ) -> PortResult<()> {
        self.0.call("comment", |world| {
            let again = world.is(Mutation::CommentWithoutMarker);
            let issue = world
                .forge
                .issues
                .get_mut(&number)
                .ok_or_else(|| PortError::permanent(Final::Missing, "no such issue"))?;
            if again || !issue.comments.iter().any(|m| m == marker) {
                issue.comments.push(marker.to_owned());
                world.say(format!("comment on #{number}: {marker}"));
                world.forge_changed(Changed::Issue(number));
            }
            Ok(())
        })
    }

    fn comment_pr(&self, _project: &ProjectName, pr: PrNumber, marker: &str, _body: &str) -> PortResult<()> {
        self.0.call("comment_pr", |world| {
            if let Some(pr) = world.forge.prs.get_mut(&pr)
                && !pr.comments.iter().any(|m| m == marker)
            {
                pr.comments.push(marker.to_owned());
                world.saw("told on a pull request");
            }
            Ok(())
        })
    }

    fn close_issue(&self, _project: &ProjectName, number: IssueNumber) -> PortResult<()> {
        self.0.call("close_issue", |world| {
            if let Some(issue) = world.forge.issues.get_mut(&number) {
                let before = issue.clone();
                issue.open = false;
                world.forge.before.insert(number, before);
                world.forge_changed(Changed::Issue(number));
            }
            Ok(())
        })
    }

    fn open_pr(&self, _project: &ProjectName, new: &NewPr<'_>) -> PortResult<PrNumber> {
        self.0.call("open_pr", |world| {
            let again = world.is(Mutation::SecondPr);
            let found =
                world.forge.prs.iter_mut().find(|(_, pr)| pr.open && pr.branch == new.branch && !again);
            let number = match found {
                Some((number, pr)) => {
                    pr.head = new.head.clone();
                    *number
                }
                None => {
                    let number = PrNumber(1000 + world.forge.prs.len() as u64);
                    let (branch, head) = (new.branch.to_owned(), new.head.clone());
                    world.say(format!("PR {number} of {branch} at {}", short(&head)));
                    world.forge.prs.insert(
                        number,
                        Pr { issue: Some(new.issue), branch, head, open: true, comments: Vec::new() },
                    );
                    number
                }
            };
            world.forge_changed(Changed::Pr(number));
            Ok(number)
        })
    }

    fn move_pr(&self, _project: &ProjectName, pr: PrNumber, head: &Sha) -> PortResult<()> {
        self.0.call("move_pr", |world| {
            let open = world.forge.prs.get_mut(&pr).filter(|row| row.open && row.head != *head);
            if let Some(row) = open {
                row.head = head.clone();
                world.saw("pull request follows its branch");
                world.forge_changed(Changed::Pr(pr));
            }
            Ok(())
        })
    }

    fn close_pr(&self, _project: &ProjectName, pr: PrNumber, _merged: Option<&Sha>) -> PortResult<()> {
        self.0.call("close_pr", |world| {
            if let Some(row) = world.forge.prs.get_mut(&pr) {
                row.open = false;
                world.forge_changed(Changed::Pr(pr));
            }
            Ok(())
        })
    }

    fn post_review(
        &self,
        _project: &ProjectName,
        pr: PrNumber,
        head: &Sha,
        marker: &str,
        review: &Review,
    ) -> PortResult<()> {
        self.0.call("post_review", |world| {
            let epoch = marker.strip_prefix("review-session-").and_then(|rest| rest.split('-').next());
            let epoch: Option<Epoch> = epoch.and_then(|e| e.parse().ok());
            let said = epoch.map(|e| (e, head.clone(), review.verdict.as_str()));
            if said.is_none_or(|said| !world.verdicts.contains(&said)) {
                let text = format!("{marker} posted for {}, which no reviewer said of it", short(head));
                world.broken("6 completion is evidence", text);
            }
            if !world.forge.reviews.iter().any(|r| r.marker == marker) {
                world.say(format!("review of {}: {:?}", short(head), review.verdict));
                world.forge.reviews.push(Posted {
                    pr,
                    head: head.clone(),
                    verdict: review.verdict,
                    marker: marker.to_owned(),
                    author: REVIEWER.into(),
                });
                let at = world.forge.reviews.len() - 1;
                world.forge_changed(Changed::Review(at));
            }
            Ok(())
        })
    }

    fn post_status(
        &self,
        _project: &ProjectName,
        _commit: &Sha,
        _run: RunId,
        _state: StatusState,
        _text: &str,
    ) -> PortResult<()> {
        self.0.call("post_status", |_| Ok(()))
    }
}
