//! Parses the lines of tmux's control mode. Pure: bytes in, [`Line`]s out.
//!
//! Invariants:
//! - Bytes may arrive in any pieces; the result does not depend on where they were cut.
//! - No line takes more memory than [`LINE_BYTES_MAX`]: the rest of a longer one is dropped.
//! - In a reply every line is text, except the one that ends exactly that reply (same time, number and
//!   flags): a screen may show anything, even lines of this protocol.
//! - An end without a beginning is a [`Line::Violation`]: nothing after it can be trusted.
//! - Whatever is unknown or malformed is kept ([`Notification::Unknown`]), never an error.

/// A line is at most a whole history of joined rows; all panes' titles together are less.
pub const LINE_BYTES_MAX: usize = 1024 * 1024;

/// What delimits a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    pub time: u64,
    pub number: u64,
    pub flags: u64,
}

impl Guard {
    /// Whether it is the reply to a command that this client sent, not to the one it was started with or to a
    /// hook's.
    pub fn is_ours(self) -> bool {
        self.flags & 1 != 0
    }

    fn parse(fields: &[u8]) -> Option<Guard> {
        let mut fields = std::str::from_utf8(fields).ok()?.split(' ');
        let mut number = || fields.next()?.parse().ok();
        let guard = Guard { time: number()?, number: number()?, flags: number()? };
        fields.next().is_none().then_some(guard)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    Begin(Guard),
    /// A line of the reply.
    Text(Vec<u8>),
    /// The reply's end, and whether the command succeeded.
    End {
        guard: Guard,
        ok: bool,
    },
    Notification(Notification),
    Violation(Vec<u8>),
}

/// Ids are tmux's, without their sign: `$` sessions, `@` windows, `%` panes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notification {
    Output { pane: u32, bytes: Vec<u8> },
    ExtendedOutput { pane: u32, age_ms: u64, bytes: Vec<u8> },
    Pause { pane: u32 },
    Continue { pane: u32 },
    PaneModeChanged { pane: u32 },
    SessionChanged { session: u32, name: String },
    SessionsChanged,
    SessionWindowChanged { session: u32, window: u32 },
    WindowClose { window: u32 },
    UnlinkedWindowClose { window: u32 },
    SubscriptionChanged { name: String, value: Vec<u8> },
    ClientDetached { client: String },
    ClientSessionChanged { client: String, session: u32, name: String },
    Exit { reason: Option<String> },
    Unknown(Vec<u8>),
}

#[derive(Debug, Default)]
pub struct Parser {
    /// The beginning of a line whose end has not arrived.
    partial: Vec<u8>,
    reply: Option<Guard>,
}

impl Parser {
    /// Calls `each` with every line that is complete now.
    pub fn feed(&mut self, mut bytes: &[u8], mut each: impl FnMut(Line)) {
        while let Some(end) = bytes.iter().position(|b| *b == b'\n') {
            self.keep(&bytes[..end]);
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.partial);
            each(self.line(line));
        }
        self.keep(bytes);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = LINE_BYTES_MAX - self.partial.len();
        self.partial.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn line(&mut self, line: Vec<u8>) -> Line {
        let guard = |word: &[u8]| line.strip_prefix(word).and_then(Guard::parse);
        let ended = match guard(b"%end ") {
            Some(guard) => Some((guard, true)),
            None => guard(b"%error ").map(|guard| (guard, false)),
        };
        match (self.reply, ended) {
            (Some(begun), Some((guard, ok))) if begun == guard => {
                self.reply = None;
                Line::End { guard, ok }
            }
            (Some(_), _) => Line::Text(line),
            (None, Some(_)) => Line::Violation(line),
            (None, None) => match guard(b"%begin ") {
                Some(guard) => {
                    self.reply = Some(guard);
                    Line::Begin(guard)
                }
                None => Line::Notification(notification(&line).unwrap_or(Notification::Unknown(line))),
            },
        }
    }
}

fn notification(line: &[u8]) -> Option<Notification> {
    let (word, rest) = cut(line);
    Some(match word {
        b"%output" => {
            let (pane, bytes) = cut(rest);
            Notification::Output { pane: id(b'%', pane)?, bytes: unescape(bytes) }
        }
        b"%extended-output" => {
            // `%PANE AGE [reserved…] : DATA`
            let (pane, rest) = cut(rest);
            let (age, rest) = cut(rest);
            let (_, bytes) = at_colon(rest)?;
            Notification::ExtendedOutput {
                pane: id(b'%', pane)?,
                age_ms: text(age).parse().ok()?,
                bytes: unescape(bytes),
            }
        }
        b"%pause" => Notification::Pause { pane: id(b'%', rest)? },
        b"%continue" => Notification::Continue { pane: id(b'%', rest)? },
        b"%pane-mode-changed" => Notification::PaneModeChanged { pane: id(b'%', rest)? },
        b"%session-changed" => {
            let (session, name) = cut(rest);
            Notification::SessionChanged { session: id(b'$', session)?, name: text(name) }
        }
        b"%sessions-changed" => Notification::SessionsChanged,
        b"%session-window-changed" => {
            let (session, window) = cut(rest);
            Notification::SessionWindowChanged { session: id(b'$', session)?, window: id(b'@', window)? }
        }
        b"%window-close" => Notification::WindowClose { window: id(b'@', rest)? },
        b"%unlinked-window-close" => Notification::UnlinkedWindowClose { window: id(b'@', rest)? },
        b"%subscription-changed" => {
            // `NAME $SESSION @WINDOW INDEX %PANE : VALUE`
            let (name, rest) = cut(rest);
            let (_, value) = at_colon(rest)?;
            Notification::SubscriptionChanged { name: text(name), value: value.to_vec() }
        }
        b"%client-detached" => Notification::ClientDetached { client: text(rest) },
        b"%client-session-changed" => {
            let (client, rest) = cut(rest);
            let (session, name) = cut(rest);
            Notification::ClientSessionChanged {
                client: text(client),
                session: id(b'$', session)?,
                name: text(name),
            }
        }
        b"%exit" => Notification::Exit { reason: (!rest.is_empty()).then(|| text(rest)) },
        _ => return None,
    })
}

/// The first word, and what comes after the space.
fn cut(line: &[u8]) -> (&[u8], &[u8]) {
    match line.iter().position(|b| *b == b' ') {
        Some(space) => (&line[..space], &line[space + 1..]),
        None => (line, &[]),
    }
}

/// What comes before and after the first word that is a colon.
fn at_colon(fields: &[u8]) -> Option<(&[u8], &[u8])> {
    if let Some(value) = fields.strip_prefix(b": ") {
        return Some((&[], value));
    }
    let colon = fields.windows(3).position(|part| part == b" : ")?;
    Some((&fields[..colon], &fields[colon + 3..]))
}

fn id(sign: u8, word: &[u8]) -> Option<u32> {
    let (first, digits) = word.split_first()?;
    (*first == sign).then(|| std::str::from_utf8(digits).ok()?.parse().ok())?
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A pane's output as it was: tmux writes backslashes and control characters as `\ooo`.
fn unescape(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        let octal = match after {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] if *first == b'\\' => {
                Some((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'))
            }
            _ => None,
        };
        out.push(octal.unwrap_or(*first));
        rest = if octal.is_some() { &after[3..] } else { after };
    }
    out
}

#[cfg(test)]
#[path = "protocol_tests.rs"]
mod tests;
