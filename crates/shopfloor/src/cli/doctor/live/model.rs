//! A model that a client is tried with: it says yes to everything, calls one tool when it is asked to,
//! and can refuse or keep silent. On loopback, for as long as the trial lasts.
//!
//! It knows just as much of the two APIs as that takes.

use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A prompt with these words is answered by a command.
pub const RUN: &str = "Run the command";
/// The command. It is not an agent's to run, so it must be refused; should it run, there is no remote.
pub const COMMAND: &str = "git push --force origin main";

const HEAD_BYTES_MAX: u64 = 64 * 1024;
const BODY_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Requests that are kept, the newest.
const HEARD_MAX: usize = 20;
const SOCKET_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    Answers,
    /// Says nothing until the mood changes.
    Silent,
    /// The key is not accepted.
    Refuses,
    Gone,
}

struct State {
    mood: Mood,
    heard: Vec<String>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub struct Model {
    shared: Arc<Shared>,
    pub port: u16,
}

impl Model {
    pub fn start() -> io::Result<Model> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let state = Mutex::new(State { mood: Mood::Answers, heard: Vec::new() });
        let shared = Arc::new(Shared { state, changed: Condvar::new() });
        let own = Arc::clone(&shared);
        std::thread::Builder::new().name("model".into()).spawn(move || {
            for stream in listener.incoming().flatten() {
                if own.lock().mood == Mood::Gone {
                    return;
                }
                let shared = Arc::clone(&own);
                // A connection that fails is the client's to tell.
                let serve = move || drop(serve(&shared, &stream));
                drop(std::thread::Builder::new().name("model".into()).spawn(serve));
            }
        })?;
        Ok(Model { shared, port })
    }

    pub fn set(&self, mood: Mood) {
        self.shared.lock().mood = mood;
        self.shared.changed.notify_all();
    }

    /// Whether a client said all of this in one request.
    pub fn heard(&self, words: &[&str]) -> bool {
        self.shared.lock().heard.iter().any(|body| words.iter().all(|words| body.contains(words)))
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.set(Mood::Gone);
        // The thread that accepts looks when somebody comes.
        drop(TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)));
    }
}

fn serve(shared: &Shared, stream: &TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(SOCKET_TIMEOUT))?;
    stream.set_write_timeout(Some(SOCKET_TIMEOUT))?;
    let (path, body) = read(&mut BufReader::new(stream))?;
    let anthropic = match path.split('?').next() {
        Some("/v1/messages") => true,
        Some("/v1/responses") => false,
        Some("/v1/models") => {
            return whole(stream, 200, &json!({ "object": "list", "data": [], "models": [] }));
        }
        _ => return whole(stream, 404, &json!({ "error": { "message": "no such path" } })),
    };
    let text = String::from_utf8_lossy(&body).into_owned();
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let mut state = shared.lock();
    if state.heard.len() == HEARD_MAX {
        state.heard.remove(0);
    }
    state.heard.push(text);
    while state.mood == Mood::Silent {
        state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    let mood = state.mood;
    drop(state);
    match mood {
        Mood::Gone => stream.shutdown(Shutdown::Both),
        Mood::Refuses => {
            let kind = json!({ "type": "authentication_error", "message": "invalid x-api-key" });
            whole(stream, 401, &json!({ "type": "error", "error": kind }))
        }
        _ if anthropic => messages(stream, &request),
        _ => responses(stream, &request),
    }
}

fn read(from: &mut impl BufRead) -> io::Result<(String, Vec<u8>)> {
    let mut head = from.by_ref().take(HEAD_BYTES_MAX);
    let mut line = String::new();
    head.read_line(&mut line)?;
    let path = line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        line.clear();
        if head.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = Vec::new();
    from.take(length.min(BODY_BYTES_MAX)).read_to_end(&mut body)?;
    Ok((path, body))
}

fn whole(mut to: impl Write, status: u16, body: &Value) -> io::Result<()> {
    let body = body.to_string();
    let kind = "content-type: application/json\r\nconnection: close";
    write!(to, "HTTP/1.1 {status} Status\r\n{kind}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// As a stream: each event is named by its type.
fn events(mut to: impl Write, events: &[Value]) -> io::Result<()> {
    write!(to, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
    for event in events {
        write!(to, "event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())?;
    }
    to.flush()
}

fn offers(request: &Value, tool: &str) -> bool {
    request["tools"].as_array().is_some_and(|tools| tools.iter().any(|offered| offered["name"] == tool))
}

/// Anthropic Messages.
fn messages(to: impl Write, request: &Value) -> io::Result<()> {
    let mut said = request["messages"].as_array().into_iter().flatten();
    let newest = said.rfind(|message| message["role"] == "user").unwrap_or(&Value::Null);
    let text = newest["content"].to_string();
    let runs = offers(request, "Bash") && text.contains(RUN) && !text.contains("\"tool_result\"");
    let (block, delta, stop) = if runs {
        let input = json!({ "command": COMMAND, "description": "A trial" });
        let block = json!({ "type": "tool_use", "id": "toolu_trial_0", "name": "Bash", "input": {} });
        (block, json!({ "type": "input_json_delta", "partial_json": input.to_string() }), "tool_use")
    } else {
        let block = json!({ "type": "text", "text": "" });
        (block, json!({ "type": "text_delta", "text": "Yes." }), "end_turn")
    };
    let usage = json!({ "input_tokens": 1200, "output_tokens": 10 });
    let message = |content: Value, stop: Option<&str>| {
        json!({ "id": "msg_trial", "type": "message", "role": "assistant", "model": request["model"],
            "content": content, "stop_reason": stop, "stop_sequence": null, "usage": usage })
    };
    if request["stream"] != true {
        return whole(to, 200, &message(json!([{ "type": "text", "text": "Yes." }]), Some("end_turn")));
    }
    events(
        to,
        &[
            json!({ "type": "message_start", "message": message(json!([]), None) }),
            json!({ "type": "content_block_start", "index": 0, "content_block": block }),
            json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "message_delta", "delta": { "stop_reason": stop, "stop_sequence": null }, "usage": usage }),
            json!({ "type": "message_stop" }),
        ],
    )
}

/// OpenAI Responses.
fn responses(to: impl Write, request: &Value) -> io::Result<()> {
    let newest = request["input"].as_array().and_then(|items| items.last()).unwrap_or(&Value::Null);
    let prompted = newest["role"] == "user" && newest["content"].to_string().contains(RUN);
    let tools = [("exec_command", "cmd"), ("shell_command", "command")];
    let tool = tools.into_iter().find(|(name, _)| prompted && offers(request, name));
    let item = match tool {
        Some((name, argument)) => json!({
            "type": "function_call", "id": "fc_trial", "call_id": "call_trial", "name": name,
            "arguments": json!({ argument: COMMAND }).to_string(), "status": "completed",
        }),
        None => json!({
            "type": "message", "id": "msg_trial", "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": "Yes.", "annotations": [] }],
        }),
    };
    let response = |status: &str| json!({ "id": "resp_trial", "object": "response", "status": status });
    let mut completed = response("completed");
    completed["output"] = json!([item]);
    completed["usage"] = json!({
        "input_tokens": 1200, "input_tokens_details": { "cached_tokens": 0 },
        "output_tokens": 10, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 1210,
    });
    events(
        to,
        &[
            json!({ "type": "response.created", "response": response("in_progress") }),
            json!({ "type": "response.output_item.added", "output_index": 0, "item": item }),
            json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
            json!({ "type": "response.completed", "response": completed }),
        ],
    )
}
