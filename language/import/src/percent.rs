//! Percent-encoding of URLs and forms.

/// Decodes a text; it stays unchanged if the result is not UTF-8.
pub(crate) fn decoded(text: &str) -> String {
    decode(text, false).unwrap_or_else(|| text.to_owned())
}

/// Decodes a name or value of a query or a form; `None` if the result is not UTF-8.
pub(crate) fn decoded_query(text: &str) -> Option<String> {
    decode(text, true)
}

fn decode(text: &str, plus_is_space: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let pair = (byte == b'%').then(|| Some((hex(ahead.next()?)?, hex(ahead.next()?)?))).flatten();
        match (byte, pair) {
            (_, Some((high, low))) => {
                bytes.push(high << 4 | low);
                rest = ahead;
            }
            (b'+', _) if plus_is_space => bytes.push(b' '),
            _ => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|d| u8::try_from(d).ok())
}

/// Encodes a URL for a request line: allowed characters stay.
pub(crate) fn in_line(text: &str) -> String {
    encoded(text, |byte| byte.is_ascii_graphic() && byte != b'#')
}

/// Encodes one part of a path, including separators.
pub(crate) fn segment(text: &str) -> String {
    encoded(text, |byte| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte))
}

/// Encodes one value in a query whose separators are already written.
pub(crate) fn value(text: &str) -> String {
    encoded(text, |byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}

fn encoded(text: &str, stays: impl Fn(u8) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if stays(byte) { out.push(char::from(byte)) } else { out.push_str(&format!("%{byte:02X}")) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_encoded_once() {
        assert_eq!(in_line("/\u{fc}/a b%20c#d"), "/%C3%BC/a%20b%20c%23d");
        assert_eq!(segment("a/b?c,d e"), "a%2Fb%3Fc,d%20e");
        assert_eq!(value("a,b&c"), "a%2Cb%26c");
        assert_eq!(decoded("a%20b+c%zz%C3%BC"), "a b+c%zz\u{fc}");
        assert_eq!(decoded_query("a+b%26").as_deref(), Some("a b&"));
        assert_eq!(decoded_query("%ff"), None);
    }
}
