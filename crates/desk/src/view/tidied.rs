//! What was removed and packed, or would be.

use serde::Serialize;
use shopfloor_core::effect::outcome::{Amount, Tidied};
use shopfloor_core::ids::ProjectName;
use shopfloor_core::state::Project;

/// What one project was relieved of. What all projects share is in whichever came first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TidiedView {
    pub project: ProjectName,
    pub ended_jobs: Amount,
    pub journal_entries: Amount,
    pub tombstones: u64,
    pub ci_runs: u64,
    pub ci_logs: Amount,
    pub session_folders: Amount,
    pub notice_records: Amount,
    pub store_copies: Amount,
    /// About agents that the store no longer knows.
    pub agent_files: Amount,
    pub rescue_refs: u64,
    /// Objects and refs that were files of their own and are in packs now.
    pub objects_packed: u64,
    pub refs_packed: u64,
    /// Why the project could not be tidied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// One kind of what was removed: its name, how many, and how large, if that is known.
pub type TidiedLine = (&'static str, u64, Option<u64>);

impl TidiedView {
    pub fn new(project: &ProjectName, what: &Tidied) -> TidiedView {
        TidiedView {
            project: project.clone(),
            ended_jobs: what.kept.shelved,
            journal_entries: what.kept.entries,
            tombstones: what.kept.tombstones,
            ci_runs: what.kept.runs,
            ci_logs: what.logs,
            session_folders: what.sessions,
            notice_records: what.notices,
            store_copies: what.kept.copies,
            agent_files: what.kept.files,
            rescue_refs: u64::from(what.rescues),
            objects_packed: what.packed.objects,
            refs_packed: what.packed.refs,
            trouble: None,
        }
    }

    /// What came of the last time that the project was tidied.
    pub fn last(project: &Project) -> TidiedView {
        let what = project.upkeep.last.as_ref().map(|(_, what)| what.clone()).unwrap_or_default();
        let trouble = project.tidy_trouble().map(|trouble| trouble.why.clone());
        match trouble {
            Some(_) => TidiedView { trouble, ..TidiedView::new(&project.name, &Tidied::default()) },
            None => TidiedView::new(&project.name, &what),
        }
    }

    /// Kind by kind, for people.
    pub fn lines(&self) -> [TidiedLine; 12] {
        let sized = |name, amount: Amount| (name, amount.count, Some(amount.bytes));
        [
            sized("rows of ended jobs", self.ended_jobs),
            sized("journal entries", self.journal_entries),
            ("tombstones", self.tombstones, None),
            ("records of CI runs", self.ci_runs, None),
            sized("logs of CI runs", self.ci_logs),
            sized("folders of sessions", self.session_folders),
            sized("records of commands", self.notice_records),
            sized("copies of the store", self.store_copies),
            sized("files about agents", self.agent_files),
            ("rescue refs", self.rescue_refs, None),
            ("loose objects, packed", self.objects_packed, None),
            ("loose refs, packed", self.refs_packed, None),
        ]
    }
}
