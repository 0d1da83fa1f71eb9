//! The daemon's log: what it cannot do, and what becomes of the work, with levels and fields.
//!
//! In the foreground its lines go to standard error, for the person at that terminal. In the background standard error
//! *is* `daemon.log`, so that a panic's last words are in it as well: a line each, with the time and the level. It is
//! begun anew beyond a bound, between two lines: none is lost, and none is cut. What others wrote is neutralised here, once.

use shopfloor_adapters::host::rotate;
use shopfloor_core::text::one_line;
use shopfloor_desk::now;
use shopfloor_desk::time::timestamp;
use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::{FmtContext, MakeWriter};
use tracing_subscriber::registry::LookupSpan;

/// The log is begun anew beyond this; the part before is kept.
const BYTES_MAX: u64 = 8 * 1024 * 1024;
const LINE_CHARS: usize = 4000;

/// What is worth a line.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
pub enum Detail {
    Error,
    Warn,
    /// Also what becomes of the work
    #[default]
    Info,
    /// Also every effect that is performed
    Debug,
}

impl From<Detail> for Level {
    fn from(detail: Detail) -> Level {
        match detail {
            Detail::Error => Level::ERROR,
            Detail::Warn => Level::WARN,
            Detail::Info => Level::INFO,
            Detail::Debug => Level::DEBUG,
        }
    }
}

/// Sends what this process logs to standard error, for people.
pub fn to_terminal(detail: Detail) {
    start(detail, Line { dated: false }, io::stderr);
}

/// Sends what this process logs to that file, which standard error is already.
pub fn to_file(detail: Detail, file: &Path) -> io::Result<()> {
    let (_, length) = rotate::open(file, BYTES_MAX)?;
    let file = Mutex::new(Bounded { path: file.to_owned(), length });
    start(detail, Line { dated: true }, Appended(file));
    Ok(())
}

fn start(detail: Detail, line: Line, writer: impl for<'w> MakeWriter<'w> + Send + Sync + 'static) {
    let log = tracing_subscriber::fmt().with_max_level(Level::from(detail)).event_format(line);
    // Whoever was first stays: a process has one log.
    let _ = tracing::subscriber::set_global_default(log.with_writer(writer).finish());
}

/// The log for a daemon that is about to be started in the background.
pub fn file(path: &Path) -> io::Result<File> {
    rotate::open(path, BYTES_MAX).map(|(file, _)| file)
}

/// One line a message: `2026-01-02T03:04:05Z WARN message field=value`, or `warning: message (field=value)`.
struct Line {
    dated: bool,
}

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut to: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut said = Said::default();
        event.record(&mut said);
        let level = *event.metadata().level();
        let text = one_line(&said.message, LINE_CHARS);
        if self.dated {
            let fields = one_line(&said.fields, LINE_CHARS);
            return writeln!(to, "{}", format!("{} {level:<5} {text} {fields}", timestamp(now())).trim_end());
        }
        match level {
            Level::ERROR => write!(to, "error: ")?,
            Level::WARN => write!(to, "warning: ")?,
            _ => {}
        }
        match one_line(said.fields.trim_end(), LINE_CHARS) {
            fields if fields.is_empty() => writeln!(to, "{text}"),
            fields => writeln!(to, "{text} ({fields})"),
        }
    }
}

#[derive(Default)]
struct Said {
    message: String,
    fields: String,
}

impl Visit for Said {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // A string takes any write.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, "{name}={value:?} "),
        };
    }
}

/// A file that standard error is, and its length.
struct Bounded {
    path: PathBuf,
    length: u64,
}

struct Appended(Mutex<Bounded>);

impl<'w> MakeWriter<'w> for Appended {
    type Writer = &'w Appended;
    fn make_writer(&'w self) -> &'w Appended {
        self
    }
}

impl Write for &Appended {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut file = self.0.lock().unwrap_or_else(|broken| broken.into_inner());
        if file.length > BYTES_MAX {
            let (new, length) = rotate::open(&file.path, BYTES_MAX)?;
            rustix::stdio::dup2_stderr(&new)?;
            file.length = length;
        }
        io::stderr().write_all(line)?;
        file.length += line.len() as u64;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("nobody panics").write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn lines(dated: bool, say: impl FnOnce()) -> String {
        let kept = Kept::default();
        let to = kept.clone();
        let log = tracing_subscriber::fmt().event_format(Line { dated }).with_writer(move || to.clone());
        tracing::subscriber::with_default(log.finish(), say);
        let bytes = kept.0.lock().expect("nobody panics").clone();
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn a_line_has_its_level_and_fields_and_nothing_that_a_terminal_obeys() {
        let say = || {
            let text = "a\u{1b}[31m\nb";
            tracing::warn!(session = 7, file = %"x\u{9b}y", "{text}");
        };
        let shown = lines(false, say);
        assert!(shown.starts_with("warning: ") && shown.ends_with("\n"), "{shown:?}");
        assert!(shown.contains("session=7") && !shown.trim_end().contains(char::is_control), "{shown:?}");
        let dated = lines(true, || tracing::info!(project = %"p", "it landed"));
        let (at, rest) = dated.split_once(' ').expect("a time");
        assert!(at.ends_with('Z') && rest == "INFO  it landed project=p\n", "{dated:?}");
    }

    #[test]
    fn below_the_level_nothing_is_said() {
        assert_eq!(lines(true, || tracing::debug!("an effect")), "");
    }
}
