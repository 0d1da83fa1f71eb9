//! Shopfloor's developer commands: `cargo xtask demo`, `test`, `lint`, `bench`.
//!
//! Each says what it does as it does it, and exits 0 only if all of it worked.

mod bench;
mod beside;
mod clients;
mod demo;
mod deps;
mod docs;
mod install;
mod jobs;
mod leak;
mod memory;
mod named;
mod sample;
mod sh;
mod test;
mod tool;
mod verify;
mod week;

use sh::Res;
use std::process::ExitCode;

const HELP: &str = "\
Shopfloor's developer commands.

  cargo xtask demo [--keep] [--jobs N]   run the factory on a sample project, and verify the result with git
  cargo xtask demo --week [--keep]       play a week of examples/week, with the other agents, in about a minute
  cargo xtask test [--no-clients]        lint and every test; fetches agent clients with npm, once
  cargo xtask lint                       format, clippy, licences and sources of dependencies, links of the documents
  cargo xtask book                       build the documentation into target/book; builds mdBook first, once
  cargo xtask bench [--quick] [PART …]   measure; prints a table and writes bench.json

  --keep         keep the demo's scratch folder
  --jobs N       issues worked on at the same time in the demo (default 2)
  --no-clients   without the tests that run real agent clients; says which those are
  --quick        fewer rounds, for a first impression
  --yes          (demo, test, bench) install what is missing, with sudo if that takes root; without it, what to run is
                 only said

Parts of the bench; without any, --queue, --forge and what else takes little time:
  --queue        the merge queue
  --forge        the first reading of a forge, and commands on a large backlog
  --growth       what grows with what: --past --pulls --chain --refs --floors --files --jobs
  --cost         what one of something costs: --issue --starts --clients --together
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Stop::Usage(why)) => {
            eprintln!("error: {why}\n\n{HELP}");
            ExitCode::from(2)
        }
        Err(Stop::Failed(why)) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

enum Stop {
    Usage(String),
    Failed(String),
}

impl From<String> for Stop {
    fn from(why: String) -> Self {
        Stop::Failed(why)
    }
}

fn dispatch(args: &[String]) -> Result<(), Stop> {
    let (command, rest) = match args.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => return Err(Stop::Usage("which command?".into())),
    };
    if rest.iter().any(|a| a == "--help" || a == "-h") {
        print!("{HELP}");
        return Ok(());
    }
    let mut flags = Flags { args: rest.to_vec() };
    let done: Res<()> = match command {
        "demo" => {
            let options = demo::Options {
                keep: flags.take("--keep"),
                week: flags.take("--week"),
                jobs: flags.number("--jobs").map_err(Stop::Usage)?.unwrap_or(2),
                yes: flags.take("--yes"),
            };
            flags.none_left()?;
            demo::run(&options)
        }
        "test" => {
            let clients = !flags.take("--no-clients");
            let yes = flags.take("--yes");
            flags.none_left()?;
            test::run(clients, yes)
        }
        "lint" => {
            flags.none_left()?;
            test::lint()
        }
        "book" => {
            flags.none_left()?;
            docs::book()
        }
        "bench" => {
            let (quick, yes) = (flags.take("--quick"), flags.take("--yes"));
            // The measuring program knows its parts.
            bench::run(quick, yes, &flags.args)
        }
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        other => return Err(Stop::Usage(format!("there is no command {other:?}"))),
    };
    done.map_err(Stop::Failed)
}

struct Flags {
    args: Vec<String>,
}

impl Flags {
    fn take(&mut self, flag: &str) -> bool {
        let before = self.args.len();
        self.args.retain(|a| a != flag);
        self.args.len() < before
    }

    /// `--flag N` or `--flag=N`, N at least 1.
    fn number(&mut self, flag: &str) -> Result<Option<u32>, String> {
        let Some(at) = self.args.iter().position(|a| a == flag || a.starts_with(&format!("{flag}="))) else {
            return Ok(None);
        };
        let arg = self.args.remove(at);
        let value = match arg.split_once('=') {
            Some((_, value)) => value.to_owned(),
            None if at < self.args.len() => self.args.remove(at),
            None => return Err(format!("{flag} needs a number")),
        };
        match value.parse() {
            Ok(n) if n > 0 => Ok(Some(n)),
            _ => Err(format!("{flag} needs a number above 0, not {value:?}")),
        }
    }

    fn none_left(&self) -> Result<(), Stop> {
        match self.args.first() {
            None => Ok(()),
            Some(arg) => Err(Stop::Usage(format!("{arg:?} is not known here"))),
        }
    }
}
