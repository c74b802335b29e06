//! Reads the tables of counters that the kernel keeps for each CPU: interrupts, softirqs, time stolen, time waited.
//!
//! The tables are read ten times a second during a measurement, so they are read by bytes: only the columns of wanted
//! CPUs are converted to numbers, and the name of a row is stored once. A row that is cut off or not understood is left
//! out, never taken for zero. This module must not know where the texts come from.

use punctual_facts::cpu_set::CpuSet;

/// Labels of rows with a single count for the whole machine, which are skipped.
const OF_NO_CPU: [&[u8]; 3] = [b"ERR", b"MIS", b"Err"];
/// Largest number of rows, to bound memory; the largest machines have some thousands of interrupts.
const MOST_ROWS: usize = 16_384;

/// A table with a heading of CPUs and one row per counter, such as `/proc/interrupts` or `/proc/softirqs`. The rows are
/// remembered, so that each row of the next reading is compared with the expected one instead of being searched.
#[derive(Clone, Debug)]
pub struct CountTable {
    wanted: CpuSet,
    heading: Vec<u8>,
    /// Index of the column and CPU number of each wanted CPU, in the order of the columns.
    columns: Vec<(usize, u32)>,
    width: usize,
    rows: Vec<CountRow>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountRow {
    label: Vec<u8>,
    text: Vec<u8>,
}

impl CountRow {
    /// The text before the colon: the number of an interrupt line, or letters such as `LOC`.
    pub fn label(&self) -> String {
        String::from_utf8_lossy(&self.label).into_owned()
    }

    pub fn meaning(&self) -> String {
        meaning(&String::from_utf8_lossy(&self.text)).to_owned()
    }

    pub fn is_device(&self) -> bool {
        self.label.iter().all(u8::is_ascii_digit)
    }
}

impl CountTable {
    pub fn new(wanted: &CpuSet) -> Self {
        Self { wanted: wanted.clone(), heading: Vec::new(), columns: Vec::new(), width: 0, rows: Vec::new() }
    }

    /// The rows seen so far. A row keeps its index.
    pub fn rows(&self) -> &[CountRow] {
        &self.rows
    }

    /// Calls `tell` with each count of a wanted CPU: (index into [`Self::rows`], CPU, count).
    pub fn read(&mut self, text: &[u8], mut tell: impl FnMut(usize, u32, u64)) {
        let mut rows = lines(text);
        let heading = rows.next().unwrap_or_default();
        if heading != self.heading.as_slice() {
            self.take_heading(heading);
        }
        let mut expected = 0;
        let mut counts = Vec::with_capacity(self.columns.len());
        for row in rows {
            let Some((label, numbers)) = labelled(row) else { continue };
            let Some(text) = self.counts(numbers, &mut counts) else { continue };
            if OF_NO_CPU.contains(&label) {
                continue;
            }
            let Some(place) = self.place(expected, label, text) else { continue };
            expected = place + 1;
            for ((_, cpu), count) in self.columns.iter().zip(&counts) {
                tell(place, *cpu, *count);
            }
        }
    }

    fn take_heading(&mut self, heading: &[u8]) {
        self.heading = heading.to_vec();
        let cpu = |word: &[u8]| number(word.strip_prefix(b"CPU")?).and_then(|cpu| u32::try_from(cpu).ok());
        let cpus: Vec<Option<u32>> = words(heading).map(cpu).collect();
        self.width = cpus.len();
        let wanted = |(column, cpu): (usize, &Option<u32>)| {
            cpu.filter(|cpu| self.wanted.contains(*cpu)).map(|cpu| (column, cpu))
        };
        self.columns = cpus.iter().enumerate().filter_map(wanted).collect();
    }

    /// Collects the counts of wanted CPUs and returns the text behind the last count; `None` if a count is missing.
    fn counts<'a>(&self, mut numbers: &'a [u8], counts: &mut Vec<u64>) -> Option<&'a [u8]> {
        counts.clear();
        let mut wanted = self.columns.iter().map(|(column, _)| *column).peekable();
        for column in 0..self.width {
            let (word, rest) = word(numbers);
            numbers = rest;
            if wanted.next_if_eq(&column).is_some() {
                counts.push(number(word)?);
            } else if !word.first()?.is_ascii_digit() {
                return None;
            }
        }
        (self.width > 0).then_some(numbers)
    }

    /// The index of this row, which is most likely `expected`. A new row is added; `None` if there is no room for it.
    fn place(&mut self, expected: usize, label: &[u8], text: &[u8]) -> Option<usize> {
        let is_it = |row: &CountRow| row.label == label && row.text == text;
        if self.rows.get(expected).is_some_and(is_it) {
            return Some(expected);
        }
        if let Some(place) = self.rows.iter().position(is_it) {
            return Some(place);
        }
        if self.rows.len() == MOST_ROWS {
            return None;
        }
        self.rows.push(CountRow { label: label.to_vec(), text: text.to_vec() });
        Some(self.rows.len() - 1)
    }
}

/// Names the interrupt of a row, from the text after its counts: the handlers if it belongs to a device, else all of
/// the text.
///
/// The text is `IO-APIC   4-edge      ttyS0` on one architecture, `GIC-0  27 Level     arch_timer` on others.
pub fn meaning(text: &str) -> &str {
    let mut rest = text.trim();
    let whole = rest;
    while let Some((word, after)) = split_word(rest) {
        let (is_first, after) = (rest.len() == whole.len(), after.trim_start());
        rest = after;
        if is_first {
            continue;
        }
        if matches!(word, "Level" | "Edge") {
            // Some kernels print the name of the flow handler, which begins with `-`, before the handlers.
            return split_word(after)
                .filter(|(word, _)| word.starts_with('-'))
                .map_or(after, |(_, after)| after.trim_start());
        }
        let is_flow = word.split_once('-').is_some_and(|(line, flow)| {
            !line.is_empty()
                && line.bytes().all(|b| b.is_ascii_digit())
                && flow.starts_with(|c: char| c.is_ascii_lowercase())
        });
        if is_flow {
            return after;
        }
    }
    whole
}

fn split_word(text: &str) -> Option<(&str, &str)> {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// Calls `tell` with the `nth` number (from 0) of the `cpuN` line of each wanted CPU. Number 7 is the time stolen, in
/// ticks, in `/proc/stat`, and the time waited, in ns, in `/proc/schedstat`.
pub fn lines_of_cpus(text: &[u8], nth: usize, wanted: &CpuSet, mut tell: impl FnMut(u32, u64)) {
    for row in lines(text) {
        // The line `intr` of `/proc/stat` is very long, and no `cpuN` lines follow it.
        if row.starts_with(b"intr") {
            return;
        }
        let Some(row) = row.strip_prefix(b"cpu") else { continue };
        // The first line is the sum of all CPUs: its name has no number.
        let name = row.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        let cpu = number(name).and_then(|cpu| u32::try_from(cpu).ok()).filter(|cpu| wanted.contains(*cpu));
        let value = |_| words(row).nth(nth + 1).and_then(number);
        if let Some((cpu, value)) = cpu.zip(cpu.and_then(value)) {
            tell(cpu, value);
        }
    }
}

/// Some of the fields of `/proc/PID/stat`. Minor faults are served from memory, major faults from disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskStat {
    pub minor_faults: u64,
    pub major_faults: u64,
    /// The CPU that the task last ran on.
    pub cpu: u64,
}

impl TaskStat {
    pub fn parse(text: &[u8]) -> Option<Self> {
        // The name of the task, in parentheses, may contain any character, also `)`. Field 3 follows the last `)`.
        let end = text.iter().rposition(|b| *b == b')')?;
        let mut fields = words(text.get(end + 1..)?).map(number);
        let minor_faults = fields.nth(7)??;
        let major_faults = fields.nth(1)??;
        let cpu = fields.nth(26)??;
        Some(Self { minor_faults, major_faults, cpu })
    }
}

/// The number after `name` in a file of `name value` lines. If the file has a colon after the name, `name` includes it.
pub fn named(text: &[u8], name: &[u8]) -> Option<u64> {
    let (_, value) = lines(text).map(word).find(|(first, _)| *first == name)?;
    number(word(value).0)
}

pub fn first(text: &[u8]) -> Option<u64> {
    number(word(text).0)
}

pub fn nth(text: &[u8], n: usize) -> Option<u64> {
    words(text).nth(n).and_then(number)
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n')
}

fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_start();
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    text.split_at(end)
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// The text before the first colon, without blanks, and the text after it.
fn labelled(row: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = row.iter().position(|b| *b == b':')?;
    let (label, rest) = row.split_at(colon);
    let label = label.trim_ascii();
    (!label.is_empty()).then(|| (label, rest.get(1..).unwrap_or_default()))
}

fn number(word: &[u8]) -> Option<u64> {
    let digit =
        |sum: u64, b: &u8| b.is_ascii_digit().then(|| sum.checked_mul(10)?.checked_add(u64::from(b - b'0'))).flatten();
    (!word.is_empty()).then(|| word.iter().try_fold(0, digit)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cpus(list: &str) -> CpuSet {
        CpuSet::parse_list(list).unwrap()
    }

    /// Reads `text` and returns the label, meaning, CPU and count of each row as text.
    fn told(table: &mut CountTable, text: &str) -> Vec<String> {
        let mut told = Vec::new();
        table.read(text.as_bytes(), |row, cpu, count| told.push((row, cpu, count)));
        let name = |row: usize| format!("{} {}", table.rows()[row].label(), table.rows()[row].meaning());
        told.into_iter().map(|(row, cpu, count)| format!("{} {cpu} {count}", name(row))).collect()
    }

    const X86: &str = "           CPU0       CPU2       CPU3\n 24:  1  0  9  IO-APIC  5-edge      ACPI:Ged\n \
        36:  0 5430020  7 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0, other\nLOC:  5  6  8 Local timer \
        interrupts\nERR:  0\nVPMI: 0 1 2  Perf Guest Mediated PMI\n";

    #[test]
    fn only_wanted_columns_are_told() {
        let mut table = CountTable::new(&cpus("2-3,9"));
        let expected = [
            "24 ACPI:Ged 2 0",
            "24 ACPI:Ged 3 9",
            "36 virtio1-req.0, other 2 5430020",
            "36 virtio1-req.0, other 3 7",
            "LOC Local timer interrupts 2 6",
            "LOC Local timer interrupts 3 8",
            "VPMI Perf Guest Mediated PMI 2 1",
            "VPMI Perf Guest Mediated PMI 3 2",
        ];
        assert_eq!(told(&mut table, X86), expected);
        assert_eq!(told(&mut table, X86), expected, "the same again");
        assert!(table.rows()[0].is_device() && !table.rows()[2].is_device());
    }

    #[test]
    fn a_row_keeps_its_place_and_a_line_that_another_device_gets_is_another_row() {
        let mut table = CountTable::new(&cpus("0"));
        told(&mut table, " CPU0\n 1: 5 c 1-edge a\n 2: 6 c 2-edge b\n 3: 7 c 3-edge d\n");
        let later = told(&mut table, " CPU0\n 1: 5 c 1-edge a\n 2: 1 c 2-edge z\n 3: 9 c 3-edge d\n");
        assert_eq!(later, ["1 a 0 5", "2 z 0 1", "3 d 0 9"]);
        assert_eq!(table.rows().len(), 4);
        assert_eq!(table.rows()[2].meaning(), "d");
    }

    #[test]
    fn cpus_may_come_and_go() {
        let mut table = CountTable::new(&cpus("1"));
        assert_eq!(told(&mut table, " CPU0 CPU1\nLOC: 1 2 t\n"), ["LOC t 1 2"]);
        assert_eq!(told(&mut table, " CPU0\nLOC: 3 t\n"), Vec::<String>::new());
        assert_eq!(told(&mut table, " CPU0 CPU1\nLOC: 4 5 t\n"), ["LOC t 1 5"]);
        assert_eq!(table.rows().len(), 1);
    }

    #[test]
    fn rows_cut_off_and_rows_of_no_cpu_are_left_out() {
        let mut table = CountTable::new(&cpus("0"));
        assert_eq!(told(&mut table, " CPU0\nERR: 4\nMIS: 5\nLOC: 1 t\nRES:\nCAL"), ["LOC t 0 1"]);
        let mut other = CountTable::new(&cpus("0"));
        assert_eq!(told(&mut other, " CPU0 CPU1\nLOC: 1 2 t\nRES: 1 "), ["LOC t 0 1"]);
        assert_eq!(told(&mut CountTable::new(&cpus("0")), "LOC: 1 2 t\nRES: 1 2"), Vec::<String>::new());
    }

    #[test]
    fn what_an_interrupt_is() {
        for (text, name) in [
            (" IO-APIC   4-edge      ttyS0", "ttyS0"),
            ("IO-APIC    9-fasteoi   acpi", "acpi"),
            ("PCI-MSIX-0000:00:01.0   0-edge      virtio0-config", "virtio0-config"),
            ("IR-PCI-MSI 1048576-edge      nvme0q0, nvme0q1", "nvme0q0, nvme0q1"),
            ("GIC-0  27 Level     arch_timer", "arch_timer"),
            ("MSI 16385 Edge      virtio0-req.0", "virtio0-req.0"),
            ("GICv3  23 Level -fasteoi  arm-pmu", "arm-pmu"),
            ("GICv3  23 Level     ", ""),
            ("  Local timer interrupts", "Local timer interrupts"),
            ("  Level", "Level"),
            ("None  4  ", "None  4"),
            ("", ""),
        ] {
            assert_eq!(meaning(text), name, "{text}");
        }
    }

    #[test]
    fn numbers_of_cpus() {
        let stat = b"cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 1 1 1 1 1 1 77 0 0\ncpu12 1 1 1 1 1 1 1 78 0 0\nintr 5 5\ncpu3 1 1 1 1 1 1 1 1\n";
        let mut seen = Vec::new();
        lines_of_cpus(stat, 7, &cpus("0,3,12"), |cpu, ticks| seen.push((cpu, ticks)));
        assert_eq!(seen, [(0, 77), (12, 78)], "nothing after the interrupts, and not the sum");
        let schedstat = b"version 17\ntimestamp 4\ncpu0 0 0 0 0 0 0 111 222 3\ndomain0 MC 3 1 1\ncpu1 0 0\n";
        seen.clear();
        lines_of_cpus(schedstat, 7, &cpus("0-3"), |cpu, ns| seen.push((cpu, ns)));
        assert_eq!(seen, [(0, 222)], "a line that is cut off says nothing");
    }

    #[test]
    fn a_task_of_any_name() {
        let stat = format!("7 (a) b (c) S 1 2 3 4 5 6 11 0 13 {}3 0 0 0", "9 ".repeat(26));
        let expected = TaskStat { minor_faults: 11, major_faults: 13, cpu: 3 };
        assert_eq!(TaskStat::parse(stat.as_bytes()), Some(expected));
        assert_eq!(TaskStat::parse(b"7 (a) S 1 2"), None);
        let status = b"Name:\tx\nvoluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t2\n";
        assert_eq!(named(status, b"nonvoluntary_ctxt_switches:"), Some(2));
        assert_eq!(named(status, b"ctxt_switches:"), None);
        assert_eq!((first(b"12\n"), first(b"x"), first(b""), nth(b"1 2 3\n", 1)), (Some(12), None, None, Some(2)));
    }

    proptest! {
        #[test]
        fn nothing_in_a_table_makes_reading_it_panic(texts in prop::collection::vec(".{0,200}", 1..4), noise: Vec<u8>) {
            let mut table = CountTable::new(&cpus("0-3"));
            for text in &texts {
                table.read(text.as_bytes(), |_, _, _| ());
            }
            table.read(&noise, |_, _, _| ());
            lines_of_cpus(&noise, 7, &cpus("0-3"), |_, _| ());
            let _ = (TaskStat::parse(&noise), named(&noise, b"x:"), first(&noise), nth(&noise, 3));
        }

        #[test]
        fn a_table_cut_anywhere_tells_no_more_than_the_whole(cut in 0..X86.len()) {
            let whole = told(&mut CountTable::new(&cpus("0-3")), X86);
            let part = told(&mut CountTable::new(&cpus("0-3")), &X86[..cut]);
            prop_assert!(part.len() <= whole.len());
        }
    }
}
