//! Content codings: the bytes that an answer's body stands for.

use std::io::{ErrorKind, Read};

use barograph_http::Answer;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use crate::judge::ExchangeFailure;

/// Longest decoded body: as long as one in the clear may be.
const MOST: u64 = 256 << 20;

/// The body of an answer without its content coding; `None` where it has none.
pub(crate) fn decoded(answer: &Answer) -> Result<Option<Vec<u8>>, ExchangeFailure> {
    let body = answer.body();
    let Some(coding) = answer.header("content-encoding").filter(|_| !body.is_empty()) else {
        return Ok(None);
    };
    let coding = String::from_utf8_lossy(coding.trim_ascii()).to_ascii_lowercase();
    let plain = match coding.as_str() {
        "identity" | "" => return Ok(None),
        "gzip" | "x-gzip" => read(MultiGzDecoder::new(body)),
        "deflate" if is_zlib(body) => read(ZlibDecoder::new(body)),
        // Some servers leave out the wrapping of zlib.
        "deflate" => read(DeflateDecoder::new(body)),
        _ => {
            let why = format!("the body has the coding `{coding}`, and only gzip and deflate are decoded");
            return Err(ExchangeFailure::wrong(why));
        }
    };
    plain.map(Some).map_err(|why| ExchangeFailure::wrong(format!("the body is no whole {coding}: {why}")))
}

fn read(decoder: impl Read) -> std::io::Result<Vec<u8>> {
    let mut plain = Vec::new();
    decoder.take(MOST + 1).read_to_end(&mut plain)?;
    if plain.len() as u64 > MOST {
        return Err(std::io::Error::new(ErrorKind::FileTooLarge, format!("more than {MOST} bytes of text")));
    }
    Ok(plain)
}

/// Whether the first two bytes are a head of zlib: its method, and a check sum.
fn is_zlib(body: &[u8]) -> bool {
    let [method, flags, ..] = *body else { return false };
    method & 0x0f == 8 && (u16::from(method) << 8 | u16::from(flags)).is_multiple_of(31)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    fn of(coding: &str, body: &[u8]) -> Result<Option<Vec<u8>>, String> {
        let answer = Answer::made_with(200, &[("Content-Encoding", coding)], body);
        decoded(&answer).map_err(|bad| bad.why)
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn gzip_and_deflate_are_decoded() {
        let text = b"a text, a text, a text";
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::best());
        let mut raw = DeflateEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(text).unwrap();
        raw.write_all(text).unwrap();
        for (coding, body) in [
            ("gzip", gzip(text)),
            (" X-GZIP", gzip(text)),
            ("gzip", [gzip(b"a text, a "), gzip(b"text, a text")].concat()),
            ("deflate", zlib.finish().unwrap()),
            ("Deflate", raw.finish().unwrap()),
        ] {
            assert_eq!(of(coding, &body), Ok(Some(text.to_vec())), "{coding}");
        }
        assert_eq!((of("identity", text), of("gzip", b"")), (Ok(None), Ok(None)));
    }

    #[test]
    fn a_body_that_cannot_be_decoded_says_why() {
        for body in [&gzip(b"a text")[..12], b"a text that is none"] {
            let why = of("gzip", body).unwrap_err();
            assert!(why.starts_with("the body is no whole gzip: "), "{why}");
        }
        let other = "the body has the coding `br`, and only gzip and deflate are decoded";
        assert_eq!(of("br", b"x"), Err(other.to_owned()));
    }
}
