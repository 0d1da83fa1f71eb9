//! What was measured, for people and for programs.

use anyhow::{Context, Result};
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
pub struct Report {
    /// Fewer rounds than a full run: not for comparisons.
    quick: bool,
    cores: usize,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    what: String,
    value: f64,
    unit: &'static str,
    /// What it is measured against, or how.
    note: String,
}

impl Report {
    pub fn new(quick: bool) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Report { quick, cores, rows: Vec::new() }
    }

    pub fn add(&mut self, what: impl Into<String>, value: f64, unit: &'static str, note: impl Into<String>) {
        self.rows.push(Row { what: what.into(), value, unit, note: note.into() });
    }

    pub fn print(&self) {
        let shown = |row: &Row| match row.value {
            v if v >= 100.0 => format!("{v:.0} {}", row.unit),
            v => format!("{v:.2} {}", row.unit),
        };
        let what = self.rows.iter().map(|r| r.what.chars().count()).max().unwrap_or(0);
        let value = self.rows.iter().map(|r| shown(r).chars().count()).max().unwrap_or(0);
        for row in &self.rows {
            println!("{:what$}  {:>value$}  {}", row.what, shown(row), row.note);
        }
    }

    pub fn write(&self, out: &Path) -> Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        std::fs::write(out, text).with_context(|| format!("writing {}", out.display()))
    }
}
