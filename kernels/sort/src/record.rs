//! Records: their parts, and those that a seed gives.

/// Bytes of a record.
pub const RECORD: usize = 100;

/// Bytes of its key, which comes first.
pub const KEY: usize = 10;

/// Bytes after the key and after the number, by which damage is seen in a dump.
const MARKS: [&[u8]; 3] = [&[0x00, 0x11], &[0x88, 0x99, 0xaa, 0xbb], &[0xcc, 0xdd, 0xee, 0xff]];

/// A key in the order of its bytes.
pub(crate) type Key = (u64, u16);

/// Key of a record.
pub(crate) fn key(record: &[u8]) -> Key {
    let (first, rest) = record.split_at(8);
    let first = first.try_into().expect("the first part has 8 bytes");
    (u64::from_be_bytes(first), u16::from_be_bytes([rest[0], rest[1]]))
}

/// Fills `room` with the records of a seed that begin with number `first`. Keys are uniform.
///
/// # Panics
/// If `room` is no multiple of [`RECORD`].
pub fn generate(seed: u64, first: u64, room: &mut [u8]) {
    assert!(room.len().is_multiple_of(RECORD), "records are whole");
    for (number, record) in (first..).zip(room.chunks_exact_mut(RECORD)) {
        write(seed, number, record);
    }
}

/// Writes a record: key, mark, number in hexadecimal digits, mark, twelve letters four times each, mark.
fn write(seed: u64, number: u64, record: &mut [u8]) {
    let first = mix(seed ^ mix(number));
    let second = mix(first ^ number);
    record[..8].copy_from_slice(&first.to_be_bytes());
    record[8..KEY].copy_from_slice(&second.to_be_bytes()[..2]);
    record[10..12].copy_from_slice(MARKS[0]);
    for (at, digit) in record[12..44].iter_mut().rev().enumerate() {
        *digit = if at < 16 { hexadecimal(number >> (4 * at)) } else { b'0' };
    }
    record[44..48].copy_from_slice(MARKS[1]);
    for (at, letters) in record[48..96].chunks_exact_mut(4).enumerate() {
        letters.fill(hexadecimal(second >> (4 * at)));
    }
    record[96..].copy_from_slice(MARKS[2]);
}

fn hexadecimal(bits: u64) -> u8 {
    b"0123456789ABCDEF"[(bits & 15) as usize]
}

/// The finaliser of SplitMix64: neighbouring inputs give unrelated outputs.
fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_follow_from_seed_and_number() {
        let mut all = vec![0; 10 * RECORD];
        generate(3, 250, &mut all);
        let mut part = vec![0; 4 * RECORD];
        generate(3, 255, &mut part);
        assert_eq!(part, all[5 * RECORD..9 * RECORD]);
        generate(4, 255, &mut part);
        assert_ne!(part[..KEY], all[5 * RECORD..5 * RECORD + KEY]);
        let record = &all[5 * RECORD..6 * RECORD];
        assert_eq!(&record[12..44], b"000000000000000000000000000000FF");
        assert_eq!((&record[10..12], &record[96..]), (MARKS[0], MARKS[2]));
        assert!(record[48..96].chunks(4).all(|four| four.iter().all(|letter| *letter == four[0])));
    }

    #[test]
    fn keys_are_in_the_order_of_their_bytes() {
        let mut records: Vec<Vec<u8>> = (0..200)
            .map(|n| {
                let mut one = vec![0; RECORD];
                generate(1, n, &mut one);
                one
            })
            .collect();
        records.push(vec![0; RECORD]);
        records.push([vec![0; 9], vec![1], vec![0; 90]].concat());
        let mut by_key = records.clone();
        by_key.sort_by_key(|record| key(record));
        records.sort_by(|a, b| a[..KEY].cmp(&b[..KEY]));
        assert_eq!(records, by_key);
    }
}
