//! Tables as Apache Parquet: one flat schema in which every column is optional.

use std::fs::File;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::{Cell, ColumnKind, Head, Sheet, SheetError};

/// Rows buffered in memory and written together.
const GROUP_ROWS: usize = 65_536;

pub(super) struct ParquetSheet {
    writer: SerializedFileWriter<File>,
    columns: Vec<Column>,
    rows: usize,
}

/// The buffered values of a column. Absent ones have no value, and a definition level of 0.
struct Column {
    values: Values,
    levels: Vec<i16>,
}

enum Values {
    Whole(Vec<i64>),
    Float(Vec<f64>),
    Text(Vec<ByteArray>),
    Truth(Vec<bool>),
}

impl ParquetSheet {
    pub(super) fn begin(file: File, heads: &[Head]) -> Result<Self, SheetError> {
        let fields = heads.iter().map(|head| field(head).map(Arc::new)).collect::<Result<Vec<_>, _>>()?;
        let schema = Type::group_type_builder("barograph").with_fields(fields).build()?;
        let properties = WriterProperties::builder()
            .set_created_by(concat!("barograph ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::SNAPPY)
            .build();
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
        let columns = heads.iter().map(|head| Column::new(head.kind)).collect();
        Ok(ParquetSheet { writer, columns, rows: 0 })
    }

    /// Writes the buffered rows.
    fn group(&mut self) -> Result<(), SheetError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for column in &mut self.columns {
            let mut writer = group.next_column()?.ok_or("there are more columns than the schema has")?;
            let levels = Some(&column.levels[..]);
            match &column.values {
                Values::Whole(values) => writer.typed::<Int64Type>().write_batch(values, levels, None)?,
                Values::Float(values) => writer.typed::<DoubleType>().write_batch(values, levels, None)?,
                Values::Text(values) => writer.typed::<ByteArrayType>().write_batch(values, levels, None)?,
                Values::Truth(values) => writer.typed::<BoolType>().write_batch(values, levels, None)?,
            };
            writer.close()?;
            column.clear();
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }
}

fn field(head: &Head) -> Result<Type, SheetError> {
    let (physical, logical) = match head.kind {
        ColumnKind::Whole => (Physical::INT64, None),
        ColumnKind::Float => (Physical::DOUBLE, None),
        ColumnKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        ColumnKind::Truth => (Physical::BOOLEAN, None),
    };
    let builder = Type::primitive_type_builder(&head.name, physical);
    Ok(builder.with_repetition(Repetition::OPTIONAL).with_logical_type(logical).build()?)
}

impl Column {
    fn new(kind: ColumnKind) -> Self {
        let values = match kind {
            ColumnKind::Whole => Values::Whole(Vec::new()),
            ColumnKind::Float => Values::Float(Vec::new()),
            ColumnKind::Text => Values::Text(Vec::new()),
            ColumnKind::Truth => Values::Truth(Vec::new()),
        };
        Column { values, levels: Vec::new() }
    }

    fn push(&mut self, cell: &Cell<'_>) -> Result<(), SheetError> {
        match (&mut self.values, cell) {
            (_, Cell::Nothing) => {
                self.levels.push(0);
                return Ok(());
            }
            (Values::Whole(values), Cell::Whole(n)) => values.push(*n),
            (Values::Float(values), Cell::Float(x)) => values.push(*x),
            (Values::Text(values), Cell::Text(text)) => values.push(ByteArray::from(&**text)),
            (Values::Truth(values), Cell::Truth(truth)) => values.push(*truth),
            (_, other) => return Err(format!("{other:?} is not of the kind of its column").into()),
        }
        self.levels.push(1);
        Ok(())
    }

    fn clear(&mut self) {
        self.levels.clear();
        match &mut self.values {
            Values::Whole(values) => values.clear(),
            Values::Float(values) => values.clear(),
            Values::Text(values) => values.clear(),
            Values::Truth(values) => values.clear(),
        }
    }
}

impl Sheet for ParquetSheet {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), SheetError> {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.push(cell)?;
        }
        self.rows += 1;
        if self.rows == GROUP_ROWS { self.group() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<(), SheetError> {
        self.group()?;
        self.writer.close()?;
        Ok(())
    }
}
