//! The line that shows how far a measurement is, on standard error and only on a terminal.

use super::units;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use punctual_linux::measure::{CpuProgress, Progress};

/// A progress line, or nothing where nobody looks.
pub struct ProgressLine(ProgressBar);

impl ProgressLine {
    /// A line that is drawn if `wanted` and standard error is a terminal.
    pub fn new(wanted: bool) -> Self {
        let target = if wanted { ProgressDrawTarget::stderr_with_hz(4) } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(1), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        Self(bar)
    }

    /// Draws it anew.
    pub fn show(&self, progress: &Progress) {
        if self.0.is_hidden() {
            return;
        }
        self.0.set_length(progress.total.as_ns());
        self.0.set_position(progress.elapsed.as_ns());
        self.0.set_message(message(progress));
    }

    /// Says something that must not wait for the end, above the line or, where there is none, on standard error.
    pub fn say(&self, text: &str) {
        if self.0.is_hidden() {
            super::say(text);
        } else {
            self.0.suspend(|| super::say(text));
        }
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}

/// Elapsed and total, the load, and per CPU the largest latency so far.
fn message(progress: &Progress) -> String {
    let largest = |CpuProgress { cpu, max, .. }: &CpuProgress| match max {
        Some(max) => format!("cpu{cpu} {}", units::latency(*max)),
        None => format!("cpu{cpu} -"),
    };
    let shown: Vec<String> = progress.cpus.iter().take(4).map(largest).collect();
    let more = progress.cpus.len().saturating_sub(shown.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let skipped =
        if progress.skipped > 0 { format!(", {} skipped", units::count(progress.skipped)) } else { String::new() };
    let line = format!(
        "{} of {}, {}: largest {}{more}{skipped}",
        units::duration(progress.elapsed),
        units::duration(progress.total),
        progress.phase,
        shown.join(", "),
    );
    line.replace(units::THIN, " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_hist::{MonoTime, Nanos};
    use punctual_linux::measure::PhaseNumber;

    #[test]
    fn the_line_names_the_load_and_the_largest_latency() {
        let progress = Progress {
            at: MonoTime::default(),
            elapsed: Nanos::from_secs(12),
            total: Nanos::from_secs(30),
            phase: "cpu+net".to_owned(),
            phase_number: PhaseNumber { number: 1, of: 1 },
            warming_up: false,
            cpus: [(0, Some(Nanos::from_us(48))), (1, None)]
                .map(|(cpu, max)| CpuProgress { cpu, activations: 12_000, max })
                .to_vec(),
            skipped: 3,
            latencies: Vec::new(),
        };
        assert_eq!(message(&progress), "12 s of 30 s, cpu+net: largest cpu0 48 us, cpu1 -, 3 skipped");
    }
}
