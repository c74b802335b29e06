//! `punctual watch`, and what report and explain tell of its store.

use crate::explain::hogged;
use crate::run::{PATIENCE, Run, assert_fits};
use punctual_hist::{Activation, Counts, MonoTime, Nanos, SplitMix};
use punctual_linux::watch::{Store, files};
use punctual_numbers::placement::Placement;
use punctual_numbers::recording::{Clock, CpuInterval, End, EndReason, Frame, Header, Interval, RecTime, Worst};
use punctual_numbers::scenario::{Amount, Policy, Scenario};
use punctual_numbers::trace::{Kept, LateList, LateTotal, Rung, Tracing};
use punctual_numbers::watch::DAY;
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const MIDNIGHT: u64 = 20_000 * DAY.as_ns();
const STEP_S: u64 = 300;
const STEPS: u64 = 86_400 / STEP_S;
/// The planted spike: on day 5, at 03:20:00 UTC.
const SPIKE_DAY: u64 = 5;
const SPIKE_S: u64 = 12_000;
/// The epoch of each simulated day by its monotonic clock.
const EPOCH_S: u64 = 5_000;
/// Records of a real window on a machine with some work.
const RECORDS: usize = 160;

fn header(day: u64) -> Frame {
    Frame::Header(Box::new(Header {
        tool_version: "0.1.0".to_owned(),
        started_unix_ns: MIDNIGHT + (day - 1) * DAY.as_ns(),
        epoch: MonoTime::from_ns(EPOCH_S * 1_000_000_000),
        scenario: Scenario {
            budget: Some(Nanos::from_us(200)),
            ..Scenario::plain([1], Nanos::from_ms(1), Policy::Fifo(90), Amount::Time(DAY))
        },
        machine: Vec::new(),
        placement: Placement::default(),
        clock: Clock::default(),
        checkpoint: Nanos::from_secs(10),
    }))
}

fn tracing() -> Frame {
    Frame::Tracing(Tracing {
        rung: Rung::Tracefs,
        refused: Vec::new(),
        phases: vec![0],
        events: vec!["sched:sched_switch".to_owned()],
        blind: Vec::new(),
        clock: "mono".to_owned(),
        buffer_bytes: 1 << 20,
        threshold: None,
        windows_max: 64,
        self_test: Vec::new(),
    })
}

/// Five minutes at 1 kHz: some seventy cells with counts that vary as real ones do.
fn step(number: u64, largest: Nanos, so_far: Nanos, random: &mut SplitMix) -> Frame {
    let mut counts = Counts::new();
    for cell in 0..70_u64 {
        let mean = 40_000 >> (cell / 5);
        let noise = random.below(usize::try_from(mean / 8 + 1).unwrap()) as u64;
        counts.record_n(Nanos::from_ns(2_000 + cell * cell * 9), mean + noise);
    }
    counts.record(largest);
    let second = u32::try_from(number * STEP_S + random.below(300) as u64).unwrap();
    let cpu = CpuInterval {
        block_max: vec![(second, largest)],
        ran_max: Some(so_far),
        over_budget: u64::from(largest > Nanos::from_us(200)),
        longest_gap: Nanos::from_us(1_050),
        ..CpuInterval::of(1, &counts, &Counts::new())
    };
    let (start, length) = (RecTime::from_secs(number * STEP_S), Nanos::from_secs(STEP_S));
    Frame::Interval(Interval { start, length, phase: 0, cpus: vec![cpu] })
}

/// One day with its windows. The one of the spike is that of a thread `hog95`.
fn day(number: u64, random: &mut SplitMix) -> Vec<Frame> {
    let mut frames = vec![header(number), tracing()];
    let mut so_far = Nanos::ZERO;
    for n in 0..STEPS {
        let is_spike = number == SPIKE_DAY && n == SPIKE_S / STEP_S;
        let usual = Nanos::from_ns(40_000 + random.below(60_000) as u64);
        let largest = if is_spike { Nanos::from_us(812) } else { usual };
        so_far = so_far.max(largest);
        frames.push(step(n, largest, so_far, random));
    }
    let mut worst = Vec::new();
    for slot in 0..12_u32 {
        let spike = number == SPIKE_DAY && slot == 0;
        let at = Nanos::from_secs(if spike { SPIKE_S } else { u64::from(slot) * 1_000 + 60 });
        let latency = if spike { Nanos::from_us(806) } else { Nanos::from_us(60 + u64::from(slot)) };
        let mut window = hogged(slot, at, latency);
        window.phase = 0;
        window.kept = if slot < 8 { Kept::Worst } else { Kept::Ordinary };
        let before = window.records[0].clone();
        let earlier = |n: usize| {
            let mut record = before.clone();
            record.at = before.at.minus(Nanos::from_ns((n as u64 + 1) * 1_733));
            record
        };
        window.records.splice(0..0, (0..RECORDS).rev().map(earlier));
        let activation = Activation { release: window.release, woke: window.woke, cpu: 1, ..Activation::default() };
        worst.push(Worst { cpu: 1, activation });
        frames.push(Frame::Window(Box::new(window)));
    }
    frames.push(Frame::Worst(worst));
    let total = LateTotal { cpu: 1, count: 30, latency: Nanos::from_ms(3), ..LateTotal::default() };
    frames.push(Frame::Late(LateList { late: Vec::new(), totals: vec![total] }));
    frames.push(Frame::End(End { at: RecTime::from_secs(86_400), reason: EndReason::Completed, write_error: None }));
    frames
}

/// Writes this many days as a watch does, and returns the size of the store.
fn watched(folder: &Path, days: u64) -> u64 {
    let mut store = Store::open(folder, 64 << 20).unwrap();
    let mut random = SplitMix::new(7);
    for number in 1..=days {
        let mut writer = store.begin().unwrap();
        for frame in &day(number, &mut random) {
            writer.append(frame).unwrap();
        }
        writer.finish().unwrap();
        drop(writer);
        store.end().unwrap();
    }
    files(folder).unwrap().iter().map(|file| file.bytes).sum()
}

/// What the program prints.
#[track_caller]
fn said(run: &Run, words: &[&str]) -> String {
    let said = run.punctual(words);
    assert_eq!(said.code, 0, "{words:?}: {}", said.err);
    said.out
}

/// The error with which the program ends.
#[track_caller]
fn refused(run: &Run, words: &[&str]) -> String {
    let said = run.punctual(words);
    assert_eq!((said.code, said.out.as_str()), (1, ""), "{words:?}");
    said.err
}

fn spike_is_explained(run: &Run) {
    let report = said(run, &["report", "store"]);
    assert!(report.contains("on day 5 at") && report.contains("03:20:00 UTC") && report.contains("hog95"), "{report}");
    assert!(report.lines().all(|line| line.chars().count() <= 80), "{report}");
    let spike = said(run, &["explain", "store", "--day", "5", "--spike", "1"]);
    assert!(spike.contains("hog95") && spike.contains("812 us"), "{spike}");
    let by_date = said(run, &["explain", "store", "--day", "2024-10-08"]);
    assert!(by_date.contains("hog95"), "{by_date}");
}

#[test]
fn three_weeks_fit_and_the_spike_of_day_5_is_explained() {
    let run = &Run::new();
    let bytes = watched(&run.path("store"), 21);
    let year = bytes / 21 * 365;
    assert!(year <= 64 << 20, "a year would take {year} bytes");
    spike_is_explained(run);
    let document: Value = serde_json::from_str(&said(run, &["report", "store", "--json"])).unwrap();
    assert_fits("watch-1", &document, "a watch");
    assert_eq!(document["days"].as_array().unwrap().len(), 21);
    assert_eq!(document["days"][4]["worst"][0]["latency_ns"], 812_000);
    assert_eq!(document["unwatched_ns"], 0);
    let none = refused(run, &["report", "store", "--day", "22"]);
    assert!(none.contains("no day 22") && none.contains("1 (2024-10-04) to 21 (2024-10-24)"), "{none}");
    let page = refused(run, &["report", "store", "--html", "page.html"]);
    assert!(page.contains("--day"), "{page}");
    said(run, &["report", "store", "--day", "5", "--html", "page.html"]);
    assert!(run.path("page.html").exists());
}

/// By hand, with a release build: `cargo test --release -p punctual --test it -- --ignored a_year`.
#[test]
#[ignore = "takes minutes without optimisation"]
fn a_year_fits_into_64_megabytes() {
    let run = Run::new();
    let begun = Instant::now();
    let bytes = watched(&run.path("store"), 365);
    let written = begun.elapsed();
    assert!(bytes <= 64 << 20, "{bytes} bytes");
    let begun = Instant::now();
    spike_is_explained(&run);
    let read = begun.elapsed() / 3;
    std::fs::write(
        std::env::temp_dir().join("punctual-year"),
        format!("{bytes} bytes, written in {written:?}, read in {read:?}\n"),
    )
    .unwrap();
}

/// A watch of the first CPU, which writes its messages to a file.
fn begin(run: &Run, more: &[&str]) -> Child {
    let said = std::fs::File::options().create(true).append(true).open(run.path("said")).unwrap();
    let mut watch = Command::new(env!("CARGO_BIN_EXE_punctual"));
    watch.args(["watch", "--cpus", "0", "--store", "store", "--period", "5ms", "--no-trace", "--cost", "100"]);
    watch.args(more).current_dir(run.path(".")).stdout(Stdio::null()).stderr(said);
    watch.spawn().unwrap()
}

/// Waits until what the watch has written fulfils a condition. It comes sooner or later, however busy the machine is.
pub fn wait_for(run: &Run, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let begun = Instant::now();
    loop {
        let done = run.command(&["report", "store", "--json"]).output().unwrap();
        if let Some(document) = serde_json::from_slice(&done.stdout).ok().filter(|document| is_so(document)) {
            return document;
        }
        let said = std::fs::read_to_string(run.path("said")).unwrap_or_default();
        assert!(begun.elapsed() < PATIENCE, "no {what}: {said}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn watched_ns(document: &Value) -> u64 {
    document["watched_ns"].as_u64().unwrap_or(0)
}

#[test]
fn a_killed_watch_is_readable_and_its_gap_is_accounted_for() {
    let run = Run::new();
    let mut watch = begin(&run, &[]);
    let first = wait_for(&run, "first interval", |document| watched_ns(document) > 0);
    assert_eq!(first["is_open"], true, "it is read while it runs");
    let second = run.command(&["watch", "--cpus", "0", "--store", "store"]).output().unwrap();
    let why = String::from_utf8(second.stderr).unwrap();
    assert!(why.contains(&format!("process {}", watch.id())), "{why}");
    watch.kill().unwrap();
    watch.wait().unwrap();
    let mut again = begin(&run, &["--duration", "1s"]);
    assert!(again.wait().unwrap().success());
    let document = wait_for(&run, "end", |document| document["is_open"] == false);
    let gaps = document["gaps"].as_array().unwrap();
    assert_eq!((gaps.len(), &gaps[0]["reason"]), (1, &Value::from("killed")));
    let [from, to, gap] = ["from_unix_ns", "to_unix_ns", "unwatched_ns"].map(|name| document[name].as_u64().unwrap());
    let accounted = watched_ns(&document) + gap;
    assert!(accounted.abs_diff(to - from) < 1_000_000_000, "{accounted} of {}", to - from);
}

#[test]
fn an_action_stops_the_watch_and_a_full_disk_does_not() {
    let run = Run::new();
    // Any activation is later than a nanosecond.
    let mut watch = begin(&run, &["--budget", "1ns", "--on-late", "stop", "--on-late", "echo $PUNCTUAL_CPU > acted"]);
    assert_eq!(watch.wait().unwrap().code(), Some(2));
    assert!(std::fs::read_to_string(run.path("said")).unwrap().contains("stopped by a late activation"));
    std::fs::remove_dir_all(run.path("store")).unwrap();
    let script = format!(
        "ulimit -f 1; exec {} watch --cpus 0 --store store --period 5ms --no-trace --cost 100 --duration 12s",
        env!("CARGO_BIN_EXE_punctual")
    );
    let done = Command::new("sh").args(["-c", &script]).current_dir(run.path(".")).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success() && said.contains("the watch continues"), "{said}");
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_watched() {
    let run = &Run::new();
    let refuses = |more: &[&str]| refused(run, &[&["watch", "--cpus", "0"], more].concat());
    assert!(refuses(&["--store", "/proc/here"]).contains("--store"));
    assert!(refuses(&["--store", "s", "--metrics", "0.0.0.0:9464"]).contains("127.0.0.1"));
    assert!(refuses(&["--store", "s", "--keep", "1M"]).contains("at least 4M"));
    assert!(refuses(&["--store", "s", "--on-late", "stop"]).contains("--budget"));
    assert!(refuses(&["--store", "s", "--budget", "2ms"]).contains("not below the period"));
    assert!(refused(run, &["report", "."]).contains("no watch has written"));
}

#[test]
fn what_cannot_be_watched_of_a_program_is_refused_with_the_reason() {
    let run = Run::new();
    for (words, parts) in [
        (vec!["4194304"], ["no process has the id 4194304", "ps -e"]),
        (vec!["no-program-has-this-name"], ["no running program is called", "ps -e"]),
        (vec!["1", "--cpus", "0"], ["--cpus", "cannot be used with"]),
        (vec!["--thread", "loop"], ["required", "PROGRAM"]),
        (vec!["1", "--install", "--dry-run"], ["number of a process", "name the program"]),
    ] {
        run.punctual(&[&["watch", "--store", "store"], words.as_slice()].concat()).refused(&parts);
    }
}
