//! What a terminal sends, as keys. Pure.

const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";
/// Of one paste; what comes beyond is thrown away.
const PASTE_BYTES_MAX: usize = 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    Text(String),
    Paste(String),
    Enter,
    Backspace,
    /// Ctrl-U: empties the line.
    Clear,
    Escape,
}

/// Bytes that are no whole key yet.
#[derive(Debug, Default)]
pub struct Keys {
    rest: Vec<u8>,
}

impl Keys {
    /// The keys in what was read at once.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.rest.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while let Some((key, used)) = next(&self.rest) {
            self.rest.drain(..used);
            match key {
                // In the same moment as a paste it is taken for a part of it, as clients do.
                Some(Key::Enter) if matches!(keys.last(), Some(Key::Paste(_))) => {
                    keys.push(Key::Text("\n".into()));
                }
                Some(key) => keys.push(key),
                None => {}
            }
        }
        keys
    }

    /// Nothing came for a moment: an escape that stands alone is the key of that name.
    pub fn pause(&mut self) -> Option<Key> {
        (self.rest == b"\x1b").then(|| {
            self.rest.clear();
            Key::Escape
        })
    }
}

/// The first key and its length; `None` while it is not whole.
fn next(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    let key = |key: Key| Some((Some(key), 1));
    match bytes.first()? {
        b'\r' => key(Key::Enter),
        0x7f | 0x08 => key(Key::Backspace),
        0x15 => key(Key::Clear),
        b'\n' => key(Key::Text("\n".into())),
        0x1b => escape(bytes),
        byte if *byte < 0x20 => Some((None, 1)),
        _ => {
            let end = bytes.iter().position(|b| *b < 0x20 || *b == 0x7f).unwrap_or(bytes.len());
            let whole = match std::str::from_utf8(&bytes[..end]) {
                Ok(_) => end,
                // The rest of a character is on its way.
                Err(e) if e.error_len().is_none() && end == bytes.len() => e.valid_up_to(),
                Err(_) => end,
            };
            (whole > 0)
                .then(|| (Some(Key::Text(String::from_utf8_lossy(&bytes[..whole]).into_owned())), whole))
        }
    }
}

fn escape(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    if bytes.starts_with(PASTE_BEGINS) {
        let body = &bytes[PASTE_BEGINS.len()..];
        let end = body.windows(PASTE_ENDS.len()).position(|w| w == PASTE_ENDS)?;
        let text = String::from_utf8_lossy(&body[..end.min(PASTE_BYTES_MAX)]).into_owned();
        return Some((Some(Key::Paste(text)), PASTE_BEGINS.len() + end + PASTE_ENDS.len()));
    }
    match bytes.get(1)? {
        // Arrows, focus, answers to questions: none of ours.
        b'[' => {
            let end = bytes[2..].iter().position(|b| (0x40..=0x7e).contains(b))?;
            Some((None, 2 + end + 1))
        }
        b'O' => bytes.get(2).map(|_| (None, 3)),
        _ => Some((Some(Key::Escape), 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_however_they_are_cut() {
        let bytes = "a\u{e9}\x1b[200~one\ntwo\x1b[A\x1b[201~\x1b[Bb\x7f\x15".as_bytes();
        let text = |text: &str| Key::Text(text.into());
        let expected =
            [text("a\u{e9}"), Key::Paste("one\ntwo\x1b[A".into()), text("b"), Key::Backspace, Key::Clear];
        for cut in 0..bytes.len() {
            let mut keys = Keys::default();
            let mut read = keys.read(&bytes[..cut]);
            read.extend(keys.read(&bytes[cut..]));
            let joined = read.iter().filter(|k| matches!(k, Key::Text(_))).count();
            assert!((2..=3).contains(&joined), "{cut}: {read:?}");
            read.retain(|key| !matches!(key, Key::Text(_)));
            let others: Vec<Key> = expected.iter().filter(|k| !matches!(k, Key::Text(_))).cloned().collect();
            assert_eq!(read, others, "{cut}");
        }
        assert_eq!(Keys::default().read(bytes), expected);
    }

    #[test]
    fn enter_in_the_same_moment_as_a_paste_is_a_part_of_it() {
        let mut keys = Keys::default();
        assert_eq!(keys.read(b"\x1b[200~x\x1b[201~\r"), [Key::Paste("x".into()), Key::Text("\n".into())]);
        assert_eq!(keys.read(b"\r"), [Key::Enter]);
        assert_eq!((keys.read(b"\x1b"), keys.pause(), keys.pause()), (vec![], Some(Key::Escape), None));
    }
}
