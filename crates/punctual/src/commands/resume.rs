//! `punctual measure --resume`: continues a recording with its own scenario, in the same file.

use crate::cli::MeasureArgs;
use crate::commands::files::refuse_pipe;
use crate::commands::here::Here;
use crate::commands::session::{self, Outputs, Telling};
use crate::exit::Exit;
use crate::render;
use anyhow::{Result, anyhow, bail};
use punctual_linux::in_force::{BOOT_ID, boot_id};
use punctual_linux::measure::{Explain, Setting, now};
use punctual_linux::recording::read_file;
use punctual_linux::trace::EngineChoice;
use punctual_numbers::recording::{Moment, Recording, machine_differences, remaining};
use punctual_numbers::scenario::Amount;
use punctual_numbers::trace::{Rung, Tracing};
use std::path::Path;

/// Reads the recording, checks that this machine made it, and measures the rest of its scenario.
pub fn run(args: &MeasureArgs, path: &Path, machine: &Here) -> Result<Exit> {
    refuse_pipe(path)?;
    let recording = read_file(path)?;
    recording.header.scenario.clone().checked(&machine.cpus).map_err(render::words::scenario_error)?;
    let outputs = Outputs {
        html: args.html.clone(),
        progress: !args.form.brief && !args.form.json,
        live: args.live,
        ..Outputs::recording(Some(path))
    };
    let load_dir = args.load_dir.clone().unwrap_or_else(|| outputs.load_dir());
    let explain = recording.causes.tracing.as_ref().map(as_before);
    let setting = Setting { explain, endpoint: args.endpoint.clone(), ..machine.setting(load_dir, Vec::new(), false) };
    same_machine(&recording, &setting, path)?;
    let asked = args.activations.map(Amount::Activations).or(args.duration.map(Amount::Time));
    let scenario = remaining(&recording, asked)
        .ok_or_else(|| anyhow!("{} is complete: state with --duration how much longer to measure", path.display()))?;
    session::check_loads(&scenario.load_phases, &setting.load_dir)?;
    session::run(&scenario, &setting, outputs, Some(recording))?.tell(&Telling::Form(args.form, machine.reader()))
}

/// Refuses a recording of another machine, another kernel or another boot. A new boot may have undone settings.
fn same_machine(recording: &Recording, setting: &Setting, path: &Path) -> Result<()> {
    let of = path.display();
    let differences = machine_differences(&recording.header.machine, &setting.machine);
    if !differences.is_empty() {
        let told = render::words::runs::differences(&differences, "in the recording", "here");
        bail!("{of} cannot be gone on with here, where it was not measured:\n{told}\nmeasure anew with --out");
    }
    let states = recording.in_force.iter().rev().filter(|state| state.moment == Moment::Before);
    let then = states.flat_map(|state| &state.values).find(|line| line.name == BOOT_ID).map(|line| line.value.clone());
    let last = recording.runs.last();
    let ended = last.map(|run| run.header.epoch.plus(run.until.since(run.at))).unwrap_or_default();
    let another = match (&then, boot_id()) {
        (Some(then), Some(here)) => *then != here,
        _ => now() < ended,
    };
    if another {
        bail!(
            "{of} was measured before this machine was booted anew: measure into a recording of its own with --out, and \
             put both together with punctual merge"
        );
    }
    Ok(())
}

fn as_before(tracing: &Tracing) -> Explain {
    Explain {
        threshold: tracing.threshold,
        rarest: None,
        windows_max: tracing.windows_max,
        buffer_bytes: Some(tracing.buffer_bytes).filter(|bytes| *bytes > 0),
        phases: tracing.phases.clone(),
        engine: match tracing.rung {
            Rung::Timerlat => EngineChoice::Timerlat,
            Rung::Tracefs => EngineChoice::Tracefs,
            Rung::Bpf => EngineChoice::Bpf,
            Rung::Deltas | Rung::InProcess => EngineChoice::Best,
        },
    }
}
