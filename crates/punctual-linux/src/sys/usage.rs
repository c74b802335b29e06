//! What the calling thread has used so far.

/// Counters of the kernel, since the thread was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// How often another thread got its CPU, by its own will or not.
    pub switches: u64,
    /// Page faults that needed no input.
    pub minor_faults: u64,
    /// Page faults that had to wait for a device.
    pub major_faults: u64,
}

impl Usage {
    pub fn of_this_thread() -> Self {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the kernel fills the structure. With these arguments the call cannot fail.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
        // SAFETY: a structure of numbers, which may all be zero.
        let usage = unsafe { usage.assume_init() };
        let count = |n: libc::c_long| u64::try_from(n).unwrap_or(0);
        Self {
            switches: count(usage.ru_nvcsw).saturating_add(count(usage.ru_nivcsw)),
            minor_faults: count(usage.ru_minflt),
            major_faults: count(usage.ru_majflt),
        }
    }

    pub fn since(self, earlier: Self) -> Self {
        Self {
            switches: self.switches.saturating_sub(earlier.switches),
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
        }
    }
}

/// CPU time that this process has used.
pub fn own_cpu() -> punctual_hist::Nanos {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let part = |number: i64| u64::try_from(number).unwrap_or(0);
    punctual_hist::Nanos::from_secs(part(time.tv_sec)).plus(punctual_hist::Nanos::from_ns(part(time.tv_nsec)))
}

/// CPU time that a thread of this process has used; `None` if there is no such thread.
pub fn thread_cpu(tid: u32) -> Option<punctual_hist::Nanos> {
    // The kernel's numbers of the clocks of single threads: the complement of the thread's number, and the kind of clock.
    const OF_ONE_THREAD: libc::clockid_t = 0b110;
    let clock = !libc::clockid_t::try_from(tid).ok()? << 3 | OF_ONE_THREAD;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the structure, and refuses numbers of clocks that do not exist.
    let done = unsafe { libc::clock_gettime(clock, std::ptr::from_mut(&mut time)) };
    let (seconds, ns) = (u64::try_from(time.tv_sec).ok()?, u64::try_from(time.tv_nsec).ok()?);
    (done == 0).then(|| punctual_hist::Nanos::from_secs(seconds).plus(punctual_hist::Nanos::from_ns(ns)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_used_no_more_than_its_process() {
        let spun = (0..3_000_000_u64).fold(0, |sum: u64, n| sum ^ std::hint::black_box(n));
        let here = thread_cpu(punctual_rt::kernel::thread_id()).unwrap();
        assert!(here > punctual_hist::Nanos::ZERO && here <= own_cpu(), "{here:?} {spun}");
        assert_eq!(thread_cpu(u32::MAX), None);
        assert_eq!(thread_cpu(4_194_303), None, "no process of ours has this number");
    }
}
