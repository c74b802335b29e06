//! The sentences about a torture test.

use super::tables::kind;
use crate::render::lang::{said, tr};
use crate::render::units::{count, counted, duration, latency};
use crate::render::words::cpus;
use punctual_linux::torture::own_tests::{OwnResult, OwnTests, Suite, SuiteRun};
use punctual_linux::torture::{
    ActKind, CoreName, Corruption, Doubt, End, Findings, Heap, Integrity, Mutexes, Outcome, Test, Timers, Unit, Verdict,
};

/// Number of characters shown of the bytes of a register.
const BYTES_SHOWN: usize = 32;

pub fn title(findings: &Findings) -> String {
    match findings {
        Findings::Switches(integrity) => {
            tr!("Registers over context switches: {integrity}", integrity = registers(integrity))
        }
        Findings::Fpu(integrity) => {
            tr!("Registers under signals and page faults: {integrity}", integrity = registers(integrity))
        }
        Findings::Mutex(_) => tr!("Chains of locks: hand-over with priority inheritance, and plain locks").to_owned(),
        Findings::Heap(_) => tr!("Allocation while memory is taken away").to_owned(),
        Findings::Timers(_) => tr!("Timers, all at once").to_owned(),
    }
}

fn registers(integrity: &Integrity) -> String {
    let units: Vec<&str> = integrity.units.iter().map(|unit| self::unit(*unit)).collect();
    if units.is_empty() { tr!("none is known here").to_owned() } else { units.join(", ") }
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::X87 => "x87",
        Unit::Sse => "SSE",
        Unit::Avx => "AVX",
        Unit::Avx512 => "AVX-512",
        Unit::Neon => "NEON",
        Unit::Sve => "SVE",
    }
}

/// A sentence for each corruption that was kept.
pub fn corruptions(findings: &Findings) -> Vec<String> {
    match findings {
        Findings::Switches(integrity) | Findings::Fpu(integrity) => {
            integrity.corruptions.iter().map(corruption).collect()
        }
        Findings::Mutex(_) | Findings::Heap(_) | Findings::Timers(_) => Vec::new(),
    }
}

fn corruption(one: &Corruption) -> String {
    let partner = one.partner.map(|partner| tr!(", which had woken a {partner} thread", partner = kind(partner)));
    let partner = partner.unwrap_or_default();
    let writer = one
        .written_by
        .map(|by| tr!("; thread {thread} of CPU {cpu} wrote this value", thread = by.thread, cpu = by.cpu));
    let bytes = |text: &str| -> String {
        let shown: String = text.chars().take(BYTES_SHOWN).collect();
        if shown.len() < text.len() { shown + ".." } else { shown }
    };
    tr!(
        "CPU {cpu}, {kind} thread {thread}{partner}, while {act}: {register} held {found} instead of {expected}{writer}",
        cpu = one.cpu,
        kind = kind(one.kind),
        thread = one.thread,
        partner,
        act = act(one.act),
        register = said(&one.register),
        found = bytes(&one.found),
        expected = bytes(&one.expected),
        writer = writer.unwrap_or_default()
    )
}

fn act(act: ActKind) -> &'static str {
    match act {
        ActKind::Yield => tr!("it yielded"),
        ActKind::Sleep => tr!("it slept"),
        ActKind::CoreSleep => tr!("it slept on the real-time core"),
        ActKind::Wait => tr!("it waited"),
        ActKind::Wake => tr!("it woke another thread"),
        ActKind::Signal => tr!("a signal was handled"),
        ActKind::Spin => tr!("it ran"),
        ActKind::PageFault => tr!("pages were brought in"),
    }
}

/// What was seen, as the first sentence of the answer.
pub fn seen(outcome: &Outcome) -> String {
    match &outcome.findings {
        Findings::Switches(integrity) | Findings::Fpu(integrity) => integrity_seen(integrity),
        Findings::Mutex(mutexes) => chains_seen(mutexes),
        Findings::Heap(heap) => heap_seen(heap),
        Findings::Timers(timers) => timers_seen(timers),
    }
}

fn integrity_seen(integrity: &Integrity) -> String {
    let sum = |of: fn(&punctual_linux::torture::IntegrityRow) -> u64| integrity.cpus.iter().map(of).sum::<u64>();
    let checks = count(sum(|row| row.checks));
    let what = if let Some(signals) = integrity.signals {
        tr!(
            "{signals} and {page_faults}",
            signals = counted(signals, "signal"),
            page_faults = counted(sum(|row| row.faults), "page fault")
        )
    } else {
        let switches = tr!("{switches} context switches", switches = count(sum(|row| row.switches)));
        match sum(|row| row.in_band_switches) {
            0 => switches,
            left => tr!("{switches} and {left} moves from the real-time core to Linux", switches, left = count(left)),
        }
    };
    let planted = integrity.plant.as_ref().map(|plant| {
        let caught = if plant.caught { tr!("was noticed") } else { tr!("was NOT noticed") };
        tr!(
            " One register was spoilt on purpose, {register} on CPU {cpu}: this {caught}.",
            register = said(&plant.register),
            cpu = plant.cpu,
            caught
        )
    });
    let handlers = match integrity.spoilt_handlers {
        0 => String::new(),
        spoilt => tr!(
            " In {signal_handlers}, registers changed while the handler ran.",
            signal_handlers = counted(spoilt, "signal handler")
        ),
    };
    let corrupted = match integrity.corrupted() {
        0 => tr!("no register changed").to_owned(),
        n => tr!("registers changed {times}", times = counted(n, "time")),
    };
    tr!(
        "{corrupted} over {what}; {checks} checks.{handlers}{planted}",
        corrupted,
        what,
        checks,
        handlers,
        planted = planted.unwrap_or_default()
    )
}

fn chains_seen(mutexes: &Mutexes) -> String {
    let rows = |with: bool| mutexes.chains.iter().filter(move |row| row.inheritance == with);
    let inverted = |with: bool| rows(with).map(|row| row.inversions).sum::<u64>();
    let rounds = |with: bool| rows(with).map(|row| row.rounds).sum::<u64>();
    let slowest = |out_of_band: bool| {
        let rows = rows(true).filter(|row| row.out_of_band == out_of_band);
        rows.filter_map(|row| row.hand_over.max.map(|max| (max, row.locks))).max()
    };
    let Some((longest, locks)) = slowest(false) else {
        return tr!("no chain of locks was tried.").to_owned();
    };
    let seen = tr!(
        "with priority inheritance, a thread of middle priority ran first in {inverted} of {rounds} rounds, with plain \
        locks in {plain_inverted} of {plain_rounds}. The slowest hand-over, through {locks} locks, took {slowest}.",
        inverted = count(inverted(true)),
        rounds = count(rounds(true)),
        plain_inverted = count(inverted(false)),
        plain_rounds = count(rounds(false)),
        slowest = latency(longest),
        locks
    );
    match slowest(true) {
        None => seen,
        Some((longest, locks)) => {
            tr!(
                "{seen} On the real-time core, the slowest hand-over took {slowest} through {locks} locks.",
                seen,
                slowest = latency(longest),
                locks
            )
        }
    }
}

fn heap_seen(heap: &Heap) -> String {
    let gone = heap.rows.iter().map(|row| row.pages_gone).max().unwrap_or(0) as u64;
    let major: u64 = heap.rows.iter().map(|row| row.major_faults).sum();
    let stayed = match (heap.locked, gone, major) {
        (true, 0, 0) => tr!("locked memory stayed in memory").to_owned(),
        (true, ..) => {
            tr!(
                "locked memory was taken away: {pages}; {faults} had to read from disk",
                pages = counted(gone, "page"),
                faults = counted(major, "fault")
            )
        }
        (false, ..) => tr!("memory was not locked").to_owned(),
    };
    let slowest = heap.rows.iter().filter_map(|row| row.allocation.max).max();
    let slowest = slowest.map(|max| tr!(" The slowest allocation took {max}.", max = latency(max))).unwrap_or_default();
    let pressure = heap.touched_mib.map(|mib| tr!(" Another process touched {mib} MiB.", mib = count(mib)));
    let scanned = match heap.pages_scanned {
        Some(0) => tr!(" The kernel never had to take memory back.").to_owned(),
        Some(pages) => {
            tr!(" The kernel looked through {pages} for memory to take back.", pages = counted(pages, "page"))
        }
        None => String::new(),
    };
    format!("{stayed}.{slowest}{}{scanned}", pressure.unwrap_or_default())
}

fn timers_seen(timers: &Timers) -> String {
    let sum = |of: fn(&punctual_linux::torture::TimerRow) -> u64| timers.rows.iter().map(of).sum::<u64>();
    let latest = timers.rows.iter().filter_map(|row| row.late.max).max();
    let latest = latest.map(|max| tr!(" The largest delay was {max}.", max = latency(max))).unwrap_or_default();
    tr!(
        "of {expiries} expiries, {early} came early and {lost} never came; {overruns} came together with another \
        one.{latest}",
        expiries = count(sum(|row| row.expiries)),
        early = count(sum(|row| row.early)),
        lost = count(sum(|row| row.lost)),
        overruns = count(sum(|row| row.overruns)),
        latest
    )
}

/// On which CPUs, with which threads, for how long.
pub fn tried(outcome: &Outcome) -> String {
    let real_time = match &outcome.real_time_refused {
        Some(_) => tr!("no real-time thread").to_owned(),
        None if outcome.place.real_time.is_empty() => tr!("no real-time thread").to_owned(),
        None => tr!("real-time threads on {real_time}", real_time = cpus(&outcome.place.real_time)),
    };
    let core = outcome.place.core.as_ref().map(|core| {
        let name = match core.name {
            CoreName::Evl => "EVL",
            CoreName::Cobalt => "Cobalt",
        };
        tr!(", threads of {name} on {cpus}", name, cpus = cpus(&core.cpus))
    });
    let core = core.unwrap_or_default();
    let end = if outcome.end == End::Interrupted { tr!(", interrupted") } else { "" };
    format!("{}, {real_time}{core}, {}{end}.", cpus(&outcome.place.cpus), duration(outcome.took))
}

/// A line for each suite of a second kernel that was asked for.
pub fn own_tests(outcome: &Outcome) -> Vec<String> {
    outcome.own_tests.iter().map(own).collect()
}

fn own(own: &OwnTests) -> String {
    let suite = match own.suite {
        Suite::Evl => tr!("evl test (Xenomai 4)"),
        Suite::Smokey => tr!("smokey (Xenomai 3)"),
    };
    let ran = match &own.run {
        SuiteRun::NotInstalled => return tr!("{suite}: not installed.", suite),
        SuiteRun::NotStarted { because } => return tr!("{suite}: could not be started: {because}.", suite, because),
        SuiteRun::Ended { status: None } => tr!(", ended by a signal"),
        SuiteRun::Ended { .. } => "",
        SuiteRun::TookTooLong => tr!(", ended because it took too long"),
        SuiteRun::Interrupted => tr!(", interrupted"),
    };
    let figures = own.tests.iter().filter(|test| matches!(test.result, OwnResult::Figure { .. })).count();
    let broken: Vec<&str> =
        own.tests.iter().filter(|test| test.result == OwnResult::Broken).map(|test| test.name.as_str()).collect();
    let names = if broken.is_empty() { String::new() } else { format!(" ({})", broken.join(", ")) };
    tr!(
        "{suite}: {ok} ok, {broken} broken{names}, {unsupported} without kernel support, {skipped} skipped, {figures} \
        that only state a figure{ran}.",
        suite,
        ok = own.count(&OwnResult::Ok),
        broken = broken.len(),
        names,
        unsupported = own.count(&OwnResult::NoKernelSupport),
        skipped = own.count(&OwnResult::Skipped),
        figures,
        ran
    )
}

pub fn doubt(doubt: Doubt, outcome: &Outcome) -> String {
    match doubt {
        Doubt::NoRealTime => {
            let why = outcome.real_time_refused.as_deref().unwrap_or_default();
            tr!("No real-time thread was there: {why}.", why = said(why))
        }
        Doubt::NoOutOfBand => {
            let why = outcome.core_refused.as_deref().unwrap_or_default();
            tr!("No out-of-band thread was there: {why}.", why = said(why))
        }
        Doubt::NoRegisters => {
            tr!("Threads switched, but punctual does not know the registers of this architecture.").to_owned()
        }
        Doubt::NothingTried => tr!(
            "On at least one CPU nothing was tested: the run was too short, or this CPU got no thread or no signal."
        )
        .to_owned(),
        Doubt::NotLocked => {
            let why = match &outcome.findings {
                Findings::Heap(heap) => heap.lock_refused.as_deref().unwrap_or_default(),
                _ => "",
            };
            tr!("Memory is not locked: {why}.", why = said(why))
        }
        Doubt::NoPressure => {
            let why = match &outcome.findings {
                Findings::Heap(heap) => heap.load_failure.as_deref().unwrap_or_default(),
                _ => "",
            };
            tr!("The process that uses up memory failed: {why}.", why = said(why))
        }
        Doubt::NoInversionSeen => {
            tr!("Plain locks were not seen to invert priorities, so inheritance may not have been needed.").to_owned()
        }
        Doubt::PlantMissed => tr!("The planted corruption was not noticed.").to_owned(),
        Doubt::OwnTestsFailed => tr!("A test suite of the second kernel did not run to its end.").to_owned(),
    }
}

/// The next step, and its command if there is one.
pub fn next(outcome: &Outcome) -> (String, Option<String>) {
    let test = name(outcome.findings.test());
    let is_planted = corruptions_are_planted(&outcome.findings);
    match outcome.verdict {
        Verdict::Broken if is_planted => {
            (tr!("Run it without --plant:").to_owned(), Some(format!("sudo punctual torture {test}")))
        }
        Verdict::Broken => (
            tr!("Report it to the maker of this kernel, with the output of this command:").to_owned(),
            Some(format!("sudo punctual torture {test} --json > torture.json; punctual snapshot --out machine.txt")),
        ),
        Verdict::Inconclusive if outcome.doubts.contains(&Doubt::NoRealTime) => {
            (tr!("Run it as root:").to_owned(), Some(format!("sudo punctual torture {test}")))
        }
        Verdict::Inconclusive if outcome.doubts.contains(&Doubt::NoOutOfBand) => (
            tr!("When the real-time core accepts threads, run the test again:").to_owned(),
            Some(format!("sudo punctual torture {test}")),
        ),
        Verdict::Inconclusive => {
            (tr!("Run it for longer:").to_owned(), Some(format!("sudo punctual torture {test} --duration 60s")))
        }
        Verdict::Held => {
            let next = match outcome.findings.test() {
                Test::Switches => Test::Fpu,
                Test::Fpu => Test::Mutex,
                Test::Mutex => Test::Heap,
                Test::Heap => Test::Timers,
                Test::Timers => {
                    return (
                        tr!("Measure what this machine does under load:").to_owned(),
                        Some("sudo punctual check".to_owned()),
                    );
                }
            };
            (tr!("The next test:").to_owned(), Some(format!("sudo punctual torture {}", name(next))))
        }
    }
}

/// Whether everything that was wrong was made wrong on purpose.
fn corruptions_are_planted(findings: &Findings) -> bool {
    match findings {
        Findings::Switches(integrity) | Findings::Fpu(integrity) => {
            integrity.plant.is_some() && integrity.corrupted() == 1
        }
        Findings::Mutex(_) | Findings::Heap(_) | Findings::Timers(_) => false,
    }
}

fn name(test: Test) -> &'static str {
    match test {
        Test::Switches => "switches",
        Test::Fpu => "fpu",
        Test::Mutex => "mutex",
        Test::Heap => "heap",
        Test::Timers => "timers",
    }
}
