//! Reports of hand-made recordings.

use super::*;
use crate::claims::Moods;
use crate::explain::{Cause, Class, Explanation, Ranked};
use crate::made_up;
use crate::recording::sample::interval;
use crate::recording::{
    Counters, CpuInterval, End, EventKind, Frame, Header, InBand, Mark, MarkKind, MaximaLost, Moment, Recording, Worst,
    encode, encode_preamble, read,
};
use crate::scenario::{LoadPhase, Mechanism, Policy, ProbeThread};
use crate::trace::{Rung, Tracing};
use proptest::prelude::*;
use punctual_facts::finding::{Confidence, Severity, State, WhyUnknown};
use punctual_facts::machine::MachineLine;
use punctual_hist::{MonoTime, bucket_index};

const EPOCH: MonoTime = MonoTime::from_ns(5_000_000_000);
const PERIOD: Nanos = Nanos::from_ms(1);

/// Two CPUs with a period of 1 ms and a budget of 50 us, first idle and then under load, without any doubt.
fn header() -> Header {
    let phase = |loads: &[&str], parts| LoadPhase { loads: loads.iter().map(|l| (*l).to_owned()).collect(), parts };
    let mut header = made_up::header(0, Nanos::from_secs(30));
    header.tool_version = "1.2.3".to_owned();
    header.epoch = EPOCH;
    header.scenario.threads = [1, 3].map(|cpu| ProbeThread { cpu, period: PERIOD }).to_vec();
    header.scenario.load_phases = vec![phase(&[], 1), phase(&["cpu", "memory"], 2)];
    header.machine = vec![("kernel", "6.12").into()];
    header.placement.housekeeping = std::iter::once(0).collect();
    header.clock.source = Some("tsc".to_owned());
    header.clock.read_cost = Nanos::from_ns(25);
    header
}

fn threads() -> Frame {
    let granted = |cpu| Granted {
        cpu,
        tid: 100 + cpu,
        policy: Policy::Fifo(90),
        affinity: std::iter::once(cpu).collect(),
        memory_locked: true,
    };
    Frame::Threads(vec![granted(1), granted(3)])
}

fn mark(second: u64, kind: MarkKind) -> Frame {
    Frame::Mark(Mark { at: RecTime::from_secs(second), kind })
}

fn end(second: u64, reason: EndReason) -> Frame {
    Frame::End(End { at: RecTime::from_secs(second), reason, write_error: None })
}

/// The latencies of one CPU in one interval, and the waiting times of its skipped releases.
fn cpu(cpu: u32, ran: &[u64], skipped: &[u64]) -> CpuInterval {
    let counts = |values: &[u64]| {
        let mut counts = Counts::new();
        for v in values {
            counts.record(Nanos::from_ns(*v));
        }
        counts
    };
    let over_budget = ran.iter().filter(|v| **v > 50_000).count() as u64;
    CpuInterval { over_budget, ..CpuInterval::of(cpu, &counts(ran), &counts(skipped)) }
}

fn worst(cpu: u32, at: Nanos, latency: Nanos) -> Worst {
    let release = EPOCH.plus(at);
    Worst { cpu, activation: Activation { release, woke: release.plus(latency), cpu, ..Activation::default() } }
}

/// 10 s idle with latencies of 5 us, then 20 s under load with latencies of 20 us.
fn good_frames() -> Vec<Frame> {
    let mut frames = vec![threads(), mark(0, MarkKind::PhaseStart(0))];
    let second = |second, phase, latency: u64| {
        interval(second, phase, vec![cpu(1, &[latency; 1000], &[]), cpu(3, &[latency + 1000; 1000], &[])])
    };
    frames.extend((0..10).map(|s| second(s, 0, 5_000)));
    frames.extend([mark(10, MarkKind::PhaseEnd(0)), mark(10, MarkKind::PhaseStart(1))]);
    frames.extend((10..30).map(|s| second(s, 1, 20_000)));
    frames.push(Frame::Worst(vec![
        worst(1, Nanos::from_secs(12), Nanos::from_us(20)),
        worst(3, Nanos::from_secs(3), Nanos::from_us(6)),
        worst(3, Nanos::from_secs(14), Nanos::from_us(21)),
    ]));
    frames.extend([mark(30, MarkKind::PhaseEnd(1)), end(30, EndReason::Completed)]);
    frames
}

fn fold(header: Header, frames: Vec<Frame>) -> Recording {
    let mut recording = Recording::new(header);
    for frame in frames {
        recording.add(frame);
    }
    recording
}

fn report(header: Header, frames: Vec<Frame>) -> Report {
    Report::of(&fold(header, frames))
}

fn finding(id: &str, severity: Severity, state: State) -> Finding {
    let text = String::new;
    Finding {
        id: id.to_owned(),
        title: text(),
        severity,
        state,
        evidence: Vec::new(),
        why: text(),
        fix: text(),
        cost: text(),
        confidence: Confidence::High,
    }
}

#[test]
fn a_good_run_in_full() {
    let report = report(header(), good_frames());
    assert_eq!(
        report.need,
        Need { period: PERIOD, budget: Some(Nanos::from_us(50)), cpus: [1, 3].into_iter().collect() }
    );
    let [one, three] = &report.cpus[..] else { panic!("two rows") };
    assert_eq!((one.cpu, one.period, one.row.due, one.row.ran, one.row.skipped), (1, PERIOD, 30_000, 30_000, 0));
    assert_eq!((one.row.latency.min, one.row.latency.max), (Some(Nanos::from_us(5)), Some(Nanos::from_us(20))));
    assert_eq!(one.row.latency.mean, Some(Nanos::from_us(15)));
    assert_eq!(one.row.latency.p99_99, Some(Nanos::from_us(20)));
    assert_eq!(one.row.latency, one.row.latency_due, "without skips the two views are the same");
    assert_eq!(one.worst_at, Some(WorstAt { at: RecTime::from_secs(12), phase: "cpu+memory".to_owned() }));
    assert_eq!(three.worst_at, Some(WorstAt { at: RecTime::from_secs(14), phase: "cpu+memory".to_owned() }));
    let total = report.total.as_ref().unwrap();
    assert_eq!((total.due, total.latency.max), (60_000, Some(Nanos::from_us(21))));
    let phases: Vec<_> = report.phases.iter().map(|p| (p.name.as_str(), p.cpu, p.row.ran)).collect();
    assert_eq!(
        phases,
        [("idle", 1, 10_000), ("idle", 3, 10_000), ("cpu+memory", 1, 20_000), ("cpu+memory", 3, 20_000)]
    );
    let span = |name: &str, from, to| PhaseSpan {
        name: name.to_owned(),
        from: RecTime::from_secs(from),
        to: RecTime::from_secs(to),
    };
    assert_eq!(report.spans, [span("idle", 0, 10), span("cpu+memory", 10, 30)]);
    assert_eq!((report.timeline.len(), report.measured), (60, Nanos::from_secs(30)));
    assert!(report.timeline[0].p50.unwrap() < Nanos::from_us(6) && report.timeline[0].p99_9.is_some());
    assert_eq!(report.worst.iter().map(|w| w.cpu).collect::<Vec<_>>(), [3, 1, 3], "worst first");
    assert_eq!(report.worst[2].phase, "idle");
    assert_eq!((report.verdict.answer, report.verdict.missed), (Answer::Held, 0));
    assert_eq!(report.trust, Trust::default());
    // The claim needs 2 995 731 independent releases. This run of 60 000 releases, 2000 a second, is worth 59 452.
    assert_eq!(next(&report), [longer(1498, 2_995_731, 1_000_000)]);
}

/// A hog takes the CPU for 20 ms of each second, beginning with a release: that release runs 20 ms late, the 19 after
/// it pass meanwhile and wait 19, 18 … 1 ms.
#[test]
fn a_hog_shows_in_the_view_per_release_due() {
    let ran: Vec<u64> = std::iter::once(20_000_000).chain(std::iter::repeat_n(4_000, 980)).collect();
    let skipped: Vec<u64> = (1..20).map(|ms| ms * 1_000_000).collect();
    let frames = (0..10).map(|s| interval(s, 0, vec![cpu(1, &ran, &skipped), cpu(3, &[4_000; 1000], &[])]));
    let report = report(header(), frames.collect());
    let row = &report.cpus[0].row;
    assert_eq!((row.due, row.ran, row.skipped, row.over_budget), (10_000, 9_810, 190, 10));
    assert!(row.latency.p99.unwrap() < Nanos::from_us(5), "{row:?}");
    assert!(row.latency_due.p99.unwrap() >= Nanos::from_ms(10), "{row:?}");
    assert_eq!((report.verdict.answer, report.verdict.missed), (Answer::NotHeld, 200));
    let longest_gap = report.cpus[0].longest_gap;
    assert_eq!(next(&report), [NextStep::LookForCauses, NextStep::LookAtSkips { cpu: 1, longest_gap }]);
}

fn report_after(change: impl FnOnce(&mut Header, &mut Vec<Frame>)) -> Report {
    let (mut header, mut frames) = (header(), good_frames());
    change(&mut header, &mut frames);
    report(header, frames)
}

/// The doubts and the remarks after `change`.
fn trust_after(change: impl FnOnce(&mut Header, &mut Vec<Frame>)) -> (Vec<Distrust>, Vec<Distrust>) {
    let trust = report_after(change).trust;
    (trust.reasons, trust.remarks)
}

#[test]
fn what_happened_to_the_machine_spoils_the_numbers() {
    let event =
        |kind, ms| Frame::Event(Event { at: RecTime::EPOCH, length: Nanos::from_ms(ms), kind, releases_lost: 0 });
    let reasons = |kind| trust_after(|_, frames| frames.extend([event(kind, 3), event(kind, 4)])).0;
    let both = Nanos::from_ms(7);
    assert_eq!(reasons(EventKind::Steal), [Distrust::Steal { time: both }]);
    assert_eq!(reasons(EventKind::Paused), [Distrust::Paused { times: 2, total: both }]);
    assert_eq!(reasons(EventKind::Suspended), [Distrust::Suspended { times: 2, total: both }]);
    assert_eq!(reasons(EventKind::WallClockStep), [Distrust::WallClockStep { times: 2 }]);
    assert_eq!(reasons(EventKind::TscDrift), [Distrust::TscDrift]);
    assert_eq!(reasons(EventKind::Throttled), [Distrust::Throttled]);
    assert_eq!(reasons(EventKind::RtThrottled), [Distrust::RtThrottled]);
    assert!(matches!(reasons(EventKind::Moved)[..], [Distrust::ChangedDuring { .. }]));
    let lost = |blocks| Frame::MaximaLost(MaximaLost { at: RecTime::EPOCH, blocks });
    let (reasons, remarks) = trust_after(|_, frames| frames.extend([lost(3), lost(4)]));
    assert_eq!((reasons, remarks), (vec![], vec![Distrust::MaximaLost { maxima: 7 }]));
}

#[test]
fn events_beyond_memory_are_still_counted() {
    let event = Event { at: RecTime::EPOCH, length: Nanos::from_ns(1), kind: EventKind::Paused, releases_lost: 1 };
    let report = report(header(), vec![Frame::Event(event); 5000]);
    assert_eq!(report.events.len(), 4096);
    assert!(report.trust.reasons.contains(&Distrust::Paused { times: 5000, total: Nanos::from_ns(5000) }));
}

#[test]
fn shared_cpus_and_slow_clocks_spoil_the_numbers() {
    let cpus = || std::iter::once(3).collect::<CpuSet>();
    let (reasons, _) = trust_after(|header, _| header.placement.shared = cpus());
    assert_eq!(reasons, [Distrust::HelperShared { cpus: cpus() }]);
    let (reasons, remarks) = trust_after(|header, _| header.placement.shared_siblings = cpus());
    assert_eq!((reasons, remarks), (vec![], vec![Distrust::HelperSibling { cpus: cpus() }]));
    let (reasons, _) = trust_after(|header, _| header.clock.read_cost = Nanos::from_ns(101));
    assert_eq!(reasons, [Distrust::SlowClock { cost: Nanos::from_ns(101) }]);
}

#[test]
fn threads_that_did_not_get_what_was_asked_spoil_the_numbers() {
    let granted = |change: fn(&mut Granted)| {
        trust_after(|_, frames| {
            if let Some(Frame::Threads(threads)) = frames.first_mut() {
                change(&mut threads[0]);
            }
        })
    };
    assert_eq!(granted(|t| t.policy = Policy::Other).0, [Distrust::NotRealTime]);
    assert_eq!(granted(|t| t.policy = Policy::Fifo(1)).0, [Distrust::GrantedOtherwise { cpu: 1 }]);
    assert_eq!(granted(|t| t.affinity.insert(2)).0, [Distrust::GrantedOtherwise { cpu: 1 }]);
    assert_eq!(
        granted(|t| t.cpu = 3).0,
        [Distrust::GrantedOtherwise { cpu: 3 }, Distrust::GrantedOtherwise { cpu: 1 }]
    );
    assert_eq!(granted(|t| t.memory_locked = false), (vec![], vec![Distrust::MemoryNotLocked]));
    let asked_for_other = trust_after(|header, frames| {
        header.scenario.policy = Policy::Other;
        if let Some(Frame::Threads(threads)) = frames.first_mut() {
            for thread in threads {
                thread.policy = Policy::Other;
            }
        }
    });
    assert_eq!(asked_for_other, (vec![], vec![Distrust::NotRealTime]));
    let deadline = Policy::Deadline { runtime: Nanos::from_us(100) };
    let roaming = trust_after(|header, frames| {
        header.scenario.policy = deadline;
        if let Some(Frame::Threads(threads)) = frames.first_mut() {
            for thread in threads {
                (thread.policy, thread.affinity) = (deadline, (0..4).collect());
            }
        }
        let moved = CpuInterval { counters: Counters { migrations: 5, ..Counters::default() }, ..cpu(1, &[], &[]) };
        frames.push(interval(31, 1, vec![moved]));
    });
    assert_eq!(roaming, (vec![], vec![Distrust::Migrations { cpu: 1, times: 5 }]));
}

#[test]
fn the_loops_own_counters_speak() {
    let with = |counters| {
        let counted = CpuInterval { counters, early: 2, ..cpu(3, &[], &[]) };
        trust_after(|_, frames| frames.push(interval(31, 1, vec![counted])))
    };
    let early = vec![Distrust::Early { cpu: 3, times: 2, by: None }];
    let faults = Counters { minor_faults: 1, major_faults: 2, ..Counters::default() };
    assert_eq!(with(faults), (vec![Distrust::Faults { cpu: 3, faults: 3 }], early.clone()));
    let migrations = Counters { migrations: 1, ..Counters::default() };
    assert_eq!(with(migrations), (vec![Distrust::Migrations { cpu: 3, times: 1 }], early.clone()));
    let switches = Counters { involuntary_switches: 9, voluntary_switches: 9, ..Counters::default() };
    assert_eq!(with(switches), (vec![], early));
}

#[test]
fn switches_in_band_are_counted_if_a_core_paces_the_threads() {
    let report = |mechanism, switches: &[u64]| {
        report_after(|header, frames| {
            header.scenario.mechanism = mechanism;
            frames.push(interval(31, 1, vec![cpu(3, &[], &[])]));
            let taken =
                |switches: &u64| Frame::InBand(InBand { at: RecTime::from_secs(31), cpu: 3, switches: *switches });
            frames.extend(switches.iter().map(taken));
        })
    };
    let of_cpu_3 = |report: &Report| report.cpus.iter().find(|row| row.cpu == 3).and_then(|row| row.in_band_switches);
    let doubt = Distrust::InBand { cpu: 3, times: 5 };
    let taken = report(Mechanism::Evl, &[3, 2]);
    assert_eq!((of_cpu_3(&taken), taken.trust.reasons.contains(&doubt)), (Some(5), true));
    let kept = report(Mechanism::Cobalt, &[]);
    assert_eq!((of_cpu_3(&kept), kept.trust.reasons.contains(&doubt)), (Some(0), false));
    assert_eq!(of_cpu_3(&report(Mechanism::Absolute, &[])), None, "Linux takes nothing in-band");
}

#[test]
fn settings_must_stay_and_nobody_may_trace() {
    let state = |moment, values: &[(&str, &str)]| {
        let values = values.iter().copied().map(MachineLine::from).collect();
        Frame::InForce(InForce { moment, values })
    };
    let governor = "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor";
    let (reasons, _) = trust_after(|_, frames| {
        frames.push(state(Moment::Before, &[(governor, "performance"), ("/same", "1")]));
        frames.push(state(Moment::During, &[(governor, "powersave"), ("/same", "1"), ("/new", "1")]));
        frames.push(state(Moment::After, &[(governor, "powersave"), ("/same", "1")]));
    });
    assert_eq!(reasons, [Distrust::ChangedDuring { path: governor.to_owned() }]);
    let (reasons, _) = trust_after(|header, frames| {
        header.scenario.dma_latency_us = Some(0);
        frames.push(state(Moment::Before, &[("/dev/cpu_dma_latency", "2000000000")]));
        frames.push(state(Moment::During, &[("/dev/cpu_dma_latency", "0")]));
    });
    assert_eq!(reasons, [], "what we were asked to change is no surprise");
    let tracer = |value: &str| {
        let values = [("/sys/kernel/tracing/current_tracer", value)];
        trust_after(|_, frames| frames.push(state(Moment::Before, &values))).0
    };
    assert_eq!(tracer("function\n"), [Distrust::Tracing { tracer: "function".to_owned() }]);
    assert_eq!((tracer("nop\n"), tracer("reading is refused")), (vec![], vec![]));
}

#[test]
fn how_a_run_ended_matters() {
    let ended = |reason| trust_after(|_, frames| frames.push(end(30, reason)));
    let early = |reason| vec![Distrust::EndedEarly { reason }];
    assert_eq!(ended(EndReason::Interrupted), (vec![], early(EndReason::Interrupted)));
    assert_eq!(ended(EndReason::LimitExceeded), (vec![], early(EndReason::LimitExceeded)));
    assert_eq!(ended(EndReason::Stalled), (early(EndReason::Stalled), vec![]));
    let (reasons, _) = trust_after(|_, frames| {
        let write_error = Some("no space".to_owned());
        frames.push(Frame::End(End { at: RecTime::EPOCH, reason: EndReason::Completed, write_error }));
    });
    assert_eq!(reasons, [Distrust::WriteFailed]);
}

#[test]
fn a_file_that_is_damaged_in_its_middle_is_told_from_one_that_was_cut_off() {
    let mut bytes = file(&header(), &good_frames());
    // The flipped bit is 40 bytes before the end, so that whole frames follow the damaged one.
    let at = bytes.len() - 40;
    bytes[at] ^= 1;
    let report = Report::of(&read(&bytes).unwrap());
    let cut = report.cut_off.unwrap();
    assert_eq!(cut.good_bytes + cut.lost_bytes, bytes.len() as u64);
    assert!(!cut.is_clean() && cut.lost_bytes > 0, "{cut:?}");
    assert_eq!(report.trust.reasons, [Distrust::Damaged { lost_bytes: cut.lost_bytes }]);
}

#[test]
fn a_file_that_was_cut_off_is_reported_on_as_far_as_it_goes() {
    let mut bytes = file(&header(), &good_frames());
    bytes.truncate(bytes.len() - 1);
    let report = Report::of(&read(&bytes).unwrap());
    assert_eq!((report.end, report.trust.reasons.as_slice()), (None, &[Distrust::CutOff][..]));
    assert_eq!(next(&report), [NextStep::Repeat]);
    assert!(report.cut_off.is_some_and(|cut| cut.is_clean()));
    // A recording that is cut off in its first phase. The phase ends where the recording does.
    let report = Report::of(&fold(header(), good_frames().into_iter().take(5).collect()));
    let idle = PhaseSpan { name: "idle".to_owned(), from: RecTime::EPOCH, to: RecTime::from_secs(3) };
    assert_eq!((report.spans, report.measured), (vec![idle], Nanos::from_secs(3)));
}

#[test]
fn without_marks_the_intervals_know_their_phase() {
    let frames = good_frames().into_iter().filter(|frame| !matches!(frame, Frame::Mark(_) | Frame::Worst(_)));
    let report = report(header(), frames.collect());
    assert_eq!(report.spans.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["idle", "cpu+memory"]);
    assert_eq!(report.cpus[0].worst_at, None, "neither list nor block maxima: not known");
}

#[test]
fn block_maxima_find_the_worst_second_when_the_list_is_missing() {
    let blocks = vec![(0, Nanos::from_us(3)), (1, Nanos::from_us(9)), (2, Nanos::from_us(4))];
    let blocks = CpuInterval { block_max: blocks, ..cpu(1, &[9_000], &[]) };
    let report = report(
        header(),
        vec![mark(0, MarkKind::PhaseStart(0)), interval(0, 0, vec![blocks]), end(9, EndReason::Completed)],
    );
    assert_eq!(report.cpus[0].worst_at, Some(WorstAt { at: RecTime::from_secs(1), phase: "idle".to_owned() }));
}

#[test]
fn few_releases_are_said_to_be_few() {
    let few =
        |n: usize| report(header(), vec![interval(0, 0, vec![cpu(1, &vec![9; n], &[]), cpu(3, &vec![9; n], &[])])]);
    assert_eq!(few(999).trust.reasons, [Distrust::TooFew { due: 999 }]);
    assert_eq!(few(1000).trust, Trust { reasons: vec![], remarks: vec![Distrust::TooFew { due: 1000 }] });
    assert_eq!(next(&few(1000)), [longer(2, 3_000, 1_000)], "3000 releases at 2000 a second");
    let empty = report(header(), vec![]);
    assert_eq!((empty.cpus.len(), empty.cpus[0].row.due, empty.cpus[0].row.latency), (2, 0, Percentiles::default()));
    assert_eq!(empty.verdict.inconclusive_because, Some(Inconclusive::NothingRan));
    assert_eq!(empty.trust.reasons, [Distrust::TooFew { due: 0 }]);
}

/// The next step for root, on a machine whose settings can be changed unless they are called "fixed".
fn next(report: &Report) -> Vec<NextStep> {
    report.next(&Situation { is_root: true, container: None, can_change: |id| id != "fixed" })
}

fn longer(seconds: u64, releases: u64, one_in: u64) -> NextStep {
    NextStep::MeasureLonger { length: Nanos::from_secs(seconds), releases, one_in }
}

fn change(ids: &[&str]) -> NextStep {
    NextStep::Change { ids: ids.iter().map(|id| (*id).to_owned()).collect() }
}

#[test]
fn the_next_steps_name_what_is_in_the_way() {
    let unknown =
        |id: &str, why: &str| finding(id, Severity::High, State::Unknown(WhyUnknown::recorded(why.to_owned())));
    let findings = |worst: Finding| {
        Frame::Findings(vec![
            finding("good", Severity::Fatal, State::Good),
            finding("info", Severity::Info, State::Bad),
            unknown("rt-runtime", "reading is refused; root may be allowed to do this"),
            finding("medium", Severity::Medium, State::Bad),
            unknown("smi", "asking is refused; root may be allowed to do this"),
            unknown("lockdown", "reading is refused, even to root"),
            unknown("other", "not there"),
            worst,
        ])
    };
    let mut frames = good_frames();
    frames.push(findings(finding("high", Severity::High, State::Bad)));
    let held = report(header(), frames.clone());
    let ids: Vec<_> = held.findings.iter().map(|f| f.id.as_str()).collect();
    assert_eq!(ids, ["high", "medium", "info", "rt-runtime", "smi", "lockdown", "other", "good"]);
    let audit = NextStep::AuditAsRoot { ids: vec!["rt-runtime".to_owned(), "smi".to_owned()] };
    let changes = change(&["high", "medium"]);
    assert_eq!(next(&held), [longer(1498, 2_995_731, 1_000_000), changes.clone(), audit.clone()]);
    let no_budget = Header { scenario: Scenario { budget: None, ..header().scenario }, ..header() };
    assert_eq!(next(&report(no_budget, frames.clone()))[0], NextStep::StateBudget);
    frames.push(interval(31, 1, vec![cpu(1, &[60_000], &[])]));
    let missed = report(header(), frames.clone());
    assert_eq!((missed.verdict.answer, missed.verdict.missed), (Answer::NotHeld, 1));
    assert_eq!(next(&missed), [NextStep::LookForCauses, changes, audit.clone()]);
    let contained = Situation { is_root: true, container: Some("docker"), can_change: |_| true };
    assert_eq!(missed.next(&contained), [NextStep::OnHost { container: "docker".to_owned() }, audit.clone()]);
    let by_hand = |severity| {
        let mut frames = frames.clone();
        frames.push(findings(finding("fixed", severity, State::Bad)));
        next(&report(header(), frames))
    };
    assert_eq!(by_hand(Severity::Fatal)[0], NextStep::ByHand { id: "fixed".to_owned() });
    assert_eq!(by_hand(Severity::High)[1], change(&["medium"]), "what can be changed comes before what is no worse");
}

#[test]
fn what_the_host_takes_and_what_a_user_is_refused_comes_first() {
    let stolen = Event { at: RecTime::EPOCH, length: Nanos::from_ms(3), kind: EventKind::Steal, releases_lost: 0 };
    let guest = Frame::Findings(vec![finding("virt.detect", Severity::High, State::Bad)]);
    let late = interval(31, 1, vec![cpu(1, &[60_000], &[])]);
    let mut frames: Vec<Frame> = good_frames().into_iter().chain([Frame::Event(stolen), guest, late]).collect();
    let steps = next(&report(header(), frames.clone()));
    assert_eq!(steps, [NextStep::PinOnHost, NextStep::LookForCauses, change(&["virt.detect"]), NextStep::Repeat]);
    if let Some(Frame::Threads(threads)) = frames.first_mut() {
        threads[0].policy = Policy::Other;
    }
    let user = Situation { is_root: false, container: None, can_change: |_| true };
    let refused = report(header(), frames);
    assert_eq!((refused.next(&user)[0].clone(), next(&refused)[0].clone()), (NextStep::AsRoot, NextStep::PinOnHost));
}

#[test]
fn the_longer_a_run_the_bolder_the_next_claim() {
    let seconds = |n: u64| {
        let second = |s| interval(s, 0, vec![cpu(1, &[5_000; 1000], &[]), cpu(3, &[5_000; 1000], &[])]);
        report(header(), (0..n).map(second).chain([end(n, EndReason::Completed)]).collect())
    };
    assert_eq!(next(&seconds(1497)), [longer(1498, 2_995_731, 1_000_000)]);
    assert_eq!(next(&seconds(1498)), [longer(14_979, 29_957_322, 10_000_000)]);
}

#[test]
fn the_next_claim_is_asked_as_many_releases_as_it_will_need() {
    let mut held = report(header(), good_frames());
    held.verdict.independent = Some(held.verdict.due);
    assert_eq!(next(&held)[0], longer(1498, 2_995_731, 1_000_000));
    held.verdict.independent = Some(held.verdict.due / 2);
    assert_eq!(next(&held)[0], longer(2996, 5_991_462, 1_000_000));
    // Without a bound more samples do not help, but a run that outlasts the moods does.
    held.verdict.independent = None;
    assert_eq!(next(&held)[0], NextStep::LookAtRun);
    let run_wanted = Some(held.claims.phases[0].time.times(7));
    held.claims.phases[0].moods =
        Some(Moods { probability: 1.0, length: None, stretches: 2.0, too_long: true, run_wanted });
    assert_eq!(next(&held)[0], NextStep::OutlastMoods { length: held.measured.times(7) });
}

#[test]
fn the_knob_of_the_first_cause_comes_before_what_is_only_bad_in_general() {
    let mut frames = good_frames();
    frames.push(Frame::Findings(vec![
        finding("high", Severity::High, State::Bad),
        finding("irq.affinity", Severity::Info, State::Bad),
    ]));
    frames.push(interval(31, 1, vec![cpu(1, &[60_000], &[])]));
    let mut missed = report(header(), frames);
    assert_eq!(next(&missed), [NextStep::LookForCauses, change(&["high"])]);
    let ranked = Ranked {
        cause: Cause { class: Class::HardIrq, name: "eth0".into() },
        first_in: 1,
        count: 1,
        total: Nanos::from_us(9),
        worst: Nanos::from_us(9),
        share: 0.9,
        by_cpu: Vec::new(),
        by_phase: Vec::new(),
        seen: (MonoTime::from_ns(0), MonoTime::from_ns(0)),
        rhythm: None,
        bursts: None,
        why: Vec::new(),
        knobs: vec!["irq.affinity"],
        example: 0,
    };
    missed.causes = Some(Explanation { causes: vec![ranked], ..Explanation::default() });
    assert_eq!(next(&missed), [change(&["irq.affinity"])]);
    missed.findings.clear();
    assert_eq!(next(&missed), [NextStep::LookAtCauses]);
    missed.causes = None;
    assert_eq!(next(&missed), [NextStep::LookForCauses]);
}

#[test]
fn a_run_in_which_nothing_came_due_has_a_next_step() {
    assert_eq!(next(&report(header(), vec![])), [NextStep::LookAtThreads]);
}

fn file(header: &Header, frames: &[Frame]) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_preamble(&mut bytes);
    encode(&Frame::Header(Box::new(header.clone())), &mut bytes).unwrap();
    for frame in frames {
        encode(frame, &mut bytes).unwrap();
    }
    bytes
}

/// A few intervals, each as (CPU, latencies, waiting times of skipped releases).
fn samples() -> impl Strategy<Value = Vec<(u32, Vec<u64>, Vec<u64>)>> {
    let values = || prop::collection::vec((any::<u64>(), 20u32..64).prop_map(|(v, shift)| v >> shift), 0..40);
    prop::collection::vec((1u32..5, values(), values()), 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn samples_in_are_samples_told(samples in samples()) {
        let frames: Vec<Frame> = samples.iter().zip(0..).map(|((c, ran, skipped), second)| {
            interval(second, u16::try_from(second % 2).unwrap(), vec![cpu(*c, ran, skipped)])
        }).collect();
        let report = Report::of(&read(&file(&header(), &frames)).unwrap());
        let ran = samples.iter().map(|s| s.1.len()).sum::<usize>() as u64;
        let skipped = samples.iter().map(|s| s.2.len()).sum::<usize>() as u64;
        let sum = |of: fn(&LatencyRow) -> u64| report.cpus.iter().map(|cpu| of(&cpu.row)).sum::<u64>();
        prop_assert_eq!((sum(|r| r.ran), sum(|r| r.skipped), sum(|r| r.due)), (ran, skipped, ran + skipped));
        prop_assert_eq!(report.phases.iter().map(|p| p.row.due).sum::<u64>(), ran + skipped);
        prop_assert_eq!(report.timeline.iter().map(|p| p.skipped).sum::<u64>(), skipped);
        prop_assert_eq!(report.verdict.due, ran + skipped);
        let total = report.total.unwrap();
        prop_assert_eq!((total.ran, total.skipped), (ran, skipped));
        let over = samples.iter().flat_map(|s| &s.1).filter(|v| **v > 50_000).count() as u64;
        prop_assert_eq!(report.verdict.missed, over + skipped);
        for row in &report.cpus {
            let mine = || samples.iter().filter(|s| s.0 == row.cpu);
            let max = mine().flat_map(|s| &s.1).max().map(|v| Nanos::from_ns(*v));
            // The builder states the extremes of each interval, so the largest latency is exact up to the bucket of the
            // last interval.
            prop_assert_eq!(row.row.latency.max.map(|v| bucket_index(v.as_ns())), max.map(|v| bucket_index(v.as_ns())));
            prop_assert!(row.row.latency.p50 <= row.row.latency.p99 || row.row.latency.p99.is_none());
        }
    }

    #[test]
    fn any_frames_make_a_report(
        header in crate::recording::strategies::header(),
        frames in prop::collection::vec(crate::recording::strategies::frame(), 0..12),
    ) {
        let live = report(header.clone(), frames.clone());
        let mut recording = read(&file(&header, &frames)).unwrap();
        // The file states that its end is missing. Otherwise the reports of a run and of its file are the same.
        recording.cut_off = None;
        let again = Report::of(&recording);
        prop_assert_eq!(format!("{live:?}"), format!("{again:?}"));
    }
}

/// A frame that states that causes were looked for in these load phases.
pub(crate) fn tracing(phases: &[u16]) -> Frame {
    Frame::Tracing(Tracing {
        rung: Rung::Tracefs,
        refused: Vec::new(),
        phases: phases.to_vec(),
        events: Vec::new(),
        blind: Vec::new(),
        clock: "mono".to_owned(),
        buffer_bytes: 1 << 20,
        threshold: None,
        windows_max: 100,
        self_test: Vec::new(),
    })
}

/// 10 s untraced with latencies of 5 us, then 10 s traced with latencies of 80 us, which are over the budget.
fn in_two_phases(traced: &[u16]) -> Report {
    let second = |second, phase, latency: u64| interval(second, phase, vec![cpu(1, &[latency; 1000], &[])]);
    let mut frames = vec![threads(), tracing(traced)];
    frames.extend((0..10).map(|s| second(s, 0, 5_000)));
    frames.push(Frame::Worst(vec![worst(1, Nanos::from_secs(3), Nanos::from_us(5))]));
    frames.extend((10..20).map(|s| second(s, 1, 80_000)));
    frames.push(Frame::Worst(vec![worst(1, Nanos::from_secs(12), Nanos::from_us(80))]));
    frames.push(end(20, EndReason::Completed));
    report(header(), frames)
}

#[test]
fn a_traced_phase_stays_out_of_the_headline() {
    let apart = in_two_phases(&[1]);
    assert_eq!((apart.cpus[0].row.due, apart.cpus[0].row.over_budget), (10_000, 0));
    assert_eq!((apart.measured, apart.worst[0].activation.latency()), (Nanos::from_secs(10), Nanos::from_us(5)));
    assert_eq!(apart.phases.iter().map(|row| row.row.due).collect::<Vec<_>>(), [10_000, 10_000], "both are shown");
}

#[test]
fn where_all_was_traced_the_headline_is_what_there_is() {
    let all = in_two_phases(&[0, 1]);
    assert_eq!((all.cpus[0].row.due, all.cpus[0].row.over_budget), (20_000, 10_000));
    assert_eq!(all.worst[0].activation.latency(), Nanos::from_us(80));
}
