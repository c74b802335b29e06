//! Merges three recordings of any frames. In a merged recording each run must have the same counts as before.
//!
//! The first three bytes state when each recording began, in minutes. Then come frames for the recordings: [u8
//! recording][u8 kind][u8 length][payload]. They follow a valid header and get the right checksum, which a fuzzer does
//! not find by chance.

#![no_main]

mod framing;

use framing::{begun, frames_of, header, put};
use libfuzzer_sys::fuzz_target;
use punctual_numbers::recording::{Frame, Merging, Recording, encode, encode_preamble, read};
use punctual_numbers::report::Report;
use punctual_hist::Nanos;

const FILES: usize = 3;

fuzz_target!(|bytes: &[u8]| {
    let Some((begun, mut rest)) = bytes.split_first_chunk::<FILES>() else { return };
    let mut files: Vec<Vec<u8>> = begun.iter().map(|begun| file(*begun)).collect();
    while let Some(([number, kind, length], tail)) = rest.split_first_chunk::<3>() {
        let (payload, after) = tail.split_at(usize::from(*length).min(tail.len()));
        put(&mut files[usize::from(*number) % FILES], *kind, payload);
        rest = after;
    }
    let recordings: Result<Vec<Recording>, _> = files.iter().map(|bytes| read(bytes)).collect();
    let Ok(recordings) = recordings else { return };
    let Ok(merging) = Merging::of(&recordings) else { return };
    let (mut merged, mut wanted) = (Vec::new(), Vec::new());
    encode_preamble(&mut merged);
    for part in &merging.parts {
        let of = &recordings[part.recording].runs[part.run];
        wanted.push((of.covered, of.ran, of.skipped));
        let mut run = 0;
        for frame in frames_of(&files[part.recording]) {
            run += usize::from(matches!(frame, Frame::FurtherRun(_)));
            if run == part.run {
                let frame = part.place.map_or(frame.clone(), |place| place.put(frame));
                encode(&frame, &mut merged).expect("what was read can be written elsewhere");
            }
        }
    }
    let whole = read(&merged).expect("what was merged can be read");
    let runs: Vec<(Nanos, u64, u64)> = whole.runs.iter().map(|run| (run.covered, run.ran, run.skipped)).collect();
    assert_eq!(runs, wanted);
    let _must_not_panic = Report::of(&whole);
});

/// The first bytes of a recording that started `minutes` after the golden recording.
fn file(minutes: u8) -> Vec<u8> {
    let mut header = header().clone();
    if let Frame::Header(header) = &mut header {
        header.started_unix_ns += u64::from(minutes) * 60_000_000_000;
    }
    begun(&header)
}
