//! What it costs a loop to talk to the rest of the program, nobody waiting.
//! Run with `cargo bench -p punctual-rt --bench comm`.

use punctual_rt::log::{Drain, Kind, Record, Value};
use punctual_rt::sync::{PiMutex, Signal};
use punctual_rt::{MonoTime, Nanos, latest, now, rt_log, spsc};
use std::hint::black_box;

const ROUNDS: u64 = 20_000;

/// The fastest of many rounds of 100: what it costs when nothing else happens on the machine.
#[allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn cost(name: &str, mut body: impl FnMut(u64)) {
    let round = |n: u64| {
        let start = now();
        (0..100).for_each(|i| body(black_box(n + i)));
        now().since(start)
    };
    let mut costs: Vec<Nanos> = (0..ROUNDS).map(round).collect();
    costs.sort_unstable();
    let tenths = |at: usize| costs[at].as_ns() / 10;
    let (least, median) = (tenths(0), tenths(costs.len() / 2));
    println!("{name:28} least {:3}.{} ns, median {:3}.{} ns", least / 10, least % 10, median / 10, median % 10);
}

fn main() {
    let (mut sender, mut receiver) = spsc(64);
    cost("spsc push and pop", |n| {
        let _ = sender.push(n);
        black_box(receiver.pop());
    });
    let (mut writer, mut reader) = latest([0u64; 8]);
    cost("latest write and read, 64 B", |n| {
        writer.write([n; 8]);
        black_box(reader.read());
    });
    cost("latest read, nothing new", |_| drop(black_box(reader.read())));
    let signal = Signal::new();
    cost("signal post and wait", |_| {
        signal.post();
        signal.wait();
    });
    let mutex = PiMutex::new(0);
    cost("PiMutex lock and unlock", |n| {
        if let Ok(mut value) = mutex.lock() {
            *value = n;
        }
    });
    let plain = std::sync::Mutex::new(0);
    cost("std Mutex, for comparison", |n| {
        if let Ok(mut value) = plain.lock() {
            *value = n;
        }
    });
    let mut drain = Drain::new();
    let mut log = drain.writer("x", 128);
    let record = Record { at: MonoTime::from_ns(1), kind: Kind::Message, text: "", values: [Value::None; 4] };
    let mut left = 0;
    let mut drained = |log_is_full: bool| {
        if log_is_full {
            drain.drain()
        }
    };
    cost("log record, clock apart", |_| {
        log.push(record);
        left += 1;
        drained(left % 100 == 0);
    });
    cost("rt_log! of two numbers", |n| {
        rt_log!(log, "{} {}", n, 1);
        left += 1;
        drained(left % 100 == 0);
    });
    cost("clock, for comparison", |_| drop(black_box(now())));
}
