-- The store of a floor as build f1bc031 left it when its daemon was killed with -9: schema 3.
-- @FOLDER@ stands for the folder that the floor and the checkout were in.
PRAGMA application_id = 1397245516;
PRAGMA user_version = 3;
PRAGMA foreign_keys = OFF;
BEGIN TRANSACTION;
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
INSERT INTO "ci_runs" VALUES(1,'sample',3,'1ef5a6a3425bf3168c2bf1c6229e243f2ae91925','hub',NULL,NULL,NULL,1794859924530,NULL,'[]');
CREATE TABLE forge_changes (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    project TEXT NOT NULL,
    kind    TEXT NOT NULL CHECK (kind IN ('issue', 'pr', 'review')),
    number  INTEGER NOT NULL,
    id      INTEGER NOT NULL,
    UNIQUE (project, kind, number, id)
);
INSERT INTO "forge_changes" VALUES(4,'sample','issue',4,0);
INSERT INTO "forge_changes" VALUES(7,'sample','issue',3,0);
INSERT INTO "forge_changes" VALUES(8,'sample','issue',1,0);
INSERT INTO "forge_changes" VALUES(10,'sample','issue',2,0);
INSERT INTO "forge_changes" VALUES(11,'sample','pr',5,0);
CREATE TABLE forge_comments (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    project    TEXT NOT NULL,
    number     INTEGER NOT NULL,
    author     TEXT NOT NULL,
    body       TEXT NOT NULL,
    created_at INTEGER NOT NULL, marker TEXT,
    FOREIGN KEY (project, number) REFERENCES forge_issues (project, number)
);
INSERT INTO "forge_comments" VALUES(1,'sample',1,'shopfloor','This waits for a person:

which one?


Answer with `shopfloor answer q1 "…"`.',1794859923860,'question-1');
INSERT INTO "forge_comments" VALUES(2,'sample',2,'shopfloor','Job 2 ended failed: the agent gave up: cannot be done

The work is kept at `refs/rescue/dev-sample-2/1`.

The worktree is kept at `@FOLDER@/floor/projects/sample/worktrees/issue-2`, branch `fix/issue-2`.

The session''s last output:

```text
demo agent, session 2
```

To reproduce it: give `sessions/e2/prompt.md` (in the floor''s home) to the agent in that worktree. `shopfloor explain 2` tells how it came to this.

To try again: remove the label `blocked` and add `backlog`.
',1794859924296,'job-2-end');
CREATE TABLE forge_issue_labels (
    project TEXT NOT NULL,
    number  INTEGER NOT NULL,
    label   TEXT NOT NULL,
    PRIMARY KEY (project, number, label),
    FOREIGN KEY (project, number) REFERENCES forge_issues (project, number),
    FOREIGN KEY (project, label) REFERENCES forge_labels (project, name)
) WITHOUT ROWID;
INSERT INTO "forge_issue_labels" VALUES('sample',4,'backlog');
INSERT INTO "forge_issue_labels" VALUES('sample',2,'blocked');
INSERT INTO "forge_issue_labels" VALUES('sample',1,'in-progress');
INSERT INTO "forge_issue_labels" VALUES('sample',3,'in-progress');
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
INSERT INTO "forge_issues" VALUES('sample',1,'Ask','demo: ask <<which one?
demo: write one.txt <<{answer}','human','open',1794859922990,1794859923860,NULL);
INSERT INTO "forge_issues" VALUES('sample',2,'Give up','demo: give-up <<cannot be done','human','open',1794859923043,1794859924296,NULL);
INSERT INTO "forge_issues" VALUES('sample',3,'Check','demo: write three.txt <<three','human','open',1794859923087,1794859923260,NULL);
INSERT INTO "forge_issues" VALUES('sample',4,'After','Depends on #3

demo: write four.txt <<four','human','open',1794859923135,1794859923135,NULL);
CREATE TABLE forge_labels (
    project TEXT NOT NULL REFERENCES forge_projects (project),
    name    TEXT NOT NULL,
    PRIMARY KEY (project, name)
) WITHOUT ROWID;
INSERT INTO "forge_labels" VALUES('sample','action');
INSERT INTO "forge_labels" VALUES('sample','backlog');
INSERT INTO "forge_labels" VALUES('sample','blocked');
INSERT INTO "forge_labels" VALUES('sample','in-progress');
INSERT INTO "forge_labels" VALUES('sample','prediction/actioned');
INSERT INTO "forge_labels" VALUES('sample','prediction/backlog');
INSERT INTO "forge_labels" VALUES('sample','prediction/unreviewed');
INSERT INTO "forge_labels" VALUES('sample','priority');
INSERT INTO "forge_labels" VALUES('sample','tech-debt');
INSERT INTO "forge_labels" VALUES('sample','underspecified');
INSERT INTO "forge_labels" VALUES('sample','vision');
CREATE TABLE forge_projects (
    project     TEXT PRIMARY KEY,
    next_number INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO "forge_projects" VALUES('sample',6);
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
    updated_at    INTEGER NOT NULL, author TEXT NOT NULL DEFAULT 'shopfloor',
    PRIMARY KEY (project, number),
    FOREIGN KEY (project, issue) REFERENCES forge_issues (project, number)
);
INSERT INTO "forge_prs" VALUES('sample',5,'Check (#3)','demo: write three.txt <<three

Fixes #3

<!-- shopfloor: issue 3 -->','open','fix/issue-3','1ef5a6a3425bf3168c2bf1c6229e243f2ae91925',3,NULL,1794859924372,1794859924372,'shopfloor-dev');
CREATE TABLE forge_reviews (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    project    TEXT NOT NULL,
    pr         INTEGER NOT NULL,
    head       TEXT NOT NULL,
    verdict    TEXT NOT NULL,
    text       TEXT NOT NULL,
    author     TEXT NOT NULL,
    marker     TEXT,
    created_at INTEGER NOT NULL, dismissed_at INTEGER,
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
INSERT INTO "forge_statuses" VALUES('sample','1ef5a6a3425bf3168c2bf1c6229e243f2ae91925','shopfloor/ci','pending','checks run',1,1794859924432);
CREATE TABLE journal (
    seq     INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    project TEXT,
    issue   INTEGER,
    text    TEXT NOT NULL,
    body    TEXT NOT NULL
);
INSERT INTO "journal" VALUES(1,1794859922936,'event',NULL,NULL,'','{"event":"project_set","project":"sample","checkout":"@FOLDER@/repo","policy":{"primary_branch":"main","review_required":true,"review_agent":true,"has_checks":false,"allow_no_checks":true,"checks":"","may_skip_checks":false,"infra_retries_max":2,"infra_cooldown":{"secs":30,"nanos":0},"merge_method":"rebase","merge_slots":1,"merge_alarm":{"secs":7200,"nanos":0},"max_jobs":1,"floor_max_jobs":null,"ci_fixes_max":3,"review_rounds_max":5,"merge_rounds_max":3,"respawns_max":3,"reminders_max":2,"on_failed":"blocked","on_already_done":"ask","ci_timeout":{"secs":1800,"nanos":0},"review_timeout":{"secs":10800,"nanos":0},"reviewer_timeout":{"secs":1800,"nanos":0},"review_diff_bytes":25600,"idle_timeout":{"secs":7200,"nanos":0},"delivery_timeout":{"secs":1800,"nanos":0},"respawn_backoff":{"secs":1,"nanos":0},"retries_max":8,"retry_backoff":{"secs":60,"nanos":0},"checkpoint_every":{"secs":300,"nanos":0},"rescue_keep":20,"rescue_keep_for":{"secs":2592000,"nanos":0},"keep_worktrees":{"secs":1209600,"nanos":0},"setup_timeout":{"secs":0,"nanos":0},"keep_logs":{"secs":2592000,"nanos":0},"renotify_after":{"secs":21600,"nanos":0},"escalate_after":{"secs":86400,"nanos":0}}}');
INSERT INTO "journal" VALUES(2,1794859923185,'event',NULL,NULL,'','{"event":"project_set","project":"sample","checkout":"@FOLDER@/repo","policy":{"primary_branch":"main","review_required":true,"review_agent":true,"has_checks":true,"allow_no_checks":false,"checks":"7d8913c991256caa","may_skip_checks":false,"infra_retries_max":2,"infra_cooldown":{"secs":30,"nanos":0},"merge_method":"rebase","merge_slots":1,"merge_alarm":{"secs":7200,"nanos":0},"max_jobs":4,"floor_max_jobs":null,"ci_fixes_max":3,"review_rounds_max":5,"merge_rounds_max":3,"respawns_max":3,"reminders_max":2,"on_failed":"blocked","on_already_done":"ask","ci_timeout":{"secs":1800,"nanos":0},"review_timeout":{"secs":10800,"nanos":0},"reviewer_timeout":{"secs":1800,"nanos":0},"review_diff_bytes":25600,"idle_timeout":{"secs":7200,"nanos":0},"delivery_timeout":{"secs":1800,"nanos":0},"respawn_backoff":{"secs":0,"nanos":10000000},"retries_max":8,"retry_backoff":{"secs":60,"nanos":0},"checkpoint_every":{"secs":300,"nanos":0},"rescue_keep":20,"rescue_keep_for":{"secs":2592000,"nanos":0},"keep_worktrees":{"secs":1209600,"nanos":0},"setup_timeout":{"secs":0,"nanos":0},"keep_logs":{"secs":2592000,"nanos":0},"renotify_after":{"secs":21600,"nanos":0},"escalate_after":{"secs":86400,"nanos":0}}}');
INSERT INTO "journal" VALUES(3,1794859923198,'event',NULL,NULL,'','{"event":"resumed"}');
INSERT INTO "journal" VALUES(4,1794859923203,'event',NULL,NULL,'','{"event":"observed","project":"sample","observation":{"seen":"issue","number":1,"title":"Ask","labels":["backlog"],"open":true,"deps":[],"created_at":1794859922990,"revision":5218881310094121188,"version":1,"hints":{"paths":["one.txt"],"pr":null}},"cursor":0,"more":true}');
INSERT INTO "journal" VALUES(5,1794859923203,'event',NULL,NULL,'','{"event":"observed","project":"sample","observation":{"seen":"issue","number":2,"title":"Give up","labels":["backlog"],"open":true,"deps":[],"created_at":1794859923043,"revision":2482259058384996812,"version":2,"hints":{"paths":[],"pr":null}},"cursor":0,"more":true}');
INSERT INTO "journal" VALUES(6,1794859923203,'event',NULL,NULL,'','{"event":"observed","project":"sample","observation":{"seen":"issue","number":3,"title":"Check","labels":["backlog"],"open":true,"deps":[],"created_at":1794859923087,"revision":6888830799921622601,"version":3,"hints":{"paths":["three.txt"],"pr":null}},"cursor":0,"more":true}');
INSERT INTO "journal" VALUES(7,1794859923203,'event',NULL,NULL,'','{"event":"observed","project":"sample","observation":{"seen":"issue","number":4,"title":"After","labels":["backlog"],"open":true,"deps":[3],"created_at":1794859923135,"revision":14358549118887251644,"version":4,"hints":{"paths":["four.txt"],"pr":null}},"cursor":4,"more":false}');
INSERT INTO "journal" VALUES(8,1794859923203,'JOB_STARTED','sample',1,'claimed as job 1','');
INSERT INTO "journal" VALUES(9,1794859923203,'JOB_STARTED','sample',2,'claimed as job 2','');
INSERT INTO "journal" VALUES(10,1794859923203,'JOB_STARTED','sample',3,'claimed as job 3','');
INSERT INTO "journal" VALUES(11,1794859923225,'event',NULL,NULL,'','{"event":"performed","action":{"action":"edit_labels","project":"sample","issue":1,"add":["in-progress"],"remove":["backlog"]},"outcome":{"outcome":"labelled","version":5}}');
INSERT INTO "journal" VALUES(12,1794859923232,'event',NULL,NULL,'','{"event":"observed","project":"sample","observation":{"seen":"issue","number":1,"title":"Ask","labels":["in-progress"],"open":true,"deps":[],"created_at":1794859922990,"revision":5218881310094121188,"version":5,"hints":{"paths":["one.txt"],"pr":null}},"cursor":5,"more":false}');
INSERT INTO "journal" VALUES(13,1794859923248,'event',NULL,NULL,'','{"event":"performed","action":{"action":"edit_labels","project":"sample","issue":2,"add":["in-progress"],"remove":["backlog"]},"outcome":{"outcome":"labelled","version":6}}');
INSERT INTO "journal" VALUES(14,1794859923253,'event',NULL,NULL,'','{"event":"observed","project":"sample","observation":{"seen":"issue","number":2,"title":"Give up","labels":["in-progress"],"open":true,"deps":[],"created_at":1794859923043,"revision":2482259058384996812,"version":6,"hints":{"paths":[],"pr":null}},"cursor":6,"more":false}');
INSERT INTO "journal" VALUES(15,1794859923268,'event',NULL,NULL,'','{"event":"performed","action":{"action":"edit_labels","project":"sample","issue":3,"add":["in-progress"],"remove":["backlog"]},"outcome":{"outcome":"labelled","version":7}}');
INSERT INTO "journal" VALUES(16,1794859923279,'event',NULL,NULL,'','{"event":"observed","project":"sample","observation":{"seen":"issue","number":3,"title":"Check","labels":["in-progress"],"open":true,"deps":[],"created_at":1794859923087,"revision":6888830799921622601,"version":7,"hints":{"paths":["three.txt"],"pr":null}},"cursor":7,"more":false}');
INSERT INTO "journal" VALUES(17,1794859923429,'event',NULL,NULL,'','{"event":"performed","action":{"action":"prepare_worktree","job":1,"project":"sample","issue":1,"branch":"fix/issue-1"},"outcome":{"outcome":"worktree_ready","path":"@FOLDER@/floor/projects/sample/worktrees/issue-1","head":"8a5829850e651dc7bd0f5929831ca99628b78965","notes":[]}}');
INSERT INTO "journal" VALUES(18,1794859923429,'AGENT_REGISTERED','sample',1,'dev-sample-1, session 1','');
INSERT INTO "journal" VALUES(19,1794859923429,'HOOK_UPDATED','sample',1,'dev-sample-1: investigation, tests not run','');
INSERT INTO "journal" VALUES(20,1794859923429,'JOB_STATE','sample',1,'starting','');
INSERT INTO "journal" VALUES(21,1794859923565,'event',NULL,NULL,'','{"event":"performed","action":{"action":"prepare_worktree","job":2,"project":"sample","issue":2,"branch":"fix/issue-2"},"outcome":{"outcome":"worktree_ready","path":"@FOLDER@/floor/projects/sample/worktrees/issue-2","head":"8a5829850e651dc7bd0f5929831ca99628b78965","notes":[]}}');
INSERT INTO "journal" VALUES(22,1794859923565,'AGENT_REGISTERED','sample',2,'dev-sample-2, session 2','');
INSERT INTO "journal" VALUES(23,1794859923565,'HOOK_UPDATED','sample',2,'dev-sample-2: investigation, tests not run','');
INSERT INTO "journal" VALUES(24,1794859923565,'JOB_STATE','sample',2,'starting','');
INSERT INTO "journal" VALUES(25,1794859923706,'event',NULL,NULL,'','{"event":"performed","action":{"action":"prepare_worktree","job":3,"project":"sample","issue":3,"branch":"fix/issue-3"},"outcome":{"outcome":"worktree_ready","path":"@FOLDER@/floor/projects/sample/worktrees/issue-3","head":"8a5829850e651dc7bd0f5929831ca99628b78965","notes":[]}}');
INSERT INTO "journal" VALUES(26,1794859923706,'AGENT_REGISTERED','sample',3,'dev-sample-3, session 3','');
INSERT INTO "journal" VALUES(27,1794859923706,'HOOK_UPDATED','sample',3,'dev-sample-3: investigation, tests not run','');
INSERT INTO "journal" VALUES(28,1794859923706,'JOB_STATE','sample',3,'starting','');
INSERT INTO "journal" VALUES(29,1794859923832,'event',NULL,NULL,'','{"event":"performed","action":{"action":"start_session","epoch":1,"job":1,"role":"dev","project":"sample","issue":1,"branch":"fix/issue-1","pr":null,"head":null,"resume":null,"reviewed":null,"diff_bytes":25600},"outcome":{"outcome":"session_started","tmux":"dev-sample-1-e1","process":{"pid":29064,"start":1119646440715731},"phase_file":"@FOLDER@/phases/dev-session-sample-1.phase","runtime":"demo","prompt":null,"notes":[]}}');
INSERT INTO "journal" VALUES(30,1794859923832,'JOB_STATE','sample',1,'working','');
INSERT INTO "journal" VALUES(31,1794859923854,'event',NULL,NULL,'','{"event":"phase_written","epoch":1,"stamp":"988397-6afb6393.839620171-c0f0e1ea927079a9","report":{"phase":"needs_human","detail":"which one?","session":1,"ask":{"options":[],"default":null,"within":null}}}');
INSERT INTO "journal" VALUES(32,1794859923854,'JOB_STATE','sample',1,'needs_human','');
INSERT INTO "journal" VALUES(33,1794859923854,'NEEDS_HUMAN','sample',1,'which one?','');
INSERT INTO "journal" VALUES(34,1794859923882,'event',NULL,NULL,'','{"event":"performed","action":{"action":"comment","project":"sample","issue":1,"marker":"question-1","body":"This waits for a person:\n\nwhich one?\n\n\nAnswer with `shopfloor answer q1 \"…\"`."},"outcome":{"outcome":"done"}}');
INSERT INTO "journal" VALUES(35,1794859923892,'event',NULL,NULL,'','{"event":"observed","project":"sample","observation":{"seen":"issue","number":1,"title":"Ask","labels":["in-progress"],"open":true,"deps":[],"created_at":1794859922990,"revision":5218881310094121188,"version":8,"hints":{"paths":["one.txt"],"pr":null}},"cursor":8,"more":false}');
INSERT INTO "journal" VALUES(36,1794859923914,'event',NULL,NULL,'','{"event":"performed","action":{"action":"start_session","epoch":2,"job":2,"role":"dev","project":"sample","issue":2,"branch":"fix/issue-2","pr":null,"head":null,"resume":null,"reviewed":null,"diff_bytes":25600},"outcome":{"outcome":"session_started","tmux":"dev-sample-2-e2","process":{"pid":29151,"start":1119646440715740},"phase_file":"@FOLDER@/phases/dev-session-sample-2.phase","runtime":"demo","prompt":null,"notes":[]}}');
INSERT INTO "journal" VALUES(37,1794859923914,'JOB_STATE','sample',2,'working','');
INSERT INTO "journal" VALUES(38,1794859923925,'event',NULL,NULL,'','{"event":"phase_written","epoch":2,"stamp":"98839a-6afb6393.919620170-aae055301b01e005","report":{"phase":"failed","detail":"cannot be done","session":2,"ask":{"options":[],"default":null,"within":null}}}');
INSERT INTO "journal" VALUES(39,1794859923925,'ESCALATION','sample',2,'the agent gave up: cannot be done','');
INSERT INTO "journal" VALUES(40,1794859923925,'JOB_STATE','sample',2,'finishing','');
INSERT INTO "journal" VALUES(41,1794859923938,'event',NULL,NULL,'','{"event":"session_exited","epoch":2,"status":0}');
INSERT INTO "journal" VALUES(42,1794859923972,'event',NULL,NULL,'','{"event":"performed","action":{"action":"edit_labels","project":"sample","issue":2,"add":["blocked"],"remove":["in-progress","backlog"]},"outcome":{"outcome":"labelled","version":9}}');
INSERT INTO "journal" VALUES(43,1794859923986,'event',NULL,NULL,'','{"event":"performed","action":{"action":"escalate","job":2,"project":"sample","issue":2,"trigger":"job_failed","context":"the agent gave up: cannot be done","at":1794859923925},"outcome":{"outcome":"done"}}');
INSERT INTO "journal" VALUES(44,1794859923992,'event',NULL,NULL,'','{"event":"performed","action":{"action":"start_session","epoch":3,"job":3,"role":"dev","project":"sample","issue":3,"branch":"fix/issue-3","pr":null,"head":null,"resume":null,"reviewed":null,"diff_bytes":25600},"outcome":{"outcome":"session_started","tmux":"dev-sample-3-e3","process":{"pid":29203,"start":1119646440715746},"phase_file":"@FOLDER@/phases/dev-session-sample-3.phase","runtime":"demo","prompt":null,"notes":[]}}');
INSERT INTO "journal" VALUES(45,1794859923992,'JOB_STATE','sample',3,'working','');
INSERT INTO "journal" VALUES(46,1794859923997,'event',NULL,NULL,'','{"event":"observed","project":"sample","observation":{"seen":"issue","number":2,"title":"Give up","labels":["blocked"],"open":true,"deps":[],"created_at":1794859923043,"revision":2482259058384996812,"version":9,"hints":{"paths":[],"pr":null}},"cursor":9,"more":false}');
INSERT INTO "journal" VALUES(47,1794859924024,'event',NULL,NULL,'','{"event":"committed","epoch":3,"head":"1ef5a6a3425bf3168c2bf1c6229e243f2ae91925"}');
INSERT INTO "journal" VALUES(48,1794859924024,'HOOK_UPDATED','sample',3,'dev-sample-3: implementation, tests not run','');
INSERT INTO "journal" VALUES(49,1794859924068,'event',NULL,NULL,'','{"event":"performed","action":{"action":"checkpoint","job":1,"project":"sample","issue":1,"branch":"fix/issue-1"},"outcome":{"outcome":"checkpoint","rescue":"refs/rescue/dev-sample-1/1","head":"8a5829850e651dc7bd0f5929831ca99628b78965","files":[],"note":null}}');
INSERT INTO "journal" VALUES(50,1794859924096,'event',NULL,NULL,'','{"event":"performed","action":{"action":"checkpoint","job":2,"project":"sample","issue":2,"branch":"fix/issue-2"},"outcome":{"outcome":"checkpoint","rescue":"refs/rescue/dev-sample-2/1","head":"8a5829850e651dc7bd0f5929831ca99628b78965","files":[],"note":null}}');
INSERT INTO "journal" VALUES(51,1794859924115,'event',NULL,NULL,'','{"event":"phase_written","epoch":3,"stamp":"98839b-6afb6394.111620168-b4b4764433e7cc4e","report":{"phase":"awaiting_ci","detail":null,"session":3,"ask":{"options":[],"default":null,"within":null}}}');
INSERT INTO "journal" VALUES(52,1794859924115,'HOOK_UPDATED','sample',3,'dev-sample-3: testing, tests not run','');
INSERT INTO "journal" VALUES(53,1794859924115,'JOB_STATE','sample',3,'publishing','');
INSERT INTO "journal" VALUES(54,1794859924289,'event',NULL,NULL,'','{"event":"performed","action":{"action":"checkpoint","job":3,"project":"sample","issue":3,"branch":"fix/issue-3"},"outcome":{"outcome":"checkpoint","rescue":"refs/rescue/dev-sample-3/1","head":"1ef5a6a3425bf3168c2bf1c6229e243f2ae91925","files":["three.txt"],"note":null}}');
INSERT INTO "journal" VALUES(55,1794859924290,'event',NULL,NULL,'','{"event":"performed","action":{"action":"end_session","job":2,"role":"dev","project":"sample","issue":2,"epoch":2},"outcome":{"outcome":"session_ended","rescue":"refs/rescue/dev-sample-2/1","last_output":"demo agent, session 2","note":null}}');
INSERT INTO "journal" VALUES(56,1794859924290,'AGENT_TERMINATED','sample',2,'session 2 ended','');
INSERT INTO "journal" VALUES(57,1794859924298,'event',NULL,NULL,'','{"event":"performed","action":{"action":"comment","project":"sample","issue":2,"marker":"job-2-end","body":"Job 2 ended failed: the agent gave up: cannot be done\n\nThe work is kept at `refs/rescue/dev-sample-2/1`.\n\nThe worktree is kept at `@FOLDER@/floor/projects/sample/worktrees/issue-2`, branch `fix/issue-2`.\n\nThe session''s last output:\n\n```text\ndemo agent, session 2\n```\n\nTo reproduce it: give `sessions/e2/prompt.md` (in the floor''s home) to the agent in that worktree. `shopfloor explain 2` tells how it came to this.\n\nTo try again: remove the label `blocked` and add `backlog`.\n"},"outcome":{"outcome":"done"}}');
INSERT INTO "journal" VALUES(58,1794859924298,'JOB_STATE','sample',2,'failed','');
INSERT INTO "journal" VALUES(59,1794859924298,'JOB_ENDED','sample',2,'failed: the agent gave up: cannot be done','');
INSERT INTO "journal" VALUES(60,1794859924303,'event',NULL,NULL,'','{"event":"observed","project":"sample","observation":{"seen":"issue","number":2,"title":"Give up","labels":["blocked"],"open":true,"deps":[],"created_at":1794859923043,"revision":2482259058384996812,"version":10,"hints":{"paths":[],"pr":null}},"cursor":10,"more":false}');
INSERT INTO "journal" VALUES(61,1794859924304,'event',NULL,NULL,'','{"event":"performed","action":{"action":"tidy","project":"sample","rescues_kept":20,"rescues_before":1792267924298,"rescues_named":["refs/rescue/dev-sample-1/1","refs/rescue/dev-sample-2/1","refs/rescue/dev-sample-3/1"],"sessions":[],"sessions_below":1,"runs_kept":[],"folders_before":1792267924298},"outcome":{"outcome":"tidied","rescues":0,"folders":0}}');
INSERT INTO "journal" VALUES(62,1794859924365,'event',NULL,NULL,'','{"event":"performed","action":{"action":"publish_branch","job":3,"project":"sample","issue":3,"branch":"fix/issue-3"},"outcome":{"outcome":"branch","head":"1ef5a6a3425bf3168c2bf1c6229e243f2ae91925","ahead":1,"dirty":0,"note":null,"patch":"0c4cfa3f548a43a2f021f91adcf9baf1f36a090b"}}');
INSERT INTO "journal" VALUES(63,1794859924423,'event',NULL,NULL,'','{"event":"performed","action":{"action":"open_pr","job":3,"project":"sample","issue":3,"branch":"fix/issue-3","head":"1ef5a6a3425bf3168c2bf1c6229e243f2ae91925"},"outcome":{"outcome":"pr_open","pr":5}}');
INSERT INTO "journal" VALUES(64,1794859924423,'JOB_STATE','sample',3,'checking','');
INSERT INTO "journal" VALUES(65,1794859924439,'event',NULL,NULL,'','{"event":"performed","action":{"action":"post_status","project":"sample","commit":"1ef5a6a3425bf3168c2bf1c6229e243f2ae91925","run":1,"state":"pending","text":"checks run"},"outcome":{"outcome":"done"}}');
INSERT INTO "journal" VALUES(66,1794859924446,'event',NULL,NULL,'','{"event":"observed","project":"sample","observation":{"seen":"pr","number":5,"open":true,"branch":"fix/issue-3","fixes":[3]},"cursor":11,"more":false}');
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO "meta" VALUES('lease',1);
CREATE TABLE outbox (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    action     TEXT NOT NULL,
    attempts   INTEGER NOT NULL DEFAULT 0,
    not_before INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL
, last_error TEXT);
INSERT INTO "outbox" VALUES(22,'{"action":"run_ci","job":3,"project":"sample","issue":3,"run":1,"commit":"1ef5a6a3425bf3168c2bf1c6229e243f2ae91925","source":"hub","purpose":"head"}',0,0,1794859924423,NULL);
CREATE TABLE state (
    kind TEXT NOT NULL,
    key  TEXT NOT NULL,
    seq  INTEGER NOT NULL,
    doc  TEXT,
    PRIMARY KEY (kind, key)
) WITHOUT ROWID;
INSERT INTO "state" VALUES('agent','dev-sample-1',33,'{"role":"dev","name":"sample-1","project":"sample","issue":1,"session":1,"predecessor":null,"status":"active","created_at":1794859923429,"last_seen":1794859923854}');
INSERT INTO "state" VALUES('agent','dev-sample-2',56,'{"role":"dev","name":"sample-2","project":"sample","issue":2,"session":2,"predecessor":null,"status":"terminated","created_at":1794859923565,"last_seen":1794859924290}');
INSERT INTO "state" VALUES('agent','dev-sample-3',53,'{"role":"dev","name":"sample-3","project":"sample","issue":3,"session":3,"predecessor":null,"status":"active","created_at":1794859923706,"last_seen":1794859924115}');
INSERT INTO "state" VALUES('counters','all',64,'{"job":3,"epoch":3,"entry":0,"message":0,"run":1,"question":1}');
INSERT INTO "state" VALUES('issue','sample/1',35,'{"project":"sample","number":1,"title":"Ask","labels":["in-progress"],"open":true,"deps":[],"created_at":1794859922990,"edits_pending":0,"seen":["in-progress"],"held":false,"found_deps":[],"version":8,"revision":5218881310094121188,"hints":{"paths":["one.txt"],"pr":null},"deps_due":null,"deps_told":""}');
INSERT INTO "state" VALUES('issue','sample/2',60,'{"project":"sample","number":2,"title":"Give up","labels":["blocked"],"open":true,"deps":[],"created_at":1794859923043,"edits_pending":0,"seen":["blocked"],"held":false,"found_deps":[],"version":10,"revision":2482259058384996812,"hints":{"paths":[],"pr":null},"deps_due":null,"deps_told":""}');
INSERT INTO "state" VALUES('issue','sample/3',16,'{"project":"sample","number":3,"title":"Check","labels":["in-progress"],"open":true,"deps":[],"created_at":1794859923087,"edits_pending":0,"seen":["in-progress"],"held":false,"found_deps":[],"version":7,"revision":6888830799921622601,"hints":{"paths":["three.txt"],"pr":null},"deps_due":null,"deps_told":""}');
INSERT INTO "state" VALUES('issue','sample/4',10,'{"project":"sample","number":4,"title":"After","labels":["backlog"],"open":true,"deps":[3],"created_at":1794859923135,"edits_pending":0,"seen":["backlog"],"held":false,"found_deps":[],"version":4,"revision":14358549118887251644,"hints":{"paths":["four.txt"],"pr":null},"deps_due":null,"deps_told":""}');
INSERT INTO "state" VALUES('job','1',49,'{"id":1,"project":"sample","issue":1,"title":"Ask","branch":"fix/issue-1","state":{"state":"needs_human","question":"which one?","reminded":0,"asked":{"id":1,"options":[],"default":null,"due":null}},"created_at":1794859923203,"deadline":1794881523854,"worktree":"@FOLDER@/floor/projects/sample/worktrees/issue-1","pr":null,"head":"8a5829850e651dc7bd0f5929831ca99628b78965","green":null,"session":1,"last_session":1,"review_session":null,"patches":[],"review_told":null,"ci_fixes":0,"ci_retries":0,"review_rounds":0,"review_attempts":0,"merge_rounds":0,"respawns":0,"reminders":0,"ci_runs":0,"questions":1,"review_head":null,"reviewer_wanted":false,"setups_failed":0,"checkpoint_at":1794860223854,"resume_failed":false,"cycles":0,"extensions":0,"successor_due":false,"end_wanted":null,"release_at":null,"releasing":0,"merged":null,"reason":null,"rescue":"refs/rescue/dev-sample-1/1","last_output":"","history":[{"state":"preparing","at":1794859923203},{"state":"starting","at":1794859923429},{"state":"working","at":1794859923832},{"state":"needs_human","at":1794859923854}]}');
INSERT INTO "state" VALUES('job','2',59,'{"id":2,"project":"sample","issue":2,"title":"Give up","branch":"fix/issue-2","state":{"state":"ended","end":"failed"},"created_at":1794859923203,"deadline":null,"worktree":"@FOLDER@/floor/projects/sample/worktrees/issue-2","pr":null,"head":"8a5829850e651dc7bd0f5929831ca99628b78965","green":null,"session":null,"last_session":2,"review_session":null,"patches":[],"review_told":null,"ci_fixes":0,"ci_retries":0,"review_rounds":0,"review_attempts":0,"merge_rounds":0,"respawns":0,"reminders":0,"ci_runs":0,"questions":0,"review_head":null,"reviewer_wanted":false,"setups_failed":0,"checkpoint_at":1794860223925,"resume_failed":false,"cycles":0,"extensions":0,"successor_due":false,"end_wanted":null,"release_at":1796069524298,"releasing":0,"merged":null,"reason":"the agent gave up: cannot be done","rescue":"refs/rescue/dev-sample-2/1","last_output":"demo agent, session 2","history":[{"state":"preparing","at":1794859923203},{"state":"starting","at":1794859923565},{"state":"working","at":1794859923914},{"state":"finishing","at":1794859923925},{"state":"failed","at":1794859924298}]}');
INSERT INTO "state" VALUES('job','3',64,'{"id":3,"project":"sample","issue":3,"title":"Check","branch":"fix/issue-3","state":{"state":"checking","goal":"ci","run":1,"head":"1ef5a6a3425bf3168c2bf1c6229e243f2ae91925"},"created_at":1794859923203,"deadline":1794861844423,"worktree":"@FOLDER@/floor/projects/sample/worktrees/issue-3","pr":5,"head":"1ef5a6a3425bf3168c2bf1c6229e243f2ae91925","green":null,"session":3,"last_session":3,"review_session":null,"patches":[["1ef5a6a3425bf3168c2bf1c6229e243f2ae91925","0c4cfa3f548a43a2f021f91adcf9baf1f36a090b"]],"review_told":null,"ci_fixes":0,"ci_retries":0,"review_rounds":0,"review_attempts":0,"merge_rounds":0,"respawns":0,"reminders":0,"ci_runs":1,"questions":0,"review_head":null,"reviewer_wanted":false,"setups_failed":0,"checkpoint_at":1794860224115,"resume_failed":false,"cycles":0,"extensions":0,"successor_due":false,"end_wanted":null,"release_at":null,"releasing":0,"merged":null,"reason":null,"rescue":"refs/rescue/dev-sample-3/1","last_output":"","history":[{"state":"preparing","at":1794859923203},{"state":"starting","at":1794859923706},{"state":"working","at":1794859923992},{"state":"publishing","at":1794859924115},{"state":"checking","at":1794859924423}]}');
INSERT INTO "state" VALUES('project','sample',66,'{"name":"sample","checkout":"@FOLDER@/repo","policy":{"primary_branch":"main","review_required":true,"review_agent":true,"has_checks":true,"allow_no_checks":false,"checks":"7d8913c991256caa","may_skip_checks":false,"infra_retries_max":2,"infra_cooldown":{"secs":30,"nanos":0},"merge_method":"rebase","merge_slots":1,"merge_alarm":{"secs":7200,"nanos":0},"max_jobs":4,"floor_max_jobs":null,"ci_fixes_max":3,"review_rounds_max":5,"merge_rounds_max":3,"respawns_max":3,"reminders_max":2,"on_failed":"blocked","on_already_done":"ask","ci_timeout":{"secs":1800,"nanos":0},"review_timeout":{"secs":10800,"nanos":0},"reviewer_timeout":{"secs":1800,"nanos":0},"review_diff_bytes":25600,"idle_timeout":{"secs":7200,"nanos":0},"delivery_timeout":{"secs":1800,"nanos":0},"respawn_backoff":{"secs":0,"nanos":10000000},"retries_max":8,"retry_backoff":{"secs":60,"nanos":0},"checkpoint_every":{"secs":300,"nanos":0},"rescue_keep":20,"rescue_keep_for":{"secs":2592000,"nanos":0},"keep_worktrees":{"secs":1209600,"nanos":0},"setup_timeout":{"secs":0,"nanos":0},"keep_logs":{"secs":2592000,"nanos":0},"renotify_after":{"secs":21600,"nanos":0},"escalate_after":{"secs":86400,"nanos":0}},"cursor":11,"reading":false,"paused":null,"tidy_at":1794946324298}');
INSERT INTO "state" VALUES('pull','sample/5',66,'{"project":"sample","number":5,"branch":"fix/issue-3","fixes":[3],"reviews":[]}');
INSERT INTO "state" VALUES('record','dev-sample-1',49,'{"identity_name":"dev-sample-1","current_bead":1,"current_node":"sample","session":1,"work_phase":"investigation","work_summary":"issue #1, needs_human: which one?","last_checkpoint_at":1794859924068,"files_modified":[],"tests_status":"not run","resumption_instructions":"Resume from phase: investigation, last working on: issue #1, needs_human: which one?. Next: read the issue and the code it is about. Tests: not run.","rescue":"refs/rescue/dev-sample-1/1","head":"8a5829850e651dc7bd0f5929831ca99628b78965","sessions":[1],"updated_at":1794859924068}');
INSERT INTO "state" VALUES('record','dev-sample-2',50,'{"identity_name":"dev-sample-2","current_bead":2,"current_node":"sample","session":2,"work_phase":"investigation","work_summary":"issue #2, failed: cannot be done","last_checkpoint_at":1794859924096,"files_modified":[],"tests_status":"not run","resumption_instructions":"Resume from phase: investigation, last working on: issue #2, failed: cannot be done. Next: read the issue and the code it is about. Tests: not run.","rescue":"refs/rescue/dev-sample-2/1","head":"8a5829850e651dc7bd0f5929831ca99628b78965","sessions":[2],"updated_at":1794859924096}');
INSERT INTO "state" VALUES('record','dev-sample-3',54,'{"identity_name":"dev-sample-3","current_bead":3,"current_node":"sample","session":3,"work_phase":"testing","work_summary":"issue #3: Check","last_checkpoint_at":1794859924289,"files_modified":["three.txt"],"tests_status":"not run","resumption_instructions":"Resume from phase: testing, last working on: issue #3: Check. Next: wait for the checks, or repair what they object to. Tests: not run.","rescue":"refs/rescue/dev-sample-3/1","head":"1ef5a6a3425bf3168c2bf1c6229e243f2ae91925","sessions":[3],"updated_at":1794859924289}');
INSERT INTO "state" VALUES('session','1',33,'{"epoch":1,"job":1,"role":"dev","project":"sample","issue":1,"state":"live","tmux":"dev-sample-1-e1","process":{"pid":29064,"start":1119646440715731},"phase_file":"@FOLDER@/phases/dev-session-sample-1.phase","phase":"needs_human","phase_stamp":"988397-6afb6393.839620171-c0f0e1ea927079a9","created_at":1794859923429,"last_seen":1794859923854,"exit_status":null,"predecessor":null,"head":null,"runtime":"demo","conversation":null,"typed":false,"resumed":false,"status":null,"strikes":0,"resume_at":null,"nudges":0,"dialog_told":null,"repaired":false,"reviewed":null,"next_head":null,"moved":false,"review_due":null}');
INSERT INTO "state" VALUES('session','2',56,'{"epoch":2,"job":2,"role":"dev","project":"sample","issue":2,"state":"ended","tmux":"dev-sample-2-e2","process":{"pid":29151,"start":1119646440715740},"phase_file":"@FOLDER@/phases/dev-session-sample-2.phase","phase":"failed","phase_stamp":"98839a-6afb6393.919620170-aae055301b01e005","created_at":1794859923565,"last_seen":1794859923925,"exit_status":null,"predecessor":null,"head":null,"runtime":"demo","conversation":null,"typed":false,"resumed":false,"status":null,"strikes":0,"resume_at":null,"nudges":0,"dialog_told":null,"repaired":false,"reviewed":null,"next_head":null,"moved":false,"review_due":null}');
INSERT INTO "state" VALUES('session','3',53,'{"epoch":3,"job":3,"role":"dev","project":"sample","issue":3,"state":"live","tmux":"dev-sample-3-e3","process":{"pid":29203,"start":1119646440715746},"phase_file":"@FOLDER@/phases/dev-session-sample-3.phase","phase":"awaiting_ci","phase_stamp":"98839b-6afb6394.111620168-b4b4764433e7cc4e","created_at":1794859923706,"last_seen":1794859924115,"exit_status":null,"predecessor":null,"head":null,"runtime":"demo","conversation":null,"typed":false,"resumed":false,"status":null,"strikes":0,"resume_at":null,"nudges":0,"dialog_told":null,"repaired":false,"reviewed":null,"next_head":null,"moved":false,"review_due":null}');
CREATE INDEX state_seq ON state (seq);
CREATE INDEX forge_issue_labels_label ON forge_issue_labels (project, label);
CREATE INDEX forge_comments_issue ON forge_comments (project, number);
CREATE UNIQUE INDEX forge_prs_open_branch ON forge_prs (project, branch) WHERE state = 'open';
CREATE INDEX forge_changes_project ON forge_changes (project, seq);
CREATE UNIQUE INDEX forge_comments_marker ON forge_comments (project, number, marker)
    WHERE marker IS NOT NULL;
CREATE INDEX ci_runs_project ON ci_runs (project, run);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('forge_changes',11);
INSERT INTO "sqlite_sequence" VALUES('outbox',22);
INSERT INTO "sqlite_sequence" VALUES('forge_comments',2);
COMMIT;
