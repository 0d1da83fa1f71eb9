//! Asking the daemon, at its door. A daemon that dies while being asked does not count: the question is
//! repeated until there is an answer, or nobody there.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

const ANSWER_WITHIN: Duration = Duration::from_secs(10);
const ANSWER_BYTES_MAX: u64 = 64 * 1024;

/// How long a process may take to die after it has hung up.
const DYING: Duration = Duration::from_secs(30);

/// One line to whoever listens at the socket, one line back; `None` if nobody does.
pub fn ask(socket: &Path, request: &str) -> io::Result<Option<String>> {
    let began = Instant::now();
    loop {
        let Ok(stream) = UnixStream::connect(socket) else { return Ok(None) };
        match exchange(&stream, request) {
            Ok(answer) => return Ok(Some(answer)),
            Err(e) if hung_up(&e) && began.elapsed() < DYING => {
                // No event tells that nobody has the socket any more; this lasts as long as a process takes
                // to die.
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(e) => return Err(e),
        }
    }
}

fn exchange(mut stream: &UnixStream, request: &str) -> io::Result<String> {
    stream.set_read_timeout(Some(ANSWER_WITHIN))?;
    stream.set_write_timeout(Some(ANSWER_WITHIN))?;
    stream.write_all(format!("{request}\n").as_bytes())?;
    let mut answer = Vec::new();
    let read = stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).trim_end().to_owned();
    match read {
        // A daemon that was told to stop hangs up when it has stopped.
        Err(e) if !hung_up(&e) || answer.is_empty() => Err(e),
        Ok(_) if answer.is_empty() => Err(ErrorKind::ConnectionAborted.into()),
        _ => Ok(answer),
    }
}

fn hung_up(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
            | ErrorKind::NotConnected
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_daemon_that_dies_while_it_is_asked_is_not_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("daemon.sock");
        let listener = UnixListener::bind(&socket).expect("a socket");
        let dies = std::thread::spawn(move || {
            // It hangs up without having read what it was sent, which the other end sees as a reset; then
            // without an answer; then it is gone, and its socket is nobody's.
            let (first, _) = listener.accept().expect("asked");
            let mut byte = [0];
            (&first).read_exact(&mut byte).expect("a byte");
            drop(first);
            let (second, _) = listener.accept().expect("asked again");
            let mut line = String::new();
            BufReader::new(&second).read_line(&mut line).expect("the request");
        });
        assert_eq!(ask(&socket, "ping").expect("no error"), None);
        dies.join().expect("ended");
    }
}
