//! Tests on the real clock that the cause of lost time is found in the traces that the kernel left.
//!
//! With a tolerance of zero, each polling exceeds its release by at least the last clock reading, so each asks for the
//! cause.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use punctual_rt::{Class, Cyclic, Grid, Nanos, Pacer, Phase, Sleeper, TaskConfig, Wait, now};
use std::process::Command;

const PERIOD: Nanos = Nanos::from_us(100);
/// Environment variable of a program that was started again with a C library without marks.
const WITHOUT_MARKS: &str = "PUNCTUAL_RT_TEST_WITHOUT_MARKS";

fn pacer() -> Pacer {
    let grid = Grid::new(now() + PERIOD, PERIOD);
    Pacer::new(grid, &Wait::Spin, Sleeper::Absolute).unwrap().with_tolerance(Nanos::ZERO)
}

/// The classes of activations that polled too long. An activation may be exact to the nanosecond, or its thread may be
/// kept from running until the release is past; these are left out.
fn hits(mut wait: impl FnMut() -> Class) -> Vec<Class> {
    // Beside other threads on its CPU, a thread is usually late, and polls too long at only a few releases.
    let all = (0..50_000).map(|_| wait());
    let hits = all.filter(|class| !matches!(class, Class::OnTime | Class::PastOnArrival)).take(400);
    let hits: Vec<_> = hits.collect();
    assert!(hits.len() >= 100, "{}", sum(&hits));
    hits
}

/// Number of activations of each class, for the message of a failed test.
fn sum(classes: &[Class]) -> String {
    let kinds = [Class::Preempted, Class::Interrupted, Class::HitWhilePolling];
    format!("{:?} of {}", kinds.map(|kind| (kind, count(classes, kind))), classes.len())
}

fn count(classes: &[Class], wanted: Class) -> usize {
    classes.iter().filter(|class| **class == wanted).count()
}

#[test]
fn when_the_mark_stays_it_was_no_other_thread() {
    let mut pacer = pacer();
    let seen = hits(|| pacer.wait().class);
    if pacer.means().has_marks {
        // Sometimes another thread really runs.
        assert!(count(&seen, Class::Interrupted) * 2 > seen.len(), "{}", sum(&seen));
    } else {
        assert_eq!(count(&seen, Class::HitWhilePolling), seen.len(), "{}", sum(&seen));
    }
}

#[test]
fn within_the_tolerance_nobody_is_asked() {
    let mut pacer = pacer().with_tolerance(Nanos::from_secs(100));
    assert!((0..400).all(|_| matches!(pacer.wait().class, Class::OnTime | Class::PastOnArrival)));
}

#[test]
fn without_marks_only_the_count_of_switches_tells() {
    if std::env::var_os(WITHOUT_MARKS).is_none() {
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", "without_marks_only_the_count_of_switches_tells", "--nocapture"]);
        let output = again.env("GLIBC_TUNABLES", "glibc.pthread.rseq=0").env(WITHOUT_MARKS, "1").output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{output:?}");
        return;
    }
    let mut silent = pacer();
    assert!(!silent.means().has_marks);
    let seen = hits(|| silent.wait().class);
    assert_eq!(count(&seen, Class::HitWhilePolling), seen.len(), "{}", sum(&seen));

    let mut asking = pacer().confirming_interference();
    let seen = hits(|| asking.wait().class);
    assert!(count(&seen, Class::Interrupted) * 2 > seen.len(), "{}", sum(&seen));

    // A task must pass `confirming_interference` on to its pacer.
    let config = TaskConfig::periodic(PERIOD).phase(Phase::Offset(Nanos::ZERO)).wait(Wait::Spin).tolerance(Nanos::ZERO);
    let of_task = |config: &TaskConfig| {
        let mut cyclic = Cyclic::new(config).unwrap();
        hits(|| cyclic.wait().unwrap().class)
    };
    assert_eq!(count(&of_task(&config), Class::Interrupted), 0);
    let asked = of_task(&config.confirming_interference());
    assert!(count(&asked, Class::Interrupted) * 2 > asked.len(), "{}", sum(&asked));
}
