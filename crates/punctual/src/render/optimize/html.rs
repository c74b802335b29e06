//! A campaign as one HTML page: recommendations, a picture of the effects, and all numbers.

use super::{Result, text, words as say};
use crate::render::chart::{self, Bar};
use crate::render::html::rendered;
use crate::render::lang::{said, tr};
use crate::render::units;
use minijinja::{Value, context};
use punctual_optimize::{Effect, Judged, Metric};

const TEMPLATE: &str = include_str!("optimize.html.jinja");

pub fn html(result: &Result<'_>) -> std::result::Result<String, minijinja::Error> {
    let Result { campaign, standing, .. } = result;
    let id = |place: &usize| campaign.design.candidates.get(*place).map(|candidate| candidate.id.clone());
    let recommended: Vec<String> = standing.recommended.iter().filter_map(id).collect();
    let context = context! {
        title => tr!("Which knobs help"),
        recommended,
        together => standing.together.iter().map(|e| format!("{} {}", say::metric(e.metric), say::change(e))).collect::<Vec<_>>(),
        figures => [figure(result, Metric::P50), figure(result, Metric::P99_9)].into_iter().flatten().collect::<Vec<_>>(),
        rows => standing.judged.iter().filter_map(|judged| row(result, judged)).collect::<Vec<_>>(),
        left_out => result.not_tried.iter().map(|not| format!("{}: {}", not.id, not.why)).collect::<Vec<_>>(),
        longer => text::longer(result),
        how => text::how(result),
        doubts => text::doubts(result),
    };
    rendered(TEMPLATE, context)
}

fn effect(judged: &Judged, metric: Metric) -> Option<&Effect> {
    judged.effects.iter().find(|effect| effect.metric == metric)
}

fn figure(result: &Result<'_>, metric: Metric) -> Option<Value> {
    let bar = |judged: &Judged| {
        let name = result.campaign.design.candidates.get(judged.candidate)?.id.as_str();
        let effect = effect(judged, metric)?;
        let says = format!("{name}: {} {}", say::metric(metric), say::change(effect));
        let (low, high) = (effect.low.unwrap_or(0.0), effect.high.unwrap_or(f64::INFINITY));
        Some(Bar { name, seen: effect.seen, low, high, says })
    };
    let bars: Vec<Bar<'_>> = result.standing.judged.iter().filter_map(bar).collect();
    let svg = chart::effects(&tr!("Change of {metric} by candidate", metric = say::metric(metric)), &bars)?;
    Some(context! { name => say::metric(metric), svg })
}

fn row(result: &Result<'_>, judged: &Judged) -> Option<Value> {
    let candidate = result.campaign.design.candidates.get(judged.candidate)?;
    let change = |metric| effect(judged, metric).map_or_else(|| units::ABSENT.to_owned(), say::change);
    Some(context! {
        id => &candidate.id, title => said(&candidate.title), cost => said(&candidate.cost),
        verdict => say::verdict(&judged.verdict), rounds => judged.rounds,
        p50 => change(Metric::P50), p99_9 => change(Metric::P99_9), misses => change(Metric::Misses),
    })
}
