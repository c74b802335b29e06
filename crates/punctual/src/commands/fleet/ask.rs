//! `punctual fleet ask`: has `DuckDB` answer a ready question, and judges the counts that it returns.
//!
//! `DuckDB` is run as a program, or as a package of Python, whichever is found. It is not part of this program: its C++
//! sources take longer to build than everything else together.

use super::schema::refuse_later;
use super::sql::sql;
use crate::cli::{AskArgs, Dialect, Question};
use crate::exit::Exit;
use crate::render::{self, fleet::answer};
use anyhow::{Context, Result, bail};
use punctual_hist::Nanos;
use punctual_numbers::fleet::shared::Counted;
use punctual_numbers::fleet::{AgedRun, Answer, Brought, GroupRow, MachineRow};
use punctual_numbers::trend::Changed;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

type Row = Map<String, Value>;

/// What Python runs: it reads SQL from its input and prints the rows of the last statement as JSON.
const PYTHON: &str = "import duckdb, json, sys
done = duckdb.connect().execute(sys.stdin.read())
names = [column[0] for column in done.description]
json.dump([dict(zip(names, row)) for row in done.fetchall()], sys.stdout, default=str)
";

pub fn run(args: &AskArgs) -> Result<Exit> {
    if let Some(dialect) = args.sql {
        render::print(&sql(args, args.machine.as_deref(), dialect))?;
        return Ok(Exit::Fine);
    }
    let Ok(about) = std::fs::read_to_string(args.pack.join("punctual-fleet.json")) else {
        let pack = args.pack.display();
        bail!("{pack} holds no packed fleet; make one:\n  punctual fleet pack RECORDINGS --out {pack}");
    };
    refuse_later(&args.pack, &about)?;
    let names = super::names::read(&args.pack.join("private"));
    let engine = Engine::found()?;
    let machine = match args.question {
        Question::Changed => Some(machine(args, &engine, &names)?),
        _ => args.machine.clone(),
    };
    let rows = engine.rows(&args.pack, &sql(args, machine.as_deref(), Dialect::Duckdb))?;
    let judged = judged(args.question, machine.as_deref(), &rows).context("read the engine's answer")?;
    let asked = answer::Asked { answer: &judged, names: &names, pack: &args.pack };
    render::print(&if args.json {
        answer::json(&asked)?
    } else if args.csv {
        answer::csv(&rows)
    } else {
        answer::text(&asked, args.form.quiet, render::style())
    })?;
    Ok(exit(&judged))
}

/// 2 if the newest runs are worse, and 3 if no machine has enough runs to tell.
fn exit(answer: &Answer) -> Exit {
    let Answer::Newest { fleet, machines } = answer else { return Exit::Fine };
    let worse = fleet.iter().any(|of| of.worse) || machines.iter().any(|of| of.worse);
    Exit::exceeded_if(worse).and(Exit::doubtful_if(machines.iter().all(|of| of.odds.is_none())))
}

/// The machine that is named, by its own name or its masked one; or else the one that misses the largest share of its
/// releases.
fn machine(args: &AskArgs, engine: &Engine, names: &BTreeMap<String, String>) -> Result<String> {
    let asked = AskArgs { question: Question::Worst, ..args.clone() };
    let rows = engine.rows(&args.pack, &sql(&asked, None, Dialect::Duckdb))?;
    let mut machines = rows.iter().filter_map(|row| text(row, "machine"));
    let Some(wanted) = &args.machine else {
        return machines.next().context("there is no recording in the tables");
    };
    machines.find(|machine| machine == wanted || names.get(machine) == Some(wanted)).with_context(|| {
        format!(
            "no machine of these tables is called {wanted}; all their names:\n  punctual fleet ask {} worst",
            args.pack.display()
        )
    })
}

enum Engine {
    Program,
    Python,
}

impl Engine {
    fn found() -> Result<Self> {
        let runs = |command: &mut Command| {
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success())
        };
        if runs(Command::new("duckdb").arg("--version")) {
            return Ok(Self::Program);
        }
        if runs(Command::new("python3").args(["-c", "import duckdb"])) {
            return Ok(Self::Python);
        }
        bail!(
            "the question needs DuckDB, which is neither installed as a program (duckdb) nor as a package of Python. \
             Install one, for example:\n  python3 -m venv duckdb && duckdb/bin/pip install duckdb && . duckdb/bin/activate"
        )
    }

    /// The rows of the last statement. The engine works in the folder of the tables, so that no path is part of a
    /// statement.
    fn rows(&self, pack: &Path, sql: &str) -> Result<Vec<Row>> {
        let mut command = match self {
            Self::Program => {
                let mut command = Command::new("duckdb");
                command.args(["-batch", "-bail", "-json", ":memory:"]);
                command
            }
            Self::Python => {
                let mut command = Command::new("python3");
                command.args(["-c", PYTHON]);
                command
            }
        };
        let mut child = command
            .current_dir(pack)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("start DuckDB")?;
        // The engine reads all of its input before it answers, so that neither waits for the other.
        // A bar of progress would stand among the rows.
        let sql = format!("SET enable_progress_bar = false;\n{sql}");
        let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(sql.as_bytes()));
        let output = child.wait_with_output().context("wait for DuckDB")?;
        if !output.status.success() {
            let told = String::from_utf8_lossy(&output.stderr);
            bail!("DuckDB failed: {}", told.trim().lines().last().unwrap_or("it said nothing"));
        }
        written.context("pass the question to DuckDB")?;
        // The program prints nothing for no rows.
        let printed = output.stdout.trim_ascii();
        if printed.is_empty() {
            Ok(Vec::new())
        } else {
            serde_json::from_slice(printed).context("read the answer of DuckDB")
        }
    }
}

fn text(row: &Row, name: &str) -> Option<String> {
    match row.get(name)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn count(row: &Row, name: &str) -> Result<u64> {
    row.get(name).and_then(Value::as_u64).with_context(|| format!("{name} is no count: {:?}", row.get(name)))
}

fn length(row: &Row, name: &str) -> Option<Nanos> {
    row.get(name)?.as_u64().map(Nanos::from_ns)
}

fn judged(question: Question, machine: Option<&str>, rows: &[Row]) -> Result<Answer> {
    let named = |row: &Row, name: &str| text(row, name).unwrap_or_default();
    Ok(match question {
        Question::Worst => {
            let row = |row: &Row| {
                Ok(MachineRow {
                    machine: named(row, "machine"),
                    runs: count(row, "runs")?,
                    due: count(row, "due")?,
                    missed: count(row, "missed")?,
                    max: length(row, "max_ns"),
                    bad: count(row, "bad")? > 0,
                })
            };
            Answer::Worst { machines: rows.iter().map(row).collect::<Result<_>>()? }
        }
        Question::Shared => {
            let row = |row: &Row| {
                Ok(Counted {
                    candidate: named(row, "candidate"),
                    bad_with: count(row, "bad_with")?,
                    good_with: count(row, "good_with")?,
                    bad_without: count(row, "bad_without")?,
                    good_without: count(row, "good_without")?,
                })
            };
            Answer::shared(&rows.iter().map(row).collect::<Result<Vec<_>>>()?)
        }
        Question::Brought => {
            let row = |row: &Row| {
                Ok(Brought {
                    item: named(row, "item"),
                    was: named(row, "was"),
                    became: named(row, "became"),
                    machines: count(row, "machines")?,
                    worse: count(row, "worse")?,
                    better: count(row, "better")?,
                    odds: 1.0,
                    named: false,
                })
            };
            Answer::brought(rows.iter().map(row).collect::<Result<_>>()?)
        }
        Question::Changed => {
            let row =
                |row: &Row| Changed { item: named(row, "item"), was: text(row, "was"), became: text(row, "became") };
            let machine = machine.unwrap_or_default().to_owned();
            Answer::Changed { machine, differences: rows.iter().map(row).collect() }
        }
        Question::Percentiles => {
            let row = |row: &Row| {
                let [p50, p99, p99_9, p99_99, p99_999, max] =
                    ["p50_ns", "p99_ns", "p99_9_ns", "p99_99_ns", "p99_999_ns", "max_ns"].map(|name| length(row, name));
                let (group, activations) = (named(row, "grouped"), count(row, "activations")?);
                Ok(GroupRow { group, activations, p50, p99, p99_9, p99_99, p99_999, max })
            };
            Answer::Percentiles { groups: rows.iter().map(row).collect::<Result<_>>()? }
        }
        Question::Newest => {
            let row = |row: &Row| {
                let values = ["p50_ns", "p99_ns", "p99_9_ns"].map(|name| length(row, name));
                Ok(AgedRun { machine: named(row, "machine"), age: count(row, "age")?, values })
            };
            Answer::newest(&rows.iter().map(row).collect::<Result<Vec<_>>>()?)
        }
    })
}
