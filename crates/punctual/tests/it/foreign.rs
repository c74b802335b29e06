//! Tests with files of other programs: they are reported as text and JSON, exported, and the exports are read by public
//! readers.

use crate::run::Run;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/foreign")
}

fn fixture(name: &str) -> String {
    fixtures().join(name).display().to_string()
}

#[test]
fn every_file_is_told_by_a_document_that_fits_its_schema_or_refused_with_a_reason() {
    let schema: Value = serde_json::from_str(include_str!("../../../../schemas/import-2.schema.json")).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let run = Run::new();
    let (mut told, mut refused) = (0, 0);
    for entry in fs::read_dir(fixtures()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() || path.extension().is_some_and(|ending| ending == "hex" || ending == "md") {
            continue;
        }
        let name = path.display().to_string();
        let said = run.punctual(&["report", &name, "--json"]);
        if said.code == 1 {
            said.refused(&[&name, "import:"]);
            refused += 1;
            continue;
        }
        let document: Value = serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:?}"));
        let errors: Vec<String> =
            validator.iter_errors(&document).map(|e| format!("{}: {e}", e.instance_path)).collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
        // A long path makes the line wrap.
        let text = run.punctual(&["report", &name]).out.replace('\n', " ");
        assert!(text.contains("imported as") && !text.to_lowercase().contains("worst case"), "{text}");
        told += 1;
    }
    assert!(told > 20 && refused > 3, "{told} told, {refused} refused");
}

/// Of the 270 values of the first thread, four lie beyond the last cell, and p99 is the largest but two.
#[test]
fn a_percentile_beyond_the_cells_has_a_lower_bound() {
    let document = Run::new().json(&["report", &fixture("cyclictest-sparse.txt"), "--json"]);
    let thread = &document["cpus"][0];
    assert_eq!(thread["ran"], 270, "{thread}");
    // The last cell ends at 64 999 ns. The median lies in a cell, and p99.9 would take 1000 values.
    assert_eq!(thread["latency_at_least"], serde_json::json!([{"ppm": 990_000, "at_least_ns": 65_000}]), "{thread}");
}

#[test]
fn what_was_repaired_or_doubted_stands_in_the_notes() {
    let run = Run::new();
    let document = run.json(&["report", &fixture("xenomai-latency-211h.txt"), "--json"]);
    let notes = document["notes"].to_string();
    assert!(notes.contains("2^32") && notes.contains("4294972386"), "{notes}");
    assert_eq!(document["cpus"][0]["ran"], 3_303_977_614u64 + (1 << 32));
    assert_eq!(document["cpus"][0]["latency_ns"]["max"], 23_110);
    // Thread 0 has 4 of 270 values above its histogram, so its p99 is among those that were only counted.
    let sparse = run.json(&["report", &fixture("cyclictest-sparse.txt"), "--json"]);
    assert_eq!(sparse["cpus"][0]["latency_ns"]["p99"], Value::Null);
    assert_eq!(sparse["cpus"][0]["latency_at_least"][0], json!({ "ppm": 990_000, "at_least_ns": 65_000 }));
    let numbers = run.path("numbers");
    fs::write(&numbers, "5\n9\n7\n").unwrap();
    run.punctual(&["report", "numbers"]).refused(&["numbers", "--from latencies or --from periods"]);
    run.punctual(&["report", "numbers", "--from", "latencies"]).refused(&["--unit"]);
    let told = run.json(&["report", "numbers", "--from", "latencies", "--unit", "us", "--json"]);
    assert_eq!(told["cpus"][0]["latency_ns"]["max"], 9_000);
    run.punctual(&["report", "numbers", "--from", "cyclicbench"]).refused(&["cyclicbench", "rtla"]);
    let words = ["report", "numbers", "--html", "x.html", "--from", "latencies", "--unit", "us"];
    assert_eq!((run.punctual(&words).code, run.punctual(&words).code), (0, 1), "a page is not overwritten");
    assert!(fs::read_to_string(run.path("x.html")).unwrap().contains("imported as latencies"));
}

#[test]
fn a_recording_is_exported_and_read_back_with_the_same_counts() {
    let run = Run::new();
    let recording = run.recording("400ms");
    let ours = run.json(&["report", recording, "--json"]);
    let said = run.punctual(&["export", recording, "--format", "cyclictest", "--out", "ct.txt"]);
    assert_eq!((said.code, said.out.as_str()), (0, ""), "{said:?}");
    let theirs = run.json(&["report", "ct.txt", "--json"]);
    assert_eq!(theirs["format"], "cyclictest");
    assert_eq!(theirs["cpus"][0]["ran"], ours["cpus"][0]["ran"]);
    let max = ours["cpus"][0]["latency_ns"]["max"].as_u64().unwrap();
    assert_eq!(theirs["cpus"][0]["latency_ns"]["max"].as_u64().unwrap(), max / 1_000 * 1_000);
    run.punctual(&["export", recording, "--format", "csv", "--out", "ct.txt"]).refused(&["ct.txt"]);
    // The file for Prometheus's collector is replaced in one step, which leaves no other file behind.
    for _ in 0..2 {
        assert_eq!(run.punctual(&["export", recording, "--format", "prometheus", "--out", "l.prom"]).code, 0);
    }
    let left = fs::read_dir(run.dir.path())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains(".tmp"));
    assert_eq!(left.count(), 0);
}

#[test]
fn a_log_that_was_exported_is_a_result_again_and_what_a_format_has_no_place_for_is_said() {
    let run = Run::new();
    let file = fixture("latmus-rk3588-2h.txt");
    assert_eq!(run.punctual(&["export", &file, "--format", "hdr", "--out", "r.hlog"]).code, 0);
    let theirs = run.json(&["report", "r.hlog", "--json"]);
    assert_eq!((&theirs["format"], &theirs["cpus"][0]["ran"]), (&"hdr".into(), &7_309_414.into()));
    assert_eq!(
        (&theirs["cpus"][0]["cpu"], &theirs["duration"]["length_ns"]),
        (&4.into(), &7_310_000_000_000u64.into())
    );
    run.punctual(&["export", &file, "--format", "csv", "--run", "a"]).refused(&["--format parquet"]);
    let wanted = if cfg!(feature = "parquet") { "--out" } else { "cargo build --release --features parquet" };
    run.punctual(&["export", &file, "--format", "parquet"]).refused(&[wanted]);
}

#[test]
fn files_of_other_programs_are_drawn_alone_and_over_recordings() {
    let run = Run::new();
    let recording = run.recording("400ms");
    for file in ["xenomai-latency-211h.txt", "latmus-rk3588-2h.txt"].map(fixture) {
        for (number, chart) in ["histogram", "exceedance"].into_iter().enumerate() {
            for with in [&[][..], &["--with", recording]] {
                let picture = run.path(&format!("{number}{}.svg", with.len())).display().to_string();
                let words = ["report", &file, "--chart", chart, "--plot", &picture];
                let said = run.punctual(&[&words[..], with].concat());
                assert_eq!((said.code, said.out.as_str()), (0, ""), "{said:?}");
                let svg = fs::read_to_string(&picture).unwrap();
                assert!(svg.starts_with("<svg xmlns=") && svg.contains(&format!("class=\"{chart}\"")), "{svg}");
                fs::remove_file(&picture).unwrap();
                let text = run.punctual(&[&["report", &file, "--chart", chart, "--plot"][..], with].concat()).out;
                assert!(text.is_ascii() && text.lines().count() > 22, "{text}");
            }
        }
        run.punctual(&["report", &file, "--plot", "--chart", "over-time"]).refused(&["does not say when"]);
        run.punctual(&["report", recording, "--plot", "--with", &file, "--chart", "over-time"])
            .refused(&["measured by another program"]);
        run.punctual(&["report", &file, "--between", "+1s", "+2s"]).refused(&["--between is for recordings"]);
    }
}

#[test]
fn what_a_file_says_itself_is_not_overridden_and_skips_have_a_column() {
    let run = Run::new();
    let recording = run.recording("300ms");
    run.punctual(&["report", recording, "--unit", "ms"]).refused(&[recording, "leave --unit and --period out"]);
    run.punctual(&["export", recording, "--format", "csv", "--period", "1ms"]).refused(&[recording, "--period"]);
    let latmus = fixture("latmus-rk3588-2h.txt");
    run.punctual(&["report", &latmus, "--unit", "ms"]).refused(&["in us, not in ms; leave --unit out"]);
    // With several files, `--unit` applies to those that do not state theirs.
    fs::write(run.path("numbers"), "5000\n9000\n7000\n").unwrap();
    let several = ["compare", latmus.as_str(), "numbers", "--from", "latencies", "--unit", "ns", "--anyway"];
    let said = run.punctual(&several);
    assert!(said.out.contains("numbers"), "{said:?}");
    run.punctual(&["report", "-"]).refused(&["/dev/stdin"]);
    let instants: Vec<String> = (0..100).filter(|k| k % 10 != 3).map(|k| (1_000 * k).to_string()).collect();
    fs::write(run.path("instants.csv"), format!("timestamp_us\n{}\n", instants.join("\n"))).unwrap();
    let text = run.punctual(&["report", "instants.csv"]).out;
    // On a narrow terminal the last column is printed below.
    let is_counted = |line: &str| line.contains("the activations") && line.trim_end().ends_with(" 10");
    assert!(text.contains("skipped") && text.lines().any(is_counted), "{text}");
}

/// Reads exported files with public programs: packages for `HdrHistogram`, Prometheus, `JUnit` XML and TAP, `DuckDB`
/// and Arrow, and Prometheus's own tool. `cargo xtask ci formats` runs this test.
#[test]
#[ignore = "installs packages from Python's index and Debian's archive"]
fn public_readers_read_what_is_exported() {
    let run = Run::new();
    let file = fixture("cyclictest-dense.txt");
    let formats = [
        ("hdr", "r.hlog"),
        ("prometheus", "r.prom"),
        ("junit", "r.xml"),
        ("ktap", "r.ktap"),
        ("lava", "r.lava"),
        ("parquet", "r.parquet"),
    ];
    for (format, name) in formats {
        let said = run.punctual(&["export", &file, "--format", format, "--budget", "400us", "--out", name]);
        assert_eq!(said.code, 0, "{said:?}");
    }
    let recording = run.recording("2500ms");
    let fleet = ["export", recording, "--format", "parquet", "--out", "ours.parquet", "--machine-name", "board 7"];
    assert_eq!(run.punctual(&fleet).code, 0);
    assert_eq!(run.punctual(&["export", recording, "--format", "hdr", "--out", "ours.hlog"]).code, 0);
    let compared = run.punctual(&["compare", &file, &file, "--budget", "400us", "--junit", "compared.xml"]);
    assert!(compared.code != 1, "{compared:?}");
    fs::write(run.path("audit.xml"), run.punctual(&["audit", "--junit"]).out).unwrap();
    let read = read_by_python(&run);
    let ours = run.json(&["report", &file, "--json"]);
    for (index, tag) in ["thread_0", "thread_1"].into_iter().enumerate() {
        held_against_readers(&ours["cpus"][index], tag, &read);
    }
    assert_eq!(read["junit"], serde_json::json!({ "tests": 2, "failures": 1, "names": ["thread 0", "thread 1"] }));
    assert_eq!(read["schema"], serde_json::json!({ "r.xml": [], "compared.xml": [], "audit.xml": [] }));
    assert!(read["must_not_fit"].as_u64() > Some(0), "a schema that takes everything says nothing");
    assert_eq!(read["ktap"]["plan"], serde_json::json!([2]));
    assert_eq!(read["ktap"]["unknown"], 0);
    let tests = serde_json::json!([[1, false, false, "latency.thread_0"], [2, true, false, "latency.thread_1"]]);
    assert_eq!(read["ktap"]["tests"], tests);
    assert_eq!(read["lava"]["thread_0-within-budget"], serde_json::json!(["fail", null, null]));
    let max = format!("{}.000", ours["cpus"][1]["latency_ns"]["max"].as_u64().unwrap() / 1_000);
    assert_eq!(read["lava"]["thread_1-max-latency"], serde_json::json!(["pass", max, "us"]));
    let ran = run.json(&["report", recording, "--json"])["cpus"][0]["ran"].clone();
    let told = read["duckdb"]["runs"].as_array().unwrap();
    assert!(told.contains(&serde_json::json!(["cyclictest-dense", null, 2, ours["total"]["ran"]])), "{told:?}");
    assert!(told.iter().any(|row| row[1] == "board 7" && row[3] == ran), "{told:?} {ran}");
    assert_eq!(read["duckdb"]["types"][0], "TIMESTAMP WITH TIME ZONE");
    let sums: Vec<u64> = serde_json::from_value(read["pyarrow"]["ours.parquet"]["sums"].clone()).unwrap();
    assert_eq!(Some(sums.iter().sum::<u64>()), ran.as_u64());
    let log = fs::read_to_string(run.path("ours.hlog")).unwrap();
    held_over_time(&log, &read["hdr_over_time"], &ran);
    promtool(&run, &run.path("r.prom"));
}

/// Checks that the intervals of an HDR log follow each other from the start of the run and hold all activations that
/// ran. `intervals` are `(tag, from, to, count)`, in milliseconds since 1970.
fn held_over_time(log: &str, intervals: &Value, ran: &Value) {
    let intervals: Vec<(String, f64, f64, u64)> = serde_json::from_value(intervals.clone()).unwrap();
    let started = log.lines().find_map(|line| line.strip_prefix("#[StartTime: ")?.split_once(' ')).unwrap().0;
    let mut at = started.parse::<f64>().unwrap() * 1e3;
    assert!(intervals.len() > 1, "{intervals:?}");
    for (tag, from, to, _) in &intervals {
        assert!(tag == "CPU_0" && from <= to && (from - at).abs() < 2.0, "{at} {intervals:?}");
        at = *to;
    }
    assert_eq!(Some(intervals.iter().map(|(.., count)| count).sum::<u64>()), ran.as_u64());
}

/// Compares the cells of a series with the cells that readers of histograms found in the export.
fn held_against_readers(series: &Value, tag: &str, read: &Value) {
    let cells: Vec<(u64, u64)> = series["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| (cell["low_ns"].as_u64().unwrap() / 1_000, cell["count"].as_u64().unwrap()))
        .collect();
    // The reader puts the values beyond the histogram at the maximum, which is its last entry.
    let mut theirs: Vec<(u64, u64)> = serde_json::from_value(read["hdr"][tag].clone()).unwrap();
    let last = theirs.pop().unwrap();
    assert_eq!(theirs, cells);
    assert_eq!(last.1, series["beyond"]["count"].as_u64().unwrap());
    let below: u64 = cells.iter().filter(|(us, _)| *us < 20).map(|(_, count)| count).sum();
    for reader in ["prometheus", "openmetrics"] {
        let metrics = &read[reader][series["label"].as_str().unwrap()];
        assert_eq!(metrics["count"].as_u64(), series["ran"].as_u64(), "{reader}");
        assert_eq!(metrics["infinity"].as_u64(), series["ran"].as_u64(), "{reader}");
        assert_eq!(metrics["20us"].as_u64(), Some(below), "{reader}");
    }
    let row = read["duckdb"]["cells"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row[0] == "cyclictest-dense" && row[1] == series["label"]);
    assert_eq!(row.unwrap()[2], series["ran"]);
}

fn python(program: &Path, words: &[&str]) -> String {
    let done = Command::new(program).args(words).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{} {words:?}: {said}", program.display());
    String::from_utf8(done.stdout).unwrap()
}

fn read_by_python(run: &Run) -> Value {
    let venv = run.path("venv");
    python(Path::new("python3"), &["-m", "venv", &venv.display().to_string()]);
    let own = venv.join("bin/python");
    let packages =
        ["hdrhistogram", "prometheus_client", "junitparser", "tap.py", "duckdb", "pyarrow", "pytz", "xmlschema"];
    python(&own, &[["-m", "pip", "install", "-q"].as_slice(), &packages].concat());
    let sources = run.path("sources").display().to_string();
    let download = ["-m", "pip", "-q", "download", "--no-deps", "--no-binary", "pytest", "--dest", &sources];
    python(&own, &[download.as_slice(), &["pytest==8.4.2"]].concat());
    let read = python(&own, &["-c", include_str!("read_exports.py"), &run.dir.path().display().to_string()]);
    // A package may print lines of its own before the result.
    serde_json::from_str(read.lines().last().unwrap()).unwrap()
}

/// Checks that Prometheus's own tool has no complaint. If the tool is not installed, it is unpacked from Debian's
/// package.
fn promtool(run: &Run, metrics: &Path) {
    let there = Command::new("promtool").arg("--version").output().is_ok_and(|output| output.status.success());
    let tool = if there { PathBuf::from("promtool") } else { unpacked(run, "prometheus").join("usr/bin/promtool") };
    let file = fs::File::open(metrics).unwrap();
    let done = Command::new(&tool).args(["check", "metrics"]).stdin(file).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned() + &String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && said.trim().is_empty(), "{}: {said}", tool.display());
}

/// Unpacks a Debian package and returns the folder of its files.
fn unpacked(run: &Run, package: &str) -> PathBuf {
    let folder = run.path("debian");
    fs::create_dir(&folder).unwrap();
    let fetched = Command::new("apt-get").args(["download", package]).current_dir(&folder).output().unwrap();
    assert!(fetched.status.success(), "apt-get download {package}: {}", String::from_utf8_lossy(&fetched.stderr));
    let found = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).next().unwrap();
    python(Path::new("dpkg-deb"), &["-x", &found.display().to_string(), &folder.display().to_string()]);
    folder
}
