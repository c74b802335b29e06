//! One late activation, from its release to its body: who had the CPU, in lanes, to scale.

use super::axis::as_f64;
use super::{escaped, px};
use crate::render::units;
use crate::render::words::causes as words;
use punctual_core::explain::{Class, Part, Spike, Stage};
use punctual_hist::{MonoTime, Nanos};
use std::cmp::Reverse;
use std::fmt::Write as _;

const WIDTH: f64 = 900.0;
const LEFT: f64 = 92.0;
const RIGHT: f64 = WIDTH - 14.0;
/// Above the lanes: a line for release and body, one for the marks between.
const TOP: f64 = 36.0;
const LANE: f64 = 26.0;
const BAR: f64 = 18.0;
/// What a character of a label takes.
const CHARACTER: f64 = 6.8;
/// So many parts are drawn; the shorter ones of more are left out, and counted.
const PARTS_MAX: usize = 160;
/// So many parts get a label where there is room.
const LABELS_MAX: usize = 8;

/// Where something is drawn.
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

/// In which lane a cause is drawn, and as which of the colours.
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
        Class::PageFault | Class::Throttled | Class::Migration => (Lane::Task, "c3"),
        Class::IdleExit | Class::Frequency => (Lane::Beyond, "c7"),
        Class::Firmware | Class::Hypervisor | Class::Paused => (Lane::Beyond, "c6"),
        Class::Unexplained => (Lane::Beyond, "unknown"),
    }
}

/// The colour of a cause, as a class of the style sheet.
pub fn colour_of(class: Class) -> &'static str {
    drawn(class).1
}

/// The picture; `None` where there is no trace of it.
pub fn lanes(spike: &Spike) -> Option<String> {
    let (first, last) = (spike.parts.first()?, spike.parts.last()?);
    let end = last.from.plus(last.length).max(spike.woke);
    let scale = Scale { from: first.from.min(spike.release), length: end.since(first.from.min(spike.release)) };
    let used = |lane: Lane| spike.parts.iter().any(|part| drawn(part.cause.class).0 == lane);
    let shown: Vec<(Lane, &str)> =
        LANES.into_iter().filter(|(lane, _)| *lane != Lane::Beyond || used(Lane::Beyond)).collect();
    let bottom = TOP + LANE * as_f64(shown.len() as u64);
    let height = px(bottom + 24.0);
    let says = escaped(&format!(
        "What CPU {} did in the {} from the release to the body",
        spike.cpu,
        units::latency(spike.lateness())
    ));
    let incomplete = if spike.incomplete.is_some() { " incomplete" } else { "" };
    let mut out = format!(
        r#"<svg class="lanes{incomplete}" viewBox="0 0 {WIDTH} {height}" role="img" tabindex="0" aria-label="{says}">"#
    );
    axis(&mut out, &scale, spike.release, bottom);
    for (row, (lane, name)) in (0u64..).zip(&shown) {
        let top = TOP + LANE * as_f64(row);
        let _ = write!(out, r#"<path class="grid minor" d="M{} {}H{}"/>"#, px(LEFT), px(top), px(RIGHT));
        let (x, y) = (px(LEFT - 8.0), px(top + LANE / 2.0 + 4.0));
        let _ = write!(out, r#"<text class="tick end" x="{x}" y="{y}">{name}</text>"#);
        bars(&mut out, &scale, spike, *lane, top + (LANE - BAR) / 2.0);
    }
    marks(&mut out, &scale, spike, bottom);
    out.push_str("</svg>");
    Some(out)
}

/// How many parts of it the picture leaves out, because others are longer.
pub fn parts_left_out(spike: &Spike) -> usize {
    spike.parts.len().saturating_sub(PARTS_MAX)
}

/// Maps instants to coordinates.
struct Scale {
    from: MonoTime,
    length: Nanos,
}

impl Scale {
    fn at(&self, instant: MonoTime) -> f64 {
        let share = as_f64(instant.since(self.from).as_ns()) / as_f64(self.length.as_ns().max(1));
        LEFT + share.clamp(0.0, 1.0) * (RIGHT - LEFT)
    }
}

/// Time since the release, in five to ten round steps.
fn axis(out: &mut String, scale: &Scale, release: MonoTime, bottom: f64) {
    let step = round_step(scale.length);
    let mut at = Nanos::ZERO;
    while at <= scale.length {
        let x = scale.at(release.plus(at));
        let text = if at == Nanos::ZERO { "0".to_owned() } else { escaped(&units::latency(at)) };
        let _ = write!(out, r#"<path class="grid minor" d="M{} {}V{}"/>"#, px(x), px(TOP), px(bottom));
        let _ = write!(out, r#"<text class="tick mid" x="{}" y="{}">{text}</text>"#, px(x), px(bottom + 17.0));
        at = at.plus(step);
    }
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

/// The parts of one lane, with their names where there is room.
fn bars(out: &mut String, scale: &Scale, spike: &Spike, lane: Lane, top: f64) {
    let least = least_drawn(&spike.parts);
    let own: Vec<&Part> = spike
        .parts
        .iter()
        .filter(|part| drawn(part.cause.class).0 == lane && part.length >= least && part.length > Nanos::ZERO)
        .collect();
    for part in &own {
        let (x, to) = (scale.at(part.from), scale.at(part.from.plus(part.length)));
        let doubt = if part.certain { "" } else { " doubtful" };
        let title = format!(
            "{}: {}{}\nfrom {} to {} after the release ({})",
            words::cause(&part.cause),
            units::latency(part.length),
            if part.certain { "" } else { " (a record is missing at one end)" },
            units::latency(part.from.since(spike.release)),
            units::latency(part.from.plus(part.length).since(spike.release)),
            words::stage(part.stage)
        );
        let _ = write!(
            out,
            r#"<rect class="part {}{doubt}" x="{}" y="{}" width="{}" height="{BAR}"><title>{}</title></rect>"#,
            drawn(part.cause.class).1,
            px(x),
            px(top),
            px((to - x).max(0.8)),
            escaped(&title)
        );
    }
    labels(out, scale, &own, top);
}

/// Shorter parts than this are left out, so that a storm of interrupts does not make a page of megabytes.
fn least_drawn(parts: &[Part]) -> Nanos {
    let mut lengths: Vec<Nanos> = parts.iter().map(|part| part.length).collect();
    lengths.sort_unstable_by_key(|length| Reverse(*length));
    lengths.get(PARTS_MAX).map_or(Nanos::ZERO, |next| next.plus(Nanos::from_ns(1)))
}

/// Names in the bars, or beside them where the lane is free; the longest parts come first.
fn labels(out: &mut String, scale: &Scale, own: &[&Part], top: f64) {
    let bar = |part: &Part| (scale.at(part.from), scale.at(part.from.plus(part.length)));
    let mut taken: Vec<(f64, f64)> = own.iter().map(|part| bar(part)).collect();
    let mut longest: Vec<&&Part> = own.iter().collect();
    longest.sort_by_key(|part| Reverse(part.length));
    let mut named: Vec<&str> = Vec::new();
    for part in longest.into_iter().take(LABELS_MAX) {
        let name = words::cause_label(&part.cause);
        let wide = wide(name) + 8.0;
        let (from, to) = bar(part);
        let free = |from: f64, to: f64| {
            from >= LEFT && to <= RIGHT && taken.iter().all(|(left, right)| to <= *left || from >= *right)
        };
        let (x, edge, extent) = match () {
            () if to - from >= wide => (from + 4.0, "start", (from, from + wide)),
            // Once is enough for what comes again and again.
            () if named.contains(&name) => continue,
            () if free(to + 0.1, to + wide) => (to + 4.0, "start", (to, to + wide)),
            () if free(from - wide, from - 0.1) => (from - 4.0, "end", (from - wide, from)),
            () => continue,
        };
        taken.push(extent);
        named.push(name);
        let (x, y) = (px(x), px(top + BAR / 2.0 + 4.0));
        let _ = write!(out, r#"<text class="part-name {edge}" x="{x}" y="{y}">{}</text>"#, escaped(name));
    }
}

/// What happened to the wake-up itself: where one stage ends and the next begins.
fn marks(out: &mut String, scale: &Scale, spike: &Spike, bottom: f64) {
    let anchors = [
        (Stage::Expiry, "timer interrupt"),
        (Stage::Waking, "timer expired"),
        (Stage::Dispatch, "woken"),
        (Stage::Return, "switched to"),
    ];
    let begin = |stage: Stage| spike.parts.iter().find(|part| part.stage == stage);
    let inner: Vec<(f64, String)> = anchors
        .iter()
        .filter_map(|(stage, name)| begin(*stage).map(|part| (scale.at(part.from), (*name).to_owned())))
        .collect();
    for (x, name, edge) in [(scale.at(spike.release), "release", "start"), (scale.at(spike.woke), "body", "end")] {
        let _ = write!(out, r#"<path class="anchor" d="M{} {}V{}"/>"#, px(x), px(TOP - 20.0), px(bottom));
        let _ = write!(out, r#"<text class="anchor-name {edge}" x="{}" y="{}">{name}</text>"#, px(x), px(TOP - 24.0));
    }
    for (x, _) in &inner {
        let _ = write!(out, r#"<path class="anchor inner" d="M{} {}V{}"/>"#, px(*x), px(TOP - 5.0), px(bottom));
    }
    for (x, name) in joined(inner) {
        let (from, edge) = extent(x, &name);
        let x = if edge == "end" { x - 3.0 } else { from };
        let _ = write!(out, r#"<text class="anchor-name {edge}" x="{}" y="{}">{name}</text>"#, px(x), px(TOP - 8.0));
    }
}

/// Marks whose names would cover each other become one.
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

/// Where the name of a mark begins, and at which edge it is held: on the left of a mark near the right end.
fn extent(x: f64, name: &str) -> (f64, &'static str) {
    if x + 3.0 + wide(name) > RIGHT { (x - 3.0 - wide(name), "end") } else { (x + 3.0, "start") }
}

/// What a text takes.
fn wide(text: &str) -> f64 {
    as_f64(text.chars().count() as u64) * CHARACTER
}
