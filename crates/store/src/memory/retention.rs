//! Pruning the store in memory.

use super::Held;
use crate::ShelvedRow;
use crate::retention::{BATCH, Batch, Expired, LASTING_KIND, Stage, choose};
use shopfloor_core::effect::outcome::Amount;
use shopfloor_core::ids::Seq;
use shopfloor_core::time::Time;

impl Held {
    pub(super) fn prune(&mut self, expired: &Expired, stage: Stage, dry_run: bool) -> Batch {
        match stage {
            Stage::Shelf => self.prune_shelf(expired, dry_run),
            Stage::Journal(after) => self.prune_journal(expired, after, dry_run),
            Stage::Tombstones => self.prune_tombstones(expired, dry_run),
            Stage::Over => Batch::default(),
        }
    }

    fn prune_shelf(&mut self, expired: &Expired, dry_run: bool) -> Batch {
        let next = Stage::Journal(Seq(0));
        if expired.journal_before == Time(0) {
            return Batch { next, ..Batch::default() };
        }
        let first = self.journal.iter().find(|entry| entry.at >= expired.journal_before);
        let old = |seq: Seq| first.is_none_or(|first| seq < first.seq);
        let old = self.shelf.values().filter(|(seq, row)| old(*seq) && row.kind != LASTING_KIND);
        let going: Vec<&ShelvedRow> = old.map(|(_, row)| row).collect();
        let bytes = going.iter().map(|row| row.doc.len() as u64).sum();
        let shelved = Amount { count: going.len() as u64, bytes };
        let going: Vec<_> = going.iter().map(|row| (row.kind.clone(), row.key.clone())).collect();
        if !dry_run {
            going.iter().for_each(|place| drop(self.shelf.remove(place)));
        }
        Batch { shelved, next, ..Batch::default() }
    }

    fn prune_journal(&mut self, expired: &Expired, after: Seq, dry_run: bool) -> Batch {
        let start = self.journal.partition_point(|entry| entry.seq <= after);
        let batch = &self.journal[start..];
        let (going, entries, next) = choose(&batch[..batch.len().min(BATCH)], self.newest(), expired);
        if !dry_run {
            self.journal.retain(|entry| going.binary_search(&entry.seq).is_err());
        }
        Batch { entries, next, ..Batch::default() }
    }

    fn prune_tombstones(&mut self, expired: &Expired, dry_run: bool) -> Batch {
        let old = self.journal.iter().rev().find(|entry| entry.at < expired.tombstones_before);
        let Some(upto) = old.map(|entry| entry.seq) else { return Batch::default() };
        let old = self.state.iter().filter(|(_, (seq, doc))| doc.is_none() && *seq <= upto);
        let mut going: Vec<_> = old.map(|(key, (seq, _))| (*seq, key.clone())).collect();
        if dry_run {
            return Batch { tombstones: going.len() as u64, ..Batch::default() };
        }
        going.sort();
        going.truncate(BATCH);
        for (seq, key) in &going {
            self.gone = self.gone.max(*seq);
            self.state.remove(key);
        }
        let next = if going.len() == BATCH { Stage::Tombstones } else { Stage::Over };
        Batch { tombstones: going.len() as u64, next, ..Batch::default() }
    }
}
