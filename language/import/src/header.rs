//! Headers of requests, and those allowed in a scenario.

/// Headers that follow from the connection and from the body.
const OF_CONNECTION: [&str; 11] = [
    "connection",
    "content-length",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "sec-websocket-key",
    "sec-websocket-protocol",
    "sec-websocket-version",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// Whether a scenario may contain a header of this name.
pub(crate) fn is_written(name: &str) -> bool {
    is_token(name) && !OF_CONNECTION.iter().any(|of_connection| name.eq_ignore_ascii_case(of_connection))
}

/// Whether a text is a token, as methods and names of headers are.
pub(crate) fn is_token(text: &str) -> bool {
    let sign = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(sign)
}

/// A value on one line.
pub(crate) fn on_one_line(value: &str) -> String {
    value.replace(char::is_control, " ")
}
