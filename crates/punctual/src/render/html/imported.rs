//! The result of another program as an HTML page: numbers and notes of its file, and pictures of its histograms.
//!
//! The page has no verdict and says nothing about trust, because a foreign file lacks the data for both.

use super::rendered;
use crate::render::lang::tr;
use crate::render::{chart, plot, units, words};
use minijinja::{Value, context};
use punctual_facts::machine::MachineLine;
use punctual_numbers::foreign::{ForeignRun, Quantity, Series, total};
use std::path::Path;

const TEMPLATE: &str = include_str!("imported.html.jinja");

/// The page of an imported result. `title` is its heading; `file` is the path of the imported file.
pub fn imported_page(run: &ForeignRun, title: &str, file: &Path) -> Result<String, minijinja::Error> {
    let drawn = chart::of_run(run);
    let noise = run.series.iter().any(|series| series.quantity == Quantity::Noise);
    let facts = [
        (tr!("measured by"), run.program.clone()),
        (tr!("called"), run.command.clone()),
        (tr!("started"), run.started.clone()),
        (tr!("length"), run.duration.map(|stated| units::duration(stated.length))),
    ];
    let facts = facts.into_iter().filter_map(|(name, value)| Some(MachineLine::from((name, value?))));
    let facts: Vec<Value> = facts
        .chain(run.machine.iter().cloned())
        .map(|line| context! { name => line.name, value => line.value })
        .collect();
    let rows = run.series.iter().enumerate().map(|(number, series)| row(Some(number), series));
    let rows: Vec<Value> = rows.chain(total(&run.series).map(|all| row(None, &all))).collect();
    let left_out = run.series.iter().filter(|series| chart::is_drawn(series)).count().saturating_sub(drawn.len());
    let legend = drawn.iter().map(|shape| context! { key => chart::series(shape.number), name => &shape.name });
    let claims = words::claims::of_import(run);
    let claims: Vec<Value> = claims.into_iter().map(|of| context! { name => of.name, lines => of.lines }).collect();
    let context = context! {
        title,
        file => file.display().to_string(),
        format => run.format.name(),
        quantity => if noise { tr!("Noise") } else { tr!("Latency") },
        claims,
        condition => words::claims::condition_imported(),
        notes => &run.notes,
        facts,
        rows,
        histogram => chart::histogram(&drawn, &(0..drawn.len()).collect::<Vec<_>>(), None, false),
        exceedance => chart::exceedance(&drawn, None),
        band => if drawn.len() == 1 { plot::band() } else { "" },
        legend => legend.collect::<Vec<_>>(),
        beyond => plot::only_counted(&drawn),
        cautions => plot::cautions(run),
        left_out => if left_out > 0 { tr!("Drawn are the {drawn} series with the largest values.", drawn = drawn.len()) } else { String::new() },
    };
    rendered(TEMPLATE, context)
}

fn row(number: Option<usize>, series: &Series) -> Value {
    context! {
        key => number.filter(|_| chart::is_drawn(series)).map(chart::series),
        name => &series.label,
        count => series.count().map_or_else(|| units::ABSENT.to_owned(), units::count),
        points => words::claims::points_of_import(series),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::golden::assert_page;
    use punctual_numbers::foreign::{ImportOptions, import};

    fn run_of(name: &str) -> ForeignRun {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/foreign").join(name);
        import(&std::fs::read(path).unwrap(), ImportOptions::default()).unwrap()
    }

    fn page_of(run: &ForeignRun) -> String {
        imported_page(run, "a run", Path::new("run.txt")).unwrap()
    }

    #[test]
    fn a_page_tells_the_notes_the_numbers_and_draws_them_and_can_be_looked_at() {
        let page = page_of(&run_of("xenomai-latency-211h.txt"));
        assert_page("imported", &page);
        let page = page.replace(units::THIN, " ");
        for said in ["2^32", "7 598 944 910", "23.110", "class=\"histogram\"", "class=\"exceedance\"", "band c0"] {
            assert!(page.contains(said), "{said}");
        }
        assert!(page.contains("What these numbers can claim") && page.contains("Nothing is claimed"));
        let page = page_of(&run_of("cyclictest-dense.txt"));
        let said = page.replace(units::THIN, " ").replace("\u{b5}s", "us");
        assert!(said.contains("Dashed: only counted. thread 0: 215 values from 60 us to 2.26 ms"), "{said}");
        assert_eq!(page.matches("class=\"skipped c0").count(), 2, "in the histogram and at the end of the curve");
        let page = page_of(&run_of("stress-ng-cyclic.txt"));
        assert!(!page.contains("class=\"histogram\"") && page.contains("cyclic"), "no cells, and numbers all the same");
    }

    #[test]
    fn a_page_is_closed_and_loads_nothing_and_shows_what_comes_from_outside_as_text() {
        const EVIL: &str = "</title><script>alert(1)</script>\"'><b>";
        let mut run = run_of("cyclictest.json");
        run.notes.push(EVIL.to_owned());
        run.machine.push((EVIL, EVIL).into());
        run.command = Some(EVIL.to_owned());
        run.series[0].label = EVIL.to_owned();
        let page = imported_page(&run, EVIL, Path::new(EVIL)).unwrap();
        assert!(!page.contains("<script>alert") && page.matches("alert(1)").count() > 7);
        assert_page("imported-evil", &page);
    }

    #[test]
    fn many_series_are_drawn_in_part_and_all_told() {
        let mut run = run_of("cyclictest.json");
        let first = run.series[0].clone();
        run.series = (0..300).map(|cpu| Series { label: format!("CPU {cpu}"), ..first.clone() }).collect();
        let page = page_of(&run);
        assert!(page.contains("Drawn are the 16 series") && page.contains("CPU 299"));
        assert!(page.len() < 600_000, "{}", page.len());
    }
}
