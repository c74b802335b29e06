//! Reads cores as their files show them, whole and broken. The files have the form that the sources of EVL 5.10 and 6.10
//! and Xenomai 3.0 to 3.3 write.

use super::{CoreState, CoreThread, Fit, Gravity, Heap, SecondKernel, Slots};
use crate::fact::Fact;
use crate::machine::{Flavour, Machine};
use crate::tree::MemTree;

fn machine(lines: &str) -> Machine {
    Machine::read(&MemTree::parse(&format!("punctual-machine 1\n{lines}\n")).unwrap())
}

fn core(lines: &str) -> SecondKernel {
    machine(lines).second_kernel.known().cloned().flatten().unwrap()
}

const EVL: &str = "/sys/devices/virtual/evl/control/abi = 36\n/sys/devices/virtual/evl/control/state = running\n\
    /sys/devices/virtual/evl/control/cpus = 1-3\n/sys/devices/virtual/clock/monotonic/gravity = 0i 3000k 3000u\n\
    /sys/devices/virtual/thread/clone/\n/sys/devices/virtual/thread/loop:40/pid = 40\n\
    /sys/devices/virtual/thread/loop:40/sched = 3 98 98 fifo \n\
    /sys/devices/virtual/thread/loop:40/stats = 1 1002 1001 0 23456 12\n/dev/evl/control/\n/dev/evl/poll/\n\
    /sys/module/evl/parameters/sysheap_size = 0\n\
    punctual:/kernel/config =\n    CONFIG_EVL_NR_THREADS=256\n    CONFIG_EVL_COREMEM_SIZE=2048\n\
    punctual:/kernel/log =\n    <6>[    0.100000] other: EVL: not the core\n    <6>[    0.500000] EVL: core started [DEBUG]\n";

const COBALT: &str = "/proc/xenomai/version = 3.2.7\n/sys/module/xenomai/parameters/state = enabled\n\
    /sys/devices/system/clockevents/clockevent0/current_device = proxy\n/sys/devices/system/cpu/online = 0-3\n\
    /sys/module/xenomai/parameters/supported_cpus = 18446744073709551615\n\
    /sys/module/xenomai/parameters/allowed_group = -1\n/sys/module/xenomai/parameters/smi = detect\n\
    /proc/sys/kernel/arch = x86_64\n/proc/xenomai/registry/usage = 3/512\n\
    /proc/xenomai/clock/coreclk =\n    gravity: irq=0 kernel=3350 user=3350\n    devices: timer=lapic-deadline, clock=tsc\n\
    /proc/xenomai/heap =\n        TOTAL      FREE  NAME\n      4194304   4100000  system heap\n\
    /proc/xenomai/sched/stat =\n    CPU  PID    MSW        CSW        XSC        PF    STAT       %CPU  NAME\n      0  0      0          \
    43210      0          0     00018000  100.0  [ROOT/0]\n      2  812    1          60000      60010      0     00048042    1.2  \
    control loop\n\
    /proc/xenomai/faults =\n    TRAP         CPU0        CPU1\n      0:            0           0    (Divide error)\n     14:            \
    2           3    (Page fault)\n";

#[test]
fn evl_is_read_whole() {
    let SecondKernel::Evl(core) = core(EVL) else { panic!("not EVL") };
    assert_eq!((core.abi, core.abi_base), (Fact::Known(36), Fact::Absent));
    assert_eq!((core.state, core.cpus.map(|cpus| cpus.to_string())), (Fact::Known(CoreState::Running), known("1-3")));
    assert_eq!(core.gravity, Fact::Known(Gravity { irq_ns: 0, kernel_ns: 3000, user_ns: 3000 }));
    assert_eq!((core.heap_kib, core.most_threads), (Fact::Known(2048), Fact::Known(256)));
    let thread = CoreThread { name: "loop:40".into(), pid: 40, cpu: 3, in_band_switches: 1, context_switches: 1002 };
    assert_eq!(core.threads, Fact::Known(vec![thread]));
    assert_eq!(core.devices, Fact::Known(vec!["control".to_owned(), "poll".to_owned()]));
    assert_eq!(core.messages, Fact::Known(vec!["core started [DEBUG]".to_owned()]));
}

#[test]
fn cobalt_is_read_whole() {
    let machine = machine(COBALT);
    let Fact::Known(Some(SecondKernel::Cobalt(core))) = &machine.second_kernel else { panic!("not Cobalt") };
    assert_eq!((core.version.known().unwrap().as_str(), core.abi(&machine.kernel.arch)), ("3.2.7", Some(18)));
    assert_eq!((&core.state, core.cpus.known().unwrap().to_string()), (&Fact::Known(CoreState::Running), "0-3".into()));
    assert_eq!((&core.clock, &core.allowed_group), (&known("tsc"), &Fact::Known(-1)));
    let heap = Heap { name: "system heap".into(), total_bytes: 4_194_304, free_bytes: 4_100_000 };
    assert_eq!(core.heaps, Fact::Known(vec![heap]));
    assert_eq!(core.registry, Fact::Known(Slots { used: 3, of: 512 }));
    let threads: Vec<_> = core.threads.known().unwrap().iter().map(|t| (t.name.as_str(), t.in_band_switches)).collect();
    assert_eq!(threads, [("control loop", 1)], "threads of the core itself are left out");
    let faults: Vec<_> = core.faults.known().unwrap().iter().map(|fault| (fault.name.as_str(), fault.count)).collect();
    assert_eq!(faults, [("Divide error", 0), ("Page fault", 5)]);
}

fn known(text: &str) -> Fact<String> {
    Fact::Known(text.to_owned())
}

#[test]
fn a_core_that_is_down_is_still_the_second_kernel() {
    let of = |lines: &str| {
        let machine = machine(lines);
        let state = machine.second_kernel.known().cloned().flatten().map(|core| core.state().clone());
        (machine.kernel.flavour, state)
    };
    let parameter = |core: &str, state: &str| of(&format!("/sys/module/{core}/parameters/state = {state}\n/proc/1/"));
    for (core, flavour) in [("xenomai", Flavour::Cobalt), ("evl", Flavour::Evl)] {
        let down = |state| (Fact::Known(flavour), Some(Fact::Known(state)));
        assert_eq!(parameter(core, "disabled"), down(CoreState::Disabled));
        assert_eq!(parameter(core, "enabled"), down(CoreState::HalfInitialised));
    }
    let (flavour, state) = of("/sys/module/kernel/parameters/x = 1\n/proc/sys/kernel/version = #1 SMP PREEMPT IRQPIPE");
    assert_eq!((flavour, state), (Fact::Known(Flavour::Stock), None), "Dovetail alone is no second kernel");
    assert_eq!(of("/proc/xenomai/ ! denied").0, Fact::Denied);
}

#[test]
fn nonsense_is_no_fact() {
    let mut lines = EVL.replace("= 36", "= many").replace("= running", "= asleep").replace("1-3", "some");
    lines = lines.replace("0i 3000k 3000u", "0i 3000u").replace("1 1002 1001", "one of many");
    let SecondKernel::Evl(evl) = core(&lines) else { panic!("not EVL") };
    assert!([evl.abi.known().is_some(), evl.state.known().is_some(), evl.cpus.known().is_some()] == [false; 3]);
    assert!(evl.gravity.known().is_none() && evl.threads == Fact::Known(Vec::new()));
    let lines = COBALT.replace("irq=0", "irq=x").replace("TOTAL", "ALL").replace("3/512", "3").replace("812", "?");
    let SecondKernel::Cobalt(cobalt) = core(&lines.replace("14:", "14")) else { panic!("not Cobalt") };
    assert!(cobalt.gravity.known().is_none() && cobalt.heaps.known().is_none() && cobalt.registry.known().is_none());
    assert!(cobalt.threads.known().is_none() && cobalt.faults.known().is_none());
}

#[test]
fn a_library_fits_what_the_core_serves() {
    let fit = |core_lines: &str, library: &str| {
        let core = core(&format!("{core_lines}\n{library}"));
        core.fits(&core.libraries()[0])
    };
    let evl = |needs: u32| {
        format!(
            "/usr/evl/lib/libevl.so.4 -> libevl.so.4.0.0\n/usr/evl/include/evl/evl.h = #define EVL_ABI_PREREQ {needs}"
        )
    };
    let base = format!("{EVL}\npunctual:/evl/abi_base = 32");
    let fits: Vec<Fit> = [31, 32, 35, 36, 37].map(|needs| fit(&base, &evl(needs))).to_vec();
    assert_eq!(fits, [Fit::Refused, Fit::Fits, Fit::Fits, Fit::Fits, Fit::Refused]);
    assert_eq!(fit(EVL, &evl(35)), Fit::Untold, "the core may have given older revisions up");
    let cobalt = |version: &str| {
        format!("/usr/lib/libcobalt.so.2 -> libcobalt.so.2.0.0\n/usr/bin/xeno-config = XENO_VERSION=\"{version}\"")
    };
    let fits = ["3.1.2", "3.2", "3.2.7", "3.3", "next"].map(|version| fit(COBALT, &cobalt(version)));
    assert_eq!(fits, [Fit::Refused, Fit::Fits, Fit::Fits, Fit::Refused, Fit::Untold]);
}

#[test]
fn a_recording_says_what_the_core_was() {
    let line = |lines: &str| {
        let recorded = machine(lines).recorded();
        recorded.into_iter().find(|line| line.name == "second kernel").map(|line| line.value)
    };
    assert_eq!(line(EVL).unwrap(), "EVL ABI 36, running, out-of-band CPUs 1-3, gravity irq 0 kernel 3000 user 3000 ns");
    assert_eq!(
        line(COBALT).unwrap(),
        "Cobalt 3.2.7 ABI 18, running, out-of-band CPUs 0-3, gravity irq 0 kernel 3350 user 3350 ns"
    );
    assert_eq!(
        line("/sys/module/evl/parameters/state = disabled").unwrap(),
        "EVL ABI unknown, disabled, out-of-band CPUs unknown, gravity unknown"
    );
    assert_eq!(line("/proc/1/"), None);
}

#[test]
fn a_thread_strays_when_switching_is_its_habit() {
    let strays = |in_band_switches, context_switches| {
        CoreThread { name: String::new(), pid: 1, cpu: 0, in_band_switches, context_switches }.strays()
    };
    assert_eq!([strays(10, 11), strays(11, 12), strays(50, 5000), strays(51, 5000)], [false, true, false, true]);
}
