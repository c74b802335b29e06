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
