//! What explaining costs: 10,000 windows of 300 records, from bytes to explanation, in time and memory.
//!
//! `cargo test --release -p punctual-core --test explain_cost -- --ignored --nocapture` prints both; it fails beyond two
//! seconds or 200 MB. Ignored otherwise: time means something in a release build on a quiet machine only.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "the figures are what it is for")]

use punctual_core::explain::Explanation;
use punctual_core::recording::{Clock, Frame, Header, Placement, RecordingReader, encode, encode_preamble};
use punctual_core::scenario::{Amount, LoadPhase, Mechanism, Policy, ProbeThread, Scenario, TimerPhase};
use punctual_core::trace::{
    Address, Context, Kept, Late, LateList, LateTotal, Line, Names, Record, Rung, Tracing, Vector, What, Window,
};
use punctual_hist::{MonoTime, Nanos};

const WINDOWS: u32 = 10_000;
const RECORDS: u64 = 300;

fn header() -> Header {
    Header {
        tool_version: "0.1.0".to_owned(),
        started_unix_ns: 1_700_000_000_000_000_000,
        epoch: MonoTime::from_ns(1_000_000_000),
        scenario: Scenario {
            threads: (0..4).map(|cpu| ProbeThread { cpu, period: Nanos::from_ms(1) }).collect(),
            policy: Policy::Fifo(90),
            mechanism: Mechanism::Absolute,
            phase: TimerPhase::Aligned,
            warm_up: Amount::Activations(100),
            length: Amount::Time(Nanos::from_secs(3600)),
            budget: None,
            limit: None,
            dma_latency_us: None,
            load_phases: vec![LoadPhase { loads: Vec::new(), parts: 1 }],
            load_cpus: None,
            suite: None,
        },
        machine: vec![("virtualisation".to_owned(), "none".to_owned())],
        placement: Placement::default(),
        clock: Clock { tick: Nanos::from_ms(4), ..Clock::default() },
        checkpoint: Nanos::from_secs(1),
    }
}

/// One round of a busy machine before our release: an interrupt, its softirq, two tasks.
fn noise(round: u64, at: MonoTime) -> Vec<Record> {
    let tid = 50 + i32::try_from(round % 20).unwrap();
    let irq = u32::try_from(30 + round % 8).unwrap();
    let what = [
        (0, What::IrqEntry { irq }),
        (900, What::Waking { tid, prio: 120, target: 1 }),
        (1_300, What::IrqExit { irq }),
        (1_500, What::SoftirqEntry { vector: 3 }),
        (2_600, What::SoftirqExit { vector: 3 }),
        (3_000, What::Switch { prev: 0, prev_prio: 120, prev_state: 0, next: tid, next_prio: 120 }),
        (9_000, What::Switch { prev: tid, prev_prio: 120, prev_state: 1, next: 0, next_prio: 120 }),
    ];
    let current = |what: &What| if matches!(what, What::Switch { prev, .. } if *prev != 0) { tid } else { 0 };
    let record = |(after, what): (u64, What)| Record {
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
    // The last third lies within the lateness.
    let mut at = release.minus(Nanos::from_us(280));
    let ordinary = slot % 50 == 0;
    let records_max = if ordinary { RECORDS * 2 / 3 } else { RECORDS };
    while records.len() as u64 + 8 < records_max {
        records.extend(noise(round, at));
        at = at.plus(Nanos::from_us(10));
        round += 1;
    }
    let ours = |after: u64, what| Record {
        at: at.plus(Nanos::from_ns(after)),
        tid: 0,
        context: Context { flags: 0x09, preempt: 1 },
        what,
    };
    records.extend([
        ours(0, What::VectorEntry { vector: Vector::LocalTimer }),
        ours(400, What::HrtimerEntry { timer, function }),
        ours(700, What::Waking { tid: 900, prio: 9, target: 1 }),
        ours(2_000, What::HrtimerExit { timer }),
        ours(3_000, What::VectorExit { vector: Vector::LocalTimer }),
        ours(4_000, What::Switch { prev: 0, prev_prio: 120, prev_state: 0, next: 900, next_prio: 9 }),
    ]);
    let line = |irq| (irq, Line { action: format!("nvme0q{irq}"), affinity: "0-3".to_owned(), managed: true });
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
    put(Frame::Header(Box::new(header())));
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
        let late = Late { cpu: window.cpu, release: window.release, lateness: window.woke.since(window.release) };
        let total = LateTotal { cpu: late.cpu, count: 1, lateness: late.lateness, ..LateTotal::default() };
        put(Frame::Late(LateList { late: vec![late], totals: vec![total] }));
        put(Frame::Window(Box::new(window)));
    }
    bytes
}

/// Processor time of this process so far, in seconds: other work on the machine does not count.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks = |n: usize| fields[n].parse::<f64>().unwrap();
    (ticks(11) + ticks(12)) / 100.0
}

/// A number of kilobytes in the process's own status.
fn memory_kb(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_matches([':', '\t', ' ', 'k', 'B']).parse().unwrap()
}

#[test]
#[ignore = "measures time and memory: in a release build, by itself"]
fn ten_thousand_windows_are_explained_in_two_seconds_and_200_mb() {
    // What is read is on a disk, so that it does not count as memory.
    let path = std::env::temp_dir().join(format!("punctual-explain-cost-{}", std::process::id()));
    std::fs::write(&path, bytes()).unwrap();
    // The peak begins anew.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = memory_kb("VmHWM");
    let started = cpu_seconds();
    let mut reader = RecordingReader::new();
    let mut file = std::fs::File::open(&path).unwrap();
    let mut piece = vec![0; 1 << 16];
    let mut size = 0;
    loop {
        let n = std::io::Read::read(&mut file, &mut piece).unwrap();
        if n == 0 {
            break;
        }
        size += n;
        reader.feed(&piece[..n]).unwrap();
    }
    let recording = reader.finish().unwrap();
    let read = cpu_seconds() - started;
    let explanation = Explanation::of(&recording);
    let all = cpu_seconds() - started;
    let peak = memory_kb("VmHWM");
    std::fs::remove_file(&path).unwrap();
    let records: usize = recording.causes.windows.iter().map(|window| window.records.len()).sum();
    println!("{} windows, {records} records, {} bytes of file", recording.causes.windows.len(), size);
    println!("read {read:.2} s, explained {:.2} s, together {all:.2} s of processor time", all - read);
    println!("peak {} MB, before {} MB, {} causes", peak / 1024, before / 1024, explanation.causes.len());
    assert_eq!(explanation.spikes.len(), 9_800);
    assert!(all <= 2.0, "{all} s");
    assert!(peak <= 200 * 1024, "{peak} kB");
}
