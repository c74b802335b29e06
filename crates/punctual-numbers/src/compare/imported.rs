//! Comparisons with a file of another program: which series are paired, what differs, and what the file does not state.
//!
//! Files of other programs state little beside their numbers. A fact that the file does not state is listed and never
//! taken for equal. As with recordings, a difference that makes the numbers mean something else forbids the comparison.
//! So does a file whose counts are unfit for claims.

use super::comparable::{Difference, Subject, Value};
use super::distribution::{self, Distribution};
use super::{
    Against, Basis, Compared, Design, Group, GroupResult, Lack, Lacking, LeftOut, Measured, Options, Origin, Refused,
    Side, arm, untimed,
};
use crate::foreign::ForeignRun;
use crate::report::Report;
use punctual_facts::machine::MachineLine;
use punctual_hist::Nanos;

/// Compares two measurements of which at least one is a file of another program.
pub(super) fn against(
    first: Measured<'_>,
    (name, other): (&str, Measured<'_>),
    options: &Options,
) -> Result<Against, Refused> {
    let (a, b) = (distributions(first), distributions(other));
    let pairs = paired(&a, &b, options.anyway);
    let left_out = left_out(&a, &b, &pairs);
    if pairs.is_empty() {
        return Err(Refused::NothingInCommon(name.to_owned(), left_out));
    }
    let differences = differences(first, other, &pairs, (&a, &b));
    let refusing = super::refusing(&differences, name, options)?;
    let by_order = pairs.iter().any(|pair| pair.how == How::Order);
    let unfit: Vec<&Pair<'_>> = pairs.iter().filter(|pair| pair.is_refused()).collect();
    if let Some(pair) = unfit.first().filter(|_| unfit.len() == pairs.len() && !options.anyway) {
        return Err(Refused::Unfit(name.to_owned(), pair.first.unfit.clone(), pair.second.unfit.clone()));
    }
    Ok(Against {
        side: side(name, other),
        lacks: lacks(first, other, &pairs),
        differences,
        refused: refusing || by_order || (options.anyway && !unfit.is_empty()),
        left_out,
        basis: pairs.iter().map(Pair::basis).max().unwrap_or(Basis::Times),
        groups: pairs.iter().map(|pair| group(pair, options)).collect(),
        causes: None,
        kernels: None,
        if_independent: None,
        verdict: Compared::NotEnoughData,
        told_to_ppm: None,
        wants: None,
        design: Design::Pair,
        undecided: None,
    })
}

fn distributions(measured: Measured<'_>) -> Vec<Distribution> {
    match measured {
        Measured::Imported(run) => distribution::of_run(run),
        Measured::Recording(recording) => {
            let places = arm::untraced(arm::places(recording), |place| place);
            places.iter().map(|place| distribution::of_place(recording, place)).collect()
        }
    }
}

/// The reason for which two series are paired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Cpu,
    /// The two series have the same name.
    Name,
    /// Each is the only series of its file.
    Only,
    /// The two series have the same position in their files. This counts only if `anyway` is on.
    Order,
}

#[derive(Clone, Copy)]
struct Pair<'a> {
    first: &'a Distribution,
    second: &'a Distribution,
    how: How,
}

impl Pair<'_> {
    fn is_refused(&self) -> bool {
        self.first.is_refused() || self.second.is_refused()
    }

    /// The basis of the verdict: the weaker of the bases of the two series.
    fn basis(&self) -> Basis {
        self.first.basis().max(self.second.basis())
    }
}

/// Withholds verdicts that hold only for independent values. A histogram does not show whether its values are
/// independent, and two histograms of one machine in different moods differ.
pub(super) fn withhold(others: &mut [Against]) {
    for other in others.iter_mut().filter(|other| other.basis == Basis::Independent) {
        for group in other.groups.iter_mut().filter(|group| group.basis == Basis::Independent) {
            group.if_independent = Some(std::mem::replace(&mut group.verdict, Compared::NotEnoughData));
        }
        other.if_independent = Some(other.verdict);
        other.verdict = Compared::of_all(other.groups.iter().map(|group| group.verdict));
    }
}

/// Pairs of series by CPU, else by name, else the only series of each file, else by position if `anyway` is on.
fn paired<'a>(a: &'a [Distribution], b: &'a [Distribution], anyway: bool) -> Vec<Pair<'a>> {
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

/// The series to pair by position: all of them, or only the series of threads if the other file does not state
/// contexts.
fn of_threads<'a>(own: &'a [Distribution], others: &[Distribution]) -> Vec<&'a Distribution> {
    let all = others.iter().any(|of| of.context.is_some());
    own.iter().filter(|of| all || of.context.is_none() || of.context == thread_context(own)).collect()
}

/// The context in which the activation of a thread ends: user space if a series has it, else the thread.
fn thread_context(all: &[Distribution]) -> Option<String> {
    let known = ["Usr", "Thr"].into_iter();
    known.map(str::to_owned).find(|context| all.iter().any(|of| of.context.as_ref() == Some(context)))
}

/// Whether both series measured latency up to the same context. A series without a context measured up to its thread.
fn one_context(pair: Pair<'_>, a: &[Distribution], b: &[Distribution]) -> bool {
    match (&pair.first.context, &pair.second.context) {
        (None, None) => true,
        (Some(_), None) => pair.first.context == thread_context(a),
        (None, Some(_)) => pair.second.context == thread_context(b),
        (Some(first), Some(second)) => first == second,
    }
}

fn left_out(a: &[Distribution], b: &[Distribution], pairs: &[Pair<'_>]) -> Vec<LeftOut> {
    let is_left =
        |of: &&Distribution| !pairs.iter().any(|pair| std::ptr::eq(pair.first, *of) || std::ptr::eq(pair.second, *of));
    let [only_a, only_b] = [a, b].map(|all| all.iter().filter(is_left).map(|of| &of.group));
    LeftOut::of(only_a, only_b)
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
        mood: None,
        basis: pair.basis(),
        if_independent: None,
        verdict: Compared::NotEnoughData,
    }
}

/// The differences between facts that both measurements state. A difference of the load counts even if one measurement
/// does not state it.
fn differences(
    first: Measured<'_>,
    second: Measured<'_>,
    pairs: &[Pair<'_>],
    all: (&[Distribution], &[Distribution]),
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
    for MachineLine { name, value } in of_a {
        // Programs name facts differently, so only facts of equal names are compared.
        if let Some(other) = MachineLine::of(of_b, name) {
            add(Subject::Machine(name.clone()), text(Some(value)), text(Some(other)));
        }
    }
    found.sort_by_key(Difference::matters);
    found
}

fn cpu(of: &Distribution) -> Value {
    of.group.cpu.map_or(Value::Absent, |cpu| Value::Text(cpu.to_string()))
}

/// The name of the program without its version, from the command line, else from the file's own statement, else from
/// the format.
fn program(of: Measured<'_>) -> String {
    let Measured::Imported(run) = of else { return "punctual".to_owned() };
    let first = |text: &Option<String>| Some(text.as_deref()?.split([' ', ',']).next()?.to_owned());
    let called = first(&run.command).and_then(|word| Some(word.rsplit('/').next()?.to_owned()));
    let name = called.or(first(&run.program)).filter(|name| !name.is_empty());
    name.unwrap_or_else(|| run.format.name().to_owned())
}

fn machine(of: Measured<'_>) -> &[MachineLine] {
    match of {
        Measured::Recording(recording) => &recording.header.machine,
        Measured::Imported(run) => &run.machine,
    }
}

fn lacks(first: Measured<'_>, second: Measured<'_>, pairs: &[Pair<'_>]) -> Vec<Lacking> {
    let imported = |of: Measured<'_>| matches!(of, Measured::Imported(_));
    let of = |lack: Lack, first: bool, second: bool| (first || second).then_some(Lacking { lack, first, second });
    let any = |lacks: fn(&Distribution) -> bool| {
        (pairs.iter().any(|pair| lacks(pair.first)), pairs.iter().any(|pair| lacks(pair.second)))
    };
    let (counts, skips) = (any(|of| !of.is_counted()), any(|of| of.skipped.is_none()));
    let beyond = |pick: fn(&Pair<'_>) -> Option<Nanos>| pairs.iter().filter_map(pick).min();
    let (beyond_a, beyond_b) = (beyond(|pair| pair.first.beyond), beyond(|pair| pair.second.beyond));
    let time = (imported(first), imported(second));
    let (unordered, ordered) = (any(|of| of.basis() == Basis::Independent), any(|of| of.basis() == Basis::Order));
    [
        of(Lack::Time, unordered.0, unordered.1),
        of(Lack::Instants, ordered.0, ordered.1),
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
        runs: Vec::new(),
        latencies: run.series.iter().map(|series| (distribution::group_of(series), series.clone())).collect(),
    }
}

#[cfg(test)]
mod tests;
