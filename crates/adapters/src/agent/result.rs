//! A reviewer's verdict, as it leaves it: a JSON object with `verdict`, `verdict_reason`,
//! `review_markdown` and perhaps `follow_ups`. It comes from a program we do not trust: bounded, checked, neutralised.

use rustix::fs::OFlags;
use serde::Deserialize;
use shopfloor_core::effect::{FollowUp, Review, Verdict};
use shopfloor_core::text::{Redactor, head, neutralise, one_line};
use shopfloor_engine::ports::{PortError, PortResult};
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const RESULT_BYTES_MAX: u64 = 256 * 1024;
const MARKDOWN_BYTES_MAX: usize = 64 * 1024;
const FOLLOW_UPS_MAX: usize = 5;
const FOLLOW_UP_TITLE_CHARS_MAX: usize = 200;
const FOLLOW_UP_BYTES_MAX: usize = 8 * 1024;

#[derive(Deserialize)]
struct ResultFile {
    verdict: String,
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

/// The review, or why what is there is of no use.
pub fn read(path: &Path, redactor: &Redactor) -> PortResult<Result<Review, String>> {
    // It is the reviewer's to write: it may be a link or a pipe, which must not hold us.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) if file.metadata().is_ok_and(|m| m.is_file()) => file,
        Ok(_) => return Ok(Err("its result file is not a file".into())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Err("it left no result file".into())),
        Err(e) => return Err(PortError::transient(e)),
    };
    let mut text = Vec::new();
    file.take(RESULT_BYTES_MAX + 1).read_to_end(&mut text).map_err(PortError::transient)?;
    if text.len() as u64 > RESULT_BYTES_MAX {
        return Ok(Err(format!("its result file has more than {RESULT_BYTES_MAX} bytes")));
    }
    Ok(parse(&text).map(|review| Review {
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

fn parse(text: &[u8]) -> Result<Review, String> {
    if text.iter().all(u8::is_ascii_whitespace) {
        return Err("its result file is empty".into());
    }
    let file: ResultFile =
        serde_json::from_slice(text).map_err(|e| format!("its result file cannot be read: {e}"))?;
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
}
