//! The lasting places other than the kernel command line: files that the init and its helpers read.

use super::{Case, Direction, Each, File, Template};
use crate::own_files::{LIMITS, MANAGER, MODPROBE, SYSCTL, TMPFILES, UDEV};
use crate::programs::Silencing;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::machine::{Init, Initramfs, Loader};

fn is_nixos(case: &Case<'_>) -> bool {
    case.machine.boot.loaders.iter().any(|loader| loader.what == Loader::NixOs)
}

/// A line for the configuration of NixOS, followed by the command that puts it into force.
fn nixos(line: &str, how: &str, direction: Direction) -> String {
    match direction {
        Direction::Do => format!("{line} in the configuration, then nixos-rebuild {how}"),
        Direction::Undo => format!("Take {line} out of the configuration, then nixos-rebuild {how}"),
    }
}

fn init(case: &Case<'_>) -> Option<Init> {
    case.machine.boot.init.as_ref().map(|init| init.what)
}

fn cut(line: &str, file: &str) -> String {
    format!("Take '{line}' out of {file}")
}

pub(super) fn sysctl(case: &Case<'_>, name: &str, value: &str, direction: Direction) -> String {
    if is_nixos(case) {
        return nixos(&format!("boot.kernel.sysctl.\"{name}\" = \"{value}\";"), "switch", direction);
    }
    match direction {
        // Both procps and BusyBox read a file given by name, but BusyBox reads no folder of files at boot.
        Direction::Do if matches!(init(case), Some(Init::Busybox)) => {
            format!("echo '{name} = {value}' >> /etc/sysctl.conf, and sysctl -p /etc/sysctl.conf in a start script")
        }
        Direction::Do => format!("echo '{name} = {value}' >> {SYSCTL} && sysctl -p {SYSCTL}"),
        Direction::Undo if matches!(init(case), Some(Init::Busybox)) => {
            cut(&format!("{name} = {value}"), "/etc/sysctl.conf")
        }
        Direction::Undo => format!("{}; sysctl {name}=OLD", cut(&format!("{name} = {value}"), SYSCTL)),
    }
}

pub(super) fn write(case: &Case<'_>, file: File, value: &str, direction: Direction) -> String {
    let path = file.path_of("$c");
    let cpus = file.each().map(|each| if each == Each::RealTime { case.rt() } else { case.housekeeping() });
    // systemd-tmpfiles runs in parallel with the mounting of debugfs and tracefs, so it may write before the files
    // exist.
    let is_early = !path.starts_with("/sys/kernel/debug") && !path.starts_with("/sys/kernel/tracing");
    if case.machine.boot.is_systemd() && is_early {
        return tmpfiles(case, &path, cpus, value, direction);
    }
    let command = command(&path, cpus, value);
    let (file, note) = match init(case) {
        Some(Init::Systemd) => {
            return match direction {
                Direction::Do => format!(
                    "A oneshot unit with After=sys-kernel-debug.mount, WantedBy=multi-user.target and ExecStart=/bin/sh \
                     -c '{command}'"
                ),
                Direction::Undo => "Disable that unit; write back the value that was there".to_owned(),
            };
        }
        Some(Init::OpenRc) => ("/etc/local.d/punctual.start", " (executable; rc-update add local default)"),
        Some(Init::Runit | Init::SysV) => ("/etc/rc.local", " (executable; before its exit)"),
        Some(Init::Busybox) => ("/etc/init.d/S90punctual", " (executable; unverified: rcS of Buildroot runs it)"),
        Some(Init::S6 | Init::Dinit) | None => ("a script that runs at boot", ""),
    };
    match direction {
        Direction::Do => format!("In {file}{note}: {command}"),
        Direction::Undo => format!("{}; write back the value that was there", cut(&command, file)),
    }
}

fn tmpfiles(case: &Case<'_>, path: &str, cpus: Option<&CpuSet>, value: &str, direction: Direction) -> String {
    // The percent sign is doubled because it starts a specifier in a line of tmpfiles.
    let line = format!("w {path} - - - - {}", value.replace('%', "%%"));
    if is_nixos(case) {
        let line = line.replace("cpu$c", "cpuN");
        return match direction {
            Direction::Do => {
                format!("systemd.tmpfiles.rules = [ \"{line}\" ]; in the configuration, then nixos-rebuild switch")
            }
            Direction::Undo => format!("Take \"{line}\" out of systemd.tmpfiles.rules, then nixos-rebuild switch"),
        };
    }
    match (direction, cpus) {
        (Direction::Do, None) => format!("echo '{line}' >> {TMPFILES}"),
        (Direction::Do, Some(cpus)) => {
            format!("for c in {}; do echo \"{line}\"; done >> {TMPFILES}", numbers(cpus))
        }
        (Direction::Undo, _) => {
            format!("{}; write back the value that was there", cut(&line.replace("cpu$c", "cpuN"), TMPFILES))
        }
    }
}

fn command(path: &str, cpus: Option<&CpuSet>, value: &str) -> String {
    match cpus {
        Some(cpus) => format!("for c in {}; do echo {value} > {path}; done", numbers(cpus)),
        None if path.contains('*') => format!("for f in {path}; do echo {value} > \"$f\"; done"),
        None => format!("echo {value} > {path}"),
    }
}

/// The numbers of CPUs as arguments of a shell loop: `0 $(seq 2 63)`.
fn numbers(cpus: &CpuSet) -> String {
    if cpus.is_empty() {
        return "CPUS".to_owned();
    }
    let ranges = cpus.to_string();
    let ranges = ranges.split(',').map(|range| match range.split_once('-') {
        Some((first, last)) => format!("$(seq {first} {last})"),
        None => range.to_owned(),
    });
    ranges.collect::<Vec<_>>().join(" ")
}

pub(super) fn udev(rule: &str, direction: Direction) -> String {
    match direction {
        Direction::Do => format!("echo '{rule}' >> {UDEV} && udevadm control --reload"),
        Direction::Undo => format!("{}; udevadm control --reload", cut(rule, UDEV)),
    }
}

/// How to add a line to modprobe's configuration. The initramfs is built again, since the module may be loaded from
/// there.
pub(super) fn modprobe(case: &Case<'_>, line: &str, direction: Direction) -> String {
    let boot = &case.machine.boot;
    let is_ostree = boot.loaders.iter().any(|loader| loader.what == Loader::Ostree);
    let rebuild = match boot.initramfs {
        _ if is_ostree => "rpm-ostree initramfs-etc --track=/etc/modprobe.d/punctual.conf",
        Some(Initramfs::InitramfsTools) => "update-initramfs -u",
        Some(Initramfs::Dracut) => "dracut --force",
        Some(Initramfs::Mkinitcpio) => "mkinitcpio -P",
        Some(Initramfs::Mkinitfs) => "mkinitfs",
        None => "rebuild the initramfs if the module is in it",
    };
    if is_nixos(case) {
        return nixos(&format!("boot.extraModprobeConfig = \"{line}\";"), "boot", direction);
    }
    match direction {
        Direction::Do => format!("echo '{line}' >> {MODPROBE}; {rebuild}"),
        Direction::Undo => format!("{}; {rebuild}", cut(line, MODPROBE)),
    }
}

/// How to keep programs from running, or how to let them run again. Steps that a person took by hand are not undone.
pub(super) fn silence(case: &Case<'_>, silencing: &Silencing, direction: Direction) -> String {
    if matches!(init(case), Some(Init::Systemd) | None) && !is_nixos(case) {
        return match direction {
            Direction::Do => silencing.told(|units| format!("systemctl mask --now {units}")),
            Direction::Undo if silencing.units.is_empty() => String::new(),
            Direction::Undo => silencing.again("systemctl unmask"),
        };
    }
    let units = silencing.units.iter().map(|unit| no_service(case, unit, direction));
    let by_hand = silencing.by_hand.iter().filter(|_| direction == Direction::Do).map(|how| (*how).to_owned());
    units.chain(by_hand).collect::<Vec<_>>().join("; ")
}

/// Like `silence`, for one unit on a machine with NixOS or without systemd.
fn no_service(case: &Case<'_>, unit: &str, direction: Direction) -> String {
    let (name, kind) = unit.rsplit_once('.').unwrap_or((unit, "service"));
    if is_nixos(case) {
        let name = if name.contains('.') { format!("\"{name}\"") } else { name.to_owned() };
        return nixos(&format!("systemd.{kind}s.{name}.enable = false;"), "switch", direction);
    }
    let (stop, start) = match init(case) {
        Some(init) if kind == "timer" => {
            return format!("{} has no {unit}; look for a similar job in cron", init.name());
        }
        Some(init) if kind != "service" => return format!("{} has no {unit}", init.name()),
        Some(Init::Systemd) | None => return String::new(),
        Some(Init::OpenRc) => (
            format!("rc-service {name} stop; rc-update del {name}"),
            format!("rc-update add {name} default; rc-service {name} start"),
        ),
        Some(Init::Runit) => (format!("rm /var/service/{name}"), format!("ln -s /etc/sv/{name} /var/service/")),
        Some(Init::SysV) => (
            format!("service {name} stop; update-rc.d {name} disable"),
            format!("update-rc.d {name} enable; service {name} start"),
        ),
        Some(Init::Dinit) => {
            (format!("dinitctl stop {name}; dinitctl disable {name}"), format!("dinitctl enable {name}"))
        }
        Some(Init::S6) => (
            format!("s6-rc -d change {name}; take it out of the default bundle"),
            format!("s6-rc -u change {name}; put it back into the default bundle"),
        ),
        Some(Init::Busybox) => (
            format!("Stop {name} and make its script in /etc/init.d not executable"),
            format!("Make the script of {name} in /etc/init.d executable again"),
        ),
    };
    if direction == Direction::Do { stop } else { start }
}

pub(super) fn unit(case: &Case<'_>, line: &str, direction: Direction) -> String {
    match (init(case), direction) {
        (Some(Init::Systemd) | None, Direction::Do) => {
            format!("Run systemctl edit on the application's unit, and add {line} to [Service]")
        }
        (Some(Init::Systemd) | None, Direction::Undo) => {
            format!("Run systemctl edit on the application's unit, and remove {line} from [Service]")
        }
        (Some(Init::OpenRc), Direction::Do) => {
            format!(
                "Set the equivalent of systemd's {line} in the application's /etc/conf.d file (rc_ulimit, \
                rc_cgroup_settings)"
            )
        }
        (Some(init), Direction::Do) => {
            format!(
                "Set the equivalent of systemd's {line} in the script that starts the application ({}; ulimit, chrt, \
                taskset)",
                init.name()
            )
        }
        (Some(_), Direction::Undo) => format!("Remove the equivalent of systemd's {line}"),
    }
}

/// How to set the CPUs of everything that the init starts, which only systemd can. Lists in several files add up, and
/// an empty list discards the earlier ones.
pub(super) fn manager(case: &Case<'_>, direction: Direction) -> String {
    let cpus = case.fill(Template::new("<H>")).replace(',', " ");
    match (init(case), direction) {
        (Some(Init::Systemd), Direction::Do) if is_nixos(case) => format!(
            "systemd.settings.Manager.CPUAffinity = \"{cpus}\"; (before 25.11: systemd.extraConfig) in the configuration, \
             then nixos-rebuild boot"
        ),
        (Some(Init::Systemd), Direction::Undo) if is_nixos(case) => {
            "Take CPUAffinity out of the configuration, then nixos-rebuild boot".to_owned()
        }
        (Some(Init::Systemd) | None, Direction::Do) => format!(
            "mkdir -p /etc/systemd/system.conf.d && printf '[Manager]\\nCPUAffinity=\\nCPUAffinity={cpus}\\n' > {MANAGER}; it \
             counts from the next boot on"
        ),
        (Some(Init::Systemd) | None, Direction::Undo) => format!("rm {MANAGER}, and boot again"),
        (Some(init), Direction::Do) => {
            format!(
                "{} cannot set the CPUs of what it starts; isolcpus= or taskset keep programs on {cpus}",
                init.name()
            )
        }
        (Some(_), Direction::Undo) => String::new(),
    }
}

/// How to set a limit. Two places need it: PAM applies its limits to log-ins, and systemd applies a unit's limits to
/// the service.
pub(super) fn limit(case: &Case<'_>, line: &str, direction: Direction) -> String {
    if direction == Direction::Undo {
        return format!("{}, and take the limit out of the application's unit", cut(line, LIMITS));
    }
    let fields: Vec<&str> = line.split_whitespace().collect();
    let setting = match fields.as_slice() {
        [.., item, value] => service_limit(item, value),
        _ => None,
    };
    let for_services = match (setting, case.machine.boot.is_systemd()) {
        (Some(setting), true) => {
            format!(
                "; for a service, which PAM does not reach, run systemctl edit on its unit, and add {setting} to \
                [Service]"
            )
        }
        (_, false) => "; for a service: ulimit in the script that starts it".to_owned(),
        (None, true) => String::new(),
    };
    format!("echo '{line}' >> {LIMITS} (log in again){for_services}")
}

fn service_limit(item: &str, value: &str) -> Option<String> {
    let value = match value {
        "unlimited" | "infinity" | "-1" if item != "nice" => "infinity".to_owned(),
        // PAM's unit for these limits is KiB, so the suffix K is added.
        kib if matches!(item, "memlock" | "stack" | "as" | "data") => format!("{kib}K"),
        other => other.to_owned(),
    };
    let known =
        ["rtprio", "memlock", "nice", "nofile", "nproc", "stack", "as", "data", "core", "sigpending", "msgqueue"];
    known.contains(&item).then(|| format!("Limit{}={value}", item.to_ascii_uppercase()))
}
