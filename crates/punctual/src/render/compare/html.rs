//! A comparison as one HTML page: verdicts, curves of all recordings in one picture for each group, and tables of all
//! numbers.

use super::told;
use crate::render::chart::{self, Shape};
use crate::render::html::rendered;
use crate::render::plot;
use crate::render::units;
use crate::render::words::{self, compare as say};
use minijinja::{Value, context};
use punctual_numbers::compare::{
    Against, Basis, Compared, ComparedNumber, Comparison, Gain, Group, GroupResult, RowResult, SecondKernel, Side,
};

const TEMPLATE: &str = include_str!("../html/compare.html.jinja");
/// Number of groups that get a picture. The tables list all groups.
const DRAWN_MAX: usize = 16;

const NOT_STATED: &str = "not stated";

pub fn html(comparison: &Comparison, title: &str) -> Result<String, minijinja::Error> {
    let others: Vec<Value> = comparison.others.iter().map(against).collect();
    let sides = std::iter::once(&comparison.first).chain(comparison.others.iter().map(|other| &other.side));
    let sides: Vec<Value> = sides.enumerate().map(|(i, of)| side(i, of)).collect();
    let verdict = comparison.verdict();
    let context = context! {
        title,
        verdict => units::capitalised(say::verdict(verdict)),
        class => class(verdict),
        sides,
        others,
        figures => figures(comparison),
        band => plot::band(),
        cautions => say::cautions(comparison),
    };
    rendered(TEMPLATE, context)
}

fn class(verdict: Compared) -> &'static str {
    match verdict {
        Compared::Better => "held",
        Compared::Worse | Compared::Mixed => "missed",
        Compared::NoDifferenceShown | Compared::NotEnoughData => "unsure",
    }
}

fn side(number: usize, side: &Side) -> Value {
    context! {
        key => chart::series(number),
        name => &side.name,
        program => say::program(&side.origin),
        started => say::started(&side.origin).unwrap_or_else(|| NOT_STATED.to_owned()),
        measured => side.measured.map_or_else(|| NOT_STATED.to_owned(), units::duration),
        doubts => side.doubts.iter().map(words::distrust).chain(say::notes(&side.origin).iter().cloned()).collect::<Vec<_>>(),
    }
}

fn against(other: &Against) -> Value {
    let (groups, left) = told(other);
    let differences = other.differences.iter().map(|of| {
        context! { matters => say::matters(of.matters()), refuses => of.refuses(), what => say::subject(&of.subject),
        first => say::value(&of.first), second => say::value(&of.second) }
    });
    let told = other.told_to_ppm.map(say::percentile);
    context! {
        name => &other.side.name,
        verdict => units::capitalised(&say::verdict_on(other)),
        as_if => other.if_independent.is_some() || other.basis == Basis::Independent,
        told,
        wants => other.wants.map(units::duration),
        refused => other.refused,
        decided => say::all_decided(other),
        differences => differences.collect::<Vec<_>>(),
        left_out => say::left_out(&other.left_out),
        lacks => other.lacks.iter().map(say::lacking).collect::<Vec<_>>(),
        groups => groups.into_iter().map(group).collect::<Vec<_>>(),
        groups_left => left,
        kernels => other.kernels.as_ref().map(kernels),
        causes => other.causes.as_ref().map(|causes| causes.iter().map(say::cause).collect::<Vec<_>>()),
    }
}

fn kernels(of: &SecondKernel) -> Value {
    let gain = |gain: &Gain| {
        context! { group => say::group(&gain.group), what => say::percentile(gain.ppm),
        first => units::column_us_of(gain.first), second => units::column_us_of(gain.second),
        change => say::changed(Some(gain.change)), interval => say::interval_of(Some(gain.change)),
        verdict => say::verdict(gain.verdict), over => gain.verdict == Compared::Worse }
    };
    context! {
        first => words::kernel(of.first),
        second => words::kernel(of.second),
        sentence => say::second_kernel(of),
        gains => of.gains.iter().map(gain).collect::<Vec<_>>(),
    }
}

fn group(of: &GroupResult) -> Value {
    let rows: Vec<Value> = of.rows.iter().map(row).collect();
    context! {
        name => say::result_group(of),
        verdict => say::based_verdict(of.basis, of.verdict, of.if_independent),
        due => say::due(of),
        unfit => say::unfit(of),
        effect => of.delta.map(say::effect),
        budget => of.rows.iter().find_map(|row| say::budget(&row.what)),
        rows,
    }
}

fn row(of: &RowResult) -> Value {
    let over = of.verdict == Compared::Worse;
    context! {
        what => say::what(&of.what), first => say::number(of, false), second => say::number(of, true),
        change => say::change(of), interval => say::interval(of), odds => say::odds(of.odds_of_all),
        verdict => say::row_verdict(of), over,
    }
}

/// Pictures of exceedance curves, one for each CPU and load, each with the curves of all recordings.
fn figures(comparison: &Comparison) -> Vec<Value> {
    let sides: Vec<&Side> =
        std::iter::once(&comparison.first).chain(comparison.others.iter().map(|other| &other.side)).collect();
    let mut groups: Vec<&Group> = comparison.others.iter().flat_map(|o| &o.groups).map(|g| &g.group).collect();
    groups.sort();
    groups.dedup();
    let budget =
        comparison.others.iter().flat_map(|o| &o.groups).flat_map(|g| &g.rows).find_map(|row| match row.what {
            ComparedNumber::Misses { budget } => budget,
            _ => None,
        });
    // A file of another program may name the same group differently.
    let of_other = |number: usize, group: &Group| {
        let other = comparison.others.get(number.checked_sub(1)?)?;
        let result = other.groups.iter().find(|result| result.group == *group)?;
        Some(result.against.clone().unwrap_or_else(|| group.clone()))
    };
    let figure = |group: &&Group| {
        let shapes: Vec<Shape> = sides
            .iter()
            .enumerate()
            .filter_map(|(number, side)| {
                let own = if number == 0 { (*group).clone() } else { of_other(number, group)? };
                let (_, series) = side.latencies.iter().find(|(of, _)| *of == own)?;
                Some(Shape { name: side.name.clone(), ..Shape::of_series(number, series) })
            })
            .collect();
        let svg = chart::exceedance(&shapes, budget)?;
        Some(context! { name => say::group(group), svg })
    };
    groups.iter().take(DRAWN_MAX).filter_map(figure).collect()
}
