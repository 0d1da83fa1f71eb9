//! `docs/settings.md` is made of the configuration's own schema. After a change:
//! `UPDATE=1 cargo test -p shopfloor --test cli reference`.

use serde_json::Value;
use shopfloor::config::schema;
use std::collections::VecDeque;
use std::path::PathBuf;

const BEGIN: &str = "\
# Every setting

This page is made from the program: `UPDATE=1 cargo test -p shopfloor --test cli reference`. [Configuration](configuration.md)
says how the files work together. `shopfloor config schema` prints the same for your editor, as a JSON schema.
";

/// A table of the file and what describes it.
struct Table<'a> {
    /// As one writes it: `[ci]`, `[agents.dev]`, `[[ci.steps]]`.
    headings: Vec<String>,
    path: String,
    schema: &'a Value,
}

struct Schema(Value);

impl Schema {
    fn definition(&self, node: &Value) -> Option<&Value> {
        // What may be left out is "this or null".
        let some = node["anyOf"].as_array().and_then(|any| any.iter().find(|n| n["$ref"].is_string()));
        let name = some.unwrap_or(node)["$ref"].as_str()?.rsplit('/').next()?;
        self.0["$defs"].get(name)
    }

    fn table(&self, node: &Value) -> Option<&Value> {
        self.definition(node).filter(|d| d["properties"].is_object())
    }

    /// The tables in a table's order, each once, whatever its names.
    fn tables(&self) -> Vec<Table<'_>> {
        let mut found: Vec<Table<'_>> = Vec::new();
        let mut left = VecDeque::from([(String::new(), String::new(), &self.0)]);
        while let Some((heading, path, schema)) = left.pop_front() {
            if let Some(known) = found.iter_mut().find(|t| std::ptr::eq(t.schema, schema)) {
                known.headings.push(heading);
                continue;
            }
            for (key, node) in properties(schema) {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                if let Some(table) = self.table(node) {
                    left.push_back((format!("[{path}]"), path, table));
                } else if let Some(table) = self.table(&node["additionalProperties"]) {
                    left.push_back((format!("[{path}.NAME]"), format!("{path}.NAME"), table));
                } else if let Some(table) = self.table(&node["items"]) {
                    left.push_back((format!("[[{path}]]"), path, table));
                }
            }
            found.push(Table { headings: vec![heading], path, schema });
        }
        found
    }

    fn write(&self, out: &mut String) {
        let title = self.0["title"].as_str().unwrap_or_default();
        out.push_str(&format!("\n## `{title}`\n\n{}\n", self.text(&self.0)));
        for table in self.tables() {
            let rows: Vec<String> =
                properties(table.schema).filter_map(|(key, node)| self.row(&table, key, node)).collect();
            let says_something = !rows.is_empty() || !table.schema["description"].is_null();
            if !table.path.is_empty() && says_something {
                let headings: Vec<String> = table.headings.iter().map(|h| format!("`{h}`")).collect();
                out.push_str(&format!("\n### {}\n\n{}\n", headings.join(", "), self.text(table.schema)));
            }
            if !rows.is_empty() {
                out.push_str(&format!("\n| key | default | meaning |\n|---|---|---|\n{}", rows.concat()));
            }
        }
    }

    /// A key's line; none for what is a table of its own.
    fn row(&self, table: &Table<'_>, key: &str, node: &Value) -> Option<String> {
        if [node, &node["additionalProperties"]].into_iter().any(|n| self.table(n).is_some()) {
            return None;
        }
        let named = node["additionalProperties"].is_object();
        let key = if named { format!("{key}.NAME") } else { key.to_owned() };
        let required = table.schema["required"].as_array().is_some_and(|r| r.iter().any(|k| *k == key));
        let default = match &node["default"] {
            _ if required => "required".to_owned(),
            Value::Null => String::new(),
            value => format!("`{value}`"),
        };
        let inner = if named { &node["additionalProperties"] } else { node };
        let texts =
            [self.text(node), self.definition(inner).map_or(String::new(), |d| self.kind(d)), values(node)];
        let meaning: Vec<String> = texts.into_iter().filter(|text| !text.is_empty()).collect();
        Some(format!("| `{key}` | {default} | {} |\n", meaning.join(" ").replace('|', "\\|")))
    }

    fn text(&self, node: &Value) -> String {
        node["description"].as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// What is said of a type that is no table: its values, or what it is. Durations are known.
    fn kind(&self, definition: &Value) -> String {
        let choices = definition["oneOf"].as_array().into_iter().flatten();
        let named: Vec<String> = choices
            .map(|c| format!("`{}`: {}", c["const"], self.text(c)).trim_end_matches(": ").to_owned())
            .filter(|text| !text.starts_with("`null`"))
            .collect();
        match named.is_empty() {
            false => named.join(" "),
            true if definition["type"] == "string" => values(definition),
            true => self.text(definition),
        }
    }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flatten()
}

fn values(node: &Value) -> String {
    let all: Vec<String> = node["enum"].as_array().into_iter().flatten().map(|v| format!("`{v}`")).collect();
    if all.is_empty() { String::new() } else { format!("One of {}.", all.join(", ")) }
}

#[test]
fn the_reference_of_settings_is_up_to_date() {
    let mut expect = BEGIN.to_owned();
    for schema in [schema::project(), schema::floor()] {
        Schema(serde_json::from_str(&schema).unwrap()).write(&mut expect);
    }
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, &expect).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(found == expect, "docs/settings.md is out of date: run this test with UPDATE=1");
}
