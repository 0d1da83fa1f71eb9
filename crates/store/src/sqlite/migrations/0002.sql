-- Why the last attempt at an effect failed.
ALTER TABLE outbox ADD COLUMN last_error TEXT;

-- A comment the factory posts carries a marker, so that posting it again is seen.
ALTER TABLE forge_comments ADD COLUMN marker TEXT;

CREATE UNIQUE INDEX forge_comments_marker ON forge_comments (project, number, marker)
    WHERE marker IS NOT NULL;

CREATE TABLE ci_runs (
    run         INTEGER PRIMARY KEY,
    project     TEXT NOT NULL,
    issue       INTEGER NOT NULL,
    commit_sha  TEXT NOT NULL,
    source      TEXT NOT NULL,
    verdict     TEXT,
    step        TEXT,
    log         TEXT,
    started_at  INTEGER NOT NULL,
    finished_at INTEGER,
    steps       TEXT NOT NULL
);

CREATE INDEX ci_runs_project ON ci_runs (project, run);
