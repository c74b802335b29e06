//! Claims by cause, and refusals that causes lead to.

use super::*;
use crate::explain::CpuLate;
use crate::stats::float::whole;

fn cause(name: &str) -> Cause {
    Cause { class: Class::HigherPriority, name: name.into() }
}

/// A spike of latency `late` with this cause at the release number `index`.
fn spike_at(name: &str, late: Nanos, index: u64) -> Spike {
    let release = EPOCH.plus(PERIOD.times(index));
    Spike {
        cpu: 1,
        release,
        woke: release.plus(late),
        phase: 0,
        kept: Kept::Sampled,
        incomplete: None,
        parts: Vec::new(),
        causes: vec![Blame { cause: cause(name), time: late, excess: late, why: Vec::new() }],
    }
}

fn spike(name: &str, us: u64) -> Spike {
    spike_at(name, Nanos::from_us(us), 0)
}

#[test]
fn causes_close_the_gate() {
    let recording = recording(700, None, exponential(1));
    assert!(only(&recording, None).beyond.is_ok());
    let of = |spikes: Vec<Spike>| only(&recording, Some(&Explanation { spikes, ..Explanation::default() })).beyond;
    let mixed = (0..40).map(|i| spike(if i % 2 == 0 { "hog" } else { "nic" }, 50 + i)).collect();
    assert!(matches!(of(mixed), Err(Refusal::SeveralCauses { causes }) if causes.len() == 2));
    let fixed = (0..40).map(|i| spike("hog", 100 + i % 3)).collect();
    assert!(matches!(of(fixed), Err(Refusal::FixedCause { cause, .. }) if cause.name == "hog".into()));
    let one = (0..40).map(|i| spike("hog", 20 + 3 * i)).collect();
    assert!(of(one).is_ok(), "one cause of every size");
    assert!(of((0..5).map(|_| spike("hog", 100)).collect()).is_ok(), "five spikes decide nothing");
}

/// Four causes in 700 s: 400 spikes with an exponential tail of 10 us from 30 us on, 300 of one size, 40 of a third
/// cause, and 20 of a fourth, which is left out because its share is too small. `late` is the number of all late
/// activations.
fn several(late: u64) -> Vec<CauseClaims> {
    several_in(&recording(700, None, exponential(1)), late)
}

fn several_in(recording: &Recording, late: u64) -> Vec<CauseClaims> {
    let mut dice = uniform(12);
    let mut at = || {
        let part = dice.next().unwrap_or(0.5);
        whole(part * 70_000.0)
    };
    let mut tail = uniform(13);
    let mut drawn = || Nanos::from_ns(whole(30_000.0 - 10_000.0 * tail.next().unwrap_or(0.5).ln()));
    let mut spikes: Vec<Spike> = (0..400).map(|_| spike_at("nic", drawn(), at())).collect();
    spikes.extend((0..300).map(|i| spike_at("hog", Nanos::from_us(100 + i % 3), at())));
    spikes.extend((0..40).map(|_| spike_at("disk", drawn(), at())));
    spikes.extend((0..20).map(|_| spike_at("rare", drawn(), at())));
    let complete = spikes.len() as u64;
    let late = vec![CpuLate { cpu: 1, count: LateCount { late, complete, ..LateCount::default() } }];
    let explanation = Explanation { late, spikes, ..Explanation::default() };
    let claims = Claims::of(recording, Some(&explanation)).phases.swap_remove(0);
    assert!(matches!(claims.beyond, Err(Refusal::SeveralCauses { .. })), "{:?}", claims.beyond);
    claims.by_cause
}

#[test]
fn each_cause_has_a_tail_of_its_own_or_a_reason_why_not() {
    let causes = several(760);
    let names: Vec<_> = causes.iter().map(|claims| (claims.cause.name.clone(), claims.activations)).collect();
    assert_eq!(names, [("nic".into(), 400), ("hog".into(), 300), ("disk".into(), 40)]);
    let nic = causes[0].beyond.as_ref().unwrap();
    // 400 spikes in 700 s are 2057 an hour, so the level of an hour is 30 us + 10 us ln 2057.
    let level = nic.levels[0];
    let hour = level.once_in;
    assert_eq!(hour, Nanos::from_secs(3_600));
    assert!(level.low < Nanos::from_ns(106_290) && Nanos::from_ns(106_290) < level.high.unwrap(), "{level:?}");
    assert!(matches!(&causes[1].beyond, Err(Refusal::FixedCause { cause, .. }) if cause.name == "hog".into()));
    let Err(Refusal::TooFew { blocks, wanted: 76, more }) = causes[2].beyond else { panic!("{:?}", causes[2]) };
    assert!((35..=40).contains(&blocks) && more > Nanos::from_secs(600), "{blocks}, {more:?}");
}

#[test]
fn a_sample_of_what_is_late_has_no_tails_by_cause() {
    let causes = several(10_000);
    assert_eq!(causes[0].beyond, Err(Refusal::Sampled { known: 760, late: 10_000 }));
    assert!(matches!(causes[1].beyond, Err(Refusal::FixedCause { .. })), "a size is seen in a sample, too");
}

#[test]
fn with_several_phases_every_late_activation_must_be_known() {
    let mut recording = recording(700, None, exponential(1));
    assert!(several_in(&recording, 780)[0].beyond.is_ok(), "97 % of one phase");
    recording.phases.insert((1, 1), recording.phases[&(0, 1)].clone());
    assert_eq!(several_in(&recording, 780)[0].beyond, Err(Refusal::Sampled { known: 760, late: 780 }));
    assert!(several_in(&recording, 760)[0].beyond.is_ok());
}
