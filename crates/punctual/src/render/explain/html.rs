//! The causes of latency for a page: their ranking with the knobs for each, and pictures of late activations.
//!
//! The section is part of the report's page and of a page of its own. To bound the size of the pages, the number of
//! causes and the number of pictures are limited.

use crate::render::lang::tr;
use crate::render::words::causes as words;
use crate::render::words::phase_name;
use crate::render::{chart, units};
use minijinja::{Value, context};
use punctual_hist::Nanos;
use punctual_numbers::explain::{Explanation, Ranked, Spike};
use punctual_numbers::report::Report;
use std::collections::BTreeMap;

const CAUSES_MAX: usize = 20;
/// Number of the worst wake-ups that get a picture, and number of the first causes for which an example is drawn
/// besides.
const LATEST_DRAWN: usize = 20;
const EXAMPLES_DRAWN: usize = 10;
/// Number of pictures that are unfolded when the page is opened, and on paper.
const OPEN: usize = 3;
const REASONS_SHOWN: usize = 3;
const BLAMES_SHOWN: usize = 4;
const KNOBS_SHOWN: usize = 4;

/// The values that the template's section shows; `None` if the run did not look for causes.
pub fn section(report: &Report) -> Option<Value> {
    let causes = report.causes.as_ref()?;
    let ranking: Vec<Value> =
        (1..).zip(&causes.causes).take(CAUSES_MAX).map(|(place, ranked)| row(report, place, ranked)).collect();
    let more = causes.causes.len().checked_sub(CAUSES_MAX).filter(|more| *more > 0);
    let how = causes.tracing.as_ref().map(|tracing| words::how(tracing, report)).unwrap_or_default();
    Some(context! {
        phases => report.traced_apart().then_some(tr!("from traced phases, which do not count for the main numbers")),
        late => words::late(report, causes),
        doubt => report.causes_doubt().map(words::doubt),
        ranking,
        more => more.map(|n| tr!("and {more} more", more = units::count(n as u64))),
        rhythms => words::rhythms(causes),
        spikes => spikes(report, causes),
        ordinary => words::ordinary(causes),
        how => how.into_iter().chain(words::lost(causes)).collect::<Vec<_>>(),
    })
}

fn row(report: &Report, place: usize, ranked: &Ranked) -> Value {
    let time = |length: Nanos, text: fn(Nanos) -> String| {
        if length == Nanos::ZERO { units::ABSENT.to_owned() } else { text(length) }
    };
    let mut facts = Vec::new();
    let mut fact = |label: &str, texts: Vec<String>| {
        if !texts.is_empty() {
            facts.push(context! { label, texts });
        }
    };
    let in_full = super::is_told_in_full(place, ranked);
    if in_full {
        fact(tr!("when"), words::pattern(ranked).into_iter().collect());
        fact(tr!("where"), words::places(ranked, report));
        fact(tr!("why"), words::reasons(ranked, REASONS_SHOWN));
    }
    let shown = if in_full { KNOBS_SHOWN } else { 0 };
    let knobs: Vec<Value> = words::knobs(ranked, report)
        .iter()
        .take(shown)
        .map(|knob| context! { id => knob.id, wanted => knob.wanted() })
        .collect();
    let share = if ranked.share.is_finite() { ranked.share.clamp(0.0, 1.0) } else { 0.0 };
    context! {
        place,
        class => words::class(ranked.cause.class),
        key => chart::colour_of(ranked.cause.class),
        name => words::name(&ranked.cause.name.to_string()),
        width => (share > 0.0).then(|| format!("{:.1}", share * 100.0)),
        share => if ranked.total == Nanos::ZERO { units::ABSENT.to_owned() } else { units::portion(ranked.share) },
        count => units::count(ranked.count),
        first_in => units::count(ranked.first_in),
        total => time(ranked.total, units::duration),
        worst => time(ranked.worst, units::latency),
        facts,
        knobs,
    }
}

/// The worst wake-ups, then for each of the first causes the wake-up that shows it best.
fn spikes(report: &Report, causes: &Explanation) -> Vec<Value> {
    let mut examples: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (place, ranked) in (1..).zip(&causes.causes).take(EXAMPLES_DRAWN) {
        examples.entry(ranked.example).or_default().push(place.to_string());
    }
    let latest = 0..causes.spikes.len().min(LATEST_DRAWN);
    let shown = latest.clone().chain(examples.keys().copied().filter(|place| !latest.contains(place)));
    let spike = |place: usize| {
        let example = examples.get(&place).map(|of| tr!("example of cause {wake_ups}", wake_ups = of.join(", ")));
        causes.spikes.get(place).map(|spike| drawn(report, spike, example, place < OPEN))
    };
    shown.filter_map(spike).collect()
}

fn drawn(report: &Report, spike: &Spike, example: Option<String>, open: bool) -> Value {
    let phase = report.phase_name(spike.phase);
    context! {
        late => units::latency(spike.latency()),
        cpu => spike.cpu,
        at => words::at(report, spike.release),
        load => phase_name(&phase),
        first => spike.primary().map(|blame| words::cause(&blame.cause)),
        example,
        open,
        incomplete => spike.incomplete.map(|why| {
            tr!("Incomplete: {why}. The ranking of the causes leaves this activation out.", why = words::incomplete(why))
        }),
        svg => chart::lanes(spike),
        blames => spike.causes.iter().take(BLAMES_SHOWN).map(words::blame).collect::<Vec<_>>(),
    }
}
