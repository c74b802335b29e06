//! Causes millions of events: two real-time threads on one CPU wake each other as fast as they can.

use crate::sys::{self, Policy};
use anyhow::{Context, Result};
use std::sync::mpsc;
use std::thread::{self, Thread};

/// Events per turn: a wake-up and a switch.
const EVENTS_A_TURN: u64 = 2;

/// Runs the two threads on a CPU for `seconds`. Returns a lower bound for the number of scheduler events.
pub fn run(cpu: u32, seconds: u64) -> Result<u64> {
    let until_ns = sys::now_ns() + seconds * 1_000_000_000;
    let (to_first, for_first) = mpsc::channel::<Thread>();
    let (to_second, for_second) = mpsc::channel::<Thread>();
    let player = move |others: mpsc::Receiver<Thread>, begins: bool| -> Result<u64> {
        let other = others.recv().context("hear of the other player")?;
        let ready = sys::pin(cpu).and_then(|()| sys::make_real_time(Policy::Fifo(1)));
        let mut turns = 0;
        if begins {
            other.unpark();
        }
        while ready.is_ok() && sys::now_ns() < until_ns {
            thread::park();
            other.unpark();
            turns += 1;
        }
        // A thread that ends wakes the other one, which would otherwise sleep forever.
        other.unpark();
        ready.map(|()| turns)
    };
    let start = |name: &str, others, begins| {
        let named = thread::Builder::new().name(name.to_owned());
        named.spawn(move || player(others, begins)).context("start a thread")
    };
    let first = start("pong-1", for_first, true)?;
    let second = start("pong-2", for_second, false)?;
    // Fails if a thread has already ended, which needs no message.
    let _ = (to_first.send(second.thread().clone()), to_second.send(first.thread().clone()));
    let turns = [first, second].map(|player| player.join().map_err(|_| anyhow::anyhow!("a player panicked")));
    let [first, second] = turns;
    Ok((first?? + second??) * EVENTS_A_TURN)
}

#[cfg(test)]
mod tests {
    #[test]
    fn nobody_is_left_asleep() {
        // Without root's rights the call returns an error, and otherwise a number of events.
        if let Ok(events) = super::run(0, 0) {
            assert_eq!(events % super::EVENTS_A_TURN, 0);
        }
    }
}
