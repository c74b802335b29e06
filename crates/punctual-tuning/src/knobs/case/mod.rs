//! What a probe works with: one machine, one need, and a record of everything the probe looked at.
//!
//! The files that a probe reads through its case become evidence, so a finding cannot make claims about files that were
//! not read. A probe that cannot decide returns a [`Doubt`], so a missing or refused file never leads to a guess.

mod chosen;
mod counts;
mod lines;
mod tasks;
mod told;

pub(crate) use counts::{CpuCount, INTERRUPTS_LATER, InterruptCounts, device_lines, out_of_band_lines};
pub(crate) use lines::InterruptLine;
pub(crate) use tasks::{DEADLINE, FIFO, KERNEL_THREAD, RR};
pub use tasks::{TASKS, Task};
pub(crate) use told::{FAIR_SERVER_SINCE, ROLES_SWAPPED, SOUND_TSC};

use super::template::{Part, Template};
use super::{Knob, Resort};
use chosen::Chosen;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::fact::{Fact, printable};
use punctual_facts::finding::{Evidence, State, WhyUnknown};
use punctual_facts::lint::{self, Target, Word};
use punctual_facts::machine::{
    Arch, CMDLINE, Configured, CoreState, Flavour, ISOLATED, Machine, NOHZ_FULL, SecondKernel, Version, Virtualisation,
    configured,
};
use punctual_facts::profile::{Kind, Need};
use punctual_facts::tree::{self, Tree};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use tasks::TaskList;

const CHOOSE: &str = "Choose CPUS first, and leave at least one out.";
/// The length, in characters, to which a value is cut when it is shown as evidence. The beginning of a longer value is
/// enough to recognise it.
const EVIDENCE_CHARS: usize = 160;

/// The counts of every interrupt on each CPU. The reader of the live machine supplies a later reading of the same file
/// under `punctual:/later`.
pub(crate) const INTERRUPTS: &str = "/proc/interrupts";

const NO_CPUS: &str = "which CPUs are online is not known";

/// The kernel's log since boot. The reader of the live machine supplies it.
pub(crate) const LOG: &str = "punctual:/kernel/log";

/// The verdict of a probe: `Ok(true)` is good and `Ok(false)` is bad.
pub type Judged = Result<bool, Doubt>;

/// Why a knob has no verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The state cannot be determined; the text is the reason.
    Unknown(WhyUnknown),
    /// The knob makes no difference on this machine; the text is the reason.
    NotApplicable(String),
}

impl Doubt {
    pub fn unknown<T>(because: impl Into<WhyUnknown>) -> Result<T, Self> {
        Err(Self::Unknown(because.into()))
    }

    pub fn not_applicable<T>(because: impl Into<String>) -> Result<T, Self> {
        Err(Self::NotApplicable(because.into()))
    }

    /// Fails with [`Doubt::Unknown`] if the condition `holds`.
    pub fn unknown_if(holds: bool, because: impl Into<WhyUnknown>) -> Result<(), Self> {
        if holds { Self::unknown(because) } else { Ok(()) }
    }

    /// Fails with [`Doubt::NotApplicable`] if the condition `holds`.
    pub fn not_applicable_if(holds: bool, because: impl Into<String>) -> Result<(), Self> {
        if holds { Self::not_applicable(because) } else { Ok(()) }
    }
}

/// The result with `value` in place of the doubt that something is not there, for things whose absence is an answer.
pub fn or_absent<T>(result: Result<T, Doubt>, value: T) -> Result<T, Doubt> {
    match result {
        Err(Doubt::NotApplicable(_)) => Ok(value),
        result => result,
    }
}

/// The verdict that follows if a file does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The feature that the file controls is absent, so the knob does not apply; the text is the reason. This is
    /// believed only if the folders above the file can be listed.
    CannotBe(&'static str),
    /// A missing file proves nothing, so the state is unknown; the text is the reason.
    TellsNothing(&'static str),
}

/// A value that is read once for all callers, and the path that was refused while the value was read, if any.
pub(crate) type Kept<T> = OnceCell<(T, Option<String>)>;

/// CPUs whose files hold the same value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfCpus {
    pub cpus: CpuSet,
    pub value: String,
}

pub struct Case<'a> {
    tree: &'a dyn Tree,
    pub machine: &'a Machine,
    pub need: &'a Need,
    rt: Chosen,
    housekeeping: Chosen,
    evidence: RefCell<Vec<Evidence>>,
    refused: RefCell<Option<String>>,
    tasks: Kept<Fact<TaskList>>,
    cpuinfo: Kept<Fact<String>>,
    lines: Kept<Result<Vec<InterruptLine>, Doubt>>,
    configured: Kept<Vec<Configured>>,
    interrupts: Kept<Fact<String>>,
    words: Kept<Option<Vec<Word>>>,
    verdicts: RefCell<BTreeMap<&'static str, bool>>,
}

impl<'a> Case<'a> {
    pub fn new(tree: &'a dyn Tree, machine: &'a Machine, need: &'a Need) -> Self {
        let online = machine.topology.online.known().cloned().unwrap_or_default();
        let rt = match (&need.cpus, &machine.isolated) {
            (asked, _) if !asked.is_empty() => asked.clone(),
            (_, Fact::Known(isolated)) if !isolated.is_empty() => isolated.clone(),
            (_, Fact::Known(_) | Fact::Absent) => online.clone(),
            // A refused or malformed list of isolated CPUs may hide some, so the real-time CPUs are not known.
            (_, Fact::Denied | Fact::Garbled(_)) => CpuSet::new(),
        };
        let is_known = !rt.is_empty();
        let housekeeping = Chosen::new(online.difference(&rt), is_known && !online.is_empty());
        Self {
            tree,
            machine,
            need,
            rt: Chosen::new(rt, is_known),
            housekeeping,
            evidence: RefCell::default(),
            refused: RefCell::default(),
            tasks: OnceCell::new(),
            cpuinfo: OnceCell::new(),
            lines: OnceCell::new(),
            configured: OnceCell::new(),
            interrupts: OnceCell::new(),
            words: OnceCell::new(),
            verdicts: RefCell::default(),
        }
    }

    /// Returns this case with other housekeeping CPUs, for a plan that takes the remaining CPUs offline.
    #[must_use]
    pub(crate) fn keeping_house(self, cpus: CpuSet) -> Self {
        let is_known = !cpus.is_empty();
        Self { housekeeping: Chosen::new(cpus, is_known), ..self }
    }

    /// The real-time CPUs. If they are not known, the set is empty, and [`Case::settled`] turns a verdict that used it
    /// into unknown.
    pub fn rt(&self) -> &CpuSet {
        self.rt.ask()
    }

    /// The CPUs that remain for everything else. If they are not known, the set is empty, and [`Case::settled`] turns a
    /// verdict that used it into unknown.
    pub fn housekeeping(&self) -> &CpuSet {
        self.housekeeping.ask()
    }

    /// The real-time CPUs. Fails if they are not known.
    pub fn known_rt(&self) -> Result<&CpuSet, Doubt> {
        Doubt::unknown_if(self.rt().is_empty(), NO_CPUS)?;
        Ok(self.rt())
    }

    /// Those of `cpus` that are housekeeping CPUs. If there are none, all housekeeping CPUs.
    pub(crate) fn kept_off(&self, cpus: &CpuSet) -> CpuSet {
        let kept = cpus.intersection(self.housekeeping());
        if kept.is_empty() { self.housekeeping().clone() } else { kept }
    }

    /// The first of the real-time CPUs. Fails if they are not known.
    pub fn first_rt(&self) -> Result<u32, Doubt> {
        self.rt().first().map_or_else(|| Doubt::unknown(NO_CPUS), Ok)
    }

    /// Returns the evidence gathered since the last call, and removes it from the case.
    pub fn take_evidence(&self) -> Vec<Evidence> {
        self.evidence.take()
    }

    /// Discards the evidence, the refusals, and the record that unknown CPUs were asked for.
    pub fn forget(&self) {
        self.evidence.take();
        self.refused.take();
        self.asked_in_vain();
    }

    /// Whether a probe asked for real-time or housekeeping CPUs that are not known.
    fn asked_in_vain(&self) -> bool {
        self.rt.take_asked_in_vain() | self.housekeeping.take_asked_in_vain()
    }

    /// Turns a verdict into unknown if the probe asked for CPUs that are not known, or if a file was refused to it,
    /// since the content of that file might have changed the verdict.
    pub fn settled(&self, judged: Result<State, Doubt>) -> Result<State, Doubt> {
        let (refused, is_in_vain) = (self.refused.take(), self.asked_in_vain());
        match (judged, refused) {
            (Err(Doubt::Unknown(because)), _) => Doubt::unknown(because),
            (Ok(State::Good | State::Bad) | Err(_), _) if is_in_vain => Doubt::unknown(NO_CPUS),
            (_, Some(path)) => Doubt::unknown(self.refusal(&format!("reading {path}"))),
            (judged, None) => judged,
        }
    }

    /// Judges a knob, and remembers the verdict for [`Case::is_bad`].
    pub(crate) fn judge(&self, knob: &Knob) -> Result<State, Doubt> {
        let judged = self.settled(knob.judge(self));
        self.verdicts.borrow_mut().insert(knob.id, judged == Ok(State::Bad));
        judged
    }

    /// Whether a knob is bad on this machine. The knob is judged at most once, and the files read for that do not
    /// become evidence of the caller.
    pub(crate) fn is_bad(&self, id: &str) -> bool {
        if let Some(is_bad) = self.verdicts.borrow().get(id) {
            return *is_bad;
        }
        let (evidence, was_in_vain) = (self.evidence.take(), self.asked_in_vain());
        let judged = self.aside(|case| super::find(id).map(|knob| case.judge(knob)));
        self.evidence.replace(evidence);
        if was_in_vain {
            self.rt.ask();
            self.housekeeping.ask();
        }
        judged == Some(Ok(State::Bad))
    }

    /// Returns the verdict "bad" if the files read so far prove it, and forgets refusals, which can no longer change
    /// it.
    pub fn bad_anyway(&self) -> Judged {
        self.refused.take();
        Ok(false)
    }

    /// Remembers `path` if reading it was refused, which later makes the verdict unknown. [`Case::aside`] is for files
    /// that only repeat other evidence.
    pub(crate) fn seen<T>(&self, path: &str, fact: Fact<T>) -> Fact<T> {
        if matches!(fact, Fact::Denied) {
            self.refused.borrow_mut().get_or_insert_with(|| path.to_owned());
        }
        fact
    }

    /// The reason for which a state is unknown after reading was refused. It does not tell a caller who is root already to become root.
    pub(crate) fn refusal(&self, look: &str) -> WhyUnknown {
        if self.reads_as_root() {
            format!("{look} is refused, even to root: a container, kernel lockdown or a mount option prevents it")
                .into()
        } else {
            WhyUnknown::refused(look)
        }
    }

    /// Whether the process that reads is known to run as root (its effective user).
    fn reads_as_root(&self) -> bool {
        let status = tree::text(self.tree, "/proc/self/status");
        let users = status.known().and_then(|status| status.lines().find_map(|line| line.strip_prefix("Uid:")));
        users.is_some_and(|users| users.split_whitespace().nth(1) == Some("0"))
    }

    /// Reads a value once. If a file was refused meanwhile, the refusal counts for every caller, not only for the
    /// first.
    pub(crate) fn kept<'k, T>(&self, kept: &'k Kept<T>, read: impl FnOnce() -> T) -> &'k T {
        let (value, refused) = kept.get_or_init(|| {
            let before = self.refused.take();
            let value = read();
            (value, self.refused.replace(before))
        });
        if let Some(path) = refused {
            self.seen(path, Fact::<()>::Denied);
        }
        value
    }

    /// Reads files that only explain or repeat other evidence: a refusal of these files does not turn the verdict into
    /// unknown.
    pub fn aside<T>(&self, look: impl FnOnce(&Self) -> T) -> T {
        let before = self.refused.take();
        let found = look(self);
        self.refused.replace(before);
        found
    }

    /// Fills the blanks of a text of the catalogue with the CPUs of this case.
    pub fn fill(&self, text: Template<'_>) -> String {
        let list = |set: &CpuSet, none: &str| if set.is_empty() { none.to_owned() } else { set.to_string() };
        // If every CPU is a real-time CPU, no CPU can be isolated from others: the text then says to choose CPUs first.
        let chooses = self.has_no_others() && text.parts().any(|part| part == Part::CpusApart);
        let filled = text.filled(|part| match part {
            Part::Cpus | Part::CpusApart if chooses => "CPUS".to_owned(),
            Part::Cpus | Part::CpusApart => list(self.rt(), "CPUS"),
            Part::Housekeeping => list(self.housekeeping(), "OTHER-CPUS"),
            Part::HousekeepingMask if self.housekeeping().is_empty() => "MASK".to_owned(),
            Part::HousekeepingMask => self.housekeeping().mask(),
            Part::Blank(text) | Part::Text(text) => text.to_owned(),
        });
        if chooses { format!("{}. {CHOOSE}", filled.trim_end_matches('.')) } else { filled }
    }

    /// The filled text; `None` if a blank is left for a person to fill, or if the CPUs it names are not known.
    pub fn fill_whole(&self, text: Template<'_>) -> Option<String> {
        let is_open = |part: Part<'_>| match part {
            Part::Text(_) => false,
            Part::Cpus => self.rt().is_empty(),
            Part::CpusApart => self.rt().is_empty() || self.has_no_others(),
            Part::Housekeeping | Part::HousekeepingMask => self.housekeeping().is_empty(),
            Part::Blank(_) => true,
        };
        (!text.parts().any(is_open)).then(|| self.fill(text))
    }

    /// Whether every online CPU is a real-time CPU; `false` if the CPUs are not known.
    pub fn has_no_others(&self) -> bool {
        self.knows_others() && self.housekeeping().is_empty()
    }

    /// The use of this program to suggest if every CPU is a real-time CPU; `None` otherwise.
    pub fn resort(&self) -> Option<Resort> {
        (self.has_no_others() && self.rt().len() > 1).then_some(Resort::ChooseCpus)
    }

    /// Whether the housekeeping CPUs are known; the set may be empty.
    fn knows_others(&self) -> bool {
        !self.rt().is_empty() && self.online().is_some_and(|online| !online.is_empty())
    }

    pub fn note(&self, source: impl Into<String>, value: impl Into<String>) {
        let value = printable(&value.into(), EVIDENCE_CHARS);
        self.evidence.borrow_mut().push(Evidence { source: printable(&source.into(), EVIDENCE_CHARS), value });
    }

    /// Adds a fact to the evidence: its value, or the reason why its value is not known.
    pub fn cite(&self, path: &str, fact: &Fact<String>) {
        match fact {
            Fact::Known(value) if value.trim().is_empty() => self.note(path, "(empty)"),
            Fact::Known(value) => self.note(path, value.trim().replace('\n', "; ")),
            other => self.note(path, other.trouble().unwrap_or_default()),
        }
    }

    /// Reads the text of a file without adding it to the evidence.
    pub fn peek(&self, path: &str) -> Fact<String> {
        self.seen(path, tree::text(self.tree, path))
    }

    /// Reads the text of a file without adding it to the evidence. Fails with the doubt that `missing` defines if there
    /// is no text.
    pub fn content(&self, path: &str, missing: Missing) -> Result<String, Doubt> {
        self.known(path, self.peek(path), missing)
    }

    /// Like [`Case::content`], but if the file cannot be read, the reason is added to the evidence.
    pub(crate) fn content_or_trouble(&self, path: &str, missing: Missing) -> Result<String, Doubt> {
        let fact = self.peek(path);
        if let Some(trouble) = fact.trouble() {
            self.note(path, trouble);
        }
        self.known(path, fact, missing)
    }

    /// Lists the names in a folder without adding them to the evidence. Fails with the doubt that `missing` defines if
    /// they are not known.
    pub fn names(&self, folder: &str, missing: Missing) -> Result<Vec<String>, Doubt> {
        self.known(folder, self.list(folder), missing)
    }

    /// Returns the verdict "good" if `found` is empty. The evidence is `found`, or the text `none` if `found` is empty.
    pub fn none_found(&self, source: impl Into<String>, found: String, none: impl Into<String>) -> Judged {
        let is_none = found.is_empty();
        self.note(source, if is_none { none.into() } else { found });
        Ok(is_none)
    }

    pub fn peek_bytes(&self, path: &str) -> Fact<Vec<u8>> {
        self.seen(path, self.tree.read(path))
    }

    pub fn list(&self, path: &str) -> Fact<Vec<String>> {
        self.seen(path, self.tree.list(path))
    }

    /// The value of a fact. Fails with the doubt that `missing` defines if the value is not known.
    pub fn known<T>(&self, path: &str, fact: Fact<T>, missing: Missing) -> Result<T, Doubt> {
        match (fact, missing) {
            (Fact::Known(value), _) => Ok(value),
            (Fact::Absent, Missing::CannotBe(because)) => match self.blind_around(path) {
                None => Doubt::not_applicable(because),
                Some(place) => Doubt::unknown(format!("{place} cannot be seen here")),
            },
            (Fact::Absent, Missing::TellsNothing(because)) => Doubt::unknown(because),
            (Fact::Denied, _) => {
                self.seen(path, Fact::<()>::Denied);
                Doubt::unknown(self.refusal(&format!("reading {path}")))
            }
            (Fact::Garbled(why), _) => Doubt::unknown(format!("{path}: {why}")),
        }
    }

    /// The folder that leads to the path, at most two levels below the root, if that folder cannot be listed. The
    /// absence of the path then proves nothing.
    fn blind_around(&self, path: &str) -> Option<String> {
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let folders = parts.len().saturating_sub(1).min(2);
        if path.starts_with("punctual:") || folders == 0 {
            return Some(path.to_owned());
        }
        let folder = format!("/{}", parts[..folders].join("/"));
        let seen = self.list(&folder).known().is_some_and(|names| !names.is_empty());
        (!seen).then_some(folder)
    }

    /// Reads the text of a file and adds it to the evidence. The methods `number`, `cpu_list`, `cpu_mask` and `marked`
    /// add it, too.
    pub fn text(&self, path: &str, missing: Missing) -> Result<String, Doubt> {
        let fact = self.peek(path);
        self.cite(path, &fact);
        self.known(path, fact, missing)
    }

    pub fn number(&self, path: &str, missing: Missing) -> Result<i64, Doubt> {
        let text = self.text(path, missing)?;
        text.trim().parse().or_else(|_| Doubt::unknown(format!("{path} holds '{}', not a number", text.trim())))
    }

    pub fn cpu_list(&self, path: &str, missing: Missing) -> Result<CpuSet, Doubt> {
        let text = self.text(path, missing)?;
        let list = if text.trim() == "(null)" { "" } else { text.trim() };
        CpuSet::parse_list(list).or_else(|e| Doubt::unknown(format!("{path}: {e}")))
    }

    /// The CPUs that a file lists. If there is no such file, there are none, and the file is no evidence.
    pub fn cpu_list_if_there(&self, path: &str) -> Result<CpuSet, Doubt> {
        let is_there = self.peek(path).known().is_some();
        if is_there { self.cpu_list(path, Missing::TellsNothing("not there")) } else { Ok(CpuSet::new()) }
    }

    pub fn cpu_mask(&self, path: &str, missing: Missing) -> Result<CpuSet, Doubt> {
        let text = self.text(path, missing)?;
        CpuSet::parse_mask(&text).or_else(|e| Doubt::unknown(format!("{path}: {e}")))
    }

    /// The word in brackets in a file that lists all choices and marks the one in force: `a [b] c`.
    pub fn marked(&self, path: &str, missing: Missing) -> Result<String, Doubt> {
        let text = self.text(path, missing)?;
        let word = marked(&text).map(str::to_owned);
        word.map_or_else(|| Doubt::unknown(format!("{path} marks no choice: '{text}'")), Ok)
    }

    /// The values of a file that every real-time CPU has in its own folder, grouped as by [`Case::per_cpu`].
    pub fn of_rt(&self, file: &str, missing: Missing) -> Result<Vec<OfCpus>, Doubt> {
        self.per_cpu(&format!("/sys/devices/system/cpu/cpu{{cpu}}/{file}"), self.rt(), missing)
    }

    /// The values of files that exist once per CPU; `{cpu}` in the path stands for the number of the CPU. CPUs with
    /// equal values are one entry.
    pub fn per_cpu(&self, path: &str, cpus: &CpuSet, missing: Missing) -> Result<Vec<OfCpus>, Doubt> {
        let mut values: BTreeMap<String, CpuSet> = BTreeMap::new();
        for cpu in cpus.iter() {
            let one = path.replace("{cpu}", &cpu.to_string());
            let fact = self.peek(&one);
            if !matches!(fact, Fact::Known(_)) {
                self.cite(&one, &fact);
            }
            values.entry(self.known(&one, fact, missing)?).or_default().insert(cpu);
        }
        for (value, cpus) in &values {
            let numbers = if cpus.len() == 1 { cpus.to_string() } else { format!("[{cpus}]") };
            self.cite(&path.replace("{cpu}", &numbers), &Fact::Known(value.clone()));
        }
        Doubt::unknown_if(values.is_empty(), NO_CPUS)?;
        Ok(values.into_iter().map(|(value, cpus)| OfCpus { cpus, value }).collect())
    }

    pub fn config(&self, option: &str) -> Result<String, Doubt> {
        let config = &self.machine.config;
        let value = config.value(option);
        self.cite(&format!("{} CONFIG_{option}", config.source), &value);
        match value {
            Fact::Known(value) => Ok(value),
            other => Doubt::unknown(format!(
                "the kernel's configuration is not known ({}: {})",
                config.source,
                other.trouble().unwrap_or_default()
            )),
        }
    }

    /// Fails if no housekeeping CPU remains, or if the housekeeping CPUs are not known.
    pub fn has_housekeeping(&self) -> Result<(), Doubt> {
        Doubt::unknown_if(!self.knows_others(), NO_CPUS)?;
        if !self.housekeeping().is_empty() {
            return Ok(());
        }
        Doubt::not_applicable_if(self.rt().len() == 1, "there is one CPU, and nowhere to move anything to")?;
        Doubt::not_applicable(format!(
            "all CPUs ({}) are meant for real-time work, so there is nowhere to move anything to; choose fewer to keep \
                some free",
            self.rt()
        ))
    }

    /// The hypervisor and the container around this kernel. Fails if they are not known.
    pub(crate) fn known_virtualisation(&self) -> Result<&Virtualisation, Doubt> {
        let unseen = Missing::TellsNothing("no file here shows whether there is a hypervisor");
        self.known("/proc/cpuinfo", self.machine.virtualisation.as_ref(), unseen)
    }

    /// Fails on a machine that is a virtual guest, since its host controls the hardware.
    pub fn not_a_guest(&self) -> Result<(), Doubt> {
        match self.virtualisation().and_then(|v| v.hypervisor.as_ref()) {
            Some(host) => {
                Doubt::not_applicable(format!("this machine is a guest of {host}; the host controls the hardware"))
            }
            None => Ok(()),
        }
    }

    pub fn flavour(&self) -> Result<Flavour, Doubt> {
        self.known(
            "/proc/sys/kernel/version",
            self.machine.kernel.flavour.clone(),
            Missing::TellsNothing("which kind of kernel this is (PREEMPT_RT or another) is not known"),
        )
    }

    /// The real-time core beside Linux. Fails if there is none.
    pub fn second_kernel(&self) -> Result<&SecondKernel, Doubt> {
        if let Fact::Known(Some(core)) = &self.machine.second_kernel {
            return Ok(core);
        }
        self.flavour()?;
        Doubt::not_applicable("there is no second kernel (Cobalt or EVL)")
    }

    /// What the core of the second kernel does.
    pub fn core_state(&self) -> Result<CoreState, Doubt> {
        let core = self.second_kernel()?;
        let missing = Missing::TellsNothing(
            "neither the files of the real-time core (Cobalt or EVL) nor the kernel's log tell whether it runs",
        );
        self.known(core.state_path(), core.state().clone(), missing)
    }

    pub fn version(&self) -> Result<Version, Doubt> {
        self.known(
            "/proc/sys/kernel/osrelease",
            self.machine.kernel.version.clone(),
            Missing::TellsNothing("the kernel's version is not known"),
        )
    }

    /// The CPUs isolated at boot; empty on kernels without isolation.
    pub fn isolated(&self) -> Result<CpuSet, Doubt> {
        self.set_or_none(ISOLATED, &self.machine.isolated)
    }

    /// The CPUs that may stop their tick; empty on kernels that cannot stop it.
    pub fn tick_free(&self) -> Result<CpuSet, Doubt> {
        self.set_or_none(NOHZ_FULL, &self.machine.nohz_full)
    }

    fn set_or_none(&self, path: &str, fact: &Fact<CpuSet>) -> Result<CpuSet, Doubt> {
        match fact {
            Fact::Absent => Ok(CpuSet::new()),
            other => self.known(path, other.clone(), Missing::TellsNothing("not there")),
        }
    }

    pub fn is(&self, kind: Kind) -> bool {
        self.need.kind == kind
    }

    pub fn only_for(&self, kind: Kind, because: &str) -> Result<(), Doubt> {
        if self.is(kind) { Ok(()) } else { Doubt::not_applicable(because) }
    }

    pub fn not_for(&self, kind: Kind, because: &str) -> Result<(), Doubt> {
        if self.is(kind) { Doubt::not_applicable(because) } else { Ok(()) }
    }

    /// Whether the command line has this word. A word on the command line does not prove that its effect is in force,
    /// so callers may use it only to explain a doubt.
    pub fn requested(&self, word: &str) -> bool {
        self.cmdline().is_some_and(|line| line.value(word).is_some())
    }

    /// The words of the command line with the linter's verdicts, computed once; `None` if the line or the kernel is not
    /// known.
    pub(crate) fn words(&self) -> Option<&[Word]> {
        let judge = || {
            let line = self.peek_bytes(CMDLINE);
            self.possible();
            let target = Target::of(self.machine)?;
            Some(lint::lint(line.known()?, &target, &lint::Testimony::live(self, self.machine)))
        };
        self.kept(&self.words, judge).as_deref()
    }

    /// Whether the kernel's log still holds the message that lists the words of the command line unknown to the kernel.
    pub(crate) fn log_lists_unknown_words(&self) -> bool {
        lint::Testimony::live(self.tree, self.machine).lists_unknown()
    }

    /// The list of tasks, read once, because many knobs need it and no other file of a live machine takes longer to
    /// produce.
    fn task_list(&self) -> &Fact<TaskList> {
        self.kept(&self.tasks, || self.peek(TASKS).map(|list| TaskList::parse(&list)))
    }

    pub fn link(&self, path: &str) -> Fact<String> {
        self.seen(path, self.tree.link(path))
    }

    /// The value of a word of the command line: `""` if the word stands there without a value, `None` if it is missing.
    /// Use it only for settings that no file of the kernel shows and that cannot change after boot.
    pub fn word(&self, name: &str) -> Result<Option<String>, Doubt> {
        let missing = Missing::TellsNothing("this boot's kernel command line is not shown");
        let line = self.known(CMDLINE, self.machine.cmdline.clone(), missing)?;
        let value = line.value(name).map(str::to_owned);
        self.note(
            CMDLINE,
            match value.as_deref() {
                None => format!("no {name}"),
                Some("") => name.to_owned(),
                Some(value) => format!("{name}={value}"),
            },
        );
        Ok(value)
    }

    pub fn only_on(&self, arch: Arch, because: &str) -> Result<(), Doubt> {
        let missing = Missing::TellsNothing("the architecture is not known");
        let here = self.known("/proc/sys/kernel/arch", self.machine.kernel.arch.clone(), missing)?;
        if here == arch { Ok(()) } else { Doubt::not_applicable(because) }
    }

    /// The value of a field of the first CPU in `/proc/cpuinfo`, read once, because large machines take long to produce
    /// that file.
    pub fn cpu_field(&self, name: &str) -> Result<String, Doubt> {
        let path = "/proc/cpuinfo";
        let info = self.kept(&self.cpuinfo, || self.peek(path)).as_ref().and_then(|info| {
            let first = info.lines().take_while(|line| !line.trim().is_empty());
            let mut fields = first.filter_map(|line| line.split_once(':'));
            let field = fields.find(|(field, _)| field.trim() == name);
            field.map_or(Fact::Absent, |(_, value)| Fact::Known(value.trim().to_owned()))
        });
        let because = format!("{path} does not tell the CPU's {name}");
        match info {
            Fact::Absent => Doubt::unknown(because),
            other => self.known(path, other, Missing::TellsNothing("the CPU is not described")),
        }
    }

    /// Whether the first CPU has this flag, with the answer as evidence.
    pub fn cpu_flag(&self, flag: &str) -> Result<bool, Doubt> {
        let has = self.cpu_field("flags")?.split_whitespace().any(|f| f == flag);
        self.note("/proc/cpuinfo flags", if has { flag.to_owned() } else { format!("no {flag}") });
        Ok(has)
    }

    /// Reads the interrupt counts for the first time. Callers do so before any probe runs, so that enough time passes
    /// until the second reading.
    pub fn begin(&self) {
        if self.has_housekeeping().is_ok() {
            self.interrupts();
        }
    }

    /// The interrupt counts of the first reading.
    pub(crate) fn interrupts(&self) -> &Fact<String> {
        self.kept(&self.interrupts, || self.peek(INTERRUPTS))
    }

    /// The kernel command lines in the boot loader's files, read once and not kept as evidence.
    pub fn configured(&self) -> &[Configured] {
        let places: &Vec<Configured> = self.kept(&self.configured, || {
            let release = self.machine.kernel.release.known().map(String::as_str);
            configured(self, &self.machine.boot, release)
        });
        places
    }

    /// Whether the folder around a path can be listed and contains the path's last part.
    pub fn exists(&self, path: &str) -> bool {
        let (folder, name) = path.trim_end_matches('/').rsplit_once('/').unwrap_or(("", path));
        let names = self.list(if folder.is_empty() { "/" } else { folder });
        names.known().is_some_and(|names| names.iter().any(|n| n == name))
    }
}

/// Functions of other modules read files through the case as through any tree, so that the case remembers files refused
/// to them, too.
impl Tree for Case<'_> {
    /// A refusal of the kernel's log is not remembered: nearly every user is refused the log, and other files show the
    /// same facts. A knob that depends on the log alone reads it with [`Case::peek`].
    fn read(&self, path: &str) -> Fact<Vec<u8>> {
        if path == LOG { self.tree.read(path) } else { self.peek_bytes(path) }
    }
    fn list(&self, path: &str) -> Fact<Vec<String>> {
        Case::list(self, path)
    }
    fn link(&self, path: &str) -> Fact<String> {
        Case::link(self, path)
    }
}

/// The word in brackets or parentheses in a file that lists all choices and marks the one in force: `a [b] c`.
pub(crate) fn marked(text: &str) -> Option<&str> {
    text.split(['[', '(']).nth(1).and_then(|rest| rest.split([']', ')']).next())
}
