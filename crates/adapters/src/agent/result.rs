//! A reviewer's verdict, as it leaves it: a JSON object with `verdict`, `verdict_reason` and
//! `review_markdown`. It comes from a program we do not trust: bounded, checked, neutralised.

use rustix::fs::OFlags;
use serde::Deserialize;
use shopfloor_core::effect::{Review, Verdict};
use shopfloor_core::text::{Redactor, head, neutralise};
use shopfloor_engine::ports::{PortError, PortResult};
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const RESULT_BYTES_MAX: u64 = 256 * 1024;
const MARKDOWN_BYTES_MAX: usize = 64 * 1024;

#[derive(Deserialize)]
struct ResultFile {
    verdict: String,
    #[serde(default)]
    verdict_reason: String,
    #[serde(default)]
    review_markdown: String,
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
    })
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
        for (bad, why) in [
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
