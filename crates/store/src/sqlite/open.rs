//! Opening a store's file.
//!
//! Invariants: a file that is not a Shopfloor store is never written to, not even its journal mode; an empty
//! file, or a missing one whose log is there, is damage, never a fresh store. A new store is therefore built
//! under another name and gets its own only when it is complete.
//!
//! Nothing here opens the store's file except through SQLite: closing any other descriptor of it
//! would drop the POSIX locks of every connection this process has (SQLite's "how to corrupt").

use super::io_error;
use super::migrations::{self, CURRENT};
use crate::{StoreError, StoreResult};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// "SHFL" in the file's header, so `file` and we can tell a store from any other database.
const APPLICATION_ID: i32 = 0x5348_464c;

/// A backup or a slow disk may hold the store for a while; a command waits that long.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

const WAL_PAUSE: Duration = Duration::from_millis(5);

/// A connection that may write; creates the store if there is none, migrates it if it is older.
pub(crate) fn connect(path: &Path) -> StoreResult<Connection> {
    if !path.try_exists().map_err(|e| io_error("cannot reach", path, &e))? {
        create(path)?;
    }
    let (mut conn, version) = open_existing(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // The file keeps its mode; setting it again would need exclusive access.
    let mode: String = conn.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    if mode != "wal" {
        set_wal(&conn)?;
    }
    migrations::upgrade(&mut conn, path, version)?;
    Ok(conn)
}

/// A database with every table, for as long as the connection lives.
pub(crate) fn in_memory() -> StoreResult<Connection> {
    let mut conn = Connection::open_in_memory()?;
    migrations::create(&mut conn, APPLICATION_ID)?;
    conn.pragma_update(None, "foreign_keys", true)?;
    keep_plans(&conn)?;
    Ok(conn)
}

/// A connection that cannot write. An older store is refused: reading must not migrate.
pub(crate) fn connect_read_only(path: &Path) -> StoreResult<Connection> {
    let (conn, version) = open_existing(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    if version < CURRENT {
        return Err(StoreError::Older { found: version, known: CURRENT });
    }
    Ok(conn)
}

fn open_existing(path: &Path, access: OpenFlags) -> StoreResult<(Connection, i64)> {
    let size = fs::metadata(path).map_err(|e| io_error("cannot open", path, &e))?.len();
    if size == 0 {
        return Err(StoreError::Corrupt(format!("{} is empty", path.display())));
    }
    #[cfg_attr(not(feature = "count"), expect(unused_mut, reason = "it is changed to be counted"))]
    let mut conn = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|e| with_path(path, e.into()))?;
    #[cfg(feature = "count")]
    super::count::follow(&mut conn)?;
    let version = configure(&conn, path).map_err(|e| with_path(path, e))?;
    Ok((conn, version))
}

/// Checks what kind of file it is, then sets what must be set per connection. Returns the schema's version.
fn configure(conn: &Connection, path: &Path) -> StoreResult<i64> {
    conn.busy_timeout(BUSY_TIMEOUT)?;
    let id: i32 = conn.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version = migrations::user_version(conn)?;
    if id != APPLICATION_ID || version < 1 {
        return Err(StoreError::Corrupt(format!("{} is not a Shopfloor store", path.display())));
    }
    if version > CURRENT {
        return Err(StoreError::Newer { found: version, known: CURRENT });
    }
    conn.pragma_update(None, "synchronous", "FULL")?;
    conn.pragma_update(None, "foreign_keys", true)?;
    conn.pragma_update(None, "trusted_schema", false)?;
    keep_plans(conn)?;
    Ok(version)
}

/// A statement's plan follows from its text alone. Otherwise SQLite prepares one that might be planned differently for
/// other values anew whenever it is used again, so keeping it would save nothing.
fn keep_plans(conn: &Connection) -> StoreResult<()> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

fn set_wal(conn: &Connection) -> StoreResult<()> {
    for _ in 0..BUSY_TIMEOUT.as_millis() / WAL_PAUSE.as_millis() {
        let mode = conn.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0));
        match mode.map_err(StoreError::from) {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => {
                let why = format!("the file system gives no write-ahead log (journal mode is {mode})");
                return Err(StoreError::Io(why));
            }
            // Two that do this at once would wait for each other: SQLite tells one of them at once.
            Err(StoreError::Busy) => std::thread::sleep(WAL_PAUSE),
            Err(e) => return Err(e),
        }
    }
    Err(StoreError::Busy)
}

/// Builds a store under another name, then gives it its own unless somebody was faster.
fn create(path: &Path) -> StoreResult<()> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let log = PathBuf::from(log);
    // SQLite would replay a left-over log into the new file.
    if log.exists() && !path.exists() {
        return Err(StoreError::Corrupt(format!(
            "{} is missing but its log {} is there",
            path.display(),
            log.display()
        )));
    }
    let draft = fresh_name(path);
    let made = build(&draft).and_then(|()| match fs::hard_link(&draft, path) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => Err(io_error("cannot make", path, &e)),
        _ => sync_parent(path),
    });
    // The store has its own name now, or will never have one; a draft left behind harms nobody.
    let _ = fs::remove_file(&draft);
    made
}

fn build(draft: &Path) -> StoreResult<()> {
    fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(draft)
        .map_err(|e| io_error("cannot make", draft, &e))?;
    let mut conn = Connection::open_with_flags(draft, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    conn.pragma_update(None, "synchronous", "FULL")?;
    set_wal(&conn)?;
    migrations::create(&mut conn, APPLICATION_ID)?;
    // Closing writes the log back into the file, which is then complete by itself.
    conn.close().map_err(|(_, e)| e.into())
}

/// A name beside `path` that no other process or thread uses.
pub(super) fn fresh_name(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(format!(".new-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    name.into()
}

/// Makes a new directory entry durable.
pub(super) fn sync_parent(path: &Path) -> StoreResult<()> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::File::open(parent).and_then(|f| f.sync_all()).map_err(|e| io_error("cannot write", parent, &e))
}

/// Says which file SQLite complains about.
fn with_path(path: &Path, error: StoreError) -> StoreError {
    let shown = path.display().to_string();
    match error {
        StoreError::Corrupt(why) if !why.contains(&shown) => StoreError::Corrupt(format!("{shown}: {why}")),
        StoreError::Io(why) if !why.contains(&shown) => StoreError::Io(format!("{shown}: {why}")),
        other => other,
    }
}
