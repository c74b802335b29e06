//! A file that is unfit for claims is also unfit for being compared.

use super::*;
use crate::claims::Refusal;
use crate::compare::Withheld;
use crate::foreign::Unfit;

fn unfit(why: Unfit, tail_us: f64) -> Series {
    Series { unfit: Some(why), ..series("thread 0", 200_000, tail_us, 2) }
}

#[test]
fn what_contradicts_itself_or_lists_only_the_largest_is_refused_unless_asked_for() {
    let sound = one(20.0, 1);
    for (why, refusal) in [(Unfit::Doubted, Refusal::Doubted), (Unfit::Censored, Refusal::Censored)] {
        // The latencies of the other file are larger by half, so that the verdict would be worse.
        let other = run(vec![unfit(why, 30.0)]);
        let refused = Refused::Unfit("b".to_owned(), None, Some(refusal.clone()));
        assert_eq!(held(&sound, &other, options()).unwrap_err(), refused);
        let refused = Refused::Unfit("b".to_owned(), Some(refusal.clone()), None);
        assert_eq!(held(&other, &sound, options()).unwrap_err(), refused);
        let anyway = held(&sound, &other, Options { anyway: true, ..options() }).unwrap();
        assert!(anyway.others[0].refused, "the result is marked");
        assert_eq!(anyway.others[0].groups[0].unfit, (None, Some(refusal)));
        assert_eq!(anyway.verdict(), Compared::Worse);
        assert_eq!(row(&anyway, ComparedNumber::Percentile { ppm: 990_000 }).withheld, None);
    }
}

#[test]
fn of_several_series_only_the_unfit_are_refused() {
    let two = |last: Series| run(vec![series("thread 1", 200_000, 20.0, 3), last]);
    let comparison = held(&two(series("thread 0", 200_000, 20.0, 1)), &two(unfit(Unfit::Doubted, 90.0)), wide());
    let comparison = comparison.unwrap();
    let [sound, refused] = &comparison.others[0].groups[..] else { panic!("{:?}", comparison.others[0].groups) };
    assert_eq!((sound.verdict, &sound.unfit), (Compared::NoDifferenceShown, &(None, None)));
    assert!(sound.delta.is_some() && sound.rows.iter().all(|row| row.withheld.is_none() && row.odds.is_some()));
    assert_eq!((refused.verdict, &refused.unfit), (Compared::NotEnoughData, &(None, Some(Refusal::Doubted))));
    assert!(refused.delta.is_none() && refused.rows.len() == 5);
    assert!(
        refused
            .rows
            .iter()
            .all(|row| row.withheld == Some(Withheld::Unfit) && row.odds.is_none() && row.second.is_none())
    );
    assert_eq!((comparison.looked_at, comparison.others[0].refused), (5, false));
    assert_eq!(comparison.verdict(), Compared::NotEnoughData);
}

/// The file states `lost` values more than the 200 000 in its cells.
fn losing(lost: u64, seed: u64) -> ForeignRun {
    run(vec![Series { stated_count: Some(200_000 + lost), ..series("thread 0", 200_000, 20.0, seed) }])
}

#[test]
fn percentiles_among_what_is_missing_are_refused_and_those_below_have_wider_limits() {
    let whole = held(&one(20.0, 1), &one(20.0, 2), options()).unwrap();
    let lossy = held(&one(20.0, 1), &losing(1_000, 2), options()).unwrap();
    assert_eq!(lossy.others[0].groups[0].unfit, (None, Some(Refusal::Missing { values: 1_000 })));
    let refused: Vec<bool> =
        lossy.others[0].groups[0].rows.iter().map(|row| row.withheld == Some(Withheld::Unfit)).collect();
    assert_eq!(refused, [false, false, true, true, true], "1 in 201 is missing, and may be larger than all");
    let p999 = row(&lossy, ComparedNumber::Percentile { ppm: 999_000 });
    assert_eq!((p999.second, p999.odds, p999.verdict), (None, None, Compared::NotEnoughData));
    let width = |comparison: &Comparison| match row(comparison, ComparedNumber::Percentile { ppm: 500_000 }).change {
        Some(Change::Difference(limits)) => limits.high - limits.low,
        other => panic!("{other:?}"),
    };
    // A twentieth of the values is missing, so the median of all lies between p47.4 and p52.6 of the others: 20 us
    // ln(0.526 / 0.474).
    let most = held(&one(20.0, 1), &losing(10_526, 2), options()).unwrap();
    assert!(width(&most) >= width(&whole) + 900.0, "{} {}", width(&most), width(&whole));
    assert!(!lossy.others[0].refused && !most.others[0].refused, "what could be looked at may be compared");
}

#[test]
fn what_was_lost_may_have_missed_the_budget_or_not() {
    // The budget is the last value of a cell.
    let budget = Some(Nanos::from_ns(99_999));
    let misses = |lost: u64| {
        let comparison = held(&one(20.0, 1), &losing(lost, 2), Options { budget, ..options() }).unwrap();
        row(&comparison, ComparedNumber::Misses { budget })
    };
    let (none, some) = (misses(0), misses(2_000));
    // e^(-95/20) of 200 000 values are 1730 misses. With 2000 lost values the second file may have more than twice as
    // many misses, or no more at all.
    assert!((none.second.unwrap() / 8_650.0 - 1.0).abs() < 0.1, "{none:?}");
    assert!((some.second.unwrap() / 18_470.0 - 1.0).abs() < 0.1, "{some:?}");
    let Some(Change::Ratio(limits)) = some.change else { panic!("{some:?}") };
    assert!(limits.low < 1.0 && limits.high > 2.0 && limits.seen.is_some(), "{limits:?}");
    assert_eq!((none.verdict, some.verdict), (Compared::NoDifferenceShown, Compared::NotEnoughData));
}
