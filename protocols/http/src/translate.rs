//! Translation between HTTP/1.1 text, in which every request is rendered, and HTTP/2.

use std::io;

use bytes::Bytes;
use h2::Reason;
use http::header::CONTENT_LENGTH;
use http::{HeaderName, HeaderValue};

use crate::answer::{write_field, write_status_line};
use crate::fault::Fault;

/// Most fields of a request.
const MAX_FIELDS: usize = 128;

/// A request that ended without an answer.
pub(crate) struct LostRequest {
    pub(crate) fault: Fault,
    /// Its progress.
    pub(crate) reached: RequestProgress,
}

/// Progress of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestProgress {
    /// It was never sent: the connection was about to end.
    Nobody,
    /// The peer declared it unprocessed.
    Refused,
    /// It may have been sent, and the connection was lost before the first byte of an answer.
    PerhapsThePeer,
    /// The peer has answered, or has reported an error.
    ThePeer,
}

impl LostRequest {
    /// Lost before it was sent.
    pub(crate) fn unsent(why: h2::Error) -> Self {
        let reached = if is_refusal(&why) { RequestProgress::Refused } else { RequestProgress::Nobody };
        LostRequest { fault: fault_of(why), reached }
    }

    /// Lost before the head of an answer.
    pub(crate) fn unseen(why: h2::Error) -> Self {
        let reached = match () {
            () if is_refusal(&why) => RequestProgress::Refused,
            () if why.is_io() => RequestProgress::PerhapsThePeer,
            () => RequestProgress::ThePeer,
        };
        LostRequest { fault: fault_of(why), reached }
    }

    /// Lost after it.
    pub(crate) fn seen(why: h2::Error) -> Self {
        LostRequest { fault: fault_of(why), reached: RequestProgress::ThePeer }
    }
}

/// Whether the peer declares the request unprocessed: it refused the stream, or ended the connection in good
/// order and named an earlier request as the last one that it processes.
fn is_refusal(why: &h2::Error) -> bool {
    let reason = why.reason();
    why.is_remote()
        && (why.is_reset() && reason == Some(Reason::REFUSED_STREAM)
            || why.is_go_away() && reason == Some(Reason::NO_ERROR))
}

/// Whether the peer has answered and refuses the rest of the request: the answer is whole.
pub(crate) fn is_enough(why: &h2::Error) -> bool {
    why.is_remote() && why.is_reset() && why.reason() == Some(Reason::NO_ERROR)
}

/// The fault in this client's words. Errors found by the library come from the peer and are violations of
/// HTTP/2.
pub(crate) fn fault_of(why: h2::Error) -> Fault {
    let reason = why.reason().map_or("it gave no reason", words);
    if why.is_io() {
        Fault::Broken(why.into_io().unwrap_or_else(|| io::ErrorKind::BrokenPipe.into()))
    } else if why.is_remote() && why.is_reset() {
        Fault::Reset { reason }
    } else if why.is_remote() && why.is_go_away() {
        Fault::GoneAway { reason }
    } else if why.is_library() {
        Fault::Frames { protocol: "HTTP/2", why: reason.to_owned() }
    } else {
        Fault::Broken(io::Error::other(why))
    }
}

/// The protocol's names of reasons.
fn words(reason: Reason) -> &'static str {
    match reason {
        Reason::NO_ERROR => "NO_ERROR",
        Reason::PROTOCOL_ERROR => "PROTOCOL_ERROR",
        Reason::INTERNAL_ERROR => "INTERNAL_ERROR",
        Reason::FLOW_CONTROL_ERROR => "FLOW_CONTROL_ERROR",
        Reason::SETTINGS_TIMEOUT => "SETTINGS_TIMEOUT",
        Reason::STREAM_CLOSED => "STREAM_CLOSED",
        Reason::FRAME_SIZE_ERROR => "FRAME_SIZE_ERROR",
        Reason::REFUSED_STREAM => "REFUSED_STREAM",
        Reason::CANCEL => "CANCEL",
        Reason::COMPRESSION_ERROR => "COMPRESSION_ERROR",
        Reason::CONNECT_ERROR => "CONNECT_ERROR",
        Reason::ENHANCE_YOUR_CALM => "ENHANCE_YOUR_CALM",
        Reason::INADEQUATE_SECURITY => "INADEQUATE_SECURITY",
        Reason::HTTP_1_1_REQUIRED => "HTTP_1_1_REQUIRED",
        _ => "a reason the protocol does not name",
    }
}

/// Translates the request rendered as `wire` into its head and its body.
pub(crate) fn request(wire: &[u8], scheme: &str) -> Result<(http::Request<()>, Option<Bytes>), Fault> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut parsed = httparse::Request::new(&mut fields);
    let length = match parsed.parse(wire) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Err(Fault::request("it has no end")),
        Err(why) => return Err(Fault::request(why.to_string())),
    };
    let mut authority = "";
    let mut framed = false;
    let mut request = http::Request::new(());
    for field in parsed.headers.iter() {
        let text = || std::str::from_utf8(field.value).unwrap_or_default();
        match field.name {
            name if name.eq_ignore_ascii_case("host") => authority = text(),
            name if name.eq_ignore_ascii_case("connection") => {}
            name if name.eq_ignore_ascii_case("content-length") => {
                framed = true;
                let length = HeaderValue::from_str(text()).map_err(|e| Fault::request(e.to_string()))?;
                request.headers_mut().insert(CONTENT_LENGTH, length);
            }
            name => {
                let name =
                    HeaderName::from_bytes(name.as_bytes()).map_err(|e| Fault::request(e.to_string()))?;
                let value =
                    HeaderValue::from_bytes(field.value).map_err(|e| Fault::request(e.to_string()))?;
                request.headers_mut().append(name, value);
            }
        }
    }
    let uri = http::Uri::builder()
        .scheme(scheme)
        .authority(authority)
        .path_and_query(parsed.path.unwrap_or_default())
        .build();
    *request.uri_mut() = uri.map_err(|e| Fault::request(e.to_string()))?;
    let method = http::Method::from_bytes(parsed.method.unwrap_or_default().as_bytes());
    *request.method_mut() = method.map_err(|e| Fault::request(e.to_string()))?;
    *request.version_mut() = http::Version::HTTP_2;
    let body = &wire[length..];
    Ok((request, (framed && !body.is_empty()).then(|| Bytes::copy_from_slice(body))))
}

/// Writes the head of an answer as text into this buffer; returns its status too.
pub(crate) fn head(head: &http::response::Parts, mut buffer: Vec<u8>) -> (Vec<u8>, u16) {
    let status = head.status.as_u16();
    write_status_line(&mut buffer, status);
    for (name, value) in &head.headers {
        write_field(&mut buffer, name.as_str().as_bytes(), value.as_bytes());
    }
    buffer.extend_from_slice(b"\r\n");
    (buffer, status)
}
