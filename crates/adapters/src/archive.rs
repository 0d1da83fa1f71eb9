//! What the floor's store keeps of the past, pruned a little at a time, and the files about agents that it no longer
//! knows.

use crate::layout::Layout;
use shopfloor_core::effect::Tidy;
use shopfloor_core::effect::outcome::{Amount, Pruned};
use shopfloor_core::state::{Agent, WorkRecord};
use shopfloor_core::table::Record;
use shopfloor_engine::ports::{Archive, PortError, PortResult};
use shopfloor_store::Store;
use shopfloor_store::backend::Backend;
use shopfloor_store::retention::{Expired, Stage};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The pause between two transactions. SQLite keeps no line of those who wait, so without it somebody else would
/// hardly get in.
const PAUSE: Duration = Duration::from_millis(10);

/// The archive of the floor that is kept there.
pub struct StoreArchive {
    pub backend: Arc<dyn Backend>,
    pub layout: Layout,
}

impl Archive for StoreArchive {
    fn prune(&self, tidy: &Tidy) -> PortResult<Pruned> {
        let pause = || {
            if !tidy.dry_run {
                std::thread::sleep(PAUSE);
            }
        };
        let mut pruned = Pruned::default();
        let mut ci = self.backend.ci().map_err(PortError::transient)?;
        loop {
            let (runs, more) = ci
                .prune(&tidy.project, tidy.folders_before, &tidy.runs_kept, tidy.dry_run)
                .map_err(PortError::transient)?;
            pruned.runs += runs;
            if !more {
                break;
            }
            pause();
        }
        pruned.copies =
            self.backend.prune_copies(tidy.journal_before, tidy.dry_run).map_err(PortError::transient)?;
        let expired = Expired::from(tidy);
        let mut store = self.backend.store().map_err(PortError::transient)?;
        let mut stage = Stage::FIRST;
        while stage != Stage::Over {
            let batch = store.prune(&expired, stage, tidy.dry_run).map_err(PortError::transient)?;
            pruned.shelved += batch.shelved;
            pruned.entries += batch.entries;
            pruned.tombstones += batch.tombstones;
            stage = batch.next;
            pause();
        }
        for (kind, folder) in
            [(Agent::KIND, self.layout.identities()), (WorkRecord::KIND, self.layout.work_records())]
        {
            pruned.files += forget_unknown(&mut *store, kind, &folder, tidy)?;
        }
        Ok(pruned)
    }
}

/// Removes the files about the project's agents that have no row any more. Such a file is a copy of what the store
/// has, made after it: a file without a row is of one that went.
fn forget_unknown(store: &mut dyn Store, kind: &str, folder: &Path, tidy: &Tidy) -> PortResult<Amount> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Amount::default()),
        Err(e) => return Err(PortError::transient(format!("{}: {e}", folder.display()))),
    };
    let part_of_name = format!("-{}-", tidy.project);
    let mut removed = Amount::default();
    for entry in entries {
        let path = entry.map_err(|e| PortError::transient(format!("{}: {e}", folder.display())))?.path();
        let is_json = path.extension().is_some_and(|extension| extension == "json");
        let name =
            path.file_stem().and_then(OsStr::to_str).filter(|name| is_json && name.contains(&part_of_name));
        let Some(name) = name else { continue };
        if store.is_kept(kind, name).map_err(PortError::transient)? {
            continue;
        }
        let bytes = path.symlink_metadata().map_or(0, |meta| meta.len());
        let gone = tidy.dry_run || remove_file(&path).map_err(|e| PortError::transient(e.to_string()))?;
        removed += Amount { count: u64::from(gone), bytes: if gone { bytes } else { 0 } };
    }
    Ok(removed)
}

fn remove_file(path: &Path) -> std::io::Result<bool> {
    match std::fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shopfloor_core::time::Time;
    use shopfloor_store::{Commit, NewJournalEntry, Row, ShelvedRow, backend};

    const FOLDERS: [(&str, &str); 2] = [("agent", "identities"), ("record", "records")];

    fn entry() -> NewJournalEntry {
        let (kind, body) = ("event".into(), "{}".into());
        NewJournalEntry { kind, project: None, issue: None, text: String::new(), body }
    }

    fn tidy(journal_before: Time, dry_run: bool) -> Tidy {
        Tidy {
            project: "app".parse().unwrap(),
            rescues_kept: 0,
            rescues_before: Time(0),
            rescues_named: Vec::new(),
            sessions_upto: Default::default(),
            sessions_kept: Vec::new(),
            sessions_before: Time(0),
            runs_kept: Vec::new(),
            folders_before: Time(0),
            journal_before,
            notes_kept: Vec::new(),
            tombstones_before: Time(0),
            idle: false,
            dry_run,
        }
    }

    #[test]
    fn files_about_agents_go_with_the_rows_that_they_are_copies_of() {
        let home = tempfile::tempdir().unwrap();
        let layout = Layout::new(home.path());
        let backend = backend::at_path(&home.path().join("floor.db"));
        let row = |kind: &str, key: &str| Row { kind: kind.into(), key: key.into(), doc: Some("{}".into()) };
        let shelved = |kind: &str, key: &str| ShelvedRow {
            kind: kind.into(),
            key: key.into(),
            label: "app/2".into(),
            branch: None,
            doc: "{}".into(),
        };
        let commit = Commit {
            at: Time(10),
            entries: vec![entry()],
            rows: FOLDERS.iter().map(|(kind, _)| row(kind, "dev-app-1")).collect(),
            shelved: FOLDERS.iter().map(|(kind, _)| shelved(kind, "dev-app-2")).collect(),
            ..Commit::default()
        };
        let mut store = backend.store().unwrap();
        let seq = store.commit(&commit).unwrap().seq;
        let later = Commit { at: Time(20), expected: seq, entries: vec![entry()], ..Commit::default() };
        store.commit(&later).unwrap();
        let files = ["dev-app-1.json", "dev-app-2.json", "dev-app-3.json", "dev-web-3.json", "dev-app-4.new"];
        for (_, folder) in FOLDERS {
            std::fs::create_dir(home.path().join(folder)).unwrap();
            files
                .iter()
                .for_each(|file| std::fs::write(home.path().join(folder).join(file), "four").unwrap());
        }
        let left = || {
            FOLDERS.map(|(_, folder)| {
                let there = |file: &&str| home.path().join(folder).join(file).exists();
                files.iter().copied().filter(there).collect::<Vec<_>>()
            })
        };
        let archive = StoreArchive { backend, layout };
        let removed = |tidy: &Tidy| archive.prune(tidy).unwrap().files;
        assert_eq!(removed(&tidy(Time(0), true)), Amount { count: 2, bytes: 8 });
        assert_eq!(left(), [files, files].map(Vec::from), "it was only counted");
        assert_eq!(removed(&tidy(Time(0), false)), Amount { count: 2, bytes: 8 });
        let rest = ["dev-app-1.json", "dev-app-2.json", "dev-web-3.json", "dev-app-4.new"];
        assert_eq!(left(), [rest, rest].map(Vec::from), "nobody knows the third");
        assert_eq!(removed(&tidy(Time(15), false)), Amount { count: 2, bytes: 8 });
        let rest = ["dev-app-1.json", "dev-web-3.json", "dev-app-4.new"];
        assert_eq!(left(), [rest, rest].map(Vec::from), "the second left the shelf");
        assert_eq!(removed(&tidy(Time(15), false)), Amount::default(), "once");
    }
}
