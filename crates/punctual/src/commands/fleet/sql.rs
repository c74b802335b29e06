//! The ready questions in SQL, for three engines, with what the user asked for.
//!
//! Texts of the user are literals, quoted for the engine; names of columns are those of [`By`] alone.

use crate::cli::{AskArgs, By, Dialect, Question};

const COMMON: &str = include_str!("../../../../../contrib/fleet/sql/common.sql");

pub fn sql(args: &AskArgs, machine: Option<&str>, dialect: Dialect) -> String {
    let tables = match dialect {
        Dialect::Duckdb => include_str!("../../../../../contrib/fleet/sql/duckdb.sql"),
        Dialect::Datafusion => include_str!("../../../../../contrib/fleet/sql/datafusion.sql"),
        Dialect::Clickhouse => include_str!("../../../../../contrib/fleet/sql/clickhouse.sql"),
    };
    let question = match args.question {
        Question::Worst => include_str!("../../../../../contrib/fleet/sql/worst.sql"),
        Question::Shared => include_str!("../../../../../contrib/fleet/sql/shared.sql"),
        Question::Brought => include_str!("../../../../../contrib/fleet/sql/brought.sql"),
        Question::Changed => include_str!("../../../../../contrib/fleet/sql/changed.sql"),
        Question::Percentiles => include_str!("../../../../../contrib/fleet/sql/percentiles.sql"),
        Question::Newest => include_str!("../../../../../contrib/fleet/sql/newest.sql"),
    };
    let question = question.replace("{group}", column(args.by));
    let late = match args.budget {
        Some(_) => include_str!("../../../../../contrib/fleet/sql/own-budget.sql"),
        None => include_str!("../../../../../contrib/fleet/sql/recorded-budget.sql"),
    };
    format!("{tables}{}{late}{COMMON}{question}", params(args, machine, dialect))
}

fn params(args: &AskArgs, machine: Option<&str>, dialect: Dialect) -> String {
    let number = |value: Option<u64>| value.map_or_else(|| "NULL".to_owned(), |value| value.to_string());
    let machine = machine.map_or_else(|| "NULL".to_owned(), |name| literal(name, dialect));
    // ClickHouse has a type of its own for values that may be missing.
    let (whole, text) = match dialect {
        Dialect::Clickhouse => ("Nullable(Int64)", "Nullable(String)"),
        Dialect::Duckdb | Dialect::Datafusion => ("BIGINT", "VARCHAR"),
    };
    format!(
        "CREATE VIEW params AS SELECT CAST({} AS {whole}) AS budget_ns, CAST({} AS BIGINT) AS per_million, \
         CAST({machine} AS {text}) AS machine;\n",
        number(args.budget.map(punctual_hist::Nanos::as_ns)),
        args.misses_per_million,
    )
}

/// A text as a literal. Only `ClickHouse` takes backslashes for the beginning of an escape.
fn literal(text: &str, dialect: Dialect) -> String {
    let text = if dialect == Dialect::Clickhouse { text.replace('\\', "\\\\") } else { text.to_owned() };
    // No engine takes a NUL in the middle of a statement, and no name of a machine has one.
    format!("'{}'", text.replace('\0', "").replace('\'', "''"))
}

fn column(by: By) -> &'static str {
    match by {
        By::Machine => "r.machine",
        By::Model => "r.model",
        By::KernelRelease => "r.kernel_release",
        By::KernelFlavour => "r.kernel_flavour",
        By::Architecture => "r.architecture",
        By::Program => "r.program",
        By::Configuration => "r.configuration",
        By::Phase => "c.phase",
        By::Cpu => "c.cpu",
        By::Month => "r.month",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_never_a_command() {
        let evil = "x'; DROP TABLE runs; --\n\\";
        assert_eq!(literal(evil, Dialect::Duckdb), "'x''; DROP TABLE runs; --\n\\'");
        assert_eq!(literal("\\'", Dialect::Clickhouse), "'\\\\'''");
    }
}
