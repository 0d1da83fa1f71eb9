//! JSON files that belong to somebody else: changed in one step, and everything we know nothing about is
//! kept. A symbolic link is followed (settings are often links into a dotfiles repository), and the file's
//! mode stays. A file that does not hold a JSON object is left alone.

use crate::host::atomic::write_atomic;
use serde_json::{Map, Value};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The object in the file; empty if the file is missing or empty.
pub fn read(path: &Path) -> io::Result<Map<String, Value>> {
    let mut text = String::new();
    match File::open(path) {
        Ok(file) => file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Map::new()),
        Err(e) => return Err(e),
    };
    let wrong = |what: String| {
        let what = format!("{} {what}; nothing was changed", path.display());
        io::Error::new(io::ErrorKind::InvalidData, what)
    };
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(wrong("is too large".into()));
    }
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(&text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(wrong("is JSON, but not an object".into())),
        Err(e) => Err(wrong(format!("is not JSON ({e})"))),
    }
}

/// Changes the file if `change` changes the object. Returns whether it did.
pub fn edit(path: &Path, change: impl FnOnce(&mut Map<String, Value>)) -> io::Result<bool> {
    let target = followed(path)?;
    let before = read(&target)?;
    let mut after = before.clone();
    change(&mut after);
    if after == before {
        return Ok(false);
    }
    let mode = match fs::metadata(&target) {
        Ok(meta) => meta.permissions().mode() & 0o7777,
        Err(_) => {
            let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
            fs::create_dir_all(folder.unwrap_or(Path::new(".")))?;
            0o600
        }
    };
    let mut text = serde_json::to_vec_pretty(&after)?;
    text.push(b'\n');
    write_atomic(&target, &text, mode)?;
    Ok(true)
}

/// Where a link leads, even if nothing is there yet.
fn followed(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => match fs::read_link(path) {
            Ok(to) => Ok(path.parent().unwrap_or(Path::new("/")).join(to)),
            Err(_) => Ok(path.to_owned()),
        },
        other => other,
    }
}
