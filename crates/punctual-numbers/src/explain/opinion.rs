//! A second opinion: lengths that the kernel's noise tracer measured, compared with the records of the same window.
//!
//! At the end of each interrupt, softirq and run of a thread, the tracer gives its length without what interrupted it.
//! If this length differs from that of the records, a record is missing or a clock was wrong, and the time is in doubt.
//! Causes are still decided by the records alone.

use super::Opinions;
use crate::trace::{NoiseKind, Tid, TraceEvent, TraceRecord, Vector, Window};
use punctual_hist::{MonoTime, Nanos};

/// Longest time between the two records of the same end: the tracer's record, and the record of the exit or switch.
const SAME_END: Nanos = Nanos::from_us(5);
/// Lengths agree if they differ by no more than this, or by no more than one part in [`TOLERANCE_PART`].
const TOLERANCE: Nanos = Nanos::from_us(5);
const TOLERANCE_PART: u64 = 10;

/// An interrupt, a softirq or a run of a thread, from its beginning on.
#[derive(Clone, Copy, Debug)]
struct Ran {
    kind: NoiseKind,
    tid: Option<Tid>,
    from: MonoTime,
    /// Time taken by what interrupted it.
    inner: Nanos,
}

/// A stretch of time for which the tracer and the records both give a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Doubt {
    /// Whether a thread ran; if not, an interrupt or softirq ran.
    pub thread: bool,
    pub from: MonoTime,
    pub to: MonoTime,
}

pub(super) fn doubts(window: &Window, rt: bool) -> Vec<Doubt> {
    let held = hold(window, rt);
    held.into_iter().filter(|(_, same)| !same).map(|(doubt, _)| doubt).collect()
}

/// Number of lengths on which the two agree and on which they differ; `None` if the tracer gives no length.
pub(super) fn tally(windows: impl Iterator<Item = Window>, rt: bool) -> Option<Opinions> {
    let mut all = Opinions::default();
    for (_, same) in windows.flat_map(|window| hold(&window, rt)) {
        *(if same { &mut all.same } else { &mut all.different }) += 1;
    }
    (all.same + all.different > 0).then_some(all)
}

/// Each time for which the tracer and the records both give a length, and whether they agree. On real-time kernels
/// (`rt`) the tracer counts softirqs as a part of their threads.
fn hold(window: &Window, rt: bool) -> Vec<(Doubt, bool)> {
    let mut said: Vec<(NoiseKind, i32, MonoTime, Nanos)> = Vec::new();
    for record in &window.records {
        if let TraceEvent::Noise { kind, id, took, .. } = record.what {
            said.push((kind, id, record.at, took));
        }
    }
    if said.is_empty() {
        return Vec::new();
    }
    let noticed_nmis = said.iter().any(|(kind, ..)| *kind == NoiseKind::Nmi);
    let mut records: Vec<&TraceRecord> = window.records.iter().collect();
    records.sort_by_key(|record| record.at);
    let mut walk = Walk { rt, noticed_nmis, task: None, stack: Vec::new(), over: Vec::new() };
    for record in records {
        walk.take(record);
    }
    let held = |(ran, to): &(Ran, MonoTime)| {
        let ours = to.since(ran.from).minus(ran.inner);
        let ends = to.minus(SAME_END)..=to.plus(SAME_END);
        let of_it = |(kind, id, at, _): &&(NoiseKind, i32, MonoTime, Nanos)| {
            *kind == ran.kind && ran.tid.is_none_or(|tid| tid == *id) && ends.contains(at)
        };
        let mut theirs = said.iter().filter(of_it).map(|(.., took)| *took).peekable();
        let doubt = Doubt { thread: ran.kind == NoiseKind::Thread, from: ran.from, to: *to };
        theirs.peek().is_some().then(|| (doubt, theirs.any(|theirs| agree(ours, theirs))))
    };
    walk.over.iter().filter_map(held).collect()
}

fn agree(ours: Nanos, theirs: Nanos) -> bool {
    let off = ours.as_ns().abs_diff(theirs.as_ns());
    off <= TOLERANCE.as_ns() || off <= ours.as_ns().max(theirs.as_ns()) / TOLERANCE_PART
}

struct Walk {
    rt: bool,
    noticed_nmis: bool,
    /// The thread that has the CPU, if the beginning of its run is known.
    task: Option<Ran>,
    stack: Vec<Ran>,
    over: Vec<(Ran, MonoTime)>,
}

impl Walk {
    fn take(&mut self, record: &TraceRecord) {
        let at = record.at;
        match record.what {
            // The tracer does not see interrupts from other CPUs.
            TraceEvent::VectorEntry { vector: Vector::Ipi } | TraceEvent::VectorExit { vector: Vector::Ipi } => {}
            TraceEvent::IrqEntry { .. } | TraceEvent::VectorEntry { .. } => self.enter(NoiseKind::Irq, at),
            TraceEvent::IrqExit { .. } | TraceEvent::VectorExit { .. } => self.leave(NoiseKind::Irq, at),
            TraceEvent::SoftirqEntry { .. } if !self.rt => self.enter(NoiseKind::Softirq, at),
            TraceEvent::SoftirqExit { .. } if !self.rt => self.leave(NoiseKind::Softirq, at),
            TraceEvent::Noise { kind: NoiseKind::Nmi, took, .. } => self.interrupted(took),
            TraceEvent::Nmi { took, .. } if !self.noticed_nmis => self.interrupted(took),
            TraceEvent::Switch { prev, next, .. } => {
                self.stack.clear();
                if let Some(ran) = self.task.take().filter(|ran| ran.tid == Some(prev)) {
                    self.over.push((ran, at));
                }
                self.task = Some(Ran { kind: NoiseKind::Thread, tid: Some(next), from: at, inner: Nanos::ZERO });
            }
            // After lost records, the lengths of everything that is still open are unknown.
            TraceEvent::Lost { .. } => {
                self.stack.clear();
                self.task = None;
            }
            _ => {}
        }
    }

    fn enter(&mut self, kind: NoiseKind, at: MonoTime) {
        self.stack.push(Ran { kind, tid: None, from: at, inner: Nanos::ZERO });
    }

    fn leave(&mut self, kind: NoiseKind, at: MonoTime) {
        let Some(ran) = self.stack.pop().filter(|ran| ran.kind == kind) else {
            // The start of this piece of noise is not in the trace, so how long it ran is unknown.
            self.stack.clear();
            self.task = None;
            return;
        };
        self.over.push((ran, at));
        self.interrupted(at.since(ran.from));
    }

    /// Adds the time of an interruption to the context or thread that it interrupted directly.
    fn interrupted(&mut self, took: Nanos) {
        if let Some(ran) = self.stack.last_mut().or(self.task.as_mut()) {
            ran.inner = ran.inner.plus(took);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::tests::text;

    fn at(us: u64) -> MonoTime {
        MonoTime::from_ns(us * 1_000)
    }

    fn window(records: &str) -> Window {
        let lines = records.replace("; ", "\n");
        text::read(&format!("window release=0 woke=1000\n{lines}\n")).remove(0).window
    }

    /// A thread that has the CPU for 300 us, of which an interrupt takes 40.
    fn example(thread_us: u64, irq_us: u64) -> Window {
        window(&format!(
            "100 7 - switch 0:120 R 5:120; 200 7 - irq 4; 240 7 - noise irq 4 {irq_us}; 240 7 - /irq 4; \
             399 7 - noise thread 5 {thread_us}; 400 7 - switch 5:120 R 9:120"
        ))
    }

    fn told(thread_us: u64, irq_us: u64) -> Vec<Doubt> {
        doubts(&example(thread_us, irq_us), false)
    }

    #[test]
    fn what_was_heard_is_counted() {
        let silent = window("1 7 - switch 0:120 R 5:120; 9 7 - switch 5:120 R 9:120");
        let windows = [example(260, 40), example(300, 40), silent];
        assert_eq!(tally(windows.iter().cloned(), false), Some(Opinions { same: 3, different: 1 }));
        assert_eq!(tally(windows.into_iter().skip(2), false), None);
    }

    #[test]
    fn where_they_differ_the_time_is_in_doubt_and_no_other() {
        assert_eq!(told(260, 40), []);
        assert_eq!(told(240, 44), [], "10 % and 5 us are near enough");
        assert_eq!(told(300, 40), [Doubt { thread: true, from: at(100), to: at(400) }]);
        assert_eq!(told(260, 90), [Doubt { thread: false, from: at(200), to: at(240) }]);
    }

    #[test]
    fn what_only_one_of_them_knows_or_an_interrupt_of_another_is_not_in_doubt() {
        let only_ours = "100 7 - switch 0:120 R 5:120; 110 7 - noise irq 4 3; 400 7 - switch 5:120 R 9:120";
        let begins_before = "240 7 - noise irq 4 90; 240 7 - /irq 4";
        let hole = "1 7 - switch 0:120 R 5:120; 2 7 - lost; 9 7 - noise thread 5 900; 9 7 - switch 5:120 R 9:120";
        let nested = "100 7 - switch 0:120 R 5:120; 150 7 - softirq 1; 200 7 - irq 4; 230 7 - noise nmi 0 20; \
                      240 7 - noise irq 4 20; 240 7 - /irq 4; 350 7 - noise softirq 1 160; 350 7 - /softirq 1; \
                      400 7 - noise thread 5 100; 400 7 - switch 5:120 R 9:120";
        for records in [only_ours, begins_before, hole, nested] {
            assert_eq!(doubts(&window(records), false), [], "{records}");
        }
    }

    #[test]
    fn softirqs_are_a_part_of_their_threads_on_real_time_kernels_only() {
        for (thread_us, rt, in_doubt) in [(300, true, 0), (200, false, 0), (300, false, 1), (200, true, 1)] {
            let records = window(&format!(
                "100 7 - switch 0:120 R 5:120; 200 7 - softirq 1; 300 7 - /softirq 1; 400 7 - noise thread 5 {thread_us}; \
                 400 7 - switch 5:120 R 9:120"
            ));
            assert_eq!(doubts(&records, rt).len(), in_doubt, "{thread_us} us, rt: {rt}");
        }
    }
}
