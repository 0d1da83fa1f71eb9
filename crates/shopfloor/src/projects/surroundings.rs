//! The environment that agents, checks and secrets get their values from: the daemon's own, and what
//! `shopfloor up` told it since. It is kept in memory only, and its values are never shown.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

#[derive(Clone)]
pub struct Surroundings(Arc<RwLock<BTreeMap<OsString, OsString>>>);

/// What this process was told instead of having it in its environment, where others could read it.
static GIVEN: OnceLock<BTreeMap<String, String>> = OnceLock::new();

impl Default for Surroundings {
    /// Those of this process.
    fn default() -> Self {
        let given = GIVEN.get().into_iter().flatten().map(|(name, value)| (name.into(), value.into()));
        Surroundings(Arc::new(RwLock::new(std::env::vars_os().chain(given).collect())))
    }
}

impl Surroundings {
    /// From now on they count besides. Once.
    pub fn give(values: BTreeMap<String, String>) {
        let _ = GIVEN.set(values);
    }

    pub fn all(&self) -> BTreeMap<OsString, OsString> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn text(&self, name: &str) -> Option<String> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.get(&OsString::from(name)).and_then(|value| value.clone().into_string().ok())
    }

    pub fn is_set(&self, name: &str) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains_key(&OsString::from(name))
    }

    /// Takes over new values; `None` takes a variable away. The names of those that differ.
    pub fn change(&self, told: BTreeMap<String, Option<String>>) -> Vec<String> {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut changed = Vec::new();
        for (name, value) in told {
            let (key, value) = (OsString::from(&name), value.map(OsString::from));
            if all.get(&key) == value.as_ref() {
                continue;
            }
            match value {
                Some(value) => all.insert(key, value),
                None => all.remove(&key),
            };
            changed.push(name);
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_taken_over_and_named() {
        let around = Surroundings(Arc::default());
        let told = |value: Option<&str>| BTreeMap::from([("KEY".to_owned(), value.map(str::to_owned))]);
        assert_eq!(around.change(told(None)), [""; 0]);
        assert_eq!(around.change(told(Some("one"))), ["KEY"]);
        assert_eq!(around.change(told(Some("one"))), [""; 0]);
        assert_eq!(around.text("KEY").as_deref(), Some("one"));
        assert_eq!((around.change(told(None)), around.is_set("KEY")), (vec!["KEY".to_owned()], false));
    }
}
