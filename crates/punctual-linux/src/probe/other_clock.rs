//! Clocks other than `CLOCK_MONOTONIC` on which releases may lie: opened, looked at, and slept on.
//!
//! The kernel sleeps on `CLOCK_REALTIME` and `CLOCK_TAI`. It does not sleep on auxiliary clocks and on those of PTP
//! devices, so there a thread sleeps on `CLOCK_MONOTONIC` for as long as the clock is short of the release.

use crate::sys::clocks::ClockNumber;
use punctual_hist::Nanos;
use punctual_numbers::scenario::OtherClock;
use punctual_rt::{kernel, now};
use std::fs::File;
use std::io;
use thiserror::Error;

#[derive(Debug, Error)]
#[error("read the clock {clock}: {reason}")]
pub struct ClockError {
    clock: OtherClock,
    reason: io::Error,
}

impl ClockError {
    pub fn remedy(&self) -> String {
        let errno = self.reason.raw_os_error().unwrap_or(0);
        match (self.clock, errno) {
            (OtherClock::Ptp(_), libc::ENOENT) => {
                "see which PTP devices there are: ls /dev/ptp*; network cards with hardware time stamps have one \
                 (ethtool -T), and in a guest ptp_kvm does"
                    .to_owned()
            }
            (OtherClock::Ptp(number), libc::EACCES | libc::EPERM) => {
                format!("run as root, or let this user read /dev/ptp{number}")
            }
            (OtherClock::Auxiliary(_), libc::EINVAL) => {
                "this kernel has no auxiliary clocks; they need Linux 6.17 and CONFIG_POSIX_AUX_CLOCKS".to_owned()
            }
            (OtherClock::Auxiliary(number), libc::ENODEV) => {
                format!("switch it on: echo 1 > /sys/kernel/time/aux_clocks/{number}/aux_clock_enable")
            }
            _ => "choose another clock with --clock".to_owned(),
        }
    }
}

/// A clock that can be read.
pub struct OpenClock {
    number: ClockNumber,
    /// Whether the kernel sleeps on it.
    has_timers: bool,
    /// The device, which must stay open.
    _device: Option<File>,
}

impl OpenClock {
    /// Opens the clock and reads it once.
    pub fn open(clock: OtherClock) -> Result<Self, ClockError> {
        let refused = |reason| ClockError { clock, reason };
        let (number, has_timers, device) = match clock {
            OtherClock::Realtime => (ClockNumber::REALTIME, true, None),
            OtherClock::Tai => (ClockNumber::TAI, true, None),
            OtherClock::Auxiliary(number) => (ClockNumber::auxiliary(number), false, None),
            OtherClock::Ptp(_) => {
                let device = File::open(clock.to_string()).map_err(refused)?;
                (ClockNumber::of_device(&device), false, Some(device))
            }
        };
        number.read().map_err(refused)?;
        Ok(Self { number, has_timers, _device: device })
    }

    pub fn read(&self) -> io::Result<Nanos> {
        self.number.read()
    }

    /// Sleeps until the clock shows `at`, and returns what it shows then.
    ///
    /// # Real-time
    /// One kernel entry and one reading; on a clock without timers two more readings, and another sleep if the clock
    /// runs slower than `CLOCK_MONOTONIC`.
    pub fn sleep_until(&self, at: Nanos) -> io::Result<Nanos> {
        if self.has_timers {
            self.number.sleep_until(at)?;
            return self.read();
        }
        let mut shows = self.read()?;
        while shows < at {
            kernel::sleep_until(now().plus(at.minus(shows)));
            shows = self.read()?;
        }
        Ok(shows)
    }
}

/// Whether a clock was set during a stretch of time: it passed by much less or much more than `CLOCK_MONOTONIC` did. A
/// steered clock runs faster or slower by a few hundred millionths at most.
pub fn was_set(passed: Option<Nanos>, monotonic: Nanos) -> bool {
    const SLACK: Nanos = Nanos::from_us(500);
    let Some(passed) = passed else { return true };
    let apart = passed.max(monotonic).minus(passed.min(monotonic));
    apart > monotonic.divided_by(16).plus(SLACK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_clocks_are_read_and_slept_on() {
        for clock in [OtherClock::Realtime, OtherClock::Tai] {
            let open = OpenClock::open(clock).unwrap();
            let at = open.read().unwrap().plus(Nanos::from_ms(2));
            assert!(open.sleep_until(at).unwrap() >= at, "{clock}");
        }
    }

    #[test]
    fn a_clock_without_timers_is_reached_by_sleeping_on_another() {
        let open = OpenClock { has_timers: false, ..OpenClock::open(OtherClock::Tai).unwrap() };
        let at = open.read().unwrap().plus(Nanos::from_ms(2));
        assert!(open.sleep_until(at).unwrap() >= at);
    }

    #[test]
    fn a_clock_that_is_missing_has_a_remedy() {
        let missing = OpenClock::open(OtherClock::Ptp(250)).err().unwrap();
        assert!(missing.to_string().contains("/dev/ptp250"), "{missing}");
        assert!(missing.remedy().contains("ls /dev/ptp"));
        let refused = |clock, errno| ClockError { clock, reason: io::Error::from_raw_os_error(errno) }.remedy();
        assert!(refused(OtherClock::Auxiliary(0), libc::EINVAL).contains("6.17"));
        assert!(refused(OtherClock::Auxiliary(3), libc::ENODEV).contains("aux_clocks/3/"));
        assert!(refused(OtherClock::Ptp(1), libc::EACCES).contains("/dev/ptp1"));
    }

    #[test]
    fn a_step_of_a_clock_is_told_from_its_steering() {
        let ms = Nanos::from_ms;
        assert!(!was_set(Some(Nanos::from_us(10_005)), ms(10)));
        assert!(!was_set(Some(Nanos::from_us(9_995)), ms(10)));
        assert!(was_set(Some(ms(3_610)), ms(10)));
        assert!(was_set(Some(ms(1)), ms(10)));
        assert!(was_set(None, ms(10)));
    }
}
