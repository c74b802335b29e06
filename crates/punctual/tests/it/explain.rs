//! Tests of explanations. The recordings are generated frame by frame, so that any machine can run the tests.

use crate::made_up;
use crate::run::Run;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::recording::{End, EndReason, Frame, Header, Mark, MarkKind, RecTime, encode, encode_preamble};
use punctual_numbers::scenario::{Amount, LoadPhase, Policy, Scenario};
use punctual_numbers::trace::{
    Address, Context, Kept, LateList, LateTotal, Names, RefusedRung, Rung, TraceEvent, TraceRecord, TraceTotal,
    Tracing, Vector, Window,
};
use std::fs;

const EPOCH: MonoTime = MonoTime::from_ns(5_000_000_000_000);
const OURS: i32 = 70;
const HOG: i32 = 60;

fn header() -> Frame {
    let phase = |loads: &[&str]| LoadPhase { loads: loads.iter().map(|&load| load.to_owned()).collect(), parts: 1 };
    let length = Nanos::from_secs(10);
    let plain = Scenario::plain([1], Nanos::from_ms(1), Policy::Fifo(90), Amount::Time(length));
    Frame::Header(Box::new(Header {
        epoch: EPOCH,
        scenario: Scenario { load_phases: vec![phase(&[]), phase(&["cpu"])], ..plain },
        machine: vec![("kernel", "6.12.9").into()],
        ..made_up::header(1, length)
    }))
}

fn tracing() -> Frame {
    Frame::Tracing(Tracing {
        rung: Rung::Tracefs,
        refused: vec![RefusedRung { rung: Rung::Timerlat, why: "not in this kernel".to_owned() }],
        phases: vec![1],
        events: vec!["sched:sched_switch".to_owned()],
        blind: Vec::new(),
        clock: "mono".to_owned(),
        buffer_bytes: 1 << 20,
        threshold: Some(Nanos::from_us(50)),
        windows_max: 100,
        self_test: Vec::new(),
    })
}

/// A window in which a thread of higher priority runs for the time `hog`, after our timer has expired and our thread
/// was woken.
pub fn hogged(slot: u32, at: Nanos, hog: Nanos) -> Window {
    let release = EPOCH.plus(at);
    let us = |us| release.plus(Nanos::from_us(us));
    let late = us(5).plus(hog);
    let at = |at, tid, what| TraceRecord { at, tid, context: Context::default(), what };
    let switch =
        |prev, prev_prio, next, next_prio| TraceEvent::Switch { prev, prev_prio, prev_state: 1, next, next_prio };
    let (timer, function) = (Address(0x77), Address(0x88));
    let expires = i64::try_from(release.as_ns()).unwrap();
    let records = vec![
        at(release.minus(Nanos::from_us(600)), OURS, TraceEvent::HrtimerStart { timer, function, expires }),
        at(release.minus(Nanos::from_us(590)), OURS, switch(OURS, 9, HOG, 4)),
        at(us(1), HOG, TraceEvent::VectorEntry { vector: Vector::LocalTimer }),
        at(us(2), HOG, TraceEvent::HrtimerEntry { timer, function }),
        at(us(3), HOG, TraceEvent::Waking { tid: OURS, prio: 9, target: 1 }),
        at(us(4), HOG, TraceEvent::HrtimerExit { timer }),
        at(us(5), HOG, TraceEvent::VectorExit { vector: Vector::LocalTimer }),
        at(late, HOG, switch(HOG, 4, OURS, 9)),
        at(late.plus(Nanos::from_us(2)), OURS, switch(OURS, 9, 0, 120)),
    ];
    Window {
        slot,
        kept: Kept::Worst,
        cpu: 1,
        tid: OURS,
        release,
        woke: late.plus(Nanos::from_us(1)),
        phase: 1,
        records,
        elsewhere: Vec::new(),
        names: Names {
            tasks: [(HOG, "hog95".to_owned()), (OURS, "punctual".to_owned())].into(),
            functions: [(function, "hrtimer_wakeup".to_owned())].into(),
            ..Names::default()
        },
        incomplete: None,
        around: None,
    }
}

fn recorded(run: &Run, windows: u32) -> &'static str {
    let total = LateTotal {
        cpu: 1,
        count: u64::from(windows),
        latency: Nanos::from_us(u64::from(windows) * 506),
        threshold: Nanos::from_us(50),
        passed_over: 0,
    };
    let mark = |kind, at| Frame::Mark(Mark { at: RecTime::after_epoch(Nanos::from_secs(at)), kind });
    let mut frames = vec![header(), tracing(), mark(MarkKind::PhaseStart(0), 0), mark(MarkKind::PhaseEnd(0), 5)];
    frames.extend([mark(MarkKind::PhaseStart(1), 5), mark(MarkKind::PhaseEnd(1), 10)]);
    frames.extend((0..windows).map(|n| {
        let at = Nanos::from_ms(5_000 + u64::from(n) * 37);
        Frame::Window(Box::new(hogged(n, at, Nanos::from_ns(500_000 + u64::from(n)))))
    }));
    frames.push(Frame::Late(LateList { late: Vec::new(), totals: vec![total] }));
    frames.push(Frame::TraceTotals(vec![TraceTotal { cpu: 1, records: 90, lost: 0, bytes: 4_000 }]));
    frames.push(Frame::End(End {
        at: RecTime::after_epoch(Nanos::from_secs(10)),
        reason: EndReason::Completed,
        write_error: None,
    }));
    let mut bytes = Vec::new();
    encode_preamble(&mut bytes);
    for frame in &frames {
        encode(frame, &mut bytes).unwrap();
    }
    fs::write(run.path("causes.punctual"), bytes).unwrap();
    "causes.punctual"
}

fn fits(schema: &str, document: &serde_json::Value) {
    let validator = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    let errors: Vec<String> = validator.iter_errors(document).map(|e| format!("{}: {e}", e.instance_path)).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn a_recording_is_explained_in_every_form() {
    let run = Run::new();
    let file = recorded(&run, 40);
    let said = run.punctual(&["explain", file, "--html", "page.html", "--perfetto", "trace.perfetto"]);
    assert_eq!(said.code, 0, "{said:?}");
    for part in ["40 activations were late", "thread of higher priority hog95", "real-time 95", "page.html"] {
        assert!(said.out.contains(part), "no '{part}' in {}", said.out);
    }
    let page = fs::read_to_string(run.path("page.html")).unwrap();
    assert!(page.contains("hog95") && page.contains("class=\"lanes") && page.trim_end().ends_with("</html>"));
    let trace = fs::read(run.path("trace.perfetto")).unwrap();
    assert!(trace.windows(5).any(|bytes| bytes == b"hog95"));
    let one = run.punctual(&["explain", file, "--spike", "1"]);
    assert!(one.code == 0 && one.out.contains("waiting for the CPU"), "{one:?}");

    let document = run.json(&["explain", file, "--json"]);
    fits(include_str!("../../../../schemas/explain-2.schema.json"), &document);
    assert_eq!(document["schema"], "punctual/explain/2");
    assert_eq!(document["causes"][0]["name"], "hog95");
    assert_eq!(document["spikes"][0]["causes"][0]["class"], "higher-priority");
    let hog = document["spikes"][0]["causes"][0]["time_ns"].as_u64().unwrap();
    assert!(hog.abs_diff(500_000) < 5_000, "{hog}");
}

#[test]
fn the_document_of_a_long_recording_leaves_out_windows_unless_all_are_asked_for() {
    let run = Run::new();
    let file = recorded(&run, 2_000);
    let [short, full] = [&[][..], &["--full"]].map(|more| {
        let said = run.punctual(&[&["explain", file, "--json"], more].concat());
        let document: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        fits(include_str!("../../../../schemas/explain-2.schema.json"), &document);
        (said.out.len(), document)
    });
    assert!(short.0 <= 500_000 && full.0 > 3_000_000, "{} and {} bytes", short.0, full.0);
    let (shown, all) = (short.1["spikes"].as_array().unwrap(), full.1["spikes"].as_array().unwrap());
    assert!(all.len() == 2_000 && shown.len() > 100 && all.starts_with(shown), "{} of {}", shown.len(), all.len());
    let left_out = |document: &serde_json::Value| document["windows_left_out"].as_u64().unwrap();
    assert_eq!((left_out(&short.1), left_out(&full.1)), (2_000 - shown.len() as u64, 0));
    for kept in ["causes", "late", "all_late", "thresholds", "traces", "explained", "complete"] {
        assert_eq!(short.1[kept], full.1[kept], "{kept}");
    }
}

#[test]
fn a_report_tells_the_causes_apart_from_the_headline() {
    let run = Run::new();
    let file = recorded(&run, 40);
    let said = run.punctual(&["report", file]);
    assert!(said.out.contains("hog95") && said.out.contains("from a separate pass with tracing"), "{said:?}");
    let document = run.json(&["report", file, "--json"]);
    fits(include_str!("../../../../schemas/report-3.schema.json"), &document);
    assert_eq!(document["causes"]["apart"], true);
    assert_eq!(document["causes"]["causes"][0]["name"], "hog95");
}

#[test]
fn what_cannot_be_explained_says_why_and_what_to_do() {
    let run = Run::new();
    let plain = run.recording("300ms");
    run.punctual(&["explain", plain]).refused(&["r.punctual contains no causes", "measure --explain"]);
    run.punctual(&["explain", "gone.punctual"]).refused(&["gone.punctual"]);
    let file = recorded(&run, 3);
    run.punctual(&["explain", file, "--spike", "4"])
        .refused(&["3 late activations", "--spike takes a number from 1 to 3"]);
    fs::write(run.path("there.html"), "mine").unwrap();
    run.punctual(&["explain", file, "--html", "there.html"]).refused(&["there.html", "another path"]);
    assert_eq!(fs::read_to_string(run.path("there.html")).unwrap(), "mine");
    let cut = fs::read(run.path(file)).unwrap();
    fs::write(run.path("cut.punctual"), &cut[..cut.len() - 40]).unwrap();
    let mut damaged = cut.clone();
    damaged[cut.len() - 40] ^= 1;
    fs::write(run.path("damaged.punctual"), damaged).unwrap();
    for (file, wants) in
        [("cut.punctual", "No: The recording is cut off;"), ("damaged.punctual", "No: The recording is damaged")]
    {
        let said = run.punctual(&["explain", file]);
        assert!(said.code == 3 && said.out.contains(wants), "{said:?}");
        let said = run.punctual(&["explain", file, "-q"]);
        assert!(said.code == 3 && said.out.contains(" trust=no file=") && said.out.lines().count() == 1, "{said:?}");
    }
    let said = run.punctual(&["explain", file, "-q"]);
    let starts = "CAUSE cause=thread-of-higher-priority-hog95 share=";
    assert!(said.out.starts_with(starts) && said.out.ends_with(" late=3 trust=yes file=causes.punctual\n"), "{said:?}");
}
