//! What a person holds, in words.

use crate::time::clock;
use shopfloor_core::state::{Floor, Held, Job, JobState};
use shopfloor_core::text::one_line;

/// That a person has a job's agent or paused it, since when, and what ends that.
pub fn told(floor: &Floor, job: &Job) -> Option<String> {
    let reviewer = || floor.held(floor.sessions.get(&job.reviewer.session?)?);
    let (held, whose) = match (&job.state, floor.agent_held(job)) {
        (JobState::Reviewing { .. }, None) => (reviewer()?, "its reviewer"),
        (_, held) => (held?, "it"),
    };
    // A run is held with its project, or by whoever types.
    let resume = job.number().map_or_else(|| job.project.to_string(), |issue| issue.to_string());
    Some(match held {
        Held::Person(hold) => {
            let (since, until) = (clock(hold.since), clock(hold.until));
            format!(
                "you have had {whose} since {since}: it continues when you detach, at {until} if you stop typing, or with `shopfloor resume {resume}`"
            )
        }
        Held::Taken { since } => {
            format!("you have had it since {}: `shopfloor resume {resume}` hands it back", clock(since))
        }
        Held::Paused(pause) => format!(
            "paused since {} ({}): `shopfloor resume {}`",
            clock(pause.since),
            one_line(&pause.why, 80),
            job.project
        ),
    })
}
