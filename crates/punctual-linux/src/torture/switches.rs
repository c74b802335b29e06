//! Context switches: the threads of a CPU hand a baton to each other in random order, and give the CPU away in every way
//! there is, with filled registers.

use super::checker::Checker;
use super::outcome::Integrity;
use super::seat::{Kind, Place, Seat, on_all};
use super::{Control, Order, TortureError};
use crate::sys::registers::Act;
use punctual_hist::SplitMix;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering::AcqRel, Ordering::Release};
use std::time::Duration;

/// What a thread finds in its word: nothing, the baton, or the baton with the order to sleep first. The sleeper is woken
/// by an interrupt, while the thread that sent it polls: so that one is preempted in the middle of its code.
const GO: u32 = 1;
const SLEEP_FIRST: u32 = 2;
/// How long a thread waits for the baton before it looks whether the test is over.
const PATIENCE: Duration = Duration::from_millis(20);
const SHORT_SLEEP: Duration = Duration::from_micros(20);
/// The polls of the thread that waits for the sleeper last longer than this sleep, and less than a millisecond.
const LONG_SLEEP: Duration = Duration::from_micros(50);
const POLLS: u32 = 5000;

pub(super) fn run(order: &Order, place: &Place, control: &Control<'_>) -> Result<Integrity, TortureError> {
    let seats = place.mixed(order.threads, order.priority);
    let words = || (0..order.threads).map(|thread| AtomicU32::new(if thread == 0 { GO } else { 0 })).collect();
    let cpus: BTreeMap<u32, Vec<AtomicU32>> = place.cpus.iter().map(|cpu| (cpu, words())).collect();
    let checked = on_all(&seats, control, |seat| {
        seat.take()?;
        let is_planted = order.plant && seat == &seats[0];
        let mut checker = Checker::new(seat, is_planted);
        let kinds: Vec<Kind> = seats.iter().filter(|other| other.cpu == seat.cpu).map(|other| other.kind).collect();
        pass_on(seat, &cpus[&seat.cpu], &kinds, &mut checker, control);
        Ok(checker.finish())
    })?;
    Ok(Integrity::of(checked))
}

fn pass_on(seat: &Seat, words: &[AtomicU32], kinds: &[Kind], checker: &mut Checker, control: &Control<'_>) {
    let own = seat.thread as usize;
    let mut random = SplitMix::new(u64::from(seat.cpu) << 32 | u64::from(seat.thread));
    let mut partner = None;
    while control.goes_on() {
        checker.during(Act::Wait(&words[own], PATIENCE), partner);
        let baton = words[own].swap(0, AcqRel);
        if baton == 0 {
            continue;
        }
        if baton == SLEEP_FIRST {
            checker.during(Act::Sleep(LONG_SLEEP), partner);
        }
        let next = (own + 1 + random.below(words.len() - 1)) % words.len();
        partner = Some(kinds[next]);
        let (baton, then) = match random.below(4) {
            0 => (GO, None),
            1 => (GO, Some(Act::Yield)),
            2 => (GO, Some(Act::Sleep(SHORT_SLEEP))),
            _ => (SLEEP_FIRST, Some(Act::Spin(&words[own], POLLS))),
        };
        words[next].store(baton, Release);
        checker.during(Act::Wake(&words[next]), partner);
        if let Some(act) = then {
            checker.during(act, partner);
        }
    }
}
