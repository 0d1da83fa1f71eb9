//! A scratch folder in memory for the tests, where there is room for it.
//!
//! A test kills processes, not the machine: what a process wrote is there after its death, on a disk and in
//! memory alike. So waiting for a disk proves nothing there, and a floor waits for it hundreds of times.
//! With `TMPDIR` set the tests' files go there, onto a disk if it is on one.

use crate::sh::{self, Res};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const MEMORY: &str = "/dev/shm";

/// What a run needs at most is a third of this.
const FREE_KIB: u64 = 3 * 1024 * 1024;

/// A fresh folder for the tests' files.
pub fn scratch(prefix: &str) -> Res<PathBuf> {
    if std::env::var_os("TMPDIR").is_none() && has_room() {
        // Others' rights on it, or its size, may have changed: then it is the usual place.
        if let Ok(folder) = sh::scratch_in(Path::new(MEMORY), prefix) {
            if runs_programs(&folder) {
                return Ok(folder);
            }
            std::fs::remove_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
    }
    sh::scratch(prefix)
}

/// Whether both the file system and the machine have that much.
fn has_room() -> bool {
    let free = sh::output(Command::new("df").args(["-Pk", MEMORY]));
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    free.is_ok_and(|text| free_in(&text) >= Some(FREE_KIB)) && available_in(&memory) >= Some(FREE_KIB)
}

/// The fourth column of `df -Pk`.
fn free_in(df: &str) -> Option<u64> {
    df.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()
}

fn available_in(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Containers often mount it without that.
fn runs_programs(folder: &Path) -> bool {
    let script = folder.join("runs");
    let written = std::fs::write(&script, "#!/bin/sh\nexit 0\n");
    let allowed = std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700));
    let runs = written.is_ok() && allowed.is_ok() && sh::works(&mut Command::new(&script));
    runs && std::fs::remove_file(&script).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_read_from_what_the_machine_says() {
        let df =
            "Filesystem 1024-blocks Used Available Capacity Mounted on\ntmpfs 65536 4 65532 1% /dev/shm\n";
        assert_eq!(free_in(df), Some(65532));
        assert_eq!(available_in("MemTotal: 8 kB\nMemAvailable:   1234 kB\n"), Some(1234));
        assert_eq!((free_in(""), available_in("")), (None, None));
    }
}
