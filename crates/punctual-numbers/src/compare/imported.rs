//! Where at least one of two is a file of another program: what is held against what, what differs, what cannot be known.
//!
//! Such a file says little beside its numbers. What it does not say is told as not stated, never taken for equal; what
//! makes numbers mean something else refuses, as it does for recordings, and so does what makes a file unfit for claims.

use super::comparable::{Difference, Subject, Value};
use super::heap::{self, Heap};
use super::{Against, Group, GroupResult, LeftOut, Measured, Options, Origin, Refused, Side, Verdict, arm, untimed};
use crate::foreign::ForeignRun;
use crate::report::Report;
use punctual_hist::Nanos;

/// What a file of another program does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Lack {
    /// When anything was: percentiles are told by ranks, with so many counted as one, and the tail is not looked at.
    Time,
    /// How many releases were skipped.
    Skips,
    /// How much later than this: there values are only counted.
    Beyond {
        #[serde(rename = "from_ns")]
        from: Nanos,
    },
    /// Counts: it tells percentiles or extremes alone, for which there are no odds.
    Counts,
    /// Load, scheduling, clock and settings.
    Settings,
}

/// A lack, and of which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lacking {
    /// What.
    #[serde(flatten)]
    pub lack: Lack,
    /// The first lacks it.
    pub first: bool,
    /// The second lacks it.
    pub second: bool,
}

/// One against the first, where not both are recordings.
pub(super) fn against(
    first: Measured<'_>,
    (name, other): (&str, Measured<'_>),
    options: &Options,
) -> Result<Against, Refused> {
    let (a, b) = (heaps(first), heaps(other));
    let pairs = paired(&a, &b, options.anyway);
    let left_out = left_out(&a, &b, &pairs);
    if pairs.is_empty() {
        return Err(Refused::NothingInCommon(name.to_owned(), left_out));
    }
    let differences = differences(first, other, &pairs, (&a, &b));
    let refusing: Vec<Difference> = differences.iter().filter(|d| d.refuses()).cloned().collect();
    let by_order = pairs.iter().any(|pair| pair.how == How::Order);
    if !refusing.is_empty() && !options.anyway {
        return Err(Refused::Incomparable(name.to_owned(), refusing));
    }
    let unfit: Vec<&Pair<'_>> = pairs.iter().filter(|pair| pair.is_refused()).collect();
    if let Some(pair) = unfit.first().filter(|_| unfit.len() == pairs.len() && !options.anyway) {
        return Err(Refused::Unfit(name.to_owned(), pair.first.unfit.clone(), pair.second.unfit.clone()));
    }
    Ok(Against {
        side: side(name, other),
        lacks: lacks(first, other, &pairs),
        differences,
        refused: !refusing.is_empty() || by_order || (options.anyway && !unfit.is_empty()),
        left_out,
        groups: pairs.iter().map(|pair| group(pair, options)).collect(),
        causes: None,
        verdict: Verdict::NotEnoughData,
        told_to_ppm: None,
        wants: None,
    })
}

fn heaps(measured: Measured<'_>) -> Vec<Heap> {
    match measured {
        Measured::Imported(run) => heap::of_run(run),
        Measured::Recording(recording) => {
            let mut places = arm::places(recording);
            // What was traced is a little disturbed: it is looked at only where there is nothing else.
            if places.iter().any(|place| !place.group.traced) {
                places.retain(|place| !place.group.traced);
            }
            places.iter().map(|place| heap::of_place(recording, place)).collect()
        }
    }
}

/// What two are held against each other for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// The same CPU.
    Cpu,
    /// The same name in the file.
    Name,
    /// Each is the only one.
    Only,
    /// The same place in the order; on demand.
    Order,
}

#[derive(Clone, Copy)]
struct Pair<'a> {
    first: &'a Heap,
    second: &'a Heap,
    how: How,
}

impl Pair<'_> {
    /// Whether one of them does not speak for what it measured.
    fn is_refused(&self) -> bool {
        self.first.is_refused() || self.second.is_refused()
    }
}

/// Those of the same CPU, or else of the same name, or else the only ones; on demand by their order.
fn paired<'a>(a: &'a [Heap], b: &'a [Heap], anyway: bool) -> Vec<Pair<'a>> {
    let by = |how: How, alike: fn(&Group, &Group) -> bool| {
        let all = a.iter().flat_map(|first| b.iter().map(move |second| Pair { first, second, how }));
        let kept = all.filter(|pair| alike(&pair.first.group, &pair.second.group) && one_context(*pair, a, b));
        kept.collect::<Vec<_>>()
    };
    let same_cpu = by(How::Cpu, |a, b| a.cpu.is_some() && a.cpu == b.cpu);
    if !same_cpu.is_empty() {
        return same_cpu;
    }
    let same_name =
        by(How::Name, |a, b| (a.cpu.is_none() || b.cpu.is_none()) && a.series.is_some() && a.series == b.series);
    if !same_name.is_empty() {
        return same_name;
    }
    if let ([first], [second]) = (a, b) {
        return vec![Pair { first, second, how: How::Only }];
    }
    let in_order = of_threads(a, b).into_iter().zip(of_threads(b, a));
    let in_order = in_order.map(|(first, second)| Pair { first, second, how: How::Order });
    if anyway { in_order.collect() } else { Vec::new() }
}

/// Those that tell of threads, where the others do not say of what they tell.
fn of_threads<'a>(own: &'a [Heap], others: &[Heap]) -> Vec<&'a Heap> {
    let all = others.iter().any(|heap| heap.context.is_some());
    own.iter().filter(|heap| all || heap.context.is_none() || heap.context == thread_context(own)).collect()
}

/// Where the activation of a thread ends: in user space, where that was looked at.
fn thread_context(all: &[Heap]) -> Option<String> {
    let known = ["Usr", "Thr"].into_iter();
    known.map(str::to_owned).find(|context| all.iter().any(|heap| heap.context.as_ref() == Some(context)))
}

/// Whether both tell how late the same is: what says nothing of it is as late as its thread was.
fn one_context(pair: Pair<'_>, a: &[Heap], b: &[Heap]) -> bool {
    match (&pair.first.context, &pair.second.context) {
        (None, None) => true,
        (Some(_), None) => pair.first.context == thread_context(a),
        (None, Some(_)) => pair.second.context == thread_context(b),
        (Some(first), Some(second)) => first == second,
    }
}

fn left_out(a: &[Heap], b: &[Heap], pairs: &[Pair<'_>]) -> Vec<LeftOut> {
    let taken =
        |heap: &&Heap| pairs.iter().any(|pair| std::ptr::eq(pair.first, *heap) || std::ptr::eq(pair.second, *heap));
    let left = |in_first: bool| move |heap: &Heap| LeftOut { group: heap.group.clone(), in_first };
    let only_a = a.iter().filter(|heap| !taken(heap)).map(left(true));
    only_a.chain(b.iter().filter(|heap| !taken(heap)).map(left(false))).collect()
}

fn group(pair: &Pair<'_>, options: &Options) -> GroupResult {
    let (first, second) = (pair.first, pair.second);
    let looked_at = options.anyway || !pair.is_refused();
    GroupResult {
        group: first.group.clone(),
        against: (first.group != second.group).then(|| second.group.clone()),
        unfit: (first.unfit.clone(), second.unfit.clone()),
        due: (first.due, second.due),
        delta: looked_at.then(|| first.delta(second)).flatten(),
        rows: if looked_at { untimed::rows(first, second, options) } else { untimed::refused() },
        verdict: Verdict::NotEnoughData,
    }
}

/// What differs, as far as both say it; and the load, which matters whether it is stated or not.
fn differences(
    first: Measured<'_>,
    second: Measured<'_>,
    pairs: &[Pair<'_>],
    all: (&[Heap], &[Heap]),
) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut add = |subject: Subject, first: Value, second: Value| {
        let difference = Difference { subject, first, second };
        if difference.first != difference.second && !found.contains(&difference) {
            found.push(difference);
        }
    };
    let text = |text: Option<&str>| text.map_or(Value::Absent, |text| Value::Text(text.to_owned()));
    for pair in pairs.iter().copied() {
        let (a, b) = (pair.first, pair.second);
        add(Subject::Quantity, Value::Quantity(a.quantity), Value::Quantity(b.quantity));
        if !one_context(pair, all.0, all.1) {
            add(Subject::Context, text(a.context.as_deref()), text(b.context.as_deref()));
        }
        if let Some((of_a, of_b)) = a.period.zip(b.period) {
            add(Subject::Period(a.group.cpu.or(b.group.cpu)), Value::Time(of_a), Value::Time(of_b));
        }
        add(Subject::Load, text(a.group.load.as_deref()), text(b.group.load.as_deref()));
        if pair.how != How::Cpu {
            add(Subject::Cpu, cpu(a), cpu(b));
        }
    }
    add(Subject::Program, Value::Text(program(first)), Value::Text(program(second)));
    if let (Measured::Imported(a), Measured::Imported(b)) = (first, second) {
        add(Subject::Command, text(a.command.as_deref()), text(b.command.as_deref()));
    }
    let (of_a, of_b) = (machine(first), machine(second));
    for (name, value) in of_a {
        // Each program names what it tells in its own way: only the same name is the same fact.
        if let Some((_, other)) = of_b.iter().find(|(theirs, _)| theirs == name) {
            add(Subject::Machine(name.clone()), text(Some(value)), text(Some(other)));
        }
    }
    found.sort_by_key(Difference::matters);
    found
}

fn cpu(heap: &Heap) -> Value {
    heap.group.cpu.map_or(Value::Absent, |cpu| Value::Text(cpu.to_string()))
}

/// The name of the program: as it was called, or as it names itself, without its version; or else of the format.
fn program(of: Measured<'_>) -> String {
    let Measured::Imported(run) = of else { return "punctual".to_owned() };
    let first = |text: &Option<String>| Some(text.as_deref()?.split([' ', ',']).next()?.to_owned());
    let called = first(&run.command).and_then(|word| Some(word.rsplit('/').next()?.to_owned()));
    let name = called.or(first(&run.program)).filter(|name| !name.is_empty());
    name.unwrap_or_else(|| run.format.name().to_owned())
}

fn machine(of: Measured<'_>) -> &[(String, String)] {
    match of {
        Measured::Recording(recording) => &recording.header.machine,
        Measured::Imported(run) => &run.machine,
    }
}

fn lacks(first: Measured<'_>, second: Measured<'_>, pairs: &[Pair<'_>]) -> Vec<Lacking> {
    let imported = |of: Measured<'_>| matches!(of, Measured::Imported(_));
    let of = |lack: Lack, first: bool, second: bool| (first || second).then_some(Lacking { lack, first, second });
    let any = |lacks: fn(&Heap) -> bool| {
        (pairs.iter().any(|pair| lacks(pair.first)), pairs.iter().any(|pair| lacks(pair.second)))
    };
    let (counts, skips) = (any(|heap| !heap.is_counted()), any(|heap| heap.skipped.is_none()));
    let beyond = |pick: fn(&Pair<'_>) -> Option<Nanos>| pairs.iter().filter_map(pick).min();
    let (beyond_a, beyond_b) = (beyond(|pair| pair.first.beyond), beyond(|pair| pair.second.beyond));
    let time = (imported(first), imported(second));
    [
        of(Lack::Time, time.0, time.1),
        of(Lack::Counts, counts.0, counts.1),
        beyond_a.and_then(|from| of(Lack::Beyond { from }, true, false)),
        beyond_b.and_then(|from| of(Lack::Beyond { from }, false, true)),
        of(Lack::Skips, skips.0, skips.1),
        of(Lack::Settings, time.0, time.1),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// One side, whoever measured it.
pub(super) fn side(name: &str, measured: Measured<'_>) -> Side {
    match measured {
        Measured::Recording(recording) => Side::of(name, recording, &Report::of(recording)),
        Measured::Imported(run) => of_run(name, run),
    }
}

fn of_run(name: &str, run: &ForeignRun) -> Side {
    Side {
        name: name.to_owned(),
        origin: Origin::Imported {
            format: run.format.name(),
            program: run.program.clone(),
            started: run.started.clone(),
            notes: run.notes.clone(),
        },
        measured: run.duration.map(|stated| stated.length),
        doubts: Vec::new(),
        latencies: run.series.iter().map(|series| (heap::group_of(series), series.clone())).collect(),
    }
}

#[cfg(test)]
mod tests;
