//! Writing commands: arrays of bulk strings.

/// Digits of the largest 64-bit number.
const DIGITS: usize = 20;

/// The numbers below 100 as two digits.
static PAIRS: [[u8; 2]; 100] = pairs();

const fn pairs() -> [[u8; 2]; 100] {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + number as u8 / 10, b'0' + number as u8 % 10];
        number += 1;
    }
    pairs
}

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
pub fn decimal(number: u64, room: &mut [u8; 20]) -> &[u8] {
    let first = write_decimal(number, room);
    &room[first..]
}

/// Writes the decimal digits of a number at the end of `room`, and returns the index of the first.
///
/// # Panics
/// If there are more digits than room.
#[inline]
pub fn write_decimal(mut number: u64, room: &mut [u8]) -> usize {
    let mut at = room.len();
    while number >= 10 {
        at -= 2;
        room[at..at + 2].copy_from_slice(&PAIRS[(number % 100) as usize]);
        number /= 100;
    }
    if number > 0 || at == room.len() {
        at -= 1;
        room[at] = b'0' + number as u8;
    }
    at
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
        assert_eq!(decimal(u64::MAX, &mut room), b"18446744073709551615");
        for number in (0..2_000).chain([9_999, 10_000, 12_345, 1_000_000]) {
            assert_eq!(decimal(number, &mut room), number.to_string().as_bytes());
        }
    }
}
