//! Measures kernels in guests, several at once, and keeps each result in a file.
//!
//! The name of a result's file holds a checksum over all that decides the result, so an interrupted command goes on where
//! it was, and a result is never taken for that of other files or options.

use super::Interrupted;
use crate::cli::GuestArgs;
use crate::render::{
    self,
    lab::{self, NotMeasured},
};
use anyhow::{Context, Result, anyhow, bail};
use flate2::read::GzDecoder;
use punctual_hist::Nanos;
use punctual_lab::choice::Choice;
use punctual_lab::image::arch_of_program;
use punctual_lab::inside::{Job, OWN_CONFIG, PREEMPT_MODES};
use punctual_lab::kernel::Arch;
use punctual_lab::packages::{self, Shelf};
use punctual_lab::qemu::Clock;
use punctual_lab::run::{Order, PROGRAM, Subject, run};
use punctual_lab::{key, program};
use punctual_linux::result_file::replace;
use punctual_numbers::kernels::KernelRuns;
use punctual_numbers::recording::{Recording, read};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Paths of the recordings in a guest.
const PLAIN: &str = "/run/plain.punctual";
const TRACED: &str = "/run/traced.punctual";
/// Endings of the files beside a recording that tell about its kernel.
const PREEMPT: &str = "preempt";
const CONFIG: &str = "config.gz";
/// Part of the length of a measurement for which causes are looked for.
const TRACED_PART: u64 = 2;
/// From which latency on an activation is traced. Tracing alone makes ordinary ones 60 us late at 8 ns an instruction.
const TRACED_FROM: &str = "60us";

/// Everything that the measurements of a command have in common.
pub struct Bench {
    programs: Vec<(Arch, PathBuf)>,
    guest: GuestArgs,
    /// Number of guests at once.
    at_once: usize,
    /// Several CPUs and the host's time.
    real: bool,
    explain: bool,
    pub interrupted: Arc<AtomicBool>,
}

/// A kernel with all its measurements.
pub struct Measured {
    pub name: String,
    pub runs: Vec<Recording>,
    pub traced: Vec<Recording>,
    /// The mode of pre-emption in force; `None` if the kernel does not tell.
    pub mode: Option<String>,
    /// The options with which the kernel was built; `None` if the kernel does not tell.
    pub config: Option<String>,
    /// Files of the measurements: those without a trace, then those with one.
    pub files: [Vec<PathBuf>; 2],
    /// Why measurements are missing; `None` if none is.
    pub failure: Option<NotMeasured>,
}

/// A kernel that was got, or why it was not.
pub type Got = (String, Result<Subject, String>);

/// One run of one kernel.
struct Task<'a> {
    /// Index of the kernel.
    kernel: usize,
    subject: &'a Subject,
    seed: u64,
    /// Whether causes are looked for too.
    explain: bool,
}

/// The recordings of one run.
struct Ran {
    /// The mode of pre-emption in force.
    mode: Option<String>,
    /// The options with which the kernel was built.
    config: Option<String>,
    plain: (PathBuf, Recording),
    traced: Option<(PathBuf, Recording)>,
}

impl Bench {
    pub fn open(guest: &GuestArgs, real: bool, explain: bool, interrupted: Arc<AtomicBool>) -> Result<Self> {
        fs::create_dir_all(&guest.out).with_context(|| format!("create {}", guest.out.display()))?;
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let at_once = guest.jobs.map_or(cpus, |jobs| jobs as usize);
        // Guests with several CPUs in the host's time disturb each other.
        let at_once = if real { 1 } else { at_once };
        Ok(Self { programs: programs(&guest.binary)?, guest: guest.clone(), at_once, real, explain, interrupted })
    }

    /// Gets the kernels. One that cannot be got does not keep the others from being measured. After an interruption, the
    /// rest is left out, because nothing will be measured.
    pub fn get<'a>(&self, kernels: impl IntoIterator<Item = &'a Choice>) -> Vec<Got> {
        let packages = || Shelf::open(&packages::cache(self.guest.cache.as_deref())?, false, render::say);
        let one = |choice: &Choice| {
            let subject = choice.subject(&packages).and_then(|subject| {
                program::find(subject.arch.qemu())?;
                self.program(subject.arch)?;
                Ok(subject)
            });
            (choice.name.clone(), subject.map_err(|error| format!("{error:#}")))
        };
        kernels.into_iter().take_while(|_| !self.interrupted.load(Relaxed)).map(one).collect()
    }

    fn program(&self, arch: Arch) -> Result<&Path> {
        let found = self.programs.iter().find(|(of, _)| *of == arch);
        found.map(|(_, path)| path.as_path()).with_context(|| {
            format!(
                "there is no punctual for guests of {0}: name a static one with --binary FILE (from a package for {0}, or \
                 built by `cargo build --release --target {0}-unknown-linux-musl`)",
                arch.machine()
            )
        })
    }

    /// Measures each kernel once for each seed. An error is one of this machine, such as a full disk.
    pub fn measure(&self, kernels: &[Got], seeds: &[u64]) -> Result<Vec<Measured>> {
        let tasks: Vec<Task<'_>> = (0..)
            .zip(kernels)
            .filter_map(|(kernel, (_, got))| Some((kernel, got.as_ref().ok()?)))
            .flat_map(|(kernel, subject)| {
                let first = seeds.first().copied();
                seeds.iter().map(move |seed| Task {
                    kernel,
                    subject,
                    seed: *seed,
                    explain: self.explain && Some(*seed) == first,
                })
            })
            .collect();
        let done = self.carry_out(&tasks)?;
        if self.interrupted.load(Relaxed) {
            bail!(Interrupted { results: self.guest.out.clone() });
        }
        let mut measured: Vec<Measured> = kernels.iter().map(|(name, got)| Measured::of(name, got)).collect();
        for (task, ran) in tasks.iter().zip(done) {
            let Some(measured) = measured.get_mut(task.kernel) else { continue };
            match ran {
                Ok(ran) => measured.add(ran),
                Err(missing) => measured.failure = Some(missing),
            }
        }
        Ok(measured)
    }

    /// Carries the tasks out, as many at once as wished. Their results come in the order of the tasks.
    fn carry_out(&self, tasks: &[Task<'_>]) -> Result<Vec<Result<Ran, NotMeasured>>> {
        let queue = Mutex::new(tasks.iter().enumerate());
        let stop = AtomicBool::new(false);
        let next = || {
            let ended = stop.load(Relaxed) || self.interrupted.load(Relaxed);
            if ended { None } else { queue.lock().unwrap_or_else(PoisonError::into_inner).next() }
        };
        let work = || -> Vec<(usize, Result<Result<Ran, NotMeasured>>)> {
            std::iter::from_fn(next)
                .map(|(place, task)| {
                    let ran = self.task(task, place + 1, tasks.len());
                    stop.fetch_or(ran.is_err(), Relaxed);
                    (place, ran)
                })
                .collect()
        };
        let mut done: Vec<(usize, Result<Result<Ran, NotMeasured>>)> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.at_once).map(|_| scope.spawn(work)).collect();
            workers
                .into_iter()
                .flat_map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        done.sort_by_key(|(place, _)| *place);
        done.into_iter().map(|(_, ran)| ran).collect()
    }

    fn task(&self, task: &Task<'_>, number: usize, of: usize) -> Result<Result<Ran, NotMeasured>> {
        let Task { subject, seed, explain, .. } = task;
        let stem = self.stem(task)?;
        let [plain, traced] = ["punctual", "traced.punctual"].map(|ending| stem.with_extension(ending));
        if let Some(ran) = kept(&plain, explain.then_some(traced.as_path()))? {
            return Ok(Ok(ran));
        }
        render::say(&lab::progress(&subject.name, *seed, number, of));
        let order = Order {
            program: self.program(subject.arch)?,
            luggage: &[],
            jobs: self.jobs(*explain),
            clock: if self.real { Clock::Host } else { Clock::Virtual { seed: *seed } },
            memory_mib: self.guest.memory,
            limit: Duration::from_nanos(self.guest.limit.as_ns()),
            log: &stem.with_extension("log"),
        };
        let answers = match run(subject, &order, &self.interrupted)? {
            Ok(answers) => answers,
            Err(failure) => return Ok(Err(lab::not_measured(&subject.name, failure))),
        };
        // The first file of an answer is the recording; a kernel need not have the others.
        let about = answers.first().map(|answer| answer.files.iter().skip(1)).into_iter().flatten();
        for (bytes, ending) in about.zip([PREEMPT, CONFIG]) {
            bytes.as_ref().map_or(Ok(()), |bytes| keep(&stem.with_extension(ending), bytes))?;
        }
        // The traced recording is written first, so that a plain one means that the run is complete.
        for (answer, path) in answers.iter().zip([&plain, &traced]).rev() {
            let [Some(bytes), ..] = answer.files.as_slice() else {
                return Ok(Err(NotMeasured::because(&subject.name, answer.err.trim())));
            };
            keep(path, bytes)?;
        }
        let ran = kept(&plain, explain.then_some(traced.as_path()))?;
        Ok(ran.ok_or_else(|| NotMeasured::because(&subject.name, "its recording is gone")))
    }

    /// The path of a run's files without an ending.
    fn stem(&self, task: &Task<'_>) -> Result<PathBuf> {
        let Task { subject, seed, explain, .. } = task;
        let mut key = key::Key::default();
        key.file(self.program(subject.arch)?)?;
        key.file(&subject.image)?;
        for module in &subject.modules {
            key.file(module)?;
        }
        key.text(&format!("{:?} {} {} {:?}", subject.words, self.real, self.guest.memory, self.jobs(*explain)));
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = subject.name.chars().map(plain).take(60).collect();
        // `Path::with_extension` replaces what comes after the last dot, so the name has none.
        Ok(self.guest.out.join(format!("{}-{:08x}-seed-{seed}", name.trim_matches('-'), key.value())))
    }

    /// What a guest does: the measurement, and a shorter one with the kernel's trace.
    fn jobs(&self, explain: bool) -> Vec<Job> {
        let GuestArgs { load, period, duration, .. } = &self.guest;
        let job = |duration: Nanos, out: &str, more: &[&str]| {
            let mut words = vec![PROGRAM.to_owned(), "measure".to_owned(), "--brief".to_owned()];
            let cpus = if self.real { "1-3" } else { "0" };
            words.extend(["--cpus", cpus, "--warm-up", "100ms", "--load-dir", "/tmp"].map(str::to_owned));
            words.extend(["--period".to_owned(), format!("{}ns", period.as_ns())]);
            words.extend(["--duration".to_owned(), format!("{}ns", duration.as_ns())]);
            words.extend(["--load".to_owned(), load.to_string(), "--out".to_owned(), out.to_owned()]);
            words.extend(more.iter().map(|word| (*word).to_owned()));
            let files = [out, PREEMPT_MODES, OWN_CONFIG].map(str::to_owned).to_vec();
            Job { words, files, beside: Vec::new() }
        };
        let traced = Nanos::from_ns(duration.as_ns() / TRACED_PART);
        let look = ["--explain", "--explain-threshold", TRACED_FROM, "--windows", "400", "--trace-buffer", "8M"];
        let mut jobs = vec![job(*duration, PLAIN, &[])];
        jobs.extend(explain.then(|| job(traced, TRACED, &look)));
        jobs
    }
}

impl Measured {
    pub fn runs(&self) -> KernelRuns<'_> {
        KernelRuns { name: self.name.clone(), runs: self.runs.iter().collect(), traced: self.traced.iter().collect() }
    }

    fn of(name: &str, got: &Result<Subject, String>) -> Self {
        let failure = got.as_ref().err().map(|why| NotMeasured::because(name, why));
        Self {
            name: name.to_owned(),
            runs: Vec::new(),
            traced: Vec::new(),
            mode: None,
            config: None,
            files: Default::default(),
            failure,
        }
    }

    fn add(&mut self, ran: Ran) {
        let [plain, traced] = &mut self.files;
        let (path, recording) = ran.plain;
        (self.mode, self.config) = (ran.mode, ran.config);
        plain.push(path);
        self.runs.push(recording);
        if let Some((path, recording)) = ran.traced {
            traced.push(path);
            self.traced.push(recording);
        }
    }
}

/// The programs for guests, by architecture.
fn programs(named: &[PathBuf]) -> Result<Vec<(Arch, PathBuf)>> {
    if named.is_empty() {
        let own = std::env::current_exe().context("find this program's own file")?;
        // A dynamic program is no error yet: none is needed if all results are there.
        return Ok(arch_of_program(&own).map(|arch| vec![(arch, own)]).unwrap_or_default());
    }
    let one = |path: &PathBuf| Ok((arch_of_program(path).context("--binary")?, path.clone()));
    named.iter().map(one).collect()
}

/// A run whose files are there. A file that cannot be read is an error, because it would be overwritten.
fn kept(plain: &Path, traced: Option<&Path>) -> Result<Option<Ran>> {
    let one = |path: &Path| {
        let bytes = fs::read(path).with_context(|| format!("read {}", path.display()))?;
        let recording = read(&bytes).map_err(|error| anyhow!("{}: {error}; remove it", path.display()))?;
        Ok::<_, anyhow::Error>((path.to_owned(), recording))
    };
    if !plain.is_file() || traced.is_some_and(|path| !path.is_file()) {
        return Ok(None);
    }
    let modes = fs::read_to_string(plain.with_extension(PREEMPT)).unwrap_or_default();
    let mode = modes.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(mode, _)| mode.to_owned());
    let config = unpacked(&plain.with_extension(CONFIG));
    Ok(Some(Ran { mode, config, plain: one(plain)?, traced: traced.map(one).transpose()? }))
}

/// A configuration as the kernel packs it; `None` without such a file.
fn unpacked(path: &Path) -> Option<String> {
    /// Far more than a configuration has.
    const MOST_BYTES: u64 = 4 << 20;
    let mut text = String::new();
    GzDecoder::new(File::open(path).ok()?).take(MOST_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Writes a file whole or not at all, because a file that is there is not measured again.
fn keep(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, bytes).with_context(|| format!("write {}", path.display()))
}
