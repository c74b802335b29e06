//! Measures one reading of all counters, which housekeeping does ten times a second: on this machine, and for 64 CPUs
//! with 400 interrupt lines (from plain files, so without the kernel's time for producing the text). Run with `cargo
//! bench -p punctual-linux --bench witness`.

#![allow(clippy::expect_used, reason = "a benchmark that cannot go on says why")]

use punctual_facts::cpu_set::CpuSet;
use punctual_linux::trace::MeasuredThread;
use punctual_linux::trace::around::Witness;
use punctual_rt::now;
use std::fmt::Write as _;
use std::fs;

const CPUS: u32 = 64;
const LINES: u32 = 400;

#[allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn main() {
    let online = fs::read_to_string("/sys/devices/system/cpu/online").expect("the CPUs of this machine");
    let cpus = CpuSet::parse_list(online.trim()).expect("a list");
    let threads: Vec<_> = cpus.iter().map(|cpu| MeasuredThread { cpu, tid: std::process::id() }).collect();
    let mut witness = Witness::new(&cpus, &threads);
    for blind in witness.missing() {
        println!("missing: {blind:?}");
    }
    println!("this machine, CPUs {cpus}: {}", costs(&mut witness, || ()));
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path().join("proc");
    fs::create_dir(&folder).expect("a folder");
    let mut step = 0;
    let mut next = || {
        step += 1;
        fs::write(folder.join("interrupts"), table(step)).expect("a file");
    };
    next();
    let mut witness = Witness::below(root.path(), &(0..CPUS).collect(), &[]);
    println!("{CPUS} CPUs, {LINES} lines that all count: {}", costs(&mut witness, next));
}

/// The text of `/proc/interrupts` in the worst case: every interrupt line counts on every CPU.
fn table(step: u32) -> String {
    let mut text = (0..CPUS).fold(" ".to_owned(), |text, cpu| text + &format!("  CPU{cpu}"));
    text.push('\n');
    for line in 0..LINES {
        write!(text, "{line:>4}:").expect("memory");
        for cpu in 0..CPUS {
            write!(text, " {:>10}", line * cpu * 1_000 + step).expect("memory");
        }
        writeln!(text, "  PCI-MSIX-0000:00:02.0 {line:>4}-edge      nvme0q{line}").expect("memory");
    }
    text
}

fn costs(witness: &mut Witness, mut before: impl FnMut()) -> String {
    let mut costs = Vec::new();
    for _ in 0..100 {
        before();
        let from = now();
        witness.sample(from);
        costs.push(now().since(from).as_ns() / 1_000);
    }
    let (from, middle) = (now(), costs.len() / 2);
    witness.sample(now());
    let around = witness.around(0, from, from).map_or(0, |around| around.changes.len());
    costs.sort_unstable();
    format!("median {} us, largest {} us for a sample ({around} changes)", costs[middle], costs[costs.len() - 1])
}
