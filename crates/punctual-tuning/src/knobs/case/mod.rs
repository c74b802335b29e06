//! What a probe works with: one machine, one need, and a record of everything it looked at.
//!
//! Whatever a probe reads through its case becomes evidence, so a finding cannot claim what was not read. Doubt has
//! one way out, [`Doubt`], and `?` takes it: a missing or refused file never becomes a guess.

mod chosen;
mod counts;
mod lines;
mod tasks;
mod told;

pub(crate) use counts::INTERRUPTS_LATER;
pub(crate) use lines::Line;
pub use tasks::{TASKS, Task};
pub(crate) use told::{ROLES_SWAPPED, SOUND_TSC};

use super::Knob;
use super::template::{Part, Template};
use chosen::Chosen;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::fact::{Fact, printable};
use punctual_facts::finding::{Evidence, ROOT_MAY, State};
use punctual_facts::lint::{self, Target, Word};
use punctual_facts::machine::{Arch, CMDLINE, Configured, Flavour, ISOLATED, Machine, NOHZ_FULL, Version, configured};
use punctual_facts::profile::{Kind, Need};
use punctual_facts::tree::{self, Tree};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use tasks::TaskList;

/// What sets CPUs apart from others, and therefore never all of them.
const SETS_APART: [&str; 3] = ["isolcpus=", "nohz_full=", "cpuset.cpus"];
const CHOOSE: &str = "(choose CPUS first, with --cpus, and leave at least one out).";
/// Longest value shown as evidence; more of it proves nothing more.
const EVIDENCE_CHARS: usize = 160;

/// How often each interrupt came on each CPU; the same under `punctual:/later` is a later look.
pub(crate) const INTERRUPTS: &str = "/proc/interrupts";

/// Why nothing can be said of CPUs.
const NO_CPUS: &str = "which CPUs are online is not known";

/// What the kernel said since it was booted; whoever reads the live machine puts it there.
pub(crate) const LOG: &str = "punctual:/kernel/log";

/// `Ok(true)` is good, `Ok(false)` is bad.
pub type Judged = Result<bool, Doubt>;

/// Why a knob has no verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// It could not be told.
    Unknown(String),
    /// It makes no difference here.
    NotApplicable(String),
}

impl Doubt {
    /// Could not be told, because of this.
    pub fn unknown<T>(because: impl Into<String>) -> Result<T, Self> {
        Err(Self::Unknown(because.into()))
    }

    /// Makes no difference here, because of this.
    pub fn not_applicable<T>(because: impl Into<String>) -> Result<T, Self> {
        Err(Self::NotApplicable(because.into()))
    }

    /// Goes on unless this holds, in which case it could not be told.
    pub fn unknown_if(holds: bool, because: impl Into<String>) -> Result<(), Self> {
        if holds { Self::unknown(because) } else { Ok(()) }
    }

    /// Goes on unless this holds, in which case it makes no difference here.
    pub fn not_applicable_if(holds: bool, because: impl Into<String>) -> Result<(), Self> {
        if holds { Self::not_applicable(because) } else { Ok(()) }
    }
}

/// What it means when a file is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The thing itself is not there, because of this. Believed only where the file system around it can be seen.
    CannotBe(&'static str),
    /// Nothing follows from it, because of this.
    TellsNothing(&'static str),
}

/// What is read once for all who ask, and what was refused meanwhile.
pub(crate) type Kept<T> = OnceCell<(T, Option<String>)>;

/// One machine and one need, as a probe sees them.
pub struct Case<'a> {
    tree: &'a dyn Tree,
    /// The machine.
    pub machine: &'a Machine,
    /// The need.
    pub need: &'a Need,
    rt: Chosen,
    housekeeping: Chosen,
    evidence: RefCell<Vec<Evidence>>,
    refused: RefCell<Option<String>>,
    tasks: Kept<Fact<TaskList>>,
    cpuinfo: Kept<Fact<String>>,
    lines: Kept<Result<Vec<Line>, Doubt>>,
    configured: Kept<Vec<Configured>>,
    interrupts: Kept<Fact<String>>,
    words: Kept<Option<Vec<Word>>>,
    verdicts: RefCell<BTreeMap<&'static str, bool>>,
}

impl<'a> Case<'a> {
    /// A case in which nothing was looked at yet.
    pub fn new(tree: &'a dyn Tree, machine: &'a Machine, need: &'a Need) -> Self {
        let online = machine.topology.online.known().cloned().unwrap_or_default();
        let rt = match (&need.cpus, &machine.isolated) {
            (asked, _) if !asked.is_empty() => asked.clone(),
            (_, Fact::Known(isolated)) if !isolated.is_empty() => isolated.clone(),
            (_, Fact::Known(_) | Fact::Absent) => online.clone(),
            // Perhaps some are isolated; which ones then do the work is anybody's guess.
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

    /// The same case with these CPUs for everything else, where others of them are about to go off line.
    #[must_use]
    pub(crate) fn keeping_house(self, cpus: CpuSet) -> Self {
        let is_known = !cpus.is_empty();
        Self { housekeeping: Chosen::new(cpus, is_known), ..self }
    }

    /// CPUs for the real-time work; none where that is not known, and then no verdict can rest on the answer.
    pub fn rt(&self) -> &CpuSet {
        self.rt.ask()
    }

    /// The CPUs that remain for everything else; none also where that is not known, and then no verdict can rest on the
    /// answer.
    pub fn housekeeping(&self) -> &CpuSet {
        self.housekeeping.ask()
    }

    /// The CPUs for the real-time work, of which there is at least one.
    pub fn known_rt(&self) -> Result<&CpuSet, Doubt> {
        Doubt::unknown_if(self.rt().is_empty(), NO_CPUS)?;
        Ok(self.rt())
    }

    /// The first of the CPUs for the real-time work.
    pub fn first_rt(&self) -> Result<u32, Doubt> {
        self.rt().first().map_or_else(|| Doubt::unknown(NO_CPUS), Ok)
    }

    /// What was looked at since the last time it was asked.
    pub fn take_evidence(&self) -> Vec<Evidence> {
        self.evidence.take()
    }

    /// Forgets what was looked at, refused or asked in vain.
    pub fn forget(&self) {
        self.evidence.take();
        self.refused.take();
        self.asked_in_vain();
    }

    /// Whether an answer was drawn from CPUs that are not known.
    fn asked_in_vain(&self) -> bool {
        self.rt.take_asked_in_vain() | self.housekeeping.take_asked_in_vain()
    }

    /// A judgement, as far as it can stand. Who was refused a look cannot say what would have been seen there, however
    /// the probe took it, and nothing is said of CPUs nobody knows.
    pub fn settled(&self, judged: Result<State, Doubt>) -> Result<State, Doubt> {
        let (refused, is_in_vain) = (self.refused.take(), self.asked_in_vain());
        match (judged, refused) {
            (Err(Doubt::Unknown(because)), _) => Doubt::unknown(because),
            (Ok(State::Good | State::Bad) | Err(_), _) if is_in_vain => Doubt::unknown(NO_CPUS),
            (_, Some(path)) => Doubt::unknown(self.refusal(&format!("reading {path}"))),
            (judged, None) => judged,
        }
    }

    /// The verdict on a knob, which is remembered for the knobs that weigh less where another one tells the same.
    pub(crate) fn judge(&self, knob: &Knob) -> Result<State, Doubt> {
        let judged = self.settled(knob.judge(self));
        self.verdicts.borrow_mut().insert(knob.id, judged == Ok(State::Bad));
        judged
    }

    /// Whether a knob is bad here; judged at most once. What is looked at for it is no evidence for anybody else.
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

    /// Bad by what was seen, whatever else was refused.
    pub fn bad_anyway(&self) -> Judged {
        self.refused.take();
        Ok(false)
    }

    /// Remembers what was refused. A look at something else that tells the same is taken aside, see [`Case::aside`].
    pub(crate) fn seen<T>(&self, path: &str, fact: Fact<T>) -> Fact<T> {
        if matches!(fact, Fact::Denied) {
            self.refused.borrow_mut().get_or_insert_with(|| path.to_owned());
        }
        fact
    }

    /// Why what was looked at was not shown. Who is root already is not sent to root.
    pub(crate) fn refusal(&self, look: &str) -> String {
        if self.reads_as_root() {
            format!("{look} is refused, even to root: a container, kernel lockdown or a mount option stands before it")
        } else {
            format!("{look} is refused; {ROOT_MAY}")
        }
    }

    /// Whether the effective user of whoever reads the machine is root, as far as that is known.
    fn reads_as_root(&self) -> bool {
        let status = tree::text(self.tree, "/proc/self/status");
        let users = status.known().and_then(|status| status.lines().find_map(|line| line.strip_prefix("Uid:")));
        users.is_some_and(|users| users.split_whitespace().nth(1) == Some("0"))
    }

    /// Reads once; being refused is told to everybody who asks.
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

    /// Looks at what only explains or repeats what is known otherwise: being refused that spoils no verdict.
    pub fn aside<T>(&self, look: impl FnOnce(&Self) -> T) -> T {
        let before = self.refused.take();
        let found = look(self);
        self.refused.replace(before);
        found
    }

    /// Puts this machine's CPUs into a text of the catalogue.
    pub fn fill(&self, text: Template<'_>) -> String {
        let list = |set: &CpuSet, none: &str| if set.is_empty() { none.to_owned() } else { set.to_string() };
        // Nothing can be set apart from nothing: with all CPUs meant, they have to be chosen first.
        let chooses = self.has_no_others() && SETS_APART.iter().any(|word| text.source().contains(word));
        let is_filled = chooses && text.parts().any(|part| !matches!(part, Part::Text(_) | Part::Blank(_)));
        let filled = text.filled(|part| match part {
            Part::Cpus if chooses => "CPUS".to_owned(),
            Part::Cpus => list(self.rt(), "CPUS"),
            Part::Housekeeping => list(self.housekeeping(), "OTHER-CPUS"),
            Part::HousekeepingMask if self.housekeeping().is_empty() => "MASK".to_owned(),
            Part::HousekeepingMask => self.housekeeping().mask(),
            Part::Blank(text) | Part::Text(text) => text.to_owned(),
        });
        if is_filled { format!("{} {CHOOSE}", filled.trim_end_matches('.')) } else { filled }
    }

    /// The same, where nothing is left for a person to choose: no blank, and no CPUs that are not known.
    pub fn fill_whole(&self, text: Template<'_>) -> Option<String> {
        let is_open = |part: Part<'_>| match part {
            Part::Text(_) => false,
            Part::Cpus => self.rt().is_empty(),
            Part::Housekeeping | Part::HousekeepingMask => self.housekeeping().is_empty(),
            Part::Blank(_) => true,
        };
        (!text.parts().any(is_open)).then(|| self.fill(text))
    }

    /// Whether every CPU there is does real-time work; `false` where nothing is known of CPUs.
    pub fn has_no_others(&self) -> bool {
        self.knows_others() && self.housekeeping().is_empty()
    }

    /// Whether it is known which CPUs do other work, though it may be none.
    fn knows_others(&self) -> bool {
        !self.rt().is_empty() && self.online().is_some_and(|online| !online.is_empty())
    }

    /// Adds evidence that is not one file's content.
    pub fn note(&self, source: impl Into<String>, value: impl Into<String>) {
        let value = printable(&value.into(), EVIDENCE_CHARS);
        self.evidence.borrow_mut().push(Evidence { source: printable(&source.into(), EVIDENCE_CHARS), value });
    }

    /// A fact that was read for this verdict, kept as evidence.
    pub fn cite(&self, path: &str, fact: &Fact<String>) {
        match fact {
            Fact::Known(value) if value.trim().is_empty() => self.note(path, "(empty)"),
            Fact::Known(value) => self.note(path, value.trim().replace('\n', "; ")),
            other => self.note(path, other.trouble().unwrap_or_default()),
        }
    }

    /// A file's text, without keeping it as evidence.
    pub fn peek(&self, path: &str) -> Fact<String> {
        self.seen(path, tree::text(self.tree, path))
    }

    /// A file's text, without keeping it as evidence, or the doubt that follows from not knowing it.
    pub fn content(&self, path: &str, missing: Missing) -> Result<String, Doubt> {
        self.known(path, self.peek(path), missing)
    }

    /// The names in a folder, without keeping them as evidence, or the doubt that follows from not knowing them.
    pub fn names(&self, folder: &str, missing: Missing) -> Result<Vec<String>, Doubt> {
        self.known(folder, self.list(folder), missing)
    }

    /// Good where nothing was found; what was found, or else these words, is the evidence.
    pub fn none_found(&self, source: impl Into<String>, found: String, none: impl Into<String>) -> Judged {
        let is_none = found.is_empty();
        self.note(source, if is_none { none.into() } else { found });
        Ok(is_none)
    }

    /// A file's bytes, without keeping them as evidence.
    pub fn peek_bytes(&self, path: &str) -> Fact<Vec<u8>> {
        self.seen(path, self.tree.read(path))
    }

    /// The names in a folder, without keeping them as evidence.
    pub fn list(&self, path: &str) -> Fact<Vec<String>> {
        self.seen(path, self.tree.list(path))
    }

    /// The value of a fact, or the doubt that follows from not knowing it.
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

    /// The folder, of the two highest above a path, that cannot be listed: then the absence of the path proves nothing.
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

    /// A file's text.
    pub fn text(&self, path: &str, missing: Missing) -> Result<String, Doubt> {
        let fact = self.peek(path);
        self.cite(path, &fact);
        self.known(path, fact, missing)
    }

    /// The whole number a file holds.
    pub fn number(&self, path: &str, missing: Missing) -> Result<i64, Doubt> {
        let text = self.text(path, missing)?;
        text.trim().parse().or_else(|_| Doubt::unknown(format!("{path} holds '{}', not a number", text.trim())))
    }

    /// The CPU list a file holds.
    pub fn cpu_list(&self, path: &str, missing: Missing) -> Result<CpuSet, Doubt> {
        let text = self.text(path, missing)?;
        let list = if text.trim() == "(null)" { "" } else { text.trim() };
        CpuSet::parse_list(list).or_else(|e| Doubt::unknown(format!("{path}: {e}")))
    }

    /// The CPU mask a file holds.
    pub fn cpu_mask(&self, path: &str, missing: Missing) -> Result<CpuSet, Doubt> {
        let text = self.text(path, missing)?;
        CpuSet::parse_mask(&text).or_else(|e| Doubt::unknown(format!("{path}: {e}")))
    }

    /// The word in brackets, in files that list the choices and mark the one in force: `a [b] c`.
    pub fn marked(&self, path: &str, missing: Missing) -> Result<String, Doubt> {
        let text = self.text(path, missing)?;
        let word = marked(&text).map(str::to_owned);
        word.map_or_else(|| Doubt::unknown(format!("{path} marks no choice: '{text}'")), Ok)
    }

    /// Files that exist once per CPU: `{cpu}` in the path stands for its number. CPUs that say the same are told
    /// together.
    pub fn per_cpu(&self, path: &str, cpus: &CpuSet, missing: Missing) -> Result<Vec<(CpuSet, String)>, Doubt> {
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
        Ok(values.into_iter().map(|(value, cpus)| (cpus, value)).collect())
    }

    /// An option of the kernel's configuration, with its value as evidence.
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

    /// Goes on only where some CPU remains for everything that is not real-time work.
    pub fn has_housekeeping(&self) -> Result<(), Doubt> {
        Doubt::unknown_if(!self.knows_others(), NO_CPUS)?;
        if !self.housekeeping().is_empty() {
            return Ok(());
        }
        Doubt::not_applicable_if(self.rt().len() == 1, "there is one CPU, and nowhere to move anything to")?;
        Doubt::not_applicable(format!(
            "all CPUs ({}) are meant for real-time work, so there is nowhere to move anything to; --cpus keeps \
                some free",
            self.rt()
        ))
    }

    /// Goes on only where the hardware is ours to control.
    pub fn not_a_guest(&self) -> Result<(), Doubt> {
        match self.virtualisation().and_then(|v| v.hypervisor.as_ref()) {
            Some(host) => Doubt::not_applicable(format!("this is a guest of {host}; the host decides this")),
            None => Ok(()),
        }
    }

    /// The kind of kernel.
    pub fn flavour(&self) -> Result<Flavour, Doubt> {
        self.known(
            "/proc/sys/kernel/version",
            self.machine.kernel.flavour.clone(),
            Missing::TellsNothing("the kind of kernel is not known"),
        )
    }

    /// The kernel's version.
    pub fn version(&self) -> Result<Version, Doubt> {
        self.known(
            "/proc/sys/kernel/osrelease",
            self.machine.kernel.version.clone(),
            Missing::TellsNothing("the kernel's version is not known"),
        )
    }

    /// The CPUs isolated at boot; none on kernels that know of no such thing.
    pub fn isolated(&self) -> Result<CpuSet, Doubt> {
        self.set_or_none(ISOLATED, &self.machine.isolated)
    }

    /// The CPUs that may stop their tick; none on kernels that cannot.
    pub fn tick_free(&self) -> Result<CpuSet, Doubt> {
        self.set_or_none(NOHZ_FULL, &self.machine.nohz_full)
    }

    fn set_or_none(&self, path: &str, fact: &Fact<CpuSet>) -> Result<CpuSet, Doubt> {
        match fact {
            Fact::Absent => Ok(CpuSet::new()),
            other => self.known(path, other.clone(), Missing::TellsNothing("not there")),
        }
    }

    /// Whether the need is for work of this kind.
    pub fn is(&self, kind: Kind) -> bool {
        self.need.kind == kind
    }

    /// Goes on only for work of this kind.
    pub fn only_for(&self, kind: Kind, because: &str) -> Result<(), Doubt> {
        if self.is(kind) { Ok(()) } else { Doubt::not_applicable(because) }
    }

    /// Goes on only for work of another kind.
    pub fn not_for(&self, kind: Kind, because: &str) -> Result<(), Doubt> {
        if self.is(kind) { Doubt::not_applicable(because) } else { Ok(()) }
    }

    /// What the command line asks for; a request proves nothing, so this only explains a doubt.
    pub fn requested(&self, word: &str) -> bool {
        self.cmdline().is_some_and(|line| line.value(word).is_some())
    }

    /// The words of the command line, judged once for all who ask; `None` where the line or the kernel is not known.
    pub(crate) fn words(&self) -> Option<&[Word]> {
        let judge = || {
            let line = self.peek_bytes(CMDLINE);
            self.possible();
            let target = Target::of(self.machine)?;
            Some(lint::lint(line.known()?, &target, &lint::Testimony::live(self, self.machine)))
        };
        self.kept(&self.words, judge).as_deref()
    }

    /// Whether the kernel's log still says which words of the command line nobody took.
    pub(crate) fn log_lists_unknown_words(&self) -> bool {
        lint::Testimony::live(self.tree, self.machine).lists_unknown()
    }

    /// The list of tasks, read once: many knobs ask for it, and it takes the machine longest to make.
    fn task_list(&self) -> &Fact<TaskList> {
        self.kept(&self.tasks, || self.peek(TASKS).map(|list| TaskList::parse(&list)))
    }

    /// Where a symbolic link points, without keeping it as evidence.
    pub fn link(&self, path: &str) -> Fact<String> {
        self.seen(path, self.tree.link(path))
    }

    /// A word of the command line, for what the kernel shows nowhere else and nothing changes after boot; its value,
    /// `""` where it has none.
    pub fn word(&self, name: &str) -> Result<Option<String>, Doubt> {
        let missing = Missing::TellsNothing("what the kernel was booted with is not shown");
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

    /// Goes on only on this architecture.
    pub fn only_on(&self, arch: Arch, because: &str) -> Result<(), Doubt> {
        let missing = Missing::TellsNothing("the architecture is not known");
        let here = self.known("/proc/sys/kernel/arch", self.machine.kernel.arch.clone(), missing)?;
        if here == arch { Ok(()) } else { Doubt::not_applicable(because) }
    }

    /// What `/proc/cpuinfo` says of the first CPU under this name. Read once: it takes large machines long to write.
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

    /// Whether the first CPU has this flag; the answer is kept as evidence.
    pub fn cpu_flag(&self, flag: &str) -> Result<bool, Doubt> {
        let has = self.cpu_field("flags")?.split_whitespace().any(|f| f == flag);
        self.note("/proc/cpuinfo flags", if has { flag.to_owned() } else { format!("no {flag}") });
        Ok(has)
    }

    /// Looks at what will be compared with itself later, so that as much time as possible lies between.
    pub fn begin(&self) {
        if self.has_housekeeping().is_ok() {
            self.interrupts();
        }
    }

    /// How often each interrupt came, when it was looked at first.
    pub(crate) fn interrupts(&self) -> &Fact<String> {
        self.kept(&self.interrupts, || self.peek(INTERRUPTS))
    }

    /// What the boot loader's files ask for, read once; not kept as evidence.
    pub fn configured(&self) -> &[Configured] {
        let places: &Vec<Configured> = self.kept(&self.configured, || {
            let release = self.machine.kernel.release.known().map(String::as_str);
            configured(self, &self.machine.boot, release)
        });
        places
    }

    /// Whether a file or folder is there, as far as the folder around it can be listed.
    pub fn exists(&self, path: &str) -> bool {
        let (folder, name) = path.trim_end_matches('/').rsplit_once('/').unwrap_or(("", path));
        let names = self.list(if folder.is_empty() { "/" } else { folder });
        names.known().is_some_and(|names| names.iter().any(|n| n == name))
    }
}

/// Whoever reads a machine through a case is refused nothing unnoticed.
impl Tree for Case<'_> {
    /// The kernel's log is refused to nearly everybody, and adds to what the files say; a knob that rests on it looks
    /// at it by itself.
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

/// The word in brackets or parentheses, in files that list the choices and mark the one in force: `a [b] c`.
pub(crate) fn marked(text: &str) -> Option<&str> {
    text.split(['[', '(']).nth(1).and_then(|rest| rest.split([']', ')']).next())
}
