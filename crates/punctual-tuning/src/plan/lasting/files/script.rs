//! Inits other than systemd, where one start script replaces the files for systemd.

use super::super::{KeptValue, Lasted, MADE_BY, Obstacle, Wanted, block, edit, names, optional};
use crate::plan::{Invocation, Step};
use punctual_facts::fact::Fact;
use punctual_facts::machine::Init;
use punctual_facts::tree::{Tree, text};
use std::fmt;

/// Plans the start script, if the init has a place for one.
pub(super) fn steps(tree: &dyn Tree, init: Option<Init>, wanted: &Wanted, lasted: &mut Lasted) -> Result<(), Obstacle> {
    if let Some(cpus) = &wanted.manager_cpus {
        let limit = format!(
            "this init cannot set the CPUs of what it starts; isolcpus= or taskset keep programs on CPUs {cpus}"
        );
        lasted.limits.push(limit);
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
            let lines: Vec<String> = lines.iter().map(ScriptLine::to_string).collect();
            Err(Obstacle::ByHand(format!("add to a script that {name} runs at boot: {}", lines.join("; "))))
        }
    }
}

/// One command of the start script.
enum ScriptLine<'a> {
    Sysctl(&'a KeptValue),
    Write(&'a KeptValue),
    /// A run of this program, with these arguments.
    Run(&'a str, String),
}

impl ScriptLine<'_> {
    /// The beginning of the line, by which an earlier line about the same setting is found.
    fn key(&self) -> String {
        match self {
            Self::Sysctl(KeptValue { place, .. }) => format!("sysctl -w '{place}="),
            Self::Write(KeptValue { place, .. }) => format!("for file in {place};"),
            Self::Run(exe, arguments) => format!("{exe} {}", arguments.split(' ').next().unwrap_or_default()),
        }
    }
}

impl fmt::Display for ScriptLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sysctl(KeptValue { place, value }) => write!(f, "sysctl -w '{place}={value}'"),
            Self::Write(KeptValue { place, value }) => {
                write!(f, "for file in {place}; do if [ -e \"$file\" ]; then echo '{value}' > \"$file\"; fi; done")
            }
            Self::Run(exe, arguments) => write!(f, "{exe} {arguments}"),
        }
    }
}

fn lines(wanted: &Wanted, with_sysctls: bool) -> Vec<ScriptLine<'_>> {
    let sysctls = wanted.sysctls.iter().filter(|_| with_sysctls).map(ScriptLine::Sysctl);
    let run = |arguments| ScriptLine::Run(&wanted.exe, arguments);
    let boot = wanted.boot_service.then(|| run("__boot".to_owned()));
    let hold = wanted.hold_latency_us.map(|us| run(format!("__hold-latency {us} &")));
    sysctls.chain(wanted.writes.iter().map(ScriptLine::Write)).chain(boot).chain(hold).collect()
}

fn text_of(lines: &[ScriptLine<'_>]) -> String {
    lines.iter().fold(String::new(), |text, line| text + &line.to_string() + "\n")
}

/// Writes a script of ours. It holds `head`, the lines of an earlier plan that no new line replaces, and the new lines.
fn script(
    tree: &dyn Tree,
    path: &str,
    head: &str,
    lines: &[ScriptLine<'_>],
    lasted: &mut Lasted,
) -> Result<(), Obstacle> {
    let seen = optional(tree, path)?;
    let earlier = match &seen {
        Some(seen) => seen.strip_prefix(head).ok_or_else(|| Obstacle::Conflict {
            path: path.to_owned(),
            why: "is there already, and not ours".to_owned(),
        })?,
        None => "",
    };
    let is_written_anew = |old: &&str| lines.iter().any(|line| old.starts_with(&line.key()));
    let kept = earlier.lines().filter(|old| !is_written_anew(old));
    let kept = kept.fold(String::new(), |text, line| text + line + "\n");
    let content = format!("{head}{kept}{}", text_of(lines));
    if seen.as_ref() != Some(&content) {
        lasted.steps.push(Step::Own { path: path.to_owned(), content, mode: 0o755 });
    }
    Ok(())
}

fn open_rc(tree: &dyn Tree, lines: &[ScriptLine<'_>], lasted: &mut Lasted) -> Result<(), Obstacle> {
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

fn sysv(tree: &dyn Tree, lines: &[ScriptLine<'_>], lasted: &mut Lasted) -> Result<(), Obstacle> {
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

/// Adds the lines to `/etc/rc.local`, the one script that Void's runit runs before services start. The script may be
/// the user's own.
fn runit(tree: &dyn Tree, lines: &[ScriptLine<'_>], lasted: &mut Lasted) -> Result<(), Obstacle> {
    const RC_LOCAL: &str = "/etc/rc.local";
    let Some(seen) = optional(tree, RC_LOCAL)?.filter(|seen| !seen.contains(MADE_BY)) else {
        return script(tree, RC_LOCAL, &format!("#!/bin/sh\n{MADE_BY}"), lines, lasted);
    };
    let base = block::base(&seen);
    // An `exit 0` at the end stays at the end, since lines after it would not run.
    let trimmed = base.trim_end();
    let before_exit = trimmed.strip_suffix("exit 0").filter(|rest| rest.is_empty() || rest.ends_with('\n'));
    let lines = text_of(lines);
    let content = match before_exit {
        Some(before) => format!("{}{}", block::appended(before, &lines), &base[before.len()..]),
        None => block::appended(&base, &lines),
    };
    lasted.limits.push(format!("{RC_LOCAL} is run only where it is executable"));
    lasted.steps.push(edit(RC_LOCAL, &seen, content));
    Ok(())
}
