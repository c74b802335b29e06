//! How many interrupts came to each CPU: `/proc/interrupts`, and the same table read again a moment later.

use super::Missing::TellsNothing;
use super::{Case, Doubt, INTERRUPTS};

/// The path of the table when it is read again, at least 30 ms after the first reading. The reader of the live machine
/// supplies it.
pub(crate) const INTERRUPTS_LATER: &str = "punctual:/later/proc/interrupts";

/// The counts of one row of a table of interrupts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InterruptCounts {
    /// The number of the line, or the letters of an interrupt that a CPU raises itself (`LOC`).
    pub name: String,
    /// The count of each CPU, in the order of the CPUs.
    pub counts: Vec<CpuCount>,
    /// The text after the counts: the interrupt controller, the controller's own number for the line, and the device.
    pub about: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuCount {
    pub cpu: u32,
    pub count: u64,
}

impl InterruptCounts {
    /// The CPUs whose counts are higher than in an earlier reading, each with the difference.
    pub(crate) fn rise(&self, earlier: &Self) -> Vec<CpuCount> {
        let rise = |one: &CpuCount| {
            let at = earlier.counts.binary_search_by_key(&one.cpu, |old| old.cpu).ok()?;
            Some(CpuCount { count: one.count.saturating_sub(earlier.counts[at].count), ..*one })
        };
        self.counts.iter().filter_map(rise).collect()
    }
}

/// Parses a table of interrupts, and returns the rows for which `wanted` holds, given the row's name and the text after
/// the name.
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
        let mut words = rest.split_whitespace();
        let count = |cpu: &u32| Some(CpuCount { cpu: *cpu, count: words.next()?.parse().ok()? });
        let counts: Option<Vec<CpuCount>> = cpus.iter().map(count).collect();
        let counts = counts.filter(|counts| !counts.is_empty())?;
        Some(InterruptCounts { name: name.trim().to_owned(), counts, about: words.collect::<Vec<_>>().join(" ") })
    };
    lines.filter_map(row).collect()
}

/// The device interrupts of `/proc/interrupts` that Linux handles. Interrupts that a CPU raises itself (timers, calls,
/// counters) are left out: they have a name instead of a number, or a number in the private range of an ARM controller.
/// What a second kernel takes for itself is left out, too.
pub(crate) fn device_lines(table: &str) -> Vec<InterruptCounts> {
    let mut lines = numbered(table);
    lines.retain(|line| !is_private(&words(line)) && !is_out_of_band(&words(line)));
    lines
}

/// The numbers of the interrupts in `/proc/interrupts` that a second kernel handles or makes up, so that Linux has no say
/// in where they go and in what context they are handled.
pub(crate) fn out_of_band_lines(table: &str) -> Vec<String> {
    numbered(table).into_iter().filter(|line| is_out_of_band(&words(line))).map(|line| line.name).collect()
}

fn numbered(table: &str) -> Vec<InterruptCounts> {
    rows(table, |name, _| name.bytes().all(|b| b.is_ascii_digit()))
}

fn words(line: &InterruptCounts) -> Vec<&str> {
    line.about.split(' ').collect()
}

/// Whether a row is about an interrupt of the stage above Linux (Dovetail): one that is flagged `oob`, or one of the
/// controllers that exist in software only, for the proxy of the tick and for calls between the stages and CPUs.
fn is_out_of_band(device: &[&str]) -> bool {
    match device {
        ["SIRQC" | "SIPIC", ..] => true,
        [_, _, flag, _, ..] if *flag == "oob" || flag.starts_with("oob-") => true,
        [_, _, "Level" | "Edge", "oob", _, ..] => true,
        _ => false,
    }
}

/// Whether a row is about an interrupt that each CPU raises for itself: GIC numbers 0 to 31, and 1056 to 1119 of the
/// extended range, and the interrupts of the RISC-V core itself.
fn is_private(device: &[&str]) -> bool {
    match device {
        [chip, number, ..] if chip.starts_with("GIC") => {
            number.parse::<u32>().is_ok_and(|number| number < 32 || (1056..1120).contains(&number))
        }
        [chip, core, ..] => *chip == "RISC-V" && *core == "INTC",
        _ => false,
    }
}

impl Case<'_> {
    /// The rows in both readings for which `wanted` holds, each with the rise of the real-time CPUs' counts between the
    /// two readings.
    pub(crate) fn rises(&self, wanted: impl Fn(&str, &str) -> bool) -> Result<Vec<InterruptCounts>, Doubt> {
        let look = |path: &str| {
            let missing = TellsNothing("/proc/interrupts was not read twice");
            self.content(path, missing).map(|table| rows(&table, &wanted))
        };
        let (before, after) = (look(INTERRUPTS)?, look(INTERRUPTS_LATER)?);
        let rise = |row: &InterruptCounts| {
            let mut counts = row.rise(before.iter().find(|earlier| earlier.name == row.name)?);
            counts.retain(|one| self.rt().contains(one.cpu));
            Some(InterruptCounts { counts, ..row.clone() })
        };
        let rises: Vec<InterruptCounts> =
            after.iter().filter_map(rise).filter(|row: &InterruptCounts| !row.counts.is_empty()).collect();
        Doubt::unknown_if(
            rises.is_empty(),
            "/proc/interrupts has no row for the interrupts that this knob counts, or no counts for the real-time CPUs",
        )?;
        Ok(rises)
    }
}

#[cfg(test)]
mod tests {
    use super::{CpuCount, InterruptCounts, device_lines, rows};

    #[test]
    fn reads_the_tables_of_both_architectures() {
        let x86 = "           CPU0       CPU2       \n 24:  1  0  IO-APIC  5-edge  ACPI:Ged\nLOC:  5  6   Local timer \
            interrupts\nERR:  0\n";
        let row = |name: &str, a, b, about: &str| InterruptCounts {
            name: name.to_owned(),
            counts: vec![CpuCount { cpu: 0, count: a }, CpuCount { cpu: 2, count: b }],
            about: about.to_owned(),
        };
        let local = || row("LOC", 5, 6, "Local timer interrupts");
        assert_eq!(rows(x86, |name, _| name == "LOC"), [local()]);
        assert_eq!(rows(x86, |_, _| true), [row("24", 1, 0, "IO-APIC 5-edge ACPI:Ged"), local()]);
        let arm = "       CPU0   CPU2\n 11:   7   8   GICv3  27 Level     arch_timer\nIPI0:  1   2   Rescheduling \
            interrupts\n";
        assert_eq!(
            rows(arm, |_, rest| rest.trim_end().ends_with("arch_timer")),
            [row("11", 7, 8, "GICv3 27 Level arch_timer")]
        );
        assert_eq!(rows(arm, |name, _| name.starts_with("IPI")), [row("IPI0", 1, 2, "Rescheduling interrupts")]);
        assert!(rows("", |_, _| true).is_empty() && rows("LOC: 5\n", |_, _| true).is_empty());
    }

    #[test]
    fn what_a_cpu_does_to_itself_is_no_device() {
        let table = "           CPU0       CPU2       \n  1:          9          0   IO-APIC   1-edge      i8042\n 11:    4294967295   7     GICv3  27 Level     arch_timer\n 12:  1 2  GICv3 146 Level  eth0\n 13: 5\nLOC:    5104281    4858935   Local timer interrupts\nERR:          0\n";
        let found: Vec<_> = device_lines(table).into_iter().map(|line| (line.name, line.about)).collect();
        let expected = [("1", "IO-APIC 1-edge i8042"), ("12", "GICv3 146 Level eth0")];
        assert_eq!(found, expected.map(|(name, about)| (name.to_owned(), about.to_owned())));
        assert!(device_lines("").is_empty() && device_lines("nothing here\n").is_empty());
    }

    #[test]
    fn what_a_second_kernel_handles_is_no_device_of_linux() {
        let table = "      CPU0  CPU1\n  1:  9  0   IO-APIC    1    -edge      i8042\n 24:  0  7   PCI-MSI 524288 oob-edge      rtcan0\n \
            30:  5  6     SIRQC    0      in-band work\n 31:  5  6     SIRQC    1      proxy tick\n 40:  5  6     SIPIC    3 oob  \
            Out-of-band LAPIC timer interrupt\n 50:  1  2     GICv3 146 Level     oob  rteth\n 51:  1  2     GICv3 147 \
            Level          oob\n";
        let names = |lines: Vec<InterruptCounts>| lines.into_iter().map(|line| line.name).collect::<Vec<_>>();
        assert_eq!(names(device_lines(table)), ["1", "51"], "a device may be called oob");
        assert_eq!(super::out_of_band_lines(table), ["24", "30", "31", "40", "50"]);
    }
}
