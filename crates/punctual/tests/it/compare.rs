//! Tests of comparisons. The recordings are generated frame by frame, so that any machine can run the tests.

use crate::made_up;
use crate::run::Run;
use punctual_hist::{MonoTime, Nanos, bucket_index};
use punctual_numbers::recording::{
    CpuInterval, End, EndReason, Event, EventKind, Frame, Header, Interval, RecTime, encode, encode_preamble,
};
use punctual_numbers::scenario::{Amount, Mechanism, Policy, Scenario};
use std::fs;

fn header(cpu: u32, mechanism: Mechanism) -> Frame {
    let length = Nanos::from_secs(20);
    let plain = Scenario::plain([cpu], Nanos::from_ms(1), Policy::Fifo(90), Amount::Time(length));
    Frame::Header(Box::new(Header {
        epoch: MonoTime::from_ns(0),
        scenario: Scenario { mechanism, budget: Some(Nanos::from_us(100)), ..plain },
        machine: vec![("kernel", "6.12").into()],
        ..made_up::header(1, length)
    }))
}

/// Writes a recording in which `late` activations of each second exceed the budget.
fn write(run: &Run, name: &str, mechanism: Mechanism, seconds: u64, late: u64) {
    write_on(run, name, 1, mechanism, seconds, late);
}

fn write_on(run: &Run, name: &str, cpu: u32, mechanism: Mechanism, seconds: u64, late: u64) {
    let mut bytes = Vec::new();
    encode_preamble(&mut bytes);
    let mut put = |frame: Frame| encode(&frame, &mut bytes).unwrap();
    put(header(cpu, mechanism));
    let bucket = |us: u64| u16::try_from(bucket_index(us * 1000)).unwrap();
    for at in 0..seconds {
        // The latencies differ a little from second to second.
        let counts = [(5, 500 + at * 37 % 50), (8, 450 + at * 53 % 40), (20, 20), (250, late)];
        let sum: u64 = counts.iter().map(|(us, n)| us * n).sum();
        let ran = counts.into_iter().filter(|(_, n)| *n > 0).map(|(us, n)| (bucket(us), n)).collect();
        let cpu = CpuInterval {
            cpu,
            ran,
            ran_sum: Nanos::from_us(sum),
            ran_min: Some(Nanos::from_us(5)),
            ran_max: Some(Nanos::from_us(if late > 0 { 251 } else { 20 })),
            over_budget: late,
            ..CpuInterval::default()
        };
        let (start, length) = (Nanos::from_secs(at), Nanos::from_secs(1));
        put(Frame::Interval(Interval { start: RecTime::after_epoch(start), length, phase: 0, cpus: vec![cpu] }));
    }
    put(Frame::End(End {
        at: RecTime::after_epoch(Nanos::from_secs(seconds)),
        reason: EndReason::Completed,
        write_error: None,
    }));
    fs::write(run.path(name), bytes).unwrap();
}

fn three() -> Run {
    let run = Run::new();
    write(&run, "good.punctual", Mechanism::Absolute, 20, 0);
    write(&run, "same.punctual", Mechanism::Absolute, 20, 0);
    write(&run, "bad.punctual", Mechanism::Absolute, 20, 15);
    run
}

#[test]
fn worse_is_a_failure_only_where_it_was_asked_for() {
    let run = three();
    let code = |words: &[&str]| run.punctual(&[&["compare"], words].concat()).code;
    assert_eq!(code(&["good.punctual", "same.punctual"]), 0);
    assert_eq!(code(&["good.punctual", "bad.punctual"]), 0);
    assert_eq!(code(&["good.punctual", "bad.punctual", "--fail-on", "worse"]), 2);
    assert_eq!(code(&["--baseline", "good.punctual", "bad.punctual", "--fail-on", "worse"]), 2);
    assert_eq!(code(&["--baseline", "bad.punctual", "good.punctual", "same.punctual", "--fail-on", "worse"]), 0);
    write(&run, "short.punctual", Mechanism::Absolute, 2, 0);
    assert_eq!(code(&["good.punctual", "short.punctual", "--fail-on", "worse"]), 3, "not enough data is doubtful");
    assert_eq!(code(&["good.punctual", "short.punctual", "--fail-on", "unsure"]), 2);
}

#[test]
fn what_cannot_be_trusted_makes_a_comparison_doubtful_and_one_file_is_noticed() {
    let run = three();
    let mut bytes = fs::read(run.path("same.punctual")).unwrap();
    let length = Nanos::from_ms(350);
    let steal = Event { at: RecTime::from_secs(7), length, kind: EventKind::Steal, releases_lost: 0 };
    encode(&Frame::Event(steal), &mut bytes).unwrap();
    fs::write(run.path("stolen.punctual"), bytes).unwrap();
    for words in [["good.punctual", "stolen.punctual"], ["stolen.punctual", "good.punctual"]] {
        let said = run.punctual(&[["compare"].as_slice(), &words].concat());
        assert!(said.code == 3 && said.out.contains("not to be trusted:"), "{said:?}");
        assert!(!said.err.contains("the first file itself"), "{said:?}");
    }
    let said = run.punctual(&["compare", "good.punctual", "./good.punctual"]);
    assert!(said.code == 0 && said.err.contains("good.punctual is the first file itself"), "{said:?}");
}

/// Exported verdicts must not pass a recording whose report does not pass.
#[test]
fn a_gate_passes_only_what_can_be_trusted() {
    let run = three();
    let gate = |file: &str, format: &str| run.punctual(&["export", file, "--format", format]);
    let passed = gate("good.punctual", "ktap");
    assert!(passed.code == 0 && passed.out.contains("\nok 1 latency.cpu_1"), "{passed:?}");
    let json = run.json(&["export", "good.punctual", "--format", "rt-tests-json"]);
    assert_eq!(json["start_time"], "Tue, 14 Nov 2023 22:13:20 +0000");
    let failed = gate("bad.punctual", "ktap");
    assert!(failed.code == 0 && failed.out.contains(", 300 missed\nnot ok 1 latency.cpu_1\n"), "{failed:?}");
    write(&run, "short.punctual", Mechanism::Absolute, 2, 0);
    for (format, word) in [("ktap", "\nnot ok 1"), ("lava", "within-budget RESULT=unknown"), ("junit", "<error ")] {
        let said = gate("short.punctual", format);
        assert!(said.code == 3 && said.out.contains(word) && said.out.contains("too few for a verdict"), "{said:?}");
    }
    let cut = fixture("cut-cyclictest.txt");
    let said = run.punctual(&["export", &cut, "--format", "ktap", "--budget", "50us"]);
    assert!(said.code == 3 && said.out.contains("not ok 2 ") && !said.out.contains("\nok "), "{said:?}");
}

#[test]
fn every_form_says_the_same() {
    let run = three();
    let words = ["compare", "good.punctual", "bad.punctual", "--html", "c.html", "--junit", "c.xml"];
    let said = run.punctual(&words);
    assert!(said.out.contains("WORSE") && said.out.contains("misses/million"), "{said:?}");
    assert!(fs::read_to_string(run.path("c.html")).unwrap().contains("Worse"));
    let junit = fs::read_to_string(run.path("c.xml")).unwrap();
    assert!(junit.contains("<failure message=\"worse\""), "{junit}");
    let document = run.json(&["compare", "good.punctual", "bad.punctual", "--json"]);
    assert_eq!((&document["schema"], &document["verdict"]), (&"punctual/compare/3".into(), &"worse".into()));
    run.punctual(&words).refused(&["c.html", "exists"]);
}

#[test]
fn several_recordings_a_side_are_compared_by_how_runs_differ() {
    let run = three();
    for name in ["g1", "g2", "b1", "b2"] {
        let late = if name.starts_with('b') { 15 } else { 0 };
        write(&run, &format!("{name}.punctual"), Mechanism::Absolute, 20, late);
    }
    let words = ["--a", "g1.punctual", "g2.punctual", "--b", "b1.punctual", "b2.punctual"];
    let said = run.punctual(&[&["compare"], &words[..]].concat());
    assert!(said.out.contains("and 1 other run") && said.out.contains("WORSE"), "{said:?}");
    let document = compared(&run, &words);
    assert_eq!(document["others"][0]["design"]["kind"], "runs");
    assert_eq!(document["first"]["runs"].as_array().unwrap().len(), 2);
    run.punctual(&["compare", "--a", "g1.punctual", "--b", &fixture("cut-cyclictest.txt")])
        .refused(&["another program"]);
    run.punctual(&["compare", "--a", "g1.punctual"]).refused(&["--b"]);
}

#[test]
fn rounds_are_planned_kept_and_gone_on_with() {
    let run = Run::new();
    let begin = |a: &str, more: &[&str]| {
        let words =
            ["compare", "--interleave", a, "echo b >> did", "--rounds", "2", "--duration", "300ms", "--settle", "1ms"];
        run.beside_others(&[&words[..], &["--cpus", "0", "--seed", "7"], more].concat())
    };
    let planned = begin("echo a >> did", &["--dry-run"]);
    assert!(planned.code == 0 && planned.out.contains("measurements of 300"), "{planned:?}");
    let order =
        planned.out.lines().find_map(|line| line.strip_prefix("Order: ")).unwrap().replace(' ', "").to_lowercase();
    assert!(["abba", "baab"].contains(&order.as_str()), "{order}");
    assert!(!run.path("did").exists(), "a dry run runs nothing");
    // The command of A fails until the file `ready` exists.
    begin("test -e ready && echo a >> did", &["--out", "state"]).refused(&["sets up A failed", "compare --resume"]);
    fs::write(run.path("ready"), "").unwrap();
    fs::remove_file(run.path("did")).ok();
    let ended = run.beside_others(&["compare", "--resume", "state", "--json"]);
    assert!([0, 2, 3].contains(&ended.code), "{ended:?}");
    let document: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(document["others"][0]["design"], serde_json::json!({"kind": "rounds", "rounds": 2}));
    let did = fs::read_to_string(run.path("did")).unwrap().replace('\n', "");
    assert!(order.ends_with(&did), "{did} of {order}: what was done before counts");
    let again = run.beside_others(&["compare", "--resume", "state", "--json"]);
    assert!(again.code == ended.code, "{again:?}");
    run.beside_others(&["compare", "--resume", "nowhere"]).refused(&["nowhere"]);
    interrupted_rounds_are_gone_on_with();
}

/// Ctrl-C before the second measurement ends the rounds, and what it prevented is measured later. This is no test of its
/// own, because two campaigns on one machine refuse each other.
fn interrupted_rounds_are_gone_on_with() {
    let run = Run::new();
    // The second command that sets up a side sends the signal of Ctrl-C to the program that runs it.
    let side = |name: &str| format!("echo {name} >> did; test $(wc -l < did) -ne 2 || kill -INT $PPID");
    let (a, b) = (side("a"), side("b"));
    let begun = ["compare", "--interleave", &a, &b, "--rounds", "2", "--duration", "300ms", "--settle", "1ms"];
    let said = run.beside_others(&[&begun[..], &["--cpus", "0", "--out", "state"]].concat());
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.err.contains("Interrupted; to continue: punctual compare --resume "), "{said:?}");
    let measured = || {
        let kept = fs::read_to_string(run.path("state").join("turns.json")).unwrap();
        serde_json::from_str::<serde_json::Value>(&kept).unwrap()["measured"].clone()
    };
    assert_eq!(measured(), 1, "the first measurement is kept");
    let ended = run.beside_others(&["compare", "--resume", "state", "--json"]);
    assert!([0, 2, 3].contains(&ended.code) && measured() == 4, "{ended:?}");
    let document: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(document["others"][0]["design"], serde_json::json!({"kind": "rounds", "rounds": 2}));
}

#[test]
fn what_should_not_be_compared_is_refused_and_marked_on_demand() {
    let run = three();
    write(&run, "other.punctual", Mechanism::Relative, 20, 0);
    run.punctual(&["compare", "good.punctual", "other.punctual"]).refused(&[
        "other.punctual",
        "way to wait",
        "--anyway",
    ]);
    let said = run.punctual(&["compare", "good.punctual", "other.punctual", "--anyway", "--full"]);
    assert!(said.code == 3 && said.out.contains("Not comparable"), "{said:?}");
}

fn fixture(name: &str) -> String {
    format!("{}/../../fixtures/foreign/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The JSON document of a comparison, which must fit its schema.
fn compared(run: &Run, words: &[&str]) -> serde_json::Value {
    let schema = serde_json::from_str(include_str!("../../../../schemas/compare-3.schema.json")).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let document = run.json(&[&["compare", "--json"], words].concat());
    let errors: Vec<String> =
        validator.iter_errors(&document).map(|error| format!("{}: {error}", error.instance_path)).collect();
    assert!(errors.is_empty(), "{words:?}: {errors:#?}");
    document
}

#[test]
fn files_of_other_programs_are_compared_as_far_as_they_go() {
    let run = three();
    let compare = |words: &[&str]| compared(&run, words);
    // A recording that was exported in another program's format is no different from itself.
    let said = run.punctual(&["export", "good.punctual", "--format", "cyclictest", "--out", "ct.txt"]);
    assert_eq!(said.code, 0, "{said:?}");
    let same = compare(&["good.punctual", "ct.txt"]);
    assert_eq!(
        (&same["others"][0]["recording"]["format"], &same["verdict"]),
        (&"cyclictest".into(), &"not-enough-data".into())
    );
    assert_eq!(same["others"][0]["not_known"][0]["what"], "time");
    write(&run, "awful.punctual", Mechanism::Absolute, 20, 150);
    let words = ["ct.txt", "awful.punctual", "--budget", "100us"];
    let withheld = compare(&words);
    assert_eq!(
        (&withheld["verdict"], &withheld["others"][0]["basis"]),
        (&"not-enough-data".into(), &"independent".into())
    );
    assert_eq!(withheld["others"][0]["if_independent"], "worse", "{withheld:#}");
    let gate = |more: &[&str]| run.punctual(&[&["compare"], &words[..], &["--fail-on", "worse"], more].concat());
    let (assumed, granted) = (gate(&[]), gate(&["--as-if-independent"]));
    assert_eq!((assumed.code, granted.code), (3, 2), "{assumed:?} {granted:?}");
    assert!(assumed.out.contains("NOT DECIDED, WORSE IF INDEPENDENT") && assumed.out.contains("--as-if-independent"));
    assert!(granted.out.contains("WORSE, AS IF INDEPENDENT"), "{granted:?}");
    let worse = compare(&[&words[..], &["--as-if-independent"]].concat());
    assert_eq!(worse["verdict"], "worse", "{worse:#}");
    let text = run.punctual(&["compare", "ct.txt", "awful.punctual", "--full"]).out;
    assert!(text.contains("by cyclictest") && text.contains("not known:") && !text.contains("worst case"), "{text}");
    let pairs = [("latmus-rk3588-2h.txt", "latmus-rk3588-2h.txt"), ("cyclictest-dense.txt", "cyclictest.json")];
    for (a, b) in pairs {
        let document = compare(&[&fixture(a), &fixture(b), "--anyway"]);
        assert_eq!(document["others"][0]["groups"][0]["rows"][0]["what"], "percentile", "{document:#}");
    }
    run.punctual(&["compare", &fixture("oslat.txt"), "good.punctual"]).refused(&["what the values are", "--anyway"]);
    let numbers: Vec<String> = (0..20_000).map(|i| (5 + i % 7).to_string()).collect();
    fs::write(run.path("numbers"), numbers.join("\n") + "\n").unwrap();
    run.punctual(&["compare", "good.punctual", "numbers"]).refused(&["numbers", "--from latencies"]);
    let bare = compare(&["good.punctual", "numbers", "--from", "latencies", "--unit", "us"]);
    assert_eq!(bare["others"][0]["groups"][0]["due"][1], 20_000);
}

#[test]
fn what_makes_a_file_unfit_for_claims_makes_it_unfit_for_comparing() {
    let run = three();
    let list = fixture("hwlatdetect.txt");
    run.punctual(&["compare", &list, &list]).refused(&["this file only contains values above a threshold", "--anyway"]);
    assert_eq!(run.punctual(&["export", "good.punctual", "--format", "cyclictest", "--out", "ct.txt"]).code, 0);
    let text = fs::read_to_string(run.path("ct.txt")).unwrap();
    let stating = |name: &str, count: u32| {
        assert!(text.contains("\n# Total:"), "{text}");
        let total =
            |line: &str| if line.starts_with("# Total:") { format!("# Total: {count:09}") } else { line.to_owned() };
        fs::write(run.path(name), text.lines().map(total).collect::<Vec<_>>().join("\n") + "\n").unwrap();
    };
    // The file states fewer values than its rows hold.
    stating("doubted.txt", 100);
    run.punctual(&["compare", "ct.txt", "doubted.txt"]).refused(&["Of doubted.txt", "contradict", "--anyway"]);
    let words = ["compare", "ct.txt", "doubted.txt", "--anyway", "--full", "--html", "d.html", "--junit", "d.xml"];
    let said = run.punctual(&words);
    assert!(said.code == 3 && said.out.contains("Not comparable") && said.out.contains("of the second:"), "{said:?}");
    for form in
        [said.out, fs::read_to_string(run.path("d.html")).unwrap(), fs::read_to_string(run.path("d.xml")).unwrap()]
    {
        assert!(form.contains("contradict"), "{form}");
    }
    // The file states a fifth more values than its rows hold: the median is known, but all values above p80 may be
    // missing.
    stating("lossy.txt", 25_000);
    let document = compared(&run, &["ct.txt", "lossy.txt"]);
    let group = &document["others"][0]["groups"][0];
    assert_eq!((group["unfit"][0].is_null(), &group["unfit"][1]["code"]), (true, &"missing".into()));
    let rows = group["rows"].as_array().unwrap().iter();
    let refused: Vec<bool> =
        rows.filter(|row| row["what"] == "percentile").map(|row| row["withheld"] == "unfit").collect();
    assert_eq!(refused, [false, true, true, true, true], "{group:#}");
    assert_eq!(document["others"][0]["refused"], false);
    let said = run.punctual(&["compare", "ct.txt", "lossy.txt"]).out;
    assert!(said.contains("unfit: of the second:") && said.contains("  refused"), "{said}");
}

#[test]
fn fifty_recordings_one_file_twice_and_nothing_in_common() {
    let run = three();
    let all = ["same.punctual"; 49];
    let document = run.json(&[&["compare", "--json", "good.punctual"], &all[..]].concat());
    assert_eq!(document["others"].as_array().unwrap().len(), 49);
    assert_eq!(document["verdict"], "no-difference-shown");
    let twice = run.json(&["compare", "--json", "bad.punctual", "bad.punctual"]);
    assert!(["no-difference-shown", "not-enough-data"].contains(&twice["verdict"].as_str().unwrap()), "{twice:#}");
    write_on(&run, "elsewhere.punctual", 3, Mechanism::Absolute, 20, 0);
    run.punctual(&["compare", "good.punctual", "elsewhere.punctual"]).refused(&[
        "elsewhere.punctual",
        "only in the first: CPU 1",
        "only in the second: CPU 3",
    ]);
    run.punctual(&["merge", "good.punctual", "elsewhere.punctual", "--out", "m.punctual"])
        .refused(&["measured: CPU 1 there, CPU 3 here"]);
    run.punctual(&["merge", "good.punctual", "good.punctual", "--out", "m.punctual"]).refused(&["the same run"]);
    // The recording was cut off before its first interval.
    write(&run, "nothing.punctual", Mechanism::Absolute, 0, 0);
    run.punctual(&["compare", "good.punctual", "nothing.punctual"]).refused(&["nothing.punctual", "only in the first"]);
    run.punctual(&["merge", "good.punctual", "nothing.punctual", "--out", "m.punctual"])
        .refused(&["nothing.punctual", "before it measured anything"]);
    let text = fixture("cyclictest-dense.txt");
    run.punctual(&["merge", "good.punctual", &text, "--out", "m.punctual"]).refused(&["cyclictest-dense.txt"]);
    assert!(!run.path("m.punctual").exists());
}

#[test]
fn what_is_no_recording_is_refused_by_name() {
    let run = three();
    fs::write(run.path("text.punctual"), "no recording").unwrap();
    fs::write(run.path("empty.punctual"), "").unwrap();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    for name in ["text.punctual", "empty.punctual"] {
        fs::File::options().append(true).open(run.path(name)).unwrap().set_modified(later).unwrap();
    }
    let compare = |words: &[&str]| run.punctual(&[&["compare"], words].concat());
    // Files that cannot be shown are skipped, and the newest recording is taken.
    let said = compare(&["good.punctual"]);
    assert!(said.out.contains("against good.punctual") && said.code != 1, "{said:?}");
    for part in ["skipped empty.punctual: ", "skipped text.punctual: ", "taking the newest of this folder: "] {
        assert!(said.err.contains(part), "{part}: {said:?}");
    }
    compare(&["good.punctual", "nowhere.punctual"]).refused(&["nowhere.punctual"]);
    compare(&["good.punctual", "text.punctual"]).refused(&["text.punctual"]);
    compare(&["good.punctual", "empty.punctual"]).refused(&["empty.punctual"]);
    compare(&["good.punctual", "."]).refused(&["error"]);
    for margin in ["-1", "nan", "inf", "5000", "much"] {
        compare(&["good.punctual", "same.punctual", &format!("--margin={margin}")]).refused(&["percentage"]);
    }
    // A recording that was cut off in the middle is compared as far as it goes.
    let bytes = fs::read(run.path("bad.punctual")).unwrap();
    for part in 1..8 {
        fs::write(run.path("cut.punctual"), &bytes[..bytes.len() * part / 8]).unwrap();
        let said = compare(&["good.punctual", "cut.punctual"]);
        assert!(!said.err.contains("panicked") && said.code <= 3, "{said:?}");
    }
}
