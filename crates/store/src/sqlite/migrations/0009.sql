-- What is said of an issue is found without walking the journal of everything. Events are not looked for by an issue.
CREATE INDEX journal_of_issue ON journal (project, issue, seq) WHERE issue IS NOT NULL AND kind <> 'event';

-- The pull requests of an issue are found without walking all there ever were.
CREATE INDEX forge_prs_issue ON forge_prs (project, issue, number) WHERE issue IS NOT NULL;
