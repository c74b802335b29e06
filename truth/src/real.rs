//! Cuts recordings of a real machine into pieces. Two pieces of one run are an equal pair, whatever the moods of the
//! machine. The limits of percentiles of a piece are compared with the whole run.

use super::Found;
use super::claimed::{Claimed, ONE_IN, Truth, product};
use super::options::Options;
use super::pairs::{Decided, Difference};
use anyhow::{Context, Result, bail, ensure};
use punctual_hist::{Counts, Nanos};
use punctual_numbers::recording::{RecTime, Recording, RecordingReader, Stretch};

/// Lengths of pieces in seconds.
const PIECES: [u64; 3] = [60, 120, 300];

/// The results for one file. A length of pieces is left out if the file has fewer than four of them.
pub fn judged(path: &str, options: &Options) -> Result<Vec<Found>> {
    let bytes = std::fs::read(path).with_context(|| format!("read {path}"))?;
    let whole = read(&bytes, RecordingReader::new()).with_context(|| format!("understand {path}"))?;
    let length = whole.covered.as_ns() / 1_000_000_000;
    let lengths: Vec<u64> = PIECES.into_iter().filter(|piece| piece * 4 <= length).collect();
    ensure!(!lengths.is_empty(), "{path} covers {length} s, of which four pieces of {} s cannot be cut", PIECES[0]);
    lengths.into_iter().map(|piece| of_pieces(path, &bytes, &whole, piece, options)).collect()
}

fn read(bytes: &[u8], mut reader: RecordingReader) -> Result<Recording> {
    let read = reader.feed(bytes).and_then(|()| reader.finish());
    match read {
        Ok(recording) => Ok(recording),
        Err(error) => bail!("{error:?}"),
    }
}

fn of_pieces(path: &str, bytes: &[u8], whole: &Recording, seconds: u64, options: &Options) -> Result<Found> {
    let started = std::time::Instant::now();
    let pieces = whole.covered.as_ns() / 1_000_000_000 / seconds;
    let cut = |piece: u64| {
        let [from, to] = [piece, piece + 1].map(|n| RecTime::from_secs(n * seconds));
        read(bytes, RecordingReader::of_stretch(Stretch::new(from, to)))
    };
    let pieces = (0..pieces).map(cut).collect::<Result<Vec<Recording>>>()?;
    let claims = options.claims().then(|| {
        let truth = truth(whole);
        let mut claimed = Claimed::default();
        for claims in pieces.iter().filter_map(product) {
            claimed.add(&claims, &truth);
        }
        claimed
    });
    let pairs: Vec<Decided> =
        options.pairs_of(Difference::None).then(|| equal(&pieces, options.pairs)).into_iter().collect();
    let broken = if pairs.iter().any(Decided::is_broken) { vec!["equal pairs"] } else { Vec::new() };
    let family = format!("{path}, {seconds} s");
    let length = u32::try_from(seconds).unwrap_or(u32::MAX);
    Ok(Found {
        open: Vec::new(),
        family,
        seconds: (length, length),
        claims,
        pairs,
        rounds: None,
        broken,
        took_seconds: started.elapsed().as_secs_f64(),
    })
}

/// The decisions about pairs of pieces, nearest pairs first.
fn equal(pieces: &[Recording], most: u64) -> Decided {
    let mut decided = Decided::new(Difference::None);
    let pairs = (1..pieces.len()).flat_map(|apart| pieces.iter().zip(pieces.iter().skip(apart)));
    for (number, (first, second)) in (0..most).zip(pairs) {
        decided.add(first, second, number);
    }
    decided
}

/// The percentiles and misses of the whole run, over all its CPUs together, which are taken for the truth.
fn truth(whole: &Recording) -> Truth {
    let mut counts = Counts::new();
    for part in whole.cpus.values().flat_map(|cpu| [&cpu.ran, &cpu.skipped]) {
        counts.merge(part);
    }
    let due = counts.count();
    let at = |one_in: u64| counts.value_at_rank(due - due / one_in).unwrap_or_default().as_ns() as f64;
    let missed: u64 = whole.cpus.values().map(|cpu| cpu.over_budget + cpu.skipped.count()).sum();
    Truth {
        percentiles: ONE_IN.map(at),
        budget: whole.header.scenario.budget.unwrap_or(Nanos::MAX),
        miss: missed as f64 / due.max(1) as f64,
        once_an_hour: f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family;
    use crate::run::Machine;

    #[test]
    fn pieces_of_a_run_are_equal_and_hold_the_percentiles_of_the_whole() {
        let families = family::all();
        let family = families.iter().find(|family| family.name == "lognormal").unwrap();
        let bytes = Machine::new(family, 1, 240).file(Nanos::from_us(50));
        let whole = read(&bytes, RecordingReader::new()).unwrap();
        let options = Options::of(&[]).unwrap();
        let found = of_pieces("run", &bytes, &whole, 60, &options).unwrap();
        let claims = found.claims.unwrap();
        assert_eq!((claims.percentiles[0].runs, claims.percentiles[0].right), (4, 4));
        assert_eq!((found.pairs[0].product.runs, found.pairs[0].product.claimed), (6, 0), "each with each");
        assert!(found.broken.is_empty());
    }

    #[test]
    fn what_is_no_recording_or_too_short_is_refused_by_name() {
        let path = std::env::temp_dir().join(format!("truth-real-{}", std::process::id()));
        let options = Options::of(&[]).unwrap();
        let refused = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            judged(&path.to_string_lossy(), &options).unwrap_err().to_string()
        };
        assert!(refused(b"no recording").starts_with("understand "));
        let families = family::all();
        let short = Machine::new(&families[0], 1, 10).file(Nanos::from_us(50));
        assert!(refused(&short).contains("covers 10 s"));
        std::fs::remove_file(&path).unwrap();
        assert!(judged("/nonexistent/run", &options).unwrap_err().to_string().starts_with("read "));
    }
}
