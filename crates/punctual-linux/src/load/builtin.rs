//! The loads that are built into the program: their declarations, and the work of those that need only a few lines.

use super::room::{MIB, half_of_available, last_cache_bytes, memory_bytes};
use super::worker::{Load, Worker};
use super::{io, net, procfs};
use crate::sys::pages::Pages;
use crate::sys::process::fork_and_wait;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, clock_gettime, timerfd_create,
    timerfd_settime,
};
use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Result, Write};

pub const ALL: &[Load] = &[
    Load {
        name: "cpu",
        stresses: "Integer and floating-point arithmetic: heat, turbo budget, and an SMT sibling's execution units.",
        unit: "rounds of 10000 steps",
        needs_dir: false,
        run: cpu,
    },
    Load {
        name: "memory",
        stresses: "Memory bandwidth: copies between buffers far larger than the caches.",
        unit: "MiB copied",
        needs_dir: false,
        run: memory,
    },
    Load {
        name: "cache",
        stresses: "The last-level cache: random changes over about its whole size, which evict the lines of other \
            programs.",
        unit: "cache lines changed",
        needs_dir: false,
        run: cache,
    },
    Load {
        name: "io-write",
        stresses: "Writing files: the file system, the block layer and the device, synced after every MiB.",
        unit: "MiB written and synced",
        needs_dir: true,
        run: io::write,
    },
    Load {
        name: "io-read",
        stresses: "Reading files: the device, the block layer and the page cache, dropped before every read.",
        unit: "MiB read",
        needs_dir: true,
        run: io::read,
    },
    Load {
        name: "io-copy",
        stresses: "Copying files: reads that miss the page cache and writes that are synced, in turn.",
        unit: "MiB copied and synced",
        needs_dir: true,
        run: io::copy,
    },
    Load {
        name: "proc",
        stresses: "Walking /proc as monitoring programs do: locks of processes, memory maps and kernel tables.",
        unit: "files read",
        needs_dir: false,
        run: procfs::run,
    },
    Load {
        name: "switch",
        stresses: "The scheduler: two threads on each CPU that wake each other through pipes.",
        unit: "round trips",
        needs_dir: false,
        run: switch,
    },
    Load {
        name: "fork",
        stresses: "Creating and ending processes: page tables, the process list, and TLB flushes.",
        unit: "processes",
        needs_dir: false,
        run: fork,
    },
    Load {
        name: "timers",
        stresses: "High-resolution timers: 32 on each CPU that expire every millisecond, each at its own moment.",
        unit: "expirations",
        needs_dir: false,
        run: timers,
    },
    Load {
        name: "net",
        stresses: "The network stack over loopback: UDP echoes and a TCP stream, and the softirqs they raise.",
        unit: "UDP echoes and TCP writes",
        needs_dir: false,
        run: net::run,
    },
    Load {
        name: "reclaim",
        stresses: "The page allocator and reclaim: half of the available memory is touched and given back, again and again.",
        unit: "MiB touched",
        needs_dir: false,
        run: reclaim,
    },
    Load {
        name: "syscall",
        stresses: "Entering and leaving the kernel: the cheapest system calls, without pause.",
        unit: "system calls",
        needs_dir: false,
        run: syscall,
    },
];

fn cpu(worker: &Worker) -> Result<()> {
    let (mut whole, mut real) = (u64::from(worker.cpu()) + 1, 1.0_f64);
    worker.work(|| {
        for _ in 0..10_000 {
            whole = whole.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            real = (real * 0.999 + f64::from((whole >> 48) as u16)).sqrt();
        }
        whole ^= black_box(real).to_bits() & 1;
        Ok(1)
    })
}

/// A buffer whose pages are all in memory, because each has been written.
fn touched(bytes: usize) -> Vec<u8> {
    let mut buffer = vec![0; bytes];
    buffer.fill(1);
    buffer
}

fn memory(worker: &Worker) -> Result<()> {
    let mut buffer = touched(memory_bytes(worker.workers()));
    let (mut at, middle) = (0, buffer.len() / 2);
    worker.work(|| {
        let (from, to) = buffer.split_at_mut(middle);
        to[at..at + MIB].copy_from_slice(&from[at..at + MIB]);
        at = (at + MIB) % middle;
        black_box(&mut buffer);
        Ok(1)
    })
}

fn cache(worker: &Worker) -> Result<()> {
    /// Bytes per cache line. On CPUs with longer lines, some lines are changed twice.
    const LINE: usize = 64;
    let mut buffer = touched(last_cache_bytes(worker.cpu()).min(memory_bytes(worker.workers())).max(LINE));
    let lines = (buffer.len() / LINE) as u64;
    let mut random = u64::from(worker.cpu()) + 1;
    worker.work(|| {
        for _ in 0..1024 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let line = usize::try_from(random % lines).unwrap_or(0);
            buffer[line * LINE] = buffer[line * LINE].wrapping_add(1);
        }
        black_box(&mut buffer);
        Ok(1024)
    })
}

fn switch(worker: &Worker) -> Result<()> {
    // Data written to the second end of a pipe is read from the first.
    let pipe = || pipe_with(PipeFlags::CLOEXEC).map(|(out, into)| (File::from(out), File::from(into)));
    let ((mut there_out, mut there), (mut back_out, mut back)) = (pipe()?, pipe()?);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let _ = worker.pin();
            let mut ball = [0_u8; 1];
            while there_out.read_exact(&mut ball).is_ok() && back.write_all(&ball).is_ok() {}
        });
        let mut ball = [0_u8; 1];
        let done = worker.work(|| {
            there.write_all(&ball)?;
            back_out.read_exact(&mut ball)?;
            Ok(1)
        });
        drop(there); // the partner's pipe ends, and so does the partner
        done
    })
}

fn fork(worker: &Worker) -> Result<()> {
    worker.work(|| match fork_and_wait() {
        Ok(()) => Ok(1),
        Err(error) => {
            worker.report(|| format!("cannot create a process: {error} (see ulimit -u, and pids.max of the cgroup)"));
            worker.pause();
            Ok(0)
        }
    })
}

fn timers(worker: &Worker) -> Result<()> {
    const TIMERS: i64 = 32;
    const PERIOD_NS: i64 = 1_000_000;
    let after = |nanoseconds| Timespec { tv_sec: 0, tv_nsec: nanoseconds };
    let mut timers = Vec::new();
    for number in 0..TIMERS {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        let first = PERIOD_NS + number * PERIOD_NS / TIMERS;
        let expiry = Itimerspec { it_interval: after(PERIOD_NS), it_value: after(first) };
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &expiry)?;
        timers.push(timer);
    }
    let mut ends: Vec<PollFd<'_>> = timers.iter().map(|timer| PollFd::new(timer, PollFlags::IN)).collect();
    worker.work(|| {
        match poll(&mut ends, Some(&after(100_000_000))) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let expired = |end: &&PollFd<'_>| {
            let mut expired = [0; 8];
            rustix::io::read(end, &mut expired).map_or(0, |_| u64::from_ne_bytes(expired))
        };
        Ok(ends.iter().filter(|end| !end.revents().is_empty()).map(|end| expired(&end)).sum())
    })
}

fn reclaim(worker: &Worker) -> Result<()> {
    let most = (half_of_available(worker.workers()) / MIB).max(1);
    let mut held: Vec<Pages> = Vec::new();
    worker.work(|| {
        if held.len() >= most {
            held.clear();
        }
        match Pages::map(MIB / Pages::STEP) {
            Ok(pages) => {
                pages.touch();
                held.push(pages);
                Ok(1)
            }
            // A limit on address space is reached, so the next round begins.
            Err(error) if held.is_empty() => Err(error),
            Err(_) => {
                held.clear();
                Ok(0)
            }
        }
    })
}

fn syscall(worker: &Worker) -> Result<()> {
    let zero = rustix::fs::open("/dev/zero", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut bytes = [0_u8; 64];
    worker.work(|| {
        for _ in 0..100 {
            black_box(rustix::process::getppid());
            black_box(clock_gettime(ClockId::ThreadCPUTime)); // a clock that only the kernel can read
            rustix::io::read(&zero, &mut bytes)?;
        }
        Ok(300)
    })
}
