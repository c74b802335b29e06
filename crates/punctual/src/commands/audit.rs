//! `punctual audit`: lists the properties of this machine that stand in the way of real time.
//!
//! Tree -> Machine -> Findings -> one of several output formats. Reads only, and works the same on a captured machine.

use super::need::{Stated, Terms};
use super::source::{Source, knob};
use crate::cli::{AuditArgs, AuditForm};
use crate::exit::Exit;
use crate::render;
use crate::render::audit::{Audit, AuditDocument, DifferenceDocument, Names};
use anyhow::{Result, bail};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::finding::{Finding, Severity, State};
use punctual_facts::profile::Need;
use punctual_tuning::audit::{audit, is_blind, worst};
use punctual_tuning::diff::{AuditDifference, AuditSide};
use punctual_tuning::knobs::Case;
use std::path::{Path, PathBuf};

pub fn run(args: &AuditArgs) -> Result<Exit> {
    if let Some(files) = &args.diff {
        return difference(args, files);
    }
    let knob = args.explain.as_deref().map(knob).transpose()?;
    let source = Source::open(&args.which)?;
    let judged = Judged::new(&source, args)?;
    let case = judged.case();
    let audit = Audit { case: &case, findings: &judged.findings };
    let least = args.fail_on;

    let text = match (knob, args.form) {
        (Some(knob), _) => render::for_people(|| render::audit::essay(&audit, knob, render::style())),
        (_, AuditForm { json: true, .. }) => render::document(&AuditDocument::of(&audit))?,
        (_, AuditForm { markdown: true, .. }) => render::audit::markdown(&audit)?,
        (_, AuditForm { sarif: true, .. }) => render::audit::sarif(&audit, source.captured(), args.all),
        (_, AuditForm { brief: true, .. }) => render::brief::audit(&audit),
        (_, AuditForm { junit: true, .. }) => render::audit::junit(&audit, least)?,
        _ => render::for_people(|| render::audit::list(&audit, render::columns(), args.all)),
    };
    render::print(&text)?;
    let fails = |least| worst(&judged.findings).is_some_and(|severity| severity >= least);
    // If a fatal condition could not be checked, `--fail-on` must not pass.
    let is_doubtful = least.is_some() && judged.findings.iter().any(is_fatal_and_unknown);
    let is_doubtful = is_doubtful || is_blind(&judged.findings);
    Ok(Exit::exceeded_if(least.is_some_and(fails)).and(Exit::doubtful_if(is_doubtful)))
}

fn is_fatal_and_unknown(finding: &Finding) -> bool {
    finding.severity == Severity::Fatal && matches!(finding.state, State::Unknown(_))
}

/// Prints the difference between two captured machines, or between a captured machine and this one. A difference is a
/// failure only with `--fail-on`.
fn difference(args: &AuditArgs, files: &[PathBuf]) -> Result<Exit> {
    let (from, to) = (files.first().map(PathBuf::as_path), files.get(1).map(PathBuf::as_path));
    let source = |path: Option<&Path>| path.map_or_else(|| Ok(Source::here()), Source::captured_in);
    let (first, second) = (source(from)?, source(to)?);
    let (a, b) = (Judged::new(&first, args)?, Judged::new(&second, args)?);
    let (a_cpus, b_cpus) = (a.case().rt().clone(), b.case().rt().clone());
    let difference = AuditDifference::between(
        &AuditSide { machine: &first.machine, cpus: &a_cpus, findings: &a.findings },
        &AuditSide { machine: &second.machine, cpus: &b_cpus, findings: &b.findings },
    );
    let name = |path: Option<&Path>| path.map_or_else(|| "this machine".to_owned(), |path| path.display().to_string());
    let (from, to) = (name(from), name(to));
    let names = Names { from: &from, to: &to };
    let text = if args.form.json {
        render::document(&DifferenceDocument { names, difference: &difference })?
    } else if args.form.markdown {
        render::audit::difference_markdown(&difference, names)?
    } else {
        render::for_people(|| render::audit::difference_text(&difference, names, render::style()))
    };
    if !text.is_empty() {
        render::print(&text)?;
    }
    let fails = |least| difference.worst().is_some_and(|severity| severity >= least);
    Ok(Exit::exceeded_if(args.fail_on.is_some_and(fails)))
}

struct Judged<'a> {
    source: &'a Source,
    need: Need,
    findings: Vec<Finding>,
}

impl<'a> Judged<'a> {
    fn new(source: &'a Source, args: &AuditArgs) -> Result<Self> {
        let typed = Terms { period: args.period, budget: args.budget, cpus: args.cpus.clone(), ..Terms::default() };
        let need = Stated::read(&args.need, typed)?.need();
        refuse_offline(source, &need.cpus)?;
        let findings = audit(source.tree(), &source.machine, &need);
        Ok(Self { source, need, findings })
    }

    fn case(&self) -> Case<'_> {
        Case::new(self.source.tree(), &self.source.machine, &self.need)
    }
}

fn refuse_offline(source: &Source, cpus: &CpuSet) -> Result<()> {
    let Some(online) = source.machine.topology.online.known() else { return Ok(()) };
    let missing = cpus.difference(online);
    if !missing.is_empty() {
        bail!("--cpus {cpus}: CPU {missing} is not online on this machine; online are {online}");
    }
    Ok(())
}
