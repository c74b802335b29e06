//! Every doubt with and without a miss, and the table of the book.

use super::*;
use crate::recording::EndReason;
use Answer::{Held, Inconclusive as Open, NotHeld};
use Direction::{Both, MayHide, MoodsLong, Neither, OnlyAdds, TooFew};
use punctual_facts::cpu_set::CpuSet;
use std::collections::BTreeMap;

/// One doubt of each kind. The match in it does not compile until a new kind is added.
fn every_doubt() -> Vec<Distrust> {
    let (time, total, cpu, times) = (Nanos::from_ms(40), Nanos::from_ms(40), 3, 2);
    let cpus = || std::iter::once(3).collect::<CpuSet>();
    let after = |doubt: &Distrust| {
        Some(match doubt {
            Distrust::Steal { .. } => Distrust::Paused { times, total },
            Distrust::Paused { .. } => Distrust::Suspended { times, total },
            Distrust::Suspended { .. } => Distrust::WallClockStep { times },
            Distrust::WallClockStep { .. } => Distrust::TscDrift,
            Distrust::TscDrift => Distrust::HelperShared { cpus: cpus() },
            Distrust::HelperShared { .. } => Distrust::HelperSibling { cpus: cpus() },
            Distrust::HelperSibling { .. } => Distrust::Throttled,
            Distrust::Throttled => Distrust::RtThrottled,
            Distrust::RtThrottled => Distrust::SlowClock { cost: time },
            Distrust::SlowClock { .. } => Distrust::Faults { cpu, faults: times },
            Distrust::Faults { .. } => Distrust::InBand { cpu, times },
            Distrust::InBand { .. } => Distrust::Migrations { cpu, times },
            Distrust::Migrations { .. } => Distrust::MemoryNotLocked,
            Distrust::MemoryNotLocked => Distrust::NotRealTime,
            Distrust::NotRealTime => Distrust::GrantedOtherwise { cpu },
            Distrust::GrantedOtherwise { .. } => Distrust::TooFew { due: 999 },
            Distrust::TooFew { .. } => Distrust::EndedEarly { reason: EndReason::Stalled },
            Distrust::EndedEarly { .. } => Distrust::CutOff,
            Distrust::CutOff => Distrust::Damaged { lost_bytes: times },
            Distrust::Damaged { .. } => Distrust::WriteFailed,
            Distrust::WriteFailed => Distrust::MaximaLost { maxima: times },
            Distrust::MaximaLost { .. } => Distrust::ChangedDuring { path: "/sys/idle".to_owned() },
            Distrust::ChangedDuring { .. } => {
                Distrust::LoadMissing { load: "net".to_owned(), why: "no peer".to_owned() }
            }
            Distrust::LoadMissing { .. } => Distrust::Tracing { tracer: "function".to_owned() },
            Distrust::Tracing { .. } => Distrust::Early { cpu, times, by: None },
            Distrust::Early { .. } => Distrust::Drifts { load: "idle".to_owned() },
            Distrust::Drifts { .. } => return None,
        })
    };
    std::iter::successors(Some(Distrust::Steal { time }), after).collect()
}

fn seen(due: u64, missed: u64) -> RunCounts {
    RunCounts { has_budget: true, all_ran: true, due, missed, spread: Some(1.0), measured: Nanos::from_secs(30) }
}

#[test]
fn every_doubt_decides_by_its_direction_alone() {
    for doubt in every_doubt() {
        let doubts = std::slice::from_ref(&doubt);
        // (answer without a miss, answer with misses, whether the cause of the misses is open)
        let (without, with, open) = match doubt.direction() {
            OnlyAdds => (Held, NotHeld, true),
            MayHide | Both | TooFew => (Open, NotHeld, false),
            MoodsLong | Neither => (Held, NotHeld, false),
        };
        let verdict = Verdict::of(&seen(30_000, 0), doubts);
        assert_eq!((verdict.answer, verdict.cause_open), (without, false), "{doubt:?}");
        match (&verdict.inconclusive_because, doubt.direction()) {
            (None, _) => assert_eq!(verdict.although, doubts),
            (Some(Inconclusive::Doubt { doubt: decided }), MayHide | Both) => assert_eq!(*decided, doubt),
            (Some(Inconclusive::TooFew { due: 999, wanted: 1_000, time }), TooFew) => {
                assert_eq!(*time, Some(Nanos::from_secs(31)));
            }
            (other, _) => panic!("{doubt:?}: {other:?}"),
        }
        let verdict = Verdict::of(&seen(30_000, 3), doubts);
        assert_eq!((verdict.answer, verdict.cause_open), (with, open), "{doubt:?}");
        assert_eq!((verdict.although.as_slice(), verdict.inconclusive_because), (doubts, None));
    }
}

#[test]
fn of_several_doubts_what_may_hide_decides() {
    let [steal, cut, few] =
        [Distrust::Steal { time: Nanos::from_ms(40) }, Distrust::CutOff, Distrust::TooFew { due: 9 }];
    let verdict = Verdict::of(&seen(30_000, 0), &[steal.clone(), few.clone(), cut.clone()]);
    assert_eq!(verdict.inconclusive_because, Some(Inconclusive::Doubt { doubt: cut.clone() }));
    let verdict = Verdict::of(&seen(30_000, 1), &[cut, steal.clone()]);
    assert!(verdict.answer == NotHeld && verdict.cause_open);
    // Nine releases of one CPU in 30 s: to reach 1000 on that CPU takes longer than 3000 on all CPUs together.
    let verdict = Verdict::of(&seen(2_000, 0), &[steal, few]);
    let time = Some(Nanos::from_secs(3_334));
    assert_eq!(verdict.inconclusive_because, Some(Inconclusive::TooFew { due: 9, wanted: 1_000, time }));
}

#[test]
fn held_needs_a_budget_enough_releases_and_no_miss() {
    let held = Verdict::of(&seen(3_000, 0), &[]);
    assert_eq!((held.answer, held.due, held.missed, held.although), (Held, 3_000, 0, vec![]));
    assert!(held.miss_probability_upper.unwrap() <= 1e-3, "{:?}", held.miss_probability_upper);
    let few = Verdict::of(&seen(2_999, 0), &[]);
    let wanted = Inconclusive::TooFew { due: 2_999, wanted: 3_000, time: Some(Nanos::from_secs(31)) };
    assert_eq!((few.answer, few.inconclusive_because), (Open, Some(wanted)));
    let no_budget = Verdict::of(&RunCounts { has_budget: false, ..seen(9_000, 1) }, &[]);
    assert_eq!((no_budget.answer, no_budget.missed, no_budget.miss_probability_upper), (Open, 1, None));
    assert_eq!(no_budget.inconclusive_because, Some(Inconclusive::NoBudget));
    let nothing = Verdict::of(&RunCounts { all_ran: false, ..seen(9_000, 0) }, &[Distrust::CutOff]);
    assert_eq!(nothing.inconclusive_because, Some(Inconclusive::NothingRan));
    let missed = Verdict::of(&RunCounts { all_ran: false, ..seen(220, 23) }, &[]);
    assert_eq!((missed.answer, missed.inconclusive_because), (NotHeld, None));
    assert!(missed.miss_probability_upper.unwrap() > 23.0 / 220.0);
    assert_eq!(Verdict::of(&RunCounts { all_ran: false, ..seen(0, 0) }, &[]).miss_probability_upper, None);
}

#[test]
fn releases_that_cluster_count_for_less_and_the_next_run_is_asked_for_more_of_them() {
    let of = |due, spread| Verdict::of(&RunCounts { spread, ..seen(due, 0) }, &[]);
    assert_eq!((of(30_000, Some(2.0)).independent, of(30_000, None).independent), (Some(15_000), None));
    assert_eq!(of(30_000, Some(2.0)).miss_probability_upper, of(15_000, Some(1.0)).miss_probability_upper);
    let wanted = Inconclusive::TooFew { due: 2_000, wanted: 6_000, time: Some(Nanos::from_secs(90)) };
    assert_eq!(of(2_000, Some(2.0)).inconclusive_because, Some(wanted));
}

#[test]
fn a_difference_is_open_where_a_doubt_can_have_made_it() {
    let [adds, hides] = [[Distrust::Throttled], [Distrust::CutOff]];
    assert!(may_differ_by_doubt(&hides, &[]) && may_differ_by_doubt(&[], &adds));
    assert!(!may_differ_by_doubt(&adds, &hides), "both only make it smaller");
    let both = [Distrust::ChangedDuring { path: String::new() }];
    assert!(may_differ_by_doubt(&both, &[]) && may_differ_by_doubt(&[], &both));
}

/// The rows of the book's table, in the order of the directions.
fn table() -> String {
    let mut rows: BTreeMap<Direction, Vec<String>> = BTreeMap::new();
    for doubt in every_doubt() {
        let code = serde_json::to_value(&doubt).unwrap()["code"].as_str().unwrap().to_owned();
        rows.entry(doubt.direction()).or_default().push(format!("`{code}`"));
    }
    let mut text = "| direction | doubts | HELD | NOT HELD |\n|---|---|---|---|\n".to_owned();
    for (direction, codes) in rows {
        let doubt = every_doubt().into_iter().find(|doubt| doubt.direction() == direction).unwrap();
        let doubts = std::slice::from_ref(&doubt);
        let (without, with) = (Verdict::of(&seen(30_000, 0), doubts), Verdict::of(&seen(30_000, 1), doubts));
        let held = match (without.answer, &without.inconclusive_because, direction) {
            (Held, _, Neither) => "stands",
            (Held, _, MoodsLong) => "stands for this run only, and the doubt is named",
            (Held, ..) => "stands, and the doubt is named",
            (_, Some(Inconclusive::TooFew { .. }), _) => "inconclusive, with the time that would be enough",
            _ => "inconclusive",
        };
        let not_held = match (with.answer, with.cause_open) {
            (NotHeld, true) => "stands; how many misses come from the doubt is not known",
            (NotHeld, false) => "stands",
            _ => "inconclusive",
        };
        let direction = serde_json::to_value(direction).unwrap();
        let cells = [direction.as_str().unwrap(), &codes.join(", "), held, not_held].join(" | ");
        text.extend(["| ", cells.as_str(), " |\n"]);
    }
    text
}

#[test]
fn the_book_has_the_table_of_doubts() {
    let path = fixtures::repository("book/src/claims.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let from = page.find("| direction | doubts |").expect("the table of doubts");
    let length = page[from..].find("\n\n").map_or(page.len() - from, |end| end + 1);
    fixtures::check(&path, &format!("{}{}{}", &page[..from], table(), &page[from + length..]));
}
