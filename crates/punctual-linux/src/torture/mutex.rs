//! Chains of locks with and without priority inheritance.
//!
//! The driver, which has the lowest priority, holds the first lock. Each member of the chain holds a lock of its own and
//! waits for the one before. The first thread in rank waits for the last lock. Then the disturber, whose priority is
//! between theirs, wants the CPU. All of them are on one CPU, so the driver and nobody else decides what happens next.
//! With inheritance the driver runs at the priority of the first in rank and goes on. Without it the disturber runs
//! first, which inverts the priorities.
//!
//! Where EVL runs beside Linux, its threads and locks do the same in the second half of the time. EVL has no locks without
//! inheritance.

use super::core::Share;
use super::doubt::Doubt;
use super::seat::{Kind, Place, Seat, on_all};
use super::{Control, Order, TortureError};
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::{Counts, MonoTime, Nanos};
use punctual_numbers::report::Percentiles;
use punctual_rt::sync::{PiGuard, PiMutex, Semaphore};
use punctual_rt::{Backend, LockError, now};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Numbers of locks in a chain.
const CHAINS: std::ops::RangeInclusive<u32> = 2..=8;
const LOCKS: usize = 8;
/// The roles on one CPU: the driver, a member for each lock but the first, the disturber and the first in rank.
const THREADS: u32 = 10;
/// Each role has a priority of its own.
pub(super) const PRIORITIES: u8 = 10;
const DISTURBER: u32 = 8;
const FIRST: u32 = 9;
/// How long the disturber runs.
const DISTURBANCE: Nanos = Nanos::from_us(100);
/// How long the CPU is left to others between two rounds.
const REST: Duration = Duration::from_millis(1);
/// A thread that waits longer than this for another one has lost it.
const PATIENCE: Nanos = Nanos::from_secs(10);

/// What became of chains of locks.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mutexes {
    /// How long the disturbing thread ran in each round.
    #[serde(rename = "disturbance_ns")]
    pub disturbance: Nanos,
    /// A row for each CPU, kind of lock and length of chain.
    pub chains: Vec<ChainRow>,
}

/// Chains of one length on one CPU.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChainRow {
    pub cpu: u32,
    /// Whether the threads and their locks are those of the real-time core.
    pub out_of_band: bool,
    /// Number of locks in the chain.
    pub locks: u32,
    /// Whether the owner of a lock runs at the priority of those who wait for it.
    pub inheritance: bool,
    /// How often such a chain was built and handed over.
    pub rounds: u64,
    /// Rounds in which the disturbing thread ran before the thread of the highest priority had its lock.
    pub inversions: u64,
    /// Time from the release of the first lock until the thread of the highest priority had the last one.
    #[serde(rename = "hand_over_ns")]
    pub hand_over: Percentiles,
    /// Time that the thread of the highest priority waited for its lock.
    #[serde(rename = "waited_ns")]
    pub waited: Percentiles,
}

impl Mutexes {
    pub(super) fn is_broken(&self) -> bool {
        self.chains.iter().any(|row| row.inheritance && row.inversions > 0)
    }

    pub(super) fn doubts(&self, doubts: &mut Vec<Doubt>) {
        if self.chains.is_empty() || self.chains.iter().any(|row| row.rounds == 0) {
            doubts.push(Doubt::NothingTried);
        } else if self.chains.iter().any(|row| !row.inheritance && row.inversions == 0) {
            doubts.push(Doubt::NoInversionSeen);
        }
    }
}

/// A lock of either kind.
trait Lock: Sync {
    type Guard<'a>
    where
        Self: 'a;
    fn take(&self) -> Result<Self::Guard<'_>, LockError>;
}

impl Lock for PiMutex<()> {
    type Guard<'a> = PiGuard<'a, ()>;
    fn take(&self) -> Result<PiGuard<'_, ()>, LockError> {
        self.lock_until(now() + PATIENCE)
    }
}

impl Lock for Mutex<()> {
    type Guard<'a> = MutexGuard<'a, ()>;
    fn take(&self) -> Result<MutexGuard<'_, ()>, LockError> {
        Ok(self.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What the threads of one CPU share.
struct Bench {
    with: Vec<PiMutex<()>>,
    without: [Mutex<()>; LOCKS],
    /// Tells each role to begin.
    begin: Vec<Semaphore>,
    /// Counts the roles that are done.
    done: Semaphore,
    inheritance: AtomicBool,
    /// Number of locks in the chain of this round.
    locks: AtomicU32,
    over: AtomicBool,
    lost: AtomicBool,
    asked: AtomicU64,
    taken: AtomicU64,
    disturbed: AtomicU64,
}

#[derive(Default)]
struct Cell {
    rounds: u64,
    inversions: u64,
    hand_over: Counts,
    waited: Counts,
}

type Cells = BTreeMap<(u32, bool), Cell>;

pub(super) fn run(order: &Order, place: &Place, control: &Control<'_>) -> Result<Mutexes, TortureError> {
    let mut chains = Vec::new();
    if let Some(core) = &place.core {
        chains.extend(tried(order, &place.real_time, None, &control.until_half())?);
        chains.extend(tried(order, &core.cpus, Some(core), control)?);
    } else {
        chains.extend(tried(order, &place.real_time, None, control)?);
    }
    chains.sort_by_key(|row| (row.cpu, row.out_of_band, !row.inheritance, row.locks));
    Ok(Mutexes { disturbance: DISTURBANCE, chains })
}

/// Tries the chains of Linux, or of `core`, on each of the CPUs.
fn tried(
    order: &Order,
    cpus: &CpuSet,
    core: Option<&Share>,
    control: &Control<'_>,
) -> Result<Vec<ChainRow>, TortureError> {
    let bench = |cpu| {
        let backend = core.map_or(Backend::Linux, |core| core.name.backend());
        Bench::new(backend).map(|bench| (cpu, bench)).map_err(|source| TortureError::Setup { cpu, source })
    };
    let benches = cpus.iter().map(bench).collect::<Result<BTreeMap<u32, Bench>, _>>()?;
    let on = |cpu| (0..THREADS).map(move |thread| (cpu, thread));
    let kind = if core.is_some() { Kind::OutOfBand } else { Kind::RealTime };
    let seats: Vec<Seat> = cpus.iter().flat_map(on).map(|role| seat(role, kind, order.priority)).collect();
    let cells = on_all(&seats, control, |seat| {
        let bench = &benches[&seat.cpu];
        let done = seat.take().and_then(|()| {
            let mut member = core.map(|core| core.attach(seat.cpu, seat.priority)).transpose()?;
            // The first call of the core takes the thread out-of-band, where its priority counts.
            if let Some(member) = &mut member {
                member.switches();
            }
            match seat.thread {
                0 => drive(bench, control).map_err(seat.failed("wait for the other threads of its chain")),
                _ => bench.follow(seat.thread).map(|()| Cells::new()).map_err(seat.failed("take a lock")),
            }
        });
        bench.end_if(done.is_err());
        Ok((seat.cpu, done?))
    })?;
    let rows = cells.into_iter().flat_map(|(cpu, cells)| cells.into_iter().map(move |cell| (cpu, cell)));
    Ok(rows.map(|(cpu, cell)| ChainRow { out_of_band: core.is_some(), ..row(cpu, cell) }).collect())
}

/// The driver has the lowest priority, and the first in rank the highest.
fn seat((cpu, thread): (u32, u32), kind: Kind, highest: u8) -> Seat {
    let above = u8::try_from(thread).unwrap_or(0) + 1;
    Seat { cpu, thread, kind, priority: (highest - PRIORITIES).saturating_add(above) }
}

fn row(cpu: u32, ((locks, inheritance), cell): ((u32, bool), Cell)) -> ChainRow {
    let Cell { rounds, inversions, hand_over, waited } = cell;
    let (hand_over, waited) = (Percentiles::of(&hand_over), Percentiles::of(&waited));
    ChainRow { cpu, out_of_band: false, locks, inheritance, rounds, inversions, hand_over, waited }
}

fn lost() -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::TimedOut, "one of them did not answer in time")
}

fn drive(bench: &Bench, control: &Control<'_>) -> std::io::Result<Cells> {
    let mut cells = Cells::new();
    bench.await_done(THREADS - 1)?;
    let kinds = CHAINS.flat_map(|locks| [(locks, true), (locks, false)]);
    let kinds: Vec<_> = kinds.filter(|(_, inheritance)| *inheritance || bench.has_plain_locks()).collect();
    for (locks, inheritance) in kinds.into_iter().cycle() {
        let cell = cells.entry((locks, inheritance)).or_default();
        if !control.goes_on() {
            break;
        }
        bench.locks.store(locks, Relaxed);
        bench.inheritance.store(inheritance, Relaxed);
        bench.disturbed.store(u64::MAX, Relaxed);
        let released =
            if inheritance { bench.round(&bench.with[0], locks) } else { bench.round(&bench.without[0], locks) };
        let released = released.map_err(|_| lost())?;
        // The members of the chain, the disturber and the first in rank.
        bench.await_done(locks + 1)?;
        cell.count(bench, released);
        std::thread::sleep(REST);
    }
    bench.end_if(true);
    Ok(cells)
}

impl Cell {
    fn count(&mut self, bench: &Bench, released: MonoTime) {
        let time = |of: &AtomicU64| MonoTime::from_ns(of.load(Relaxed));
        let (asked, taken) = (time(&bench.asked), time(&bench.taken));
        self.rounds += 1;
        self.inversions += u64::from(time(&bench.disturbed) < taken);
        self.hand_over.record(taken.since(released));
        self.waited.record(taken.since(asked));
    }
}

impl Bench {
    fn new(backend: Backend) -> Result<Self, punctual_rt::Error> {
        Ok(Self {
            with: (0..LOCKS).map(|_| PiMutex::on(Some(backend), ())).collect::<Result<_, _>>()?,
            without: [const { Mutex::new(()) }; LOCKS],
            begin: (0..THREADS).map(|_| Semaphore::on(Some(backend), 0)).collect::<Result<_, _>>()?,
            done: Semaphore::on(Some(backend), 0)?,
            inheritance: AtomicBool::default(),
            locks: AtomicU32::default(),
            over: AtomicBool::default(),
            lost: AtomicBool::default(),
            asked: AtomicU64::default(),
            taken: AtomicU64::default(),
            disturbed: AtomicU64::default(),
        })
    }

    /// Whether there are locks without inheritance as well.
    fn has_plain_locks(&self) -> bool {
        self.done.backend() == Backend::Linux
    }

    /// Waits until this number of threads are done.
    fn await_done(&self, threads: u32) -> std::io::Result<()> {
        let deadline = now() + PATIENCE;
        let all = (0..threads).all(|_| self.done.wait_until(deadline) == Ok(true));
        if all && !self.lost.load(Relaxed) { Ok(()) } else { Err(lost()) }
    }

    /// One round of the driver; returns when it released its lock. Every thread that is told to begin has a higher
    /// priority, so it runs until it waits before the next line of this function.
    fn round(&self, first: &impl Lock, locks: u32) -> Result<MonoTime, LockError> {
        let held = first.take()?;
        for role in (1..locks).chain([FIRST, DISTURBER]) {
            self.begin[role as usize].post()?;
        }
        let released = now();
        drop(held);
        Ok(released)
    }

    /// A thread other than the driver: begins when it is told to, until the test is over. It has its priority already,
    /// so the driver does not run between its first post and its first wait.
    fn follow(&self, role: u32) -> std::io::Result<()> {
        self.done.post().map_err(|_| lost())?;
        loop {
            let told = self.begin[role as usize].wait_until(now() + PATIENCE).map_err(|_| lost())?;
            if self.over.load(Relaxed) {
                return Ok(());
            }
            if told {
                self.act(role).and_then(|()| self.done.post()).map_err(|_| lost())?;
            }
        }
    }

    fn act(&self, role: u32) -> Result<(), LockError> {
        let last = self.locks.load(Relaxed).saturating_sub(1) as usize;
        match (role, self.inheritance.load(Relaxed)) {
            (DISTURBER, _) => self.disturb(),
            (FIRST, true) => self.top(&self.with[last])?,
            (FIRST, false) => self.top(&self.without[last])?,
            (member, true) => link(&self.with, member as usize)?,
            (member, false) => link(&self.without, member as usize)?,
        }
        Ok(())
    }

    fn top(&self, lock: &impl Lock) -> Result<(), LockError> {
        self.asked.store(now().as_ns(), Relaxed);
        let held = lock.take()?;
        self.taken.store(now().as_ns(), Relaxed);
        drop(held);
        Ok(())
    }

    fn disturb(&self) {
        let begin = now();
        self.disturbed.store(begin.as_ns(), Relaxed);
        while now().since(begin) < DISTURBANCE {
            std::hint::spin_loop();
        }
    }

    /// Ends the test for every thread of this CPU, also for those that wait to be told to begin.
    fn end_if(&self, ends: bool) {
        if ends {
            self.lost.store(true, Relaxed);
            self.over.store(true, Relaxed);
            for begin in &self.begin {
                // A core that was stopped wakes nobody, and has ended its threads.
                let _ = begin.post();
            }
        }
    }
}

/// Holds a lock while waiting for the one before.
fn link<L: Lock>(locks: &[L], member: usize) -> Result<(), LockError> {
    let own = locks[member].take()?;
    let before = locks[member - 1].take()?;
    drop(before);
    drop(own);
    Ok(())
}
