//! Secret shared by a driver and its harness.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Random bytes in a token, too many to guess.
const CHANCE: usize = 32;

/// Longest token file in bytes.
const LONGEST: u64 = 4_096;

/// A secret word. It is sent unencrypted over the control connection, so anyone who can read the traffic can
/// read it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(...)")
    }
}

impl Token {
    /// Makes a new token of the system's random bytes.
    ///
    /// # Errors
    /// If the system provides none.
    pub fn fresh() -> io::Result<Self> {
        let mut chance = [0; CHANCE];
        File::open("/dev/urandom")?.read_exact(&mut chance)?;
        Ok(Token(chance.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Reads a token from a file; white space around it is ignored.
    ///
    /// # Errors
    /// If the file cannot be read, or does not hold a word of at most 4,096 bytes.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut text = String::new();
        File::open(path)?.take(LONGEST + 1).read_to_string(&mut text)?;
        let word = text.trim();
        if word.is_empty() || text.len() as u64 > LONGEST {
            let why = format!("a token is a word of 1 to {LONGEST} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok(Token(word.to_owned()))
    }

    /// Writes the token to a new file that only its owner can read.
    ///
    /// # Errors
    /// If the file exists already or cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(self.0.as_bytes())
    }

    /// Whether the token is this word. The comparison takes the same time for all words of the same length.
    pub(super) fn is(&self, word: &str) -> bool {
        let differ = |(a, b): (u8, u8)| a ^ b;
        let all = self.0.bytes().zip(word.bytes()).map(differ).fold(0, |all, one| all | one);
        self.0.len() == word.len() && all == 0
    }

    pub(super) fn word(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_token_goes_through_its_file_and_only_its_owner_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let token = Token::fresh().unwrap();
        token.write(&path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(Token::read(&path).unwrap(), token);
        assert_ne!(Token::fresh().unwrap(), token);
        assert!(token.write(&path).is_err(), "somebody else's file is left alone");
        assert_eq!(format!("{token:?}"), "Token(...)");
    }

    #[test]
    fn only_the_whole_word_is_right() {
        let token = Token("abc".to_owned());
        assert!(token.is("abc"));
        for wrong in ["", "ab", "abd", "abcd"] {
            assert!(!token.is(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_file_without_a_word_is_no_token() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("empty", " \n".to_owned()), ("long", "x".repeat(5_000))] {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            assert!(Token::read(&path).is_err(), "{name}");
        }
    }
}
