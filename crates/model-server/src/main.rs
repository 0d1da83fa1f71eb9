//! `model-server`: the scripted model server as a program. It prints its URL, and ends with its
//! standard input, so that it cannot outlive whoever started it.

use shopfloor_model_server::{ModelServer, Scenario};
use std::process::ExitCode;

const HELP: &str = "\
usage: model-server SCENARIO.toml [PORT]

Listens on 127.0.0.1 (on a free port if none is given), prints its URL, and ends when its standard
input does. Give the URL to Claude Code as ANTHROPIC_BASE_URL, and with /v1 to Codex as base_url.

  GET  /control/requests       what was asked
  GET  /control/others         what else was requested
  POST /control/fault          a fault, such as {\"kind\": \"rate_limit\", \"times\": 2, \"retry_after\": 1}
  POST /control/clear          no more faults
  POST /control/usage          {\"input_tokens\": 950000}, or null for what the scenario says
  POST /control/release/NAME   answers that hold at NAME go on
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<(), String> {
    let (file, port) = match args {
        [file] => (file, 0),
        [file, port] => (file, port.parse().map_err(|_| format!("{port:?} is not a port"))?),
        _ => return Err(format!("one scenario and at most a port are needed\n\n{HELP}")),
    };
    let text = std::fs::read_to_string(file).map_err(|e| format!("{file} cannot be read: {e}"))?;
    let scenario = Scenario::parse(&text).map_err(|e| format!("{file}: {e}"))?;
    let server =
        ModelServer::start_on(port, scenario).map_err(|e| format!("127.0.0.1:{port} cannot be used: {e}"))?;
    println!("{}", server.anthropic_url());
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).map_err(|e| e.to_string())?;
    Ok(())
}
