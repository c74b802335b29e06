//! Inits that are not systemd: one start script that does what its files would do.

use super::super::{KeptValue, Lasted, MADE_BY, Obstacle, Wanted, block, edit, names, optional};
use crate::plan::{Invocation, Step};
use punctual_facts::fact::Fact;
use punctual_facts::machine::Init;
use punctual_facts::tree::{Tree, text};

/// The start script, where the init has a place for one.
pub(super) fn steps(tree: &dyn Tree, init: Option<Init>, wanted: &Wanted, lasted: &mut Lasted) -> Result<(), Obstacle> {
    if let Some(cpus) = &wanted.manager_cpus {
        lasted
            .limits
            .push(format!("this init has no CPUs of its own to set; isolcpus= or taskset keep programs on {cpus}"));
    }
    let lines = lines(wanted, !matches!(init, Some(Init::OpenRc | Init::Runit | Init::SysV)));
    if lines.is_empty() {
        return Ok(());
    }
    match init {
        Some(Init::OpenRc) => open_rc(tree, &lines, lasted),
        Some(Init::SysV) => sysv(tree, &lines, lasted),
        Some(Init::Runit) => runit(tree, &lines, lasted),
        Some(Init::Busybox) if text(tree, "/etc/init.d/rcS") != Fact::Absent => {
            let head = format!("#!/bin/sh\n{MADE_BY}[ \"$1\" = start ] || exit 0\n");
            script(tree, "/etc/init.d/S90punctual", &head, &lines, lasted)
        }
        other => {
            let name = other.map_or("this init (which one is not known)", Init::name);
            Err(Obstacle::ByHand(format!(
                "in a script that {name} runs at boot: {}",
                lines.trim_end().replace('\n', "; ")
            )))
        }
    }
}

/// Lines of a shell script that write what is wanted.
fn lines(wanted: &Wanted, with_sysctls: bool) -> String {
    let sysctls = wanted.sysctls.iter().filter(|_| with_sysctls);
    let sysctls = sysctls.map(|kept| format!("sysctl -w '{}={}'\n", kept.place, kept.value));
    let writes = wanted.writes.iter().map(|KeptValue { place: path, value }| {
        format!("for file in {path}; do if [ -e \"$file\" ]; then echo '{value}' > \"$file\"; fi; done\n")
    });
    let boot = wanted.boot_service.then(|| format!("{} __boot\n", wanted.exe));
    let hold = wanted.hold_latency_us.map(|us| format!("{} __hold-latency {us} &\n", wanted.exe));
    sysctls.chain(writes).chain(boot).chain(hold).collect()
}

/// A script of ours: `head`, what an earlier plan put there and is not said anew, and these lines.
fn script(tree: &dyn Tree, path: &str, head: &str, lines: &str, lasted: &mut Lasted) -> Result<(), Obstacle> {
    let seen = optional(tree, path)?;
    let earlier = match &seen {
        Some(seen) => seen.strip_prefix(head).ok_or_else(|| Obstacle::Conflict {
            path: path.to_owned(),
            why: "is there already, and not ours".to_owned(),
        })?,
        None => "",
    };
    let is_said_anew = |old: &&str| lines.lines().any(|line| key(line) == key(old));
    let kept = earlier.lines().filter(|line| !is_said_anew(line));
    let content = format!("{head}{}\n", kept.chain(lines.lines()).collect::<Vec<_>>().join("\n"));
    if seen.as_ref() != Some(&content) {
        lasted.steps.push(Step::Own { path: path.to_owned(), content, mode: 0o755 });
    }
    Ok(())
}

/// What a line of such a script is about.
fn key(line: &str) -> &str {
    let end = if line.starts_with("for ") {
        line.find(';')
    } else if line.starts_with("sysctl ") {
        line.find('=')
    } else {
        line.match_indices(' ').nth(1).map(|(at, _)| at)
    };
    &line[..end.unwrap_or(line.len())]
}

fn open_rc(tree: &dyn Tree, lines: &str, lasted: &mut Lasted) -> Result<(), Obstacle> {
    let before = lasted.steps.len();
    script(tree, "/etc/local.d/punctual.start", &format!("#!/bin/sh\n{MADE_BY}"), lines, lasted)?;
    let is_run = names(tree, "/etc/runlevels/default")?.iter().any(|name| name == "local");
    if lasted.steps.len() > before && !is_run {
        lasted.steps.push(Step::Run {
            doing: Some(Invocation::new("rc-update", ["add", "local", "default"])),
            undoing: Some(Invocation::new("rc-update", ["del", "local", "default"])),
        });
    }
    Ok(())
}

fn sysv(tree: &dyn Tree, lines: &str, lasted: &mut Lasted) -> Result<(), Obstacle> {
    let head = format!(
        "#!/bin/sh\n\
         ### BEGIN INIT INFO\n\
         # Provides:          punctual\n\
         # Required-Start:    $local_fs procps udev\n\
         # Required-Stop:\n\
         # Default-Start:     2 3 4 5\n\
         # Default-Stop:\n\
         # Short-Description: Tune this machine for punctuality\n\
         ### END INIT INFO\n\
         {MADE_BY}[ \"$1\" = start ] || exit 0\n"
    );
    let before = lasted.steps.len();
    script(tree, "/etc/init.d/punctual", &head, lines, lasted)?;
    if lasted.steps.len() == before {
        return Ok(());
    }
    lasted.steps.push(Step::Run {
        doing: Some(Invocation::new("update-rc.d", ["punctual", "defaults"])),
        undoing: Some(Invocation::new("update-rc.d", ["-f", "punctual", "remove"])),
    });
    Ok(())
}

/// Void's second stage runs one script, which may be the user's.
fn runit(tree: &dyn Tree, lines: &str, lasted: &mut Lasted) -> Result<(), Obstacle> {
    const RC_LOCAL: &str = "/etc/rc.local";
    let Some(seen) = optional(tree, RC_LOCAL)? else {
        return script(tree, RC_LOCAL, &format!("#!/bin/sh\n{MADE_BY}"), lines, lasted);
    };
    if seen.contains(MADE_BY) {
        return script(tree, RC_LOCAL, &format!("#!/bin/sh\n{MADE_BY}"), lines, lasted);
    }
    let base = block::base(&seen);
    // What stands behind an exit is not run.
    let trimmed = base.trim_end();
    let before_exit = trimmed.strip_suffix("exit 0").filter(|rest| rest.is_empty() || rest.ends_with('\n'));
    let content = match before_exit {
        Some(before) => format!("{}{}", block::appended(before, lines), &base[before.len()..]),
        None => block::appended(&base, lines),
    };
    lasted.limits.push(format!("{RC_LOCAL} is run only where it is executable"));
    lasted.steps.push(edit(RC_LOCAL, &seen, content));
    Ok(())
}
