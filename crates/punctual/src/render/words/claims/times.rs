//! Lengths of time in the words of sentences.

use crate::render::lang::tr;
use crate::render::units;
use punctual_hist::Nanos;

/// The length of time as a noun where it has one (`hour`, `day`, `month`, `year`), otherwise as a number with its unit.
pub(super) fn span(time: Nanos) -> String {
    match time.as_ns() / 1_000_000_000 {
        3_600 => tr!("hour").to_owned(),
        86_400 => tr!("day").to_owned(),
        2_592_000 => tr!("month").to_owned(),
        31_536_000 => tr!("year").to_owned(),
        _ => units::duration(time),
    }
}

pub(super) fn article(noun: &str) -> String {
    if noun == tr!("hour") { tr!("an hour").to_owned() } else { tr!("a {noun}", noun) }
}

/// A length of time, rounded up to whole seconds, minutes or hours.
pub(super) fn longer(time: Nanos) -> String {
    let seconds = time.as_ns().div_ceil(1_000_000_000);
    let step = match seconds {
        0..60 => 1,
        60..3_600 => 60,
        _ => 3_600,
    };
    units::duration(Nanos::from_secs(seconds.div_ceil(step).saturating_mul(step)))
}
