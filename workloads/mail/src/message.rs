//! Mail: its id, its content, and the hash that tells whether it was altered.

use barograph_data::Stream;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use memchr::memmem;
use rand::{Rng as _, RngExt as _};

use crate::vocabulary::Vocabulary;

/// The field with id, size and hash. Servers put their fields before it.
pub(crate) const FIELD: &str = "X-Barograph";

/// Length of the field with its line end.
const FIELD_BYTES: usize = FIELD.len() + 2 + 16 + 1 + 10 + 1 + 16 + 2;

/// Sizes of mail in bytes, with their shares in thousandths.
const SIZES: [(usize, u32); 6] =
    [(4_000, 400), (12_000, 300), (40_000, 180), (150_000, 80), (1_000_000, 35), (5_000_000, 5)];

/// The size from which a mail has an attachment, and the text before it.
const WITH_ATTACHMENT: usize = 40_000;
const TEXT_BYTES: usize = 2_000;

/// Least bytes of a mail: its header has less.
const LEAST: usize = 1_000;

/// Bytes of a line of an attachment, as they are and in base64.
const LINE: usize = 57;

/// What separates the parts of a mail.
const BOUNDARY: &str = "barograph-part";

/// The id of a mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct MailId(pub(crate) u64);

impl MailId {
    /// Number `number` of the mail that fills an account.
    pub(crate) fn filled(account: u32, number: u32) -> Self {
        MailId(1 << 63 | u64::from(account) << 32 | u64::from(number))
    }

    /// Number `number` of the mail that a user sends in a run. 23 bits distinguish the run from others.
    pub(crate) fn sent(run: u32, user: u32, number: u32) -> Self {
        let low = |value: u32| u64::from(value & 0xf_ffff);
        MailId(u64::from(run & 0x7f_ffff) << 40 | low(user) << 20 | low(number))
    }
}

/// Sender and recipients as they stand in a header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Correspondents<'a> {
    pub(crate) from: &'a str,
    pub(crate) to: &'a [String],
}

/// A size, multiplied by `factor`.
pub(crate) fn size(rng: &mut Stream, factor: f64) -> usize {
    let mut left = rng.random_range(0..1_000);
    for (bytes, share) in SIZES {
        if left < share {
            return ((bytes as f64 * factor) as usize).max(LEAST);
        }
        left -= share;
    }
    LEAST
}

/// Writes a mail of about `bytes` bytes.
pub(crate) fn write(
    id: MailId,
    correspondents: &Correspondents<'_>,
    (vocabulary, rng, bytes): (&Vocabulary, &mut Stream, usize),
    out: &mut Vec<u8>,
) {
    out.clear();
    out.resize(FIELD_BYTES, b' ');
    header(id, correspondents, (vocabulary, rng), out);
    if bytes < WITH_ATTACHMENT {
        out.extend_from_slice(b"Content-Type: text/plain; charset=us-ascii\r\n\r\n");
        let left = bytes.saturating_sub(out.len());
        vocabulary.text(rng, left, out);
    } else {
        let begin = format!(
            "Content-Type: multipart/mixed; boundary=\"{BOUNDARY}\"\r\n\r\n--{BOUNDARY}\r\n\
             Content-Type: text/plain; charset=us-ascii\r\n\r\n"
        );
        out.extend_from_slice(begin.as_bytes());
        vocabulary.text(rng, TEXT_BYTES, out);
        attachment(rng, bytes, out);
    }
    seal(id, out);
}

fn header(
    MailId(id): MailId,
    correspondents: &Correspondents<'_>,
    (vocabulary, rng): (&Vocabulary, &mut Stream),
    out: &mut Vec<u8>,
) {
    let mut put = |texts: &[&str]| texts.iter().for_each(|text| out.extend_from_slice(text.as_bytes()));
    put(&["From: <", correspondents.from, ">\r\nTo: "]);
    for (at, to) in correspondents.to.iter().enumerate() {
        put(&[if at > 0 { ",\r\n <" } else { "<" }, to, ">"]);
    }
    put(&["\r\nSubject:"]);
    for _ in 0..rng.random_range(2..8) {
        put(&[" ", vocabulary.word(rng)]);
    }
    put(&[&format!("\r\nMessage-ID: <{id:016x}@barograph.invalid>\r\n")]);
    put(&["Date: Thu, 01 Jan 2026 00:00:00 +0000\r\nMIME-Version: 1.0\r\n"]);
}

/// Writes random bytes in base64 until the mail has `bytes` bytes.
fn attachment(rng: &mut Stream, bytes: usize, out: &mut Vec<u8>) {
    let begin = format!(
        "--{BOUNDARY}\r\nContent-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\
         Content-Disposition: attachment; filename=\"data.bin\"\r\n\r\n"
    );
    out.extend_from_slice(begin.as_bytes());
    let (mut raw, mut line) = ([0; LINE], [0; LINE / 3 * 4]);
    while out.len() < bytes {
        rng.fill_bytes(&mut raw);
        // The line has exactly the room that it needs.
        if BASE64_STANDARD.encode_slice(raw, &mut line).is_ok() {
            out.extend_from_slice(&line);
            out.extend_from_slice(b"\r\n");
        }
    }
    out.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
}

/// Writes the field at the front, over the content after it.
fn seal(MailId(id): MailId, out: &mut [u8]) {
    let (field, content) = out.split_at_mut(FIELD_BYTES);
    let text = format!("{FIELD}: {id:016x} {:010} {:016x}\r\n", content.len(), hash(content));
    field.copy_from_slice(text.as_bytes());
}

/// The state of a mail that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// Its content has the size and the hash that it was sent with.
    Right(MailId),
    /// Its content has not.
    Altered(MailId),
    /// It is not of this workload, or its field was altered.
    Foreign,
}

/// Compares a mail with its field.
pub(crate) fn judge(mail: &[u8]) -> Judged {
    let Some((field, content)) = find(mail) else { return Judged::Foreign };
    match content.len() == field.size && hash(content) == field.hash {
        true => Judged::Right(field.id),
        false => Judged::Altered(field.id),
    }
}

/// The id in the field of a header.
pub(crate) fn id(header: &[u8]) -> Option<MailId> {
    find(header).map(|(field, _)| field.id)
}

/// What the field says.
struct Field {
    id: MailId,
    size: usize,
    hash: u64,
}

/// The field, and the content after it.
fn find(mail: &[u8]) -> Option<(Field, &[u8])> {
    let name = FIELD.as_bytes();
    let at = memmem::find_iter(mail, name).find(|at| *at == 0 || mail[at - 1] == b'\n')?;
    let (line, content) = mail[at..].split_at_checked(FIELD_BYTES)?;
    let line = str::from_utf8(line).ok()?.strip_suffix("\r\n")?;
    let mut words = line.get(name.len() + 2..)?.split(' ');
    let mut hex = || u64::from_str_radix(words.next()?, 16).ok();
    let id = MailId(hex()?);
    let mut rest = line.get(name.len() + 2 + 17..)?.split(' ');
    let size = rest.next()?.parse().ok()?;
    let hash = u64::from_str_radix(rest.next()?, 16).ok()?;
    Some((Field { id, size, hash }, content))
}

/// A hash in which every change of one word shows. Not for adversaries.
fn hash(bytes: &[u8]) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mut words = bytes.chunks_exact(8);
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(PRIME).rotate_left(23);
    let mut sum = 0xcbf2_9ce4_8422_2325;
    for word in &mut words {
        let word: [u8; 8] = word.try_into().unwrap_or_default();
        sum = mix(sum, u64::from_le_bytes(word));
    }
    words.remainder().iter().fold(sum, |sum, byte| mix(sum, u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use barograph_data::Streams;

    use super::*;

    fn mail(bytes: usize) -> Vec<u8> {
        let vocabulary = Vocabulary::new(1);
        let mut rng = Streams::new(1).stream("a test", 0);
        let to = ["b@x".to_owned(), "c@x".to_owned()];
        let mut out = Vec::new();
        let between = Correspondents { from: "a@x", to: &to };
        write(MailId::sent(5, 6, 7), &between, (&vocabulary, &mut rng, bytes), &mut out);
        out
    }

    #[test]
    fn a_mail_is_right_until_a_byte_changes() {
        for bytes in [LEAST, 12_000, 40_000, 150_000] {
            let mut mail = mail(bytes);
            assert!(mail.len().abs_diff(bytes) < 200, "{} {bytes}", mail.len());
            assert_eq!(judge(&mail), Judged::Right(MailId::sent(5, 6, 7)));
            let text = String::from_utf8(mail.clone()).unwrap();
            assert!(
                text.lines().all(|line| line.len() < 998) && text.contains("\r\nTo: <b@x>,\r\n <c@x>\r\n")
            );
            assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
            let received = [b"Received: by x\r\n".to_vec(), mail.clone()].concat();
            assert_eq!(judge(&received), Judged::Right(MailId::sent(5, 6, 7)), "servers add fields");
            assert_eq!(judge(&mail[..mail.len() - 2]), Judged::Altered(MailId::sent(5, 6, 7)));
            let last = mail.len() - 5;
            mail[last] ^= 1;
            assert_eq!(judge(&mail), Judged::Altered(MailId::sent(5, 6, 7)));
        }
        assert_eq!(judge(b"Subject: x\r\n\r\nX-Barograph: in a text"), Judged::Foreign);
    }

    #[test]
    fn ids_of_fills_runs_and_users_differ() {
        let ids = [
            MailId::filled(0, 0),
            MailId::filled(1, 0),
            MailId::filled(0, 1),
            MailId::sent(0, 0, 0),
            MailId::sent(1, 0, 0),
            MailId::sent(0, 1, 0),
            MailId::sent(0, 0, 1),
        ];
        let distinct: std::collections::HashSet<_> = ids.into_iter().collect();
        assert_eq!(distinct.len(), ids.len());
    }

    #[test]
    fn sizes_have_the_published_mean() {
        let mut rng = Streams::new(1).stream("a test", 1);
        let sum: usize = (0..100_000).map(|_| size(&mut rng, 1.0)).sum();
        let mean = sum as f64 / 1e5;
        // The shares add up to 84.4 KB.
        assert!((mean - 84_400.0).abs() < 4_000.0, "{mean}");
    }
}
