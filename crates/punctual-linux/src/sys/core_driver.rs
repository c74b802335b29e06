//! The interface of the drivers with which real-time cores measure themselves: `latmus` of EVL, `timerbench` and `autotune`
//! of Cobalt. This module holds numbers and layouts; decisions are made in `probe/driver/`.

use punctual_rt::DriverCalls;
use std::ffi::{CStr, c_void};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// A real-time signal that interrupts a thread that waits in a driver. This program uses it for nothing else.
const INTERRUPT: i32 = 43;

/// Which latency, or whose gravity, by the number that `latmus` gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum LatmusContext {
    Irq = 0,
    Kernel = 1,
    User = 2,
}

/// What `latmus` is to do: `evl_latmus_setup`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LatmusSetup {
    pub context: LatmusContext,
    pub period_ns: u64,
    pub priority: i32,
    pub cpu: u32,
    /// The pipe to which it writes once a second. For tuning: how much it tells the kernel's log.
    pub pipe: i32,
    /// Number of cells of the histogram, at most 1000.
    pub cells: u32,
}

/// What `latmus` tells once a second, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct LatmusSecond {
    pub sum: i64,
    pub min: i32,
    pub max: i32,
    pub overruns: u32,
    pub samples: u32,
}

impl LatmusSecond {
    /// Reads what came through the pipe.
    pub fn of_bytes(bytes: &[u8; size_of::<Self>()]) -> Self {
        // SAFETY: any bits are such a structure, which has as many bytes. It need not be aligned.
        unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() }
    }
}

/// Where `latmus` puts what it has at the end.
#[repr(C)]
struct LatmusEnd {
    last: u64,
    cells: u64,
    bytes: u32,
}

#[repr(C)]
struct Answer {
    data: u64,
    bytes: u32,
}

/// A number of samples that the driver cannot have counted.
const UNANSWERED: u32 = u32::MAX;

/// The request by which EVL makes an element, and what it fills in.
#[repr(C)]
struct CloneRequest {
    name: u64,
    attributes: u64,
    flags: u32,
    ids: [u32; 3],
    descriptor: u32,
}

/// What `timerbench` is to do: `rttst_tmbench_config`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BenchSetup {
    /// 0: a task in the kernel; 1: the handler of a timer.
    pub mode: i32,
    pub priority: i32,
    pub period_ns: u64,
    pub warm_up_seconds: i32,
    pub cells: i32,
    pub cell_ns: i32,
    pub freeze_max: i32,
}

/// Latencies in nanoseconds: `rttst_bench_res`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct BenchResult {
    pub mean: i32,
    pub min: i32,
    pub max: i32,
    pub overruns: i32,
    pub seconds: i32,
}

/// What `timerbench` tells once a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct BenchSecond {
    pub last: BenchResult,
    pub overall: BenchResult,
}

/// What `timerbench` fills at the end. The three histograms count all latencies, and the smallest and largest of each
/// second.
#[repr(C)]
struct BenchEnd {
    overall: BenchResult,
    all: *mut u32,
    smallest: *mut u32,
    largest: *mut u32,
}

#[repr(C)]
struct AutotuneSetup {
    period_ns: u32,
    quiet: u32,
}

const READ: u32 = 2;
const WRITE: u32 = 1;

/// The number of an `ioctl` request by the kernel's general rule.
const fn request<T>(direction: u32, group: u8, number: u8) -> u32 {
    #[allow(clippy::cast_possible_truncation, reason = "no structure here is larger than 48 bytes")]
    let bytes = size_of::<T>() as u32;
    direction << 30 | bytes << 16 | (group as u32) << 8 | number as u32
}

const CLONE: u32 = request::<CloneRequest>(READ | WRITE, b'f', 0);
const LATMUS_TUNE: u32 = request::<LatmusSetup>(READ | WRITE, b'L', 0);
const LATMUS_MEASURE: u32 = request::<LatmusSetup>(READ | WRITE, b'L', 1);
const LATMUS_RUN: u32 = request::<Answer>(READ, b'L', 2);
const LATMUS_PULSE: u32 = request::<u64>(WRITE, b'L', 3);
const LATMUS_RESET: u32 = request::<()>(0, b'L', 4);
/// RTDM's class of testing devices, and of miscellaneous ones.
const TESTING: u8 = 6;
const MISC: u8 = 223;
const BENCH_SECOND: u32 = request::<BenchSecond>(READ | WRITE, TESTING, 0);
const BENCH_START: u32 = request::<BenchSetup>(WRITE, TESTING, 0x10);
const BENCH_STOP: u32 = request::<BenchEnd>(READ | WRITE, TESTING, 0x11);
const TUNE_IRQ: u32 = request::<AutotuneSetup>(WRITE, MISC, 0);
const TUNE_KERNEL: u32 = request::<AutotuneSetup>(WRITE, MISC, 1);
const TUNE_USER: u32 = request::<AutotuneSetup>(WRITE, MISC, 2);
const TUNE_PULSE: u32 = request::<u64>(WRITE, MISC, 3);
const TUNE_RUN: u32 = request::<u32>(READ, MISC, 4);
const TUNE_RESET: u32 = request::<()>(0, MISC, 5);

/// A device of a core, opened by a thread of the core.
pub struct CoreDevice {
    calls: DriverCalls,
    fd: RawFd,
}

impl CoreDevice {
    pub fn open(calls: DriverCalls, path: &CStr) -> Result<Self, i32> {
        calls.open(path).map(|fd| Self { calls, fd })
    }

    fn ask<T>(&self, request: u32, argument: &mut T) -> Result<(), i32> {
        // SAFETY: each caller passes a structure of the size that is part of the number. Those that hold addresses of other
        // memory hold such of memory that outlives the call.
        unsafe { self.calls.ioctl(self.fd, request, (&raw mut *argument).cast::<c_void>()) }
    }

    /// An `ioctl` that EVL answers in-band only.
    fn ask_in_band<T>(&self, request: u32, argument: &mut T) -> Result<(), i32> {
        in_band(self.fd, request, argument)
    }

    /// Tells `latmus` what to measure.
    pub fn latmus_measure(&self, setup: &LatmusSetup) -> Result<(), i32> {
        self.ask_in_band(LATMUS_MEASURE, &mut { *setup })
    }

    /// Lets `latmus` measure until a signal interrupts the calling thread. Fills `cells`, and returns the last second, which
    /// is not a whole one. The call says that it was interrupted even if the driver has answered.
    pub fn latmus_run(&self, cells: &mut [u32]) -> Result<LatmusSecond, i32> {
        let mut last = LatmusSecond { samples: UNANSWERED, ..LatmusSecond::default() };
        let mut end = LatmusEnd {
            last: address(&mut last),
            cells: cells.as_mut_ptr().expose_provenance() as u64,
            bytes: bytes_of(cells),
        };
        let answered = |last: LatmusSecond| if last.samples == UNANSWERED { LatmusSecond::default() } else { last };
        match self.run(&mut end) {
            Ok(()) | Err(libc::EINTR) => Ok(answered(std::hint::black_box(last))),
            Err(errno) => Err(errno),
        }
    }

    /// Tells `latmus` whose gravity to find.
    pub fn latmus_tune(&self, setup: &LatmusSetup) -> Result<(), i32> {
        self.ask_in_band(LATMUS_TUNE, &mut { *setup })
    }

    /// Lets `latmus` find the gravity, in nanoseconds, and set it.
    pub fn latmus_tune_run(&self) -> Result<u32, i32> {
        let mut gravity = 0u32;
        self.run(&mut gravity)?;
        Ok(std::hint::black_box(gravity))
    }

    fn run<T>(&self, data: &mut T) -> Result<(), i32> {
        #[allow(clippy::cast_possible_truncation, reason = "no structure here is larger than 48 bytes")]
        let bytes = size_of::<T>() as u32;
        self.ask(LATMUS_RUN, &mut Answer { data: address(data), bytes })
    }

    pub fn latmus_reset(&self) -> Result<(), i32> {
        self.ask_in_band(LATMUS_RESET, &mut ())
    }

    /// Tells `latmus`, which tunes, when the calling thread woke, and waits for the next release.
    pub fn latmus_pulse(&self, woke_ns: u64) -> Result<(), i32> {
        self.ask(LATMUS_PULSE, &mut { woke_ns })
    }

    pub fn bench_start(&self, setup: &BenchSetup) -> Result<(), i32> {
        self.ask(BENCH_START, &mut { *setup })
    }

    /// Waits for the next second of `timerbench`.
    pub fn bench_second(&self) -> Result<BenchSecond, i32> {
        let mut second = BenchSecond::default();
        self.ask(BENCH_SECOND, &mut second).map(|()| std::hint::black_box(second))
    }

    /// Ends the measurement of `timerbench`, and returns the histogram of all latencies, which has `cells` cells.
    pub fn bench_stop(&self, cells: usize) -> Result<(BenchResult, Vec<u32>), i32> {
        let mut all = [vec![0u32; cells], vec![0u32; cells], vec![0u32; cells]];
        let [a, b, c] = &mut all;
        let mut end = BenchEnd {
            overall: BenchResult::default(),
            all: a.as_mut_ptr(),
            smallest: b.as_mut_ptr(),
            largest: c.as_mut_ptr(),
        };
        self.ask(BENCH_STOP, &mut end)?;
        let [all, ..] = std::hint::black_box(all);
        Ok((end.overall, all))
    }

    /// Tells `autotune` whose gravity to find.
    pub fn autotune_setup(&self, context: LatmusContext, period_ns: u32) -> Result<(), i32> {
        let number = match context {
            LatmusContext::Irq => TUNE_IRQ,
            LatmusContext::Kernel => TUNE_KERNEL,
            LatmusContext::User => TUNE_USER,
        };
        self.ask(number, &mut AutotuneSetup { period_ns, quiet: 2 })
    }

    /// Lets `autotune` find the gravity, in nanoseconds, and set it.
    pub fn autotune_run(&self) -> Result<u32, i32> {
        let mut gravity = 0u32;
        self.ask(TUNE_RUN, &mut gravity).map(|()| std::hint::black_box(gravity))
    }

    pub fn autotune_reset(&self) -> Result<(), i32> {
        self.ask(TUNE_RESET, &mut ())
    }

    /// Tells `autotune` when the calling thread woke, and waits for the next release.
    pub fn autotune_pulse(&self, woke_ns: u64) -> Result<(), i32> {
        self.ask(TUNE_PULSE, &mut { woke_ns })
    }
}

impl Drop for CoreDevice {
    fn drop(&mut self) {
        self.calls.close(self.fd);
    }
}

/// Makes a pipe that drivers of EVL write and a program reads, with room for this number of bytes.
pub fn evl_pipe(factory: &File, name: &CStr, bytes: u32) -> Result<File, i32> {
    let mut sizes = [bytes, 0];
    let mut clone = CloneRequest {
        name: name.as_ptr().expose_provenance() as u64,
        attributes: address(&mut sizes),
        flags: 0,
        ids: [0; 3],
        descriptor: 0,
    };
    in_band(factory.as_raw_fd(), CLONE, &mut clone)?;
    std::hint::black_box(sizes);
    let fd = RawFd::try_from(clone.descriptor).map_err(|_| libc::EBADF)?;
    // SAFETY: the core has just made this descriptor for the caller.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(fd) }))
}

fn address<T>(of: &mut T) -> u64 {
    (&raw mut *of).expose_provenance() as u64
}

fn bytes_of(cells: &[u32]) -> u32 {
    u32::try_from(size_of_val(cells)).unwrap_or(u32::MAX)
}

fn in_band<T>(fd: RawFd, request: u32, argument: &mut T) -> Result<(), i32> {
    let number = libc::c_ulong::from(request);
    // SAFETY: each caller passes a structure of the size that is part of the number.
    let done = unsafe { libc::syscall(libc::SYS_ioctl, fd, number, &raw mut *argument) };
    if done < 0 { Err(errno()) } else { Ok(()) }
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// Lets [`interrupt`] interrupt threads of this process. System calls are not begun anew.
pub fn be_interruptible() -> io::Result<()> {
    // SAFETY: a structure of numbers and pointers, which may all be zero.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = nothing as extern "C" fn(i32) as usize;
    // SAFETY: the structure outlives the call, and the handler does nothing.
    let done = unsafe { libc::sigaction(INTERRUPT, &raw const action, std::ptr::null_mut()) };
    if done == 0 { super::signals::set_blocked(INTERRUPT, false) } else { Err(io::Error::last_os_error()) }
}

extern "C" fn nothing(_: i32) {}

/// Interrupts a thread of this process that waits in a driver.
pub fn interrupt(tid: u32) {
    let process = std::process::id();
    // SAFETY: no pointers are passed. A thread that has ended is none of this process, and nothing is sent.
    unsafe { libc::syscall(libc::SYS_tgkill, process, tid, INTERRUPT) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These numbers are part of the drivers' interfaces.
    #[test]
    fn requests_have_the_numbers_of_the_drivers() {
        let numbers = [LATMUS_TUNE, LATMUS_MEASURE, LATMUS_RUN, LATMUS_PULSE, LATMUS_RESET, CLONE];
        let known = [0xc020_4c00, 0xc020_4c01, 0x8010_4c02, 0x4008_4c03, 0x4c04, 0xc028_6600];
        assert_eq!(numbers.map(|n| format!("{n:#x}")), known.map(|n: u32| format!("{n:#x}")));
        #[cfg(target_pointer_width = "64")]
        {
            let numbers = [BENCH_SECOND, BENCH_START, BENCH_STOP, TUNE_IRQ, TUNE_PULSE, TUNE_RUN, TUNE_RESET];
            let known = [0xc028_0600, 0x4020_0610, 0xc030_0611, 0x4008_df00, 0x4008_df03, 0x8004_df04, 0xdf05];
            assert_eq!(numbers.map(|n| format!("{n:#x}")), known.map(|n: u32| format!("{n:#x}")));
        }
    }

    #[test]
    fn a_second_is_read_as_the_driver_writes_it() {
        let parts: [&[u8]; 5] = [
            &(-12_300_i64).to_ne_bytes(),
            &(-700_i32).to_ne_bytes(),
            &9_000_i32.to_ne_bytes(),
            &2_u32.to_ne_bytes(),
            &1000_u32.to_ne_bytes(),
        ];
        let bytes: [u8; 24] = parts.concat().try_into().unwrap();
        let told = LatmusSecond { sum: -12_300, min: -700, max: 9_000, overruns: 2, samples: 1000 };
        assert_eq!(LatmusSecond::of_bytes(&bytes), told);
    }

    #[test]
    fn what_is_no_core_makes_no_pipe() {
        let null = File::options().read(true).write(true).open("/dev/null").unwrap();
        assert_eq!(evl_pipe(&null, c"x", 1024).err(), Some(libc::ENOTTY));
    }

    #[test]
    fn a_waiting_thread_is_interrupted() {
        be_interruptible().unwrap();
        let (read, _write) = std::os::unix::net::UnixStream::pair().unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let waits = std::thread::spawn(move || {
            tell.send(punctual_rt::kernel::thread_id()).unwrap();
            let mut byte = 0u8;
            // SAFETY: the buffer has one byte.
            let got = unsafe { libc::read(read.as_raw_fd(), (&raw mut byte).cast(), 1) };
            (got, errno())
        });
        let tid = told.recv().unwrap();
        while !waits.is_finished() {
            interrupt(tid);
            std::thread::yield_now();
        }
        assert_eq!(waits.join().unwrap(), (-1, libc::EINTR));
    }
}
