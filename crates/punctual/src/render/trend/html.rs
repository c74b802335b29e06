//! A series of runs as one page: the verdict, the percentiles over the runs, shifts and what changed with them.

use super::{change, how_sure, setting, verdict};
use crate::render::chart::{self, Line};
use crate::render::html::rendered;
use crate::render::lang::{for_people, tr};
use crate::render::units;
use crate::render::words::compare::percentile;
use minijinja::{Value, context};
use punctual_numbers::trend::{Moved, Run, Shift, Trend, Verdict, WATCHED_PPM};

const TEMPLATE: &str = include_str!("trend.html.jinja");

pub fn html(trend: &Trend) -> Result<String, minijinja::Error> {
    for_people(|| page(trend))
}

fn page(trend: &Trend) -> Result<String, minijinja::Error> {
    let (_, word, what) = verdict(trend);
    let class = match trend.verdict {
        Verdict::Better | Verdict::Steady => "held",
        Verdict::Worse => "missed",
        Verdict::TooFew => "unsure",
    };
    let context = context! {
        title => tr!("Runs over time"),
        word => units::capitalised(&word.trim_end_matches([':', '：']).to_lowercase()),
        class,
        // A sentence that begins with the name of a percentile keeps it as it is.
        what => if trend.shifts.is_empty() && trend.drifts.is_empty() { units::capitalised(&what) } else { what },
        how_sure => units::capitalised(&how_sure(trend)),
        svg => picture(trend),
        lines => lines(trend).into_iter().map(|line| context! { key => chart::series(line.number), name => line.name }).collect::<Vec<_>>(),
        shifts => trend.shifts.iter().map(shift).collect::<Vec<_>>(),
        runs => trend.runs.iter().map(run).collect::<Vec<_>>(),
        columns => WATCHED_PPM.map(percentile).to_vec(),
    };
    rendered(TEMPLATE, context)
}

fn lines(trend: &Trend) -> Vec<Line> {
    let line = |(number, ppm): (usize, u32)| {
        let values = trend.runs.iter().map(|run| run.at(ppm)).collect();
        Line { number, name: percentile(ppm), values }
    };
    WATCHED_PPM.into_iter().enumerate().map(line).filter(|line| line.values.iter().any(Option::is_some)).collect()
}

fn picture(trend: &Trend) -> Option<String> {
    let names: Vec<String> = trend.runs.iter().map(|run| run.name.clone()).collect();
    let marks: Vec<(usize, String)> =
        trend.shifts.iter().map(|shift| (shift.at, tr!("shift since {run}", run = shift.run))).collect();
    chart::runs(tr!("Percentiles of the latency, run by run"), &names, &lines(trend), &marks)
}

fn shift(of: &Shift) -> Value {
    let moved = |of: &Moved| {
        context! {
            what => percentile(of.percentile_ppm), before => units::latency(of.before), after => units::latency(of.after),
            change => change(of.ratio), low => change(of.low), high => change(of.high),
        }
    };
    context! {
        run => &of.run, number => of.at + 1, found_after => of.found_after, worse => of.worse,
        moved => of.moved.iter().map(moved).collect::<Vec<_>>(),
        changed => of.changed.iter().map(setting).collect::<Vec<_>>(),
    }
}

fn run(of: &Run) -> Value {
    context! {
        name => &of.name, started => units::date(of.started_unix_ns), due => units::count(of.due), missed => units::count(of.missed),
        values => WATCHED_PPM.map(|ppm| units::column_us(of.at(ppm))).to_vec(), max => units::column_us(of.max),
    }
}
