//! Labels. A project has a set of them, and an issue can only carry labels of that set, so a typo is an error
//! and not an issue that nobody ever picks up.

use super::*;
use shopfloor_core::label::Label;
use std::collections::HashMap;

/// The labels every project has: the words of the issue lifecycle.
pub const DEFAULT_LABELS: [&str; 11] = [
    "action",
    Label::Backlog.as_str(),
    Label::Blocked.as_str(),
    Label::InProgress.as_str(),
    "prediction/actioned",
    "prediction/backlog",
    "prediction/unreviewed",
    Label::Priority.as_str(),
    Label::TechDebt.as_str(),
    Label::Underspecified.as_str(),
    "vision",
];

impl ForgeDb {
    /// Adds a label to the project's set. Returns whether it is new.
    pub fn create_label(&mut self, project: &ProjectName, name: &str) -> ForgeResult<bool> {
        let name = valid_name(name)?;
        let tx = write(&mut self.conn)?;
        require_project(&tx, project)?;
        let new = insert(&tx, project.as_str(), &name)?;
        tx.commit()?;
        Ok(new)
    }

    /// The project's labels in alphabetical order.
    pub fn labels(&mut self, project: &ProjectName) -> ForgeResult<Vec<String>> {
        require_project(&self.conn, project)?;
        known(&self.conn, project)
    }
}

pub(super) fn require_project(conn: &Connection, project: &ProjectName) -> ForgeResult<()> {
    let found = conn
        .query_row("SELECT 1 FROM forge_projects WHERE project = ?1", [project.as_str()], |_| Ok(()))
        .optional()?;
    found.ok_or_else(|| ForgeError::NoSuchProject(project.clone()))
}

pub(super) fn insert(tx: &Transaction<'_>, project: &str, name: &str) -> ForgeResult<bool> {
    let sql = "INSERT INTO forge_labels (project, name) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    Ok(tx.execute(sql, [project, name])? > 0)
}

fn valid_name(name: &str) -> ForgeResult<String> {
    let name = name.trim();
    let len = name.chars().count();
    if name.is_empty() {
        Err(ForgeError::Empty { what: "label" })
    } else if len > LABEL_CHARS_MAX {
        Err(ForgeError::TooLong { what: "label", len, unit: "characters", max: LABEL_CHARS_MAX })
    } else if name.contains(|c: char| c == ',' || c.is_control()) {
        Err(ForgeError::InvalidLabel(name.to_owned()))
    } else {
        Ok(name.to_owned())
    }
}

fn known(conn: &Connection, project: &ProjectName) -> ForgeResult<Vec<String>> {
    let mut query = conn.prepare_cached("SELECT name FROM forge_labels WHERE project = ?1 ORDER BY name")?;
    let names = query.query_map([project.as_str()], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

/// Refuses a label the project does not have, and suggests which one may have been meant.
pub(super) fn require(conn: &Connection, project: &ProjectName, name: &str) -> ForgeResult<()> {
    let found = conn
        .query_row(
            "SELECT 1 FROM forge_labels WHERE project = ?1 AND name = ?2",
            [project.as_str(), name],
            |_| Ok(()),
        )
        .optional()?;
    if found.is_some() {
        return Ok(());
    }
    let known = known(conn, project)?;
    let nearest = nearest(&known, name).cloned();
    Err(ForgeError::UnknownLabel { name: name.to_owned(), known, nearest })
}

/// The label that may have been meant.
pub fn nearest<'a>(known: &'a [String], name: &str) -> Option<&'a String> {
    let distance = |label: &str| strsim::damerau_levenshtein(&label.to_lowercase(), &name.to_lowercase());
    let (distance, label) = known.iter().map(|label| (distance(label), label)).min()?;
    // Anything further away is another word, and a wrong hint is worse than none.
    (distance <= 1 + label.chars().count() / 4).then_some(label)
}

pub(super) fn of_issue(conn: &Connection, project: &ProjectName, number: u64) -> ForgeResult<Vec<String>> {
    let mut query = conn.prepare_cached(
        "SELECT label FROM forge_issue_labels WHERE project = ?1 AND number = ?2 ORDER BY label",
    )?;
    let names = query.query_map(params![project.as_str(), to_sql(number)], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

/// The labels of every issue that has some, or of every one in that state: one query, however many there are.
pub(super) fn of_project(
    conn: &Connection,
    project: &ProjectName,
    state: Option<IssueState>,
) -> ForgeResult<HashMap<u64, Vec<String>>> {
    let of_state = match state {
        Some(_) => "number IN (SELECT number FROM forge_issues WHERE project = ?1 AND state = ?2)",
        None => "?2 IS NULL",
    };
    let mut query = conn.prepare_cached(&format!(
        "SELECT number, label FROM forge_issue_labels WHERE project = ?1 AND {of_state} ORDER BY number, label",
    ))?;
    let args = params![project.as_str(), state.map(IssueState::as_str)];
    let rows = query.query_map(args, |row| Ok((from_sql(row, 0)?, row.get(1)?)))?;
    let mut labels: HashMap<u64, Vec<String>> = HashMap::new();
    for row in rows {
        let (number, label) = row?;
        labels.entry(number).or_default().push(label);
    }
    Ok(labels)
}

/// Returns whether the label is new to the issue.
pub(super) fn add(tx: &Transaction<'_>, project: &ProjectName, number: u64, name: &str) -> ForgeResult<bool> {
    require(tx, project, name)?;
    let done = tx.execute(
        "INSERT INTO forge_issue_labels (project, number, label) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        params![project.as_str(), to_sql(number), name],
    )?;
    Ok(done > 0)
}

/// Returns whether the issue carried the label.
pub(super) fn remove(
    tx: &Transaction<'_>,
    project: &ProjectName,
    number: u64,
    name: &str,
) -> ForgeResult<bool> {
    require(tx, project, name)?;
    let done = tx.execute(
        "DELETE FROM forge_issue_labels WHERE project = ?1 AND number = ?2 AND label = ?3",
        params![project.as_str(), to_sql(number), name],
    )?;
    Ok(done > 0)
}
