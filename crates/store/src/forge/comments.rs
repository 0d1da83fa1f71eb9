//! Comments on issues and on pull requests: two tables of the same shape.

use super::types::body;
use super::*;
use shopfloor_core::forge::Subject;
use shopfloor_core::ids::{IssueNumber, PrNumber};

/// Where the comments on a subject are: table, column, number, and how a change to one is reported.
fn place(on: Subject) -> (&'static str, &'static str, u64, ChangeKind) {
    match on {
        Subject::Issue(IssueNumber(number)) => ("forge_comments", "number", number, ChangeKind::Comment),
        Subject::Pr(PrNumber(number)) => ("forge_pr_comments", "pr", number, ChangeKind::PrComment),
    }
}

impl ForgeDb {
    /// One comment.
    pub fn comment_by_id(&mut self, project: &ProjectName, on: Subject, id: u64) -> ForgeResult<Comment> {
        let (table, column, number, _) = place(on);
        let sql = format!(
            "SELECT id, author, body, created_at FROM {table} WHERE project = ?1 AND {column} = ?2 AND id = ?3"
        );
        let args = params![project.as_str(), to_sql(number), to_sql(id)];
        let found = self.conn.prepare_cached(&sql)?.query_row(args, comment).optional()?;
        found.ok_or(ForgeError::NoSuchComment { on, id })
    }

    /// A person rewords a comment.
    pub fn edit_comment(
        &mut self,
        project: &ProjectName,
        on: Subject,
        id: u64,
        text: &str,
    ) -> ForgeResult<()> {
        let text = body("comment", text)?;
        if text.trim().is_empty() {
            return Err(ForgeError::Empty { what: "comment" });
        }
        if self.comment_by_id(project, on, id)?.body == text {
            return Ok(());
        }
        let (table, column, number, kind) = place(on);
        let tx = write(&mut self.conn)?;
        let sql = format!("UPDATE {table} SET body = ?4 WHERE project = ?1 AND {column} = ?2 AND id = ?3");
        tx.execute(&sql, params![project.as_str(), to_sql(number), to_sql(id), text])?;
        changed(&tx, project, kind, number, id)?;
        Ok(tx.commit()?)
    }
}

/// Oldest first.
pub(super) fn all(conn: &Connection, project: &ProjectName, on: Subject) -> ForgeResult<Vec<Comment>> {
    let (table, column, number, _) = place(on);
    let mut query = conn.prepare_cached(&format!(
        "SELECT id, author, body, created_at FROM {table}
         WHERE project = ?1 AND {column} = ?2 ORDER BY id"
    ))?;
    let comments = query.query_map(params![project.as_str(), to_sql(number)], comment)?;
    Ok(comments.collect::<Result<_, _>>()?)
}

fn comment(row: &Row<'_>) -> rusqlite::Result<Comment> {
    Ok(Comment {
        id: from_sql(row, 0)?,
        author: row.get(1)?,
        body: row.get(2)?,
        created_at: Time(from_sql(row, 3)?),
    })
}
