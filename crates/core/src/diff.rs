//! What differs between two texts, line by line, for people. Bounded: texts that differ in very many lines are shown
//! as one text in another's place.

/// Lines shown around each difference.
const AROUND: usize = 2;
/// The most comparisons of two lines.
const COMPARED_MAX: usize = 4_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    Both(&'a str),
    Old(&'a str),
    New(&'a str),
}

/// Empty if the lines are the same. `-` marks what only `old` has, `+` what only `new` has; what is left out between
/// is marked `…`.
pub fn lines(old: &str, new: &str) -> String {
    let all = compared(&old.lines().collect::<Vec<_>>(), &new.lines().collect::<Vec<_>>());
    let near = |at: usize| {
        let (from, to) = (at.saturating_sub(AROUND), all.len().min(at + AROUND + 1));
        all[from..to].iter().any(|line| !matches!(line, Line::Both(_)))
    };
    let mut text = String::new();
    let mut left_out = false;
    for (at, line) in all.iter().enumerate() {
        if !near(at) {
            left_out = true;
            continue;
        }
        if std::mem::take(&mut left_out) && !text.is_empty() {
            text.push_str("…\n");
        }
        let (mark, line) = match line {
            Line::Both(line) => (' ', line),
            Line::Old(line) => ('-', line),
            Line::New(line) => ('+', line),
        };
        text.push(mark);
        text.push_str(line);
        text.push('\n');
    }
    text
}

fn compared<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&old_rest[..old_rest.len() - tail], &new_rest[..new_rest.len() - tail]);
    let mut all: Vec<Line<'a>> = old[..head].iter().map(|line| Line::Both(line)).collect();
    if a.len().saturating_mul(b.len()) > COMPARED_MAX {
        all.extend(a.iter().map(|line| Line::Old(line)));
        all.extend(b.iter().map(|line| Line::New(line)));
    } else {
        between(a, b, &mut all);
    }
    all.extend(old_rest[old_rest.len() - tail..].iter().map(|line| Line::Both(line)));
    all
}

/// By the longest common subsequence.
fn between<'a>(a: &[&'a str], b: &[&'a str], all: &mut Vec<Line<'a>>) {
    let width = b.len() + 1;
    let mut common = vec![0u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i * width + j] = if a[i] == b[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            all.push(Line::Both(a[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == b.len() || (i < a.len() && common[(i + 1) * width + j] >= common[i * width + j + 1]) {
            all.push(Line::Old(a[i]));
            i += 1;
        } else {
            all.push(Line::New(b[j]));
            j += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_marked_with_a_little_around_it() {
        assert_eq!(lines("a\nb\n", "a\nb\n"), "");
        assert_eq!(lines("", "a\n"), "+a\n");
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\n2\n3\nfour\n5\n6\n7\n8\n9\n10\n";
        assert_eq!(lines(old, new), " 2\n 3\n-4\n+four\n 5\n 6\n…\n 8\n 9\n+10\n");
        assert_eq!(lines("a\nb\nc\n", "a\nc\nb\n"), " a\n-b\n c\n+b\n");
    }

    #[test]
    fn very_many_lines_are_shown_one_text_in_anothers_place() {
        let many = |word: &str| (0..3000).map(|n| format!("{word}{n}\n")).collect::<String>();
        let shown = lines(&many("a"), &many("b"));
        assert!(shown.starts_with("-a0\n") && shown.ends_with("+b2999\n"), "{}", &shown[..20]);
    }
}
