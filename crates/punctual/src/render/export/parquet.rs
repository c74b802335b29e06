//! Writes runs as rows of one Parquet table for a fleet of machines, which `DuckDB`, Arrow and Spark read. All programs
//! that measure share its schema.
//!
//! The `parquet` crate encodes the columns; this module names and fills them. Names and meanings of columns stay the
//! same within one version. The file holds the version.

use anyhow::Result;
use parquet::basic::{Compression, Encoding, GzipLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use punctual_hist::Nanos;
use punctual_numbers::export::{FleetHead, FleetRow};
use punctual_numbers::foreign::Quantity;
use std::sync::Arc;

pub const SCHEMA: &str = "punctual/fleet/1";

/// A row group is closed once its histograms have this number of cells.
const GROUP_CELLS: usize = 1 << 20;

/// A column of texts: the function that returns its value for a row.
type Text = fn(&Facts<'_>, &FleetRow) -> Option<String>;
/// A column of whole numbers: the function that returns its value for a row.
type Number = fn(&Facts<'_>, &FleetRow) -> Option<u64>;

/// Facts about a run, which are the same in all its rows.
struct Facts<'a> {
    name: &'a str,
    run: &'a FleetHead,
}

enum Column {
    Text(Text),
    Number(Number),
    Moment(Number),
}

/// All columns before the histogram.
const COLUMNS: [(&str, Column); 20] = [
    ("run", Column::Text(|of, _| Some(of.name.to_owned()))),
    ("machine", Column::Text(|of, _| of.run.machine.clone())),
    ("kernel", Column::Text(|of, _| of.run.kernel.clone())),
    ("program", Column::Text(|of, _| of.run.program.clone())),
    ("format", Column::Text(|of, _| Some(of.run.format.to_owned()))),
    ("started", Column::Moment(|of, _| of.run.started_unix_ns.map(|ns| ns / 1_000))),
    ("series", Column::Text(|_, row| Some(row.series.clone()))),
    ("cpu", Column::Number(|_, row| row.cpu.map(u64::from))),
    ("context", Column::Text(|_, row| row.context.clone())),
    ("quantity", Column::Text(|_, row| Some(quantity(row.quantity).to_owned()))),
    ("phase", Column::Text(|_, row| row.phase.clone())),
    ("start_ns", Column::Number(|_, row| Some(row.start.as_ns()))),
    ("length_ns", Column::Number(|_, row| row.length.map(Nanos::as_ns))),
    ("period_ns", Column::Number(|_, row| row.period.map(Nanos::as_ns))),
    ("budget_ns", Column::Number(|of, _| of.run.budget.map(Nanos::as_ns))),
    ("ran", Column::Number(|_, row| row.ran)),
    ("skipped", Column::Number(|_, row| row.skipped)),
    ("over_budget", Column::Number(|_, row| row.over_budget)),
    ("min_ns", Column::Number(|_, row| row.min.map(Nanos::as_ns))),
    ("max_ns", Column::Number(|_, row| row.max.map(Nanos::as_ns))),
];

/// Schema of the histogram column. `low_ns` and `high_ns` both belong to the cell. The last entry may hold the values
/// beyond the last cell, and then has no `high_ns`.
const HISTOGRAM: &str = "required group histogram (LIST) { repeated group list { required group element {
    required int64 low_ns; optional int64 high_ns; required int64 count; } } }";

fn quantity(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Latency => "latency",
        Quantity::Noise => "noise",
    }
}

/// The table of one run, as the bytes of a file. `name` is what the run is called among others.
///
/// # Errors
/// The errors of the `parquet` crate.
pub fn parquet(name: &str, run: &FleetHead, rows: impl Iterator<Item = FleetRow>) -> Result<Vec<u8>> {
    let properties = WriterProperties::builder()
        .set_created_by(format!("punctual {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::GZIP(GzipLevel::default()))
        .set_key_value_metadata(Some(vec![KeyValue::new("punctual.schema".to_owned(), SCHEMA.to_owned())]));
    // Successive edges and counts differ by little, so delta encoding makes them small.
    let properties = ["low_ns", "high_ns", "count"].into_iter().fold(properties, |properties, leaf| {
        let path = ["histogram", "list", "element", leaf].map(str::to_owned).to_vec();
        let path = parquet::schema::types::ColumnPath::new(path);
        properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
    });
    let schema = Arc::new(parse_message_type(&schema())?);
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties.build()))?;
    let facts = Facts { name, run };
    let mut rows = rows.peekable();
    while rows.peek().is_some() {
        let mut cells = 0;
        let group: Vec<FleetRow> = std::iter::from_fn(|| {
            let row = rows.next_if(|_| cells < GROUP_CELLS)?;
            cells += row.cells.len() + 1;
            Some(row)
        })
        .collect();
        write_group(&mut writer, &facts, &group)?;
    }
    Ok(writer.into_inner()?)
}

fn schema() -> String {
    let column = |(name, column): &(&str, Column)| match column {
        Column::Text(_) => format!("optional binary {name} (STRING);"),
        Column::Number(_) => format!("optional int64 {name};"),
        Column::Moment(_) => format!("optional int64 {name} (TIMESTAMP(MICROS, true));"),
    };
    let columns: Vec<String> = COLUMNS.iter().map(column).collect();
    format!("message punctual {{ {} {HISTOGRAM} }}", columns.join(" "))
}

fn write_group(
    writer: &mut SerializedFileWriter<Vec<u8>>,
    facts: &Facts<'_>,
    rows: &[FleetRow],
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    let scalars = COLUMNS.iter().map(|(_, column)| Some(column)).chain([None; 3]);
    for (index, scalar) in scalars.enumerate() {
        let Some(mut column) = group.next_column()? else { break };
        match scalar {
            Some(scalar) => write_scalar(&mut column, scalar, facts, rows)?,
            None => write_leaf(&mut column, index.saturating_sub(COLUMNS.len()), rows)?,
        }
        column.close()?;
    }
    group.close()?;
    Ok(())
}

fn write_scalar(
    column: &mut SerializedColumnWriter<'_>,
    of: &Column,
    facts: &Facts<'_>,
    rows: &[FleetRow],
) -> Result<(), ParquetError> {
    match of {
        Column::Text(text) => {
            let values: Vec<Option<String>> = rows.iter().map(|row| text(facts, row)).collect();
            let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
            let values: Vec<ByteArray> =
                values.into_iter().flatten().map(|text| ByteArray::from(text.into_bytes())).collect();
            column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
        }
        Column::Number(number) | Column::Moment(number) => {
            let values: Vec<Option<u64>> = rows.iter().map(|row| number(facts, row)).collect();
            let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
            let values: Vec<i64> = values.into_iter().flatten().map(whole).collect();
            column.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
        }
    }
    Ok(())
}

/// Writes one of the three numbers of each cell (low, high, count), for all rows. A row without cells is written as a
/// definition level of 0 without a value.
fn write_leaf(column: &mut SerializedColumnWriter<'_>, leaf: usize, rows: &[FleetRow]) -> Result<(), ParquetError> {
    let (mut values, mut defined, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
    let there = if leaf == 1 { 2 } else { 1 };
    for row in rows {
        let cells = row.cells.iter().map(|cell| [Some(cell.low.as_ns()), Some(cell.high.as_ns()), Some(cell.count)]);
        let beyond = row.beyond.iter().map(|beyond| [Some(beyond.from.as_ns()), None, Some(beyond.count)]);
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

#[cfg(test)]
mod tests;
