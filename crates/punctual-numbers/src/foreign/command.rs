//! Reads options of cyclictest from its command line, because its results state period, length and number of rows
//! nowhere else.
//!
//! Only options that define period, length and number of rows are read. The others are skipped with their values, as
//! `getopt` skips them.

use super::number::{self, Unit};
use punctual_hist::Nanos;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CyclictestOptions {
    /// Time between releases of the first thread.
    pub interval: Option<Nanos>,
    /// The period of each thread is longer than that of the thread before by this time.
    pub distance: Nanos,
    pub duration: Option<Nanos>,
    /// Number of activations of each thread.
    pub loops: Option<u64>,
    /// Rows of the histogram, in the unit of the result.
    pub rows: Option<u64>,
}

/// One-letter options that take a value, which may be in the next word.
const WITH_VALUE: &str = "bcdDFhHilopTx";
/// Long and short names of the options that are read.
const LONG: [(&str, char); 7] = [
    ("interval", 'i'),
    ("distance", 'd'),
    ("duration", 'D'),
    ("loops", 'l'),
    ("histogram", 'h'),
    ("histofall", 'H'),
    ("smp", 'S'),
];
/// Defaults of cyclictest for options that are missing.
const INTERVAL: Nanos = Nanos::from_us(1_000);
const DISTANCE: Nanos = Nanos::from_us(500);

/// Reads the options of a cyclictest command line. For any other program all options are unset.
pub(super) fn asked(command: &str) -> CyclictestOptions {
    let mut words = command.split_whitespace().peekable();
    let program = words.next().unwrap_or_default();
    if program.rsplit('/').next() != Some("cyclictest") {
        return CyclictestOptions::default();
    }
    let mut asked = CyclictestOptions { interval: Some(INTERVAL), distance: DISTANCE, ..CyclictestOptions::default() };
    while let Some(word) = words.next() {
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            if let Some((_, letter)) = LONG.iter().find(|(known, _)| *known == name) {
                let takes = *letter != 'S';
                let value = value.or_else(|| takes.then(|| words.next()).flatten());
                asked.take(*letter, value.unwrap_or_default());
            }
            continue;
        }
        let Some(short) = word.strip_prefix('-') else { continue };
        for (at, letter) in short.char_indices() {
            let rest = short.get(at + letter.len_utf8()..).unwrap_or_default();
            if WITH_VALUE.contains(letter) {
                let value = if rest.is_empty() { words.next().unwrap_or_default() } else { rest };
                asked.take(letter, value);
                break;
            }
            asked.take(letter, "");
            // The value of -a, -t or -A follows in the same word, so further letters of the word are no options.
            if matches!(letter, 'a' | 't' | 'A') {
                break;
            }
        }
    }
    asked
}

impl CyclictestOptions {
    fn take(&mut self, letter: char, value: &str) {
        let us = number::length(value, Unit::Us);
        match letter {
            'i' => self.interval = us,
            'd' => self.distance = us.unwrap_or(self.distance),
            'D' => self.duration = length(value),
            'l' => self.loops = number::count(value).filter(|loops| *loops > 0),
            'h' | 'H' => (self.rows, self.distance) = (number::count(value), Nanos::ZERO),
            // `-S` starts one thread for each CPU, all with the same period.
            'S' => self.distance = Nanos::ZERO,
            _ => {}
        }
    }

    /// Time between releases of the thread with this number.
    pub fn period(&self, thread: u64) -> Option<Nanos> {
        self.interval.map(|interval| interval.plus(self.distance.times(thread)))
    }
}

/// Reads a length such as `3d`, `2h`, `10m` or `30`: days, hours, minutes or seconds.
fn length(text: &str) -> Option<Nanos> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = number::count(text.strip_suffix(unit)?)?;
    let seconds = match unit {
        "" | "s" | "S" => 1,
        "m" | "M" => 60,
        "h" | "H" => 3_600,
        "d" | "D" => 86_400,
        _ => return None,
    };
    number.checked_mul(seconds).map(Nanos::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_line_asks_for_is_found() {
        let line = asked("./cyclictest -m -S -p99 -i1000 -h800 -D3d -q");
        assert_eq!(line.period(3), Some(Nanos::from_ms(1)));
        assert_eq!((line.duration, line.rows), (Some(Nanos::from_secs(259_200)), Some(800)));
        let line = asked("/usr/bin/cyclictest -qmt2 --interval 250 -l 5000 --duration=2m");
        assert_eq!((line.period(0), line.period(1)), (Some(Nanos::from_us(250)), Some(Nanos::from_us(750))));
        assert_eq!((line.loops, line.duration), (Some(5_000), Some(Nanos::from_secs(120))));
        assert_eq!(asked("cyclictest -p 80").period(0), Some(Nanos::from_ms(1)), "the default");
        assert_eq!(asked("oslat -i 1000"), CyclictestOptions::default());
        assert_eq!(asked("cyclictest -D 99999999999999999d").duration, None);
    }
}
