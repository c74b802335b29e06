//! Tests that readers get what the loop hands in, and what the report says about known causes.

use super::*;
use crate::noise::Noise;
use crate::wake::{Class, Wake};
use crate::{ConfigError, PageError};
use proptest::prelude::*;
use punctual_hist::{Delta, MonoTime};
use std::process::Command;

const MS: Nanos = Nanos::from_ms(1);
const EPOCH: u64 = 5_000_000_000;

fn config(name: &str) -> StatsConfig {
    StatsConfig { budget: Some(Nanos::from_us(50)), deadline: Some(Nanos::from_us(500)), ..StatsConfig::new(name, MS) }
}

fn release(index: u64) -> MonoTime {
    MonoTime::from_ns(EPOCH) + MS * index
}

fn wake(index: u64, error_ns: i64, missed: u64) -> Wake {
    let release = release(index);
    let woke = release + Delta::from_ns(error_ns);
    let overshoot = Some(woke - release);
    Wake { index, release, woke, interval: MS, missed, class: Class::LateFromSleep, overshoot, polled: Nanos::ZERO }
}

/// The statistics of a loop whose activation `n` deviates by `errors[n]`.
fn run(errors: impl IntoIterator<Item = i64>) -> Snapshot {
    let (mut writer, reader) = Stats::create(&config("run")).unwrap();
    for (index, error) in (0..).zip(errors) {
        writer.woke(&wake(index, error, 0));
    }
    reader.snapshot()
}

#[allow(clippy::cast_possible_truncation, reason = "a test's small values")]
fn latencies(n: u32, mut next: impl FnMut(u32) -> f64) -> Vec<i64> {
    (0..n).map(|n| next(n) as i64).collect()
}

#[test]
fn what_is_refused() {
    let refusal = |config: StatsConfig| Stats::create(&config).err();
    for name in ["", "a\nb", "a\0b", "a\u{202e}b", "a\u{2028}b", "a\u{2067}", "\u{200f}a", &"x".repeat(33)] {
        assert_eq!(refusal(config(name)), Some(Error::Config(ConfigError::TaskName)), "{name:?}");
    }
    for n in [0, 1, 32, 1000, 131_072] {
        let refused = refusal(StatsConfig { flight_cycles: n, ..config("a") });
        assert_eq!(refused, Some(ConfigError::FlightCycles(n).into()));
    }
    assert_eq!(refusal(config(&"ö".repeat(16))), None);
}

#[test]
fn a_cycle_is_counted_in_all_its_aspects() {
    let (mut writer, reader) = Stats::create(&config("axis ö")).unwrap();
    assert_eq!(reader.name(), "axis ö");
    writer.woke(&wake(0, 60_000, 0));
    writer.finished(release(0) + Nanos::from_us(600));
    writer.finished(release(0) + Nanos::from_us(900));
    writer.woke(&Wake { class: Class::Early, polled: Nanos::from_ns(300), overshoot: None, ..wake(1, -2_000, 0) });
    let s = reader.snapshot();
    assert!(s.coherent);
    assert_eq!((s.counters.activations, s.counters.over_budget, s.counters.deadline_misses), (2, 1, 1));
    assert_eq!((s.latency.max(), s.latency.min()), (Some(Nanos::from_us(60)), Some(Nanos::ZERO)));
    assert_eq!((s.early.max(), s.early.count()), (Some(Nanos::from_us(2)), 1));
    assert_eq!((s.execution.max(), s.execution.count()), (Some(Nanos::from_us(540)), 1));
    assert_eq!((s.response.max(), s.overshoot.count()), (Some(Nanos::from_us(600)), 1));
    assert_eq!((s.polled.count(), s.polled.sum()), (1, Nanos::from_ns(300)));
    assert_eq!((s.period_error.count(), s.period_error.max()), (1, Some(Nanos::from_us(62))));
    assert_eq!((s.counters.of(Class::Early), s.counters.of(Class::LateFromSleep)), (1, 1));
    let (first, second) = (s.recent[0], s.recent[1]);
    assert_eq!((first.execution(), second.finished), (Some(Nanos::from_us(540)), None));
    assert_eq!(s.worst, [first], "one that was not late is not among the worst");
    assert_eq!(reader.counters(), Some(s.counters));
}

#[test]
fn a_skip_is_no_jitter_and_a_stall_counts_once() {
    let (mut writer, reader) = Stats::create(&config("skips")).unwrap();
    writer.woke(&wake(0, 10_000, 0));
    writer.woke(&wake(1, 3_500_000, 3));
    writer.woke(&wake(5, 11_000, 0));
    writer.woke(&wake(6, 12_000, 0));
    writer.woke(&wake(7, 250_000_000, 250));
    writer.woke(&wake(258, 10_000, 0));
    let s = reader.snapshot();
    assert_eq!((s.counters.missed, s.counters.outages, s.counters.lost_in_outages), (3, 1, 250));
    assert_eq!(s.counters.activations, 6);
    // Only the time from activation 5 to 6 is a period. Activations 1 and 7 were late by more than a period, and the
    // releases after them were skipped.
    assert_eq!((s.period_error.count(), s.period_error.max()), (1, Some(Nanos::from_us(1))));
    assert_eq!(s.periods.unwrap().pairs, 0);
    assert_eq!(s.latency.max(), Some(Nanos::from_ms(250)), "and it is in the latency");
}

#[test]
#[cfg_attr(miri, ignore = "slow")]
fn the_flight_recorder_keeps_the_last_and_what_was_around_the_worst() {
    let (mut writer, reader) = Stats::create(&StatsConfig { flight_cycles: 64, ..config("flight") }).unwrap();
    for index in 0..500 {
        writer.woke(&wake(index, if index == 200 { 900_000 } else { 1_000 }, 0));
        writer.finished(release(index) + Nanos::from_us(950));
    }
    let s = reader.snapshot();
    let indices = |records: &[CycleRecord]| records.iter().map(|r| r.index).collect::<Vec<_>>();
    assert_eq!(indices(&s.recent), (436..500).collect::<Vec<_>>());
    assert_eq!(indices(&s.around_worst), (177..=208).collect::<Vec<_>>());
    assert!(s.around_worst.iter().all(|r| r.finished.is_some()));
    assert_eq!((s.worst[0].index, s.worst.len()), (200, WORST_KEPT));
    assert!(s.worst[0].finished.is_some());
}

/// The latency of a wait that gave up is not recorded, because there was no event. The body still runs.
#[test]
fn what_timed_out_is_counted_and_that_is_all() {
    let (mut writer, reader) = Stats::create(&StatsConfig { follows_events: true, ..config("outside") }).unwrap();
    let came = |index, error_ns| Wake { class: Class::OnTime, overshoot: None, ..wake(index, error_ns, 0) };
    for (index, class) in [Class::OnTime, Class::TimedOut, Class::OnTime, Class::OnTime].into_iter().enumerate() {
        let index = index as u64;
        let error = if class == Class::TimedOut { 700_000 } else { 3_000 };
        writer.woke(&Wake { class, ..came(index, error) });
        writer.finished(release(index) + Nanos::from_us(750));
    }
    let s = reader.snapshot();
    assert_eq!((s.counters.activations, s.counters.of(Class::TimedOut), s.latency.count()), (4, 1, 3));
    assert_eq!((s.latency.max(), s.worst.len(), s.early.count()), (Some(Nanos::from_us(3)), 3, 0));
    assert_eq!((s.period_error.count(), s.execution.count(), s.response.count()), (1, 4, 3), "2-3 is a period");
    assert_eq!((s.counters.over_budget, s.counters.deadline_misses), (0, 3));
    assert_eq!((s.recent.len(), s.recent[1].class), (4, Class::TimedOut));
    let text = Report::new(&s).to_string();
    assert!(text.contains("3 came, 1 timed out") && !text.contains("on time"), "{text}");
}

/// With a short period, each sleep that returns too late is followed by an activation that only polls. No compensation
/// is involved.
#[test]
#[cfg_attr(miri, ignore = "slow")]
fn two_kinds_of_wake_up_in_turns_get_no_verdict() {
    let told = |late_each: u64, missed: u64| {
        let (mut writer, reader) = Stats::create(&config("turns")).unwrap();
        let (mut index, mut noise) = (0, Noise::new(6));
        for n in 0..5_000u64 {
            let slept = n % late_each == 0;
            #[allow(clippy::cast_possible_truncation, reason = "a test's small values")]
            let error = if slept { 30_000 } else { 10 } + (500.0 * noise.uniform()) as i64;
            let (class, polled) = if slept { (Class::LateFromSleep, 0) } else { (Class::OnTime, 5_000) };
            let missed = if n % 10 == 0 { missed } else { 0 };
            writer.woke(&Wake { class, polled: Nanos::from_ns(polled), ..wake(index, error, missed) });
            index += 1 + missed;
        }
        let s = reader.snapshot();
        (s.periods.unwrap().rhythm(), s.rhythm().unwrap(), Report::new(&s).to_string())
    };
    let (alone, rhythm, text) = told(2, 0);
    assert_eq!((alone, rhythm), (Rhythm::Oscillating, Rhythm::Mixed));
    assert!(text.contains("no verdict: more than 5 % late from sleep"), "{text}");
    let (alone, rhythm, _) = told(100, 0);
    assert_eq!(alone, rhythm, "a few of the other kind are a tail");
    let (_, rhythm, text) = told(100, 2);
    assert_eq!(rhythm, Rhythm::Broken);
    assert!(text.contains("no verdict: more than 5 % of the releases were missed"), "{text}");
    assert!(text.contains("over 4000 of 4999 periods"), "{text}");
}

#[test]
fn each_polled_activation_has_a_period_to_poll_in() {
    let (mut writer, reader) = Stats::create(&config("share")).unwrap();
    for index in 0..2 {
        writer.woke(&Wake { polled: Nanos::from_us(500), ..wake(index, 0, 0) });
    }
    assert_eq!(reader.snapshot().spin_share(), Some(0.5));
}

/// With two humps, the report says why no idle state can be named.
#[test]
#[cfg_attr(miri, ignore = "slow")]
fn idle_states_nobody_looked_at_are_not_absent() {
    let mut s = run(latencies(5_000, |n| if n % 10 == 0 { 35_000.0 } else { 5_000.0 + f64::from(n % 7) }));
    let of = |s: &Snapshot, looked: bool| {
        let report = Report::new(s);
        if looked { report.with_idle_states(&[]).to_string() } else { report.to_string() }
    };
    assert!(of(&s, false).contains("were not looked at\n") && of(&s, true).contains("for no single CPU"));
    s.cpu = Some(1);
    assert!(of(&s, true).contains("the kernel shows no idle states of this CPU"));
    assert!(of(&s, true).contains(", set up for CPU 1;"));
}

#[test]
fn sixteen_worst_of_many() {
    let lates: Vec<i64> = (0..300).map(|n| n * 7_919 % 1_009).collect();
    let mut sorted = lates.clone();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let got = run(lates).worst.iter().map(|r| r.latency().ahead().as_ns()).collect::<Vec<_>>();
    assert_eq!(got, sorted[..WORST_KEPT]);
}

#[test]
#[cfg_attr(miri, ignore = "slow")]
fn independent_latencies_are_told() {
    let mut noise = Noise::new(1);
    let s = run(latencies(20_000, |_| 12_000.0 + 3_000.0 * noise.normal()));
    let periods = s.periods.unwrap();
    assert!((periods.autocorrelation().unwrap() + 0.5).abs() < 0.02, "{periods:?}");
    assert!((periods.ratio().unwrap() - std::f64::consts::SQRT_2).abs() < 0.03);
    assert_eq!(periods.rhythm(), Rhythm::Independent);
    assert!(Report::new(&s).modes().is_empty());
}

#[test]
#[cfg_attr(miri, ignore = "slow")]
fn two_valued_latency_is_independent_and_bimodal() {
    let mut noise = Noise::new(2);
    let s =
        run(latencies(20_000, |_| if noise.uniform() < 0.08 { 35_000.0 } else { 5_000.0 } + 500.0 * noise.normal()));
    assert_eq!(s.periods.unwrap().rhythm(), Rhythm::Independent);
    let states = [("POLL", 0), ("C1", 1), ("C6", 33)];
    let states: Vec<IdleState> =
        (0..).zip(states).map(|(number, (name, us))| IdleState::of(number, name, us)).collect();
    let report = Report::new(&s).with_idle_states(&states);
    assert_eq!(report.idle_suspect().map(|state| state.name.as_str()), Some("C6"));
}

#[test]
#[cfg_attr(miri, ignore = "slow")]
fn what_the_loop_does_to_its_grid_is_told() {
    let periods = |next: &mut dyn FnMut(u32) -> f64| run(latencies(20_000, next)).periods.unwrap();
    let (mut noise, mut phase) = (Noise::new(3), 0.0);
    let sleeper = periods(&mut |_| {
        phase += 17_000.0 + 5_000.0 * noise.normal();
        phase
    });
    assert!(sleeper.autocorrelation().unwrap().abs() < 0.05 && (sleeper.mean_ns().unwrap() - 17_000.0).abs() < 200.0);
    assert_eq!(sleeper.rhythm(), Rhythm::Drifting, "a relative sleeper runs away");
    let (mut noise, mut error) = (Noise::new(4), 0.0);
    let compensated = periods(&mut |_| {
        error = 12_000.0 + 3_000.0 * noise.normal() - error;
        error
    });
    assert!(compensated.autocorrelation().unwrap() < -0.9, "{compensated:?}");
    assert_eq!(compensated.rhythm(), Rhythm::Oscillating, "a compensation with its pole at -1 oscillates");
    let mut noise = Noise::new(5);
    let wander = periods(&mut |n| 50_000.0 + 40_000.0 * (f64::from(n) / 300.0).sin() + 20.0 * noise.normal());
    assert_eq!(wander.rhythm(), Rhythm::Wandering);
    let step = periods(&mut |n| if n / 500 % 2 == 0 { 5_000.0 } else { 35_000.0 } + 100.0 * noise.normal());
    assert_eq!(step.rhythm(), Rhythm::Lasting);
    let late_start = periods(&mut |n| if n == 0 { 5_000_000.0 } else { 9_000.0 + 200.0 * noise.normal() });
    assert_ne!(late_start.rhythm(), Rhythm::Drifting, "one late start");
}

/// No copy contains a sum that does not match, at full speed or at the pace of a real loop. At the pace of a real loop,
/// coherent copies succeed.
#[test]
fn copies_belong_together_while_the_loop_writes() {
    for (pause_us, cycles) in if cfg!(miri) { [(0, 5), (200, 2)] } else { [(0, 300_000), (200, 1_000)] } {
        let (mut writer, reader) = Stats::create(&config("coherent")).unwrap();
        let thread = std::thread::spawn(move || {
            for index in 0..cycles {
                let error = i64::try_from(index % 5_000).unwrap() - 100;
                writer.woke(&wake(index, error, 0));
                writer.finished(release(index) + Nanos::from_us(100));
                if pause_us > 0 {
                    std::thread::sleep(std::time::Duration::from_micros(pause_us));
                }
            }
        });
        let (mut copies, mut coherent) = (0, 0);
        while !thread.is_finished() {
            let s = reader.snapshot();
            copies += 1;
            coherent += u32::from(s.coherent);
            assert_eq!(s.latency.count(), s.counters.activations);
            if s.coherent {
                assert_eq!(s.counters.classes.iter().sum::<u64>(), s.counters.activations);
                assert_eq!(s.period_error.count(), s.counters.activations.saturating_sub(1));
                assert_eq!(s.periods.unwrap().count, s.period_error.count());
                assert!(s.counters.activations - s.execution.count() <= 1);
            }
            assert!(s.recent.windows(2).all(|pair| pair[0].index < pair[1].index));
            assert!(s.recent.iter().all(|r| r.release == release(r.index)));
        }
        thread.join().unwrap();
        assert!(pause_us == 0 || coherent > 0, "none of {copies}");
        let last = reader.snapshot();
        assert!(last.coherent && last.counters.activations == cycles && last.execution.count() == cycles);
    }
}

#[test]
#[cfg_attr(miri, ignore = "memfd")]
fn another_reader_attaches_by_process_and_name() {
    let (mut writer, reader) = Stats::create(&StatsConfig { cpu: Some(0), ..config("attached") }).unwrap();
    assert_eq!(reader.shared(), Ok(()));
    writer.woke(&wake(0, 12_345, 0));
    let attached = StatsReader::attach(std::process::id(), "attached").unwrap();
    let s = attached.snapshot();
    assert_eq!((s.latency.max(), s.pid, s.cpu), (Some(Nanos::from_ns(12_345)), std::process::id(), Some(0)));
    writer.woke(&wake(1, 99_999, 0));
    assert_eq!(attached.snapshot().counters.activations, 2, "the same page, not a copy");
    assert!(task_names(std::process::id()).unwrap().contains(&"attached".to_owned()));
    drop((writer, reader));
    assert_eq!(attached.snapshot().counters.activations, 2, "outlives the task");
    assert_eq!(StatsReader::attach(std::process::id(), "attached").err(), Some(PageError::NoSuchTask));
    assert_eq!(StatsReader::attach(4_194_305, "attached").err(), Some(PageError::Open(libc::ENOENT)));
}

/// If no file descriptor is left, there is no memfd; the page is private and says why. The test runs in a process of
/// its own, because the limit applies to the process.
#[test]
#[cfg_attr(miri, ignore = "processes")]
fn without_a_memfd_the_page_is_private() {
    const MARK: &str = "PUNCTUAL_RT_NO_DESCRIPTORS";
    if std::env::var_os(MARK).is_none() {
        let name = "stats::tests::without_a_memfd_the_page_is_private";
        let this = std::env::current_exe().unwrap();
        let script = format!("ulimit -n 24; exec '{}' --exact {name} --test-threads 1", this.display());
        let status = Command::new("sh").args(["-c", &script]).env(MARK, "1").status().unwrap();
        assert!(status.success());
        return;
    }
    let mut open = Vec::new();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        open.push(file);
    }
    let (mut writer, reader) = Stats::create(&config("private")).unwrap();
    drop(open);
    assert_eq!(reader.shared(), Err(libc::EMFILE));
    writer.woke(&wake(0, 1, 0));
    assert_eq!(reader.snapshot().counters.activations, 1);
    assert_eq!(StatsReader::attach(std::process::id(), "private").err(), Some(PageError::NoSuchTask));
}

/// Files that claim to be pages. Whatever their words are, they are refused, or can be read completely.
mod hostile {
    use super::*;
    use crate::page::{CycleSlot, Head};
    use crate::stats::attach::page_in;
    use std::fs::File;
    use std::io::Write;

    fn file_of(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn header(magic: u64, version: u64, bytes: u64) -> Vec<u8> {
        [magic, version, bytes].into_iter().flat_map(u64::to_ne_bytes).collect()
    }

    #[test]
    #[cfg_attr(miri, ignore = "files")]
    fn what_is_no_page_is_refused_before_it_is_mapped() {
        let size = page_bytes(64) as u64;
        let refusal = |bytes: &[u8]| page_in(&file_of(bytes)).err();
        assert_eq!(refusal(b""), Some(PageError::Foreign));
        assert_eq!(refusal(&header(MAGIC, 1, size)[..23]), Some(PageError::Foreign));
        assert_eq!(refusal(&header(MAGIC + 1, 1, size)), Some(PageError::Foreign));
        assert_eq!(refusal(&header(MAGIC, 2, size)), Some(PageError::Version(2)));
        for bytes in [0, 1, size - 64, size + 1, size + 64, u64::MAX] {
            assert_eq!(refusal(&header(MAGIC, 1, bytes)), Some(PageError::Foreign), "{bytes}");
        }
        assert_eq!(refusal(&header(MAGIC, 1, size)), Some(PageError::Unsealed), "a truncated file without seals");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        #[cfg_attr(miri, ignore = "slow")]
        fn whatever_the_words_a_report_is_printed(seed in any::<u64>(), dense in any::<bool>()) {
            let page = PageMemory::create(c"punctual-rt:words", 64).unwrap();
            let mut state = seed;
            let mut word = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                if dense || state >> 61 == 0 { state.rotate_left(17) } else { state >> 60 }
            };
            page.words().iter().for_each(|cell| cell.store(word(), Relaxed));
            let snapshot = StatsReader::new(Arc::new(page)).snapshot();
            let text = Report::new(&snapshot).with_idle_states(&[]).to_string();
            prop_assert!(text.lines().count() > 4);
            prop_assert!(!text.contains(|c: char| c.is_control() && c != '\n'));
        }
    }

    #[test]
    fn a_page_is_a_head_and_its_slots() {
        assert_eq!(page_bytes(64), size_of::<Head>() + 64 * size_of::<CycleSlot>());
    }
}
