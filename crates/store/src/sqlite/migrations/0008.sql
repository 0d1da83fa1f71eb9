-- What was deleted, for readers that follow along. Not among the rows that are there: whoever loads those would have to
-- read past everything that ever was.
CREATE TABLE gone (
    kind TEXT NOT NULL,
    key  TEXT NOT NULL,
    seq  INTEGER NOT NULL,
    PRIMARY KEY (kind, key)
) WITHOUT ROWID;

CREATE INDEX gone_seq ON gone (seq);

INSERT INTO gone (kind, key, seq) SELECT kind, key, seq FROM state WHERE doc IS NULL;
DELETE FROM state WHERE doc IS NULL;

-- The newest position whose tombstone was pruned: whoever read up to an earlier one must read everything anew.
INSERT INTO meta (key, value) VALUES ('tombstones_gone', 0);
