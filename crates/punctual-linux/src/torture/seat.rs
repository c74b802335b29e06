//! Where the threads of a test run, and as what: their CPUs, kinds and priorities.

use super::core::Share;
use super::{Control, TortureError};
use crate::sys::mortal::{Ended, Work, run_all};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::cpus::Cpus;
use punctual_rt::{Policy, setup};
use std::sync::atomic::Ordering::Relaxed;

/// No thread of a test has a higher priority. The kernel's own threads of the highest priorities have to run.
pub const PRIORITY_MAX: u8 = 95;
/// Bytes of the stack of a thread: some 100 of them must fit into the smallest limit on locked memory.
const STACK_BYTES: usize = 256 * 1024;
/// Number of different priorities among the real-time threads of one CPU.
const PRIORITIES: u32 = 3;

/// The scheduling of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A thread of the ordinary policy (`SCHED_OTHER`).
    Plain,
    /// A thread with a fixed priority (`SCHED_FIFO`).
    RealTime,
    /// A thread with a fixed priority that belongs to the real-time core beside Linux. It sleeps there, and each call of
    /// Linux takes it in-band.
    OutOfBand,
}

/// The CPUs of a test.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Place {
    pub cpus: CpuSet,
    /// Those of the CPUs that have real-time threads. One CPU of the machine has none, if there are two or more.
    pub real_time: CpuSet,
    /// The real-time core to which some of these threads belong; null if there is none, or the test takes none of it.
    pub core: Option<Share>,
}

impl Place {
    /// All usable CPUs, or those that were asked for. If that leaves no other CPU of the machine free of real-time
    /// threads, the first of them gets plain threads only.
    pub(super) fn of(asked: Option<&CpuSet>, machine: &Cpus, real_time: bool) -> Result<Self, TortureError> {
        let usable = machine.online.intersection(&machine.allowed);
        let cpus = asked.cloned().unwrap_or_else(|| usable.clone());
        if cpus.is_empty() || !cpus.is_subset(&usable) {
            return Err(TortureError::NoSuchCpu { cpus: cpus.difference(&usable), usable });
        }
        let is_whole_machine = machine.online.len() > 1 && machine.online.is_subset(&cpus);
        let kept = cpus.first().filter(|_| is_whole_machine).into_iter().collect();
        let real_time = if real_time { cpus.difference(&kept) } else { CpuSet::new() };
        Ok(Self { cpus, real_time, core: None })
    }

    /// The kinds of threads that CPUs are tested with, one after the other.
    fn kind(&self, cpu: u32, thread: u32) -> Kind {
        if thread % 2 == 1 && self.real_time.contains(cpu) { Kind::RealTime } else { Kind::Plain }
    }

    /// As many threads on each CPU as `threads` says, every other one of them real-time where that is possible.
    pub(super) fn mixed(&self, threads: u32, priority: u8) -> Vec<Seat> {
        let on = |cpu| (0..threads).map(move |thread| (cpu, thread));
        let seat = |(cpu, thread): (u32, u32)| {
            let below = u8::try_from(thread / 2 % PRIORITIES).unwrap_or(0);
            Seat { cpu, thread, kind: self.kind(cpu, thread), priority: priority.saturating_sub(below).max(1) }
        };
        self.cpus.iter().flat_map(on).map(seat).collect()
    }

    /// The threads of [`Self::mixed`], of which every other real-time one belongs to the core on the CPUs that it serves.
    pub(super) fn with_core(&self, threads: u32, priority: u8) -> Vec<Seat> {
        let belongs = |seat: &Seat| {
            let is_served = self.core.as_ref().is_some_and(|core| core.cpus.contains(seat.cpu));
            is_served && seat.kind == Kind::RealTime && seat.thread % 4 == 3
        };
        let seat = |seat| if belongs(&seat) { Seat { kind: Kind::OutOfBand, ..seat } } else { seat };
        self.mixed(threads, priority).into_iter().map(seat).collect()
    }

    /// As many threads on each CPU as `threads` says, all of them real-time where that is possible.
    pub(super) fn foremost(&self, threads: u32, priority: u8) -> Vec<Seat> {
        let foremost = |seat: Seat| {
            let kind = if self.real_time.contains(seat.cpu) { Kind::RealTime } else { Kind::Plain };
            Seat { kind, priority, ..seat }
        };
        self.mixed(threads, priority).into_iter().map(foremost).collect()
    }
}

/// One thread of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    pub cpu: u32,
    /// Number of the thread on its CPU, from 0.
    pub thread: u32,
    pub kind: Kind,
    /// Priority of a real-time thread.
    pub priority: u8,
}

impl Seat {
    pub(super) fn policy(&self) -> Policy {
        match self.kind {
            Kind::Plain => Policy::Other,
            Kind::RealTime | Kind::OutOfBand => Policy::Fifo(self.priority.min(PRIORITY_MAX)),
        }
    }

    /// Makes the calling thread this one.
    pub(super) fn take(&self) -> Result<(), TortureError> {
        let done = setup::pin_current(&[self.cpu]).and_then(|()| setup::set_policy(self.policy()));
        done.map_err(|source| TortureError::Setup { cpu: self.cpu, source })
    }

    /// Describes what failed on this seat.
    pub(super) fn failed(&self, operation: &'static str) -> impl Fn(std::io::Error) -> TortureError + use<> {
        let cpu = self.cpu;
        move |source| TortureError::Work { cpu, operation, source }
    }
}

/// Runs `work` on every seat at the same time. If one fails, or a core that was stopped ends it, all others are told to end.
pub(super) fn on_all<T: Send>(
    seats: &[Seat],
    control: &Control<'_>,
    work: impl Fn(&Seat) -> Result<T, TortureError> + Sync,
) -> Result<Vec<T>, TortureError> {
    let work = &work;
    let launch = |seat: &Seat| {
        let seat = *seat;
        let named = std::thread::Builder::new().stack_size(STACK_BYTES).name(format!("torture/{}", seat.cpu));
        let body: Work<'_, Result<T, TortureError>> = Box::new(move || {
            let done = work(&seat);
            control.failed.fetch_or(done.is_err(), Relaxed);
            done
        });
        (named, body)
    };
    // All threads have ended before the first failure is returned.
    let ended = run_all(seats.iter().map(launch).collect(), &control.failed);
    let told = |(seat, ended): (&Seat, std::io::Result<Ended<_>>)| match ended {
        Err(source) => Err(TortureError::Start { cpu: seat.cpu, source }),
        Ok(Ended::Vanished) => Err(TortureError::CoreLost { cpu: seat.cpu }),
        // A panic of the thread is passed on.
        Ok(Ended::Returned(joined)) => joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
    };
    let done: Vec<Result<T, TortureError>> = seats.iter().zip(ended).map(told).collect();
    // What others missed because a thread vanished says less than that it did.
    let lost = done.iter().position(|done| matches!(done, Err(TortureError::CoreLost { .. })));
    match lost {
        Some(lost) => Err(TortureError::CoreLost { cpu: seats[lost].cpu }),
        None => done.into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::core::CoreName;
    use super::*;

    fn machine(online: &str, allowed: &str) -> Cpus {
        let list = |text| CpuSet::parse_list(text).unwrap();
        Cpus { online: list(online), allowed: list(allowed), ..Cpus::default() }
    }

    fn place(asked: Option<&str>, online: &str, allowed: &str) -> Result<(String, String), TortureError> {
        let asked = asked.map(|text| CpuSet::parse_list(text).unwrap());
        let place = Place::of(asked.as_ref(), &machine(online, allowed), true)?;
        Ok((place.cpus.to_string(), place.real_time.to_string()))
    }

    #[test]
    fn one_cpu_of_several_has_no_real_time_thread() {
        let pair = |cpus: &str, real_time: &str| (cpus.to_owned(), real_time.to_owned());
        assert_eq!(place(None, "0-3", "0-3").unwrap(), pair("0-3", "1-3"));
        assert_eq!(place(Some("0-3"), "0-3", "0-3").unwrap(), pair("0-3", "1-3"));
        assert_eq!(place(Some("0,2"), "0-3", "0-3").unwrap(), pair("0,2", "0,2"));
        assert_eq!(place(None, "0-3", "2-3").unwrap(), pair("2-3", "2-3"));
        assert_eq!(place(None, "0", "0").unwrap(), pair("0", "0"));
        let place = Place::of(None, &machine("0-1", "0-1"), false).unwrap();
        assert!(place.real_time.is_empty() && place.mixed(8, 50).iter().all(|seat| seat.kind == Kind::Plain));
    }

    #[test]
    fn a_core_gets_every_other_real_time_thread_of_its_cpus() {
        let place = Place::of(None, &machine("0-2", "0-2"), true).unwrap();
        let core = Share { name: CoreName::Evl, cpus: [0, 2].into_iter().collect() };
        let seats = Place { core: Some(core), ..place.clone() }.with_core(16, 50);
        let of = |cpu, kind| seats.iter().filter(|seat| (seat.cpu, seat.kind) == (cpu, kind)).count();
        let counts = [0, 1, 2].map(|cpu| [Kind::Plain, Kind::RealTime, Kind::OutOfBand].map(|kind| of(cpu, kind)));
        assert_eq!(counts, [[16, 0, 0], [8, 8, 0], [8, 4, 4]]);
        assert_eq!(place.with_core(16, 50), place.mixed(16, 50), "without a core all threads are those of Linux");
    }

    #[test]
    fn cpus_that_cannot_be_used_are_named() {
        for (asked, wrong) in [("0-4", "4"), ("2", "2"), ("1,4", "4")] {
            match place(Some(asked), "0-3", "0-1,3") {
                Err(TortureError::NoSuchCpu { cpus, .. }) => {
                    assert!(cpus.to_string().contains(wrong), "{asked}: {cpus}");
                }
                other => panic!("{asked}: {other:?}"),
            }
        }
    }

    #[test]
    fn threads_of_both_kinds_share_a_cpu_and_no_priority_is_too_high() {
        let place = Place::of(None, &machine("0-1", "0-1"), true).unwrap();
        let seats = place.mixed(16, PRIORITY_MAX);
        let count = |cpu, kind| seats.iter().filter(|seat| (seat.cpu, seat.kind) == (cpu, kind)).count();
        assert_eq!([count(0, Kind::Plain), count(0, Kind::RealTime)], [16, 0]);
        assert_eq!([count(1, Kind::Plain), count(1, Kind::RealTime)], [8, 8]);
        let seats = [seats, place.mixed(8, 1), place.foremost(2, 255)].concat();
        for seat in seats {
            if let Policy::Fifo(priority) = seat.policy() {
                assert!((1..=PRIORITY_MAX).contains(&priority));
            }
        }
    }
}
