//! Everything is bounded, and an idle floor costs nothing.

use super::Checker;
use crate::world::World;
use shopfloor_core::ids::{IssueNumber, Role};
use shopfloor_core::state::Floor;
use shopfloor_core::texts::FirstLine;
use shopfloor_core::time::Time;
use shopfloor_store::JournalEntry;
use std::time::Duration;

/// How many sessions may be replaced for a full context, and how many questions asked, in a job's life.
const CYCLES_MAX: u32 = 10;
const QUESTIONS_MAX: u32 = 10;
/// How long a message may keep its agent busy, including the deadlines of its delivery and a successor.
const TURN_MAX: Duration = Duration::from_secs(12 * 3600);

impl Checker {
    /// 9: sessions, reviewers, messages and comments of a job stay within what the policy allows.
    pub(super) fn everything_is_bounded(&self, world: &mut World, floor: &Floor) {
        let p = world.policy.clone();
        // Each of these rounds may cost a session; reminders and respawns are counted anew when a round
        // brought something new.
        let rounds = 1 + p.ci_fixes_max + p.review_rounds_max + p.merge_rounds_max;
        let sessions_max = (rounds * (1 + p.respawns_max) + CYCLES_MAX) as usize;
        let messages_max = rounds * (2 + p.reminders_max) * 2 + QUESTIONS_MAX;
        for job in floor.jobs.iter() {
            let of_job = || floor.sessions.iter().filter(|s| s.job == job.id);
            let review = of_job().filter(|s| s.role == Role::REVIEW).count();
            let dev = of_job().count() - review;
            if dev > sessions_max || review > sessions_max {
                let text = format!("job {} had {dev} sessions and {review} reviewers", job.id);
                world.broken("9 everything is bounded", text);
            }
            let messages = self.messages_of.get(&job.id).copied().unwrap_or(0);
            if messages > messages_max {
                world.broken("9 everything is bounded", format!("job {}: {messages} messages", job.id));
            }
        }
        let most = world.forge.issues.iter().map(|(n, i)| (i.comments.len(), *n)).max();
        let jobs = |n: IssueNumber| floor.jobs.iter().filter(|j| j.issue() == Some(n)).count();
        // Ten questions and what became of each; two for each head that is reviewed; its end.
        if let Some((comments, number)) = most
            && comments > 35 * jobs(number).max(1)
        {
            world.broken("9 everything is bounded", format!("#{number} has {comments} comments"));
        }
        let asked = world.coverage.get("person relabelled").copied().unwrap_or(0) as usize;
        let busiest = world.forge.issues.keys().map(|n| jobs(*n)).max().unwrap_or(0);
        if busiest > 2 + asked {
            world.broken("9 everything is bounded", format!("{busiest} jobs for one issue"));
        }
    }

    /// 10: when nothing is left to do, only deadlines act, and they only tell people or prune. An agent that
    /// waits for a review is told once that nobody writes one; what it does then is up to it.
    pub fn idle_is_quiet(&self, world: &mut World, entries: &[JournalEntry]) {
        let is_told =
            |e: &&JournalEntry| e.kind == "MESSAGE_QUEUED" && e.text == FirstLine::NoReview.to_string();
        let told: Vec<Time> = entries.iter().filter(is_told).map(|e| e.at).collect();
        let woken = |e: &&JournalEntry| told.iter().any(|at| (*at..*at + TURN_MAX).contains(&e.at));
        for entry in entries.iter().filter(|e| e.kind == "event" && !woken(e)) {
            let tick = entry.body.contains("\"event\":\"tick\"");
            let telling = ["\"action\":\"comment\"", "\"action\":\"escalate\"", "\"event\":\"observed\""];
            let pruning = ["\"action\":\"tidy\"", "\"action\":\"release_worktree\""];
            let telling = telling.iter().chain(&pruning).any(|what| entry.body.contains(what));
            if !tick && !telling {
                world.broken("10 idle costs nothing", format!("while idle: {}", entry.body));
            }
        }
        let ticks = entries.iter().filter(|e| e.body.contains("\"event\":\"tick\"")).count();
        if ticks > 200 {
            world.broken("10 idle costs nothing", format!("{ticks} deadlines in four idle days"));
        }
    }
}
