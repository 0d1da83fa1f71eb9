//! What agents leave as their result. A reviewer's verdict is a JSON object with `verdict`, `verdict_reason`,
//! `review_markdown` and perhaps `commit` and `follow_ups`; a run's answer has words of its own. It comes from a program we do not trust: bounded,
//! checked, neutralised.

use rustix::fs::OFlags;
use rustix::io::Errno;
use serde::Deserialize;
use shopfloor_core::digest::Digest;
use shopfloor_core::effect::outcome::AnswerRead;
use shopfloor_core::effect::{FollowUp, Review, Verdict};
use shopfloor_core::groom::{self, answer::Mistake};
use shopfloor_core::ids::Sha;
use shopfloor_core::recipe::AnswerKind;
use shopfloor_core::redact::Redactor;
use shopfloor_core::text::{head, neutralise, one_line};
use shopfloor_engine::ports::{PortError, PortResult};
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const RESULT_BYTES_MAX: u64 = 256 * 1024;
const NO_FILE: &str = "its result file is not a file";
const MARKDOWN_BYTES_MAX: usize = 64 * 1024;
const FOLLOW_UPS_MAX: usize = 5;
/// Fewer characters do not identify a commit.
const COMMIT_CHARS_MIN: usize = 7;
const FOLLOW_UP_TITLE_CHARS_MAX: usize = 200;
const FOLLOW_UP_BYTES_MAX: usize = 8 * 1024;

#[derive(Deserialize)]
struct ResultFile {
    verdict: String,
    /// The commit it is about.
    #[serde(default)]
    commit: Option<String>,
    #[serde(default)]
    verdict_reason: String,
    #[serde(default)]
    review_markdown: String,
    #[serde(default)]
    follow_ups: Vec<FollowUpEntry>,
}

#[derive(Deserialize)]
struct FollowUpEntry {
    title: String,
    #[serde(default)]
    body: String,
}

/// The review of `head`, or why the file cannot be used. `must_name`: it has to name that commit.
pub fn read(
    path: &Path,
    head: &Sha,
    must_name: bool,
    redactor: &Redactor,
) -> PortResult<Result<Review, String>> {
    let text = match text_of(path)? {
        Ok(text) => text,
        Err(why) => return Ok(Err(why)),
    };
    Ok(parse(&text, head, must_name).map(|review| Review {
        verdict: review.verdict,
        reason: redactor.redact(&review.reason),
        markdown: redactor.redact(&review.markdown),
        follow_ups: review
            .follow_ups
            .iter()
            .map(|f| FollowUp { title: redactor.redact(&f.title), body: redactor.redact(&f.body) })
            .collect(),
    }))
}

/// What a run's agent left as its answer, without secrets, or what is wrong with it.
pub fn answer(path: &Path, kind: AnswerKind, redactor: &Redactor) -> PortResult<AnswerRead> {
    let wrong = |what: String| AnswerRead::Wrong { mistake: Mistake { line: 0, what } };
    let text = match text_of(path)?.and_then(|text| {
        String::from_utf8(text).map_err(|_| "its result file is not text in UTF-8".to_owned())
    }) {
        Ok(text) => redactor.redact(&text),
        Err(why) => return Ok(wrong(why)),
    };
    let AnswerKind::Groom = kind;
    Ok(match groom::answer::parse(&text) {
        Ok(answer) => AnswerRead::Groom { answer, digest: Digest::new().field(text.as_bytes()).finish() },
        Err(mistake) => AnswerRead::Wrong { mistake },
    })
}

/// What is in a result file, or why it cannot be used.
fn text_of(path: &Path) -> PortResult<Result<Vec<u8>, String>> {
    // An agent writes it, so it may be a link or a pipe, which must not block us.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) if file.metadata().is_ok_and(|m| m.is_file()) => file,
        Ok(_) => return Ok(Err(NO_FILE.into())),
        // A link is not followed: it may lead to what the agent cannot read itself.
        Err(e) if e.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => return Ok(Err(NO_FILE.into())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Err("it left no result file".into())),
        Err(e) => return Err(PortError::transient(e)),
    };
    let mut text = Vec::new();
    file.take(RESULT_BYTES_MAX + 1).read_to_end(&mut text).map_err(PortError::transient)?;
    if text.len() as u64 > RESULT_BYTES_MAX {
        return Ok(Err(format!("its result file has more than {RESULT_BYTES_MAX} bytes")));
    }
    Ok(Ok(text))
}

fn parse(text: &[u8], commit: &Sha, must_name: bool) -> Result<Review, String> {
    if text.iter().all(u8::is_ascii_whitespace) {
        return Err("its result file is empty".into());
    }
    let file: ResultFile =
        serde_json::from_slice(text).map_err(|e| format!("its result file cannot be read: {e}"))?;
    match file.commit.as_deref().map(str::trim) {
        Some(named) if is_short_for(named, commit) => {}
        Some(named) => {
            return Err(format!("it is of commit {}, not of {commit}", one_line(named, 40)));
        }
        None if must_name => {
            return Err(format!("it does not say which commit it is of: add \"commit\": \"{commit}\""));
        }
        None => {}
    }
    let verdict = match file.verdict.trim() {
        "APPROVE" => Verdict::Approve,
        "REQUEST_CHANGES" => Verdict::RequestChanges,
        "DISCUSS" => Verdict::Discuss,
        other => {
            return Err(format!("its verdict {other:?} is none of APPROVE, REQUEST_CHANGES, DISCUSS"));
        }
    };
    Ok(Review {
        verdict,
        reason: head(&neutralise(&file.verdict_reason), 4096),
        markdown: head(&neutralise(&file.review_markdown), MARKDOWN_BYTES_MAX),
        follow_ups: follow_ups(file.follow_ups),
    })
}

fn is_short_for(named: &str, commit: &Sha) -> bool {
    named.len() >= COMMIT_CHARS_MIN && commit.as_str().starts_with(&named.to_ascii_lowercase())
}

/// The first few that have a title.
fn follow_ups(entries: Vec<FollowUpEntry>) -> Vec<FollowUp> {
    let safe = |entry: FollowUpEntry| FollowUp {
        title: one_line(&entry.title, FOLLOW_UP_TITLE_CHARS_MAX),
        body: head(&neutralise(&entry.body), FOLLOW_UP_BYTES_MAX),
    };
    entries.into_iter().map(safe).filter(|f| !f.title.is_empty()).take(FOLLOW_UPS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_known_verdict_is_one() {
        let head: Sha = "a".repeat(40).try_into().unwrap();
        let parse = |text: &[u8]| super::parse(text, &head, false);
        let good =
            parse(br#"{"verdict":"APPROVE","verdict_reason":"fine","review_markdown":"ok \u001b[31m!"}"#);
        let review = good.unwrap();
        assert_eq!(review.verdict, Verdict::Approve);
        assert_eq!(review.markdown, "ok !");
        let entry = r#"{"title":" Tidy\n up ","body":"the \u001b[2Jparser"}"#;
        let many = [entry; 9].join(",");
        let text = format!(r#"{{"verdict":"DISCUSS","follow_ups":[{{"title":" "}},{many}]}}"#);
        let followed = parse(text.as_bytes()).unwrap().follow_ups;
        assert_eq!(followed.len(), FOLLOW_UPS_MAX);
        assert_eq!(followed[0], FollowUp { title: "Tidy up".into(), body: "the parser".into() });
        for (bad, why) in [
            (r#"{"verdict":"APPROVE","follow_ups":"later"}"#, "cannot be read"),
            ("", "is empty"),
            ("{", "cannot be read"),
            ("[]", "cannot be read"),
            (r#"{"verdict":"approve"}"#, "is none of"),
            (r#"{"verdict_reason":"x"}"#, "missing field"),
        ] {
            let error = parse(bad.as_bytes()).unwrap_err();
            assert!(error.contains(why), "{bad:?}: {error}");
        }
    }
    #[test]
    fn a_verdict_of_another_commit_is_none() {
        let head: Sha = "abcdef12".repeat(5).try_into().unwrap();
        let of = |commit: &str, must_name| {
            super::parse(format!(r#"{{"verdict":"APPROVE"{commit}}}"#).as_bytes(), &head, must_name)
        };
        for named in [head.as_str(), "ABCDEF1"] {
            assert!(of(&format!(r#","commit":"{named}""#), true).is_ok(), "{named}");
        }
        assert!(of("", false).is_ok());
        assert!(of("", true).unwrap_err().contains(&format!("add \"commit\": \"{head}\"")));
        for named in ["abcdef", "1234567", ""] {
            let error = of(&format!(r#","commit":"{named}""#), false).unwrap_err();
            assert!(error.contains("not of abcdef12"), "{named}: {error}");
        }
    }
}
