//! Kernels side by side as one HTML page: the matrix of largest latencies, a picture for each load, and the tables.

use super::text::{between, per_million};
use super::{GuestClock, Shown, words};
use crate::render::chart::{self, Shape};
use crate::render::html::rendered;
use crate::render::lang::{for_people, said, tr};
use crate::render::plot;
use crate::render::units;
use minijinja::{Value, context};
use punctual_numbers::compare::Compared;
use punctual_numbers::kernels::{Cell, KernelRow};

const TEMPLATE: &str = include_str!("lab.html.jinja");

pub fn html(shown: &Shown<'_>) -> Result<String, minijinja::Error> {
    for_people(|| page(shown))
}

fn page(shown: &Shown<'_>) -> Result<String, minijinja::Error> {
    let kernels = &shown.table.kernels;
    let worst = words::worst(kernels);
    let largest = worst.and_then(|(_, cell)| cell.row.latency_due.max);
    let headline = tr!("Largest {latency}", latency = largest.map_or_else(|| units::ABSENT.to_owned(), units::latency));
    let worst = worst.map(|(row, cell)| {
        tr!("The largest latency is that of {kernel} under {load}.", kernel = row.name, load = said(&cell.load))
    });
    let others = kernels.iter().skip(1).map(|row| format!("{}: {}.", row.name, words::differences(row)));
    let refused = shown.refused.iter().map(words::refused);
    let context = context! {
        title => tr!("Kernels side by side"),
        measured => words::measured(shown),
        emulated => shown.clock == GuestClock::Virtual,
        claims => words::claims(shown.clock),
        headline,
        worst,
        others => others.collect::<Vec<_>>(),
        first => kernels.first().map(|row| row.name.clone()),
        loads => shown.table.loads.iter().map(|load| said(load).into_owned()).collect::<Vec<_>>(),
        matrix => kernels.iter().enumerate().map(|(n, row)| matrix(n, row)).collect::<Vec<_>>(),
        figures => figures(shown),
        band => plot::band(),
        thresholds => shown.table.thresholds.iter().map(|level| format!("> {}", units::duration(*level))).collect::<Vec<_>>(),
        tables => tables(shown),
        paths => kernels.iter().flat_map(paths).collect::<Vec<_>>(),
        missing => shown.not_measured.iter().map(|one| {
            context! { name => &one.name, why => said(&one.why), last => one.last_lines.join("\n") }
        }).collect::<Vec<_>>(),
        refused => refused.collect::<Vec<_>>(),
    };
    rendered(TEMPLATE, context)
}

fn matrix(number: usize, row: &KernelRow) -> Value {
    let cell = |cell: &Cell| {
        let verdict = cell.against_first.as_ref().map(|against| against.verdict);
        context! { largest => units::column_us(cell.row.latency_due.max), against => words::against(verdict),
        over => verdict == Some(Compared::Worse) }
    };
    context! {
        key => chart::series(number), name => &row.name, release => &row.release, runs => row.runs,
        cells => row.cells.iter().map(cell).collect::<Vec<_>>(),
    }
}

/// One picture for each load, with the curves of all kernels.
fn figures(shown: &Shown<'_>) -> Vec<Value> {
    let figure = |(place, load): (usize, &String)| {
        let rows = shown.table.kernels.iter().enumerate();
        let shapes: Vec<Shape> = rows
            .filter_map(|(n, row)| Some(Shape::of_counts(n, row.name.clone(), &row.cells.get(place)?.ran)))
            .collect();
        Some(context! { name => said(load), svg => chart::exceedance(&shapes, None)? })
    };
    shown.table.loads.iter().enumerate().filter_map(figure).collect()
}

fn tables(shown: &Shown<'_>) -> Vec<Value> {
    let table = |(place, load): (usize, &String)| {
        let rows = shown.table.kernels.iter().filter_map(|row| Some((row, row.cells.get(place)?)));
        let rows = rows.map(|(row, cell)| {
            let of = cell.row.latency_due;
            let verdict = cell.against_first.as_ref().map(|against| against.verdict);
            context! {
                name => &row.name,
                due => units::count(cell.row.due),
                skipped => units::count(cell.row.skipped),
                points => [of.min, of.p50, of.p99, of.p99_9, of.max].map(units::column_us).to_vec(),
                between => between(cell),
                later => cell.later.iter().map(|n| per_million(*n, cell.row.due)).collect::<Vec<_>>(),
                against => words::cell_against(cell.against_first.as_ref()),
                over => verdict == Some(Compared::Worse),
            }
        });
        context! { load => said(load), rows => rows.collect::<Vec<_>>() }
    };
    shown.table.loads.iter().enumerate().map(table).collect()
}

fn paths(row: &KernelRow) -> Vec<Value> {
    let path = |cell: &Cell| {
        let path = cell.path.as_ref()?;
        Some(
            context! { name => &row.name, load => said(&cell.load), cause => words::cause(path), parts => words::parts(path) },
        )
    };
    row.cells.iter().filter_map(path).collect()
}
