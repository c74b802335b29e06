//! A campaign as one HTML page: comparisons, a picture of all cells, and the tables.

use super::{CellResult, Result, text};
use crate::render::chart::{self, Shape};
use crate::render::html::rendered;
use crate::render::lang::{for_people, said, tr};
use crate::render::units;
use minijinja::{Value, context};

const TEMPLATE: &str = include_str!("campaign.html.jinja");
/// Largest number of cells in one picture: with more, curves can no longer be told apart.
const DRAWN_MAX: usize = 12;

pub fn html(result: &Result) -> std::result::Result<String, minijinja::Error> {
    for_people(|| page(result))
}

fn page(result: &Result) -> std::result::Result<String, minijinja::Error> {
    let context = context! {
        title => if result.title.is_empty() { tr!("Campaign") } else { result.title.as_str() },
        about => &result.about,
        source => result.source.trim_end_matches('.'),
        how => text::told(result),
        headline => match &result.gave_up {
            Some(_) => tr!("Given up").to_owned(),
            None => headline(result),
        },
        gave_up => result.gave_up.as_deref().map(said),
        away => (!result.is_home).then_some(text::away()),
        is_by_cpu => text::is_by_cpu(result),
        decided => decided(result),
        comparisons => result.comparisons.iter().map(|pair| context! {
            question => &pair.question, first => &pair.first, second => &pair.second, verdict => said(&pair.verdict),
            repetitions => pair.repetitions,
        }).collect::<Vec<_>>(),
        figure => figure(result),
        cells => result.cells.iter().enumerate().map(cell).collect::<Vec<_>>(),
        published => result.cells.iter().flat_map(published).collect::<Vec<_>>(),
        folder => &result.folder,
    };
    rendered(TEMPLATE, context)
}

fn headline(result: &Result) -> String {
    let cells = units::counted(result.cells.len() as u64, "cell");
    let measured = result.cells.iter().filter(|cell| cell.whole.is_some()).count();
    if measured == result.cells.len() { cells } else { tr!("{measured} of {cells} measured", measured, cells) }
}

fn decided(result: &Result) -> String {
    let comparisons = units::counted(result.comparisons.len() as u64, "comparison");
    let certain = result.comparisons.iter().filter(|pair| pair.is_certain).count();
    tr!("{certain} of {comparisons} decided.", certain, comparisons)
}

fn figure(result: &Result) -> Option<String> {
    let measured = result.cells.iter().enumerate().filter(|(_, cell)| cell.whole.is_some());
    let shapes: Vec<Shape> = measured
        .take(DRAWN_MAX)
        .map(|(number, cell)| Shape::of_counts(number, cell.name.clone(), &cell.latencies))
        .collect();
    chart::exceedance(&shapes, None)
}

fn cell((number, cell): (usize, &CellResult)) -> Value {
    let cpus = cell.cpus.iter().map(|cpu| context! { cpu => cpu.cpu, numbers => text::numbers(&cpu.row) });
    context! {
        key => chart::series(number), name => &cell.name, about => &cell.about, scenario => &cell.scenario,
        boot => cell.boot.join(" "), knobs => cell.knobs.join(", "), refused => cell.refused.as_deref().map(said), runs => cell.runs,
        numbers => cell.whole.as_ref().map(text::numbers), cpus => cpus.collect::<Vec<_>>(), doubts => cell.doubts.iter().map(|doubt| said(doubt).into_owned()).collect::<Vec<_>>(),
    }
}

fn published(cell: &CellResult) -> Vec<Value> {
    let one = |figure: &super::PublishedFigure| {
        context! {
            cell => &cell.name, of => &figure.of,
            cpu => figure.cpu.map_or_else(|| tr!("all").to_owned(), |cpu| cpu.to_string()),
            what => figure.what, published => units::column_us(Some(figure.published)), here => units::column_us(figure.here),
        }
    };
    cell.published.iter().map(one).collect()
}
