//! Where floors are kept: one constructor for every kind of store. Whoever adds a kind writes one
//! [`Backend`]; nobody else names it.

use crate::ci::{CiDb, CiRuns};
use crate::forge::{ForgeDb, ForgeTables, SharedForge};
use crate::memory::Memory;
use crate::sqlite::{self, SqliteStore};
use crate::{Store, StoreError, StoreResult};
use shopfloor_core::effect::outcome::Amount;
use shopfloor_core::time::Time;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A floor's store, which can be opened as often as needed.
pub trait Backend: Send + Sync {
    /// Whether there is a store.
    fn exists(&self) -> bool;

    /// Opens the store; creates it if there is none, migrates it if it is older.
    fn store(&self) -> StoreResult<Box<dyn Store>>;

    /// Opens an existing store for reading. Nothing is created or migrated.
    fn reader(&self) -> StoreResult<Box<dyn Store>>;

    /// The records of its CI runs.
    fn ci(&self) -> StoreResult<Box<dyn CiRuns>>;

    /// The tables of the embedded forge.
    fn forge(&self) -> StoreResult<Box<dyn ForgeTables>>;

    /// Removes the copies of the store that were made before it was migrated, and before that time; the newest stays,
    /// for whoever has to go back. `dry_run`: only counts them.
    fn prune_copies(&self, before: Time, dry_run: bool) -> StoreResult<Amount>;
}

/// The store of that name: `sqlite:PATH`, or the path alone; or `memory:NAME`, which lives as long as the
/// process.
pub fn at(url: &str) -> StoreResult<Arc<dyn Backend>> {
    match url.split_once(':') {
        Some(("memory", name)) => Ok(in_memory(name)),
        Some(("sqlite", path)) => Ok(Arc::new(File(path.into()))),
        Some((kind, _)) if !kind.contains('/') => {
            Err(StoreError::Io(format!("there is no kind of store {kind:?}: it is sqlite or memory")))
        }
        _ => Ok(Arc::new(File(url.into()))),
    }
}

/// The store in that file.
pub fn at_path(path: &Path) -> Arc<dyn Backend> {
    Arc::new(File(path.to_owned()))
}

struct File(PathBuf);

impl Backend for File {
    fn exists(&self) -> bool {
        self.0.exists()
    }

    fn store(&self) -> StoreResult<Box<dyn Store>> {
        Ok(Box::new(SqliteStore::open(&self.0)?))
    }

    fn reader(&self) -> StoreResult<Box<dyn Store>> {
        Ok(Box::new(SqliteStore::open_read_only(&self.0)?))
    }

    fn ci(&self) -> StoreResult<Box<dyn CiRuns>> {
        Ok(Box::new(CiDb::open(&self.0)?))
    }

    fn forge(&self) -> StoreResult<Box<dyn ForgeTables>> {
        Ok(Box::new(ForgeDb::open(&self.0)?))
    }

    fn prune_copies(&self, before: Time, dry_run: bool) -> StoreResult<Amount> {
        sqlite::prune_backups(&self.0, before, dry_run)
    }
}

fn in_memory(name: &str) -> Arc<dyn Backend> {
    static ALL: Mutex<BTreeMap<String, Arc<Memory>>> = Mutex::new(BTreeMap::new());
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    all.entry(name.to_owned()).or_default().clone()
}

impl Backend for Memory {
    fn exists(&self) -> bool {
        true
    }

    fn store(&self) -> StoreResult<Box<dyn Store>> {
        Ok(Box::new(self.store.clone()))
    }

    fn reader(&self) -> StoreResult<Box<dyn Store>> {
        self.store()
    }

    fn ci(&self) -> StoreResult<Box<dyn CiRuns>> {
        Ok(Box::new(self.ci.clone()))
    }

    fn forge(&self) -> StoreResult<Box<dyn ForgeTables>> {
        let mut forge = self.forge.lock().unwrap_or_else(PoisonError::into_inner);
        let made = match forge.take() {
            Some(made) => made,
            None => SharedForge::in_memory()?,
        };
        Ok(Box::new(forge.insert(made).clone()))
    }

    fn prune_copies(&self, _: Time, _: bool) -> StoreResult<Amount> {
        Ok(Amount::default())
    }
}
