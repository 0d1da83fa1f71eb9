//! As much HTTP/1.1 as two clients on loopback need: one request a connection, bodies with a length.

use serde_json::Value;
use std::io::{self, BufRead, Read, Write};

const HEAD_BYTES_MAX: u64 = 64 * 1024;
/// A conversation of a million tokens is a few megabytes.
const BODY_BYTES_MAX: u64 = 32 * 1024 * 1024;

#[derive(Debug)]
pub struct Request {
    pub method: String,
    /// Without what follows a `?`.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    /// The next request, or nothing if the connection ends first.
    pub fn read(from: &mut impl BufRead) -> io::Result<Option<Request>> {
        let mut head = from.by_ref().take(HEAD_BYTES_MAX);
        let mut line = String::new();
        if head.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace();
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return Err(bad("not a request"));
        };
        let method = method.to_owned();
        let path = target.split('?').next().unwrap_or_default().to_owned();
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            if !line_of(&mut head, &mut line)? {
                return Err(bad("a request that ends in its headers, or has too many"));
            }
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').ok_or_else(|| bad("a header without a colon"))?;
            headers.push((name.trim().to_lowercase(), value.trim().to_owned()));
        }
        let mut request = Request { method, path, headers, body: Vec::new() };
        if request.header("transfer-encoding").is_some() {
            return Err(bad("a body without a length"));
        }
        let length = request.header("content-length").map_or(Ok(0), str::parse);
        let length: u64 = length.map_err(|_| bad("a length that is no number"))?;
        if length > BODY_BYTES_MAX {
            return Err(bad("a body beyond 32 MB"));
        }
        from.take(length).read_to_end(&mut request.body)?;
        if (request.body.len() as u64) < length {
            return Err(bad("a request that ends in its body"));
        }
        Ok(Some(request))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// A line without its end; `false` if there is no whole one.
fn line_of(from: &mut impl BufRead, line: &mut String) -> io::Result<bool> {
    from.read_line(line)?;
    let whole = line.ends_with('\n');
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    Ok(whole)
}

fn bad(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        529 => "Overloaded",
        _ => "Status",
    }
}

type Headers<'a> = &'a [(String, String)];

fn head(to: &mut impl Write, status: u16, kind: &str, headers: Headers<'_>) -> io::Result<()> {
    write!(to, "HTTP/1.1 {status} {}\r\ncontent-type: {kind}\r\nconnection: close\r\n", reason(status))?;
    for (name, value) in headers {
        write!(to, "{name}: {value}\r\n")?;
    }
    Ok(())
}

pub fn json(to: &mut impl Write, status: u16, body: &Value, headers: Headers<'_>) -> io::Result<()> {
    let body = body.to_string();
    head(to, status, "application/json", headers)?;
    write!(to, "content-length: {}\r\n\r\n{body}", body.len())?;
    to.flush()
}

/// The answer to a question whether somebody is there.
pub fn nothing(to: &mut impl Write) -> io::Result<()> {
    head(to, 200, "text/plain", &[])?;
    to.write_all(b"content-length: 0\r\n\r\n")?;
    to.flush()
}

/// Begins a stream of events. It ends with the connection.
pub fn events(to: &mut impl Write, headers: Headers<'_>) -> io::Result<()> {
    head(to, 200, "text/event-stream", headers)?;
    to.write_all(b"cache-control: no-cache\r\n\r\n")?;
    to.flush()
}

pub fn event(to: &mut impl Write, name: &str, data: &Value) -> io::Result<()> {
    write!(to, "event: {name}\ndata: {data}\n\n")?;
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> io::Result<Option<Request>> {
        Request::read(&mut text.as_bytes())
    }

    #[test]
    fn a_request_is_read_to_its_length() {
        let text = "POST /v1/messages?beta=true HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcdef";
        let request = read(text).unwrap().unwrap();
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/messages"));
        assert_eq!(request.header("host"), Some("x"));
        assert_eq!(request.body, b"abc");
        assert!(read("").unwrap().is_none());
    }

    #[test]
    fn what_is_no_request_is_an_error() {
        for (text, why) in [
            ("nonsense\r\n\r\n", "not a request"),
            ("GET / HTTP/1.1\r\nHost: x\r\n", "ends in its headers"),
            ("GET / HTTP/1.1\r\nno colon\r\n\r\n", "colon"),
            ("POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\nabc", "ends in its body"),
            ("POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n", "no number"),
            ("POST / HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n", "32 MB"),
            ("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", "without a length"),
            (&format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(70_000)), "too many"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
