use super::*;

fn parse_in_pieces(bytes: &[u8], size: usize) -> Vec<Line> {
    let mut parser = Parser::default();
    let mut lines = Vec::new();
    for piece in bytes.chunks(size) {
        parser.feed(piece, |line| lines.push(line));
    }
    lines
}

fn one(line: &str) -> Notification {
    match parse_in_pieces(format!("{line}\n").as_bytes(), 4096).as_slice() {
        [Line::Notification(notification)] => notification.clone(),
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn notifications_are_told_apart() {
    use Notification as N;
    let table: Vec<(&str, Notification)> = vec![
        (
            r"%output %7 a\033[1m\\ \134ü \400\9",
            N::Output { pane: 7, bytes: "a\x1b[1m\\\\ \\ü \\400\\9".into() },
        ),
        ("%output %7 ", N::Output { pane: 7, bytes: vec![] }),
        (r"%output %0 \000\377\015\012", N::Output { pane: 0, bytes: vec![0, 255, 13, 10] }),
        (
            "%extended-output %1 250 : x : y",
            N::ExtendedOutput { pane: 1, age_ms: 250, bytes: "x : y".into() },
        ),
        ("%extended-output %1 0 new : x", N::ExtendedOutput { pane: 1, age_ms: 0, bytes: "x".into() }),
        ("%session-changed $1 shopfloor", N::SessionChanged { session: 1, name: "shopfloor".into() }),
        ("%session-changed $1 a b", N::SessionChanged { session: 1, name: "a b".into() }),
        ("%sessions-changed", N::SessionsChanged),
        ("%session-window-changed $1 @2", N::SessionWindowChanged { session: 1, window: 2 }),
        ("%window-close @3", N::WindowClose { window: 3 }),
        ("%unlinked-window-close @3", N::UnlinkedWindowClose { window: 3 }),
        ("%pane-mode-changed %4", N::PaneModeChanged { pane: 4 }),
        ("%pause %4", N::Pause { pane: 4 }),
        ("%continue %4", N::Continue { pane: 4 }),
        (
            "%subscription-changed panes $1 - - - : a : b",
            N::SubscriptionChanged { name: "panes".into(), value: "a : b".into() },
        ),
        ("%subscription-changed p $1 @2 0 %3 : ", N::SubscriptionChanged { name: "p".into(), value: vec![] }),
        ("%client-detached /dev/pts/1", N::ClientDetached { client: "/dev/pts/1".into() }),
        (
            "%client-session-changed client-9 $2 dev",
            N::ClientSessionChanged { client: "client-9".into(), session: 2, name: "dev".into() },
        ),
        ("%exit", N::Exit { reason: None }),
        ("%exit server exited", N::Exit { reason: Some("server exited".into()) }),
    ];
    for (line, expected) in table {
        assert_eq!(one(line), expected, "{line}");
    }
}

#[test]
fn what_is_not_understood_is_kept() {
    for line in [
        "",
        "no sign",
        "%new-thing @1",
        "%output",
        "%output 7 x",
        "%output %x x",
        "%output %99999999999 x",
        "%extended-output %1 x : y",
        "%extended-output %1 0 y",
        "%window-close",
        "%window-close $1",
        "%subscription-changed name",
        "%begin 1 2",
        "%begin 1 2 3 4",
        "%begin a b c",
        "%endless",
    ] {
        assert_eq!(one(line), Notification::Unknown(line.into()));
    }
}

const DIALOGUE: &[u8] = b"%begin 10 5 0\n%end 10 5 0\n%sessions-changed\n%begin 11 6 1\n%end 11 5 1\n\
    %begin 11 6 1\n%output %1 x\n\n\xff\xfe\n%end 11 6 1\n%begin 12 7 1\ncan't find it\n%error 12 7 1\n%exit\n";

#[test]
fn replies_hold_anything_but_their_own_end() {
    let guard = |time, number, flags| Guard { time, number, flags };
    let text = |text: &[u8]| Line::Text(text.to_vec());
    let expected = vec![
        Line::Begin(guard(10, 5, 0)),
        Line::End { guard: guard(10, 5, 0), ok: true },
        Line::Notification(Notification::SessionsChanged),
        Line::Begin(guard(11, 6, 1)),
        text(b"%end 11 5 1"),
        text(b"%begin 11 6 1"),
        text(b"%output %1 x"),
        text(b""),
        text(b"\xff\xfe"),
        Line::End { guard: guard(11, 6, 1), ok: true },
        Line::Begin(guard(12, 7, 1)),
        text(b"can't find it"),
        Line::End { guard: guard(12, 7, 1), ok: false },
        Line::Notification(Notification::Exit { reason: None }),
    ];
    // Wherever the bytes are cut.
    for size in 1..=DIALOGUE.len() {
        assert_eq!(parse_in_pieces(DIALOGUE, size), expected, "pieces of {size}");
    }
    assert!(!guard(10, 5, 0).is_ours());
    assert!(guard(11, 6, 1).is_ours());
}

#[test]
fn an_end_without_a_beginning_is_a_violation() {
    for line in ["%end 1 2 1", "%error 1 2 1"] {
        let lines = parse_in_pieces(format!("{line}\n").as_bytes(), 3);
        assert_eq!(lines, [Line::Violation(line.into())]);
    }
}

#[test]
fn a_huge_line_is_cut_short_and_the_next_is_whole() {
    let mut parser = Parser::default();
    let mut lines = Vec::new();
    let piece = vec![b'x'; 100_000];
    for _ in 0..50 {
        parser.feed(&piece, |line| lines.push(line));
        assert!(parser.partial.capacity() <= 2 * LINE_BYTES_MAX);
    }
    parser.feed(b"\n%exit\n", |line| lines.push(line));
    let expected = [
        Line::Notification(Notification::Unknown(vec![b'x'; LINE_BYTES_MAX])),
        Line::Notification(Notification::Exit { reason: None }),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn no_bytes_make_it_panic_and_cutting_changes_nothing() {
    // A generator of nonsense made of the protocol's own parts; the same every time.
    let parts: &[&[u8]] = &[
        b"%begin ",
        b"%end ",
        b"%error ",
        b"%output ",
        b"1 2 1",
        b"%1",
        b" ",
        b": ",
        b"\n",
        b"\\01",
        b"\xff",
        b"7",
    ];
    let mut seed = 1u64;
    let mut next = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as usize
    };
    for _ in 0..500 {
        let bytes: Vec<u8> = (0..60).flat_map(|_| parts[next() % parts.len()].to_vec()).collect();
        let whole = parse_in_pieces(&bytes, bytes.len());
        assert_eq!(parse_in_pieces(&bytes, 1 + next() % 7), whole);
    }
}
