//! Raw HTTP/2 frames: what a peer says when it will not go on.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use barograph_http::{Answer, Fault, Method, Options, Protocol};

use super::{ask, failed, on_worker, user};

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

/// What a request ends with when this is said once its head has come.
fn ends_with(said: &[u8]) -> Result<Answer, Fault> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let mut bytes = frame(SETTINGS, 0, 0, &[]);
    bytes.extend_from_slice(said);
    let peer = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut came, mut buffer) = (Vec::new(), [0; 4_096]);
        // The fields of a request end with a frame of kind 1 (HEADERS) on stream 1.
        while !came.windows(9).any(|w: &[u8]| w[3] == 1 && w[5..] == 1u32.to_be_bytes()) {
            let n = stream.read(&mut buffer).unwrap();
            came.extend_from_slice(&buffer[..n]);
        }
        stream.write_all(&bytes).unwrap();
        // Until the client has seen it and gone.
        let _ = stream.read_to_end(&mut came);
    });
    let end = on_worker(async {
        let options = Options { protocol: Protocol::Http2, ..Options::default() };
        let connections = user(&url, &options);
        ask(&connections, Method::POST, "/").await
    });
    peer.join().unwrap();
    end
}

#[test]
fn resets_and_goodbyes_carry_their_reason() {
    let fault = failed(ends_with(&frame(RST_STREAM, 0, 1, &11u32.to_be_bytes())));
    assert!(matches!(fault, Fault::Reset { reason: "ENHANCE_YOUR_CALM" }), "{fault:?}");
    let last_stream_and_reason = [0u32.to_be_bytes(), 2u32.to_be_bytes()].concat();
    let fault = failed(ends_with(&frame(GOAWAY, 0, 0, &last_stream_and_reason)));
    assert!(matches!(fault, Fault::GoneAway { reason: "INTERNAL_ERROR" }), "{fault:?}");
}

#[test]
fn frames_that_make_no_sense_are_garbage() {
    // Data on a stream that nobody opened.
    let fault = failed(ends_with(&frame(0, 0, 77, b"surprise")));
    assert!(matches!(fault, Fault::Garbage), "{fault:?}");
}

#[test]
fn an_interim_answer_is_passed_over() {
    // `:status` is the eighth of the names that everybody knows, and `:status: 200` the eighth of the fields.
    let interim = frame(HEADERS, 0x4, 1, b"\x08\x03103");
    let answer = frame(HEADERS, 0x5, 1, b"\x88");
    assert_eq!(ends_with(&[interim, answer].concat()).unwrap().status, 200);
}
