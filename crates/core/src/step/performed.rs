//! Outcomes of actions: each goes, as its own type, to whoever ordered the action. Any other outcome is a bug, and
//! reported like an action that cannot be done; nobody is left waiting for an answer that has come.

use super::{Turn, attention, is_wanted};
use crate::effect::outcome;
use crate::effect::{
    Action, CiAbout, CiPurpose, CiReport, Fired, Outcome, ReadAnswer, RecordHealth, RunStep, Telling, Tidy,
    VerifyStep,
};
use crate::event::NoteKind;
use crate::ids::QueueId;
use crate::texts::reasons;
use crate::verdict::believed;

impl Turn<'_> {
    /// The answer to an action of ours.
    pub(super) fn performed(&mut self, action: &Action, outcome: &Outcome) {
        if let Some(project) = self.floor.project_of(action) {
            self.trouble_over(&project, &action.lane());
        }
        match (action, outcome) {
            (action, Outcome::Impossible(outcome::Impossible { why })) => self.impossible(action, why),
            (Action::PrepareWorktree { job, .. }, Outcome::WorktreeReady(ready)) => {
                self.worktree_ready(*job, ready);
            }
            (Action::PrepareWorktree { job, .. }, Outcome::SetupFailed(failed)) => {
                self.setup_failed(*job, failed);
            }
            (Action::PlanRun(plan), Outcome::RunPlanned(planned)) => self.run_planned(plan, planned),
            (Action::PlanAction(plan), Outcome::RunPlanned(planned)) => {
                self.action_planned(plan, &planned.what);
            }
            (Action::CheckHealth(order), Outcome::HealthChecked(outcome::HealthChecked { measured })) => {
                self.health_checked(order, measured);
            }
            (Action::EndStray(order), Outcome::SessionEnded(ended)) => self.stray_ended(order, ended),
            (Action::RunStep(step), Outcome::StepRan(ran)) => self.step_ran(step, ran),
            (Action::Act(order), Outcome::Acted(acted)) => self.acted(order, acted),
            (Action::Act(order), Outcome::ActSeen(before)) => self.act_seen(order, before),
            (Action::UndoAct(undo), Outcome::ActUndone(outcome::ActUndone { kept })) => {
                self.undone(undo, kept.as_deref());
            }
            (Action::ReadAnswer(read), Outcome::AnswerRead(answer)) => self.answer_read(read, answer),
            (Action::VerifyStep(claim), Outcome::StepVerified(seen)) => self.step_verified(claim, seen),
            (Action::CheckAgents { project, others }, Outcome::AgentsChecked(seen)) => {
                self.staff_seen(project, others, seen);
            }
            (Action::StartSession(start), Outcome::SessionStarted(started)) => {
                self.session_started(start, started);
            }
            (Action::StartSession(start), Outcome::AgentUnusable(outcome::AgentUnusable { why })) => {
                self.session_unusable(start, why);
            }
            (Action::EndSession { job, role, epoch, .. }, Outcome::SessionEnded(ended)) => {
                self.session_ended(*job, *role, *epoch, ended);
                self.finishing_done(*job, action);
                self.session_cleared(*job);
            }
            (Action::PushBranch { job, each_commit, protected, .. }, Outcome::Branch(branch)) => {
                self.branch_pushed(*job, *each_commit, protected, branch);
            }
            (Action::Checkpoint { job, .. }, Outcome::Checkpoint(made)) => self.checkpoint_made(*job, made),
            (Action::OpenPr { job, head, .. }, Outcome::PrOpen(outcome::PrOpen { pr })) => {
                self.pr_open(*job, head, *pr);
            }
            (Action::RunCi { .. }, Outcome::CiFinished(report)) => self.checked(action, report),
            (
                Action::CollectReview { job, epoch, pr, head, .. },
                Outcome::ReviewCollected(outcome::ReviewCollected { review }),
            ) => self.review_collected(*job, *epoch, *pr, head, Ok(review)),
            (
                Action::CollectReview { job, epoch, pr, head, .. },
                Outcome::ReviewUnusable(outcome::ReviewUnusable { why }),
            ) => self.review_collected(*job, *epoch, *pr, head, Err(why)),
            (Action::MoveReview { job, epoch, head, .. }, Outcome::ReviewMoved(moved)) => {
                self.reviewer_moved(*job, *epoch, head, moved);
            }
            (Action::PostReview { job, project, pr, epoch, head, review }, Outcome::Done) => {
                self.follow_up(project, *pr, review);
                self.review_posted(*job, *epoch, head, review.verdict);
            }
            (Action::EditLabels { project, issue, add, remove }, Outcome::Labelled(labelled)) => {
                self.labels_edited(project, *issue, add, remove, labelled);
                self.finishing_done_by_issue(project, *issue, action);
                self.heed_labels(project, *issue);
            }
            (
                Action::Comment { project, issue, .. } | Action::CloseIssue { project, issue },
                Outcome::Done,
            ) => self.finishing_done_by_issue(project, *issue, action),
            (Action::ClosePr { project, pr, .. }, Outcome::Done) => {
                self.finishing_done_by_pr(project, *pr, action);
            }
            (Action::ReleaseWorktree { job, role, .. }, Outcome::Released(released)) => {
                self.worktree_released(*job, *role, released);
                self.finishing_done(*job, action);
            }
            (Action::Escalate { job, .. }, Outcome::Done) => self.finishing_done(*job, action),
            (Action::FindPrimary { project, target, known }, Outcome::Primary(primary)) => {
                let queue = QueueId::new(project, target.as_ref());
                self.primary_answered(&queue, known.as_ref(), Some(primary));
            }
            (Action::FindPrimary { project, target, known }, Outcome::NoPrimary) => {
                self.primary_answered(&QueueId::new(project, target.as_ref()), known.as_ref(), None);
            }
            (Action::BuildChain { project, target, trial, list, .. }, Outcome::Chain(chain)) => {
                self.chain_built(&QueueId::new(project, target.as_ref()), *trial, list, chain);
            }
            (Action::BuildChain { project, target, trial, .. }, Outcome::ChainConflict(found)) => {
                self.chain_conflicts(&QueueId::new(project, target.as_ref()), *trial, found);
            }
            (Action::BuildChain { project, target, trial, .. }, Outcome::Unmergeable(found)) => {
                self.chain_unmergeable(&QueueId::new(project, target.as_ref()), *trial, found);
            }
            (Action::BuildChain { project, target, trial, .. }, Outcome::NoPrimary) => {
                self.chain_without_primary(&QueueId::new(project, target.as_ref()), *trial);
            }
            (Action::BuildTry { id, .. }, Outcome::Chain(chain)) => self.try_built(*id, chain),
            (Action::BuildTry { id, .. }, Outcome::ChainConflict(found)) => self.try_conflicts(*id, found),
            (Action::BuildTry { id, .. }, Outcome::Unmergeable(found)) => self.try_unmergeable(*id, found),
            (Action::BuildTry { id, .. }, Outcome::NoPrimary) => self.try_without_base(*id),
            (Action::BuildLanding { project, target, tip, .. }, Outcome::LandingBuilt(built)) => {
                self.landing_built(&QueueId::new(project, target.as_ref()), tip, built);
            }
            (
                Action::BuildLanding { project, target, tip, .. },
                Outcome::NotSigned(outcome::NotSigned { why }),
            ) => self.put_off(&QueueId::new(project, target.as_ref()), tip, why),
            (Action::Publish { project, target, old, new, .. }, Outcome::Published) => {
                self.published(&QueueId::new(project, target.as_ref()), old, new);
            }
            (
                Action::Publish { project, target, old, new, .. },
                Outcome::PrimaryMoved(_) | Outcome::NoPrimary,
            ) => self.not_published(&QueueId::new(project, target.as_ref()), old, new, &[]),
            (
                Action::Publish { project, target, old, new, .. },
                Outcome::BranchesMoved(outcome::BranchesMoved { moved }),
            ) => self.not_published(&QueueId::new(project, target.as_ref()), old, new, moved),
            (Action::FindMerged { .. }, Outcome::FoundMerged(outcome::FoundMerged { heads })) => {
                self.merged_by_person(heads);
            }
            (Action::VerifyLanded { project, landed }, Outcome::Landed(outcome::Landed { incomplete })) => {
                self.landing_verified(project, landed, incomplete);
            }
            (Action::SyncCheckout { project, .. }, Outcome::Checkout(outcome::Checkout { note, .. })) => {
                self.note(NoteKind::Checkout, project, None, note.clone());
            }
            (Action::TakeCheckout { project }, Outcome::CheckoutTaken(outcome::CheckoutTaken { taken })) => {
                self.checkout_taken(project, taken);
            }
            (Action::Tell(telling), Outcome::Told(command)) => self.told(telling, command),
            (Action::Fire(fire), Outcome::Fired(fired)) => self.fired(fire, fired),
            (Action::RetireBranch { project, branch, merged, .. }, Outcome::Done) => {
                self.branch_retired(project, branch, &merged.commit);
            }
            (
                Action::RingInbox { .. }
                | Action::PostStatus { .. }
                | Action::CommentPr { .. }
                | Action::MovePr { .. }
                | Action::CreateIssue { .. }
                | Action::CancelCi { .. }
                | Action::StopStep { .. }
                | Action::RecordHealth(_),
                Outcome::Done,
            ) => {}
            (Action::Tidy(tidy), Outcome::Tidied(what)) => self.tidied(&tidy.project, Some(what)),
            (action, outcome) => self.impossible(action, &reasons::wrong_outcome(outcome)),
        }
    }

    /// Checks have ended, whatever they were for.
    fn checked(&mut self, action: &Action, report: &CiReport) {
        let Action::RunCi { job, project, run, commit, purpose, about, .. } = action else { return };
        let queue = QueueId::new(project, about.target.as_ref());
        let report = &*believed(&self.policy(project), report);
        match purpose {
            CiPurpose::Head => {
                if let Some(job) = job {
                    self.checks_finished(*job, *run, commit, report);
                }
            }
            CiPurpose::Try(id) => self.try_checked(*id, *run, report),
            CiPurpose::Entry(entry) => self.entry_checked(*entry, *run, report),
            CiPurpose::Trial(trial) => self.trial_checked(&queue, *trial, *run, report),
            CiPurpose::Base => self.base_checked(&queue, *run, report),
        }
    }

    /// An action that will never work. Somebody is told, and whatever waited for it stops waiting.
    fn impossible(&mut self, action: &Action, why: &str) {
        let reason = reasons::impossible(action, why);
        match action {
            Action::PrepareWorktree { job, .. }
            | Action::PushBranch { job, .. }
            | Action::OpenPr { job, .. }
            | Action::RunCi { job: Some(job), purpose: CiPurpose::Head, .. } => {
                // An action that is no longer waited for may fail.
                if attention::waits_for(self.floor, *job, action) {
                    self.block(*job, &reason);
                } else {
                    self.stale(*job, reason);
                }
            }
            Action::PlanRun(plan) => self.plan_impossible(plan, &reason),
            Action::PlanAction(plan) => self.action_impossible(plan, &reason),
            Action::CheckHealth(order) => self.checkup_impossible(order, &reason),
            Action::RecordHealth(RecordHealth { project, .. }) => {
                self.note(NoteKind::Escalation, project, None, reason);
            }
            Action::EndStray(order) => {
                self.note(NoteKind::Escalation, &order.stray.project, None, reason);
            }
            Action::StartSession(start) => self.session_impossible(start, &reason),
            Action::Act(order) => self.act_impossible(order, why),
            Action::UndoAct(undo) => self.undone(undo, Some(why)),
            Action::RunStep(RunStep { run, step, attempt, .. })
            | Action::ReadAnswer(ReadAnswer { run, step, attempt, .. })
            | Action::VerifyStep(VerifyStep { run, step, attempt, .. }) => {
                self.step_impossible(*run, step, *attempt, &reason);
            }
            Action::RunCi {
                project,
                purpose: CiPurpose::Trial(trial),
                about: CiAbout { target, .. },
                ..
            }
            | Action::BuildChain { project, target, trial, .. } => {
                self.trial_impossible(&QueueId::new(project, target.as_ref()), *trial, &reason);
            }
            Action::RunCi { project, run, purpose: CiPurpose::Base, about, .. } => {
                self.base_uncheckable(&QueueId::new(project, about.target.as_ref()), *run, &reason);
            }
            Action::RunCi { run, purpose: CiPurpose::Entry(entry), .. } => {
                self.entry_uncheckable(*entry, *run, &reason);
            }
            Action::RunCi { job: None, purpose: CiPurpose::Head, .. } => {}
            Action::FindPrimary { project, target, .. } => {
                self.primary_unknown(&QueueId::new(project, target.as_ref()), &reason);
            }
            Action::BuildLanding { project, target, tip, .. } => {
                self.landing_impossible(&QueueId::new(project, target.as_ref()), tip, &reason);
            }
            Action::Publish { project, target, old, new, .. } => {
                self.publish_impossible(&QueueId::new(project, target.as_ref()), old, new, &reason);
            }
            Action::CollectReview { job, epoch, .. } => self.reviewer_failed(*job, *epoch, &reason),
            Action::PostReview { job, epoch, head, .. } => {
                self.review_not_posted(*job, *epoch, head, &reason);
            }
            Action::MoveReview { job, epoch, head, .. } => {
                self.reviewer_not_moved(*job, *epoch, head, &reason);
            }
            Action::EndSession { job, role, epoch, .. } => {
                self.not_ended(*job, *role, *epoch, action, &reason);
                self.reviewer_not_ended(*job, *epoch, &reason);
            }
            Action::ReleaseWorktree { job, .. } => {
                self.escalate_job(*job, &reason);
                self.worktree_not_released(*job);
                self.finishing_done(*job, action);
            }
            Action::Escalate { job, .. } => {
                self.escalate_job(*job, &reason);
                self.finishing_done(*job, action);
            }
            Action::EditLabels { project, issue, .. } => {
                self.labels_refused(project, *issue);
                self.note(NoteKind::Escalation, project, Some(*issue), reason);
                self.finishing_done_by_issue(project, *issue, action);
            }
            Action::Comment { project, issue, .. } | Action::CloseIssue { project, issue } => {
                self.note(NoteKind::Escalation, project, Some(*issue), reason);
                self.finishing_done_by_issue(project, *issue, action);
            }
            Action::ClosePr { project, pr, .. } => {
                self.note(NoteKind::Escalation, project, None, reason);
                self.finishing_done_by_pr(project, *pr, action);
            }
            Action::BuildTry { id, .. } | Action::RunCi { purpose: CiPurpose::Try(id), .. } => {
                self.try_impossible(*id, &reason);
            }
            // Whether it was begun is not known.
            Action::Fire(fire) => self.fired(fire, &Fired::CutShort { output: reason }),
            Action::Tell(Telling { project, .. })
            | Action::CommentPr { project, .. }
            | Action::MovePr { project, .. }
            | Action::CreateIssue { project, .. }
            | Action::PostStatus { project, .. }
            | Action::SyncCheckout { project, .. }
            | Action::TakeCheckout { project }
            | Action::CancelCi { project, .. }
            | Action::StopStep { project, .. }
            | Action::VerifyLanded { project, .. }
            | Action::FindMerged { project, .. }
            | Action::RetireBranch { project, .. } => {
                self.note(NoteKind::Escalation, project, None, reason);
            }
            Action::Tidy(Tidy { project, .. }) => {
                self.tidied(project, None);
                self.note(NoteKind::Escalation, project, None, reason);
            }
            // Another is made later, and one at the session's end; but somebody should know.
            Action::Checkpoint { job, .. } if is_wanted(self.floor, action) => {
                self.escalate_job(*job, &reason);
            }
            Action::Checkpoint { job, .. } => self.stale(*job, reason),
            // Whoever is started next finds out.
            Action::CheckAgents { project, .. } => {
                self.staff_seen(project, &[], &outcome::AgentsChecked::default());
            }
            // The message's own deadline reports it.
            Action::RingInbox { .. } => {}
        }
    }
}
