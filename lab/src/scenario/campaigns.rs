//! Carries out the shipped campaigns that need no boot, shortened, to their end, and looks at what they leave. One of
//! them is interrupted by a full disk and by SIGINT, and goes on.

use super::{Claim, Judged, Lab, Outfit, Scenario, Verdict};
use crate::guest::Guest;
use crate::kernel::Kernel;
use crate::wire::Output;
use crate::written::Asked;
use anyhow::{Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::time::Duration;

/// The scenario runs on one kernel, because the program and not the kernel determines the results.
pub const CAMPAIGNS: Scenario =
    Scenario { name: "campaigns", claims: CLAIMS, wants: |spec| spec.id == "13-rt-amd64", run };

const CLAIMS: &[Claim] = &[
    Claim {
        id: "campaigns.board",
        says: "`board-3-days.toml`, shortened, ends with every CPU measured, and with what was published beside it",
    },
    Claim {
        id: "campaigns.suite",
        says: "`suite-2002.toml`, shortened, ends with each load measured as often as written, and each question answered",
    },
    Claim { id: "campaigns.delay", says: "`delay-10us.toml` likewise, with what was published beside its cells" },
    Claim {
        id: "campaigns.full",
        says: "on a full disk a campaign ends with 1 and what to type; with room again, that brings it to its end",
    },
    Claim {
        id: "campaigns.interrupted",
        says: "after SIGINT a campaign ends with 3 and what to type, and that brings it to its end",
    },
];

/// A shipped campaign: its claim, its file, and the options with which it is carried out.
struct Shipped {
    claim: &'static str,
    name: &'static str,
    file: &'static str,
    shorten: &'static str,
}

const SHIPPED: [Shipped; 3] = [
    Shipped {
        claim: "campaigns.board",
        name: "board-3-days",
        file: include_str!("../../../examples/campaigns/board-3-days.toml"),
        shorten: "50000",
    },
    Shipped {
        claim: "campaigns.suite",
        name: "suite-2002",
        file: include_str!("../../../examples/campaigns/suite-2002.toml"),
        shorten: "20",
    },
    Shipped {
        claim: "campaigns.delay",
        name: "delay-10us",
        file: include_str!("../../../examples/campaigns/delay-10us.toml"),
        shorten: "30",
    },
];

/// A campaign that is interrupted.
const SMALL: &str = r#"repetitions = 3
[need]
period = "1ms"
duration = "1s"
cpus = "1"
[[cell]]
name = "sleep"
[[cell]]
name = "relative"
mechanism = "relative"
[[compare]]
first = "sleep"
second = "relative"
question = "Is a sleep for the time left worse?"
"#;
/// Number of characters that one command takes to the guest, which accepts lines of limited length.
const PIECE: usize = 3000;
/// How long one campaign may take.
const LONGEST: Duration = Duration::from_secs(1200);
/// Waits until the campaign has saved its first measurement.
const UNTIL_MEASURED: &str =
    "for i in $(seq 600); do grep -qs '\"measured\"' $d/experiment.json && break; sleep 0.2; done";

fn run(lab: &Lab, kernel: &Kernel) -> Result<Judged> {
    let mut bench =
        Bench { lab, kernel, guest: lab.boot(kernel, "campaigns", Outfit { memory_mib: 1536, ..Outfit::default() })? };
    let mut judged = Judged::new();
    for shipped in &SHIPPED {
        judged.push((shipped.claim, Verdict::of(&to_its_end(&mut bench, shipped)?)));
    }
    bench.put("/tmp/small.toml", SMALL)?;
    judged.push(("campaigns.full", Verdict::of(&full(&mut bench)?)));
    judged.push(("campaigns.interrupted", Verdict::of(&interrupted(&mut bench)?)));
    Ok(judged)
}

fn to_its_end(bench: &mut Bench<'_>, shipped: &Shipped) -> Result<Vec<String>> {
    let Shipped { name, file, shorten, .. } = shipped;
    bench.put(&format!("/tmp/{name}.toml"), file)?;
    let ended =
        bench.output(name, &format!("punctual campaign /tmp/{name}.toml --shorten {shorten} --out /tmp/{name}"))?;
    let mut complaints = ended_with(&ended, 0);
    complaints.extend(bench.result(&format!("/tmp/{name}"), name, file)?);
    Ok(complaints)
}

/// Fills the disk during a campaign, and makes room again.
fn full(bench: &mut Bench<'_>) -> Result<Vec<String>> {
    bench.must("mkdir /tmp/disk && mount -t tmpfs -o size=2m disk /tmp/disk")?;
    let begin = "punctual campaign /tmp/small.toml --out $d & pid=$!";
    let fill = "dd if=/dev/zero of=/tmp/disk/fill bs=4k 2>/dev/null; wait $pid";
    let ended = bench.output("full", &format!("d=/tmp/disk/c; {begin}; {UNTIL_MEASURED}; {fill}"))?;
    let mut complaints = ended_with(&ended, 1);
    complaints.extend(told(&ended, &["No space left on device", "punctual campaign --resume /tmp/disk/c"]));
    let resumed = bench.output("room", "rm /tmp/disk/fill && punctual campaign --resume /tmp/disk/c")?;
    complaints.extend(ended_with(&resumed, 0));
    complaints.extend(bench.result("/tmp/disk/c", "full", SMALL)?);
    Ok(complaints)
}

fn interrupted(bench: &mut Bench<'_>) -> Result<Vec<String>> {
    // A shell lets its background commands ignore SIGINT, so `kill` is in the background and the campaign is not.
    let kill = format!("({UNTIL_MEASURED}; kill -INT $(pidof punctual)) &");
    let begin = format!("d=/tmp/c; {kill} exec punctual campaign /tmp/small.toml --out $d");
    let ended = bench.output("interrupted", &begin)?;
    let mut complaints = ended_with(&ended, 3);
    complaints.extend(told(&ended, &["punctual campaign --resume /tmp/c"]));
    let resumed = bench.output("resumed", "punctual campaign --resume /tmp/c")?;
    complaints.extend(ended_with(&resumed, 0));
    complaints.extend(bench.result("/tmp/c", "interrupted", SMALL)?);
    Ok(complaints)
}

/// A guest that carries out campaigns. The outputs of its commands are kept in files.
struct Bench<'a> {
    lab: &'a Lab,
    kernel: &'a Kernel,
    guest: Guest,
}

impl Bench<'_> {
    /// Writes a text file in the guest.
    fn put(&mut self, path: &str, text: &str) -> Result<()> {
        self.must(&format!("rm -f {path}.base64"))?;
        let mut rest = STANDARD.encode(text);
        while !rest.is_empty() {
            let next = rest.split_off(rest.len().min(PIECE));
            self.must(&format!("echo {rest} >>{path}.base64"))?;
            rest = next;
        }
        self.must(&format!("base64 -d {path}.base64 >{path}")).map(|_| ())
    }

    /// Complaints about what a campaign left in its folder.
    fn result(&mut self, folder: &str, name: &str, file: &str) -> Result<Vec<String>> {
        let mut texts = Vec::new();
        for ending in ["json", "html", "txt"] {
            let text = self.must(&format!("cat {folder}/result.{ending}"))?;
            self.lab.keep("campaigns", self.kernel, &format!("{name}.{ending}"), &text)?;
            texts.push(text);
        }
        Ok(Asked::of(file)?.complaints(&texts[0], &texts[1], &[]))
    }

    fn output(&mut self, name: &str, command: &str) -> Result<Output> {
        let output = self.guest.command_within(command, LONGEST)?;
        let Output { code, out, err, .. } = &output;
        self.lab.keep("campaigns", self.kernel, name, &format!("$ {command}\n{out}{err}ended with {code}\n"))?;
        Ok(output)
    }

    fn must(&mut self, command: &str) -> Result<String> {
        let output = self.guest.command(command)?;
        ensure!(output.code == 0, "`{command}` ended with {}: {}", output.code, output.err.trim());
        Ok(output.out)
    }
}

fn ended_with(output: &Output, code: i32) -> Vec<String> {
    let why = || format!("it ended with {}, not with {code}: {}", output.code, output.err.trim());
    (output.code != code).then(why).into_iter().collect()
}

/// Complaints about parts that were not told on standard error.
fn told(output: &Output, parts: &[&str]) -> Vec<String> {
    let said = output.err.split_whitespace().collect::<Vec<_>>().join(" ");
    parts.iter().filter(|part| !said.contains(**part)).map(|part| format!("no '{part}' in '{said}'")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_claim_has_its_campaign() {
        for (shipped, claim) in SHIPPED.iter().zip(CLAIMS) {
            assert_eq!(shipped.claim, claim.id);
            assert!(!Asked::of(shipped.file).unwrap().cells.is_empty());
        }
    }

    #[test]
    fn another_code_and_a_missing_remedy_are_complained_of() {
        let output = Output { code: 3, err: "to continue:\n  punctual campaign".to_owned(), ..Output::default() };
        assert!(ended_with(&output, 3).is_empty() && ended_with(&output, 0).len() == 1);
        assert!(told(&output, &["to continue: punctual campaign"]).is_empty());
        assert_eq!(told(&output, &["--resume"]).len(), 1);
    }
}
