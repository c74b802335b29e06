//! `punctual check`: audits, measures under load, and says whether the need is held.

use crate::cli::{CHECK_LOADS, CheckArgs, Form, Loads, PRIORITY, parse_loads};
use crate::commands::export::junit;
use crate::commands::here::Here;
use crate::commands::need::{Stated, Terms};
use crate::commands::preconditions::none_under_way;
use crate::commands::quiet;
use crate::commands::session::{self, Outputs, Telling};
use crate::commands::why_not;
use crate::exit::Exit;
use crate::render::{self, text::Opening};
use anyhow::{Error, Result, bail};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::cpus::Cpus;
use punctual_facts::profile::Need;
use punctual_hist::Nanos;
use punctual_linux::measure::{Explain, Setting};
use punctual_linux::trace;
use punctual_numbers::scenario::{Amount, LoadPhase, Policy, Scenario};
use punctual_tuning::audit::worst;

/// Defaults of the need and of the length of the measurement.
const PERIOD: Nanos = Nanos::from_ms(1);
const BUDGET: Nanos = Nanos::from_us(50);
const DURATION: Nanos = Nanos::from_secs(30);

pub fn run(args: &CheckArgs) -> Result<Exit> {
    if args.why_not {
        return why_not::run(args.form);
    }
    let here = Here::read();
    let wanted = Wanted::of(args, &here.cpus)?;
    let causes = if args.no_explain { None } else { Some(causes(&wanted.load.0)) };
    let scenario = scenario(&wanted, causes.as_ref()).checked(&here.cpus).map_err(render::words::scenario_error)?;
    let (need, profile) = (wanted.need, wanted.profile);
    let findings = here.audit(&need);
    let outputs = Outputs::recording(args.out.as_deref());
    let outputs = Outputs {
        html: Some(outputs.recording.with_extension("html")),
        progress: !args.form.brief && !args.form.json,
        ..outputs
    };
    let setting = Setting { explain: causes, ..here.setting(outputs.load_dir(), findings, true) };
    session::check_loads(&scenario.load_phases, &setting.load_dir)?;
    if let Some(path) = args.junit.as_ref().filter(|path| path.exists()) {
        bail!("{} is there already: remove it, or name another --junit", path.display());
    }
    // The refusal comes before the opening is printed, so that it stands alone.
    none_under_way()?;
    let opening = Opening {
        machine: &here.machine(),
        need: &need,
        profile: profile.as_deref(),
        config: args.need.config.as_deref(),
        findings: Some(&setting.findings),
    };
    let telling = open(args.form, &here, &opening, &scenario)?;
    quiet::before(&scenario, args.wait_quiet, args.form.brief);
    let mut finished = session::run(&scenario, &setting, outputs, None)?;
    let exit = finished.tell(&telling)?;
    if let Some(path) = &args.junit {
        junit(&finished.outputs.recording, path)?;
    }
    let report = &finished.report;
    Ok(exit.and(Exit::exceeded_if(args.fail_on.is_some_and(|least| worst(&report.findings) >= Some(least)))))
}

/// The need and how it is measured. Each value comes from the options, or else from the project file, or else from what
/// is usual for the kind of work, or else from the defaults.
struct Wanted {
    need: Need,
    period: Nanos,
    priority: u8,
    duration: Nanos,
    load: Loads,
    /// Name of the profile that stated the need; `None` if none did.
    profile: Option<String>,
}

impl Wanted {
    fn of(args: &CheckArgs, cpus: &Cpus) -> Result<Self> {
        let typed = Terms {
            period: args.period,
            budget: args.budget,
            cpus: args.cpus.clone(),
            priority: args.priority,
            load: args.load.clone(),
            duration: args.duration,
        };
        let mut stated = Stated::read(&args.need, typed)?;
        let terms = &mut stated.terms;
        let period = *terms.period.get_or_insert(PERIOD);
        terms.budget.get_or_insert(BUDGET);
        terms.cpus.get_or_insert_with(|| cpus_worth_checking(cpus));
        Ok(Self {
            need: stated.need(),
            period,
            priority: stated.terms.priority.unwrap_or(PRIORITY),
            profile: stated.name,
            duration: stated.terms.duration.unwrap_or(DURATION),
            load: stated.terms.load.map_or_else(|| parse_loads(CHECK_LOADS).map_err(Error::msg), Ok)?,
        })
    }
}

/// Prints the audit and how long the measurement will take, before anything is measured.
fn open(form: Form, here: &Here, opening: &Opening<'_>, scenario: &Scenario) -> Result<Telling> {
    if form.json || form.brief || form.full {
        return Ok(Telling::Form(form, here.reader()));
    }
    let style = render::style();
    let text = render::text::opening(opening, style);
    render::print(&format!("{text}\n{}", render::text::ahead(scenario, style)))?;
    Ok(Telling::Opened(here.reader()))
}

/// The isolated CPUs, because they were isolated for real-time work. If there are none, all CPUs but the first core:
/// the rest of the machine and our own helper threads need a CPU to run on.
pub fn cpus_worth_checking(cpus: &Cpus) -> CpuSet {
    let isolated = cpus.isolated.intersection(&cpus.online);
    if !isolated.is_empty() {
        return isolated;
    }
    let first = cpus.allowed.iter().next();
    let core: CpuSet = first
        .map(|cpu| cpus.siblings.get(&cpu).cloned().unwrap_or_else(|| [cpu].into_iter().collect()))
        .unwrap_or_default();
    let others = cpus.allowed.difference(&core);
    if others.is_empty() { cpus.allowed.clone() } else { others }
}

/// The untraced phases together take this many times as long as the traced phases after them.
const UNTRACED_PARTS: u32 = 4;

/// The search for causes: in a second pass over the load phases, so that tracing does not disturb the first pass.
/// Without permission to trace, counters are read during the first pass instead; this disturbs it no more than showing
/// progress does.
fn causes(load_phases: &[LoadPhase]) -> Explain {
    let count = load_phases.len();
    let second_pass = (count..2 * count).filter_map(|phase| u16::try_from(phase).ok());
    let phases = if trace::permitted() { second_pass.collect() } else { Vec::new() };
    Explain { windows_max: Explain::WINDOWS_MAX, phases, ..Explain::default() }
}

/// The load phases (twice if there is a traced pass), and the time that all of them take.
fn passes(wanted: &Wanted, causes: Option<&Explain>) -> (Vec<LoadPhase>, Nanos) {
    if causes.is_none_or(|causes| causes.phases.is_empty()) {
        return (wanted.load.0.clone(), wanted.duration);
    }
    let untraced = |phase: &LoadPhase| LoadPhase { parts: phase.parts.saturating_mul(UNTRACED_PARTS), ..phase.clone() };
    let phases = wanted.load.0.iter().map(untraced).chain(wanted.load.0.iter().cloned()).collect();
    let traced = Nanos::from_ns(wanted.duration.as_ns() / u64::from(UNTRACED_PARTS));
    (phases, wanted.duration.plus(traced))
}

fn scenario(wanted: &Wanted, causes: Option<&Explain>) -> Scenario {
    let (load_phases, length) = passes(wanted, causes);
    let policy = Policy::Fifo(wanted.priority);
    Scenario {
        warm_up: Amount::Time(Nanos::from_ms(500)),
        budget: wanted.need.budget,
        load_phases,
        ..Scenario::plain(wanted.need.cpus.iter(), wanted.period, policy, Amount::Time(length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worth(allowed: &str, isolated: &str, siblings: &[(u32, &str)]) -> String {
        let set = |list| CpuSet::parse_list(list).unwrap();
        let cpus = Cpus {
            online: set(allowed),
            allowed: set(allowed),
            isolated: set(isolated),
            siblings: siblings.iter().map(|(cpu, list)| (*cpu, set(list))).collect(),
        };
        cpus_worth_checking(&cpus).to_string()
    }

    #[test]
    fn one_core_is_left_for_everybody_else() {
        assert_eq!(worth("0-3", "", &[]), "1-3");
        assert_eq!(worth("0-3", "", &[(0, "0,2")]), "1,3");
        assert_eq!(worth("0-3", "2-3", &[]), "2-3");
        assert_eq!(worth("5", "", &[]), "5", "a single CPU is better shared than not measured");
        assert_eq!(worth("0-1", "", &[(0, "0-1")]), "0-1");
    }
}
