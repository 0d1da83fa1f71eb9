//! What an issue asks for that is labelled as an action: a formula that its text names, with variables, or the text itself.
//!
//! ```text
//! formula: upkeep
//!
//! ~~~toml
//! area = "docs"
//! ~~~
//! ```
//!
//! The text is anybody's. It chooses among the formulas that a person accepted, and what it gives a variable goes where
//! that formula lets a variable go.

use crate::config::hand::Scalar;
use shopfloor_core::ids::FormulaName;
use shopfloor_core::label::Label;
use std::collections::BTreeMap;

const KEY: &str = "formula:";
const VARS_MAX: usize = 64;

/// The formula, and its variables.
#[derive(Debug, PartialEq, Eq)]
pub struct Wanted {
    pub formula: FormulaName,
    pub vars: BTreeMap<String, String>,
}

impl Wanted {
    /// The error says in one line what is wrong with the text.
    pub fn in_text(body: &str) -> Result<Wanted, String> {
        let Some(name) = body.lines().find_map(named) else {
            let formula = Label::Action.as_str().parse().map_err(|e| format!("{e}"))?;
            return Ok(Wanted { formula, vars: BTreeMap::new() });
        };
        let formula = name.parse().map_err(|e| format!("`{KEY} {name}`: {e}"))?;
        Ok(Wanted { formula, vars: block(body).map_or(Ok(BTreeMap::new()), |text| variables(&text))? })
    }
}

/// The name in a line of its own: `formula: upkeep`, in whatever Markdown it stands.
fn named(line: &str) -> Option<&str> {
    let plain = |c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`' | '-' | '>');
    let line = line.trim_matches(plain);
    let (key, name) = line.split_at_checked(KEY.len())?;
    let name = name.trim_matches(plain);
    (key.eq_ignore_ascii_case(KEY) && !name.is_empty() && !name.contains(char::is_whitespace)).then_some(name)
}

/// What stands in the first block of TOML.
fn block(body: &str) -> Option<String> {
    let mut lines = body.lines();
    let fence = lines.by_ref().find_map(|line| {
        let line = line.trim();
        let fence = ["```", "~~~"].into_iter().find(|fence| line.starts_with(fence))?;
        line.trim_start_matches(['`', '~']).trim().eq_ignore_ascii_case("toml").then_some(fence)
    })?;
    Some(
        lines
            .take_while(|line| !line.trim_start().starts_with(fence))
            .map(|line| format!("{line}\n"))
            .collect(),
    )
}

fn variables(text: &str) -> Result<BTreeMap<String, String>, String> {
    let vars: BTreeMap<String, Scalar> = toml::from_str(text).map_err(|e| {
        let line = e.span().map_or(0, |span| text[..span.start.min(text.len())].lines().count().max(1));
        format!("its block of TOML, line {line}: {}", e.message())
    })?;
    if vars.len() > VARS_MAX {
        return Err(format!("it gives {} variables, more than {VARS_MAX}", vars.len()));
    }
    Ok(vars.into_iter().map(|(name, value)| (name, value.to_string())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(body: &str) -> Result<(String, Vec<(String, String)>), String> {
        Wanted::in_text(body).map(|wanted| (wanted.formula.to_string(), wanted.vars.into_iter().collect()))
    }

    #[test]
    fn a_text_names_a_formula_or_is_the_task_itself() {
        let plain = |name: &str| Ok((name.to_owned(), Vec::new()));
        assert_eq!(found("Rotate the keys.\n\n```toml\nx = 1\n```\n"), plain("action"));
        assert_eq!(found("This formula: a b c.\n"), plain("action"));
        assert_eq!(found("Please.\n\n- **Formula:** `upkeep`\n"), plain("upkeep"));
        let vars = vec![("area".to_owned(), "docs".to_owned()), ("full".to_owned(), "true".to_owned())];
        let body =
            "formula: upkeep\r\n\r\n```sh\nrm -r x\n```\n```toml\narea = \"docs\"\nfull = true\n```\nBye";
        assert_eq!(found(body), Ok(("upkeep".to_owned(), vars)));
    }

    #[test]
    fn what_cannot_be_meant_is_said() {
        assert!(found("formula: ../../etc").unwrap_err().starts_with("`formula: ../../etc`"));
        let error = found("formula: x\n~~~toml\na = 1\nb = \n~~~\n").unwrap_err();
        assert!(error.starts_with("its block of TOML, line 2"), "{error}");
        assert!(found("formula: x\n```toml\na = [1]\n```").is_err());
    }
}
