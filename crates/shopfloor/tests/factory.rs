//! The whole factory on real parts: the real binary, real tmux, real git, real SQLite, the scripted
//! demo agent as a process of its own. What is checked is git and the forge, not our own records.

#[path = "factory/accepted.rs"]
mod accepted;
#[path = "factory/actions.rs"]
mod actions;
#[path = "factory/attacks.rs"]
mod attacks;
#[path = "factory/attacks_by_role.rs"]
mod attacks_by_role;
#[path = "factory/attacks_in_a_jail.rs"]
mod attacks_in_a_jail;
#[path = "factory/book.rs"]
mod book;
#[path = "factory/boss.rs"]
mod boss;
#[path = "factory/branches.rs"]
mod branches;
#[path = "factory/client.rs"]
mod client;
#[path = "factory/clients.rs"]
mod clients;
#[path = "factory/config_accept.rs"]
mod config_accept;
#[path = "factory/cost.rs"]
mod cost;
#[path = "factory/daemon.rs"]
mod daemon;
#[path = "factory/doctor_agents.rs"]
mod doctor_agents;
#[path = "factory/floor.rs"]
mod floor;
#[path = "factory/foresight.rs"]
mod foresight;
#[path = "factory/freeze.rs"]
mod freeze;
#[path = "factory/gc.rs"]
mod gc;
#[path = "factory/generic.rs"]
mod generic;
#[path = "factory/hand_events.rs"]
mod hand_events;
#[path = "factory/hand_monitor.rs"]
mod hand_monitor;
#[path = "factory/hand_people.rs"]
mod hand_people;
#[path = "factory/hand_seed.rs"]
mod hand_seed;
#[path = "factory/hand_sessions.rs"]
mod hand_sessions;
#[path = "factory/hand_verify.rs"]
mod hand_verify;
#[path = "factory/hand_worktree.rs"]
mod hand_worktree;
#[path = "factory/heads.rs"]
mod heads;
#[expect(dead_code, reason = "its other faults are told of in the adapters' tests")]
#[path = "../../adapters/tests/git/http.rs"]
mod http;
#[path = "factory/kills.rs"]
mod kills;
#[path = "factory/limits.rs"]
mod limits;
#[path = "factory/matrix.rs"]
mod matrix;
#[path = "factory/missed.rs"]
mod missed;
#[path = "factory/newcomer.rs"]
mod newcomer;
#[path = "factory/ordinary_user.rs"]
mod ordinary_user;
#[path = "factory/origin.rs"]
mod origin;
#[path = "factory/people.rs"]
mod people;
#[path = "factory/protected.rs"]
mod protected;
#[path = "factory/pull_reviews.rs"]
mod pull_reviews;
#[path = "factory/pulls.rs"]
mod pulls;
#[path = "factory/queue.rs"]
mod queue;
#[path = "factory/races.rs"]
mod races;
#[path = "factory/recovery.rs"]
mod recovery;
#[path = "factory/registry.rs"]
mod registry;
#[path = "factory/rescue.rs"]
mod rescue;
#[path = "factory/respawns.rs"]
mod respawns;
#[path = "factory/reverts.rs"]
mod reverts;
#[path = "factory/reviews.rs"]
mod reviews;
#[path = "factory/runs.rs"]
mod runs;
#[path = "factory/schedules.rs"]
mod schedules;
#[path = "factory/signals.rs"]
mod signals;
#[path = "factory/signing.rs"]
mod signing;
#[path = "factory/signs.rs"]
mod signs;
#[path = "factory/stacks.rs"]
mod stacks;
#[path = "factory/staff.rs"]
mod staff;
#[path = "factory/stories.rs"]
mod stories;
#[path = "factory/storm.rs"]
mod storm;
#[path = "factory/strict.rs"]
mod strict;
#[path = "factory/supervisor.rs"]
mod supervisor;
#[path = "factory/targets.rs"]
mod targets;
#[path = "factory/terminals.rs"]
mod terminals;
#[path = "factory/together.rs"]
mod together;
#[path = "factory/told.rs"]
mod told;
#[path = "factory/tries.rs"]
mod tries;
#[path = "factory/upgrade.rs"]
mod upgrade;
#[path = "factory/vault.rs"]
mod vault;
#[path = "factory/weather.rs"]
mod weather;
#[path = "factory/worktrees.rs"]
mod worktrees;
