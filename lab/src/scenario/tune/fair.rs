//! Tests the share of CPU time that is reserved for ordinary tasks. Kernels since 6.12 show it in debugfs.

use super::super::{Claim, Judged, Lab, Scenario, Verdict};
use super::{Bench, judge};
use crate::kernel::Kernel;
use anyhow::Result;

/// Takes the share away and restores it.
pub const FAIR: Scenario = Scenario { name: "fair", claims: CLAIMS, wants: |spec| spec.id == "13-rt-amd64", run };

const CLAIMS: &[Claim] = &[Claim {
    id: "fair.server",
    says: "`tune --only sched.fair_server --blast any` takes the fair server from CPUs 2-3 and from no other, and `revert` \
           gives it back",
}];

const FILES: &str = "cat /sys/kernel/debug/sched/fair_server/cpu*/runtime";

fn run(lab: &Lab, kernel: &Kernel) -> Result<Judged> {
    let mut bench = Bench::boot(lab, kernel, "fair")?;
    let before = bench.seen("before")?;
    let applied =
        bench.output("applied.json", "punctual tune --only sched.fair_server --blast any --cpus 2-3 --yes --json")?;
    let files = bench.must(FILES)?;
    let status = bench.output("status.json", "punctual status --json")?;
    let reverted = bench.output("reverted.json", "punctual revert --json")?;
    let mut complaints = judge::ended(&applied, &[0]);
    complaints.extend(taken(&files));
    complaints.extend(judge::ended(&status, &[0]));
    complaints.extend(judge::ended(&reverted, &[0]));
    complaints.extend(bench.seen("after")?.differences(&before));
    Ok(vec![("fair.server", Verdict::of(&complaints))])
}

/// A complaint unless the files contain the right shares: 50 ms of each second on two CPUs, and none on the tuned ones.
fn taken(files: &str) -> Option<String> {
    let wanted = ["50000000", "50000000", "0", "0"];
    let are: Vec<&str> = files.lines().collect();
    (are != wanted).then(|| format!("the reserves are {are:?}, not {wanted:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_of_these_cpus_and_no_other_is_gone() {
        assert_eq!(taken("50000000\n50000000\n0\n0\n"), None);
        assert!(taken("50000000\n50000000\n50000000\n0\n").is_some());
        assert!(taken("0\n0\n0\n0\n").is_some());
    }
}
