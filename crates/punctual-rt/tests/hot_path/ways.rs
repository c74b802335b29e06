//! Everything that may run between two waits, as bodies that are called again and again.

mod talking;

use punctual_rt::servo::{PhaseServo, ServoConfig};
use punctual_rt::{
    Cyclic, Delta, Event, Grid, Margin, Nanos, Overrun, Pacer, Phase, Sleeper, TaskConfig, Wait, Wake, now,
};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

/// The period of all of them: short, for what is proven does not depend on it.
const PERIOD: Nanos = Nanos::from_us(100);
/// Each so-many-th body runs into the next releases.
const STALLED: u64 = 64;

/// One turn of a loop, wait included.
pub type Turn = Box<dyn FnMut(u64)>;

/// A way to run a loop.
pub struct Way {
    pub name: String,
    /// Makes the loop, on the thread that it will run on.
    pub prepare: Box<dyn FnOnce() -> Turn + Send>,
    /// System calls by which it waits, beside `clock_nanosleep`.
    pub waits_by: &'static [libc::c_long],
}

impl Way {
    fn new(name: String, prepare: impl FnOnce() -> Turn + Send + 'static) -> Self {
        Self { name, prepare: Box::new(prepare), waits_by: &[] }
    }

    fn waiting_by(self, waits_by: &'static [libc::c_long]) -> Self {
        Self { waits_by, ..self }
    }
}

/// All of them.
pub fn all() -> Vec<Way> {
    let mut ways = paced();
    ways.extend(tasks());
    ways.extend(by_other_calls());
    ways.push(from_outside());
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
        let config = config.budget(Nanos::from_us(20)).deadline(Nanos::from_us(50)).on_overrun(|_| ());
        Way::new(format!("task, {wait:?}, {overrun:?}"), move || cycles(Cyclic::new(&config).unwrap()))
    };
    all.map(way).collect()
}

/// A loop as a fieldbus master has it: steered by a servo, its statistics written.
fn cycles(mut cyclic: Cyclic) -> Turn {
    let mut servo = PhaseServo::new(ServoConfig::new(PERIOD, 1.0)).unwrap();
    Box::new(move |index| {
        // One that ends at an overrun goes on saying so.
        let Some(wake) = cyclic.wait() else { return };
        let steered = match index % 16 {
            0 => servo.coast(),
            15 => servo.correct(wake.error()),
            _ => servo.sample(wake.woke.as_ns(), wake.woke, wake.release),
        };
        cyclic.steer(steered);
        match index % 100 {
            20 => cyclic.set_period(PERIOD.plus(Nanos::from_us(3))).unwrap(),
            40 => cyclic.set_period(PERIOD).unwrap(),
            60 => cyclic.shift_phase(Delta::from_ns(-2_500)),
            80 => _ = cyclic.resync(),
            _ => {}
        }
        if index % STALLED == STALLED - 1 {
            stall(wake);
        }
        cyclic.finish();
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

fn from_outside() -> Way {
    let prepare = || {
        // Something to read, which nobody reads.
        let (ready, mut writer) = UnixStream::pair().unwrap();
        writer.write_all(b"x").unwrap();
        let wait = Wait::External { event: Event::Readable(ready.as_raw_fd()), patience: PERIOD };
        let mut turn = turns(pacer(&wait, Sleeper::Absolute, Overrun::Skip));
        let turn: Turn = Box::new(move |index| {
            let _ = (&ready, &writer);
            turn(index);
        });
        turn
    };
    Way::new("External".to_owned(), prepare).waiting_by(&[libc::SYS_ppoll])
}

fn pacer(wait: &Wait, sleeper: Sleeper, overrun: Overrun) -> Pacer {
    let grid = Grid::new(now().plus(Nanos::from_ms(1)), PERIOD).with_overrun(overrun);
    Pacer::new(grid, wait, sleeper).unwrap()
}

fn turns(mut pacer: Pacer) -> Turn {
    Box::new(move |index| {
        let wake = pacer.wait();
        steer(&mut pacer, index);
        if index % STALLED == STALLED - 1 {
            stall(wake);
        }
    })
}

/// Everything that moves a grid, in turn.
fn steer(pacer: &mut Pacer, index: u64) {
    match index % 8 {
        0 => _ = pacer.steer(Delta::from_ns(700)),
        1 => _ = pacer.steer(Delta::from_ns(-700)),
        2 => pacer.set_period(PERIOD.plus(Nanos::from_us(3))),
        3 => pacer.set_period(PERIOD),
        4 => pacer.shift_phase(Delta::from_ns(-2_500)),
        5 => _ = pacer.resync(),
        _ => {}
    }
}

/// Polls into the third release from this one.
fn stall(wake: Wake) {
    while now() < wake.woke.plus(PERIOD.times(3)) {
        core::hint::spin_loop();
    }
}
