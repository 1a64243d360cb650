//! Tables as comma-separated text.

use std::fs::File;
use std::io::Write as _;

use csv::Writer;

use super::{Cell, Head, Sheet, SheetError};

pub(super) struct CsvSheet(Writer<File>);

impl CsvSheet {
    pub(super) fn begin(file: File, heads: &[Head]) -> Result<Self, SheetError> {
        let mut writer = Writer::from_writer(file);
        writer.write_record(heads.iter().map(|head| head.name.as_str()))?;
        Ok(CsvSheet(writer))
    }
}

impl Sheet for CsvSheet {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), SheetError> {
        for cell in cells {
            match cell {
                Cell::Nothing => self.0.write_field("")?,
                Cell::Whole(n) => self.0.write_field(n.to_string())?,
                // The shortest text that reads back as the same number.
                Cell::Float(x) => self.0.write_field(x.to_string())?,
                Cell::Text(text) => self.0.write_field(text.as_bytes())?,
                Cell::Truth(truth) => self.0.write_field(if *truth { "true" } else { "false" })?,
            }
        }
        Ok(self.0.write_record(None::<&[u8]>)?)
    }

    fn finish(self: Box<Self>) -> Result<(), SheetError> {
        let mut file = self.0.into_inner().map_err(|why| why.into_error())?;
        Ok(file.flush()?)
    }
}
