//! What a run can claim, for programs.

use super::{Said, list, spoken};
use crate::render::explain::json::class;
use crate::render::words;
use punctual_hist::Nanos;
use punctual_numbers::claims::{Beyond, CauseClaims, PhaseClaims, Refusal, SeriesClaims, Sign};
use punctual_numbers::report::Report;
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct ClaimsOut {
    phase: u16,
    name: String,
    cpus: Vec<u32>,
    due: u64,
    time_ns: u64,
    largest_ns: Option<u64>,
    clustering: f64,
    extremal_index: Option<f64>,
    drift: Option<DriftOut>,
    misses: Option<MissesOut>,
    next: Vec<NextOut>,
    percentiles: Vec<PercentileOut>,
    beyond: Option<BeyondOut>,
    refused: Option<Said>,
    by_cause: Vec<CauseOut>,
    signs: Vec<Said>,
    by_cpu: Vec<ClaimsOut>,
}

#[derive(Serialize)]
struct CauseOut {
    class: &'static str,
    name: String,
    activations: u64,
    beyond: Option<BeyondOut>,
    refused: Option<Said>,
}

/// What is claimed of an import.
#[derive(Serialize)]
pub(super) struct SeriesClaimsOut {
    time_ns: Option<u64>,
    next: Vec<NextOut>,
    percentiles: Vec<PercentileOut>,
    beyond: Option<BeyondOut>,
    refused: Option<Said>,
}

#[derive(Serialize)]
struct DriftOut {
    tau: f64,
    first_half: u64,
    second_half: u64,
}

#[derive(Serialize)]
struct MissesOut {
    budget_ns: u64,
    missed: u64,
    probability_upper_95: f64,
    next_claim_one_in: u64,
    more_time_ns: Option<u64>,
}

#[derive(Serialize)]
struct NextOut {
    time_ns: u64,
    odds: f64,
}

#[derive(Serialize)]
struct PercentileOut {
    one_in: u64,
    value_ns: Option<u64>,
    low_95_ns: Option<u64>,
    high_95_ns: Option<u64>,
    more_time_ns: Option<u64>,
}

#[derive(Serialize)]
struct BeyondOut {
    threshold_ns: u64,
    exceedances: u64,
    blocks: u64,
    block_ns: u64,
    shape: f64,
    shape_low_95: f64,
    shape_high_95: f64,
    fit_odds: f64,
    levels: Vec<LevelOut>,
    too_far: Vec<TooFarOut>,
}

#[derive(Serialize)]
#[allow(clippy::struct_field_names, reason = "names end in their unit")]
struct LevelOut {
    once_in_ns: u64,
    value_ns: u64,
    low_95_ns: u64,
    high_95_ns: Option<u64>,
}

#[derive(Serialize)]
struct TooFarOut {
    once_in_ns: u64,
    run_wanted_ns: u64,
}

pub(super) fn claims(report: &Report) -> Vec<ClaimsOut> {
    report.claims.phases.iter().map(|phase| claim(phase, report)).collect()
}

fn claim(phase: &PhaseClaims, report: &Report) -> ClaimsOut {
    ClaimsOut {
        phase: phase.phase,
        name: report.phase_name(phase.phase),
        cpus: list(&phase.cpus),
        due: phase.due,
        time_ns: phase.time.as_ns(),
        largest_ns: phase.largest.map(Nanos::as_ns),
        clustering: phase.clustering,
        extremal_index: phase.extremal_index,
        drift: phase.drift.map(|drift| DriftOut {
            tau: drift.tau,
            first_half: drift.halves.0,
            second_half: drift.halves.1,
        }),
        misses: phase.misses.map(|misses| MissesOut {
            budget_ns: misses.budget.as_ns(),
            missed: misses.missed,
            probability_upper_95: misses.upper,
            next_claim_one_in: misses.wanted_one_in,
            more_time_ns: misses.more.map(Nanos::as_ns),
        }),
        next: next(&phase.next),
        percentiles: phase.percentiles.iter().map(percentile).collect(),
        beyond: phase.beyond.as_ref().ok().map(beyond),
        refused: phase.beyond.as_ref().err().map(refused),
        by_cause: phase.by_cause.iter().map(by_cause).collect(),
        signs: phase.signs.iter().map(sign).collect(),
        by_cpu: phase.by_cpu.iter().map(|cpu| claim(cpu, report)).collect(),
    }
}

fn by_cause(claims: &CauseClaims) -> CauseOut {
    CauseOut {
        class: class(claims.cause.class),
        name: claims.cause.name.clone(),
        activations: claims.activations,
        beyond: claims.beyond.as_ref().ok().map(beyond),
        refused: claims.beyond.as_ref().err().map(refused_of_cause),
    }
}

pub(super) fn of_series(claims: &SeriesClaims) -> SeriesClaimsOut {
    SeriesClaimsOut {
        time_ns: claims.time.map(Nanos::as_ns),
        next: next(&claims.next),
        percentiles: claims.percentiles.iter().map(percentile).collect(),
        beyond: claims.beyond.as_ref().ok().map(beyond),
        refused: claims.beyond.as_ref().err().map(refused_of_import),
    }
}

fn next(odds: &[(Nanos, f64)]) -> Vec<NextOut> {
    odds.iter().map(|(time, odds)| NextOut { time_ns: time.as_ns(), odds: *odds }).collect()
}

fn percentile(percentile: &punctual_numbers::claims::Percentile) -> PercentileOut {
    PercentileOut {
        one_in: percentile.one_in,
        value_ns: percentile.value.map(Nanos::as_ns),
        low_95_ns: percentile.low.map(Nanos::as_ns),
        high_95_ns: percentile.high.map(Nanos::as_ns),
        more_time_ns: percentile.more.map(Nanos::as_ns),
    }
}

fn beyond(beyond: &Beyond) -> BeyondOut {
    let level = |(time, level): &(Nanos, punctual_numbers::claims::Level)| LevelOut {
        once_in_ns: time.as_ns(),
        value_ns: level.value.as_ns(),
        low_95_ns: level.low.as_ns(),
        high_95_ns: level.high.map(Nanos::as_ns),
    };
    let far = |(time, run): &(Nanos, Nanos)| TooFarOut { once_in_ns: time.as_ns(), run_wanted_ns: run.as_ns() };
    BeyondOut {
        threshold_ns: beyond.threshold.as_ns(),
        exceedances: beyond.exceedances,
        blocks: beyond.blocks,
        block_ns: beyond.block.as_ns(),
        shape: beyond.shape.value,
        shape_low_95: beyond.shape.low,
        shape_high_95: beyond.shape.high,
        fit_odds: beyond.fits,
        levels: beyond.levels.iter().map(level).collect(),
        too_far: beyond.too_far.iter().map(far).collect(),
    }
}

fn refused(refusal: &Refusal) -> Said {
    Said { code: code(refusal), message: spoken(&words::claims::refused(refusal)) }
}

fn refused_of_cause(refusal: &Refusal) -> Said {
    Said { code: code(refusal), message: spoken(&words::claims::refused_of_cause(refusal)) }
}

fn refused_of_import(refusal: &Refusal) -> Said {
    Said { code: code(refusal), message: spoken(&words::claims::refused_of_import(refusal)) }
}

/// Why cells of a file do not speak for all that was measured.
pub fn unfit(refusal: &Refusal) -> Said {
    Said { code: code(refusal), message: spoken(&words::claims::reason(refusal)) }
}

fn code(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::NoTimes => "no-times",
        Refusal::Doubted => "doubted",
        Refusal::Censored => "censored",
        Refusal::Missing(_) => "missing",
        Refusal::TooFew { .. } => "too-few",
        Refusal::Dependent { .. } => "dependent",
        Refusal::Drifts(_) => "drifts",
        Refusal::Regular(_) => "regular",
        Refusal::EveryNth(_) => "every-nth",
        Refusal::SeveralCauses(_) => "several-causes",
        Refusal::FixedCause(..) => "fixed-cause",
        Refusal::Sampled { .. } => "sampled",
        Refusal::Coarse(..) => "coarse",
        Refusal::NoFit(_) => "no-fit",
        Refusal::Shape(..) => "shape",
        Refusal::Unstable(_) => "unstable",
        Refusal::Apart(..) => "apart",
    }
}

fn sign(sign: &Sign) -> Said {
    let code = match sign {
        Sign::Rhythm { .. } => "rhythm",
        Sign::EveryNth { .. } => "every-nth",
        Sign::Modes { .. } => "modes",
    };
    Said { code, message: spoken(&words::claims::sign(sign)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_numbers::explain::Rhythm;
    use std::collections::BTreeSet;

    fn codes() -> BTreeSet<&'static str> {
        let rhythm = Rhythm { period: Nanos::from_secs(1), chance: 1e-9, fitting: (30, 32) };
        let signs = [
            Sign::Rhythm { cpu: 0, rhythm, activations: None, ticks: None },
            Sign::EveryNth { cpu: 0, activations: 4 },
            Sign::Modes { cpu: 0, hills: Vec::new() },
        ];
        let refusals = words::claims::examples();
        refusals.iter().map(code).chain(signs.iter().map(|one| sign(one).code)).collect()
    }

    #[test]
    fn the_codes_are_those_of_the_book() {
        let book = include_str!("../../../../../book/src/claims.md");
        let first_cells = book.lines().filter_map(|line| line.strip_prefix("| `")?.split('|').next());
        let told: BTreeSet<&str> = first_cells.flat_map(|cell| cell.split('`').step_by(2)).collect();
        assert_eq!(told, codes());
    }
}
