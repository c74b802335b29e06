//! A recording's header with made-up contents, for tests that do not depend on these contents.

use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::placement::Placement;
use punctual_numbers::recording::{Clock, Header};
use punctual_numbers::scenario::{Amount, Policy, Scenario};

/// A header of one phase without load on the first `cpus` CPUs, with a period of 1 ms.
pub fn header(cpus: u32, length: Nanos) -> Header {
    Header {
        tool_version: "0.1.0".to_owned(),
        started_unix_ns: 1_700_000_000_000_000_000,
        epoch: MonoTime::from_ns(1_000_000_000),
        scenario: Scenario {
            warm_up: Amount::Activations(100),
            budget: Some(Nanos::from_us(50)),
            ..Scenario::plain(0..cpus, Nanos::from_ms(1), Policy::Fifo(90), Amount::Time(length))
        },
        machine: Vec::new(),
        placement: Placement::default(),
        clock: Clock::default(),
        checkpoint: Nanos::from_secs(1),
    }
}
