//! Values of parameters.

use crate::timestamp::Timestamp;

/// The value of a parameter. The server converts it to the type of the column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Param<'p> {
    /// Null.
    Null,
    /// For whole numbers.
    Int(i64),
    /// For `float` and `double`.
    Float(f64),
    /// For texts, and as text for `decimal`, `time` and all types without a form of their own here.
    Text(&'p str),
    /// For `binary`, `varbinary` and `blob`.
    Bytes(&'p [u8]),
    /// For `date`, `datetime` and `timestamp`.
    Timestamp(Timestamp),
}

impl Param<'_> {
    /// Code of its type.
    fn code(self) -> u8 {
        match self {
            Param::Null => 6,
            Param::Int(_) => 8,
            Param::Float(_) => 5,
            Param::Text(_) => 253,
            Param::Bytes(_) => 252,
            Param::Timestamp(_) => 12,
        }
    }

    fn write(self, out: &mut Vec<u8>) {
        match self {
            Param::Null => {}
            Param::Int(n) => out.extend(n.to_le_bytes()),
            Param::Float(n) => out.extend(n.to_le_bytes()),
            Param::Text(text) => counted(out, text.as_bytes()),
            Param::Bytes(bytes) => counted(out, bytes),
            Param::Timestamp(at) => {
                let bytes = at.bytes();
                out.push(bytes.len() as u8);
                out.extend(bytes);
            }
        }
    }
}

/// Writes nulls, types and values.
pub(crate) fn write(params: &[Param<'_>], out: &mut Vec<u8>) {
    if params.is_empty() {
        return;
    }
    let nulls = out.len();
    out.resize(nulls + params.len().div_ceil(8), 0);
    // The types follow.
    out.push(1);
    for (n, param) in params.iter().enumerate() {
        out[nulls + n / 8] |= u8::from(*param == Param::Null) << (n % 8);
        out.extend([param.code(), 0]);
    }
    for param in params {
        param.write(out);
    }
}

/// Writes bytes after their number.
pub(crate) fn counted(out: &mut Vec<u8>, bytes: &[u8]) {
    match bytes.len() {
        small @ 0..=250 => out.push(small as u8),
        length @ 251..=0xffff => {
            out.push(252);
            out.extend((length as u16).to_le_bytes());
        }
        length => {
            out.push(254);
            out.extend((length as u64).to_le_bytes());
        }
    }
    out.extend_from_slice(bytes);
}
