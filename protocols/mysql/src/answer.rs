//! Messages of the server in answer to a command, read in place.

use crate::fields::Fields;
use crate::flaw::Flaw;
use crate::sql_type::SqlType;

/// First bytes of messages.
pub(crate) const OK: u8 = 0x00;
pub(crate) const MORE: u8 = 0x01;
pub(crate) const FILE: u8 = 0xfb;
pub(crate) const END: u8 = 0xfe;

/// Most bytes of the end of columns or rows. A row of text can begin with the same byte, and is longer.
const END_BYTES: usize = 5;

/// The end of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Rows that were affected or returned. An update affects all rows that it finds, changed or not.
    pub rows: u64,
    /// The first value that the statement gave to an AUTO_INCREMENT column; 0 without one.
    pub insert_id: u64,
    /// Warnings, to be asked for by SHOW WARNINGS.
    pub warnings: u16,
}

/// State of a session, as the server reports it at the end of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Status(u16);

impl Status {
    /// A transaction is open.
    pub(crate) fn in_transaction(self) -> bool {
        self.0 & 1 != 0
    }

    /// Another result follows.
    pub(crate) fn has_more(self) -> bool {
        self.0 & 8 != 0
    }
}

/// Reads the end of a statement without rows.
pub(crate) fn ok(body: &[u8]) -> Result<(Done, Status), Flaw> {
    let mut fields = Fields::new("OK", body);
    fields.byte()?;
    let (rows, insert_id) = (fields.number()?, fields.number()?);
    let status = Status(fields.int2()?);
    // A text for people may follow.
    Ok((Done { rows, insert_id, warnings: fields.int2()? }, status))
}

/// Whether a message ends columns or rows.
pub(crate) fn is_end(body: &[u8]) -> bool {
    body[0] == END && body.len() <= END_BYTES
}

/// Reads the end of columns or rows: warnings and status.
pub(crate) fn end(body: &[u8]) -> Result<(u16, Status), Flaw> {
    let mut fields = Fields::new("the end of rows", body);
    fields.byte()?;
    let (warnings, status) = (fields.int2()?, Status(fields.int2()?));
    fields.end()?;
    Ok((warnings, status))
}

/// Reads a number of columns.
pub(crate) fn count(body: &[u8]) -> Result<u64, Flaw> {
    let mut fields = Fields::new("a number of columns", body);
    let count = fields.number()?;
    fields.end()?;
    Ok(count)
}

/// Reads the type of a column from its description.
pub(crate) fn column(body: &[u8]) -> Result<SqlType, Flaw> {
    let mut fields = Fields::new("a column", body);
    // Catalog, schema, table and column, the last two by their names in the statement and in the schema.
    for _ in 0..6 {
        fields.counted()?;
    }
    let (_length, charset) = (fields.byte()?, fields.int2()?);
    let _width = fields.int4()?;
    let (code, flags) = (fields.byte()?, fields.int2()?);
    let _decimals = fields.byte()?;
    let _unused = fields.int2()?;
    fields.end()?;
    Ok(SqlType::of(code, flags, charset))
}

/// A statement that the server has prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PreparedStatement {
    pub(crate) id: u32,
    pub(crate) columns: u16,
    pub(crate) parameters: u16,
}

/// Reads the first message of an answer to a request to prepare.
pub(crate) fn prepared(body: &[u8]) -> Result<PreparedStatement, Flaw> {
    let mut fields = Fields::new("a prepared statement", body);
    fields.byte()?;
    let prepared =
        PreparedStatement { id: fields.int4()?, columns: fields.int2()?, parameters: fields.int2()? };
    let (_unused, _warnings) = (fields.byte()?, fields.int2()?);
    fields.end()?;
    Ok(prepared)
}
