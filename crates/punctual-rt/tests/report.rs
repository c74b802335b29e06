//! Compares the text of the report with a reviewed text. `BLESS=1 cargo test -p punctual-rt --test report` writes it
//! anew.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use punctual_rt::stats::{IdleState, Report, Snapshot};
use punctual_rt::{Class, MonoTime, Nanos, Stats, StatsConfig, Wake};
use std::path::Path;

const PERIOD: Nanos = Nanos::from_ms(1);

fn check(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("BLESS").is_some() {
        return std::fs::write(path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(expected, actual, "{} is stale: BLESS=1 writes it anew", path.display());
}

/// Statistics of a sleeping loop on a CPU with a deep idle state. In two stalls, the loop missed 250 and 3 releases.
fn snapshot_of(cycles: u64, deep_every: u64) -> Snapshot {
    let config = StatsConfig {
        budget: Some(Nanos::from_us(30)),
        deadline: Some(Nanos::from_us(100)),
        cpu: Some(2),
        ..StatsConfig::new("axis", PERIOD)
    };
    let (mut writer, reader) = Stats::create(&config).unwrap();
    let (mut index, mut state) = (0, 1u64);
    for n in 0..cycles {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let usual = if (state >> 32) % deep_every == 0 { 35_000 } else { 5_000 } + (state >> 53);
        let (late, missed) = match n {
            1_500 => (250_000_000, 250),
            1_800 => (3_200_000, 3),
            _ => (usual, 0),
        };
        let release = MonoTime::from_ns(1_000_000_000) + PERIOD * index;
        let woke = release + Nanos::from_ns(late);
        let polled = Nanos::from_ns(if n % 2 == 0 { state >> 50 } else { 0 });
        let (overshoot, class) = (Some(Nanos::from_ns(late)), Class::LateFromSleep);
        writer.woke(&Wake { index, release, woke, interval: PERIOD, missed, class, overshoot, polled });
        writer.finished(woke + Nanos::from_us(20 + n % 10));
        index += 1 + missed;
    }
    let mut snapshot = reader.snapshot();
    // These values differ from run to run.
    (snapshot.pid, snapshot.started) = (4_711, MonoTime::from_ns(999_000_000));
    snapshot.suspended = Nanos::ZERO;
    snapshot
}

#[test]
fn of_a_loop_with_two_kinds_of_wake_up() {
    let mut snapshot = snapshot_of(5_000, 12);
    snapshot.suspended = Nanos::from_secs(3_600);
    let state = |number: u32, name: &str, exit_us: u64| IdleState {
        number,
        name: name.into(),
        exit_latency: Nanos::from_us(exit_us),
        enabled: true,
    };
    let states = [state(0, "POLL", 0), state(1, "C1", 2), state(2, "C6", 33)];
    check("report.txt", &Report::new(&snapshot).with_idle_states(&states).to_string());
}

#[test]
fn of_a_loop_just_begun() {
    check("report_few.txt", &Report::new(&snapshot_of(3, 12)).with_idle_states(&[]).to_string());
    check("report_none.txt", &Report::new(&snapshot_of(0, 12)).to_string());
}

#[test]
fn of_a_copy_that_does_not_belong_together() {
    let mut snapshot = snapshot_of(200, 12);
    (snapshot.coherent, snapshot.periods) = (false, None);
    let text = Report::new(&snapshot).to_string();
    assert!(text.contains("may differ by a few cycles") && !text.contains("autocorrelation"), "{text}");
}
