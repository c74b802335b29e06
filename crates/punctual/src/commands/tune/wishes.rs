//! Turns the options of `tune` into wishes for the plan.

use crate::cli::TuneArgs;
use crate::commands::need::{Stated, Terms};
use crate::commands::source::knob;
use anyhow::Result;
use punctual_tuning::plan::Wishes;
use punctual_tuning::plan::remedies::{HugePages, Preferences};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Mode bits that let users outside the group write, and that let the group write.
const WRITABLE_BY_ALL: u32 = 0o002;
const WRITABLE_BY_GROUP: u32 = 0o020;

/// The wishes that the options express. An unknown knob is refused.
pub fn wishes(args: &TuneArgs) -> Result<Wishes> {
    for id in args.only.iter().chain(&args.except) {
        knob(id)?;
    }
    let typed = Terms {
        period: args.period,
        budget: args.budget,
        cpus: args.cpus.clone(),
        priority: args.priority,
        ..Terms::default()
    };
    let stated = Stated::read(&args.need, typed)?;
    Ok(Wishes {
        need: stated.need(),
        only: args.only.clone(),
        except: args.except.clone(),
        blast: args.blast,
        preferences: Preferences {
            devices: args.device.clone().into_iter().collect(),
            partition: args.partition,
            for_good: !args.until_reboot && args.command.is_empty(),
            keep_irqs: args.keep_irqs.clone(),
            priority: stated.terms.priority.map(u32::from),
            huge_pages: args
                .hugepages
                .map(|count| HugePages { size_kb: 2048, count, node: None })
                .into_iter()
                .collect(),
        },
        holds: !args.command.is_empty(),
        lasting: !args.until_reboot && args.command.is_empty(),
        standing: Vec::new(),
        exe: place(),
    })
}

/// Checks that only root can replace this program or a folder above it. The error names the path that other users can
/// change.
pub fn is_roots_alone(program: &Path) -> Result<(), String> {
    for part in program.ancestors() {
        let name = part.display();
        let found = std::fs::metadata(part).map_err(|error| format!("{name} cannot be looked at ({error})"))?;
        if !is_writable_by_root_alone(found.uid(), found.gid(), found.mode()) {
            return Err(format!("{name} can be changed by users other than root, who could so change what root runs"));
        }
    }
    Ok(())
}

/// Whether root alone can write to a file with this owner, group and mode. Members of root's own group are trusted like
/// root.
fn is_writable_by_root_alone(uid: u32, gid: u32, mode: u32) -> bool {
    let others = if gid == 0 { WRITABLE_BY_ALL } else { WRITABLE_BY_ALL | WRITABLE_BY_GROUP };
    uid == 0 && mode & others == 0
}

/// The path of this program, if only root can replace it.
pub fn place() -> Result<String, String> {
    let install = "install it where only root can write, for example in /usr/local/sbin";
    let exe = std::env::current_exe().map_err(|error| format!("the path of this program cannot be found ({error})"))?;
    is_roots_alone(&exe).map_err(|why| format!("{why}; {install}"))?;
    exe.into_os_string().into_string().map_err(|_| format!("its path is not valid text (UTF-8); {install}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_groups_only_roots_own_may_write_to_what_root_runs() {
        for (uid, gid, mode, is_fine) in [
            (0, 0, 0o755, true),
            (0, 50, 0o755, true),
            (0, 0, 0o775, true),
            (0, 50, 0o775, false),
            (0, 0, 0o757, false),
            (0, 0, 0o1777, false),
            (1000, 0, 0o755, false),
            (1000, 1000, 0o700, false),
        ] {
            assert_eq!(is_writable_by_root_alone(uid, gid, mode), is_fine, "{uid}:{gid} {mode:o}");
        }
    }

    #[test]
    fn each_folder_on_the_way_counts() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("program");
        std::fs::write(&program, "").unwrap();
        // Any user may write to the folder for temporary files.
        let why = is_roots_alone(&program).unwrap_err();
        assert!(why.contains("users other than root"), "{why}");
        let missing = is_roots_alone(Path::new("/there/is/no/such")).unwrap_err();
        assert!(missing.contains("cannot be looked at"), "{missing}");
        is_roots_alone(Path::new("/etc/passwd")).unwrap();
    }
}
