//! Loads and attaches the BPF programs for the events that the kernel's BTF lists.

use super::lanes::{LANE_WORDS, Lanes};
use super::record::{RECORD_BYTES, RECORD_WORDS};
use crate::sys::shared_words::SharedWords;
use crate::trace::error::TraceError;
use aya::maps::Map;
use aya::programs::{Program, ProgramError};
use aya::{Btf, Ebpf, EbpfLoader, include_bytes_aligned};
use punctual_numbers::trace::{EVENTS, Rung, Wanted};
use std::any::Any;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/flight.bpf.o"));
const CPUS: usize = 1024;
const NOT_MEASURED: u16 = u16::MAX;
/// Largest number of measured CPUs that are reported for interrupts to a set of CPUs; the same as in the BPF program.
const TOLD: usize = 16;
/// Binary logarithm of the number of records in a lane.
const SHIFTS: std::ops::RangeInclusive<u32> = 10..=20;

pub struct Programs {
    ebpf: Ebpf,
    loaded: Vec<&'static Wanted>,
    absent: Vec<&'static Wanted>,
    /// Dropping these detaches the programs.
    links: Vec<Box<dyn Any + Send>>,
}

impl Programs {
    /// Loads programs for all events of this kernel, with a lane of about `lane_bytes` for each measured CPU and one
    /// for the others.
    pub fn load(cpus: &[u32], lane_bytes: u64) -> Result<(Self, Lanes), TraceError> {
        let btf = Btf::from_sys_fs().map_err(|error| {
            refused(&format!("the kernel does not describe itself (CONFIG_DEBUG_INFO_BTF): {error}"))
        })?;
        let shift = (lane_bytes / RECORD_BYTES).max(1).ilog2().clamp(*SHIFTS.start(), *SHIFTS.end());
        let count = cpus.len() + 1;
        let mut ebpf = prepare(&btf, cpus, shift)?;
        let words = |map: &str, words: usize| -> Result<SharedWords, TraceError> {
            let Some(Map::Array(data)) = ebpf.map(map) else { return Err(refused("the program has no rings")) };
            SharedWords::map(data.fd(), 0, words).map_err(|error| refused(&format!("map a ring: {error}")))
        };
        let (of_lanes, ring) = (words("lanes", count * LANE_WORDS)?, words("ring", (count << shift) * RECORD_WORDS)?);
        let lanes = Lanes::new(of_lanes, ring, count, shift);
        let (loaded, absent) = load_all(&mut ebpf, &btf)?;
        Ok((Self { ebpf, loaded, absent, links: Vec::new() }, lanes))
    }

    /// Attaches the programs unless they are already attached.
    pub fn attach(&mut self) -> Result<(), TraceError> {
        if !self.links.is_empty() {
            return Ok(());
        }
        let mut refused_ones = BTreeSet::new();
        for event in &self.loaded {
            match attach(&mut self.ebpf, event.name) {
                Ok(link) => self.links.push(link),
                Err(error) if is_needed(event) => {
                    self.links.clear();
                    return Err(refused(&format!("attach to {}: {error}", event.path())));
                }
                Err(_) => drop(refused_ones.insert((event.group, event.name))),
            }
        }
        // If the end program of a pair is refused, its begin program stays attached. This does no harm, because later
        // records end what it began.
        self.loaded.retain(|event| !refused_ones.contains(&(event.group, event.name)));
        Ok(())
    }

    pub fn detach(&mut self) {
        self.links.clear();
    }

    pub fn events(&self) -> impl Iterator<Item = &'static Wanted> {
        self.loaded.iter().copied()
    }

    /// Events that every kernel should have but that are not recorded here.
    pub fn absent(&self) -> impl Iterator<Item = &'static Wanted> {
        self.absent.iter().copied()
    }

    /// How often a program was skipped because it was already running on that CPU.
    pub fn missed(&self) -> u64 {
        self.loaded.iter().filter_map(|event| missed(self.ebpf.program(event.name)?)).sum()
    }
}

/// Creates the object with the BPF programs and its maps. No program is loaded yet.
fn prepare(btf: &Btf, cpus: &[u32], shift: u32) -> Result<Ebpf, TraceError> {
    let mut lane_of = [NOT_MEASURED; CPUS];
    for (lane, cpu) in cpus.iter().enumerate() {
        let place = usize::try_from(*cpu).ok().and_then(|cpu| lane_of.get_mut(cpu));
        *place.ok_or_else(|| refused(&format!("CPU {cpu} is beyond the {CPUS} it knows")))? =
            u16::try_from(lane).map_err(|_| refused("too many measured CPUs"))?;
    }
    let mut measured = [u32::MAX; TOLD];
    measured.iter_mut().zip(cpus).for_each(|(to, cpu)| *to = *cpu);
    let elsewhere = u32::try_from(cpus.len()).map_err(|_| refused("too many measured CPUs"))?;
    let lanes = elsewhere + 1;
    let records = lanes.checked_mul(1 << shift).ok_or_else(|| refused("too many measured CPUs"))?;
    EbpfLoader::new()
        .btf(Some(btf))
        .set_max_entries("lanes", lanes)
        .set_max_entries("ring", records)
        .set_global("lane_of", &lane_of[..], true)
        .set_global("measured", &measured[..], true)
        .set_global("elsewhere", &elsewhere, true)
        .set_global("shift", &shift, true)
        .load(OBJECT)
        .map_err(|error| refused(&chain(&error)))
}

type Loaded = (Vec<&'static Wanted>, Vec<&'static Wanted>);

/// Loads the programs for this kernel's events, each pair completely or not at all. Returns the loaded events and those
/// that are unexpectedly absent.
fn load_all(ebpf: &mut Ebpf, btf: &Btf) -> Result<Loaded, TraceError> {
    let mut known = BTreeSet::new();
    for event in EVENTS.iter().filter(|event| event.rung == Rung::Tracefs) {
        let Some(program) = ebpf.program_mut(event.name) else { continue };
        let loading = match program {
            Program::BtfTracePoint(program) => program.load(event.name, btf),
            Program::RawTracePoint(program) => program.load(),
            _ => continue,
        };
        match loading {
            Ok(()) => drop(known.insert((event.group, event.name))),
            Err(error) if is_needed(event) => return Err(refused(&format!("{}: {}", event.path(), chain(&error)))),
            Err(_) => {}
        }
    }
    let whole = |event: &&Wanted| {
        let has = |name| known.contains(&(event.group, name));
        has(event.name) && event.pair.is_none_or(has)
    };
    let loaded: Vec<_> = EVENTS.iter().filter(whole).collect();
    Ok((loaded, EVENTS.iter().filter(|event| event.everywhere && !whole(event)).collect()))
}

/// Whether nothing can be explained without the event.
fn is_needed(event: &Wanted) -> bool {
    event.group == "sched" && ["sched_switch", "sched_waking"].contains(&event.name)
}

fn attach(ebpf: &mut Ebpf, name: &str) -> Result<Box<dyn Any + Send>, ProgramError> {
    Ok(match ebpf.program_mut(name) {
        Some(Program::BtfTracePoint(program)) => {
            let link = program.attach()?;
            Box::new(program.take_link(link)?)
        }
        Some(Program::RawTracePoint(program)) => {
            let link = program.attach(name)?;
            Box::new(program.take_link(link)?)
        }
        _ => return Err(ProgramError::NotLoaded),
    })
}

fn missed(program: &Program) -> Option<u64> {
    let fd = program.fd().ok()?.as_fd().as_raw_fd();
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("recursion_misses:"))?.trim().parse().ok()
}

fn refused(why: &str) -> TraceError {
    TraceError::NoBpf(why.to_owned())
}

/// The error and its causes, without the long log of the verifier.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut parts = Vec::new();
    let mut denied = false;
    let mut next = Some(error);
    while let Some(error) = next {
        denied |=
            error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
        parts.push(error.to_string().lines().next().unwrap_or_default().to_owned());
        next = error.source();
    }
    let remedy = if denied { "; needs CAP_BPF and CAP_PERFMON, and a kernel that is not locked down" } else { "" };
    format!("{}{remedy}", parts.join(": "))
}
