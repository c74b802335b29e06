//! `punctual measure`: measures without an audit, with every option of the measurement.

use crate::cli::{GravityWish, MeasureArgs, Period, PhaseName, PolicyName, SuiteName, TraceArgs};
use crate::commands::here::Here;
use crate::commands::kernels::Kernels;
use crate::commands::need::{Stated, Terms};
use crate::commands::quiet;
use crate::commands::resume;
use crate::commands::session::{self, Outputs, Telling};
use crate::exit::Exit;
use crate::render;
use crate::render::words;
use anyhow::{Result, bail};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::cpus::Cpus;
use punctual_hist::Nanos;
use punctual_linux::load::LoadSpec;
use punctual_linux::measure::{Explain, Gravities, Setting, reset_gravity, tune_gravity};
use punctual_linux::trace;
use punctual_numbers::scenario::{
    Amount, Core, CoreContext, DRIVER_WARM_UP, LoadPhase, Mechanism, Policy, ProbeThread, Scenario, TimerPhase,
};

const DEFAULT_LENGTH: Nanos = Nanos::from_secs(30);
const GRAPHICS: &str = "x11perf";

pub fn run(args: &MeasureArgs) -> Result<Exit> {
    if args.list_loads {
        render::print(&render::for_people(render::loads::list))?;
        return Ok(Exit::Fine);
    }
    if args.html.is_some() {
        super::of_whole_program("--html", "punctual report --html")?;
    }
    let mut machine = Here::read();
    if let Some(path) = &args.resume.resume {
        return resume::run(args, path, &machine);
    }
    let args = &filled(args)?;
    let (phases, mut notes) = if args.suite.is_some() { classic() } else { (args.phases(), Vec::new()) };
    let (mechanism, second) = mechanisms(args)?;
    if args.explain.explain && mechanism.driver_of().is_some() {
        bail!("--explain needs single activations, which a driver of a core does not tell: use --context user");
    }
    let scenario = scenario(args, mechanism, phases, &machine.cpus)?;
    let kernels = second.map(|second| Kernels::of(args, [mechanism, second], scenario.clone())).transpose()?;
    for stretch in kernels.as_ref().map_or_else(|| vec![scenario.clone()], |kernels| kernels.scenarios().to_vec()) {
        stretch.checked(&machine.cpus).map_err(words::scenario_error)?;
    }
    fits(&args.explain, &scenario)?;
    let outputs = Outputs {
        html: args.html.clone(),
        progress: !args.form.brief && !args.form.json,
        live: args.live,
        ..Outputs::recording(args.out.as_deref())
    };
    let load_dir = args.load_dir.clone().unwrap_or_else(|| outputs.load_dir());
    session::check_loads(&scenario.load_phases, &load_dir)?;
    let measured: Vec<Mechanism> = [Some(mechanism), second].into_iter().flatten().collect();
    if let Some(note) = settle_gravity(args, &measured, &scenario.cpus())? {
        notes.push(note);
        // The recording states the gravity with the facts about the machine.
        machine = Here::read();
    }
    if args.explain.explain_engine == Some(trace::EngineChoice::Bpf) && !cfg!(feature = "bpf") {
        notes.push(super::left_out("BPF"));
    }
    // An ordinary thread on one kernel and a real-time thread on the other must not be compared.
    let ordinary_if_refused = kernels.is_none();
    let setting = machine.setting(load_dir, Vec::new(), ordinary_if_refused);
    let setting = Setting { notes, explain: explain(&args.explain), endpoint: args.endpoint.clone(), ..setting };
    quiet::before(&scenario, args.wait_quiet, args.form.brief);
    if let Some(kernels) = kernels {
        super::of_whole_program("two kernels in turn", "punctual compare")?;
        return kernels.run(&setting);
    }
    session::run(&scenario, &setting, outputs, None)?.tell(&Telling::Form(args.form, machine.reader()))
}

/// The options, completed by the values of a project file or preset. A published suite states all values itself.
fn filled(args: &MeasureArgs) -> Result<MeasureArgs> {
    let args = args.clone();
    let typed = Terms {
        period: None,
        budget: args.budget,
        cpus: args.cpus.clone(),
        priority: args.priority,
        load: args.load.clone(),
        duration: args.duration,
    };
    let Terms { period, budget, cpus, priority, load, duration } = Stated::read(&args.need, typed)?.terms;
    if args.suite.is_some() {
        return Ok(args);
    }
    let duration = duration.filter(|_| args.activations.is_none());
    Ok(MeasureArgs { period: args.period.or(period.map(Period::All)), budget, cpus, priority, load, duration, ..args })
}

/// Refuses trace buffers that would leave too little memory for the rest of the machine. The kernel itself does not
/// refuse them.
fn fits(args: &TraceArgs, scenario: &Scenario) -> Result<()> {
    let cpus = scenario.cpus().len();
    match args.trace_buffer.zip(trace::largest_buffer(cpus as u64)) {
        Some((asked, most)) if asked > most => bail!(
            "--trace-buffer for each of {} would take more than a quarter of the memory that is available: ask for at \
             most {}M",
            render::units::counted(cpus as u64, "CPU"),
            most >> 20
        ),
        _ => Ok(()),
    }
}

fn explain(args: &TraceArgs) -> Option<Explain> {
    args.explain.then(|| Explain {
        threshold: args.explain_threshold,
        rarest: None,
        windows_max: args.windows,
        buffer_bytes: args.trace_buffer,
        phases: Vec::new(),
        engine: args.explain_engine.unwrap_or_default(),
    })
}

/// How the threads wait, and how they wait on the second of two kernels.
fn mechanisms(args: &MeasureArgs) -> Result<(Mechanism, Option<Mechanism>)> {
    match args.kernel.as_slice() {
        _ if args.suite.is_some() => Ok((Mechanism::Nanosleep, None)),
        [one] => Ok((mechanism_on(args, *one)?, None)),
        [_, _] if args.context != CoreContext::User => {
            bail!("--context {} measures one kernel: leave the other out of --kernel", context_word(args.context))
        }
        [one, two] if one != two => Ok((mechanism_on(args, *one)?, Some(mechanism_on(args, *two)?))),
        _ => bail!("--kernel takes one kernel, or two different ones, as in --kernel linux,evl"),
    }
}

/// How the threads wait on Linux or on a core.
fn mechanism_on(args: &MeasureArgs, kernel: Option<Core>) -> Result<Mechanism> {
    let context = context_word(args.context);
    match (kernel, args.context, args.mechanism) {
        (None, CoreContext::User, mechanism) => with_endpoint(args, on_clock(args, mechanism)?),
        _ if args.endpoint.is_some() => bail!("--endpoint is for --kernel linux: a round trip is Linux's"),
        _ if args.clock.is_some() => bail!("--clock is for --kernel linux: a real-time core has clocks of its own"),
        (None, ..) => bail!("--context {context} is for a real-time core: add --kernel evl or --kernel cobalt"),
        (Some(core), context, Mechanism::Absolute) => Ok(Mechanism::on(core, context)),
        (Some(Core::Cobalt), CoreContext::User, Mechanism::Timerfd) => Ok(Mechanism::CobaltTimer),
        _ => bail!(
            "on a real-time core threads sleep until the release (--mechanism absolute); only on Cobalt, and in context \
             user, they can wait for a timer file instead (--mechanism timerfd)"
        ),
    }
}

/// Refuses a round trip without an endpoint, and an endpoint without a round trip.
fn with_endpoint(args: &MeasureArgs, mechanism: Mechanism) -> Result<Mechanism> {
    match (mechanism, &args.endpoint) {
        (Mechanism::RoundTrip(_), None) => {
            bail!("a round trip needs to know where the other side is: add --endpoint, as in --endpoint /dev/rpmsg0")
        }
        (Mechanism::RoundTrip(_), Some(_)) | (_, None) => Ok(mechanism),
        (_, Some(endpoint)) => bail!("--endpoint {endpoint} is for --mechanism rpmsg or --mechanism shm"),
    }
}

/// How the threads wait for releases on the clock that was asked for.
fn on_clock(args: &MeasureArgs, mechanism: Mechanism) -> Result<Mechanism> {
    match (args.clock, mechanism) {
        (None, mechanism) => Ok(mechanism),
        (Some(clock), Mechanism::Absolute) => Ok(Mechanism::OnClock(clock)),
        (Some(clock), _) => bail!("--clock {clock} goes with --mechanism absolute only: leave --mechanism out"),
    }
}

const fn context_word(context: CoreContext) -> &'static str {
    match context {
        CoreContext::User => "user",
        CoreContext::Kernel => "kernel",
        CoreContext::Irq => "irq",
    }
}

/// Does what is asked about the gravity of the core that is to be measured. Returns a note for the recording.
fn settle_gravity(args: &MeasureArgs, mechanisms: &[Mechanism], cpus: &CpuSet) -> Result<Option<String>> {
    let core = mechanisms.iter().find_map(|mechanism| mechanism.core()).map(|(core, _)| core);
    let (core, cpu) = match (args.gravity, core, cpus.iter().next()) {
        (GravityWish::Leave, ..) => return Ok(None),
        (_, Some(core), Some(cpu)) => (core, cpu),
        _ => bail!("--gravity is for a real-time core: add --kernel evl or --kernel cobalt"),
    };
    let settled = match args.gravity {
        GravityWish::Tune => {
            if !args.form.brief && !args.form.json {
                render::say("The driver of the core looks for its gravity, which takes up to 80 s.");
            }
            tune_gravity(core, cpu).map(|found| {
                let Gravities { irq_ns, kernel_ns, user_ns } = found;
                format!(
                    "the gravity of the core was tuned on CPU {cpu} before the run: irq {irq_ns} ns, kernel {kernel_ns} ns, \
                     user {user_ns} ns; it stays until the next boot or until --gravity reset"
                )
            })
        }
        _ => reset_gravity(core, cpu)
            .map(|()| "the gravity of the core was set back to that of its kernel before the run".to_owned()),
    };
    settled.map(Some).map_err(|error| words::measure_error(error.into()))
}

fn scenario(args: &MeasureArgs, mechanism: Mechanism, load_phases: Vec<LoadPhase>, cpus: &Cpus) -> Result<Scenario> {
    let threads = threads(args, cpus, if mechanism == Mechanism::Nanosleep { 50 } else { 1 })?;
    let shortest = threads.iter().map(|t| t.period).min().unwrap_or_default();
    let length = args.activations.map_or(Amount::Time(args.duration.unwrap_or(DEFAULT_LENGTH)), Amount::Activations);
    Ok(Scenario {
        policy: policy(args, shortest),
        mechanism,
        phase: phase(args),
        warm_up: match mechanism.driver_of() {
            Some(_) => Amount::Time(DRIVER_WARM_UP),
            None if args.suite.is_some() => Amount::Activations(2),
            None => args.warm_up,
        },
        length: if args.suite.is_some() { Amount::Activations(998 * load_phases.len() as u64) } else { length },
        budget: args.budget,
        limit: args.limit,
        dma_latency_us: args.dma_latency,
        load_phases,
        load_cpus: args.load_cpus.clone(),
        suite: args.suite.map(|SuiteName::Classic2002| "classic-2002".to_owned()),
        threads,
    })
}

fn threads(args: &MeasureArgs, cpus: &Cpus, default_ms: u64) -> Result<Vec<ProbeThread>> {
    let all = |measured: &CpuSet, period| measured.iter().map(|cpu| ProbeThread { cpu, period }).collect();
    let asked = args.cpus.as_ref();
    Ok(match &args.period {
        None => all(asked.unwrap_or(&cpus.allowed), Nanos::from_ms(default_ms)),
        Some(Period::All(period)) => all(asked.unwrap_or(&cpus.allowed), *period),
        Some(Period::ByCpu(periods)) => {
            let named: CpuSet = periods.keys().copied().collect();
            if asked.is_some_and(|asked| *asked != named) {
                bail!("--period names CPUs {named}, --cpus names others: name the same, or leave --cpus away");
            }
            periods.iter().map(|(cpu, period)| ProbeThread { cpu: *cpu, period: *period }).collect()
        }
    })
}

fn policy(args: &MeasureArgs, shortest: Nanos) -> Policy {
    match args.policy {
        PolicyName::Fifo => Policy::Fifo(args.priority()),
        PolicyName::Rr => Policy::RoundRobin(args.priority()),
        PolicyName::Other => Policy::Other,
        PolicyName::Deadline => {
            Policy::Deadline { runtime: args.runtime.unwrap_or(Nanos::from_ns(shortest.as_ns() / 5)) }
        }
    }
}

fn phase(args: &MeasureArgs) -> TimerPhase {
    match args.phase {
        PhaseName::Auto => TimerPhase::Auto,
        PhaseName::Aligned => TimerPhase::Aligned,
        PhaseName::Staggered => TimerPhase::Staggered,
        PhaseName::Random => TimerPhase::Random(args.seed),
    }
}

/// The load phases of the 2002 study, and why one of its loads is left out: graphics needs a program and a display.
/// After an idle phase, each load runs for 1000 sleeps of 50 ms.
fn classic() -> (Vec<LoadPhase>, Vec<String>) {
    let phase = |name: &str| LoadPhase { loads: vec![name.to_owned()], parts: 1 };
    let mut phases = vec![LoadPhase { loads: Vec::new(), parts: 1 }];
    phases.extend(["io-copy", "io-read", "io-write", "proc"].map(phase));
    match LoadSpec::parse(GRAPHICS).ok().and_then(|graphics| graphics.unavailable()) {
        None => phases.push(phase(GRAPHICS)),
        Some(why) => return (phases, vec![format!("the graphics part of the suite is skipped: {why}")]),
    }
    (phases, Vec::new())
}
