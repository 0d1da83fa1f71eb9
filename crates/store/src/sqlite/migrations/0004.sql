-- A pull request of a person's need not be for an issue. What refers to the table is checked at the end.
PRAGMA defer_foreign_keys = ON;

CREATE TABLE forge_prs_before AS SELECT * FROM forge_prs;
DROP TABLE forge_prs;

CREATE TABLE forge_prs (
    project       TEXT NOT NULL REFERENCES forge_projects (project),
    number        INTEGER NOT NULL,
    title         TEXT NOT NULL,
    body          TEXT NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('open', 'closed', 'merged')),
    branch        TEXT NOT NULL,
    head          TEXT NOT NULL,
    issue         INTEGER,
    merged_commit TEXT,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    author        TEXT NOT NULL DEFAULT 'shopfloor',
    PRIMARY KEY (project, number),
    FOREIGN KEY (project, issue) REFERENCES forge_issues (project, number)
);

-- Row by row: each is what its reviews refer to again.
INSERT INTO forge_prs
    (project, number, title, body, state, branch, head, issue, merged_commit, created_at, updated_at, author)
SELECT project, number, title, body, state, branch, head, issue, merged_commit, created_at, updated_at, author
FROM forge_prs_before;
DROP TABLE forge_prs_before;

CREATE UNIQUE INDEX forge_prs_open_branch ON forge_prs (project, branch) WHERE state = 'open';

-- What is said of a pull request beside its reviews.
CREATE TABLE forge_pr_comments (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    project    TEXT NOT NULL,
    pr         INTEGER NOT NULL,
    author     TEXT NOT NULL,
    body       TEXT NOT NULL,
    marker     TEXT,
    created_at INTEGER NOT NULL,
    UNIQUE (project, pr, marker),
    FOREIGN KEY (project, pr) REFERENCES forge_prs (project, number)
);
