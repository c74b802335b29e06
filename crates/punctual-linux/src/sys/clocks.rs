//! Clocks by their numbers: those of the kernel, and those of open devices. What a number stands for is decided in
//! `probe/other_clock.rs`.

use punctual_hist::Nanos;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;

/// A number that `clock_gettime` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockNumber(libc::clockid_t);

impl ClockNumber {
    pub const REALTIME: Self = Self(libc::CLOCK_REALTIME);
    pub const TAI: Self = Self(libc::CLOCK_TAI);

    /// An auxiliary clock. The kernel numbers them behind its other clocks.
    pub const fn auxiliary(number: u8) -> Self {
        const FIRST: libc::clockid_t = 16;
        Self(FIRST + number as libc::clockid_t)
    }

    /// The clock of an open device, for as long as it is open: `FD_TO_CLOCKID` of the kernel's documentation.
    pub fn of_device(device: &File) -> Self {
        const OF_DESCRIPTOR: libc::clockid_t = 3;
        Self((!device.as_raw_fd() << 3) | OF_DESCRIPTOR)
    }

    pub fn read(self) -> io::Result<Nanos> {
        let mut t = MaybeUninit::<libc::timespec>::uninit();
        // SAFETY: the pointer is valid for one timespec. The kernel refuses numbers that it does not know.
        if unsafe { libc::clock_gettime(self.0, t.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call succeeded, so it filled the timespec.
        let t = unsafe { t.assume_init() };
        // A clock that was never set may stand before 1970, which no release does.
        let [seconds, ns] = [t.tv_sec, t.tv_nsec].map(|part| u64::try_from(part).unwrap_or(0));
        Ok(Nanos::from_ns(seconds.saturating_mul(1_000_000_000).saturating_add(ns)))
    }

    /// Sleeps until the clock shows `at`. Signals do not end the sleep.
    pub fn sleep_until(self, at: Nanos) -> io::Result<()> {
        let [seconds, ns] = [at.as_ns() / 1_000_000_000, at.as_ns() % 1_000_000_000];
        // A time that does not fit is that of no clock, and the sleep ends at once.
        let t = libc::timespec { tv_sec: seconds.try_into().unwrap_or(0), tv_nsec: ns.try_into().unwrap_or(0) };
        loop {
            // SAFETY: the request is valid for the call; no remainder is asked for.
            match unsafe { libc::clock_nanosleep(self.0, libc::TIMER_ABSTIME, &raw const t, std::ptr::null_mut()) } {
                0 => return Ok(()),
                libc::EINTR => {}
                refused => return Err(io::Error::from_raw_os_error(refused)),
            }
        }
    }
}
