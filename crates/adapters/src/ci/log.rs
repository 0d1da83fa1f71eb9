//! A CI run's log: bounded, redacted and safe to show, whatever a step prints.
//!
//! Invariants:
//! - What reaches the disk went through [`neutralise`] and the redactor, in this order: an escape sequence in
//!   the middle of a secret does not hide it.
//! - The file never has much more than `bytes_max` bytes: the beginning is written as it arrives, the end is
//!   kept in memory and written last, and what lies between is counted.

use shopfloor_core::redact::Redactor;
use shopfloor_core::text::neutralise;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A longer line is cut.
const LINE_BYTES_MAX: usize = 64 * 1024;
/// A cut may go through a secret, which is then not recognised: this much is left out before the cut.
const CUT_MARGIN: usize = 1024;
const EXCERPT_BYTES: usize = 4 * 1024;
const BYTES_MIN: usize = 8 * 1024;

pub(crate) struct RunLog {
    file: File,
    redactor: Redactor,
    /// How much of the beginning may still be written.
    head_left: usize,
    tail: Tail,
    /// The line being printed, and how much of it was left out.
    line: Vec<u8>,
    line_cut: usize,
    /// The end of what the current step printed.
    step: Tail,
}

impl RunLog {
    pub(crate) fn create(path: &Path, bytes_max: usize, redactor: Redactor) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        let half = bytes_max.max(BYTES_MIN) / 2;
        Ok(RunLog {
            file,
            redactor,
            head_left: half,
            tail: Tail::new(half),
            line: Vec::new(),
            line_cut: 0,
            // Escape sequences are removed, so more is kept than is shown.
            step: Tail::new(4 * EXCERPT_BYTES),
        })
    }

    /// Begins a step: what follows counts for its excerpt.
    pub(crate) fn begin_step(&mut self, name: &str) -> io::Result<()> {
        self.note(&format!("== step {name} =="))?;
        self.step = Tail::new(4 * EXCERPT_BYTES);
        Ok(())
    }

    /// A line of our own.
    pub(crate) fn note(&mut self, text: &str) -> io::Result<()> {
        self.end_line()?;
        self.keep(text.as_bytes().to_vec())
    }

    /// Something a step printed.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while let Some(newline) = bytes.iter().position(|b| *b == b'\n') {
            self.extend_line(&bytes[..newline]);
            self.take_line()?;
            bytes = &bytes[newline + 1..];
        }
        self.extend_line(bytes);
        Ok(())
    }

    fn extend_line(&mut self, bytes: &[u8]) {
        let room = LINE_BYTES_MAX - self.line.len();
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.line_cut += bytes.len().saturating_sub(room);
    }

    /// Ends a line that was not ended by a newline.
    fn end_line(&mut self) -> io::Result<()> {
        if self.line.is_empty() { Ok(()) } else { self.take_line() }
    }

    fn take_line(&mut self) -> io::Result<()> {
        let mut line = std::mem::take(&mut self.line);
        let cut = std::mem::take(&mut self.line_cut);
        if cut > 0 {
            // Redacted as a whole before it is shortened, for the same reason as the margin.
            let mut text = self.clean(&line);
            let mut keep = text.len().saturating_sub(CUT_MARGIN);
            while !text.is_char_boundary(keep) {
                keep -= 1;
            }
            let left_out = cut + text.len() - keep;
            text.truncate(keep);
            line = format!("{text} [… {left_out} more bytes in this line left out]").into_bytes();
        }
        self.step.push(line.clone());
        self.keep(line)
    }

    /// Writes the line if it belongs to the beginning, else holds it for the end. Held lines are
    /// cleaned only when they are written: most never are.
    fn keep(&mut self, line: Vec<u8>) -> io::Result<()> {
        if self.tail.is_empty() && line.len() < self.head_left {
            let text = self.clean(&line);
            self.head_left = self.head_left.saturating_sub(text.len() + 1);
            return writeln!(self.file, "{text}");
        }
        self.tail.push(line);
        Ok(())
    }

    fn clean(&self, line: &[u8]) -> String {
        self.redactor.redact(&neutralise(&String::from_utf8_lossy(line)))
    }

    /// The useful end of what the current step printed.
    pub(crate) fn excerpt(&mut self) -> io::Result<String> {
        self.end_line()?;
        let mut lines: Vec<String> = Vec::new();
        let mut room = EXCERPT_BYTES;
        let mut left_out = self.step.dropped > 0;
        for line in self.step.lines.iter().rev() {
            let text = self.clean(line);
            if text.len() + 1 > room {
                left_out = true;
                if lines.is_empty() {
                    lines.push(shopfloor_core::text::tail(&text, room));
                }
                break;
            }
            room -= text.len() + 1;
            lines.push(text);
        }
        if left_out {
            lines.push("[… what came before is in the log]".to_owned());
        }
        lines.reverse();
        Ok(lines.join("\n").trim_end().to_owned())
    }

    /// Writes the end.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.end_line()?;
        if self.tail.dropped > 0 {
            writeln!(self.file, "[… {} bytes left out …]", self.tail.dropped)?;
        }
        for line in std::mem::take(&mut self.tail.lines) {
            let text = self.clean(&line);
            writeln!(self.file, "{text}")?;
        }
        self.file.sync_all()
    }
}

/// The useful end of a log as it is on disk: what the step printed that came last. It was made safe when it was written.
pub fn last_step(log: &Path) -> io::Result<String> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(4 * EXCERPT_BYTES as u64)))?;
    let mut bytes = Vec::new();
    file.take(4 * EXCERPT_BYTES as u64).read_to_end(&mut bytes)?;
    let text = neutralise(&String::from_utf8_lossy(&bytes));
    let begin = text.rfind("== step ").and_then(|at| Some(at + text[at..].find('\n')? + 1)).unwrap_or(0);
    Ok(shopfloor_core::text::tail(text[begin..].trim_end(), EXCERPT_BYTES))
}

/// The last lines, at most `bytes_max` bytes together (but always the last line).
struct Tail {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    bytes_max: usize,
    dropped: u64,
}

impl Tail {
    fn new(bytes_max: usize) -> Self {
        Tail { lines: VecDeque::new(), bytes: 0, bytes_max, dropped: 0 }
    }

    fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    fn push(&mut self, line: Vec<u8>) {
        // An empty line costs something too, or there could be any number of them.
        self.bytes += line.len() + 1;
        self.lines.push_back(line);
        while self.bytes > self.bytes_max && self.lines.len() > 1 {
            let gone = self.lines.pop_front().map_or(0, |line| line.len() + 1);
            self.bytes -= gone;
            self.dropped += gone as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(bytes_max: usize, write: impl FnOnce(&mut RunLog)) -> (String, String) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("log");
        let redactor = Redactor::new(["hunter22".to_owned()]);
        let mut log = RunLog::create(&path, bytes_max, redactor).expect("created");
        write(&mut log);
        let excerpt = log.excerpt().expect("an excerpt");
        log.finish().expect("finished");
        (std::fs::read_to_string(path).expect("a log"), excerpt)
    }

    #[test]
    fn secrets_are_found_across_writes_and_escape_sequences() {
        let (log, excerpt) = run(1 << 20, |log| {
            log.begin_step("one").expect("begun");
            log.write(b"a hun").expect("written");
            log.write(b"ter22 b\nhun\x1b[1mter22\nend").expect("written");
        });
        assert_eq!(log, "== step one ==\na [redacted] b\n[redacted]\nend\n");
        assert_eq!(excerpt, "a [redacted] b\n[redacted]\nend");
    }

    #[test]
    fn beginning_and_end_are_kept_and_the_rest_is_counted() {
        let (log, excerpt) = run(BYTES_MIN, |log| {
            log.begin_step("one").expect("begun");
            for n in 0..10_000 {
                log.write(format!("line {n}\n").as_bytes()).expect("written");
            }
        });
        assert!(log.starts_with("== step one ==\nline 0\n"), "{}", &log[..40]);
        assert!(log.ends_with("line 9999\n"));
        assert!(log.contains("bytes left out …]"));
        assert!(log.len() < BYTES_MIN + 200, "{}", log.len());
        assert!(excerpt.len() < EXCERPT_BYTES + 100 && excerpt.ends_with("line 9999"));
    }

    #[test]
    fn a_cut_line_does_not_show_half_a_secret() {
        let (log, _) = run(1 << 20, |log| {
            let mut line = vec![b'x'; LINE_BYTES_MAX - 4];
            line.extend_from_slice(b"hunter22");
            log.write(&line).expect("written");
            log.write(b"more\n").expect("written");
        });
        assert!(!log.contains("hunt"));
        assert!(log.contains("more bytes in this line left out]"));
    }
}
