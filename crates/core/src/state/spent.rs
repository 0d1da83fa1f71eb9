//! What work has cost, as far as agents' clients tell.

use super::Floor;
use crate::ids::JobId;
use serde::{Deserialize, Serialize};

/// Tokens that a model was sent and has answered with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tokens {
    /// What was read anew, or written to a cache.
    pub input: u64,
    pub output: u64,
    /// What was read from a cache, which costs less.
    pub cached: u64,
}

impl Tokens {
    pub fn all(&self) -> u64 {
        self.input.saturating_add(self.output).saturating_add(self.cached)
    }

    pub fn plus(self, more: Tokens) -> Tokens {
        Tokens {
            input: self.input.saturating_add(more.input),
            output: self.output.saturating_add(more.output),
            cached: self.cached.saturating_add(more.cached),
        }
    }

    /// Without what was used before.
    pub fn since(self, before: Tokens) -> Tokens {
        Tokens {
            input: self.input.saturating_sub(before.input),
            output: self.output.saturating_sub(before.output),
            cached: self.cached.saturating_sub(before.cached),
        }
    }
}

/// Money and tokens. Nothing of a kind means that no client told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cost {
    /// Millionths of a dollar.
    pub micros: u64,
    pub tokens: Tokens,
}

impl Cost {
    pub fn plus(self, more: Cost) -> Cost {
        Cost { micros: self.micros.saturating_add(more.micros), tokens: self.tokens.plus(more.tokens) }
    }
}

impl Floor {
    /// What the clients of a job's sessions, its reviewers' too, last said that they have cost.
    pub fn cost_of(&self, job: JobId) -> Cost {
        let mine = self.sessions.iter().filter(|session| session.job == job);
        let told = mine.filter_map(|session| session.status.as_ref()).map(|status| Cost {
            micros: status.cost_micros.unwrap_or(0),
            tokens: status.tokens.unwrap_or_default(),
        });
        told.fold(Cost::default(), Cost::plus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_add_up_and_never_overflow() {
        let one = Tokens { input: 3, output: 2, cached: 1 };
        let more = Tokens { input: u64::MAX, ..one };
        assert_eq!((one.all(), one.plus(one).since(one)), (6, one));
        assert_eq!(one.plus(more).input, u64::MAX);
        assert_eq!(one.since(more).input, 0, "a counter that began anew");
        let cost = Cost { micros: 5, tokens: one };
        assert_eq!(cost.plus(Cost::default()), cost);
        assert_eq!(serde_json::from_str::<Cost>("{}").expect("as before"), Cost::default());
    }
}
