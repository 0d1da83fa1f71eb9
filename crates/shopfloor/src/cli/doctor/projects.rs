//! The configuration files, and the agents they name.

use super::super::Context;
use super::super::config::accept::Change;
use super::programs::on_path;
use super::{Check, Grade};
use crate::config::{self, Agent, FloorConfig, ProjectConfig, Runtime, needs, runtimes};
use shopfloor_adapters::agent::client::check_version;
use shopfloor_adapters::git::branches::{self, OriginFile};
use shopfloor_adapters::host::command;
use shopfloor_adapters::host::env::clean_env;

use shopfloor_core::state::{Floor, Project};
use shopfloor_core::texts::people;
use std::path::Path;

/// `floor` is what the store holds, if it could be read.
pub fn checks(context: &Context, floor: Option<&Floor>) -> Vec<Check> {
    let file = context.layout.config();
    let settings = match config::load::floor(&file) {
        Ok(settings) => settings,
        Err(e) => return vec![Check::fail("floor.toml", e.to_string())],
    };
    let detail = if file.exists() { "fine" } else { "there is none; the defaults apply" };
    let mut checks = vec![Check::ok("floor.toml", detail)];
    for project in floor.iter().flat_map(|floor| floor.projects.iter()) {
        checks.extend(one(context, project, &settings));
    }
    checks
}

fn one(context: &Context, project: &Project, settings: &FloorConfig) -> Vec<Check> {
    let name = format!("project {}", project.name);
    let checkout = Path::new(&project.checkout);
    if !checkout.is_dir() {
        return vec![
            Check::fail(name, format!("its checkout {} is gone", checkout.display()))
                .hint("move it back, or run `shopfloor init` where it is now"),
        ];
    }
    let file = checkout.join(config::FILE_NAME);
    let config = match config::load::project(&file, settings) {
        Ok(config) => config,
        Err(e) => return vec![Check::fail(name, e.to_string())],
    };
    let mut checks = vec![if config.project.name == project.name {
        Check::ok(&name, format!("{} is fine", file.display()))
    } else {
        Check::warn(&name, format!("{} now names the project {}", file.display(), config.project.name))
            .hint("run `shopfloor init` again, or change the name back")
    }];
    let unmet = needs::warnings(&config, checkout, &|variable| std::env::var(variable).ok());
    checks.extend(unmet.into_iter().map(|why| {
        let check = if why.starts_with("secret") { Check::fail(&name, why) } else { Check::warn(&name, why) };
        check.hint("set it where the floor runs, then run `shopfloor up`: a running daemon is told")
    }));
    checks.extend(accepted(context, &config, settings));
    checks.push(in_force(context, project, settings));
    for (role, agent) in &config.agents {
        checks.push(client(format!("{name}, {role} agent"), checkout, agent));
    }
    checks
}

/// Whether what the files say is in force.
fn in_force(context: &Context, project: &Project, settings: &FloorConfig) -> Check {
    let name = format!("configuration of {}", project.name);
    if settings.accepts_all() {
        return Check::warn(name, "whatever a file says is in force at once, whoever wrote it")
            .hint("remove `accept = \"always\"` from [config] in floor.toml");
    }
    match Change::of(context, project) {
        Err(e) => Check::fail(name, format!("what its files say cannot be used: {}", e.message)),
        Ok(change) if !change.withheld.is_empty() => {
            Check::warn(name, people::not_granted(&project.name, &change.withheld))
        }
        Ok(change) if !change.is_nothing() => Check::warn(name, "its files say what nobody has accepted")
            .hint("`shopfloor config diff` shows it, `shopfloor config accept` puts it in force"),
        Ok(_) => Check::ok(name, "what its files say was accepted"),
    }
}

/// Whether the checks that count are those of the checkout.
fn accepted(context: &Context, config: &ProjectConfig, settings: &FloorConfig) -> Option<Check> {
    let (name, branch) = (format!("checks of {}", config.project.name), &config.project.primary_branch);
    let file = config::FILE_NAME;
    let text = match branches::file(&*context.origin(&config.project.name).ok()?, branch, file) {
        Ok(text) => text,
        Err(e) => return Some(Check::warn(name, format!("{branch} cannot be read: {e}"))),
    };
    let OriginFile::Text(text) = text else {
        let detail = format!("those of your checkout: {branch} has no {file}");
        return Some(Check::ok(name, detail));
    };
    Some(match config::load::project_from(Path::new(&format!("{branch}:{file}")), &text, settings) {
        Err(e) => Check::fail(name, format!("those of {branch} cannot be used: {e}"))
            .hint("fix the file, commit it and push it there"),
        Ok(theirs) if config.ci.accepting(theirs.ci.clone()) == config.ci => {
            Check::ok(name, format!("those of {branch}, and your checkout has the same"))
        }
        Ok(_) => Check::warn(name, format!("those of {branch}; your checkout has others")).hint(format!(
            "a change to [ci] counts once it has landed on {branch}: commit it there, or queue it"
        )),
    })
}

fn client(name: String, checkout: &Path, agent: &Agent) -> Check {
    let program = agent.command.as_ref().and_then(|command| command.first());
    let (grade, detail) = match (agent.runtime, program) {
        (Runtime::Demo, _) => (Grade::Ok, "demo: a scripted agent, no AI".to_owned()),
        (Runtime::Generic, None) => (Grade::Fail, "generic, but no command is configured".to_owned()),
        (Runtime::Generic, Some(program)) => {
            // As a shell would: a name is looked up, a path is taken from where the agent runs.
            let found = if program.contains('/') {
                Some(checkout.join(program)).filter(|file| command::is_executable(file))
            } else {
                on_path(program)
            };
            match found {
                Some(file) => (Grade::Ok, format!("generic: {}", file.display())),
                None => (Grade::Fail, format!("{program:?} is not found, or not executable")),
            }
        }
        (Runtime::Claude | Runtime::Codex, _) => installed(agent.runtime.as_str()),
    };
    let check = Check::new(name, grade, detail);
    match (grade, agent.runtime) {
        (Grade::Fail, Runtime::Generic) => check.hint("install it, or correct `command` in shopfloor.toml"),
        (Grade::Fail, _) => {
            check.hint("install it for the user the floor runs as, or choose another `runtime`")
        }
        _ => check,
    }
}

/// Whether a runtime's client is installed, in a version that will do.
fn installed(runtime: &str) -> (Grade, String) {
    let spec = runtimes::embedded(runtime).expect("every runtime of the configuration is embedded");
    let program = &spec.launch.argv[0];
    let Some(path) = on_path(program) else {
        return (Grade::Fail, format!("{program} is not on the PATH"));
    };
    let Some(check) = &spec.version else { return (Grade::Ok, path.display().to_string()) };
    let env: Vec<_> = clean_env(std::env::vars_os(), &[]);
    match check_version(&path, check, &env) {
        Ok(version) => (Grade::Ok, format!("{runtime}: {}, version {version}", path.display())),
        Err(why) => (Grade::Fail, why),
    }
}
