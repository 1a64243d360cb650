//! Words of mail, enough to give the indexes of servers work.

use std::collections::HashSet;

use barograph_data::text::words;
use barograph_data::{Numbers, Popularity, Position, Stream, Streams};
use rand::RngExt as _;

/// Distinct words.
const WORDS: usize = 50_000;

/// Bytes of the text that mail takes its passages from: with them, most words occur.
const BYTES: usize = 2 << 20;

/// Lines of a passage: several drawings for a short mail, and few for each byte.
const PASSAGE: usize = 8;

/// Longest line of a text.
const WIDTH: usize = 76;

/// Distinct words that are drawn by Zipf's law, and a text of them.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    words: Vec<Box<str>>,
    draw: Numbers,
    /// Lines of words with their ends.
    text: Vec<u8>,
    /// Offsets of the lines, and the end of the last one.
    lines: Vec<usize>,
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
        let draw = Numbers::new(WORDS as u64, Popularity::Zipf { exponent: 1.0 });
        let mut vocabulary = Vocabulary { words: all, draw, text: Vec::new(), lines: vec![0] };
        vocabulary.write(&mut rng);
        vocabulary
    }

    /// The next word.
    pub(crate) fn word(&self, rng: &mut Stream) -> &str {
        &self.words[self.draw.draw(rng, &mut Position::default()) as usize]
    }

    /// Writes the text.
    fn write(&mut self, rng: &mut Stream) {
        let (mut text, mut lines) = (Vec::with_capacity(BYTES + WIDTH), vec![0]);
        while text.len() < BYTES {
            let (line, word) = (text.len() - lines[lines.len() - 1], self.word(rng));
            if line > 0 && line + 1 + word.len() > WIDTH {
                text.extend_from_slice(b"\r\n");
                lines.push(text.len());
            } else if line > 0 {
                text.push(b' ');
            }
            text.extend_from_slice(word.as_bytes());
        }
        (self.text, self.lines) = (text, lines);
    }

    /// Appends passages of the text until `bytes` are written; the last line ends there.
    pub(crate) fn text(&self, rng: &mut Stream, bytes: usize, out: &mut Vec<u8>) {
        let end = out.len() + bytes.max(2) - 2;
        while out.len() < end {
            let first = rng.random_range(0..self.lines.len() - PASSAGE);
            let passage = &self.text[self.lines[first]..self.lines[first + PASSAGE]];
            out.extend_from_slice(&passage[..passage.len().min(end - out.len())]);
        }
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
