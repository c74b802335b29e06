//! Programs that must not compile, each beside a similar program that does, so that the misuse is what the compiler
//! rejects, and not a typo. Only nightly compilers check the stated error code.

/// A loop stays on the thread that was set up for it.
///
/// ```no_run
/// # use punctual_rt::{Cyclic, Nanos, TaskConfig};
/// let config = TaskConfig::periodic(Nanos::from_ms(1));
/// std::thread::spawn(move || Cyclic::new(&config).map(|mut cyclic| cyclic.wait()));
/// ```
/// ```compile_fail,E0277
/// # use punctual_rt::{Cyclic, Nanos, TaskConfig};
/// let config = TaskConfig::periodic(Nanos::from_ms(1));
/// let mut cyclic = Cyclic::new(&config).unwrap();
/// std::thread::spawn(move || cyclic.wait());
/// ```
struct LoopOnAnotherThread;

/// A pacer stays on the thread that made it, because it watches that thread.
///
/// ```no_run
/// # use punctual_rt::{Grid, Nanos, Pacer, Sleeper, Wait, now};
/// let grid = Grid::new(now(), Nanos::from_ms(1));
/// std::thread::spawn(move || Pacer::new(grid, &Wait::Sleep, Sleeper::Absolute).map(|mut pacer| pacer.wait()));
/// ```
/// ```compile_fail,E0277
/// # use punctual_rt::{Grid, Nanos, Pacer, Sleeper, Wait, now};
/// let grid = Grid::new(now(), Nanos::from_ms(1));
/// let mut pacer = Pacer::new(grid, &Wait::Sleep, Sleeper::Absolute).unwrap();
/// std::thread::spawn(move || pacer.wait());
/// ```
struct PacerOnAnotherThread;

/// A statistics page has one writer and any number of readers.
///
/// ```no_run
/// # use punctual_rt::{Nanos, Stats, StatsConfig};
/// let (writer, reader) = Stats::create(&StatsConfig::new("axis", Nanos::from_ms(1))).unwrap();
/// let second = reader.clone();
/// ```
/// ```compile_fail,E0599
/// # use punctual_rt::{Nanos, Stats, StatsConfig};
/// let (writer, reader) = Stats::create(&StatsConfig::new("axis", Nanos::from_ms(1))).unwrap();
/// let second = writer.clone();
/// ```
struct TwoWritersOfStatistics;

/// A queue has one sender. It can be moved to another thread, but neither cloned nor used by two threads.
///
/// ```no_run
/// let (mut sender, receiver) = punctual_rt::spsc(8);
/// std::thread::spawn(move || sender.push(1));
/// ```
/// ```compile_fail,E0599
/// let (sender, receiver) = punctual_rt::spsc(8);
/// let mut second = sender.clone();
/// second.push(1);
/// ```
/// ```compile_fail,E0499
/// let (mut sender, receiver) = punctual_rt::spsc(8);
/// std::thread::scope(|scope| {
///     scope.spawn(|| sender.push(1));
///     scope.spawn(|| sender.push(2));
/// });
/// ```
struct TwoSenders;

/// The type of a latest value must be `Copy`: a value that owns memory could not be copied out of a slot.
///
/// ```no_run
/// let (writer, reader) = punctual_rt::latest([0u8; 8]);
/// ```
/// ```compile_fail,E0277
/// let (writer, reader) = punctual_rt::latest(String::new());
/// ```
struct LatestThatOwns;

/// A task that has been joined can no longer be used.
///
/// ```no_run
/// # use punctual_rt::{Control, Nanos, Task, TaskConfig};
/// let task = Task::spawn(&TaskConfig::periodic(Nanos::from_ms(1)), |_| Control::Stop).unwrap();
/// task.stop();
/// task.join();
/// ```
/// ```compile_fail,E0382
/// # use punctual_rt::{Control, Nanos, Task, TaskConfig};
/// let task = Task::spawn(&TaskConfig::periodic(Nanos::from_ms(1)), |_| Control::Stop).unwrap();
/// task.join();
/// task.stop();
/// ```
struct TaskAfterItsEnd;

/// A body must not borrow from the function that starts it.
///
/// ```no_run
/// # use punctual_rt::{Control, Nanos, Task, TaskConfig};
/// let mut runs = 0;
/// Task::spawn(&TaskConfig::periodic(Nanos::from_ms(1)), move |_| { runs += 1; Control::Stop });
/// ```
/// ```compile_fail,E0373
/// # use punctual_rt::{Control, Nanos, Task, TaskConfig};
/// let mut runs = 0;
/// Task::spawn(&TaskConfig::periodic(Nanos::from_ms(1)), |_| { runs += 1; Control::Stop });
/// ```
struct BodyThatBorrows;

/// The values that a body captures must be `Send`.
///
/// ```no_run
/// # use punctual_rt::{Control, Nanos, Task, TaskConfig};
/// let kept = std::sync::Arc::new(1);
/// Task::spawn(&TaskConfig::periodic(Nanos::from_ms(1)), move |_| { let _ = &kept; Control::Stop });
/// ```
/// ```compile_fail,E0277
/// # use punctual_rt::{Control, Nanos, Task, TaskConfig};
/// let kept = std::rc::Rc::new(1);
/// Task::spawn(&TaskConfig::periodic(Nanos::from_ms(1)), move |_| { let _ = &kept; Control::Stop });
/// ```
struct BodyOfAnotherThread;

/// The thread that took a lock must be the one that releases it.
///
/// ```no_run
/// # use punctual_rt::sync::PiMutex;
/// static SHARED: PiMutex<u32> = PiMutex::new(0);
/// std::thread::spawn(|| drop(SHARED.lock()));
/// ```
/// ```compile_fail,E0277
/// # use punctual_rt::sync::PiMutex;
/// static SHARED: PiMutex<u32> = PiMutex::new(0);
/// let held = SHARED.lock().unwrap();
/// std::thread::spawn(move || drop(held));
/// ```
struct LockOfAnotherThread;

/// A body must not keep its reference to the cycle after it returns.
///
/// ```no_run
/// # use punctual_rt::{Control, Nanos, Task, TaskConfig, Wake};
/// let mut last = Wake::default();
/// Task::spawn(&TaskConfig::periodic(Nanos::from_ms(1)), move |cycle| { last = cycle.wake; Control::Stop });
/// ```
/// ```compile_fail
/// # use punctual_rt::{Control, Cycle, Nanos, Task, TaskConfig};
/// let mut last: Option<&mut Cycle<'static>> = None;
/// Task::spawn(&TaskConfig::periodic(Nanos::from_ms(1)), move |cycle| { last = Some(cycle); Control::Stop });
/// ```
struct CycleThatIsKept;

/// The system calls without the crate's checks are private, so that no program can request a priority that hangs the
/// machine.
///
/// ```no_run
/// # use punctual_rt::Policy;
/// punctual_rt::setup::set_policy(Policy::Fifo(96)).unwrap_err();
/// ```
/// ```compile_fail,E0603
/// # use punctual_rt::Policy;
/// punctual_rt::sys::set_policy(Policy::Fifo(96)).unwrap_err();
/// ```
struct PastTheRules;
