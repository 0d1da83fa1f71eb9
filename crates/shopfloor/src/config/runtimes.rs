//! Agent runtimes: the embedded ones, and what a user puts over them.
//!
//! An override says only what differs. Tables are merged key by key; any other value replaces the
//! embedded one. Rules of `[[screen.rules]]` are matched by name: one of the same name is replaced
//! where it stands, a new one is tried before all others.

use super::error::ConfigError;
use super::load::{choose, explain, kind};
use super::source::Source;
use serde::Deserialize;
use shopfloor_core::runtime::{EMBEDDED, RuntimeSpec, SpecError};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// The embedded runtime of that name.
pub fn embedded(name: &str) -> Option<RuntimeSpec> {
    let text = text_of(name)?;
    Some(load(text, None).expect("the embedded runtimes are tested"))
}

/// The embedded text of that name.
pub fn text_of(name: &str) -> Option<&'static str> {
    EMBEDDED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// An override: the file it is from, for errors, and its text.
pub struct Override<'a> {
    pub file: &'a Path,
    pub text: &'a str,
}

/// A runtime from its embedded text and what a user puts over it.
pub fn load(embedded: &str, over: Option<Override<'_>>) -> Result<RuntimeSpec, ConfigError> {
    let file = Path::new("the embedded runtime");
    let base = Source::parse(file, embedded)?;
    let Some(Override { file, text }) = over else {
        return finish(&base, base.tree().clone());
    };
    let source = Source::parse(file, text)?;
    let mut tree = base.tree().clone();
    merge(&source, tree.get_mut(), source.tree().get_ref(), &mut Vec::new())?;
    finish(&source, tree)
}

fn finish(source: &Source<'_>, tree: Spanned<DeTable<'_>>) -> Result<RuntimeSpec, ConfigError> {
    let spec =
        RuntimeSpec::deserialize(toml::de::Deserializer::from(tree)).map_err(|e| explain(source, &e))?;
    spec.validate().map_err(|e| at(source, &e))?;
    Ok(spec)
}

/// Puts `over` over `base`. The embedded text is right by itself, so whatever is wrong afterwards
/// stands in the override, and its places are the override's.
fn merge<'a>(
    source: &Source<'_>,
    base: &mut DeTable<'a>,
    over: &DeTable<'a>,
    path: &mut Vec<String>,
) -> Result<(), ConfigError> {
    for (key, value) in over {
        let name = key.get_ref().as_ref();
        if path.is_empty() && name == "name" {
            return Err(source
                .at(key.span(), "`name` cannot be changed: it is what the runtime is called by")
                .hint("remove the line"));
        }
        let existing = base.iter_mut().find(|(known, _)| known.get_ref() == name).map(|(_, value)| value);
        match (existing.map(|value| value.get_mut()), value.get_ref()) {
            (Some(DeValue::Table(inner)), DeValue::Table(over)) => {
                path.push(name.to_owned());
                merge(source, inner, over, path)?;
                path.pop();
            }
            (Some(DeValue::Table(_)), other) => {
                let message = format!("`{name}`: expected a table, found {}", kind(other));
                return Err(source.at(key.span(), message));
            }
            (Some(DeValue::Array(inner)), DeValue::Array(over)) if name == "rules" && *path == ["screen"] => {
                merge_rules(inner, over);
            }
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
    Ok(())
}

fn merge_rules<'a>(base: &mut DeArray<'a>, over: &DeArray<'a>) {
    let mut known: Vec<Spanned<DeValue<'a>>> = base.iter().cloned().collect();
    let mut merged = DeArray::new();
    for rule in over {
        let name = rule_name(rule.get_ref());
        match known.iter_mut().find(|known| name.is_some() && rule_name(known.get_ref()) == name) {
            Some(known) => *known = rule.clone(),
            None => merged.push(rule.clone()),
        }
    }
    known.into_iter().for_each(|rule| merged.push(rule));
    *base = merged;
}

fn rule_name<'v>(rule: &'v DeValue<'_>) -> Option<&'v str> {
    rule.as_table()?.get("name")?.get_ref().as_str()
}

/// An error of the whole, at the place in the override it is about, if it is there.
fn at(source: &Source<'_>, error: &SpecError) -> ConfigError {
    let index;
    let mut path: Vec<&str> = error.path.iter().map(String::as_str).collect();
    if let ["screen", "rules", name, ..] = path[..] {
        let rules = source.tree().get_ref().get("screen").and_then(|s| s.get_ref().as_table()?.get("rules"));
        let found = rules.and_then(|rules| {
            rules.get_ref().as_array()?.iter().position(|rule| rule_name(rule.get_ref()) == Some(name))
        });
        index = found.map_or_else(String::new, |at| at.to_string());
        path[2] = &index;
    }
    let shown = source.at_key(&path, &error.message);
    match &error.hint {
        Some(hint) => shown.hint(hint.clone()),
        None => shown,
    }
}

/// All runtimes of a floor, by name.
#[derive(Clone, Debug, Default)]
pub struct Catalogue(BTreeMap<String, Arc<RuntimeSpec>>);

impl Catalogue {
    /// The embedded ones, with what `NAME.toml` in the folder puts over each.
    pub fn load(folder: &Path) -> Result<Catalogue, ConfigError> {
        let mut all = BTreeMap::new();
        for (name, text) in EMBEDDED {
            let file = folder.join(format!("{name}.toml"));
            let over = match std::fs::read_to_string(&file) {
                Ok(over) => Some(over),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
                Err(e) => return Err(ConfigError::whole_file(&file, format!("cannot be read: {e}"))),
            };
            let over = over.as_ref().map(|text| Override { file: &file, text });
            all.insert(name.to_owned(), Arc::new(load(text, over)?));
        }
        Ok(Catalogue(all))
    }

    pub fn get(&self, name: &str) -> Option<Arc<RuntimeSpec>> {
        self.0.get(name).cloned()
    }
}

/// The names of the runtimes there are, for an error about another.
pub fn unknown(name: &str) -> String {
    let names: Vec<&str> = EMBEDDED.iter().map(|(name, _)| *name).collect();
    choose(name, &names, "runtimes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use shopfloor_core::runtime::{DialogKind, Meaning};

    fn over(text: &str) -> Result<RuntimeSpec, String> {
        let file = Path::new("floor.toml");
        load(text_of("claude").unwrap(), Some(Override { file, text })).map_err(|e| e.to_string())
    }

    #[test]
    fn every_embedded_runtime_is_valid_and_named_as_it_is_called() {
        for (name, text) in EMBEDDED {
            let spec = load(text, None).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(spec.name, name);
        }
    }

    #[test]
    fn an_override_changes_what_it_names_and_nothing_else() {
        let plain = embedded("claude").unwrap();
        assert_eq!(over("").unwrap(), plain);
        let changed = over(
            r#"
            [submit]
            pause_ms = 500
            [[screen.rules]]
            name = "question"
            where = "last_lines(1)"
            any = ["Pick one*"]
            meaning = "dialog(question)"
            [[screen.rules]]
            name = "mine"
            where = "screen"
            any = ["Hm?"]
            meaning = "dialog(other)"
            "#,
        )
        .unwrap();
        assert_eq!(changed.submit.as_ref().unwrap().pause_ms, 500);
        assert_eq!(changed.submit.as_ref().unwrap().key, "Enter");
        assert_eq!(changed.launch, plain.launch);
        assert_eq!(changed.screen.rules.len(), plain.screen.rules.len() + 1);
        assert_eq!(changed.screen.rules[0].name, "mine");
        let question = changed.screen.rules.iter().find(|r| r.name == "question").unwrap();
        assert_eq!(question.any[0].as_str(), "Pick one*");
        assert_eq!(question.meaning, Meaning::Dialog(DialogKind::Question));
    }

    #[test]
    fn mistakes_are_shown_where_they_stand() {
        for (text, place, message, hint) in [
            ("[submit]\npause = 3\n", "2:1", "unknown key `pause` in [submit]", "pause_ms"),
            ("[launch]\nargv = [\"x\", \"{modle}\"]", "2:1", "{modle} is not a placeholder", "model"),
            ("submit = 3", "1:1", "`submit`: expected a table, found a whole number", ""),
            ("name = \"x\"", "1:1", "`name` cannot be changed", "remove"),
            ("readiness = \"hok\"", "1:13", "unknown value \"hok\"", "did you mean `hook`"),
            ("[version]\nminimum = \"new\"", "2:11", "is no version", ""),
            (
                "[[screen.rules]]\nname = \"a\"\nwhere = \"screen\"\nmeaning = \"dialog(x)\"\nany=[\"x\"]",
                "4:11",
                "no kind of dialog",
                "",
            ),
            (
                "[[screen.rules]]\nname = \"a\"\nwhere = \"screen\"\nmeaning = \"ready\"\nany=[\"*\"]",
                "5:5",
                "matches every line",
                "",
            ),
            (
                "[[screen.rules]]\nname = \"a\"\nwhere = \"screen\"\nmeaning = \"ready\"",
                "1:1",
                "has no pattern",
                "add any",
            ),
            ("[[screen.rules]]\nname = \"a\"\nwhere = \"screen\"", "1:1", "missing key `meaning`", ""),
            ("[submit]\nresend_max = 99", "2:1", "from 0 to 10", ""),
            ("x = ", "1:5", "", ""),
        ] {
            let error = over(text).unwrap_err();
            assert!(error.starts_with(&format!("floor.toml:{place}: ")), "{text}\n{error}");
            assert!(error.contains(message) && error.contains(hint), "{text}\n{error}");
        }
    }
}
