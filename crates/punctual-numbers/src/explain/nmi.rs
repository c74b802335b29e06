//! Non-maskable interrupts: a record comes at their end, so their time is cut out of the spans in which it lies.

use super::swept::{Owner, Span};
use crate::trace::{Address, NoiseKind, TraceEvent, TraceRecord, Window};
use punctual_hist::MonoTime;

pub(super) fn carve(window: &Window, spans: &mut Vec<Span>) {
    for record in &window.records {
        let (from, to, handler) = match record.what {
            TraceEvent::Nmi { handler, took } => (record.at.minus(took), record.at, handler),
            // The noise tracer is believed only if no handler has a record of its own.
            TraceEvent::Noise { kind: NoiseKind::Nmi, took, .. }
                if !is_told(window, record.at.minus(took), record.at) =>
            {
                (record.at.minus(took), record.at, Address(0))
            }
            _ => continue,
        };
        if !spans.iter().any(|span| span.from < to && from < span.to) {
            continue;
        }
        let mut carved = Vec::with_capacity(spans.len() + 2);
        for span in spans.drain(..) {
            let (a, b) = (from.clamp(span.from, span.to), to.clamp(span.from, span.to));
            if a >= b || matches!(span.owner, Owner::Nmi(_)) {
                carved.push(span);
                continue;
            }
            let pieces = [(span.from, a, span.owner), (a, b, Owner::Nmi(handler)), (b, span.to, span.owner)];
            let pieces = pieces.into_iter().filter(|(from, to, _)| from < to);
            carved.extend(pieces.map(|(from, to, owner)| Span { from, to, owner, ..span }));
        }
        *spans = carved;
    }
}

/// Whether a handler of a non-maskable interrupt has a record between two instants.
fn is_told(window: &Window, from: MonoTime, to: MonoTime) -> bool {
    let is_there =
        |record: &TraceRecord| matches!(record.what, TraceEvent::Nmi { .. }) && from <= record.at && record.at <= to;
    window.records.iter().any(is_there)
}
