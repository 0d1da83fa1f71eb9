-- Whose a pull request is: nobody approves their own.
ALTER TABLE forge_prs ADD COLUMN author TEXT NOT NULL DEFAULT 'shopfloor';

-- When a request for changes was taken back by its author's approval.
ALTER TABLE forge_reviews ADD COLUMN dismissed_at INTEGER;
