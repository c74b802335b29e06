//! Texts and documents of made-up outcomes, one for each test and for what can go wrong.

use super::{TortureDocument, brief, text};
use crate::render::document::schema::assert_valid;
use crate::render::golden::{assert_fits, assert_golden};
use crate::render::lang::leftover::assert_chinese;
use crate::render::sheet::Style;
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::{Counts, Nanos};
use punctual_linux::torture::own_tests::{OwnResult, OwnTest, OwnTests, Suite, SuiteRun};
use punctual_linux::torture::{
    ActKind, ChainRow, CoreName, Corruption, Doubt, End, Findings, Heap, HeapRow, Integrity, IntegrityRow, Kind,
    Mutexes, Outcome, Place, Plant, Share, TimerKind, TimerRow, Timers, Unit, Verdict, Writer,
};
use punctual_numbers::report::Percentiles;

const NOT_REAL_TIME: &str = "this user may not use real-time priorities: RLIMIT_RTPRIO is 0 (/proc/self/limits, \"Max realtime \
     priority\") and CAP_SYS_NICE is missing. Run as root, or give the user `@realtime - rtprio 95` in \
     /etc/security/limits.d/ and log in again";

fn times(us: u64) -> Percentiles {
    let mut counts = Counts::new();
    (1..=200).for_each(|n| counts.record(Nanos::from_ns(us * 500 + n * us * 10)));
    Percentiles::of(&counts)
}

fn outcome(verdict: Verdict, doubts: &[Doubt], findings: Findings) -> Outcome {
    let list = |text| CpuSet::parse_list(text).unwrap();
    let place = Place { cpus: list("0-11"), real_time: list("1-11"), core: None };
    Outcome {
        verdict,
        doubts: doubts.to_vec(),
        place,
        real_time_refused: None,
        core_refused: None,
        took: Nanos::from_secs(60),
        end: End::TimeUp,
        findings,
        own_tests: Vec::new(),
    }
}

fn integrity(plant: bool) -> Integrity {
    let row = |cpu: u32| IntegrityRow {
        cpu,
        plain: if cpu == 0 { 16 } else { 8 },
        real_time: if cpu == 0 { 0 } else { 8 },
        out_of_band: 0,
        in_band_switches: 0,
        switches: 9_876_543 + u64::from(cpu),
        checks: 12_345_678,
        faults: 321,
        corruptions: u64::from(plant && cpu == 9),
    };
    let corruption = Corruption {
        cpu: 9,
        thread: 3,
        kind: Kind::RealTime,
        partner: Some(Kind::Plain),
        act: ActKind::Spin,
        register: "upper half of zmm7".to_owned(),
        expected: "0300000700900900".repeat(4),
        found: "0300000701900900".repeat(4),
        written_by: Some(Writer { cpu: 9, thread: 8 }),
    };
    let made = Plant { cpu: 9, register: corruption.register.clone(), caught: true };
    Integrity {
        units: vec![Unit::X87, Unit::Sse, Unit::Avx, Unit::Avx512],
        registers: 90,
        cpus: (0..12).map(row).collect(),
        signals: None,
        spoilt_handlers: 0,
        corruptions: plant.then_some(corruption).into_iter().collect(),
        plant: plant.then_some(made),
    }
}

/// Half of the real-time threads belong to a core, and the corruption was in one of them.
fn with_core(outcome: Outcome) -> Outcome {
    let Findings::Switches(integrity) = outcome.findings else { panic!("another test") };
    let row = |row: IntegrityRow| {
        let out_of_band = row.real_time / 2;
        let in_band_switches = u64::from(out_of_band) * 12_345;
        IntegrityRow { real_time: row.real_time - out_of_band, out_of_band, in_band_switches, ..row }
    };
    let corruption = |one| Corruption { kind: Kind::OutOfBand, act: ActKind::CoreSleep, ..one };
    let findings = Findings::Switches(Integrity {
        cpus: integrity.cpus.into_iter().map(row).collect(),
        corruptions: integrity.corruptions.into_iter().map(corruption).collect(),
        ..integrity
    });
    let core = Share { name: CoreName::Evl, cpus: outcome.place.real_time.clone() };
    Outcome { place: Place { core: Some(core), ..outcome.place }, findings, ..outcome }
}

fn chains(inverted: bool) -> Mutexes {
    let row = |(cpu, locks, inheritance): (u32, u32, bool)| ChainRow {
        cpu,
        out_of_band: false,
        locks,
        inheritance,
        rounds: 812,
        inversions: if inheritance { u64::from(inverted && locks == 5) } else { 812 },
        hand_over: times(u64::from(locks) * 4 + u64::from(cpu)),
        waited: times(if inheritance { 30 } else { 140 }),
    };
    let kinds = (1..3).flat_map(|cpu| (2..=8).flat_map(move |locks| [(cpu, locks, true), (cpu, locks, false)]));
    Mutexes { disturbance: Nanos::from_us(100), chains: kinds.map(row).collect() }
}

/// The same beside a core, whose threads hand over in a third of the time.
fn chains_with_core() -> Mutexes {
    let mutexes = chains(false);
    let of_core = |row: &ChainRow| ChainRow {
        out_of_band: true,
        rounds: 790,
        hand_over: times(u64::from(row.locks)),
        waited: times(9),
        ..row.clone()
    };
    let core: Vec<ChainRow> = mutexes.chains.iter().filter(|row| row.inheritance).map(of_core).collect();
    Mutexes { chains: [mutexes.chains, core].concat(), ..mutexes }
}

fn heap(locked: bool) -> Heap {
    let row = |cpu| HeapRow {
        cpu,
        kind: Kind::RealTime,
        allocations: 119_876,
        minor_faults: 4,
        major_faults: 0,
        pages_gone: 0,
        allocation: times(6),
    };
    Heap {
        locked,
        lock_refused: (!locked).then(|| "RLIMIT_MEMLOCK is 8388608 bytes and CAP_IPC_LOCK is missing".to_owned()),
        touched_mib: Some(61_234),
        pages_scanned: Some(if locked { 7_654 } else { 0 }),
        load_failure: None,
        rows: (1..4).map(row).collect(),
    }
}

fn timers(early: u64) -> Timers {
    let row = |(cpu, timer)| TimerRow {
        cpu,
        timer,
        kind: if cpu == 0 { Kind::Plain } else { Kind::RealTime },
        timers: 16,
        expiries: 765_432,
        early: if cpu == 2 && timer == TimerKind::Posix { early } else { 0 },
        lost: 0,
        overruns: 12,
        late: times(25),
    };
    let kinds = [TimerKind::Timerfd, TimerKind::Posix, TimerKind::Sleep];
    Timers { rows: (0..4).flat_map(|cpu| kinds.map(|kind| (cpu, kind))).map(row).collect() }
}

fn own() -> Vec<OwnTests> {
    let test = |name: &str, result| OwnTest { name: name.to_owned(), result };
    let tests = vec![
        test("clock-timer", OwnResult::Ok),
        test("fault", OwnResult::Broken),
        test("sched-tp", OwnResult::NoKernelSupport),
        test("sched-quota", OwnResult::Figure { text: "99.8 %".to_owned() }),
    ];
    let evl = OwnTests { suite: Suite::Evl, run: SuiteRun::Ended { status: Some(0) }, tests };
    vec![evl, OwnTests { suite: Suite::Smokey, run: SuiteRun::NotInstalled, tests: Vec::new() }]
}

fn all() -> Vec<(&'static str, Outcome)> {
    use Findings::{Fpu, Mutex, Switches};
    use Verdict::{Broken, Held, Inconclusive};
    let signals = Integrity { signals: Some(987_654), ..integrity(false) };
    let refused = Outcome {
        real_time_refused: Some(NOT_REAL_TIME.to_owned()),
        place: Place { cpus: CpuSet::parse_list("0-1").unwrap(), real_time: CpuSet::new(), core: None },
        end: End::Interrupted,
        ..outcome(Inconclusive, &[Doubt::NoRealTime, Doubt::NotLocked], Findings::Heap(heap(false)))
    };
    let core = outcome(Broken, &[], Switches(integrity(true)));
    let refused_by_core = Outcome {
        core_refused: Some("the EVL core cannot pace the task: it is stopped".to_owned()),
        ..outcome(Inconclusive, &[Doubt::NoOutOfBand], Switches(integrity(false)))
    };
    vec![
        ("switches-core", with_core(core)),
        ("switches-refused", refused_by_core),
        ("switches", outcome(Held, &[], Switches(integrity(false)))),
        ("switches-planted", Outcome { own_tests: own(), ..outcome(Broken, &[], Switches(integrity(true))) }),
        ("fpu", outcome(Held, &[], Fpu(signals))),
        ("mutex", outcome(Held, &[], Mutex(chains(false)))),
        ("mutex-core", outcome(Held, &[], Mutex(chains_with_core()))),
        ("mutex-inverted", outcome(Broken, &[], Mutex(chains(true)))),
        ("heap", outcome(Held, &[], Findings::Heap(heap(true)))),
        ("heap-refused", refused),
        ("timers", outcome(Held, &[], Findings::Timers(timers(0)))),
        ("timers-early", outcome(Broken, &[], Findings::Timers(timers(3)))),
    ]
}

#[test]
fn each_outcome_fits_a_screen() {
    for (name, outcome) in all() {
        let told = text(&outcome, Style::default());
        assert!(told.lines().count() <= 24, "{name} has {} lines\n{told}", told.lines().count());
        assert!(told.is_ascii(), "{name}: a serial console shows ASCII only");
        assert_golden(&format!("torture-{name}.txt"), &told);
        let brief = brief(&outcome);
        assert!(brief.is_ascii() && brief.lines().count() == 1 && brief.len() < 400, "{name}: {brief}");
        for width in [20, 40, 80, 120] {
            assert_fits(&text(&outcome, Style { width, colour: false }), width);
        }
    }
}

#[test]
fn each_document_fits_its_schema() {
    for (name, outcome) in all() {
        let document = assert_valid(&TortureDocument { outcome: &outcome });
        assert_eq!(document["findings"]["test"], name.split('-').next().unwrap());
        assert_eq!(document["cpus"], outcome.place.cpus.to_string());
    }
}

#[test]
fn each_outcome_is_told_in_chinese() {
    for (name, outcome) in all() {
        assert_chinese(name, || text(&outcome, Style::default()));
    }
}
