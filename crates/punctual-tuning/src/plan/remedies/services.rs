//! Programs that would undo what is set, or do work at hours of their own: kept silent, if they are here at all.

use super::super::Step;
use super::draft::Draft;
use super::{Found, Notes, Remedy, Site};
use crate::knobs::{Blast, Case, Doubt};

/// A unit, and the names of its processes as the kernel cuts them; timers have none.
type Unit = (&'static str, &'static [&'static str]);

const POWER: &[Unit] = &[
    ("thermald.service", &["thermald"]),
    ("tlp.service", &["tlp"]),
    ("power-profiles-daemon.service", &["power-profiles-"]),
    ("auto-cpufreq.service", &["auto-cpufreq"]),
    ("cpufreqd.service", &["cpufreqd"]),
    ("laptop-mode.service", &["laptop_mode"]),
    ("com.system76.PowerDaemon.service", &["system76-power"]),
];
/// Who does more than one of these things: what it set goes when it stops.
const TUNED: Unit = ("tuned.service", &["tuned"]);
const RT_CONF: Unit = ("rt-conf.service", &["rt-conf"]);
const CPUPOWER: Unit = ("cpupower.service", &[]);
const CPUFREQUTILS: Unit = ("cpufrequtils.service", &[]);
const LOADCPUFREQ: Unit = ("loadcpufreq.service", &[]);
const RTIRQ: Unit = ("rtirq.service", &[]);
const IRQD: Unit = ("irqd.service", &["irqd"]);

/// Where links of enabled units stand.
const WANTED: [&str; 5] = [
    "multi-user.target.wants",
    "graphical.target.wants",
    "basic.target.wants",
    "sysinit.target.wants",
    "timers.target.wants",
];

/// Whether a unit is at work or will be: its process runs, systemd has it active, or it is started at boot.
pub(in crate::plan) fn is_at_work(case: &Case<'_>, unit: &str, processes: &[&str]) -> Option<String> {
    let running = || case.tasks(|task| !task.is_kernel && processes.contains(&task.name.as_str())).ok()?.pop();
    if let Some(task) = running() {
        return Some(format!("runs ({})", task.name));
    }
    let link = format!("invocation:{unit}");
    let units = case.list("/run/systemd/units");
    if units.known().is_some_and(|names| names.contains(&link)) {
        return Some("active".to_owned());
    }
    let is_enabled = |target: &&&str| {
        let names = case.list(&format!("/etc/systemd/system/{target}"));
        names.known().is_some_and(|names| names.iter().any(|name| name == unit))
    };
    WANTED.iter().find(is_enabled).map(|target| format!("started with {target}"))
}

fn silenced(site: &Site<'_>, units: &[Unit], risk: &str) -> Found {
    let case = site.case;
    if let Some(container) = case.container() {
        return Doubt::not_applicable(format!("services of a container ({container}) are not the machine's"));
    }
    if !case.machine.boot.is_systemd() {
        return Ok(Remedy::ByHand("systemd does not run this machine: stop them by its own init".to_owned()));
    }
    let mut draft = Draft::default();
    for (unit, processes) in units {
        if let Some(state) = is_at_work(case, unit, processes) {
            let step = Step::Silence { unit: (*unit).to_owned(), lasting: site.preferences.for_good };
            draft.step(unit, &state, "silent", step);
        }
    }
    if draft.is_empty() {
        return Doubt::not_applicable("none of their units is at work here");
    }
    Ok(draft.apart(risk, "systemctl is-active says inactive"))
}

fn reaching(found: Found, blast: Blast) -> Found {
    Ok(match found? {
        Remedy::Steps(steps, notes) => Remedy::Steps(steps, Notes { blast: Some(blast), ..notes }),
        other => other,
    })
}

/// Who moves interrupts about.
pub(super) fn irqbalance(site: &Site<'_>) -> Found {
    let risk =
        "Interrupts are redistributed for about a second; from then on nobody spreads them but what is set here.";
    silenced(site, &[("irqbalance.service", &["irqbalance"])], risk)
}

/// Who sets frequencies and power.
pub(super) fn power(site: &Site<'_>) -> Found {
    let risk = "Nobody slows the machine down before it gets hot, but the hardware itself: see that it stays cool.";
    silenced(site, POWER, risk)
}

/// The other owners of frequencies.
pub(super) fn owners_power(site: &Site<'_>) -> Found {
    owners(site, &[TUNED, RT_CONF, CPUPOWER, CPUFREQUTILS, LOADCPUFREQ])
}

/// The other owners of interrupts.
pub(super) fn owners_interrupts(site: &Site<'_>) -> Found {
    owners(site, &[TUNED, RT_CONF, IRQD])
}

/// The other owners of priorities.
pub(super) fn owners_priorities(site: &Site<'_>) -> Found {
    owners(site, &[TUNED, RTIRQ])
}

fn owners(site: &Site<'_>, units: &[Unit]) -> Found {
    let risk = "What they set besides goes with them: tuned takes its values back when it stops, and its words off the \
        command line.";
    reaching(silenced(site, units, risk), Blast::Breaking)
}

/// Who boosts starving threads.
pub(super) fn stalld(site: &Site<'_>) -> Found {
    let risk = "What starves behind a thread that spins is helped by nobody.";
    reaching(silenced(site, &[("stalld.service", &["stalld"])], risk), Blast::Breaking)
}

/// Timers that start updates.
pub(super) fn update_timers(site: &Site<'_>) -> Found {
    let units: &[Unit] = &[
        ("apt-daily.timer", &[]),
        ("apt-daily-upgrade.timer", &[]),
        ("dnf-automatic.timer", &[]),
        ("dnf-automatic-install.timer", &[]),
        ("dnf-makecache.timer", &[]),
        ("dnf5-automatic.timer", &[]),
        ("rpm-ostreed-automatic.timer", &[]),
        ("transactional-update.timer", &[]),
        ("snapd.snap-repair.timer", &[]),
        ("update-notifier-download.timer", &[]),
    ];
    silenced(site, units, "Security updates no longer come by themselves.")
}

/// Timers that work through the disks.
pub(super) fn maintenance(site: &Site<'_>) -> Found {
    let units: &[Unit] = &[
        ("fstrim.timer", &[]),
        ("man-db.timer", &[]),
        ("plocate-updatedb.timer", &[]),
        ("mlocate-updatedb.timer", &[]),
        ("updatedb.timer", &[]),
        ("e2scrub_all.timer", &[]),
        ("xfs_scrub_all.timer", &[]),
        ("mdcheck_start.timer", &[]),
        ("raid-check.timer", &[]),
        ("btrfs-scrub.timer", &[]),
        ("btrfs-balance.timer", &[]),
        ("btrfs-defrag.timer", &[]),
        ("snapper-timeline.timer", &[]),
        ("sysstat-collect.timer", &[]),
    ];
    silenced(site, units, "Disks get slower, or decay unseen, unless it is done by hand.")
}

/// Daemons that update.
pub(super) fn updates(site: &Site<'_>) -> Found {
    let units: &[Unit] = &[
        ("unattended-upgrades.service", &["unattended-upgr"]),
        ("packagekit.service", &["packagekitd"]),
        ("snapd.service", &["snapd"]),
        ("rpm-ostreed.service", &["rpm-ostreed"]),
    ];
    silenced(site, units, "Security updates no longer come by themselves.")
}

/// Who takes priorities away.
pub(super) fn rtkit(site: &Site<'_>) -> Found {
    silenced(site, &[("rtkit-daemon.service", &["rtkit-daemon"])], "Desktop audio asks for real time in vain.")
}

/// Who sets others' priorities.
pub(super) fn priority(site: &Site<'_>) -> Found {
    let units: &[Unit] = &[
        ("ananicy.service", &["ananicy"]),
        ("ananicy-cpp.service", &["ananicy-cpp"]),
        ("uresourced.service", &["uresourced"]),
        ("com.system76.Scheduler.service", &["system76-schedu"]),
        ("verynice.service", &["verynice"]),
    ];
    silenced(site, units, "Their comfort.")
}
