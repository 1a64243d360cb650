//! Writing commands: arrays of bulk strings.

/// Digits of the largest 64-bit number.
const DIGITS: usize = 20;

/// Writer of one command at the end of a buffer. All of its words must be written.
pub struct Command<'b> {
    out: &'b mut Vec<u8>,
}

impl<'b> Command<'b> {
    /// Begins a command of `words` words, including its name.
    pub fn new(out: &'b mut Vec<u8>, words: usize) -> Self {
        header(out, b'*', words);
        Command { out }
    }

    /// Writes a whole command.
    pub fn write(out: &mut Vec<u8>, words: &[&[u8]]) {
        let mut command = Command::new(out, words.len());
        for word in words {
            command.word(word);
        }
    }

    /// Writes the next word.
    pub fn word(&mut self, word: &[u8]) -> &mut Self {
        self.word_of(word.len(), |out| out.extend_from_slice(word))
    }

    /// Writes the next word, `length` bytes appended by `write`.
    pub fn word_of(&mut self, length: usize, write: impl FnOnce(&mut Vec<u8>)) -> &mut Self {
        header(self.out, b'$', length);
        let begin = self.out.len();
        write(self.out);
        debug_assert_eq!(self.out.len() - begin, length, "a word has the length that was announced");
        self.out.extend_from_slice(b"\r\n");
        self
    }

    /// Writes the next word, a number in decimal digits.
    pub fn number(&mut self, number: u64) -> &mut Self {
        let mut room = [0; DIGITS];
        self.word(decimal(number, &mut room))
    }
}

fn header(out: &mut Vec<u8>, kind: u8, length: usize) {
    out.push(kind);
    if let Ok(digit @ 0..=9) = u8::try_from(length) {
        out.push(b'0' + digit);
    } else {
        let mut room = [0; DIGITS];
        out.extend_from_slice(decimal(length as u64, &mut room));
    }
    out.extend_from_slice(b"\r\n");
}

/// The decimal digits of a number, written into `room`.
pub fn decimal(mut number: u64, room: &mut [u8; 20]) -> &[u8] {
    let mut at = DIGITS;
    loop {
        at -= 1;
        room[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &room[at..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_an_array_of_bulk_strings() {
        let mut out = Vec::new();
        Command::write(&mut out, &[b"SET", b"a key", b""]);
        Command::new(&mut out, 3).word(b"EXPIRE").word(b"k").number(1_234_567_890_123);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "*3\r\n$3\r\nSET\r\n$5\r\na key\r\n$0\r\n\r\n*3\r\n$6\r\nEXPIRE\r\n$1\r\nk\r\n$13\r\n1234567890123\r\n"
        );
    }

    #[test]
    fn digits_of_the_smallest_and_the_largest_number() {
        let mut room = [0; DIGITS];
        assert_eq!(decimal(0, &mut room), b"0");
        assert_eq!(decimal(u64::MAX, &mut room), b"18446744073709551615");
    }
}
