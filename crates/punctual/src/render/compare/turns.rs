//! What an interleaved comparison is going to do: the order of its measurements, and the time that they take.

use crate::render::document::Published;
use crate::render::lang::tr;
use crate::render::{units, words};
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::Nanos;
use punctual_optimize::turns::{Turn, Turns};
use serde::Serialize;
use std::fmt;

/// The plan of an interleaved comparison.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TurnsPlan {
    /// The command that sets up side A.
    a: String,
    /// The command that sets up side B.
    b: String,
    /// Seed of the order.
    seed: u64,
    cpus: CpuSet,
    /// Which side is measured, in this order: `A` or `B`.
    order: Vec<&'static str>,
    /// Length of each measurement.
    #[serde(rename = "each_ns")]
    each: Nanos,
    /// Total time of all measurements, with warm-up and settling, without the commands.
    #[serde(rename = "total_ns")]
    total: Nanos,
}

impl Published for TurnsPlan {
    const SCHEMA: &'static str = "punctual/interleave/1";
}

pub fn name(turn: Turn) -> &'static str {
    match turn {
        Turn::A => "A",
        Turn::B => "B",
    }
}

impl TurnsPlan {
    /// `around` is the time that each measurement takes beside its length.
    pub fn of(turns: &Turns, cpus: CpuSet, each: Nanos, around: Nanos) -> Self {
        let mut ahead = turns.clone();
        let mut order = Vec::new();
        while let Some(next) = ahead.next() {
            order.push(name(next.turn));
            ahead.measured += 1;
        }
        let [a, b] = turns.commands.clone();
        Self { a, b, seed: turns.seed, cpus, each, total: each.plus(around).times(order.len() as u64), order }
    }
}

impl fmt::Display for TurnsPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "A: {}\nB: {}", self.a, self.b)?;
        let text = tr!(
            "{measurements} of {each} each on {cpus}, seed {seed}: about {total}, plus the time of the commands",
            measurements = units::counted(self.order.len() as u64, "measurement"),
            each = units::duration(self.each),
            cpus = words::cpus(&self.cpus),
            seed = self.seed,
            total = units::duration(self.total)
        );
        writeln!(f, "{text}")?;
        let rounds: Vec<String> = self.order.chunks(2).map(<[_]>::concat).collect();
        f.write_str(&tr!("Order: {rounds}", rounds = rounds.join(" ")))
    }
}
