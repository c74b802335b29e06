//! Context switches: the threads of a CPU hand a baton to each other in random order, and give the CPU away in every way
//! there is, with filled registers.

use super::checker::{Checked, Checker};
use super::outcome::Integrity;
use super::seat::{Kind, Place, Seat, on_all};
use super::{Control, Order, TortureError};
use crate::sys::registers::Act;
use punctual_hist::SplitMix;
use punctual_rt::{CoreThread, SleepCall};
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
/// Linux has to wait for these, so they take some 10 us.
const POLLS_ON_CORE: u32 = 300;

pub(super) fn run(order: &Order, place: &Place, control: &Control<'_>) -> Result<Integrity, TortureError> {
    let seats = place.with_core(order.threads, order.priority);
    // A thread of a core is the newest way for a register to be lost, so it shows that such a loss is seen.
    let planted = order.plant.then(|| seats.iter().find(|seat| seat.kind == Kind::OutOfBand).unwrap_or(&seats[0]));
    let words = || (0..order.threads).map(|thread| AtomicU32::new(if thread == 0 { GO } else { 0 })).collect();
    let cpus: BTreeMap<u32, Vec<AtomicU32>> = place.cpus.iter().map(|cpu| (cpu, words())).collect();
    let checked = on_all(&seats, control, |seat| {
        seat.take()?;
        let core = place.core.as_ref().filter(|_| seat.kind == Kind::OutOfBand);
        let mut core = core.map(|core| core.attach(seat.cpu, seat.priority)).transpose()?;
        if let Some(core) = &mut core {
            core.switches();
        }
        let mut checker = Checker::new(seat, planted == Some(seat));
        let kinds: Vec<Kind> = seats.iter().filter(|other| other.cpu == seat.cpu).map(|other| other.kind).collect();
        let sleep = core.as_ref().map(CoreThread::sleep_call);
        pass_on(seat, &cpus[&seat.cpu], &kinds, sleep, &mut checker, control);
        let in_band_switches = core.map_or(0, |mut core| core.switches());
        Ok(Checked { in_band_switches, ..checker.finish() })
    })?;
    Ok(Integrity::of(checked))
}

/// With `core`, the thread sleeps by that call, and runs on the core for a while after it.
fn pass_on(
    seat: &Seat,
    words: &[AtomicU32],
    kinds: &[Kind],
    core: Option<SleepCall>,
    checker: &mut Checker,
    control: &Control<'_>,
) {
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
            sleep(LONG_SLEEP, core, &words[own], partner, checker);
        }
        let next = (own + 1 + random.below(words.len() - 1)) % words.len();
        partner = Some(kinds[next]);
        let way = random.below(4);
        words[next].store(if way == 3 { SLEEP_FIRST } else { GO }, Release);
        checker.during(Act::Wake(&words[next]), partner);
        match way {
            0 => {}
            1 => checker.during(Act::Yield, partner),
            2 => sleep(SHORT_SLEEP, core, &words[own], partner, checker),
            _ => checker.during(Act::Spin(&words[own], POLLS), partner),
        }
    }
}

/// Sleeps. A thread of a core then polls its word, as only other threads of the core and their interrupts can preempt it
/// there.
fn sleep(length: Duration, core: Option<SleepCall>, word: &AtomicU32, partner: Option<Kind>, checker: &mut Checker) {
    match core {
        Some(call) => {
            checker.during(Act::CoreSleep(call, length), partner);
            checker.during(Act::Spin(word, POLLS_ON_CORE), partner);
        }
        None => checker.during(Act::Sleep(length), partner),
    }
}
