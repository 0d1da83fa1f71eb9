//! Files that load, and what becomes of them.

use super::*;
use shopfloor_core::capability::{Capability, Rights};
use shopfloor_core::health::WorkLimits;
use shopfloor_core::ids::Role;
use shopfloor_core::policy::{
    CheckCommits, HeadChecks, MergeBatch, MergeMethod, OnAlreadyDone, OnFailed, Policy, ReviewPeople,
};
use std::time::Duration;

#[test]
fn a_minimal_file_has_the_default_policy() {
    let config = load_text(MINIMAL).unwrap();
    let expect = Policy { has_checks: false, allow_no_checks: true, ..Policy::default() };
    assert_eq!(config.policy(), expect);
    assert_eq!(config.agent(Role::DEV).unwrap().runtime, Runtime::Demo);
    assert_eq!(config.agent(Role::REVIEW).unwrap().runtime, Runtime::Demo);
    assert_eq!((config.merge.slots, config.ci.log_max), (1, 4 * 1024 * 1024));
}

fn predictor() -> Rights {
    Rights {
        may: [Capability::CreateIssue, Capability::RequestVault].into(),
        labels: ["prediction/unreviewed".to_owned()].into(),
        ..Rights::of(Role::PREDICTOR)
    }
}

#[test]
fn every_key_reaches_its_place() {
    let config = load_text(FULL).unwrap();
    assert_eq!(config.ci.steps[0].timeout, Span::mins(10));
    assert_eq!(config.ci.steps[1].timeout, Span::mins(90));
    assert_eq!(config.agent(Role::DEV).unwrap().command.as_ref().unwrap(), &["bot", "--fast"]);
    assert_eq!((config.merge.slots, config.rescue.push), (3, true));
    assert_eq!(config.worktree.teardown, ["make clean"]);
    assert_eq!((config.worktree.include.len(), config.worktree.ports.range()), (2, 5000..=5009));
    let minutes = |n: u64| Duration::from_secs(60 * n);
    assert_eq!(
        config.policy(),
        Policy {
            primary_branch: "trunk".into(),
            review_required: false,
            review_agent: true,
            review_people: ReviewPeople::Always,
            has_checks: true,
            allow_no_checks: false,
            protected: shopfloor_core::protected::DEFAULT.map(str::to_owned).to_vec(),
            withheld: Vec::new(),
            checks: shopfloor_adapters::ci::digest(&config.ci_steps()),
            may_skip_checks: true,
            ci_min_time: Duration::from_secs(3),
            infra_retries_max: 4,
            infra_cooldown: minutes(2),
            merge_method: MergeMethod::Rebase,
            merge_people: MergeMethod::Squash,
            merge_batch: MergeBatch::Tip,
            head_checks: HeadChecks::Never,
            targets: Vec::new(),
            merge_signed: false,
            check_commits: CheckCommits::Each,
            merge_slots: 3,
            merge_alarm: minutes(30),
            tells_landed: true,
            tells_not_landed: true,
            max_jobs: 7,
            floor_max_jobs: None,
            keep_journal: Policy::default().keep_journal,
            ci_fixes_max: 0,
            review_rounds_max: 2,
            merge_rounds_max: 4,
            respawns_max: 1,
            reminders_max: 5,
            on_failed: OnFailed::Backlog,
            on_already_done: OnAlreadyDone::Close,
            ci_timeout: minutes(120),
            review_timeout: minutes(60),
            reviewer_timeout: minutes(10),
            review_diff_bytes: 8 * 1024,
            handback: minutes(20),
            idle_timeout: minutes(1),
            background_timeout: Duration::from_secs(3600),
            delivery_timeout: minutes(2),
            respawn_backoff: Duration::from_millis(500),
            retries_max: Policy::default().retries_max,
            retry_backoff: Policy::default().retry_backoff,
            checkpoint_every: minutes(6),
            rescue_keep: 3,
            rescue_keep_for: minutes(7),
            keep_worktrees: minutes(8),
            keep_logs: minutes(9),
            jobs_at_hand: 100,
            setup_timeout: minutes(5),
            renotify_after: minutes(3),
            escalate_after: minutes(4),
            trouble_after: Policy::default().trouble_after,
            health: WorkLimits { review: minutes(7), ..WorkLimits::default() }.into(),
            machine: Policy::default().machine,
            groom: shopfloor_core::groom::Limits::default(),
            roles: [
                (Role::DEV, Rights { max_changes: 0, ..Rights::of(Role::DEV) }),
                ("predictor".parse().unwrap(), predictor()),
            ]
            .into(),
            actions: false,
        }
    );
}

#[test]
fn what_is_shown_loads_again_to_the_same() {
    for text in [MINIMAL, FULL] {
        let config = load_text(text).unwrap();
        let shown = show::as_toml(&config);
        assert_eq!(load_text(&shown).unwrap(), config, "{shown}");
        let json: serde_json::Value = serde_json::from_str(&show::as_json(&config)).unwrap();
        assert_eq!(json["project"]["name"], "harb");
    }
    let shown = show::as_toml(&load_text(FULL).unwrap());
    assert!(shown.contains("[secrets.TOKEN]\nenv = \"GH_TOKEN\"\n"), "{shown}");
    assert!(show::as_toml(&load_text(MINIMAL).unwrap()).contains("idle = \"2h\"\n"));

    let floor = load::floor_from(Path::new("floor.toml"), "[limits]\nmax_jobs = 4").unwrap();
    assert_eq!(load::floor_from(Path::new("floor.toml"), &show::as_toml(&floor)).unwrap(), floor);
    for (keep, days) in [("90d", Some(90)), ("7d", Some(7)), ("never", None)] {
        let text = format!("[retention]\njournal = \"{keep}\"");
        let floor = load::floor_from(Path::new("floor.toml"), &text).unwrap();
        let span = floor.retention.journal.span().map(|span| span.as_secs() / 86_400);
        assert_eq!(span, days);
        assert_eq!(load::floor_from(Path::new("floor.toml"), &show::as_toml(&floor)).unwrap(), floor);
    }
}

#[test]
fn roles_inherit_from_the_default() {
    let text = format!(
        "{MINIMAL}[agents.default]\nruntime = \"claude\"\nmodel = \"big\"\npass_env = [\"TOKEN\"]\nprompt = \"careful\"\n\
         [agents.review]\nmodel = \"small\"\n[agents.gardener]\nruntime = \"demo\"\n"
    );
    let config = load_text(&text).unwrap();
    let seen = |role: &str| {
        let agent = config.agent(role.parse().unwrap()).unwrap();
        (agent.runtime, agent.model.as_deref(), agent.pass_env.as_slice(), agent.prompt.as_deref())
    };
    let token = ["TOKEN".to_owned()];
    assert_eq!(seen("dev"), (Runtime::Claude, Some("big"), &token[..], Some("careful")));
    assert_eq!(seen("review"), (Runtime::Claude, Some("small"), &token[..], Some("careful")));
    // A model is in its runtime's own words.
    assert_eq!(seen("gardener"), (Runtime::Demo, None, &token[..], Some("careful")));
    assert_eq!(load_text(&show::as_toml(&config)).unwrap(), config);

    let floor = "[defaults.agents.default]\nruntime = \"codex\"\n[defaults.agents.review]\nmodel = \"m\"\n";
    let floor = load::floor_from(Path::new("floor.toml"), floor).unwrap();
    let config = load::project_from(Path::new("shopfloor.toml"), MINIMAL, &floor).unwrap();
    assert_eq!(config.agent(Role::DEV).unwrap().runtime, Runtime::Codex);
    assert_eq!(config.agent(Role::REVIEW).unwrap().model.as_deref(), Some("m"));
}

#[test]
fn the_floors_agents_stand_in_for_missing_ones() {
    let floor = load::floor_from(
        Path::new("floor.toml"),
        "[defaults.agents.dev]\nruntime = \"generic\"\ncommand = [\"bot\"]\n\
         [defaults.agents.review]\nruntime = \"generic\"\ncommand = [\"critic\"]\n",
    )
    .unwrap();
    let text = format!("{MINIMAL}[agents.dev]\nruntime = \"demo\"\n");
    let config = load::project_from(Path::new("shopfloor.toml"), &text, &floor).unwrap();
    assert_eq!(config.agent(Role::DEV).unwrap().runtime, Runtime::Demo);
    assert_eq!(config.agent(Role::REVIEW).unwrap().command.as_ref().unwrap(), &["critic"]);
    // Nobody reviews where nobody needs to.
    let text = format!(
        "{MINIMAL}[agents.dev]\nruntime = \"generic\"\ncommand = [\"a\"]\n[review]\nrequired = false\n"
    );
    assert_eq!(load_text(&text).unwrap().agent(Role::REVIEW), None);
}
