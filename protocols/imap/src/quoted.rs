//! Arguments of commands.

use barograph_lines::Fault;

use crate::flaw::Flaw;

/// Appends a text as a quoted string.
///
/// # Errors
/// [`Fault::Argument`] if it has a line break or a zero byte.
pub(crate) fn write(text: &str, out: &mut Vec<u8>) -> Result<(), Fault<Flaw>> {
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'\r' | b'\n' | 0 => return Err(Fault::Argument),
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            byte => out.push(byte),
        }
    }
    out.push(b'"');
    Ok(())
}

/// Checks a text that is sent as it is.
///
/// # Errors
/// [`Fault::Argument`] if it has a line break or a zero byte.
pub(crate) fn check(text: &str) -> Result<&[u8], Fault<Flaw>> {
    match text.bytes().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
        true => Err(Fault::Argument),
        false => Ok(text.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_escaped_and_line_breaks_refused() {
        let mut out = Vec::new();
        write("a \"b\" \\", &mut out).unwrap();
        assert_eq!(out, br#""a \"b\" \\""#);
        assert!(matches!(write("a\r\nb", &mut out), Err(Fault::Argument)));
        assert!(matches!(check("1:*\n"), Err(Fault::Argument)));
        assert_eq!(check("1:*").unwrap(), b"1:*");
    }
}
