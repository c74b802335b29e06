//! Records of a window as slices of time: which thread ran, which interrupts and softirqs were handled, and single
//! moments such as wake-ups. Must not know the format of the trace.

use crate::render::words::causes as words;
use punctual_hist::MonoTime;
use punctual_numbers::explain::names;
use punctual_numbers::explain::{Spike, Stage};
use punctual_numbers::report::Report;
use punctual_numbers::trace::{Names, TraceEvent, TraceRecord, Window};
use std::cmp::Reverse;

/// The lanes of a CPU, in the order in which the viewer shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// The late activation, from its release to the start of its body.
    Activations,
    /// What had the CPU between release and body, as the explanation accounts for it.
    Account,
    Marks,
    /// Interrupts, and the functions that they call.
    Interrupts,
    /// Softirqs, and timers of the timer wheel.
    Softirqs,
    /// Threads, and work items that kernel workers run.
    Threads,
    Idle,
}

pub const LANES: [(Lane, &str); 7] = [
    (Lane::Activations, "late activations"),
    (Lane::Account, "who had the CPU"),
    (Lane::Marks, "marks"),
    (Lane::Interrupts, "interrupts"),
    (Lane::Softirqs, "softirqs"),
    (Lane::Threads, "threads"),
    (Lane::Idle, "idle states"),
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    pub lane: Lane,
    pub from: MonoTime,
    /// End of the slice. A slice that ends where it begins is shown as a moment.
    pub to: MonoTime,
    pub name: String,
    /// Further facts about the slice: (name, value).
    pub notes: Vec<(&'static str, String)>,
}

impl Slice {
    fn new(lane: Lane, from: MonoTime, to: MonoTime, name: &str) -> Self {
        Self { lane, from, to: to.max(from), name: words::name(name), notes: Vec::new() }
    }
}

/// All slices of a window: the activation, its account if the explanation has one, and the records.
pub fn of_window(report: &Report, window: &Window, spike: Option<&Spike>) -> Vec<Slice> {
    let mut slices = vec![activation(report, window, spike)];
    if let Some(spike) = spike {
        slices.extend(account(spike));
        slices.extend(marks(spike));
    }
    if let (Some(first), Some(last)) = (window.records.first(), window.records.last()) {
        let mut run = Reading { names: &window.names, before: Some(first.at), slices: Vec::new(), open: Vec::new() };
        for record in &window.records {
            run.record(record);
        }
        run.close_all(last.at);
        slices.extend(run.slices);
    }
    slices.extend(window.elsewhere.iter().filter_map(|other| elsewhere(other.cpu, &other.record, &window.names)));
    // In each lane, a slice that contains other slices comes before them.
    slices.sort_by_key(|slice| (slice.lane, slice.from, Reverse(slice.to)));
    slices
}

fn activation(report: &Report, window: &Window, spike: Option<&Spike>) -> Slice {
    let late = words::late_by(window.woke.since(window.release));
    let first = spike.and_then(Spike::primary).map(|blame| format!(": {}", words::cause(&blame.cause)));
    let name = format!("{late}{}", first.unwrap_or_default());
    let mut slice = Slice::new(Lane::Activations, window.release, window.woke, &name);
    slice.notes = vec![
        ("release_ns", window.release.as_ns().to_string()),
        ("latency_ns", window.woke.since(window.release).as_ns().to_string()),
        ("load", report.phase_name(window.phase)),
        ("kept", words::kept(window.kept).to_owned()),
    ];
    slice.notes.extend(window.incomplete.map(|why| ("incomplete", words::incomplete(why).to_owned())));
    let blames = spike.into_iter().flat_map(|spike| &spike.causes);
    slice.notes.extend(blames.map(|blame| ("cause", words::blame(blame))));
    slice
}

fn account(spike: &Spike) -> impl Iterator<Item = Slice> {
    spike.parts.iter().map(|part| {
        let to = part.from.plus(part.length);
        let mut slice = Slice::new(Lane::Account, part.from, to, &words::cause(&part.cause));
        slice.notes = vec![("stage", words::stage(part.stage).to_owned())];
        if !part.certain {
            slice.notes.push(("certain", "no: a record is missing at one end".to_owned()));
        }
        slice
    })
}

/// The moments of the wake-up, taken from its account.
fn marks(spike: &Spike) -> impl Iterator<Item = Slice> {
    let begin = |stage: Stage| spike.parts.iter().find(|part| part.stage == stage).map(|part| part.from);
    let moments = [
        (Some(spike.release), "release"),
        (begin(Stage::Waking), "timer expired"),
        (begin(Stage::Dispatch), "woken"),
        (begin(Stage::Return), "switched to"),
        (Some(spike.woke), "body"),
    ];
    moments.into_iter().filter_map(|(at, name)| at.map(|at| Slice::new(Lane::Marks, at, at, name)))
}

/// A slice whose end has not been read yet.
struct Open {
    lane: Lane,
    from: MonoTime,
    name: String,
    is: Is,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Is {
    Irq,
    Vector,
    HighResolution,
    Softirq,
    Timer,
    Call,
    Thread,
    Work,
    Idle,
}

/// State while the records of a window are read.
struct Reading<'a> {
    names: &'a Names,
    /// Beginning of the window until the first switch of threads has been read: the thread that this switch takes off
    /// the CPU has had it since then. `None` afterwards.
    before: Option<MonoTime>,
    slices: Vec<Slice>,
    open: Vec<Open>,
}

impl Reading<'_> {
    fn record(&mut self, record: &TraceRecord) {
        let (at, names) = (record.at, self.names);
        let function = |function| or(names.function(function), "a function");
        match &record.what {
            TraceEvent::Switch { prev, next, .. } => self.switch(at, *prev, *next),
            TraceEvent::IrqEntry { irq } => self.begin(Lane::Interrupts, at, names.line(*irq), Is::Irq),
            TraceEvent::IrqExit { .. } => self.end(at, Is::Irq),
            TraceEvent::VectorEntry { vector } => {
                self.begin(Lane::Interrupts, at, names::vector(*vector).to_owned(), Is::Vector);
            }
            TraceEvent::VectorExit { .. } => self.end(at, Is::Vector),
            TraceEvent::HrtimerEntry { function: of, .. } => {
                self.begin(Lane::Interrupts, at, function(*of), Is::HighResolution);
            }
            TraceEvent::HrtimerExit { .. } => self.end(at, Is::HighResolution),
            TraceEvent::CallEntry { function: of } => self.begin(Lane::Interrupts, at, function(*of), Is::Call),
            TraceEvent::CallExit => self.end(at, Is::Call),
            TraceEvent::SoftirqEntry { vector } => self.begin(Lane::Softirqs, at, names::softirq(*vector), Is::Softirq),
            TraceEvent::SoftirqExit { .. } => self.end(at, Is::Softirq),
            TraceEvent::TimerEntry { function: of, .. } => self.begin(Lane::Softirqs, at, function(*of), Is::Timer),
            TraceEvent::TimerExit { .. } => self.end(at, Is::Timer),
            TraceEvent::WorkStart { function: of } => self.begin(Lane::Threads, at, function(*of), Is::Work),
            TraceEvent::WorkEnd => self.end(at, Is::Work),
            TraceEvent::Idle { state: Some(state) } => self.begin(Lane::Idle, at, format!("state {state}"), Is::Idle),
            TraceEvent::Idle { state: None } => self.end(at, Is::Idle),
            TraceEvent::Nmi { handler, took } => {
                self.slices.push(Slice::new(Lane::Interrupts, at.minus(*took), at, &function(*handler)));
            }
            other => self.slices.extend(moment(other, names).map(|name| Slice::new(Lane::Marks, at, at, &name))),
        }
    }

    /// Another thread gets the CPU, which ends everything that interrupted the previous one.
    fn switch(&mut self, at: MonoTime, prev: i32, next: i32) {
        if let Some(from) = self.before.take() {
            self.slices.push(Slice::new(Lane::Threads, from, at, &self.names.task(prev)));
        }
        self.close_all(at);
        self.begin(Lane::Threads, at, self.names.task(next), Is::Thread);
    }

    fn begin(&mut self, lane: Lane, from: MonoTime, name: String, is: Is) {
        self.open.push(Open { lane, from, name, is });
    }

    /// Ends the innermost open slice of this kind, and all that began within it. An end without a beginning is ignored.
    fn end(&mut self, at: MonoTime, is: Is) {
        let Some(place) = self.open.iter().rposition(|open| open.is == is) else { return };
        let lane = self.open.get(place).map(|open| open.lane);
        for open in self.open.split_off(place) {
            if open.is == is || Some(open.lane) == lane {
                self.slices.push(Slice::new(open.lane, open.from, at, &open.name));
            } else {
                self.open.push(open);
            }
        }
    }

    fn close_all(&mut self, at: MonoTime) {
        for open in self.open.drain(..) {
            self.slices.push(Slice::new(open.lane, open.from, at, &open.name));
        }
    }
}

/// The name of a record that is shown as a moment; `None` for records that are shown as slices or not at all.
fn moment(what: &TraceEvent, names: &Names) -> Option<String> {
    Some(match what {
        TraceEvent::Waking { tid, .. } => format!("waking {}", names.task(*tid)),
        TraceEvent::Fault { user, .. } => format!("page fault in {}", if *user { "user mode" } else { "the kernel" }),
        TraceEvent::Frequency { cpu, khz } => format!("CPU {cpu} runs at {khz} kHz"),
        TraceEvent::Migrate { tid, from_cpu, to_cpu } => {
            format!("{} moves from CPU {from_cpu} to CPU {to_cpu}", names.task(*tid))
        }
        TraceEvent::Boost { tid, prio, .. } => format!("{} gets priority {prio}", names.task(*tid)),
        TraceEvent::Lost { count } => match count {
            Some(count) => format!("{count} records lost"),
            None => "records lost".to_owned(),
        },
        _ => return None,
    })
}

/// The slice for something that another CPU did to the measured one.
fn elsewhere(cpu: u32, record: &TraceRecord, names: &Names) -> Option<Slice> {
    let what = match &record.what {
        TraceEvent::IpiSend { callback, .. } => {
            let callback = names.function(*callback);
            let whatfor = if callback.is_empty() { String::new() } else { format!(" for {callback}") };
            format!("CPU {cpu} sends an interrupt{whatfor}")
        }
        other => format!("CPU {cpu}: {}", moment(other, names)?),
    };
    Some(Slice::new(Lane::Marks, record.at, record.at, &what))
}

fn or(text: String, otherwise: &str) -> String {
    if text.is_empty() { otherwise.to_owned() } else { text }
}
