-- Records that no live work needs: closed issues, ended jobs. They are read when something is about them, never with
-- the rest. `label` names what they belong to, `branch` the branch they are looked for under as well.
CREATE TABLE shelf (
    kind   TEXT NOT NULL,
    key    TEXT NOT NULL,
    label  TEXT NOT NULL,
    branch TEXT,
    seq    INTEGER NOT NULL,
    doc    TEXT NOT NULL,
    PRIMARY KEY (kind, key)
) WITHOUT ROWID;

CREATE INDEX shelf_seq ON shelf (seq);
CREATE INDEX shelf_label ON shelf (label);
CREATE INDEX shelf_branch ON shelf (branch, label) WHERE branch IS NOT NULL;

-- What is asked for most, the open issues, is found without walking the closed ones.
CREATE INDEX forge_issues_state ON forge_issues (project, state, number);
