//! Programs and services that disturb real-time work, with one entry for each. Probes look for these programs, fixes
//! and remedies silence them, and conflicts name the values that they write. How a program harms real-time work is
//! described by the knobs in its `bad_for`.
//!
//! This module is a table. Code that examines a machine finds programs in it by the id of a knob. No other file
//! contains names of systemd units.

/// A program, or a unit of systemd that starts one.
#[derive(Debug)]
pub struct Program {
    pub name: &'static str,
    /// The systemd units that start the program. The first of them is stopped to silence the program.
    pub units: &'static [&'static str],
    /// The names of the program's processes, as the kernel cuts them to 15 bytes.
    pub processes: &'static [&'static str],
    /// The knobs that are bad while the program is at work. The fix of each of these knobs silences the program.
    pub bad_for: &'static [&'static str],
    /// The knobs whose good state lasts only if the program is silenced, although their checks do not look for the
    /// program.
    pub ends_for: &'static [&'static str],
    /// The knobs that only check whether the program runs, without silencing it.
    pub asked_by: &'static [&'static str],
    /// The knobs (`agree.owners_*`) that are bad if this program and another one set the same values.
    pub owner_for: &'static [&'static str],
    /// A text about what the program sets; empty if no plan sets the same.
    pub sets: &'static str,
    /// The values that the program writes, in groups. A plan that writes the same values is in conflict with the
    /// program.
    pub writes: &'static [&'static [Written]],
    /// What a person has to do, if the program must not simply be stopped and masked.
    pub by_hand: Option<&'static str>,
}

#[derive(Debug)]
pub enum Written {
    /// Kernel files whose path contains this text.
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
    Program {
        name,
        units,
        processes,
        bad_for: &[],
        ends_for: &[],
        asked_by: &[],
        owner_for: &[],
        sets: "",
        writes: &[],
        by_hand: None,
    }
}

const fn timers(units: &'static [&'static str], bad_for: &'static [&'static str]) -> Program {
    entry(units[0], units, &[]).bad_for(bad_for)
}

impl Program {
    const fn bad_for(self, bad_for: &'static [&'static str]) -> Self {
        Self { bad_for, ..self }
    }

    const fn ends_for(self, ends_for: &'static [&'static str]) -> Self {
        Self { ends_for, ..self }
    }

    const fn asked_by(self, asked_by: &'static [&'static str]) -> Self {
        Self { asked_by, ..self }
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

    /// The knobs that concern the program. The knob whose remedy silences the program comes first.
    pub fn knobs(&self) -> impl Iterator<Item = &'static str> {
        [self.bad_for, self.owner_for, self.ends_for, self.asked_by].into_iter().flatten().copied()
    }
}

pub fn bad_for(knob: &str) -> impl Iterator<Item = &'static Program> {
    PROGRAMS.iter().filter(move |program| program.bad_for.contains(&knob))
}

/// The programs that are silenced to make the good state of a knob last, even if the knob's check does not look for
/// them.
pub fn ended_for(knob: &str) -> impl Iterator<Item = &'static Program> {
    PROGRAMS.iter().filter(move |program| program.bad_for.contains(&knob) || program.ends_for.contains(&knob))
}

/// How to keep programs from running: units to silence, and texts about what a person has to do.
#[derive(Debug, Default)]
pub struct Silencing {
    pub units: Vec<&'static str>,
    pub by_hand: Vec<&'static str>,
}

impl Silencing {
    /// How to silence every program that disturbs a knob.
    pub fn of(knob: &str) -> Self {
        let mut all = Self::default();
        ended_for(knob).for_each(|program| all.add(program, program.units));
        all
    }

    /// Adds a program, with those of its units that have to be silenced.
    pub fn add(&mut self, program: &'static Program, units: &[&'static str]) {
        match program.by_hand {
            Some(how) if !self.by_hand.contains(&how) => self.by_hand.push(how),
            Some(_) => {}
            None => self.units.extend(units),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.units.is_empty() && self.by_hand.is_empty()
    }

    /// A text with the command for the units, and then what a person has to do.
    pub(crate) fn told(&self, command: impl Fn(&str) -> String) -> String {
        let command = (!self.units.is_empty()).then(|| command(&self.units.join(" ")));
        command.into_iter().chain(self.by_hand.iter().map(|how| (*how).to_owned())).collect::<Vec<_>>().join("; ")
    }

    /// The commands that make the units run again after they were unmasked. Targets are not started, because that would
    /// put the machine into the target's state.
    pub(crate) fn again(&self, unmask: &str) -> String {
        let services: Vec<&str> = self.units.iter().filter(|unit| !unit.ends_with(".target")).copied().collect();
        let start = (!services.is_empty()).then(|| format!("systemctl start {}", services.join(" ")));
        let unmask = (!unmask.is_empty()).then(|| format!("{unmask} {}", self.units.join(" ")));
        unmask.into_iter().chain(start).collect::<Vec<_>>().join(" && ")
    }
}

/// The names of the processes that a knob's check looks for.
pub fn processes(knob: &str) -> Vec<&'static str> {
    let asks = |program: &&Program| program.bad_for.contains(&knob) || program.asked_by.contains(&knob);
    PROGRAMS.iter().filter(asks).flat_map(|program| program.processes).copied().collect()
}

/// The programs of which at most one may be at work, so that this knob is good.
pub fn owners(knob: &str) -> impl Iterator<Item = &'static Program> {
    PROGRAMS.iter().filter(move |program| program.owner_for.contains(&knob))
}

const POWER: &[&str] = &["pm.daemons"];
const LIMITS: &[&str] = &["pm.limits"];
const UPDATES: &[&str] = &["svc.timers"];
const MAINTENANCE: &[&str] = &["svc.maintenance"];
const AGENTS: &[&str] = &["svc.agents"];
const SCANNERS: &[&str] = &["svc.scanners"];
const INDEXERS: &[&str] = &["svc.indexers"];
const PRIORITIES: &[&str] = &["svc.priority"];
const KILLERS: &[&str] = &["svc.oomd"];
const SETS_TIME: &[&str] = &["clk.ntp", "clk.rtc_sync"];

/// Every program, in the order in which evidence names them.
#[rustfmt::skip]
pub const PROGRAMS: &[Program] = &[
    entry("tuned", &["tuned.service"], &["tuned"]).owner_for(&[OWNS_POWER, OWNS_INTERRUPTS, OWNS_PRIORITIES])
        .sets("the governors, sysctls, interrupts and command-line words of its profile; it restores them when it \
            stops", &[FREQUENCIES,
        INTERRUPTS, WORDS, &[Written::AnySysctl, Written::Thread("")]]),
    entry("rt-conf", &["rt-conf.service", "snap.rt-conf.rt-conf.service"], &["rt-conf"]).owner_for(&[OWNS_INTERRUPTS,
        OWNS_POWER]).sets("words on the command line, interrupts and governors", &[FREQUENCIES, INTERRUPTS, WORDS]),
    entry("irqbalance", &["irqbalance.service"], &["irqbalance"]).bad_for(&["irq.irqbalance"])
        .asked_by(&["agree.irqbalance"]).owner_for(&[OWNS_INTERRUPTS])
        .sets("affinities of interrupts, every ten seconds", &[INTERRUPTS]),
    entry("irqd", &["irqd.service"], &["irqd"]).owner_for(&[OWNS_INTERRUPTS]).sets("affinities of interrupts",
        &[INTERRUPTS]),
    entry("rtirq", &["rtirq.service", "rtirq-resume.service"], &[]).owner_for(&[OWNS_PRIORITIES])
        .sets("priorities of interrupts' threads, at boot and after suspend", &[&[Written::Thread("irq/")]]),
    entry("stalld", &["stalld.service"], &["stalld"]).bad_for(&["sched.stalld"]).owner_for(&[OWNS_PRIORITIES])
        .sets("reservations for starving threads, and throttling", &[&[Written::File("fair_server"),
        Written::File("ext_server"), Written::Sysctl("kernel.sched_rt_runtime_us")]]),
    entry("thermald", &["thermald.service"], &["thermald"]).bad_for(POWER).ends_for(LIMITS).owner_for(&[OWNS_POWER])
        .sets("frequencies, turbo and limits of power, when it gets warm", &[FREQUENCIES,
        &[Written::File("powercap")]]),
    entry("TLP", &["tlp.service"], &["tlp"]).bad_for(POWER).ends_for(LIMITS).owner_for(&[OWNS_POWER])
        .sets("governors, energy-performance preferences and power of devices, at each change of the power supply",
        &[FREQUENCIES, &[Written::File("power/control"), Written::File("pcie_aspm"),
        Written::File("link_power_management_policy"), Written::Sysctl("kernel.nmi_watchdog")]]),
    entry("power-profiles-daemon", &["power-profiles-daemon.service"], &["power-profiles-"]).bad_for(POWER)
        .ends_for(LIMITS).owner_for(&[OWNS_POWER])
        .sets("energy-performance preferences and turbo, when somebody chooses a power profile", &[FREQUENCIES]),
    entry("auto-cpufreq", &["auto-cpufreq.service"], &["auto-cpufreq"]).bad_for(POWER).owner_for(&[OWNS_POWER])
        .sets("governors, frequencies and turbo, every few seconds", &[FREQUENCIES]),
    entry("cpufreqd", &["cpufreqd.service"], &["cpufreqd"]).bad_for(POWER).owner_for(&[OWNS_POWER])
        .sets("governors and frequencies, by load and battery", &[FREQUENCIES]),
    entry("laptop-mode-tools", &["laptop-mode.service"], &["laptop_mode"]).bad_for(POWER).owner_for(&[OWNS_POWER])
        .sets("governors and power of devices, at each change of the power supply", &[FREQUENCIES]),
    entry("system76-power", &["com.system76.PowerDaemon.service", "system76-power.service"], &["system76-power"])
        .bad_for(POWER).owner_for(&[OWNS_POWER])
        .sets("governors, energy-performance preferences and turbo, when somebody chooses a power profile",
            &[FREQUENCIES]),
    entry("cpufrequtils", &["cpufrequtils.service", "loadcpufreq.service"], &[]).owner_for(&[OWNS_POWER])
        .sets("governors, once at each boot", &[FREQUENCIES]),
    entry("cpupower", &["cpupower.service"], &[]).owner_for(&[OWNS_POWER]).sets("governors, once at each boot",
        &[FREQUENCIES]),
    entry("ondemand", &["ondemand.service"], &[]).owner_for(&[OWNS_POWER]).sets("governors, once at each boot",
        &[FREQUENCIES]),
    entry("ksmtuned", &["ksmtuned.service", "ksm.service"], &["ksmtuned"]).bad_for(&["mem.ksm"])
        .sets("the merging of memory", &[&[Written::File("/sys/kernel/mm/ksm/")]]),
    entry("unattended-upgrades", &["unattended-upgrades.service"], &["unattended-upgr"]).bad_for(UPDATES),
    entry("PackageKit", &["packagekit.service"], &["packagekitd"]).bad_for(UPDATES),
    entry("snapd", &["snapd.service"], &["snapd"]).bad_for(UPDATES),
    entry("dnf-automatic", &["dnf-automatic.service"], &["dnf-automatic"]).bad_for(UPDATES)
        .by_hand("let dnf-automatic finish, because an interrupted update does more harm; the setting svc.update_timers keeps dnf-automatic's timer from starting it again"),
    entry("apt.systemd.daily", &["apt-daily.service", "apt-daily-upgrade.service"], &["apt.systemd.dai"])
        .bad_for(UPDATES)
        .by_hand("let apt finish, because an interrupted update does more harm; the setting svc.update_timers keeps apt's timer from starting it again"),
    entry("rpm-ostree", &["rpm-ostreed.service"], &["rpm-ostreed"]).bad_for(UPDATES),
    timers(&["apt-daily.timer", "apt-daily-upgrade.timer", "dnf-automatic.timer", "dnf-automatic-install.timer",
        "dnf-makecache.timer", "dnf5-automatic.timer", "rpm-ostreed-automatic.timer", "transactional-update.timer",
        "snapd.snap-repair.timer", "update-notifier-download.timer"], &["svc.update_timers"]),
    timers(&["fstrim.timer", "man-db.timer", "plocate-updatedb.timer", "mlocate-updatedb.timer", "updatedb.timer",
        "e2scrub_all.timer", "xfs_scrub_all.timer", "btrfs-scrub.timer", "btrfs-balance.timer", "btrfs-defrag.timer",
        "snapper-timeline.timer", "sysstat-collect.timer"], MAINTENANCE),
    timers(&["mdcheck_start.timer", "raid-check.timer"], MAINTENANCE).ends_for(&["blk.md"]),
    entry("node_exporter", &["prometheus-node-exporter.service"], &["node_exporter", "prometheus-node"])
        .bad_for(AGENTS),
    entry("netdata", &["netdata.service"], &["netdata"]).bad_for(AGENTS),
    entry("collectd", &["collectd.service"], &["collectd"]).bad_for(AGENTS),
    entry("telegraf", &["telegraf.service"], &["telegraf"]).bad_for(AGENTS),
    entry("rasdaemon", &["rasdaemon.service"], &["rasdaemon"]).bad_for(AGENTS).ends_for(&["trace.instances"]),
    entry("sysstat", &["sysstat.service"], &["sadc"]).bad_for(AGENTS),
    entry("zabbix-agent", &["zabbix-agent.service"], &["zabbix_agentd"]).bad_for(AGENTS),
    entry("tracker", &[], &["tracker-miner-f", "tracker-extract"]).bad_for(&["svc.agents", "svc.indexers"])
        .by_hand("systemctl --user mask --now tracker-miner-fs-3.service, as the user whose files it reads"),
    entry("localsearch", &[], &["localsearch-3"]).bad_for(INDEXERS)
        .by_hand("systemctl --user mask --now localsearch-3.service, as the user whose files it reads"),
    entry("baloo", &[], &["baloo_file", "baloo_file_extr"]).bad_for(INDEXERS)
        .by_hand("balooctl disable, as the user whose files it reads"),
    entry("updatedb", &[], &["updatedb", "updatedb.plocat"]).bad_for(INDEXERS)
        .by_hand("let updatedb finish; the setting svc.maintenance keeps updatedb's timer from starting it again"),
    entry("ClamAV", &["clamav-daemon.service", "clamav-clamonacc.service"], &["clamd", "clamonacc"]).bad_for(SCANNERS),
    entry("fapolicyd", &["fapolicyd.service"], &["fapolicyd"]).bad_for(SCANNERS),
    entry("CrowdStrike Falcon", &["falcon-sensor.service"], &["falcon-sensor"]).bad_for(SCANNERS),
    entry("Microsoft Defender", &["mdatp.service"], &["wdavdaemon"]).bad_for(SCANNERS),
    entry("Trend Micro agent", &["ds_agent.service"], &["ds_agent"]).bad_for(SCANNERS),
    entry("osquery", &["osqueryd.service"], &["osqueryd"]).bad_for(SCANNERS),
    entry("Wazuh agent", &["wazuh-agent.service"], &["wazuh-syscheckd"]).bad_for(SCANNERS),
    entry("Sophos", &["sav-protect.service"], &["savscand"]).bad_for(SCANNERS),
    entry("auditd", &["auditd.service"], &["auditd"]).bad_for(&["sec.audit"]),
    entry("rtkit", &["rtkit-daemon.service"], &["rtkit-daemon"]).bad_for(&["svc.rtkit"]).ends_for(&["lim.rttime"]),
    entry("ananicy", &["ananicy.service"], &["ananicy"]).bad_for(PRIORITIES),
    entry("ananicy-cpp", &["ananicy-cpp.service"], &["ananicy-cpp"]).bad_for(PRIORITIES),
    entry("gamemode", &[], &["gamemoded"]).bad_for(PRIORITIES)
        .by_hand("systemctl --user mask --now gamemoded.service, as the user who started gamemoded"),
    entry("uresourced", &["uresourced.service"], &["uresourced"]).bad_for(PRIORITIES),
    entry("system76-scheduler", &["com.system76.Scheduler.service"], &["system76-schedu"]).bad_for(PRIORITIES),
    entry("verynice", &["verynice.service"], &["verynice"]).bad_for(PRIORITIES),
    entry("scx", &["scx.service", "scx_loader.service"], &[]).ends_for(&["sched.ext"]),
    entry("systemd-oomd", &["systemd-oomd.service"], &["systemd-oomd"]).bad_for(KILLERS),
    entry("earlyoom", &["earlyoom.service"], &["earlyoom"]).bad_for(KILLERS),
    entry("nohang", &["nohang.service"], &["nohang"]).bad_for(KILLERS),
    entry("fwupd", &["fwupd-refresh.timer", "fwupd.service"], &["fwupd"]).bad_for(&["fw.fwupd"]),
    entry("tee-supplicant", &["tee-supplicant.service"], &["tee-supplicant"]).ends_for(&["fw.optee"]),
    entry("BlueZ", &["bluetooth.service"], &["bluetoothd"]).ends_for(&["dev.bluetooth"]),
    entry("desktop", &["display-manager.service"], DESKTOPS).bad_for(&["gpu.desktop"]),
    entry("monitor of guests", &[], MONITORS).bad_for(&["virt.guest_load"]).asked_by(&["virt.vcpu"]),
    entry("chrony", &[], &["chronyd"]).asked_by(SETS_TIME),
    entry("other time daemons", &[], &["ntpd", "systemd-timesyn", "openntpd", "ptp4l", "phc2sys"]).asked_by(SETS_TIME),
    entry("kubelet", &[], &["kubelet", "k3s", "k3s-server", "k3s-agent"]).asked_by(&["svc.kubelet"]),
    // It is enough to silence `sleep.target`, since the other targets can be reached only through it.
    entry("sleep", &["sleep.target", "suspend.target", "hibernate.target", "hybrid-sleep.target"], &[])
        .ends_for(&["pm.sleep_targets"]),
];

/// Process names of display servers, compositors and display managers. Any of them shows that a desktop runs.
#[rustfmt::skip]
const DESKTOPS: &[&str] = &[
    "Xorg", "Xwayland", "gnome-shell", "kwin_wayland", "kwin_x11", "plasmashell", "xfwm4", "cinnamon", "sway",
    "Hyprland", "labwc", "wayfire", "gdm3", "gdm", "sddm", "lightdm",
];

/// Process names of programs that run virtual machines.
#[rustfmt::skip]
const MONITORS: &[&str] = &[
    "qemu-system-x86", "qemu-system-aar", "qemu-kvm", "kvm", "firecracker", "cloud-hyperviso", "crosvm", "VBoxHeadless",
    "VirtualBoxVM", "vmware-vmx",
];
