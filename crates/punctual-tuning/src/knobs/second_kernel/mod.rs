//! Knobs about the real-time core beside Linux: Cobalt (Xenomai 3) or EVL (Xenomai 4). Without such a core none of them
//! applies.

pub(super) mod build;
pub(super) mod cobalt;
pub(super) mod cobalt_build;
pub(super) mod evl;

use crate::knobs::prelude::*;
use punctual_facts::machine::{Cobalt, CoreState, CoreThread, Evl, Fit, SecondKernel};

/// The core of this machine. Fails if it is not EVL.
fn evl_of<'c>(case: &'c Case<'_>) -> Result<&'c Evl, Doubt> {
    match case.second_kernel()? {
        SecondKernel::Evl(core) => Ok(core),
        SecondKernel::Cobalt(_) => Doubt::not_applicable("the second kernel is Cobalt"),
    }
}

/// The core of this machine. Fails if it is not Cobalt.
fn cobalt_of<'c>(case: &'c Case<'_>) -> Result<&'c Cobalt, Doubt> {
    match case.second_kernel()? {
        SecondKernel::Cobalt(core) => Ok(core),
        SecondKernel::Evl(_) => Doubt::not_applicable("the second kernel is EVL"),
    }
}

fn on_evl(case: &Case<'_>) -> Result<(), Doubt> {
    evl_of(case).map(drop)
}

fn on_cobalt(case: &Case<'_>) -> Result<(), Doubt> {
    cobalt_of(case).map(drop)
}

fn on_either(case: &Case<'_>) -> Result<(), Doubt> {
    case.second_kernel().map(drop)
}

/// Fails unless the core runs. Values that it keeps while it does not run mean nothing.
fn running(case: &Case<'_>, state_knob: &str) -> Result<(), Doubt> {
    Doubt::not_applicable_if(
        case.core_state()? != CoreState::Running,
        format!("the core does not run, see {state_knob}"),
    )
}

/// Good if the core runs. What was asked for at boot is in `parameter`.
fn state(case: &Case<'_>, parameter: &str) -> Judged {
    let core = case.second_kernel()?;
    case.cite(parameter, &case.aside(|case| case.peek(parameter)));
    let state = core.state().as_ref().map(|state| state.name().to_owned());
    case.cite(&format!("the core, according to {}", core.state_path()), &state);
    let state = case.core_state()?;
    if state == CoreState::HalfInitialised {
        if let Some(last) = core.messages().known().and_then(|messages| messages.last()) {
            case.note("the core's last message", last.as_str());
        }
    }
    Doubt::unknown_if(state == CoreState::Warmup, "the core is just starting")?;
    Ok(state == CoreState::Running)
}

/// Good if the core serves every installed library, bad if it serves none. `has` is what the core tells of itself, in the
/// file `path` or beside it.
fn pair(case: &Case<'_>, path: &str, has: &Fact<String>) -> Judged {
    let core = case.second_kernel()?;
    case.cite(&format!("the core, according to {path}"), has);
    let libraries = core.libraries();
    Doubt::unknown_if(libraries.is_empty(), "no library of this core is installed in the usual folders")?;
    for library in libraries {
        let version = library.version.known().map_or("version not told", String::as_str);
        let abi = library.abi.known().map(|abi| format!(", needs ABI {abi}")).unwrap_or_default();
        case.note(library.path.as_str(), format!("{version}{abi}"));
    }
    case.known(path, has.clone(), TellsNothing("the core does not tell its version"))?;
    let fits: Vec<Fit> = libraries.iter().map(|library| core.fits(library)).collect();
    let all = |fit: Fit| fits.iter().all(|one| *one == fit);
    Doubt::unknown_if(
        fits.contains(&Fit::Untold),
        "the files beside the library do not tell which revision of the core's interface it needs, or the core does \
        not tell whether it still serves that revision",
    )?;
    Doubt::unknown_if(
        !all(Fit::Fits) && !all(Fit::Refused),
        "of the installed libraries some fit and some do not, and each program decides which one it loads",
    )?;
    Ok(all(Fit::Fits))
}

/// Good if the gravity was calibrated on this machine, as far as the values tell.
fn calibrated(case: &Case<'_>, path: &str) -> Judged {
    let gravity = case.second_kernel()?.gravity();
    let told = gravity.as_ref().map(|of| {
        format!(
            "gravity of interrupt handlers {} ns, kernel threads {} ns, user threads {} ns",
            of.irq_ns, of.kernel_ns, of.user_ns
        )
    });
    case.cite(path, &told);
    let gravity = case.known(path, gravity.clone(), TellsNothing("the core does not show its gravity"))?;
    Ok(!gravity.is_factory())
}

/// Good if no thread of the core leaves it over and over.
fn switches(case: &Case<'_>, path: &str) -> Judged {
    let threads = case.second_kernel()?.threads();
    let missing = TellsNothing("the core does not show its threads");
    let threads = case.known(path, threads.clone(), missing).inspect_err(|_| case.note(path, "not shown"))?;
    Doubt::not_applicable_if(threads.is_empty(), "the core has no threads now; look while the application runs")?;
    let is_counted = threads.iter().any(|thread| thread.context_switches > 0);
    Doubt::unknown_if(!is_counted, "the core counts nothing: it was built without statistics, or no thread has run")?;
    let told = |thread: &CoreThread| {
        let CoreThread { name, pid, cpu, in_band_switches, context_switches } = thread;
        format!("{name} ({pid}) on CPU {cpu}: {in_band_switches} of {context_switches} switches went to Linux")
    };
    let strays: Vec<String> = threads.iter().filter(|thread| thread.strays()).map(told).collect();
    let most = threads.iter().map(|thread| thread.in_band_switches).max().unwrap_or_default();
    let none = format!(
        "none of {} threads leaves the core again and again (at most {most} switches by one thread)",
        threads.len()
    );
    case.none_found(format!("switches to Linux, in {path}"), strays.join("; "), none)
}

/// Good if the core ends no thread that works for long. The parameter is there if the watchdog was built in.
fn watchdog(case: &Case<'_>, folder: &str) -> Judged {
    case.only_for(Kind::Poll, "work that sleeps within a second never meets the watchdog")?;
    let names = case.names(folder, TellsNothing("the core's parameters are not shown"))?;
    if !names.iter().any(|name| name == "watchdog_timeout") {
        case.note(folder, "no watchdog_timeout");
        return Ok(true);
    }
    case.text(&format!("{folder}/watchdog_timeout"), TellsNothing("not shown")).map(|_| false)
}
