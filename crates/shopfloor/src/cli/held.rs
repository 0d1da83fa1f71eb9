//! What a person holds, in words.

use super::{CliError, CliResult, output};
use shopfloor_core::state::{Floor, Held, Job, JobState};
use shopfloor_core::text::one_line;

/// That a person has a job's agent, or paused it, since when, and what ends that.
pub fn told(floor: &Floor, job: &Job) -> Option<String> {
    let reviewer = || floor.held(floor.sessions.get(&job.review_session?)?);
    let (held, whose) = match (&job.state, floor.agent_held(job)) {
        (JobState::Reviewing { .. }, None) => (reviewer()?, "its reviewer"),
        (_, held) => (held?, "it"),
    };
    let issue = job.issue;
    Some(match held {
        Held::Person(hold) => {
            let (since, until) = (output::clock(hold.since), output::clock(hold.until));
            format!(
                "you have {whose} since {since}: it goes on when you detach, at {until} if you type no more, or by `shopfloor resume {issue}`"
            )
        }
        Held::Taken { since } => {
            format!("you have it since {}: `shopfloor resume {issue}` hands it back", output::clock(since))
        }
        Held::Paused(pause) => format!(
            "paused since {} ({}): `shopfloor resume {}`",
            output::clock(pause.since),
            one_line(&pause.why, 80),
            job.project
        ),
    })
}

/// What is a person's to decide, no agent does.
pub fn only_people() -> CliResult<()> {
    if std::env::var_os("SHOPFLOOR_SESSION").is_none() {
        return Ok(());
    }
    Err(CliError::usage("this is for people, not for agents").hint("run it outside of an agent's session"))
}
