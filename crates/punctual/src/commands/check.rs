//! `punctual check`: audit, measure under load, say whether the need is held.

use crate::cli::{CheckArgs, FailOn};
use crate::commands::here::Here;
use crate::commands::session::{self, Outputs};
use crate::exit::Exit;
use crate::render;
use anyhow::Result;
use punctual_core::audit::worst;
use punctual_core::cpu_set::CpuSet;
use punctual_core::placement::Cpus;
use punctual_core::profile::{Kind, Need};
use punctual_core::report::{Answer, Report};
use punctual_core::scenario::{Amount, Mechanism, Policy, ProbeThread, Scenario, TimerPhase};
use punctual_hist::Nanos;

/// The whole job.
pub fn run(args: &CheckArgs) -> Result<Exit> {
    let here = Here::read();
    let cpus = args.cpus.clone().unwrap_or_else(|| cpus_worth_checking(&here.cpus));
    let scenario = scenario(args, &cpus).checked(&here.cpus).map_err(render::words::scenario_error)?;
    let need = Need { kind: Kind::Periodic, period: Some(args.period), budget: Some(args.budget), cpus };
    let findings = here.audit(&need);
    let recording = Outputs::recording_path(args.out.as_deref());
    let outputs =
        Outputs { html: Some(recording.with_extension("html")), recording, progress: !args.json, live: false };
    let setting = here.setting(outputs.load_dir(), findings, true);
    session::check_loads(&scenario.load_phases, &setting.load_dir)?;
    let finished = session::run(&scenario, &setting, &outputs)?;
    let report = &finished.report;
    render::print(&if args.json {
        render::json::check(report, Some(&outputs.recording))
    } else {
        render::text::check(report, Some(&outputs.recording), outputs.html.as_deref(), render::style())
    })?;
    Ok(finished.exit(exit_of(report, args.fail_on)))
}

/// CPUs somebody isolated were isolated for this. Elsewhere every CPU counts but the first, and what shares its core:
/// the rest of the machine, and our own helpers, must run somewhere.
fn cpus_worth_checking(cpus: &Cpus) -> CpuSet {
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

fn scenario(args: &CheckArgs, cpus: &CpuSet) -> Scenario {
    Scenario {
        threads: cpus.iter().map(|cpu| ProbeThread { cpu, period: args.period }).collect(),
        policy: Policy::Fifo(args.priority),
        mechanism: Mechanism::Absolute,
        phase: TimerPhase::Auto,
        warm_up: Amount::Time(Nanos::from_ms(500)),
        length: Amount::Time(args.duration),
        budget: Some(args.budget),
        limit: None,
        dma_latency_us: None,
        load_phases: args.load.0.clone(),
        load_cpus: None,
        suite: None,
    }
}

fn exit_of(report: &Report, fail_on: Option<FailOn>) -> Exit {
    let failed = if report.write_error.is_some() { Exit::Error } else { Exit::Fine };
    failed
        .and(Exit::exceeded_if(report.verdict.answer == Answer::NotHeld))
        .and(Exit::exceeded_if(fail_on.is_some_and(|level| worst(&report.findings) >= Some(level.least()))))
        .and(Exit::doubtful_if(report.verdict.answer == Answer::Inconclusive || !report.trust.ok()))
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
