//! What is for people only.

use super::{CliError, CliResult};

/// What is a person's to decide, no agent does.
pub fn only_people() -> CliResult<()> {
    if std::env::var_os("SHOPFLOOR_SESSION").is_none() {
        return Ok(());
    }
    Err(CliError::usage("this is for people, not for agents").hint("run it outside of an agent's session"))
}
