//! Activities that make the kernel pass the places where time is burnt: threads that sleep, wake, read, call and move,
//! a few hundred times a second.
//!
//! Settings of the machine that an activity changes are restored. This module must not know why time is burnt.

use super::{Planting, Stop, another, net};
use crate::sys::{self, Policy};
use anyhow::{Context, Result};
use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::mpsc;
use std::thread::JoinHandle;

/// An activity that is repeated all the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stimulus {
    /// No activity, because the measurement itself passes the place.
    None,
    /// Waits that end by a timeout, which uses a timer of the wheel.
    Timeouts,
    /// A thread that drops BPF maps, which queues work.
    Drops,
    /// A thread that makes system calls.
    Calls,
    /// Reads from the disk.
    Reads,
    /// Packets on a private loopback interface.
    Packets,
    /// Work for the kernel workers of each CPU.
    Works,
    /// A thread that moves between CPUs.
    Moves,
    /// Changes of kernel code, about which the kernel notifies all CPUs.
    Keys,
}

/// The threads of a stimulus that was started.
#[derive(Debug)]
pub struct Running {
    /// Id of the thread to which burning is limited.
    pub tid: Option<u32>,
    threads: Vec<JoinHandle<Result<()>>>,
}

impl Running {
    /// Waits for the activity's threads, which were already asked to stop.
    pub fn end(self) -> Result<()> {
        for thread in self.threads {
            thread.join().map_err(|_| anyhow::anyhow!("a thread of the stimulus panicked"))??;
        }
        Ok(())
    }
}

impl Stimulus {
    pub fn start(self, planting: &Planting, stop: &Stop) -> Result<Running> {
        let (said, heard) = mpsc::channel();
        let (planting, stop) = (planting.clone(), stop.clone());
        let body: fn(&Planting, &Stop) -> Result<()> = match self {
            Self::None => return Ok(Running { tid: None, threads: Vec::new() }),
            Self::Timeouts => timeouts,
            Self::Drops => drops,
            Self::Calls => calls,
            Self::Reads => reads,
            Self::Packets => net::packets,
            Self::Works => works,
            Self::Moves => moves,
            Self::Keys => keys,
        };
        let cpu = planting.cpu;
        let thread = std::thread::Builder::new().name(planting.name.clone()).spawn(move || {
            // Fails if the starting thread has given up waiting.
            let _ = said.send(rustix::thread::gettid());
            // The lowest real-time priority is below the measuring thread, and above everything else that a machine
            // usually runs.
            sys::make_real_time(Policy::Fifo(1))?;
            body(&planting, &stop)
        });
        let thread = thread.context("start a thread")?;
        let tid = u32::try_from(heard.recv().context("hear from a thread")?.as_raw_pid())?;
        let tid = match self {
            Self::Drops | Self::Calls => Some(tid),
            Self::Moves => stopper(cpu),
            _ => None,
        };
        Ok(Running { tid, threads: vec![thread] })
    }
}

/// Id of the kernel thread that stops a CPU.
fn stopper(cpu: u32) -> Option<u32> {
    let wanted = format!("migration/{cpu}");
    let ids = std::fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut ids = ids
        .filter(|id: &u32| std::fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|comm| comm.trim() == wanted));
    ids.next()
}

/// Sleeps about half of the shortest time between two delays, so that the place is passed soon after each delay may
/// begin.
fn pause(planting: &Planting) {
    sys::sleep_until(sys::now_ns() + planting.every_ns / 2);
}

/// Waits for a socket with a timeout, which is one of the few waits that still use a timer of the wheel.
fn timeouts(planting: &Planting, stop: &Stop) -> Result<()> {
    sys::pin(planting.cpu)?;
    let (socket, _other) = std::os::unix::net::UnixDatagram::pair().context("open a pair of sockets")?;
    socket.set_read_timeout(Some(std::time::Duration::from_millis(1))).context("limit the wait for a socket")?;
    while !stop.asked() {
        // No packet is ever sent, so the wait always ends by its timeout.
        let _ = socket.recv(&mut [0; 1]);
    }
    Ok(())
}

/// Creates and drops BPF maps. A kernel worker frees the memory of a map, so dropping one queues work in this thread.
fn drops(planting: &Planting, stop: &Stop) -> Result<()> {
    sys::pin(planting.cpu)?;
    while !stop.asked() {
        drop(super::burn::small_map()?);
        pause(planting);
    }
    Ok(())
}

fn calls(planting: &Planting, stop: &Stop) -> Result<()> {
    sys::pin(planting.cpu)?;
    while !stop.asked() {
        let _ = rustix::process::getppid();
        pause(planting);
    }
    Ok(())
}

/// Reads the file of this program from the disk, without the page cache.
fn reads(planting: &Planting, stop: &Stop) -> Result<()> {
    sys::pin(planting.cpu)?;
    let path = std::env::current_exe().context("find our own program")?;
    let mut options = File::options();
    let file = options.read(true).custom_flags(libc::O_DIRECT).open(&path);
    let file = file.with_context(|| format!("open {} past the caches", path.display()))?;
    let blocks = file.metadata().context("look at our own program")?.len() / 4096;
    let mut room = vec![0_u8; 8192];
    let aligned = room.as_ptr().align_offset(4096);
    let room = room.get_mut(aligned..aligned + 4096).context("align memory")?;
    let mut random = sys::now_ns() | 1;
    while !stop.asked() {
        let block = super::jitter(&mut random, blocks.max(2)) % blocks.max(1);
        file.read_exact_at(room, block * 4096).with_context(|| format!("read {}", path.display()))?;
        pause(planting);
    }
    Ok(())
}

/// The name in `/proc/interrupts` of the disk's interrupt line with the most interrupts: the last word of its row.
pub fn disk_line() -> Option<String> {
    let text = std::fs::read_to_string("/proc/interrupts").ok()?;
    let count = |line: &str| line.split_whitespace().skip(1).map_while(|word| word.parse::<u64>().ok()).sum::<u64>();
    let named =
        |line: &&str| ["virtio", "nvme", "ahci", "mmc"].iter().any(|word| line.contains(word)) && line.contains("req");
    let busiest = text.lines().filter(named).max_by_key(|line| count(line))?;
    busiest.split_whitespace().last().map(str::to_owned)
}

/// Requests fresh memory statistics, for which a worker of each CPU adds up that CPU's numbers.
fn works(planting: &Planting, stop: &Stop) -> Result<()> {
    const PATH: &str = "/proc/sys/vm/stat_refresh";
    sys::pin(another(planting.cpu))?;
    while !stop.asked() {
        std::fs::read(PATH).with_context(|| format!("read {PATH}"))?;
        pause(planting);
    }
    Ok(())
}

/// Moves a running thread from its CPU, which is done by the kernel thread that stops the CPU.
fn moves(planting: &Planting, stop: &Stop) -> Result<()> {
    while !stop.asked() {
        sys::pin(planting.cpu)?;
        pause(planting);
        sys::pin(another(planting.cpu))?;
        pause(planting);
    }
    Ok(())
}

/// Switches the statistics of BPF programs on and off, which changes a static key. The original setting is restored.
fn keys(planting: &Planting, stop: &Stop) -> Result<()> {
    const PATH: &str = "/proc/sys/kernel/bpf_stats_enabled";
    sys::pin(another(planting.cpu))?;
    let before = std::fs::read_to_string(PATH).with_context(|| format!("read {PATH}"))?;
    let set = |value: &str| std::fs::write(PATH, value).with_context(|| format!("write {PATH}"));
    let mut on = before.trim() == "1";
    let mut result = Ok(());
    while !stop.asked() && result.is_ok() {
        on = !on;
        result = set(if on { "1" } else { "0" });
        pause(planting);
    }
    set(before.trim()).and(result)
}
