//! Checks with real threads that counters which are copied while the loop writes belong together. The tests are small
//! enough for Miri, which would need minutes for a whole page with its histograms.

use super::{Stats, StatsConfig};
use crate::wake::{Class, Wake};
use punctual_hist::{MonoTime, Nanos};
use std::thread;

const MS: Nanos = Nanos::from_ms(1);
const CYCLES: u64 = if cfg!(miri) { 12 } else { 20_000 };

fn woke(index: u64) -> MonoTime {
    MonoTime::from_ns(5_000_000_000) + MS * index
}

#[test]
fn counters_that_are_read_while_the_loop_writes_are_of_one_moment() {
    let (mut writer, reader) = Stats::create(&StatsConfig { flight_cycles: 64, ..StatsConfig::new("a", MS) }).unwrap();
    let looking = thread::spawn(move || {
        let (mut last, mut looks) = (0, 0u32);
        while last < CYCLES {
            let Some(counters) = reader.counters() else { continue };
            let seen = counters.activations;
            assert!(seen >= last, "never back");
            assert_eq!(counters.classes.iter().sum::<u64>(), seen, "{counters:?}");
            assert_eq!(counters.missed, seen, "{counters:?}");
            assert!(seen == 0 || counters.last_woke == woke(2 * seen - 2), "{counters:?}");
            (last, looks) = (seen, looks.saturating_add(1));
        }
        looks
    });
    for n in 0..CYCLES {
        // Each activation is on time or early, and then one release is missed.
        let (release, class) = (woke(2 * n), [Class::OnTime, Class::Early][usize::from(n % 3 == 0)]);
        let wake = Wake { index: 2 * n, release, woke: release, interval: MS, missed: 1, class, ..Wake::default() };
        writer.woke(&wake);
    }
    assert!(looking.join().unwrap() > 0);
}
