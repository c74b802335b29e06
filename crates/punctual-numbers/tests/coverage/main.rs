//! Checks with synthetic runs of known laws that intervals of 95 % hold the truth in 95 % of runs, and that runs which
//! break the method are refused. `cargo test --release -p punctual-numbers --test coverage -- --ignored --nocapture`
//! prints the table, with 2000 runs of each family. In the environment, `RUNS=200` makes it quick and `ONLY=bimodal`
//! selects families by name. The ordinary tests do the same with few runs.

#![allow(clippy::print_stdout, reason = "a table for whoever asked for it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::cast_precision_loss, reason = "numbers of runs")]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "latencies in nanoseconds")]

mod causes;
mod cells;
#[path = "../header/mod.rs"]
mod header;
mod laws;
mod levels;
mod outcome;
mod rungs;

use outcome::Expected;

/// Whether the family is selected: its name contains the value of `ONLY`, or `ONLY` is not set.
fn asked(name: &str) -> bool {
    std::env::var("ONLY").map_or(true, |only| name.contains(&only))
}

/// Prints a table; fails if the outcome of any family is not as expected.
fn whole(table: fn(u64) -> Vec<&'static str>) {
    const RUNS: u64 = 2_000;
    let runs = std::env::var("RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(RUNS);
    let failed = table(runs);
    assert!(failed.is_empty(), "not covered, or not refused: {failed:?}");
}

#[test]
#[ignore = "minutes in release: 2000 runs of each family"]
fn the_table_of_levels() {
    whole(levels::table);
}

#[test]
#[ignore = "a minute in release: 2000 runs of each family"]
fn the_table_of_cells() {
    whole(cells::table);
}

#[test]
#[ignore = "minutes in release: 2000 runs of each pair"]
fn the_table_of_causes() {
    whole(causes::table);
}

#[test]
#[ignore = "minutes in release: 2000 runs of each family"]
fn the_table_of_percentiles() {
    whole(rungs::table);
}

/// Number of runs of each family in the ordinary tests.
const FEW: u64 = 6;

fn some(name: &str, expected: Expected) -> bool {
    expected == Expected::Refused || name == "exponential"
}

#[test]
fn intervals_hold_and_what_breaks_the_method_is_refused() {
    outcome::assert_six(levels::families(FEW, some));
}

#[test]
fn levels_of_cells_hold_and_what_breaks_the_method_is_refused() {
    outcome::assert_six(cells::families(FEW, some));
}

#[test]
fn levels_by_cause_hold_and_what_breaks_the_method_is_refused() {
    outcome::assert_six(causes::families(FEW, |_| true));
}

/// Of 12 intervals or bounds at 95 %, four or more miss the true value with a probability of 1 in 450.
#[test]
fn percentiles_and_bounds_hold_for_clustered_latencies() {
    for (number, family) in rungs::FAMILIES.iter().enumerate().filter(|(_, family)| family.name == "decaying, fives") {
        let outcome = rungs::rungs(number, family, 12);
        assert!(outcome.told.iter().all(|held| held.times >= 9), "{:?}", outcome.told.map(|held| held.times));
        let bounds: u64 = outcome.misses.iter().map(|held| held.times).sum();
        assert!(bounds >= 9, "{bounds} of 12");
    }
}
