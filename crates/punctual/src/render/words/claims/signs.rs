//! Sentences with hints at the origin of latencies that follow from the latencies alone.

use crate::render::lang::tr;
use crate::render::units;
use crate::render::words::causes::rhythm;
use punctual_numbers::claims::{Hill, Sign};

pub fn sign(sign: &Sign) -> String {
    match sign {
        Sign::Rhythm { cpu, rhythm: seen, activations, ticks } => {
            let whole = |n: &u64, one: &str| format!("{} {one}s", units::count(*n));
            let same: Vec<String> =
                [activations.as_ref().map(|n| whole(n, "activation")), ticks.as_ref().map(|n| whole(n, "tick"))]
                    .into_iter()
                    .flatten()
                    .collect();
            let same = if same.is_empty() { String::new() } else { format!(" ({})", same.join(", ")) };
            tr!(
                "The largest latencies of CPU {cpu} come {seen}{same}: look for a timer or a job.",
                cpu,
                seen = rhythm(seen),
                same
            )
        }
        Sign::EveryNth { cpu, activations } => tr!(
            "The largest latencies of CPU {cpu} fall on each {activations}th activation: something runs at a multiple \
            of the period, as the tick does.",
            cpu,
            activations
        ),
        Sign::Modes { cpu, hills } => {
            let hill = |hill: &Hill| format!("{} ({})", units::latency(hill.at), units::portion(hill.share));
            let hills: Vec<String> = hills.iter().map(hill).collect();
            tr!(
                "The latencies of CPU {cpu} gather around {hills}: wake-ups differ in kind, for example by the idle \
                state that is left.",
                cpu,
                hills = hills.join(", ")
            )
        }
    }
}
