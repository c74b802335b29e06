//! All output formats of a generated campaign. `BLESS=1 cargo test` rewrites the golden files.

use super::*;
use crate::render::document::schema::assert_valid;
use crate::render::golden::{assert_golden, assert_page};
use crate::render::lang::leftover::{assert_chinese, assert_chinese_page};
use crate::render::sheet::Style;
use punctual_optimize::{Candidate, Design, Next, Response, RunOutcome, Strategy};

/// Five candidates: one halves the tail, one changes nothing, one is worse, one cannot be set, and one lowers the
/// median by a third.
fn campaign(runs: usize) -> Campaign {
    let candidate = |id: &str, title: &str, cost: &str| Candidate {
        id: id.to_owned(),
        title: title.to_owned(),
        cost: cost.to_owned(),
        boot: Vec::new(),
    };
    let candidates = vec![
        candidate("irq.affinity", "No device interrupts the real-time CPUs", "Other CPUs get the load."),
        candidate("rcu.normal", "RCU grace periods are not expedited", "None."),
        candidate("script:/usr/local/sbin/boost", "boost", "not known to punctual"),
        candidate("wd.soft", "No soft lock-up detector on the real-time CPUs", "Hangs on these CPUs go unseen."),
        candidate("kthr.affinity", "No roaming kernel thread on the real-time CPUs", "None."),
    ];
    let mut campaign = Campaign::new(Design::new(candidates, Strategy::OneAtATime, 3, 0.1, 200).unwrap());
    for run in 0..runs as u64 {
        let Next::Measure { arm, .. } = campaign.next() else { break };
        // Numbers vary a little from run to run.
        let wander = 1000 + run * 37 % 83;
        let of = |p50: u64, p99_9: u64, missed| Response {
            p50: Nanos::from_ns(p50 * wander / 1000),
            p99_9: Nanos::from_ns(p99_9 * (2083 - wander) / 1000),
            missed: missed + run % 3,
            due: 5_000,
        };
        let outcome = match arm.as_slice() {
            [0] => RunOutcome::Measured(of(8_000, 20_000, 2)),
            [2] => RunOutcome::Measured(of(8_000, 70_000, 40)),
            [3] => RunOutcome::Refused("wd.soft: refused".to_owned()),
            [4] => RunOutcome::Measured(of(5_300, 40_000, 20)),
            [_, _, ..] => RunOutcome::Measured(of(5_300, 20_000, 2)),
            _ => RunOutcome::Measured(of(8_000, 40_000, 20)),
        };
        campaign.take(&arm, outcome);
    }
    campaign
}

fn shown<T>(runs: usize, stopped: bool, show: impl FnOnce(&Result<'_>) -> T) -> T {
    let campaign = campaign(runs);
    show(&Result {
        standing: &campaign.standing(),
        campaign: &campaign,
        not_tried: &[NotTried { id: "iso.domain".to_owned(), why: "it takes a boot".to_owned() }],
        doubts: &Doubts { reasons: vec!["Our helpers shared a measured CPU.".to_owned()], runs: 3 },
        cpus: &[2, 3].into_iter().collect(),
        load: "cpu+memory".to_owned(),
        run: Nanos::from_secs(5),
        late: Some(Nanos::from_us(50)),
        spent: Nanos::from_secs(571),
        folder: Path::new("/srv/campaign"),
        stopped,
        gave_up: None,
        is_home: true,
        boots: None,
    })
}

#[test]
fn text_of_a_campaign() {
    assert_golden("optimize.txt", &shown(1000, false, |result| text(result, Style::default())));
    assert_golden("optimize-stopped.txt", &shown(20, true, |result| text(result, Style::default())));
}

#[test]
fn a_campaign_across_boots_that_was_given_up_says_why_and_what_may_still_run() {
    let told = shown(20, true, |result| {
        let why = "after 2 boots: the machine ended while it was measured".to_owned();
        let given_up =
            Result { gave_up: Some(why), is_home: false, boots: Some(23), load: result.load.clone(), ..*result };
        text(&given_up, Style::default())
    });
    assert_golden("optimize-given-up.txt", &told);
}

#[test]
fn a_pause_is_told_with_what_was_left_out_for_it() {
    let mut campaign = campaign(20);
    let told = |campaign: &Campaign| {
        shown(20, true, |result| text::how(&Result { campaign, load: result.load.clone(), gave_up: None, ..*result }))
    };
    assert!(!told(&campaign).contains("pause"));
    campaign.begin_anew();
    assert_eq!(campaign.pauses, [20], "in the middle of a round");
    assert!(told(&campaign).contains("long pause, after which"), "{}", told(&campaign));
}

#[test]
fn what_is_intended_is_told_with_how_long_it_takes() {
    let campaign = campaign(0);
    let left = [NotTried { id: "kconf.flavour".to_owned(), why: "it needs another kernel".to_owned() }];
    let limits = ["A kernel that hangs does not start again by itself.".to_owned()];
    assert_golden(
        "optimize-intended.txt",
        &intended(&campaign.design, &left, &limits, Nanos::from_ms(5_600), Style::default()),
    );
}

#[test]
fn the_json_fits_its_schema_and_says_what_the_text_says() {
    for (runs, stopped) in [(1000, false), (20, true), (0, true)] {
        let document = shown(runs, stopped, |result| assert_valid(&json::Document::of(result)));
        let verdicts: Vec<&str> =
            document["candidates"].as_array().unwrap().iter().map(|of| of["verdict"].as_str().unwrap()).collect();
        if stopped {
            assert_eq!(document["finished"], false);
            assert!(verdicts.iter().all(|v| ["not-enough-data", "refused"].contains(v)), "{verdicts:?}");
        } else {
            assert_eq!(verdicts, ["better", "better", "no-difference-shown", "worse", "refused"]);
            assert_eq!(document["recommended"], serde_json::json!(["irq.affinity", "kthr.affinity"]));
        }
    }
}

#[test]
fn the_page_draws_what_the_table_says_and_can_be_looked_at() {
    let page = shown(1000, false, html).unwrap();
    assert_page("optimize", &page);
    assert_eq!(page.matches("<svg class=\"effects\"").count(), 2);
    assert!(page.contains("Recommended") && page.contains("irq.affinity"), "{page}");
    // The bar of a change with unknown limits reaches to both edges of the picture.
    let early = shown(20, true, html).unwrap();
    assert!(!early.contains("NaN") && !early.contains(">inf"), "{early}");
}

#[test]
fn a_campaign_is_told_in_chinese() {
    shown(1000, false, |result| {
        assert_chinese("optimize", || text(result, Style::default()));
        assert_chinese_page("optimize", || html(result).unwrap());
    });
}
