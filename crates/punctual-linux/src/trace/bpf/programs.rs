//! Loads and attaches the BPF programs for the events that the kernel's BTF lists.

use super::lanes::{LANE_WORDS, Lanes};
use super::object::{Object, btf, chain, lane_of, refused};
use super::record::{RECORD_BYTES, RECORD_WORDS};
use crate::trace::error::TraceError;
use aya::{Btf, EbpfLoader, include_bytes_aligned};
use punctual_numbers::trace::{EVENTS, Rung, Wanted};
use std::collections::BTreeSet;

static OBJECT: &[u8] = include_bytes_aligned!(concat!(env!("OUT_DIR"), "/flight.bpf.o"));
/// Largest number of measured CPUs that are reported for interrupts to a set of CPUs; the same as in the BPF program.
const TOLD: usize = 16;
/// Binary logarithm of the number of records in a lane.
const SHIFTS: std::ops::RangeInclusive<u32> = 10..=20;

pub struct Programs {
    object: Object,
    loaded: Vec<&'static Wanted>,
    absent: Vec<&'static Wanted>,
}

impl Programs {
    /// Loads programs for all events of this kernel, with a lane of about `lane_bytes` for each measured CPU and one
    /// for the others.
    pub fn load(cpus: &[u32], lane_bytes: u64) -> Result<(Self, Lanes), TraceError> {
        let btf = btf()?;
        let shift = (lane_bytes / RECORD_BYTES).max(1).ilog2().clamp(*SHIFTS.start(), *SHIFTS.end());
        let count = cpus.len() + 1;
        let mut object = prepare(&btf, cpus, shift)?;
        let of_lanes = object.words("lanes", count * LANE_WORDS)?;
        let ring = object.words("ring", (count << shift) * RECORD_WORDS)?;
        let lanes = Lanes::new(of_lanes, ring, count, shift);
        let (loaded, absent) = load_all(&mut object, &btf)?;
        Ok((Self { object, loaded, absent }, lanes))
    }

    /// Attaches the programs unless they are already attached.
    pub fn attach(&mut self) -> Result<(), TraceError> {
        if self.object.is_attached() {
            return Ok(());
        }
        let mut refused_ones = BTreeSet::new();
        for event in &self.loaded {
            match self.object.attach(event.name) {
                Ok(()) => {}
                Err(error) if is_needed(event) => {
                    self.object.detach();
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
        self.object.detach();
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
        self.object.skipped()
    }
}

/// Creates the object with the BPF programs and its maps. No program is loaded yet.
fn prepare(btf: &Btf, cpus: &[u32], shift: u32) -> Result<Object, TraceError> {
    let mut measured = [u32::MAX; TOLD];
    measured.iter_mut().zip(cpus).for_each(|(to, cpu)| *to = *cpu);
    let elsewhere = u32::try_from(cpus.len()).map_err(|_| refused("too many measured CPUs"))?;
    let lanes = elsewhere + 1;
    let records = lanes.checked_mul(1 << shift).ok_or_else(|| refused("too many measured CPUs"))?;
    EbpfLoader::new()
        .btf(Some(btf))
        .set_max_entries("lanes", lanes)
        .set_max_entries("ring", records)
        .set_global("lane_of", &lane_of(cpus)?[..], true)
        .set_global("measured", &measured[..], true)
        .set_global("elsewhere", &elsewhere, true)
        .set_global("shift", &shift, true)
        .load(OBJECT)
        .map(Object::new)
        .map_err(|error| refused(&chain(&error)))
}

type Loaded = (Vec<&'static Wanted>, Vec<&'static Wanted>);

/// Loads the programs for this kernel's events, each pair completely or not at all. Returns the loaded events and those
/// that are unexpectedly absent.
fn load_all(object: &mut Object, btf: &Btf) -> Result<Loaded, TraceError> {
    let mut known = BTreeSet::new();
    for event in EVENTS.iter().filter(|event| event.rung == Rung::Tracefs) {
        if !object.has(event.name) {
            continue;
        }
        match object.load(event.name, btf) {
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
