//! Tests of long runs: merged, continued, reported in part, drawn.

use crate::run::Run;
use punctual_facts::machine::MachineLine;
use punctual_linux::in_force::BOOT_ID;
use punctual_numbers::recording::{Frame, FrameReader, encode, encode_preamble};
use serde_json::Value;
use std::fs;
use std::process::Stdio;

fn measured(run: &Run, name: &str, more: &[&str]) {
    let words = ["measure", "--policy", "other", "--cpus", "0", "--duration", "1200ms", "--out", name, "-q"];
    let said = run.punctual(&[&words[..], more].concat());
    assert!([0, 2, 3].contains(&said.code), "{said:?}");
}

fn due(report: &Value) -> u64 {
    report["cpus"][0]["due"].as_u64().unwrap()
}

fn notes(report: &Value) -> String {
    report["notes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|note| note.as_str().unwrap().replace('\u{202f}', " ") + "\n")
        .collect()
}

#[test]
fn runs_of_one_scenario_become_one_recording() {
    let run = Run::new();
    measured(&run, "a.punctual", &[]);
    measured(&run, "b.punctual", &[]);
    let said = run.punctual(&["merge", "b.punctual", "a.punctual", "--out", "ab.punctual"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("consists of 2 runs"), "{}", said.out);
    let report = run.json(&["report", "ab.punctual", "--json"]);
    assert_eq!(due(&report), 2400);
    let merged = run.json(&["merge", "b.punctual", "a.punctual", "--out", "again.punctual", "--json"]);
    assert_eq!((&merged["cpus"], due(&merged)), (&report["cpus"], 2400));
    assert!(notes(&report).contains("run 2: from "), "{}", notes(&report));
    let page = run.punctual(&["report", "ab.punctual", "--html", "ab.html"]);
    assert_eq!(page.code, 0, "{page:?}");
    assert!(fs::read_to_string(run.path("ab.html")).unwrap().contains("consists of 2"));
    // An existing file is not overwritten, and the same run does not count twice.
    run.punctual(&["merge", "a.punctual", "--out", "ab.punctual"]).refused(&["ab.punctual", "the file exists"]);
    run.punctual(&["merge", "ab.punctual", "a.punctual", "--out", "c.punctual"]).refused(&["contain the same run"]);
    assert!(!run.path("c.punctual").exists());
}

#[test]
fn runs_of_another_scenario_are_refused_with_the_reasons() {
    let run = Run::new();
    measured(&run, "a.punctual", &[]);
    measured(&run, "b.punctual", &["--period", "2ms", "--budget", "100us"]);
    let said = run.punctual(&["merge", "a.punctual", "b.punctual", "--out", "c.punctual"]);
    said.refused(&["of another kind", "period of CPU 0: 1 ms there, 2 ms here", "budget: none there, 100 us here"]);
    assert!(!run.path("c.punctual").exists());
}

#[test]
fn a_recording_goes_on_where_it_ended() {
    let run = Run::new();
    measured(&run, "r.punctual", &[]);
    let before = fs::read(run.path("r.punctual")).unwrap();
    run.punctual(&["measure", "--resume", "r.punctual"]).refused(&["is complete", "--duration"]);
    assert_eq!(fs::read(run.path("r.punctual")).unwrap(), before);
    let more = run.json(&["measure", "--resume", "r.punctual", "--duration", "300ms", "--json"]);
    assert_eq!(due(&more), 1500);
    assert_eq!(more, run.json(&["report", "r.punctual", "--json"]));
    assert!(notes(&more).contains("consists of 2 runs"), "{}", notes(&more));
    let runs: Vec<(u64, &str)> = more["runs"].as_array().unwrap().iter().map(of_run).collect();
    assert_eq!(runs, [(1200, "completed"), (300, "completed")]);
    assert!(more["runs"][1]["from_ns"].as_u64() >= more["runs"][0]["to_ns"].as_u64(), "{}", more["runs"]);
    assert!(fs::read(run.path("r.punctual")).unwrap().starts_with(&before), "nothing of it was changed");
}

/// The number of releases due in a run, and how the run ended.
fn of_run(run: &Value) -> (u64, &str) {
    (
        run["ran"].as_u64().unwrap() + run["skipped"].as_u64().unwrap(),
        run["end"]["reason"].as_str().unwrap_or("cut off"),
    )
}

/// The recording with another boot id, as if the machine had been rebooted since.
fn of_another_boot(bytes: &[u8]) -> Vec<u8> {
    let (mut frames, mut told) = (Vec::new(), 0);
    let mut reader = FrameReader::new();
    let read = reader.feed(bytes, |frame| frames.push(frame));
    assert!(read.is_ok(), "{read:?}");
    let mut changed = Vec::new();
    encode_preamble(&mut changed);
    for frame in &mut frames {
        if let Frame::InForce(state) = frame {
            for MachineLine { value, .. } in state.values.iter_mut().filter(|line| line.name == BOOT_ID) {
                "00000000-0000-4000-8000-000000000000".clone_into(value);
                told += 1;
            }
        }
        encode(frame, &mut changed).unwrap();
    }
    assert!(told > 0, "a recording says in which boot it was measured");
    changed
}

#[test]
fn after_another_boot_it_goes_on_in_a_recording_of_its_own() {
    let run = Run::new();
    measured(&run, "r.punctual", &[]);
    let before = of_another_boot(&fs::read(run.path("r.punctual")).unwrap());
    fs::write(run.path("booted.punctual"), &before).unwrap();
    let words = ["measure", "--resume", "booted.punctual", "--duration", "300ms"];
    run.punctual(&words).refused(&["booted.punctual", "booted anew", "--out", "punctual merge"]);
    assert_eq!(fs::read(run.path("booted.punctual")).unwrap(), before);
    // The command that the error proposes works.
    measured(&run, "more.punctual", &[]);
    let said = run.punctual(&["merge", "booted.punctual", "more.punctual", "--out", "both.punctual"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(due(&run.json(&["report", "both.punctual", "--json"])), 2400);
}

#[test]
fn interrupted_under_loads_it_goes_on_with_what_is_left_of_each() {
    let run = Run::new();
    let words = ["measure", "--policy", "other", "--cpus", "0", "--load", "idle,cpu", "--duration", "16s"];
    let mut child =
        run.command(&[&words[..], &["--out", "r.punctual", "-q"]].concat()).stdout(Stdio::null()).spawn().unwrap();
    run.until_due("r.punctual", 8_001);
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT).unwrap();
    child.wait().unwrap();
    let report = run.json(&["measure", "--resume", "r.punctual", "--json"]);
    assert_eq!(due(&report), 16_000, "{}", report["runs"]);
    let phases: Vec<(&str, u64)> = report["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|phase| (phase["name"].as_str().unwrap(), phase["due"].as_u64().unwrap()))
        .collect();
    assert_eq!(phases, [("idle", 8000), ("cpu", 8000)], "{}", report["phases"]);
    let ends: Vec<&str> = report["runs"].as_array().unwrap().iter().map(|run| of_run(run).1).collect();
    assert_eq!(ends, ["interrupted", "completed"]);
}

#[test]
fn killed_it_goes_on_with_what_was_left() {
    let run = Run::new();
    let words = ["measure", "--policy", "other", "--cpus", "0", "--duration", "10s", "--out", "r.punctual", "-q"];
    let mut child = run.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    run.until_due("r.punctual", 1_500);
    // While a recording is measured, no other program may write to it.
    run.punctual(&["measure", "--resume", "r.punctual", "--duration", "1s"]).refused(&["another program writes to it"]);
    child.kill().unwrap();
    child.wait().unwrap();
    // A full disk leaves half a frame at the end.
    let mut bytes = fs::read(run.path("r.punctual")).unwrap();
    bytes.extend([200, 0, 0, 0, 6, 1, 2, 3]);
    fs::write(run.path("r.punctual"), &bytes).unwrap();
    let report = run.json(&["measure", "--resume", "r.punctual", "--json"]);
    assert_eq!(due(&report), 10_000);
    assert!(notes(&report).contains("then cut off"), "{}", notes(&report));
    assert_eq!(report["cut_off"], Value::Null);
}

#[test]
fn what_cannot_be_gone_on_with_is_left_as_it_is() {
    let run = Run::new();
    measured(&run, "r.punctual", &[]);
    let mut bytes = fs::read(run.path("r.punctual")).unwrap();
    let middle = bytes.len() - 40;
    bytes[middle] ^= 1;
    fs::write(run.path("damaged.punctual"), &bytes).unwrap();
    run.punctual(&["measure", "--resume", "damaged.punctual", "--duration", "1s"]).refused(&[
        "checksum is wrong",
        "would be lost",
        "punctual merge",
    ]);
    assert_eq!(fs::read(run.path("damaged.punctual")).unwrap(), bytes);
    // The copy of the good part is a run that was cut off, and it can be continued.
    let copied = run.punctual(&["merge", "damaged.punctual", "--out", "sound.punctual"]);
    assert_eq!(copied.code, 3, "{copied:?}");
    run.punctual(&["measure", "--resume", "no.punctual"]).refused(&["no.punctual"]);
    run.punctual(&["measure", "--resume", "r.punctual", "--period", "2ms"]).refused(&["--period", "--resume"]);
}

#[test]
fn a_stretch_of_a_run_is_told_by_itself() {
    let run = Run::new();
    let words = ["measure", "--policy", "other", "--cpus", "0", "--duration", "6s", "--out", "r.punctual", "-q"];
    run.punctual(&words);
    let between = |from: &str, to: &str| run.punctual(&["report", "r.punctual", "--json", "--between", from, to]);
    let said = between("+1s", "+1500ms");
    let report: Value = serde_json::from_str(&said.out).unwrap();
    assert!(due(&report) < 6000 && due(&report) >= 500, "{}", due(&report));
    assert!(notes(&report).contains("extended to the edges"), "{}", notes(&report));
    between("+1h", "+2h").refused(&["nothing was measured from 1 h 00 min 00 s", "from 0.000 s to 6."]);
    between("+2s", "+1s").refused(&["the second moment is not after the first"]);
    between("yesterday", "+1s").refused(&["'yesterday' is not a time", "2026-11-22T10:00"]);
    let day = between("2020-01-01T00:00", "2100-01-01T00:00+01:00");
    assert_eq!(due(&serde_json::from_str(&day.out).unwrap()), 6000, "{day:?}");
}

#[test]
fn charts_are_drawn_into_files_and_on_the_terminal() {
    let run = Run::new();
    measured(&run, "a.punctual", &["--budget", "200us"]);
    measured(&run, "b.punctual", &["--budget", "200us"]);
    for chart in ["histogram", "exceedance", "over-time"] {
        for with in [&[][..], &["--with", "b.punctual"]] {
            let file = format!("{chart}{}.svg", with.len());
            let words = ["report", "a.punctual", "--chart", chart, "--plot", &file];
            let said = run.punctual(&[&words[..], with].concat());
            assert_eq!((said.code, said.out.as_str()), (0, ""), "{said:?}");
            let svg = fs::read_to_string(run.path(&file)).unwrap();
            assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"") && svg.contains("budget"), "{svg}");
            let text = run.punctual(&[&["report", "a.punctual", "--chart", chart, "--plot"][..], with].concat());
            assert!(text.out.is_ascii() && text.out.lines().all(|line| line.len() <= 80), "{}", text.out);
            assert!(text.out.lines().count() > 22, "{}", text.out);
        }
    }
    run.punctual(&["report", "a.punctual", "--plot", "x.jpg"]).refused(&["x.jpg", ".svg or .png"]);
    run.punctual(&["report", "a.punctual", "--plot", "histogram0.svg"])
        .refused(&["histogram0.svg", "choose another path"]);
    run.punctual(&["report", "a.punctual", "--chart", "histogram"]).refused(&["--plot"]);
}

#[test]
#[cfg(not(any(feature = "parquet", feature = "png")))]
fn what_a_build_left_out_is_refused_with_the_command_that_builds_it() {
    let run = Run::new();
    measured(&run, "a.punctual", &[]);
    let png = run.punctual(&["report", "a.punctual", "--plot", "a.png"]);
    png.refused(&["a.png", "PNG is not in this build", "`cargo build --release --features png`", ".svg"]);
    let parquet = run.punctual(&["export", "a.punctual", "--format", "parquet", "--out", "a.parquet"]);
    parquet.refused(&["Parquet is not in this build", "`cargo build --release --features parquet`", "csv"]);
    assert!(!run.path("a.png").exists() && !run.path("a.parquet").exists());
}

#[test]
#[cfg(feature = "png")]
fn a_png_has_pixels() {
    let run = Run::new();
    measured(&run, "a.punctual", &[]);
    let said = run.punctual(&["report", "a.punctual", "--plot", "a.png"]);
    assert_eq!(said.code, 0, "{said:?}");
    let bytes = fs::read(run.path("a.png")).unwrap();
    assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 10_000, "{}", bytes.len());
    assert_eq!(bytes[16..20], 1800u32.to_be_bytes());
}
