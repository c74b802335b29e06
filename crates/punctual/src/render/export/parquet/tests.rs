//! Reads the table back with the reader of the `parquet` crate. Step `formats` of the CI reads it with other programs.

use super::*;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row, RowAccessor};
use punctual_numbers::export::{foreign_fleet_head, foreign_fleet_rows};
use punctual_numbers::foreign::{Beyond, Cell, ForeignRun, ImportOptions, import};
use std::io::Write;
use std::path::Path;

fn read(bytes: &[u8]) -> SerializedFileReader<std::fs::File> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    SerializedFileReader::new(file).unwrap()
}

fn rows(bytes: &[u8]) -> Vec<Row> {
    read(bytes).get_row_iter(None).unwrap().map(Result::unwrap).collect()
}

/// (low, high, count) of each cell in a row's histogram, which is the last column.
fn held(row: &Row) -> Vec<(i64, Option<i64>, i64)> {
    let list = row.get_list(COLUMNS.len()).unwrap();
    let cell = |element: &Field| {
        let Field::Group(cell) = element else { panic!("{element:?}") };
        (cell.get_long(0).unwrap(), cell.get_long(1).ok(), cell.get_long(2).unwrap())
    };
    list.elements().iter().map(cell).collect()
}

fn run_of(name: &str) -> ForeignRun {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/foreign").join(name);
    import(&std::fs::read(path).unwrap(), ImportOptions::default()).unwrap()
}

fn table_of(run: &ForeignRun) -> Vec<u8> {
    parquet("r", &foreign_fleet_head(run), foreign_fleet_rows(run)).unwrap()
}

#[test]
fn each_cell_of_a_file_is_in_the_table_and_what_is_not_known_is_null() {
    for name in ["cyclictest-dense.txt", "cyclictest.json", "rtla-timerlat.txt", "stress-ng-cyclic.txt", "oslat.json"] {
        let run = run_of(name);
        let rows = rows(&table_of(&run));
        assert_eq!(rows.len(), run.series.len(), "{name}");
        for (row, series) in rows.iter().zip(&run.series) {
            let whole = |length: Nanos| i64::try_from(length.as_ns()).unwrap();
            let mut wanted: Vec<_> = series
                .cells
                .iter()
                .map(|cell| (whole(cell.low), Some(whole(cell.high)), i64::try_from(cell.count).unwrap()))
                .collect();
            wanted.extend(series.beyond.map(|b| (whole(b.from), None, i64::try_from(b.count).unwrap())));
            assert_eq!(held(row), wanted, "{name}");
            let place = |column: &str| COLUMNS.iter().position(|(known, _)| *known == column).unwrap();
            assert_eq!(row.get_string(place("run")).unwrap(), "r");
            assert_eq!(row.get_string(place("series")).unwrap(), &series.label);
            assert_eq!(row.get_long(place("cpu")).ok(), series.cpu.map(i64::from));
            assert_eq!(row.get_long(place("max_ns")).ok(), series.largest().map(whole));
            assert!(row.get_timestamp_micros(place("started")).is_err(), "no file says when in a form that is sure");
        }
    }
}

#[test]
fn a_run_of_many_cells_is_packed_in_groups_and_nothing_is_lost() {
    let cells: Vec<Cell> = (0..180_000).map(|us| Cell::of_width(us, Nanos::from_us(1), us + 1)).collect();
    let row = |cpu| FleetRow {
        series: format!("CPU {cpu}"),
        cpu: Some(cpu),
        cells: if cpu == 3 { Vec::new() } else { cells.clone() },
        beyond: (cpu == 5).then_some(Beyond { from: Nanos::from_secs(1), count: u64::MAX }),
        ..FleetRow::default()
    };
    let run = FleetHead { started_unix_ns: Some(1_700_000_000_123_456_789), ..FleetHead::default() };
    let bytes = parquet("long", &run, (0..8).map(row)).unwrap();
    let reader = read(&bytes);
    assert!(reader.num_row_groups() > 1, "{}", reader.num_row_groups());
    let metadata = reader.metadata().file_metadata().key_value_metadata().cloned().unwrap();
    assert!(metadata.iter().any(|pair| pair.key == "punctual.schema" && pair.value.as_deref() == Some(SCHEMA)));
    let rows = rows(&bytes);
    let counts: Vec<usize> = rows.iter().map(|row| held(row).len()).collect();
    assert_eq!(counts, [180_000, 180_000, 180_000, 0, 180_000, 180_001, 180_000, 180_000]);
    assert_eq!(held(&rows[5]).last(), Some(&(1_000_000_000, None, i64::MAX)), "as much as it can hold");
    assert_eq!(rows[7].get_timestamp_micros(5).unwrap(), 1_700_000_000_123_456);
    assert!(bytes.len() < 1_800_000, "{} bytes for a million cells", bytes.len());
}

#[test]
fn the_columns_are_those_of_the_book() {
    let book = include_str!("../../../../../../book/src/files.md");
    let missing: Vec<&str> =
        COLUMNS.iter().map(|(name, _)| *name).filter(|name| !book.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
