//! Sentences that say why levels beyond the largest latency are refused, and what would help.

use super::times::longer;
use crate::render::lang::tr;
use crate::render::units;
use crate::render::words::causes::{cause, rhythm};
use punctual_numbers::claims::Refusal;

pub(super) const CAUSES_SHOWN: usize = 3;

/// Why a recording gets no levels beyond its largest latency, and what would help.
pub fn refused(refusal: &Refusal) -> String {
    let (why, help) = reasons(refusal);
    tr!("The latency that is exceeded once in a day or a year is not estimated: {why}. {help}", why, help)
}

/// Why an import gets no levels, and what would help. An import has no causes to look for.
pub fn refused_of_import(refusal: &Refusal) -> String {
    let (why, help) = reasons_of_import(refusal);
    match refusal {
        Refusal::Doubted => tr!("Nothing is claimed: {why}. {help}", why, help),
        Refusal::Censored => {
            tr!(
                "Neither percentiles nor the latency that is exceeded once in a day or a year are claimed: {why}. \
                {help}",
                why,
                help
            )
        }
        Refusal::NoTimes
        | Refusal::Missing { .. }
        | Refusal::TooFew { .. }
        | Refusal::Dependent { .. }
        | Refusal::Drifts(_)
        | Refusal::Regular(_)
        | Refusal::EveryNth { .. }
        | Refusal::SeveralCauses { .. }
        | Refusal::FixedCause { .. }
        | Refusal::Sampled { .. }
        | Refusal::Coarse { .. }
        | Refusal::NoFit { .. }
        | Refusal::Shape { .. }
        | Refusal::Unstable { .. }
        | Refusal::Apart { .. } => {
            tr!("The latency that is exceeded once in a day or a year is not estimated: {why}. {help}", why, help)
        }
    }
}

/// Why the histogram of a file does not represent all measured values, and what would help. For texts that are not
/// about claims.
pub fn reason(refusal: &Refusal) -> String {
    let (why, help) = reasons_of_import(refusal);
    format!("{why}. {help}")
}

pub(super) fn reasons_of_cause(refusal: &Refusal) -> (String, String) {
    let (why, help) = reasons(refusal);
    if let Refusal::TooFew { blocks, wanted, .. } = refusal {
        let blocks = units::counted(*blocks, "block");
        return (
            tr!(
                "this cause shows in {blocks} of time, but {wanted} are needed",
                blocks,
                wanted = units::count(*wanted)
            ),
            help,
        );
    }
    (why, help)
}

fn reasons_of_import(refusal: &Refusal) -> (String, String) {
    let (why, help) = reasons(refusal);
    match refusal {
        Refusal::NoTimes => (
            tr!("it is not known how long the run lasted").to_owned(),
            tr!("Import a file that has the length of the run, or its period.").to_owned(),
        ),
        Refusal::TooFew { blocks, wanted, .. } => (
            tr!(
                "the file contains {values}, but {wanted} are needed",
                values = units::counted(*blocks, "value"),
                wanted = units::count(*wanted)
            ),
            help,
        ),
        Refusal::NoFit { .. } | Refusal::Apart { .. } => (
            why,
            tr!("The largest values may have another cause: punctual check records causes, a histogram does not.")
                .to_owned(),
        ),
        Refusal::Doubted
        | Refusal::Censored
        | Refusal::Missing { .. }
        | Refusal::Dependent { .. }
        | Refusal::Drifts(_)
        | Refusal::Regular(_)
        | Refusal::EveryNth { .. }
        | Refusal::SeveralCauses { .. }
        | Refusal::FixedCause { .. }
        | Refusal::Sampled { .. }
        | Refusal::Coarse { .. }
        | Refusal::Shape { .. }
        | Refusal::Unstable { .. } => (why, help),
    }
}

#[allow(clippy::too_many_lines, reason = "a table")]
fn reasons(refusal: &Refusal) -> (String, String) {
    let longer_run = tr!("A longer run may be sufficient.").to_owned();
    match refusal {
        Refusal::NoTimes => (
            tr!("it is not known when each value was measured").to_owned(),
            tr!("A recording of punctual contains this; a histogram alone does not.").to_owned(),
        ),
        Refusal::Doubted => (
            tr!("the numbers of this file contradict each other, so that no share of its values can be relied upon")
                .to_owned(),
            tr!("The notes say which; measure again.").to_owned(),
        ),
        Refusal::Censored => (
            tr!("this file only contains values above a threshold").to_owned(),
            tr!("Measure with a program that counts all values.").to_owned(),
        ),
        Refusal::Missing { values: count } => (
            tr!(
                "{count} in no cell of the histogram although the release came due, and may be larger than all others",
                count = are(*count, "value")
            ),
            tr!("Measure with a program that counts skipped releases with their latency, as punctual does.").to_owned(),
        ),
        Refusal::TooFew { blocks, wanted, more } => (
            tr!(
                "{blocks} of time were measured, but {wanted} are needed",
                blocks = units::counted(*blocks, "block"),
                wanted = units::count(*wanted)
            ),
            tr!("Measure {more} more.", more = longer(*more)),
        ),
        Refusal::Dependent { correlation, block } => (
            tr!(
                "the largest latencies of neighbouring parts of the run ({block} each) depend on each other \
                (correlation {correlation})",
                block = units::duration(*block),
                correlation = format!("{:.2}", correlation)
            ),
            tr!("Find the load that comes and goes, or measure many times longer.").to_owned(),
        ),
        Refusal::Drifts(_) => (
            tr!("latencies drift over the run").to_owned(),
            tr!("Find what changes: heat, a job, a load that grows.").to_owned(),
        ),
        Refusal::Regular(seen) => (
            tr!("late activations come {seen}, which is a schedule and not chance", seen = rhythm(seen)),
            tr!("Find the timer or job that causes them, or use its largest observed effect as the limit.").to_owned(),
        ),
        Refusal::EveryNth { activations: n } => (
            tr!("late activations fall on each {n}th activation, which is a schedule and not chance", n),
            tr!("Change the period or its phase, or move the work that runs at these times.").to_owned(),
        ),
        Refusal::SeveralCauses { causes } => {
            let named = causes
                .iter()
                .take(CAUSES_SHOWN)
                .map(|of| format!("{} ({})", cause(&of.cause), units::portion(of.share)));
            let named: Vec<String> = named.collect();
            (
                tr!(
                    "several causes make activations late, each with a tail of its own: {named}",
                    named = named.join(", ")
                ),
                tr!("Remove the first and measure again.").to_owned(),
            )
        }
        Refusal::FixedCause { cause: c, size } => (
            tr!(
                "the late activations have one cause, of about {size} each time: {c}",
                size = units::latency(*size),
                c = cause(c)
            ),
            tr!("Its size is known without an estimate; remove the cause to see the tail.").to_owned(),
        ),
        Refusal::Sampled { known, late } => (
            tr!(
                "of {late_activations}, the cause of {known} is known, but the causes of nearly all are needed",
                late_activations = units::counted(*late, "late activation"),
                known = units::count(*known)
            ),
            tr!("Measure with more --windows or a higher --explain-threshold, so that the records of each late \
                activation are kept.")
            .to_owned(),
        ),
        Refusal::Coarse { width, scale } => (
            tr!(
                "the values have steps of {width}, which is too coarse for a tail {scale}",
                width = units::latency(*width),
                scale = scale.map_or_else(
                    || tr!("that lies within one step").to_owned(),
                    |scale| tr!("with a scale of {scale}", scale = units::latency(scale))
                )
            ),
            tr!("Measure in nanoseconds.").to_owned(),
        ),
        Refusal::NoFit { .. } => (
            tr!("the tail follows no single law, for example because it contains rare events of another kind")
                .to_owned(),
            tr!("Find the causes of the largest latencies: punctual explain.").to_owned(),
        ),
        Refusal::Shape { shape: value, low, high } => (
            tr!(
                "the tail is too heavy, or its shape is too uncertain (shape {value}, {low} to {high})",
                value = format!("{:.2}", value),
                low = format!("{:.2}", low),
                high = format!("{:.2}", high)
            ),
            longer_run,
        ),
        Refusal::Unstable { part: by } => (
            tr!(
                "the estimate changes by {by} if another threshold is chosen above which the tail begins",
                by = units::portion(*by)
            ),
            longer_run,
        ),
        Refusal::Apart { count: how_many, from } => (
            tr!(
                "the {how_many} largest latencies, from {from} on, do not follow the same law as the rest",
                how_many = units::count(*how_many),
                from = units::latency(*from)
            ),
            tr!("They have another cause; find it: punctual explain.").to_owned(),
        ),
    }
}

fn are(count: u64, noun: &str) -> String {
    let values = units::counted(count, noun);
    if count == 1 { tr!("{values} is", values) } else { tr!("{values} are", values) }
}

/// One refusal of each kind. The match leads from each kind to the next one, so that a new kind does not compile until
/// it has an example.
#[cfg(test)]
pub fn examples() -> Vec<Refusal> {
    use punctual_hist::Nanos;
    use punctual_numbers::claims::{CauseShare, Drift};
    use punctual_numbers::explain::{Cause, Class, Rhythm};
    let (second, us) = (Nanos::from_secs(1), Nanos::from_us(1));
    let hog = Cause { class: Class::HigherPriority, name: "hog".into() };
    let nic = Cause { name: "nic".into(), ..hog.clone() };
    let after = |refusal: &Refusal| {
        Some(match refusal {
            Refusal::NoTimes => Refusal::Doubted,
            Refusal::Doubted => Refusal::Censored,
            Refusal::Censored => Refusal::Missing { values: 7 },
            Refusal::Missing { .. } => Refusal::TooFew { blocks: 100, wanted: 334, more: Nanos::from_secs(234) },
            Refusal::TooFew { .. } => Refusal::Dependent { correlation: 0.4, block: second },
            Refusal::Dependent { .. } => Refusal::Drifts(Drift { tau: 0.3, halves: (10, 90) }),
            Refusal::Drifts(_) => Refusal::Regular(Rhythm { period: second, chance: 1e-9, fitting: (30, 32) }),
            Refusal::Regular(_) => Refusal::EveryNth { activations: 4 },
            Refusal::EveryNth { .. } => {
                let share = |cause: &Cause, share| CauseShare { cause: cause.clone(), share };
                Refusal::SeveralCauses { causes: vec![share(&hog, 0.6), share(&nic, 0.4)] }
            }
            Refusal::SeveralCauses { .. } => Refusal::FixedCause { cause: hog.clone(), size: Nanos::from_us(100) },
            Refusal::FixedCause { .. } => Refusal::Sampled { known: 300, late: 9_000 },
            Refusal::Sampled { .. } => Refusal::Coarse { width: us, scale: Some(Nanos::from_us(3)) },
            Refusal::Coarse { .. } => Refusal::NoFit { odds: 1e-3 },
            Refusal::NoFit { .. } => Refusal::Shape { shape: 0.7, low: 0.5, high: 0.9 },
            Refusal::Shape { .. } => Refusal::Unstable { part: 0.4 },
            Refusal::Unstable { .. } => Refusal::Apart { count: 3, from: Nanos::from_us(150) },
            Refusal::Apart { .. } => return None,
        })
    };
    std::iter::successors(Some(Refusal::NoTimes), after).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_hist::Nanos;

    #[test]
    fn an_import_is_told_of_values_and_not_of_blocks_or_recordings_it_has_not() {
        for refusal in examples() {
            let told = refused_of_import(&refusal);
            assert!(!told.contains("block") && !told.contains("punctual explain"), "{told}");
        }
        let few = Refusal::TooFew { blocks: 50, wanted: 200, more: Nanos::from_ms(150) };
        let told = "The latency that is exceeded once in a day or a year is not estimated: the file contains 50 values, but \
            200 are needed. Measure 1 s more.";
        assert_eq!(refused_of_import(&few).replace('\u{202f}', " "), told);
        assert_eq!(
            reasons_of_cause(&few).0.replace('\u{202f}', " "),
            "this cause shows in 50 blocks of time, but 200 are needed"
        );
        assert!(refused_of_import(&Refusal::Doubted).starts_with("Nothing is claimed: "));
    }

    #[test]
    fn each_refusal_says_why_and_what_would_help() {
        let mut told: Vec<String> = examples().iter().map(refused).collect();
        for (refusal, text) in examples().iter().zip(&told) {
            let (why, help) = reasons(refusal);
            assert!(why.len() > 20 && !why.ends_with('.') && !why.contains("  "), "{text}");
            assert!(help.len() > 15 && help.ends_with('.') && help.starts_with(char::is_uppercase), "{text}");
        }
        let too_few = "The latency that is exceeded once in a day or a year is not estimated: 100 blocks of \
                       time were measured, but 334 are needed. Measure 4 min more.";
        assert_eq!(told[4].replace('\u{202f}', " "), too_few);
        told.sort();
        told.dedup();
        assert_eq!(told.len(), examples().len(), "no two say the same");
    }
}
