//! Reads the tables of interrupts that were captured on real machines.

use punctual_facts::tree::{MemTree, Tree as _};
use punctual_numbers::trace::tables::CountTable;

#[test]
fn every_captured_table_of_interrupts_is_read_to_its_last_row() {
    let mut names = std::collections::BTreeSet::new();
    for path in fixtures::files("machines", "machine") {
        let tree = MemTree::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let read = tree.read("/proc/interrupts");
        let Some(text) = read.known() else { continue };
        let heading = text.split(|b| *b == b'\n').next().unwrap_or_default();
        let cpus = String::from_utf8_lossy(heading).split_whitespace().count();
        let mut table = CountTable::new(&(0..64).collect());
        let mut told = 0;
        table.read(text, |_, _, _| told += 1);
        let of_a_cpu =
            |line: &str| line.contains(':') && !["ERR:", "MIS:", "Err:"].iter().any(|name| line.contains(name));
        let rows = String::from_utf8_lossy(text).lines().skip(1).filter(|line| of_a_cpu(line)).count();
        assert_eq!((table.rows().len(), told), (rows, rows * cpus), "{}", path.display());
        names.extend(table.rows().iter().map(|row| format!("{}: {}", row.label(), row.meaning())));
    }
    for name in
        ["LOC: Local timer interrupts", "11: arch_timer", "22: virtio0-req.1", "IPI5: IRQ work interrupts", "1: i8042"]
    {
        assert!(names.contains(name), "{name} is not among {names:?}");
    }
}
