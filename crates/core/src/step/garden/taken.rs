//! A gardener's answer: checked against what its role may and against the issues as they are, then taken as a whole.

use crate::act::{Act, Refusal};
use crate::effect::ReadAnswer;
use crate::groom::answer::{Answer, Mistake};
use crate::groom::{findings_in, judged_in};
use crate::ids::{Assignment, IssueNumber, JobId, ProjectName, Role, RunNumber};
use crate::label::Label;
use crate::state::{Floor, StepState};
use crate::step::Turn;
use crate::step::acts::allowed_to;
use std::collections::{BTreeMap, BTreeSet};

/// More keys than a large backlog has findings; the oldest are forgotten, and found once more.
const JUDGED_MAX: usize = 4_000;

/// Who answers.
#[derive(Clone, Debug)]
pub(in crate::step) struct Gardener {
    pub project: ProjectName,
    pub job: JobId,
    pub run: RunNumber,
    pub role: Role,
}

impl From<&ReadAnswer> for Gardener {
    fn from(read: &ReadAnswer) -> Gardener {
        let ReadAnswer { project, job, run, role, .. } = read;
        Gardener { project: project.clone(), job: *job, run: *run, role: *role }
    }
}

/// The first thing in an answer that cannot be done.
fn mistake(floor: &Floor, gardener: &Gardener, answer: &Answer) -> Option<Mistake> {
    let Gardener { project, job, role, .. } = gardener;
    let at = |line: u32, refusal: Refusal| Mistake { line, what: refusal.to_string() };
    let rights = floor.policy(project).rights(*role);
    let conduct = floor.conducts.get(&(*job, *role));
    let (mut issues, mut changes) = conduct.map_or((0, 0), |conduct| (conduct.issues, conduct.changes));
    let mut links = BTreeMap::new();
    for planned in &answer.acts {
        let wrong = allowed_to(floor, project, *role, None, &planned.act).err();
        let wrong = wrong.or_else(|| is_fit(floor, project, &planned.act, &mut links).err());
        if let Some(wrong) = wrong {
            return Some(at(planned.line, wrong));
        }
        issues += planned.act.makes();
        changes += u32::from(planned.act.changes_what_is_there());
        if issues > rights.max_issues {
            return Some(at(planned.line, Refusal::Issues(rights.max_issues)));
        }
        if changes > rights.max_changes {
            return Some(at(planned.line, Refusal::Changes(rights.max_changes)));
        }
    }
    let sweeps = Act::Bundle { title: "x".into(), body: String::new(), issues: vec![] };
    for speck in &answer.dust {
        changes += 1;
        if changes > rights.max_changes {
            return Some(at(speck.line, Refusal::Changes(rights.max_changes)));
        }
        let wrong = allowed_to(floor, project, *role, None, &sweeps).err();
        if let Some(wrong) = wrong.or_else(|| is_free(floor, project, speck.issue).err()) {
            return Some(at(speck.line, wrong));
        }
    }
    for question in &answer.questions {
        let acts = question.options.iter().filter_map(|option| option.act.as_ref());
        let mut wrong = is_open(floor, project, question.issue).err();
        for act in acts {
            wrong = wrong.or_else(|| may_be_chosen(floor, project, act).err());
        }
        if let Some(wrong) = wrong {
            return Some(at(question.line, wrong));
        }
    }
    None
}

fn is_open(floor: &Floor, project: &ProjectName, issue: IssueNumber) -> Result<(), Refusal> {
    let known = floor.issues.get(&(project.clone(), issue));
    if known.is_some_and(|known| known.open) { Ok(()) } else { Err(Refusal::NotOpen(issue)) }
}

/// Whether it is open, and nobody works on it.
pub(super) fn is_free(floor: &Floor, project: &ProjectName, issue: IssueNumber) -> Result<(), Refusal> {
    is_open(floor, project, issue)?;
    let carried = floor.job_of(project, issue).is_some_and(|job| job.is_live());
    if carried { Err(Refusal::AtWork(issue)) } else { Ok(()) }
}

/// What was already to be linked in the same answer counts as linked.
type Links = BTreeMap<IssueNumber, Vec<IssueNumber>>;

/// Whether what an act is about is there for it.
fn is_fit(floor: &Floor, project: &ProjectName, act: &Act, links: &mut Links) -> Result<(), Refusal> {
    if let Some(issue) = act.issue() {
        is_free(floor, project, issue)?;
    }
    match act {
        Act::CloseAs { of, .. } => is_open(floor, project, *of),
        Act::Link { issue, on } => {
            is_open(floor, project, *on)?;
            if leads_to(floor, project, *on, *issue, links) {
                return Err(Refusal::Itself(*issue));
            }
            links.entry(*issue).or_default().push(*on);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Whether an issue waits for another, perhaps through others. Each issue is looked at once.
fn leads_to(floor: &Floor, project: &ProjectName, from: IssueNumber, to: IssueNumber, links: &Links) -> bool {
    let (mut next, mut seen) = (vec![from], BTreeSet::new());
    while let Some(issue) = next.pop() {
        if issue == to {
            return true;
        }
        if seen.insert(issue) {
            let row = floor.issues.get(&(project.clone(), issue)).filter(|row| row.open);
            next.extend(row.into_iter().flat_map(|row| &row.deps));
            next.extend(links.get(&issue).into_iter().flatten());
        }
    }
    false
}

/// Whether a person may be offered that. Their word is behind it, so no rights are asked for; but the factory's own
/// label stays the factory's.
pub(super) fn may_be_chosen(floor: &Floor, project: &ProjectName, act: &Act) -> Result<(), Refusal> {
    if let Some(flaw) = act.flaw() {
        return Err(flaw);
    }
    if let Some(label) = act.labels().find(|label| **label == Label::InProgress.as_str()) {
        return Err(Refusal::Label(Role::GARDENER, label.clone()));
    }
    is_fit(floor, project, act, &mut Links::new())
}

impl Turn<'_> {
    /// Takes an answer in, or says what is wrong with it; then nothing of it is done.
    pub(in crate::step) fn groom(&mut self, gardener: &Gardener, answer: &Answer) -> Result<(), Mistake> {
        if let Some(mistake) = mistake(self.floor, gardener, answer) {
            return Err(mistake);
        }
        for planned in &answer.acts {
            self.order_of(gardener, planned.act.clone().clean());
        }
        self.count_changes((gardener.job, gardener.role), answer.dust.len() as u32);
        self.add_dust(gardener, &answer.dust);
        self.ask_people(gardener, &answer.questions);
        self.remember_judged(gardener);
        Ok(())
    }

    pub(super) fn order_of(&mut self, gardener: &Gardener, act: Act) {
        let Gardener { project, job, run, role } = gardener;
        self.order_for(project, (*job, *role), Assignment::Run(*run), act, true);
    }

    /// What the run was shown is judged, whatever came of it.
    fn remember_judged(&mut self, gardener: &Gardener) {
        let Some(run) = self.floor.runs.get(&gardener.run) else { return };
        let shown = run.steps().filter(|(step, record)| {
            record.state == StepState::Done && step.run.as_deref().is_some_and(findings_in)
        });
        let shown: Vec<_> = shown.map(|(_, record)| (record.at, judged_in(&record.output))).collect();
        let Some(told_at) = shown.iter().map(|(at, _)| *at).min() else { return };
        let keys: BTreeSet<u64> = shown.into_iter().flat_map(|(_, keys)| keys).collect();
        let Some(garden) = self.garden(&gardener.project) else { return };
        garden.judged.retain(|known| !keys.contains(known));
        garden.judged.extend(keys);
        let over = garden.judged.len().saturating_sub(JUDGED_MAX);
        garden.judged.drain(..over);
        // It was told of these.
        garden.decided.retain(|decided| decided.at > told_at);
    }
}
