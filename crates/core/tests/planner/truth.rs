//! What is true of the entries of a world, whatever the planner believes.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default)]
pub struct Truth {
    pub bad: BTreeSet<u64>,
    /// The first is bad unless the second is there, too.
    pub cure: BTreeMap<u64, u64>,
    /// Red together, in either order.
    pub clash: BTreeSet<(u64, u64)>,
    pub conflict: BTreeSet<(u64, u64)>,
    /// Of 1,000 runs with the entry in it, how many it spoils.
    pub flaky: BTreeMap<u64, u32>,
    /// Of 1,000 runs, how many fail or cannot be run, whatever is in them.
    pub flakes: u32,
    pub infra: u32,
    /// With one of these, none can be run.
    pub unrunnable: BTreeSet<u64>,
    /// Each commit has to pass, and these bring one inside of them that does not.
    pub inner: BTreeSet<u64>,
    /// Those bring several commits: what is known of their last says nothing of the others.
    pub several: BTreeSet<u64>,
}

fn has(pairs: &BTreeSet<(u64, u64)>, a: u64, b: u64) -> bool {
    pairs.contains(&(a.min(b), a.max(b)))
}

impl Truth {
    pub fn is_red(&self, content: &[u64]) -> bool {
        let clash = |(n, a): (usize, &u64)| content[..n].iter().any(|b| has(&self.clash, *a, *b));
        let cured = |e: &u64| self.cure.get(e).is_some_and(|cure| content.contains(cure));
        content.iter().any(|e| self.bad.contains(e) && !cured(e)) || content.iter().enumerate().any(clash)
    }

    pub fn conflicts(&self, entry: u64, with: &[u64]) -> bool {
        with.iter().any(|b| has(&self.conflict, entry, *b))
    }

    pub fn is_good(&self, entry: u64) -> bool {
        !self.bad.contains(&entry) && !self.inner.contains(&entry) && !self.interacts(entry)
    }

    fn interacts(&self, entry: u64) -> bool {
        self.clash.iter().any(|(a, b)| *a == entry || *b == entry)
    }
}
