//! For each rule, cases in which it reports a finding and cases in which it does not.

use super::*;
use crate::Policy;
use crate::setup::{Limit, Require};
use Case::{Fires, Silent};
use std::collections::BTreeSet;
use std::slice::from_ref;

/// The plan and the machine of a case.
struct Scene {
    plan: Plan,
    host: Host,
}

type Change = fn(&mut Scene);

enum Case {
    /// A change that makes the first rule report a finding; the other rules listed report one as well.
    Fires(&'static [&'static str], Change),
    /// A similar change on which the rule must not report anything.
    Silent(&'static str, Change),
}

fn us(n: u64) -> Nanos {
    Nanos::from_us(n)
}

/// A plan without findings on [`fine_host`].
fn fine_plan() -> Plan {
    let memory = Memory::Lock { stack_bytes: 64 << 10, heap_bytes: 1 << 20 };
    let setup =
        Setup::new().policy(Policy::Fifo(80)).cpus(&[1]).memory(memory).latency_qos(LatencyQos::Global(Nanos::ZERO));
    Plan {
        phase: Some(us(300)),
        deadline: Some(us(500)),
        execution: Some(us(100)),
        waits: Waits::Polls(us(50)),
        ..Plan::new("loop", us(1000), setup)
    }
}

fn fine_host() -> Host {
    let cpu = |cpu| HostCpu {
        cpu,
        siblings: Some(vec![cpu]),
        governor: Some("performance".to_owned()),
        idle: vec![IdleState::of(0, "C1", 2), IdleState::of(1, "C6", 133)],
        fair_server: Some(50_000_000),
        is_latency_writable: Some(true),
        latency_limit: Some("0".to_owned()),
    };
    Host {
        online: Some(vec![0, 1, 2, 3]),
        isolated: Some(vec![1, 2]),
        nohz_full: Some(vec![]),
        allowed: Some(vec![0, 1, 2, 3]),
        cpus: (0..4).map(cpu).collect(),
        rt_runtime_us: Some(950_000),
        rt_period_us: Some(1_000_000),
        has_rt_groups: Some(false),
        deadline_periods_us: Some((100, 4_194_304)),
        rights: Rights {
            capabilities: Some(u64::MAX),
            priority: Some(Limit::At(0)),
            memory: Some(Limit::At(8 << 20)),
            rt_time_us: Some(Limit::Unlimited),
            group_runtime_us: None,
            is_latency_writable: Some(true),
        },
        clock_source: Some("tsc".to_owned()),
        clock_read: Some(Nanos::from_ns(25)),
        wake_up: Some(us(5)),
        tick: Some(us(4000)),
        timer_slack: Some(us(50)),
        kernel: Some((6, 12)),
        is_realtime: Some(true),
        is_guest: Some(false),
        is_container: None,
    }
}

fn codes_of(plans: &[Plan], host: &Host) -> BTreeSet<&'static str> {
    check(plans, host).iter().map(|finding| finding.code).collect()
}

/// The fine plan on the fine host, after a change.
fn changed(change: Change) -> Scene {
    let mut scene = Scene { plan: fine_plan(), host: fine_host() };
    change(&mut scene);
    scene
}

impl Scene {
    fn codes(&self) -> BTreeSet<&'static str> {
        codes_of(from_ref(&self.plan), &self.host)
    }

    fn finding(&self, code: &str) -> Finding {
        check(from_ref(&self.plan), &self.host).iter().find(|finding| finding.code == code).unwrap().clone()
    }

    fn reserve(&mut self, runtime: u64, period: u64) -> &mut Self {
        let setup = &mut self.plan.setup;
        setup.policy = Policy::Deadline { runtime: us(runtime), deadline: us(period), period: us(period) };
        setup.cpus = vec![];
        self
    }

    fn spin(&mut self, policy: Policy, cpu: u32) -> &mut Self {
        (self.plan.waits, self.plan.setup.policy, self.plan.setup.cpus) = (Waits::Spins, policy, vec![cpu]);
        self
    }

    fn qos(&mut self, latency_qos: LatencyQos) -> &mut Self {
        self.plan.setup.latency_qos = latency_qos;
        self
    }

    fn without_rights(&mut self) -> &mut Self {
        self.host.rights.capabilities = Some(0);
        self.host.rights.memory = Some(Limit::Unlimited);
        self.host.rights.priority = Some(Limit::At(80));
        self
    }
}

const CASES: &[Case] = &[
    Fires(&["task.period"], |s| s.plan.period = Nanos::ZERO),
    Silent("task.period", |s| s.plan.period = us(900)),
    Fires(&["task.priority"], |s| s.plan.setup.policy = Policy::Fifo(0)),
    Fires(&["task.priority"], |s| s.plan.setup.policy = Policy::Fifo(100)),
    Fires(&["task.priority"], |s| s.plan.setup.policy = Policy::RoundRobin(99)),
    Silent("task.priority", |s| s.plan.setup.policy = Policy::Fifo(1)),
    Silent("task.priority", |s| s.plan.setup.policy = Policy::Fifo(95)),
    Fires(&["task.reservation"], |s| _ = s.reserve(1001, 1000)),
    Silent("task.reservation", |s| _ = s.reserve(1000, 1000)),
    Fires(&["task.reservation_margin"], |s| _ = s.reserve(169, 1000)),
    Silent("task.reservation_margin", |s| _ = s.reserve(170, 1000)),
    Fires(&["task.margin"], |s| s.plan.waits = Waits::Polls(us(1001))),
    Silent("task.margin", |s| s.plan.waits = Waits::Polls(us(800))),
    Fires(&["task.load"], |s| s.plan.waits = Waits::Polls(us(801))),
    Silent("task.load", |s| s.plan.waits = Waits::Polls(us(800))),
    Fires(&["task.load"], |s| (s.plan.execution, s.plan.deadline) = (Some(us(851)), None)),
    Silent("task.load", |s| s.plan.execution = None),
    Fires(&["task.deadline"], |s| s.plan.deadline = Some(us(1001))),
    Silent("task.deadline", |s| s.plan.deadline = Some(us(1000))),
    Fires(&["task.deadline"], |s| s.plan.deadline = Some(us(99))),
    Silent("task.deadline", |s| s.plan.deadline = None),
    Fires(&["task.short_period"], |s| s.host.wake_up = Some(us(51))),
    Silent("task.short_period", |s| s.host.wake_up = Some(us(50))),
    Silent("task.short_period", |s| s.host.wake_up = None),
    Fires(&["task.on_tick"], |s| s.plan.phase = Some(Nanos::ZERO)),
    Fires(&["task.on_tick"], |s| s.plan.phase = Some(us(19))),
    Fires(&["task.on_tick"], |s| s.plan.phase = Some(us(1000))),
    Fires(&["task.on_tick"], |s| s.plan.phase = Some(us(2981))),
    Silent("task.on_tick", |s| s.plan.phase = None),
    Silent("task.on_tick", |s| s.plan.phase = Some(us(20))),
    Silent("task.on_tick", |s| s.plan.phase = Some(us(2980))),
    Silent("task.on_tick", |s| (s.plan.phase, s.host.tick) = (Some(Nanos::ZERO), None)),
    // Periods of 970 us and 4 ms have a small common divisor, so releases come near the tick whatever the phase is.
    Silent("task.on_tick", |s| (s.plan.period, s.plan.phase) = (us(970), Some(Nanos::ZERO))),
    Fires(&["task.deadline_affinity"], |s| s.reserve(200, 1000).plan.setup.cpus = vec![1]),
    Silent("task.deadline_affinity", |s| s.reserve(200, 1000).plan.setup.cpus = vec![0, 1, 2, 3]),
    Fires(&["mem.lock"], |s| s.plan.setup.memory = Memory::Leave),
    Silent("mem.lock", |s| (s.plan.setup.memory, s.plan.setup.policy) = (Memory::Leave, Policy::Other)),
    Fires(&["proc.affinity"], |s| s.plan.setup.cpus = vec![]),
    Silent("proc.affinity", |s| (s.plan.setup.cpus, s.host.online) = (vec![], Some(vec![0]))),
    Fires(&["task.cpu"], |s| s.plan.setup.cpus = vec![1, 4]),
    Silent("task.cpu", |s| (s.plan.setup.cpus, s.host.online) = (vec![4], None)),
    // On 6.12 without group run time nothing is throttled, and on an isolated CPU no ordinary task starves.
    Fires(&["iso.domain"], |s| _ = s.spin(Policy::Other, 3)),
    Silent("iso.domain", |s| _ = s.spin(Policy::Other, 1)),
    Silent("iso.domain", |s| s.spin(Policy::Other, 3).host.isolated = None),
    Fires(&["sched.fair_server", "iso.domain"], |s| _ = s.spin(Policy::Fifo(80), 3)),
    Silent("sched.fair_server", |s| _ = s.spin(Policy::Fifo(80), 1)),
    Silent("sched.fair_server", |s| s.spin(Policy::Fifo(80), 3).host.cpus[3].fair_server = Some(0)),
    Fires(&["sched.rt_runtime"], |s| s.spin(Policy::Fifo(80), 1).host.kernel = Some((6, 11))),
    Silent("sched.rt_runtime", |s| s.spin(Policy::Other, 1).host.kernel = Some((6, 11))),
    Fires(&["sched.rt_runtime"], |s| s.spin(Policy::RoundRobin(80), 1).host.has_rt_groups = Some(true)),
    Silent("sched.rt_runtime", |s| {
        s.spin(Policy::RoundRobin(80), 1);
        (s.host.has_rt_groups, s.host.rt_runtime_us) = (Some(true), Some(-1));
    }),
    Fires(&["cpu.smt"], |s| s.host.cpus[1].siblings = Some(vec![1, 3])),
    Silent("cpu.smt", |s| s.host.cpus[1].siblings = None),
    Silent("cpu.smt", |s| s.host.cpus[2].siblings = Some(vec![2, 3])),
    Fires(&["agree.tick_boot_cpu"], |s| (s.plan.setup.cpus, s.host.nohz_full) = (vec![0], Some(vec![1]))),
    Silent("agree.tick_boot_cpu", |s| s.host.nohz_full = Some(vec![1])),
    Fires(&["agree.container"], |s| (s.host.is_container, s.host.allowed) = (Some(true), Some(vec![0]))),
    Silent("agree.container", |s| s.host.allowed = Some(vec![0])),
    Fires(&["pm.idle_state"], |s| _ = s.qos(LatencyQos::Leave)),
    Silent("pm.idle_state", |s| s.qos(LatencyQos::Leave).host.cpus[1].idle[1].enabled = false),
    Fires(&["pm.idle_state"], |s| _ = s.qos(LatencyQos::Global(us(133)))),
    Silent("pm.idle_state", |s| _ = s.qos(LatencyQos::Global(us(132)))),
    Silent("pm.idle_state", |s| s.qos(LatencyQos::Leave).plan.waits = Waits::Polls(us(133))),
    Fires(&["pm.governor"], |s| s.host.cpus[1].governor = Some("schedutil".to_owned())),
    Silent("pm.governor", |s| s.host.cpus[0].governor = Some("schedutil".to_owned())),
    Fires(&["lim.rtprio"], |s| s.without_rights().plan.setup.policy = Policy::Fifo(81)),
    Silent("lim.rtprio", |s| _ = s.without_rights()),
    Fires(&["lim.rtprio"], |s| _ = s.without_rights().reserve(200, 1000)),
    Silent("lim.rtprio", |s| s.reserve(200, 1000).host.rights.capabilities = None),
    Fires(&["lim.memlock"], |s| s.without_rights().host.rights.memory = Some(Limit::At(1 << 30))),
    Silent("lim.memlock", |s| {
        s.without_rights().host.rights.memory = Some(Limit::At((1 << 30) + (64 << 10) + (1 << 20)));
    }),
    Fires(&["lim.rttime"], |s| s.spin(Policy::Fifo(80), 1).host.rights.rt_time_us = Some(Limit::At(200_000))),
    Silent("lim.rttime", |s| s.host.rights.rt_time_us = Some(Limit::At(200_000))),
    Fires(&["sched.rt_group"], |s| s.host.rights.group_runtime_us = Some(0)),
    Silent("sched.rt_group", |s| s.host.rights.group_runtime_us = Some(950_000)),
    Fires(&["sched.dl_period", "task.reservation_margin"], |s| _ = s.reserve(20, 99)),
    Silent("sched.dl_period", |s| _ = s.reserve(20, 100)),
    Fires(&["pm.qos_global"], |s| s.host.rights.is_latency_writable = Some(false)),
    Silent("pm.qos_global", |s| s.host.rights.is_latency_writable = None),
    Fires(&["pm.qos_percpu"], |s| s.qos(LatencyQos::PerCpu).host.cpus[1].is_latency_writable = Some(false)),
    Silent("pm.qos_percpu", |s| s.qos(LatencyQos::PerCpu).host.cpus[0].is_latency_writable = Some(false)),
    Fires(&["pm.qos_percpu"], |s| s.qos(LatencyQos::PerCpu).host.cpus[1].latency_limit = Some("n/a".to_owned())),
    Silent("pm.qos_percpu", |s| s.host.cpus[1].latency_limit = Some("n/a".to_owned())),
    Fires(&["clk.source"], |s| s.host.clock_source = Some("hpet".to_owned())),
    Silent("clk.source", |s| s.host.clock_source = Some("kvm-clock".to_owned())),
    Fires(&["clk.vdso"], |s| s.host.clock_read = Some(Nanos::from_ns(101))),
    Silent("clk.vdso", |s| s.host.clock_read = Some(Nanos::from_ns(100))),
    Fires(&["clk.timer_slack"], |s| (s.plan.setup.policy, s.plan.is_applied) = (Policy::Other, false)),
    Silent("clk.timer_slack", |s| s.plan.setup.policy = Policy::Other),
    Fires(&["kconf.flavour"], |s| s.host.is_realtime = Some(false)),
    Silent("kconf.flavour", |s| s.host.is_realtime = None),
    Fires(&["virt.detect"], |s| s.host.is_guest = Some(true)),
    Silent("virt.detect", |s| s.host.is_guest = None),
];

#[test]
fn nothing_is_said_against_a_fine_plan() {
    let findings = check(&[fine_plan()], &fine_host());
    assert!(findings.is_empty(), "{findings}");
}

#[test]
fn each_rule_fires_where_it_should_and_is_silent_nearby() {
    let (mut fired, mut silent) = (BTreeSet::from([rules::SAME_TURN]), BTreeSet::from([rules::SAME_TURN]));
    for (n, case) in CASES.iter().enumerate() {
        match case {
            Fires(codes, change) => {
                assert_eq!(changed(*change).codes(), codes.iter().copied().collect(), "case {n}");
                fired.insert(codes[0]);
            }
            Silent(code, change) => {
                assert!(!changed(*change).codes().contains(code), "case {n}, {code} should be silent");
                silent.insert(code);
            }
        }
    }
    assert_eq!((fired, silent), (codes().collect(), codes().collect()), "each rule has a case of either kind");
}

/// On a real-time core, rules about Linux's wake-ups are silent, and a clock that needs a system call takes the thread
/// in-band.
#[test]
fn a_task_on_a_core_is_not_judged_by_how_linux_wakes() {
    let on_core = |change: Change, backend| {
        let mut scene = changed(change);
        scene.plan.backend = backend;
        scene
    };
    let of_linux: [(&str, Change); 5] = [
        ("kconf.flavour", |s| s.host.is_realtime = Some(false)),
        ("task.on_tick", |s| s.plan.phase = Some(Nanos::ZERO)),
        ("task.short_period", |s| s.host.wake_up = Some(us(51))),
        ("mem.lock", |s| s.plan.setup.memory = Memory::Leave),
        ("clk.timer_slack", |s| (s.plan.setup.policy, s.plan.is_applied) = (Policy::Other, false)),
    ];
    for (code, change) in of_linux {
        assert!(on_core(change, Backend::Linux).codes().contains(code), "{code}");
        for core in [Backend::Evl, Backend::Cobalt] {
            assert_eq!(on_core(change, core).codes(), BTreeSet::new(), "{code} on {core}");
        }
    }
    let hpet: Change = |s| s.host.clock_source = Some("hpet".to_owned());
    assert!(on_core(hpet, Backend::Evl).finding("clk.source").evidence.contains("in-band"));
    assert!(!on_core(hpet, Backend::Linux).finding("clk.source").evidence.contains("in-band"));
    // The thread is one of Linux as well, so it needs the rights, and its CPU is that of the machine.
    let of_both: [(&str, Change); 3] = [
        ("lim.rtprio", |s| s.without_rights().plan.setup.policy = Policy::Fifo(81)),
        ("pm.idle_state", |s| _ = s.qos(LatencyQos::Leave)),
        ("cpu.smt", |s| s.host.cpus[1].siblings = Some(vec![1, 3])),
    ];
    for (code, change) in of_both {
        assert_eq!(on_core(change, Backend::Evl).codes(), BTreeSet::from([code]));
    }
}

#[test]
fn a_plan_says_which_kernel_is_to_pace_the_task() {
    let config = || crate::TaskConfig::periodic(us(1000)).policy(Policy::Fifo(80));
    assert_eq!(config().backend(Backend::Evl).plan().backend, Backend::Evl);
    assert_eq!(config().backend(Backend::Linux).plan().backend, Backend::Linux);
    assert_eq!(config().wait(crate::Wait::Spin).plan().backend, Backend::Linux, "no core waits like this");
}

#[test]
fn a_machine_of_which_nothing_is_known_makes_no_finding() {
    let mut plan = fine_plan();
    for waits in [Waits::Sleeps, Waits::Polls(us(50)), Waits::Spins] {
        for latency_qos in [LatencyQos::Leave, LatencyQos::PerCpu, LatencyQos::Global(Nanos::ZERO)] {
            (plan.waits, plan.setup.latency_qos) = (waits, latency_qos);
            assert_eq!(codes_of(&[plan.clone()], &Host::default()), BTreeSet::new());
        }
    }
}

#[test]
fn two_tasks_collide_where_rank_cpu_and_moment_are_the_same() {
    let collide = |change: fn(&mut Plan)| {
        let (one, mut other) = (fine_plan(), fine_plan());
        change(&mut other);
        codes_of(&[one, other], &fine_host()).contains(rules::SAME_TURN)
    };
    assert!(collide(|_| ()));
    assert!(collide(|other| other.phase = Some(us(399))), "the first still runs");
    assert!(!collide(|other| other.phase = Some(us(400))));
    assert!(collide(|other| other.phase = Some(us(201))), "the second still runs at the first's next release");
    assert!(collide(|other| (other.period, other.phase) = (us(700), Some(us(650)))), "periods of 700 and 1000 meet");
    assert!(!collide(|other| (other.period, other.phase) = (us(500), Some(us(50)))));
    assert!(!collide(|other| other.phase = None));
    assert!(!collide(|other| other.setup.policy = Policy::Fifo(79)));
    assert!(!collide(|other| other.setup.cpus = vec![2]));
    assert!(!collide(|other| other.setup.policy = Policy::Other));
    assert!(!collide(|other| other.period = Nanos::ZERO) || fine_plan().period > Nanos::ZERO);
}

#[test]
fn findings_are_in_order_and_say_everything() {
    let (mut plan, mut host) = (fine_plan(), fine_host());
    plan.setup.policy = Policy::Fifo(99);
    (host.is_guest, host.is_realtime) = (Some(true), Some(false));
    let findings = check(&[plan], &host);
    let severities: Vec<Severity> = findings.iter().map(|finding| finding.severity).collect();
    assert_eq!(severities, [Severity::Fatal, Severity::Medium, Severity::Info]);
    let text = findings.to_string();
    let first = "fatal task.priority: loop: priority 99 is not within 1..=95; ask for a priority from 1 to 95\n";
    assert!(text.starts_with(first), "{text}");
}

#[test]
fn what_will_be_refused_is_fatal_only_to_a_task_that_insists() {
    let changes: [(&str, Change); 7] = [
        ("task.cpu", |s| s.plan.setup.cpus = vec![9]),
        ("lim.rtprio", |s| s.without_rights().host.rights.priority = Some(Limit::At(0))),
        ("lim.memlock", |s| s.without_rights().host.rights.memory = Some(Limit::At(0))),
        ("sched.rt_group", |s| s.host.rights.group_runtime_us = Some(0)),
        ("sched.dl_period", |s| _ = s.reserve(20, 99)),
        ("pm.qos_global", |s| s.host.rights.is_latency_writable = Some(false)),
        ("pm.qos_percpu", |s| s.qos(LatencyQos::PerCpu).host.cpus[1].is_latency_writable = Some(false)),
    ];
    for (code, change) in changes {
        for (require, severity) in [(Require::Strict, Severity::Fatal), (Require::BestEffort, Severity::High)] {
            let mut scene = changed(change);
            scene.plan.setup.require = require;
            assert_eq!(scene.finding(code).severity, severity, "{code}");
        }
    }
}

#[test]
fn a_task_is_told_of_the_tick_before_it_starts() {
    let told = |period, phase| {
        let config = crate::TaskConfig::periodic(us(period)).phase(phase);
        let host = Host { tick: Some(us(4000)), wake_up: Some(us(10)), ..Host::default() };
        codes_of(&[config.plan()], &host)
    };
    assert_eq!(told(1000, crate::Phase::Offset(Nanos::ZERO)), BTreeSet::from(["task.on_tick"]));
    assert_eq!(told(1000, crate::Phase::Auto), BTreeSet::new());
    assert_eq!(told(20, crate::Phase::Auto), BTreeSet::from(["task.short_period"]));
    let late = |plans: &[Plan]| check(plans, &fine_host()).iter().any(|finding| finding.code == rules::FIRST.code);
    let on_tick = Plan { phase: Some(Nanos::ZERO), ..fine_plan() };
    assert!(late(&[on_tick.clone(), fine_plan()]));
    assert!(!late(&[fine_plan(), on_tick]), "its phase counts from the first's, not from the clock's");
}

#[test]
fn remedies_are_for_what_was_asked() {
    let remedy = |change: Change, code: &str| changed(change).finding(code).remedy;
    let no_rights: Change =
        |s| (s.host.rights.capabilities, s.host.rights.priority) = (Some(1 << 14), Some(Limit::At(0)));
    let fifo = remedy(no_rights, "lim.rtprio");
    assert!(fifo.contains("rtprio") && !fifo.contains("scheduling domain") && !fifo.contains("group"), "{fifo}");
    let deadline = remedy(|s| _ = s.without_rights().reserve(200, 1000), "lim.rtprio");
    assert!(deadline.contains("CAP_SYS_NICE") && !deadline.contains("rtprio"), "{deadline}");
    let per_cpu: Change = |s| s.qos(LatencyQos::PerCpu).host.cpus[1].is_latency_writable = Some(false);
    assert!(!remedy(per_cpu, "pm.qos_percpu").contains("cpu_dma_latency"));
}

#[test]
fn a_spinner_is_told_which_mechanism_stops_it_on_this_kernel() {
    let told = |kernel, has_rt_groups, policy| {
        let mut scene = changed(|_| ());
        scene.spin(policy, 3);
        (scene.host.kernel, scene.host.has_rt_groups) = (Some(kernel), has_rt_groups);
        let mut codes = scene.codes();
        assert!(codes.remove("iso.domain"));
        codes.into_iter().collect::<Vec<_>>()
    };
    let fifo = Policy::Fifo(80);
    assert_eq!(told((6, 1), None, fifo), ["sched.rt_runtime"]);
    assert_eq!(told((6, 12), Some(false), fifo), ["sched.fair_server"]);
    assert_eq!(told((7, 0), None, fifo), ["sched.fair_server"], "whether it throttles, too, is not known");
    assert_eq!(told((6, 18), Some(true), fifo), ["sched.fair_server", "sched.rt_runtime"]);
    assert_eq!(told((6, 18), Some(true), Policy::Other), [""; 0]);
}
