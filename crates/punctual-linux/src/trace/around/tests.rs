//! Tests of the witness on simulated machines, which consist of files, and on the present machine.

use super::*;
use punctual_hist::Nanos;
use punctual_numbers::trace::{Counter, Growth};
use std::fs;

fn cpus(list: &str) -> CpuSet {
    CpuSet::parse_list(list).unwrap()
}

fn thread(cpu: u32, tid: u32) -> MeasuredThread {
    MeasuredThread { cpu, tid }
}

fn name(blind: &Blind) -> &str {
    match blind {
        Blind::Witness(name, _) => name,
        other => panic!("{other:?}"),
    }
}

fn ms(ms: u64) -> MonoTime {
    MonoTime::from_ns(1_000_000 * ms)
}

/// A machine with two CPUs; thread 7 measures CPU 1.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        machine.at(0);
        let cpuidle = "sys/devices/system/cpu/cpu1/cpuidle/state";
        machine.write(&format!("{cpuidle}0/name"), "POLL\n");
        machine.write(&format!("{cpuidle}1/name"), "C6\n");
        machine.write("sys/devices/system/cpu/online", "0-1\n");
        machine
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Sets all counters to their values after `n` steps.
    fn at(&self, n: u64) {
        self.write(
            "proc/interrupts",
            &format!(
                "  CPU0  CPU1\n 24: 9 {}  IO-APIC 5-edge   eth0\n 25: {n} 3  IO-APIC 6-edge  sda\nLOC: {n} {}  Local timer \
                 interrupts\nERR: 0\n",
                100 + 2 * n,
                25 * n
            ),
        );
        self.write("proc/softirqs", &format!("  CPU0  CPU1\n  TIMER: 5 {n}\n NET_RX: 6 {}\n", 3 * n));
        self.write("proc/stat", &format!("cpu  1\ncpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 {}\nintr 5\n", n / 2));
        self.write("proc/schedstat", &format!("version 17\ncpu1 0 0 0 0 0 0 0 {} 0\n", 1_000 * n));
        let stat = format!("7 (probe) S 1 2 3 4 5 6 {n} 0 {} {}{} 0", 5 * n, "9 ".repeat(26), 1 - n % 2);
        self.write("proc/self/task/7/stat", &stat);
        let switches = format!("Name:\tx\nvoluntary_ctxt_switches:\t{}\nnonvoluntary_ctxt_switches:\t{n}\n", 100 * n);
        self.write("proc/self/task/7/status", &switches);
        self.write("proc/self/task/7/schedstat", &format!("1 {} 3\n", 700 * n));
        self.write("proc/self/cgroup", "0::/a/b\n");
        self.write("sys/fs/cgroup/cpu.stat", "usage_usec 5\n");
        self.write("sys/fs/cgroup/a/cpu.stat", &format!("usage_usec 5\nnr_throttled {n}\n"));
        self.write("sys/fs/cgroup/a/b/cpu.stat", &format!("usage_usec 5\nnr_throttled {n}\n"));
        for (state, usage) in [(0, n), (1, 50 * n)] {
            self.write(&format!("sys/devices/system/cpu/cpu1/cpuidle/state{state}/usage"), &format!("{usage}\n"));
        }
        for of in ["core", "package"] {
            let path = format!("sys/devices/system/cpu/cpu1/thermal_throttle/{of}_throttle_count");
            self.write(&path, &format!("{n}\n"));
        }
    }

    fn witness(&self) -> Witness {
        Witness::below(self.0.path(), &cpus("1"), &[thread(1, 7)])
    }
}

/// Takes samples 100 ms apart, the first at 0.
fn sample(witness: &mut Witness, n: u64) {
    witness.sample_by(ms(100 * n), || ms(100 * n + 1));
}

fn change(around: &Around, counter: &Counter) -> Option<(u64, Option<u64>)> {
    around.changes.iter().find(|change| change.counter == *counter).map(|change| (change.by, change.usually))
}

#[test]
fn every_counter_is_told_with_what_is_usual() {
    let machine = Machine::new();
    let mut witness = machine.witness();
    // One step between successive samples, but three between the fifth and the sixth.
    for (n, steps) in [0, 1, 2, 3, 4, 7, 8, 9, 10].into_iter().enumerate() {
        machine.at(steps);
        sample(&mut witness, n as u64);
    }
    let around = witness.around_by(1, ms(450), ms(460), || ms(900)).unwrap();
    assert_eq!((around.from, around.to), (ms(400), ms(501)));
    let interrupt = |line: &str, what: &str| Counter::Interrupt(line.to_owned(), what.to_owned());
    for (counter, by, usually) in [
        (interrupt("24", "eth0"), 6, 2),
        (interrupt("LOC", "Local timer interrupts"), 75, 25),
        (Counter::Softirq("TIMER".to_owned()), 3, 1),
        (Counter::Softirq("NET_RX".to_owned()), 9, 3),
        (Counter::Steal, 10_000_000, 5_714_286),
        (Counter::RunDelay, 3_000, 1_000),
        (Counter::OwnRunDelay, 2_100, 700),
        (Counter::MinorFaults, 3, 1),
        (Counter::MajorFaults, 15, 5),
        (Counter::Migrations, 1, 1),
        (Counter::VoluntarySwitches, 300, 100),
        (Counter::InvoluntarySwitches, 3, 1),
        (Counter::RtThrottled, 6, 2),
        (Counter::IdleState("POLL".to_owned()), 3, 1),
        (Counter::IdleState("C6".to_owned()), 150, 50),
        (Counter::Throttled, 6, 2),
    ] {
        assert_eq!(change(&around, &counter), Some((by, Some(usually))), "{counter:?}");
    }
    assert_eq!(around.changes.len(), 16, "nothing else, and no line that never interrupted: {:?}", around.changes);
}

#[test]
fn what_is_missing_is_said_once_with_its_reason() {
    let machine = Machine::new();
    let missing = Witness::below(machine.0.path(), &cpus("0-1"), &[thread(0, 6), thread(1, 7)]).missing();
    let told: Vec<&str> = missing.iter().map(name).collect();
    assert_eq!(
        told,
        [
            "SMI count (CPU 0-1)",
            "faults of the measuring thread (CPU 0)",
            "frequency (CPU 0-1)",
            "idle states (CPU 0)",
            "real-time throttling (CPU 0-1)",
            "run delay of the measuring thread (CPU 0)",
            "switches of the measuring thread (CPU 0)",
            "throttling by heat (CPU 0)",
        ]
    );
    let why = |blind: &Blind| matches!(blind, Blind::Witness(_, why) if !why.is_empty());
    assert!(missing.iter().all(why), "{missing:?}");
    let Blind::Witness(_, why) = &missing[3] else { panic!("{missing:?}") };
    assert!(why.contains("cpuN/cpuidle/state0/name: No such file"), "{why}");
}

#[test]
fn nothing_at_all_is_no_error() {
    let empty = tempfile::tempdir().unwrap();
    let mut witness = Witness::below(empty.path(), &cpus("0-3"), &[thread(0, 1)]);
    assert!(witness.around_by(0, ms(0), ms(1), || ms(5)).is_none());
    (0..3).for_each(|n| sample(&mut witness, n));
    let around = witness.around_by(0, ms(150), ms(160), || ms(300)).unwrap();
    assert_eq!((around.changes, around.standstill), (vec![], None));
    assert!(witness.missing().len() > 8);
    Witness::below(empty.path(), &CpuSet::new(), &[]).sample(ms(1));
}

#[test]
fn a_control_group_with_two_names_is_counted_once() {
    let machine = Machine::new();
    machine.write("proc/self/cgroup", "2:cpu,cpuacct:/a\n");
    let groups = machine.0.path().join("sys/fs/cgroup");
    let throttled = |n: u64| machine.write("sys/fs/cgroup/cpu,cpuacct/a/cpu.stat", &format!("nr_throttled {n}\n"));
    throttled(0);
    std::os::unix::fs::symlink("cpu,cpuacct", groups.join("cpu")).unwrap();
    let mut witness = machine.witness();
    for n in 0..4 {
        throttled(3 * n);
        sample(&mut witness, n);
    }
    let around = witness.around_by(1, ms(150), ms(160), || ms(400)).unwrap();
    assert_eq!(change(&around, &Counter::RtThrottled).map(|(by, _)| by), Some(3));
}

#[test]
fn what_vanishes_or_is_garbled_is_missing_from_then_on() {
    let machine = Machine::new();
    let mut witness = machine.witness();
    let before = witness.missing().len();
    sample(&mut witness, 0);
    machine.write("sys/devices/system/cpu/cpu1/cpuidle/state1/usage", "what\n");
    machine.write("proc/self/task/7/stat", "");
    machine.write("proc/softirqs", "\u{0}\n:\n");
    let read: Reading = Box::new(|_, _| Err(io::Error::other("gone")));
    witness.sources.push(Source { name: "x", cpus: cpus("1"), read });
    (1..4).for_each(|n| sample(&mut witness, n));
    let around = witness.around_by(1, ms(150), ms(160), || ms(400)).unwrap();
    assert_eq!(change(&around, &Counter::IdleState("C6".to_owned())), None);
    assert_eq!(change(&around, &Counter::MinorFaults), None);
    assert_eq!(change(&around, &Counter::Softirq("TIMER".to_owned())), None, "absent is not zero");
    assert_eq!(change(&around, &Counter::IdleState("POLL".to_owned())), Some((0, Some(0))));
    assert_eq!(witness.missing().len(), before + 3, "{:?}", witness.missing());
}

#[test]
fn a_cpu_that_goes_away_takes_its_column_along() {
    let machine = Machine::new();
    let mut witness = machine.witness();
    (0..2).for_each(|n| sample(&mut witness, n));
    machine.write("proc/interrupts", "  CPU0\n 24: 9  IO-APIC 5-edge   eth0\nLOC: 5  Local timer interrupts\n");
    (2..4).for_each(|n| sample(&mut witness, n));
    let local = Counter::Interrupt("LOC".to_owned(), "Local timer interrupts".to_owned());
    assert_eq!(change(&witness.around_by(1, ms(50), ms(60), || ms(400)).unwrap(), &local), Some((0, None)));
    assert_eq!(change(&witness.around_by(1, ms(250), ms(260), || ms(400)).unwrap(), &local), None);
}

#[test]
fn a_standstill_is_told_where_pulses_are_close() {
    let machine = Machine::new();
    let mut witness = machine.witness();
    (0..3).for_each(|n| sample(&mut witness, n));
    let around = |witness: &mut Witness| witness.around_by(1, ms(110), ms(160), || ms(300)).unwrap().standstill;
    assert_eq!(around(&mut witness), None, "too few");
    (0..110).chain(150..200).for_each(|at| witness.saw(ms(at)));
    assert_eq!(around(&mut witness), Some(Nanos::from_ms(40)));
    assert!(witness.reaches(ms(200)) && !witness.reaches(ms(201)));
}

#[test]
fn this_machine_has_at_least_interrupts_and_our_own_thread() {
    let tid = u32::try_from(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
    let mut witness = Witness::new(&cpus("0"), &[thread(0, tid)]);
    witness.sample(now());
    let release = now();
    std::thread::sleep(std::time::Duration::from_millis(20));
    let woke = now();
    witness.sample(now());
    let around = witness.around(0, release, woke).unwrap();
    let has = |wanted: fn(&Counter) -> bool| around.changes.iter().any(|change| wanted(&change.counter));
    assert!(around.from <= release && around.to >= woke);
    assert!(has(|counter| matches!(counter, Counter::Interrupt(..))), "{:?} {:?}", around, witness.missing());
    assert!(has(|counter| matches!(counter, Counter::Softirq(_))), "{:?}", witness.missing());
    let waited = |change: &Growth| change.counter == Counter::VoluntarySwitches && change.by > 0;
    assert!(around.changes.iter().any(waited), "we slept: {:?}", around.changes);
}
