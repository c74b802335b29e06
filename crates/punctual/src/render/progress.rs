//! Progress of a measurement on standard error: on a terminal one line that is overwritten, in a log a line every ten
//! seconds.

use super::clean::shortened;
use super::units;
use punctual_hist::Nanos;
use punctual_linux::measure::{CpuProgress, Progress};
use std::cell::{Cell, RefCell};
use std::io::{self, IsTerminal, Write};

/// Time between two lines of a log, in seconds.
const BETWEEN_LINES: u64 = 10;
/// Columns that stay free at the end of the line, because a terminal echoes `^C` there. A line that wraps could not be
/// erased.
const FREE: usize = 5;
/// Columns of the bar, which is left out on a terminal with fewer columns than `NARROW`.
const BAR: usize = 12;
const NARROW: usize = 60;
/// Moves the cursor to the beginning of the line and erases the line.
const ERASE: &str = "\r\x1b[K";

/// Progress on standard error: an overwritten line, or lines of a log, or nothing.
pub struct ProgressLine {
    /// The line that the terminal shows; `None` if standard error is not a terminal or cannot overwrite a line.
    drawn: Option<RefCell<String>>,
    /// When the next line of a log is due, in seconds of the run; `None` without a log.
    next_line: Cell<Option<u64>>,
}

impl ProgressLine {
    /// Shows nothing unless `wanted`. Otherwise progress is an overwritten line if standard error is a terminal that
    /// allows it, and a log if not.
    pub fn new(wanted: bool) -> Self {
        let is_terminal = io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self {
            drawn: (wanted && is_terminal).then(RefCell::default),
            next_line: Cell::new((wanted && !is_terminal).then_some(BETWEEN_LINES)),
        }
    }

    pub fn show(&self, progress: &Progress) {
        if self.drawn.is_some() {
            self.overwrite(line(progress, columns()));
        } else if let Some(line) = due(&self.next_line, progress) {
            super::say(&line);
        }
    }

    /// Shows this line in place of the one before, on a terminal.
    pub fn draw(&self, line: &str) {
        self.overwrite(shortened(line, columns().saturating_sub(FREE)));
    }

    /// Adds this line to a log. A terminal shows the overwritten line instead.
    pub fn log(&self, line: &str) {
        if self.next_line.get().is_some() {
            super::say(line);
        }
    }

    fn overwrite(&self, line: String) {
        if let Some(drawn) = self.drawn.as_ref().filter(|drawn| *drawn.borrow() != line) {
            write(&format!("{ERASE}{line}"));
            drawn.replace(line);
        }
    }

    /// Prints a message at once. The progress line is drawn again below it.
    pub fn say(&self, text: &str) {
        self.clear();
        super::say(text);
    }

    pub fn clear(&self) {
        if self.drawn.as_ref().is_some_and(|drawn| !drawn.take().is_empty()) {
            write(ERASE);
        }
    }
}

/// Width of the terminal at standard error.
fn columns() -> usize {
    rustix::termios::tcgetwinsize(io::stderr()).map_or(80, |size| usize::from(size.ws_col))
}

fn write(text: &str) {
    let mut err = io::stderr().lock();
    // If standard error is closed, the failure cannot be reported anywhere.
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// The progress line for this width: a bar, and the first parts of the message, as many as fit whole.
fn line(progress: &Progress, columns: usize) -> String {
    let total = progress.total.as_ns().max(1);
    let filled = progress.elapsed.as_ns().min(total) / total.div_ceil(BAR as u64);
    let done = usize::try_from(filled).unwrap_or(BAR);
    let bar = if columns < NARROW { String::new() } else { format!("[{:BAR$}] ", "=".repeat(done)) };
    let room = columns.saturating_sub(FREE);
    let mut line = bar;
    for (at, part) in parts(progress).iter().enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        if line.chars().count() + comma.len() + part.chars().count() > room {
            break;
        }
        line.push_str(comma);
        line.push_str(part);
    }
    line
}

/// The next line of a log; `None` if it is not due yet.
fn due(next_line: &Cell<Option<u64>>, progress: &Progress) -> Option<String> {
    let elapsed = progress.elapsed.whole(Nanos::from_secs(1));
    let due = next_line.get().filter(|due| elapsed >= *due)?;
    next_line.set(Some(due.max(elapsed) + BETWEEN_LINES));
    Some(format!("punctual: {elapsed} s: {}", parts(progress).join(", ")))
}

/// The load phase, the time that is left to measure, and the largest latency so far: `idle 1/4`, `18 s to measure`,
/// `max so far 61.2 us (CPU 2)`. Starting and ending loads takes time beside the measuring.
fn parts(progress: &Progress) -> Vec<String> {
    let phase = format!(
        "{} {}/{}",
        super::words::short_phase_name(&progress.phase),
        progress.phase_number.number,
        progress.phase_number.of
    );
    let left = progress.total.as_ns().saturating_sub(progress.elapsed.as_ns()).div_ceil(1_000_000_000);
    let left =
        if left == 0 { "ending".to_owned() } else { format!("{} to measure", units::duration(Nanos::from_secs(left))) };
    let largest = progress.cpus.iter().filter_map(|CpuProgress { cpu, max, .. }| Some(((*max)?, *cpu))).max();
    let largest = largest.map(|(max, cpu)| format!("max so far {} (CPU {cpu})", units::latency(max)));
    let skipped = (progress.skipped > 0).then(|| format!("{} skipped", units::count(progress.skipped)));
    let parts = [Some(phase), Some(left), largest, skipped];
    parts.into_iter().flatten().map(|part| part.replace(units::THIN, " ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_hist::MonoTime;
    use punctual_linux::measure::PhaseNumber;

    fn progress(elapsed: Nanos) -> Progress {
        Progress {
            at: MonoTime::default(),
            elapsed,
            total: Nanos::from_secs(30),
            phase: "cpu+net".to_owned(),
            is_idle: false,
            phase_number: PhaseNumber { number: 2, of: 4 },
            warming_up: false,
            cpus: [(0, Some(Nanos::from_us(48))), (1, None)]
                .map(|(cpu, max)| CpuProgress { cpu, activations: 12_000, max, over_budget: 0 })
                .to_vec(),
            skipped: 3,
            latencies: Vec::new(),
        }
    }

    #[test]
    fn the_line_names_the_load_the_time_left_and_the_largest_latency() {
        let parts = parts(&progress(Nanos::from_ms(11_400)));
        assert_eq!(parts, ["cpu+net 2/4", "19 s to measure", "max so far 48 us (CPU 0)", "3 skipped"]);
    }

    #[test]
    fn the_line_leaves_room_for_what_a_terminal_writes_itself() {
        let progress = progress(Nanos::from_ms(11_400));
        let wide = "[====        ] cpu+net 2/4, 19 s to measure, max so far 48 us (CPU 0), 3 skipped";
        assert_eq!(line(&progress, 120), wide);
        assert_eq!(line(&progress, 80), wide[..wide.len() - ", 3 skipped".len()]);
        assert_eq!(line(&progress, 40), "cpu+net 2/4, 19 s to measure");
        assert_eq!(line(&progress, 20), "cpu+net 2/4");
        assert_eq!(line(&progress, 0), "");
    }

    #[test]
    fn a_log_gets_a_line_every_ten_seconds_and_none_that_nobody_wants() {
        let next = Cell::new(Some(BETWEEN_LINES));
        let lines: Vec<u64> =
            (0..30_u64).filter(|second| due(&next, &progress(Nanos::from_secs(*second))).is_some()).collect();
        assert_eq!(lines, [10, 20]);
        assert_eq!(due(&Cell::new(None), &progress(Nanos::from_secs(20))), None);
    }
}
