//! Two stories of written-down campaigns. In the first, the shipped campaign that needs boots goes on by itself to its
//! end. In the second, a campaign meets all that can happen between two boots: `revert`, a kernel that panics, and a
//! boot that hangs until the plug is pulled.

use super::super::bench::{Bench, PROGRAM};
use super::super::ledger::{Claim, Ledger};
use super::super::machine::{Hang, Machine, Turn};
use super::super::tree::{self, Files};
use super::Given;
use super::boots::{Boot, FOLDER, STAYS, WITNESS, Watched, panics, reverted};
use super::tuned::{Before, TRAP, Unit, settled};
use super::untouched::{BY_ITSELF, told};
use crate::written::{Asked, Cell, LeftOut};
use anyhow::{Result, bail, ensure};
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;

pub const CLAIMS: &[Claim] = &[
    (
        "written.ends",
        "the shipped tuning guide, shortened to one repetition and begun once, goes on by itself to its three result files",
    ),
    (
        "written.cells",
        "each cell whose setting this machine has is measured as often as the file says, and its recordings are on the disk",
    ),
    ("written.words", "each is measured on the machine's own command line with exactly the words of its cell"),
    ("written.page", "document and page have every cell, an answer to every question, and what was published"),
    ("written.home", "at the end the machine runs on its own command line, and no unit of the product is left"),
    ("written.files", "then every file is what it was, but for the campaign's folder and what changes by itself"),
    ("written.boot", "and grub.cfg and grubenv are what they were, byte for byte"),
];

pub const BAD_CLAIMS: &[Claim] = &[
    (
        "mishaps.reverts",
        "`revert` between two boots ends a campaign: the next boot is the old one, and none comes by itself",
    ),
    (
        "mishaps.resumes",
        "`--resume` then takes it up, nothing that was measured is lost, and it goes on by itself to its end",
    ),
    (
        "mishaps.panics",
        "a cell with whose words the kernel panics gets two boots and is left out, and the page says why",
    ),
    (
        "mishaps.hangs",
        "so does one whose boot never comes back, each time until the plug is pulled, and the page says so",
    ),
    ("mishaps.words", "words with `<cpus>`, with `<others>` and with a minus before them are what the boot's line has"),
    ("mishaps.others", "all other cells are measured as often as the file says"),
    ("mishaps.files", "then every file is what it was, but for the campaign's folder and what changes by itself"),
    ("mishaps.boot", "and grub.cfg and grubenv are what they were, byte for byte"),
];

const GUIDE: &str = include_str!("../../../../examples/campaigns/tuning-guide.toml");
/// The cell whose setting not every machine has: a file that shows the setting, and the cell with the knob that must stand
/// in its reason if there is no such file.
const SETTING: (&str, LeftOut) = ("/sys/devices/system/cpu/cpu1/cpufreq", ("frequency", "pm.governor: "));
/// The measured CPUs and the others, as the guest has them.
const CPUS: [(&str, &str); 2] = [("<cpus>", "1"), ("<others>", "0,2-3")];

/// A campaign whose third cell makes the kernel panic, and whose fourth lets the boot hang.
const MISHAPS: &str = r#"title = "What can happen between two boots"
order = "written"
repetitions = 2
settle = "1s"
[need]
period = "1ms"
duration = "1s"
cpus = "1"
[[cell]]
name = "plain"
published = [{ of = "a PC", what = "max", value = "40us" }]
[[cell]]
name = "less"
boot = ["-loglevel", "skew_tick=1"]
[[cell]]
name = "panics"
boot = ["isolcpus=domain,<cpus>"]
[[cell]]
name = "hangs"
boot = ["lab.hang=1"]
[[cell]]
name = "others"
boot = ["irqaffinity=<others>", "rcu_nocbs=<cpus>"]
[[compare]]
first = "plain"
second = "less"
question = "What does a tick at another time buy?"
[[compare]]
first = "plain"
second = "hangs"
question = "What does a word buy with which nothing comes up?"
"#;
/// The cells that no boot comes up with.
const NEVER_UP: [LeftOut; 2] = [("panics", NOT_UP), ("hangs", NOT_UP)];
const NOT_UP: &str = "after 2 boots that did not come up as asked";
const HANGER: Unit = ("lab-hang", include_str!("../guest/hang.service"));
const HANG: Hang = Hang { mark: "lab: this boot hangs", silence: Duration::from_secs(30) };
/// The campaign file in the guest. It is among the logs, which no comparison of files looks at.
const FILE: &str = "/var/log/lab-campaign.toml";
/// The state of a campaign.
const STATE: &str = "experiment.json";
/// Waits in the guest until the result is written, of whose files this is the last, and the product has ended.
const UNTIL_ENDED: &str =
    "until [ -e /var/lib/campaign/result.txt ] && ! pgrep -x punctual >/dev/null; do sleep 1; done";
/// Limit on the number of boots, which no campaign of these stories reaches.
const BOOTS_MAX: usize = 40;

/// The tuning guide with one repetition instead of four, because each repetition takes three boots.
fn guide() -> Result<String> {
    let guide = GUIDE.replacen("repetitions = 4", "repetitions = 1", 1);
    ensure!(guide != GUIDE, "the tuning guide has another number of repetitions");
    Ok(guide)
}

/// Begins the shipped campaign, and watches it to its end.
pub fn tell(given: &Given, ledger: &mut Ledger) -> Result<()> {
    let bench = Bench::new(&given.cache, &given.image, "written", Some(&given.program))?;
    let Before { machine, files, boot, .. } = settled(&bench, &[WITNESS])?;
    let mut watched = Watched { machine, boots: Vec::new() };
    let lacks = lacking(&mut watched.machine)?;
    let guide = guide()?;
    begin(&mut watched, &guide, "--shorten 60")?;
    let hangs = to_the_end(&mut watched, None)?;
    ensure!(hangs == 0, "{hangs} boots were awaited in vain");
    let asked = Asked::of(&guide)?;
    let home = home(&mut watched)?;
    let Watched { machine, boots } = watched;
    machine.power_off()?;
    let result = Written::of(&bench);
    ledger.enter("written.ends", &[result.complaints.clone(), lost(&boots)].concat())?;
    let now = bench.files()?;
    let cells = [made(&boots, &asked, &lacks), recordings(&now, &asked, &lacks)].concat();
    ledger.enter("written.cells", &cells)?;
    ledger.enter("written.words", &words(&boots, &asked))?;
    ledger.enter("written.page", &asked.complaints(&result.json, &result.page, &lacks))?;
    ledger.enter("written.home", &home)?;
    ledger.enter("written.files", &untouched(&files, &now))?;
    ledger.enter("written.boot", &boot.differences(&bench)?)
}

/// Begins a campaign, reverts it between two boots, takes it up again, and pulls the plug of each boot that hangs.
pub fn tell_badly(given: &Given, ledger: &mut Ledger) -> Result<()> {
    let bench = Bench::new(&given.cache, &given.image, "written-badly", Some(&given.program))?;
    let Before { machine, files, boot, .. } = settled(&bench, &[TRAP, HANGER, WITNESS])?;
    let mut watched = Watched { machine, boots: Vec::new() };
    begin(&mut watched, MISHAPS, "")?;
    match watched.machine.follow(UNTIL_ENDED, None)? {
        Turn::Started(start) => watched.look(&start)?,
        Turn::Hung | Turn::Done => bail!("it ended without a boot"),
    }
    let plain = watched.boots.first().map(|boot| boot.line.clone()).unwrap_or_default();
    ledger.enter("mishaps.reverts", &reverted(&mut watched.machine, |line| fits(&plain, &[], line))?)?;
    watched.look_now(STATE)?;
    in_background(&mut watched.machine, &format!("campaign --resume {FOLDER} --yes"))?;
    let hangs = to_the_end(&mut watched, Some(HANG))?;
    let asked = Asked::of(MISHAPS)?;
    let home = home(&mut watched)?;
    let Watched { machine, boots } = watched;
    machine.power_off()?;
    let result = Written::of(&bench);
    let resumed = [result.complaints.clone(), lost(&boots), home].concat();
    ledger.enter("mishaps.resumes", &resumed)?;
    let page = asked.complaints(&result.json, &result.page, &NEVER_UP);
    ledger.enter("mishaps.panics", &[twice("kernels panicked", panics(&boots)), page.clone()].concat())?;
    ledger.enter("mishaps.hangs", &[twice("boots hung", hangs), page].concat())?;
    ledger.enter("mishaps.words", &words(&boots, &asked))?;
    let now = bench.files()?;
    let cells = [made(&boots, &asked, &NEVER_UP), recordings(&now, &asked, &NEVER_UP)].concat();
    ledger.enter("mishaps.others", &cells)?;
    ledger.enter("mishaps.files", &untouched(&files, &now))?;
    ledger.enter("mishaps.boot", &boot.differences(&bench)?)
}

/// The cells of the tuning guide that cannot be measured on this machine.
fn lacking(machine: &mut Machine) -> Result<Vec<LeftOut>> {
    let (path, left_out) = SETTING;
    let is_there = machine.run(&format!("test -e {path}"), Duration::from_secs(60))?.code == 0;
    Ok(if is_there { Vec::new() } else { vec![left_out] })
}

/// Notes with which command line the machine runs, and begins a campaign in the background.
fn begin(watched: &mut Watched, file: &str, options: &str) -> Result<()> {
    watched.note("cat /proc/cmdline && echo '{}'", false)?;
    watched.machine.ask(&format!("cat >{FILE} <<'LAB_END'\n{file}LAB_END"))?;
    in_background(&mut watched.machine, &format!("campaign {FILE} {options} --yes --out {FOLDER}"))
}

/// Runs the product in the background, because it restarts the machine at its own time.
fn in_background(machine: &mut Machine, words: &str) -> Result<()> {
    machine.ask(&format!("setsid {PROGRAM} {words} >>/var/log/lab-begun 2>&1 </dev/null &")).map(|_| ())
}

/// Watches the machine until the campaign has ended. Cuts the power of each boot that hangs; returns how many did.
fn to_the_end(watched: &mut Watched, hang: Option<Hang>) -> Result<usize> {
    let mut hangs = 0;
    loop {
        ensure!(watched.boots.len() < BOOTS_MAX, "{BOOTS_MAX} boots, and no end");
        let start = match watched.machine.follow(UNTIL_ENDED, hang)? {
            Turn::Started(start) => start,
            Turn::Hung => {
                hangs += 1;
                watched.machine.cycle_power()?
            }
            Turn::Done => break,
        };
        watched.look(&start)?;
    }
    watched.look_now(STATE)?;
    Ok(hangs)
}

/// The result files of a campaign, and complaints about those that are not there.
struct Written {
    json: String,
    page: String,
    complaints: Vec<String>,
}

impl Written {
    fn of(bench: &Bench) -> Self {
        let mut complaints = Vec::new();
        let [page, json, text] = ["result.html", "result.json", "result.txt"].map(|name| {
            let kept = bench.keep(&format!("{FOLDER}/{name}"));
            kept.unwrap_or_else(|error| {
                complaints.push(format!("{error:#}"));
                String::new()
            })
        });
        if !complaints.is_empty() {
            complaints.push(text);
        }
        Self { json, page, complaints }
    }
}

/// Complaints about a machine that does not run as it did before the campaign.
fn home(watched: &mut Watched) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    if let (Some(first), Some(last)) = (watched.boots.first(), watched.boots.last()) {
        if !fits(&first.line, &[], &last.line) {
            complaints.push(format!("it runs with `{}`, not with `{}`", last.line, first.line));
        }
    }
    // A unit whose files are gone may be in systemd's memory until the next boot, but it is not active.
    let units =
        "systemctl list-units --plain --no-legend 'punctual*'; systemctl list-unit-files --no-legend 'punctual*'";
    let units = watched.machine.ask(&format!("{units} || true"))?;
    complaints.extend(units.lines().map(|unit| format!("a unit is left: {unit}")));
    Ok(complaints)
}

fn untouched(before: &Files, now: &Files) -> Vec<String> {
    let exceptions: Vec<(&str, &str)> = BY_ITSELF.iter().chain(&STAYS).copied().collect();
    told(&tree::differences(before, now, &exceptions))
}

fn twice(what: &str, count: usize) -> Vec<String> {
    (count != 2).then(|| format!("{count} {what}, not 2")).into_iter().collect()
}

fn outcomes(boot: &Boot) -> Vec<Value> {
    boot.outcomes("made")
}

fn is_measured(made: &Value) -> bool {
    made.get("outcome").and_then(Value::as_str) == Some("measured")
}

/// The place of the cell that an outcome is of.
fn place(made: &Value) -> Option<usize> {
    made.get("cell").and_then(Value::as_u64).and_then(|cell| usize::try_from(cell).ok())
}

/// Complaints about outcomes that a later boot does not have any more.
fn lost(boots: &[Boot]) -> Vec<String> {
    let mut complaints = Vec::new();
    for pair in boots.windows(2) {
        let (before, after) = (outcomes(&pair[0]), outcomes(&pair[1]));
        if after.get(..before.len()) != Some(&before) {
            complaints.push(format!("first {before:?}, then {after:?}"));
        }
    }
    complaints
}

/// Complaints about cells that were not measured as often as the file says, or not left out at the first failure.
fn made(boots: &[Boot], asked: &Asked, left_out: &[LeftOut]) -> Vec<String> {
    let all = boots.last().map(outcomes).unwrap_or_default();
    let complaint = |(number, cell): (usize, &Cell)| {
        let own: Vec<&Value> = all.iter().filter(|made| place(made) == Some(number)).collect();
        let measured = own.iter().filter(|made| is_measured(made)).count();
        let is_left_out = left_out.iter().any(|(name, _)| *name == cell.name);
        let wanted = if is_left_out { (1, 0) } else { (asked.repetitions, asked.repetitions) };
        ((own.len(), measured) != wanted).then(|| format!("{}: {own:?}", cell.name))
    };
    asked.cells.iter().enumerate().filter_map(complaint).collect()
}

/// Complaints about recordings that are not on the disk.
fn recordings(files: &Files, asked: &Asked, left_out: &[LeftOut]) -> Vec<String> {
    let measured = asked.cells.iter().filter(|cell| left_out.iter().all(|(name, _)| *name != cell.name));
    let paths = measured.flat_map(|cell| {
        (1..=asked.repetitions).map(move |number| format!("{FOLDER}/{}-{number:04}.punctual", cell.name))
    });
    paths.filter(|path| !files.contains_key(path)).map(|path| format!("{path} is not there")).collect()
}

/// Complaints about cells that were measured on a command line other than the machine's own with their words.
fn words(boots: &[Boot], asked: &Asked) -> Vec<String> {
    let Some(plain) = boots.first().map(|boot| boot.line.as_str()) else { return vec!["no boot".to_owned()] };
    let mut complaints = Vec::new();
    let mut tried = BTreeSet::new();
    for pair in boots.windows(2) {
        let after = outcomes(&pair[1]);
        for made in after.iter().skip(outcomes(&pair[0]).len()).filter(|made| is_measured(made)) {
            let Some(cell) = place(made).and_then(|cell| asked.cells.get(cell)) else { continue };
            let boot: Vec<String> = cell.boot.iter().map(|word| filled(word)).collect();
            if !fits(plain, &boot, &pair[0].line) {
                complaints.push(format!("{} was measured on `{}`", cell.name, pair[0].line));
            }
            tried.extend((!boot.is_empty()).then_some(&cell.name));
        }
    }
    if tried.is_empty() {
        complaints.push("no words were tried".to_owned());
    }
    complaints
}

fn filled(word: &str) -> String {
    CPUS.iter().fold(word.to_owned(), |word, (name, cpus)| word.replace(name, cpus))
}

/// Whether a command line is another one with these changes, apart from words that boot loader and product add.
fn fits(plain: &str, changes: &[String], line: &str) -> bool {
    let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    let own = |line: &str| -> BTreeSet<String> {
        let words = line.split_whitespace().filter(|word| !["BOOT_IMAGE", "initrd", "panic"].contains(&&*name(word)));
        words.map(str::to_owned).collect()
    };
    let mut wanted = own(plain);
    for change in changes {
        let gone = name(change.trim_start_matches('-'));
        wanted.retain(|word| name(word) != gone);
        wanted.extend((!change.starts_with('-')).then(|| change.clone()));
    }
    own(line) == wanted
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::slice;

    const PLAIN: &str = "BOOT_IMAGE=/vmlinuz root=/dev/vda1 ro loglevel=6";
    const LESS: &str = "BOOT_IMAGE=/vmlinuz root=/dev/vda1 ro skew_tick=1 panic=10";

    fn boot(line: &str, made: &[Value]) -> Boot {
        Boot { line: line.to_owned(), state: json!({ "made": made }), panicked: false }
    }

    fn outcome(cell: u64, outcome: &str) -> Value {
        json!({ "cell": cell, "repetition": 0, "outcome": outcome })
    }

    fn asked() -> Asked {
        Asked::of(
            "[[cell]]\nname = \"plain\"\n[[cell]]\nname = \"less\"\nboot = [\"-loglevel\", \"skew_tick=<cpus>\"]\n",
        )
        .unwrap()
    }

    #[test]
    fn a_line_with_other_changes_does_not_fit() {
        let changes = ["-loglevel", "skew_tick=1"].map(str::to_owned);
        assert!(fits(PLAIN, &[], PLAIN) && fits(PLAIN, &changes, LESS));
        assert!(fits("a=1", &["a=2".to_owned()], "a=2") && !fits("a=1", &["a=2".to_owned()], "a=1 a=2"));
        for line in [PLAIN, "root=/dev/vda1 ro skew_tick=2", "root=/dev/vda1 ro skew_tick=1 quiet", ""] {
            assert!(!fits(PLAIN, &changes, line), "{line}");
        }
        assert_eq!(filled("isolcpus=<cpus>:<others>"), "isolcpus=1:0,2-3");
    }

    #[test]
    fn each_outcome_belongs_to_the_boot_before_it() {
        let (plain, less) = (outcome(0, "measured"), outcome(1, "measured"));
        let good = [boot(PLAIN, &[]), boot(LESS, slice::from_ref(&plain)), boot(PLAIN, &[plain.clone(), less.clone()])];
        assert!(words(&good, &asked()).is_empty() && lost(&good).is_empty() && made(&good, &asked(), &[]).is_empty());
        let swapped =
            [boot(LESS, &[]), boot(PLAIN, slice::from_ref(&plain)), boot(PLAIN, &[plain.clone(), less.clone()])];
        assert!(!words(&swapped, &asked()).is_empty());
        // Without a cell with words, nothing was tried.
        assert_eq!(words(&good[..2], &asked()).len(), 1);
        assert_eq!(words(&[], &asked()).len(), 1);
        assert_eq!(lost(&[boot(PLAIN, &[plain]), boot(PLAIN, &[])]).len(), 1);
    }

    #[test]
    fn cells_that_are_missing_or_measured_too_often_are_complained_of() {
        let last = |made: &[Value]| [boot(PLAIN, made)];
        let all = [outcome(0, "measured"), outcome(1, "measured")];
        assert_eq!(made(&last(&all[..1]), &asked(), &[]).len(), 1);
        assert_eq!(made(&last(&[all[0].clone(), all[0].clone()]), &asked(), &[]).len(), 2);
        let left_out: &[LeftOut] = &[("less", "why")];
        let refused = json!({ "cell": 1, "repetition": 0, "outcome": { "refused": "why" } });
        assert!(made(&last(&[all[0].clone(), refused.clone()]), &asked(), left_out).is_empty());
        assert_eq!(made(&last(&all), &asked(), left_out).len(), 1);
        assert_eq!(made(&last(&[all[0].clone(), refused]), &asked(), &[]).len(), 1);
    }

    #[test]
    fn the_tuning_guide_is_shortened_and_keeps_its_cells() {
        let [short, whole] = [guide().unwrap(), GUIDE.to_owned()].map(|text| Asked::of(&text).unwrap());
        assert_eq!((short.repetitions, short.cells.len()), (1, whole.cells.len()));
    }

    #[test]
    fn recordings_are_counted_on_the_disk() {
        let entry = tree::Entry { access: "644 0:0".into(), contents: "file 1".into() };
        let files = Files::from([("/var/lib/campaign/plain-0001.punctual".to_owned(), entry)]);
        assert_eq!(recordings(&files, &asked(), &[]), ["/var/lib/campaign/less-0001.punctual is not there"]);
        assert!(recordings(&files, &asked(), &[("less", "why")]).is_empty());
        assert!(twice("x", 2).is_empty() && twice("x", 1).len() == 1);
    }
}
