//! Tuning under bad conditions: a supervisor that is killed, a confirmation that is missing, two programs at once, a
//! full disk, missing rights.

use super::super::{Claim, Judged, Lab, Scenario, Verdict};
use super::seen::Seen;
use super::{Bench, judge};

use crate::kernel::Kernel;
use crate::wire::Output;
use anyhow::Result;

/// The scenario runs on one kernel, because the program and not the kernel determines the results.
pub const DAYS: Scenario = Scenario { name: "days", claims: CLAIMS, wants: |spec| spec.id == "13-rt-amd64", run };

const CLAIMS: &[Claim] = &[
    Claim {
        id: "days.guard",
        says: "a `tune --for COMMAND` that is killed by SIGKILL is put back by its guard within a minute, unasked",
    },
    Claim {
        id: "days.deadline",
        says: "after `tune --confirm-within 3s` everything goes back by itself; what `status --confirm` kept stays",
    },
    Claim {
        id: "days.two",
        says: "of two `tune` at once the second is refused and names the process of the first, which goes on",
    },
    Claim { id: "days.read_only", says: "with /var read-only `tune` ends with 1 and a remedy, and nothing is changed" },
    Claim {
        id: "days.loader",
        says: "with the boot loader's file read-only `tune` ends with 3 and a remedy, and what it did is reverted",
    },
    Claim {
        id: "days.user",
        says: "an ordinary user gets a plan; applying it ends with 1, says that it takes root, and changes nothing",
    },
];

/// A test under one bad condition: runs in a guest, and returns complaints.
type Day = fn(&mut Bench<'_>, &Seen) -> Result<Vec<String>>;

const DAYS_IN_TURN: [(&str, Day); 6] = [
    ("days.guard", guard),
    ("days.deadline", deadline),
    ("days.two", two),
    ("days.read_only", read_only),
    ("days.loader", loader),
    ("days.user", user),
];
const TUNE: &str = "punctual tune --cpus 2-3 --yes";
/// Prints one value that tuning changes, as a sign of whether the machine is tuned.
const MASK: &str = "cat /sys/devices/virtual/workqueue/cpumask";
/// Waits at most a minute until the product's files are gone.
const UNTIL_GONE: &str = "for i in $(seq 300); do [ -e /var/lib/punctual ] || break; sleep 0.2; done";

fn run(lab: &Lab, kernel: &Kernel) -> Result<Judged> {
    let mut bench = Bench::boot(lab, kernel, "days")?;
    let before = bench.seen("before")?;
    let mut judged = Judged::new();
    for (claim, day) in DAYS_IN_TURN {
        let mut complaints = day(&mut bench, &before)?;
        complaints.extend(bench.seen(&format!("after-{claim}"))?.differences(&before));
        judged.push((claim, Verdict::of(&complaints)));
        // Reverts, so that the next test starts with an untuned machine.
        bench.must("punctual revert")?;
    }
    Ok(judged)
}

/// A complaint with the output of a command, unless the condition holds.
fn wanted(is_there: bool, what: &str, output: &Output) -> Vec<String> {
    let said = || format!("{what}: '{}' '{}'", output.out.trim(), output.err.trim());
    (!is_there).then(said).into_iter().collect()
}

fn guard(bench: &mut Bench<'_>, _: &Seen) -> Result<Vec<String>> {
    let start = format!("{TUNE} --for sleep 601 >/run/lab/for 2>&1 & pid=$!");
    let ready = "for i in $(seq 500); do grep -qs '^Transaction' /run/lab/for && break; sleep 0.2; done";
    let output = bench.output(
        "guard",
        &format!("{start}; {ready}; {MASK}; kill -9 $pid; {UNTIL_GONE}; {MASK}; kill $(pidof sleep)"),
    )?;
    Ok(wanted(output.out == "3\nf\n", "the mask was to be 3 and then f", &output))
}

fn deadline(bench: &mut Bench<'_>, before: &Seen) -> Result<Vec<String>> {
    let output = bench.output("deadline", &format!("{TUNE} --confirm-within 3s; code=$?; {UNTIL_GONE}; exit $code"))?;
    let mut complaints = judge::ended(&output, &[0]);
    complaints.extend(wanted(output.out.contains("will be put back unless"), "the deadline was not told", &output));
    complaints.extend(bench.seen("after-deadline")?.differences(before));
    let kept =
        format!("{TUNE} --confirm-within 20s >/dev/null && punctual status --confirm | head -n 3; sleep 21; {MASK}");
    let output = bench.output("confirmed", &kept)?;
    complaints.extend(wanted(output.out.ends_with("\n3\n"), "what was confirmed did not stay", &output));
    complaints.extend(judge::ended(&bench.output("reverted", "punctual revert")?, &[0]));
    Ok(complaints)
}

fn two(bench: &mut Bench<'_>, _: &Seen) -> Result<Vec<String>> {
    let start = format!("{TUNE} >/run/lab/first 2>&1 & pid=$!");
    let stop = "while ! [ -e /var/lib/punctual/journal ]; do :; done; kill -STOP $pid; echo $pid";
    let output = bench.output(
        "two",
        &format!("{start}; {stop}; {TUNE} >/dev/null; echo $?; kill -CONT $pid; wait $pid; echo $?; {MASK}"),
    )?;
    let mut complaints = two_at_once(&output);
    complaints.extend(judge::ended(&bench.output("reverted", "punctual revert")?, &[0]));
    Ok(complaints)
}

/// Checks four lines: process id of the first program, exit code of the second, exit code of the first, and the mask.
fn two_at_once(output: &Output) -> Vec<String> {
    let lines: Vec<&str> = output.out.lines().collect();
    let [first, codes @ ..] = lines.as_slice() else { return vec!["nothing was said".to_owned()] };
    let is_named = output.err.contains(&format!("process {first} is changing this machine"));
    wanted(codes == ["1", "0", "3"] && is_named, "the second was to be refused, the first to go on", output)
}

fn read_only(bench: &mut Bench<'_>, _: &Seen) -> Result<Vec<String>> {
    bench.must("mount --bind /var /var && mount -o remount,bind,ro /var")?;
    let output = bench.output("read-only", TUNE);
    bench.must("umount /var")?;
    let output = output?;
    let mut complaints = judge::ended(&output, &[1]);
    complaints.extend(wanted(output.err.contains("make /var writable"), "no remedy", &output));
    Ok(complaints)
}

fn loader(bench: &mut Bench<'_>, _: &Seen) -> Result<Vec<String>> {
    bench.must("mount --bind /boot /boot && mount -o remount,bind,ro /boot")?;
    let output = bench.output("loader", TUNE);
    let reverted = bench.output("reverted", "punctual revert");
    bench.must("umount /boot")?;
    let output = output?;
    let mut complaints = judge::ended(&output, &[3]);
    complaints.extend(judge::ended(&reverted?, &[0]));
    let told = output.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_told = told.contains("extlinux.conf: change: Read-only file system") && told.contains("make it writable");
    complaints.extend(wanted(is_told, "no remedy", &output));
    Ok(complaints)
}

fn user(bench: &mut Bench<'_>, _: &Seen) -> Result<Vec<String>> {
    let output = bench.output("user-plan", "su nobody -c 'punctual tune --cpus 2-3 --dry-run --json'")?;
    let mut complaints = judge::ended(&output, &[0]);
    complaints.extend(wanted(output.out.contains("\"wq.unbound\""), "no plan", &output));
    let output = bench.output("user", "su nobody -c 'punctual tune --cpus 2-3 --yes' 2>&1 >/dev/null")?;
    complaints.extend(judge::ended(&output, &[1]));
    complaints.extend(wanted(output.out.contains("needs root"), "not told that it needs root", &output));
    Ok(complaints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_at_once_is_one_refused_and_one_done() {
        let said =
            |out: &str, err: &str| Output { code: 0, out: out.to_owned(), err: err.to_owned(), ..Output::default() };
        let refused = "process 12 is changing this machine right now";
        assert!(two_at_once(&said("12\n1\n0\n3\n", refused)).is_empty());
        for (out, err) in
            [("12\n1\n0\n3\n", "process 13 is changing this machine"), ("12\n0\n0\n3\n", refused), ("", "")]
        {
            assert_eq!(two_at_once(&said(out, err)).len(), 1, "{out}");
        }
    }

    #[test]
    fn each_claim_has_its_day() {
        assert!(DAYS_IN_TURN.iter().map(|(claim, _)| *claim).eq(CLAIMS.iter().map(|claim| claim.id)));
    }
}
