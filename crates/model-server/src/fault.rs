//! What can go wrong between a client and its model, on request.

use crate::turn::{Client, Kind, Turn};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// 429, with `retry_after` if that is set.
    RateLimit,
    /// 529 (Anthropic) or 503 (OpenAI).
    Overloaded,
    /// 500.
    ServerError,
    /// The key is refused.
    Auth,
    /// The account has no money.
    Billing,
    /// The prompt does not fit the model's context.
    ContextTooLong,
    /// A subscription's limit is used up until `resets_at`.
    UsageLimit,
    /// An answer that begins, and ends with the connection.
    Cut,
    /// An answer that begins and does not go on, until the fault is cleared.
    Hang,
    /// An answer that begins, and then says that the server is overloaded.
    StreamError,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    pub kind: FaultKind,
    /// How many requests get it; without, each one until it is cleared.
    #[serde(default)]
    pub times: Option<u32>,
    /// Seconds, for the header of that name.
    #[serde(default)]
    pub retry_after: Option<u64>,
    /// Seconds since 1970; a usage limit has it.
    #[serde(default)]
    pub resets_at: Option<u64>,
    #[serde(default)]
    pub client: Option<Client>,
    /// Which turns get it. Without, all but the client's own business.
    #[serde(default)]
    pub on: Option<Kind>,
}

impl Fault {
    pub fn new(kind: FaultKind) -> Fault {
        Fault { kind, times: None, retry_after: None, resets_at: None, client: None, on: None }
    }

    pub fn usage_limit(resets_at: u64) -> Fault {
        Fault { resets_at: Some(resets_at), ..Fault::new(FaultKind::UsageLimit) }
    }

    pub fn times(self, times: u32) -> Fault {
        Fault { times: Some(times), ..self }
    }

    pub fn retry_after(self, seconds: u64) -> Fault {
        Fault { retry_after: Some(seconds), ..self }
    }

    pub fn client(self, client: Client) -> Fault {
        Fault { client: Some(client), ..self }
    }

    pub fn on(self, kind: Kind) -> Fault {
        Fault { on: Some(kind), ..self }
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        match (self.kind, self.resets_at) {
            (FaultKind::UsageLimit, None) => Err("a usage limit needs `resets_at`".into()),
            _ if self.times == Some(0) => Err("a fault for no request at all: `times` is 0".into()),
            _ => Ok(()),
        }
    }

    pub(crate) fn hits(&self, turn: &Turn) -> bool {
        turn.kind != Kind::Side
            && self.client.is_none_or(|client| client == turn.client)
            && self.on.is_none_or(|kind| kind == turn.kind)
    }
}

/// A fault as a client sees it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Wire {
    /// A response that is an error.
    Status {
        status: u16,
        body: serde_json::Value,
        headers: Vec<(String, String)>,
    },
    /// A stream that begins well, and what comes of it.
    Cut,
    Hang,
    Event {
        name: &'static str,
        data: serde_json::Value,
    },
}
