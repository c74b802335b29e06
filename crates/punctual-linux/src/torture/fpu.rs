//! Registers under signals and page faults: a timer interrupts each thread, whose handler uses every register, and memory
//! is touched that has to be brought in.

use super::checker::Checker;
use super::outcome::Integrity;
use super::seat::{Kind, Place, Seat, on_all};
use super::{Control, Order, TortureError};
use crate::sys::pages::Pages;
use crate::sys::posix_timer::PosixTimer;
use crate::sys::registers::Act;
use crate::sys::signals;
use punctual_hist::Nanos;
use punctual_rt::now;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

const PAGES: usize = 16;
const POLLS: u32 = 5000;
/// Time between two signals of a thread's timer. Each thread has another one, so that they do not stay in step.
const BETWEEN_SIGNALS: Nanos = Nanos::from_us(503);
const APART: Nanos = Nanos::from_us(13);

pub(super) fn run(order: &Order, place: &Place, control: &Control<'_>) -> Result<Integrity, TortureError> {
    let seats = place.mixed(order.threads, order.priority);
    let failed = seats[0].failed("install a signal handler");
    signals::install().map_err(failed)?;
    let before = signals::counts();
    let checked = on_all(&seats, control, |seat| {
        seat.take()?;
        let mut checker = Checker::new(seat, order.plant && seat == &seats[0]);
        endure(seat, &mut checker, control)?;
        Ok(checker.finish())
    })?;
    let (handled, spoilt) = signals::counts();
    Ok(Integrity::with_signals(checked, handled - before.0, spoilt - before.1))
}

fn endure(seat: &Seat, checker: &mut Checker, control: &Control<'_>) -> Result<(), TortureError> {
    /// A real-time thread leaves the CPU to the plain ones for most of the time.
    const REST: Duration = Duration::from_micros(500);
    let pages = Pages::map(PAGES).map_err(seat.failed("map memory"))?;
    signals::set_blocked(signals::SIGNAL, false).map_err(seat.failed("unblock a signal"))?;
    let timer = PosixTimer::create(signals::SIGNAL, 0).map_err(seat.failed("create a timer (ulimit -i)"))?;
    let period = BETWEEN_SIGNALS.plus(APART.times(seat.thread.into()));
    timer.start(now() + period, period).map_err(seat.failed("start a timer"))?;
    let never = AtomicU32::new(0);
    while control.goes_on() {
        pages.give_back().map_err(seat.failed("give memory back"))?;
        checker.during(Act::Touch(&pages), None);
        checker.during(Act::Signal(signals::SIGNAL), None);
        checker.during(Act::Spin(&never, POLLS), None);
        checker.during(Act::Sleep(if seat.kind == Kind::RealTime { REST } else { REST / 10 }), None);
    }
    Ok(())
}
