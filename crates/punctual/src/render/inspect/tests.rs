//! Texts and documents of made-up inspections.

use super::{InspectDocument, brief, html, text};
use crate::render::document::schema::assert_valid;
use crate::render::explain;
use crate::render::golden::{assert_golden, assert_page};
use crate::render::lang::leftover::{assert_chinese, assert_chinese_page};
use crate::render::sheet::Style;
use crate::render::units::THIN;
use crate::render::words::command::Command;
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::inspect::{
    Blind, Clock, Code, Cost, Counters, CpuMax, CycleCost, CycleTimes, End, Engine, FailOn, Finding, GivenUp, InTheWay,
    Inspection, Intruder, Pace, PeriodErrors, PeriodErrorsShow, Policy, Program, Quantiles, Refused, Saved, Setup,
    StartUp, ThreadCycles, ThreadReport, Unprobed, WokenBy, WorstCycle,
};
use std::path::Path;

fn us(n: u64) -> Nanos {
    Nanos::from_us(n)
}

fn quantiles(p50: u64) -> Quantiles {
    Quantiles { p50: Some(us(p50)), p99: Some(us(p50 * 4)), p999: Some(us(p50 * 20)), max: Some(us(p50 * 61)) }
}

fn setup() -> Setup {
    Setup {
        policy: Some(Policy::Fifo),
        priority: 80,
        cpus: CpuSet::parse_list("2").unwrap(),
        locked_bytes: Some(4 << 20),
        resident_bytes: Some(4 << 20),
        timer_slack: Some(us(50)),
        cpu_max: None,
        uclamp_max: Some(1024),
        rtprio_limit: Some(95),
        memlock_limit: None,
    }
}

fn row(intruder: Intruder, call: Option<&str>, symbol: Option<&str>, count: u64, slow_share: f64) -> InTheWay {
    let code = Code {
        module: "my_controller".to_owned(),
        symbol: symbol.map(str::to_owned),
        offset: 0x1c,
        file: None,
        line: None,
    };
    InTheWay {
        intruder,
        call: call.map(str::to_owned),
        function: None,
        code: Some(code),
        callers: Vec::new(),
        count,
        cycles: count,
        among: 12_003,
        slow_share,
        longest: us(count),
        waker: None,
    }
}

fn cycles(in_the_way: Vec<InTheWay>) -> ThreadCycles {
    let worst = WorstCycle {
        number: 7_312,
        woke: MonoTime::from_ns(1),
        latency: Some(us(188)),
        response: us(1_250),
        preempted: us(0),
        blocked: us(800),
        waiting: us(3),
        intruders: vec![Intruder::Lock],
    };
    ThreadCycles {
        count: 12_003,
        first: Some(MonoTime::from_ns(1)),
        period: Some(Nanos::from_ms(1)),
        drift: None,
        skipped: 3,
        overruns: 2,
        latency: quantiles(3),
        latency_due: quantiles(3),
        over_limit: Some(5),
        period_errors: Some(PeriodErrors { rho1: -0.48, shows: PeriodErrorsShow::Grid }),
        times: CycleTimes {
            execution: quantiles(10),
            response: quantiles(13),
            running: Nanos::from_secs(2),
            preempted: Nanos::from_ms(10),
            blocked: Nanos::from_ms(70),
            waiting: Nanos::from_ms(1),
        },
        in_the_way,
        worst: vec![worst],
    }
}

fn thread(tid: u32, name: &str, pace: Pace) -> ThreadReport {
    ThreadReport {
        pid: 4711,
        tid,
        name: name.to_owned(),
        setup: Some(setup()),
        pace,
        cycles: None,
        causes: None,
        counters: Some(Counters {
            waits: 1_000,
            preemptions: 2,
            minor_faults: 3,
            major_faults: 0,
            ran: Some(Nanos::from_ms(200)),
            waited_for_cpu: None,
        }),
        cost: None,
        findings: Vec::new(),
    }
}

fn sleep() -> Pace {
    Pace::Sleep { call: "clock_nanosleep".to_owned(), absolute: true, clock: Clock::Monotonic }
}

fn inspection(threads: Vec<ThreadReport>) -> Inspection {
    Inspection {
        program: Program { pid: 4711, name: "my_controller".to_owned(), threads: 9 },
        children: Vec::new(),
        engine: Engine::Tracefs,
        refused: Vec::new(),
        blind: vec![Blind::SmallAllocations(Unprobed::After(Nanos::from_secs(3)))],
        observed: Nanos::from_secs(10),
        end: End::Duration,
        records: 84_021,
        lost: 0,
        probed_allocations: 0,
        own_cpu: Nanos::from_ms(40),
        cost: Some(Cost {
            limit: 0.05,
            own: 0.004,
            program: 0.003,
            causes: 0.000_2,
            record: Nanos::from_ns(312),
            stack: Nanos::from_ns(1_480),
            given_up: Vec::new(),
        }),
        start_up: None,
        threads,
        marks: None,
    }
}

pub(in crate::render) fn disturbed() -> Inspection {
    let mut log = row(Intruder::Write, Some("write"), Some("log_state"), 12, 0.09);
    log.code = log.code.map(|code| Code { file: Some("/src/axis/log.cpp".to_owned()), line: Some(118), ..code });
    let holder = WokenBy { name: Some("logger".to_owned()), count: 9, is_lower: true, priority: Some(120) };
    let rows = vec![
        row(Intruder::Memory, Some("mmap"), Some("Planner::step"), 240, 0.71),
        row(Intruder::Fault, None, Some("Planner::step"), 49, 0.64),
        InTheWay { waker: Some(holder), ..row(Intruder::Lock, Some("futex"), None, 12, 0.5) },
        log,
        row(Intruder::Sleep, Some("clock_nanosleep"), None, 1, 0.0),
        row(Intruder::Signal, None, None, 1, 0.0),
        row(Intruder::Migration, None, None, 1, 0.0),
    ];
    let axis = ThreadReport {
        cycles: Some(cycles(rows)),
        causes: explain::sample::causes().causes,
        cost: Some(CycleCost { records: 7.04, time: Nanos::from_ns(2_940) }),
        findings: vec![
            Finding::MemoryNotLocked,
            Finding::NotPinned(CpuSet::parse_list("0-3").unwrap()),
            Finding::CpuMax(CpuMax { quota: Nanos::from_ms(50), period: Nanos::from_ms(100) }),
            Finding::UclampMax(512),
            Finding::PriorityTooHigh(99),
            Finding::RealtimeClock,
        ],
        ..thread(4712, "axis_loop", sleep())
    };
    let by = vec![
        WokenBy { name: Some("irq/31-eth0".to_owned()), count: 98, is_lower: false, priority: Some(49) },
        WokenBy { name: None, count: 2, is_lower: false, priority: None },
    ];
    let comm = Pace::Woken { call: "epoll_wait".to_owned(), wakes: 41_000, by };
    let second = ThreadReport { cycles: Some(cycles(Vec::new())), ..thread(4713, "slow_loop", sleep()) };
    let mut threads = vec![axis, second, thread(4714, "comm_loop", comm)];
    threads.extend((0..6).map(|n| thread(4715 + n, "pool", Pace::NeverWaits)));
    let start_up = StartUp { length: Some(Nanos::from_ms(14)), faults: 210, memory_calls: 16, calls: 166 };
    Inspection {
        lost: 12,
        probed_allocations: 480,
        end: End::Interrupted,
        start_up: Some(start_up),
        ..inspection(threads)
    }
}

pub(in crate::render) fn clean() -> Inspection {
    let quiet = ThreadCycles { skipped: 0, over_limit: None, ..cycles(Vec::new()) };
    let mut all = inspection(vec![ThreadReport { cycles: Some(quiet), ..thread(4712, "axis_loop", sleep()) }]);
    let given_up = vec![GivenUp { what: Saved::Causes, after: Nanos::from_ms(3_010) }];
    all.cost = all.cost.map(|cost| Cost { own: 0.07, given_up, ..cost });
    all
}

#[test]
fn a_share_that_would_read_as_none_is_told_as_a_number() {
    let told = |cycles| {
        let rare = InTheWay { cycles, among: 71_204, ..row(Intruder::Lock, None, None, 3, 0.0) };
        let thread = ThreadReport { cycles: Some(self::cycles(vec![rare])), ..thread(4712, "axis_loop", sleep()) };
        brief(&inspection(vec![thread])).replace('\u{202f}', " ")
    };
    assert!(told(3).contains("occurs in 3 of 71 204 cycles of axis_loop"), "{}", told(3));
    assert!(told(71).contains("occurs in 71 of 71 204 cycles of axis_loop"), "{}", told(71));
    assert!(told(72).contains("occurs in 0.1 % of the cycles of axis_loop"), "{}", told(72));
    let by = [(40_000, "timer"), (1, "holder")].map(|(count, name)| WokenBy {
        name: Some(name.to_owned()),
        count,
        is_lower: false,
        priority: None,
    });
    let woken = Pace::Woken { call: "read".to_owned(), wakes: 40_001, by: by.into() };
    let text = text(&inspection(vec![thread(4712, "comm", woken)]), &Command::new(["inspect"]), Style::default());
    assert!(text.contains("holder (1 of 40"), "{text}");
}

#[test]
fn each_thing_that_was_given_up_is_told_with_its_time() {
    let given_up = Saved::ORDER.map(|what| GivenUp { what, after: Nanos::from_secs(3) });
    let mut all = disturbed();
    all.cost = all.cost.map(|cost| Cost { given_up: given_up.into(), ..cost });
    let text = text(&all, &Command::new(["inspect"]), Style::default());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(text.matches("from 3 s on").count(), 4, "{text}");
    assert!(text.contains("(--cost)"), "{text}");
}

fn counted() -> Inspection {
    let call = Some("clock_nanosleep".to_owned());
    let thread = ThreadReport {
        setup: Some(Setup { policy: Some(Policy::Other), priority: 0, ..setup() }),
        findings: vec![Finding::NotRealTime, Finding::TimerSlack(us(50)), Finding::RelativeSleep],
        ..thread(4712, "axis_loop", Pace::NotSeen { call })
    };
    let why = "make instances/punctual-1-1: Permission denied; run as root".to_owned();
    Inspection {
        engine: Engine::Counters,
        refused: vec![Refused { engine: Engine::Tracefs, why }],
        blind: vec![
            Blind::ChildProcess { pid: 4720, name: "logger".to_owned() },
            Blind::Cycles,
            Blind::Waits,
            Blind::SettingsOf(4713),
        ],
        records: 0,
        cost: None,
        end: End::ProgramEnded,
        ..inspection(vec![thread])
    }
}

fn untimed() -> Inspection {
    inspection(vec![thread(4712, "pool", Pace::NeverWaits), thread(4713, "idle", Pace::Idle)])
}

fn all() -> [(&'static str, Inspection); 4] {
    [("disturbed", disturbed()), ("clean", clean()), ("counted", counted()), ("untimed", untimed())]
}

#[test]
fn the_text_fits_a_terminal_and_ends_with_the_answer_and_one_command() {
    let again = Command::new(["inspect", "my_controller", "--no-trace"]);
    for (name, inspection) in all() {
        let text = text(&inspection, &again, Style::default());
        assert!(text.lines().count() <= 60, "{name}: {text}");
        let command = text.lines().last().unwrap().trim();
        assert!(command.starts_with("punctual ") || command.starts_with("sudo punctual "), "{name}: {command}");
        // A command is never broken into lines, so it may be longer.
        for line in text.lines().filter(|line| line.trim() != command) {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
        assert_golden(&format!("inspect-{name}.txt"), &text);
    }
}

const EVIL: &str = "</title><script>alert(1)</script>\"'><b>";

#[test]
fn the_page_tells_each_thread_and_can_be_looked_at() {
    let again = Command::new(["inspect", "my_controller"]);
    for (name, inspection) in all() {
        assert_page(&format!("inspect-{name}"), &html(&inspection, &again).unwrap());
    }
    let page = html(&disturbed(), &again).unwrap();
    let said = page.replace(THIN, " ");
    for told in [
        "axis_loop (4712)",
        "Planner::step+0x1c",
        "nvme0q3 (irq 131)",
        "Let another thread write the output.",
        "CPUQuota=",
    ] {
        assert!(said.contains(told), "{told}");
    }
    assert!(page.matches("<figure>").count() >= 3, "late cycles are drawn");
    let mut evil = disturbed();
    EVIL.clone_into(&mut evil.program.name);
    EVIL.clone_into(&mut evil.threads[0].name);
    evil.threads[0].cycles.as_mut().unwrap().in_the_way[0].code.as_mut().unwrap().symbol = Some(EVIL.to_owned());
    let page = html(&evil, &again).unwrap();
    assert_page("inspect-evil", &page);
    assert!(!page.contains("<script>alert") && page.contains("alert(1)"));
}

#[test]
fn the_documents_fit_their_schema_and_say_the_answer() {
    for ((name, inspection), answer) in all().into_iter().zip(["disturbed", "clean", "not-seen", "no-timer"]) {
        let document = assert_valid(&InspectDocument::new(&inspection));
        assert_eq!(document["answer"], answer, "{name}");
    }
}

#[test]
fn the_brief_form_is_one_line() {
    for (_, inspection) in all() {
        let line = brief(&inspection);
        assert!(!line.contains('\n') && line.contains(": "), "{line}");
    }
}

#[test]
fn cycles_that_only_others_made_late_are_told_with_the_cause_and_need_no_change_of_the_loop() {
    let late = ThreadCycles { over_limit: Some(201), ..cycles(Vec::new()) };
    let causes = explain::sample::causes().causes;
    let inspection =
        inspection(vec![ThreadReport { cycles: Some(late), causes, ..thread(4712, "axis_loop", sleep()) }]);
    let text = text(&inspection, &Command::new(["inspect", "x"]), Style::default());
    let said = text.split_whitespace().collect::<Vec<_>>().join(" ").replace(THIN, " ");
    assert!(
        said.contains("DISTURBED: 201 releases later than the budget, in 12 003 cycles of 1 thread; most of the latency comes from"),
        "{said}"
    );
    assert!(said.contains("device interrupt nvme0q3") && said.contains("Remove what made cycles late"), "{said}");
}

#[test]
fn a_long_name_makes_room_for_its_line() {
    let place = |symbol: &str, file: Option<&str>| Code {
        module: "loop".to_owned(),
        symbol: Some(symbol.to_owned()),
        offset: 16,
        file: file.map(str::to_owned),
        line: file.map(|_| 118),
    };
    let long = place("control::axis::Planner<double>::step", Some("/src/axis/planner.cpp"));
    assert_eq!(super::words::code_within(&long, 60), "control::axis::Planner<double>::step (planner.cpp:118)");
    assert_eq!(super::words::code_within(&long, 22), "step (planner.cpp:118)");
    assert_eq!(super::words::code_within(&long, 20), "planner.cpp:118");
    assert_eq!(super::words::code_within(&place("control::read_sensors", None), 18), "read_sensors+0x10");
    assert_eq!(super::words::code_within(&place("read_all_the_sensors", None), 16), "read_all_the_...");
}

const GATES: [FailOn; 3] = [FailOn::Alloc, FailOn::Lock, FailOn::Late(Nanos::from_ms(1))];

#[test]
fn each_thing_of_the_gate_is_a_case() {
    // Two threads have cycles, and records were lost: what was not seen is an error.
    for (name, inspection, [tests, failures, errors]) in
        [("disturbed", disturbed(), [6, 2, 4]), ("counted", counted(), [3, 0, 3]), ("clean", clean(), [3, 0, 0])]
    {
        let junit = super::junit(&inspection, &GATES).unwrap();
        let numbers = format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\"");
        assert!(junit.contains(&numbers), "{name}: {junit}");
        assert_golden(&format!("inspect-{name}.xml"), &junit);
    }
}

#[test]
fn what_is_in_the_way_has_the_line_of_its_source() {
    let sarif = super::sarif(&disturbed(), &GATES, Path::new("/src"));
    let log: serde_json::Value = serde_json::from_str(&sarif).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let of = |rule: &str| results.iter().find(|result| result["ruleId"] == rule).unwrap();
    let place = &of("inspect.output")["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "axis/log.cpp");
    assert_eq!(place["region"]["startLine"], 118);
    let levels = ["inspect.memory", "inspect.lock", "inspect.output"].map(|rule| of(rule)["level"].clone());
    assert_eq!(levels, ["error", "error", "warning"]);
    assert!(results.iter().all(|result| result["ruleIndex"].is_u64()), "{sarif}");
    assert_golden("inspect-disturbed.sarif", &sarif);
    let clean = super::sarif(&clean(), &[FailOn::Late(Nanos::from_ns(1))], Path::new("/"));
    assert!(clean.contains("inspect.late"), "{clean}");
}

#[test]
fn every_inspection_is_told_in_chinese() {
    let again = Command::new(["inspect", "my_controller"]);
    for (name, inspection) in all() {
        assert_chinese(name, || text(&inspection, &again, Style::default()));
        assert_chinese_page(name, || html(&inspection, &again).unwrap());
    }
}
