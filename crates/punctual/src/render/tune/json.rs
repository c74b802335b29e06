//! Plans, results and standings as JSON documents; the schemas `plan-1`, `applied-1` and `status-1` say what each part
//! means.

use super::plan::{owner, why};
use super::results::told;
use crate::render::words;
use punctual_linux::apply::{Applied, Reverted, Tried};
use punctual_linux::journal::Undone;
use punctual_tuning::plan::lasting::Starts;
use punctual_tuning::plan::subject;
use punctual_tuning::plan::{Change, Lasts, Plan, StatusRow, Step, Takes, Wishes};
use serde::Serialize;

#[derive(Serialize)]
struct PlanDocument<'a> {
    schema: &'static str,
    tool_version: &'static str,
    profile: &'static str,
    cpus: String,
    housekeeping: String,
    offline: String,
    reasons: &'a [String],
    warnings: Vec<String>,
    changes: Vec<ChangeEntry<'a>>,
    conflicts: Vec<String>,
    left: Vec<LeftEntry<'a>>,
    cmdline_add: &'a [String],
    cmdline_remove: &'a [String],
    starts: &'static str,
    limits: &'a [String],
}

#[derive(Serialize)]
struct ChangeEntry<'a> {
    id: &'a str,
    also: &'a [String],
    title: &'a str,
    before: &'a str,
    after: &'a str,
    why: &'a str,
    cost: &'a str,
    risk: &'a str,
    blast_radius: &'static str,
    takes: &'static str,
    lasts: &'static str,
    undo: &'a str,
    proof: &'a str,
    steps: Vec<StepEntry>,
}

/// A step: what kind, what it is about, what it makes of it.
#[derive(Serialize)]
struct StepEntry {
    kind: &'static str,
    what: String,
    value: String,
}

#[derive(Serialize)]
struct LeftEntry<'a> {
    id: &'a str,
    severity: &'static str,
    reason: String,
}

/// A plan as one JSON document.
pub fn plan(plan: &Plan, wishes: &Wishes) -> serde_json::Result<String> {
    serde_json::to_string_pretty(&PlanDocument {
        schema: "punctual/plan/1",
        tool_version: env!("CARGO_PKG_VERSION"),
        profile: wishes.need.kind.name(),
        cpus: plan.choice.cpus.to_string(),
        housekeeping: plan.choice.housekeeping.to_string(),
        offline: plan.choice.offline.to_string(),
        reasons: &plan.choice.reasons,
        warnings: plan.choice.warnings.iter().map(ToString::to_string).collect(),
        changes: plan.changes.iter().map(change).collect(),
        conflicts: plan.conflicts.iter().map(owner).collect(),
        left: plan
            .left
            .iter()
            .map(|left| LeftEntry { id: &left.id, severity: words::severity(left.severity), reason: why(&left.reason) })
            .collect(),
        cmdline_add: &plan.wanted.words,
        cmdline_remove: &plan.wanted.no_words,
        starts: match plan.starts {
            Starts::NotNeeded => "not-needed",
            Starts::NextBoot => "next-boot",
            Starts::Reboot(_) => "special-reboot",
            Starts::Menu(_) => "menu",
        },
        limits: &plan.limits,
    })
}

fn change(change: &Change) -> ChangeEntry<'_> {
    ChangeEntry {
        id: &change.id,
        also: &change.also,
        title: &change.title,
        before: &change.before,
        after: &change.after,
        why: &change.why,
        cost: &change.cost,
        risk: &change.risk,
        blast_radius: change.blast.name(),
        takes: match change.takes {
            Takes::Now => "now",
            Takes::NextBoot => "next-boot",
        },
        lasts: match change.lasts {
            Lasts::Process => "process",
            Lasts::Reboot => "reboot",
            Lasts::ForGood => "for-good",
        },
        undo: &change.undo,
        proof: &change.proof,
        steps: change.steps.iter().map(step).collect(),
    }
}

fn step(step: &Step) -> StepEntry {
    let entry = |kind, what: &str, value: String| StepEntry { kind, what: what.to_owned(), value };
    match step {
        Step::Write { path, value, .. } => entry("write", path, value.clone()),
        Step::Own { path, content, .. } => entry("own-file", path, content.clone()),
        Step::Edit { path, content, .. } => entry("edit-file", path, String::from_utf8_lossy(content).into_owned()),
        Step::Remove { path } => entry("remove-file", path, String::new()),
        Step::Folder { path } => entry("folder", path, String::new()),
        Step::Affinity { task, cpus } => entry("affinity", &format!("{} ({})", task.comm, task.pid), cpus.to_string()),
        Step::Policy { task, policy } => entry("policy", &format!("{} ({})", task.comm, task.pid), policy.to_string()),
        Step::Nic { device, settings } => {
            let settings: Vec<String> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
            entry("network-device", device, settings.join(" "))
        }
        Step::Silence { unit, lasting } => entry("silence", unit, if *lasting { "mask" } else { "stop" }.to_owned()),
        Step::Run { doing, undoing } => {
            let shown =
                |run: &punctual_tuning::plan::Invocation| format!("{} {}", run.program, run.arguments.join(" "));
            entry(
                "run",
                &doing.as_ref().map(shown).unwrap_or_default(),
                undoing.as_ref().map(|run| format!("undone by {}", shown(run))).unwrap_or_default(),
            )
        }
    }
}

#[derive(Serialize)]
struct StatusDocument<'a> {
    schema: &'static str,
    tool_version: &'static str,
    transactions: Vec<Sentence<'a>>,
    rows: Vec<RowEntry<'a>>,
}

#[derive(Serialize)]
struct Sentence<'a> {
    is_good: bool,
    text: &'a str,
}

#[derive(Serialize)]
struct RowEntry<'a> {
    id: &'a str,
    what: &'a str,
    configured: Option<&'a str>,
    booted: Option<&'a str>,
    effective: Option<&'a str>,
    standing: &'static str,
    because: Option<&'a str>,
}

/// How things stand as one JSON document.
pub fn status(sentences: &[(bool, String)], rows: &[StatusRow]) -> serde_json::Result<String> {
    serde_json::to_string_pretty(&StatusDocument {
        schema: "punctual/status/1",
        tool_version: env!("CARGO_PKG_VERSION"),
        transactions: sentences.iter().map(|(is_good, text)| Sentence { is_good: *is_good, text }).collect(),
        rows: rows
            .iter()
            .map(|row| RowEntry {
                id: &row.id,
                what: &row.what,
                configured: row.configured.as_deref(),
                booted: row.booted.as_deref(),
                effective: row.effective.as_deref(),
                standing: row.standing.name(),
                because: row.standing.because(),
            })
            .collect(),
    })
}

#[derive(Serialize)]
struct AppliedDocument<'a> {
    schema: &'static str,
    tool_version: &'static str,
    transaction: u32,
    stands: bool,
    changes: Vec<FateEntry<'a>>,
    limits: &'a [String],
}

#[derive(Serialize)]
struct FateEntry<'a> {
    id: &'a str,
    fate: &'static str,
    because: String,
}

/// What became of a plan as one JSON document.
pub fn results(plan: &Plan, applied: &Applied) -> serde_json::Result<String> {
    let entry = |tried: &'_ Tried| {
        let (_, fate, because) = told(tried);
        (tried.id.clone(), fate, because)
    };
    let told: Vec<(String, &'static str, String)> = applied.changes.iter().map(entry).collect();
    serde_json::to_string_pretty(&AppliedDocument {
        schema: "punctual/applied/1",
        tool_version: env!("CARGO_PKG_VERSION"),
        transaction: applied.transaction,
        stands: applied.stands,
        changes: told.iter().map(|(id, fate, because)| FateEntry { id, fate, because: because.clone() }).collect(),
        limits: &plan.limits,
    })
}

#[derive(Serialize)]
struct RevertedDocument<'a> {
    schema: &'static str,
    tool_version: &'static str,
    is_closed: bool,
    transactions: &'a [u32],
    undone: Vec<UndoneEntry<'a>>,
    trouble: Vec<TroubleEntry<'a>>,
    damage: Vec<String>,
    unwritten: Option<&'a str>,
}

#[derive(Serialize)]
struct UndoneEntry<'a> {
    id: &'a str,
    what: String,
    how: &'static str,
    because: Option<&'a str>,
}

#[derive(Serialize)]
struct TroubleEntry<'a> {
    id: &'a str,
    what: String,
    why: &'a str,
    is_conflict: bool,
}

/// What was put back as one JSON document.
pub fn reverted(reverted: &Reverted) -> serde_json::Result<String> {
    let undone = reverted.undone.iter().map(|(intent, how)| {
        let (how, because) = match how {
            Undone::Restored => ("restored", None),
            Undone::Nothing { why } => ("nothing", Some(why.as_str())),
            Undone::Left { what } => ("left", Some(what.as_str())),
        };
        UndoneEntry { id: &intent.change, what: subject(&intent.step), how, because }
    });
    let trouble = reverted.trouble.iter().map(|trouble| TroubleEntry {
        id: &trouble.intent.change,
        what: subject(&trouble.intent.step),
        why: &trouble.why,
        is_conflict: trouble.conflict,
    });
    serde_json::to_string_pretty(&RevertedDocument {
        schema: "punctual/reverted/1",
        tool_version: env!("CARGO_PKG_VERSION"),
        is_closed: reverted.closed,
        transactions: &reverted.transactions,
        undone: undone.collect(),
        trouble: trouble.collect(),
        damage: reverted.damage.iter().map(ToString::to_string).collect(),
        unwritten: reverted.unwritten.as_deref(),
    })
}
