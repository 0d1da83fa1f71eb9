//! What the client tells: it runs `shopfloor hook` and `shopfloor statusline` with JSON on their
//! standard input, as Claude Code does by its settings.

use serde_json::{Value, json};
use std::io::Write;
use std::process::{Command, Stdio};

#[derive(Clone)]
pub struct Hooks {
    pub session_id: String,
    pub cwd: String,
}

impl Hooks {
    /// `more` is what the event has beside what all have. A hook that fails does not stop a client.
    pub fn tell(&self, event: &str, more: Value) {
        let mut payload = json!({
            "session_id": self.session_id,
            "cwd": self.cwd,
            "hook_event_name": event,
            "permission_mode": "default",
        });
        if let (Some(payload), Value::Object(more)) = (payload.as_object_mut(), more) {
            payload.extend(more);
        }
        run("hook", &payload);
    }

    pub fn tool(&self, event: &str, tool: &str, command: &str) {
        self.tell(event, json!({"tool_name": tool, "tool_input": {"command": command}}));
    }

    /// The status line to draw.
    pub fn statusline(&self, context_percent: u32, cost_usd: f64) -> String {
        let payload = json!({
            "session_id": self.session_id,
            "workspace": {"current_dir": self.cwd},
            "cost": {"total_cost_usd": cost_usd},
            "context_window": {"used_percentage": context_percent},
        });
        run("statusline", &payload).lines().next().unwrap_or_default().to_owned()
    }
}

/// What it printed; nothing if it could not be run.
fn run(command: &str, payload: &Value) -> String {
    let child = Command::new("shopfloor")
        .arg(command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else { return String::new() };
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(payload.to_string().as_bytes());
    }
    let output = child.wait_with_output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).into_owned()
}
