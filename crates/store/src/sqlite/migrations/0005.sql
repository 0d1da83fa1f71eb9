-- An issue that the factory makes itself carries a marker, so that making it again is seen.
ALTER TABLE forge_issues ADD COLUMN marker TEXT;

CREATE UNIQUE INDEX forge_issues_marker ON forge_issues (project, marker) WHERE marker IS NOT NULL;

-- What people say, and what they edit, is told as well. What was said before is not told again.
ALTER TABLE forge_changes RENAME TO forge_changes_before;

CREATE TABLE forge_changes (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    project TEXT NOT NULL,
    kind    TEXT NOT NULL CHECK (kind IN ('issue', 'pr', 'review', 'comment', 'pr_comment')),
    number  INTEGER NOT NULL,
    id      INTEGER NOT NULL,
    UNIQUE (project, kind, number, id)
);

INSERT INTO forge_changes (seq, project, kind, number, id)
SELECT seq, project, kind, number, id FROM forge_changes_before;
DROP TABLE forge_changes_before;

CREATE INDEX forge_changes_project ON forge_changes (project, seq);
