//! What the agent of a run is told to do: the formula's steps, and what is known of each.

use super::{part, texts};
use shopfloor_core::recipe::{AnswerKind, Step};
use shopfloor_core::state::{StepRecord, StepState, Task};
use shopfloor_core::text::one_line;
use shopfloor_engine::ports::Briefing;
use std::fmt::Write;

const NOTE_BYTES_MAX: usize = 4 * 1024;
const STEP_BYTES_MAX: usize = 16 * 1024;
const VALUE_CHARS_MAX: usize = 400;

pub(super) fn task(task: &Task, briefing: &Briefing, room: &mut usize) -> String {
    let mut out = texts::run_is(task);
    if !task.vars.is_empty() {
        out.push_str("Its variables:\n\n");
        for (name, value) in &task.vars {
            let _ = writeln!(out, "- {name}: {}", one_line(value, VALUE_CHARS_MAX));
        }
        out.push('\n');
    }
    out.push_str("## Its steps\n\n");
    for (step, record) in &task.steps {
        add(&mut out, room, step, record);
    }
    if !briefing.context.is_empty() {
        out.push_str("## What you should know\n\n");
        // Its parts have fences of their own already.
        let context = shopfloor_core::text::head(&briefing.context, *room);
        *room = room.saturating_sub(context.len());
        out.push_str(&context);
        out.push('\n');
    }
    out
}

fn add(out: &mut String, room: &mut usize, step: &Step, record: &StepRecord) {
    let needs: Vec<&str> = step.needs.iter().map(|id| id.as_str()).collect();
    let needs = if needs.is_empty() { String::new() } else { format!(", after {}", needs.join(", ")) };
    let whose = if step.run.is_some() { ", a command of the factory's" } else { "" };
    let title = one_line(&step.title, VALUE_CHARS_MAX);
    let title = if title.is_empty() { title } else { format!(": {title}") };
    let _ = writeln!(out, "### Step `{}`{title}\n\n({}{whose}{needs})\n", step.id, record.state.name());
    if step.run.is_none() && !record.state.is_over() {
        // The formula was accepted by a person: these are instructions.
        let text = shopfloor_core::text::head(step.description.trim(), STEP_BYTES_MAX.min(*room));
        *room = room.saturating_sub(text.len());
        let _ = writeln!(out, "{text}\n");
        if step.answer == Some(AnswerKind::Groom) {
            let _ = writeln!(out, "{}\n", shopfloor_core::texts::groom::grammar());
        }
    }
    let noted = match record.state {
        StepState::Skipped => "Why it was passed over",
        _ => "What was noted",
    };
    part(out, room, noted, &record.note, NOTE_BYTES_MAX);
    part(out, room, "What it printed", &record.output, STEP_BYTES_MAX);
}
