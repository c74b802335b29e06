//! Encodes rows as a Parquet file: named columns of texts, whole numbers and moments, and one column for the cells of a
//! histogram.
//!
//! The columns are declared by whoever knows the rows. This module must not know what a column means.

use anyhow::Result;
use parquet::basic::{Compression, Encoding, GzipLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use punctual_numbers::foreign::{Beyond, Cell};
use std::sync::Arc;

/// A row group is closed once its histograms have this number of cells.
const GROUP_CELLS: usize = 1 << 20;

/// The kind of a column, with the function that returns its value for a row. Every value may be missing.
pub enum Column<R> {
    Text(fn(&R) -> Option<String>),
    Number(fn(&R) -> Option<u64>),
    /// A moment in microseconds since 1970.
    Moment(fn(&R) -> Option<u64>),
}

/// The cells of a row, and the values beyond the last cell.
pub type Histogram<R> = fn(&R) -> (&[Cell], Option<Beyond>);

pub struct Table<R: 'static> {
    /// Name and version of the schema, which the file keeps.
    pub schema: &'static str,
    pub columns: &'static [(&'static str, Column<R>)],
    pub histogram: Option<Histogram<R>>,
    /// Whether the rows of a file have mostly the same edges, as buckets of our own histogram do. Such edges compress
    /// best as they are, and all others as differences.
    pub same_edges: bool,
}

/// Schema of the histogram column. `low_ns` and `high_ns` both belong to the cell. The last entry may hold the values
/// beyond the last cell, and then has no `high_ns`.
const HISTOGRAM: &str = "required group histogram (LIST) { repeated group list { required group element {
    required int64 low_ns; optional int64 high_ns; required int64 count; } } }";

impl<R> Table<R> {
    /// The bytes of a file with these rows.
    ///
    /// # Errors
    /// The errors of the `parquet` crate.
    pub fn bytes(&self, rows: impl Iterator<Item = R>) -> Result<Vec<u8>> {
        let schema = Arc::new(parse_message_type(&self.message())?);
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(self.properties()))?;
        let mut rows = rows.peekable();
        while rows.peek().is_some() {
            let mut cells = 0;
            let group: Vec<R> = std::iter::from_fn(|| {
                let row = rows.next_if(|_| cells < GROUP_CELLS)?;
                cells += self.histogram.map_or(0, |of| of(&row).0.len()) + 1;
                Some(row)
            })
            .collect();
            self.write_group(&mut writer, &group)?;
        }
        Ok(writer.into_inner()?)
    }

    fn properties(&self) -> WriterProperties {
        let properties = WriterProperties::builder()
            .set_created_by(format!("punctual {}", env!("CARGO_PKG_VERSION")))
            .set_compression(Compression::GZIP(GzipLevel::default()))
            .set_key_value_metadata(Some(vec![KeyValue::new("punctual.schema".to_owned(), self.schema.to_owned())]));
        let leaves = ["low_ns", "high_ns", "count"].into_iter().filter(|_| self.histogram.is_some());
        // Successive counts differ by little, and so do successive edges.
        let properties = leaves.fold(properties, |properties, leaf| {
            let is_same = self.same_edges && leaf != "count";
            let encoding = if is_same { Encoding::PLAIN } else { Encoding::DELTA_BINARY_PACKED };
            let path = ColumnPath::new(["histogram", "list", "element", leaf].map(str::to_owned).to_vec());
            properties.set_column_dictionary_enabled(path.clone(), false).set_column_encoding(path, encoding)
        });
        properties.build()
    }

    /// The schema in the language of Parquet.
    pub fn message(&self) -> String {
        let column = |(name, column): &(&str, Column<R>)| match column {
            Column::Text(_) => format!("optional binary {name} (STRING);"),
            Column::Number(_) => format!("optional int64 {name};"),
            Column::Moment(_) => format!("optional int64 {name} (TIMESTAMP(MICROS, true));"),
        };
        let columns: Vec<String> = self.columns.iter().map(column).collect();
        let histogram = self.histogram.map_or("", |_| HISTOGRAM);
        format!("message punctual {{ {} {histogram} }}", columns.join(" "))
    }

    fn write_group(&self, writer: &mut SerializedFileWriter<Vec<u8>>, rows: &[R]) -> Result<(), ParquetError> {
        let mut group = writer.next_row_group()?;
        for (_, scalar) in self.columns {
            let Some(mut column) = group.next_column()? else { break };
            write_scalar(&mut column, scalar, rows)?;
            column.close()?;
        }
        for leaf in 0..self.histogram.map_or(0, |_| 3) {
            let (Some(mut column), Some(histogram)) = (group.next_column()?, self.histogram) else { break };
            write_leaf(&mut column, leaf, histogram, rows)?;
            column.close()?;
        }
        group.close()?;
        Ok(())
    }
}

fn write_scalar<R>(column: &mut SerializedColumnWriter<'_>, of: &Column<R>, rows: &[R]) -> Result<(), ParquetError> {
    match of {
        Column::Text(text) => {
            let values: Vec<Option<String>> = rows.iter().map(text).collect();
            let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
            let values: Vec<ByteArray> =
                values.into_iter().flatten().map(|text| ByteArray::from(text.into_bytes())).collect();
            column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
        }
        Column::Number(number) | Column::Moment(number) => {
            let values: Vec<Option<u64>> = rows.iter().map(number).collect();
            let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
            let values: Vec<i64> = values.into_iter().flatten().map(whole).collect();
            column.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
        }
    }
    Ok(())
}

/// Writes one of the three numbers of each cell (low, high, count), for all rows. A row without cells is written as a
/// definition level of 0 without a value.
fn write_leaf<R>(
    column: &mut SerializedColumnWriter<'_>,
    leaf: usize,
    histogram: Histogram<R>,
    rows: &[R],
) -> Result<(), ParquetError> {
    let (mut values, mut defined, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
    let there = if leaf == 1 { 2 } else { 1 };
    for row in rows {
        let (cells, beyond) = histogram(row);
        let cells = cells.iter().map(|cell| [Some(cell.low.as_ns()), Some(cell.high.as_ns()), Some(cell.count)]);
        let beyond = beyond.map(|beyond| [Some(beyond.from.as_ns()), None, Some(beyond.count)]);
        let before = defined.len();
        for three in cells.chain(beyond) {
            repeated.push(i16::from(defined.len() > before));
            let value = three.get(leaf).copied().flatten();
            defined.push(if value.is_some() { there } else { 1 });
            values.extend(value.map(whole));
        }
        if defined.len() == before {
            repeated.push(0);
            defined.push(0);
        }
    }
    column.typed::<Int64Type>().write_batch(&values, Some(&defined), Some(&repeated))?;
    Ok(())
}

/// A number as the signed 64-bit integer that Parquet has; larger values are clamped.
fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
