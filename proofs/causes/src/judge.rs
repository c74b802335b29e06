//! The verdict: matches late activations by time with what was planted, and counts right and wrong explanations.
//!
//! ```text
//!   release        plant           woke
//!      |------|=================|----|        expected: how much of the plant lies between release and wake-up
//! ```
//! This module must not know how delays are planted or recorded.

use crate::explanation::{Cause, Part, Spike};
use crate::kind::{Kind, Sight, Truth};
use crate::truth::Plant;
use std::ops::AddAssign;

/// The conditions under which explanations are judged.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub kind: Kind,
    /// How much of a planted delay the product can see.
    pub sight: Sight,
    pub cpu: u32,
    /// Activations with a smaller latency, in nanoseconds, are ignored.
    pub least_ns: u64,
    /// Time that the hypervisor took from this CPU meanwhile, in nanoseconds, as the kernel counted it.
    pub stolen_ns: u64,
}

/// The results of judging the explanations of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of planted delays.
    pub plants: u64,
    /// Number of late activations of which a plant, without its gaps, took at least half of the latency. The next four
    /// numbers are parts of this one.
    pub planted: u64,
    /// Number of explanations that name the culprit by class and name.
    pub right: u64,
    /// Number of windows that the product marks as incomplete. They count neither as right nor as wrong.
    pub incomplete: u64,
    /// Number of explanations with the right culprit whose time is correct to 10 % or 5 us.
    pub timed: u64,
    /// Number of late activations that touch a plant, which took less than half of the latency, or perhaps did so
    /// because the hypervisor had the CPU.
    pub mixed: u64,
    /// Number of late activations that touch no plant.
    pub natural: u64,
    /// Attributed time minus expected time of each explanation with the right culprit, in nanoseconds.
    pub off_ns: Vec<i64>,
    /// Descriptions of the explanations that were judged wrong.
    pub wrong: Vec<String>,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.plants += other.plants;
        self.planted += other.planted;
        self.right += other.right;
        self.incomplete += other.incomplete;
        self.timed += other.timed;
        self.mixed += other.mixed;
        self.natural += other.natural;
        self.off_ns.extend(other.off_ns);
        self.wrong.extend(other.wrong);
    }
}

impl Tally {
    /// Number of complete windows.
    pub fn complete(&self) -> u64 {
        self.planted - self.incomplete
    }

    /// Whether more than a fifth of the windows are incomplete.
    pub fn mostly_incomplete(&self) -> bool {
        self.incomplete * 5 > self.planted
    }

    /// Ok if there are at least `least` complete windows, at most a fifth of all are incomplete, 95 % of the complete
    /// ones name the right culprit, and 95 % of these have the right time (if the truth is exact). Otherwise the error
    /// gives the reason.
    pub fn verdict(&self, kind: Kind, least: u64) -> Result<(), String> {
        if self.complete() < least {
            return Err(format!("only {} of {least} late activations", self.complete()));
        }
        if self.mostly_incomplete() {
            return Err("more than a fifth incomplete".to_owned());
        }
        if self.right * 100 < self.complete() * 95 {
            return Err("fewer than 95 % right".to_owned());
        }
        if kind.truth() != Truth::Within && self.timed * 100 < self.right * 95 {
            return Err("fewer than 95 % of the times right".to_owned());
        }
        Ok(())
    }

    /// The median of the absolute errors of times, in nanoseconds.
    pub fn median_off_ns(&self) -> Option<u64> {
        let mut off: Vec<u64> = self.off_ns.iter().map(|off| off.unsigned_abs()).collect();
        off.sort_unstable();
        off.get(off.len() / 2).copied()
    }
}

pub fn judge(case: Case, plants: &[Plant], spikes: &[Spike]) -> Tally {
    let mut tally = Tally { plants: plants.len() as u64, ..Tally::default() };
    let mut stolen_ns = case.stolen_ns;
    for spike in spikes.iter().filter(|spike| spike.cpu == case.cpu && spike.latency_ns() >= case.least_ns) {
        let touching: Vec<(u64, &Plant)> =
            plants.iter().map(|plant| (overlap(plant, spike), plant)).filter(|(time, _)| *time > 0).collect();
        // It is unknown which part of a plant's gaps lies between release and wake-up. So only the time without the
        // gaps is certainly the plant's.
        let surely: u64 = touching.iter().map(|(time, plant)| time.saturating_sub(plant.gaps_ns)).sum();
        match touching.as_slice() {
            [] => tally.natural += 1,
            _ if surely * 2 < spike.latency_ns() => tally.mixed += 1,
            _ if is_stolen(case, spike, &mut stolen_ns) => tally.mixed += 1,
            _ => try_one(&mut tally, case, &touching, spike),
        }
    }
    tally
}

fn overlap(plant: &Plant, spike: &Spike) -> u64 {
    plant.end_ns.min(spike.woke_ns).saturating_sub(plant.start_ns.max(spike.release_ns))
}

/// Whether an explanation blames the hypervisor where nobody can tell whether it or the plant had the CPU. All these
/// explanations together must not blame it for more time than the kernel counted, of which `left_ns` is left.
fn is_stolen(case: Case, spike: &Spike, left_ns: &mut u64) -> bool {
    let Some(first) = spike.causes.first().filter(|first| first.class == "hypervisor") else { return false };
    let is_stolen = case.kind.hides_hypervisor(case.sight) && first.time_ns <= *left_ns;
    if is_stolen {
        *left_ns -= first.time_ns;
    }
    is_stolen
}

fn try_one(tally: &mut Tally, case: Case, touching: &[(u64, &Plant)], spike: &Spike) {
    let Some((_, plant)) = touching.iter().max_by_key(|(time, _)| *time) else { return };
    let expected: u64 = touching.iter().map(|(time, _)| time).sum();
    tally.planted += 1;
    if spike.incomplete.is_some() {
        tally.incomplete += 1;
        return;
    }
    let kind = case.kind;
    let is_right = |cause: &&Cause| kind.is_right(case.sight, &cause.class, &cause.name, &plant.name);
    if spike.causes.first().is_none_or(|first| !is_right(&first)) {
        tally.wrong.push(in_words(plant, expected, spike));
        return;
    }
    tally.right += 1;
    let attributed: u64 = match kind.truth() {
        Truth::Part => within(case, plant, touching, spike),
        _ => spike.causes.iter().filter(is_right).map(|cause| cause.time_ns).sum(),
    };
    // The gaps of a plant may or may not lie between release and wake-up, and are rightly attributed to other causes.
    let gaps: u64 = touching.iter().map(|(_, plant)| plant.gaps_ns).sum();
    let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    let nearest = attributed.clamp(expected.saturating_sub(gaps), expected);
    let off = signed(attributed) - signed(nearest);
    tally.off_ns.push(off);
    if off.unsigned_abs() <= (expected / 10).max(5_000) {
        tally.timed += 1;
    } else if kind.truth() != Truth::Within {
        tally.wrong.push(format!("time off by {} us: {}", off / 1000, in_words(plant, expected, spike)));
    }
}

/// The time that is attributed to the right cause and lies within the plants.
fn within(case: Case, plant: &Plant, touching: &[(u64, &Plant)], spike: &Spike) -> u64 {
    let parts = spike.parts.iter().filter(|part| case.kind.is_right(case.sight, &part.class, &part.name, &plant.name));
    let common = |part: &Part| -> u64 {
        let end = part.from_ns + part.length_ns;
        let each = |plant: &Plant| plant.end_ns.min(end).saturating_sub(plant.start_ns.max(part.from_ns));
        touching.iter().map(|(_, plant)| each(plant)).sum()
    };
    parts.map(common).sum()
}

fn in_words(plant: &Plant, expected: u64, spike: &Spike) -> String {
    let us = |ns: u64| ns / 1000;
    let said: Vec<String> = spike
        .causes
        .iter()
        .take(4)
        .map(|cause| format!("{} `{}` {} us", cause.class, cause.name, us(cause.time_ns)))
        .collect();
    format!(
        "late by {} us at {}, {} us of it `{}`: {}",
        us(spike.latency_ns()),
        spike.release_ns,
        us(expected),
        plant.name,
        if said.is_empty() { "nothing is blamed".to_owned() } else { said.join(", ") }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASE: Case = Case { kind: Kind::Hog, sight: Sight::Whole, cpu: 1, least_ns: 50_000, stolen_ns: 0 };

    fn plant(start_us: u64, end_us: u64) -> Plant {
        Plant { kind: "hog".into(), name: "hog99".into(), start_ns: start_us * 1000, end_ns: end_us * 1000, gaps_ns: 0 }
    }

    fn spike(release_us: u64, woke_us: u64, causes: &[(&str, &str, u64)]) -> Spike {
        Spike {
            cpu: 1,
            release_ns: release_us * 1000,
            woke_ns: woke_us * 1000,
            incomplete: None,
            parts: Vec::new(),
            causes: causes
                .iter()
                .map(|(class, name, us)| Cause { class: (*class).into(), name: (*name).into(), time_ns: us * 1000 })
                .collect(),
        }
    }

    #[test]
    fn only_what_lies_between_release_and_wake_up_is_expected() {
        let plants = [plant(100, 400)];
        let right = spike(200, 420, &[("higher-priority", "hog99", 203), ("wake-up", "", 17)]);
        let tally = judge(CASE, &plants, &[right]);
        assert_eq!((tally.planted, tally.right, tally.timed), (1, 1, 1), "{tally:?}");
        assert_eq!(tally.off_ns, [3000]);
        let late = spike(200, 420, &[("higher-priority", "hog99", 160), ("wake-up", "", 60)]);
        let tally = judge(CASE, &plants, &[late]);
        assert_eq!((tally.right, tally.timed, tally.wrong.len()), (1, 0, 1), "{tally:?}");
    }

    #[test]
    fn the_wrong_one_first_is_wrong() {
        let wrong = spike(200, 420, &[("softirq", "TIMER", 120), ("higher-priority", "hog99", 100)]);
        let none = spike(200, 420, &[]);
        let tally = judge(CASE, &[plant(100, 400)], &[wrong, none]);
        assert_eq!((tally.planted, tally.right, tally.wrong.len()), (2, 0, 2), "{tally:?}");
    }

    #[test]
    fn what_is_incomplete_natural_or_mixed_is_counted_apart() {
        let mut incomplete = spike(200, 420, &[("higher-priority", "hog99", 200)]);
        incomplete.incomplete = Some("lost".to_owned());
        let natural = spike(1000, 1100, &[("softirq", "TIMER", 100)]);
        let mixed = spike(300, 900, &[("softirq", "TIMER", 500)]);
        let short = spike(390, 410, &[("softirq", "TIMER", 20)]);
        let mut elsewhere = spike(200, 420, &[]);
        elsewhere.cpu = 0;
        let tally = judge(CASE, &[plant(100, 400)], &[incomplete, natural, mixed, short, elsewhere]);
        assert_eq!((tally.planted, tally.incomplete, tally.right), (1, 1, 0), "{tally:?}");
        assert_eq!((tally.natural, tally.mixed), (1, 1), "{tally:?}");
    }

    #[test]
    fn who_was_interrupted_while_it_planted_has_not_surely_planted_all_of_it() {
        let late = spike(100, 420, &[("worker", "kworker", 200), ("higher-priority", "hog99", 120)]);
        let with_gaps = |us: u64| Plant { gaps_ns: us * 1000, ..plant(100, 400) };
        let tally = judge(CASE, &[with_gaps(200)], std::slice::from_ref(&late));
        assert_eq!((tally.planted, tally.mixed), (0, 1), "{tally:?}");
        let tally = judge(CASE, &[with_gaps(100)], &[late]);
        assert_eq!((tally.planted, tally.wrong.len()), (1, 1), "{tally:?}");
    }

    #[test]
    fn the_hypervisor_may_be_blamed_only_where_it_cannot_be_told_apart_and_for_no_more_than_it_took() {
        let all: Vec<Spike> =
            (0..3).map(|n| spike(200 + n * 1000, 420 + n * 1000, &[("hypervisor", "", 180)])).collect();
        let plants: Vec<Plant> = (0..3).map(|n| plant(100 + n * 1000, 400 + n * 1000)).collect();
        let of = |kind, sight, stolen_us: u64| {
            let tally = judge(Case { kind, sight, stolen_ns: stolen_us * 1000, ..CASE }, &plants, &all);
            (tally.planted, tally.right, tally.mixed)
        };
        assert_eq!(of(Kind::Irqoff, Sight::Guest, 400), (1, 0, 2));
        assert_eq!(of(Kind::Irqoff, Sight::Guest, 0), (3, 0, 0));
        assert_eq!(of(Kind::Irqoff, Sight::Whole, 400), (3, 0, 0));
        assert_eq!(of(Kind::Hog, Sight::Guest, 400), (3, 0, 0));
    }

    #[test]
    fn ninety_five_of_a_hundred_is_the_line() {
        let of = |right, timed| Tally { planted: 100, right, timed, ..Tally::default() };
        assert!(of(95, 95).verdict(Kind::Hog, 100).is_ok());
        assert!(of(94, 94).verdict(Kind::Hog, 100).is_err());
        assert!(of(100, 94).verdict(Kind::Hog, 100).is_err());
        assert!(of(100, 0).verdict(Kind::Storm, 100).is_ok());
        assert!(of(100, 100).verdict(Kind::Hog, 101).is_err());
        let incomplete = |incomplete| Tally { planted: 120, right: 95, timed: 95, incomplete, ..Tally::default() };
        assert!(incomplete(20).verdict(Kind::Hog, 100).is_ok());
        assert!(incomplete(19).verdict(Kind::Hog, 100).is_err());
        assert!(incomplete(25).verdict(Kind::Hog, 50).is_err());
        assert!(Tally::default().verdict(Kind::Hog, 1).is_err());
    }
}
