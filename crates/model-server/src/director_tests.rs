use super::*;
use crate::fault::FaultKind;

const SCENARIO: &str = r#"
[captures]
issue = { after = "issue #", until = ":" }

[[rule]]
name = "first"
when = { prompt = "*hello*" }
times = 1
then = [{ text = "once" }]

[[rule]]
name = "failed"
when = { tool_result = "*exit 1*" }
then = [{ text = "it failed" }]

[[rule]]
name = "work"
when = { prompt = "*issue #*" }
then = [
  { text = "On {issue}." },
  { bash = "touch {issue}" },
  { fault = { kind = "overloaded", times = 2 } },
  { usage = { input_tokens = 9 } },
  { calls = [{ bash = "a" }, { tool = { name = "Write", input = { file_path = "{cwd}/f", n = [1, "{issue}"] } } }] },
  { hold = "end" },
]

[[rule]]
name = "checks"
when = { prompt = "CI passed", nth = 2, client = "claude" }
then = [{ text = "{issue} goes on" }, { stop = "max_tokens" }]

[[rule]]
name = "flaky"
when = { prompt = "*flaky*" }
times = 1
then = [{ fault = { kind = "rate_limit", times = 1 } }, { text = "well" }]

[[rule]]
name = "again"
when = { prompt = "*hello*" }
then = [{ text = "again" }]
"#;

fn director() -> Director {
    Director::new(Scenario::parse(SCENARIO).unwrap())
}

fn turn(prompts: &[&str]) -> Turn {
    Turn {
        client: Client::Claude,
        kind: Kind::Prompt,
        conversation: "c".into(),
        model: "m".into(),
        prompts: prompts.iter().map(|p| (*p).to_owned()).collect(),
        tool_result: String::new(),
        system: String::new(),
        cwd: Some("/w".into()),
        round: 0,
        tools: vec!["Bash".into()],
        stream: true,
    }
}

fn result(turn: &Turn, round: usize, text: &str) -> Turn {
    Turn { kind: Kind::ToolResult, round, tool_result: text.into(), ..turn.clone() }
}

fn rule(name: &str) -> By {
    By::Rule(name.into())
}

fn parts(reply: Reply) -> Vec<Part> {
    match reply {
        Reply::Answer(answer) => answer.parts,
        Reply::Fault(fault) => panic!("{fault:?}"),
    }
}

fn text(text: &str) -> Vec<Part> {
    vec![Part::Text(text.into())]
}

#[test]
fn the_first_rule_that_fits_and_is_not_used_up_answers() {
    let mut director = director();
    let hello = turn(&["well, hello there"]);
    assert_eq!(director.reply(&hello).1, rule("first"));
    assert_eq!(director.reply(&hello).1, rule("again"));
    assert_eq!(director.reply(&hello).1, rule("again"));
    let (reply, by) = director.reply(&turn(&["something else"]));
    assert!(matches!(by, By::Nothing(_)), "{by:?}");
    assert_eq!(parts(reply), text("no rule is for this prompt"));
}

#[test]
fn an_exchange_goes_on_with_each_result_and_can_be_asked_again() {
    let mut director = director();
    let begin = turn(&["Work on issue #7: a title"]);
    let touch = Part::Call {
        name: "Bash".into(),
        input: json!({ "command": "touch '7'", "description": "A scripted step" }),
    };
    for _ in 0..2 {
        let (reply, by) = director.reply(&begin);
        assert_eq!(by, rule("work"));
        assert_eq!(parts(reply), [Part::Text("On 7.".into()), touch.clone()]);
    }

    let first = result(&begin, 1, "exit 0");
    for _ in 0..2 {
        assert_eq!(director.reply(&first).1, By::Fault(FaultKind::Overloaded));
    }
    let (Reply::Answer(answer), _) = director.reply(&first) else { panic!("an answer") };
    assert_eq!(answer.usage.input_tokens, 9);
    assert_eq!(answer.parts.len(), 2);
    let Part::Call { name, input } = &answer.parts[1] else { panic!("{answer:?}") };
    assert_eq!((name.as_str(), input), ("Write", &json!({ "file_path": "/w/f", "n": [1, "7"] })));

    let last = parts(director.reply(&result(&begin, 2, "ok")).0);
    assert_eq!(last, [Part::Hold("end".into()), Part::Text("Done.".into())]);
    assert_eq!(parts(director.reply(&result(&begin, 3, "ok")).0), text("Done."));
    assert_eq!(director.reply(&result(&begin, 1, "x\nexit 1\n")).1, rule("failed"));
}

#[test]
fn a_fault_of_a_rule_does_not_use_the_rule_up() {
    let mut director = director();
    let flaky = turn(&["flaky"]);
    assert_eq!(director.reply(&flaky).1, By::Fault(FaultKind::RateLimit));
    assert_eq!(director.reply(&flaky).1, rule("flaky"));
    assert!(matches!(director.reply(&flaky).1, By::Nothing(_)));
}

#[test]
fn an_exchange_that_began_elsewhere_is_known_by_its_prompt() {
    let begin = turn(&["Work on issue #7: a title"]);
    let (reply, by) = director().reply(&result(&begin, 2, "ok"));
    assert_eq!((by, parts(reply).len()), (rule("work"), 2));
}

#[test]
fn a_name_is_looked_for_in_earlier_prompts_and_its_absence_is_said() {
    let mut director = director();
    let (Reply::Answer(answer), by) = director.reply(&turn(&["issue #8: x", "news:\nCI passed"])) else {
        panic!("an answer")
    };
    assert_eq!((answer.parts, answer.stop.as_deref()), (text("8 goes on"), Some("max_tokens")));
    assert_eq!(by, rule("checks"));
    let (_, by) = director.reply(&turn(&["hello", "CI passed"]));
    assert!(matches!(&by, By::Nothing(why) if why.contains("{issue}") && why.contains("checks")), "{by:?}");
    let other = Turn { client: Client::Codex, ..turn(&["issue #8: x", "CI passed"]) };
    assert!(matches!(director.reply(&other).1, By::Nothing(_)), "a rule for the other client");
}

#[test]
fn each_client_gets_its_own_shell_tool() {
    for (tools, name, input) in [
        (vec!["exec_command", "shell"], "exec_command", json!({ "cmd": "touch '7'" })),
        (vec!["shell_command"], "shell_command", json!({ "command": "touch '7'" })),
        (vec![], "shell", json!({ "command": ["bash", "-lc", "touch '7'"] })),
    ] {
        let tools = tools.into_iter().map(str::to_owned).collect();
        let turn = Turn { client: Client::Codex, tools, ..turn(&["issue #7: x"]) };
        let expected = Part::Call { name: name.into(), input };
        assert_eq!(parts(director().reply(&turn).0)[1], expected);
    }
}

#[test]
fn faults_come_before_rules_and_use_none_up() {
    let mut director = director();
    let hello = turn(&["hello"]);
    director.add_fault(Fault::new(FaultKind::ServerError).client(Client::Codex));
    director.add_fault(Fault::new(FaultKind::Cut).times(2).on(Kind::Prompt));
    assert_eq!(director.reply(&hello).1, By::Fault(FaultKind::Cut));
    assert_eq!(director.reply(&result(&hello, 1, "ok")).1, rule("first"));
    assert_eq!(director.reply(&hello).1, By::Fault(FaultKind::Cut));
    assert_eq!(director.reply(&hello).1, rule("first"));
    director.add_fault(Fault::new(FaultKind::RateLimit));
    for _ in 0..3 {
        assert_eq!(director.reply(&hello).1, By::Fault(FaultKind::RateLimit));
    }
    director.clear_faults();
    assert_eq!(director.reply(&hello).1, rule("again"));
}

#[test]
fn the_clients_own_business_uses_no_rule_and_gets_no_fault() {
    let mut director = director();
    director.add_fault(Fault::new(FaultKind::RateLimit));
    let side = Turn { kind: Kind::Side, ..turn(&["hello"]) };
    assert_eq!(director.reply(&side), (Reply::Answer(director.text("ok".into())), By::Default));
    let title = Turn { system: "Generate a title".into(), ..side };
    assert_eq!(parts(director.reply(&title).0), text(r#"{"title": "Scripted work"}"#));
    director.clear_faults();
    assert_eq!(director.reply(&turn(&["hello"])).1, rule("first"));
}

#[test]
fn usage_can_be_set_over_everything() {
    let mut director = director();
    let usage = Usage { input_tokens: 5, output_tokens: 6 };
    let begin = turn(&["issue #7: x"]);
    let used = |director: &mut Director, turn: &Turn| match director.reply(turn).0 {
        Reply::Answer(answer) => answer.usage,
        Reply::Fault(fault) => panic!("{fault:?}"),
    };
    assert_eq!(used(&mut director, &begin), Usage::default());
    director.set_usage(Some(usage));
    assert_eq!(used(&mut director, &begin), usage);
    director.set_usage(None);
    assert_eq!(used(&mut director, &begin), Usage::default());
}
