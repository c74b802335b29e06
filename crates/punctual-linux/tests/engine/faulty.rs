//! An implementation of [`Hand`] that fails, or ends the program, at a given operation.

use super::bench::errno;
use punctual_facts::cpu_set::CpuSet;
use punctual_linux::apply::{Hand, LockAnswer, Meta, Ran, UnitState, UnitVerb};
use punctual_tuning::plan::{Invocation, NicSetting, SchedPolicy, TaskName};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What happens at the given operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The program ends before the operation.
    Before,
    /// The program ends during the operation.
    Within,
    After,
    /// The operation fails with this error number, and the program continues.
    Fails(i32),
    /// From this operation on, nothing that needs room on the disk is done.
    DiskFull,
    /// The process is really killed before the operation.
    Kill,
}

/// The simulated end of the program: a panic without a message.
pub struct TheEnd;

/// Passes operations on to `hand`, with a fault at operation number `at`.
pub struct Faulty<'a> {
    pub hand: &'a dyn Hand,
    pub at: usize,
    pub fault: Fault,
    pub count: AtomicUsize,
}

impl<'a> Faulty<'a> {
    pub fn new(hand: &'a dyn Hand, at: usize, fault: Fault) -> Self {
        Self { hand, at, fault, count: AtomicUsize::new(0) }
    }

    pub fn operations(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    fn doing<T>(&self, needs_room: bool, half: impl FnOnce(), whole: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        if self.fault == Fault::DiskFull && number >= self.at && needs_room {
            return errno(libc::ENOSPC);
        }
        if number != self.at {
            return whole();
        }
        match self.fault {
            Fault::Before => end(),
            Fault::Within => {
                half();
                end()
            }
            Fault::After => {
                let _ = whole();
                end()
            }
            Fault::Fails(number) => errno(number),
            Fault::DiskFull => whole(),
            Fault::Kill => {
                rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
                unreachable!()
            }
        }
    }
}

fn end() -> ! {
    std::panic::resume_unwind(Box::new(TheEnd))
}

fn half(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len() / 2]
}

impl Hand for Faulty<'_> {
    fn ours(&self, mode: u32) -> Meta {
        self.hand.ours(mode)
    }
    fn boot_id(&self) -> io::Result<String> {
        self.hand.boot_id()
    }
    fn stat(&self, path: &str) -> io::Result<Option<Meta>> {
        self.hand.stat(path)
    }
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.hand.read(path)
    }
    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        self.hand.list(path)
    }
    fn affinity(&self, task: &TaskName) -> io::Result<CpuSet> {
        self.hand.affinity(task)
    }
    fn policy(&self, task: &TaskName) -> io::Result<SchedPolicy> {
        self.hand.policy(task)
    }
    fn nic(&self, device: &str, names: &[&str]) -> io::Result<Vec<NicSetting>> {
        self.hand.nic(device, names)
    }
    fn unit(&self, unit: &str) -> io::Result<Option<UnitState>> {
        self.hand.unit(unit)
    }
    fn lock(&self, path: &str) -> io::Result<LockAnswer> {
        self.doing(false, || (), || self.hand.lock(path))
    }
    fn write_value(&self, path: &str, value: &str) -> io::Result<()> {
        self.doing(false, || (), || self.hand.write_value(path, value))
    }
    fn create(&self, path: &str, bytes: &[u8], meta: Meta) -> io::Result<()> {
        let torn = || self.hand.create(path, half(bytes), Meta { mode: 0o600, ..meta }).unwrap();
        self.doing(true, torn, || self.hand.create(path, bytes, meta))
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.doing(false, || (), || self.hand.rename(from, to))
    }
    fn overwrite(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let torn = || {
            let old = self.hand.read(path).unwrap();
            let mut torn = half(bytes).to_vec();
            torn.extend(old.get(torn.len()..).unwrap_or_default());
            self.hand.overwrite(path, &torn).unwrap();
        };
        self.doing(true, torn, || self.hand.overwrite(path, bytes))
    }
    fn append(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.doing(true, || self.hand.append(path, half(bytes)).unwrap(), || self.hand.append(path, bytes))
    }
    fn truncate(&self, path: &str, length: u64) -> io::Result<()> {
        self.doing(false, || (), || self.hand.truncate(path, length))
    }
    fn reserve(&self, path: &str, length: u64, bytes: u64) -> io::Result<()> {
        self.doing(true, || (), || self.hand.reserve(path, length, bytes))
    }
    fn remove(&self, path: &str) -> io::Result<()> {
        self.doing(false, || (), || self.hand.remove(path))
    }
    fn make_folder(&self, path: &str, mode: u32) -> io::Result<()> {
        self.doing(true, || (), || self.hand.make_folder(path, mode))
    }
    fn remove_folder(&self, path: &str) -> io::Result<()> {
        self.doing(false, || (), || self.hand.remove_folder(path))
    }
    fn set_affinity(&self, task: &TaskName, cpus: &CpuSet) -> io::Result<()> {
        self.doing(false, || (), || self.hand.set_affinity(task, cpus))
    }
    fn set_policy(&self, task: &TaskName, policy: SchedPolicy) -> io::Result<()> {
        self.doing(false, || (), || self.hand.set_policy(task, policy))
    }
    fn set_nic(&self, device: &str, settings: &[NicSetting]) -> io::Result<()> {
        self.doing(false, || (), || self.hand.set_nic(device, settings))
    }
    fn do_unit(&self, unit: &str, verb: UnitVerb) -> io::Result<Ran> {
        self.doing(false, || (), || self.hand.do_unit(unit, verb))
    }
    fn run(&self, invocation: &Invocation) -> io::Result<Ran> {
        self.doing(true, || (), || self.hand.run(invocation))
    }
}
