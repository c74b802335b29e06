//! How far a measurement is, on standard error: a line that is drawn over on a terminal, a line every ten seconds where
//! the output is kept.

use super::units;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use punctual_hist::Nanos;
use punctual_linux::measure::{CpuProgress, Progress};
use std::cell::Cell;
use std::io::{self, IsTerminal};

/// Time between two lines where nothing can be drawn over, in seconds.
const BETWEEN_LINES: u64 = 10;

/// A progress line, or nothing where nobody looks.
pub struct ProgressLine {
    bar: ProgressBar,
    /// When the next line of a log is due, in seconds of the run; `None` where there is no log.
    next_line: Cell<Option<u64>>,
}

impl ProgressLine {
    /// A line that is drawn if `wanted` and standard error is a terminal, and is logged if it is none.
    pub fn new(wanted: bool) -> Self {
        let is_terminal = io::stderr().is_terminal();
        let target =
            if wanted && is_terminal { ProgressDrawTarget::stderr_with_hz(4) } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(1), target);
        if let Ok(style) = ProgressStyle::with_template("[{bar:20}] {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { bar, next_line: Cell::new((wanted && !is_terminal).then_some(BETWEEN_LINES)) }
    }

    pub fn show(&self, progress: &Progress) {
        if !self.bar.is_hidden() {
            self.bar.set_length(progress.total.as_ns());
            self.bar.set_position(progress.elapsed.as_ns());
            self.bar.set_message(fitting(&message(progress)));
        } else if let Some(line) = due(&self.next_line, progress) {
            super::say(&line);
        }
    }

    /// Says something that must not wait for the end, above the line or, where there is none, on standard error.
    pub fn say(&self, text: &str) {
        if self.bar.is_hidden() {
            super::say(text);
        } else {
            self.bar.suspend(|| super::say(text));
        }
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// Columns of a line beside its message: the bar, and what a terminal writes for Ctrl-C.
const BESIDE: usize = 28;

/// The message as far as the terminal has room: a line that wraps could not be taken away.
fn fitting(message: &str) -> String {
    let columns = rustix::termios::tcgetwinsize(io::stderr()).map_or(80, |size| usize::from(size.ws_col)).max(40);
    message.chars().take(columns.saturating_sub(BESIDE)).collect()
}

/// The line for a log, where one is due by now.
fn due(next_line: &Cell<Option<u64>>, progress: &Progress) -> Option<String> {
    let elapsed = progress.elapsed.whole(Nanos::from_secs(1));
    let due = next_line.get().filter(|due| elapsed >= *due)?;
    next_line.set(Some(due.max(elapsed) + BETWEEN_LINES));
    Some(format!("punctual: {elapsed} s: {}", message(progress)))
}

/// The load phase, the time left, and the largest latency so far: `idle 1/4, 18 s left, max so far 61.2 us (CPU 2)`.
fn message(progress: &Progress) -> String {
    let phase = format!(
        "{} {}/{}",
        super::words::short_phase_name(&progress.phase),
        progress.phase_number.number,
        progress.phase_number.of
    );
    let left = progress.total.as_ns().saturating_sub(progress.elapsed.as_ns()).div_ceil(1_000_000_000);
    let left =
        if left == 0 { "ending".to_owned() } else { format!("{} left", units::duration(Nanos::from_secs(left))) };
    let largest = progress.cpus.iter().filter_map(|CpuProgress { cpu, max, .. }| Some(((*max)?, *cpu))).max();
    let largest = largest.map(|(max, cpu)| format!("max so far {} (CPU {cpu})", units::latency(max)));
    let skipped = (progress.skipped > 0).then(|| format!("{} missed", units::count(progress.skipped)));
    let parts = [Some(phase), Some(left), largest, skipped];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ").replace(units::THIN, " ")
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
                .map(|(cpu, max)| CpuProgress { cpu, activations: 12_000, max })
                .to_vec(),
            skipped: 3,
            latencies: Vec::new(),
        }
    }

    #[test]
    fn the_line_names_the_load_the_time_left_and_the_largest_latency() {
        let line = message(&progress(Nanos::from_ms(11_400)));
        assert_eq!(line, "cpu+net 2/4, 19 s left, max so far 48 us (CPU 0), 3 missed");
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
