//! The server over its port, as a client meets it.

use serde_json::{Value, json};
use shopfloor_model_server::{By, Client, Fault, FaultKind, Kind, ModelServer, Scenario, Usage};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

const BOUND: Duration = Duration::from_secs(30);

const SCENARIO: &str = r#"
[captures]
issue = { after = "issue #" }
[headers]
x-extra = "yes"
[[rule]]
name = "work"
when = { prompt = "*issue #*" }
then = [{ text = "begin" }, { bash = "echo {issue}" }, { text = "end" }]
[[rule]]
name = "held"
when = { prompt = "hold" }
then = [{ text = "before" }, { hold = "gate" }, { delay_ms = 1 }, { text = "after" }]
"#;

fn server() -> ModelServer {
    ModelServer::start(Scenario::parse(SCENARIO).unwrap()).unwrap()
}

/// A request on its way; reading gives what comes until the server closes.
fn send(port: u16, method: &str, path: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let secret = "s".repeat(20);
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nx-api-key: {secret}\r\nx-claude-code-session-id: c1\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    stream
}

struct Got {
    status: u16,
    head: String,
    body: String,
}

impl Got {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The events' names and data, in order.
    fn events(&self) -> Vec<(String, Value)> {
        let event = |block: &str| {
            let (name, data) = block.split_once('\n').unwrap();
            let name = name.strip_prefix("event: ").unwrap().to_owned();
            (name, serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap())
        };
        self.body.split_terminator("\n\n").map(event).collect()
    }

    fn names(&self) -> Vec<String> {
        self.events().into_iter().map(|(name, _)| name).collect()
    }
}

fn got(mut stream: TcpStream) -> Got {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Got { status, head: head.to_owned(), body: body.to_owned() }
}

fn post(server: &ModelServer, path: &str, body: &Value) -> Got {
    got(send(server.port(), "POST", path, &body.to_string()))
}

fn claude(prompt: &str) -> Value {
    json!({
        "model": "claude-x", "stream": true, "tools": [{ "name": "Bash" }],
        "messages": [{ "role": "user", "content": prompt }],
    })
}

fn codex(prompt: &str) -> Value {
    let message =
        json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": prompt }] });
    json!({ "model": "gpt-x", "stream": true, "tools": [{ "name": "exec_command" }], "input": [message] })
}

#[test]
fn messages_are_streamed_with_text_tool_call_and_usage() {
    let server = server();
    let first = post(&server, "/v1/messages?beta=true", &claude("issue #7"));
    assert_eq!(first.status, 200);
    assert!(first.head.contains("x-extra: yes"), "{}", first.head);
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    let expected = [&["message_start"], &block[..], &block[..], &["message_delta", "message_stop"]].concat();
    assert_eq!(first.names(), expected);
    let events = first.events();
    assert_eq!(events[0].1["message"]["usage"]["input_tokens"], 1200);
    assert_eq!(events[2].1["delta"]["text"], "begin");
    let call = &events[4].1["content_block"];
    assert_eq!((&call["name"], &call["input"]), (&json!("Bash"), &json!({})));
    let input: Value = serde_json::from_str(events[5].1["delta"]["partial_json"].as_str().unwrap()).unwrap();
    assert_eq!(input["command"], "echo '7'");
    assert_eq!(events[7].1["delta"]["stop_reason"], "tool_use");

    let mut next = claude("issue #7");
    let result = json!({ "type": "tool_result", "tool_use_id": call["id"], "content": "7" });
    next["messages"].as_array_mut().unwrap().extend([
        json!({ "role": "assistant", "content": [call] }),
        json!({ "role": "user", "content": [result] }),
    ]);
    next["stream"] = json!(false);
    let second = post(&server, "/v1/messages", &next).json();
    assert_eq!(second["content"], json!([{ "type": "text", "text": "end" }]));
    assert_eq!((&second["stop_reason"], &second["model"]), (&json!("end_turn"), &json!("claude-x")));

    let asked = server.requests();
    assert_eq!(asked.len(), 2);
    assert_eq!((asked[1].kind, asked[1].round, asked[1].tool_result.as_str()), (Kind::ToolResult, 1, "7"));
    assert_eq!(asked[1].by, By::Rule("work".into()));
    assert_eq!(asked[0].conversation, "c1");
    assert!(asked[0].headers.contains(&("x-api-key".into(), "***".into())), "{:?}", asked[0].headers);
}

#[test]
fn responses_are_streamed_with_text_tool_call_and_usage() {
    let server = server();
    server.set_usage(Some(Usage { input_tokens: 500, output_tokens: 5 }));
    let first = post(&server, "/v1/responses", &codex("issue #7"));
    let events = first.events();
    let item = ["response.output_item.added", "response.output_item.done"];
    let text = [item[0], "response.output_text.delta", item[1]];
    assert_eq!(
        first.names(),
        [&["response.created"], &text[..], &item[..], &["response.completed"]].concat()
    );
    assert_eq!(events[2].1["delta"], "begin");
    let call = &events[5].1["item"];
    assert_eq!(
        (&call["name"], &call["arguments"]),
        (&json!("exec_command"), &json!(r#"{"cmd":"echo '7'"}"#))
    );
    let done = &events[6].1["response"];
    assert_eq!(done["usage"]["total_tokens"], 505);
    assert_eq!(done["output"][1], *call);

    let mut next = codex("issue #7");
    let output = json!({ "type": "function_call_output", "call_id": call["call_id"], "output": "7" });
    next["input"].as_array_mut().unwrap().extend([call.clone(), output]);
    let second = post(&server, "/v1/responses", &next);
    assert_eq!(second.events().last().unwrap().1["response"]["output"][0]["content"][0]["text"], "end");
}

#[test]
fn each_fault_has_its_form_in_each_api() {
    let server = server();
    let long = Fault::new(FaultKind::ContextTooLong);
    for (fault, status, claude_type, codex_mark) in [
        (
            Fault::new(FaultKind::RateLimit).retry_after(3),
            (429, 429),
            "rate_limit_error",
            "rate_limit_exceeded",
        ),
        (Fault::new(FaultKind::Overloaded), (529, 503), "overloaded_error", "server_is_overloaded"),
        (Fault::new(FaultKind::ServerError), (500, 500), "api_error", "server_error"),
        (Fault::new(FaultKind::Auth), (401, 401), "authentication_error", "invalid_api_key"),
        (Fault::new(FaultKind::Billing), (400, 200), "invalid_request_error", "insufficient_quota"),
        (long, (400, 200), "invalid_request_error", "context_length_exceeded"),
        (Fault::usage_limit(9), (429, 429), "rate_limit_error", "usage_limit_reached"),
    ] {
        server.set_fault(fault.clone());
        let one = post(&server, "/v1/messages", &claude("issue #7"));
        let other = post(&server, "/v1/responses", &codex("issue #7"));
        server.clear_faults();
        assert_eq!((one.status, other.status), status, "{fault:?}");
        assert_eq!(one.json()["error"]["type"], claude_type);
        assert!(other.body.contains(codex_mark), "{}", other.body);
        let retry = one.head.contains("retry-after: 3") && other.head.contains("retry-after: 3");
        assert_eq!(retry, fault.retry_after.is_some());
        let limit = one.head.contains("anthropic-ratelimit-unified-reset: 9");
        assert_eq!(limit, fault.kind == FaultKind::UsageLimit, "{}", one.head);
    }
    let faults = server.requests().iter().filter(|asked| matches!(asked.by, By::Fault(_))).count();
    assert_eq!(faults, 14);
}

#[test]
fn a_stream_is_cut_or_fails_after_it_began() {
    let server = server();
    server.set_fault(Fault::new(FaultKind::Cut).times(2));
    assert_eq!(post(&server, "/v1/messages", &claude("issue #7")).names(), ["message_start"]);
    assert_eq!(post(&server, "/v1/responses", &codex("issue #7")).names(), ["response.created"]);
    server.set_fault(Fault::new(FaultKind::StreamError).times(2));
    assert_eq!(post(&server, "/v1/messages", &claude("issue #7")).names(), ["message_start", "error"]);
    let failed = post(&server, "/v1/responses", &codex("issue #7")).names();
    assert_eq!(failed, ["response.created", "response.failed"]);
    let well = post(&server, "/v1/messages", &claude("issue #7"));
    assert_eq!(well.names().last().unwrap(), "message_stop");
}

#[test]
fn a_hanging_answer_ends_when_faults_are_cleared() {
    let server = server();
    server.set_fault(Fault::new(FaultKind::Hang).client(Client::Claude));
    let hanging = send(server.port(), "POST", "/v1/messages", &claude("issue #7").to_string());
    server.wait_for(BOUND, |asked| asked.len() == 1).unwrap();
    let other = post(&server, "/v1/responses", &codex("issue #7"));
    assert_eq!(other.names().last().unwrap(), "response.completed");
    server.clear_faults();
    assert_eq!(got(hanging).names(), ["message_start"]);
}

#[test]
fn an_answer_holds_until_it_is_released() {
    let server = server();
    let held = send(server.port(), "POST", "/v1/messages", &claude("hold").to_string());
    let mut lines = BufReader::new(held.try_clone().unwrap()).lines();
    let first = lines.find(|line| line.as_ref().unwrap().contains("before"));
    assert!(first.is_some(), "what comes before the hold is sent");
    server.release("gate");
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(rest.iter().any(|line| line.contains("after")), "{rest:?}");
    // What comes there later does not hold.
    assert!(post(&server, "/v1/messages", &claude("hold")).body.contains("after"));
}

#[test]
fn dropping_the_handle_ends_what_waits_and_frees_the_port() {
    let server = server();
    server.set_fault(Fault::new(FaultKind::Hang).times(1));
    let body = claude("hold").to_string();
    let waiting: Vec<TcpStream> =
        (0..2).map(|_| send(server.port(), "POST", "/v1/messages", &body)).collect();
    server.wait_for(BOUND, |asked| asked.len() == 2).unwrap();
    let silent = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let port = server.port();
    drop(server);
    for mut stream in waiting.into_iter().chain([silent]) {
        let mut rest = Vec::new();
        // Closed, or reset: over in any case.
        let _ = stream.read_to_end(&mut rest);
        assert!(!String::from_utf8_lossy(&rest).contains("message_stop"));
    }
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn what_clients_ask_beside_is_answered_and_noted() {
    let server = server();
    let port = server.port();
    let count = post(&server, "/v1/messages/count_tokens", &claude("x"));
    assert!(count.json()["input_tokens"].as_u64().unwrap() > 10);
    assert_eq!(got(send(port, "GET", "/v1/models?client_version=1", "")).json()["models"], json!([]));
    assert_eq!(got(send(port, "HEAD", "/", "")).body, "");
    assert_eq!(got(send(port, "GET", "/else", "")).status, 404);
    let expected = ["POST /v1/messages/count_tokens", "GET /v1/models", "HEAD /", "GET /else"];
    assert_eq!(server.other_requests(), expected);
    assert_eq!(post(&server, "/v1/messages", &json!("nonsense")).status, 200);
    assert!(server.requests().iter().all(|asked| asked.kind == Kind::Side));
}

#[test]
fn waiting_for_a_request_that_does_not_come_gives_those_that_came() {
    let server = server();
    post(&server, "/v1/messages", &claude("issue #7"));
    let asked = server.wait_for(Duration::ZERO, |asked| asked.len() == 2).unwrap_err();
    assert_eq!(asked.len(), 1);
}

#[test]
fn the_program_is_controlled_over_its_port_and_ends_with_its_input() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("scenario.toml");
    std::fs::write(&file, SCENARIO).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_model-server"))
        .arg(&file)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let port: u16 = url.trim().strip_prefix("http://127.0.0.1:").unwrap().parse().unwrap();
    let control =
        |method: &str, what: &str, body: &str| got(send(port, method, &format!("/control/{what}"), body));
    let ask = || got(send(port, "POST", "/v1/messages", &claude("issue #7").to_string()));

    assert_eq!(control("POST", "fault", r#"{"kind":"overloaded"}"#).status, 200);
    assert_eq!(ask().status, 529);
    assert_eq!(control("POST", "clear", "").status, 200);
    assert_eq!(control("POST", "usage", r#"{"input_tokens":777}"#).status, 200);
    assert!(ask().body.contains(r#""input_tokens":777"#));
    assert_eq!(control("POST", "usage", "null").status, 200);
    assert!(ask().body.contains(r#""input_tokens":1200"#));
    assert_eq!(control("POST", "release/gate", "").status, 200);
    let held = got(send(port, "POST", "/v1/messages", &claude("hold").to_string()));
    assert!(held.body.contains("after"));
    assert_eq!(control("GET", "requests", "").json().as_array().unwrap().len(), 4);
    assert_eq!(control("GET", "others", "").json(), json!([]));
    for (what, body, status) in [
        ("fault", r#"{"kind":"usage_limit"}"#, 400),
        ("fault", r#"{"kind":"no such"}"#, 400),
        ("usage", "nonsense", 400),
        ("nothing", "", 404),
    ] {
        assert_eq!(control("POST", what, body).status, status, "{what} {body}");
    }

    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_program_says_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("scenario.toml");
    std::fs::write(&file, "[[rule]]\nname = 1").unwrap();
    let file = file.to_str().unwrap();
    for (args, why) in [
        (vec![], "usage:"),
        (vec![file], "expected a string"),
        (vec!["/no/such/file"], "cannot be read"),
        (vec![file, "port"], "not a port"),
    ] {
        let out = Command::new(env!("CARGO_BIN_EXE_model-server")).args(&args).output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(!out.status.success() && said.contains(why), "{args:?}: {said}");
    }
}
