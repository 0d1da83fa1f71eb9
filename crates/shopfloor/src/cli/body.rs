//! Texts given on the command line: directly, from a file, or from standard input.

use super::{CliError, CliResult};
use clap::Args;
use shopfloor_store::forge::BODY_BYTES_MAX;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

#[derive(Args)]
pub struct BodyArgs {
    /// The text itself
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    body: Option<String>,
    /// A file with the text; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "body")]
    body_file: Option<PathBuf>,
}

impl BodyArgs {
    pub fn file(&self) -> Option<&Path> {
        self.body_file.as_deref()
    }

    pub fn read(self) -> CliResult<Option<String>> {
        match self.body_file {
            Some(file) => read_file(&file).map(Some),
            None => Ok(self.body),
        }
    }
}

/// A text file, or standard input for `-`. It may be a pipe, so its size is only known by reading.
pub fn read_file(file: &Path) -> CliResult<String> {
    let mut bytes = Vec::new();
    let limit = BODY_BYTES_MAX as u64 + 1;
    let read = if file == Path::new("-") {
        io::stdin().lock().take(limit).read_to_end(&mut bytes)
    } else {
        File::open(file).and_then(|f| f.take(limit).read_to_end(&mut bytes))
    };
    read.map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => CliError::no_such(format!("there is no file {}", file.display())),
        _ => CliError::usage(format!("{} cannot be read: {e}", file.display())),
    })?;
    if bytes.len() > BODY_BYTES_MAX {
        return Err(CliError::usage(format!("the text has more than {BODY_BYTES_MAX} bytes"))
            .hint("put long texts into the repository and name the file in the issue"));
    }
    String::from_utf8(bytes).map_err(|_| {
        CliError::usage(format!("{} is not UTF-8 text", file.display()))
            .hint("convert it, such as with iconv")
    })
}
