//! What grows with what: the same at two sizes, and the exponent between them. What is alive may cost more when there
//! is more of it; what is over may not.

pub mod chain;
pub mod files;
pub mod floors;
pub mod jobs;
pub mod past;
pub mod pulls;
pub mod refs;

use crate::report::Report;
use crate::stats::exponent;

/// One thing at two sizes.
pub struct Grown {
    what: String,
    unit: &'static str,
    note: String,
    /// Size and value.
    seen: Vec<(u64, f64)>,
}

impl Grown {
    pub fn new(what: impl Into<String>, unit: &'static str, note: impl Into<String>) -> Self {
        Grown { what: what.into(), unit, note: note.into(), seen: Vec::new() }
    }

    pub fn at(&mut self, size: u64, value: f64) {
        self.seen.push((size, value));
    }

    /// A row for each size, the last one with the ratio and the exponent.
    pub fn report(self, report: &mut Report) {
        let mut before: Option<(u64, f64)> = None;
        for (size, value) in self.seen {
            let grown = before.map_or(String::new(), |(few, little)| {
                let n = exponent((few as f64, little), (size as f64, value));
                format!("; {:.2} times that of {few}, n^{n:.2}", value / little)
            });
            report.add(format!("{}, {size}", self.what), value, self.unit, format!("{}{grown}", self.note));
            before = Some((size, value));
        }
    }
}
