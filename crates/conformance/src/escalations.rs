//! What every [`Escalations`] does.

use shopfloor_core::ids::{Assignment, IssueNumber, JobId, ProjectName};
use shopfloor_core::time::Time;
use shopfloor_engine::ports::{Escalation, Escalations};

/// A project, and what people find on record.
pub trait EscalationsWorld {
    fn escalations(&self) -> &dyn Escalations;
    fn project(&self) -> ProjectName;
    /// How many there are.
    fn recorded(&self) -> usize;
}

pub fn each_is_recorded_once_for_its_job_trigger_and_what_it_is_about(world: &impl EscalationsWorld) {
    let project = world.project();
    let record = |job: u64, trigger: &str, about: &str| {
        let (job, assignment, at) = (JobId(job), Assignment::Issue(IssueNumber(7)), Time(5));
        let escalation =
            Escalation { job, project: &project, assignment, trigger, context: "why", about, at };
        world.escalations().record(&escalation).expect("recorded");
        world.recorded()
    };
    assert_eq!(record(1, "job_failed", ""), 1);
    assert_eq!(record(1, "job_failed", ""), 1, "performed again");
    assert_eq!(record(2, "job_failed", ""), 2);
    assert_eq!(record(2, "job_blocked", ""), 3);
    assert_eq!(record(2, "job_blocked", "abc"), 4);
    assert_eq!(record(2, "job_blocked", "abc"), 4);
}
