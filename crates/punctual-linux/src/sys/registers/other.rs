//! Architectures whose registers are not known here: threads act, and nothing is filled or read back.

use super::{Act, IMAGE_BYTES, Register};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

pub(super) fn registers() -> Vec<Register> {
    Vec::new()
}

pub(super) fn prepare(_: &mut [u8; IMAGE_BYTES]) {}

pub(super) fn hold(_: &[u8; IMAGE_BYTES], _: &mut [u8; IMAGE_BYTES], act: Act<'_>) {
    /// Longest sleep between two looks at a word.
    const LOOK: Duration = Duration::from_micros(50);
    match act {
        Act::Yield | Act::Wake(_) => std::thread::yield_now(),
        // No thread of a core takes part where no register is known.
        Act::Sleep(length) | Act::CoreSleep(_, length) => std::thread::sleep(length),
        Act::Wait(word, length) => {
            let start = Instant::now();
            while word.load(Relaxed) == 0 && start.elapsed() < length {
                std::thread::sleep(LOOK);
            }
        }
        Act::Signal(signal) => crate::sys::process::raise(signal),
        Act::Spin(word, most) => {
            let mut polls = 0..most;
            while word.load(Relaxed) == 0 && polls.next().is_some() {
                std::hint::spin_loop();
            }
        }
        Act::Touch(pages) => pages.touch(),
    }
}
