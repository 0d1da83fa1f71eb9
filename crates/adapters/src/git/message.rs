//! The messages of the commits that the merge queue makes: the words of the pull request, or of the commits
//! that went into them, and who is credited.

use super::commit::Commit;
use shopfloor_core::effect::ChainEntry;
use shopfloor_core::text;

const SUBJECTS_MAX: usize = 50;
const CO_AUTHORS_MAX: usize = 20;
const TRAILERS_MAX: usize = 50;
/// How much of one commit's text is kept.
const BODY_BYTES_MAX: usize = 8 * 1024;

pub(super) fn title(entry: &ChainEntry) -> String {
    let title = text::one_line(&entry.title, 200);
    let title = if title.is_empty() { text::one_line(&entry.branch, 200) } else { title };
    match entry.pr {
        Some(pr) => format!("{title} (#{pr})"),
        None => title,
    }
}

/// A commit's message in its parts. Co-authors are left out of the trailers: every author is credited anyway.
struct Message {
    subject: String,
    body: String,
    /// The lines of a last paragraph that has nothing but trailers, such as `Signed-off-by: …`.
    trailers: Vec<String>,
    co_authors: Vec<String>,
}

impl Message {
    fn of(commit: &Commit) -> Message {
        let text = commit.text().replace("\r\n", "\n");
        let (subject, rest) = text.trim().split_once('\n').unwrap_or((text.trim(), ""));
        let rest = rest.trim();
        let (body, last) = rest.rsplit_once("\n\n").unwrap_or(("", rest));
        let all: Option<Vec<(String, String)>> = last.lines().map(trailer).collect();
        let (body, named) = match all {
            Some(named) if !named.is_empty() => (body, named),
            _ => (rest, Vec::new()),
        };
        let (authors, trailers): (Vec<_>, Vec<_>) =
            named.into_iter().partition(|(key, _)| key.eq_ignore_ascii_case("co-authored-by"));
        Message {
            subject: text::one_line(subject, 200),
            body: text::head(&text::neutralise(body.trim_end()), BODY_BYTES_MAX),
            trailers: trailers.into_iter().map(|(key, value)| format!("{key}: {value}")).collect(),
            co_authors: authors.into_iter().map(|(_, value)| value).collect(),
        }
    }
}

fn trailer(line: &str) -> Option<(String, String)> {
    let (key, value) = line.split_once(": ")?;
    let plain = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    plain.then(|| (key.to_owned(), text::one_line(value, 200)))
}

/// What the entry's pull request says, if it says anything.
fn own_words(entry: &ChainEntry) -> String {
    let words = entry.message.as_deref().map(|words| text::head(&text::neutralise(words), BODY_BYTES_MAX));
    words.map(|words| format!("\n{}\n", words.trim())).unwrap_or_default()
}

pub(super) fn merge_message(entry: &ChainEntry) -> String {
    format!("{}\n{}\nMerges {}.\n", title(entry), own_words(entry), text::one_line(&entry.branch, 200))
}

/// The title, the words of its pull request or else of each commit, and who is credited.
pub(super) fn squash_message(entry: &ChainEntry, commits: &[Commit]) -> String {
    let mut message = format!("{}\n", title(entry));
    let parts: Vec<Message> = commits.iter().map(Message::of).collect();
    match parts.as_slice() {
        _ if entry.message.is_some() => message.push_str(&own_words(entry)),
        [] => {}
        [only] if only.body.is_empty() => {}
        [only] => message.push_str(&format!("\n{}\n", only.body)),
        many => {
            message.push('\n');
            for Message { subject, body, .. } in many.iter().take(SUBJECTS_MAX) {
                message.push_str(&format!("* {subject}\n"));
                if !body.is_empty() {
                    let indented = body.lines().map(|line| format!("  {line}").trim_end().to_owned());
                    message.push_str(&format!("\n{}\n\n", indented.collect::<Vec<_>>().join("\n")));
                }
            }
            if many.len() > SUBJECTS_MAX {
                message.push_str(&format!("* … and {} more\n", many.len() - SUBJECTS_MAX));
            }
        }
    }
    let first = commits.first().map(Commit::author_name);
    let mut others: Vec<String> = Vec::new();
    for (commit, part) in commits.iter().zip(&parts) {
        for author in std::iter::once(commit.author_name()).chain(part.co_authors.iter().cloned()) {
            if Some(&author) != first.as_ref() && !others.contains(&author) {
                others.push(author);
            }
        }
    }
    let mut kept: Vec<&String> = Vec::new();
    for trailer in parts.iter().flat_map(|part| &part.trailers) {
        if !kept.contains(&trailer) {
            kept.push(trailer);
        }
    }
    if (!others.is_empty() || !kept.is_empty()) && !message.ends_with("\n\n") {
        message.push('\n');
    }
    for trailer in kept.iter().take(TRAILERS_MAX) {
        message.push_str(&format!("{trailer}\n"));
    }
    for author in others.iter().take(CO_AUTHORS_MAX) {
        message.push_str(&format!("Co-authored-by: {author}\n"));
    }
    format!("{}\n", message.trim_end())
}
