//! Everything that may run between two waits, as bodies that are called repeatedly.

mod talking;

use punctual_rt::servo::{PhaseServo, ServoConfig};
use punctual_rt::sync::Signal;
use punctual_rt::{
    Cyclic, Delta, Event, Grid, Margin, Nanos, Overrun, Pacer, Phase, Sleeper, TaskConfig, Wait, Wake, now,
};
use std::io::Write;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The period of all loops, short because the proofs do not depend on it.
const PERIOD: Nanos = Nanos::from_us(100);
/// One in this number of bodies runs past the next releases.
const STALLED: u64 = 64;

/// One turn of a loop, including the wait. Returns whether the loop goes on; a loop that ended is made again,
/// unmeasured.
pub type Turn = Box<dyn FnMut(u64) -> bool>;

/// Makes a loop on the thread that it will run on.
pub type Prepare = Arc<dyn Fn() -> Turn + Send + Sync>;

/// A way to run a loop.
pub struct Way {
    pub name: String,
    pub prepare: Prepare,
    /// System calls by which the loop waits, in addition to `clock_nanosleep`.
    pub waits_by: &'static [libc::c_long],
    /// System calls that the loop makes after a disturbance.
    pub asks_by: &'static [libc::c_long],
}

impl Way {
    fn new(name: String, prepare: impl Fn() -> Turn + Send + Sync + 'static) -> Self {
        Self { name, prepare: Arc::new(prepare), waits_by: &[], asks_by: &[] }
    }

    fn waiting_by(self, waits_by: &'static [libc::c_long]) -> Self {
        Self { waits_by, ..self }
    }

    fn asking_by(self, asks_by: &'static [libc::c_long]) -> Self {
        Self { asks_by, ..self }
    }
}

/// A turn of a loop that never ends on its own.
pub fn endless(mut turn: impl FnMut(u64) + 'static) -> Turn {
    Box::new(move |index| {
        turn(index);
        true
    })
}

/// Makes `turns` turns of a loop, and of further loops if it ends. The first turn of each chooses a release and is not
/// measured. Adds up the results of `measured`, which makes the turn.
pub fn summed(prepare: &Prepare, turns: Range<u64>, mut measured: impl FnMut(&mut dyn FnMut() -> bool) -> u64) -> u64 {
    let mut turn = prepare();
    turn(turns.start);
    let mut sum = 0;
    for index in turns.skip(1) {
        let mut goes_on = true;
        sum += measured(&mut || {
            goes_on = turn(index);
            goes_on
        });
        if !goes_on {
            turn = prepare();
            turn(index);
        }
    }
    sum
}

pub fn all() -> Vec<Way> {
    let mut ways = paced();
    ways.extend(tasks());
    ways.extend(by_other_calls());
    ways.extend(from_outside());
    ways.push(confirming());
    ways.extend(talking::all());
    ways
}

const OVERRUNS: [Overrun; 4] = [Overrun::Skip, Overrun::CatchUp { max: 2 }, Overrun::Reanchor, Overrun::Stop];

fn waits() -> [Wait; 6] {
    let fixed = |us| Wait::Hybrid(Margin::Fixed(Nanos::from_us(us)));
    [Wait::Sleep, Wait::Anticipate, Wait::Hybrid(Margin::AUTO), fixed(20), fixed(0), Wait::Spin]
}

fn paced() -> Vec<Way> {
    let way = |wait: Wait| {
        Way::new(format!("paced by {wait:?}"), move || {
            turns(pacer(&wait, Sleeper::Absolute, Overrun::CatchUp { max: 2 }))
        })
    };
    waits().map(way).into()
}

fn tasks() -> Vec<Way> {
    let all = waits().into_iter().flat_map(|wait| OVERRUNS.map(|overrun| (wait.clone(), overrun)));
    let way = |(wait, overrun): (Wait, Overrun)| {
        let config = TaskConfig::periodic(PERIOD).phase(Phase::Offset(Nanos::ZERO)).wait(wait.clone()).overrun(overrun);
        let config = config.budget(Nanos::from_us(20)).deadline(Nanos::from_us(50));
        Way::new(format!("task, {wait:?}, {overrun:?}"), move || cycles(Cyclic::new(&config).unwrap()))
    };
    all.map(way).collect()
}

/// A loop like that of a fieldbus master: steered by a servo, with statistics.
fn cycles(mut cyclic: Cyclic) -> Turn {
    let mut servo = PhaseServo::new(ServoConfig::new(PERIOD, 1.0)).unwrap();
    Box::new(move |index| {
        let Some(wake) = cyclic.wait() else { return false };
        let steered = match index % 16 {
            0 => servo.coast(),
            15 => servo.correct(wake.error()),
            _ => servo.sample(wake.woke.as_ns(), wake.woke, wake.release),
        };
        cyclic.steer(steered);
        match index % 100 {
            20 => cyclic.set_period(PERIOD + Nanos::from_us(3)).unwrap(),
            40 => cyclic.set_period(PERIOD).unwrap(),
            60 => cyclic.shift_phase(Delta::from_ns(-2_500)),
            80 => _ = cyclic.resync(),
            _ => {}
        }
        if index % STALLED == STALLED - 1 {
            stall(wake);
        }
        cyclic.finish();
        true
    })
}

fn by_other_calls() -> Vec<Way> {
    let way =
        |sleeper: Sleeper| Way::new(format!("{sleeper:?}"), move || turns(pacer(&Wait::Sleep, sleeper, Overrun::Skip)));
    vec![
        way(Sleeper::Relative),
        way(Sleeper::Timerfd).waiting_by(&[libc::SYS_timerfd_settime, libc::SYS_read]),
        way(Sleeper::Futex).waiting_by(&[libc::SYS_futex]),
    ]
}

fn from_outside() -> [Way; 3] {
    let outside = |event| pacer(&Wait::External { event, patience: PERIOD }, Sleeper::Absolute, Overrun::Skip);
    let readable = move |there: &'static [u8]| {
        // The bytes are never read, so the descriptor stays readable.
        let (ready, mut writer) = UnixStream::pair().unwrap();
        writer.write_all(there).unwrap();
        let mut turn = turns(outside(Event::Readable(ready.as_raw_fd())));
        endless(move |index| {
            let _ = (&ready, &writer);
            turn(index);
        })
    };
    let signalled = move || {
        let signal = Arc::new(Signal::new());
        let mut turn = turns(outside(Event::Signal(Arc::clone(&signal))));
        // The post comes in every other turn.
        endless(move |index| {
            if index % 2 == 0 {
                signal.post();
            }
            turn(index);
        })
    };
    [
        Way::new("External, something to read".to_owned(), move || readable(b"x")).waiting_by(&[libc::SYS_ppoll]),
        Way::new("External, nothing to read".to_owned(), move || readable(b"")).waiting_by(&[libc::SYS_ppoll]),
        Way::new("External, a signal or none".to_owned(), signalled).waiting_by(&[libc::SYS_futex]),
    ]
}

/// A way in which every polled release counts as a hit. If the kernel's mark does not show the cause, the loop asks the
/// kernel.
fn confirming() -> Way {
    let prepare = || {
        let pacer = pacer(&Wait::Spin, Sleeper::Absolute, Overrun::Skip).with_tolerance(Nanos::ZERO);
        turns(pacer.confirming_interference())
    };
    Way::new("Spin, confirming interference".to_owned(), prepare).asking_by(&[libc::SYS_getrusage])
}

fn pacer(wait: &Wait, sleeper: Sleeper, overrun: Overrun) -> Pacer {
    let grid = Grid::new(now() + Nanos::from_ms(1), PERIOD).with_overrun(overrun);
    Pacer::new(grid, wait, sleeper).unwrap()
}

fn turns(mut pacer: Pacer) -> Turn {
    endless(move |index| {
        let wake = pacer.wait();
        steer(&mut pacer, index);
        if index % STALLED == STALLED - 1 {
            stall(wake);
        }
    })
}

/// Calls every function that moves a grid, in turn.
fn steer(pacer: &mut Pacer, index: u64) {
    match index % 8 {
        0 => _ = pacer.steer(Delta::from_ns(700)),
        1 => _ = pacer.steer(Delta::from_ns(-700)),
        2 => pacer.set_period(PERIOD + Nanos::from_us(3)),
        3 => pacer.set_period(PERIOD),
        4 => pacer.shift_phase(Delta::from_ns(-2_500)),
        5 => _ = pacer.resync(),
        _ => {}
    }
}

/// Polls until after the third release from this one.
fn stall(wake: Wake) {
    while now() < wake.woke + PERIOD * 3 {
        core::hint::spin_loop();
    }
}

#[test]
fn a_loop_that_ends_says_so_and_is_made_anew() {
    for way in tasks().into_iter().filter(|way| way.name.contains("Stop")) {
        let mut turn = (way.prepare)();
        assert!((0..=STALLED).any(|index| !turn(index)), "{} outlived a stall", way.name);
    }
    let made = Arc::new(AtomicU64::new(0));
    let counting = Arc::clone(&made);
    let prepare: Prepare = Arc::new(move || {
        counting.fetch_add(1, Relaxed);
        let mut left = 10;
        Box::new(move |_| {
            left -= 1;
            left > 0
        })
    });
    let running = summed(&prepare, 0..91, |turn| u64::from(turn()));
    assert_eq!((running, made.load(Relaxed)), (80, 11), "nine turns each are measured, the last of which ends it");
}
