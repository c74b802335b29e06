//! Measures the time and memory it takes to explain 10 000 windows of 300 records, from the bytes of the file to the
//! explanation.
//!
//! `cargo test --release -p punctual-numbers --test explain_cost -- --ignored --nocapture` prints both, and fails
//! beyond two seconds or 200 MB. The test is ignored by default, because times are meaningful only in a release build
//! on a quiet machine.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "the figures are what it is for")]

mod cost;
mod header;

use cost::{cpu_seconds, forget_peak, peak_kb, read};
use header::header;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::explain::Explanation;
use punctual_numbers::recording::{Frame, encode, encode_preamble};
use punctual_numbers::trace::{
    Address, Context, IrqLine, Kept, Late, LateList, LateTotal, Names, Rung, TraceEvent, TraceRecord, Tracing, Vector,
    Window,
};

const WINDOWS: u32 = 10_000;
const RECORDS: u64 = 300;

/// The records of 10 us of work on a busy machine: an interrupt, its softirq, and the switches to and from a task.
fn noise(round: u64, at: MonoTime) -> Vec<TraceRecord> {
    let tid = 50 + i32::try_from(round % 20).unwrap();
    let irq = u32::try_from(30 + round % 8).unwrap();
    let what = [
        (0, TraceEvent::IrqEntry { irq }),
        (900, TraceEvent::Waking { tid, prio: 120, target: 1 }),
        (1_300, TraceEvent::IrqExit { irq }),
        (1_500, TraceEvent::SoftirqEntry { vector: 3 }),
        (2_600, TraceEvent::SoftirqExit { vector: 3 }),
        (3_000, TraceEvent::Switch { prev: 0, prev_prio: 120, prev_state: 0, next: tid, next_prio: 120 }),
        (9_000, TraceEvent::Switch { prev: tid, prev_prio: 120, prev_state: 1, next: 0, next_prio: 120 }),
    ];
    let current =
        |what: &TraceEvent| if matches!(what, TraceEvent::Switch { prev, .. } if *prev != 0) { tid } else { 0 };
    let record = |(after, what): (u64, TraceEvent)| TraceRecord {
        at: at.plus(Nanos::from_ns(after)),
        tid: current(&what),
        context: Context { flags: 0x09, preempt: 1 },
        what,
    };
    what.into_iter().map(record).collect()
}

fn window(slot: u32) -> Window {
    let release = MonoTime::from_ns(2_000_000_000 + u64::from(slot) * 337_000_000 / 1_000_000 * 1_000_000);
    let (timer, function) = (Address(0xffff_8881_0000_1040), Address(0xffff_ffff_8112_3450));
    let mut records = Vec::new();
    let mut round = u64::from(slot);
    // The last third of the records lies between release and wake-up.
    let mut at = release.minus(Nanos::from_us(280));
    let ordinary = slot % 50 == 0;
    let records_max = if ordinary { RECORDS * 2 / 3 } else { RECORDS };
    while records.len() as u64 + 8 < records_max {
        records.extend(noise(round, at));
        at = at.plus(Nanos::from_us(10));
        round += 1;
    }
    let ours = |after: u64, what| TraceRecord {
        at: at.plus(Nanos::from_ns(after)),
        tid: 0,
        context: Context { flags: 0x09, preempt: 1 },
        what,
    };
    records.extend([
        ours(0, TraceEvent::VectorEntry { vector: Vector::LocalTimer }),
        ours(400, TraceEvent::HrtimerEntry { timer, function }),
        ours(700, TraceEvent::Waking { tid: 900, prio: 9, target: 1 }),
        ours(2_000, TraceEvent::HrtimerExit { timer }),
        ours(3_000, TraceEvent::VectorExit { vector: Vector::LocalTimer }),
        ours(4_000, TraceEvent::Switch { prev: 0, prev_prio: 120, prev_state: 0, next: 900, next_prio: 9 }),
    ]);
    let line = |irq| (irq, IrqLine { action: format!("nvme0q{irq}"), affinity: "0-3".to_owned(), managed: true });
    let names = Names {
        tasks: (50..70).map(|tid| (tid, format!("worker-{tid}"))).chain([(900, "probe".to_owned())]).collect(),
        kernel_threads: Vec::new(),
        irqs: (30..38).map(line).collect(),
        functions: [(function, "hrtimer_wakeup".to_owned())].into(),
    };
    Window {
        slot,
        kept: if ordinary { Kept::Ordinary } else { Kept::Sampled },
        cpu: slot % 4,
        tid: 900,
        release,
        woke: at.plus(Nanos::from_us(6)),
        phase: 0,
        records,
        elsewhere: Vec::new(),
        names,
        incomplete: None,
        around: None,
    }
}

fn bytes() -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_preamble(&mut bytes);
    let mut put = |frame: Frame| encode(&frame, &mut bytes).unwrap();
    let mut header = header(4, Nanos::from_secs(3600));
    header.machine = vec![("virtualisation", "none").into()];
    header.clock.tick = Nanos::from_ms(4);
    put(Frame::Header(Box::new(header)));
    put(Frame::Tracing(Tracing {
        rung: Rung::Tracefs,
        refused: Vec::new(),
        phases: vec![0],
        events: Vec::new(),
        blind: Vec::new(),
        clock: "mono".to_owned(),
        buffer_bytes: 0,
        threshold: None,
        windows_max: WINDOWS,
        self_test: Vec::new(),
    }));
    for slot in 0..WINDOWS {
        let window = window(slot);
        let late = Late { cpu: window.cpu, release: window.release, latency: window.woke.since(window.release) };
        let total = LateTotal { cpu: late.cpu, count: 1, latency: late.latency, ..LateTotal::default() };
        put(Frame::Late(LateList { late: vec![late], totals: vec![total] }));
        put(Frame::Window(Box::new(window)));
    }
    bytes
}

#[test]
#[ignore = "measures time and memory: in a release build, by itself"]
fn ten_thousand_windows_are_explained_in_two_seconds_and_200_mb() {
    // The recording is read from a file, so that its bytes do not count as memory of this process.
    let path = std::env::temp_dir().join(format!("punctual-explain-cost-{}", std::process::id()));
    std::fs::write(&path, bytes()).unwrap();
    forget_peak();
    let before = peak_kb();
    let started = cpu_seconds();
    let recording = read(&path);
    let reading = cpu_seconds() - started;
    let explanation = Explanation::of(&recording);
    let all = cpu_seconds() - started;
    let peak = peak_kb();
    let size = std::fs::metadata(&path).unwrap().len();
    std::fs::remove_file(&path).unwrap();
    let records: usize = recording.causes.windows.iter().map(|window| window.records.len()).sum();
    println!("{} windows, {records} records, {size} bytes of file", recording.causes.windows.iter().count());
    println!("read {reading:.2} s, explained {:.2} s, together {all:.2} s of processor time", all - reading);
    println!("peak {} MB, before {} MB, {} causes", peak / 1024, before / 1024, explanation.causes.len());
    assert_eq!(explanation.spikes.len(), 9_800);
    assert!(all <= 2.0, "{all} s");
    assert!(peak <= 200 * 1024, "{peak} kB");
}
