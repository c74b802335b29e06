//! `punctual report --plot`: draws a chart of one or several results into a file or on the terminal.

use super::files::{title, write_new};
use super::source::{part_of, result};
use super::{left_out, of_whole_program};
use crate::cli::{ChartName, ReportArgs};
use crate::exit::Exit;
use crate::render;
use crate::render::plot::{self, Called, Measured, Named};
use anyhow::{Context, Result, bail};
use punctual_linux::result_file::ResultFile;
use punctual_numbers::report::Report;
use std::path::{Path, PathBuf};

/// Largest number of curves in one chart. More cannot be told apart.
const OVERLAID_MAX: usize = 9;

pub fn run(args: &ReportArgs, of: &Path, file: Option<&Path>, first: ResultFile) -> Result<Exit> {
    of_whole_program("--plot", "punctual report --plot")?;
    let form = file.map(Form::of).transpose()?;
    if args.plot.with.len() + 1 > OVERLAID_MAX {
        bail!("--with: {OVERLAID_MAX} results at most can be told apart in one chart");
    }
    let cut_off = matches!(&first, ResultFile::Recording(recording) if recording.cut_off.is_some());
    let mut results = vec![first];
    for path in &args.plot.with {
        results.push(part_of(result(path, args.import.options())?, path, args.between.between.as_deref())?);
    }
    let paths = || std::iter::once(of).chain(args.plot.with.iter().map(PathBuf::as_path));
    let names: Vec<Called> =
        paths().map(|path| Called { title: title(path), path: path.display().to_string() }).collect();
    let all = plot::names(&names).into_iter().zip(results);
    let all: Vec<Named> = all.map(|(name, result)| Named { name, of: measured(result) }).collect();
    let chart = args.plot.chart;
    if chart == ChartName::OverTime {
        say_when(&all)?;
    }
    match file.zip(form) {
        None => {
            let text = render::for_people(|| plot::terminal::draw(chart, &all, render::style().width));
            render::print(&text.with_context(|| plot::nothing(chart))?)?;
        }
        Some((file, form)) => {
            let svg = plot::svg(chart, &all).with_context(|| plot::nothing(chart))?;
            let bytes = form.bytes(svg, file)?;
            write_new(file, &bytes)?;
        }
    }
    Ok(Exit::doubtful_if(cut_off))
}

fn measured(result: ResultFile) -> Measured {
    match result {
        ResultFile::Recording(recording) => Measured::Recording(Box::new(Report::of(&recording))),
        ResultFile::Foreign(run) => Measured::Import(run),
    }
}

/// Refuses results of other programs, which do not state when each value occurred.
fn say_when(all: &[Named]) -> Result<()> {
    let Some(one) = all.iter().find(|one| one.import().is_some()) else { return Ok(()) };
    bail!(
        "--chart over-time: {} was measured by another program and does not say when each value was: histogram and \
         exceedance are drawn of it",
        one.name
    )
}

#[derive(Clone, Copy)]
enum Form {
    Svg,
    Png,
}

impl Form {
    fn of(file: &Path) -> Result<Self> {
        let ending = file.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        match ending.as_deref() {
            Some("svg") => Ok(Self::Svg),
            Some("png") if cfg!(feature = "png") => Ok(Self::Png),
            Some("png") => {
                bail!("{}: {}; a file that ends in .svg needs no such build", file.display(), left_out("PNG"))
            }
            _ => bail!("{}: which kind of picture? Name a file that ends in .svg or .png", file.display()),
        }
    }

    fn bytes(self, svg: String, file: &Path) -> Result<Vec<u8>> {
        match self {
            Self::Svg => Ok(svg.into_bytes()),
            Self::Png => png(&svg).with_context(|| format!("draw {}", file.display())),
        }
    }
}

/// Pixels for each unit of the drawing: enough to make small print readable.
#[cfg(feature = "png")]
const SCALE: f32 = 2.0;

#[cfg(feature = "png")]
fn png(svg: &str) -> Result<Vec<u8>> {
    use resvg::{tiny_skia, usvg};
    let mut options = usvg::Options::default();
    options.fontdb_mut().load_system_fonts();
    if options.fontdb.is_empty() {
        bail!("this machine has no fonts, so that nothing could be read in it: name a file that ends in .svg");
    }
    let tree = usvg::Tree::from_str(svg, &options).context("the drawing is not understood: please report it")?;
    let size = tree.size().to_int_size().scale_by(SCALE).context("the picture has no size")?;
    let mut pixels = tiny_skia::Pixmap::new(size.width(), size.height()).context("the picture is too large")?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    Ok(pixels.encode_png()?)
}

#[cfg(not(feature = "png"))]
fn png(_: &str) -> Result<Vec<u8>> {
    bail!(left_out("PNG"))
}
