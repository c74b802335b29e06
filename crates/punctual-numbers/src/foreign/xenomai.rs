//! Reads the output of `latency -g` of Xenomai: three comments, the configuration, then the histogram for gnuplot.
//!
//! Each row has the centre of a cell and its count plus one, so that logarithmic axes work. The first and the last row
//! mark the edges of the histogram; their count of one stands for no value. Counts are signed 32-bit numbers, which
//! overrun within days (`wrapped` finds that). Values above the histogram are counted in its last cell. The file is
//! about one CPU and does not state its number.
//!
//! The terminal output of `latency` and `latmus` is read as well: the last line of numbers, without a histogram.

use super::lines::LineReader;
use super::number::{self, Unit};
use super::run::{Series, Stated};
use super::table::TOO_LONG;
use super::{Cell, ForeignRun, MOST_CELLS, Problem};
use punctual_hist::Nanos;

#[derive(Default)]
pub(super) struct Reader {
    comments: Vec<String>,
    /// The rows: (number of the line, centre of a cell or edge of the histogram, printed count).
    rows: Vec<(u64, Nanos, i64)>,
    /// The last line of numbers that the program printed on a terminal, and the last line with a title.
    live: Option<String>,
    live_title: Option<String>,
}

impl LineReader for Reader {
    fn line(&mut self, number: u64, line: &str) -> Result<(), Problem> {
        let line = line.trim();
        if let Some(comment) = line.strip_prefix('#') {
            self.comments.push(comment.trim().to_owned());
            if self.comments.len() > 10_000 {
                return Err(Problem::at(number, "more comments than latency writes"));
            }
            return Ok(());
        }
        if line.starts_with("RTD|") || line.starts_with("RTS|") {
            self.live = Some(line.chars().take(1_000).collect());
        } else if let Some(title) = line.strip_prefix("RTT|") {
            self.live_title = Some(title.trim().chars().take(1_000).collect());
        }
        if line.is_empty() || line.contains('|') || line.starts_with("---") || line.starts_with("==") {
            return Ok(());
        }
        // Terminal output also has lines of text, about the mode and the warm-up.
        let is_text = !line.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        if is_text && self.comments.is_empty() && self.rows.is_empty() {
            return Ok(());
        }
        let bad =
            || Problem::at(number, "neither a comment nor the centre of a cell with its count; decimals need a point");
        let mut words = line.split_whitespace();
        let (Some(centre), Some(count), None) = (words.next(), words.next(), words.next()) else { return Err(bad()) };
        let centre = number::length(centre, Unit::Us).ok_or_else(bad)?;
        let count: i64 = count.parse().map_err(|_| bad())?;
        if self.rows.last().is_some_and(|(_, last, _)| *last >= centre) {
            return Err(Problem::at(
                number,
                "this row is not above the one before; are these two results in one file?",
            ));
        }
        if self.rows.len() >= MOST_CELLS || centre >= TOO_LONG {
            return Err(Problem::at(number, "more rows, or a longer latency, than any result of latency has"));
        }
        self.rows.push((number, centre, count));
        Ok(())
    }

    fn finish(&mut self) -> Result<ForeignRun, Problem> {
        let mut notes = Vec::new();
        let cells = if self.rows.is_empty() && self.live.is_some() {
            notes.push("there is no histogram in it: percentiles are not known (run it with -g FILE)".to_owned());
            Vec::new()
        } else {
            self.cells(&mut notes)?
        };
        let us = |index: usize| self.field(index).and_then(|text| number::length(text, Unit::Us));
        let (length, period) = self.title();
        let mut series = Series {
            label: "the sampler".to_owned(),
            period,
            cells,
            min: us(0),
            mean: us(1),
            max: us(2),
            grain: Nanos::from_ns(1),
            skipped: self.field(3).and_then(number::count),
            ..Series::default()
        };
        if self.field(0).is_some_and(|text| text.starts_with('-')) && !series.cells.is_empty() {
            // The stated mean is that of the signed values, but the cells count them without their sign.
            series.mean = None;
            notes.push(
                "lost: the smallest latency is negative, and `latency` counts negative ones by their size".to_owned(),
            );
        }
        last_of_latency(&mut series);
        let says = self.comments.iter().filter(|comment| !comment.contains('|'));
        let machine = says.map(|comment| ("says", comment.as_str()).into()).collect();
        let program = self.comments.iter().find_map(|comment| comment.strip_prefix("Xenomai version:"));
        Ok(ForeignRun {
            program: Some(program.map_or("latency".to_owned(), |version| format!("latency, {}", version.trim()))),
            duration: length.map(|length| Stated { length, grain: Nanos::from_secs(1) }),
            machine,
            series: vec![series],
            notes,
            ..ForeignRun::default()
        })
    }
}

impl Reader {
    /// The cells, with one taken off each printed count, and without the rows at the edges of the histogram.
    fn cells(&self, notes: &mut Vec<String>) -> Result<Vec<Cell>, Problem> {
        let inner = match self.rows.as_slice() {
            [(_, _, 1), inner @ .., (_, _, 1)] => inner,
            [] | [_] | [_, _] => return Err(Problem::new("there is no histogram in it (latency -g writes one)")),
            _ => {
                return Err(Problem::new(
                    "the first and the last row are not the ones that `latency -g` adds: the file was cut off or edited",
                ));
            }
        };
        let width = width(inner).ok_or_else(|| {
            let line = inner.first().map(|(line, _, _)| *line);
            Problem { line, ..Problem::new("the centres of the cells do not lie on a grid of equal cells") }
        })?;
        notes.push(format!(
            "repaired: `latency -g` prints each count plus one and a row at each edge: one was taken off {} rows, and two \
             rows were dropped",
            inner.len()
        ));
        let mut cells = Vec::with_capacity(inner.len());
        for (line, centre, printed) in inner {
            let count = counted(*line, *printed, notes)?;
            let low = centre.minus(width.divided_by(2));
            let high = low.plus(width.minus(Nanos::from_ns(1)));
            cells.push(Cell { low, high, count });
        }
        cells.retain(|cell| cell.count > 0);
        Ok(cells)
    }

    /// A number of the summary line, below `----lat min|----lat avg|----lat max|-overrun|` or on the terminal.
    fn field(&self, index: usize) -> Option<&str> {
        if let (Some(live), true) = (&self.live, self.rows.is_empty()) {
            return live.split('|').nth(index.checked_add(1)?).map(str::trim);
        }
        let heading = self.comments.iter().position(|comment| comment.contains("----lat min|"))?;
        let line = self.comments.get(heading.checked_add(1)?)?;
        line.split('|').nth(index).map(str::trim)
    }

    /// Reads length and period from a title such as `211:04:55 (periodic user-mode task, 100 us period, priority 99)`.
    fn title(&self) -> (Option<Nanos>, Option<Nanos>) {
        let title = self.comments.iter().find(|comment| comment.contains("us period")).or(self.live_title.as_ref());
        let title = title.map(String::as_str);
        let length = title.and_then(|title| number::clock(title.split_whitespace().next()?));
        // The closing line states two times: how long the run took, then how long it should have taken.
        let live = self.live.as_deref().filter(|live| live.starts_with("RTS|"));
        let closing = live.and_then(|live| number::clock(live.split('|').nth(6)?.split('/').next()?));
        let length = closing.or(length);
        let period = title.and_then(|title| {
            let before = title.split_once(" us period")?.0;
            number::length(before.split_whitespace().next_back()?, Unit::Us)
        });
        (length, period)
    }
}

/// Moves the last cell to `beyond` if the maximum is above it: `latency` counts all values above its histogram (`-H`)
/// in the last cell.
fn last_of_latency(series: &mut Series) {
    let end = series.cells.last().map(|cell| cell.high);
    if end.is_some_and(|end| series.max.is_some_and(|max| max > end)) {
        series.open_last();
    }
}

/// The width of the cells with these centres: the smallest step, if all others are multiples of it.
fn width(rows: &[(u64, Nanos, i64)]) -> Option<Nanos> {
    let steps = rows.iter().zip(rows.iter().skip(1)).map(|(a, b)| b.1.minus(a.1));
    let first = rows.first()?.1;
    // With a single cell the width is unknown; one microsecond is the default of the program.
    let width = steps.clone().min().unwrap_or(Nanos::from_us(1));
    let fits = |length: Nanos| length.as_ns().checked_rem(width.as_ns()) == Some(0);
    let half = width.divided_by(2);
    (width > Nanos::ZERO && steps.clone().all(fits) && fits(first.plus(half))).then_some(width)
}

/// The count behind a printed number. Counts above 2^31 are printed as negative numbers, from which they can be
/// restored.
fn counted(line: u64, printed: i64, notes: &mut Vec<String>) -> Result<u64, Problem> {
    let plain = printed.saturating_sub(1);
    if let Ok(count) = u64::try_from(plain) {
        return Ok(count);
    }
    let unsigned = u64::try_from(plain.saturating_add(1 << 32)).ok().filter(|count| *count >= 1 << 31);
    let Some(count) = unsigned else { return Err(Problem::at(line, format!("{printed} is no count"))) };
    notes.push(format!(
        "repaired: line {line}: the counter has overrun 2^31 and is printed as {printed}: read as {count}"
    ));
    Ok(count)
}
