//! EVL's driver `latmus`: one thread waits in it, another reads what it tells once a second and ends the measurement.

use super::{Ask, Cells, Listener, Second};
use crate::sys::core_driver::{CoreDevice, LatmusContext, LatmusSecond, LatmusSetup, evl_pipe, interrupt};
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::scenario::CoreContext;
use punctual_rt::{Policy, kernel, now, setup};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::ffi::CString;
use std::fs::File;
use std::io::Read;
use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Release},
};

/// Number of cells of the histogram, of one microsecond each: as many as the driver allows.
const CELLS: usize = 1000;
const CELL: Nanos = Nanos::from_us(1);
/// How often the reader looks whether the measurement must end, and interrupts it again if it must.
const LOOK: Nanos = Nanos::from_ms(50);
/// Room for an hour of seconds, so that a reader that is late loses none.
const PIPE_BYTES: u32 = 3600 * 24;

/// The driver, as the two threads use it.
pub(super) trait Calls: Sync {
    /// Waits in the driver until interrupted. Fills the cells, and returns the last second, which is not whole.
    fn run(&self, cells: &mut [u32]) -> Result<LatmusSecond, i32>;
    /// The next second, if the driver tells one in this time.
    fn next(&self, within: Nanos) -> Option<LatmusSecond>;
    /// Interrupts the thread that waits.
    fn interrupt(&self);
}

/// Measures until `end`: the calling thread waits in the driver, and another one reads what it tells.
pub(super) fn measure(driver: &impl Calls, end: MonoTime, listener: &mut dyn Listener) -> Result<(Cells, Second), i32> {
    let mut cells = vec![0; CELLS];
    let done = AtomicBool::new(false);
    let (last, seconds) = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            // The reader must not disturb the CPU that is measured more than the rest of this program does.
            let _ = setup::set_policy(Policy::Other);
            read_seconds(driver, end, &done, listener)
        });
        let last = driver.run(&mut cells);
        done.store(true, Release);
        (last, reader.join().unwrap_or_default())
    });
    let whole = seconds.with(second(last?));
    Ok((Cells { width: CELL, counts: cells }, whole))
}

/// Tells the listener each second, and interrupts the driver when the measurement must end. Returns all seconds together.
fn read_seconds(driver: &impl Calls, end: MonoTime, done: &AtomicBool, listener: &mut dyn Listener) -> Second {
    let mut all = Second::default();
    loop {
        // What was told before the driver ended is still read.
        let was_done = done.load(Acquire);
        let within = if was_done { Nanos::ZERO } else { LOOK.min(end.since(now()).max(Nanos::from_ms(1))) };
        match driver.next(within) {
            Some(told) => {
                let told = second(told);
                listener.second(now(), &told);
                all = all.with(told);
            }
            None if was_done => return all,
            None => {}
        }
        if now() >= end || listener.stops() {
            driver.interrupt();
        }
    }
}

fn second(told: LatmusSecond) -> Second {
    Second {
        samples: told.samples.into(),
        sum: told.sum,
        min: told.min.into(),
        max: told.max.into(),
        overruns: told.overruns.into(),
    }
}

/// The kernel's own driver, in which the calling thread waits.
pub(super) struct System<'a> {
    device: &'a CoreDevice,
    pipe: File,
    tid: u32,
}

impl<'a> System<'a> {
    pub(super) fn new(device: &'a CoreDevice, ask: &Ask) -> Result<Self, i32> {
        let tid = kernel::thread_id();
        let errno = |error: std::io::Error| error.raw_os_error().unwrap_or(libc::EIO);
        let factory = File::options().read(true).write(true).open("/dev/evl/xbuf/clone").map_err(errno)?;
        let name = CString::new(format!("punctual-latmus:{tid}")).map_err(|_| libc::EINVAL)?;
        let pipe = evl_pipe(&factory, &name, PIPE_BYTES)?;
        #[allow(clippy::cast_possible_truncation, reason = "1000")]
        let cells = CELLS as u32;
        device.latmus_measure(&LatmusSetup {
            context: context(ask.context),
            period_ns: ask.period.as_ns(),
            priority: ask.priority.into(),
            cpu: ask.cpu,
            pipe: std::os::fd::AsRawFd::as_raw_fd(&pipe),
            cells,
        })?;
        Ok(Self { device, pipe, tid })
    }
}

impl Calls for System<'_> {
    fn run(&self, cells: &mut [u32]) -> Result<LatmusSecond, i32> {
        self.device.latmus_run(cells)
    }

    fn next(&self, within: Nanos) -> Option<LatmusSecond> {
        let within = Timespec { tv_sec: 0, tv_nsec: i64::try_from(within.as_ns()).unwrap_or(0).min(999_999_999) };
        let mut ready = [PollFd::new(&self.pipe, PollFlags::IN)];
        poll(&mut ready, Some(&within)).ok().filter(|n| *n > 0)?;
        let mut bytes = [0; size_of::<LatmusSecond>()];
        (&self.pipe).read_exact(&mut bytes).ok().map(|()| LatmusSecond::of_bytes(&bytes))
    }

    fn interrupt(&self) {
        interrupt(self.tid);
    }
}

pub(super) const fn context(context: CoreContext) -> LatmusContext {
    match context {
        CoreContext::Irq => LatmusContext::Irq,
        CoreContext::Kernel => LatmusContext::Kernel,
        CoreContext::User => LatmusContext::User,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// A driver that tells these seconds, and then waits to be interrupted.
    struct Stub {
        seconds: Mutex<VecDeque<LatmusSecond>>,
        last: Result<LatmusSecond, i32>,
        interrupts: (Mutex<Sender<()>>, Mutex<Receiver<()>>),
    }

    impl Stub {
        fn telling(seconds: &[LatmusSecond], last: Result<LatmusSecond, i32>) -> Self {
            let (send, receive) = channel();
            Self {
                seconds: Mutex::new(seconds.iter().copied().collect()),
                last,
                interrupts: (Mutex::new(send), Mutex::new(receive)),
            }
        }
    }

    impl Calls for Stub {
        fn run(&self, cells: &mut [u32]) -> Result<LatmusSecond, i32> {
            if self.last.is_ok() {
                self.interrupts.1.lock().unwrap().recv().unwrap();
            }
            (cells[12], cells[14]) = (2000, 40);
            self.last
        }

        fn next(&self, _: Nanos) -> Option<LatmusSecond> {
            std::thread::yield_now();
            self.seconds.lock().unwrap().pop_front()
        }

        fn interrupt(&self) {
            self.interrupts.0.lock().unwrap().send(()).unwrap();
        }
    }

    #[derive(Default)]
    struct Heard {
        seconds: Vec<Second>,
        stops_after: Option<usize>,
    }

    impl Listener for Heard {
        fn second(&mut self, _: MonoTime, second: &Second) {
            self.seconds.push(*second);
        }

        fn stops(&self) -> bool {
            self.stops_after.is_some_and(|n| self.seconds.len() >= n)
        }
    }

    fn told(samples: u32, min: i32, max: i32) -> LatmusSecond {
        LatmusSecond { sum: i64::from(samples) * 12_300, min, max, overruns: 1, samples }
    }

    const NOTHING: LatmusSecond = LatmusSecond { sum: 0, min: i32::MAX, max: i32::MIN, overruns: 0, samples: 0 };

    #[test]
    fn all_seconds_and_the_rest_are_counted() {
        let stub =
            Stub::telling(&[told(1000, 12_100, 12_900), told(1000, 12_200, 14_600)], Ok(told(40, 12_050, 12_400)));
        let mut heard = Heard { stops_after: Some(2), ..Heard::default() };
        let (cells, whole) = measure(&stub, now().plus(Nanos::from_secs(3600)), &mut heard).unwrap();
        assert_eq!(heard.seconds.len(), 2);
        let all = Second { samples: 2040, sum: 2040 * 12_300, min: 12_050, max: 14_600, overruns: 3 };
        assert_eq!((whole, cells.latencies(&whole).count()), (all, 2040));
    }

    #[test]
    fn the_end_interrupts_a_driver_that_tells_nothing() {
        let stub = Stub::telling(&[], Ok(NOTHING));
        let (_, whole) = measure(&stub, now(), &mut Heard::default()).unwrap();
        assert_eq!(whole.samples, 0);
    }

    #[test]
    fn a_core_that_is_stopped_ends_the_measurement() {
        let stub = Stub::telling(&[told(1000, 1, 2)], Err(libc::EIO));
        let mut heard = Heard::default();
        let refused = measure(&stub, now().plus(Nanos::from_secs(3600)), &mut heard).map(drop);
        assert_eq!((refused, heard.seconds.len()), (Err(libc::EIO), 1));
    }
}
