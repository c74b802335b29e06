//! Turns what was seen into the report.

use super::code::{Places, is_interpreter, is_of_script};
use super::marks::Marks;
use super::members::Process;
use super::observe::Observed;
use super::process::Seen;
use super::{InspectError, Wanted};
use crate::trace::USER_STACK;
use punctual_facts::machine::MachineLine;
use punctual_hist::MonoTime;
use punctual_numbers::explain::{Evidence, Explanation};
use punctual_numbers::inspect::{
    self as numbers, Blind, Call, Digest, Engine, Finding, Inspection, Order, Pace, Person, Program, Refused, Setup,
    StartUp, ThreadReport,
};
use punctual_numbers::trace::{Address, Tid};
use punctual_rt::kernel;
use std::collections::BTreeMap;

pub fn report(
    wanted: &Wanted,
    seen: &Observed,
    (engine, refused): (Engine, Vec<Refused>),
    calls: &[Call],
) -> Result<Inspection, InspectError> {
    let places: BTreeMap<u32, Places<'_>> = seen.spaces.iter().map(|(pid, space)| (*pid, Places::new(space))).collect();
    let people = people(seen);
    let is_wanted =
        |tid: u32, thread: &Seen| wanted.thread.as_ref().is_none_or(|filter| filter.has(tid, &thread.last.name));
    let mut threads: Vec<ThreadReport> = seen
        .members
        .threads
        .iter()
        .filter(|(tid, thread)| is_wanted(**tid, thread))
        .map(|(tid, thread)| {
            let located = |stack: &[Address]| places.get(&thread.pid).map(|places| places.locate(stack));
            let locate = |stack: &[Address]| located(stack).unwrap_or_default();
            let is_of_probes = |at| is_of_probes(seen, thread.pid, at);
            let order = Order { calls, people: &people, locate: &locate, is_of_probes: &is_of_probes };
            let mut report = of_thread(*tid, thread, seen.digest.as_ref(), &order);
            report.causes = causes(&report, seen, &wanted.machine);
            let cycles = report.cycles.as_ref().map_or(0, |cycles| cycles.count);
            report.cost = Tid::try_from(*tid).ok().and_then(|tid| seen.bill.of_cycle(tid, cycles));
            report
        })
        .collect();
    if let (true, Some(filter)) = (threads.is_empty(), &wanted.thread) {
        return Err(InspectError::NoThread { pid: seen.pid, wanted: filter.to_string() });
    }
    threads.sort_by_key(|thread| {
        let priority = thread.setup.as_ref().and_then(Setup::kernel_priority);
        (rank(thread), priority.unwrap_or(i32::MAX), thread.tid)
    });
    let start_up = seen.started.map(|started| start_up(started, seen, &threads));
    let mut programs = programs(seen);
    let program = programs.remove(&seen.pid).unwrap_or_default();
    Ok(Inspection {
        program,
        children: programs.into_values().collect(),
        engine: if seen.digest.is_some() { engine } else { Engine::Counters },
        refused,
        blind: blind(seen, &threads),
        observed: seen.length,
        end: seen.end,
        records: seen.digest.as_ref().map_or(0, Digest::records),
        lost: seen.lost,
        probed_allocations: seen.hits,
        own_cpu: seen.own_cpu,
        cost: seen.cost.clone(),
        start_up,
        threads,
        marks: seen.marks.as_ref().and_then(Marks::report),
    })
}

/// The observed processes, with the numbers of their threads.
fn programs(seen: &Observed) -> BTreeMap<u32, Program> {
    let threads = |pid: u32| seen.members.threads.values().filter(|thread| thread.pid == pid).count() as u64;
    let program = |(pid, process): (&u32, &Process)| {
        (*pid, Program { pid: *pid, name: process.name.clone(), threads: threads(*pid) })
    };
    seen.members.processes.iter().map(program).collect()
}

fn of_thread(tid: u32, thread: &Seen, digest: Option<&Digest>, order: &Order<'_>) -> ThreadReport {
    let name = thread.last.name.clone();
    let kernel_tid = Tid::try_from(tid).unwrap_or_default();
    let nothing = Digest::default();
    let setup = thread.last.setup.clone();
    let mut report = digest.unwrap_or(&nothing).report((thread.pid, kernel_tid), name, setup, order);
    report.counters = thread.growth();
    if digest.is_none() {
        let call = thread.found_in.iter().max_by_key(|(_, count)| **count).map(|((number, _), _)| *number);
        let name = |number| order.calls.iter().find(|call| call.number == number).map(|call| call.name.to_owned());
        report.pace = Pace::NotSeen { call: call.and_then(name) };
        let sleeps =
            thread.found_in.keys().find_map(|(number, arguments)| numbers::sleeping(*number, *arguments, order.calls));
        report.findings = numbers::findings(report.setup.as_ref(), sleeps);
    }
    report.findings.extend(thread.demoted_from().map(Finding::Demoted));
    report
}

/// What made the thread late, if that was looked for.
fn causes(report: &ThreadReport, seen: &Observed, machine: &[MachineLine]) -> Option<Explanation> {
    let caught = seen.late.as_ref().ok()?.get(&report.tid)?;
    let period = report.cycles.as_ref()?.period.unwrap_or_default();
    Some(Explanation::of_thread(&Evidence {
        windows: &caught.windows,
        machine,
        roams: report.setup.as_ref().is_none_or(|setup| setup.cpus.len() > 1),
        late: &caught.late,
        period,
        tick: kernel::tick_length(),
    }))
}

/// Threads with cycles come first, then those that are woken.
fn rank(thread: &ThreadReport) -> u8 {
    match &thread.pace {
        Pace::Sleep { .. } | Pace::Timerfd { .. } | Pace::PosixTimer { .. } | Pace::TimeOut { .. } => 0,
        Pace::Woken { .. } if thread.cycles.is_some() => 0,
        _ if thread.is_real_time() => 1,
        Pace::Woken { .. } | Pace::StillWaits { .. } | Pace::NeverWaits => 2,
        Pace::NotSeen { .. } => 3,
        Pace::Idle => 4,
    }
}

/// Names and priorities of all threads that woke others. Those of the program's own threads are the latest ones.
fn people(seen: &Observed) -> BTreeMap<Tid, Person> {
    let ours = seen.members.threads.iter().filter_map(|(tid, thread)| {
        let priority = thread.last.setup.as_ref().and_then(Setup::kernel_priority);
        Some((Tid::try_from(*tid).ok()?, (thread.last.name.clone(), priority)))
    });
    let mut people = seen.people.clone();
    people.extend(ours);
    people
}

fn start_up(started: MonoTime, seen: &Observed, threads: &[ThreadReport]) -> StartUp {
    let first = threads.iter().filter_map(|thread| thread.cycles.as_ref()?.first).min();
    let of = |tid: Tid| u32::try_from(tid).ok().and_then(|tid| seen.members.threads.get(&tid));
    let is_of_probes = |tid, at| of(tid).is_some_and(|thread| is_of_probes(seen, thread.pid, at));
    let nothing = Digest::default();
    seen.digest.as_ref().unwrap_or(&nothing).start_up(started, first, |tid| of(tid).is_some(), is_of_probes)
}

/// Whether the code at this address is there for our own probes.
fn is_of_probes(seen: &Observed, pid: u32, at: Address) -> bool {
    seen.spaces.get(&pid).is_some_and(|space| space.is_of_probes(at))
}

fn blind(seen: &Observed, threads: &[ThreadReport]) -> Vec<Blind> {
    // A thread that ended before it could be read is of no concern unless it had cycles.
    let is_unread =
        |thread: &&ThreadReport| thread.setup.is_none() && (seen.digest.is_none() || thread.cycles.is_some());
    let unread = threads.iter().filter(is_unread).map(|thread| Blind::SettingsOf(thread.tid));
    let children = seen.members.others.iter().map(|(pid, name)| Blind::ChildProcess { pid: *pid, name: name.clone() });
    let mut blind: Vec<Blind> = children.chain(unread).collect();
    if seen.digest.is_none() {
        blind.push(Blind::Cycles);
        blind.extend(seen.waits_hidden.then_some(Blind::Waits));
        return blind;
    }
    blind.extend(seen.unprobed.clone().map(Blind::SmallAllocations));
    blind.extend((seen.lost_stacks > 0).then_some(Blind::Places(seen.lost_stacks)));
    let rows = || threads.iter().filter_map(|thread| thread.cycles.as_ref()).flat_map(|cycles| &cycles.in_the_way);
    let has_script = rows().any(|row| row.code.as_ref().is_some_and(|code| is_interpreter(&code.module)));
    let has_names = rows().flat_map(|row| row.code.iter().chain(&row.callers)).any(is_of_script);
    blind.extend((has_script && !has_names).then_some(Blind::Script));
    blind.extend(seen.late.as_ref().err().map(|why| Blind::Causes(why.clone())));
    for event in &seen.blind_events {
        blind.push(if event == USER_STACK { Blind::CallSites } else { Blind::Event(event.clone()) });
    }
    blind
}
