//! Words of an inspection.

use crate::render::clean::{ascii, shortened};
use crate::render::lang::{said, tr};
use crate::render::units::{self, THIN, count, counted, latency, portion};
use crate::render::words::causes;
use crate::render::words::command::{Command, length};
use crate::render::words::cpus as cpus_named;
use punctual_facts::machine::MachineLine;
use punctual_hist::Nanos;
use punctual_numbers::explain::{Explanation, LateCount, Ranked};
use punctual_numbers::inspect::{
    Answer, Blind, Clock, Code, Cost, CycleCost, End, Engine, FailOn, Finding, GivenUp, InTheWay, Inspection, Intruder,
    Pace, PeriodErrors, PeriodErrorsShow, Policy, Refused, Saved, Setup, StartUp, ThreadReport, Unprobed, WokenBy,
    WorstCycle,
};

/// Number of wakers that are named.
const WAKERS: usize = 2;
/// Number of processes that are named of those that were not observed.
const CHILDREN: usize = 2;

pub fn would_use(engine: Engine) -> &'static str {
    match engine {
        Engine::Bpf => tr!(
            "punctual would use a BPF program in the kernel, which only records the threads of the program and ends \
            together with punctual. The program is not changed."
        ),
        Engine::Tracefs => {
            tr!("punctual would use the kernel's trace, in separate trace instances and only for the threads of the \
            program, and would remove these instances at the end. The program is not changed.")
        }
        Engine::Counters => {
            tr!("punctual would only read counters of the kernel, which show no cycles. The kernel's trace needs root.")
        }
    }
}

pub fn pace(thread: &ThreadReport) -> String {
    let period = thread.cycles.as_ref().and_then(|cycles| cycles.period);
    let every = period.map_or_else(
        || tr!("Paced without a regular period").to_owned(),
        |period| tr!("Every {period}", period = latency(period)),
    );
    match &thread.pace {
        Pace::Sleep { call, absolute, clock } => {
            // The kernel takes the monotonic clock for a length of time, whichever is named.
            let kind = match absolute {
                true => tr!("until an absolute time, {clock} clock", clock = clock_name(*clock)),
                false => tr!("for a length of time").to_owned(),
            };
            tr!("{every} by {call} ({kind})", every, call, kind)
        }
        Pace::Timerfd { call } => tr!("{every} by a timerfd, waiting in {call}", every, call),
        Pace::PosixTimer { call } => tr!("{every} by the signal of a timer, waiting in {call}", every, call),
        Pace::TimeOut { call } => tr!("{every} by the timeout of {call}", every, call),
        Pace::Woken { call, wakes, by } => {
            let all: u64 = by.iter().map(|waker| waker.count).sum();
            let wakers: Vec<String> = by.iter().take(WAKERS).map(|waker| woken_by(waker, all)).collect();
            let wakers = if wakers.is_empty() { tr!("unknown").to_owned() } else { wakers.join(", ") };
            match period {
                Some(period) => {
                    tr!("Woken every {period} by {wakers}, waiting in {call}", period = latency(period), wakers, call)
                }
                None => tr!(
                    "Not paced by a timer: {wake_ups} in {call}, by {wakers}",
                    wake_ups = counted(*wakes, "wake-up"),
                    call,
                    wakers
                ),
            }
        }
        Pace::StillWaits { call } => tr!("Began to wait in {call}, and is still waiting", call),
        Pace::NeverWaits => tr!("Ran without ever waiting").to_owned(),
        Pace::Idle => tr!("Did not run").to_owned(),
        Pace::NotSeen { call: Some(call) } => tr!("Found waiting in {call}", call),
        Pace::NotSeen { call: None } => tr!("It was not seen what it waits for").to_owned(),
    }
}

fn woken_by(waker: &WokenBy, all: u64) -> String {
    let name = waker.name.as_deref().unwrap_or(tr!("interrupts"));
    let lower = if waker.is_lower { tr!(", of lower priority") } else { "" };
    let often = share_above_zero(waker.count, all).unwrap_or_else(|| of_all(waker.count, &count(all)));
    format!("{name} ({often}{lower})")
}

/// A share in percent; `None` if it would read 0.0 %, so that the number itself has to be told.
fn share_above_zero(part: u64, all: u64) -> Option<String> {
    units::share(part, all).filter(|_| u128::from(part) * 1000 >= u128::from(all))
}

fn of_all(part: u64, all: &str) -> String {
    tr!("{part} of {all}", part = count(part), all)
}

/// A priority as the kernel counts it, in the words of those who set it.
pub fn priority(kernel: i32) -> String {
    match kernel {
        ..0 => tr!("deadline").to_owned(),
        0..100 => tr!("real-time {priority}", priority = 99 - kernel),
        _ => format!("nice {}", kernel - 120),
    }
}

fn clock_name(clock: Clock) -> &'static str {
    match clock {
        Clock::Realtime => tr!("real-time"),
        Clock::Monotonic => tr!("monotonic"),
        Clock::Boottime => tr!("boot-time"),
        Clock::Tai => "TAI",
        Clock::Other => tr!("another"),
    }
}

pub fn setup(setup: Option<&Setup>) -> String {
    let Some(setup) = setup else { return tr!("; its settings could not be read").to_owned() };
    let policy = match setup.policy {
        Some(Policy::Other) => "SCHED_OTHER",
        Some(Policy::Fifo) => "SCHED_FIFO",
        Some(Policy::RoundRobin) => "SCHED_RR",
        Some(Policy::Deadline) => "SCHED_DEADLINE",
        Some(Policy::Batch) => "SCHED_BATCH",
        Some(Policy::Idle) => "SCHED_IDLE",
        Some(Policy::Ext) => "SCHED_EXT",
        None => tr!("an unknown policy"),
    };
    let has_priority = matches!(setup.policy, Some(Policy::Fifo | Policy::RoundRobin));
    let priority = if has_priority { format!(" {}", setup.priority) } else { String::new() };
    format!("; {policy}{priority}, {}", cpus_named(&setup.cpus))
}

/// What was found, what to change in the source, and what to write into a unit file instead.
pub fn finding(finding: &Finding) -> (String, String, Option<String>) {
    let own = str::to_owned;
    match finding {
        Finding::NotRealTime => (
            own(tr!("no real-time policy: any other thread can take its CPU")),
            own("pthread_setschedparam(..., SCHED_FIFO, priority 1 to 95)"),
            Some(own("CPUSchedulingPolicy=fifo, CPUSchedulingPriority=80")),
        ),
        Finding::PriorityTooHigh(priority) => (
            tr!("priority {priority} is above that of threads the kernel depends on", priority),
            own(tr!("take a priority of at most 95")),
            Some(own("CPUSchedulingPriority=80")),
        ),
        Finding::MemoryNotLocked => (
            own(tr!("memory is not locked: page faults can occur in a cycle")),
            own("mlockall(MCL_CURRENT | MCL_FUTURE)"),
            None,
        ),
        Finding::TimerSlack(slack) => (
            tr!("the kernel may end sleeps up to {slack} later than asked", slack = latency(*slack)),
            own(tr!("prctl(PR_SET_TIMERSLACK, 1), or a real-time policy")),
            Some(own("TimerSlackNSec=1")),
        ),
        Finding::NotPinned(cpus) => (
            tr!("it may run on CPUs {cpus}, and is moved between them", cpus),
            own(tr!("pthread_setaffinity_np() to one CPU")),
            cpus.iter().max().map(|cpu| format!("CPUAffinity={cpu}")),
        ),
        Finding::CpuMax(limit) => (
            tr!(
                "its control group may use {quota} of CPU time every {period}; once this time is used up, its threads \
                are stopped until the next period",
                quota = latency(limit.quota),
                period = latency(limit.period)
            ),
            own(tr!("nothing to change, because the limit is set outside of the program")),
            Some(own("CPUQuota= (empty)")),
        ),
        Finding::UclampMax(max) => (
            tr!("it may request only {max} of 1024 of its CPU's performance", max),
            own("sched_setattr() with sched_util_max 1024"),
            None,
        ),
        Finding::WokenByLower(name) => (
            tr!(
                "{name} often wakes this thread, although its priority is lower: everything that delays {name} delays \
                this thread",
                name
            ),
            tr!("give {name} at least the priority of this thread", name),
            None,
        ),
        Finding::Demoted(from) => (
            tr!("it had real-time priority {from} before, and has a lower priority or none now", from),
            own(tr!(
                "find out what calls sched_setscheduler() for this thread, for example rtkit or the program itself"
            )),
            None,
        ),
        Finding::RelativeSleep | Finding::CorrectedSleep | Finding::RealtimeClock | Finding::PacedByTimeOut => {
            let (found, change) = of_the_wait(finding);
            (own(found), own(change), None)
        }
    }
}

/// What is wrong with the wait that paces a thread, and what to wait by instead.
fn of_the_wait(finding: &Finding) -> (&'static str, &'static str) {
    let next_release = "clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next release)";
    match finding {
        Finding::RealtimeClock => (
            tr!("it sleeps on the real-time clock, which can be set"),
            tr!("use CLOCK_MONOTONIC for clock_gettime and clock_nanosleep"),
        ),
        Finding::PacedByTimeOut => (
            tr!("the timeout of a wait paces it: the duration of each cycle is added to its period"),
            tr!("wait until an absolute time, or use clock_nanosleep with TIMER_ABSTIME"),
        ),
        Finding::CorrectedSleep => (
            tr!("it sleeps for a length of time that it computes each time: a delay between the computation and the \
                sleep delays the release"),
            next_release,
        ),
        _ => (tr!("it sleeps for a length of time: the duration of each cycle is added to its period"), next_release),
    }
}

/// A kind of thing in the way, in a word or two.
pub fn intruder_kind(intruder: Intruder) -> &'static str {
    match intruder {
        Intruder::Memory => tr!("memory"),
        Intruder::Allocation => tr!("allocation"),
        Intruder::Fault => tr!("page fault"),
        Intruder::Sleep => tr!("sleep"),
        Intruder::Lock => tr!("lock"),
        Intruder::PiLock => tr!("PI lock"),
        Intruder::Write => tr!("output"),
        Intruder::BlockingCall => tr!("blocked"),
        Intruder::Call => tr!("call"),
        Intruder::Signal => tr!("signal"),
        Intruder::Migration => tr!("migration"),
    }
}

/// What to do about a kind of thing in the way.
pub fn remedy(intruder: Intruder) -> &'static str {
    match intruder {
        Intruder::Memory | Intruder::Allocation => tr!("Allocate before the loop."),
        Intruder::Fault => tr!("Lock memory with mlockall, and touch it before the loop."),
        Intruder::Sleep => tr!("Remove the second sleep from the cycle, or use it as the wait of the cycle."),
        Intruder::Lock => tr!("Use a mutex with priority inheritance, or none."),
        Intruder::PiLock => tr!("Hold the lock for a shorter time, or use none."),
        Intruder::Write => tr!("Let another thread write the output."),
        Intruder::BlockingCall => tr!("Hand the call to another thread."),
        Intruder::Call => tr!("Check whether each cycle needs the call."),
        Intruder::Signal => tr!("Block signals in this thread."),
        Intruder::Migration => tr!("Bind the thread to one CPU."),
    }
}

/// What to do about a thing in the way, where it is known who ended the wait.
pub fn remedy_of(row: &InTheWay) -> String {
    let lower = row.waker.as_ref().filter(|waker| waker.is_lower);
    let (Some(waker), Some(name)) = (lower, lower.and_then(|waker| waker.name.as_ref())) else {
        return remedy(row.intruder).to_owned();
    };
    let has = waker.priority.map(|kernel| format!(" ({})", priority(kernel))).unwrap_or_default();
    tr!(
        "{name}{has} has a lower priority: raise it, or do not wait for that thread. {remedy}",
        name,
        has,
        remedy = remedy(row.intruder)
    )
}

/// A thing in the way, with its place and how often it was there.
pub fn in_the_way(row: &InTheWay) -> String {
    let place = row.code.as_ref().map(|place| tr!(" in {place}", place = code(place))).unwrap_or_default();
    tr!(
        "{row}{place}: {times}, in {cycles} of {all}",
        row = intruder(row),
        place,
        times = counted(row.count, "time"),
        cycles = count(row.cycles),
        all = counted(row.among, "cycle")
    )
}

/// What fails, as it is written in `--fail-on`.
pub fn fail_on(kind: FailOn) -> String {
    match kind {
        FailOn::Alloc => "alloc".to_owned(),
        FailOn::Fault => "fault".to_owned(),
        FailOn::Syscall => "syscall".to_owned(),
        FailOn::Lock => "lock".to_owned(),
        FailOn::Late(limit) => format!("late={}", length(limit)),
    }
}

/// What of one kind was seen in a thread.
pub fn failing(kind: FailOn, thread: &ThreadReport) -> String {
    let Some(cycles) = &thread.cycles else { return String::new() };
    if let FailOn::Late(limit) = kind {
        let max = cycles.latency_due.max.map(latency).unwrap_or_default();
        return tr!("the largest latency, {max}, exceeds {limit}", max, limit = latency(limit));
    }
    let rows = cycles.in_the_way.iter().filter(|row| kind.fits(row));
    rows.map(in_the_way).collect::<Vec<_>>().join("; ")
}

/// Why nothing can be said of a thing that was not seen.
pub fn unknown(inspection: &Inspection) -> String {
    match inspection.engine {
        Engine::Counters => tr!("counters of the kernel show no cycles").to_owned(),
        _ if inspection.threads.iter().all(|thread| thread.cycles.is_none()) => {
            tr!("nothing was seen that paces a thread").to_owned()
        }
        _ if inspection.lost > 0 => tr!("{records} lost", records = counted(inspection.lost, "record")),
        _ => tr!("this kernel does not show it").to_owned(),
    }
}

fn recorded_by(engine: Engine) -> &'static str {
    match engine {
        Engine::Bpf => tr!("a BPF program"),
        Engine::Tracefs => tr!("the kernel's trace"),
        Engine::Counters => tr!("counters"),
    }
}

/// What was inspected, for documents of other formats.
pub fn facts(inspection: &Inspection) -> Vec<MachineLine> {
    let engine = match inspection.engine {
        Engine::Bpf => "bpf",
        Engine::Tracefs => "tracefs",
        Engine::Counters => "counters",
    };
    let program = &inspection.program;
    vec![
        ("program", program.name.clone()).into(),
        ("process", program.pid.to_string()).into(),
        ("engine", engine.to_owned()).into(),
        ("observed", ascii(&units::duration(inspection.observed))).into(),
    ]
}

pub fn intruder(row: &InTheWay) -> String {
    let kind = intruder_kind(row.intruder);
    let call = row.call.as_ref().or(row.function.as_ref()).map(|call| format!(": {call}")).unwrap_or_default();
    let waker = row.waker.as_ref().and_then(|waker| Some((waker.name.as_ref()?, waker.is_lower)));
    let lower = waker
        .map(|(name, is_lower)| tr!(", by {name}{lower}", name, lower = if is_lower { tr!(" (lower)") } else { "" }));
    format!("{kind}{call}{}", lower.unwrap_or_default())
}

pub fn code(code: &Code) -> String {
    match (&code.symbol, line_of(code)) {
        (Some(symbol), Some(line)) => format!("{symbol} ({line})"),
        (None, Some(line)) => line,
        (Some(symbol), None) if code.file.is_some() => format!("{symbol} ({})", file_of(code)),
        (Some(symbol), None) if code.module.contains(".so") => format!("{symbol} ({})", code.module),
        (Some(symbol), None) => format!("{symbol}+{:#x}", code.offset),
        (None, None) => format!("{}+{:#x}", code.module, code.offset),
    }
}

/// A place in the code in at most `room` characters: long names lose what they are part of, then all but their line.
pub fn code_within(place: &Code, room: usize) -> String {
    let last = place.symbol.as_deref().and_then(|symbol| symbol.rsplit("::").next()).map(str::to_owned);
    let short = Code { symbol: last, ..place.clone() };
    let mut told = [Some(code(place)), Some(code(&short)), line_of(place)].into_iter().flatten();
    told.find(|told| told.chars().count() <= room).unwrap_or_else(|| shortened(&code(&short), room))
}

/// The line of the source, without its folders.
fn line_of(code: &Code) -> Option<String> {
    Some(format!("{}:{}", file_of(code), code.line?))
}

/// The file of the source, without its folders.
fn file_of(code: &Code) -> &str {
    code.file.as_deref().and_then(|file| file.rsplit('/').next()).unwrap_or_default()
}

pub fn period_errors(errors: &PeriodErrors) -> String {
    let shows = match errors.shows {
        PeriodErrorsShow::Grid => {
            tr!("each wake-up deviates from a fixed grid of releases by itself")
        }
        PeriodErrorsShow::Accumulation => tr!("errors add up: each wake-up shifts all later ones"),
        PeriodErrorsShow::Wandering => tr!("latency changes slowly, over many cycles"),
    };
    tr!("autocorrelation of successive period errors {rho1}: {shows}", rho1 = format!("{:.2}", errors.rho1), shows)
}

pub fn worst(worst: &WorstCycle) -> String {
    let late = worst.latency.map(|late| tr!("{late} of it latency, ", late = latency(late))).unwrap_or_default();
    tr!(
        "cycle {number} took {response} from its release: {late}{preempted} pre-empted, {blocked} blocked",
        number = count(worst.number),
        response = latency(worst.response),
        late,
        preempted = latency(worst.preempted),
        blocked = latency(worst.blocked)
    )
}

/// How many cycles were late, and how much of their latency has a known cause; `None` if none was late.
pub fn late(causes: &Explanation) -> Option<String> {
    let sum = |of: fn(&LateCount) -> u64| causes.late.iter().map(|cpu| of(&cpu.count)).sum::<u64>();
    let (late, complete) = (sum(|count| count.late), sum(|count| count.complete));
    let threshold = causes.thresholds.iter().map(|of| of.threshold).max()?;
    let known =
        causes.explained.map(|share| tr!("; {share} of the traced latency has a known cause", share = portion(share)));
    (late > 0).then(|| {
        let traced = if complete < late {
            tr!(", {complete} completely traced", complete = count(complete))
        } else {
            String::new()
        };
        tr!(
            "{cycles} by more than {threshold}{traced}{known}",
            cycles = counted(late, "cycle"),
            threshold = latency(threshold),
            traced,
            known = known.unwrap_or_default()
        )
    })
}

/// A cause with its share, its largest time in one cycle, and the first reason why it could take the CPU.
pub fn late_cause(ranked: &Ranked) -> String {
    let why = causes::reasons(ranked, 1).into_iter().next().map(|why| format!(": {why}")).unwrap_or_default();
    tr!(
        "{share} {cause}, at most {worst} in one cycle{why}",
        share = portion(ranked.share),
        cause = causes::cause(&ranked.cause),
        worst = latency(ranked.worst),
        why
    )
}

pub fn start_up(start_up: &StartUp, engine: Engine) -> String {
    if engine == Engine::Counters {
        return tr!("Its operations before the first cycle were not seen.").to_owned();
    }
    let before = start_up.length.map_or_else(
        || tr!("Start-up, but no cycle was seen:").to_owned(),
        |length| tr!("Start-up, {length} before the first cycle:", length = latency(length)),
    );
    tr!(
        "{before} {system_calls}, {memory_calls} of them for memory, {page_faults}. These are not findings.",
        before,
        system_calls = counted(start_up.calls, "system call"),
        memory_calls = count(start_up.memory_calls),
        page_faults = counted(start_up.faults, "page fault")
    )
}

fn paced(inspection: &Inspection) -> impl Iterator<Item = &ThreadReport> {
    inspection.judged().into_iter()
}

pub fn seen(inspection: &Inspection) -> String {
    let others = inspection.threads.iter().filter(|thread| thread.cycles.is_some()).count() - paced(inspection).count();
    let others = if others == 0 {
        String::new()
    } else {
        tr!(
            "; not judged: {threads} with cycles but no real-time policy",
            threads = counted(others as u64, "more thread")
        )
    };
    format!("{}{others}", seen_in_judged(inspection))
}

fn seen_in_judged(inspection: &Inspection) -> String {
    let cycles: u64 = paced(inspection).filter_map(|thread| Some(thread.cycles.as_ref()?.count)).sum();
    let of = tr!(
        "{cycles} of {threads}",
        cycles = counted(cycles, "cycle"),
        threads = counted(paced(inspection).count() as u64, "thread")
    );
    match Answer::of(inspection) {
        Answer::Clean => tr!("nothing but the wait was seen in {of}, which are set up for real time", of),
        Answer::SetUpWrong => {
            tr!("nothing but the wait was seen in {of}, but {inspection}", of, inspection = set_up_wrong(inspection))
        }
        Answer::Disturbed => disturbed(inspection, &of),
        Answer::NoTimer => {
            tr!(
                "for none of {threads} was it seen what paces it",
                threads = counted(inspection.threads.len() as u64, "thread")
            )
        }
        Answer::NotSeen => tr!("counters of the kernel show neither releases nor cycles").to_owned(),
    }
}

fn set_up_wrong(inspection: &Inspection) -> String {
    let wrong = paced(inspection).map(|thread| thread.findings.len()).sum::<usize>();
    tr!("the setup of the threads has {findings}", findings = counted(wrong as u64, "finding"))
}

fn disturbed(inspection: &Inspection, of: &str) -> String {
    let rows = paced(inspection).filter_map(|thread| {
        let cycles = thread.cycles.as_ref()?;
        Some((thread, cycles.in_the_way.first()?))
    });
    let most = rows.max_by(|(.., one), (.., other)| one.slow_share.total_cmp(&other.slow_share));
    let Some((thread, row)) = most else {
        return over_budget(inspection, of);
    };
    let place = row.code.as_ref().map(|place| tr!(" in {place}", place = code(place))).unwrap_or_default();
    let often = share_above_zero(row.cycles, row.among)
        .map_or_else(|| of_all(row.cycles, &counted(row.among, "cycle")), |share| tr!("{share} of the cycles", share));
    tr!(
        "{row}{place} occurs in {often} of {thread}, and in {slow_share} of its slowest cycles",
        row = intruder(row),
        place,
        often,
        thread = thread.name,
        slow_share = portion(row.slow_share)
    )
}

/// How many releases were later than the budget, and what made most of that, if it is known.
fn over_budget(inspection: &Inspection, of: &str) -> String {
    let over: u64 = paced(inspection).filter_map(|thread| thread.cycles.as_ref()?.over_limit).sum();
    let causes = paced(inspection).filter_map(|thread| thread.causes.as_ref()?.causes.first());
    let most = causes.max_by_key(|ranked| ranked.total);
    let most = most
        .map(|ranked| tr!("; most of the latency comes from {cause}", cause = causes::cause(&ranked.cause)))
        .unwrap_or_default();
    tr!("{releases} later than the budget, in {of}{most}", releases = counted(over, "release"), of, most)
}

/// Whether something other than the wait was in the cycles of a thread.
fn has_intruders(inspection: &Inspection) -> bool {
    paced(inspection).filter_map(|thread| thread.cycles.as_ref()).any(|cycles| !cycles.in_the_way.is_empty())
}

pub fn trust(inspection: &Inspection) -> String {
    let end = match inspection.end {
        End::Duration => "",
        End::ProgramEnded => tr!("; the program ended by itself"),
        End::Interrupted => tr!("; the inspection was interrupted"),
    };
    match (inspection.engine, inspection.lost) {
        (Engine::Counters, _) => tr!("counters only{end}", end),
        (engine, 0) => tr!(
            "recorded by {engine}, none of {records} records was lost{end}",
            engine = recorded_by(engine),
            records = count(inspection.records),
            end
        ),
        (engine, lost) => tr!(
            "by {engine}: {read} records read, {records} lost; cycles with missing records are left out{end}",
            engine = recorded_by(engine),
            records = counted(lost, "record"),
            read = count(inspection.records),
            end
        ),
    }
}

pub fn unseen(inspection: &Inspection) -> String {
    let refusal = |refused: &Refused| match refused.engine {
        Engine::Bpf => {
            tr!(
                "BPF, which sees the same as the kernel's trace and leaves nothing behind, cannot be used: {why}",
                why = said(&refused.why)
            )
        }
        _ => tr!("the kernel's trace cannot be used: {why}", why = said(&refused.why)),
    };
    let mut told: Vec<String> = inspection.refused.iter().map(refusal).collect();
    let mut children: Vec<String> = Vec::new();
    for blind in &inspection.blind {
        told.push(match blind {
            // What was given up is told below.
            Blind::SmallAllocations(Unprobed::After(_)) if gave_up(inspection, Saved::Allocations) => continue,
            Blind::SmallAllocations(why) => unprobed(why),
            Blind::Cycles => tr!("what is in the cycles").to_owned(),
            Blind::Causes(why) => tr!("what made cycles late: {why}", why),
            Blind::CallSites => tr!("the places in the program where system calls are made").to_owned(),
            Blind::Places(lost) => tr!(
                "where {calls} were made: they came faster than their stacks could be read",
                calls = counted(*lost, "call")
            ),
            Blind::Script => tr!("the script's own functions, which only show if Python 3.12 runs with -X perf, or \
                node with --perf-basic-prof")
            .to_owned(),
            Blind::Event(event) => tr!("the kernel's event {event}", event),
            Blind::Waits => tr!("which wait a thread is in, which this kernel shows to root only").to_owned(),
            Blind::SettingsOf(tid) => tr!("the settings of thread {tid}", tid),
            Blind::ChildProcess { pid, name } => {
                children.push(tr!("{name} (process {pid})", name, pid));
                continue;
            }
        });
    }
    told.extend(inspection.cost.as_ref().and_then(given_up));
    if !children.is_empty() {
        let more = children.len().saturating_sub(CHILDREN);
        children.truncate(CHILDREN);
        let more = match more {
            0 => String::new(),
            more => tr!(" and {more}", more = counted(more as u64, "more process")),
        };
        told.push(tr!(
            "{children}{more}, which this program started: see --children",
            children = children.join(", "),
            more
        ));
    }
    told.join("; ")
}

fn unprobed(why: &Unprobed) -> String {
    let small = tr!("allocations that need no system call");
    match why {
        Unprobed::NotAsked => tr!("{small}, as you asked", small),
        Unprobed::NoThread => tr!("{small}, because no thread with cycles was found in time", small),
        Unprobed::NoAllocator => tr!("{small}, because the program has no function called malloc or similar", small),
        Unprobed::Refused(why) => format!("{small}: {why}"),
        Unprobed::After(length) => tr!("allocations after the first {length} of probing", length = latency(*length)),
    }
}

pub fn cost(inspection: &Inspection) -> String {
    let share = units::share(inspection.own_cpu.as_ns(), inspection.observed.as_ns()).unwrap_or_default();
    let probed = match inspection.probed_allocations {
        0 => String::new(),
        calls => tr!(" and {probes}", probes = counted(calls, "probe")),
    };
    let own = tr!(
        "{records}{THIN}records{probed} took punctual {share} of one CPU",
        records = count(inspection.records),
        THIN,
        probed,
        share
    );
    let of_thread = paced(inspection).find_map(|thread| Some((&thread.name, thread.cost.as_ref()?)));
    let others =
        of_thread.map(|(thread, of_cycle)| tr!("; in {thread}, {cost}", cost = of_each_cycle(of_cycle), thread));
    format!("{own}{}", others.unwrap_or_default())
}

/// A share as it was asked for.
fn percent(share: f64) -> String {
    let digits = format!("{:.3}", share * 100.0);
    format!("{}{THIN}%", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// What was recorded of each cycle of a thread, and how much of its time that took.
pub fn of_each_cycle(cost: &CycleCost) -> String {
    tr!(
        "its cycles had {records} records each, which took about {time}",
        records = format!("{:.1}", cost.records),
        time = latency(cost.time)
    )
}

fn gave_up(inspection: &Inspection, what: Saved) -> bool {
    inspection.cost.iter().flat_map(|cost| &cost.given_up).any(|given_up| given_up.what == what)
}

/// What was given up to cost less, and from when on.
fn given_up(cost: &Cost) -> Option<String> {
    let one = |given_up: &GivenUp| {
        let what = match given_up.what {
            Saved::Causes => tr!("what made cycles late"),
            Saved::Stacks => tr!("the places in the program where system calls are made"),
            Saved::Allocations => tr!("allocations that need no system call"),
            Saved::Inside => tr!("what is in the cycles"),
        };
        tr!("{what} from {after} on", what, after = latency(given_up.after))
    };
    let all: Vec<String> = cost.given_up.iter().map(one).collect();
    (!all.is_empty()).then(|| {
        tr!(
            "{things}, given up because the observation took more than {limit} of one CPU (--cost)",
            things = all.join(", "),
            limit = percent(cost.limit)
        )
    })
}

/// What to do next, and the command for it.
pub fn next(inspection: &Inspection, again: &Command) -> (String, String) {
    let same = again.clone().to_string();
    match Answer::of(inspection) {
        Answer::NotSeen => {
            let as_root = again.clone().with_sudo(true).without("--no-trace").to_string();
            (tr!("Let punctual use the kernel's trace:").to_owned(), as_root)
        }
        Answer::NoTimer => (
            tr!("Observe the program while it works, or for longer:").to_owned(),
            again.clone().with("--duration", "60s").to_string(),
        ),
        Answer::Disturbed if !has_intruders(inspection) => {
            (tr!("Remove what made cycles late, then inspect again:").to_owned(), same)
        }
        Answer::Disturbed => (tr!("Move this operation out of the loop, then inspect again:").to_owned(), same),
        Answer::SetUpWrong => {
            (tr!("Change the source or the unit file as above, then inspect again:").to_owned(), same)
        }
        Answer::Clean => {
            let period = paced(inspection).find_map(|thread| thread.cycles.as_ref()?.period);
            let check = Command::new(["check"]).with_sudo(true);
            let check = period.map_or(check.clone(), |period| {
                check.with("--period", &length(Nanos::from_us(period.as_ns().div_ceil(1000))))
            });
            (tr!("See whether the machine can keep this period under load:").to_owned(), check.to_string())
        }
    }
}
