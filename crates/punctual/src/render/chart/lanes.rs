//! One late activation, from its release to the start of its body: bars to scale show what had the CPU, in one lane for
//! each kind of cause.

use super::axis::{microseconds, title_below};
use super::{Plot, WIDTH, opened, path, px, rect, text, wide};
use crate::render::lang::tr;
use crate::render::units;
use crate::render::words::causes as words;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::explain::{Class, Part, Spike, Stage};
use punctual_numbers::stats::float::float;
use std::cmp::Reverse;

const LEFT: f64 = 102.0;
const RIGHT: f64 = WIDTH - 14.0;
/// Height above the lanes: one line of names for release and body, one for the marks between them.
const TOP: f64 = 36.0;
const LANE: f64 = 26.0;
const BAR: f64 = 18.0;
/// Largest number of bars. If there are more parts, short parts that lie close together are joined into one bar.
const BARS_MAX: usize = 160;
/// Largest number of bars in a lane that get a label.
const LABELS_MAX: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    Interrupts,
    Softirqs,
    Threads,
    Task,
    Beyond,
}

const LANES: [(Lane, &str); 5] = [
    (Lane::Interrupts, "interrupts"),
    (Lane::Softirqs, "softirqs"),
    (Lane::Threads, "other threads"),
    (Lane::Task, "our task"),
    (Lane::Beyond, "hardware, host"),
];

/// The lane of a cause, and its colour as a class of the style sheet.
fn drawn(class: Class) -> (Lane, &'static str) {
    match class {
        Class::Nmi => (Lane::Interrupts, "c6"),
        Class::HardIrq => (Lane::Interrupts, "c0"),
        Class::TimerCallback | Class::TimerInterrupt => (Lane::Interrupts, "c5"),
        Class::Ipi | Class::Vector => (Lane::Interrupts, "c3"),
        Class::Softirq => (Lane::Softirqs, "c2"),
        Class::HigherPriority | Class::StopMachine => (Lane::Threads, "c1"),
        Class::SamePriority | Class::Worker => (Lane::Threads, "c4"),
        Class::PreemptOff | Class::IrqOff => (Lane::Threads, "c6"),
        Class::WakeUp | Class::OwnPath => (Lane::Task, "c7"),
        Class::PageFault | Class::Throttled | Class::Stopped | Class::Migration => (Lane::Task, "c3"),
        Class::IdleExit | Class::Frequency => (Lane::Beyond, "c7"),
        Class::Firmware | Class::Hypervisor | Class::Paused => (Lane::Beyond, "c6"),
        Class::Unexplained => (Lane::Beyond, tr!("unknown")),
    }
}

/// The colour of a cause, as a class of the style sheet.
pub fn colour_of(class: Class) -> &'static str {
    drawn(class).1
}

/// The picture of one late activation; `None` if the activation was not traced.
pub fn lanes(spike: &Spike) -> Option<String> {
    let (first, last) = (spike.parts.first()?, spike.parts.last()?);
    let end = last.from.plus(last.length).max(spike.woke);
    let scale = Scale { from: first.from.min(spike.release), length: end.since(first.from.min(spike.release)) };
    let used = |lane: Lane| spike.parts.iter().any(|part| drawn(part.cause.class).0 == lane);
    let shown: Vec<(Lane, &str)> =
        LANES.into_iter().filter(|(lane, _)| *lane != Lane::Beyond || used(Lane::Beyond)).collect();
    let bottom = TOP + LANE * float(shown.len());
    let plot = Plot { left: LEFT, top: TOP, right: RIGHT, bottom };
    let (cpu, latency) = (spike.cpu, units::latency(spike.latency()));
    let says = format!("What CPU {cpu} did in the {latency} from the release to the body");
    let class = if spike.incomplete.is_some() { "lanes incomplete" } else { "lanes" };
    let mut out = opened(class, WIDTH, bottom + 40.0, &says);
    axis(&mut out, &scale, spike.release, plot);
    let all = joined_parts(&scale, &spike.parts);
    let rows: Vec<(f64, Vec<&Bar<'_>>)> = (0u64..)
        .zip(&shown)
        .map(|(row, (lane, name))| {
            let top = TOP + LANE * float(row);
            path(&mut out, "grid minor", plot.level(top));
            text(&mut out, "tick end", (LEFT - 8.0, top + LANE / 2.0 + 4.0), name);
            (top + (LANE - BAR) / 2.0, all.iter().filter(|bar| bar.lane == *lane).collect())
        })
        .collect();
    for (top, own) in &rows {
        bars(&mut out, &scale, own, spike.release, *top);
    }
    // Lines are drawn before names, so that no line crosses a name.
    let names = marks(&mut out, &scale, spike, bottom);
    for (top, own) in &rows {
        labels(&mut out, &scale, own, *top);
    }
    out.push_str(&names);
    out.push_str("</svg>");
    Some(out)
}

struct Scale {
    from: MonoTime,
    length: Nanos,
}

impl Scale {
    fn at(&self, instant: MonoTime) -> f64 {
        let share = float(instant.since(self.from).as_ns()) / float(self.length.as_ns().max(1));
        LEFT + share.clamp(0.0, 1.0) * (RIGHT - LEFT)
    }
}

/// Draws the axis: time since the release, with five to ten marks at round steps.
fn axis(out: &mut String, scale: &Scale, release: MonoTime, plot: Plot) {
    let step = round_step(scale.length);
    let mut at = Nanos::ZERO;
    while at <= scale.length {
        let x = scale.at(release.plus(at));
        path(out, "grid minor", plot.upright(x));
        text(out, "tick mid", (x, plot.bottom + 17.0), &microseconds(float(at.as_ns())));
        at = at.plus(step);
    }
    title_below(out, plot, tr!("time since the release (µs)"));
}

/// A step of 1, 2 or 5 times a power of ten that cuts `length` into five to ten parts or fewer.
fn round_step(length: Nanos) -> Nanos {
    let mut power = Nanos::from_ns(1);
    loop {
        for step in [1, 2, 5].map(|n| power.times(n)) {
            if length.whole(step) <= 9 {
                return step;
            }
        }
        power = power.times(10);
    }
}

/// One part, or short parts that lie close together and are drawn as one bar.
struct Bar<'a> {
    lane: Lane,
    from: MonoTime,
    to: MonoTime,
    longest: &'a Part,
    parts: u64,
    /// Sum of the lengths of the parts, without the gaps between them.
    time: Nanos,
    /// Whether all parts have the same cause.
    alike: bool,
}

impl<'a> Bar<'a> {
    fn of(part: &'a Part) -> Self {
        let (lane, _) = drawn(part.cause.class);
        let to = part.from.plus(part.length);
        Self { lane, from: part.from, to, longest: part, parts: 1, time: part.length, alike: true }
    }

    fn join(&mut self, part: &'a Part) {
        self.to = part.from.plus(part.length);
        self.parts += 1;
        self.time = self.time.plus(part.length);
        self.alike &= part.cause == self.longest.cause;
        if part.length > self.longest.length {
            self.longest = part;
        }
    }

    fn says(&self, release: MonoTime) -> String {
        let cause = words::cause(&self.longest.cause);
        let what = match (self.parts, self.alike) {
            (1, _) if self.longest.certain => format!("{cause}: {}", units::latency(self.time)),
            (1, _) => tr!("{cause}: {time} (a record is missing at one end)", cause, time = units::latency(self.time)),
            (n, true) => tr!(
                "{cause}: {time} in {parts}",
                cause,
                time = units::latency(self.time),
                parts = units::counted(n, "part")
            ),
            (n, false) => {
                tr!(
                    "{parts}: {time}, the longest {cause}",
                    parts = units::counted(n, "short part"),
                    time = units::latency(self.time),
                    cause
                )
            }
        };
        tr!(
            "{what}\nfrom {release} to {woke} after the release ({stage})",
            what,
            release = units::latency(self.from.since(release)),
            woke = units::latency(self.to.since(release)),
            stage = words::stage(self.longest.stage)
        )
    }
}

/// The parts as bars, lane by lane. Parts are joined until there are at most [`BARS_MAX`] bars.
fn joined_parts<'a>(scale: &Scale, parts: &'a [Part]) -> Vec<Bar<'a>> {
    let mut apart = 1.0;
    loop {
        let bars: Vec<Bar<'a>> = LANES.iter().flat_map(|(lane, _)| lane_of(scale, parts, *lane, apart)).collect();
        if bars.len() <= BARS_MAX || apart > WIDTH {
            return bars;
        }
        apart *= 2.0;
    }
}

/// The bars of one lane. Parts with gaps of less than `apart` between them become one bar.
fn lane_of<'a>(scale: &Scale, parts: &'a [Part], lane: Lane, apart: f64) -> Vec<Bar<'a>> {
    let mut bars: Vec<Bar<'a>> = Vec::new();
    for part in parts.iter().filter(|part| drawn(part.cause.class).0 == lane && part.length > Nanos::ZERO) {
        let to = scale.at(part.from.plus(part.length));
        match bars.last_mut().filter(|bar| to - scale.at(bar.from) < apart) {
            Some(bar) => bar.join(part),
            None => bars.push(Bar::of(part)),
        }
    }
    bars
}

fn bars(out: &mut String, scale: &Scale, bars: &[&Bar<'_>], release: MonoTime, top: f64) {
    for bar in bars {
        let (from, to) = (scale.at(bar.from), scale.at(bar.to));
        let doubt = if bar.longest.certain { "" } else { " doubtful" };
        let class = format!("part {}{doubt}", drawn(bar.longest.cause.class).1);
        rect(out, &class, (from, top), (to.max(from + 0.8), top + BAR), Some(&bar.says(release)));
    }
}

/// Writes the name of each cause into its bar, or beside it if the lane is free there. The longest bars come first.
fn labels(out: &mut String, scale: &Scale, bars: &[&Bar<'_>], top: f64) {
    let place = |bar: &Bar<'_>| (scale.at(bar.from), scale.at(bar.to));
    let mut taken: Vec<(f64, f64)> = bars.iter().map(|bar| place(bar)).collect();
    let mut longest: Vec<&&Bar<'_>> = bars.iter().filter(|bar| bar.alike).collect();
    longest.sort_by_key(|bar| Reverse(bar.time));
    let mut named: Vec<String> = Vec::new();
    for bar in longest.into_iter().take(LABELS_MAX) {
        let name = words::cause_label(&bar.longest.cause);
        let wide = wide(&name) + 8.0;
        let (from, to) = place(bar);
        let free = |from: f64, to: f64| {
            from >= LEFT && to <= RIGHT && taken.iter().all(|(left, right)| to <= *left || from >= *right)
        };
        let (x, class, extent) = match () {
            () if to - from >= wide => (from + 4.0, "part-name start", (from, from + wide)),
            // Only the first bar of a cause is labelled.
            () if named.contains(&name) => continue,
            () if free(to + 0.1, to + wide) => (to + 4.0, "part-name beside start", (to, to + wide)),
            () if free(from - wide, from - 0.1) => (from - 4.0, "part-name beside end", (from - wide, from)),
            () => continue,
        };
        taken.push(extent);
        text(out, class, (x, top + BAR / 2.0 + 4.0), &name);
        named.push(name);
    }
}

/// Draws a vertical line at the end of each stage of the wake-up, and returns the markup of the lines' names.
fn marks(out: &mut String, scale: &Scale, spike: &Spike, bottom: f64) -> String {
    let anchors = [
        (Stage::Expiry, tr!("timer interrupt")),
        (Stage::Waking, tr!("timer expired")),
        (Stage::Dispatch, tr!("woken")),
        (Stage::Return, tr!("switched to")),
    ];
    let begin = |stage: Stage| spike.parts.iter().find(|part| part.stage == stage);
    let inner: Vec<(f64, String)> = anchors
        .iter()
        .filter_map(|(stage, name)| begin(*stage).map(|part| (scale.at(part.from), (*name).to_owned())))
        .collect();
    let mut names = String::new();
    for (x, name, class) in [
        (scale.at(spike.release), tr!("release"), "anchor-name start"),
        (scale.at(spike.woke), tr!("body"), "anchor-name end"),
    ] {
        path(out, "anchor", format_args!("M{} {}V{}", px(x), px(TOP - 20.0), px(bottom)));
        text(&mut names, class, (x, TOP - 24.0), name);
    }
    for (x, _) in &inner {
        path(out, "anchor inner", format_args!("M{} {}V{}", px(*x), px(TOP - 5.0), px(bottom)));
    }
    for (x, name) in joined(inner) {
        let (from, edge) = extent(x, &name);
        let x = if edge == "end" { x - 3.0 } else { from };
        text(&mut names, &format!("anchor-name beside {edge}"), (x, TOP - 8.0), &name);
    }
    names
}

/// Joins marks whose names would overlap into one mark with all of these names.
fn joined(mut marks: Vec<(f64, String)>) -> Vec<(f64, String)> {
    let covers = |pair: &[(f64, String)]| match pair {
        [(x, name), (next, after)] => extent(*x, name).0 + wide(name) + 8.0 > extent(*next, after).0,
        _ => false,
    };
    while let Some(place) = marks.windows(2).position(covers) {
        let (_, name) = marks.remove(place + 1);
        if let Some((_, before)) = marks.get_mut(place) {
            before.push_str(", ");
            before.push_str(&name);
        }
    }
    marks
}

/// The left edge of a mark's name, and the text anchor for SVG. Near the right edge of the picture the name stands at
/// the left of its mark.
fn extent(x: f64, name: &str) -> (f64, &'static str) {
    if x + 3.0 + wide(name) > RIGHT { (x - 3.0 - wide(name), "end") } else { (x + 3.0, "start") }
}
