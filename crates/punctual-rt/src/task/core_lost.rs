//! Tells when a real-time core that was stopped has ended the thread of a loop.

use crate::kernel::{has_thread, sleep_for};
use crate::{SetupError, Stopper};
use punctual_hist::Nanos;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::Builder;

/// Time between two looks at the thread.
const LOOK: Nanos = Nanos::from_ms(50);

/// A thread of Linux that looks whether another thread exists, until this value is dropped.
pub(super) struct Watch {
    is_over: Arc<AtomicBool>,
}

impl Watch {
    /// Calls `lost` and stops the loop if the thread `tid` ends before this value is dropped. What ends so does not drop
    /// anything.
    pub(super) fn start(tid: u32, stop: Stopper, lost: impl FnOnce() + Send + 'static) -> Result<Self, SetupError> {
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_over);
        let watch = move || {
            while has_thread(tid) {
                if seen.load(Relaxed) {
                    return;
                }
                sleep_for(LOOK);
            }
            if !seen.load(Relaxed) {
                stop.stop();
                lost();
            }
        };
        Builder::new().name("core-watch".to_owned()).spawn(watch).map_err(SetupError::of_thread)?;
        Ok(Self { is_over })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    #[test]
    fn a_loop_whose_thread_the_kernel_ended_is_told_and_one_that_ended_by_itself_is_not() {
        for vanishes in [true, false] {
            let ((tell, told), stop) = (channel(), Stopper::default());
            let (seen, watched) = (stop.clone(), stop.clone());
            let thread = std::thread::spawn(move || {
                let lost = move || tell.send(()).unwrap();
                let watch = Watch::start(crate::kernel::thread_id(), watched, lost).unwrap();
                if vanishes {
                    crate::sys::vanish();
                }
                drop(watch);
            });
            // Without a loss, the watch drops what would tell of one.
            assert_eq!(told.recv_timeout(Duration::from_secs(60)).is_ok(), vanishes);
            assert_eq!(seen.is_stopped(), vanishes);
            if !vanishes {
                thread.join().unwrap();
            }
        }
    }
}
