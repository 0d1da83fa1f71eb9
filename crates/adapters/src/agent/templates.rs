//! The prompts' templates: embedded, but overridden by files of the same name, the project's before the
//! floor's. A placeholder that nobody fills is an error, never an empty text.

use shopfloor_core::fill;
use shopfloor_core::ids::Role;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Their names and texts, as they are in the program.
const EMBEDDED: [(&str, &str); 7] = [
    ("dev", include_str!("prompts/dev.md")),
    ("dev-protocol", include_str!("prompts/dev-protocol.md")),
    ("review", include_str!("prompts/review.md")),
    ("review-people", include_str!("prompts/review-people.md")),
    ("review-protocol", include_str!("prompts/review-protocol.md")),
    ("run", include_str!("prompts/run.md")),
    ("run-protocol", include_str!("prompts/run-protocol.md")),
];

/// For whoever carries out a formula, whatever their role.
const OF_RUNS: &str = "run";

/// Where a project has its own.
const PROMPTS: &str = ".shopfloor/prompts";

const TEMPLATE_BYTES_MAX: u64 = 64 * 1024;

/// The names of the templates that there are anyway.
pub fn embedded_prompts() -> impl Iterator<Item = &'static str> {
    EMBEDDED.iter().map(|(name, _)| *name)
}

/// Where templates are looked for: among the project's, as they were accepted, then in the floor's folder.
#[derive(Clone, Debug, Default)]
pub struct Templates {
    project: BTreeMap<String, String>,
    floor: PathBuf,
    /// The template that the project chose instead of the role's own.
    chosen: Option<String>,
}

impl Templates {
    /// `project`: the project's accepted files, by their path below its root.
    pub fn new(project: &BTreeMap<String, String>, floor: PathBuf, chosen: Option<String>) -> Self {
        Templates { project: project.clone(), floor, chosen }
    }

    /// The template for a role's work, or a part of it such as `-protocol`, filled in. The error names the file.
    pub(super) fn fill(
        &self,
        (role, is_run): (Role, bool),
        part: &str,
        values: &fill::Values<'_>,
    ) -> Result<String, String> {
        let own = if is_run { OF_RUNS } else { role.profile().prompt };
        let (text, origin) = self.load(own, part)?;
        fill::text(&text, values).map_err(|e| {
            let known: Vec<String> = values.iter().map(|(name, _)| format!("{{{name}}}")).collect();
            format!("the prompt template {origin} cannot be used: {e}; it may use {}", known.join(", "))
        })
    }

    /// A chosen template has to exist; its parts may be missing, and are then the role's own.
    fn load(&self, own: &str, part: &str) -> Result<(String, String), String> {
        if let Some(chosen) = &self.chosen {
            let name = format!("{chosen}{part}");
            match self.in_folders(&name)? {
                Some(found) => return Ok(found),
                None if part.is_empty() => {
                    let floor = self.floor.display();
                    return Err(format!(
                        "there is no prompt template {name}.md that was accepted in {PROMPTS}, nor one in {floor}"
                    ));
                }
                None => {}
            }
        }
        let name = format!("{own}{part}");
        if let Some(found) = self.in_folders(&name)? {
            return Ok(found);
        }
        let embedded = EMBEDDED.iter().find(|(known, _)| *known == name);
        let (_, text) = embedded.expect("every part of a profile's prompt is embedded");
        Ok(((*text).to_owned(), format!("{name}.md, as it comes with the program")))
    }

    fn in_folders(&self, name: &str) -> Result<Option<(String, String)>, String> {
        let own = format!("{PROMPTS}/{name}.md");
        if let Some(text) = self.project.get(&own) {
            return Ok(Some((text.clone(), own)));
        }
        let path = self.floor.join(format!("{name}.md"));
        let origin = path.display().to_string();
        match read(&path) {
            Ok(text) => Ok(Some((text, origin))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(format!("the prompt template {origin} cannot be read: {e}")),
        }
    }
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(TEMPLATE_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > TEMPLATE_BYTES_MAX {
        return Err(io::Error::other(format!("it has more than {TEMPLATE_BYTES_MAX} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_projects_template_goes_before_the_floors_and_the_embedded() {
        let folder = tempfile::tempdir().unwrap();
        let floor = folder.path().join("prompts");
        let own =
            |name: &str, text: &str| BTreeMap::from([(format!("{PROMPTS}/{name}.md"), text.to_owned())]);
        let values = [("issue", "7"), ("messages", "m")];
        let filled = |project: &BTreeMap<String, String>, role, part| {
            Templates::new(project, floor.clone(), None).fill((role, false), part, &values)
        };
        let none = BTreeMap::new();
        let protocol = filled(&none, Role::REVIEW, "-protocol").unwrap();
        assert!(protocol.contains("{\"verdict\": \"APPROVE\""));
        std::fs::create_dir_all(&floor).unwrap();
        std::fs::write(floor.join("dev.md"), "floor {issue}").unwrap();
        assert_eq!(filled(&none, Role::DEV, "").unwrap(), "floor 7");
        assert_eq!(filled(&own("dev", "project {issue}"), Role::DEV, "").unwrap(), "project 7");
        // What is wrong is said, with the file, and nothing else is taken in its place.
        let error = filled(&own("dev", "{isue}"), Role::DEV, "").unwrap_err();
        assert!(
            error.contains("isue") && error.contains("prompts/dev.md") && error.contains("{issue}"),
            "{error}"
        );
        std::fs::write(floor.join("dev.md"), [0xff, 0xfe]).unwrap();
        assert!(filled(&none, Role::DEV, "").unwrap_err().contains("cannot be read"));
        std::fs::write(floor.join("dev.md"), "x".repeat(65 * 1024)).unwrap();
        assert!(filled(&none, Role::DEV, "").unwrap_err().contains("more than"));
        // One that was chosen has to be there, but not its parts.
        let chosen = |project: &BTreeMap<String, String>, role, part| {
            Templates::new(project, floor.clone(), Some("careful".into())).fill((role, false), part, &values)
        };
        let missing = chosen(&none, Role::DEV, "").unwrap_err();
        assert!(missing.contains("no prompt template careful.md"), "{missing}");
        assert_eq!(chosen(&own("careful", "slowly {issue}"), Role::DEV, "").unwrap(), "slowly 7");
        assert_eq!(chosen(&none, Role::REVIEW, "-protocol").unwrap(), protocol);
    }
}
