//! The header of a recording that was made up, for tests that do not depend on it.

use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::placement::Placement;
use punctual_numbers::recording::{Clock, Header};
use punctual_numbers::scenario::{Amount, LoadPhase, Mechanism, Policy, ProbeThread, Scenario, TimerPhase};

/// A header of one phase without load on the first `cpus` CPUs, with a period of 1 ms.
pub fn header(cpus: u32, length: Nanos) -> Header {
    Header {
        tool_version: "0.1.0".to_owned(),
        started_unix_ns: 1_700_000_000_000_000_000,
        epoch: MonoTime::from_ns(1_000_000_000),
        scenario: Scenario {
            threads: (0..cpus).map(|cpu| ProbeThread { cpu, period: Nanos::from_ms(1) }).collect(),
            policy: Policy::Fifo(90),
            mechanism: Mechanism::Absolute,
            phase: TimerPhase::Auto,
            warm_up: Amount::Activations(100),
            length: Amount::Time(length),
            budget: Some(Nanos::from_us(50)),
            limit: None,
            dma_latency_us: None,
            load_phases: vec![LoadPhase { loads: Vec::new(), parts: 1 }],
            load_cpus: None,
            suite: None,
        },
        machine: Vec::new(),
        placement: Placement::default(),
        clock: Clock::default(),
        checkpoint: Nanos::from_secs(1),
    }
}
