use super::support::{BOUND, Fifo, path_variable, wait_gone};
use shopfloor_adapters::host::process::{Liveness, is_same};
use shopfloor_adapters::terminal::tmux::{Probe, SpawnSpec, Tmux, TmuxError};
use shopfloor_core::effect::ProcessId;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

/// A tmux server of the test's own, ended with it.
pub struct Server {
    pub tmux: Tmux,
    pub folder: tempfile::TempDir,
}

impl Server {
    pub fn new() -> Server {
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).expect("closed");
        Server { tmux: Tmux::new(folder.path().join("tmux.sock"), path_variable()), folder }
    }

    pub fn spec(&self, name: &str, script: &str) -> SpawnSpec {
        SpawnSpec {
            name: name.to_owned(),
            cwd: self.folder.path().to_owned(),
            argv: ["sh", "-c", script].iter().map(OsString::from).collect(),
            env: vec![("PATH".into(), path_variable())],
        }
    }

    pub fn spawn(&self, name: &str, script: &str) -> ProcessId {
        self.tmux.spawn(&self.spec(name, script)).expect("spawned")
    }

    pub fn probe(&self, name: &str) -> Probe {
        self.tmux.probe(name).expect("probed")
    }

    fn launch_files(&self) -> usize {
        fs::read_dir(self.folder.path().join("tmux.launch")).expect("listed").count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("tmux").arg("-S").arg(self.tmux.socket()).arg("kill-server").output();
    }
}

/// Arguments that tmux, a shell or a protocol would make something of.
pub fn nasty() -> Vec<OsString> {
    let mut all: Vec<OsString> = [
        "",
        "a b",
        "it's",
        "\"quoted\"",
        "new\nline\n",
        "end;",
        ";",
        "\\;",
        "\\",
        "#(touch made)",
        "#{pid}",
        "$HOME `id` $(id)",
        "-x",
        "--",
        "*",
        "~",
        "ünï",
        "{",
        "}",
        "a=b",
        "tab\t\x1b[31m",
    ]
    .iter()
    .map(OsString::from)
    .collect();
    all.push(OsString::from_vec(vec![b'n', 0xff, 0xfe]));
    all.push("long".repeat(8000).into());
    all
}

#[test]
fn arguments_environment_and_folder_arrive_as_they_are() {
    let server = Server::new();
    let fifo = Fifo::make(server.folder.path(), "fifo");
    let cwd = server.folder.path().join("it's a #(touch made) \"folder\"\n;");
    fs::create_dir(&cwd).expect("made");
    let script = r#"{ pwd; printf '\0'; printf '%s\0' "$@"; printf 'ENV\0'; env -0; } > "$FIFO""#;
    let mut spec = server.spec("nasty", script);
    spec.cwd = cwd.clone();
    spec.argv.push("sh".into());
    spec.argv.extend(nasty());
    spec.env.push(("FIFO".into(), fifo.0.clone().into()));
    for (number, value) in nasty().into_iter().enumerate() {
        spec.env.push((format!("NASTY_{number}").into(), value));
    }
    server.tmux.spawn(&spec).expect("spawned");

    let said = fifo.read();
    let mut said = said.split(|b| *b == 0).map(|part| OsString::from_vec(part.to_vec()));
    let mut pwd = cwd.into_os_string();
    pwd.push("\n");
    assert_eq!(said.next(), Some(pwd));
    let arguments: Vec<OsString> = said.by_ref().take_while(|part| part != "ENV").collect();
    assert_eq!(arguments, nasty());
    let entries = said.filter(|part| !part.is_empty()).map(|part| {
        let bytes = part.into_vec();
        let equals = bytes.iter().position(|b| *b == b'=').expect("an entry");
        (OsString::from_vec(bytes[..equals].to_vec()), OsString::from_vec(bytes[equals + 1..].to_vec()))
    });
    let mut env: BTreeMap<OsString, OsString> = entries.collect();
    for (name, value) in &spec.env {
        assert_eq!(env.remove(name).as_ref(), Some(value), "{name:?}");
    }
    // What the shells themselves add; above all no TMUX.
    let rest: Vec<OsString> = env.into_keys().filter(|name| name != "_").collect();
    assert_eq!(rest, ["PWD", "SHOPFLOOR_PANE", "TERM"]);
    assert!(!server.folder.path().join("made").exists());
    assert_eq!(server.launch_files(), 0, "the launch file deleted itself");
}

#[test]
fn a_session_is_probed_captured_adopted_and_ended() {
    let server = Server::new();
    let fifo = Fifo::make(server.folder.path(), "fifo");
    assert_eq!(server.probe("dev-a-1-e1"), Probe::Absent);
    assert_eq!(server.tmux.capture("dev-a-1-e1", 10).expect("captured"), "");
    server.tmux.end("dev-a-1-e1").expect("nothing to end");

    // A daemon of its own session that ignores SIGTERM is the session's too.
    let script = r#"
        echo "hello $$"
        (setsid sh -c 'trap "" TERM HUP; echo $$ > fifo; exec sleep 300' &)
        trap "" TERM HUP; sleep 300; sleep 300"#;
    let process = server.spawn("dev-a-1-e1", script);
    let daemon = fifo.process();
    assert_eq!(server.probe("dev-a-1-e1"), Probe::Alive(process));
    assert_eq!(server.spawn("dev-a-1-e1", "exit 1"), process, "adopted");
    let other = server.spawn("dev-a-1-e10", "sleep 300");
    assert_eq!(server.probe("dev-a-1-e"), Probe::Absent, "a prefix is no name");
    assert_eq!(server.tmux.capture("dev-a-1-e1", 10).expect("captured"), format!("hello {}", process.pid));

    server.tmux.end("dev-a-1-e1").expect("ended");
    for gone in [process, daemon] {
        assert_eq!(is_same(gone), Liveness::Gone);
    }
    let left = server.tmux.list().expect("listed");
    assert_eq!(left, [("dev-a-1-e10".to_owned(), Probe::Alive(other))]);
    server.tmux.end("dev-a-1-e10").expect("ended");
    assert_eq!(server.tmux.list().expect("listed"), []);
    // The server ended with its last session, and comes back.
    let again = server.spawn("dev-a-1-e1", "sleep 300");
    assert_eq!(server.probe("dev-a-1-e1"), Probe::Alive(again));
}

#[test]
fn a_dead_pane_keeps_its_status_and_its_screen() {
    let server = Server::new();
    let fifo = Fifo::make(server.folder.path(), "fifo");
    for (name, end, status) in
        [("exits", "exit 3", Some(3)), ("killed", "kill -KILL $$", Some(137)), ("passes", "exit 0", Some(0))]
    {
        // It ends when its last words were seen on the screen.
        let process = server.spawn(name, &format!("echo last words; read go < fifo; {end}"));
        let deadline = Instant::now() + BOUND;
        let seen = || server.tmux.capture(name, 5).expect("captured") == "last words";
        while !seen() {
            assert!(Instant::now() < deadline, "{name} prints");
        }
        fs::write(&fifo.0, "go\n").expect("told");
        wait_gone(process);
        assert_eq!(server.probe(name), Probe::Dead { status });
        assert!(seen(), "{name}");
        assert_eq!(server.spawn(name, "sleep 300").start, 0, "adopted, and known to be gone");
        server.tmux.end(name).expect("ended");
        assert_eq!(server.probe(name), Probe::Absent);
    }
}

#[test]
fn a_program_that_ends_at_once_has_a_status() {
    let server = Server::new();
    for number in 0..20 {
        let name = format!("quick-{number}");
        wait_gone(server.spawn(&name, "exit 5"));
        assert_eq!(server.probe(&name), Probe::Dead { status: Some(5) });
    }
}

#[test]
fn what_can_not_be_run_says_so_in_its_pane() {
    let server = Server::new();
    let mut spec = server.spec("nowhere", "true");
    spec.cwd = server.folder.path().join("missing");
    wait_gone(server.tmux.spawn(&spec).expect("spawned"));
    assert_eq!(server.probe("nowhere"), Probe::Dead { status: Some(126) });
    assert!(server.tmux.capture("nowhere", 20).expect("captured").contains("missing"));

    let mut spec = server.spec("nothing", "true");
    spec.argv = vec!["no-such-program".into()];
    wait_gone(server.tmux.spawn(&spec).expect("spawned"));
    assert_eq!(server.probe("nothing"), Probe::Dead { status: Some(127) });
    assert!(server.tmux.capture("nothing", 20).expect("captured").contains("no-such-program"));
}

#[test]
fn a_program_that_lets_go_of_its_terminal_is_alive() {
    let server = Server::new();
    let fifo = Fifo::make(server.folder.path(), "fifo");
    let script = "trap '' HUP; exec </dev/null >/dev/null 2>&1; echo $$ > fifo; exec sleep 300";
    let process = server.spawn("silent", script);
    assert_eq!(fifo.process(), process);
    assert_eq!(server.probe("silent"), Probe::Alive(process));
    server.tmux.end("silent").expect("ended");
    assert_eq!(is_same(process), Liveness::Gone);
}

#[test]
fn unsafe_places_and_names_are_refused() {
    let server = Server::new();
    for name in ["", "a.b", "a:b", "=a", "a b", "-a", "#{pid}", "a;"] {
        assert!(matches!(server.tmux.probe(name), Err(TmuxError::Refused(_))), "{name:?}");
    }
    fs::set_permissions(server.folder.path(), Permissions::from_mode(0o755)).expect("opened");
    let error = server.tmux.spawn(&server.spec("a", "true")).expect_err("refused").to_string();
    assert!(error.contains("chmod 700"), "{error}");

    let long = Tmux::new(PathBuf::from("/tmp").join("x".repeat(120)), path_variable());
    assert!(matches!(long.spawn(&server.spec("a", "true")), Err(TmuxError::Refused(_))));
    let missing = Tmux::new(server.folder.path().join("s"), server.folder.path());
    let error = missing.probe("a").expect_err("there is no tmux").to_string();
    assert!(error.contains("apt install tmux"), "{error}");
}
