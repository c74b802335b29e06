//! Tests of the conflicts that are found, and of their resolutions.

use super::{Conflict, Resolution, Touched, owners};
use crate::knobs::Case;
use punctual_facts::machine::Machine;
use punctual_facts::profile::Need;
use punctual_facts::tree::MemTree;

fn found(machine: &str, touched: &Touched) -> Vec<String> {
    let tree = MemTree::parse(&format!("punctual-machine 1\n{machine}\n")).unwrap();
    let (machine, need) = (Machine::read(&tree), Need::default());
    let told = |conflict: Conflict| {
        let resolved = match conflict.resolved {
            Resolution::LeftAlone(why) => why.split([',', ':']).next().unwrap_or_default().to_owned(),
            other => format!("{other:?}"),
        };
        format!("{} | {} | {resolved}", conflict.what, conflict.evidence)
    };
    owners(&Case::new(&tree, &machine, &need), touched).into_iter().map(told).collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

#[test]
fn programs_are_silenced_or_said_to_be_left() {
    let machine = "/proc/1/comm = systemd\n/run/systemd/system/\npunctual:/tasks =\n    2129984 0 0 0 kthreadd\n    \
        4194560 0 0 0 irqbalance\n    4194560 0 0 0 tuned\n/etc/systemd/system/multi-user.target.wants/rtirq.service = x";
    let interrupts = Touched { files: pairs(&[("/proc/irq/24/smp_affinity_list", "0-1")]), ..Touched::default() };
    let both = found(machine, &interrupts);
    assert_eq!(both.len(), 2, "{both:?}");
    assert!(
        both[1].starts_with("irqbalance sets affinities") && both[1].ends_with("the plan leaves irq.irqbalance out")
    );
    let silenced = Touched { silenced: vec!["irqbalance.service".to_owned()], ..interrupts };
    assert!(found(machine, &silenced)[1].ends_with("runs (irqbalance) | Silenced"));
    let ranked = Touched { threads: vec!["irq/24-eth0".to_owned()], ..Touched::default() };
    assert!(found(machine, &ranked).iter().any(|told| told.contains("rtirq.service started with multi-user")));
    // A program that sets none of these values is not in conflict.
    let swap = Touched { files: pairs(&[("/sys/kernel/mm/ksm/run", "0")]), ..Touched::default() };
    assert!(found(machine, &swap).is_empty());
    assert!(found("/proc/1/comm = systemd", &ranked).is_empty());
}

#[test]
fn a_word_that_stands_there_is_found_where_it_stands() {
    let machine = "/proc/cmdline = quiet isolcpus=1 idle=poll\n/boot/grub/grub.cfg = x\n/etc/default/grub =\n    \
        GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n    GRUB_CMDLINE_LINUX=\"\"\n/etc/default/grub.d/50-cloudimg-settings.cfg = \
        GRUB_CMDLINE_LINUX_DEFAULT=\"isolcpus=1 nohz-full=1\"";
    let wanted = Touched {
        words: pairs(&[("isolcpus", "managed_irq,domain,2-3"), ("nohz_full", "1"), ("skew_tick", "1")]),
        no_words: vec!["idle".to_owned()],
        ..Touched::default()
    };
    assert_eq!(
        found(machine, &wanted),
        [
            "isolcpus=1 on the command line | /etc/default/grub.d/50-cloudimg-settings.cfg | Replaced",
            "idle=poll on the command line of this boot | /proc/cmdline | Replaced",
        ]
    );
}

#[test]
fn the_last_file_wins() {
    let machine = "/proc/1/comm = systemd\n/run/systemd/system/\n/etc/sysctl.d/10-a.conf =\n    # kernel.watchdog = 1\n    \
        -kernel/watchdog = 1\n    vm.swappiness = 10\n/usr/lib/sysctl.d/99-zzz.conf = kernel.watchdog=1\n\
        /etc/sysctl.d/99-zzy.conf = kernel.watchdog = 0\n/etc/sysctl.d/99-zz-punctual.conf = kernel.watchdog = 7";
    let wanted = Touched { sysctls: pairs(&[("kernel.watchdog", "0")]), ..Touched::default() };
    assert_eq!(
        found(machine, &wanted),
        [
            "kernel.watchdog = 1 | /etc/sysctl.d/10-a.conf | Overridden",
            "kernel.watchdog = 1 | /usr/lib/sysctl.d/99-zzz.conf | this file overrides punctual's own at the next boot",
        ]
    );
    // A file in /etc hides a package's file of the same name.
    let hidden = "/etc/sysctl.d/99-zzz.conf = vm.swappiness = 1\n/usr/lib/sysctl.d/99-zzz.conf = kernel.watchdog=1";
    assert!(found(hidden, &wanted).is_empty());
    assert_eq!(found("/proc/1/comm = init\n/etc/sysctl.conf = kernel.watchdog=1", &wanted).len(), 1);
    assert_eq!(
        found("/proc/cmdline = sysctl.kernel.watchdog=1", &wanted),
        ["sysctl.kernel.watchdog=1 on the command line | /proc/cmdline | Overridden"]
    );
}

#[test]
fn files_of_tmpfiles_udev_and_modprobe_are_read() {
    let machine = "/etc/tmpfiles.d/cpu.conf =\n    w /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor - - - - powersave\n    \
        w /sys/kernel/mm/ksm/run - - - - 1\n    d /run/x 0755 - - -\n/usr/lib/udev/rules.d/60-disk.rules = \
        ACTION==\"add\", SUBSYSTEM==\"block\", ATTR{queue/rotational}==\"0\", ATTR{queue/scheduler}=\"bfq\", \
        ATTRS{queue/scheduler}=\"x\"\n/etc/modprobe.d/zz.conf = options snd-hda-intel power_save=10 index=1";
    let wanted = Touched {
        files: pairs(&[
            ("/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "performance"),
            ("/sys/block/sda/queue/scheduler", "none"),
            ("/sys/block/sda/queue/rotational", "1"),
        ]),
        modules: pairs(&[("snd_hda_intel", "power_save=0")]),
        ..Touched::default()
    };
    assert_eq!(
        found(machine, &wanted),
        [
            "writes powersave to /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor | /etc/tmpfiles.d/cpu.conf | Overridden",
            "a rule of udev sets queue/scheduler to bfq | /usr/lib/udev/rules.d/60-disk.rules | Overridden",
            "options snd-hda-intel power_save=10 | /etc/modprobe.d/zz.conf | this file overrides punctual's own at the next boot",
        ]
    );
}

#[test]
fn what_is_refused_or_odd_is_no_conflict() {
    let wanted = Touched {
        words: pairs(&[("isolcpus", "2")]),
        sysctls: pairs(&[("kernel.watchdog", "0")]),
        files: pairs(&[("/sys/a*b*c/d", "1")]),
        modules: pairs(&[("x", "y")]),
        ..Touched::default()
    };
    let odd = "/etc/sysctl.d/ ! denied\n/etc/tmpfiles.d/a.conf = w\n/etc/modprobe.d/a.conf = options\n\
        /etc/udev/rules.d/a.rules = ATTR{ATTR{=\"ATTR{x}=\"\n/proc/cmdline ! denied";
    assert!(found(odd, &wanted).is_empty());
}
