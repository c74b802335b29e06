//! Rules for every knob: its texts are complete, the cases in `fixtures/knobs` cover its verdicts, and it panics on no
//! machine, whatever the files hold.

use super::{ALL, Case, Check, Doubt, Family, Lasting, Missing, near};
use crate::audit::{audit, lasting, undoing};
use proptest::prelude::*;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::fact::Fact;
use punctual_facts::finding::{Finding, Severity, State, WhyUnknown};
use punctual_facts::machine::Machine;
use punctual_facts::profile::{Kind, Need};
use punctual_facts::tree::{MemTree, Tree};
use punctual_hist::Nanos;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub(super) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

#[test]
fn ids_are_unique_and_words_are_complete() {
    let mut ids = BTreeSet::new();
    for knob in ALL.iter() {
        assert!(ids.insert(knob.id), "{} stands there twice", knob.id);
        assert!(!knob.sources.is_empty(), "{} has no source", knob.id);
        let places: Vec<String> = knob.places().iter().map(Lasting::anywhere).collect();
        assert!(!places.is_empty(), "{} cannot be made to last", knob.id);
        assert_eq!(BTreeSet::from_iter(&places).len(), places.len(), "{} lasts twice in one place", knob.id);
        let (fix, undo) = (knob.fix_anywhere(), knob.undo_anywhere());
        let words = [knob.title, knob.why, &fix, &undo, knob.cost];
        for text in words.iter().chain(knob.sources) {
            assert!(!text.trim().is_empty(), "{} leaves a field empty", knob.id);
            assert!(!text.contains("  "), "{} has a run of blanks in '{text}'", knob.id);
        }
    }
    for family in Family::ALL {
        assert!(ALL.iter().any(|knob| knob.family == *family), "no knob in {}", family.name());
    }
}

#[test]
fn a_typing_error_finds_what_was_meant() {
    assert_eq!(near("irq.afinity"), ["irq.affinity"]);
    assert_eq!(near("governor"), ["pm.governor", "pm.idle_governor"]);
    assert!(near("").is_empty() && near("elephant").is_empty());
}

/// One case of `fixtures/knobs/*.cases`.
pub(super) struct Example {
    pub(super) place: String,
    pub(super) id: String,
    expected: String,
    severity: Option<Severity>,
    pub(super) need: Need,
    pub(super) tree: MemTree,
}

/// Reads all cases. A case starts with `[ID STATE WORDS...]`, where a word is a severity, a kind of work, `cpus=LIST`
/// or `period_us=NUMBER`. The files in the lines of the case are added to the machine in `base.machine`, or replace its
/// files.
pub(super) fn examples() -> Vec<Example> {
    let folder = fixtures().join("knobs");
    let base = MemTree::parse(&std::fs::read_to_string(folder.join("base.machine")).unwrap()).unwrap();
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ext| ext == "cases"));
    files.sort();
    let mut examples = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let starts: Vec<usize> = (0..lines.len()).filter(|n| lines[*n].starts_with('[')).collect();
        for (n, start) in starts.iter().enumerate() {
            let end = starts.get(n + 1).copied().unwrap_or(lines.len());
            let place = format!("{}:{}", path.display(), start + 1);
            let head = lines[*start].trim_matches(['[', ']']);
            let mut words = head.split_whitespace();
            let (id, expected) = (words.next().unwrap().to_owned(), words.next().expect(&place).to_owned());
            let (mut need, mut severity) = (on("2-3"), None);
            for word in words {
                match (word, word.split_once('=')) {
                    (_, Some(("cpus", list))) => need.cpus = CpuSet::parse_list(list).unwrap(),
                    (_, Some(("period_us", us))) => need.period = Some(Nanos::from_us(us.parse().unwrap())),
                    ("info", _) => severity = Some(Severity::Info),
                    ("medium", _) => severity = Some(Severity::Medium),
                    ("high", _) => severity = Some(Severity::High),
                    _ => need.kind = *Kind::ALL.iter().find(|kind| kind.name() == word).expect(&place),
                }
            }
            let mut tree = base.clone();
            let body = format!("{}\n", lines[start + 1..end].join("\n"));
            tree.overlay(&body, start + 2).unwrap_or_else(|e| panic!("{place}: {e}"));
            examples.push(Example { place, id, expected, severity, need, tree });
        }
    }
    examples
}

fn word_for(state: &State) -> &'static str {
    match state {
        State::Good => "good",
        State::Bad => "bad",
        State::Unknown(_) => "unknown",
        State::Advice(_) => "advice",
        State::NotApplicable(_) => "not-applicable",
    }
}

#[test]
fn every_case_gets_the_verdict_it_asks_for() {
    let mut wrong = Vec::new();
    for example in examples() {
        let machine = Machine::read(&example.tree);
        let findings = audit(&example.tree, &machine, &example.need);
        let Some(finding) = findings.iter().find(|finding| finding.id == example.id) else {
            panic!("{}: there is no knob {}", example.place, example.id)
        };
        if word_for(&finding.state) != example.expected {
            wrong.push(format!(
                "{} {}: expected {}, got {:?} from {:?}",
                example.place, example.id, example.expected, finding.state, finding.evidence
            ));
        }
        if example.severity.is_some_and(|severity| severity != finding.severity) {
            wrong.push(format!("{} {}: weighs {:?}", example.place, example.id, finding.severity));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_knob_has_a_good_and_a_bad_case() {
    let examples = examples();
    let lacking: Vec<String> = ALL
        .iter()
        .flat_map(|knob| {
            let states = if matches!(knob.check, Check::Firmware(_) | Check::Advice(_) | Check::Told(_)) {
                ["advice", "not-applicable"]
            } else {
                ["good", "bad"]
            };
            states.map(|state| (knob.id, state))
        })
        .filter(|(id, state)| !examples.iter().any(|e| e.id == *id && e.expected == *state))
        .map(|(id, state)| format!("{id} {state}"))
        .collect();
    assert!(lacking.is_empty(), "no case for: {}", lacking.join(", "));
}

fn on(cpus: &str) -> Need {
    Need { cpus: CpuSet::parse_list(cpus).unwrap(), ..Need::default() }
}

/// The audit's finding about one knob, on a machine that has only the files in `lines`.
fn finding(id: &str, lines: &str, need: &Need) -> Finding {
    let tree = MemTree::parse(&format!("punctual-machine 1\n{lines}\n")).unwrap();
    audit(&tree, &Machine::read(&tree), need).into_iter().find(|finding| finding.id == id).unwrap()
}

fn unknown(finding: Finding) -> WhyUnknown {
    let State::Unknown(why) = finding.state else { panic!("{finding:?}") };
    why
}

fn because(finding: Finding) -> String {
    unknown(finding).because
}

const FOUR_CPUS: &str = "/sys/devices/system/cpu/online = 0-3";

#[test]
fn who_is_root_is_not_sent_to_root() {
    let because = |uid: &str| {
        let text = format!(
            "{FOUR_CPUS}\n/proc/sys/kernel/sched_rt_runtime_us ! denied\n\
             /proc/sys/kernel/sched_rt_period_us ! denied\n{uid}"
        );
        unknown(finding("sched.rt_runtime", &text, &Need::default()))
    };
    let status = |uid: &str| because(&format!("/proc/self/status = Uid:\t1000\t{uid}\t0\t0"));
    for (why, is_sent) in [(because(""), true), (status("1000"), true), (status("0"), false)] {
        let said = &why.because;
        assert!(said.contains("sched_rt_") && said.contains("is refused"), "{said}");
        assert_eq!((why.root_may, said.contains("even to root")), (is_sent, !is_sent), "{said}");
    }
}

#[test]
fn debugfs_without_interrupts_is_told_from_no_debugfs() {
    let because = |lines: &str| {
        let text =
            format!("{FOUR_CPUS}\n/proc/irq/24/effective_affinity_list = 2\n/proc/irq/24/mpt3sas0-msix1/\n{lines}");
        because(finding("irq.managed", &text, &on("2-3")))
    };
    let without = "built without CONFIG_GENERIC_IRQ_DEBUGFS";
    assert!(because("/sys/kernel/debug/sched/preempt = (full)").contains(without));
    assert!(because("/sys/kernel/debug/").contains("not mounted"));
    let other_line = "/sys/kernel/debug/irq/irqs/1 = handler:  handle_edge_irq";
    assert!(!because(other_line).contains(without));
}

/// The texts of a knob's finding: the fix, and how to make the change last.
fn told(id: &str, lines: &str, need: &Need) -> (String, String) {
    let tree = MemTree::parse(&format!("punctual-machine 1\n{lines}\n")).unwrap();
    let machine = Machine::read(&tree);
    (finding(id, lines, need).fix, lasting(super::find(id).unwrap(), &Case::new(&tree, &machine, need)))
}

#[test]
fn advice_follows_the_work_and_the_machine() {
    let told =
        |id: &str, kind: Kind, lines: &str| told(id, &format!("{FOUR_CPUS}\n{lines}"), &Need { kind, ..on("2-3") });
    let (poll, _) = told("iso.nohz_full", Kind::Poll, "/sys/devices/system/cpu/nohz_full = (null)");
    assert!(poll.contains("nohz_full=2-3") && !poll.contains("without"), "{poll}");
    for kind in [Kind::Periodic, Kind::Audio] {
        let (other, _) = told("iso.nohz_full", kind, "/sys/devices/system/cpu/nohz_full = 2-3");
        assert_eq!(other, "Kernel command line: without nohz_full");
    }
    for id in ["clk.source", "clk.vdso"] {
        let with = |flags| told(id, Kind::Periodic, &format!("/proc/cpuinfo =\n    flags\t\t: {flags}")).1;
        let (sound, unsound) = (with("tsc constant_tsc nonstop_tsc"), with("tsc constant_tsc"));
        assert!(sound.contains("clocksource=tsc") && !unsound.contains("clocksource=tsc"), "{sound} {unsound}");
    }
}

/// A machine on which every file has the same content or the same fault.
pub(crate) struct Always(pub(crate) Fact<&'static [u8]>);

impl Tree for Always {
    fn read(&self, _: &str) -> Fact<Vec<u8>> {
        self.0.as_ref().map(|bytes| bytes.to_vec())
    }
    fn list(&self, _: &str) -> Fact<Vec<String>> {
        self.0.as_ref().and_then(|_| Fact::Garbled("not a folder".to_owned()))
    }
    fn link(&self, _: &str) -> Fact<String> {
        self.0.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into())
    }
}

/// A machine whose files look random, but depend only on the path and the seed.
pub(crate) struct Noise(pub(crate) u64);

impl Noise {
    fn draw(&self, path: &str) -> u64 {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
        path.bytes().fold(self.0 ^ 0xcbf2_9ce4_8422_2325, step)
    }
}

#[rustfmt::skip]
const ODDITIES: &[&[u8]] = &[
    b"", b"\n", b"0\n", b"1\n", b"-1\n", b"0-3\n", b"3-0\n", b"0-4294967295\n", b"4096\n", b"0,2-3,,9\r\n", b"ff\n",
    b"ffffffff,ffffffff\n", b"[always] madvise\n", b"(\n", b"]a[\n", b"99999999999999999999\n", b"n/a\n", b"none\n",
    b"\xff\xfe\x00", b"nan\n", b"6.12.1-rt\n", b"flags\t: hypervisor lm\n", b"#1 SMP PREEMPT_RT\n", b"\x80\x80\x80\x80",
    b"1 2 3 4 irq/5-x\n...\n", b"CapEff:\tzz\n", b"a b=c -- d\n", b"\xc3\xa9\xc3\xa9\n", b"CONFIG_KASAN=y\n",
    b"slot=a bank=channel_b size_mib=1 width=72/64 rated_mts=2 configured_mts=1\n", b"0000:00:1c.0 aspm=3 clkpm=1\n",
    b"GenuineIntel\n", b"TOTAL_ERR_COR x\n", b"\x1b[31mred\x1b[0m \x07\n",
];

impl Tree for Noise {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        let n = self.draw(path);
        match n % 16 {
            0 => Fact::Absent,
            1 => Fact::Denied,
            2 => Fact::Garbled("input/output error".to_owned()),
            3 => Fact::Known(n.to_le_bytes().to_vec()),
            4 => Fact::Known(n.to_string().into_bytes()),
            _ => Fact::Known(ODDITIES[usize::try_from(n >> 8).unwrap() % ODDITIES.len()].to_vec()),
        }
    }
    fn list(&self, path: &str) -> Fact<Vec<String>> {
        const NAMES: &str = "0 1 state0 package_00 card0 dmc eth0 rx-0 l1_aspm smi schemata \u{e9} state1 uncore00 gpu \
            cooling_device0 intel-rapl:0 watchdog0 mc0 nvme0 host0 1-1 0000:00:1c.0 GHES.0 tee0 \
            elc_floor_freq_khz sdram_scrub_rate state node0 index3 a.conf b.cfg grub.cfg";
        let n = self.draw(path);
        match n % 8 {
            0 => Fact::Absent,
            1 => Fact::Denied,
            _ => {
                let names = NAMES.split(' ').enumerate().filter(|(i, _)| n >> (i + 8) & 1 == 1);
                Fact::Known(names.map(|(_, name)| name.to_owned()).collect())
            }
        }
    }
    fn link(&self, _: &str) -> Fact<String> {
        Fact::Absent
    }
}

fn findings(tree: &dyn Tree, kind: Kind) -> Vec<Finding> {
    let machine = Machine::read(tree);
    assert_eq!(machine.fingerprint().len(), 5);
    audit(tree, &machine, &Need { kind, ..Need::default() })
}

#[test]
fn a_machine_that_says_nothing_gets_no_verdict() {
    for answer in
        [Fact::Absent, Fact::Denied, Fact::Garbled("input/output error".to_owned()), Fact::Known(&b"\xff\xff"[..])]
    {
        for kind in Kind::ALL {
            for finding in findings(&Always(answer.clone()), kind) {
                let is_verdict = matches!(finding.state, State::Good | State::Bad);
                assert!(!is_verdict, "{answer:?}: {} is {:?} from {:?}", finding.id, finding.state, finding.evidence);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_machine_spoils_what_is_told(seed in any::<u64>()) {
        let tree = Noise(seed);
        let (machine, need) = (Machine::read(&tree), Need::default());
        let case = Case::new(&tree, &machine, &need);
        for knob in ALL.iter() {
            for text in [Some(lasting(knob, &case)), undoing(knob, &case)].into_iter().flatten() {
                prop_assert!(!text.contains(char::is_control) && !text.trim().is_empty(), "{}: {text:?}", knob.id);
            }
        }
    }

    #[test]
    fn no_machine_makes_a_probe_panic(seed in any::<u64>()) {
        for kind in Kind::ALL {
            for finding in findings(&Noise(seed), kind) {
                let because = finding.state.because().unwrap_or_default();
                let texts = finding.evidence.iter().flat_map(|e| [e.source.as_str(), e.value.as_str()]).chain([because]);
                for text in texts {
                    prop_assert!(!text.contains(char::is_control) && text.len() < 1500, "{}: {text:?}", finding.id);
                }
                if matches!(finding.state, State::Good | State::Bad) {
                    prop_assert!(!finding.evidence.is_empty(), "{} has no evidence", finding.id);
                }
            }
        }
    }
}

#[test]
fn absence_is_believed_only_where_one_can_see() {
    let mut tree = MemTree::new();
    let missing = Missing::CannotBe("no such thing");
    let ask = |tree: &MemTree| {
        let (machine, need) = (Machine::read(tree), Need::default());
        Case::new(tree, &machine, &need).text("/sys/kernel/mm/ksm/run", missing)
    };
    assert_eq!(ask(&tree), Doubt::unknown("/sys/kernel cannot be seen here"));
    tree.file("/sys/kernel/rcu_normal", Fact::Known(b"1\n".to_vec()));
    assert_eq!(ask(&tree), Doubt::not_applicable("no such thing"));
}

#[test]
fn advice_names_no_cpus_that_are_not_there() {
    let said = |online: &str| {
        let text = format!(
            "/sys/devices/system/cpu/online = {online}\n/proc/sys/kernel/soft_watchdog = 1\n\
             /proc/sys/kernel/watchdog_cpumask = {online}"
        );
        told("wd.soft", &text, &on("0-1"))
    };
    let (fix, lasting) = said("0-3");
    assert_eq!(fix, "sysctl kernel.watchdog_cpumask=2-3");
    assert!(lasting.contains("watchdog_cpumask = 2-3"), "{lasting}");
    let (fix, lasting) = said("0-1");
    assert_eq!(fix, "sysctl kernel.soft_watchdog=0");
    assert!(!lasting.contains("OTHER-CPUS"), "{lasting}");
}

#[test]
fn cpus_that_are_not_known_are_asked_in_vain_even_to_be_shown() {
    let tree = MemTree::parse("punctual-machine 1\n/sys/devices/system/cpu/isolated ! denied\n").unwrap();
    let (machine, need) = (Machine::read(&tree), Need::default());
    let case = Case::new(&tree, &machine, &need);
    case.forget();
    case.note("real-time CPUs", case.rt().to_string());
    assert!(matches!(case.settled(Ok(State::Good)), Err(Doubt::Unknown(_))));
}

/// A machine that counts how often the file at `path` is read.
struct Counted<'a> {
    tree: &'a MemTree,
    path: &'static str,
    reads: std::cell::Cell<u32>,
}

impl Tree for Counted<'_> {
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        self.reads.set(self.reads.get() + u32::from(path == self.path));
        self.tree.read(path)
    }
    fn list(&self, path: &str) -> Fact<Vec<String>> {
        self.tree.list(path)
    }
    fn link(&self, path: &str) -> Fact<String> {
        self.tree.link(path)
    }
}

#[test]
fn a_weight_that_follows_from_other_knobs_judges_none_of_them_again() {
    let text = "punctual-machine 1\n/sys/devices/system/cpu/online = 0-3\n/sys/devices/system/cpu/isolated = 2-3\n\
                /proc/irq/default_smp_affinity = f\n/proc/cmdline = isolcpus=2-3\n";
    let tree = MemTree::parse(text).unwrap();
    let counted = Counted { tree: &tree, path: "/proc/irq/default_smp_affinity", reads: std::cell::Cell::default() };
    let (machine, need) = (Machine::read(&tree), Need::default());
    let case = Case::new(&counted, &machine, &need);
    let knob = super::find("agree.requested").unwrap();
    let severity = || knob.severity.here(&case, Severity::High);
    assert_eq!(severity(), Severity::Info);
    let reads = counted.reads.get();
    assert_eq!((severity(), counted.reads.get()), (Severity::Info, reads));
    assert!(reads > 0);
}

/// Every word in capitals must be a blank that a person fills, since any other text is written to the machine
/// unchanged.
#[test]
fn what_a_person_has_to_choose_is_a_blank() {
    use super::{Part, Setting, Value};
    let mut blanks = 0_usize;
    for place in ALL.iter().flat_map(super::Knob::places) {
        let (Lasting::Word(text) | Lasting::Limit(text) | Lasting::Set(Setting { value: Value::Text(text), .. })) =
            place
        else {
            continue;
        };
        blanks += text.parts().filter(|part| matches!(part, Part::Blank(_))).count();
        for part in text.parts() {
            let Part::Text(plain) = part else { continue };
            let is_capitals = |word: &str| word.len() >= 4;
            let mut words = plain.split(|c: char| !c.is_ascii_uppercase() && c != '_');
            assert!(!words.any(is_capitals), "{}", place.anywhere());
        }
    }
    assert!(blanks >= 6, "only {blanks}");
}
