-- The newest position whose tombstone was pruned: whoever read up to an earlier one must read everything anew.
INSERT INTO meta (key, value) VALUES ('tombstones_gone', 0);

-- Finds tombstones, the oldest first, without reading the documents.
CREATE INDEX state_gone ON state (seq) WHERE doc IS NULL;
