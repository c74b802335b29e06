//! A loop follows the clock of a PTP device with the servo of `punctual-rt`, and `punctual measure` puts releases on it.
//!
//! No emulated network card of QEMU 7.2 has a PTP clock that advances, and Debian's kernels have no simulated one, so a
//! module of the lab is the device. Reading, adjusting and stepping it go through the kernel's own PTP code. Time counts
//! instructions, so that two runs are equal to the byte.

use super::causes::module;
use super::{Claim, Judged, Lab, Scenario, Verdict, skip};
use crate::kernel::Kernel;
use crate::product;
use anyhow::{Context, Result, bail};
use punctual_lab::inside::Job;
use punctual_lab::qemu::Clock;
use punctual_lab::run::{Order, PROGRAM, Subject};
use punctual_lab::wire::Output;
use serde_json::Value;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub const PTP: Scenario =
    Scenario { name: "ptp", claims: CLAIMS, wants: |spec| ["12-rt-amd64", "13-amd64"].contains(&spec.id), run };

const CLAIMS: &[Claim] = &[
    Claim {
        id: "ptp.follows",
        says: "a loop of 1 ms with the servo at 1 Hz finds the phase of a PTP device that is 300 us ahead and runs 20 ppm fast: it is \
               within 5 us after 5 s, and until the end of 10 s",
    },
    Claim { id: "ptp.frequency", says: "likewise after clock_adjtime makes the device 50 ppm faster" },
    Claim { id: "ptp.step", says: "likewise after clock_adjtime sets the device forward by 300 us" },
    Claim { id: "ptp.free", says: "without steering the same loop is more than 100 us away after 3 s, at 70 ppm" },
    Claim { id: "ptp.same", says: "two runs print the same table, to the byte" },
    Claim {
        id: "ptp.measure",
        says: "`measure --clock /dev/ptp0` accounts for every release, and its median latency is between half and three times that \
               on CLOCK_MONOTONIC",
    },
];

/// How fast and how far ahead the device is; the claims say the same.
const WORDS: [&str; 2] = ["lab_ptp.ppb=20000", "lab_ptp.ahead_ns=300000"];
const FOLLOW: &str = "/usr/bin/causes";

fn run(lab: &Lab, kernel: &Kernel) -> Result<Judged> {
    let program = lab.product(kernel.spec.arch)?.filter(|product| product.libraries.is_empty());
    let follow = product::build_package(&lab.root, kernel.spec.arch, "causes")?;
    let (Some(program), Some(follow)) = (program, follow) else {
        return Ok(skip(CLAIMS, "guests of `lab` run a static program, which this toolchain cannot build"));
    };
    let subject = Subject {
        name: kernel.spec.id.to_owned(),
        arch: kernel.spec.arch,
        image: kernel.image.clone(),
        words: WORDS.map(str::to_owned).to_vec(),
        modules: vec![module(lab, kernel, "lab_ptp.ko")?],
    };
    let luggage = [(FOLLOW.to_owned(), follow.program)];
    let once = |name: &str| -> Result<Vec<Output>> {
        let log = lab.folder(name, kernel)?.join("console.log");
        let order = Order {
            program: &program.program,
            luggage: &luggage,
            jobs: vec![
                job(&[FOLLOW, "follow"]),
                measured("monotonic", "/run/monotonic.punctual"),
                measured("/dev/ptp0", "/run/ptp.punctual"),
            ],
            clock: Clock::Virtual { seed: 1 },
            memory_mib: 1024,
            limit: Duration::from_secs(1800),
            log: &log,
        };
        match punctual_lab::run::run(&subject, &order, &AtomicBool::new(false))? {
            Ok(answers) => Ok(answers),
            Err(failure) => bail!("the guest of {name}: {failure:?}"),
        }
    };
    let [first, second] = [once("ptp")?, once("ptp-again")?];
    let [table, monotonic, device] = first.as_slice() else { bail!("{} answers instead of 3", first.len()) };
    let again = second.first().context("no answers of the second run")?;
    lab.keep("ptp", kernel, "table.txt", &table.out)?;
    lab.keep("ptp", kernel, "monotonic.json", &monotonic.out)?;
    lab.keep("ptp", kernel, "ptp.json", &device.out)?;
    let broken =
        |output: &Output| (output.code != 0).then(|| format!("exit code {}: {}", output.code, output.err.trim()));
    let of_legs = |name: &str, free: bool| {
        let complaints = broken(table).map_or_else(|| leg(&table.out, name, free), |why| vec![why]);
        Verdict::of(&complaints)
    };
    let differs = if table.out == again.out { Vec::new() } else { vec![format!("{}\nand\n{}", table.out, again.out)] };
    Ok(vec![
        ("ptp.follows", of_legs("begin", false)),
        ("ptp.frequency", of_legs("frequency", false)),
        ("ptp.step", of_legs("step", false)),
        ("ptp.free", of_legs("free", true)),
        ("ptp.same", Verdict::of(&differs)),
        ("ptp.measure", Verdict::of(&releases(&monotonic.out, &device.out))),
    ])
}

fn job(words: &[&str]) -> Job {
    Job { words: words.iter().map(|word| (*word).to_owned()).collect(), files: Vec::new(), beside: Vec::new() }
}

/// A measurement with releases on this clock; `monotonic` is what `measure` takes without `--clock`.
fn measured(clock: &str, out: &str) -> Job {
    let words =
        [PROGRAM, "measure", "--json", "--cpus", "0", "--period", "1ms", "--duration", "3s", "--warm-up", "100ms"];
    let clock: &[&str] = if clock == "monotonic" { &[] } else { &["--clock", clock] };
    job(&[&words[..], clock, &["--out", out]].concat())
}

/// Complaints about a leg of the table: `leg cycles begins_ns settles_ms worst_ns mean_ns learned_ppb locked`.
fn leg(table: &str, name: &str, free: bool) -> Vec<String> {
    const BOUND_NS: i64 = 5_000;
    const SETTLES_MS: i64 = 5_000;
    const AWAY_NS: i64 = 100_000;
    let line = table.lines().find(|line| line.split_whitespace().next() == Some(name));
    let numbers: Vec<i64> = line
        .map(|line| line.split_whitespace().skip(1).take(6).filter_map(|word| word.parse().ok()).collect())
        .unwrap_or_default();
    let [cycles, begins, settles, worst, ..] = numbers.as_slice() else {
        return vec![format!("no leg {name} in '{table}'")];
    };
    let is_good = if free {
        *worst > AWAY_NS
    } else {
        // Each leg begins where the clock was changed; only a change of its speed leaves the phase as it was.
        let is_disturbed = name == "frequency" || begins.abs() > 10 * BOUND_NS;
        let is_locked = line.is_some_and(|line| line.ends_with(" true"));
        is_disturbed && is_locked && *settles <= SETTLES_MS && *worst <= BOUND_NS && *cycles >= 9_900
    };
    if is_good { Vec::new() } else { vec![line.unwrap_or_default().to_owned()] }
}

/// Complaints about two documents of `measure`, of releases on `CLOCK_MONOTONIC` and on the device.
fn releases(monotonic: &str, device: &str) -> Vec<String> {
    const LEAST: u64 = 2_800;
    let number =
        |text: &str, path: &str| -> Option<u64> { serde_json::from_str::<Value>(text).ok()?.pointer(path)?.as_u64() };
    let mut found = Vec::new();
    for (name, text) in [("monotonic", monotonic), ("/dev/ptp0", device)] {
        let [due, ran, skipped] = ["/cpus/0/due", "/cpus/0/ran", "/cpus/0/skipped"].map(|path| number(text, path));
        if due.is_none_or(|due| due < LEAST) || due != ran.zip(skipped).map(|(ran, skipped)| ran + skipped) {
            found.push(format!("{name}: {due:?} due, {ran:?} ran, {skipped:?} skipped"));
        }
    }
    let median = |text: &str| number(text, "/cpus/0/latency_ns/p50");
    match (median(monotonic), median(device)) {
        (Some(one), Some(other)) if one > 0 && other * 2 >= one && other <= one * 3 => {}
        (one, other) => found.push(format!("medians of {one:?} ns on CLOCK_MONOTONIC and {other:?} ns on the device")),
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "leg cycles begins_ns settles_ms worst_ns mean_ns learned_ppb locked\n\
                         begin 10000 299120 900 1200 -3 20001 true\n\
                         frequency 9998 40 700 1300 5 70002 true\n\
                         step 10000 300040 800 1100 0 70000 true\n\
                         free 3000 60 3000 210000 140000 70000 true\n";

    #[test]
    fn legs_that_end_within_the_bound_are_good() {
        for name in ["begin", "frequency", "step"] {
            assert_eq!(leg(TABLE, name, false), Vec::<String>::new(), "{name}");
        }
        assert_eq!(leg(TABLE, "free", true), Vec::<String>::new());
    }

    #[test]
    fn what_does_not_follow_is_told() {
        let changed = |from: &str, to: &str| leg(&TABLE.replace(from, to), "begin", false).len();
        assert_eq!(changed("900 1200", "900 6000"), 1);
        assert_eq!(changed("900 1200", "5500 1200"), 1);
        assert_eq!(changed("20001 true", "20001 false"), 1);
        // A device that begins in phase tries nothing.
        assert_eq!(changed("299120", "120"), 1);
        assert_eq!(changed("begin 10000", "begin 800"), 1);
        assert_eq!(leg(TABLE, "step", true).len(), 1);
        assert_eq!(leg(&TABLE.replace("210000", "21000"), "free", true).len(), 1);
        assert!(leg("", "begin", false)[0].contains("no leg"));
    }

    #[test]
    fn releases_on_the_device_are_held_against_those_on_the_local_clock() {
        let document = |due: u64, p50: u64| {
            serde_json::json!({ "cpus": [{ "due": due, "ran": 2990, "skipped": 10, "latency_ns": { "p50": p50 } }] })
                .to_string()
        };
        let good = document(3000, 20_000);
        assert_eq!(releases(&good, &document(3000, 30_000)), Vec::<String>::new());
        assert_eq!(releases(&good, &document(3001, 30_000)).len(), 1);
        assert_eq!(releases(&good, &document(3000, 61_000)).len(), 1);
        assert_eq!(releases(&good, &document(3000, 9_000)).len(), 1);
        assert_eq!(releases("", &good).len(), 2);
    }
}
