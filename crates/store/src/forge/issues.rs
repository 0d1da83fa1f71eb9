//! Issues and their comments.

use super::types::{body, title};
use super::*;
use crate::sqlite::optional_from_sql;
use shopfloor_core::deps;
use shopfloor_core::forge::Subject;
use shopfloor_core::ids::IssueNumber;
use std::collections::BTreeMap;

impl ForgeDb {
    /// Creates an issue. Its labels must be the project's, its dependencies issues of the project.
    pub fn create_issue(&mut self, project: &ProjectName, new: &NewIssue) -> ForgeResult<IssueNumber> {
        self.create_issue_once(project, new, None)
    }

    /// The same, but once for each marker.
    pub fn create_issue_once(
        &mut self,
        project: &ProjectName,
        new: &NewIssue,
        marker: Option<&str>,
    ) -> ForgeResult<IssueNumber> {
        let now = (self.clock)();
        let title = title("issue title", &new.title)?;
        let body = body("issue body", &with_deps(&new.body, &new.deps))?;
        let tx = write(&mut self.conn)?;
        let made = tx
            .query_row(
                "SELECT number FROM forge_issues WHERE project = ?1 AND marker = ?2",
                params![project.as_str(), marker],
                |row| from_sql(row, 0),
            )
            .optional()?;
        if let Some(number) = made {
            return Ok(IssueNumber(number));
        }
        let number = take_number(&tx, project)?;
        for dep in &new.deps {
            require(&tx, project, *dep)?;
        }
        tx.execute(
            "INSERT INTO forge_issues
                 (project, number, title, body, author, state, created_at, updated_at, marker)
             VALUES (?1, ?2, ?3, ?4, ?5, 'open', ?6, ?6, ?7)",
            params![project.as_str(), to_sql(number), title, body, new.author, to_sql(now.0), marker],
        )?;
        for label in &new.labels {
            labels::add(&tx, project, number, label)?;
        }
        changed(&tx, project, ChangeKind::Issue, number, 0)?;
        tx.commit()?;
        Ok(IssueNumber(number))
    }

    /// The issue with all its comments.
    pub fn issue(&mut self, project: &ProjectName, number: IssueNumber) -> ForgeResult<Issue> {
        let tx = self.conn.transaction()?;
        let mut issue = read(&tx, project, number)?;
        issue.comments = comments::all(&tx, project, Subject::Issue(number))?;
        Ok(issue)
    }

    /// Several issues without their comments, which may be many megabytes, by their numbers: as many statements, however many they are. None is
    /// there for a number that is no issue.
    pub fn issues_without_comments(
        &mut self,
        project: &ProjectName,
        numbers: &[IssueNumber],
    ) -> ForgeResult<BTreeMap<IssueNumber, Issue>> {
        let tx = self.conn.transaction()?;
        let numbers = serde_json::json!(numbers.iter().map(|number| to_sql(number.0)).collect::<Vec<_>>());
        let args = params![project.as_str(), numbers.to_string()];
        let mut query = tx.prepare_cached(&format!(
            "{SELECT} WHERE project = ?1 AND number IN (SELECT value FROM json_each(?2))"
        ))?;
        let found = query.query_map(args, read_row)?;
        let mut issues = found
            .map(|issue| issue.map(|issue| (issue.number, issue)))
            .collect::<Result<BTreeMap<_, _>, _>>()?;
        let mut labels = tx.prepare_cached(
            "SELECT number, label FROM forge_issue_labels
             WHERE project = ?1 AND number IN (SELECT value FROM json_each(?2)) ORDER BY number, label",
        )?;
        let rows = labels.query_map(args, |row| Ok((from_sql(row, 0)?, row.get(1)?)))?;
        for row in rows {
            let (number, label) = row?;
            if let Some(issue) = issues.get_mut(&IssueNumber(number)) {
                issue.labels.push(label);
            }
        }
        Ok(issues)
    }

    /// The issues that pass the filter, by number.
    pub fn issues(&mut self, project: &ProjectName, filter: &IssueFilter) -> ForgeResult<Vec<IssueSummary>> {
        let tx = self.conn.transaction()?;
        labels::require_project(&tx, project)?;
        if let Some(label) = &filter.label {
            labels::require(&tx, project, label)?;
        }
        // Two statements: one with a condition for both cases could not use the index of states.
        let of_state = if filter.state.is_some() { "i.state = ?2" } else { "?2 IS NULL" };
        let mut query = tx.prepare_cached(&format!(
            "SELECT number, title, state, created_at, updated_at FROM forge_issues i
             WHERE project = ?1 AND {of_state}
               AND (?3 IS NULL OR EXISTS (SELECT 1 FROM forge_issue_labels l
                    WHERE l.project = i.project AND l.number = i.number AND l.label = ?3))
               AND (?4 = '[]' OR NOT EXISTS (SELECT 1 FROM json_each(?4) word
                    WHERE i.title NOT LIKE word.value ESCAPE '!' AND i.body NOT LIKE word.value ESCAPE '!'))
             ORDER BY number",
        ))?;
        let words = serde_json::json!(filter.words.iter().map(|word| containing(word)).collect::<Vec<_>>());
        let args =
            params![project.as_str(), filter.state.map(IssueState::as_str), filter.label, words.to_string()];
        let rows = query.query_map(args, |row| {
            Ok(IssueSummary {
                number: IssueNumber(from_sql(row, 0)?),
                title: row.get(1)?,
                state: stored(row, 2, IssueState::parse)?,
                labels: vec![],
                created_at: Time(from_sql(row, 3)?),
                updated_at: Time(from_sql(row, 4)?),
            })
        })?;
        let mut issues = rows.collect::<Result<Vec<_>, _>>()?;
        let mut labels = labels::of_project(&tx, project, filter.state)?;
        for issue in &mut issues {
            issue.labels = labels.remove(&issue.number.0).unwrap_or_default();
        }
        Ok(issues)
    }

    /// Changes the title, the body or both.
    pub fn edit_issue(
        &mut self,
        project: &ProjectName,
        number: IssueNumber,
        new_title: Option<&str>,
        new_body: Option<&str>,
    ) -> ForgeResult<()> {
        let now = (self.clock)();
        let new_title = new_title.map(|text| title("issue title", text)).transpose()?;
        let new_body = new_body.map(|text| body("issue body", text)).transpose()?;
        let tx = write(&mut self.conn)?;
        require(&tx, project, number)?;
        let edited = tx.execute(
            "UPDATE forge_issues SET title = coalesce(?3, title), body = coalesce(?4, body)
             WHERE project = ?1 AND number = ?2
               AND (title IS NOT coalesce(?3, title) OR body IS NOT coalesce(?4, body))",
            params![project.as_str(), to_sql(number.0), new_title, new_body],
        )?;
        if edited > 0 {
            touch(&tx, project, number, now)?;
        }
        Ok(tx.commit()?)
    }

    /// Adds and removes labels in one go; returns the issue's version afterwards. A label in both lists ends
    /// up removed.
    pub fn edit_labels<S: AsRef<str>>(
        &mut self,
        project: &ProjectName,
        number: IssueNumber,
        add: &[S],
        remove: &[S],
    ) -> ForgeResult<Version> {
        let now = (self.clock)();
        let tx = write(&mut self.conn)?;
        require(&tx, project, number)?;
        let before = labels::of_issue(&tx, project, number.0)?;
        for label in add {
            labels::add(&tx, project, number.0, label.as_ref())?;
        }
        for label in remove {
            labels::remove(&tx, project, number.0, label.as_ref())?;
        }
        if labels::of_issue(&tx, project, number.0)? != before {
            touch(&tx, project, number, now)?;
        }
        let version = read(&tx, project, number)?.version;
        tx.commit()?;
        Ok(version)
    }

    /// Posts a comment, once for each marker; returns its id. A comment without a marker is a person's.
    pub fn comment(
        &mut self,
        project: &ProjectName,
        number: IssueNumber,
        author: &str,
        text: &str,
        marker: Option<&str>,
    ) -> ForgeResult<u64> {
        let now = (self.clock)();
        let text = body("comment", text)?;
        if text.trim().is_empty() {
            return Err(ForgeError::Empty { what: "comment" });
        }
        let tx = write(&mut self.conn)?;
        require(&tx, project, number)?;
        let posted = tx
            .query_row(
                "SELECT id FROM forge_comments WHERE project = ?1 AND number = ?2 AND marker = ?3",
                params![project.as_str(), to_sql(number.0), marker],
                |row| from_sql(row, 0),
            )
            .optional()?;
        if let Some(id) = posted {
            return Ok(id);
        }
        tx.execute(
            "INSERT INTO forge_comments (project, number, author, body, created_at, marker)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![project.as_str(), to_sql(number.0), author, text, to_sql(now.0), marker],
        )?;
        let id = tx.last_insert_rowid() as u64;
        touch(&tx, project, number, now)?;
        if marker.is_none() {
            changed(&tx, project, ChangeKind::Comment, number.0, id)?;
        }
        tx.commit()?;
        Ok(id)
    }

    pub fn close_issue(&mut self, project: &ProjectName, number: IssueNumber) -> ForgeResult<()> {
        self.set_issue_state(project, number, IssueState::Closed)
    }

    pub fn reopen_issue(&mut self, project: &ProjectName, number: IssueNumber) -> ForgeResult<()> {
        self.set_issue_state(project, number, IssueState::Open)
    }

    fn set_issue_state(
        &mut self,
        project: &ProjectName,
        number: IssueNumber,
        state: IssueState,
    ) -> ForgeResult<()> {
        let now = (self.clock)();
        let tx = write(&mut self.conn)?;
        require(&tx, project, number)?;
        let closed_at = (state == IssueState::Closed).then(|| to_sql(now.0));
        let moved = tx.execute(
            "UPDATE forge_issues SET state = ?3, closed_at = ?4
             WHERE project = ?1 AND number = ?2 AND state <> ?3",
            params![project.as_str(), to_sql(number.0), state.as_str(), closed_at],
        )?;
        if moved > 0 {
            touch(&tx, project, number, now)?;
        }
        Ok(tx.commit()?)
    }
}

/// The pattern of texts that contain that word.
fn containing(word: &str) -> String {
    let mut pattern = String::from("%");
    for c in word.chars() {
        if "!%_".contains(c) {
            pattern.push('!');
        }
        pattern.push(c);
    }
    pattern + "%"
}

pub(super) fn require(conn: &Connection, project: &ProjectName, number: IssueNumber) -> ForgeResult<()> {
    let found = conn
        .query_row(
            "SELECT 1 FROM forge_issues WHERE project = ?1 AND number = ?2",
            params![project.as_str(), to_sql(number.0)],
            |_| Ok(()),
        )
        .optional()?;
    if found.is_none() {
        labels::require_project(conn, project)?;
    }
    found.ok_or(ForgeError::NoSuchIssue(number))
}

/// With when each was last changed, for [`read_row`].
const SELECT: &str = "SELECT number, title, state, body, author, created_at, updated_at, closed_at,
        coalesce((SELECT seq FROM forge_changes c
                  WHERE c.project = i.project AND c.kind = 'issue' AND c.number = i.number AND c.id = 0), 0)
    FROM forge_issues i";

/// An issue without its labels and comments.
fn read_row(row: &Row<'_>) -> rusqlite::Result<Issue> {
    Ok(Issue {
        number: IssueNumber(from_sql(row, 0)?),
        title: row.get(1)?,
        state: stored(row, 2, IssueState::parse)?,
        labels: vec![],
        body: row.get(3)?,
        author: row.get(4)?,
        created_at: Time(from_sql(row, 5)?),
        updated_at: Time(from_sql(row, 6)?),
        closed_at: optional_from_sql(row, 7)?.map(Time),
        version: Version::numbered(from_sql(row, 8)?),
        comments: vec![],
    })
}

fn read(conn: &Connection, project: &ProjectName, number: IssueNumber) -> ForgeResult<Issue> {
    let found = conn
        .prepare_cached(&format!("{SELECT} WHERE project = ?1 AND number = ?2"))?
        .query_row(params![project.as_str(), to_sql(number.0)], read_row)
        .optional()?;
    let mut issue = found.ok_or(ForgeError::NoSuchIssue(number))?;
    issue.labels = labels::of_issue(conn, project, number.0)?;
    Ok(issue)
}

fn touch(tx: &Transaction<'_>, project: &ProjectName, number: IssueNumber, now: Time) -> ForgeResult<()> {
    tx.execute(
        "UPDATE forge_issues SET updated_at = ?3 WHERE project = ?1 AND number = ?2",
        params![project.as_str(), to_sql(number.0), to_sql(now.0)],
    )?;
    changed(tx, project, ChangeKind::Issue, number.0, 0)
}

/// The body with a section for those dependencies that it does not name itself. Dependencies are read from
/// the text alone, so people see what the scheduler sees.
fn with_deps(body: &str, deps: &[IssueNumber]) -> String {
    let named = deps::parse(body);
    let mut missing: Vec<_> = deps.iter().filter(|dep| !named.contains(dep)).collect();
    missing.sort_unstable();
    missing.dedup();
    if missing.is_empty() {
        return body.to_owned();
    }
    let mut out = body.trim_end().to_owned();
    if !out.is_empty() {
        out.push_str("\n\n");
    }
    out.push_str("## Dependencies\n");
    for dep in missing {
        out.push_str(&format!("- #{dep}\n"));
    }
    out
}
