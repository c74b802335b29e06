//! Campaigns on a simulated machine that restarts, fails to restart, loses power, and whose processes are killed at
//! every operation. Each process starts from the saved state alone.

mod machine;

use super::tries::{ABSENT_MAX, BOOTS_MAX, CUT_MAX};
use super::*;
use crate::format::Kept;
use crate::{CandidateVerdict, RunOutcome};
use machine::{EACH, Fault, Machine, PLAIN, TAKEN_UP, candidates};
use proptest::prelude::{Just, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
use std::collections::BTreeSet;
use std::sync::LazyLock;

fn number_of(arm: &[usize]) -> u64 {
    arm.iter().fold(8, |sum, place| match place {
        0 => sum + 1,
        1 => sum + 6,
        2 => sum - 8,
        _ => sum,
    })
}

fn fault() -> impl proptest::strategy::Strategy<Value = Fault> {
    prop_oneof![
        12 => Just(Fault::None),
        1 => Just(Fault::KilledBefore),
        1 => Just(Fault::KilledAfter),
        1 => Just(Fault::PowerBefore),
        1 => Just(Fault::PowerAfter),
        1 => Just(Fault::LongOff),
        1 => Just(Fault::Nothing),
        1 => Just(Fault::Reverted),
    ]
}

/// Asserts that everything is put back, and that each outcome was measured in the boot that was requested for it.
fn assert_sound(machine: &Machine, kept: &Kept) -> Result<(), proptest::test_runner::TestCaseError> {
    let across = kept.across.clone().unwrap();
    prop_assert!(machine.entry.is_none() && machine.once.is_none() && !machine.hooked, "something is left");
    let mut boots = BTreeSet::new();
    for run in &kept.campaign.runs {
        if let RunOutcome::Measured(response) = &run.outcome {
            prop_assert_eq!(
                response.due / EACH,
                1 + number_of(&run.arm),
                "measured in another boot than was asked for"
            );
            prop_assert!(boots.insert(response.due % EACH), "two measurements in one boot");
            prop_assert!(response.due % EACH > 0, "measured in the boot it was begun in");
        }
    }
    // Each run, each resumption, each arm and the way home may take BOOTS_MAX boots.
    let sets = u32::try_from(kept.campaign.design.candidates.len()).unwrap() + 1;
    let at_most = BOOTS_MAX * (u32::try_from(kept.campaign.runs.len()).unwrap() + 1 + TAKEN_UP + sets);
    prop_assert!(across.boots <= at_most, "{} boots for {} runs", across.boots, kept.campaign.runs.len());
    Ok(())
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 150, ..Default::default() })]

    /// A process, a boot or a setting may end at any operation.
    #[test]
    fn ended_at_any_operation_it_comes_to_an_end_with_everything_put_back(
        faults in prop::collection::vec(fault(), 0..400), can_hook: bool,
        bad in prop_oneof![Just("none"), Just("nohz_full"), Just("rcu_nocbs")],
        deadly in prop_oneof![Just("none"), Just("skew_tick")],
        unwritable in prop_oneof![3 => Just("none"), 1 => Just("nohz_full=1")],
    ) {
        let mut machine = Machine { can_hook, bad, deadly, unwritable, ..Machine::new(60, faults) };
        let (kept, is_home) = machine.run_out().map_err(proptest::test_runner::TestCaseError::fail)?;
        assert_sound(&machine, &kept)?;
        let across = kept.across.clone().unwrap();
        if across.gave_up.is_none() {
            prop_assert_eq!(kept.campaign.next(), Next::Done);
            let is_over = across.tries.get(&Arm::new()).is_some_and(Tries::is_over);
            prop_assert!(is_home || !can_hook || is_over, "the machine runs on '{}'", machine.line);
        }
        let refused = |place: usize| kept.campaign.standing().judged.iter().any(|judged| {
            judged.candidate == place && matches!(judged.verdict, CandidateVerdict::Refused(_))
        });
        if bad == "nohz_full" && across.gave_up.is_none() {
            prop_assert!(refused(0), "no kernel comes up with it");
        }
        // If no candidate was refused, the planted effect is found.
        if across.gave_up.is_none() && (0..4).all(|place| !refused(place)) {
            prop_assert_eq!(kept.campaign.standing().recommended, [0]);
        }
    }

}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 40, ..Default::default() })]

    /// If processes are killed, interrupted or reverted while power stays on, the result is that of an undisturbed
    /// campaign.
    #[test]
    fn whoever_is_killed_comes_to_the_same(at in prop::collection::vec((0usize..300, 0usize..4), 0..40)) {
        static UNDISTURBED: LazyLock<Kept> = LazyLock::new(|| Machine::new(60, Vec::new()).run_out().unwrap().0);
        let mut faults = vec![Fault::None; 300];
        let kinds = [Fault::KilledBefore, Fault::KilledAfter, Fault::Nothing, Fault::Reverted];
        for (place, kind) in at {
            faults[place] = kinds[kind];
        }
        let mut machine = Machine::new(60, faults);
        let (kept, is_home) = machine.run_out().map_err(proptest::test_runner::TestCaseError::fail)?;
        assert_sound(&machine, &kept)?;
        prop_assert!(is_home);
        let arms = |kept: &Kept| kept.campaign.runs.iter().map(|run| run.arm.clone()).collect::<Vec<_>>();
        prop_assert_eq!(arms(&kept), arms(&UNDISTURBED));
        prop_assert_eq!(kept.campaign.standing().recommended, UNDISTURBED.campaign.standing().recommended);
    }
}

#[test]
fn an_entry_that_was_taken_away_is_no_boot_that_did_not_come_up_whoever_is_killed_after_it() {
    // The process is killed after it has saved the count, after it has made the next entry, or after it has saved that.
    for kill in 0..3 {
        let mut machine = Machine::new(60, Vec::new());
        while machine.entry.is_none() {
            assert_eq!(machine.process().unwrap(), Ending::Rebooting);
        }
        // Another process removes the entry between the decision and the boot.
        (machine.entry, machine.line) = (None, PLAIN.to_owned());
        machine.faults = [vec![Fault::None; kill], vec![Fault::KilledAfter]].concat().into_iter();
        assert!(machine.process().is_err(), "{kill}");
        assert_eq!(machine.process().unwrap(), Ending::Rebooting, "{kill}");
        let tries: Vec<Tries> = machine.kept().across.unwrap().tries.into_values().collect();
        assert!(matches!(tries.as_slice(), [Tries { absent: 0, taken_away: 1, cut: 0, .. }]), "{kill}: {tries:?}");
    }
}

#[test]
fn nobody_in_the_way_each_measurement_has_a_boot_and_the_machine_comes_home() {
    let mut machine = Machine::new(60, Vec::new());
    let (kept, is_home) = machine.run_out().unwrap();
    assert_sound(&machine, &kept).unwrap();
    let runs = kept.campaign.runs.len() as u64;
    // Each run takes one boot, and one more follows if the last run was not on the original command line.
    assert!(is_home && (runs..=runs + 1).contains(&machine.boot), "{runs} runs, {} boots", machine.boot);
    assert_eq!(kept.campaign.standing().recommended, [0]);
}

#[test]
fn a_kernel_that_does_not_come_up_is_tried_twice_and_left_out() {
    let mut machine = Machine { bad: "nohz_full", ..Machine::new(60, Vec::new()) };
    let (kept, _) = machine.run_out().unwrap();
    let tries = kept.campaign.runs.iter().filter(|run| run.arm == [0]).count();
    assert_eq!(tries, 1, "refused once, it is out");
    let refused = kept.campaign.runs.iter().find(|run| run.arm == [0]).unwrap();
    assert_eq!(
        refused.outcome,
        RunOutcome::Refused(format!(
            "after 2 boots in which the machine did not run with the requested kernel and command line, or rebooted before \
             punctual could check: it was seen with kernel 6.1 and 'BOOT_IMAGE=/vmlinuz {PLAIN}'"
        ))
    );
    assert_eq!(kept.campaign.next(), Next::Done);
}

#[test]
fn a_machine_that_cannot_be_measured_as_it_is_ends_the_campaign() {
    let mut machine = Machine { deadly: "ro", ..Machine::new(60, Vec::new()) };
    let mut kept = machine.kept();
    let mut across = kept.across.take().unwrap();
    let ended = loop {
        if let Ok(Ending::Ended { .. }) = go_on(&mut machine, &mut kept.campaign, &mut across, false) {
            break machine.kept();
        }
        kept = machine.kept();
        across = kept.across.take().unwrap();
        assert!(machine.boot < 20, "a loop of boots");
    };
    let across = ended.across.clone().unwrap();
    let measured = ended.campaign.runs.iter().filter(|run| matches!(run.outcome, RunOutcome::Measured(_))).count();
    assert_eq!(measured, 0);
    let why = across.gave_up.unwrap();
    assert_eq!(why, format!("after {CUT_MAX} boots that came up as asked, and ended before they were measured"));
    assert!(machine.entry.is_none() && !machine.hooked);
}

/// A campaign in which measurements of `skew_tick` kill the machine `deaths` times, and the outcomes of that candidate.
fn of_deaths(deaths: u32) -> (Kept, Vec<RunOutcome>) {
    let mut machine = Machine { deadly: "skew_tick", deaths, ..Machine::new(60, Vec::new()) };
    let (kept, _) = machine.run_out().unwrap();
    let outcomes = kept.campaign.runs.iter().filter(|run| run.arm == [1]).map(|run| run.outcome.clone()).collect();
    (kept, outcomes)
}

#[test]
fn a_plug_that_was_pulled_amid_measurements_is_no_reason_to_refuse_anything() {
    let (kept, outcomes) = of_deaths(CUT_MAX - 1);
    assert!(!outcomes.is_empty() && outcomes.iter().all(|outcome| matches!(outcome, RunOutcome::Measured(_))));
    assert_eq!(kept.across.unwrap().tries, BTreeMap::new());
}

#[test]
fn what_came_up_and_ended_amid_its_measurements_is_refused_for_that_and_nothing_else() {
    let (_, outcomes) = of_deaths(CUT_MAX);
    let why = format!("after {CUT_MAX} boots that came up as asked, and ended before they were measured");
    assert_eq!(outcomes, [RunOutcome::Refused(why)]);
}

#[test]
fn each_kind_of_boot_in_vain_is_told() {
    let tries = Tries { absent: 1, instead: "kernel 6.1 and 'ro'".to_owned(), taken_away: 0, cut: CUT_MAX };
    assert!(tries.is_over() && tries.are_its_own_fault());
    assert_eq!(
        tries.told(),
        "after 3 boots that came up as asked, and ended before they were measured; after 1 boot in which the \
         machine did not run with the requested kernel and command line, or rebooted before punctual could check: it was seen \
         with kernel 6.1 and 'ro'"
    );
    let taken = Tries { taken_away: ABSENT_MAX, ..Tries::default() };
    assert!(taken.is_over() && !taken.are_its_own_fault(), "{}", taken.told());
    assert_eq!(
        taken.told(),
        "after 2 boots without the words of the campaign, because somebody had removed its boot entry"
    );
}

/// The words of one candidate hang the kernel. A person resets the machine after a time that counts as a pause, which
/// begins the round anew each time. The candidate is refused all the same, and the number of boots stays bounded.
#[test]
fn words_that_hang_the_kernel_are_refused_though_each_hang_begins_the_round_anew() {
    let mut machine = Machine { bad: "nohz_full", ..Machine::new(60, Vec::new()) };
    let mut fallen = 0;
    let ended = loop {
        let mut kept = machine.kept();
        let mut across = kept.across.take().unwrap();
        let asked = across.asked.is_some();
        // A person resets the hanging machine after a time that counts as a pause.
        if asked && machine.entry.as_ref().is_some_and(|entry| entry.keeps == candidates()[0].boot) {
            machine.paused = true;
            fallen += 1;
        }
        let is_at_boot = machine.hooked;
        if let Ok(Ending::Ended { .. }) = go_on(&mut machine, &mut kept.campaign, &mut across, is_at_boot) {
            break machine.kept();
        }
        assert!(machine.boot < 400, "a loop of boots");
    };
    assert_eq!(fallen, ABSENT_MAX);
    assert_eq!(ended.campaign.runs.iter().filter(|run| run.arm == [0]).count(), 1);
    assert_eq!(ended.campaign.next(), Next::Done);
    assert!(!ended.campaign.pauses.is_empty());
}

#[test]
fn a_default_that_somebody_changed_meanwhile_is_seen() {
    let across = Across::begun(PLAIN.to_owned(), "6.1".to_owned(), "boot 0".to_owned());
    let seen = |line: &str, release: &str| {
        let mut machine = Machine { hooked: true, ..Machine::new(60, Vec::new()) };
        BootSeen { line: line.to_owned(), release: release.to_owned(), ..machine.look().unwrap() }
    };
    assert!(across.fits(&[], &seen(&format!("BOOT_IMAGE=/b {PLAIN}"), "6.1")));
    assert!(!across.fits(&[], &seen(&format!("{PLAIN} nosmt"), "6.1")));
    assert!(!across.fits(&[], &seen(PLAIN, "6.12")));
    let words = [Keep::Word("isolcpus=2-3".to_owned())];
    assert!(across.fits(&words, &seen("root=/dev/vda1 ro quiet isolcpus=2-3 panic=10", "6.1")));
    assert!(!across.fits(&words, &seen(PLAIN, "6.1")));
}
