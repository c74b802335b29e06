//! Rung L4 for each cause by itself. A mixture of several causes has no single tail, but each cause may have one.
//!
//! The maximum of a block is the largest latency that is blamed on this cause first. Every other block is known to have
//! no latency of this cause, so all checks of a run apply. This needs the cause of every late activation: a sample
//! would leave open which blocks have no latency of the cause.

use super::beyond::{Maxima, beyond};
use super::{CauseClaims, Refusal, signs};
use crate::explain::{Cause, Explanation, Spike};
use crate::recording::Recording;
use crate::stats::float::float;
use punctual_hist::Nanos;
use std::collections::BTreeMap;

/// A cause is left out if it makes a smaller part of the late activations than this.
const SHARE_MIN: f64 = 0.05;
/// Percentage of late activations that must be known with their cause in a run of one phase. Late activations are not
/// counted by phase, so with several phases all must be known: an unknown one could belong to this phase.
const KNOWN_MIN: u64 = 95;

/// The claims of each cause of late activations in a phase on these CPUs, the most frequent cause first.
pub(super) fn by_cause(
    recording: &Recording,
    explanation: &Explanation,
    phase: u16,
    cpus: &[u32],
    times: &[Nanos],
) -> Vec<CauseClaims> {
    let by_cause = signs::spikes_by_cause(explanation, phase, cpus);
    let all: usize = by_cause.values().map(Vec::len).sum();
    if all < signs::SPIKES_MIN {
        return Vec::new();
    }
    let blocks = recording.blocks.of(phase, |cpu| cpus.contains(&cpu));
    let alone = recording.phases.keys().all(|(other, _)| *other == phase);
    let known = known(explanation, cpus, if alone { KNOWN_MIN } else { 100 });
    let claims = |(cause, spikes): (&Cause, Vec<&Spike>)| {
        let known_size = signs::of_one_cause(explanation, cause, &spikes);
        let refused = known_size.or_else(|| known.clone().err());
        CauseClaims {
            cause: cause.clone(),
            activations: spikes.len() as u64,
            beyond: match refused {
                Some(refusal) => Err(refusal),
                None => beyond(&maxima(recording, &blocks, &spikes), times),
            },
        }
    };
    let matters = |(_, spikes): &(&Cause, Vec<&Spike>)| float(spikes.len()) >= SHARE_MIN * float(all);
    let mut list: Vec<CauseClaims> = by_cause.into_iter().filter(matters).map(claims).collect();
    list.sort_by_key(|claims| std::cmp::Reverse(claims.activations));
    list
}

/// Refuses unless the cause of this percentage of the late activations of these CPUs is known.
fn known(explanation: &Explanation, cpus: &[u32], wanted: u64) -> Result<(), Refusal> {
    let counts = explanation.late.iter().filter(|late| cpus.contains(&late.cpu)).map(|late| late.count);
    let (late, known) = counts.fold((0u64, 0u64), |(late, known), count| {
        (late.saturating_add(count.late), known.saturating_add(count.complete.min(count.late)))
    });
    if late > 0 && known.saturating_mul(100) >= late.saturating_mul(wanted) {
        return Ok(());
    }
    Err(Refusal::Sampled { known, late })
}

fn maxima(recording: &Recording, blocks: &BTreeMap<u32, Nanos>, spikes: &[&Spike]) -> Maxima {
    let block = recording.blocks.length();
    let mut largest: BTreeMap<u32, Nanos> = blocks.keys().map(|index| (*index, Nanos::ZERO)).collect();
    for spike in spikes {
        let index = spike.release.since(recording.header.epoch).whole(block);
        let max = u32::try_from(index).ok().and_then(|index| largest.get_mut(&index));
        if let Some(max) = max {
            *max = spike.latency().max(*max);
        }
    }
    Maxima { block, list: largest }
}
