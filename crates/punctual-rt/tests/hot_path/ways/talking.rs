//! The functions by which a loop communicates with the rest of its program.

use super::{Turn, Way, endless};
use punctual_rt::log::Drain;
use punctual_rt::sync::{PiMutex, Signal};
use punctual_rt::watchdog::{Watchdog, WatchdogConfig};
use punctual_rt::{Nanos, latest, rt_log, spsc};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Release};
use std::time::Duration;

/// Capacity of each queue and log. A loop makes more turns than this, so it also writes to a full queue or log.
const CAPACITY: usize = 256;

pub(super) fn all() -> Vec<Way> {
    vec![
        Way::new("queue".to_owned(), queue),
        Way::new("latest value".to_owned(), latest_value),
        Way::new("log".to_owned(), log),
        Way::new("signal nobody waits for".to_owned(), unheard),
        Way::new("signal that is waited for".to_owned(), heard).waiting_by(&[libc::SYS_futex]),
        Way::new("lock nobody else holds".to_owned(), lock),
        Way::new("lock somebody else holds".to_owned(), contended).waiting_by(&[libc::SYS_futex]),
        Way::new("heart".to_owned(), heart),
    ]
}

fn queue() -> Turn {
    let (mut sender, mut receiver) = spsc(CAPACITY);
    endless(move |index| {
        let _ = sender.push([index; 4]);
        if index % 3 == 0 {
            receiver.pop();
        }
    })
}

fn latest_value() -> Turn {
    let (mut writer, mut reader) = latest([0; 16]);
    endless(move |index| {
        writer.write([index; 16]);
        if index % 3 == 0 {
            assert_eq!(reader.read().value, [index; 16]);
        }
    })
}

fn log() -> Turn {
    let mut drain = Drain::new();
    let mut log = drain.writer("proof", CAPACITY);
    log.of_this_thread();
    endless(move |index| {
        let _ = &drain;
        rt_log!(log, "cycle {} by {}", index, -350);
        log.span("body", |log| log.counter("index", index));
    })
}

fn unheard() -> Turn {
    let signal = Signal::new();
    endless(move |index| {
        signal.post();
        if index % 2 == 0 {
            signal.try_wait();
        }
    })
}

fn heard() -> Turn {
    let signal = Arc::new(Signal::new());
    let listens = Arc::clone(&signal);
    // The thread listens until the process ends.
    std::thread::spawn(move || {
        loop {
            listens.wait();
        }
    });
    endless(move |_| {
        while signal.waiting() == 0 {
            core::hint::spin_loop();
        }
        signal.post();
    })
}

fn lock() -> Turn {
    let shared = PiMutex::new(0);
    endless(move |index| {
        if let Ok(mut value) = shared.lock() {
            *value = index;
        }
    })
}

/// How often the other thread has held the lock for a while, and how often it may.
#[derive(Default)]
struct Turns {
    had: AtomicU64,
    asked: AtomicU64,
}

fn contended() -> Turn {
    let shared = Arc::new((PiMutex::new(0), Turns::default()));
    let other = Arc::clone(&shared);
    // The other thread holds the lock for a while whenever it is allowed to, until the loop is gone.
    std::thread::spawn(move || {
        let (lock, turns) = &*other;
        while Arc::strong_count(&other) > 1 {
            if turns.had.load(Acquire) < turns.asked.load(Acquire) {
                let held = lock.lock();
                turns.had.fetch_add(1, Release);
                std::thread::sleep(Duration::from_micros(100));
                drop(held);
            }
            std::thread::sleep(Duration::from_micros(10));
        }
    });
    endless(move |index| {
        let (lock, turns) = &*shared;
        if index % 16 == 0 {
            let asked = turns.asked.fetch_add(1, Release) + 1;
            while turns.had.load(Acquire) < asked {
                core::hint::spin_loop();
            }
        }
        if let Ok(mut value) = lock.lock() {
            *value = index;
        }
    })
}

fn heart() -> Turn {
    let config = WatchdogConfig::every(Nanos::from_secs(1));
    let watchdog = Watchdog::start(config, Box::new(|_| ())).unwrap();
    let mut heart = watchdog.watch("proof", Nanos::from_secs(3_600)).unwrap();
    endless(move |_| {
        let _ = &watchdog;
        heart.beat();
    })
}
