//! The prompts' templates: embedded, and put over by files of the same name, the project's before the
//! floor's. A placeholder nobody fills is an error, never an empty text.

use shopfloor_core::hand::fill;
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

/// Where templates are looked for, the first that has one wins.
#[derive(Clone, Debug, Default)]
pub struct Templates {
    folders: Vec<PathBuf>,
}

impl Templates {
    /// `project`: the project's checkout, in which agents do not work.
    pub fn new(project: &Path, floor: PathBuf) -> Self {
        Templates { folders: vec![project.join(".shopfloor/prompts"), floor] }
    }

    /// A template filled in. The error names the file.
    pub(super) fn fill(&self, name: &str, values: &fill::Values<'_>) -> Result<String, String> {
        let (text, origin) = self.load(name)?;
        fill::text(&text, values).map_err(|e| {
            let known: Vec<String> = values.iter().map(|(name, _)| format!("{{{name}}}")).collect();
            format!("the prompt template {origin} cannot be used: {e}; it may use {}", known.join(", "))
        })
    }

    fn load(&self, name: &str) -> Result<(String, String), String> {
        for folder in &self.folders {
            let path = folder.join(format!("{name}.md"));
            let origin = path.display().to_string();
            match read(&path) {
                Ok(text) => return Ok((text, origin)),
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(format!("the prompt template {origin} cannot be read: {e}")),
            }
        }
        let embedded = EMBEDDED.iter().find(|(known, _)| *known == name);
        let (_, text) = embedded.expect("only embedded templates are asked for");
        Ok(((*text).to_owned(), format!("{name}.md, as it comes with the program")))
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
        let templates = Templates::new(&project, floor.clone());
        let values = [("issue", "7"), ("messages", "m")];
        let filled = |name| templates.fill(name, &values);
        assert!(filled("review-protocol").unwrap().contains("{\"verdict\": \"APPROVE\""));
        std::fs::create_dir_all(&floor).unwrap();
        std::fs::write(floor.join("dev.md"), "floor {issue}").unwrap();
        assert_eq!(filled("dev").unwrap(), "floor 7");
        let own = project.join(".shopfloor/prompts");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("dev.md"), "project {issue}").unwrap();
        assert_eq!(filled("dev").unwrap(), "project 7");
        // What is wrong is said, with the file, and nothing else is taken in its place.
        std::fs::write(own.join("dev.md"), "{isue}").unwrap();
        let error = filled("dev").unwrap_err();
        assert!(
            error.contains("isue") && error.contains("prompts/dev.md") && error.contains("{issue}"),
            "{error}"
        );
        std::fs::write(own.join("dev.md"), [0xff, 0xfe]).unwrap();
        assert!(filled("dev").unwrap_err().contains("cannot be read"));
        std::fs::write(own.join("dev.md"), "x".repeat(65 * 1024)).unwrap();
        assert!(filled("dev").unwrap_err().contains("more than"));
    }
}
