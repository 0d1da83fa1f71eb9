//! The forge port on the forge model. Reading is paged; changes show after a lag. Now and then, everything
//! about one issue or pull request fails for a while, and nothing else does.

use crate::forge::{AGENTS, Changed, DEV, FACTORY, Issue, Pr, REVIEWER, Review as Posted, Said};
use crate::world::{Mutation, Shared, World, short};
use shopfloor_core::digest::Digest;
use shopfloor_core::effect::{StatusState, Verdict};
use shopfloor_core::event::Observation;
use shopfloor_core::forge as words;
use shopfloor_core::forge::{Cursor, IssueFilter, IssueState, PrState, Subject, Version};
use shopfloor_core::hints::Hints;
use shopfloor_core::ids::{Epoch, IssueNumber, PrNumber, ProjectName, RunId, Sha};
use shopfloor_core::{deps, text};
use shopfloor_engine::ports::forge::{
    By, NewComment, NewIssue, NewPr, NewReview, Resync, comment_body, missing, review_text,
};
use shopfloor_engine::ports::{Changes, Final, Forge, Forges, PortError, PortResult};
use shopfloor_store::forge::TITLE_CHARS_MAX;
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone)]
pub struct FakeForge(pub Shared);

const PAGE: usize = 3;
/// Infrequent enough for the days at the end of a run.
const RESYNC: Resync = Resync { soonest: Duration::from_secs(60), latest: Duration::from_secs(7200) };

impl Forges for FakeForge {
    fn of(&self, _: &ProjectName) -> PortResult<Arc<dyn Forge>> {
        Ok(Arc::new(self.clone()))
    }
}

impl World {
    fn observe(&self, what: Changed) -> Observation {
        match what {
            Changed::Issue(number) => issue_observation(number, &self.forge.issues[&number]),
            Changed::Pr(number) => {
                let pr = &self.forge.prs[&number];
                Observation::Pr {
                    number,
                    open: pr.open,
                    branch: pr.branch.clone(),
                    head: Some(pr.head.clone()),
                    fixes: pr.issue.into_iter().collect(),
                    title: text::one_line(&pr.title, TITLE_CHARS_MAX),
                    ours: pr.author == DEV,
                    author: pr.author.clone(),
                    labels: Vec::new(),
                    merged: pr.merged.clone(),
                }
            }
            Changed::Review(at) => {
                let review = &self.forge.reviews[at];
                Observation::Review {
                    pr: review.pr,
                    head: review.head.clone(),
                    verdict: review.verdict,
                    text: review_text(&review.text),
                    author: review.author.clone(),
                    agent: review.author == REVIEWER,
                    dismissed: review.dismissed,
                    id: at as u64 + 1,
                }
            }
            Changed::Comment(on, id) => {
                let said = &self.forge.comments(on).expect("a comment is on something")[id as usize - 1];
                Observation::Comment {
                    on,
                    id,
                    author: said.author.clone(),
                    text: comment_body(&said.text),
                    revision: Digest::new().field(said.text.as_bytes()).finish(),
                    created_at: said.at,
                }
            }
        }
    }

    fn issue_mut(&mut self, number: IssueNumber) -> PortResult<&mut Issue> {
        self.forge.issues.get_mut(&number).ok_or_else(|| missing(Subject::Issue(number)))
    }

    fn pr_mut(&mut self, number: PrNumber) -> PortResult<&mut Pr> {
        self.forge.prs.get_mut(&number).ok_or_else(|| missing(Subject::Pr(number)))
    }

    fn shown_pr(&self, number: PrNumber) -> PortResult<words::Pr> {
        let pr = self.forge.prs.get(&number).ok_or_else(|| missing(Subject::Pr(number)))?;
        let reviews = self.forge.reviews.iter().enumerate().filter(|(_, r)| r.pr == number);
        let review = |(at, r): (usize, &Posted)| words::Review {
            id: at as u64 + 1,
            head: r.head.clone(),
            verdict: r.verdict,
            text: r.text.clone(),
            author: r.author.clone(),
            created_at: r.at,
            dismissed_at: r.dismissed.then_some(r.at),
        };
        let status = |(state, said, run, at): &(StatusState, String, RunId, _)| words::Status {
            context: "sim/ci".into(),
            state: *state,
            description: said.clone(),
            run: Some(*run),
            updated_at: *at,
        };
        Ok(words::Pr {
            number,
            title: pr.title.clone(),
            state: match (pr.open, &pr.merged) {
                (_, Some(_)) => PrState::Merged,
                (true, None) => PrState::Open,
                (false, None) => PrState::Closed,
            },
            branch: pr.branch.clone(),
            head: pr.head.clone(),
            issue: pr.issue,
            merged_commit: pr.merged.clone(),
            author: pr.author.clone(),
            body: pr.body.clone(),
            created_at: pr.created_at,
            updated_at: pr.created_at,
            reviews: reviews.map(review).collect(),
            comments: comments(&pr.comments),
            statuses: self.forge.statuses.get(&pr.head).map(status).into_iter().collect(),
        })
    }

    fn know(&self, labels: &[String]) -> PortResult<()> {
        match labels.iter().find(|label| !self.forge.labels.contains(*label)) {
            Some(unknown) => {
                Err(PortError::permanent(Final::Refused, format!("there is no label {unknown:?}")))
            }
            None => Ok(()),
        }
    }
}

fn comments(said: &[Said]) -> Vec<words::Comment> {
    let ids = said.iter().zip(1..);
    ids.map(|(said, id)| words::Comment {
        id,
        author: said.author.clone(),
        body: said.text.clone(),
        created_at: said.at,
    })
    .collect()
}

fn issue_observation(number: IssueNumber, issue: &Issue) -> Observation {
    let mut needs = deps::parse(&issue.body);
    needs.extend(&issue.deps);
    Observation::Issue {
        number,
        title: text::one_line(&issue.title, TITLE_CHARS_MAX),
        labels: issue.labels.iter().cloned().collect(),
        open: issue.open,
        deps: needs,
        created_at: issue.created_at,
        revision: issue.revision,
        version: Version::numbered(issue.version),
        hints: Hints { after: issue.after.clone(), ..Hints::default() },
        by: issue.author.strip_prefix(AGENTS).and_then(|role| role.parse().ok()),
    }
}

fn shown_issue(number: IssueNumber, issue: &Issue) -> words::Issue {
    words::Issue {
        number,
        title: issue.title.clone(),
        state: if issue.open { IssueState::Open } else { IssueState::Closed },
        labels: issue.labels.iter().cloned().collect(),
        body: issue.body.clone(),
        author: issue.author.clone(),
        created_at: issue.created_at,
        updated_at: issue.created_at,
        closed_at: None,
        version: Version::numbered(issue.version),
        comments: comments(&issue.comments),
    }
}

fn says(issue: &words::Issue, word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    [&issue.title, &issue.body].into_iter().any(|text| text.to_ascii_lowercase().contains(&word))
}

fn account(by: By<'_>, of_the_factory: &str) -> String {
    match by {
        By::Factory => of_the_factory.to_owned(),
        By::Agent(role) => format!("{AGENTS}{role}"),
        By::Person(name) => name.to_owned(),
    }
}

impl FakeForge {
    /// A call about one issue or pull request.
    fn call<T>(
        &self,
        on: Subject,
        name: &str,
        act: impl FnOnce(&mut World) -> PortResult<T>,
    ) -> PortResult<T> {
        self.0.call(name, |world| {
            let (now, rough) = (world.now, world.weather.transient > 0);
            match world.forge.sulks {
                Some((who, until)) if now < until && who == on => {
                    world.saw("calls about one subject fail");
                    world.say(format!("fault: {name} of {on} fails"));
                    return Err(PortError::transient(format!("{name} of {on} failed (simulated)")));
                }
                Some((_, until)) if now < until => world.saw("others go on meanwhile"),
                _ if rough && world.forge.manners.permille(10) => {
                    let lasts = Duration::from_secs(60 * world.forge.manners.range(1, 240));
                    world.forge.sulks = Some((on, now + lasts));
                }
                _ => {}
            }
            act(world)
        })
    }
}

impl Forge for FakeForge {
    fn resync(&self) -> Option<Resync> {
        self.0.lock().forge.elsewhere.then_some(RESYNC)
    }

    fn changes(&self, after: &Cursor) -> PortResult<Changes> {
        self.0.call("changes", |world| {
            let now = world.now;
            let from: usize = after.as_str().parse().unwrap_or_default();
            let visible = world.forge.log.iter().skip(from).take_while(|(visible, _)| *visible <= now);
            let page: Vec<Changed> = visible.clone().take(PAGE).map(|(_, what)| *what).collect();
            let more = visible.count() > PAGE;
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
            let cursor = Cursor::new((from + page.len()).to_string());
            Ok(Changes { cursor, observations, more })
        })
    }

    fn issue(&self, number: IssueNumber) -> PortResult<words::Issue> {
        self.0.call("issue_text", |world| world.issue_mut(number).map(|issue| shown_issue(number, issue)))
    }

    fn issues(&self, filter: &IssueFilter) -> PortResult<Vec<words::IssueSummary>> {
        self.0.call("issues", |world| {
            world.know(filter.label.as_slice())?;
            let all = world.forge.issues.iter().map(|(number, issue)| shown_issue(*number, issue));
            let wanted = all.filter(|i| {
                filter.state.is_none_or(|state| i.state == state)
                    && filter.label.as_ref().is_none_or(|label| i.labels.contains(label))
                    && filter.words.iter().all(|word| says(i, word))
            });
            let summary = |i: words::Issue| words::IssueSummary {
                number: i.number,
                title: i.title,
                state: i.state,
                labels: i.labels,
                created_at: i.created_at,
                updated_at: i.updated_at,
            };
            Ok(wanted.map(summary).collect())
        })
    }

    fn pull(&self, pr: PrNumber) -> PortResult<words::Pr> {
        self.0.call("pull_text", |world| world.shown_pr(pr))
    }

    fn pulls(&self, state: Option<PrState>) -> PortResult<Vec<words::PrSummary>> {
        self.0.call("abandoned_pull", |world| {
            let all = world.forge.prs.keys().map(|number| world.shown_pr(*number).map(|pr| pr.summary()));
            let all: Vec<words::PrSummary> = all.collect::<PortResult<_>>()?;
            Ok(all.into_iter().filter(|pr| state.is_none_or(|state| pr.state == state)).collect())
        })
    }

    fn labels(&self) -> PortResult<Vec<String>> {
        self.0.call("labels", |world| Ok(world.forge.labels.iter().cloned().collect()))
    }

    fn ensure_labels(&self, names: &[String]) -> PortResult<()> {
        self.0.call("ensure_labels", |world| {
            world.forge.labels.extend(names.iter().cloned());
            Ok(())
        })
    }

    fn create_issue(&self, new: &NewIssue<'_>) -> PortResult<IssueNumber> {
        self.0.call("create_issue", |world| {
            world.know(new.labels)?;
            let forgets = world.is(Mutation::IssueWithoutMarker);
            let made =
                |issue: &Issue| !forgets && new.marker.is_some() && issue.marker.as_deref() == new.marker;
            if let Some((number, _)) = world.forge.issues.iter().find(|(_, issue)| made(issue)) {
                return Ok(*number);
            }
            for dep in new.deps {
                world.issue_mut(*dep)?;
            }
            Ok(world.make_issue(Issue {
                title: new.title.to_owned(),
                body: new.body.to_owned(),
                author: account(new.by, REVIEWER),
                labels: new.labels.iter().cloned().collect(),
                open: true,
                deps: new.deps.to_vec(),
                marker: new.marker.map(str::to_owned),
                ..Issue::default()
            }))
        })
    }

    fn edit_issue(&self, number: IssueNumber, title: Option<&str>, body: Option<&str>) -> PortResult<()> {
        self.call(Subject::Issue(number), "edit_issue", |world| {
            let issue = world.issue_mut(number)?;
            let before = (issue.title.clone(), issue.body.clone());
            title.into_iter().for_each(|title| title.clone_into(&mut issue.title));
            body.into_iter().for_each(|body| body.clone_into(&mut issue.body));
            if before != (issue.title.clone(), issue.body.clone()) {
                issue.revision += 1;
                world.forge_changed(Changed::Issue(number));
            }
            Ok(())
        })
    }

    fn edit_labels(&self, number: IssueNumber, add: &[String], remove: &[String]) -> PortResult<Version> {
        self.call(Subject::Issue(number), "edit_labels", |world| {
            world.know(add)?;
            world.know(remove)?;
            let issue = world.issue_mut(number)?;
            let before = issue.clone();
            issue.labels.extend(add.iter().cloned());
            world.crash_point("edit_labels", "crash inside a port call");
            let issue = world.issue_mut(number)?;
            for label in remove {
                issue.labels.remove(label);
            }
            let labels = issue.labels.clone();
            if labels != before.labels {
                let shown = labels.into_iter().collect::<Vec<_>>().join(",");
                world.say(format!("labels of #{number}: {shown}"));
                world.forge.before.insert(number, before);
                world.forge_changed(Changed::Issue(number));
            }
            Ok(Version::numbered(world.issue_mut(number)?.version))
        })
    }

    fn comment(&self, on: Subject, new: &NewComment<'_>) -> PortResult<()> {
        let name = if matches!(on, Subject::Issue(_)) { "comment" } else { "comment_pr" };
        self.call(on, name, |world| {
            if new.body.trim().is_empty() {
                return Err(PortError::permanent(Final::Refused, "comment is empty"));
            }
            let again = world.is(Mutation::CommentWithoutMarker) && name == "comment";
            let said = world.forge.comments(on).ok_or_else(|| missing(on))?;
            let posted =
                said.iter().any(|said| said.marker.is_some() && said.marker.as_deref() == new.marker);
            if again || !posted {
                let marker = new.marker.unwrap_or("a person's");
                world.say(format!("comment on {on}: {marker}"));
                world.comment_on(on, new.marker, &account(new.by, FACTORY), new.body);
                if let Subject::Pr(_) = on {
                    world.saw("told on a pull request");
                }
            }
            Ok(())
        })
    }

    fn edit_comment(&self, on: Subject, id: u64, body: &str) -> PortResult<()> {
        self.call(on, "edit_comment", |world| {
            let there = world.forge.comments(on).is_some_and(|all| (1..=all.len() as u64).contains(&id));
            if !there {
                return Err(PortError::permanent(Final::Missing, format!("{on} has no comment {id}")));
            }
            world.edit_comment(on, id, body);
            Ok(())
        })
    }

    fn close_issue(&self, number: IssueNumber) -> PortResult<()> {
        self.call(Subject::Issue(number), "close_issue", |world| world.open_issue(number, false))
    }

    fn reopen_issue(&self, number: IssueNumber) -> PortResult<()> {
        self.call(Subject::Issue(number), "reopen_issue", |world| world.open_issue(number, true))
    }

    fn open_pr(&self, new: &NewPr<'_>) -> PortResult<PrNumber> {
        self.0.call("open_pr", |world| {
            if let Some(issue) = new.issue {
                world.issue_mut(issue)?;
            }
            let again = world.is(Mutation::SecondPr);
            let found =
                world.forge.prs.iter_mut().find(|(_, pr)| pr.open && pr.branch == new.branch && !again);
            if let Some((number, pr)) = found {
                let number = *number;
                if pr.head != *new.head {
                    pr.head = new.head.clone();
                    world.forge_changed(Changed::Pr(number));
                }
                return Ok(number);
            }
            let number = world.make_pr(Pr {
                title: new.title.to_owned(),
                body: new.body.to_owned(),
                author: account(new.by, DEV),
                issue: new.issue,
                branch: new.branch.to_owned(),
                head: new.head.clone(),
                open: true,
                merged: None,
                comments: Vec::new(),
                created_at: world.now,
            });
            world.say(format!("PR {number} of {} at {}", new.branch, short(new.head)));
            Ok(number)
        })
    }

    fn move_pr(&self, pr: PrNumber, head: &Sha) -> PortResult<()> {
        self.call(Subject::Pr(pr), "move_pr", |world| {
            let row = world.pr_mut(pr)?;
            if row.open && row.head != *head {
                row.head = head.clone();
                world.saw("pull request follows its branch");
                world.forge_changed(Changed::Pr(pr));
            }
            Ok(())
        })
    }

    fn close_pr(&self, pr: PrNumber, merged: Option<&Sha>) -> PortResult<()> {
        self.call(Subject::Pr(pr), "close_pr", |world| {
            let row = world.pr_mut(pr)?;
            match (merged, &row.merged) {
                (Some(commit), Some(before)) if commit != before => {
                    let why = format!("pull request #{pr} was merged as {before} before");
                    return Err(PortError::permanent(Final::Rejected, why));
                }
                _ => {}
            }
            if row.open || (merged.is_some() && row.merged.is_none()) {
                row.open = false;
                row.merged = merged.cloned();
                world.forge_changed(Changed::Pr(pr));
            }
            Ok(())
        })
    }

    fn post_review(&self, pr: PrNumber, new: &NewReview<'_>) -> PortResult<()> {
        self.call(Subject::Pr(pr), "post_review", |world| {
            let author = account(new.by, REVIEWER);
            if world.pr_mut(pr)?.author == author && new.verdict == Verdict::Approve {
                return Err(PortError::permanent(Final::Refused, format!("#{pr} is by {author}")));
            }
            let marker = match new.marker {
                Some(marker) => marker.to_owned(),
                None => format!("by-{author}-{}", world.forge.reviews.len()),
            };
            if new.by == By::Factory {
                let epoch = marker.strip_prefix("review-session-").and_then(|rest| rest.split('-').next());
                let epoch: Option<Epoch> = epoch.and_then(|e| e.parse().ok());
                let said = epoch.map(|e| (e, new.head.clone(), new.verdict.as_str()));
                if said.is_none_or(|said| !world.verdicts.contains(&said)) {
                    let text =
                        format!("{marker} posted for {}, which no reviewer said of it", short(new.head));
                    world.broken("6 completion is evidence", text);
                }
            }
            if !world.forge.reviews.iter().any(|r| r.pr == pr && r.marker == marker) {
                world.say(format!("review of {}: {:?}", short(new.head), new.verdict));
                world.post_review(Posted {
                    pr,
                    head: new.head.clone(),
                    verdict: new.verdict,
                    marker,
                    author,
                    text: new.text.to_owned(),
                    dismissed: false,
                    at: world.now,
                });
            }
            Ok(())
        })
    }

    fn post_status(&self, commit: &Sha, run: RunId, state: StatusState, said: &str) -> PortResult<()> {
        self.0.call("post_status", |world| {
            let said = text::one_line(said, TITLE_CHARS_MAX);
            world.forge.statuses.insert(commit.clone(), (state, said, run, world.now));
            Ok(())
        })
    }
}

impl World {
    fn open_issue(&mut self, number: IssueNumber, open: bool) -> PortResult<()> {
        let issue = self.issue_mut(number)?;
        if issue.open != open {
            let before = issue.clone();
            issue.open = open;
            self.forge.before.insert(number, before);
            self.forge_changed(Changed::Issue(number));
        }
        Ok(())
    }
}
