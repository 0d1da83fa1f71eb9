//! The ports of a floor on the real tools, as its configuration has them: for the daemon, and for whoever only looks.

mod health;
mod schedules;
mod strays;

use crate::config;
use crate::config::runtimes::Catalogue;
use crate::projects::Projects;
use health::Checkups;
pub use schedules::recipe;
use shopfloor_adapters::agent::TmuxAgents;
use shopfloor_adapters::ci::local::{CiObserver, CiProgress, LocalCi};
use shopfloor_adapters::escalations::EscalationFiles;
use shopfloor_adapters::git::{Git, GitMerger, GitWorkspace};
use shopfloor_adapters::health::Diary;
use shopfloor_adapters::host::samples;
use shopfloor_adapters::jail::Isolation;
use shopfloor_adapters::layout::Layout;
use shopfloor_adapters::notices::Commands;
use shopfloor_adapters::setup::WorktreeSetup;
use shopfloor_adapters::steps::TreeSteps;
use shopfloor_adapters::terminal::tmux::Tmux;
use shopfloor_adapters::vault::Fires;
use shopfloor_core::event::Event;
use shopfloor_core::state::Floor;
use shopfloor_desk::{Desk, Error, Result};
use shopfloor_engine::ports::Ports;
use shopfloor_store::ci::{CiRuns, CiStep, NewRun};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
pub use strays::named_like_a_jobs;

/// What can be had here of the isolation that the floor asks for.
pub fn isolation(floor: &config::FloorConfig) -> Result<Isolation> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let path = std::env::var_os("PATH").unwrap_or_default();
    Isolation::find(floor.isolation.wanted(&home.unwrap_or_default(), path)).map_err(|e| {
        Error::usage(e.to_string())
            .hint("set `level` in [isolation] of floor.toml to \"auto\" or \"none\" to go without")
    })
}

/// The ports of a floor whose daemon this is not, for whoever only looks; and what the configuration says now that the
/// floor does not know yet.
pub fn to_look(desk: &Desk, floor: &Floor) -> Result<(Ports, Vec<Event>)> {
    let floor_config = config::load::floor(&desk.layout.config())?;
    let git = config::load::git(&floor_config)?;
    let (projects, _) = Projects::load(&floor_config, Catalogue::load(&desk.layout.runtimes())?, floor);
    let projects = projects.isolated(isolation(&floor_config)?);
    let tmux = Tmux::new(desk.layout.tmux_socket(), std::env::var_os("PATH").unwrap_or_default());
    let phase_dir = PathBuf::from(&floor_config.sessions.phase_dir);
    Ok((all(desk, &projects, &git, &tmux, phase_dir)?, projects.events(floor)))
}

/// Every port, on the real tools.
pub fn all(desk: &Desk, projects: &Projects, git: &Git, tmux: &Tmux, phase_dir: PathBuf) -> Result<Ports> {
    let layout = &desk.layout;
    // Whatever else reads branches and the person's checkout does so with the git that it has.
    let git = &git.clone().in_jails(projects.isolation().clone(), layout.clone());
    let lookup = projects.git_lookup();
    let agents = TmuxAgents {
        layout: layout.clone(),
        tmux: tmux.clone(),
        phase_dir,
        configs: projects.agent_lookup(),
    };
    let ci = LocalCi::new(layout.clone(), projects.ci_lookup(), Some(recorder(desk.ci()?, layout.clone())));
    Ok(Ports {
        workspace: Arc::new(GitWorkspace::new(git.clone(), layout.clone(), lookup.clone())),
        setup: Arc::new(WorktreeSetup::new(git.clone(), layout.clone(), projects.setup_lookup())),
        merger: Arc::new(GitMerger::new(git.clone(), layout.clone(), lookup)),
        ci: Arc::new(ci),
        forges: Arc::new(desk.forges()?),
        agents: Arc::new(agents),
        steps: Arc::new(TreeSteps {
            layout: layout.clone(),
            configs: projects.setup_lookup(),
            verifiers: projects.verifiers(),
        }),
        schedules: Arc::new(schedules::Timetable { projects: projects.clone(), layout: layout.clone() }),
        health: Arc::new(Checkups {
            layout: layout.clone(),
            tmux: tmux.clone(),
            ci: Mutex::new(desk.ci()?),
            diary: Diary {
                layout: layout.clone(),
                moment: shopfloor_desk::time::moment,
                redactor: projects.redactor_lookup(),
            },
        }),
        escalations: Arc::new(EscalationFiles {
            layout: layout.clone(),
            moment: shopfloor_desk::time::moment,
            redactor: projects.redactor_lookup(),
        }),
        archive: Arc::new(desk.archive()?),
        notices: Arc::new(Commands { layout: layout.clone(), configs: projects.notice_lookup() }),
        vault: Arc::new(Fires { layout: layout.clone(), configs: projects.vault_lookup() }),
    })
}

/// Records what the checks do, for `shopfloor ci`. The verdict the factory acts on comes with the effect's
/// outcome; a record that cannot be written holds nothing up.
fn recorder(db: Box<dyn CiRuns>, layout: Layout) -> CiObserver {
    let db = Mutex::new(db);
    Arc::new(move |progress| {
        let mut db = db.lock().unwrap_or_else(|broken| broken.into_inner());
        let now = shopfloor_desk::now();
        let written = match progress {
            CiProgress::Started { run, .. } => db.started(
                &NewRun {
                    run: run.run,
                    project: run.project.clone(),
                    issue: run.issue,
                    commit: run.commit.clone(),
                    source: run.source,
                },
                now,
            ),
            CiProgress::StepEnded { run, step, exit, duration_ms } => {
                db.step(run.run, &CiStep { name: step.clone(), exit: *exit, duration_ms: *duration_ms })
            }
            CiProgress::Finished { run, report } => {
                // Checks are when a machine is at work.
                let _ = samples::take(&layout.samples(), layout.root(), now);
                db.finished(run.run, report.verdict, report.step.as_deref(), &report.log, now)
            }
        };
        if let Err(e) = written {
            tracing::warn!("a CI run could not be recorded: {e}");
        }
    })
}
