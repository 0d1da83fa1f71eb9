//! The demo agent as a developer.

use super::client::{Client, Dialog};
use super::repo::{commit_all, commits_ahead, git, once, write};
use super::script::{Edit, Script};
use super::{hold, trouble, variable};
use crate::cli::{CliError, CliResult, phase};
use shopfloor_core::effect::Verdict;
use shopfloor_core::ids::Role;
use shopfloor_core::phase::Phase;
use shopfloor_core::texts::FirstLine;

pub(super) struct Dev<'a> {
    pub(super) role: Role,
    pub(super) client: &'a dyn Client,
    pub(super) script: &'a Script,
    branch: String,
    primary: String,
    /// The issue; `None`: it carries out a run.
    issue: Option<String>,
    answer: Option<String>,
}

/// How good a version is wanted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Quality {
    First,
    /// CI's objections are dealt with.
    Working,
    /// The review's as well.
    Final,
}

pub fn run(role: Role, script: &Script, client: &dyn Client) -> CliResult<()> {
    trouble::at_start(script, client)?;
    let mut dev = Dev {
        role,
        client,
        script,
        branch: variable("SHOPFLOOR_BRANCH")?,
        primary: variable("SHOPFLOOR_PRIMARY_BRANCH")?,
        // An issue that asks for an action has a run.
        issue: variable("ISSUE").ok().filter(|_| variable("SHOPFLOOR_RUN").is_err()),
        answer: None,
    };
    let prompt = client.first_prompt()?;
    hold::at(script, "read")?;
    std::thread::sleep(script.sleep);
    trouble::in_turn(script, client)?;
    if let Some(reason) = &script.give_up {
        return phase::signal(Phase::Failed, Some(reason.clone()));
    }
    if script.has("garbage-phase") && once(client, "garbage")? {
        let file = variable("PHASE_FILE")?;
        std::fs::write(&file, "I think I am done\n")?;
        dev.next_message()?;
    }
    if script.has("crash-always") || (script.has("crash-once") && once(client, "crash")?) {
        // Work that no commit holds: the successor finds it.
        write("half-done.tmp", "interrupted\n")?;
        std::process::abort();
    }
    if let Some(question) = &script.question
        && once(client, "question")?
    {
        dev.signal(Phase::NeedsHuman, Some(question))?;
    } else if dev.issue.is_none() && dev.steps()? {
        dev.signal(Phase::Done, None)?;
    }
    if dev.issue.is_none() {
        return dev.follow();
    }
    if commits_ahead(client, &dev.primary)? == 0 && script.question.is_none() {
        dev.implement(Quality::First)?;
    }
    // What the predecessor was told and did not act on comes with the prompt.
    let is_news = |first: &FirstLine| {
        use FirstLine::{Answer, CiFailed, CiTimeout, MergeConflict, MergeFailed, Review};
        let refused = matches!(first, Review(verdict) if *verdict != Verdict::Approve);
        refused || matches!(first, Answer(_) | CiFailed | CiTimeout | MergeConflict | MergeFailed)
    };
    match prompt.lines().filter_map(|line| line.parse().ok()).find(is_news) {
        Some(first) => dev.react(first)?,
        None if script.question.is_some() && commits_ahead(client, &dev.primary)? == 0 => {}
        None => dev.signal(Phase::AwaitingCi, None)?,
    }
    dev.follow()
}

impl Dev<'_> {
    /// Does what it is told, until it is ended.
    fn follow(&mut self) -> CliResult<()> {
        loop {
            let message = self.next_message()?;
            match FirstLine::of(&message) {
                Some(first) => self.react(first)?,
                None => self.client.say("nothing to do for that"),
            }
        }
    }

    fn next_message(&self) -> CliResult<String> {
        let message = self.client.next_message()?;
        self.client.say(&format!("<- {}", message.lines().next().unwrap_or("")));
        Ok(message)
    }

    fn react(&mut self, first: FirstLine) -> CliResult<()> {
        match first {
            FirstLine::CiPassed => self.signal(Phase::AwaitingReview, None),
            FirstLine::CiFailed | FirstLine::CiTimeout => self.rework(Quality::Working, Phase::AwaitingCi),
            FirstLine::Review(Verdict::Approve) => self.signal(Phase::Done, None),
            FirstLine::Review(Verdict::RequestChanges | Verdict::Discuss) => {
                self.rework(Quality::Final, Phase::AwaitingReview)
            }
            FirstLine::MergeConflict | FirstLine::MergeFailed => {
                self.catch_up()?;
                self.rework(Quality::Final, Phase::AwaitingCi)
            }
            FirstLine::StepsReady
            | FirstLine::StepsOpen
            | FirstLine::StepsOver
            | FirstLine::StepNotVerified => self.go_on(),
            FirstLine::Answer(answer) => {
                self.answer = Some(answer);
                if self.issue.is_none() {
                    return self.go_on();
                }
                self.implement(Quality::First)?;
                self.signal(Phase::AwaitingCi, None)
            }
            other => {
                self.client.say(&format!("nothing to do for \"{other}\""));
                Ok(())
            }
        }
    }

    /// The steps that can be done; the end, if that is all.
    fn go_on(&self) -> CliResult<()> {
        if self.steps()? { self.signal(Phase::Done, None) } else { Ok(()) }
    }

    fn signal(&self, phase: Phase, detail: Option<&str>) -> CliResult<()> {
        if self.script.has("no-phase") {
            self.client.say("(no phase)");
            return Ok(());
        }
        let asked = phase == Phase::AwaitingCi && self.ask_somebody()?;
        self.client.say(&format!("-> {phase}"));
        phase::signal(phase, detail.map(str::to_owned))?;
        if asked {
            self.client.wait_for_answer();
        }
        if self.script.has("leave") {
            self.client.leave();
            std::process::exit(0);
        }
        Ok(())
    }

    /// Puts a dialog up, if it is to. The signal goes out meanwhile, so that there is something to
    /// tell an agent that must not be typed to.
    fn ask_somebody(&self) -> CliResult<bool> {
        let (flag, dialog) = match self.script.has("dialog") {
            true => ("dialog", Dialog::Permission),
            false => ("question", Dialog::Question),
        };
        let asks = self.script.has(flag) && once(self.client, &format!("{flag}-up"))?;
        if asks {
            self.client.put_up(dialog);
        }
        Ok(asks)
    }

    pub(super) fn edit(&self) -> CliResult<()> {
        self.implement(Quality::First)
    }

    /// Makes the edits, commits and pushes.
    fn implement(&self, quality: Quality) -> CliResult<()> {
        if self.script.has("empty") {
            return Ok(());
        }
        let default = self.issue.as_ref().map(|issue| Edit {
            path: format!("demo/issue-{issue}.md"),
            text: format!("Done for issue {issue}."),
            append: false,
            broken_first: false,
            rough_first: false,
        });
        let edits = if self.script.edits.is_empty() { default.as_slice() } else { &self.script.edits };
        for edit in edits {
            self.apply(edit, quality)?;
        }
        hold::at(self.script, if quality == Quality::Final { "fixed" } else { "edited" })?;
        let _ = std::fs::remove_file("half-done.tmp");
        let message = match &self.issue {
            Some(issue) => format!("Implement issue #{issue}\n\nFixes #{issue}"),
            None => format!("Carry out run {}", variable("SHOPFLOOR_RUN")?),
        };
        if commit_all(self.client, &message)? && !self.script.has("no-push") {
            hold::at(self.script, "committed")?;
            // In a jail it cannot: then the factory takes the commits from here.
            let _ =
                git(self.client, &["push", "--quiet", "origin", &format!("HEAD:refs/heads/{}", self.branch)]);
        }
        Ok(())
    }

    fn apply(&self, edit: &Edit, quality: Quality) -> CliResult<()> {
        let mut text = edit.text.clone();
        if let Some(answer) = &self.answer {
            text = text.replace("{answer}", answer);
        }
        let spoilt = if edit.broken_first && quality < Quality::Working {
            Some("BROKEN")
        } else if edit.rough_first && quality < Quality::Final {
            Some("FIXME")
        } else {
            None
        };
        if let Some(word) = spoilt {
            return write(&edit.path, &format!("{word} {text}\n"));
        }
        if !edit.append {
            return write(&edit.path, &format!("{text}\n"));
        }
        let before = std::fs::read_to_string(&edit.path).unwrap_or_default();
        if before.lines().any(|l| l == text) {
            return Ok(());
        }
        write(&edit.path, &format!("{before}{text}\n"))
    }

    fn rework(&self, quality: Quality, then: Phase) -> CliResult<()> {
        self.take_in_others()?;
        self.implement(quality)?;
        self.signal(then, None)
    }

    /// Somebody else may have pushed to the branch.
    fn take_in_others(&self) -> CliResult<()> {
        git(self.client, &["fetch", "--quiet", "origin"])?;
        let branch = git(self.client, &["symbolic-ref", "--short", "HEAD"])?;
        let there = format!("origin/{branch}");
        if !git(self.client, &["branch", "--remotes", "--list", &there])?.is_empty() {
            git(self.client, &["merge", "--quiet", "--no-edit", "-X", "ours", &there])?;
        }
        Ok(())
    }

    /// Takes in the primary branch. Where both changed the same lines its version is taken; the
    /// rework that follows puts ours back.
    fn catch_up(&self) -> CliResult<()> {
        git(self.client, &["fetch", "--quiet", "origin"])?;
        let merge = format!("origin/{}", self.primary);
        if git(self.client, &["merge", "--quiet", "--no-edit", "-X", "theirs", &merge]).is_ok() {
            return Ok(());
        }
        // One side deleted what the other changed.
        git(self.client, &["checkout", "--quiet", "--theirs", "--", "."])?;
        if !commit_all(self.client, "Merge the primary branch")? {
            return Err(CliError::failed("the merge cannot be resolved"));
        }
        Ok(())
    }
}
