//! The files, besides the phase files, that tools made for the phase protocol's own system read and write:
//!
//! - `dev-escalation-reply`: a person's answer to the open question. One per line,
//!   `TIME<tab>SENDER<tab>TEXT`; any other text is taken as it is.
//! - `ci-result-{project}-{issue}.txt`: what the newest checks of an issue said.
//! - `dev-renotify-{project}-{issue}`: exists while a repeated question is open.
//!
//! Nothing in that folder is trusted: see [`phase_file`]. A reply is taken by renaming it to a name that says
//! which question of which floor it answers. So it is taken once, and after a crash it answers no other
//! question.

use crate::phase_file;
use shopfloor_core::digest::Digest;
use shopfloor_core::effect::{CiReport, CiVerdict};
use shopfloor_core::ids::{IssueNumber, ProjectName, QuestionId, Sha};
use shopfloor_core::texts::FirstLine;
use std::io;
use std::path::{Path, PathBuf};

const REPLY: &str = "dev-escalation-reply";

#[derive(Clone, Debug)]
pub struct SeedFiles {
    dir: PathBuf,
    /// How the names of the replies that this floor has taken begin.
    taken: String,
}

impl SeedFiles {
    pub fn new(dir: PathBuf, floor: &Path) -> SeedFiles {
        let floor = Digest::new().field(floor.as_os_str().as_encoded_bytes()).finish();
        SeedFiles { dir, taken: format!("{REPLY}.{floor:016x}.q") }
    }

    pub fn reply(&self) -> PathBuf {
        self.dir.join(REPLY)
    }

    fn taken(&self, question: QuestionId) -> PathBuf {
        self.dir.join(format!("{}{question}", self.taken))
    }

    /// Whether there is a non-empty reply that is ours to read.
    pub fn has_reply(&self) -> io::Result<bool> {
        Ok(phase_file::read(&self.reply())?.is_some_and(|(_, text)| !text.trim().is_empty()))
    }

    /// Takes the reply for that question.
    pub fn take_reply(&self, question: QuestionId) -> io::Result<()> {
        std::fs::rename(self.reply(), self.taken(question))
    }

    /// The reply taken for a question, if the file is ours, whatever was renamed.
    pub fn answer(&self, question: QuestionId) -> io::Result<Option<String>> {
        let read = phase_file::read(&self.taken(question))?;
        Ok(read.map(|(_, content)| answer_in(&content)).filter(|answer| !answer.is_empty()))
    }

    /// The questions for which replies were taken.
    pub fn answered(&self) -> Vec<QuestionId> {
        let entries = std::fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| Some(QuestionId(name.strip_prefix(&self.taken)?.parse().ok()?))).collect()
    }

    /// The question is no longer open.
    pub fn forget_reply(&self, question: QuestionId) {
        let _ = std::fs::remove_file(self.taken(question));
    }

    fn ci_result(&self, project: &ProjectName, issue: IssueNumber) -> PathBuf {
        self.dir.join(format!("ci-result-{project}-{issue}.txt"))
    }

    fn renotify(&self, project: &ProjectName, issue: IssueNumber) -> PathBuf {
        self.dir.join(format!("dev-renotify-{project}-{issue}"))
    }

    pub fn write_ci_result(
        &self,
        project: &ProjectName,
        issue: IssueNumber,
        commit: &Sha,
        report: &CiReport,
    ) -> io::Result<()> {
        let said = match report.verdict {
            CiVerdict::Green => FirstLine::CiPassed.to_string(),
            CiVerdict::Skipped => "CI skipped".to_owned(),
            CiVerdict::TimedOut => FirstLine::CiTimeout.to_string(),
            CiVerdict::Red => FirstLine::CiFailed.to_string(),
            CiVerdict::Infra | CiVerdict::NoChecks | CiVerdict::Cancelled => "CI could not run".to_owned(),
        };
        let step = report.step.as_deref().map(|step| format!(", step {step:?}")).unwrap_or_default();
        let text = format!("{said}\nCommit {commit}{step}\nLog: {}\n\n{}\n", report.log, report.excerpt);
        phase_file::write(&self.ci_result(project, issue), &text)
    }

    pub fn mark_renotified(&self, project: &ProjectName, issue: IssueNumber) -> io::Result<()> {
        let mark = self.renotify(project, issue);
        if phase_file::read(&mark)?.is_some() { Ok(()) } else { phase_file::write(&mark, "") }
    }

    pub fn unmark_renotified(&self, project: &ProjectName, issue: IssueNumber) {
        remove_own(&self.renotify(project, issue));
    }

    /// Nobody works on the issue any more.
    pub fn forget_issue(&self, project: &ProjectName, issue: IssueNumber) {
        self.unmark_renotified(project, issue);
        remove_own(&self.ci_result(project, issue));
    }
}

fn remove_own(path: &Path) {
    if let Ok(Some(_)) = phase_file::read(path) {
        let _ = std::fs::remove_file(path);
    }
}

/// The texts of a reply's lines, without their authors and times.
fn answer_in(content: &str) -> String {
    let text = |line: &str| -> String {
        let mut fields = line.splitn(3, '\t');
        match (fields.next(), fields.next(), fields.next()) {
            (Some(time), Some(_), Some(text)) if time.starts_with(|c: char| c.is_ascii_digit()) => {
                text.into()
            }
            _ => line.to_owned(),
        }
    };
    content.lines().map(text).collect::<Vec<_>>().join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_reply_is_taken_once_for_one_question_of_one_floor() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["/one", "/two"].map(|floor| SeedFiles::new(folder.path().into(), Path::new(floor)));
        assert!(!one.has_reply().unwrap());
        let line = "2026-01-02T03:04:05Z\t@ann:example.org\tTake B\tand A\n";
        std::fs::write(one.reply(), format!("{line}{line}")).unwrap();
        assert!(one.has_reply().unwrap() && two.has_reply().unwrap());
        one.take_reply(QuestionId(3)).unwrap();
        assert!(two.take_reply(QuestionId(3)).is_err() && !two.has_reply().unwrap());
        assert_eq!((one.answered(), two.answered()), (vec![QuestionId(3)], vec![]));
        assert_eq!(one.answer(QuestionId(3)).unwrap().as_deref(), Some("Take B\tand A\nTake B\tand A"));
        one.forget_reply(QuestionId(3));
        assert_eq!(one.answered(), []);
        assert_eq!(answer_in("just text\n"), "just text");
    }

    #[test]
    fn what_is_planted_is_neither_read_nor_removed() {
        let folder = tempfile::tempdir().unwrap();
        let seeds = SeedFiles::new(folder.path().into(), Path::new("/one"));
        let secret = folder.path().join("secret");
        std::fs::write(&secret, "hunter2").unwrap();
        symlink(&secret, seeds.reply()).unwrap();
        assert!(seeds.has_reply().is_err());
        let (project, issue) = ("p".parse().unwrap(), IssueNumber(1));
        let mark = folder.path().join("dev-renotify-p-1");
        symlink(&secret, &mark).unwrap();
        assert!(seeds.mark_renotified(&project, issue).is_err());
        seeds.forget_issue(&project, issue);
        assert!(mark.is_symlink());
    }
}
