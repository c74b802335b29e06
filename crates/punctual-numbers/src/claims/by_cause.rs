//! L4 for each cause on its own: where several make what is late, each has a tail, and the whole has none.
//!
//! A block of time has the largest latency that this cause is to be blamed for first; one without is known to have none
//! that was late at all. So all gates of a run hold here, too. It takes every late activation with its cause: of a part
//! that was drawn nobody knows which block had one.

use super::beyond::{Maxima, beyond};
use super::{CauseClaims, Refusal, signs};
use crate::explain::{Cause, Explanation, Spike};
use crate::recording::Recording;
use punctual_hist::Nanos;
use std::collections::BTreeMap;

/// Causes with a smaller part of what is late are not asked.
const SHARE_MIN: f64 = 0.05;
/// Percentage of late activations that must be known with their cause in a run of one phase. Late activations are not
/// counted by phase, so with several phases all must be known: an unknown one could belong to this phase.
const KNOWN_MIN: u64 = 95;

/// The causes of what is late in a phase on these CPUs, with what can be said of each; most frequent first.
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
    #[allow(clippy::cast_precision_loss, reason = "numbers of spikes")]
    let matters = |(_, spikes): &(&Cause, Vec<&Spike>)| spikes.len() as f64 >= SHARE_MIN * all as f64;
    let mut list: Vec<CauseClaims> = by_cause.into_iter().filter(matters).map(claims).collect();
    list.sort_by_key(|claims| std::cmp::Reverse(claims.activations));
    list
}

/// Whether this percentage of the late activations of these CPUs is known with its cause.
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

fn maxima(recording: &Recording, blocks: &[(u32, Nanos)], spikes: &[&Spike]) -> Maxima {
    let block = recording.blocks.length();
    let mut largest: BTreeMap<u32, Nanos> = blocks.iter().map(|(index, _)| (*index, Nanos::ZERO)).collect();
    for spike in spikes {
        let index = spike.release.since(recording.header.epoch).whole(block);
        let max = u32::try_from(index).ok().and_then(|index| largest.get_mut(&index));
        if let Some(max) = max {
            *max = spike.latency().max(*max);
        }
    }
    Maxima { block, list: largest.into_iter().collect() }
}
