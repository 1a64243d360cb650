//! RSA with OAEP and SHA-1 (RFC 8017), for passwords over connections in the clear.

use num_bigint::BigUint;
use sha1::{Digest, Sha1};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::SubjectPublicKeyInfoDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

use crate::authentication::LoginError;

/// Bytes of a hash.
const HASH: usize = 20;

/// Bytes of a modulus, and most bytes of an exponent. A larger one would keep the worker busy.
const MODULUS: std::ops::RangeInclusive<usize> = 128..=1024;
const EXPONENT: usize = 4;

/// Tags of DER.
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const SEQUENCE: u8 = 0x30;

/// Encrypts a text for the owner of a public key in PEM.
pub(crate) fn encrypt(text: &[u8], pem: &[u8]) -> Result<Vec<u8>, LoginError> {
    let key = SubjectPublicKeyInfoDer::from_pem_slice(pem).map_err(|_| LoginError::Key)?;
    let (modulus, exponent) = numbers(&key).ok_or(LoginError::Key)?;
    let mut seed = [0; HASH];
    ring::default_provider().secure_random.fill(&mut seed).map_err(|_| LoginError::Random)?;
    let padded = padded(text, seed, modulus.len()).ok_or(LoginError::Password)?;
    let number = |bytes: &[u8]| BigUint::from_bytes_be(bytes);
    let encrypted = number(&padded).modpow(&number(exponent), &number(modulus)).to_bytes_be();
    let mut out = vec![0; modulus.len() - encrypted.len()];
    out.extend(encrypted);
    Ok(out)
}

/// Modulus and exponent of a key, without zeros before them; `None` outside of the limits.
fn numbers(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let (parts, _) = element(key, SEQUENCE)?;
    let (_algorithm, rest) = element(parts, SEQUENCE)?;
    let (bits, _) = element(rest, BIT_STRING)?;
    let (numbers, _) = element(bits.strip_prefix(&[0])?, SEQUENCE)?;
    let (modulus, rest) = element(numbers, INTEGER)?;
    let (exponent, _) = element(rest, INTEGER)?;
    let trimmed =
        |number: &'_ [u8]| number.iter().position(|byte| *byte != 0).map(|begin| begin..number.len());
    let (modulus, exponent) = (&modulus[trimmed(modulus)?], &exponent[trimmed(exponent)?]);
    (MODULUS.contains(&modulus.len()) && exponent.len() <= EXPONENT).then_some((modulus, exponent))
}

/// The contents of the DER element at the front, and the bytes after it.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&[found, first], rest) = bytes.split_first_chunk()?;
    if found != tag {
        return None;
    }
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81 | 0x82 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

/// A text in `length` bytes of padding; `None` where it is too long.
fn padded(text: &[u8], mut seed: [u8; HASH], length: usize) -> Option<Vec<u8>> {
    let zeros = length.checked_sub(text.len() + 2 * HASH + 2)?;
    let mut data = Sha1::digest([]).to_vec();
    data.resize(HASH + zeros, 0);
    data.push(1);
    data.extend_from_slice(text);
    mask(&mut data, &seed);
    mask(&mut seed, &data);
    Some([&[0], &seed[..], &data].concat())
}

/// Hides bytes behind hashes of a seed.
fn mask(bytes: &mut [u8], seed: &[u8]) {
    for (part, number) in bytes.chunks_mut(HASH).zip(0_u32..) {
        let hash = Sha1::new().chain_update(seed).chain_update(number.to_be_bytes()).finalize();
        part.iter_mut().zip(hash).for_each(|(byte, mask)| *byte ^= mask);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A key of its own for these tests.
    pub(crate) const KEY: &str = "\
-----BEGIN PUBLIC KEY-----
MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDIYNJ440K8IHh97X/eVeJRnmxb
HVzypyHOxO7ddvRFsyFYkXKPde7ZDC20qdfCf5Gl+qLeELwZIxhvMGQkaMrwpT72
PuRTsWf+eTAH8ADlUoWYRle1QgtnO7aGOuu3A0lhq240NR0yV7GHzs4EnNtdnAL9
IXT3RE0RlKFJuazZ2QIDAQAB
-----END PUBLIC KEY-----
";

    /// Its private exponent.
    const PRIVATE: &[u8] = b"\
        2b38772d8c1780eca010c981a33b732d97b65790e5d3912941a848bd8c42f425c7338b6be275d5a70b71705e922369d0c8b45f1cf70f1b7cee704d47cc72ae13\
        083ef3240efd989fec49b490338dfb33d6ebbf4e794f213bd92d14c5964e90fa6be57e82953cf816ec05452164d6df6312235529229b39afdf437ac9d749a401";

    /// `a text`, encrypted by `openssl pkeyutl`.
    const BY_OPENSSL: &[u8] = b"\
        4bad6f034ad0842823ab05150d95e70f38cd9c8450a8fe5e00b5c9fe4b743d7040fc9c3fd184ff536c93c7621b5459a0f02f89ed7a64af28477047455ecb3be6\
        f920d35a4406e3d59cbf821b302b03196a2531b9f1d06a80903952989c4b8f5df2d069a9642ff7416e706a662f3b56bda06dcc91e506c995b98e5a615bc3b797";

    fn number(digits: &[u8]) -> BigUint {
        BigUint::parse_bytes(digits, 16).unwrap()
    }

    /// The text that was encrypted for the key.
    pub(crate) fn decrypt(encrypted: &[u8]) -> Vec<u8> {
        let key = SubjectPublicKeyInfoDer::from_pem_slice(KEY.as_bytes()).unwrap();
        let modulus = BigUint::from_bytes_be(numbers(&key).unwrap().0);
        let padded = BigUint::from_bytes_be(encrypted).modpow(&number(PRIVATE), &modulus).to_bytes_be();
        // The first byte is zero, and no part of the number.
        let mut padded = [&vec![0; 127 - padded.len()], &padded[..]].concat();
        let (seed, data) = padded.split_at_mut(HASH);
        mask(seed, data);
        mask(data, seed);
        assert_eq!(data[..HASH], Sha1::digest([])[..]);
        let begin = HASH + data[HASH..].iter().position(|byte| *byte != 0).unwrap();
        assert_eq!(data[begin], 1);
        data[begin + 1..].to_vec()
    }

    #[test]
    fn the_owner_of_the_key_reads_the_text() {
        assert_eq!(decrypt(&number(BY_OPENSSL).to_bytes_be()), b"a text");
        for length in [0, 1, 85, 86] {
            let text: Vec<u8> = (0..length).collect();
            let encrypted = encrypt(&text, KEY.as_bytes()).unwrap();
            assert_eq!((encrypted.len(), decrypt(&encrypted)), (128, text));
        }
        assert_ne!(encrypt(b"x", KEY.as_bytes()), encrypt(b"x", KEY.as_bytes()));
        assert_eq!(encrypt(&[0; 87], KEY.as_bytes()), Err(LoginError::Password));
    }

    #[test]
    fn a_key_that_cannot_be_used_is_refused() {
        for text in
            ["", "-----BEGIN PUBLIC KEY-----", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"]
        {
            assert_eq!(encrypt(b"x", text.as_bytes()), Err(LoginError::Key), "{text}");
        }
        let der = SubjectPublicKeyInfoDer::from_pem_slice(KEY.as_bytes()).unwrap();
        assert!(numbers(&der).is_some());
        for end in 0..der.len() {
            assert_eq!(numbers(&der[..end]), None, "{end}");
        }
        let wrap = |tag: u8, parts: &[&[u8]]| {
            let inner = parts.concat();
            [&[tag, 0x82][..], &(inner.len() as u16).to_be_bytes(), &inner].concat()
        };
        let key = |modulus: &[u8], exponent: &[u8]| {
            let both = wrap(SEQUENCE, &[&wrap(INTEGER, &[modulus]), &wrap(INTEGER, &[exponent])]);
            wrap(SEQUENCE, &[&wrap(SEQUENCE, &[]), &wrap(BIT_STRING, &[&[0], &both])])
        };
        assert!(numbers(&key(&[1; 128], &[3])).is_some());
        for (modulus, exponent) in
            [(&[1; 127][..], &[3][..]), (&[1; 1025], &[3]), (&[1; 128], &[1; 5]), (&[0; 128], &[3])]
        {
            assert_eq!(numbers(&key(modulus, exponent)), None);
        }
    }
}
