//! Each rule, fired and silent.

use super::*;
use crate::Policy;
use crate::setup::{Limit, Require};
use std::collections::BTreeSet;

type Change = fn(&mut Plan, &mut Host);

/// A rule, something that makes it fire, with what else then fires, and something near to it that must not.
struct Case(&'static str, Change, &'static [&'static str], Change);

fn us(n: u64) -> Nanos {
    Nanos::from_us(n)
}

/// A plan that nothing is to be said against, on [`fine_host`].
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
    let idle = |number, name: &str, latency| IdleState {
        number,
        name: name.to_owned(),
        exit_latency: us(latency),
        enabled: true,
    };
    let cpu = |cpu| HostCpu {
        cpu,
        siblings: Some(vec![cpu]),
        governor: Some("performance".to_owned()),
        idle: vec![idle(0, "C1", 2), idle(1, "C6", 133)],
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

fn changed(change: Change) -> (Plan, Host) {
    let (mut plan, mut host) = (fine_plan(), fine_host());
    change(&mut plan, &mut host);
    (plan, host)
}

fn reserve(plan: &mut Plan, runtime: u64, period: u64) {
    plan.setup.policy = Policy::Deadline { runtime: us(runtime), deadline: us(period), period: us(period) };
    plan.setup.cpus = vec![];
}

fn spin(plan: &mut Plan, policy: Policy, cpu: u32) {
    (plan.waits, plan.setup.policy, plan.setup.cpus) = (Waits::Spins, policy, vec![cpu]);
}

fn without_rights(host: &mut Host) {
    host.rights.capabilities = Some(0);
    host.rights.memory = Some(Limit::Unlimited);
    host.rights.priority = Some(Limit::At(80));
}

const OF_THE_PLAN: &[Case] = &[
    Case("task.period", |p, _| p.period = Nanos::ZERO, &[], |p, _| p.period = us(900)),
    Case("task.priority", |p, _| p.setup.policy = Policy::Fifo(0), &[], |p, _| p.setup.policy = Policy::Fifo(1)),
    Case("task.priority", |p, _| p.setup.policy = Policy::Fifo(100), &[], |p, _| p.setup.policy = Policy::Fifo(95)),
    Case("task.priority", |p, _| p.setup.policy = Policy::RoundRobin(99), &[], |_, _| ()),
    Case("task.reservation", |p, _| reserve(p, 1001, 1000), &[], |p, _| reserve(p, 1000, 1000)),
    Case("task.reservation_margin", |p, _| reserve(p, 169, 1000), &[], |p, _| reserve(p, 170, 1000)),
    Case("task.margin", |p, _| p.waits = Waits::Polls(us(1001)), &[], |p, _| p.waits = Waits::Polls(us(800))),
    Case("task.load", |p, _| p.waits = Waits::Polls(us(801)), &[], |p, _| p.waits = Waits::Polls(us(800))),
    Case("task.load", |p, _| (p.execution, p.deadline) = (Some(us(851)), None), &[], |p, _| p.execution = None),
    Case("task.deadline", |p, _| p.deadline = Some(us(1001)), &[], |p, _| p.deadline = Some(us(1000))),
    Case("task.deadline", |p, _| p.deadline = Some(us(99)), &[], |p, _| p.deadline = None),
    Case("task.short_period", |_, h| h.wake_up = Some(us(51)), &[], |_, h| h.wake_up = Some(us(50))),
    Case("task.short_period", |_, h| h.wake_up = Some(us(51)), &[], |_, h| h.wake_up = None),
    Case("task.on_tick", |p, _| p.phase = Some(Nanos::ZERO), &[], |p, _| p.phase = None),
    Case("task.on_tick", |p, _| p.phase = Some(us(19)), &[], |p, _| p.phase = Some(us(20))),
    Case("task.on_tick", |p, _| p.phase = Some(us(2981)), &[], |p, _| p.phase = Some(us(2980))),
    Case("task.on_tick", |p, _| p.phase = Some(Nanos::ZERO), &[], |p, h| (p.phase, h.tick) = (Some(Nanos::ZERO), None)),
    // Of 970 us and 4 ms each distance comes up.
    Case(
        "task.on_tick",
        |p, _| p.phase = Some(us(1000)),
        &[],
        |p, _| (p.period, p.phase) = (us(970), Some(Nanos::ZERO)),
    ),
    Case(
        "task.deadline_affinity",
        |p, _| {
            reserve(p, 200, 1000);
            p.setup.cpus = vec![1];
        },
        &[],
        |p, _| {
            reserve(p, 200, 1000);
            p.setup.cpus = vec![0, 1, 2, 3];
        },
    ),
    Case(
        "mem.lock",
        |p, _| p.setup.memory = Memory::Leave,
        &[],
        |p, _| {
            (p.setup.memory, p.setup.policy) = (Memory::Leave, Policy::Other);
        },
    ),
    Case(
        "proc.affinity",
        |p, _| p.setup.cpus = vec![],
        &[],
        |p, h| {
            (p.setup.cpus, h.online) = (vec![], Some(vec![0]));
        },
    ),
];

const OF_THE_CPUS: &[Case] = &[
    Case("task.cpu", |p, _| p.setup.cpus = vec![1, 4], &[], |p, h| (p.setup.cpus, h.online) = (vec![4], None)),
    // On 6.12 without groups nothing throttles, and an isolated CPU has no ordinary task that starves.
    Case("iso.domain", |p, _| spin(p, Policy::Other, 3), &[], |p, _| spin(p, Policy::Other, 1)),
    Case(
        "iso.domain",
        |p, _| spin(p, Policy::Other, 3),
        &[],
        |p, h| {
            spin(p, Policy::Other, 3);
            h.isolated = None;
        },
    ),
    Case(
        "sched.fair_server",
        |p, _| spin(p, Policy::Fifo(80), 3),
        &["iso.domain"],
        |p, _| {
            spin(p, Policy::Fifo(80), 1);
        },
    ),
    Case(
        "sched.fair_server",
        |p, _| spin(p, Policy::Fifo(80), 3),
        &["iso.domain"],
        |p, h| {
            spin(p, Policy::Fifo(80), 3);
            h.cpus[3].fair_server = Some(0);
        },
    ),
    Case(
        "sched.rt_runtime",
        |p, h| {
            spin(p, Policy::Fifo(80), 1);
            h.kernel = Some((6, 11));
        },
        &[],
        |p, h| {
            spin(p, Policy::Other, 1);
            h.kernel = Some((6, 11));
        },
    ),
    Case(
        "sched.rt_runtime",
        |p, h| {
            spin(p, Policy::RoundRobin(80), 1);
            h.has_rt_groups = Some(true);
        },
        &[],
        |p, h| {
            spin(p, Policy::RoundRobin(80), 1);
            (h.has_rt_groups, h.rt_runtime_us) = (Some(true), Some(-1));
        },
    ),
    Case("cpu.smt", |_, h| h.cpus[1].siblings = Some(vec![1, 3]), &[], |_, h| h.cpus[1].siblings = None),
    Case("cpu.smt", |_, h| h.cpus[1].siblings = Some(vec![1, 3]), &[], |_, h| h.cpus[2].siblings = Some(vec![2, 3])),
    Case(
        "agree.tick_boot_cpu",
        |p, h| (p.setup.cpus, h.nohz_full) = (vec![0], Some(vec![1])),
        &[],
        |_, h| h.nohz_full = Some(vec![1]),
    ),
    Case(
        "agree.container",
        |_, h| (h.is_container, h.allowed) = (Some(true), Some(vec![0])),
        &[],
        |_, h| h.allowed = Some(vec![0]),
    ),
    Case(
        "pm.idle_state",
        |p, _| p.setup.latency_qos = LatencyQos::Leave,
        &[],
        |p, h| {
            p.setup.latency_qos = LatencyQos::Leave;
            h.cpus[1].idle[1].enabled = false;
        },
    ),
    Case(
        "pm.idle_state",
        |p, _| p.setup.latency_qos = LatencyQos::Global(us(133)),
        &[],
        |p, _| {
            p.setup.latency_qos = LatencyQos::Global(us(132));
        },
    ),
    Case(
        "pm.idle_state",
        |p, _| p.setup.latency_qos = LatencyQos::Leave,
        &[],
        |p, _| {
            (p.setup.latency_qos, p.waits) = (LatencyQos::Leave, Waits::Polls(us(133)));
        },
    ),
    Case(
        "pm.governor",
        |_, h| h.cpus[1].governor = Some("schedutil".to_owned()),
        &[],
        |_, h| {
            h.cpus[0].governor = Some("schedutil".to_owned());
        },
    ),
];

const OF_THE_RIGHTS: &[Case] = &[
    Case(
        "lim.rtprio",
        |p, h| {
            without_rights(h);
            p.setup.policy = Policy::Fifo(81);
        },
        &[],
        |_, h| without_rights(h),
    ),
    Case(
        "lim.rtprio",
        |p, h| {
            without_rights(h);
            reserve(p, 200, 1000);
        },
        &[],
        |p, h| {
            h.rights.capabilities = None;
            reserve(p, 200, 1000);
        },
    ),
    Case(
        "lim.memlock",
        |_, h| {
            without_rights(h);
            h.rights.memory = Some(Limit::At(1 << 30));
        },
        &[],
        |_, h| {
            without_rights(h);
            h.rights.memory = Some(Limit::At((1 << 30) + (64 << 10) + (1 << 20)));
        },
    ),
    Case(
        "lim.rttime",
        |p, h| {
            spin(p, Policy::Fifo(80), 1);
            h.rights.rt_time_us = Some(Limit::At(200_000));
        },
        &[],
        |_, h| h.rights.rt_time_us = Some(Limit::At(200_000)),
    ),
    Case(
        "sched.rt_group",
        |_, h| h.rights.group_runtime_us = Some(0),
        &[],
        |_, h| {
            h.rights.group_runtime_us = Some(950_000);
        },
    ),
    Case("sched.dl_period", |p, _| reserve(p, 20, 99), &["task.reservation_margin"], |p, _| reserve(p, 20, 100)),
    Case(
        "pm.qos_global",
        |_, h| h.rights.is_latency_writable = Some(false),
        &[],
        |_, h| {
            h.rights.is_latency_writable = None;
        },
    ),
    Case(
        "pm.qos_percpu",
        |p, h| {
            p.setup.latency_qos = LatencyQos::PerCpu;
            h.cpus[1].is_latency_writable = Some(false);
        },
        &[],
        |p, h| {
            p.setup.latency_qos = LatencyQos::PerCpu;
            h.cpus[0].is_latency_writable = Some(false);
        },
    ),
    Case(
        "pm.qos_percpu",
        |p, h| {
            p.setup.latency_qos = LatencyQos::PerCpu;
            h.cpus[1].latency_limit = Some("n/a".to_owned());
        },
        &[],
        |_, h| h.cpus[1].latency_limit = Some("n/a".to_owned()),
    ),
];

const OF_THE_TIME: &[Case] = &[
    Case(
        "clk.source",
        |_, h| h.clock_source = Some("hpet".to_owned()),
        &[],
        |_, h| {
            h.clock_source = Some("kvm-clock".to_owned());
        },
    ),
    Case(
        "clk.vdso",
        |_, h| h.clock_read = Some(Nanos::from_ns(101)),
        &[],
        |_, h| h.clock_read = Some(Nanos::from_ns(100)),
    ),
    Case(
        "clk.timer_slack",
        |p, _| (p.setup.policy, p.is_applied) = (Policy::Other, false),
        &[],
        |p, _| p.setup.policy = Policy::Other,
    ),
    Case("kconf.flavour", |_, h| h.is_realtime = Some(false), &[], |_, h| h.is_realtime = None),
    Case("virt.detect", |_, h| h.is_guest = Some(true), &[], |_, h| h.is_guest = None),
];

fn cases() -> impl Iterator<Item = &'static Case> {
    [OF_THE_PLAN, OF_THE_CPUS, OF_THE_RIGHTS, OF_THE_TIME].into_iter().flatten()
}

#[test]
fn nothing_is_said_against_a_fine_plan() {
    let findings = check(&[fine_plan()], &fine_host());
    assert!(findings.is_empty(), "{findings}");
}

#[test]
fn each_rule_fires_where_it_should_and_is_silent_nearby() {
    for (n, Case(code, fires, also, silent)) in cases().enumerate() {
        let (plan, host) = changed(*fires);
        let expected: BTreeSet<&str> = also.iter().chain([code]).copied().collect();
        assert_eq!(codes_of(&[plan], &host), expected, "case {n}, which should fire");
        let (plan, host) = changed(*silent);
        assert!(!codes_of(&[plan], &host).contains(code), "case {n}, {code} should be silent");
    }
}

#[test]
fn each_rule_has_a_case() {
    let tried: BTreeSet<&str> = cases().map(|case| case.0).chain([rules::SAME_TURN]).collect();
    assert_eq!(tried, codes().collect());
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
    assert!(findings.is_fatal());
    let severities: Vec<Severity> = findings.iter().map(|finding| finding.severity).collect();
    assert_eq!(severities, [Severity::Fatal, Severity::Medium, Severity::Info]);
    let text = findings.to_string();
    let first = "fatal task.priority: loop: priority 99 is not within 1..=95; ask for a priority from 1 to 95\n";
    assert!(text.starts_with(first), "{text}");
}

#[test]
fn what_will_be_refused_is_fatal_only_to_a_task_that_insists() {
    let changes: [(&str, Change); 7] = [
        ("task.cpu", |p, _| p.setup.cpus = vec![9]),
        ("lim.rtprio", |_, h| (h.rights.capabilities, h.rights.memory) = (Some(0), Some(Limit::Unlimited))),
        ("lim.memlock", |_, h| {
            without_rights(h);
            h.rights.memory = Some(Limit::At(0));
        }),
        ("sched.rt_group", |_, h| h.rights.group_runtime_us = Some(0)),
        ("sched.dl_period", |p, _| reserve(p, 20, 99)),
        ("pm.qos_global", |_, h| h.rights.is_latency_writable = Some(false)),
        ("pm.qos_percpu", |p, h| {
            p.setup.latency_qos = LatencyQos::PerCpu;
            h.cpus[1].is_latency_writable = Some(false);
        }),
    ];
    for (code, change) in changes {
        for (require, severity) in [(Require::Strict, Severity::Fatal), (Require::BestEffort, Severity::High)] {
            let (mut plan, host) = changed(change);
            plan.setup.require = require;
            let findings = check(&[plan], &host);
            let found = findings.iter().find(|finding| finding.code == code).unwrap();
            assert_eq!(found.severity, severity, "{found}");
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
    let late = |plans: &[Plan]| check(plans, &fine_host()).iter().any(|finding| finding.code == rules::ON_TICK);
    let on_tick = Plan { phase: Some(Nanos::ZERO), ..fine_plan() };
    assert!(late(&[on_tick.clone(), fine_plan()]));
    assert!(!late(&[fine_plan(), on_tick]), "its phase counts from the first's, not from the clock's");
}

#[test]
fn remedies_are_for_what_was_asked() {
    let remedy = |change: Change, code: &str| {
        let (plan, host) = changed(change);
        check(&[plan], &host).iter().find(|finding| finding.code == code).unwrap().remedy
    };
    let fifo =
        remedy(|_, h| (h.rights.capabilities, h.rights.priority) = (Some(1 << 14), Some(Limit::At(0))), "lim.rtprio");
    assert!(fifo.contains("rtprio") && !fifo.contains("scheduling domain") && !fifo.contains("group"), "{fifo}");
    let deadline = |p: &mut Plan, h: &mut Host| {
        without_rights(h);
        reserve(p, 200, 1000);
    };
    let deadline = remedy(deadline, "lim.rtprio");
    assert!(deadline.contains("CAP_SYS_NICE") && !deadline.contains("rtprio"), "{deadline}");
    let per_cpu = |p: &mut Plan, h: &mut Host| {
        p.setup.latency_qos = LatencyQos::PerCpu;
        h.cpus[1].is_latency_writable = Some(false);
    };
    assert!(!remedy(per_cpu, "pm.qos_percpu").contains("cpu_dma_latency"));
}

#[test]
fn a_spinner_is_told_which_mechanism_stops_it_on_this_kernel() {
    let told = |kernel, has_rt_groups, policy| {
        let (mut plan, mut host) = (fine_plan(), fine_host());
        spin(&mut plan, policy, 3);
        (host.kernel, host.has_rt_groups) = (Some(kernel), has_rt_groups);
        let mut codes = codes_of(&[plan], &host);
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
