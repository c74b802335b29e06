//! Compares the texts about lasting changes for each machine of `fixtures/boot` with expectations. There is one machine
//! for each boot loader and init. `BLESS=1 cargo test` writes the expectations anew.

use super::{Lasting, Rule, attribute};
use crate::knobs::Case;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::machine::Machine;
use punctual_facts::profile::Need;
use punctual_facts::tree::MemTree;
use std::fmt::Write as _;

/// One sample of each kind of lasting place.
const SAMPLES: &[Lasting] = &[
    Lasting::word("isolcpus=managed_irq,domain,<I apart>"),
    Lasting::word("nosmt"),
    Lasting::NoWord("nohz_full"),
    Lasting::sysctl("vm.stat_interval", "10"),
    Lasting::write("/sys/devices/virtual/workqueue/cpumask", "<H mask>"),
    Lasting::write("/sys/devices/system/cpu/cpu<I>/cpufreq/scaling_governor", "performance"),
    Lasting::write("/sys/class/net/*/queues/rx-*/rps_cpus", "<H mask>"),
    Lasting::write("/sys/kernel/debug/sched/fair_server/cpu<I>/runtime", "0"),
    Lasting::Udev(Rule::add("usb", &[attribute("power/control", "on")])),
    Lasting::module("snd_hda_intel power_save=0"),
    Lasting::NoModule("iTCO_wdt"),
    Lasting::Silence("irq.irqbalance"),
    Lasting::Silence("blk.md"),
    Lasting::Silence("svc.indexers"),
    Lasting::Silence("pm.sleep_targets"),
    Lasting::unit("CPUAffinity=<I>"),
    Lasting::Manager,
    Lasting::limit("@realtime - memlock unlimited"),
    Lasting::built_with("PREEMPT_RT"),
    Lasting::Firmware("usually under Advanced, CPU"),
    Lasting::other("Ask the maker."),
];

fn told(tree: &MemTree, cpus: &str) -> String {
    let machine = Machine::read(tree);
    let need = Need { cpus: CpuSet::parse_list(cpus).unwrap(), ..Need::default() };
    let case = Case::new(tree, &machine, &need);
    let mut out = String::new();
    for sign in &machine.boot.loaders {
        writeln!(out, "loader {} ({})", sign.what.name(), sign.seen).unwrap();
    }
    if let Some(init) = &machine.boot.init {
        writeln!(out, "init {} ({})", init.what.name(), init.seen).unwrap();
    }
    for sample in SAMPLES {
        writeln!(
            out,
            "\n{}\n  do   {}\n  undo {}",
            sample.anywhere(),
            sample.here(&case),
            sample.undo_here(&case).as_deref().unwrap_or("-")
        )
        .unwrap();
    }
    out
}

#[test]
fn each_loader_and_init_is_told_what_to_do() {
    let paths = fixtures::files("boot", "machine");
    assert!(paths.len() >= 18);
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let tree = MemTree::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let told = told(&tree, "2-3");
        fixtures::check(&path.with_extension("lasting"), &told);
    }
}

#[test]
fn no_word_that_isolates_every_cpu_is_printed() {
    let tree = MemTree::parse("punctual-machine 1\n/sys/devices/system/cpu/online = 0-3\n").unwrap();
    assert!(told(&tree, "").contains("isolcpus=managed_irq,domain,CPUS"));
}

#[test]
fn what_a_machine_says_is_no_part_of_a_command_unless_harmless() {
    for evil in ["2';reboot;'", "`reboot`", "$(reboot)", "2\u{1b}[31m", "a|b"] {
        let mut tree = MemTree::parse("punctual-machine 1\n/etc/default/grub.d/x = y\n").unwrap();
        let file = |text: String| punctual_facts::fact::Fact::Known(text.into_bytes());
        tree.file("/proc/cmdline", file(format!("nohz_full={evil}\n")));
        tree.file("/etc/default/grub", file(format!("GRUB_CMDLINE_LINUX=\"nohz_full={evil} isolcpus={evil}\"\n")));
        let told = told(&tree, "2-3");
        assert!(!told.contains(evil), "{told}");
        let container = MemTree::parse("punctual-machine 1\n/run/systemd/container = a\\x1bb\n").unwrap();
        assert!(!self::told(&container, "2-3").contains('\u{1b}'));
    }
}

/// Another kernel, or another command line for it, is installed on the host of a container.
#[test]
fn what_is_decided_at_boot_is_told_to_be_the_hosts() {
    let fixed = |container: &str, id: &str| {
        let tree = MemTree::parse(&format!("punctual-machine 1\n{container}")).unwrap();
        let (machine, need) = (Machine::read(&tree), Need::default());
        let knob = crate::knobs::find(id).unwrap();
        let case = Case::new(&tree, &machine, &need);
        if knob.is_for_boot_only() { crate::audit::lasting(knob, &case) } else { knob.fix_here(&case) }
    };
    for id in ["kconf.flavour", "kconf.preempt", "log.console", "log.nbcon", "cmdline.rejected"] {
        let told = fixed("/run/systemd/container = docker\n", id);
        assert!(told.starts_with("On the host, not in this container (docker): "), "{id}: {told}");
        assert!(!fixed("", id).contains("host"), "{id}");
    }
}
