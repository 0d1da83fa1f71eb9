//! A note that somebody orchestrates a project's stories, and how far along that is: one file, replaced as a
//! whole.

use serde::{Deserialize, Serialize};
use shopfloor_adapters::host::atomic::write_atomic;
use shopfloor_core::text::one_line;
use shopfloor_core::time::Time;
use shopfloor_desk::{Error, Result};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

const TEXT_CHARS_MAX: usize = 100;

#[derive(Serialize, Deserialize)]
pub struct Marker {
    pub epic: String,
    pub story: String,
    pub remaining: u32,
    pub who: String,
    pub created: Time,
    pub heartbeat: Time,
}

impl Marker {
    /// Sets it; setting it again keeps its age and renews its heartbeat.
    pub fn set(
        file: &Path,
        now: Time,
        epic: &str,
        story: &str,
        remaining: u32,
        who: String,
    ) -> Result<Marker> {
        // There can be no half marker, since it is replaced as a whole. An unreadable one counts as new.
        let created = Marker::read(file).ok().flatten().map_or(now, |marker| marker.created);
        let text = |text: &str| one_line(text, TEXT_CHARS_MAX);
        let marker = Marker { epic: text(epic), story: text(story), remaining, who, created, heartbeat: now };
        write(file, &marker)?;
        Ok(marker)
    }

    /// `None`: there is no marker.
    pub fn read(file: &Path) -> Result<Option<Marker>> {
        let bytes = match std::fs::read(file) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e.into()),
        };
        serde_json::from_slice(&bytes).map(Some).map_err(|e| {
            Error::failed(format!("{} is not a marker: {e}", file.display()))
                .hint("`shopfloor marker remove` removes it")
        })
    }

    /// Returns whether there was one.
    pub fn remove(file: &Path) -> Result<bool> {
        match std::fs::remove_file(file) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(e.into()),
        }
    }
}

fn write(file: &Path, marker: &Marker) -> Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let text = serde_json::to_vec_pretty(marker).expect("a marker has string keys only");
    Ok(write_atomic(file, &text, 0o600)?)
}
