//! The tables of a fleet as Parquet: which columns each has, and how the rows of a run fill them.
//!
//! Names and meanings of columns stay the same within one version of the schema; a later version may add columns, and
//! engines read tables of several versions by the names of their columns. `schema.txt` beside this module is the golden
//! form.

use super::SCHEMA;
use crate::render::export::table::{Column, Table};
use anyhow::Result;
use punctual_facts::cpu_set::CpuSet;
use punctual_hist::Nanos;
use punctual_numbers::fleet::{CauseRow, FindingRow, LatencyRow, Origin, Packed, RunRow, SettingRow};

/// A row with what all rows of its run have in common.
struct Of<T> {
    origin: Origin,
    row: T,
}

/// A version of a run that a longer one replaces.
#[derive(Clone, Debug)]
pub struct Retired {
    pub run: String,
    pub version: u64,
}

fn started<T>(of: &Of<T>) -> Option<u64> {
    of.origin.started_unix_ns.map(|ns| ns / 1_000)
}

fn list(cpus: Option<&CpuSet>) -> Option<String> {
    cpus.map(CpuSet::to_string)
}

/// The columns that every table begins with, then those in the brackets.
macro_rules! columns {
    ($($name:literal $kind:ident $of:expr;)*) => {
        &[
            ("run", Column::Text(|of| Some(of.origin.run.clone()))),
            ("version", Column::Number(|of| Some(of.origin.version))),
            ("machine", Column::Text(|of| Some(of.origin.machine.clone()))),
            ("started", Column::Moment(started)),
            $(($name, Column::$kind($of)),)*
        ]
    };
}

const RUNS: Table<Of<RunRow>> = Table {
    schema: SCHEMA,
    columns: columns![
        "kind" Text |of| Some(of.row.kind.name().to_owned());
        "complete" Number |of| Some(u64::from(of.row.complete));
        "program" Text |of| of.row.program.clone();
        "model" Text |of| of.row.facts.model.clone();
        "kernel_release" Text |of| of.row.facts.kernel_release.clone();
        "kernel_flavour" Text |of| of.row.facts.kernel_flavour.clone();
        "architecture" Text |of| of.row.facts.architecture.clone();
        "online_cpus" Text |of| list(of.row.facts.online_cpus.as_ref());
        "isolated_cpus" Text |of| list(of.row.facts.isolated_cpus.as_ref());
        "tick_free_cpus" Text |of| list(of.row.facts.tick_free_cpus.as_ref());
        "smt" Number |of| of.row.facts.smt.map(u64::from);
        "clock" Text |of| of.row.facts.clock.clone();
        "hypervisor" Text |of| of.row.facts.hypervisor.clone();
        "command_line" Text |of| of.row.facts.command_line.clone();
        "configuration" Text |of| Some(of.row.configuration.clone());
        "loads" Text |of| Some(of.row.loads.clone());
        "length_ns" Number |of| Some(of.row.length.as_ns());
        "period_ns" Number |of| of.row.period.map(Nanos::as_ns);
        "budget_ns" Number |of| of.row.budget.map(Nanos::as_ns);
        "ran" Number |of| Some(of.row.ran);
        "skipped" Number |of| Some(of.row.skipped);
        "over_budget" Number |of| of.row.budget.map(|_| of.row.over_budget);
        "max_ns" Number |of| of.row.max.map(Nanos::as_ns);
    ],
    histogram: None,
    same_edges: false,
};

const LATENCIES: Table<Of<LatencyRow>> = Table {
    schema: SCHEMA,
    columns: columns![
        "cpu" Number |of| Some(u64::from(of.row.cpu));
        "phase" Text |of| Some(of.row.phase.clone());
        "traced" Number |of| Some(u64::from(of.row.traced));
        "period_ns" Number |of| of.row.period.map(Nanos::as_ns);
        "ran" Number |of| Some(of.row.ran);
        "skipped" Number |of| Some(of.row.skipped);
        "over_budget" Number |of| of.row.over_budget;
        "min_ns" Number |of| of.row.min.map(Nanos::as_ns);
        "max_ns" Number |of| of.row.max.map(Nanos::as_ns);
    ],
    histogram: Some(|of| (&of.row.cells, None)),
    same_edges: true,
};

const FINDINGS: Table<Of<FindingRow>> = Table {
    schema: SCHEMA,
    columns: columns![
        "finding" Text |of| Some(of.row.finding.clone());
        "severity" Text |of| Some(of.row.severity.clone());
        "state" Text |of| Some(of.row.state.clone());
    ],
    histogram: None,
    same_edges: false,
};

const SETTINGS: Table<Of<SettingRow>> = Table {
    schema: SCHEMA,
    columns: columns![
        "name" Text |of| Some(of.row.name.clone());
        "value" Text |of| Some(of.row.value.clone());
    ],
    histogram: None,
    same_edges: false,
};

const CAUSES: Table<Of<CauseRow>> = Table {
    schema: SCHEMA,
    columns: columns![
        "class" Text |of| Some(of.row.class.clone());
        "name" Text |of| Some(of.row.name.clone());
        "times" Number |of| Some(of.row.times);
        "total_ns" Number |of| Some(of.row.total.as_ns());
        "worst_ns" Number |of| Some(of.row.worst.as_ns());
    ],
    histogram: None,
    same_edges: false,
};

const RETIRED: Table<Retired> = Table {
    schema: SCHEMA,
    columns: &[("run", Column::Text(|of| Some(of.run.clone()))), ("version", Column::Number(|of| Some(of.version)))],
    histogram: None,
    same_edges: false,
};

/// Names of the tables that are kept by month.
pub const TABLES: [&str; 5] = ["runs", "latencies", "findings", "settings", "causes"];
pub const RETIRED_TABLE: &str = "retired";

/// The bytes of one file of each table for these runs, with the table's name. Rows lie in the order of the runs.
pub fn files(runs: &[&Packed]) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let one = |packed: &&Packed| Of { origin: packed.origin.clone(), row: packed.run.clone() };
    Ok(vec![
        ("runs", RUNS.bytes(runs.iter().map(one))?),
        ("latencies", LATENCIES.bytes(rows(runs, |packed| &packed.latencies))?),
        ("findings", FINDINGS.bytes(rows(runs, |packed| &packed.findings))?),
        ("settings", SETTINGS.bytes(rows(runs, |packed| &packed.settings))?),
        ("causes", CAUSES.bytes(rows(runs, |packed| &packed.causes))?),
    ])
}

/// All rows of one table.
fn rows<'a, T: Clone + 'a>(runs: &'a [&Packed], of: fn(&Packed) -> &Vec<T>) -> impl Iterator<Item = Of<T>> + 'a {
    runs.iter().flat_map(move |packed| {
        let row = |row: &T| Of { origin: packed.origin.clone(), row: row.clone() };
        of(packed).iter().map(row).collect::<Vec<_>>()
    })
}

pub fn retired(rows: Vec<Retired>) -> Result<Vec<u8>> {
    RETIRED.bytes(rows.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The schema of every table, as engines see it. A column may be added; none may be renamed or change its meaning
    /// within one version.
    #[test]
    fn the_schema_is_the_golden_one() {
        let lines = |message: String| message.replace("; ", ";\n  ").replace("{ ", "{\n  ");
        let messages = [
            RUNS.message(),
            LATENCIES.message(),
            FINDINGS.message(),
            SETTINGS.message(),
            CAUSES.message(),
            RETIRED.message(),
        ];
        let names = TABLES.iter().chain([&RETIRED_TABLE]);
        let told = names.zip(messages).map(|(name, message)| format!("{name}: {}\n", lines(message)));
        let text = told.collect::<Vec<_>>().concat();
        fixtures::check(
            &fixtures::repository("crates/punctual/src/render/fleet/schema.txt"),
            &format!("{SCHEMA}\n{text}"),
        );
    }
}
