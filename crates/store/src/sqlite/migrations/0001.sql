-- The journal, the state and the outbox.
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;

INSERT INTO meta (key, value) VALUES ('lease', 0);

CREATE TABLE journal (
    seq     INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    project TEXT,
    issue   INTEGER,
    text    TEXT NOT NULL,
    body    TEXT NOT NULL
);

-- A row without a document is a tombstone: readers that follow along must learn of a deletion.
CREATE TABLE state (
    kind TEXT NOT NULL,
    key  TEXT NOT NULL,
    seq  INTEGER NOT NULL,
    doc  TEXT,
    PRIMARY KEY (kind, key)
) WITHOUT ROWID;

CREATE INDEX state_seq ON state (seq);

-- AUTOINCREMENT: an id is never given twice, so "not there" always means "performed".
CREATE TABLE outbox (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    action     TEXT NOT NULL,
    attempts   INTEGER NOT NULL DEFAULT 0,
    not_before INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL
);

-- The embedded forge. Issues and pull requests of a project share one sequence of numbers.
CREATE TABLE forge_projects (
    project     TEXT PRIMARY KEY,
    next_number INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE forge_labels (
    project TEXT NOT NULL REFERENCES forge_projects (project),
    name    TEXT NOT NULL,
    PRIMARY KEY (project, name)
) WITHOUT ROWID;

CREATE TABLE forge_issues (
    project    TEXT NOT NULL REFERENCES forge_projects (project),
    number     INTEGER NOT NULL,
    title      TEXT NOT NULL,
    body       TEXT NOT NULL,
    author     TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('open', 'closed')),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    closed_at  INTEGER,
    PRIMARY KEY (project, number)
);

CREATE TABLE forge_issue_labels (
    project TEXT NOT NULL,
    number  INTEGER NOT NULL,
    label   TEXT NOT NULL,
    PRIMARY KEY (project, number, label),
    FOREIGN KEY (project, number) REFERENCES forge_issues (project, number),
    FOREIGN KEY (project, label) REFERENCES forge_labels (project, name)
) WITHOUT ROWID;

CREATE INDEX forge_issue_labels_label ON forge_issue_labels (project, label);

CREATE TABLE forge_comments (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    project    TEXT NOT NULL,
    number     INTEGER NOT NULL,
    author     TEXT NOT NULL,
    body       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    FOREIGN KEY (project, number) REFERENCES forge_issues (project, number)
);

CREATE INDEX forge_comments_issue ON forge_comments (project, number);

CREATE TABLE forge_prs (
    project       TEXT NOT NULL REFERENCES forge_projects (project),
    number        INTEGER NOT NULL,
    title         TEXT NOT NULL,
    body          TEXT NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('open', 'closed', 'merged')),
    branch        TEXT NOT NULL,
    head          TEXT NOT NULL,
    issue         INTEGER NOT NULL,
    merged_commit TEXT,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    PRIMARY KEY (project, number),
    FOREIGN KEY (project, issue) REFERENCES forge_issues (project, number)
);

CREATE UNIQUE INDEX forge_prs_open_branch ON forge_prs (project, branch) WHERE state = 'open';

CREATE TABLE forge_reviews (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    project    TEXT NOT NULL,
    pr         INTEGER NOT NULL,
    head       TEXT NOT NULL,
    verdict    TEXT NOT NULL,
    text       TEXT NOT NULL,
    author     TEXT NOT NULL,
    marker     TEXT,
    created_at INTEGER NOT NULL,
    UNIQUE (project, pr, marker),
    FOREIGN KEY (project, pr) REFERENCES forge_prs (project, number)
);

CREATE TABLE forge_statuses (
    project     TEXT NOT NULL REFERENCES forge_projects (project),
    commit_sha  TEXT NOT NULL,
    context     TEXT NOT NULL,
    state       TEXT NOT NULL,
    description TEXT NOT NULL,
    run         INTEGER,
    updated_at  INTEGER NOT NULL,
    PRIMARY KEY (project, commit_sha, context)
) WITHOUT ROWID;

-- What to look at again. One row an object, moved to the end when the object changes: the table
-- never outgrows the forge, and a reader with any cursor misses nothing.
CREATE TABLE forge_changes (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    project TEXT NOT NULL,
    kind    TEXT NOT NULL CHECK (kind IN ('issue', 'pr', 'review')),
    number  INTEGER NOT NULL,
    id      INTEGER NOT NULL,
    UNIQUE (project, kind, number, id)
);

CREATE INDEX forge_changes_project ON forge_changes (project, seq);
