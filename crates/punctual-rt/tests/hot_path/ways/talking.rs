//! What a loop uses to talk to the rest of its program.

use super::{Turn, Way};
use punctual_rt::log::Drain;
use punctual_rt::sync::{PiMutex, Signal};
use punctual_rt::watchdog::{Watchdog, WatchdogConfig};
use punctual_rt::{Nanos, latest, rt_log, spsc};
use std::sync::Arc;

/// Each ends short of its capacity and beyond it.
const CAPACITY: usize = 256;

pub(super) fn all() -> Vec<Way> {
    vec![
        Way::new("queue".to_owned(), queue),
        Way::new("latest value".to_owned(), latest_value),
        Way::new("log".to_owned(), log),
        Way::new("signal nobody waits for".to_owned(), unheard),
        Way::new("signal that is waited for".to_owned(), heard).waiting_by(&[libc::SYS_futex]),
        Way::new("lock nobody else holds".to_owned(), lock),
        Way::new("heart".to_owned(), heart),
    ]
}

fn queue() -> Turn {
    let (mut sender, mut receiver) = spsc(CAPACITY);
    Box::new(move |index| {
        let _ = sender.push([index; 4]);
        if index % 3 == 0 {
            receiver.pop();
        }
    })
}

fn latest_value() -> Turn {
    let (mut writer, mut reader) = latest([0; 16]);
    Box::new(move |index| {
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
    Box::new(move |index| {
        let _ = &drain;
        rt_log!(log, "cycle {} by {}", index, -350);
        log.span("body", |log| log.counter("index", index));
    })
}

fn unheard() -> Turn {
    let signal = Signal::new();
    Box::new(move |index| {
        signal.post();
        if index % 2 == 0 {
            signal.try_wait();
        }
    })
}

fn heard() -> Turn {
    let signal = Arc::new(Signal::new());
    let listens = Arc::clone(&signal);
    // It goes on listening until the process ends.
    std::thread::spawn(move || {
        loop {
            listens.wait();
        }
    });
    Box::new(move |_| {
        while signal.waiting() == 0 {
            core::hint::spin_loop();
        }
        signal.post();
    })
}

fn lock() -> Turn {
    let shared = PiMutex::new(0);
    Box::new(move |index| {
        if let Ok(mut value) = shared.lock() {
            *value = index;
        }
    })
}

fn heart() -> Turn {
    let config = WatchdogConfig::every(Nanos::from_secs(1));
    let watchdog = Watchdog::start(config, Box::new(|_| ())).unwrap();
    let mut heart = watchdog.watch("proof", Nanos::from_secs(3_600)).unwrap();
    Box::new(move |_| {
        let _ = &watchdog;
        heart.beat();
    })
}
