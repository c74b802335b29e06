//! The load phases and latencies of a recording over time.

use super::{PhaseSpan, TimelinePoint};
use crate::recording::{MarkKind, RecTime, Recording, TimeSlice};
use crate::scenario::LoadPhase;

pub(super) struct Phases {
    names: Vec<String>,
    spans: Vec<PhaseSpan>,
}

impl Phases {
    /// Reads the phases from the marks. A phase without an end mark lasts until the recording ends. Without any marks,
    /// the phase of each interval is still known.
    pub(super) fn of(recording: &Recording) -> Self {
        let names = recording.header.scenario.load_phases.iter().map(LoadPhase::name).collect();
        let mut phases = Self { names, spans: Vec::new() };
        let mut open: Option<(u16, RecTime)> = None;
        for mark in &recording.marks {
            match mark.kind {
                MarkKind::PhaseStart(phase) => {
                    phases.close(open.replace((phase, mark.at)), mark.at);
                }
                MarkKind::PhaseEnd(phase) if open.is_some_and(|(opened, _)| opened == phase) => {
                    phases.close(open.take(), mark.at);
                }
                _ => {}
            }
        }
        phases.close(open, last_moment(recording));
        if phases.spans.is_empty() {
            recording.slices.iter().for_each(|slice| phases.extend(slice));
        }
        phases.spans.sort_by_key(|span| span.from);
        if let Some(edges) = recording.stretch.and_then(|stretch| stretch.edges) {
            phases.clip(edges.from, edges.to);
        }
        phases
    }

    fn close(&mut self, open: Option<(u16, RecTime)>, to: RecTime) {
        if let Some((phase, from)) = open {
            self.spans.push(PhaseSpan { name: self.name(phase), from, to: to.max(from) });
        }
    }

    fn clip(&mut self, from: RecTime, to: RecTime) {
        for span in &mut self.spans {
            (span.from, span.to) = (span.from.max(from), span.to.min(to));
        }
        self.spans.retain(|span| span.from < span.to);
    }

    fn extend(&mut self, slice: &TimeSlice) {
        let (name, to) = (self.name(slice.phase), slice.start.plus(slice.length));
        match self.spans.last_mut() {
            Some(last) if last.name == name => last.to = to,
            _ => self.spans.push(PhaseSpan { name, from: slice.start, to }),
        }
    }

    pub(super) fn name(&self, phase: u16) -> String {
        self.names.get(usize::from(phase)).cloned().unwrap_or_else(|| format!("phase {phase}"))
    }

    /// The name of the phase at this moment, or words for the time between two phases, while loads stop and start.
    pub(super) fn name_at(&self, at: RecTime) -> String {
        let begun = self.spans.partition_point(|span| span.from <= at);
        let span = begun.checked_sub(1).and_then(|last| self.spans.get(last)).filter(|span| at < span.to);
        span.map_or_else(|| "between phases".to_owned(), |span| span.name.clone())
    }

    pub(super) fn into_spans(self) -> Vec<PhaseSpan> {
        self.spans
    }
}

fn last_moment(recording: &Recording) -> RecTime {
    let slices = recording.slices.iter().map(|slice| slice.start.plus(slice.length)).max();
    let end = recording.end.as_ref().map(|end| end.at);
    end.into_iter().chain(slices).max().unwrap_or_default()
}

pub(super) fn timeline(recording: &Recording) -> Vec<TimelinePoint> {
    recording.slices.iter().flat_map(points).collect()
}

fn points(slice: &TimeSlice) -> impl Iterator<Item = TimelinePoint> + '_ {
    slice.cpus.iter().map(|(cpu, part)| {
        let counts = part.ran.counts();
        TimelinePoint {
            start: slice.start,
            length: slice.length,
            cpu: *cpu,
            min: counts.min(),
            p50: counts.percentile_ppm(500_000),
            p99_9: counts.percentile_ppm(999_000),
            max: counts.max(),
            skipped: part.skipped.count(),
        }
    })
}
