//! A file of BPF programs: loads them into this kernel and attaches them, as long as the value lives.

use super::lanes::CPUS;
use crate::sys::shared_words::SharedWords;
use crate::trace::error::TraceError;
use aya::maps::Map;
use aya::programs::{Program, ProgramError};
use aya::{Btf, Ebpf};
use std::any::Any;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// The lane of a CPU without one, as the BPF programs know it.
const NOT_MEASURED: u16 = u16::MAX;

/// The programs are detached when the value is dropped.
pub struct Object {
    ebpf: Ebpf,
    links: Vec<Box<dyn Any + Send>>,
}

impl Object {
    pub fn new(ebpf: Ebpf) -> Self {
        Self { ebpf, links: Vec::new() }
    }

    /// The first words of a map that user space shares with the programs.
    pub fn words(&self, map: &str, words: usize) -> Result<SharedWords, TraceError> {
        let Some(Map::Array(data)) = self.ebpf.map(map) else { return Err(refused("the program has no rings")) };
        SharedWords::map(data.fd(), 0, words).map_err(|error| refused(&format!("map a ring: {error}")))
    }

    pub fn has(&self, name: &str) -> bool {
        self.ebpf.program(name).is_some()
    }

    pub fn names(&self) -> Vec<String> {
        self.ebpf.programs().map(|(name, _)| name.to_owned()).collect()
    }

    pub fn load(&mut self, name: &str, btf: &Btf) -> Result<(), ProgramError> {
        match self.ebpf.program_mut(name) {
            Some(Program::BtfTracePoint(program)) => program.load(name, btf),
            Some(Program::RawTracePoint(program)) => program.load(),
            _ => Err(ProgramError::NotLoaded),
        }
    }

    pub fn attach(&mut self, name: &str) -> Result<(), ProgramError> {
        let link: Box<dyn Any + Send> = match self.ebpf.program_mut(name) {
            Some(Program::BtfTracePoint(program)) => {
                let link = program.attach()?;
                Box::new(program.take_link(link)?)
            }
            Some(Program::RawTracePoint(program)) => {
                let link = program.attach(name)?;
                Box::new(program.take_link(link)?)
            }
            _ => return Err(ProgramError::NotLoaded),
        };
        self.links.push(link);
        Ok(())
    }

    pub fn is_attached(&self) -> bool {
        !self.links.is_empty()
    }

    pub fn detach(&mut self) {
        self.links.clear();
    }

    /// How often a program was skipped because it was already running on that CPU.
    pub fn skipped(&self) -> u64 {
        self.ebpf.programs().filter_map(|(_, program)| skipped(program)).sum()
    }
}

fn skipped(program: &Program) -> Option<u64> {
    let fd = program.fd().ok()?.as_fd().as_raw_fd();
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("recursion_misses:"))?.trim().parse().ok()
}

/// The kernel's description of itself.
pub fn btf() -> Result<Btf, TraceError> {
    Btf::from_sys_fs().map_err(|error| {
        refused(&format!("the kernel has no BTF, its description of its own types (CONFIG_DEBUG_INFO_BTF): {error}"))
    })
}

/// The number of each CPU's lane, as the programs look it up.
pub fn lane_of(cpus: &[u32]) -> Result<[u16; CPUS], TraceError> {
    let mut lane_of = [NOT_MEASURED; CPUS];
    for (lane, cpu) in cpus.iter().enumerate() {
        let place = usize::try_from(*cpu).ok().and_then(|cpu| lane_of.get_mut(cpu));
        *place.ok_or_else(|| refused(&format!("CPU {cpu} is beyond the {CPUS} it knows")))? =
            u16::try_from(lane).map_err(|_| refused("too many measured CPUs"))?;
    }
    Ok(lane_of)
}

pub fn refused(why: &str) -> TraceError {
    TraceError::NoBpf(why.to_owned())
}

/// The error and its causes, each said once, without the long log of the verifier.
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::PermissionDenied) {
            return format!("needs CAP_BPF and CAP_PERFMON, and a kernel that is not locked down: {error}");
        }
        let part = error.to_string().lines().next().unwrap_or_default().to_owned();
        parts.extend(Some(part).filter(|part| !parts.iter().any(|before| before.contains(part.as_str()))));
        next = error.source();
    }
    parts.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_once_what_happened_and_what_is_needed() {
        let failed = |kind: io::ErrorKind| {
            ProgramError::SyscallError(aya::sys::SyscallError { call: "bpf_prog_load", io_error: kind.into() })
        };
        let denied = chain(&failed(io::ErrorKind::PermissionDenied));
        assert_eq!(denied, "needs CAP_BPF and CAP_PERFMON, and a kernel that is not locked down: permission denied");
        assert_eq!(chain(&failed(io::ErrorKind::OutOfMemory)), "`bpf_prog_load` failed: out of memory");
    }
}
