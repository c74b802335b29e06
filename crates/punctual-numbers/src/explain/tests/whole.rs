//! Tests over a whole recording: the ranking, what spikes stand for, and ordinary times.

use super::text::{nanos, read};
use crate::explain::{Cause, Class, CpuExcess, CpuRhythm, Explanation, Ranked};
use crate::recording::{Frame, Recording, strategies};
use crate::trace::keep::{Keep, Keeper};
use crate::trace::{Incomplete, Kept, Late, LateList, LateTotal, Window};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use punctual_hist::{MonoTime, Nanos};
use std::collections::BTreeMap;

/// A recording of one CPU with a release every millisecond.
fn recording() -> Recording {
    let mut header = strategies::header().new_tree(&mut TestRunner::deterministic()).unwrap().current();
    header.machine = vec![("kernel", "6.12, PREEMPT_RT, x86-64").into()];
    header.scenario.threads = vec![crate::scenario::ProbeThread { cpu: 1, period: Nanos::from_ms(1) }];
    header.clock.tick = Nanos::from_ms(4);
    Recording::new(header)
}

/// A window in which `hog` of higher priority, or a device, had the CPU for almost `us`.
fn late(slot: u32, at_ms: u64, us: u64, hog: bool, kept: Kept) -> Window {
    let (hogged, before) = (us - 1, us - 2);
    let blame = if hog {
        format!("+4 0 dN switch 0:120 R 50:0\n+{hogged} 50 d switch 50:0 S 900:9")
    } else {
        format!("+4 0 dNh irq 27\n+{before} 0 dNh /irq 27\n+{hogged} 0 dN switch 0:120 R 900:9")
    };
    let text = format!(
        "window release={at_ms}000 woke=+{us}\ntask 50 hog | irq 27 eth0\nfunction 10 hrtimer_wakeup\n\
         -100 900 d switch 900:9 S 0:120\n+1 0 dh vector timer\n+1 0 dh hrtimer a 10\n+1.5 0 dh waking 900:9\n\
         +2 0 dh /hrtimer a\n+3 0 dh /vector timer\n{blame}\n",
    );
    let mut window = read(&text).remove(0).window;
    (window.slot, window.kept) = (slot, kept);
    window
}

fn explain(windows: Vec<Window>, late: u64) -> Explanation {
    let mut recording = recording();
    for window in windows {
        recording.add(Frame::Window(Box::new(window)));
    }
    let total = LateTotal { cpu: 1, count: late, latency: Nanos::from_ms(5), ..LateTotal::default() };
    recording.add(Frame::Late(LateList { late: vec![], totals: vec![total] }));
    Explanation::of(&recording)
}

fn cause(explanation: &Explanation, class: Class) -> &Ranked {
    explanation.causes.iter().find(|ranked| ranked.cause.class == class).unwrap()
}

#[test]
fn causes_are_ranked_with_their_rhythm() {
    let windows = (0..40u32).map(|i| late(i, 1000 + u64::from(i) * 250, 300, i % 10 != 3, Kept::Sampled));
    let explanation = explain(windows.collect(), 40);
    let hog = &explanation.causes[0];
    assert_eq!(hog.cause, Cause { class: Class::HigherPriority, name: "hog".into() });
    assert_eq!((hog.first_in, hog.count, hog.worst), (36, 36, Nanos::from_us(295)));
    assert_eq!(hog.total, Nanos::from_us(36 * 295));
    assert_eq!(hog.by_cpu, [CpuExcess { cpu: 1, spikes: 36, excess: hog.total }]);
    assert!((hog.share - 36.0 * 295.0 / (40.0 * 300.0)).abs() < 1e-9);
    let rhythm = hog.rhythm.unwrap();
    assert!(rhythm.period.as_ns().abs_diff(250_000_000) < 1_000_000, "{rhythm:?}");
    assert_eq!(cause(&explanation, Class::HardIrq).cause.name, "eth0 (irq 27)".into());
    assert_eq!(explanation.spikes[hog.example].primary().unwrap().cause, hog.cause);
    assert_eq!(explanation.explained, Some(1.0));
    let count = explanation.late[0].count;
    assert_eq!((count.late, count.kept, count.complete, count.sampled), (40, 40, 40, 40));
}

/// Of 1000 late activations the hog caused the 10 worst, which are all kept; 50 drawn from all were caused by the
/// device.
#[test]
fn the_worst_stand_for_themselves_and_those_drawn_for_the_rest() {
    let worst = (0..10).map(|i| late(i, 1000 + u64::from(i) * 100, 500, true, Kept::Worst));
    let drawn = (10..60).map(|i| late(i, 1050 + u64::from(i) * 100, 100, false, Kept::Sampled));
    let explanation = explain(worst.chain(drawn).collect(), 1000);
    let (hog, device) = (cause(&explanation, Class::HigherPriority), cause(&explanation, Class::HardIrq));
    assert_eq!((hog.count, device.count), (10, 50));
    let all = 10.0 * 500.0 + 990.0 * 100.0;
    assert!((hog.share - 10.0 * 495.0 / all).abs() < 1e-9, "{}", hog.share);
    assert!((device.share - 990.0 * 94.0 / all).abs() < 1e-9, "{}", device.share);
    assert_eq!(explanation.causes[0].cause, device.cause);
}

/// Windows are chosen by the keeper that makes recordings, which keeps one window in fifty. Shares must be those of the
/// whole run: the hog is rare and bad, the device is frequent and harmless, and worse late in the run.
#[test]
fn shares_of_what_the_keeper_kept_are_those_of_the_run() {
    let shares = |seed: u64| {
        let mut keeper = Keeper::new([1], 200, seed);
        let (mut kept, mut hogs, mut all) = (BTreeMap::new(), 0.0, 0.0);
        for i in 0..10_000u32 {
            let hog = i.wrapping_mul(2_654_435_761) % 100 < 7;
            let us = if hog { 900 + u64::from(i % 100) } else { 100 + u64::from(i / 100) };
            let us_of = f64::from(u32::try_from(us).unwrap());
            all += us_of;
            hogs += if hog { us_of } else { 0.0 };
            let Some(Keep { place, moved }) = keeper.late(1, Nanos::from_us(us)) else { continue };
            if let Some((to, window)) = moved.zip(kept.remove(&place.slot)) {
                kept.insert(to.slot, Window { slot: to.slot, kept: to.kept, ..window });
            }
            kept.insert(place.slot, late(place.slot, 1000 + u64::from(i) * 7, us, hog, place.kept));
        }
        let explanation = explain(kept.into_values().collect(), 10_000);
        (cause(&explanation, Class::HigherPriority).share, hogs / all)
    };
    let runs: Vec<(f64, f64)> = (1..=40).map(shares).collect();
    let (found, truth) = runs.iter().fold((0.0, 0.0), |(f, t), (found, truth)| (f + found / 40.0, t + truth / 40.0));
    // Each run estimates the share from about 100 sampled windows. The mean of 40 runs is close to the true share; a
    // single run may be farther from it.
    assert!((found - truth).abs() < 0.03, "{found} of {truth}");
    assert!(runs.iter().all(|(found, truth)| (found - truth).abs() < 0.25), "{runs:?}");
}

#[test]
fn an_activation_kept_twice_is_one() {
    let twice = [late(0, 1000, 300, true, Kept::Worst), late(1, 1000, 300, true, Kept::Sampled)];
    let explanation = explain(twice.to_vec(), 1);
    assert_eq!(explanation.spikes.len(), 1);
    assert_eq!(cause(&explanation, Class::HigherPriority).count, 1);
}

#[test]
fn what_does_not_tell_all_ranks_nothing() {
    let mut window = late(0, 1000, 300, true, Kept::Sampled);
    window.incomplete = Some(Incomplete::Lost);
    let explanation = explain(vec![window], 1);
    assert_eq!(explanation.causes, []);
    assert_eq!(explanation.explained, None);
    assert_eq!((explanation.late[0].count.kept, explanation.late[0].count.complete), (1, 0));
    assert!(!explanation.spikes[0].causes.is_empty(), "but it is shown");
}

#[test]
fn what_an_ordinary_activation_spends_as_well_is_not_blamed() {
    let ordinary = (0..9).map(|i| late(i, 500 + u64::from(i), 40, false, Kept::Ordinary));
    let explanation = explain(ordinary.chain([late(20, 1000, 300, false, Kept::Sampled)]).collect(), 1);
    let device = cause(&explanation, Class::HardIrq);
    assert_eq!(device.total, Nanos::from_us(294 - 34));
    assert_eq!(explanation.spikes.len(), 1);
    let ordinary = explanation.ordinary.iter().find(|one| one.cause == device.cause);
    assert_eq!(ordinary.map(|one| one.median), Some(Nanos::from_ns(nanos("34"))));
}

#[test]
fn without_a_trace_counters_rank_by_how_often_they_speak() {
    let text = "window release=1000 woke=1310 incomplete=none\ncounter smi 1 0\ncounter NMI: 1 0\n";
    let windows = (0..6u32).map(|i| {
        let mut window = read(text).remove(0).window;
        (window.slot, window.release, window.woke) =
            (i, MonoTime::from_ns(u64::from(i) << 30), MonoTime::from_ns((u64::from(i) << 30) + 310_000));
        let changes = &mut window.around.as_mut().unwrap().changes;
        changes[0].by = u64::from(i) + 1;
        if i > 3 {
            changes.truncate(1);
        }
        window
    });
    let explanation = explain(windows.collect(), 6);
    let counts: Vec<_> = explanation.causes.iter().map(|ranked| (ranked.cause.class, ranked.count)).collect();
    assert_eq!(counts, [(Class::Firmware, 6), (Class::Nmi, 4)]);
    // The counter grew by 1 to 6: that is one reason, with the largest amount.
    let why = cause(&explanation, Class::Firmware).why.clone();
    assert_eq!(why.iter().map(|one| (one.why.amount(), one.spikes)).collect::<Vec<_>>(), [(Some(6), 6)]);
    assert_eq!(explanation.explained, None);
}

#[test]
fn late_activations_as_such_have_a_rhythm() {
    let mut recording = recording();
    let late = |i: u64| Late { cpu: 1, release: MonoTime::from_ns(i * 250_000_000), latency: Nanos::from_us(90) };
    recording.add(Frame::Late(LateList { late: (1..100).map(late).collect(), totals: vec![] }));
    let [CpuRhythm { cpu: 1, rhythm }] = Explanation::of(&recording).rhythms[..] else { panic!("no rhythm") };
    assert!(rhythm.period.as_ns().abs_diff(250_000_000) < 1_000_000, "{rhythm:?}");
}

#[test]
fn what_a_cause_explains_is_no_rhythm_of_its_own() {
    let mut recording = recording();
    let at_ms = |i: u32| 1000 + u64::from(i) * 250;
    (0..40u32).for_each(|i| recording.add(Frame::Window(Box::new(late(i, at_ms(i), 300, true, Kept::Sampled)))));
    let ran = |i| Late { cpu: 1, release: MonoTime::from_ns(at_ms(i) * 1_000_000), latency: Nanos::from_us(300) };
    recording.add(Frame::Late(LateList { late: (0..40).map(ran).collect(), totals: vec![] }));
    let explanation = Explanation::of(&recording);
    assert!(explanation.causes[0].rhythm.is_some());
    assert_eq!(explanation.rhythms, []);
}

/// An idle state is blamed for up to twice the time that its driver gives for leaving it, and not for more.
#[test]
fn an_idle_state_is_blamed_for_what_its_driver_says() {
    let first_cause = |state: u32, us: u64| {
        let mut recording = recording();
        recording.header.machine.push(("idle states", "POLL 0 us, C1 2 us, C6 133 us").into());
        let text = format!(
            "window release=1000 woke=+{}\nfunction 10 hrtimer_wakeup\n-100 900 d switch 900:9 S 0:120\n-97 0 d idle {state}\n\
             +{us} 0 dh vector timer\n+{us}.1 0 dh hrtimer a 10\n+{us}.2 0 dh waking 900:9\n+{us}.3 0 dh /vector timer\n\
             +{us}.4 0 d switch 0:120 R 900:9\n",
            us + 10
        );
        let window = Window { kept: Kept::Sampled, ..read(&text).remove(0).window };
        recording.add(Frame::Window(Box::new(window)));
        let explanation = Explanation::of(&recording);
        let cause = &explanation.spikes[0].primary().unwrap().cause;
        format!("{:?} {}", cause.class, cause.name)
    };
    assert_eq!(first_cause(2, 250), "IdleExit C6");
    assert_eq!(first_cause(2, 300), "Unexplained under idle");
    assert_eq!(first_cause(1, 19), "IdleExit C1");
    assert_eq!(first_cause(1, 250), "Unexplained under idle");
    assert_eq!(first_cause(7, 250), "IdleExit state 7", "one it does not know");
}

#[test]
fn a_recording_without_causes_has_an_empty_explanation() {
    assert_eq!(Explanation::of(&recording()), Explanation::default());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_recording_makes_an_explanation_panic(frames in proptest::collection::vec(strategies::frame(), 0..40)) {
        let mut recording = recording();
        for frame in frames {
            recording.add(frame);
        }
        let explanation = Explanation::of(&recording);
        for ranked in &explanation.causes {
            prop_assert!((0.0..=1.0).contains(&ranked.share));
            prop_assert!(explanation.spikes.get(ranked.example).is_some());
        }
        prop_assert!(explanation.spikes.is_sorted_by_key(|spike| std::cmp::Reverse(spike.latency())));
    }
}
