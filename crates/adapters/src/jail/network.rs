//! The only way to the network at level "network": a proxy of the daemon's, which connects to the hosts in the
//! configuration and to nothing else. In a jail, [`forward`] brings what programs say to a port of their own loopback to
//! the proxy's socket.
//!
//! Invariant: nothing of what a program says is obeyed but the name of a host that is on the list.

use crate::agent::Badge;
use crate::layout::Layout;
use shopfloor_core::ids::Epoch;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

const HEAD_BYTES_MAX: u64 = 64 * 1024;
const HEAD_WITHIN: Duration = Duration::from_secs(30);
const CONNECT_WITHIN: Duration = Duration::from_secs(30);
const TOKEN_BYTES_MAX: usize = 256;
/// Without a port, a host is meant with these.
const PORTS: [u16; 2] = [80, 443];

/// Hosts that may be connected to: `name`, `*.name` for all below it, either with `:port`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts(pub Vec<String>);

impl Hosts {
    pub fn allow(&self, host: &str, port: u16) -> bool {
        let host = host.to_ascii_lowercase();
        self.0.iter().any(|rule| {
            let (name, wanted) = match rule.rsplit_once(':').map(|(name, port)| (name, port.parse::<u16>())) {
                Some((name, Ok(port))) => (name, Some(port)),
                _ => (rule.as_str(), None),
            };
            let name = name.to_ascii_lowercase();
            let fits = match name.strip_prefix("*.") {
                Some(above) => {
                    host.strip_suffix(above).is_some_and(|below| below.len() > 1 && below.ends_with('.'))
                }
                None => host == name,
            };
            fits && wanted.map_or(PORTS.contains(&port), |wanted| wanted == port)
        })
    }
}

/// Who a request is for.
struct Asked {
    host: String,
    port: u16,
    /// What the host is told first; nothing for a tunnel.
    head: Option<Vec<u8>>,
}

/// Serves one connection to the proxy. `Ok(Some(host))`: that one was refused.
pub fn serve(client: &UnixStream, hosts: &Hosts) -> io::Result<Option<String>> {
    client.set_read_timeout(Some(HEAD_WITHIN))?;
    client.set_write_timeout(Some(HEAD_WITHIN))?;
    let mut reader = BufReader::new(client);
    let Some(asked) = read_head(&mut reader)? else {
        answer(client, "400 Bad Request", "this is the factory's proxy")?;
        return Ok(None);
    };
    let place = format!("{}:{}", asked.host, asked.port);
    if !hosts.allow(&asked.host, asked.port) {
        let why = format!("{place} is not among the hosts in [isolation] of floor.toml");
        answer(client, "403 Forbidden", &why)?;
        return Ok(Some(place));
    }
    let server = match connect(&asked.host, asked.port) {
        Ok(server) => server,
        Err(e) => {
            answer(client, "502 Bad Gateway", &format!("{place}: {e}"))?;
            return Ok(None);
        }
    };
    match &asked.head {
        Some(head) => (&server).write_all(head)?,
        None => (&*client).write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?,
    }
    // What came along with the head.
    (&server).write_all(reader.buffer())?;
    client.set_read_timeout(None)?;
    client.set_write_timeout(None)?;
    join(client, &server)?;
    Ok(None)
}

fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in (host.trim_matches(['[', ']']), port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_WITHIN) {
            Ok(stream) => return Ok(stream),
            Err(e) => last = e,
        }
    }
    Err(last)
}

fn answer(mut client: &UnixStream, status: &str, why: &str) -> io::Result<()> {
    let length = why.len() + 1;
    write!(client, "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{why}\n")
}

/// `None`: that is not what a proxy is asked.
fn read_head(reader: &mut BufReader<&UnixStream>) -> io::Result<Option<Asked>> {
    let mut lines = Vec::new();
    let mut left = reader.by_ref().take(HEAD_BYTES_MAX);
    loop {
        let mut line = String::new();
        if left.read_line(&mut line)? == 0 || !line.ends_with('\n') {
            return Ok(None);
        }
        if line.trim_end().is_empty() {
            break;
        }
        lines.push(line.trim_end().to_owned());
    }
    Ok(understand(&lines))
}

fn understand(lines: &[String]) -> Option<Asked> {
    let (first, fields) = lines.split_first()?;
    let [method, target, version] = first.split(' ').collect::<Vec<_>>()[..] else { return None };
    if method == "CONNECT" {
        let (host, port) = target.rsplit_once(':')?;
        return Some(Asked { host: host.to_owned(), port: port.parse().ok()?, head: None });
    }
    let (place, path) = match target.strip_prefix("http://")? {
        rest if rest.contains('/') => rest.split_once('/')?,
        rest => (rest, ""),
    };
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (place, 80),
    };
    let mut head = format!("{method} /{path} {version}\r\n");
    for field in fields.iter().filter(|field| !field.to_ascii_lowercase().starts_with("proxy-")) {
        head.push_str(field);
        head.push_str("\r\n");
    }
    head.push_str("\r\n");
    Some(Asked { host: host.to_owned(), port, head: Some(head.into_bytes()) })
}

/// Copies both ways until both have said all.
fn join(client: &UnixStream, server: &TcpStream) -> io::Result<()> {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Whoever hung up is told nothing more.
            let _ = io::copy(&mut &*client, &mut &*server);
            let _ = server.shutdown(Shutdown::Write);
        });
        let copied = io::copy(&mut &*server, &mut &*client);
        let _ = client.shutdown(Shutdown::Write);
        copied.map(drop)
    })
}

/// Brings every connection to the listener to the proxy's socket, for as long as the jail lives. First of all each says
/// which session it is for, by the token that session has now.
pub fn forward(listener: OwnedFd, proxy: &Path, layout: &Layout, session: Epoch) {
    for client in TcpListener::from(listener).incoming().flatten() {
        let Some(badge) = Badge::of(layout, session) else { continue };
        let Ok(daemon) = UnixStream::connect(proxy) else { continue };
        if (&daemon).write_all(format!("{}\n", badge.token()).as_bytes()).is_err() {
            continue;
        }
        // Without a thread it is closed, and whoever asks tries again.
        let _ = std::thread::Builder::new().spawn(move || join(&daemon, &client));
    }
}

/// The token that comes first: nothing of what follows it is taken.
pub fn read_token(mut client: &UnixStream) -> io::Result<String> {
    client.set_read_timeout(Some(HEAD_WITHIN))?;
    let mut token = Vec::new();
    for _ in 0..TOKEN_BYTES_MAX {
        let mut byte = [0];
        client.read_exact(&mut byte)?;
        if byte == *b"\n" {
            return String::from_utf8(token).map_err(io::Error::other);
        }
        token.extend_from_slice(&byte);
    }
    Err(io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_allowed_by_name_and_port() {
        let hosts = Hosts(["api.example.org", "*.example.net", "Local:8080"].map(str::to_owned).to_vec());
        for (host, port, expected) in [
            ("api.example.org", 443, true),
            ("API.example.org", 80, true),
            ("api.example.org", 22, false),
            ("example.org", 443, false),
            ("evil-api.example.org", 443, false),
            ("a.b.example.net", 443, true),
            ("example.net", 443, false),
            ("evilexample.net", 443, false),
            (".example.net", 443, false),
            ("local", 8080, true),
            ("local", 443, false),
            ("", 443, false),
        ] {
            assert_eq!(hosts.allow(host, port), expected, "{host}:{port}");
        }
    }

    fn asked(head: &str) -> Option<(String, u16, String)> {
        let lines: Vec<String> = head.lines().map(str::to_owned).collect();
        let asked = understand(&lines)?;
        Some((asked.host, asked.port, String::from_utf8(asked.head.unwrap_or_default()).expect("text")))
    }

    #[test]
    fn a_head_names_one_host_or_none() {
        assert_eq!(asked("CONNECT a.b:443 HTTP/1.1\nHost: other"), Some(("a.b".into(), 443, String::new())));
        let plain =
            asked("GET http://a.b:81/x?y HTTP/1.1\nHost: a.b\nProxy-Authorization: secret").expect("asked");
        assert_eq!(plain, ("a.b".into(), 81, "GET /x?y HTTP/1.1\r\nHost: a.b\r\n\r\n".into()));
        assert_eq!(asked("GET http://a.b HTTP/1.0").expect("asked").2, "GET / HTTP/1.0\r\n\r\n");
        for none in [
            "",
            "GET / HTTP/1.1",
            "CONNECT a.b HTTP/1.1",
            "CONNECT a.b:x HTTP/1.1",
            "GET ftp://a/ HTTP/1.1",
            "X",
        ] {
            assert_eq!(asked(none), None, "{none}");
        }
    }

    #[test]
    fn what_is_on_the_list_is_reached_and_nothing_else() {
        let server = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = server.local_addr().expect("it is bound").port();
        let hosts = Hosts(vec![format!("127.0.0.1:{port}")]);
        let serves = std::thread::spawn(move || {
            let (stream, _) = server.accept().expect("connected");
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).expect("said");
            (&stream).write_all(b"pong").expect("answered");
            line
        });
        let ask = |request: String, hosts: Hosts| {
            let (mine, theirs) = UnixStream::pair().expect("a pair");
            let proxy = std::thread::spawn(move || serve(&theirs, &hosts).expect("served"));
            (&mine).write_all(request.as_bytes()).expect("asked");
            mine.shutdown(Shutdown::Write).expect("all is said");
            let mut said = String::new();
            (&mine).read_to_string(&mut said).expect("an answer");
            (said, proxy.join().expect("no panic"))
        };
        let (said, refused) = ask(format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nping\n"), hosts.clone());
        assert!(said.starts_with("HTTP/1.1 200") && said.ends_with("pong") && refused.is_none(), "{said}");
        assert_eq!(serves.join().expect("no panic"), "ping\n");
        let (said, refused) = ask("CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n".into(), hosts);
        assert!(said.starts_with("HTTP/1.1 403") && said.contains("[isolation]"), "{said}");
        assert_eq!(refused.as_deref(), Some("127.0.0.1:1"));
    }
}
