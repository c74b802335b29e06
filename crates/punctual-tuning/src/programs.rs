//! Programs and services that get in the way of real time: one entry each, from which probes learn what to look for,
//! remedies what to silence, and conflicts who else writes what a plan writes.
//!
//! A table and nothing else: whoever looks at a machine asks it by the id of a knob.

/// A program, or a unit of systemd that starts one.
#[derive(Debug)]
pub struct Program {
    pub name: &'static str,
    /// The units of systemd that start the program, the one to silence first.
    pub units: &'static [&'static str],
    /// The names of its processes, cut to 15 bytes by the kernel.
    pub processes: &'static [&'static str],
    /// The knobs that are bad while the program is at work; the remedy of each silences it.
    pub bad_for: &'static [&'static str],
    /// The knobs (`agree.owners_*`) that are bad if this and another program set the same things.
    pub owner_for: &'static [&'static str],
    /// What the program sets, in words; empty if a plan never sets the same.
    pub sets: &'static str,
    /// What the program writes, in groups. A plan that writes the same is in conflict with it.
    pub writes: &'static [&'static [Written]],
    /// What a person has to do, if the program must not simply be stopped and masked.
    pub by_hand: Option<&'static str>,
}

#[derive(Debug)]
pub enum Written {
    /// Files of the kernel whose path contains this text.
    File(&'static str),
    Sysctl(&'static str),
    AnySysctl,
    /// Words on the kernel's command line.
    AnyWord,
    /// The priorities of threads whose names begin with this text.
    Thread(&'static str),
}

const OWNS_POWER: &str = "agree.owners_power";
const OWNS_INTERRUPTS: &str = "agree.owners_irq";
const OWNS_PRIORITIES: &str = "agree.owners_priorities";

const FREQUENCIES: &[Written] = &[
    Written::File("/cpufreq"),
    Written::File("intel_pstate"),
    Written::File("amd_pstate"),
    Written::File("energy_perf"),
    Written::File("intel_uncore_frequency"),
];
const INTERRUPTS: &[Written] = &[Written::File("/proc/irq/")];
const WORDS: &[Written] = &[Written::AnyWord];

const fn entry(name: &'static str, units: &'static [&'static str], processes: &'static [&'static str]) -> Program {
    Program { name, units, processes, bad_for: &[], owner_for: &[], sets: "", writes: &[], by_hand: None }
}

const fn timer(units: &'static [&'static str; 1], bad_for: &'static [&'static str]) -> Program {
    entry(units[0], units, &[]).bad_for(bad_for)
}

/// A program that is known by its process only; a person has to know how to stop it.
const fn process(processes: &'static [&'static str; 1], bad_for: &'static [&'static str]) -> Program {
    entry(processes[0], &[], processes).bad_for(bad_for)
}

impl Program {
    const fn bad_for(self, bad_for: &'static [&'static str]) -> Self {
        Self { bad_for, ..self }
    }

    const fn sets(self, sets: &'static str, writes: &'static [&'static [Written]]) -> Self {
        Self { sets, writes, ..self }
    }

    const fn owner_for(self, owner_for: &'static [&'static str]) -> Self {
        Self { owner_for, ..self }
    }

    const fn by_hand(self, how: &'static str) -> Self {
        Self { by_hand: Some(how), ..self }
    }

    /// The knob whose remedy silences the program.
    pub fn knob(&self) -> &'static str {
        self.bad_for.iter().chain(self.owner_for).next().copied().unwrap_or_default()
    }
}

pub fn bad_for(knob: &str) -> impl Iterator<Item = &'static Program> {
    PROGRAMS.iter().filter(move |program| program.bad_for.contains(&knob))
}

/// The programs of which at most one may be at work for this knob to be good.
pub fn owners(knob: &str) -> impl Iterator<Item = &'static Program> {
    PROGRAMS.iter().filter(move |program| program.owner_for.contains(&knob))
}

const POWER: &[&str] = &["pm.daemons"];
const UPDATES: &[&str] = &["svc.timers"];
const UPDATE_TIMERS: &[&str] = &["svc.update_timers"];
const MAINTENANCE: &[&str] = &["svc.maintenance"];
const AGENTS: &[&str] = &["svc.agents"];
const SCANNERS: &[&str] = &["svc.scanners"];
const INDEXERS: &[&str] = &["svc.indexers"];
const PRIORITIES: &[&str] = &["svc.priority"];
const KILLERS: &[&str] = &["svc.oomd"];

/// Every program, in the order in which evidence names them.
pub const PROGRAMS: &[Program] = &[
    entry("tuned", &["tuned.service"], &["tuned"]).owner_for(&[OWNS_POWER, OWNS_INTERRUPTS, OWNS_PRIORITIES]).sets(
        "governors, sysctls, interrupts and words of its profile; takes them back when it stops",
        &[FREQUENCIES, INTERRUPTS, WORDS, &[Written::AnySysctl, Written::Thread("")]],
    ),
    entry("rt-conf", &["rt-conf.service", "snap.rt-conf.rt-conf.service"], &["rt-conf"])
        .owner_for(&[OWNS_INTERRUPTS, OWNS_POWER])
        .sets("words on the command line, interrupts and governors", &[FREQUENCIES, INTERRUPTS, WORDS]),
    entry("irqbalance", &["irqbalance.service"], &["irqbalance"])
        .bad_for(&["irq.irqbalance"])
        .owner_for(&[OWNS_INTERRUPTS])
        .sets("affinities of interrupts, every ten seconds", &[INTERRUPTS]),
    entry("irqd", &["irqd.service"], &["irqd"])
        .owner_for(&[OWNS_INTERRUPTS])
        .sets("affinities of interrupts", &[INTERRUPTS]),
    entry("rtirq", &["rtirq.service", "rtirq-resume.service"], &[])
        .owner_for(&[OWNS_PRIORITIES])
        .sets("priorities of interrupts' threads, at boot and after suspend", &[&[Written::Thread("irq/")]]),
    entry("stalld", &["stalld.service"], &["stalld"]).bad_for(&["sched.stalld"]).owner_for(&[OWNS_PRIORITIES]).sets(
        "reservations for starving threads, and throttling",
        &[&[Written::File("fair_server"), Written::File("ext_server"), Written::Sysctl("kernel.sched_rt_runtime_us")]],
    ),
    entry("thermald", &["thermald.service"], &["thermald"]).bad_for(POWER).owner_for(&[OWNS_POWER]).sets(
        "frequencies, turbo and limits of power, when it gets warm",
        &[FREQUENCIES, &[Written::File("powercap")]],
    ),
    entry("TLP", &["tlp.service"], &["tlp"]).bad_for(POWER).owner_for(&[OWNS_POWER]).sets(
        "governors, preferences and power of devices, at each change of the power supply",
        &[
            FREQUENCIES,
            &[
                Written::File("power/control"),
                Written::File("pcie_aspm"),
                Written::File("link_power_management_policy"),
                Written::Sysctl("kernel.nmi_watchdog"),
            ],
        ],
    ),
    entry("power-profiles-daemon", &["power-profiles-daemon.service"], &["power-profiles-"])
        .bad_for(POWER)
        .owner_for(&[OWNS_POWER])
        .sets("preferences and turbo, when somebody chooses a profile", &[FREQUENCIES]),
    entry("auto-cpufreq", &["auto-cpufreq.service"], &["auto-cpufreq"])
        .bad_for(POWER)
        .owner_for(&[OWNS_POWER])
        .sets("governors, frequencies and turbo, every few seconds", &[FREQUENCIES]),
    entry("cpufreqd", &["cpufreqd.service"], &["cpufreqd"])
        .bad_for(POWER)
        .owner_for(&[OWNS_POWER])
        .sets("governors and frequencies, by load and battery", &[FREQUENCIES]),
    entry("laptop-mode-tools", &["laptop-mode.service"], &["laptop_mode"])
        .bad_for(POWER)
        .owner_for(&[OWNS_POWER])
        .sets("governors and power of devices, at each change of the power supply", &[FREQUENCIES]),
    entry("system76-power", &["com.system76.PowerDaemon.service", "system76-power.service"], &["system76-power"])
        .bad_for(POWER)
        .owner_for(&[OWNS_POWER])
        .sets("governors, preferences and turbo, when somebody chooses a profile", &[FREQUENCIES]),
    entry("cpufrequtils", &["cpufrequtils.service", "loadcpufreq.service"], &[])
        .owner_for(&[OWNS_POWER])
        .sets("governors, once at each boot", &[FREQUENCIES]),
    entry("cpupower", &["cpupower.service"], &[])
        .owner_for(&[OWNS_POWER])
        .sets("governors, once at each boot", &[FREQUENCIES]),
    entry("ondemand", &["ondemand.service"], &[])
        .owner_for(&[OWNS_POWER])
        .sets("governors, once at each boot", &[FREQUENCIES]),
    entry("ksmtuned", &["ksmtuned.service", "ksm.service"], &["ksmtuned"])
        .bad_for(&["mem.ksm"])
        .sets("the merging of memory", &[&[Written::File("/sys/kernel/mm/ksm/")]]),
    entry("unattended-upgrades", &["unattended-upgrades.service"], &["unattended-upgr"]).bad_for(UPDATES),
    entry("PackageKit", &["packagekit.service"], &["packagekitd"]).bad_for(UPDATES),
    entry("snapd", &["snapd.service"], &["snapd"]).bad_for(UPDATES),
    entry("dnf-automatic", &["dnf-automatic.service"], &["dnf-automatic"]).bad_for(UPDATES).by_hand(
        "let dnf-automatic finish, since half an update is worse; svc.update_timers keeps it from coming back",
    ),
    entry("apt.systemd.daily", &["apt-daily.service", "apt-daily-upgrade.service"], &["apt.systemd.dai"])
        .bad_for(UPDATES)
        .by_hand("let apt finish, since half an update is worse; svc.update_timers keeps it from coming back"),
    entry("rpm-ostree", &["rpm-ostreed.service"], &["rpm-ostreed"]).bad_for(UPDATES),
    timer(&["apt-daily.timer"], UPDATE_TIMERS),
    timer(&["apt-daily-upgrade.timer"], UPDATE_TIMERS),
    timer(&["dnf-automatic.timer"], UPDATE_TIMERS),
    timer(&["dnf-automatic-install.timer"], UPDATE_TIMERS),
    timer(&["dnf-makecache.timer"], UPDATE_TIMERS),
    timer(&["dnf5-automatic.timer"], UPDATE_TIMERS),
    timer(&["rpm-ostreed-automatic.timer"], UPDATE_TIMERS),
    timer(&["transactional-update.timer"], UPDATE_TIMERS),
    timer(&["snapd.snap-repair.timer"], UPDATE_TIMERS),
    timer(&["update-notifier-download.timer"], UPDATE_TIMERS),
    timer(&["fstrim.timer"], MAINTENANCE),
    timer(&["man-db.timer"], MAINTENANCE),
    timer(&["plocate-updatedb.timer"], MAINTENANCE),
    timer(&["mlocate-updatedb.timer"], MAINTENANCE),
    timer(&["updatedb.timer"], MAINTENANCE),
    timer(&["e2scrub_all.timer"], MAINTENANCE),
    timer(&["xfs_scrub_all.timer"], MAINTENANCE),
    timer(&["mdcheck_start.timer"], MAINTENANCE),
    timer(&["raid-check.timer"], MAINTENANCE),
    timer(&["btrfs-scrub.timer"], MAINTENANCE),
    timer(&["btrfs-balance.timer"], MAINTENANCE),
    timer(&["btrfs-defrag.timer"], MAINTENANCE),
    timer(&["snapper-timeline.timer"], MAINTENANCE),
    timer(&["sysstat-collect.timer"], MAINTENANCE),
    process(&["node_exporter"], AGENTS),
    process(&["prometheus-node"], AGENTS),
    process(&["netdata"], AGENTS),
    process(&["collectd"], AGENTS),
    process(&["telegraf"], AGENTS),
    process(&["rasdaemon"], AGENTS),
    process(&["sadc"], AGENTS),
    process(&["zabbix_agentd"], AGENTS),
    process(&["tracker-miner-f"], &["svc.agents", "svc.indexers"]),
    process(&["tracker-extract"], INDEXERS),
    process(&["localsearch-3"], INDEXERS),
    process(&["baloo_file"], INDEXERS),
    process(&["baloo_file_extr"], INDEXERS),
    process(&["updatedb"], INDEXERS),
    process(&["updatedb.plocat"], INDEXERS),
    process(&["clamd"], SCANNERS),
    process(&["clamonacc"], SCANNERS),
    process(&["fapolicyd"], SCANNERS),
    process(&["falcon-sensor"], SCANNERS),
    process(&["wdavdaemon"], SCANNERS),
    process(&["ds_agent"], SCANNERS),
    process(&["osqueryd"], SCANNERS),
    process(&["wazuh-syscheckd"], SCANNERS),
    process(&["savscand"], SCANNERS),
    entry("rtkit", &["rtkit-daemon.service"], &["rtkit-daemon"]).bad_for(&["svc.rtkit"]),
    entry("ananicy", &["ananicy.service"], &["ananicy"]).bad_for(PRIORITIES),
    entry("ananicy-cpp", &["ananicy-cpp.service"], &["ananicy-cpp"]).bad_for(PRIORITIES),
    entry("gamemode", &[], &["gamemoded"])
        .bad_for(PRIORITIES)
        .by_hand("systemctl --user mask --now gamemoded.service, as the user who started gamemoded"),
    entry("uresourced", &["uresourced.service"], &["uresourced"]).bad_for(PRIORITIES),
    entry("system76-scheduler", &["com.system76.Scheduler.service"], &["system76-schedu"]).bad_for(PRIORITIES),
    entry("verynice", &["verynice.service"], &["verynice"]).bad_for(PRIORITIES),
    process(&["systemd-oomd"], KILLERS),
    process(&["earlyoom"], KILLERS),
    process(&["nohang"], KILLERS),
];
