//! Containers, if docker runs. It is asked over its socket, and only if its process is there: a socket alone may belong to
//! a service manager, which would start docker for whoever connects.

use serde::Deserialize;
use shopfloor_core::health::Containers;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

const PID_FILE: &str = "/run/docker.pid";
const SOCKET: &str = "/run/docker.sock";
const PROGRAM: &str = "dockerd";
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
const ANSWER_BYTES_MAX: u64 = 4 * 1024 * 1024;
const LISTED_MAX: usize = 50;

#[derive(Deserialize)]
struct Listed {
    #[serde(rename = "Names", default)]
    names: Vec<String>,
    /// In words: `Up 3 hours (unhealthy)`.
    #[serde(rename = "Status", default)]
    status: String,
}

pub(super) fn containers() -> Option<Containers> {
    is_running(Path::new(PID_FILE)).then(|| ask(Path::new(SOCKET)))?
}

fn is_running(pid_file: &Path) -> bool {
    let pid = fs::read_to_string(pid_file).ok().and_then(|text| text.trim().parse::<u32>().ok());
    let name = pid.and_then(|pid| fs::read_to_string(format!("/proc/{pid}/comm")).ok());
    name.is_some_and(|name| name.trim() == PROGRAM)
}

fn ask(socket: &Path) -> Option<Containers> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(ANSWER_WITHIN)).ok()?;
    stream.set_write_timeout(Some(ANSWER_WITHIN)).ok()?;
    // With this version of the protocol the answer ends where the connection does.
    stream.write_all(b"GET /containers/json HTTP/1.0\r\nHost: docker\r\n\r\n").ok()?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).ok()?;
    parse(&answer)
}

fn parse(answer: &[u8]) -> Option<Containers> {
    let text = std::str::from_utf8(answer).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.lines().next()?.split_ascii_whitespace().nth(1)?;
    let listed: Vec<Listed> = (status == "200").then(|| serde_json::from_str(body).ok())??;
    let unhealthy = listed.iter().filter(|one| one.status.ends_with("(unhealthy)"));
    let name = |one: &Listed| one.names.first().map(|name| name.trim_start_matches('/').to_owned());
    let unhealthy: Vec<String> = unhealthy.take(LISTED_MAX).filter_map(name).collect();
    Some(Containers { count: listed.len() as u64, unhealthy })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::os::unix::net::UnixListener;

    const ANSWER: &[u8] = b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n[
        {\"Id\":\"1\",\"Names\":[\"/web\"],\"State\":\"running\",\"Status\":\"Up 3 hours (unhealthy)\"},
        {\"Id\":\"2\",\"Names\":[\"/db\"],\"State\":\"running\",\"Status\":\"Up 3 hours (healthy)\"},
        {\"Id\":\"3\",\"Names\":[\"/x\"],\"State\":\"running\",\"Status\":\"Up 2 days\"}]";

    #[test]
    fn what_docker_answers_is_understood_and_nothing_else_is() {
        let found = Containers { count: 3, unhealthy: vec!["web".to_owned()] };
        assert_eq!(parse(ANSWER), Some(found));
        for other in [&b""[..], b"HTTP/1.0 500 no\r\n\r\n[]", b"HTTP/1.0 200 OK\r\n\r\n{}", b"\xff\xfe"] {
            assert_eq!(parse(other), None);
        }
    }

    #[test]
    fn a_daemon_is_asked_over_its_socket() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("docker.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let answering = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
            // All of it: what is closed with something unread is reset.
            let asked: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            stream.write_all(ANSWER).unwrap();
            asked
        });
        assert_eq!(ask(&socket).map(|found| found.count), Some(3));
        assert_eq!(answering.join().unwrap()[0], "GET /containers/json HTTP/1.0");
    }

    #[test]
    fn a_socket_alone_is_not_asked() {
        let folder = tempfile::tempdir().unwrap();
        let pid_file = folder.path().join("docker.pid");
        assert!(!is_running(&pid_file));
        // A pid that is somebody else's by now.
        fs::write(&pid_file, format!("{}\n", std::process::id())).unwrap();
        assert!(!is_running(&pid_file));
        fs::write(&pid_file, "not a number").unwrap();
        assert!(!is_running(&pid_file));
    }
}
