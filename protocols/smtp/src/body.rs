//! Mail as it is sent after DATA.

use memchr::memmem;

/// Appends a mail, whose lines end with CRLF, with a dot before each dot that begins a line, and the final
/// dot.
pub(crate) fn write(mail: &[u8], out: &mut Vec<u8>) {
    out.reserve(mail.len() + 8);
    if mail.first() == Some(&b'.') {
        out.push(b'.');
    }
    let mut from = 0;
    for at in memmem::find_iter(mail, b"\n.") {
        out.extend_from_slice(&mail[from..=at]);
        out.push(b'.');
        from = at + 1;
    }
    out.extend_from_slice(&mail[from..]);
    if !mail.is_empty() && !mail.ends_with(b"\r\n") {
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b".\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_at_the_begin_of_lines_are_doubled() {
        let written = |mail: &[u8]| {
            let mut out = Vec::new();
            write(mail, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(b""), ".\r\n");
        assert_eq!(written(b".a\r\nb.\r\n.\r\n..c\r\n"), "..a\r\nb.\r\n..\r\n...c\r\n.\r\n");
        assert_eq!(written(b"no end"), "no end\r\n.\r\n");
        assert_eq!(written(b".\r\n.\r\n.\r\n"), "..\r\n..\r\n..\r\n.\r\n");
    }
}
