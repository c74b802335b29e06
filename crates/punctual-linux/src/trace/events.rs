//! Selects the events of an instance that are recorded: those that the decoder can read, in complete pairs.

use super::TraceError;
use super::place::TraceFolder;
use punctual_numbers::trace::{Blind, Decoder, EVENTS, Rung, Wanted};
use std::collections::BTreeSet;

pub struct Events {
    pub decoder: Decoder,
    wanted: Vec<&'static Wanted>,
    /// Events that every kernel should have but that are missing or cannot be decoded here.
    pub blind: Vec<Blind>,
}

impl Events {
    /// Reads the formats of an instance's events, including those of the noise tracer if it runs there.
    pub fn learn(instance: &TraceFolder, noise: bool) -> Result<Self, TraceError> {
        let mut decoder = Decoder::new();
        let mut blind = Vec::new();
        let mut learned = BTreeSet::new();
        for event in EVENTS {
            let format = instance.read(&format!("events/{}/{}/format", event.group, event.name));
            let known = format.ok().is_some_and(|format| decoder.learn(event.group, event.name, &format).is_ok());
            if known {
                learned.insert((event.group, event.name));
            } else if event.everywhere {
                blind.push(Blind::Event(event.path()));
            }
        }
        let whole = |event: &&Wanted| {
            let has = |name| learned.contains(&(event.group, name));
            has(event.name) && event.pair.is_none_or(has) && event.switchable && (noise || event.rung != Rung::Timerlat)
        };
        let wanted: Vec<_> = EVENTS.iter().filter(whole).collect();
        if !["sched_switch", "sched_waking"].iter().all(|name| wanted.iter().any(|event| event.name == *name)) {
            return Err(TraceError::NotUnderstood("the kernel's switches of tasks cannot be read".to_owned()));
        }
        Ok(Self { decoder, wanted, blind })
    }

    /// Switches the events on. If the kernel refuses an event, the other event of its pair is left out too. Each event
    /// takes the kernel some milliseconds and stops every CPU for a moment, so this must not be called while measuring.
    pub fn enable(&mut self, instance: &TraceFolder) {
        let refused: BTreeSet<(&str, &str)> = self
            .wanted
            .iter()
            .filter(|event| switch(instance, event, "1").is_err())
            .map(|e| (e.group, e.name))
            .collect();
        let half = |event: &&&Wanted| {
            let is_refused = |name| refused.contains(&(event.group, name));
            is_refused(event.name) || event.pair.is_some_and(is_refused)
        };
        for event in self.wanted.iter().filter(half) {
            let _ = switch(instance, event, "0");
            self.blind.push(Blind::Event(event.path()));
        }
        self.wanted.retain(|event| !half(&event));
    }

    pub fn disable(&self, instance: &TraceFolder) {
        for event in &self.wanted {
            let _ = switch(instance, event, "0");
        }
    }

    pub fn names(&self) -> Vec<String> {
        self.wanted.iter().map(|event| event.path()).collect()
    }
}

/// Records armed timers and page faults only for these threads, because the other threads of the machine cause very
/// many.
pub fn only_ours(instance: &TraceFolder, threads: &[u32]) {
    let any: Vec<String> = threads.iter().map(|tid| format!("common_pid=={tid}")).collect();
    for event in ["timer/hrtimer_start", "exceptions/page_fault_user", "exceptions/page_fault_kernel"] {
        // If the filter is refused, the events of all threads are recorded.
        let _ = instance.write(&format!("events/{event}/filter"), &any.join("||"));
    }
}

fn switch(instance: &TraceFolder, event: &Wanted, on: &str) -> Result<(), TraceError> {
    instance.write(&format!("events/{}/{}/enable", event.group, event.name), on)
}
