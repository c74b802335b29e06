//! Turns what was seen into the report.

use super::code::Places;
use super::observe::Observed;
use super::process::{self, Seen};
use super::{InspectError, Wanted};
use crate::trace::USER_STACK;
use punctual_facts::machine::MachineLine;
use punctual_hist::MonoTime;
use punctual_numbers::explain::{Evidence, Explanation};
use punctual_numbers::inspect::{
    self as numbers, Blind, Call, CallKind, Engine, Inspection, Order, Pace, Program, Record, Refused, Setup, StartUp,
    ThreadReport,
};
use punctual_numbers::trace::{Address, Tid};
use punctual_rt::kernel;
use std::collections::{BTreeMap, BTreeSet};

pub fn report(
    wanted: &Wanted,
    seen: &Observed,
    refused: Option<String>,
    calls: &[Call],
) -> Result<Inspection, InspectError> {
    let places = Places::new(&seen.space);
    let locate = |stack: &[Address]| places.locate(stack);
    let people = people(seen);
    let order = Order { calls, offsets: seen.offsets, people: &people, locate: &locate, limit: wanted.limit };
    let tids = seen.threads.keys().filter_map(|tid| Tid::try_from(*tid).ok());
    let by_thread = numbers::by_thread(tids, seen.records.iter().flatten());
    let is_wanted =
        |tid: u32, thread: &Seen| wanted.thread.as_ref().is_none_or(|filter| filter.has(tid, &thread.last.name));
    let mut threads: Vec<ThreadReport> = seen
        .threads
        .iter()
        .filter(|(tid, thread)| is_wanted(**tid, thread))
        .map(|(tid, thread)| {
            let records = Tid::try_from(*tid).ok().and_then(|tid| by_thread.get(&tid));
            let records = records.map(Vec::as_slice).unwrap_or_default();
            let mut report = of_thread(*tid, thread, records, seen.records.is_some(), &order);
            report.causes = causes(&report, seen, &wanted.machine);
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
    let start_up = seen.started.map(|started| start_up(started, seen, &threads, calls));
    Ok(Inspection {
        program: Program { pid: seen.pid, name: seen.name.clone(), threads: seen.threads.len() as u64 },
        engine: if seen.records.is_some() { Engine::Tracefs } else { Engine::Counters },
        refused: refused.into_iter().map(|why| Refused { engine: Engine::Tracefs, why }).collect(),
        blind: blind(seen, &threads),
        observed: seen.length,
        end: seen.end,
        records: seen.records.as_ref().map_or(0, |records| records.len() as u64),
        lost: seen.lost,
        own_cpu: seen.own_cpu,
        start_up,
        threads,
    })
}

fn of_thread(tid: u32, thread: &Seen, records: &[&Record], is_traced: bool, order: &Order<'_>) -> ThreadReport {
    let name = thread.last.name.clone();
    let kernel_tid = Tid::try_from(tid).unwrap_or_default();
    let mut report = numbers::thread(kernel_tid, name, records, thread.last.setup.clone(), order);
    report.counters = thread.growth();
    if !is_traced {
        let call = thread.found_in.iter().max_by_key(|(_, count)| **count).map(|((number, _), _)| *number);
        let name = |number| order.calls.iter().find(|call| call.number == number).map(|call| call.name.to_owned());
        report.pace = Pace::NotSeen { call: call.and_then(name) };
        let sleeps =
            thread.found_in.keys().find_map(|(number, arguments)| numbers::sleeping(*number, *arguments, order.calls));
        report.findings = numbers::findings(report.setup.as_ref(), sleeps);
    }
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

/// Threads that a timer paces come first, then those that are woken.
fn rank(thread: &ThreadReport) -> u8 {
    let is_real_time = |thread: &ThreadReport| {
        thread.setup.as_ref().and_then(|setup| setup.policy).is_some_and(numbers::Policy::is_real_time)
    };
    match &thread.pace {
        Pace::Sleep { .. } | Pace::Timerfd { .. } | Pace::TimeOut { .. } => 0,
        _ if is_real_time(thread) => 1,
        Pace::Woken { .. } | Pace::NeverWaits => 2,
        Pace::NotSeen { .. } => 3,
        Pace::Idle => 4,
    }
}

/// Names and priorities of all threads that woke others.
fn people(seen: &Observed) -> BTreeMap<Tid, (String, Option<i32>)> {
    let wakes = |record: &&Record| matches!(record.seen, numbers::Seen::Waking { .. });
    let tids: BTreeSet<Tid> = seen.records.iter().flatten().filter(wakes).map(|record| record.tid).collect();
    let known = |tid: Tid| {
        let id = u32::try_from(tid).ok()?;
        // A thread of the program may have ended; it is known from before.
        let ours = seen.threads.get(&id).map(|thread| &thread.last);
        let name = ours.map(|thread| thread.name.clone()).or_else(|| process::name(id))?;
        let priority = ours.and_then(|thread| thread.setup.as_ref()).and_then(Setup::kernel_priority);
        Some((tid, (name, priority.or_else(|| process::kernel_priority(id)))))
    };
    tids.into_iter().filter_map(known).collect()
}

fn start_up(started: MonoTime, seen: &Observed, threads: &[ThreadReport], calls: &[Call]) -> StartUp {
    let first = threads.iter().filter_map(|thread| thread.cycles.as_ref()?.first).min();
    let before = seen.records.iter().flatten().take_while(|record| first.is_none_or(|first| record.at < first));
    let mut start_up =
        StartUp { length: first.map(|first| first.since(started)), faults: 0, memory_calls: 0, calls: 0 };
    let ours = |record: &&Record| u32::try_from(record.tid).is_ok_and(|tid| seen.threads.contains_key(&tid));
    for record in before.filter(ours) {
        match record.seen {
            numbers::Seen::Fault { .. } => start_up.faults += 1,
            numbers::Seen::Enter { number, .. } => {
                let is_memory = |call: &&Call| call.number == number && call.kind == CallKind::Memory;
                start_up.calls += 1;
                start_up.memory_calls += u64::from(calls.iter().find(is_memory).is_some());
            }
            _ => {}
        }
    }
    start_up
}

fn blind(seen: &Observed, threads: &[ThreadReport]) -> Vec<Blind> {
    let unread = threads.iter().filter(|thread| thread.setup.is_none()).map(|thread| Blind::SettingsOf(thread.tid));
    let children = seen.children.iter().map(|(pid, name)| Blind::ChildProcess { pid: *pid, name: name.clone() });
    let mut blind: Vec<Blind> = children.chain(unread).collect();
    if seen.records.is_none() {
        blind.push(Blind::Cycles);
        blind.extend(seen.waits_hidden.then_some(Blind::Waits));
        return blind;
    }
    blind.push(Blind::SmallAllocations);
    blind.extend(seen.late.as_ref().err().map(|why| Blind::Causes(why.clone())));
    for event in &seen.blind_events {
        blind.push(if event == USER_STACK { Blind::CallSites } else { Blind::Event(event.clone()) });
    }
    blind
}
