//! What an agent is told at its start. Pure: the same briefing gives the same prompt. Everything
//! from outside arrives neutralised and stands between markers that say so.

use shopfloor_core::effect::StartSession;
use shopfloor_core::ids::Role;
use shopfloor_core::runtime::DeliveryMode;
use shopfloor_core::text::{fence, head};
use shopfloor_engine::ports::Briefing;
use std::fmt::Write;
use std::path::Path;

/// Parts are cut to these sizes, so that the whole stays far from any client's limit.
const BODY_BYTES_MAX: usize = 32 * 1024;
const COMMENTS_BYTES_MAX: usize = 8 * 1024;
const WORK_BYTES_MAX: usize = 16 * 1024;
const REVIEWS_BYTES_MAX: usize = 8 * 1024;

/// What is typed of a prompt at most. Longer pastes arrive too, but no client shows them whole.
const TYPED_BYTES_MAX: usize = 20 * 1024;
/// Where the protocol begins in a prompt.
const PROTOCOL: &str = "## How to work\n";

/// A prompt: what is to be done, and how to work with the factory.
pub struct Prompt {
    task: String,
    protocol: String,
}

impl Prompt {
    pub fn whole(&self) -> String {
        format!("{}{}", self.task, self.protocol)
    }
}

pub fn render(start: &StartSession, briefing: &Briefing, primary: &str, delivery: DeliveryMode) -> Prompt {
    let task = match start.role {
        Role::Dev => dev(start, briefing),
        Role::Review => review(start, briefing, primary),
    };
    Prompt { task, protocol: protocol(start, primary, delivery) }
}

/// The prompt as it is typed: within the budget, and with the protocol whole. What is left out says
/// where it is.
pub fn to_type(prompt: &str, file: &Path) -> String {
    if prompt.len() <= TYPED_BYTES_MAX {
        return prompt.to_owned();
    }
    let (task, protocol) = match prompt.rfind(PROTOCOL) {
        Some(at) => prompt.split_at(at),
        None => (prompt, ""),
    };
    let note = format!("\n\nThis was cut. The whole is in {}: read it first.\n\n", file.display());
    let room = TYPED_BYTES_MAX.saturating_sub(protocol.len() + note.len());
    format!("{}{note}{protocol}", head(task, room))
}

fn dev(start: &StartSession, briefing: &Briefing) -> String {
    let mut out = format!(
        "You implement issue #{} of project {}. You are in a git worktree on branch {}.\n\n",
        start.issue, start.project, start.branch
    );
    issue_text(&mut out, start, briefing);
    if let Some(resume) = &start.resume {
        let _ = writeln!(
            out,
            "## You continue the work of session {}\n\nResume from phase: {}, last working on: {}. The worktree is as it was left.\n",
            resume.predecessor,
            resume.phase,
            resume
                .record
                .as_ref()
                .map_or_else(|| format!("issue #{}", start.issue), |record| record.summary.clone())
        );
        if let Some(record) = &resume.record {
            let _ = writeln!(
                out,
                "The work record says: {}, in phase {}; tests: {}.\n",
                record.summary, record.phase, record.tests
            );
        }
        part(&mut out, "What was done so far", &briefing.work_done, WORK_BYTES_MAX);
        part(&mut out, "The latest reviews", &briefing.reviews.join("\n\n"), REVIEWS_BYTES_MAX);
        for unread in &resume.unread {
            part(
                &mut out,
                "A message to your predecessor that you have to act on",
                &unread.text,
                WORK_BYTES_MAX,
            );
        }
    }
    out
}

/// How to work with the factory: told at the start, and again after the client has forgotten it.
pub fn protocol(start: &StartSession, primary: &str, delivery: DeliveryMode) -> String {
    match start.role {
        Role::Dev => dev_protocol(&start.branch, primary, delivery),
        Role::Review => format!(
            "{PROTOCOL}
Write a JSON object to the file named by `$SHOPFLOOR_RESULT_FILE`:

    {{\"verdict\": \"APPROVE\" | \"REQUEST_CHANGES\" | \"DISCUSS\", \"verdict_reason\": \"one sentence\", \"review_markdown\": \"the review\"}}

Approve only what does what the issue asks, is correct and is tested. Change nothing else. Then run `shopfloor phase done`.
"
        ),
    }
}

fn dev_protocol(branch: &str, primary: &str, delivery: DeliveryMode) -> String {
    const LINES: &str = "`CI passed`, `CI failed`, `CI timeout`, `Review: APPROVE`, `Review: REQUEST_CHANGES`, `MERGE_CONFLICT`, `MERGE_FAILED`, `PR not merged yet`, `PHASE missing`, `Continue`, `Answer: …`";
    let messages = match delivery {
        DeliveryMode::Inbox => format!(
            "Then run `shopfloor inbox wait`: it blocks until there is a message for you and prints it. Its first line says what it is: {LINES}. Act on it, signal the phase it calls for, and wait again."
        ),
        DeliveryMode::Paste => format!(
            "Then end your turn. Do not wait and do not poll: the answer comes as your next prompt. Its first line says what it is: {LINES}. Act on it, signal the phase it calls for, and end your turn again."
        ),
    };
    format!(
        "{PROTOCOL}
1. If the repository has an AGENTS.md, follow it.
2. Implement the issue, commit, and push: `git push origin {branch}`. Never push to {primary}, never force, never merge: the merge queue does that.
3. Say where you are with `shopfloor phase NAME` (or write `PHASE:NAME` to `$PHASE_FILE`), always as the last thing you do:
   - `awaiting_ci` after you pushed;
   - `awaiting_review` after you were told \"CI passed\";
   - `done` after you were told \"Review: APPROVE\";
   - `needs_human --detail \"the question\"` if a person has to decide; with `--option` for each thing to choose from, and `--deadline 2h --default` for what you do if nobody answers;
   - `failed --detail \"the reason\"` if it cannot be done.
4. {messages}
"
    )
}

fn review(start: &StartSession, briefing: &Briefing, primary: &str) -> String {
    let pr = start.pr.unwrap_or_default();
    let head = start.head.as_ref().map_or("HEAD", |h| h.as_str());
    let mut out = format!(
        "You review pull request #{pr} of project {}: branch {}, commit {head}, for issue #{}. You are in a checkout of that commit; see `git diff origin/{primary}...HEAD`. Change nothing.\n\n",
        start.project, start.branch, start.issue
    );
    issue_text(&mut out, start, briefing);
    out
}

fn issue_text(out: &mut String, start: &StartSession, briefing: &Briefing) {
    let _ = writeln!(out, "## Issue #{}: {}\n", start.issue, briefing.issue.title);
    part(out, "The issue's text, as somebody wrote it", &briefing.issue.body, BODY_BYTES_MAX);
    part(out, "Comments, oldest first", &briefing.issue.comments.join("\n\n"), COMMENTS_BYTES_MAX);
}

/// A part from outside, between fences that it cannot end itself. Nothing for an empty one.
fn part(out: &mut String, title: &str, text: &str, bytes_max: usize) {
    let text = head(text.trim(), bytes_max);
    if !text.is_empty() {
        let fence = fence(&text);
        let _ = writeln!(out, "### {title}\n\n{fence}\n{text}\n{fence}\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shopfloor_core::effect::{Resume, Unread};
    use shopfloor_core::ids::{Epoch, IssueNumber, JobId, MessageId};
    use shopfloor_engine::ports::IssueText;

    fn start(resume: Option<Resume>) -> StartSession {
        StartSession {
            epoch: Epoch(2),
            job: JobId(1),
            role: Role::Dev,
            project: "sample".parse().unwrap(),
            issue: IssueNumber(3),
            branch: "fix/issue-3".into(),
            pr: None,
            head: None,
            resume,
        }
    }

    #[test]
    fn a_huge_issue_is_cut_and_says_so() {
        let issue = IssueText { title: "t".into(), body: "x".repeat(1 << 20), comments: vec![] };
        let briefing = Briefing { issue, ..Briefing::default() };
        let prompt = render(&start(None), &briefing, "main", DeliveryMode::Paste).whole();
        assert!(prompt.len() < 64 * 1024, "{}", prompt.len());
        assert!(prompt.contains("more bytes left out"));
        // Less is typed, with a pointer to the rest and the protocol whole.
        let typed = to_type(&prompt, Path::new("/f/prompt.md"));
        assert!(typed.len() <= TYPED_BYTES_MAX + 100, "{}", typed.len());
        let protocol = protocol(&start(None), "main", DeliveryMode::Paste);
        assert!(typed.contains("The whole is in /f/prompt.md") && typed.ends_with(&protocol), "{typed}");
        assert_eq!(to_type("short", Path::new("/f")), "short");
    }

    #[test]
    fn a_successor_is_told_where_to_go_on() {
        let resume = Resume {
            predecessor: Epoch(1),
            phase: "awaiting_ci".into(),
            unread: vec![Unread { message: MessageId(1), text: "CI failed\nlint".into() }],
            conversation: None,
            record: None,
        };
        let briefing = Briefing { work_done: "1 file changed".into(), ..Briefing::default() };
        let prompt = render(&start(Some(resume)), &briefing, "main", DeliveryMode::Inbox).whole();
        assert!(prompt.contains("shopfloor inbox wait"));
        for expect in
            ["Resume from phase: awaiting_ci, last working on: ", "1 file changed", "CI failed\nlint"]
        {
            assert!(prompt.contains(expect), "{expect}");
        }
    }
}
