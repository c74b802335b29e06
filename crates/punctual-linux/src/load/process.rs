//! The worker process: one thread per CPU that works, one thread that waits for the end, and the lines for the parent.
//! A thread that hangs in the kernel does not prevent the report.

use super::parent::{StopRequest, say, say_end};
use super::worker::{Load, Shared, Worker, WorkerEvent};
use super::{LoadError, LoadSpec, program};
use crate::sys::process::become_ordinary;
use crate::sys::sched::set_cpus;
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::Nanos;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long threads may take to end after being told to.
const WIND_DOWN: Duration = Duration::from_millis(1200);

/// The hidden command `__load`: runs the load `name` on the CPUs `on`, with temporary files in `dir`, until standard
/// input ends, SIGTERM or SIGINT comes, or `limit` is over. Call it only in the first thread of a process that does not
/// measure: other threads would keep their scheduling policy.
pub fn worker_main(name: &str, on: &CpuSet, dir: &Path, limit: Nanos) -> Result<(), LoadError> {
    let outcome = run(name, on, dir, limit);
    if let Err(error) = &outcome {
        say(&format!("error {error}"));
    }
    outcome
}

fn run(name: &str, on: &CpuSet, dir: &Path, limit: Nanos) -> Result<(), LoadError> {
    let spec = LoadSpec::parse(name)?;
    if on.is_empty() {
        return Err(LoadError::NoCpu { name: name.to_owned() });
    }
    let failed = |operation: String| |source| LoadError::Start { name: name.to_owned(), operation, source };
    become_ordinary().map_err(failed("leave the real-time class".to_owned()))?;
    set_cpus(None, on)
        .map_err(failed(format!("run on CPUs {on} (are they online, and allowed by taskset and cgroup?)")))?;
    brace();
    lift_run_time_limit();
    let stop = StopRequest::listen(limit).map_err(failed("listen for the end".to_owned()))?;
    match spec {
        LoadSpec::BuiltIn(load) => {
            set_parent_process_death_signal(Some(Signal::KILL))
                .map_err(|error| failed("tie itself to its parent".to_owned())(error.into()))?;
            run_threads(load, on, dir, stop).map_err(failed("start a thread".to_owned()))
        }
        LoadSpec::Preset(preset) => program::supervise(name, &preset.command(on.len(), dir, limit)?, &stop),
        LoadSpec::Program(words) => program::supervise(name, &words, &stop),
    }
}

/// Lifts the limit on run time (`RLIMIT_RTTIME`) that the measuring process sets for its real-time threads. Loads
/// inherit it but do not need it.
fn lift_run_time_limit() {
    let limit = getrlimit(Resource::Rttime);
    let _ = setrlimit(Resource::Rttime, Rlimit { current: limit.maximum, ..limit });
}

/// Prepares this process for full memory and full disks, as far as the system allows.
fn brace() {
    // If memory runs out, the kernel should kill the load and not the user's programs.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    // Above a file size limit, `write` should fail as on a full disk instead of ending the process.
    let _ = signal_hook::flag::register(libc::SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

fn run_threads(load: &'static Load, on: &CpuSet, dir: &Path, stop: StopRequest) -> io::Result<()> {
    let (sender, events) = channel();
    let shared = Arc::new(Shared {
        ends: AtomicBool::new(false),
        operations: AtomicU64::new(0),
        trouble: Mutex::new(None),
        dir: dir.to_owned(),
        workers: on.len(),
    });
    let mut threads = Vec::new();
    for (number, cpu) in on.iter().enumerate() {
        let worker = Worker { cpu, shared: Arc::clone(&shared), events: sender.clone() };
        let thread = std::thread::Builder::new().name(format!("{}-{cpu}", load.name));
        threads.push(Some(thread.spawn(move || {
            let _farewell = Farewell { number, events: worker.events.clone() };
            worker.pin()?;
            (load.run)(&worker)
        })?));
    }
    std::thread::spawn(move || {
        while !stop.within(Duration::from_secs(1)) {}
        let _ = sender.send(WorkerEvent::Stop);
    });
    conduct(&shared, &events, threads);
    Ok(())
}

/// Reports the end of a thread when it is dropped, which also happens when the thread panics.
struct Farewell {
    number: usize,
    events: Sender<WorkerEvent>,
}

impl Drop for Farewell {
    fn drop(&mut self) {
        let _ = self.events.send(WorkerEvent::Ended(self.number));
    }
}

/// Waits until all threads are ready, then until the end, and reports to the parent.
fn conduct(shared: &Shared, events: &Receiver<WorkerEvent>, mut threads: Vec<Option<JoinHandle<io::Result<()>>>>) {
    let (mut begun, mut alive) = (0, threads.len());
    let mut since = (Instant::now(), 0);
    while alive > 0 {
        match events.recv() {
            Ok(WorkerEvent::Begun) => {
                begun += 1;
                if begun == threads.len() {
                    since = (Instant::now(), shared.operations.load(Ordering::Relaxed));
                    say("ready");
                }
            }
            Ok(WorkerEvent::Ended(number)) => {
                alive -= 1;
                collect(shared, &mut threads[number]);
                if begun < threads.len() {
                    break; // before all were ready: the load has not started
                }
            }
            Ok(WorkerEvent::Stop) | Err(_) => break,
        }
    }
    shared.ends.store(true, Ordering::Relaxed);
    let deadline = Instant::now() + WIND_DOWN;
    while alive > 0 {
        match events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(WorkerEvent::Ended(number)) => {
                alive -= 1;
                collect(shared, &mut threads[number]);
            }
            Ok(_) => {}
            Err(_) => {
                shared.report(|| format!("{alive} of its threads still hung in the kernel when it ended"));
                break;
            }
        }
    }
    let operations = shared.operations.load(Ordering::Relaxed) - since.1;
    let trouble = shared.trouble.lock().unwrap_or_else(PoisonError::into_inner).take();
    say_end(Some(operations), since.0.elapsed(), trouble.as_deref());
}

fn collect(shared: &Shared, thread: &mut Option<JoinHandle<io::Result<()>>>) {
    match thread.take().map(JoinHandle::join) {
        None | Some(Ok(Ok(()))) => {}
        Some(Ok(Err(error))) => shared.report(|| error.to_string()),
        Some(Err(_)) => shared.report(|| "one of its threads panicked".to_owned()),
    }
}
