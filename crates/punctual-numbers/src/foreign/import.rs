//! Turns the bytes of a file, fed in pieces, into a run. Formats of lines are read line by line as the bytes come; a
//! document is collected and read as a whole.

use super::lines::{LineReader, Lines};
use super::number::us;
use super::points::Pointed;
use super::samples::Samples;
use super::sniff::sniff;
use super::{
    ForeignRun, Format, ImportRemedy, Problem, Unit, boards, cyclictest, doubts, hdr, hgrm, hwlatdetect,
    jitterdebugger, jitterdebugger_raw, latmus, oslat, pairs, queuelat, rt_app, rt_tests, rteval, rtla, stress_ng,
    xenomai,
};
use punctual_hist::Nanos;

/// Largest size of a document. The largest known, of rteval on hundreds of CPUs, has some megabytes.
const DOCUMENT_MAX: usize = 64 << 20;

/// Facts that the user states because the file does not. `period` is the time between releases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportOptions {
    pub format: Option<Format>,
    pub unit: Option<Unit>,
    pub period: Option<Nanos>,
}

/// Imports a file whose bytes are fed in pieces of any size.
pub struct Import {
    format: Format,
    way: Way,
    period: Option<Nanos>,
}

enum Way {
    Lines(Lines, Box<dyn LineReader>),
    Document(Vec<u8>, fn(&[u8]) -> Result<ForeignRun, Problem>),
    Raw(Box<jitterdebugger_raw::Raw>),
}

impl Import {
    /// Chooses the format by the first bytes ([`SNIFFED`](super::SNIFFED) of them, or all if there are fewer). The
    /// caller must feed these bytes again afterwards.
    pub fn begin(first: &[u8], options: ImportOptions) -> Result<Self, Problem> {
        let format = match options.format {
            Some(format) => format,
            None => sniff(first)?,
        };
        says_its_unit(format, options.unit)?;
        let by_lines = |reader: Box<dyn LineReader>| Way::Lines(Lines::default(), reader);
        let document = |read: fn(&[u8]) -> Result<ForeignRun, Problem>| Way::Document(Vec::new(), read);
        let way = match format {
            Format::Punctual => return Err(Problem::new("a recording of punctual is no foreign file")),
            Format::Cyclictest => by_lines(Box::new(cyclictest::Reader::new(options.unit)?)),
            Format::Xenomai => by_lines(Box::new(Pointed::new(Box::<xenomai::Reader>::default()))),
            Format::Latmus => by_lines(Box::new(Pointed::new(Box::<latmus::Reader>::default()))),
            Format::Rtla => by_lines(Box::<rtla::Reader>::default()),
            Format::Oslat => by_lines(Box::<oslat::Reader>::default()),
            Format::Queuelat => by_lines(Box::<queuelat::Reader>::default()),
            Format::RtTestsPairs => by_lines(Box::<pairs::Reader>::default()),
            Format::Hgrm => by_lines(Box::new(hgrm::Reader::new(options.unit))),
            Format::Hwlatdetect => by_lines(Box::<hwlatdetect::Reader>::default()),
            Format::StressNg => by_lines(Box::new(Pointed::new(Box::<stress_ng::Reader>::default()))),
            Format::RtApp => by_lines(Box::<rt_app::Reader>::default()),
            Format::Hdr => by_lines(Box::new(hdr::Reader::new(options.unit))),
            Format::RtTestsJson => document(rt_tests::read),
            Format::Jitterdebugger => document(jitterdebugger::read),
            Format::Rteval => document(rteval::read),
            Format::Boards => document(boards::read),
            Format::JitterdebuggerRaw => Way::Raw(Box::new(jitterdebugger_raw::Raw::new(first, options.unit)?)),
            Format::Timestamps | Format::Periods | Format::Latencies => {
                by_lines(Box::new(Samples::new(format, first, options.unit, options.period)?))
            }
        };
        Ok(Self { format, way, period: options.period })
    }

    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        match &mut self.way {
            Way::Lines(lines, reader) => lines.feed(bytes, &mut |number, line| reader.raw_line(number, line)),
            Way::Raw(raw) => raw.feed(bytes),
            Way::Document(kept, _) => {
                if kept.len().saturating_add(bytes.len()) > DOCUMENT_MAX {
                    let what =
                        format!("the document is longer than {} MiB, which no result of a test is", DOCUMENT_MAX >> 20);
                    return Err(Problem::new(what));
                }
                kept.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Ends the import. The notes of the run give every reason to doubt it.
    pub fn finish(self) -> Result<ForeignRun, Problem> {
        let period = self.period;
        let mut run = ForeignRun { format: self.format, ..self.way.finish(self.format)? };
        for series in &mut run.series {
            match series.period {
                Some(said) => agree(run.format, said, period)?,
                None => series.period = period,
            }
        }
        doubts::weigh(&mut run);
        Ok(run)
    }
}

impl Way {
    fn finish(self, format: Format) -> Result<ForeignRun, Problem> {
        match self {
            Self::Lines(mut lines, mut reader) => {
                // Programs end their last line, so a last line without an end means that the file may have been cut
                // off.
                let is_open = lines.is_open();
                let end = lines.end(&mut |number, line| reader.raw_line(number, line));
                let mut run = match (reader.finish(), &end) {
                    (Ok(run), _) => run,
                    // If the format's reader has no result because the last line is cut off, the error about that line
                    // is returned.
                    (Err(_), Err(problem)) => return Err(problem.clone()),
                    (Err(problem), Ok(())) => return Err(problem),
                };
                if let Err(problem) = end {
                    run.notes.push(format!("doubted: the file was cut off: its last line has no end ({problem})"));
                    run.doubt();
                } else if is_open {
                    let line = lines.number();
                    run.notes.push(format!(
                        "doubted: the last line, {line}, has no end: the file may have been cut off within it"
                    ));
                    // The beginning of a list of values is still a fair sample. The beginning of a table or summary is
                    // not.
                    if !format.is_list() {
                        run.doubt();
                    }
                }
                run.notes.extend(lines.notes());
                Ok(run)
            }
            Self::Raw(raw) => raw.finish(),
            Self::Document(kept, read) => read(kept.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&kept)),
        }
    }
}

pub fn import(bytes: &[u8], options: ImportOptions) -> Result<ForeignRun, Problem> {
    let mut import = Import::begin(bytes, options)?;
    import.feed(bytes)?;
    import.finish()
}

/// Refuses a unit from the user if the file states its own, or if the format always counts in another unit.
fn says_its_unit(format: Format, told: Option<Unit>) -> Result<(), Problem> {
    let Some(told) = told else { return Ok(()) };
    let name = format.name();
    let said = match format {
        Format::Cyclictest | Format::Hdr | Format::Hgrm | Format::JitterdebuggerRaw => return Ok(()),
        _ if format.is_bare() => return Ok(()),
        Format::Punctual | Format::StressNg | Format::Queuelat => Unit::Ns,
        Format::RtTestsJson | Format::Jitterdebugger | Format::Rtla => {
            return Err(Problem::new(format!("a file of {name} says its unit itself")).with(ImportRemedy::LeaveUnitOut));
        }
        _ => Unit::Us,
    };
    if said == told {
        return Ok(());
    }
    Err(Problem::new(format!("a file of {name} is in {said}, not in {told}")).with(ImportRemedy::LeaveUnitOut))
}

/// Refuses a period from the user that contradicts the file's own. A period that was fitted to instants may differ by 1
/// %.
fn agree(format: Format, said: Nanos, told: Option<Nanos>) -> Result<(), Problem> {
    let Some(told) = told else { return Ok(()) };
    let off = said.max(told).minus(said.min(told));
    let slack = if format.is_bare() { told.divided_by(100) } else { Nanos::ZERO };
    if off <= slack {
        return Ok(());
    }
    let (said, told) = (us(said), us(told));
    Err(Problem::new(format!("the period is {said} by the file, not {told}")).with(ImportRemedy::LeavePeriodOut))
}
