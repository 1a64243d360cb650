//! Values of parameters, written in the form that the server expects.

use std::io::Write as _;

use crate::sql_type::{SqlType, Timestamp};

/// The value of a parameter. It is written as the type that the server found for the parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Param<'p> {
    /// Null of any type.
    Null,
    /// For `smallint`, `integer`, `bigint`, `numeric` and other types whose text is a whole number.
    Int(i64),
    /// For `double precision`.
    Float(f64),
    /// For `boolean`.
    Bool(bool),
    /// For texts, and as text for `numeric`, `date` and all types that have no form of their own here.
    Text(&'p str),
    /// For `bytea`.
    Bytes(&'p [u8]),
    /// For `timestamp` and `timestamptz`.
    Timestamp(Timestamp),
}

impl Param<'_> {
    /// Writes length and value; false where the type does not take the value.
    pub(crate) fn write(self, kind: SqlType, out: &mut Vec<u8>) -> bool {
        match (self, kind) {
            (Param::Null, _) => out.extend_from_slice(&[0xff; 4]),
            (Param::Int(n), SqlType::Int8) => value(out, &n.to_be_bytes()),
            (Param::Int(n), SqlType::Int4) => match i32::try_from(n) {
                Ok(n) => value(out, &n.to_be_bytes()),
                Err(_) => return false,
            },
            (Param::Int(n), SqlType::Int2) => match i16::try_from(n) {
                Ok(n) => value(out, &n.to_be_bytes()),
                Err(_) => return false,
            },
            (Param::Int(n), SqlType::Other(_)) => {
                let mut room = [0; 20];
                let mut left = &mut room[..];
                write!(left, "{n}").expect("a 64-bit number has 20 characters at most");
                let length = 20 - left.len();
                value(out, &room[..length]);
            }
            (Param::Float(n), SqlType::Float8) => value(out, &n.to_be_bytes()),
            (Param::Bool(yes), SqlType::Bool) => value(out, &[u8::from(yes)]),
            (Param::Text(text), SqlType::Text | SqlType::Other(_)) => value(out, text.as_bytes()),
            (Param::Bytes(bytes), SqlType::Bytea) => value(out, bytes),
            (Param::Timestamp(at), SqlType::Timestamp) => value(out, &at.0.to_be_bytes()),
            _ => return false,
        }
        true
    }
}

fn value(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}
