//! The supervisor's journal: a file a day in the floor's home, for people; and what is urgent, in the project's file of
//! escalations.
//!
//! Invariants: an entry is there once, whole, even after a crash in the middle of one; files are bounded, and without
//! secrets and escape sequences.

use crate::escalations::{self, Line};
use crate::host::lock::FileLock;
use crate::layout::Layout;
use shopfloor_core::digest::Digest;
use shopfloor_core::effect::outcome::Amount;
use shopfloor_core::effect::{RecordHealth, Tidy};
use shopfloor_core::ids::ProjectName;
use shopfloor_core::redact::Redactor;
use shopfloor_core::text::{head, neutralise};
use shopfloor_core::time::Time;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

const ENTRY_BYTES_MAX: usize = 16 * 1024;
/// More than anybody reads of one day. What comes then is in the floor's own journal all the same.
const DAY_BYTES_MAX: u64 = 512 * 1024;
const LOCK_WAIT: Duration = Duration::from_secs(10);
/// `2026-11-19.md`.
const NAME_CHARS: usize = 13;
const SUFFIX: &str = ".md";

pub struct Diary {
    pub layout: Layout,
    /// How a time is written: RFC 3339, in UTC.
    pub moment: fn(Time) -> String,
    pub redactor: Arc<dyn Fn(&ProjectName) -> Redactor + Send + Sync>,
}

impl Diary {
    /// What is urgent comes first.
    pub fn record(&self, record: &RecordHealth) -> io::Result<()> {
        let RecordHealth { project, at, urgent, entry } = record;
        let (redactor, moment) = ((self.redactor)(project), (self.moment)(*at));
        for (key, text) in urgent {
            let line = Line {
                who: "shopfloor".into(),
                key: Some(format!("health-{key}-{}", at.0)),
                ..Line::new(moment.clone(), project.clone(), &format!("health {key}"), text, &redactor)
            };
            escalations::append(&self.layout.escalations(project), &line)?;
        }
        let (day, time) = moment.split_at_checked(10).unwrap_or((&moment, ""));
        let time = time.trim_start_matches('T').get(..5).unwrap_or_default();
        let entry = head(redactor.redact(&neutralise(entry)).trim(), ENTRY_BYTES_MAX);
        // At the end: an entry that a crash cut short is written again.
        let mark = Digest::new().field(project.as_str().as_bytes()).field(&at.0.to_le_bytes());
        let mark = format!("<!-- {:016x} -->", mark.field(entry.as_bytes()).finish());
        let folder = self.layout.diary();
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let text = format!("## {time} UTC, {project}\n\n{entry}\n{mark}\n");
        append(&folder.join(format!("{day}{SUFFIX}")), &text, &mark)
    }

    /// Removes the files of days that are long over.
    pub fn prune(&self, tidy: &Tidy) -> io::Result<Amount> {
        let mut removed = Amount::default();
        let limit = UNIX_EPOCH + Duration::from_millis(tidy.sessions_before.0);
        for (path, meta) in days(&self.layout.diary())? {
            if meta.modified()? < limit {
                removed += Amount { count: 1, bytes: meta.len() };
                if !tidy.dry_run {
                    fs::remove_file(path)?;
                }
            }
        }
        Ok(removed)
    }
}

/// Adds an entry, unless its mark is there.
fn append(path: &Path, text: &str, mark: &str) -> io::Result<()> {
    let Some(_lock) = FileLock::wait(&path.with_file_name("lock"), LOCK_WAIT)? else {
        return Err(io::Error::new(ErrorKind::WouldBlock, "somebody else writes it"));
    };
    let known = match fs::read_to_string(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => String::new(),
        known => known?,
    };
    if known.contains(mark) || known.len() as u64 >= DAY_BYTES_MAX {
        return Ok(());
    }
    let before = if known.is_empty() { "" } else { "\n" };
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    file.write_all(format!("{before}{text}").as_bytes())?;
    file.sync_all()
}

fn days(folder: &Path) -> io::Result<Vec<(PathBuf, fs::Metadata)>> {
    let entries = match fs::read_dir(folder) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let is_day =
            entry.file_name().to_str().is_some_and(|name| name.len() == NAME_CHARS && name.ends_with(SUFFIX));
        match entry.metadata() {
            Ok(meta) if is_day && meta.is_file() => found.push((entry.path(), meta)),
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
            _ => {}
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diary(folder: &Path) -> Diary {
        Diary {
            layout: Layout::new(folder),
            moment: |at| format!("1970-01-{:02}T05:06:07.000Z", at.0),
            redactor: Arc::new(|_| Redactor::new(["hunter22".to_owned()])),
        }
    }

    fn record(at: u64, entry: &str) -> RecordHealth {
        let urgent = vec![("disk".to_owned(), "P1 disk: 85 % with hunter22".to_owned())];
        RecordHealth { project: "p".parse().unwrap(), at: Time(at), urgent, entry: entry.to_owned() }
    }

    #[test]
    fn an_entry_is_written_once_in_its_days_file() {
        let folder = tempfile::tempdir().unwrap();
        let diary = diary(folder.path());
        fs::create_dir_all(diary.layout.project(&"p".parse().unwrap())).unwrap();
        for _ in 0..2 {
            diary.record(&record(1, "- P1 disk: hunter22 \u{1b}[2Jfull")).unwrap();
        }
        let file = diary.layout.diary().join("1970-01-01.md");
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("## 05:06 UTC, p\n\n- P1 disk: [redacted] full\n<!-- "), "{text}");
        assert_eq!(text.matches("##").count(), 1, "{text}");
        // Cut short by a crash: it is written again, on a line of its own.
        fs::write(&file, &text[..text.len() - 10]).unwrap();
        diary.record(&record(1, "- P1 disk: hunter22 \u{1b}[2Jfull")).unwrap();
        diary.record(&record(1, "- done: pruned")).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap().matches("\n## ").count(), 2);
        diary.record(&record(2, "- all is well")).unwrap();
        assert_eq!(days(&diary.layout.diary()).unwrap().len(), 2);
        let escalated = fs::read_to_string(diary.layout.escalations(&"p".parse().unwrap())).unwrap();
        assert_eq!(escalated.lines().count(), 2, "once for each time: {escalated}");
        assert!(!escalated.contains("hunter22"));
    }

    #[test]
    fn a_day_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let diary = diary(folder.path());
        fs::create_dir_all(diary.layout.project(&"p".parse().unwrap())).unwrap();
        let long = "x".repeat(100_000);
        for n in 0..60 {
            let entry = format!("{n} {long}");
            diary.record(&RecordHealth { urgent: vec![], ..record(1, &entry) }).unwrap();
        }
        let size = fs::metadata(diary.layout.diary().join("1970-01-01.md")).unwrap().len();
        assert!(size < DAY_BYTES_MAX + 2 * ENTRY_BYTES_MAX as u64, "{size}");
    }
}
