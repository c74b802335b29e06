//! How often something interrupted a CPU: the table in `/proc/interrupts`, and what became of it a moment later.

use super::Missing::TellsNothing;
use super::{Case, Doubt, INTERRUPTS};

/// The table read again, at least 30 ms after; whoever reads the live machine puts it there.
pub(crate) const INTERRUPTS_LATER: &str = "punctual:/later/proc/interrupts";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InterruptCounts {
    /// The number of a line, or the letters of an interrupt that belongs to the CPU itself.
    pub name: String,
    pub counts: Vec<(u32, u64)>,
}

/// The rows that `wanted` picks by their name and by the text after the name.
fn rows(table: &str, wanted: impl Fn(&str, &str) -> bool) -> Vec<InterruptCounts> {
    let mut lines = table.lines();
    let cpus: Vec<u32> = lines
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|cpu| cpu.strip_prefix("CPU")?.parse().ok())
        .collect();
    let row = |line: &str| {
        let (name, rest) = line.split_once(':')?;
        if !wanted(name.trim(), rest) {
            return None;
        }
        let counts: Vec<u64> = rest.split_whitespace().take(cpus.len()).map_while(|count| count.parse().ok()).collect();
        let is_whole = !cpus.is_empty() && counts.len() == cpus.len();
        is_whole.then(|| InterruptCounts {
            name: name.trim().to_owned(),
            counts: cpus.iter().copied().zip(counts).collect(),
        })
    };
    lines.filter_map(row).collect()
}

impl Case<'_> {
    /// By how much each row's counts of the real-time CPUs rose between the two readings, for rows that are in both.
    pub(crate) fn rises(&self, wanted: impl Fn(&str, &str) -> bool) -> Result<Vec<InterruptCounts>, Doubt> {
        let look = |path: &str| {
            let missing = TellsNothing("interrupts were not counted twice");
            self.content(path, missing).map(|table| rows(&table, &wanted))
        };
        let (before, after) = (look(INTERRUPTS)?, look(INTERRUPTS_LATER)?);
        let rise = |row: &InterruptCounts| {
            let earlier = before.iter().find(|earlier| earlier.name == row.name)?;
            let count = |cpu: u32| earlier.counts.iter().find(|(number, _)| *number == cpu).map(|(_, count)| *count);
            let ours = row.counts.iter().filter(|(cpu, _)| self.rt().contains(*cpu));
            let counts = ours.filter_map(|(cpu, now)| Some((*cpu, now.saturating_sub(count(*cpu)?)))).collect();
            Some(InterruptCounts { name: row.name.clone(), counts })
        };
        let rises: Vec<InterruptCounts> =
            after.iter().filter_map(rise).filter(|row: &InterruptCounts| !row.counts.is_empty()).collect();
        Doubt::unknown_if(rises.is_empty(), "the table of interrupts does not show these CPUs")?;
        Ok(rises)
    }
}

#[cfg(test)]
mod tests {
    use super::{InterruptCounts, rows};

    #[test]
    fn reads_the_tables_of_both_architectures() {
        let x86 = "           CPU0       CPU2       \n 24:  1  0  IO-APIC  5-edge  ACPI:Ged\nLOC:  5  6   Local timer \
            interrupts\nERR:  0\n";
        let row = |name: &str, a, b| InterruptCounts { name: name.to_owned(), counts: vec![(0, a), (2, b)] };
        assert_eq!(rows(x86, |name, _| name == "LOC"), [row("LOC", 5, 6)]);
        assert_eq!(rows(x86, |_, _| true), [row("24", 1, 0), row("LOC", 5, 6)]);
        let arm = "       CPU0   CPU2\n 11:   7   8   GICv3  27 Level     arch_timer\nIPI0:  1   2   Rescheduling \
            interrupts\n";
        assert_eq!(rows(arm, |_, rest| rest.trim_end().ends_with("arch_timer")), [row("11", 7, 8)]);
        assert_eq!(rows(arm, |name, _| name.starts_with("IPI")), [row("IPI0", 1, 2)]);
        assert!(rows("", |_, _| true).is_empty() && rows("LOC: 5\n", |_, _| true).is_empty());
    }
}
