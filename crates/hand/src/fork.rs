//! A second session that continues another's conversation.

use crate::conversation::{self, ClientHomes};
use crate::record::Record;
use crate::sessions::Hand;
use shopfloor_core::runtime::{RuntimeSpec, Values};
use shopfloor_desk::{Error, Result};
use std::path::Path;

/// The client's command that continues a session's conversation: the one named, or the one found in `homes`.
pub fn argv(
    spec: &RuntimeSpec,
    hand: &Hand,
    record: &Record,
    named: Option<String>,
    homes: impl FnOnce() -> Result<ClientHomes>,
) -> Result<Vec<String>> {
    let cannot = |why: &str| Error::failed(format!("{} cannot be forked: {why}", hand.name));
    let Some(fork) = &spec.fork else {
        let why = format!("{} cannot continue another session's conversation", spec.name);
        return Err(cannot(&why).hint("start a new one with `shopfloor session spawn`"));
    };
    let id = match named {
        Some(id) if conversation::is_id(&id) => id,
        Some(_) => return Err(Error::usage("--conversation is no id of a conversation")),
        None => conversation::find(spec.setup, hand, &homes()?).map_err(|why| {
            cannot(&why).hint("name it with --conversation ID: the client shows it, such as with /status")
        })?,
    };
    let values = Values::from([("session_id".to_owned(), vec![id])]);
    let mut argv = fork.argv(&values).map_err(|e| cannot(&e.to_string()))?;
    // The very same program, if it was named by its path.
    let same = |program: &&String| Path::new(program).file_name() == Path::new(&argv[0]).file_name();
    if let Some(program) = record.argv.first().filter(same) {
        argv[0] = program.clone();
    }
    Ok(argv)
}
