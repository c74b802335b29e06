//! All forms of kernels side by side, of generated recordings. `BLESS=1 cargo test` rewrites the golden files.

use super::*;
use crate::render::document::schema::assert_valid;
use crate::render::golden::{assert_fits, assert_golden, assert_page};
use crate::render::lang::leftover::{assert_chinese, assert_chinese_page};
use crate::render::sample::{SAMPLE, Sample};
use crate::render::sheet::Style;
use punctual_hist::{Counts, MonoTime, Nanos};
use punctual_numbers::compare::{Compared, Options};
use punctual_numbers::kernels::{Criterion, KernelRuns};
use punctual_numbers::recording::{CpuInterval, Frame, Header, Interval, RecTime, Recording};
use punctual_numbers::scenario::{LoadPhase, ProbeThread, Scenario};

/// Six seconds, half of them under a load, where one latency in a hundred is `spike_us`.
fn recording(seed: u64, spike_us: u64) -> Recording {
    let header = Sample { seconds: 6, ..SAMPLE }.header();
    let phase = |loads: &[&str]| LoadPhase { loads: loads.iter().map(|load| (*load).to_owned()).collect(), parts: 1 };
    let mut recording = Recording::new(Header {
        epoch: MonoTime::from_ns(0),
        scenario: Scenario {
            threads: vec![ProbeThread { cpu: 0, period: Nanos::from_ms(1) }],
            load_phases: vec![phase(&[]), phase(&["io-write"])],
            ..header.scenario
        },
        machine: vec![("kernel", "6.12.1").into()],
        ..header
    });
    for second in 0..6_u64 {
        let mut ran = Counts::new();
        for number in 0..1000_u64 {
            let ordinary = 20_000 + (seed * 7919 + second * 104_729 + number * 31) % 5_000;
            let is_spike = second >= 3 && number % 100 == 7;
            ran.record(Nanos::from_ns(if is_spike { spike_us * 1_000 + ordinary } else { ordinary }));
        }
        recording.add(Frame::Interval(Interval {
            start: RecTime::from_secs(second),
            length: Nanos::from_secs(1),
            phase: u16::from(second >= 3),
            cpus: vec![CpuInterval::of(0, &ran, &Counts::new())],
        }));
    }
    recording
}

/// Calls a function with two kernels, one that did not boot, and one that refused its mode.
fn with_sample(then: impl FnOnce(&Shown<'_>)) {
    let of = |from: u64, spike_us| (from..from + 3).map(|seed| recording(seed, spike_us)).collect::<Vec<_>>();
    let (good, bad) = (of(1, 40), of(4, 300));
    let kernel = |name: &str, runs: &'_ [Recording]| -> (String, Vec<Recording>) { (name.to_owned(), runs.to_vec()) };
    let kernels = [kernel("debian:12", &good), kernel("./bzImage+preempt=lazy", &bad)];
    let runs: Vec<KernelRuns<'_>> = kernels
        .iter()
        .map(|(name, runs)| KernelRuns { name: name.clone(), runs: runs.iter().collect(), traced: Vec::new() })
        .collect();
    let dead = NotMeasured {
        last_lines: vec!["Kernel panic - not syncing: VFS".to_owned()],
        ..NotMeasured::because("./dead", "the kernel did not start the first program")
    };
    then(&Shown {
        clock: GuestClock::Virtual,
        load: "idle:1,io-write:1".to_owned(),
        period: Nanos::from_ms(1),
        duration: Nanos::from_secs(6),
        seeds: &[1, 2, 3],
        table: SideBySide::of(&runs, Options::default()),
        not_measured: vec![&dead],
        refused: vec![RefusedMode {
            name: "./bzImage+preempt=lazy".to_owned(),
            asked: "lazy".to_owned(),
            in_force: Some("full".to_owned()),
        }],
    });
}

#[test]
fn kernels_as_text_and_a_document() {
    with_sample(|shown| {
        let on = |full, width| text(shown, full, None, Style { width, colour: false });
        assert_golden("lab.txt", &on(false, 80));
        assert_golden("lab-full.txt", &on(true, 80));
        assert!(on(false, 80).lines().count() <= 60);
        for width in [40, 80, 120] {
            assert_fits(&on(true, width), width);
        }
        let document = assert_valid(&json::Document::of(shown));
        assert_eq!(document["kernels"][1]["cells"][1]["against_first"]["verdict"], "worse");
    });
}

#[test]
fn the_page_draws_each_load_and_can_be_looked_at() {
    with_sample(|shown| {
        let page = html(shown).unwrap();
        assert_page("lab", &page);
        assert_eq!(page.matches(r#"<svg class="exceedance""#).count(), 2);
    });
}

#[test]
fn a_load_under_which_nothing_is_certain_is_told_last() {
    with_sample(|shown| {
        let mut row = shown.table.kernels[1].clone();
        row.cells[0].against_first.as_mut().unwrap().verdict = Compared::NotEnoughData;
        assert_eq!(words::differences(&row), "worse under io-write; not certain to differ under idle");
    });
}

#[test]
fn a_gate_says_what_is_worse() {
    with_sample(|shown| {
        assert_golden("lab-gate.txt", &gate_text(shown, Style::default()));
        assert!(gate_brief(shown).starts_with("WORSE: ./bzImage+preempt=lazy is"));
        assert_eq!(gate_junit(shown).unwrap().matches("<failure").count(), 1);
    });
}

fn lines(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

#[test]
fn a_search_tells_its_steps() {
    let (good, bad) = (recording(1, 40), recording(2, 300));
    let runs = |of| KernelRuns { name: String::new(), runs: vec![of], traced: Vec::new() };
    let criterion = Criterion::between(&runs(&good), &runs(&bad), 0.1);
    let step = |what: &str, us, is_bad| BisectStep::judged(what.to_owned(), Nanos::from_us(us), is_bad);
    let dropped =
        BisectStep { dropped: lines(&["CONFIG_PROVE_LOCKING=y"]), ..step("CONFIG_PROVE_LOCKING=y", 61, false) };
    let dead = NotMeasured {
        last_lines: lines(&["Kernel panic - not syncing: VFS"]),
        ..NotMeasured::because("build-01234567", "the kernel did not start the first program")
    };
    let mut bisected = Bisected {
        criterion,
        steps: vec![
            step("good", 60, false),
            step("bad", 323, true),
            step("CONFIG_HZ=100", 61, false),
            BisectStep::not_judged("CONFIG_NUMA=y".to_owned(), dead),
            dropped,
        ],
        culprit: Some(Culprit::Options {
            options: lines(&["CONFIG_DEBUG_KERNEL=y", "CONFIG_PROVE_LOCKING=y"]),
            needs: vec![Need { option: "CONFIG_DEBUG_KERNEL=y".to_owned(), of: lines(&["CONFIG_PROVE_LOCKING=y"]) }],
            built: Some((1..=15).map(|number| format!("CONFIG_LOCKDEP_{number:02}=y")).collect()),
        }),
        open: Vec::new(),
    };
    assert_golden("lab-bisect.txt", &bisect_text(&bisected, Style::default()));
    assert_valid(&bisected);
    assert_eq!(bisect_brief(&bisected), "FOUND: CONFIG_DEBUG_KERNEL=y, CONFIG_PROVE_LOCKING=y");
    bisected.open = lines(&["CONFIG_DEBUG_KERNEL=y"]);
    assert!(bisect_text(&bisected, Style::default()).contains("FOUND IN PART: CONFIG_DEBUG_KERNEL=y"));
    assert!(bisect_brief(&bisected).ends_with("; open: CONFIG_DEBUG_KERNEL=y"));
    assert!(bisect_text(&Bisected::default(), Style::default()).contains("INCONCLUSIVE"));
}

#[test]
fn kernels_are_told_in_chinese() {
    with_sample(|shown| {
        assert_chinese("compare", || text(shown, true, None, Style::default()));
        assert_chinese("gate", || gate_text(shown, Style::default()));
        assert_chinese_page("compare", || html(shown).unwrap());
    });
}
