//! Pull requests, their reviews and the statuses of commits.

use super::types::{body, title};
use super::*;
use crate::sqlite::optional_from_sql;
use shopfloor_core::effect::{StatusState, Verdict};
use shopfloor_core::forge::Subject;
use shopfloor_core::ids::{IssueNumber, PrNumber, RunId};

const SUMMARY: &str = "SELECT number, title, state, branch, head, issue, merged_commit, created_at, updated_at, author FROM forge_prs";
const REVIEW: &str = "SELECT id, head, verdict, text, author, created_at, dismissed_at FROM forge_reviews";

impl ForgeDb {
    /// The branch's open pull request, with this head; created if the branch has none open.
    pub fn open_pr(&mut self, project: &ProjectName, new: &NewPr) -> ForgeResult<PrNumber> {
        let now = (self.clock)();
        let title = title("pull request title", &new.title)?;
        let body = body("pull request body", &new.body)?;
        let tx = write(&mut self.conn)?;
        if let Some(issue) = new.issue {
            issues::require(&tx, project, issue)?;
        }
        let open = tx
            .query_row(
                "SELECT number FROM forge_prs WHERE project = ?1 AND branch = ?2 AND state = 'open'",
                [project.as_str(), &new.branch],
                |row| from_sql(row, 0),
            )
            .optional()?;
        let number = match open {
            Some(number) => {
                let moved = tx.execute(
                    "UPDATE forge_prs SET head = ?3, updated_at = ?4
                     WHERE project = ?1 AND number = ?2 AND head <> ?3",
                    params![project.as_str(), to_sql(number), new.head.as_str(), to_sql(now.0)],
                )?;
                if moved == 0 {
                    return Ok(PrNumber(number));
                }
                number
            }
            None => insert(&tx, project, new, &title, &body, now)?,
        };
        changed(&tx, project, ChangeKind::Pr, number, 0)?;
        tx.commit()?;
        Ok(PrNumber(number))
    }

    /// The pull request with its reviews and its head's statuses.
    pub fn pr(&mut self, project: &ProjectName, number: PrNumber) -> ForgeResult<Pr> {
        let tx = self.conn.transaction()?;
        let summary = read(&tx, project, number)?;
        let body = tx.query_row(
            "SELECT body FROM forge_prs WHERE project = ?1 AND number = ?2",
            params![project.as_str(), to_sql(number.0)],
            |row| row.get(0),
        )?;
        Ok(Pr {
            number,
            title: summary.title,
            state: summary.state,
            branch: summary.branch,
            issue: summary.issue,
            merged_commit: summary.merged_commit,
            author: summary.author,
            body,
            created_at: summary.created_at,
            updated_at: summary.updated_at,
            reviews: last_reviews(&tx, project, number, usize::MAX)?,
            comments: comments::all(&tx, project, Subject::Pr(number))?,
            statuses: statuses_of(&tx, project, &summary.head)?,
            head: summary.head,
        })
    }

    /// The pull request without its texts.
    pub fn pr_summary(&mut self, project: &ProjectName, number: PrNumber) -> ForgeResult<PrSummary> {
        read(&self.conn, project, number)
    }

    /// The project's pull requests, by number.
    pub fn prs(&mut self, project: &ProjectName, state: Option<PrState>) -> ForgeResult<Vec<PrSummary>> {
        labels::require_project(&self.conn, project)?;
        let mut query = self.conn.prepare_cached(&format!(
            "{SUMMARY} WHERE project = ?1 AND (?2 IS NULL OR state = ?2) ORDER BY number"
        ))?;
        let rows = query.query_map(params![project.as_str(), state.map(PrState::as_str)], summary)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The newest pull request of the issue that was closed without a merge.
    pub fn abandoned_pr(
        &mut self,
        project: &ProjectName,
        issue: IssueNumber,
    ) -> ForgeResult<Option<PrNumber>> {
        labels::require_project(&self.conn, project)?;
        let mut query = self.conn.prepare_cached(
            "SELECT number FROM forge_prs INDEXED BY forge_prs_issue
             WHERE project = ?1 AND issue = ?2 AND state = 'closed' ORDER BY number DESC LIMIT 1",
        )?;
        let found = query.query_row(params![project.as_str(), to_sql(issue.0)], |row| from_sql(row, 0));
        Ok(found.optional()?.map(PrNumber))
    }

    /// Moves an open pull request to where its branch is now. Its reviews still refer to the commits they
    /// were about.
    pub fn move_pr(&mut self, project: &ProjectName, number: PrNumber, head: &Sha) -> ForgeResult<()> {
        let now = (self.clock)();
        let tx = write(&mut self.conn)?;
        read(&tx, project, number)?;
        let moved = tx.execute(
            "UPDATE forge_prs SET head = ?3, updated_at = ?4
             WHERE project = ?1 AND number = ?2 AND state = 'open' AND head <> ?3",
            params![project.as_str(), to_sql(number.0), head.as_str(), to_sql(now.0)],
        )?;
        if moved > 0 {
            changed(&tx, project, ChangeKind::Pr, number.0, 0)?;
        }
        Ok(tx.commit()?)
    }

    /// Posts a comment on a pull request, once for each marker; returns its id. A comment without a marker is
    /// a person's.
    pub fn comment_pr(
        &mut self,
        project: &ProjectName,
        pr: PrNumber,
        author: &str,
        text: &str,
        marker: Option<&str>,
    ) -> ForgeResult<u64> {
        let now = (self.clock)();
        let text = body("comment", text)?;
        let tx = write(&mut self.conn)?;
        read(&tx, project, pr)?;
        tx.execute(
            "INSERT INTO forge_pr_comments (project, pr, author, body, marker, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
            params![project.as_str(), to_sql(pr.0), author, text, marker, to_sql(now.0)],
        )?;
        let id = tx.query_row(
            "SELECT max(id) FROM forge_pr_comments WHERE project = ?1 AND pr = ?2 AND marker IS ?3",
            params![project.as_str(), to_sql(pr.0), marker],
            |row| from_sql(row, 0),
        )?;
        if marker.is_none() {
            changed(&tx, project, ChangeKind::PrComment, pr.0, id)?;
        }
        tx.commit()?;
        Ok(id)
    }

    /// Closes a pull request, as merged if a commit carries it. A merge is the stronger word: it is still
    /// noted on a closed pull request, and a merged one stays merged.
    pub fn close_pr(
        &mut self,
        project: &ProjectName,
        number: PrNumber,
        merged: Option<&Sha>,
    ) -> ForgeResult<()> {
        let now = (self.clock)();
        let tx = write(&mut self.conn)?;
        let pr = read(&tx, project, number)?;
        let state = match (merged, pr.merged_commit) {
            (Some(commit), Some(before)) if *commit != before => {
                return Err(ForgeError::AlreadyMerged { pr: number, commit: before });
            }
            (_, Some(_)) => PrState::Merged,
            (Some(_), None) => PrState::Merged,
            (None, None) => PrState::Closed,
        };
        if state == pr.state {
            return Ok(());
        }
        tx.execute(
            "UPDATE forge_prs SET state = ?3, merged_commit = ?4, updated_at = ?5
             WHERE project = ?1 AND number = ?2",
            params![
                project.as_str(),
                to_sql(number.0),
                state.as_str(),
                merged.map(Sha::as_str),
                to_sql(now.0)
            ],
        )?;
        changed(&tx, project, ChangeKind::Pr, number.0, 0)?;
        Ok(tx.commit()?)
    }

    /// Posts a review, once for each marker; returns its id. Nobody approves their own pull request, and
    /// whoever approves takes back the changes they requested before.
    pub fn review(&mut self, project: &ProjectName, pr: PrNumber, new: &NewReview) -> ForgeResult<u64> {
        let now = (self.clock)();
        let text = body("review", &new.text)?;
        let tx = write(&mut self.conn)?;
        let author = read(&tx, project, pr)?.author;
        if new.verdict == Verdict::Approve && new.author == author {
            return Err(ForgeError::OwnApproval { pr, author });
        }
        let posted = tx
            .query_row(
                "SELECT id FROM forge_reviews WHERE project = ?1 AND pr = ?2 AND marker = ?3",
                params![project.as_str(), to_sql(pr.0), new.marker],
                |row| from_sql(row, 0),
            )
            .optional()?;
        if let Some(id) = posted {
            return Ok(id);
        }
        tx.execute(
            "INSERT INTO forge_reviews (project, pr, head, verdict, text, author, marker, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                project.as_str(),
                to_sql(pr.0),
                new.head.as_str(),
                new.verdict.as_str(),
                text,
                new.author,
                new.marker,
                to_sql(now.0)
            ],
        )?;
        let id = tx.last_insert_rowid() as u64;
        changed(&tx, project, ChangeKind::Review, pr.0, id)?;
        if new.verdict == Verdict::Approve {
            dismiss(&tx, project, pr, &new.author, id, now)?;
        }
        tx.commit()?;
        Ok(id)
    }

    /// The last reviews of a pull request, oldest first.
    pub fn reviews(&mut self, project: &ProjectName, pr: PrNumber, last: usize) -> ForgeResult<Vec<Review>> {
        let tx = self.conn.transaction()?;
        read(&tx, project, pr)?;
        last_reviews(&tx, project, pr, last)
    }

    /// One review of a pull request.
    pub fn review_by_id(&mut self, project: &ProjectName, pr: PrNumber, id: u64) -> ForgeResult<Review> {
        let mut query =
            self.conn.prepare_cached(&format!("{REVIEW} WHERE project = ?1 AND pr = ?2 AND id = ?3"))?;
        let args = params![project.as_str(), to_sql(pr.0), to_sql(id)];
        query.query_row(args, review).optional()?.ok_or(ForgeError::NoSuchReview { pr, id })
    }

    /// Sets a commit's status in a context; the latest wins.
    pub fn set_status(&mut self, project: &ProjectName, new: &NewStatus) -> ForgeResult<()> {
        let now = (self.clock)();
        let context = title("status context", &new.context)?;
        let description = body("status description", &new.description)?;
        let tx = write(&mut self.conn)?;
        labels::require_project(&tx, project)?;
        tx.execute(
            "INSERT INTO forge_statuses (project, commit_sha, context, state, description, run, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (project, commit_sha, context) DO UPDATE SET
                 state = excluded.state, description = excluded.description,
                 run = excluded.run, updated_at = excluded.updated_at
             WHERE (state, description, run) IS NOT (excluded.state, excluded.description, excluded.run)",
            params![
                project.as_str(),
                new.commit.as_str(),
                context,
                new.state.as_str(),
                description,
                new.run.map(|run| to_sql(run.0)),
                to_sql(now.0)
            ],
        )?;
        Ok(tx.commit()?)
    }

    /// A commit's statuses, by context.
    pub fn statuses(&mut self, project: &ProjectName, commit: &Sha) -> ForgeResult<Vec<Status>> {
        statuses_of(&self.conn, project, commit)
    }
}

/// Marks the author's requests for changes before that review as taken back.
fn dismiss(
    tx: &Transaction<'_>,
    project: &ProjectName,
    pr: PrNumber,
    author: &str,
    before: u64,
    now: Time,
) -> ForgeResult<()> {
    let mut update = tx.prepare_cached(
        "UPDATE forge_reviews SET dismissed_at = ?5
         WHERE project = ?1 AND pr = ?2 AND author = ?3 AND id < ?4
             AND verdict = 'REQUEST_CHANGES' AND dismissed_at IS NULL
         RETURNING id",
    )?;
    let args = params![project.as_str(), to_sql(pr.0), author, to_sql(before), to_sql(now.0)];
    let dismissed = update.query_map(args, |row| from_sql(row, 0))?.collect::<Result<Vec<u64>, _>>()?;
    for id in dismissed {
        changed(tx, project, ChangeKind::Review, pr.0, id)?;
    }
    Ok(())
}

fn insert(
    tx: &Transaction<'_>,
    project: &ProjectName,
    new: &NewPr,
    title: &str,
    body: &str,
    now: Time,
) -> ForgeResult<u64> {
    let number = take_number(tx, project)?;
    tx.execute(
        "INSERT INTO forge_prs
             (project, number, title, body, state, branch, head, issue, created_at, updated_at, author)
         VALUES (?1, ?2, ?3, ?4, 'open', ?5, ?6, ?7, ?8, ?8, ?9)",
        params![
            project.as_str(),
            to_sql(number),
            title,
            body,
            new.branch,
            new.head.as_str(),
            new.issue.map(|issue| to_sql(issue.0)),
            to_sql(now.0),
            new.author
        ],
    )?;
    Ok(number)
}

fn read(conn: &Connection, project: &ProjectName, number: PrNumber) -> ForgeResult<PrSummary> {
    let mut query = conn.prepare_cached(&format!("{SUMMARY} WHERE project = ?1 AND number = ?2"))?;
    let found = query.query_row(params![project.as_str(), to_sql(number.0)], summary).optional()?;
    found.ok_or(ForgeError::NoSuchPr(number))
}

fn summary(row: &Row<'_>) -> rusqlite::Result<PrSummary> {
    Ok(PrSummary {
        number: PrNumber(from_sql(row, 0)?),
        title: row.get(1)?,
        state: stored(row, 2, PrState::parse)?,
        branch: row.get(3)?,
        head: stored_sha(row, 4)?,
        issue: optional_from_sql(row, 5)?.map(IssueNumber),
        merged_commit: match row.get_ref(6)? {
            rusqlite::types::ValueRef::Null => None,
            _ => Some(stored_sha(row, 6)?),
        },
        created_at: Time(from_sql(row, 7)?),
        updated_at: Time(from_sql(row, 8)?),
        author: row.get(9)?,
    })
}

fn last_reviews(
    conn: &Connection,
    project: &ProjectName,
    pr: PrNumber,
    last: usize,
) -> ForgeResult<Vec<Review>> {
    let mut query =
        conn.prepare_cached(&format!("{REVIEW} WHERE project = ?1 AND pr = ?2 ORDER BY id DESC LIMIT ?3"))?;
    let args = params![project.as_str(), to_sql(pr.0), to_sql(last as u64)];
    let mut reviews = query.query_map(args, review)?.collect::<Result<Vec<_>, _>>()?;
    reviews.reverse();
    Ok(reviews)
}

fn review(row: &Row<'_>) -> rusqlite::Result<Review> {
    let verdict = |word: &str| {
        [Verdict::Approve, Verdict::RequestChanges, Verdict::Discuss].into_iter().find(|v| v.as_str() == word)
    };
    Ok(Review {
        id: from_sql(row, 0)?,
        head: stored_sha(row, 1)?,
        verdict: stored(row, 2, verdict)?,
        text: row.get(3)?,
        author: row.get(4)?,
        created_at: Time(from_sql(row, 5)?),
        dismissed_at: optional_from_sql(row, 6)?.map(Time),
    })
}

fn statuses_of(conn: &Connection, project: &ProjectName, commit: &Sha) -> ForgeResult<Vec<Status>> {
    let state = |word: &str| {
        [StatusState::Pending, StatusState::Success, StatusState::Failure, StatusState::Error]
            .into_iter()
            .find(|s| s.as_str() == word)
    };
    let mut query = conn.prepare_cached(
        "SELECT context, state, description, run, updated_at FROM forge_statuses
         WHERE project = ?1 AND commit_sha = ?2 ORDER BY context",
    )?;
    let rows = query.query_map([project.as_str(), commit.as_str()], |row| {
        Ok(Status {
            context: row.get(0)?,
            state: stored(row, 1, state)?,
            description: row.get(2)?,
            run: optional_from_sql(row, 3)?.map(RunId),
            updated_at: Time(from_sql(row, 4)?),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
