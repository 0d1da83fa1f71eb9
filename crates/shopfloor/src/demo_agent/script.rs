//! What an issue tells the demo agent: lines that begin with `demo:`.
//!
//! | line | effect |
//! |---|---|
//! | `demo: write PATH <<text` | PATH holds that line |
//! | `demo: append PATH <<text` | PATH ends with that line |
//! | `demo: fail-ci-once PATH <<text` | first a version with the word BROKEN, the right one after "CI failed" |
//! | `demo: fail-review-once PATH <<text` | first a version with the word FIXME, the right one after the review |
//! | `demo: ask <<question` | asks a person before it begins; `{answer}` in texts is the answer |
//! | `demo: sleep 500ms` | takes its time |
//! | `demo: hold POINT` | waits at that point until it is let go, once: see `hold.rs` |
//! | `demo: give-up <<reason` | signals failed |
//! | `demo: crash-once` | dies before its first commit, once |
//! | `demo: crash-always` | dies before its first commit, every time |
//! | `demo: no-push` | leaves the push to the factory |
//! | `demo: leave` | ends after each signal instead of waiting |
//! | `demo: empty` | signals without a commit |
//! | `demo: garbage-phase` | writes a phase that is none, first |
//! | `demo: deaf` | never takes a message from its inbox |
//! | `demo: bad-review-once` | its reviewer leaves garbage, once |
//! | `demo: reviewer-dies-once` | its reviewer dies, once |
//! | `demo: follow-up <<title` | its reviewer suggests an issue of that title |
//! | `demo: die` | is killed in the middle of its first turn, once |
//! | `demo: freeze` | stops there instead and lives on: it neither draws nor reads, once |
//! | `demo: flood` | prints 50 MB, once |
//! | `demo: escapes` | prints what terminals act upon, once |
//! | `demo: ignore-sigterm` | is not to be ended but by force |
//! | `demo: grandchildren` | starts processes that leave its session and outlive it |
//! | `demo: no-phase` | ends its turns without a phase |
//! | `demo: slow-start 2s` | takes that long before it is ready |
//! | `demo: skip STEP` | passes that step of its run over |
//! | `demo: answer <<LINE` | a line of its answer to a step that has one; without any, it closes the first duplicate that was found |
//!
//! Only a client in a terminal can do these:
//!
//! | line | effect |
//! |---|---|
//! | `demo: swallow-enter 2` | does not react to the first Enter keys |
//! | `demo: lose-paste-once` | what is pasted first does not arrive |
//! | `demo: draft <<text` | begins with somebody's text in its composer, which stays until it is removed |
//! | `demo: dialog` | asks for a permission as it signals the first time; keys that come in are written to `typed-into-dialog` in the session's folder |
//! | `demo: question` | the same with a question |

use super::hold;
use crate::config::Span;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub path: String,
    pub text: String,
    pub append: bool,
    /// A version that fails CI comes first.
    pub broken_first: bool,
    /// A version that a review objects to comes first.
    pub rough_first: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    pub edits: Vec<Edit>,
    pub question: Option<String>,
    pub sleep: Duration,
    pub give_up: Option<String>,
    pub slow_start: Duration,
    pub swallow_enter: u32,
    pub draft: Option<String>,
    pub holds: Vec<String>,
    pub follow_ups: Vec<String>,
    pub skips: Vec<String>,
    pub answer: Vec<String>,
    flags: Vec<String>,
}

const FLAGS: [&str; 19] = [
    "crash-once",
    "crash-always",
    "no-push",
    "leave",
    "empty",
    "garbage-phase",
    "deaf",
    "bad-review-once",
    "reviewer-dies-once",
    "die",
    "freeze",
    "flood",
    "escapes",
    "ignore-sigterm",
    "grandchildren",
    "no-phase",
    "lose-paste-once",
    "dialog",
    "question",
];
/// Nobody waits longer for an agent.
const SLEEP_MAX: Duration = Duration::from_secs(600);

impl Script {
    /// The script, and the lines that are in none.
    pub fn parse(prompt: &str) -> (Script, Vec<&str>) {
        let mut script = Script::default();
        let lines = prompt.lines().filter_map(|l| l.trim().strip_prefix("demo:"));
        let not_understood = lines.map(str::trim).filter(|line| !script.take(line)).collect();
        (script, not_understood)
    }

    pub fn has(&self, flag: &str) -> bool {
        debug_assert!(FLAGS.contains(&flag), "{flag}");
        self.flags.iter().any(|f| f == flag)
    }

    /// Whether the line is understood.
    fn take(&mut self, line: &str) -> bool {
        let (words, text) = match line.split_once("<<") {
            Some((words, text)) => (words.trim(), Some(text.trim().to_owned())),
            None => (line, None),
        };
        let mut words = words.split_whitespace();
        let (Some(verb), argument) = (words.next(), words.next()) else { return false };
        match (verb, argument, text) {
            ("write" | "append" | "fail-ci-once" | "fail-review-once", Some(path), Some(text))
                if is_inside(path) =>
            {
                self.edits.push(Edit {
                    path: path.to_owned(),
                    text,
                    append: verb == "append",
                    broken_first: verb == "fail-ci-once",
                    rough_first: verb == "fail-review-once",
                });
            }
            ("ask", None, Some(question)) => self.question = Some(question),
            ("give-up", None, Some(reason)) => self.give_up = Some(reason),
            ("sleep", Some(time), None) => self.sleep = span(time),
            ("slow-start", Some(time), None) => self.slow_start = span(time),
            ("swallow-enter", Some(times), None) => self.swallow_enter = times.parse().unwrap_or(1),
            ("hold", Some(point), None) if hold::POINTS.contains(&point) => self.holds.push(point.to_owned()),
            ("draft", None, Some(text)) => self.draft = Some(text),
            ("skip", Some(step), None) => self.skips.push(step.to_owned()),
            ("answer", None, Some(line)) => self.answer.push(line),
            ("follow-up", None, Some(title)) => self.follow_ups.push(title),
            (flag, None, None) if FLAGS.contains(&flag) => self.flags.push(flag.to_owned()),
            _ => return false,
        }
        true
    }
}

fn span(time: &str) -> Duration {
    time.parse::<Span>().map(|s| s.0).unwrap_or_default().min(SLEEP_MAX)
}

/// An issue's text must not reach files outside the worktree, nor git's own.
fn is_inside(path: &str) -> bool {
    use std::path::{Component, Path};
    Path::new(path).components().all(|c| matches!(c, Component::Normal(name) if name != ".git"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_a_script() {
        let (script, _) = Script::parse(
            "text\ndemo: write a.txt <<hello <<there\n  demo: append b/c.txt << x \ndemo: crash-once\ndemo: ask <<A or B?\ndemo: sleep 20ms\n",
        );
        assert_eq!(script.edits.len(), 2);
        assert_eq!(script.edits[0].text, "hello <<there");
        assert!(script.edits[1].append);
        assert!(script.has("crash-once") && !script.has("leave"));
        assert_eq!(script.question.as_deref(), Some("A or B?"));
        assert_eq!(script.sleep, Duration::from_millis(20));
        let (script, rest) =
            Script::parse("demo: swallow-enter 2\ndemo: draft <<x\ndemo: dance\ndemo: slow-start 2s");
        assert_eq!((script.swallow_enter, script.draft.as_deref(), rest), (2, Some("x"), vec!["dance"]));
        assert_eq!(script.slow_start, Duration::from_secs(2));
    }

    #[test]
    fn paths_stay_inside() {
        for bad in ["/etc/passwd", "../x", "a/../../x", ".git/config", "sub/.git/hooks/x"] {
            assert_eq!(Script::parse(&format!("demo: write {bad} <<x")).0.edits, [], "{bad}");
        }
    }
}
