//! Imports any bytes as a result of another program, in any format. The outcome must not depend on how the bytes are
//! cut into pieces, and a run that was imported must be exported without a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use punctual_numbers::export;
use punctual_numbers::foreign::{Format, Import, ImportOptions, Unit, import};
use punctual_hist::Nanos;

fuzz_target!(|bytes: &[u8]| {
    let Some(([format, unit, cut], rest)) = bytes.split_first_chunk::<3>() else { return };
    // If the first byte is 0, the importer recognises the format by itself.
    let format = usize::from(*format).checked_sub(1).map(|index| Format::IMPORTED[index % Format::IMPORTED.len()]);
    let unit = [None, Some(Unit::Ns), Some(Unit::Us), Some(Unit::S)][usize::from(*unit) % 4];
    let options = ImportOptions { format, unit, period: None };
    let whole = import(rest, options);
    let (first, second) = rest.split_at(rest.len() * usize::from(*cut) / 255);
    let in_pieces = Import::begin(rest, options).and_then(|mut import| {
        import.feed(first)?;
        import.feed(second)?;
        import.finish()
    });
    assert_eq!(whole.is_ok(), in_pieces.is_ok());
    let Ok(run) = whole else { return };
    for series in &run.series {
        assert!(series.cells.windows(2).all(|pair| pair[0].high < pair[1].low), "cells overlap");
        let _ = (series.percentile_ppm(500_000), series.smallest(), series.largest());
    }
    let budget = Some(Nanos::from_us(50));
    let _ = (export::csv(&run), export::gnuplot(&run), export::rt_tests(&run), export::prometheus(&run));
    let _ = (export::ktap(&run, budget), export::lava(&run, budget), export::foreign_fleet_rows(&run).count());
    // Exports of the run must be importable.
    for text in [export::cyclictest(&run), export::rt_tests(&run), export::hdr(&run)].into_iter().flatten() {
        let back = import(text.as_bytes(), ImportOptions::default()).unwrap_or_else(|problem| panic!("{problem}: {text}"));
        assert_eq!(back.series.len(), run.series.len());
        for (theirs, ours) in back.series.iter().zip(&run.series) {
            // A format may state the number of values that are too large for its rows, instead of listing them.
            let told = theirs.counted().max(theirs.stated_count.unwrap_or(0));
            assert_eq!(told, ours.counted(), "{theirs:?} {ours:?}");
        }
    }
});
