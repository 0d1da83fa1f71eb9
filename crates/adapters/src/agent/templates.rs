//! The prompts' templates: embedded, but overridden by files of the same name, the project's before the
//! floor's. A placeholder that nobody fills is an error, never an empty text.

use shopfloor_core::fill;
use shopfloor_core::ids::Role;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Their names and texts, as they are in the program.
const EMBEDDED: [(&str, &str); 5] = [
    ("dev", include_str!("prompts/dev.md")),
    ("dev-protocol", include_str!("prompts/dev-protocol.md")),
    ("review", include_str!("prompts/review.md")),
    ("review-people", include_str!("prompts/review-people.md")),
    ("review-protocol", include_str!("prompts/review-protocol.md")),
];

const TEMPLATE_BYTES_MAX: u64 = 64 * 1024;

/// Where templates are looked for; the first folder that has one wins.
#[derive(Clone, Debug, Default)]
pub struct Templates {
    folders: Vec<PathBuf>,
    /// The template that the project chose instead of the role's own.
    chosen: Option<String>,
}

impl Templates {
    /// `project`: the project's checkout, in which agents do not work.
    pub fn new(project: &Path, floor: PathBuf, chosen: Option<String>) -> Self {
        Templates { folders: vec![project.join(".shopfloor/prompts"), floor], chosen }
    }

    /// A role's template, or a part of it such as `-protocol`, filled in. The error names the file.
    pub(super) fn fill(&self, role: Role, part: &str, values: &fill::Values<'_>) -> Result<String, String> {
        let (text, origin) = self.load(role, part)?;
        fill::text(&text, values).map_err(|e| {
            let known: Vec<String> = values.iter().map(|(name, _)| format!("{{{name}}}")).collect();
            format!("the prompt template {origin} cannot be used: {e}; it may use {}", known.join(", "))
        })
    }

    /// A chosen template has to exist; its parts may be missing, and are then the role's own.
    fn load(&self, role: Role, part: &str) -> Result<(String, String), String> {
        if let Some(chosen) = &self.chosen {
            let name = format!("{chosen}{part}");
            match self.in_folders(&name)? {
                Some(found) => return Ok(found),
                None if part.is_empty() => {
                    let folders: Vec<_> = self.folders.iter().map(|f| f.display().to_string()).collect();
                    return Err(format!("there is no prompt template {name}.md in {}", folders.join(" or ")));
                }
                None => {}
            }
        }
        let name = format!("{}{part}", role.profile().prompt);
        if let Some(found) = self.in_folders(&name)? {
            return Ok(found);
        }
        let embedded = EMBEDDED.iter().find(|(known, _)| *known == name);
        let (_, text) = embedded.expect("every part of a profile's prompt is embedded");
        Ok(((*text).to_owned(), format!("{name}.md, as it comes with the program")))
    }

    fn in_folders(&self, name: &str) -> Result<Option<(String, String)>, String> {
        for folder in &self.folders {
            let path = folder.join(format!("{name}.md"));
            let origin = path.display().to_string();
            match read(&path) {
                Ok(text) => return Ok(Some((text, origin))),
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(format!("the prompt template {origin} cannot be read: {e}")),
            }
        }
        Ok(None)
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
        let (project, floor) = (folder.path().join("project"), folder.path().join("prompts"));
        let templates = Templates::new(&project, floor.clone(), None);
        let values = [("issue", "7"), ("messages", "m")];
        let filled = |part| templates.fill(Role::DEV, part, &values);
        let protocol = templates.fill(Role::REVIEW, "-protocol", &values).unwrap();
        assert!(protocol.contains("{\"verdict\": \"APPROVE\""));
        std::fs::create_dir_all(&floor).unwrap();
        std::fs::write(floor.join("dev.md"), "floor {issue}").unwrap();
        assert_eq!(filled("").unwrap(), "floor 7");
        let own = project.join(".shopfloor/prompts");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("dev.md"), "project {issue}").unwrap();
        assert_eq!(filled("").unwrap(), "project 7");
        // What is wrong is said, with the file, and nothing else is taken in its place.
        std::fs::write(own.join("dev.md"), "{isue}").unwrap();
        let error = filled("").unwrap_err();
        assert!(
            error.contains("isue") && error.contains("prompts/dev.md") && error.contains("{issue}"),
            "{error}"
        );
        std::fs::write(own.join("dev.md"), [0xff, 0xfe]).unwrap();
        assert!(filled("").unwrap_err().contains("cannot be read"));
        std::fs::write(own.join("dev.md"), "x".repeat(65 * 1024)).unwrap();
        assert!(filled("").unwrap_err().contains("more than"));
        // One that was chosen has to be there, but not its parts.
        let chosen = Templates::new(&project, floor, Some("careful".into()));
        assert!(chosen.fill(Role::DEV, "", &values).unwrap_err().contains("no prompt template careful.md"));
        std::fs::write(own.join("careful.md"), "slowly {issue}").unwrap();
        assert_eq!(chosen.fill(Role::DEV, "", &values).unwrap(), "slowly 7");
        assert_eq!(chosen.fill(Role::REVIEW, "-protocol", &values).unwrap(), protocol);
    }
}
