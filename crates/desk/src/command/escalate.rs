//! Puts something before people, in the file that the floor's own escalations go to.

use crate::time::moment;
use crate::{Desk, Error, Result, now};
use serde::Serialize;
use shopfloor_adapters::escalations::{self, Line};
use shopfloor_core::event::Event;
use shopfloor_core::ids::ProjectName;
use shopfloor_core::redact::Redactor;
use shopfloor_core::text::one_line;

#[derive(Serialize)]
pub struct Escalated {
    pub escalate: bool,
    #[serde(flatten)]
    pub line: Line,
    pub file: String,
}

impl Desk {
    pub fn escalate(
        &self,
        project: ProjectName,
        trigger: &str,
        context: &str,
        who: String,
        redactor: &Redactor,
    ) -> Result<Escalated> {
        let line = Line { who, ..Line::new(moment(now()), project.clone(), trigger, context, redactor) };
        if line.trigger.is_empty() {
            return Err(Error::usage("the trigger is empty"));
        }
        let file = self.layout.escalations(&project);
        escalations::append(&file, &line)
            .map_err(|e| Error::failed(format!("{} cannot be written: {e}", file.display())))?;
        let text = format!("{}: {}", line.trigger, one_line(&line.context, 500));
        self.submit(&Event::Escalated { project, text })?;
        Ok(Escalated { escalate: true, line, file: file.display().to_string() })
    }
}
