//! `punctual export`: writes a recording, or the result of another program, in the format of another program.

use crate::cli::{ExportArgs, ExportFormat, Quiet};
use crate::commands::files::write_new;
use crate::commands::source::one_result;
use crate::exit::Exit;
use crate::render::{self, units, words};
use anyhow::{Context, Error, Result, bail};
use punctual_hist::Nanos;
use punctual_linux::recording::read_file;
use punctual_linux::result_file::{ResultFile, replace};
use punctual_numbers::export::{Gate, doubts, gate, hdr_over_time, influx, run_of};
use punctual_numbers::foreign::ForeignRun;
use punctual_numbers::recording::Recording;
use punctual_numbers::report::{DUE_WANTED, Report};
use std::path::Path;

/// Reads, writes. Repairs of and doubts about the input are printed on standard error, since most formats have no place
/// for them. Exits with 3 if a format that states pass or fail could state neither.
pub fn run(args: &ExportArgs) -> Result<Exit> {
    let is_table = args.format == ExportFormat::Parquet;
    if !is_table && (args.run.is_some() || args.machine_name.is_some()) {
        bail!("--run and --machine-name are columns of --format parquet: other formats have no place for them");
    }
    let file = one_result(&args.file, args.import)?;
    let cut_off = matches!(&file, ResultFile::Recording(recording) if recording.cut_off.is_some());
    let told = if is_table {
        table(args, &file)?;
        Exit::Fine
    } else {
        text(args, &file)?
    };
    Ok(told.and(Exit::doubtful_if(cut_off)))
}

fn text(args: &ExportArgs, file: &ResultFile) -> Result<Exit> {
    let of_recording;
    let (run, budget) = match file {
        ResultFile::Recording(recording) => {
            let budget = args.budget.or(recording.header.scenario.budget);
            of_recording = judged(recording, budget);
            (&of_recording, budget)
        }
        ResultFile::Foreign(run) => (&**run, args.budget),
    };
    let text = match file {
        // HDR is the only export format that stores times, so it is written from the recording.
        ResultFile::Recording(recording) if args.format == ExportFormat::Hdr => {
            hdr_over_time(recording, run).map_err(Error::from)
        }
        ResultFile::Recording(recording) if args.format == ExportFormat::Influx => {
            Ok(influx(run, Some(recording.header.started_unix_ns)))
        }
        ResultFile::Recording(recording) if args.format == ExportFormat::Junit => {
            let mut recording = recording.clone();
            recording.header.scenario.budget = budget;
            render::export::report(&Report::of(&recording))
        }
        _ => render::export::text(args.format, run, budget),
    };
    let text = text.with_context(|| format!("export {}", args.file.display()))?;
    write(args, &text)?;
    say_notes(run, args.form);
    let is_gate = matches!(args.format, ExportFormat::Ktap | ExportFormat::Lava | ExportFormat::Junit);
    let open = |series| {
        let gate = gate(run, series, budget);
        gate.is_open() || (gate != Gate::NoBudget && doubts(run, series).next().is_some())
    };
    Ok(Exit::doubtful_if(is_gate && run.series.iter().any(open)))
}

/// Writes a recording as `JUnit` XML to a file that must not exist yet.
pub fn junit(recording: &Path, to: &Path) -> Result<()> {
    let text = render::export::report(&Report::of(&read_file(recording)?))?;
    write_new(to, text)
}

fn say_notes(run: &ForeignRun, form: Quiet) {
    if !form.quiet {
        run.notes.iter().for_each(|note| render::say(&format!("note: {note}")));
    }
}

/// The recording as a foreign run. Anything that may have hidden latency becomes a doubt, so that no exported verdict
/// passes a run that the report does not pass.
fn judged(recording: &Recording, budget: Option<Nanos>) -> ForeignRun {
    let report = Report::of(recording);
    let mut run = run_of(recording);
    run.started = units::mail_date(recording.header.started_unix_ns);
    let mut doubts: Vec<String> =
        report.trust.reasons.iter().filter(|doubt| doubt.direction().hides()).map(words::distrust).collect();
    // One miss is enough to fail, so too few releases are a doubt only if the run might pass.
    let may_pass = run.series.iter().any(|series| gate(&run, series, budget) == Gate::Held);
    if may_pass && report.verdict.due < DUE_WANTED {
        let due = units::counted(report.verdict.due, "release");
        doubts.push(format!("only {due} came due, which is too few for a verdict"));
    }
    let idle = report.cpus.iter().filter(|cpu| cpu.row.ran == 0);
    doubts.extend(idle.map(|cpu| format!("CPU {} has no samples at all", cpu.cpu)));
    run.notes.extend(doubts.iter().map(|doubt| format!("doubted: {doubt}").replace(units::THIN, " ")));
    run
}

fn write(args: &ExportArgs, text: &str) -> Result<()> {
    match &args.out {
        None => render::print(text)?,
        // Prometheus's collector may read the file at any time, and later exports replace it, so it is replaced in one
        // step.
        Some(path) if args.format == ExportFormat::Prometheus => {
            replace(path, text.as_bytes()).with_context(|| format!("write {}", path.display()))?;
        }
        Some(path) => write_new(path, text)?,
    }
    Ok(())
}

#[cfg(feature = "parquet")]
fn table(args: &ExportArgs, file: &ResultFile) -> Result<()> {
    use punctual_numbers::export::{fleet_head, fleet_rows, foreign_fleet_head, foreign_fleet_rows};
    use render::export::parquet::parquet;
    let Some(out) = &args.out else { bail!("Parquet is not text: name the file to write with --out") };
    let name = args.run.clone().unwrap_or_else(|| crate::commands::files::title(&args.file));
    let mut run = match file {
        ResultFile::Recording(recording) => fleet_head(recording),
        ResultFile::Foreign(run) => foreign_fleet_head(run),
    };
    run.machine = args.machine_name.clone().or(run.machine);
    let bytes = match file {
        ResultFile::Recording(recording) => parquet(&name, &run, fleet_rows(recording)),
        ResultFile::Foreign(foreign) => parquet(&name, &run, foreign_fleet_rows(foreign)),
    };
    let bytes = bytes.with_context(|| format!("export {}", args.file.display()))?;
    write_new(out, &bytes)?;
    if let ResultFile::Foreign(run) = file {
        say_notes(run, args.form);
    }
    Ok(())
}

#[cfg(not(feature = "parquet"))]
fn table(_: &ExportArgs, _: &ResultFile) -> Result<()> {
    bail!("{}; --format csv needs no such build", crate::commands::left_out("Parquet"))
}
