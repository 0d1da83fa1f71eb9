//! A git server on loopback: `git http-backend` behind a few lines of HTTP, with faults.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};

/// What goes wrong with the next push; after that all is well again.
pub enum Fault {
    /// The connection breaks while the request is read.
    Dies,
    /// It breaks when all is done, instead of an answer.
    DiesAfter,
    Forbidden,
    /// Whoever asks is to say who they are.
    Asks,
    /// It is told that it came. Nothing is done before the word is given; then it is, and that is told, too. Without
    /// a word the connection breaks.
    Late {
        came: Sender<()>,
        word: Receiver<()>,
        done: Sender<()>,
    },
    /// The answer is that of a copy: nothing was done.
    LiesThatItDid,
    /// It is done, and the answer is that of a copy with a hook that declines.
    LiesThatItDidNot,
}

pub struct Server {
    pub url: String,
    shared: Arc<Shared>,
}

struct Shared {
    git: PathBuf,
    root: PathBuf,
    fault: Mutex<Option<(Fault, &'static str)>>,
}

impl Server {
    /// Serves every repository in `root`, to whoever asks, until the test ends.
    pub fn start(git: &Path, root: &Path) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("address"));
        let shared = Arc::new(Shared { git: git.to_owned(), root: root.to_owned(), fault: Mutex::default() });
        let serving = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = serving.clone();
                // A client that goes away is no matter.
                std::thread::spawn(move || shared.serve(stream));
            }
        });
        Server { url, shared }
    }

    /// The fault is that of the next push of a ref of that name; of any, if it is empty.
    pub fn next(&self, fault: Fault, of: &'static str) {
        *self.shared.fault.lock().expect("fault") = Some((fault, of));
    }
}

struct Request {
    method: String,
    path: String,
    query: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    fn is_push(&self) -> bool {
        self.path.ends_with("/git-receive-pack")
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let mut request = head(&mut reader)?;
        if request.header("expect").is_some() {
            (&stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
        }
        if request.is_push() && self.dies() {
            let mut some = [0; 16];
            let _ = reader.read(&mut some);
            return None;
        }
        body(&mut reader, &mut request)?;
        let answer = match self.fault_of(&request) {
            Some(Fault::Forbidden) => b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n".to_vec(),
            Some(Fault::Asks) => {
                b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n"
                    .to_vec()
            }
            Some(Fault::DiesAfter) => {
                self.backend(&self.root, &request);
                return None;
            }
            Some(Fault::Late { came, word, done }) => {
                let _ = came.send(());
                word.recv().ok()?;
                let answer = self.backend(&self.root, &request);
                let _ = done.send(());
                answer
            }
            Some(Fault::LiesThatItDid) => self.backend(self.copy(false).path(), &request),
            Some(Fault::LiesThatItDidNot) => {
                let copy = self.copy(true);
                self.backend(&self.root, &request);
                self.backend(copy.path(), &request)
            }
            Some(Fault::Dies) => return None,
            None => self.backend(&self.root, &request),
        };
        (&stream).write_all(&answer).ok()
    }

    fn dies(&self) -> bool {
        let mut next = self.fault.lock().expect("fault");
        next.take_if(|(fault, of)| matches!(fault, Fault::Dies) && of.is_empty()).is_some()
    }

    fn fault_of(&self, request: &Request) -> Option<Fault> {
        let mut next = self.fault.lock().expect("fault");
        // The first request of a push brings nothing.
        let probes = request.query.contains("git-receive-pack");
        let named = |of: &str| String::from_utf8_lossy(&request.body).contains(of);
        let is_it = |(fault, of): &mut (Fault, &str)| match fault {
            Fault::Asks => probes,
            _ => request.is_push() && named(of),
        };
        next.take_if(is_it).map(|(fault, _)| fault)
    }

    /// Another root with the same repositories.
    fn copy(&self, declines: bool) -> tempfile::TempDir {
        let copy = tempfile::tempdir().expect("tempdir");
        let from = self.root.join(".");
        let copied = Command::new("cp").arg("-a").arg(from).arg(copy.path()).status().expect("cp");
        assert!(copied.success());
        for repo in std::fs::read_dir(copy.path()).expect("root").flatten().filter(|_| declines) {
            decline(&repo.path());
        }
        copy
    }

    fn backend(&self, root: &Path, request: &Request) -> Vec<u8> {
        let mut command = Command::new(&self.git);
        command.arg("http-backend").env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs([
            ("GIT_HTTP_EXPORT_ALL", "1"),
            ("REMOTE_USER", "somebody"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
        ]);
        command.env("GIT_PROJECT_ROOT", root).env("PATH_INFO", &request.path).env("HOME", root);
        command.env("QUERY_STRING", &request.query).env("REQUEST_METHOD", &request.method);
        command.env("CONTENT_LENGTH", request.body.len().to_string());
        for (header, variable) in [
            ("content-type", "CONTENT_TYPE"),
            ("content-encoding", "HTTP_CONTENT_ENCODING"),
            ("git-protocol", "GIT_PROTOCOL"),
        ] {
            command.envs(request.header(header).map(|value| (variable, value)));
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("git http-backend");
        let (mut stdin, body) = (child.stdin.take().expect("stdin"), request.body.clone());
        std::thread::spawn(move || stdin.write_all(&body));
        let output = child.wait_with_output().expect("git http-backend").stdout;
        let end = output.windows(4).position(|four| four == b"\r\n\r\n").expect("headers");
        let headers = String::from_utf8_lossy(&output[..end]).into_owned();
        let status = headers.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
        let mut answer = format!("HTTP/1.1 {status}\r\nConnection: close\r\n{headers}").into_bytes();
        answer.extend_from_slice(&output[end..]);
        answer
    }
}

/// Has a repository decline whatever is pushed.
pub fn decline(repo: &Path) {
    let hook = repo.join("hooks/pre-receive");
    std::fs::create_dir_all(repo.join("hooks")).expect("hooks");
    std::fs::write(&hook, "#!/bin/sh\necho not today >&2\nexit 1\n").expect("hook");
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("mode");
}

fn head(reader: &mut impl BufRead) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let (path, query) = (path.to_owned(), query.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    Some(Request { method, path, query, headers, body: Vec::new() })
}

fn body(reader: &mut impl BufRead, request: &mut Request) -> Option<()> {
    if request.header("transfer-encoding").is_some_and(|how| how.contains("chunked")) {
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let size = usize::from_str_radix(line.trim(), 16).ok()?;
            let mut chunk = vec![0; size + 2];
            reader.read_exact(&mut chunk).ok()?;
            request.body.extend_from_slice(&chunk[..size]);
            if size == 0 {
                return Some(());
            }
        }
    }
    let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    request.body = vec![0; length];
    reader.read_exact(&mut request.body).ok()
}
