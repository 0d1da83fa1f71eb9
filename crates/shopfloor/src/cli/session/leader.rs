//! `shopfloor session lead` (hidden): what runs in a hand session's terminal, around the program; why, is in
//! [`shopfloor_hand::leader`].

use crate::cli::{CliResult, Exit};
use clap::Args;
use shopfloor_hand::leader;
use std::ffi::OsString;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[derive(Args)]
pub struct LeadArgs {
    #[arg(last = true, required = true)]
    argv: Vec<String>,
}

/// The words before those of a program that is to be led.
pub(super) fn argv() -> io::Result<Vec<OsString>> {
    let mut argv = vec![std::env::current_exe()?.into_os_string()];
    argv.extend(["session", "lead", "--"].map(OsString::from));
    Ok(argv)
}

pub fn run(args: &LeadArgs) -> CliResult<Exit> {
    // Keys and requests to end are the program's to answer. Caught, not ignored: a program would inherit that.
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGQUIT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    let status = match leader::run(&args.argv[0], &args.argv[1..]) {
        Ok(status) => status,
        Err(e) => {
            let missing = e.kind() == io::ErrorKind::NotFound;
            let why = if missing { "not found".to_owned() } else { e.to_string() };
            eprintln!("{}: {why}", shopfloor_core::text::one_line(&args.argv[0], 200));
            if missing { 127 } else { 126 }
        }
    };
    // Whoever cannot be asked has no more to say.
    let _ = leader::settle();
    std::process::exit(status)
}
