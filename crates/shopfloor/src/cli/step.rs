//! `shopfloor step`: what an agent says of the steps of its run.

use super::{CliError, CliResult, Context, Exit, output};
use clap::{Args, Subcommand};
use shopfloor_core::event::StepSaid;
use shopfloor_core::ids::StepId;
use shopfloor_core::state::{Run, StepState};
use shopfloor_core::text::one_line;
use shopfloor_desk::view::formula_run::FormulaRunView;

/// The steps of the run that an agent's session carries out
#[derive(Args)]
pub struct StepArgs {
    #[command(subcommand)]
    command: StepCommand,
}

#[derive(Subcommand)]
enum StepCommand {
    /// Say that a step is done; whatever verifies it looks at it then
    Done {
        step: StepId,
        /// What came of it; a successor reads it
        #[arg(long, default_value = "")]
        note: String,
    },
    /// Pass a step over
    Skip {
        step: StepId,
        #[arg(long)]
        reason: String,
    },
    /// Show the steps, and which can be worked on
    List,
}

pub fn run(context: &Context, args: StepArgs) -> CliResult<Exit> {
    let epoch = context.session()?;
    let said = match args.command {
        StepCommand::List => None,
        StepCommand::Done { step, note } => Some(StepSaid { step, skip: false, note }),
        StepCommand::Skip { reason, .. } if reason.trim().is_empty() => {
            return Err(CliError::usage("the reason is empty").hint("say why the step does not apply"));
        }
        StepCommand::Skip { step, reason } => Some(StepSaid { step, skip: true, note: reason }),
    };
    let step = said.as_ref().map(|said| said.step.clone());
    let run = match said {
        None => context.run_of_session(epoch)?,
        Some(said) => {
            // It is kept, and people and successors read it.
            let note = context.redactor()?.redact(&said.note);
            context.say_of_step(epoch, StepSaid { note, ..said })?
        }
    };
    show(context, &run, step.as_ref())?;
    Ok(Exit::Fine)
}

fn show(context: &Context, run: &Run, said: Option<&StepId>) -> CliResult<()> {
    let engine = context.engine()?;
    let shown = FormulaRunView::new(engine.floor(), run);
    if context.json {
        output::json(&shown);
        return Ok(());
    }
    if let Some(step) = shown.steps.iter().find(|step| Some(&step.id) == said) {
        output::line(format!("{}: {}", step.id, step.state));
    } else {
        let row = |step: &shopfloor_desk::view::formula_run::StepView| {
            let needs: Vec<&str> = step.needs.iter().map(StepId::as_str).collect();
            vec![
                step.id.to_string(),
                step.state.to_owned(),
                output::or_dash(Some(needs.join(" ")).filter(|needs| !needs.is_empty())),
                if step.run.is_some() { "the factory" } else { "you" }.to_owned(),
                one_line(&step.title, 60),
            ]
        };
        output::table(
            &["STEP", "STATE", "NEEDS", "WHOSE", "TITLE"],
            &shown.steps.iter().map(row).collect::<Vec<_>>(),
        );
    }
    output::line(next(run));
    Ok(())
}

fn next(run: &Run) -> String {
    let claimed: Vec<&str> = run
        .steps()
        .filter(|(_, record)| matches!(record.state, StepState::Claimed { .. }))
        .map(|(step, _)| step.id.as_str())
        .collect();
    let open: Vec<&str> = run.steps_to_do().map(|step| step.id.as_str()).collect();
    match open.is_empty() {
        false => format!("next: {}", open.join(", ")),
        true if run.is_ending() => "the run is over".to_owned(),
        true if !claimed.is_empty() => {
            format!("{} is being verified: you are told if something is missing", claimed.join(", "))
        }
        true if run.is_through() => {
            "every step is over: commit what belongs on the branch, then signal `shopfloor phase done`"
                .to_owned()
        }
        true => "nothing can be done now: you are told when a step is ready".to_owned(),
    }
}
