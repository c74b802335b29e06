//! Measures what a cycle costs in addition to its body: from the clock reading that ended the wait to the body, and
//! after the body, including statistics. Run with `cargo xtask bench cyclic`.

use punctual_rt::{Cyclic, Error, Nanos, Policy, Require, TaskConfig, Wait, now};

#[allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn main() -> Result<(), Error> {
    let read = clock_read();
    println!("one reading of the clock: {} ns", read.as_ns());
    let hybrid = TaskConfig::periodic(Nanos::from_ms(1)).named("hybrid");
    let spin = TaskConfig::periodic(Nanos::from_us(5)).named("spin").wait(Wait::Spin);
    for (name, config, cycles) in [("spin, 5 us", spin, 200_000), ("hybrid, 1 ms", hybrid, 4_000)] {
        let Costs { before, after } = costs(&config, cycles)?;
        println!(
            "{name}: median {} ns before the body, {} ns after it, a reading of the clock in each; together without \
             them {} ns (limit 150)",
            before.as_ns(),
            after.as_ns(),
            (before + after - read * 2).as_ns(),
        );
    }
    Ok(())
}

struct Costs {
    /// Time from the clock reading that ended the wait to the body.
    before: Nanos,
    /// Time that `finish` takes, including its own reading of the clock.
    after: Nanos,
}

fn costs(config: &TaskConfig, cycles: usize) -> Result<Costs, Error> {
    let config = config.clone().policy(Policy::Fifo(85)).require(Require::BestEffort);
    let mut cyclic = Cyclic::new(&config)?;
    let (mut before, mut after) = (vec![Nanos::MAX; cycles], vec![Nanos::MAX; cycles]);
    for (before, after) in before.iter_mut().zip(&mut after) {
        let Some(wake) = cyclic.wait() else { break };
        let body = now();
        cyclic.finish();
        *after = now() - body;
        *before = body - wake.woke;
    }
    assert_eq!(cyclic.stats().snapshot().counters.activations, cycles as u64);
    Ok(Costs { before: median(before), after: median(after) })
}

fn clock_read() -> Nanos {
    let reads = (0..10_001).map(|_| {
        let first = now();
        now() - first
    });
    median(reads.collect())
}

fn median(mut values: Vec<Nanos>) -> Nanos {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}
