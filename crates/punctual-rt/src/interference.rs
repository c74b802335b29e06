//! Finds out what took the CPU from a polling thread: another thread, or something that the scheduler does not know of.
//!
//! The result explains an activation that was late. It must not decide whether an activation was late.

use crate::sys::{self, Poison};

/// What took time from a polling thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interference {
    /// Neither the scheduler's mark nor the counters of context switches show the cause.
    #[default]
    Unknown,
    /// The kernel ran another thread on the CPU, or throttled this one.
    Preempted,
    /// No other thread ran. The cause was an interrupt, the firmware, or the hypervisor.
    Interrupted,
}

/// Traces of an interruption in the kernel's data, for [`Signs::judge`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Signs {
    /// Whether the kernel cleared the mark; `None` if there is no mark.
    cleared: Option<bool>,
    /// Number of involuntary context switches since the count was last read, which includes the polling; `None` if the
    /// count was not read.
    switches: Option<u64>,
    /// Whether this kernel clears the mark only on context switches and signals, and not on interrupts.
    exact: bool,
}

impl Signs {
    /// Decides what took the CPU. If there was no switch, or the mark is still there, no other thread ran. A cleared
    /// mark alone proves a switch only on kernels that clear it for nothing else. On other kernels, the count of
    /// switches must have grown as well. The answer is wrong only if a switch happened before the polling, and other
    /// kernel work during it.
    const fn judge(self) -> Interference {
        match (self.cleared, self.switches) {
            (Some(false), _) | (_, Some(0)) => Interference::Interrupted,
            (Some(true), Some(_)) => Interference::Preempted,
            (Some(true), None) if self.exact => Interference::Preempted,
            (Some(true) | None, _) => Interference::Unknown,
        }
    }
}

/// Watches the polling of one thread. The thread that creates it must be the one that uses it.
#[derive(Debug)]
pub struct PollWatch {
    poison: Option<Poison>,
    exact: bool,
    confirms: bool,
    switches: u64,
}

impl PollWatch {
    /// Makes a watch for the calling thread. With `confirms`, [`end`](Self::end) asks the kernel for the thread's count
    /// of switches after a hit. Without it the loop makes no system call, but the answer is more often
    /// [`Interference::Unknown`] on kernels before 6.19 and with C libraries other than glibc.
    ///
    /// # Real-time
    /// Enters the kernel, looks up symbols: call before the loop.
    ///
    /// # Kernel
    /// With `confirms`, any kernel; without, at least Linux 4.18 and glibc 2.35.
    pub fn of_current_thread(confirms: bool) -> Self {
        let exact = sys::kernel_clears_for_switches_only();
        let switches = if confirms { sys::thread_usage().involuntary_switches } else { 0 };
        Self { poison: Poison::of_current_thread(), exact, confirms, switches }
    }

    /// Whether the kernel leaves marks that can be read without a system call.
    pub const fn has_marks(&self) -> bool {
        self.poison.is_some()
    }

    /// Call right before polling. Do nothing but poll until [`end`](Self::end), because newer kernels leave no mark of
    /// a switch during a system call.
    ///
    /// # Real-time
    /// One store.
    #[inline]
    pub fn begin(&mut self) {
        if let Some(poison) = &self.poison {
            poison.arm();
        }
    }

    /// Call right after polling; `hit` says whether the thread lost time. Returns what took the time, or `None` if
    /// nothing did.
    ///
    /// # Real-time
    /// One load and one store; with a hit and `confirms`, one kernel entry (`getrusage`, 0.3 us) unless the mark
    /// already shows the cause.
    #[inline]
    pub fn end(&mut self, hit: bool) -> Option<Interference> {
        let cleared = self.poison.as_ref().map(|poison| {
            let cleared = !poison.still_set();
            poison.disarm();
            cleared
        });
        hit.then(|| self.ask(cleared))
    }

    #[cold]
    fn ask(&mut self, cleared: Option<bool>) -> Interference {
        let asks = self.confirms && cleared != Some(false);
        let switches = asks.then(|| {
            let now = sys::thread_usage().involuntary_switches;
            now.saturating_sub(std::mem::replace(&mut self.switches, now))
        });
        Signs { cleared, switches, exact: self.exact }.judge()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_of_signs() {
        use Interference::{Interrupted, Preempted, Unknown};
        for exact in [false, true] {
            let judge = |cleared, switches| Signs { cleared, switches, exact }.judge();
            for switches in [None, Some(0), Some(3)] {
                assert_eq!(judge(Some(false), switches), Interrupted, "no thread runs without the mark going");
            }
            assert_eq!(judge(Some(true), Some(0)), Interrupted, "other work of the kernel's");
            assert_eq!(judge(Some(true), Some(1)), Preempted);
            assert_eq!(judge(Some(true), None), if exact { Preempted } else { Unknown });
            assert_eq!(judge(None, Some(0)), Interrupted);
            assert_eq!(judge(None, Some(1)), Unknown, "the switch may have been before");
            assert_eq!(judge(None, None), Unknown);
        }
    }

    #[test]
    fn an_undisturbed_wait_leaves_no_mark_and_a_hit_without_marks_stays_unknown() {
        for confirms in [false, true] {
            let mut watch = PollWatch::of_current_thread(confirms);
            watch.begin();
            assert_eq!(watch.end(false), None);
            assert!(watch.poison.is_none_or(|poison| !poison.still_set()));
        }
        let mut blind = PollWatch { poison: None, exact: true, confirms: false, switches: 0 };
        blind.begin();
        assert_eq!((blind.has_marks(), blind.end(true)), (false, Some(Interference::Unknown)));
    }
}
