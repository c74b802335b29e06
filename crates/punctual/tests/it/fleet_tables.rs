//! Tests of `punctual fleet` and `punctual trend` with the recordings of a small fleet, which are written by the code
//! that also writes those of a measurement.

use crate::made_up;
use crate::run::{Run, assert_fits};
use punctual_facts::finding::{Confidence, Finding, Severity, State};
use punctual_hist::{Counts, Nanos};
use punctual_numbers::recording::{CpuInterval, End, EndReason, Frame, Interval, RecTime, encode, encode_preamble};
use punctual_numbers::stats::float::{float, whole};
use std::fs;
use std::path::{Path, PathBuf};
#[cfg(feature = "parquet")]
use std::process::Command;

const DAY_NS: u64 = 86_400_000_000_000;

/// One night's recording of a machine: whether it misses, the kernel, and how slow the machine is.
struct Night {
    machine: u64,
    day: u64,
    is_late: bool,
    kernel: &'static str,
    scale: f64,
}

impl Night {
    fn bytes(&self) -> Vec<u8> {
        let mut header = made_up::header(1, Nanos::from_secs(4));
        header.started_unix_ns += self.day * DAY_NS + self.machine;
        header.machine = vec![
            ("model", "Board").into(),
            ("kernel", format!("{}, PREEMPT_RT, x86-64", self.kernel)).into(),
            ("machine", self.machine.to_string()).into(),
        ];
        let finding = |id: &str, is_bad: bool| Finding {
            id: id.to_owned(),
            title: String::new(),
            severity: Severity::High,
            state: if is_bad { State::Bad } else { State::Good },
            evidence: Vec::new(),
            why: String::new(),
            fix: String::new(),
            cost: String::new(),
            confidence: Confidence::High,
        };
        let others = (0..6).map(|n| finding(&format!("chance.n{n}"), (self.machine >> n) & 1 == 1));
        let findings = std::iter::once(finding("planted.culprit", self.is_late)).chain(others).collect();
        let mut bytes = Vec::new();
        encode_preamble(&mut bytes);
        let mut add = |frame: &Frame| encode(frame, &mut bytes).unwrap();
        add(&Frame::Header(Box::new(header)));
        add(&Frame::Findings(findings));
        for second in 0..4 {
            let mut counts = Counts::new();
            for n in 0..5_000u32 {
                let share = (f64::from(n) + 0.5) / 5_000.0;
                let ns = self.scale * (4_000.0 - 2_000.0 * (1.0 - share).ln());
                counts.record(Nanos::from_ns(whole(ns)));
            }
            counts.record_n(Nanos::from_us(80), if self.is_late { 9 } else { 0 });
            let over_budget = if self.is_late { 9 } else { 0 };
            let cpu = CpuInterval { over_budget, ..CpuInterval::of(0, &counts, &Counts::new()) };
            let start = RecTime::from_secs(second);
            add(&Frame::Interval(Interval { start, length: Nanos::from_secs(1), phase: 0, cpus: vec![cpu] }));
        }
        add(&Frame::End(End { at: RecTime::from_secs(4), reason: EndReason::Completed, write_error: None }));
        bytes
    }
}

fn write(folder: &Path, name: &str, night: &Night) -> PathBuf {
    fs::create_dir_all(folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, night.bytes()).unwrap();
    path
}

/// 24 machines with 12 nights each. Every fourth is late and has the culprit; half of the others become late with a new
/// kernel.
#[cfg(feature = "parquet")]
fn fleet(folder: &Path) {
    for machine in 0..24 {
        for day in 0..12 {
            let is_new = machine % 4 == 1 && day >= 6;
            let kernel = if is_new { "6.12.48" } else { "6.12.43" };
            let night =
                Night { machine, day, is_late: machine % 4 == 0 || is_new, kernel, scale: 1.0 + 0.01 * float(day) };
            write(&folder.join(format!("host-{machine:02}.customer.example")), &format!("n{day:02}.punctual"), &night);
        }
    }
}

#[cfg(feature = "parquet")]
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(self::files(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

#[cfg(feature = "parquet")]
#[test]
fn packing_again_adds_nothing_and_names_are_masked() {
    let run = Run::new();
    let night = |machine, day| Night { machine, day, is_late: false, kernel: "6.12", scale: 1.0 };
    for machine in 0..3 {
        let folder = run.path(&format!("in/secret-host-{machine}'; DROP TABLE runs; --"));
        write(&folder, "a\n'b\".punctual", &night(machine, 0));
        write(&folder, "b.punctual", &night(machine, 40));
    }
    fs::write(run.path("in/notes.txt"), "left alone").unwrap();
    fs::write(run.path("in/broken.punctual"), &night(9, 0).bytes()[..40]).unwrap();
    let pack = ["fleet", "pack", "in", "--out", "out"];
    let first = run.punctual(&pack);
    assert_eq!(first.code, 3, "one file is broken: {first:?}");
    assert!(first.out.contains("6 recordings") && first.out.contains("broken.punctual"), "{first:?}");
    let before = files(&run.path("out"));
    let again = run.punctual(&pack);
    assert!(again.out.contains("0 recordings") && again.out.contains("6 files: packed already"), "{again:?}");
    assert_eq!(files(&run.path("out")), before);
    for file in before.iter().filter(|file| !file.starts_with(run.path("out/private"))) {
        let bytes = fs::read(file).unwrap();
        assert!(!bytes.windows(6).any(|part| part == b"secret"), "{}", file.display());
    }
    let names = fs::read_to_string(run.path("out/private/machines.tsv")).unwrap();
    assert_eq!(names.lines().count(), 3);
    assert!(names.contains("secret-host-1'; DROP TABLE runs; --"), "{names}");
}

#[cfg(feature = "parquet")]
#[test]
fn half_a_recording_is_replaced_by_the_whole_and_a_crash_leaves_nothing() {
    let run = Run::new();
    let bytes = Night { machine: 1, day: 0, is_late: false, kernel: "6.12", scale: 1.0 }.bytes();
    fs::create_dir_all(run.path("in/host")).unwrap();
    let path = run.path("in/host/r.punctual");
    fs::write(&path, &bytes[..bytes.len() * 2 / 3]).unwrap();
    let pack = ["fleet", "pack", "in", "--out", "out"];
    let half = run.punctual(&pack);
    assert!(half.code == 0 && half.out.contains("complete = 0"), "{half:?}");
    fs::write(&path, &bytes).unwrap();
    let whole = run.punctual(&pack);
    assert!(whole.out.contains("1 recording ") && !whole.out.contains("complete = 0"), "{whole:?}");
    let retired = files(&run.path("out/retired"));
    assert_eq!(retired.len(), 2, "one without rows, and one that names the half: {retired:?}");
    // A part without a manifest is what a crash leaves.
    let orphan = run.path("out/runs/month=2023-11/part-0badc0ffee.parquet");
    fs::write(&orphan, "half a file").unwrap();
    let beside = run.path("out/runs/month=2023-11/x.parquet.77.tmp");
    fs::write(&beside, "").unwrap();
    assert_eq!(run.punctual(&pack).code, 0);
    assert!(!orphan.exists() && !beside.exists());
}

#[cfg(feature = "parquet")]
#[test]
fn what_must_not_be_added_to_is_refused() {
    let run = Run::new();
    fs::create_dir(run.path("in")).unwrap();
    run.punctual(&["fleet", "pack", "nowhere", "--out", "out"]).refused(&["nowhere", "not a folder"]);
    fs::create_dir(run.path("mine")).unwrap();
    fs::write(run.path("mine/thesis.txt"), "").unwrap();
    run.punctual(&["fleet", "pack", "in", "--out", "mine"]).refused(&["mine", "something other"]);
    assert_eq!(run.punctual(&["fleet", "pack", "in", "--out", "out"]).code, 0);
    fs::write(run.path("out/punctual-fleet.json"), r#"{"schema": "punctual/fleet/3"}"#).unwrap();
    run.punctual(&["fleet", "pack", "in", "--out", "out"]).refused(&["punctual/fleet/3", "new folder"]);
    run.punctual(&["fleet", "ask", "out", "worst"]).refused(&["punctual/fleet/3", "the program that wrote it"]);
    run.punctual(&["fleet", "ask", "in", "worst"]).refused(&["no packed fleet", "punctual fleet pack"]);
}

#[test]
fn a_question_is_printed_for_each_engine_and_a_name_is_a_literal() {
    let run = Run::new();
    for engine in ["duckdb", "datafusion", "clickhouse"] {
        for question in ["worst", "shared", "brought", "changed", "percentiles", "newest"] {
            let said =
                run.punctual(&["fleet", "ask", ".", question, "--sql", engine, "--machine", "x'; DROP TABLE y; --"]);
            assert!(said.code == 0 && said.out.contains("'x''; DROP TABLE y; --'"), "{said:?}");
        }
    }
}

/// Runs every question on three engines, and the program itself with `DuckDB`. `cargo xtask ci fleet` runs this test.
#[cfg(feature = "parquet")]
#[test]
#[ignore = "installs engines from Python's index"]
fn three_engines_answer_alike() {
    let run = Run::new();
    fleet(&run.path("in"));
    assert_eq!(run.punctual(&["fleet", "pack", "in", "--out", "out"]).code, 0);
    let done = |command: &mut Command| {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let venv = run.path("venv");
    done(Command::new("python3").args(["-m", "venv"]).arg(&venv));
    let packages = ["duckdb==2.0.1", "datafusion==55.0.0", "chdb==4.4.0"];
    done(Command::new(venv.join("bin/pip")).args(["install", "--quiet", "--only-binary", ":all:"]).args(packages));
    let script = crate::run::repository("crates/punctual/tests/it/three_engines.py");
    let told = done(
        Command::new(venv.join("bin/python")).arg(script).arg(run.path("out")).arg(env!("CARGO_BIN_EXE_punctual")),
    );
    assert!(told.contains("6 questions, 3 engines, the same answers"), "{told}");
    let path = format!("{}:{}", venv.join("bin").display(), std::env::var("PATH").unwrap());
    let ask = |question: &str, more: &[&str]| {
        let words = [["fleet", "ask", "out", question].as_slice(), more].concat();
        let output = run.command(&words).env("PATH", &path).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let json = |question: &str| {
        let (code, out) = ask(question, &["--json"]);
        assert!(code == 0 || code == 2, "{out}");
        let document = serde_json::from_str(&out).unwrap();
        assert_fits("fleet-answer-1", &document, question);
        document
    };
    let shared: serde_json::Value = json("shared");
    assert_eq!(
        (&shared["candidates"][0]["candidate"], &shared["candidates"][0]["named"]),
        (&"planted.culprit".into(), &true.into())
    );
    let brought = json("brought");
    assert_eq!(
        (&brought["changes"][0]["item"], &brought["changes"][0]["became"]),
        (&"kernel release".into(), &"6.12.48".into())
    );
    assert_eq!(brought["changes"][0]["named"], true);
    assert_eq!(json("percentiles")["groups"].as_array().unwrap().len(), 2);
    assert_eq!(json("worst")["machines"][0]["bad"], true);
    assert_eq!(json("newest")["machines"].as_array().unwrap().len(), 24);
    json("changed");
    let named = fs::read_to_string(run.path("out/private/machines.tsv")).unwrap();
    let was_good = named.lines().find(|line| line.contains("host-01.")).unwrap().split('\t').next().unwrap().to_owned();
    let (_, changed) = ask("changed", &["--machine", &was_good]);
    assert!(changed.contains("planted.culprit") && changed.contains("6.12.48"), "{changed}");
    assert_eq!(ask("changed", &["--machine", "host-01.customer.example"]).1, changed);
    assert_eq!(ask("changed", &["--machine", "nobody' OR 1=1"]), (1, String::new()));
    let (_, worst) = ask("worst", &[]);
    assert!(worst.contains("host-00.customer.example") && worst.contains("MISSED"), "{worst}");
}

#[test]
fn a_series_that_shifts_exits_with_2_and_names_what_changed() {
    let run = Run::new();
    for day in 0..20 {
        let kernel = if day < 14 { "6.12.43" } else { "6.12.48" };
        let scale = (1.0 + 0.004 * float(day % 5)) * if day < 14 { 1.0 } else { 1.3 };
        write(
            &run.path("series"),
            &format!("n{day:02}.punctual"),
            &Night { machine: 1, day, is_late: false, kernel, scale },
        );
    }
    // A run of another machine is no part of the series.
    let other = Night { machine: 1, day: 3, is_late: false, kernel: "6.1", scale: 9.0 };
    let mut bytes = other.bytes();
    let place = bytes.windows(5).position(|part| part == b"Board").unwrap();
    bytes[place] = b'X';
    fs::write(run.path("series/other.punctual"), bytes).unwrap();
    let text = run.punctual(&["trend", "series", "--html", "trend.html"]);
    assert!(text.code == 2 && text.out.contains("WORSE") && text.out.contains("6.12.48"), "{text:?}");
    assert!(text.out.lines().all(|line| line.chars().count() <= 80 || line.contains("compare --a")), "{}", text.out);
    assert!(fs::read_to_string(run.path("trend.html")).unwrap().contains("<svg"));
    let document = run.json(&["trend", "series", "--json"]);
    assert_fits("trend-1", &document, "a series");
    assert_eq!((&document["verdict"], &document["shifts"][0]["at"]), (&"worse".into(), &14.into()));
    assert_eq!(document["left_out"].as_array().unwrap().len(), 1, "{}", document["left_out"]);
    let csv = run.punctual(&["trend", "series", "--csv"]).out;
    assert!(csv.starts_with("time,run,p50_ns,p99_ns,p99_9_ns,") && csv.lines().count() == 21, "{csv}");
    assert_eq!(run.punctual(&["trend", "series", "--fail-on", "never", "-q"]).code, 0);
    let few = run.punctual(&["trend", "series/n00.punctual", "series/n01.punctual"]);
    assert!(few.code == 3 && few.out.contains("TOO FEW RUNS"), "{few:?}");
    run.punctual(&["trend", "nowhere"]).refused(&["nowhere"]);
}
