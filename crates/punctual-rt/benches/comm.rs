//! Measures what the ways of communication cost a loop when no other thread waits at them. Run with `cargo bench -p
//! punctual-rt --bench comm`.

use punctual_rt::log::{Drain, Kind, LogRecord, LogValue};
use punctual_rt::sync::{PiMutex, Signal};
use punctual_rt::{MonoTime, Nanos, latest, now, rt_log, spsc};
use std::hint::black_box;

const ROUNDS: u64 = 20_000;

/// Prints the time per call in the fastest of many rounds of 100 calls, the cost on an otherwise idle machine.
#[allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn cost<T>(name: &str, state: &mut T, tidy_up: impl Fn(&mut T), body: impl Fn(&mut T, u64)) {
    let round = |n: u64| {
        let start = now();
        (0..100).for_each(|i| body(state, black_box(n + i)));
        let cost = now() - start;
        tidy_up(state);
        cost
    };
    let mut costs: Vec<Nanos> = (0..ROUNDS).map(round).collect();
    costs.sort_unstable();
    let tenths = |at: usize| costs[at].as_ns() / 10;
    let (least, median) = (tenths(0), tenths(costs.len() / 2));
    println!("{name:28} least {:3}.{} ns, median {:3}.{} ns", least / 10, least % 10, median / 10, median % 10);
}

fn main() {
    cost(
        "spsc push and pop",
        &mut spsc(64),
        |_| (),
        |(sender, receiver), n| {
            let _ = sender.push(n);
            black_box(receiver.pop());
        },
    );
    let mut cell = latest([0u64; 8]);
    cost(
        "latest write and read, 64 B",
        &mut cell,
        |_| (),
        |(writer, reader), n| {
            writer.write([n; 8]);
            black_box(reader.read());
        },
    );
    cost(
        "latest read, nothing new",
        &mut cell,
        |_| (),
        |(_, reader), _| {
            black_box(reader.read());
        },
    );
    cost(
        "signal post and wait",
        &mut Signal::new(),
        |_| (),
        |signal, _| {
            signal.post();
            signal.wait();
        },
    );
    cost(
        "PiMutex lock and unlock",
        &mut PiMutex::new(0),
        |_| (),
        |mutex, n| {
            if let Ok(mut value) = mutex.lock() {
                *value = n;
            }
        },
    );
    cost(
        "std Mutex, for comparison",
        &mut &std::sync::Mutex::new(0),
        |_| (),
        |mutex, n| {
            if let Ok(mut value) = mutex.lock() {
                *value = n;
            }
        },
    );
    log();
    cost(
        "clock, for comparison",
        &mut (),
        |()| (),
        |(), _| {
            black_box(now());
        },
    );
}

/// The drain runs between the rounds and is not measured.
fn log() {
    let mut drain = Drain::new();
    let mut state = (drain.writer("x", 128), drain);
    let record = LogRecord { at: MonoTime::from_ns(1), kind: Kind::Message, text: "", values: [LogValue::None; 4] };
    cost("log record, clock apart", &mut state, |(_, drain)| drain.drain(), |(log, _), _| log.push(record));
    cost("rt_log! of two numbers", &mut state, |(_, drain)| drain.drain(), |(log, _), n| rt_log!(log, "{} {}", n, 1));
}
