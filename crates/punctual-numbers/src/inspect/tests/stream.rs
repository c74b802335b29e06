//! Records that come in pieces, as long as they may.

use super::*;

/// A loop with something in some of its cycles, some of which are skipped, and a loss.
fn script(cycles: u64) -> Script {
    let mut script = Script::grid(cycles, |script, cycle, at| {
        if cycle % 7 == 0 {
            script.enter(at + US, MMAP, [0, 0]);
            script.exit(at + 2 * US + cycle % 13, MMAP, 0);
        }
        if cycle % 11 == 0 {
            script.enter(at + 3 * US, WRITE, [1, 0]);
            script.leaves(at + 4 * US, 1);
            script.on(1, at + 5 * US, HOLDER, Seen::Waking { tid: TID });
            script.returns(at + 6 * US, 0);
            script.exit(at + 7 * US, WRITE, 1);
        }
        if cycle % 1_000 == 500 {
            script.add(at + 20 * US, TID, Seen::Lost);
        }
    });
    script.records.sort_by_key(|record| record.at);
    script
}

fn report_in(script: &Script, pieces: usize, settles: bool) -> ThreadReport {
    let mut digest = Digest::new(Rules { calls: calls(), limit: Some(Nanos::from_us(9)), ..Rules::default() });
    for piece in script.records.chunks(pieces) {
        digest.take(piece);
        if settles {
            digest.settle();
        }
    }
    digest.settle();
    let locate = |stack: &[Address]| {
        let code =
            |Address(at): &Address| Code { module: "m".to_owned(), symbol: None, offset: *at, file: None, line: None };
        stack.iter().map(code).collect()
    };
    let (people, is_of_probes) = (BTreeMap::new(), |_| false);
    let order = Order { calls: &calls(), people: &people, locate: &locate, is_of_probes: &is_of_probes };
    digest.report((77, TID), "loop".to_owned(), None, &order)
}

/// Once it is known what paces the thread, it does not matter where records are cut.
#[test]
fn pieces_come_to_the_same_as_all_records_at_once() {
    let script = script(3_000);
    let whole = report_in(&script, usize::MAX, false);
    let cycles = whole.cycles.as_ref().unwrap();
    assert!(
        cycles.count > 2_900 && cycles.in_the_way.len() == 2 && cycles.over_limit == Some(cycles.count),
        "{cycles:?}"
    );
    for pieces in [501, 997, 5_003] {
        assert_eq!(report_in(&script, pieces, true), whole, "pieces of {pieces}");
        assert_eq!(report_in(&script, pieces, false), whole, "pieces of {pieces}");
    }
}

/// A hundred seconds at 1 kHz: more steps than are kept.
#[test]
fn a_long_run_keeps_few_steps_and_all_cycles() {
    let script = script(100_000);
    let mut digest = Digest::new(Rules { calls: calls(), ..Rules::default() });
    digest.keep_cycles();
    let mut ended = Vec::new();
    for piece in script.records.chunks(1_000) {
        digest.take(piece);
        ended.extend(digest.ended());
        assert!(digest.pending() < 20_000);
    }
    digest.settle();
    ended.extend(digest.ended());
    let report = report_in(&script, 1_000, false);
    let cycles = report.cycles.unwrap();
    assert_eq!(cycles.count, ended.len() as u64);
    assert_eq!(cycles.period, Some(Nanos::from_ns(PERIOD)));
    assert!(cycles.count > 99_700, "{}", cycles.count);
    let releases: Vec<u64> = ended.iter().filter_map(|(_, cycle)| Some(cycle.release?.as_ns())).collect();
    assert!(releases.windows(2).all(|two| (two[1] - two[0]) % PERIOD == 0 && two[1] > two[0]));
    let mmap = cycles.in_the_way.iter().find(|row| row.intruder == Intruder::Memory).unwrap();
    assert_eq!((mmap.count, mmap.cycles), (mmap.cycles, mmap.count));
    assert!(mmap.count > 99_700 / 7);
}

#[test]
fn a_cycle_is_one_line_with_as_many_values_as_the_header_has_names() {
    let mut digest = Digest::new(Rules { calls: calls(), ..Rules::default() });
    digest.keep_cycles();
    digest.take(&script(20).records);
    digest.settle();
    let (tid, cycle) = digest.ended().remove(0);
    let line = cycle.csv_line(tid);
    assert_eq!(line, "77,1000000000,1000010000,1000110000,0,1000,1000,0,0\n");
    assert_eq!(line.split(',').count(), Cycle::CSV_HEADER.split(',').count());
    assert!(Cycle { release: None, ..cycle }.csv_line(tid).starts_with("77,,1000010000,"));
}

/// While the program starts, it sleeps for lengths of time; then it keeps a grid.
#[test]
fn a_thread_that_changes_what_it_waits_for_is_told_by_its_longer_part() {
    let mut script = Script::default();
    for nth in 0..3_000_u64 {
        let from = START + nth * 2 * PERIOD;
        script.sleeps(from, from + PERIOD, [1, 0], LATENCY);
    }
    let begun = START + 6_000 * PERIOD;
    for cycle in 1..=9_000_u64 {
        let release = begun + cycle * PERIOD;
        script.sleeps(release - PERIOD / 2, release, [1, 1], LATENCY);
    }
    script.records.sort_by_key(|record| record.at);
    let report = report_in(&script, 700, false);
    assert!(matches!(report.pace, Pace::Sleep { absolute: true, .. }), "{:?}", report.pace);
    let cycles = report.cycles.unwrap();
    assert!((8_500..9_000).contains(&cycles.count), "{}", cycles.count);
    assert_eq!((cycles.skipped, cycles.period), (0, Some(Nanos::from_ns(PERIOD))));
}
