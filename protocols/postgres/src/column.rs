//! Descriptions of columns.

use crate::fields::Fields;
use crate::flaw::Flaw;
use crate::sql_type::SqlType;

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: Box<str>,
    /// Its type.
    pub kind: SqlType,
}

/// Reads the description of a result.
pub(crate) fn read(body: &[u8]) -> Result<Vec<Column>, Flaw> {
    let mut fields = Fields::new(b'T', body);
    let columns = (0..fields.count()?).map(|_| column(&mut fields)).collect::<Result<_, _>>()?;
    fields.end()?;
    Ok(columns)
}

fn column(fields: &mut Fields<'_>) -> Result<Column, Flaw> {
    let name = fields.text()?.into();
    // Table and number in it.
    fields.bytes(6)?;
    let kind = SqlType::of(fields.oid()?);
    // Size, modifier and format.
    fields.bytes(8)?;
    Ok(Column { name, kind })
}
