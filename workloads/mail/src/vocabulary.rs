//! Words of mail, enough to give the indexes of servers work.

use std::collections::HashSet;

use barograph_data::text::words;
use barograph_data::{Numbers, Popularity, Position, Stream, Streams};

/// Distinct words.
const WORDS: usize = 50_000;

/// Distinct words that are drawn by Zipf's law.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    words: Vec<Box<str>>,
    draw: Numbers,
}

impl Vocabulary {
    /// The vocabulary of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Streams::new(seed).stream("mail vocabulary", 0);
        let mut known: HashSet<Box<str>> = HashSet::with_capacity(WORDS);
        let mut all = Vec::with_capacity(WORDS);
        while all.len() < WORDS {
            let text = words(&mut rng, 64..=64).to_ascii_lowercase();
            // The last word may be cut.
            let mut parts: Vec<&str> = text.split(' ').collect();
            parts.pop();
            for part in parts {
                if all.len() < WORDS && known.insert(part.into()) {
                    all.push(part.into());
                }
            }
        }
        Vocabulary { words: all, draw: Numbers::new(WORDS as u64, Popularity::Zipf { exponent: 1.0 }) }
    }

    /// The next word.
    pub(crate) fn word(&self, rng: &mut Stream) -> &str {
        &self.words[self.draw.draw(rng, &mut Position::default()) as usize]
    }

    /// Appends words in lines until `bytes` are written; the last line ends there.
    pub(crate) fn text(&self, rng: &mut Stream, bytes: usize, out: &mut Vec<u8>) {
        /// Longest line.
        const WIDTH: usize = 76;
        let (end, mut line) = (out.len() + bytes.max(2) - 2, 0);
        while out.len() < end {
            let word = self.word(rng);
            if line > 0 && line + 1 + word.len() > WIDTH {
                out.extend_from_slice(b"\r\n");
                line = 0;
            } else if line > 0 {
                out.push(b' ');
                line += 1;
            }
            out.extend_from_slice(word.as_bytes());
            line += word.len();
        }
        out.truncate(end);
        // A cut line end would be a bare carriage return, which servers replace; one before a letter is whole.
        for byte in out.iter_mut().rev().take(2).take_while(|byte| byte.is_ascii_control()) {
            *byte = b'x';
        }
        out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_the_asked_length_and_lines() {
        let vocabulary = Vocabulary::new(1);
        let mut rng = Streams::new(1).stream("a test", 0);
        // Ends at every place of a line, its end included.
        for bytes in (2..400).chain([9_999]) {
            let mut out = Vec::new();
            vocabulary.text(&mut rng, bytes, &mut out);
            assert_eq!(out.len(), bytes);
            let text = String::from_utf8(out).unwrap();
            assert!(text.ends_with("\r\n") && text.lines().all(|line| line.len() <= 100), "{text}");
            let ends = text.matches("\r\n").count();
            assert_eq!([text.matches('\r').count(), text.matches('\n').count()], [ends; 2], "{text:?}");
        }
        assert!(vocabulary.words.iter().all(|word| !word.is_empty() && word.is_ascii()));
    }
}
