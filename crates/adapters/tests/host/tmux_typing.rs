//! Typing into real panes, over the connection and without.

use super::support::{BOUND, Fifo};
use super::tmux_control::Floor;
use shopfloor_adapters::terminal::tmux::{Tmux, TmuxError};
use shopfloor_adapters::terminal::typing::PASTE_BYTES_MAX;
use std::time::Instant;

/// A program that takes every byte as it comes, in the brackets of a paste, and says so many of
/// them on each of the pipes.
fn start_reader(floor: &Floor, tmux: &Tmux, name: &str, counts: &[usize]) -> impl Iterator<Item = Vec<u8>> {
    let mut script = "stty raw -echo; printf '\\033[?2004h\\033]2;ready\\007'; ".to_owned();
    let mut pipes = Vec::new();
    for (number, count) in counts.iter().enumerate() {
        let pipe = format!("{name}.{number}");
        script.push_str(&format!("head -c {count} > {pipe}; "));
        pipes.push(Fifo::make(floor.server.folder.path(), &pipe));
    }
    tmux.spawn(&floor.server.spec(name, &format!("{script} sleep 300"))).expect("spawned");
    let deadline = Instant::now() + BOUND;
    while tmux.pane_title(name).expect("asked").as_deref() != Some("ready") {
        assert!(Instant::now() < deadline, "{name} starts");
    }
    pipes.into_iter().map(|pipe| pipe.read())
}

#[test]
fn pastes_and_keys_arrive_byte_for_byte() {
    let floor = Floor::connected();
    let controls: String = (1..=31u8).chain([127]).map(char::from).collect();
    let long: String = (0..20_000).map(|n| format!("{n}; ")).collect();
    let texts = [
        "plain",
        "three\nlines\r\nof text\n",
        "ends with a separator;",
        ";",
        "-b --",
        "'single' \"double\" \\ $HOME ~ `id` #{pid} #(touch made) %1 {a}",
        "ünï ✳ 漢字 🦀",
        &controls,
        &long,
    ];
    // With a connection, and by processes.
    for (name, tmux) in [("connected", &floor.tmux), ("forked", &floor.server.tmux)] {
        let mut counts: Vec<usize> = texts.iter().map(|text| text.len() + 12).collect();
        counts.extend([1, 1, 3, 1]);
        let mut said = start_reader(&floor, tmux, name, &counts);
        for text in texts {
            tmux.paste(name, text).expect("pasted");
            let expected = format!("\x1b[200~{text}\x1b[201~");
            assert!(said.next().as_deref() == Some(expected.as_bytes()), "{name}: {:?}", text.get(..40));
        }
        tmux.paste(name, "").expect("nothing to do");
        tmux.send_enter(name).expect("typed");
        assert_eq!(said.next().as_deref(), Some(&b"\r"[..]));
        for (key, expected) in [("C-u", &b"\x15"[..]), ("Up", b"\x1b[A"), (";", b";")] {
            tmux.send_key(name, key).expect("typed");
            assert_eq!(said.next().as_deref(), Some(expected), "{key}");
        }
        assert_eq!(floor.plain(&["list-buffers"]), "", "no text is left behind");
    }
    assert!(!floor.server.folder.path().join("made").exists());
}

#[test]
fn what_can_not_be_typed_is_said() {
    let floor = Floor::connected();
    for refused in [
        floor.tmux.paste("idle", "a\0b"),
        floor.tmux.paste("idle", &"x".repeat(PASTE_BYTES_MAX + 1)),
        floor.tmux.send_key("idle", "two words"),
        floor.tmux.send_key("idle", "-X"),
    ] {
        assert!(matches!(refused, Err(TmuxError::Refused(_))), "{refused:?}");
    }
    let why = |result: Result<(), TmuxError>| {
        let error = result.expect_err("not typed");
        assert!(error.is_transient());
        error.to_string()
    };
    assert!(why(floor.tmux.paste("nobody", "text")).contains("can't find session"));
    floor.plain(&["copy-mode", "-t", "=idle:"]);
    assert!(why(floor.tmux.paste("idle", "text")).contains("scrolls"));
    assert!(why(floor.tmux.send_enter("idle")).contains("scrolls"));
    let process = floor.spawn("dead", "exit 0");
    super::support::wait_gone(process);
    let deadline = Instant::now() + BOUND;
    while floor.plain(&["list-panes", "-t", "=dead:", "-F", "#{pane_dead}"]) != "1" {
        assert!(Instant::now() < deadline, "it dies");
    }
    assert!(why(floor.tmux.send_enter("dead")).contains("ended"));
    // tmux 3.3a crashes if it is made to paste there; nothing but tmux itself can look in time.
    for tmux in [&floor.tmux, &floor.server.tmux] {
        assert!(why(tmux.paste("nobody", "text")).contains("can't find session"));
        assert!(why(tmux.paste("idle", "text")).contains("scrolls"));
        assert!(why(tmux.paste("dead", "text")).contains("ended"));
    }
    assert!(floor.tmux.list().expect("the server lives").iter().any(|(name, _)| name == "idle"));
    assert_eq!(floor.plain(&["list-buffers"]), "");
}

#[test]
fn a_persons_client_is_seen() {
    let floor = Floor::connected();
    assert_eq!(floor.tmux.clients("idle").expect("asked"), []);
    assert_eq!(floor.tmux.clients("nobody").expect("asked"), []);
    // A person's terminal: a pane of another server.
    let person = Floor::new();
    let attach = format!("exec tmux -S '{}' attach-session -t =idle", floor.tmux.socket().display());
    let mut spec = person.server.spec("person", &attach);
    spec.env.push(("TERM".into(), "screen".into()));
    person.tmux.spawn(&spec).expect("spawned");
    let deadline = Instant::now() + BOUND;
    let clients = loop {
        assert!(Instant::now() < deadline, "the client comes");
        let clients = floor.tmux.clients("idle").expect("asked");
        if !clients.is_empty() {
            break clients;
        }
    };
    assert_eq!(clients.len(), 1);
    assert!(clients[0].tty.starts_with("/dev/") && !clients[0].is_control, "{clients:?}");
    assert!(clients[0].flags.contains("attached"), "{clients:?}");
    // Its typing is seen: time passes between the two only because the clock is looked at.
    let before = clients[0].activity_time;
    let deadline = Instant::now() + BOUND;
    loop {
        assert!(Instant::now() < deadline, "the typing is seen");
        person.tmux.send_key("person", "x").expect("typed");
        if floor.tmux.clients("idle").expect("asked")[0].activity_time > before {
            break;
        }
    }
    // Who scrolls is aside: those keys are tmux's own.
    let is_aside = || floor.tmux.clients("idle").expect("asked")[0].is_aside;
    assert!(!is_aside());
    floor.plain(&["copy-mode", "-t", "=idle:"]);
    assert!(is_aside());
    floor.plain(&["send-keys", "-t", "=idle:", "-X", "cancel"]);
    assert!(!is_aside());
}
