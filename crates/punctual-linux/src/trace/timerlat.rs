//! The kernel's noise tracer, in addition to the rest of the trace. Its counts for interrupts, softirqs and threads are
//! an independent source about them.
//!
//! Each instance has its own tracer, but all share the tracer's options. The options are changed only if nobody else
//! uses the tracers, and are restored afterwards. Their old values are stored in the name of the instance, which exists
//! exactly as long as the tracer. Whoever removes the instance, at the end or at the next start after a `kill -9`,
//! restores the options first.

use super::TraceError;
use super::place::{INSTANCES, OURS, TraceFolder};
use punctual_facts::cpu_set::CpuSet;

/// Follows the id of the process in the name of an instance that runs the tracer.
const SUFFIX: &str = "-osnoise";
/// Separates the saved options in the instance's name.
const WORD: char = '=';
const NAME_MAX: usize = 255;
/// Longest text for a process id and start time, with the character between them.
const PROCESS_MAX: usize = 10 + 1 + 20;
/// Both tracers share their options.
const TRACERS: [&str; 2] = ["osnoise", "timerlat"];
const OPTIONS: &str = "osnoise/options";
const CPUS: &str = "osnoise/cpus";
/// The option for the tracer's own measuring threads, as it reads when on and when off. Without these threads the
/// tracer only observes.
const WORKLOAD: &str = "OSNOISE_WORKLOAD";
const NO_WORKLOAD: &str = "NO_OSNOISE_WORKLOAD";
/// The reason for not using the tracer that is reported if nothing prevents its use.
const NOT_ASKED_FOR: &str = "the engine timerlat was not asked for";

/// Saved options of the tracer, which all instances share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracerOptions {
    workload: bool,
    cpus: String,
}

impl TracerOptions {
    /// Reads the options. The error says why the tracer cannot be used now.
    pub fn read(tracefs: &TraceFolder) -> Result<Self, TraceError> {
        let refused = |why: &str| Err(TraceError::NotUnderstood(why.to_owned()));
        let available = tracefs.read("available_tracers")?;
        if !available.split_whitespace().any(|tracer| tracer == "timerlat") {
            return refused("the kernel was built without CONFIG_TIMERLAT_TRACER");
        }
        let options = tracefs.read(OPTIONS).unwrap_or_default();
        let Some(workload) = workload(&options) else {
            return refused(
                "this kernel's tracer does not run without threads of its own (OSNOISE_WORKLOAD, from 6.2 on)",
            );
        };
        if let Some(instance) = user(tracefs) {
            return refused(&format!("{instance} uses it, and its options are shared by all instances"));
        }
        Ok(Self { workload, cpus: tracefs.read(CPUS)?.trim().to_owned() })
    }

    /// The suffix of the name of our instance, with the old values of the options.
    pub fn suffix(&self) -> Result<String, TraceError> {
        let workload = if self.workload { "on" } else { "off" };
        let suffix = format!("{SUFFIX}{WORD}{workload}{WORD}{}", self.cpus);
        let fits = suffix.len() + OURS.len() + PROCESS_MAX <= NAME_MAX && !suffix.contains('/');
        let too_long =
            || TraceError::NotUnderstood(format!("what {CPUS} says does not fit into a name, to be put back"));
        fits.then_some(suffix).ok_or_else(too_long)
    }

    fn of_suffix(suffix: &str) -> Option<Self> {
        let mut words = suffix.strip_prefix(SUFFIX)?.split(WORD).skip(1);
        let workload = words.next()? == "on";
        Some(Self { workload, cpus: words.next()?.to_owned() })
    }
}

/// Whether a suffix is that of an instance that runs the tracer and holds its saved options.
pub fn is_suffix(suffix: &str) -> bool {
    TracerOptions::of_suffix(suffix).is_some()
}

/// The reason why the tracer is not used, if it was not requested.
pub fn unused(tracefs: &TraceFolder) -> String {
    TracerOptions::read(tracefs).map_or_else(|error| error.to_string(), |_| NOT_ASKED_FOR.to_owned())
}

/// Starts the tracer in an instance whose name contains the saved options. To be called before pages are opened.
pub fn start(tracefs: &TraceFolder, instance: &TraceFolder, cpus: &CpuSet) -> Result<(), TraceError> {
    tracefs.write(OPTIONS, NO_WORKLOAD)?;
    if workload(&tracefs.read(OPTIONS)?) != Some(false) {
        let asked = NO_WORKLOAD.to_owned();
        return Err(TraceError::Otherwise { file: OPTIONS, asked, got: WORKLOAD.to_owned() });
    }
    tracefs.write(CPUS, &cpus.to_string())?;
    instance.write("current_tracer", "osnoise")
}

/// Stops the tracer of the instance at `path`, and restores the options from the suffix of its name. Returns `false` if
/// another instance uses the options or pages of this one are being read; then the instance must stay until the next
/// attempt.
pub fn put_back(tracefs: &TraceFolder, path: &str, suffix: &str) -> bool {
    let Some(before) = TracerOptions::of_suffix(suffix) else { return true };
    // The tracer is stopped first, because it would start its threads as soon as the options allow them again.
    if tracefs.write(&format!("{path}/current_tracer"), "nop").is_err() || user(tracefs).is_some() {
        return false;
    }
    let cpus = tracefs.write(CPUS, &before.cpus);
    let options = tracefs.write(OPTIONS, if before.workload { WORKLOAD } else { NO_WORKLOAD });
    cpus.is_ok() && options.is_ok()
}

fn user(tracefs: &TraceFolder) -> Option<String> {
    let runs = |file: &str| {
        let tracer = tracefs.read(file).unwrap_or_default();
        TRACERS.contains(&tracer.trim())
    };
    if runs("current_tracer") {
        return Some("the kernel's main trace".to_owned());
    }
    let names = tracefs.folders(INSTANCES);
    let name = names.into_iter().find(|name| runs(&format!("{INSTANCES}/{name}/current_tracer")))?;
    Some(format!("the tracing instance {name}"))
}

/// Whether the tracer runs threads of its own; `None` if this kernel has no option for that.
fn workload(options: &str) -> Option<bool> {
    options.split_whitespace().find_map(|word| match word {
        WORKLOAD => Some(true),
        NO_WORKLOAD => Some(false),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// A simulated tracefs with the files that this module reads.
    fn tracefs(at: &Path, options: &str, others: &[(&str, &str)]) -> TraceFolder {
        fs::create_dir_all(at.join("osnoise")).unwrap();
        fs::create_dir_all(at.join(INSTANCES)).unwrap();
        for (file, text) in [
            ("available_tracers", "timerlat osnoise nop\n"),
            ("current_tracer", "nop\n"),
            (OPTIONS, options),
            (CPUS, "0-7\n"),
        ] {
            fs::write(at.join(file), text).unwrap();
        }
        for (name, tracer) in others {
            fs::create_dir_all(at.join(INSTANCES).join(name)).unwrap();
            fs::write(at.join(INSTANCES).join(name).join("current_tracer"), tracer).unwrap();
        }
        TraceFolder::of(at)
    }

    const NEW: &str = "NO_DEFAULTS OSNOISE_WORKLOAD NO_PANIC_ON_STOP \n";

    #[test]
    fn it_is_refused_where_it_would_disturb_or_cannot_look_on() {
        let why = |options: &str, others: &[(&str, &str)]| {
            let dir = tempfile::tempdir().unwrap();
            TracerOptions::read(&tracefs(dir.path(), options, others)).map_err(|error| error.to_string())
        };
        assert_eq!(why(NEW, &[]), Ok(TracerOptions { workload: true, cpus: "0-7".to_owned() }));
        assert_eq!(why(NEW, &[("theirs", "function\n")]).map(|shared| shared.workload), Ok(true));
        assert!(why(NEW, &[("rtla", "timerlat\n")]).unwrap_err().contains("the tracing instance rtla uses it"));
        assert!(why("", &[]).unwrap_err().contains("6.2"));
        let none = tempfile::tempdir().unwrap();
        fs::write(none.path().join("available_tracers"), "nop\n").unwrap();
        assert!(unused(&TraceFolder::of(none.path())).contains("CONFIG_TIMERLAT_TRACER"));
    }

    #[test]
    fn what_was_before_is_told_by_the_name_and_put_back() {
        for (workload, options) in [(true, NEW), (false, "NO_OSNOISE_WORKLOAD")] {
            let dir = tempfile::tempdir().unwrap();
            let folder = tracefs(dir.path(), options, &[]);
            let shared = TracerOptions::read(&folder).unwrap();
            let suffix = shared.suffix().unwrap();
            let name = format!("{OURS}77-1{suffix}");
            let path = format!("{INSTANCES}/{name}");
            assert_eq!(shared.workload, workload);
            let folder = tracefs(dir.path(), options, &[(&name, "nop\n")]);
            let instance = folder.folder(&path).unwrap();
            start(&folder, &instance, &CpuSet::parse_list("1,3").unwrap()).unwrap();
            assert_eq!(folder.read(CPUS).unwrap(), "1,3");
            assert_eq!(folder.read(OPTIONS).unwrap(), NO_WORKLOAD);
            assert!(put_back(&folder, &path, &suffix));
            assert_eq!(folder.read(CPUS).unwrap(), "0-7");
            assert_eq!(folder.read(OPTIONS).unwrap(), if workload { WORKLOAD } else { NO_WORKLOAD });
            assert_eq!(instance.read("current_tracer").unwrap(), "nop");
        }
    }

    #[test]
    fn options_that_somebody_else_uses_by_now_stay() {
        let dir = tempfile::tempdir().unwrap();
        let suffix = format!("{SUFFIX}=on=0-7");
        let ours = format!("{OURS}77-1{suffix}");
        let path = format!("{INSTANCES}/{ours}");
        let folder = tracefs(dir.path(), NO_WORKLOAD, &[(&ours, "osnoise\n"), ("rtla", "timerlat\n")]);
        assert!(!put_back(&folder, &path, &suffix));
        assert_eq!(folder.read(OPTIONS).unwrap(), NO_WORKLOAD);
        assert!(put_back(&folder, &path, ""), "one that changed nothing can go");
    }

    #[test]
    fn only_such_names_say_what_was_before() {
        for suffix in ["", "-else", "-osnoise", "-osnoise=on", "=on=0"] {
            assert!(!is_suffix(suffix), "{suffix}");
        }
        assert!(is_suffix("-osnoise=on=0-7,9"));
        let long = TracerOptions { workload: true, cpus: "1,".repeat(200) };
        assert!(long.suffix().is_err());
    }
}
