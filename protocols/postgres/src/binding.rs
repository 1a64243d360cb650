//! Channel binding: the hash of the server's certificate that ties a login to its connection (RFC 5929,
//! tls-server-end-point).

use sha2::{Digest, Sha256, Sha384, Sha512};

/// Algorithms of signatures by the bytes of their object identifiers: RSA and ECDSA with SHA-256, SHA-384 and SHA-512.
const RSA: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01";
const ECDSA: &[u8] = b"\x2a\x86\x48\xce\x3d\x04";

/// The hash of a certificate; `None` where its signature has no hash function that both sides are sure to know.
pub(crate) fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let algorithm = algorithm(certificate)?;
    match (algorithm.strip_prefix(RSA), algorithm.strip_prefix(ECDSA)) {
        // MD5 and SHA-1 give way to SHA-256.
        (Some([4 | 5 | 11]), _) | (_, Some([1] | [3, 2])) => Some(Sha256::digest(certificate).to_vec()),
        (Some([12]), _) | (_, Some([3, 3])) => Some(Sha384::digest(certificate).to_vec()),
        (Some([13]), _) | (_, Some([3, 4])) => Some(Sha512::digest(certificate).to_vec()),
        _ => None,
    }
}

/// The object identifier of the algorithm that signed a certificate: a sequence of what is signed, the algorithm and the
/// signature.
fn algorithm(certificate: &[u8]) -> Option<&[u8]> {
    const SEQUENCE: u8 = 0x30;
    const OBJECT_IDENTIFIER: u8 = 0x06;
    let (parts, _) = element(certificate, SEQUENCE)?;
    let (_, after) = element(parts, SEQUENCE)?;
    let (algorithm, _) = element(after, SEQUENCE)?;
    element(algorithm, OBJECT_IDENTIFIER).map(|(identifier, _)| identifier)
}

/// The contents of the DER element at the front, and what follows it.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&[found, first], rest) = bytes.split_first_chunk()?;
    if found != tag {
        return None;
    }
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x83 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate with this algorithm, of which nothing else is read.
    fn certificate(algorithm: &[u8]) -> Vec<u8> {
        let wrap = |tag: u8, parts: &[&[u8]]| {
            let inner = parts.concat();
            [&[tag, 0x82][..], &(inner.len() as u16).to_be_bytes(), &inner].concat()
        };
        let (signed, identifier) = (wrap(0x30, &[&[7; 300]]), wrap(0x06, &[algorithm]));
        wrap(0x30, &[&signed, &wrap(0x30, &[&identifier]), &[3, 1, 0]])
    }

    #[test]
    fn the_hash_is_that_of_the_signature_and_sha_256_at_least() {
        for (prefix, last, length) in [
            (RSA, &[5][..], 32),
            (RSA, &[11], 32),
            (RSA, &[12], 48),
            (RSA, &[13], 64),
            (ECDSA, &[1], 32),
            (ECDSA, &[3, 2], 32),
            (ECDSA, &[3, 3], 48),
            (ECDSA, &[3, 4], 64),
        ] {
            let hash = end_point(&certificate(&[prefix, last].concat()));
            assert_eq!(hash.map(|hash| hash.len()), Some(length), "{last:?}");
        }
        // Ed25519 signs without a hash function of its own.
        assert_eq!(end_point(&certificate(b"\x2b\x65\x70")), None);
    }

    #[test]
    fn what_is_no_certificate_has_no_hash() {
        let whole = certificate(&[RSA, &[11]].concat());
        for end in 0..whole.len() {
            assert_eq!(end_point(&whole[..end]), None, "{end}");
        }
        assert_eq!(end_point(&[0x30; 40]), None);
    }
}
