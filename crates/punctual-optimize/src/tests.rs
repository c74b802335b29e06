//! Tests with hundreds of campaigns on a simulated machine with drift, noise, and knobs of known effect.

use super::format::{Doubts, Kept, read, write};
use super::pause::Moment;
use super::{Arm, Judged};
use super::{
    Campaign, Candidate, CandidateVerdict, Design, Measurement, Metric, Next, Response, RunOutcome, Strategy, TooShort,
};
use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};
use punctual_hist::{Nanos, SplitMix};
use punctual_numbers::stats::float::whole;
use punctual_tuning::plan::Keep;

/// The factors by which a knob changes the latency of the machine.
#[derive(Clone, Copy)]
struct Does {
    p50: f64,
    p99_9: f64,
}

const NOTHING: Does = Does { p50: 1.0, p99_9: 1.0 };

struct Simulated {
    knobs: Vec<Does>,
    random: SplitMix,
    /// Factor by which latency drifts over a hundred runs.
    drift: f64,
    /// Number of runs so far.
    time: f64,
    /// Part of the noise of the last run that adds to the next run.
    lingering: f64,
    refuses: Option<usize>,
}

impl Simulated {
    fn new(knobs: &[Does], drift: f64, seed: u64) -> Self {
        let random = SplitMix::new(seed);
        Self { knobs: knobs.to_vec(), random, drift, time: 0.0, lingering: 0.0, refuses: None }
    }

    /// Heavy-tailed noise around 0: one run in ten is disturbed strongly.
    fn noise(&mut self) -> f64 {
        let normal = (0..12).map(|_| self.random.unit()).sum::<f64>() - 6.0;
        let fresh = if self.random.unit() < 0.1 { normal.abs() * 0.6 } else { normal * 0.06 };
        self.lingering = 0.3 * self.lingering + fresh;
        self.lingering
    }

    fn run(&mut self, arm: &[usize]) -> RunOutcome {
        if self.refuses.is_some_and(|one| arm.contains(&one)) {
            return RunOutcome::Refused("no such file".to_owned());
        }
        self.time += 1.0;
        let drift = self.drift.powf(self.time / 100.0);
        let (mut p50, mut p99_9) = (8_000.0 * drift, 40_000.0 * drift);
        for knob in arm {
            p50 *= self.knobs[*knob].p50;
            p99_9 *= self.knobs[*knob].p99_9;
        }
        p50 *= (self.noise() * 0.5).exp();
        p99_9 *= self.noise().exp();
        let late = if p99_9 > 50_000.0 { 20 } else { 2 } + self.random.below(6) as u64;
        let ns = |value: f64| Nanos::from_ns(whole(value));
        RunOutcome::Measured(Response { p50: ns(p50), p99_9: ns(p99_9), missed: late, due: 8_000 })
    }
}

fn candidates(count: usize) -> Vec<Candidate> {
    let one = |i| Candidate {
        id: format!("knob.{i}"),
        title: format!("Knob {i}"),
        cost: "some power".to_owned(),
        boot: Vec::new(),
    };
    (0..count).map(one).collect()
}

fn begun(strategy: Strategy, knobs: usize, runs: u64, seed: u64) -> Campaign {
    Campaign::new(Design::new(candidates(knobs), strategy, seed, 0.1, runs).unwrap())
}

fn ended(mut campaign: Campaign, machine: &mut Simulated) -> Campaign {
    for _ in 0..10_000 {
        let Next::Measure { arm, .. } = campaign.next() else { return campaign };
        let outcome = machine.run(&arm);
        campaign.runs.push(Measurement { arm, outcome });
    }
    panic!("a campaign that does not end");
}

fn planted(knobs: usize, place: usize, does: Does) -> Vec<Does> {
    (0..knobs).map(|knob| if knob == place { does } else { NOTHING }).collect()
}

const ALL: [(Strategy, u64); 3] = [(Strategy::OneAtATime, 160), (Strategy::Race, 160), (Strategy::Screening, 160)];

/// A knob that lowers the tail by two fifths is recommended and listed first in at least 95 of 100 campaigns.
#[test]
fn a_planted_effect_is_found_and_told_first() {
    for (strategy, runs) in ALL {
        let mut found = 0;
        for seed in 0..200u64 {
            let place = (seed % 6) as usize;
            let mut machine = Simulated::new(&planted(6, place, Does { p50: 0.95, p99_9: 0.6 }), 1.3, seed + 1);
            let standing = ended(begun(strategy, 6, runs, seed), &mut machine).standing();
            assert_eq!(standing.next, Next::Done);
            found += u32::from(standing.recommended.contains(&place) && standing.judged[0].candidate == place);
        }
        assert!(found >= 190, "{strategy:?}: {found} of 200");
    }
}

/// If no knob has an effect, at most 5 of 100 campaigns call one of them better or worse, with any drift.
#[test]
fn where_nothing_differs_nothing_is_found() {
    for (strategy, runs) in ALL {
        for drift in [1.0, 4.0] {
            let mut wrong = 0;
            for seed in 0..200 {
                let mut machine = Simulated::new(&[NOTHING; 6], drift, seed + 1000);
                let standing = ended(begun(strategy, 6, runs, seed), &mut machine).standing();
                let claims = |judged: &Judged| {
                    matches!(
                        judged.verdict,
                        CandidateVerdict::Better | CandidateVerdict::Worse | CandidateVerdict::Mixed
                    )
                };
                wrong += u32::from(standing.judged.iter().any(claims));
            }
            assert!(wrong <= 10, "{strategy:?}, drift {drift}: {wrong} of 200");
        }
    }
}

/// Without a margin, the rate of false verdicts is that of the test itself. It must not exceed the error rate, nor be
/// zero.
#[test]
fn the_test_itself_keeps_its_odds() {
    let mut wrong = 0;
    for seed in 0..1000 {
        let mut campaign = begun(Strategy::OneAtATime, 2, 60, seed);
        campaign.design.margin = 0.0;
        let mut machine = Simulated::new(&[NOTHING; 2], 1.5, seed + 77);
        let standing = ended(campaign, &mut machine).standing();
        wrong += u32::from(standing.judged.iter().any(|judged| {
            matches!(judged.verdict, CandidateVerdict::Better | CandidateVerdict::Worse | CandidateVerdict::Mixed)
        }));
    }
    assert!((1..=50).contains(&wrong), "{wrong} of 1000");
}

/// Confidence limits of 95 % hold the planted change in at least 93 of 100 cases.
#[test]
fn limits_hold_the_change() {
    let (mut held, mut all) = (0, 0);
    for seed in 0..500 {
        let mut campaign = begun(Strategy::OneAtATime, 3, 48, seed);
        // Without a margin no candidate gets a verdict before the last round.
        campaign.design.margin = 0.0;
        let mut machine = Simulated::new(&planted(3, 1, Does { p50: 0.9, p99_9: 1.4 }), 1.2, seed + 5);
        let standing = ended(campaign, &mut machine).standing();
        for judged in &standing.judged {
            let does = if judged.candidate == 1 { [0.9, 1.4] } else { [1.0, 1.0] };
            for (effect, truth) in judged.effects.iter().zip(does) {
                held += u32::from(
                    effect.low.is_none_or(|low| low <= truth) && effect.high.is_none_or(|high| truth <= high),
                );
                all += 1;
            }
        }
    }
    assert!(f64::from(held) >= 0.93 * f64::from(all), "{held} of {all}");
}

/// If no knob has an effect, the proposed length of a campaign is usually enough to conclude "no difference".
#[test]
fn how_much_longer_it_takes_is_about_right() {
    let (mut told, mut all) = (0, 0);
    for seed in 0..200 {
        let quiet = |runs| {
            let mut machine = Simulated::new(&[NOTHING; 2], 1.0, seed + 31);
            ended(begun(Strategy::OneAtATime, 2, runs, seed), &mut machine).standing()
        };
        let short = quiet(36);
        let times = short.judged.iter().filter_map(Judged::longer).fold(0.0, f64::max);
        if times == 0.0 || times > 20.0 {
            continue;
        }
        assert!(times > 1.0);
        let runs = whole((36.0 * times * 1.2).ceil()) + 8;
        let more = quiet(runs);
        all += 1;
        told += u32::from(more.judged.iter().all(|judged| judged.verdict != CandidateVerdict::NotEnoughData));
    }
    assert!(all >= 20, "too few were short of data: {all}");
    assert!(told * 10 >= all * 7, "{told} of {all}");
}

/// A machine compared with itself in a campaign that is long enough gives "no difference".
#[test]
fn a_machine_held_against_itself_is_not_told_apart() {
    for (strategy, _) in ALL {
        let mut quiet = 0;
        for seed in 0..100 {
            let mut machine = Simulated::new(&[NOTHING], 1.5, seed + 500);
            let standing = ended(begun(strategy, 1, 200, seed), &mut machine).standing();
            quiet += u32::from(standing.judged[0].verdict == CandidateVerdict::NoDifferenceShown);
        }
        assert!(quiet >= 95, "{strategy:?}: {quiet} of 100");
    }
}

#[test]
fn what_is_worse_is_told_last_and_what_is_better_is_measured_together() {
    let knobs = [NOTHING, Does { p50: 1.0, p99_9: 0.5 }, Does { p50: 1.6, p99_9: 2.0 }, Does { p50: 0.6, p99_9: 0.7 }];
    let mut machine = Simulated::new(&knobs, 1.0, 3);
    let campaign = ended(begun(Strategy::OneAtATime, 4, 120, 9), &mut machine);
    let standing = campaign.standing();
    assert_eq!(standing.recommended, [1, 3]);
    assert_eq!(standing.judged[3].candidate, 2);
    assert_eq!(standing.judged[3].verdict, CandidateVerdict::Worse);
    let tail = standing.together.iter().find(|effect| effect.metric == Metric::P99_9).unwrap();
    assert!((0.2..0.5).contains(&tail.seen), "{tail:?}");
    assert!(tail.low.unwrap() > 0.0 && tail.high.unwrap() < 1.0, "{tail:?}");
    assert_eq!(campaign.runs.iter().filter(|run| run.arm == [1, 3]).count(), 4);
}

#[test]
fn what_cannot_be_set_is_left_out_and_the_rest_goes_on() {
    let mut machine = Simulated::new(&planted(4, 2, Does { p50: 0.5, p99_9: 0.5 }), 1.0, 3);
    machine.refuses = Some(0);
    let standing = ended(begun(Strategy::OneAtATime, 4, 100, 1), &mut machine).standing();
    assert_eq!(standing.recommended, [2]);
    assert_eq!(
        standing.judged.last().map(|judged| &judged.verdict),
        Some(&CandidateVerdict::Refused("no such file".to_owned()))
    );
}

/// A campaign that is interrupted before any run, saved and read again, comes to the same result.
#[test]
fn interrupted_at_every_step_it_comes_to_the_same() {
    for (strategy, runs) in ALL {
        let outcomes = |machine: &mut Simulated| ended(begun(strategy, 6, runs, 4), machine);
        let knobs = planted(6, 3, Does { p50: 0.7, p99_9: 0.4 });
        let whole = outcomes(&mut Simulated::new(&knobs, 1.2, 11));
        for cut in 0..=whole.runs.len() {
            let mut campaign = begun(strategy, 6, runs, 4);
            for (at, run) in whole.runs.iter().enumerate() {
                if at == cut {
                    let kept = Kept {
                        arguments: vec!["optimize".to_owned()],
                        spent: Nanos::from_secs(7),
                        last: None,
                        campaign,
                        across: None,
                        doubts: Doubts::default(),
                    };
                    let back = read(&write(&kept).unwrap()).unwrap();
                    assert_eq!(back, kept);
                    campaign = back.campaign;
                }
                // The campaign that was read again asks for the same run.
                let Next::Measure { arm, .. } = campaign.next() else { panic!("ended early at {at}") };
                assert_eq!(arm, run.arm);
                campaign.take(&arm, run.outcome.clone());
            }
            assert_eq!(campaign.standing(), whole.standing());
        }
    }
}

#[test]
fn when_the_time_is_up_the_last_round_is_judged() {
    let mut machine = Simulated::new(&planted(3, 0, Does { p50: 0.5, p99_9: 0.5 }), 1.0, 3);
    let mut campaign = begun(Strategy::OneAtATime, 3, 400, 1);
    // Without a margin no other candidate gets a verdict before the last round.
    campaign.design.margin = 0.0;
    for _ in 0..38 {
        let Next::Measure { arm, place, .. } = campaign.next() else { panic!("ended early") };
        campaign.close();
        assert!(place == 0 || campaign.closed_at.is_none(), "not in the middle of a round");
        campaign.closed_at = None;
        campaign.take(&arm, machine.run(&arm));
    }
    while !matches!(campaign.next(), Next::Measure { place: 0, .. }) {
        let Next::Measure { arm, .. } = campaign.next() else { panic!("ended early") };
        campaign.take(&arm, machine.run(&arm));
    }
    campaign.close();
    assert_eq!(campaign.standing().next, Next::Done);
    assert_eq!(campaign.standing().recommended, [0]);
}

#[test]
fn a_budget_that_cannot_tell_anything_is_refused() {
    let refused = Design::new(candidates(6), Strategy::OneAtATime, 1, 0.1, 20).unwrap_err();
    assert_eq!(refused, TooShort { needed: 70, have: 20 });
    let design = Design::new(candidates(6), Strategy::OneAtATime, 1, 0.1, 70).unwrap();
    // Computed by hand for six candidates and three baselines: 4^-6 is the first power below 0.05/3/18/2.
    assert_eq!((design.rounds, design.baselines, design.rounds_needed()), (6, 3, 6));
    assert!(design.runs_at_most() <= 70);
}

/// Each round has each candidate once and all baselines, in an order that depends on the seed.
#[test]
fn a_round_is_whole_and_drawn_by_lot() {
    let design = Design::new(candidates(5), Strategy::OneAtATime, 42, 0.1, 200).unwrap();
    let arms: Vec<Arm> = (0..5).map(|c| vec![c]).collect();
    let mut places = [0u32; 8];
    for round in 0..800 {
        let order = design.round(round, &arms);
        assert_eq!(order, design.round(round, &arms));
        places[order.iter().position(|arm| *arm == [2]).unwrap()] += 1;
        let mut sorted = order;
        sorted.sort();
        assert_eq!(sorted.iter().filter(|arm| arm.is_empty()).count(), 3);
        sorted.dedup();
        assert_eq!(sorted.len(), 6);
    }
    assert!(places.iter().all(|n| (65..140).contains(n)), "{places:?}");
}

#[test]
fn what_could_not_be_set_before_a_pause_is_not_tried_again() {
    let mut machine = Simulated { refuses: Some(4), ..Simulated::new(&[NOTHING; 6], 1.0, 7) };
    let mut campaign = begun(Strategy::OneAtATime, 6, 120, 3);
    while !campaign.runs.iter().any(|run| matches!(run.outcome, RunOutcome::Refused(_))) {
        let Next::Measure { arm, .. } = campaign.next() else { panic!("it ended") };
        campaign.take(&arm, machine.run(&arm));
    }
    campaign.begin_anew();
    let campaign = ended(campaign, &mut machine);
    assert_eq!(campaign.runs.iter().filter(|run| run.arm == [4]).count(), 1);
    assert!(
        campaign
            .standing()
            .judged
            .iter()
            .any(|judged| judged.verdict == CandidateVerdict::Refused("no such file".to_owned()))
    );
}

#[test]
fn a_budget_that_is_spent_after_a_pause_ends_it_with_the_whole_rounds() {
    let mut machine = Simulated::new(&[NOTHING; 6], 1.0, 7);
    let mut campaign = begun(Strategy::OneAtATime, 6, 120, 3);
    for _ in 0..campaign.design.block_at_most() + 2 {
        let Next::Measure { arm, .. } = campaign.next() else { panic!("it ended") };
        campaign.take(&arm, machine.run(&arm));
    }
    campaign.close();
    assert_ne!(campaign.next(), Next::Done, "in the middle of a round nothing is closed");
    campaign.begin_anew();
    campaign.close();
    assert_eq!((campaign.next(), campaign.standing().rounds), (Next::Done, 1));
}

fn fixture(name: &str) -> String {
    std::fs::read_to_string(fixtures::repository("fixtures/campaigns").join(name)).unwrap()
}

/// A document of version 1 with every field is read, and written again unchanged.
#[test]
fn a_campaign_of_version_1_is_read() {
    let text = fixture("1.json");
    let kept = read(&text).unwrap();
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(json(&write(&kept).unwrap()), json(&text));
    let Campaign { design, runs, closed_at, pauses } = &kept.campaign;
    let boots: Vec<&[Keep]> = design.candidates.iter().map(|candidate| candidate.boot.as_slice()).collect();
    let (word, gone) = (Keep::Word("isolcpus=managed_irq,domain,2-3".to_owned()), Keep::NoWord("quiet".to_owned()));
    assert_eq!(boots, [&[word][..], &[], &[gone]]);
    assert_eq!((design.strategy, design.seed, design.rounds, design.baselines), (Strategy::OneAtATime, 5, 6, 2));
    let first = Response { p50: Nanos::from_ns(8_123), p99_9: Nanos::from_ns(41_876), missed: 2, due: 8_000 };
    assert_eq!((runs.len(), &runs[0].arm, &runs[0].outcome), (4, &Arm::new(), &RunOutcome::Measured(first)));
    assert!(matches!(&runs[2].outcome, RunOutcome::Refused(why) if why.ends_with("permission denied")));
    assert_eq!((*closed_at, pauses.as_slice(), kept.spent), (Some(8), &[1, 3][..], Nanos::from_secs(360)));
    assert_eq!((kept.doubts.reasons.len(), kept.doubts.runs), (1, 1));
    assert_eq!(kept.last.map(|last| (last.up, last.unix_s)), Some((Nanos::from_ns(1_234_567_890_123), 1_760_000_000)));
    let across = kept.across.unwrap();
    let tries: Vec<_> = across.tries.iter().map(|(arm, tries)| (arm.as_slice(), tries.cut, tries.taken_away)).collect();
    assert_eq!(tries, [(&[0][..], 1, 0), (&[2], 0, 1)]);
    assert_eq!((across.boots, across.asked, across.gave_up.is_some()), (7, None, true));
}

/// A document of version 1 without the fields that were added to it later is read.
#[test]
fn the_first_campaigns_of_version_1_are_read() {
    let kept = read(&fixture("1-first.json")).unwrap();
    assert_eq!((kept.last, kept.across, kept.doubts), (None, None, Doubts::default()));
    assert_eq!((kept.campaign.design.seed, kept.campaign.runs.len()), (u64::MAX, 1));
    assert!(kept.campaign.pauses.is_empty());
}

#[test]
fn a_document_of_another_kind_or_without_sense_is_refused() {
    let text = fixture("1.json");
    for (old, new, told) in [
        ("campaign/1", "campaign/2", "it is 'punctual/campaign/2', and this program reads 'punctual/campaign/1'"),
        ("\"refused\"", "\"other\"", ""),
        ("\"rounds\": 6", "\"rounds\": 0", "it is damaged: "),
        ("\"margin\": 0.1", "\"margin\": -1", "it is damaged: "),
        ("[1, 3]", "[1, 5]", "it is damaged: "),
        ("one-at-a-time", "two-at-a-time", ""),
    ] {
        assert!(text.contains(old), "{old}");
        let refused = read(&text.replace(old, new)).unwrap_err().to_string();
        assert!(refused.starts_with(told), "{new}: {refused}");
    }
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 24, ..Default::default() })]

    /// A pause discards the runs of its own block, and no others.
    #[test]
    fn after_a_pause_the_block_is_begun_anew(
        pauses in prop::collection::btree_set(0usize..150, 0..12), seed: u64,
        strategy in prop::sample::select(vec![Strategy::OneAtATime, Strategy::Screening, Strategy::Race]),
    ) {
        let knobs = planted(6, 2, Does { p50: 0.95, p99_9: 0.6 });
        let mut machine = Simulated::new(&knobs, 1.3, seed);
        let (mut paused, mut bare) = (begun(strategy, 6, 120, seed), begun(strategy, 6, 120, seed));
        while let Next::Measure { arm, place, .. } = paused.next() {
            if place > 0 && pauses.contains(&paused.runs.len()) {
                paused.begin_anew();
                bare.runs.truncate(bare.runs.len() - place);
                let is_anew = matches!(paused.next(), Next::Measure { place: 0, .. });
                prop_assert!(is_anew);
                continue;
            }
            let outcome = machine.run(&arm);
            paused.take(&arm, outcome.clone());
            bare.take(&arm, outcome);
        }
        prop_assert_eq!(bare.standing(), paused.standing());
    }
}

proptest! {
    /// Reading any file and asking for the next step does not panic.
    #[test]
    fn nothing_in_a_kept_campaign_panics(
        rounds in 1u32..30, baselines in 1u32..6, closed in prop::option::of(0usize..40), seed: u64,
        runs in prop::collection::vec((prop::collection::vec(0usize..9, 0..4), prop::option::of(any::<(u64, u64, u64, u64)>())), 0..60),
        strategy in prop::sample::select(vec![Strategy::OneAtATime, Strategy::Screening, Strategy::Race]),
        count in 1usize..30, pauses in prop::collection::btree_set(0usize..60, 0..6),
    ) {
        let runs = runs.into_iter().map(|(arm, numbers)| {
            let outcome = match numbers {
                Some((p50, p99_9, missed, due)) => {
                    let (p50, p99_9) = (Nanos::from_ns(p50), Nanos::from_ns(p99_9));
                    RunOutcome::Measured(Response { p50, p99_9, missed, due })
                }
                None => RunOutcome::Refused("no".to_owned()),
            };
            Measurement { arm, outcome }
        });
        let design = Design { candidates: candidates(count), strategy, seed, rounds, baselines, margin: 0.1 };
        let runs: Vec<Measurement> = runs.collect();
        let pauses = pauses.into_iter().filter(|pause| *pause <= runs.len()).collect();
        let mut campaign = Campaign { design, runs, closed_at: closed, pauses };
        let last = Some(Moment { boot: "a".to_owned(), up: Nanos::from_ns(seed), unix_s: seed });
        let kept = Kept {
            arguments: Vec::new(),
            spent: Nanos::ZERO,
            last,
            campaign: campaign.clone(),
            across: None,
            doubts: Doubts::default(),
        };
        prop_assert_eq!(&read(&write(&kept).unwrap()).unwrap(), &kept);
        campaign.begin_anew();
        campaign.close();
        let standing = campaign.standing();
        prop_assert_eq!(standing.judged.len(), count);
    }

    #[test]
    fn no_text_panics(text: String) {
        prop_assert!(read(&text).is_err());
    }
}
