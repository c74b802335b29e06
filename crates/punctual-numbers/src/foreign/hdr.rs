//! Reads a log of `HdrHistogram`, version 2: one packed histogram per interval, with or without a tag.
//!
//! The format does not state the unit of its numbers. Logs written by punctual state it in a comment; for others the
//! user must state it. Intervals with the same tag become one series. Counts are unpacked here and not by the crate
//! `hdrhistogram`, because that crate reserves as much memory as a header demands, and panics on impossible counts.

use super::lines::LineReader;
use super::number::{self, Unit};
use super::run::{Series, Stated};
use super::table::{TOO_LONG, ascending};
use super::{Cell, ForeignRun, ImportRemedy, MOST_COLUMNS, Problem};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::{Decompress, FlushDecompress, Status};
use punctual_hist::Nanos;
use std::collections::BTreeMap;

/// The comment that states the unit in logs that punctual itself wrote.
pub(crate) const IN_NANOSECONDS: &str = "values are nanoseconds";
/// The first four bytes of a packed histogram of version 2, before and after it is inflated.
const DEFLATED: u32 = 0x1c84_9314;
const PLAIN: u32 = 0x1c84_9313;
/// Number of bytes of the head, which the counts follow.
const HEAD: usize = 40;
/// Largest size of an inflated histogram: enough for one byte per cell of the largest histogram.
const PLAIN_MAX: usize = 8 << 20;
/// Limit of the cell index, above that of the largest possible histogram.
const MOST_INDICES: u64 = 1 << 23;
/// Largest number of non-empty cells that are kept: 48 MB.
const MOST_CELLS: usize = 1 << 20;

#[derive(Default)]
pub(super) struct Reader {
    unit: Option<Unit>,
    tags: BTreeMap<String, Tag>,
    kept: usize,
    started: Option<String>,
    from: Option<Nanos>,
    until: Nanos,
}

struct Tag {
    /// Index of the tag among all tags of the file, in order of first occurrence.
    place: usize,
    /// Counts by (smallest, largest) value.
    cells: BTreeMap<(u64, u64), u64>,
}

impl LineReader for Reader {
    fn line(&mut self, number: u64, line: &str) -> Result<(), Problem> {
        let line = line.trim();
        if let Some(comment) = line.strip_prefix('#') {
            return self.comment(number, comment);
        }
        // Lines in quotation marks name the columns.
        if line.is_empty() || line.starts_with('"') {
            return Ok(());
        }
        self.interval(number, line)
    }

    fn finish(&mut self) -> Result<ForeignRun, Problem> {
        if self.tags.is_empty() {
            return Err(Problem::new("no interval with a histogram is in it"));
        }
        let Some(unit) = self.unit else {
            let what = "an HdrHistogram log does not say in which unit its values are";
            return Err(Problem::new(what).with(ImportRemedy::SayUnit(number::UNITS)));
        };
        let mut tags: Vec<(String, Tag)> = std::mem::take(&mut self.tags).into_iter().collect();
        tags.sort_by_key(|(_, tag)| tag.place);
        let series: Result<Vec<Series>, Problem> =
            tags.into_iter().map(|(name, tag)| series(&name, tag, unit)).collect();
        let length = self.until.minus(self.from.unwrap_or_default());
        Ok(ForeignRun {
            started: self.started.take(),
            duration: (length > Nanos::ZERO).then_some(Stated { length, grain: Nanos::from_ms(1) }),
            series: series?,
            ..ForeignRun::default()
        })
    }
}

impl Reader {
    pub fn new(unit: Option<Unit>) -> Self {
        Self { unit, ..Self::default() }
    }

    fn comment(&mut self, line: u64, comment: &str) -> Result<(), Problem> {
        if comment.contains(IN_NANOSECONDS) {
            self.unit = number::own_unit(line, Unit::Ns, self.unit)?;
        } else if let Some(started) = comment.strip_prefix("[StartTime:") {
            self.started = Some(started.trim_end_matches(']').trim().to_owned());
        }
        Ok(())
    }

    /// Reads `Tag=NAME,start,length,largest,histogram`, of which the tag may be missing.
    fn interval(&mut self, line: u64, text: &str) -> Result<(), Problem> {
        let (name, rest) = match text.strip_prefix("Tag=") {
            Some(tagged) => tagged.split_once(',').unwrap_or((tagged, "")),
            None => ("", text),
        };
        let fields: Vec<&str> = rest.splitn(6, ',').map(str::trim).collect();
        let [start, length, _, packed] = fields.as_slice() else {
            let what = "an interval has a start, a length, its largest value and a histogram, with commas between them, \
                        and a point in decimals";
            return Err(Problem::at(line, what));
        };
        let seconds = |text: &str| number::length(text, Unit::S);
        let (Some(start), Some(length)) = (seconds(start), seconds(length)) else {
            return Err(Problem::at(line, "the interval has no start and length in seconds"));
        };
        self.from = Some(self.from.map_or(start, |from| from.min(start)));
        self.until = self.until.max(start.plus(length));
        let place = self.tags.len();
        if place >= MOST_COLUMNS && !self.tags.contains_key(name) {
            return Err(Problem::at(line, format!("more than {MOST_COLUMNS} tags, and no machine has as many CPUs")));
        }
        let tag = self.tags.entry(name.to_owned()).or_insert(Tag { place, cells: BTreeMap::new() });
        let cells = &mut tag.cells;
        let all = &mut self.kept;
        unpacked(packed, &mut |low, high, count| {
            let kept = cells.entry((low, high)).or_insert_with(|| {
                *all = all.saturating_add(1);
                0
            });
            *kept = kept.saturating_add(count);
            if *all > MOST_CELLS { Err("more than a million cells that hold something") } else { Ok(()) }
        })
        .map_err(|what| Problem::at(line, what))
    }
}

/// Makes the series of a tag. Tags written by punctual name a CPU, then the load or context if there are several, with
/// `_` for characters that a tag cannot hold.
fn series(name: &str, tag: Tag, unit: Unit) -> Result<Series, Problem> {
    let of_cpu = name.strip_prefix("CPU_").map(|rest| rest.split_once('_').unwrap_or((rest, "")));
    let of_cpu = of_cpu.and_then(|(digits, load)| Some((digits.parse::<u32>().ok()?, load)));
    let label = match of_cpu {
        Some((cpu, "")) => format!("CPU {cpu}"),
        Some((cpu, load)) => format!("CPU {cpu} {load}"),
        None if name.is_empty() => "no tag".to_owned(),
        None => name.to_owned(),
    };
    let cpu = of_cpu.map(|(cpu, _)| cpu);
    let context = of_cpu.map(|(_, load)| load.to_owned()).filter(|load| !load.is_empty());
    let cell = |((low, high), count): ((u64, u64), u64)| {
        let low = low.checked_mul(unit.ns())?;
        let high = high.checked_add(1)?.checked_mul(unit.ns())?.checked_sub(1)?;
        Some(Cell { low: Nanos::from_ns(low), high: Nanos::from_ns(high), count }).filter(|cell| cell.high < TOO_LONG)
    };
    let cells: Option<Vec<Cell>> = tag.cells.into_iter().map(cell).collect();
    let cells =
        cells.ok_or_else(|| Problem::new(format!("{label}: no latency is as long as its largest value says")))?;
    let cells = ascending(cells, &label)?;
    Ok(Series { label, cpu, context, cells, ..Series::default() })
}

/// A function that is called with each non-empty cell: (smallest value, largest value, count).
type Take<'a> = dyn FnMut(u64, u64, u64) -> Result<(), &'static str> + 'a;

/// Unpacks a histogram and hands each non-empty cell to `cell`, until `cell` refuses one.
fn unpacked(packed: &str, cell: &mut Take<'_>) -> Result<(), &'static str> {
    let cut = "the histogram is cut off or damaged";
    let bytes = STANDARD.decode(packed).map_err(|_| "the histogram is not in Base64: cut off or damaged")?;
    match word(&bytes, 0) {
        Some(DEFLATED) => {}
        Some(other) if other >> 8 == DEFLATED >> 8 => {
            return Err(
                "the histogram is of an older version than 2, or not deflated: write it with HdrHistogram 2.1.5 \
                        or later",
            );
        }
        _ => return Err("what stands for the histogram is none of HdrHistogram"),
    }
    let plain = inflated(bytes.get(8..).ok_or(cut)?)?;
    if word(&plain, 0) != Some(PLAIN) {
        return Err("what is packed is no histogram of version 2");
    }
    let layout = Layout::of(&plain).ok_or(cut)??;
    let length = word(&plain, 4).and_then(|length| usize::try_from(length).ok()).ok_or(cut)?;
    let counts = plain.get(HEAD..).and_then(|rest| rest.get(..length)).ok_or(cut)?;
    let mut index = 0u64;
    let mut rest = counts;
    while !rest.is_empty() {
        let (count, after) = signed(rest).ok_or(cut)?;
        rest = after;
        match u64::try_from(count) {
            // A negative number counts empty cells.
            Err(_) => index = index.saturating_add(count.unsigned_abs()),
            Ok(count) => {
                if count > 0 {
                    let (low, high) = layout.edges(index).ok_or("the histogram has values beyond 64 bits")?;
                    cell(low, high, count)?;
                }
                index = index.saturating_add(1);
            }
        }
        if index > MOST_INDICES {
            return Err(cut);
        }
    }
    Ok(())
}

/// Inflates the bytes; refuses more than `PLAIN_MAX`.
fn inflated(bytes: &[u8]) -> Result<Vec<u8>, &'static str> {
    let cut = "the histogram is cut off or damaged";
    let mut inflate = Decompress::new(true);
    let mut plain = Vec::with_capacity(1 << 14);
    loop {
        let rest = usize::try_from(inflate.total_in()).ok().and_then(|read| bytes.get(read..)).ok_or(cut)?;
        match inflate.decompress_vec(rest, &mut plain, FlushDecompress::None) {
            Ok(Status::StreamEnd) => return Ok(plain),
            Err(_) => return Err(cut),
            // The output buffer has room left, so the input has ended too early.
            Ok(_) if plain.len() < plain.capacity() => return Err(cut),
            Ok(_) if plain.len() >= PLAIN_MAX => return Err("the histogram is larger than any of HdrHistogram"),
            Ok(_) => plain.reserve(plain.len()),
        }
    }
}

/// Layout of a histogram, from which the range of values of each cell is computed.
struct Layout {
    /// Base-2 logarithm of the width of the narrowest cells.
    unit: u32,
    /// Base-2 logarithm of the number of cells of one width.
    half: u32,
}

impl Layout {
    /// Reads the layout from the head of an inflated histogram; `None` if the head is cut off.
    fn of(plain: &[u8]) -> Option<Result<Self, &'static str>> {
        let (offset, digits) = (word(plain, 8)?, word(plain, 12)?);
        let (lowest, ratio) = (long(plain, 16)?, f64::from_bits(long(plain, 32)?));
        if offset != 0 || ratio.to_bits() != 1f64.to_bits() {
            return Some(Err(
                "the histogram is shifted or scaled, as those of floating point are: only whole values are \
                             understood",
            ));
        }
        if digits > 5 || lowest == 0 {
            return Some(Err("the histogram has a precision that none of HdrHistogram has"));
        }
        // At least this many of the smallest values have a cell of their own.
        let single = 2 * 10u64.pow(digits);
        Some(Ok(Self { unit: lowest.ilog2(), half: single.next_power_of_two().ilog2().saturating_sub(1) }))
    }

    /// The smallest and the largest value of the cell with this number.
    fn edges(&self, index: u64) -> Option<(u64, u64)> {
        let half = 1u64.checked_shl(self.half)?;
        // Cells are grouped by `half`. Those of the first two groups have the same width, and in each later group the
        // width doubles.
        let octave = (index >> self.half).saturating_sub(1);
        let within = index.checked_sub(octave.checked_mul(half)?)?;
        let shift = u32::try_from(octave).ok()?.checked_add(self.unit)?;
        if shift >= u64::BITS || within.leading_zeros() < shift {
            return None;
        }
        let low = within << shift;
        Some((low, low.checked_add((1u64 << shift) - 1)?))
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|four| u32::from_be_bytes(*four))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|eight| u64::from_be_bytes(*eight))
}

/// Reads a number of one to nine bytes and returns it with the rest. A byte has seven bits of the number, the ninth has
/// eight, and the lowest bit of the number is its sign.
fn signed(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let mut value = 0u64;
    for (at, byte) in bytes.iter().take(9).enumerate() {
        let shift = 7 * u32::try_from(at).ok()?;
        let last = at == 8 || byte & 0x80 == 0;
        let bits = if at == 8 { *byte } else { byte & 0x7f };
        value |= u64::from(bits) << shift;
        if last {
            let sign = if value & 1 == 1 { -1 } else { 0 };
            let half = i64::try_from(value >> 1).ok()?;
            return Some((half ^ sign, bytes.get(at.saturating_add(1)..)?));
        }
    }
    None
}
