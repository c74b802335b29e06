//! Windows written as text, one record a line, for data tests.
//!
//! ```text
//! window cpu=1 tid=900 release=1000.0 woke=1062.0 [kept=sampled] [incomplete=lost] [guest] [rt] [roams]
//! task 900 probe | irq 131 nvme0q3 affinity=3 managed | function 10 hrtimer_wakeup
//! counter smi 1 0 | standstill 20000
//! elsewhere 0 990.0 77 - ipi 1 30 31
//! 995.0 0 d switch 0:120 S 900:9
//! ```
//! Times are microseconds, with `+` or `-` relative to the release; flags as the kernel shows them (`d` interrupts off,
//! `N` asked to give way, `h`, `s`, a digit: pre-emption forbidden), `-` none; `kernel 53` says that a task is a thread
//! of the kernel.

use crate::explain::clues::Rules;
use crate::stats::float::whole;
use crate::trace::{
    Address, Around, Context, Counter, FLAG_HARDIRQ, FLAG_IRQS_OFF, FLAG_NEED_RESCHED, FLAG_SOFTIRQ, Growth,
    Incomplete, IrqLine, Kept, NoiseKind, RemoteRecord, TraceEvent, TraceRecord, Vector, Window,
};
use punctual_hist::{MonoTime, Nanos};

/// A window, and the rules by which it is judged.
#[derive(Debug)]
pub(in crate::explain) struct Given {
    pub window: Window,
    pub rules: Rules,
}

pub(in crate::explain) fn nanos(us: &str) -> u64 {
    whole((us.parse::<f64>().unwrap_or_else(|_| panic!("no time: {us}")) * 1000.0).round())
}

fn time(us: &str, release: MonoTime) -> MonoTime {
    let length = Nanos::from_ns(nanos(us.trim_start_matches(['+', '-'])));
    match us.as_bytes()[0] {
        b'+' => release.plus(length),
        b'-' => release.minus(length),
        _ => MonoTime::from_ns(length.as_ns()),
    }
}

fn number<N: std::str::FromStr>(text: &str) -> N {
    text.parse().unwrap_or_else(|_| panic!("no number: {text}"))
}

fn address(text: &str) -> Address {
    Address(u64::from_str_radix(text, 16).unwrap_or_else(|_| panic!("no address: {text}")))
}

pub(in crate::explain) fn read(text: &str) -> Vec<Given> {
    let mut all: Vec<Given> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(rest) = line.strip_prefix("window ") {
            let slot = u32::try_from(all.len()).unwrap();
            all.push(window(rest, slot));
            continue;
        }
        let given = all.last_mut().expect("a window before its records");
        if line.starts_with(|first: char| "+-0123456789".contains(first)) {
            given.window.records.push(record(line, given.window.release));
        } else {
            line.split('|').for_each(|fact| add_fact(&mut given.window, fact.trim()));
        }
    }
    all
}

fn window(rest: &str, slot: u32) -> Given {
    let words: Vec<(&str, &str)> =
        rest.split_whitespace().map(|word| word.split_once('=').unwrap_or((word, ""))).collect();
    let value = |name: &str| words.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
    let kept = match value("kept") {
        Some("worst") => Kept::Worst,
        Some("ordinary") => Kept::Ordinary,
        _ => Kept::Sampled,
    };
    let incomplete = value("incomplete").map(|why| match why {
        "lost" => Incomplete::Lost,
        "short" => Incomplete::Short,
        _ => Incomplete::NoTrace,
    });
    let release = time(value("release").expect("release="), MonoTime::default());
    let window = Window {
        slot,
        kept,
        cpu: value("cpu").map_or(1, number),
        tid: value("tid").map_or(900, number),
        release,
        woke: time(value("woke").expect("woke="), release),
        phase: value("phase").map_or(0, number),
        records: Vec::new(),
        elsewhere: Vec::new(),
        names: crate::trace::Names::default(),
        incomplete,
        around: None,
    };
    let is = |name: &str| value(name).is_some();
    Given { window, rules: Rules { guest: is("guest"), rt: is("rt"), roams: is("roams"), ..Rules::default() } }
}

fn add_fact(window: &mut Window, fact: &str) {
    let (word, rest) = fact.split_once(' ').unwrap_or((fact, ""));
    let (first, more) = rest.split_once(' ').unwrap_or((rest, ""));
    let around = || Around { from: window.release, to: window.woke, ..Around::default() };
    match word {
        "task" => drop(window.names.tasks.insert(number(first), more.to_owned())),
        "function" => drop(window.names.functions.insert(address(first), more.to_owned())),
        "kernel" => window.names.kernel_threads.push(number(first)),
        "irq" => {
            let words: Vec<&str> = more.split_whitespace().collect();
            let line = IrqLine {
                action: words[0].to_owned(),
                affinity: words.iter().find_map(|w| w.strip_prefix("affinity=")).unwrap_or("").to_owned(),
                managed: words.contains(&"managed"),
            };
            window.names.irqs.insert(number(first), line);
        }
        "elsewhere" => window.elsewhere.push(RemoteRecord { cpu: number(first), record: record(more, window.release) }),
        "standstill" => {
            window.around.get_or_insert_with(around).standstill = Some(Nanos::from_us(number(first)));
        }
        "counter" => {
            let (by, usually) = more.split_once(' ').unwrap_or((more, ""));
            let usually = (!usually.is_empty()).then(|| number(usually));
            let change = Growth { counter: counter(first), by: number(by), usually };
            window.around.get_or_insert_with(around).changes.push(change);
        }
        _ => panic!("what is {fact}?"),
    }
}

fn counter(name: &str) -> Counter {
    match name {
        "smi" => Counter::Smi,
        "steal" => Counter::Steal,
        "throttled" => Counter::RtThrottled,
        "hot" => Counter::Throttled,
        "ratio" => Counter::FrequencyRatio,
        "minor" => Counter::MinorFaults,
        "major" => Counter::MajorFaults,
        "preempted" => Counter::InvoluntarySwitches,
        "moved" => Counter::Migrations,
        "delay" => Counter::OwnRunDelay,
        name => match name.split_once(':') {
            Some(("softirq", name)) => Counter::Softirq(name.to_owned()),
            Some(("idle", name)) => Counter::IdleState(name.to_owned()),
            Some((line, what)) => Counter::Interrupt(line.to_owned(), what.to_owned()),
            None => panic!("no counter: {name}"),
        },
    }
}

fn record(line: &str, release: MonoTime) -> TraceRecord {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [at, tid, flags, what @ ..] = words.as_slice() else { panic!("too short: {line}") };
    let flag = |letter: char| match letter {
        'd' => FLAG_IRQS_OFF,
        'N' => FLAG_NEED_RESCHED,
        'h' => FLAG_HARDIRQ,
        's' => FLAG_SOFTIRQ,
        _ => 0,
    };
    let preempt = flags.bytes().find(u8::is_ascii_digit).map_or(0, |digit| digit - b'0');
    let preempt = if flags.contains('m') { preempt | 0x10 } else { preempt };
    let flags = flags.chars().map(flag).fold(0, |all, flag| all | flag);
    TraceRecord { at: time(at, release), tid: number(tid), context: Context { flags, preempt }, what: kind(what) }
}

fn kind(words: &[&str]) -> TraceEvent {
    let prio = |word: &str| {
        let (tid, prio) = word.split_once(':').expect("TID:PRIO");
        (number::<i32>(tid), number::<i32>(prio))
    };
    match words {
        ["switch", prev, state, next] => {
            let ((prev, prev_prio), (next, next_prio)) = (prio(prev), prio(next));
            let prev_state = match *state {
                "R" => 0,
                "D" => 2,
                "T" => 4,
                _ => 1,
            };
            TraceEvent::Switch { prev, prev_prio, prev_state, next, next_prio }
        }
        ["waking", woken] => TraceEvent::Waking { tid: prio(woken).0, prio: prio(woken).1, target: 1 },
        ["irq", n] => TraceEvent::IrqEntry { irq: number(n) },
        ["/irq", n] => TraceEvent::IrqExit { irq: number(n) },
        ["softirq", n] => TraceEvent::SoftirqEntry { vector: number(n) },
        ["/softirq", n] => TraceEvent::SoftirqExit { vector: number(n) },
        ["raise", n] => TraceEvent::SoftirqRaise { vector: number(n) },
        ["vector", name] => TraceEvent::VectorEntry { vector: vector(name) },
        ["/vector", name] => TraceEvent::VectorExit { vector: vector(name) },
        ["start", timer, function, due] => {
            let expires = i64::try_from(nanos(due)).unwrap();
            TraceEvent::HrtimerStart { timer: address(timer), function: address(function), expires }
        }
        ["hrtimer", timer, function] => TraceEvent::HrtimerEntry { timer: address(timer), function: address(function) },
        ["/hrtimer", timer] => TraceEvent::HrtimerExit { timer: address(timer) },
        ["timer", timer, function] => TraceEvent::TimerEntry { timer: address(timer), function: address(function) },
        ["/timer", timer] => TraceEvent::TimerExit { timer: address(timer) },
        ["nmi", handler, took] => TraceEvent::Nmi { handler: address(handler), took: Nanos::from_ns(nanos(took)) },
        ["work", function] => TraceEvent::WorkStart { function: address(function) },
        ["/work"] => TraceEvent::WorkEnd,
        ["call", function] => TraceEvent::CallEntry { function: address(function) },
        ["/call"] => TraceEvent::CallExit,
        ["ipi", target, callsite, callback] => {
            TraceEvent::IpiSend { target: number(target), callsite: address(callsite), callback: address(callback) }
        }
        ["idle", "-"] => TraceEvent::Idle { state: None },
        ["idle", state] => TraceEvent::Idle { state: Some(number(state)) },
        ["fault", at, ip] => TraceEvent::Fault { address: address(at), ip: address(ip), user: true },
        ["frequency", khz] => TraceEvent::Frequency { cpu: 1, khz: number(khz) },
        ["boost", task, to] => TraceEvent::Boost { tid: prio(task).0, from: prio(task).1, prio: number(to) },
        ["migrate", tid, from, to] => {
            TraceEvent::Migrate { tid: number(tid), from_cpu: number(from), to_cpu: number(to) }
        }
        ["noise", kind, id, took] => {
            let (id, took) = (number(id), Nanos::from_ns(nanos(took)));
            let kind = match *kind {
                "irq" => NoiseKind::Irq,
                "softirq" => NoiseKind::Softirq,
                "nmi" => NoiseKind::Nmi,
                _ => NoiseKind::Thread,
            };
            TraceEvent::Noise { kind, id, start: MonoTime::default(), took }
        }
        ["lost"] => TraceEvent::Lost { count: None },
        _ => panic!("what is {words:?}?"),
    }
}

fn vector(name: &str) -> Vector {
    match name {
        "timer" => Vector::LocalTimer,
        "reschedule" => Vector::Reschedule,
        "call" => Vector::CallFunctionSingle,
        "work" => Vector::IrqWork,
        "thermal" => Vector::Thermal,
        "ipi" => Vector::Ipi,
        _ => panic!("no vector: {name}"),
    }
}
