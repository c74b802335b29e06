//! The testimony of a machine: what its files say about the words of its command line. The sources are asked in order,
//! the most reliable first.
//!
//! This module only reads. The kernel's image is read last, and only if no other source says enough, because unpacking
//! it takes longer than everything else together.

use super::image::{Has, Image};
use crate::cmdline::{Token, same_dashes, words};
use crate::cpu_set::CpuSet;
use crate::fact::Fact;
use crate::machine::{Config, Machine, Version};
use crate::tree::{Tree, text};
use std::cell::OnceCell;

/// The path of the running kernel's log, which holds text.
pub const LOG: &str = "punctual:/kernel/log";
/// The folder that has a file with a description of each module.
pub const MODULE_INFO: &str = "punctual:/modinfo";

/// The first version whose log lists unknown words. In the log of an older kernel, a missing word proves nothing.
const LISTS_UNKNOWN: Version = Version::new(5, 14);

/// Words for which boot code searches the line before the parser of parameters runs. The parser does not have these
/// words, so the log calls them unknown although they take effect.
const FOUND_BY_SEARCH: &str = "clearcpuid dis_ucode_ldr kaslr no387 no5lvl nofxsr nokaslr nopti nospec_store_bypass_disable \
    nospectre_v2 noxsave noxsaveopt noxsaves pti spec_store_bypass_disable spectre_v2 spectre_v2_user tsx";

/// Sources of facts about words: the log, the files and the image of a machine's kernel.
pub struct Testimony<'a> {
    live: Option<Live<'a>>,
    /// The machine from which the image's list is read when it is first needed; `None` if the list is given or cannot
    /// be read.
    images: Option<&'a dyn Tree>,
    image: OnceCell<Option<Image>>,
}

struct Live<'a> {
    tree: &'a dyn Tree,
    config: &'a Config,
    log: Log,
    loaded: Fact<Vec<String>>,
}
#[derive(Default)]
struct Log {
    /// Names of words that the log calls unknown; `None` if the log does not reach back to the boot.
    unknown: Option<Vec<String>>,
    lines: Vec<String>,
}

/// The answer of a source about a word, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Says {
    Taken(String),
    NotTaken(String),
    /// The kernel does not have this word, whatever its value is.
    NotThere(String),
    /// The module that would take the word is not loaded.
    NotLoaded(String),
}

/// How the kernel treated a value, with the line of the log that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Became {
    Rejected(String),
    Changed(String),
    Ignored(String),
}

impl<'a> Testimony<'a> {
    /// The testimony for a line if no kernel and no machine is known.
    pub fn none() -> Self {
        Self { live: None, images: None, image: OnceCell::new() }
    }

    /// The testimony of a kernel of which only the image is known.
    pub fn image(image: Image) -> Self {
        Self { image: OnceCell::from(Some(image)), ..Self::none() }
    }

    /// The testimony of a machine's kernel, about a line that is not the one it was booted with.
    pub fn kernel_of(tree: &'a dyn Tree) -> Self {
        Self { images: Some(tree), ..Self::none() }
    }

    /// The testimony of a machine, running or captured, about the line it was booted with.
    pub fn live(tree: &'a dyn Tree, machine: &'a Machine) -> Self {
        let lists_unknown = machine.kernel.version.known().is_some_and(|version| *version >= LISTS_UNKNOWN);
        let log = Log::read(tree, lists_unknown);
        let live = Live { tree, config: &machine.config, log, loaded: tree.list("/sys/module") };
        Self { live: Some(live), ..Self::kernel_of(tree) }
    }

    /// Whether the kernel's log still holds the list of the words unknown to the kernel.
    pub fn lists_unknown(&self) -> bool {
        self.live.as_ref().is_some_and(|live| live.log.unknown.is_some())
    }

    pub(super) fn is_live(&self) -> bool {
        self.live.is_some()
    }

    /// Whether the machine does not show its modules: `/sys/module` is empty or cannot be read, although every running
    /// kernel has some built-in modules.
    pub(super) fn hides_modules(&self) -> bool {
        self.live.as_ref().is_some_and(|live| live.loaded.known().is_none_or(Vec::is_empty))
    }

    /// Asks the sources in order, the most reliable first. `needs` holds the options that the word needs to be compiled
    /// in.
    pub(super) fn ask(&self, token: &Token, needs: &str) -> Option<Says> {
        let live = self.live.as_ref();
        let says = live
            .and_then(|live| live.by_sysctl(token))
            .or_else(|| live?.by_log(token))
            .or_else(|| live?.by_parameter(token))
            .or_else(|| live?.by_module(token))
            .or_else(|| self.by_image(token, needs))
            .or_else(|| live?.by_config(needs))?;
        // The log lists words that a handler refused as well as words that do not exist. The image shows which of the
        // two applies.
        match (&says, token.name.contains('.')) {
            (Says::NotTaken(why), false) => match self.by_image(token, needs) {
                Some(Says::NotThere(image)) => Some(Says::NotThere(format!("{image}; {why}"))),
                _ => Some(says),
            },
            _ => Some(says),
        }
    }

    /// Whether the kernel's image is known and has the word.
    pub(super) fn image_has(&self, token: &Token) -> bool {
        self.own_words().is_some_and(|image| matches!(image.has(token), Has::Yes(_)))
    }

    fn own_words(&self) -> Option<&Image> {
        self.image.get_or_init(|| self.images.and_then(Image::read)).as_ref()
    }

    /// What the kernel's image says about a word; `None` if the image is not known, or cannot decide.
    fn by_image(&self, token: &Token, needs: &str) -> Option<Says> {
        let image = self.own_words()?;
        match image.has(token) {
            Has::Yes(how) => return Some(Says::Taken(format!("this kernel's image {how}"))),
            Has::Perhaps | Has::Elsewhere => return None,
            Has::No => {}
        }
        if let Some((module, _)) = token.name.split_once('.') {
            self.is_without(image, module)?;
        }
        let option = self.live.as_ref().and_then(|live| Some((live.missing_option(needs)?, &live.config.source)));
        let why = option.map(|(option, source)| format!(": it needs CONFIG_{option}, which {source} has off"));
        Some(Says::NotThere(format!("this kernel's image does not know it{}", why.unwrap_or_default())))
    }

    /// Returns `Some` if no module in a file can have the parameter: the module is built in, or does not exist.
    fn is_without(&self, image: &Image, module: &str) -> Option<()> {
        let info = self.live.as_ref().map(|live| text(live.tree, &format!("{MODULE_INFO}/{module}")));
        match info {
            Some(Fact::Known(info)) => info.starts_with("built-in").then_some(()),
            Some(Fact::Absent) => Some(()),
            _ => image.has_module(module).then_some(()),
        }
    }

    pub(super) fn parameter(&self, token: &Token) -> Option<ParameterNow> {
        let path = parameter_path(token);
        let value = text(self.live.as_ref()?.tree, &path).known()?.trim().to_owned();
        Some(ParameterNow { path, value })
    }

    /// What the log says about the value of a word.
    pub(super) fn became(&self, token: &Token) -> Option<Became> {
        self.live.as_ref()?.log.became(token)
    }

    pub(super) fn effect(&self, token: &Token) -> Option<ShownEffect> {
        effect(self.live.as_ref()?.tree, token)
    }
}

/// The file and the present value of a parameter on a live machine.
pub(super) struct ParameterNow {
    pub(super) path: String,
    pub(super) value: String,
}

/// Whether the state in force agrees with the effect that a word asks for, and the file that shows the state.
pub(super) struct ShownEffect {
    pub(super) agrees: bool,
    pub(super) file: String,
}

impl Live<'_> {
    fn by_log(&self, token: &Token) -> Option<Says> {
        if let Some((module, parameter)) = token.name.split_once('.') {
            return self.log.refused_by(module, parameter).map(Says::NotTaken);
        }
        if FOUND_BY_SEARCH.split(' ').any(|word| word == token.name) {
            return None;
        }
        Some(if self.log.unknown.as_ref()?.contains(&token.name) {
            Says::NotTaken("the kernel's log lists it among the words it does not know".to_owned())
        } else {
            Says::Taken("the kernel's log does not list it among the words it does not know".to_owned())
        })
    }

    /// What `/proc/sys` says about a word that sets a sysctl. If no file there has the word's name, the word sets
    /// nothing.
    fn by_sysctl(&self, token: &Token) -> Option<Says> {
        let name = token.name.strip_prefix("sysctl").and_then(|rest| rest.strip_prefix(['.', '/']))?;
        // The names of files keep their dashes, but `token.name` has underscores instead.
        let typed = token.raw.get("sysctl.".len()..)?.split('=').next().unwrap_or(name);
        let path = format!("/proc/sys/{}", typed.replace('.', "/"));
        match (text(self.tree, &path), self.tree.list("/proc/sys/kernel")) {
            (Fact::Known(value), _) => {
                Some(Says::Taken(format!("{path} = {}", crate::fact::printable(value.trim(), 60))))
            }
            (Fact::Absent, Fact::Known(_)) => Some(Says::NotThere(format!("{path} is not there"))),
            _ => None,
        }
    }

    fn by_parameter(&self, token: &Token) -> Option<Says> {
        let path = parameter_path(token);
        match text(self.tree, &path) {
            Fact::Known(value) => Some(Says::Taken(format!("{path} = {}", crate::fact::printable(value.trim(), 60)))),
            Fact::Denied => Some(Says::Taken(format!("{path} exists"))),
            _ => None,
        }
    }

    fn by_config(&self, needs: &str) -> Option<Says> {
        let option = self.missing_option(needs)?;
        Some(Says::NotTaken(format!("it needs CONFIG_{option}, which {} has off", self.config.source)))
    }

    fn by_module(&self, token: &Token) -> Option<Says> {
        let (module, parameter) = token.name.split_once('.')?;
        let Fact::Known(info) = text(self.tree, &format!("{MODULE_INFO}/{module}")) else { return None };
        let is_loaded = self.loaded.known().map(|names| names.iter().any(|name| same_dashes(name) == module));
        let mut lines = info.lines();
        let is_built_in = lines.next().is_some_and(|first| first.trim() == "built-in");
        let has_it = lines.any(|line| {
            let mut parts = line.split_whitespace();
            parts.next() == Some("parm") && parts.next().is_some_and(|name| same_dashes(name) == parameter)
        });
        match (has_it, is_built_in, is_loaded) {
            (true, false, Some(false)) => {
                Some(Says::NotLoaded(format!("the module {module} has it, and is not loaded")))
            }
            (true, ..) => Some(Says::Taken(format!("the module {module} has it"))),
            // A built-in module may be listed under another name than on the command line, so a missing parameter
            // proves nothing.
            (false, true, _) => None,
            (false, false, _) => {
                Some(Says::NotTaken(format!("the module {module} of this kernel has no such parameter")))
            }
        }
    }

    /// The first option that the word needs and that is off. An option does not count if an alternative to it is on.
    fn missing_option(&self, needs: &str) -> Option<String> {
        // In a partial configuration, an option without a line need not be off. Every complete configuration for these
        // machines has 64BIT.
        let is_whole = self.config.is_on("64BIT") == Fact::Known(true);
        if needs == "-" || !is_whole {
            return None;
        }
        let is_missing = |option: &&str| match option.strip_prefix('!') {
            Some(option) => self.config.is_on(option) == Fact::Known(true),
            None => self.config.is_on(option) == Fact::Known(false),
        };
        let first = needs.split('|').map(|term| term.split('&').find(is_missing)).collect::<Option<Vec<&str>>>()?;
        first.first().map(|option| (*option).to_owned())
    }
}

impl Log {
    fn read(tree: &dyn Tree, lists_unknown: bool) -> Self {
        // The log is converted even if some bytes are not text, since its other lines are still useful.
        let Fact::Known(bytes) = tree.read(LOG) else { return Self::default() };
        let log = String::from_utf8_lossy(&bytes);
        let mut found = Self::default();
        let mut lines = log.lines();
        while let Some(line) = lines.next() {
            if line.ends_with("  with arguments:") {
                // The kernel lists the arguments and the environment of the first program, among them the words that it
                // did not know.
                let handed_on = handed_on(lines.clone());
                found.unknown.get_or_insert_default().extend(handed_on);
            } else if lists_unknown && found.unknown.is_none() && line.contains("Kernel command line: ") {
                found.unknown = Some(Vec::new());
            } else if let Some(list) = unknown_words(line) {
                found.unknown.get_or_insert_default().extend(words(list.as_bytes()).into_iter().map(|t| t.name));
            } else if SIGNS.iter().any(|sign| line.contains(sign)) || fate(line).is_some() {
                found.lines.push(line.to_owned());
            }
        }
        found
    }

    fn refused_by(&self, module: &str, parameter: &str) -> Option<String> {
        let line = self.lines.iter().find(|line| {
            let Some((before, after)) = line.split_once(": unknown parameter '") else { return false };
            let is_module = before.split_whitespace().last().is_some_and(|name| same_dashes(name) == module);
            is_module && after.split('\'').next().is_some_and(|name| same_dashes(name) == parameter)
        })?;
        Some(format!("the kernel's log: {}", shown(line)))
    }

    fn became(&self, token: &Token) -> Option<Became> {
        let quoted = |line: &str, marks: [char; 2]| {
            let (_, after) = line.rsplit_once(marks[0])?;
            Some(same_dashes(after.split(marks[1]).next()?))
        };
        self.lines.iter().find_map(|line| {
            let said = || format!("the kernel's log: {}", shown(line));
            if line.contains("Malformed early option '") {
                let name = line.split('\'').nth(1).map(same_dashes);
                return (name.as_deref() == Some(&token.name)).then(|| Became::Rejected(said()));
            }
            if line.contains("invalid for parameter `") || line.contains("too large for parameter `") {
                return (quoted(line, ['`', '\'']).as_deref() == Some(&token.name)).then(|| Became::Rejected(said()));
            }
            if line.contains("is obsolete, ignored") {
                let name = line.split("Parameter ").nth(1)?.split_whitespace().next().map(same_dashes);
                return (name.as_deref().map(|n| n.trim_end_matches('=')) == Some(&token.name))
                    .then(|| Became::Ignored(said()));
            }
            let (_, names, rejects) = fate(line)?;
            let is_mine = names.split(' ').any(|name| name == token.name);
            is_mine.then(|| if *rejects { Became::Rejected(said()) } else { Became::Changed(said()) })
        })
    }
}

/// The path of a parameter's file. A parameter without a dot belongs to the kernel itself.
fn parameter_path(token: &Token) -> String {
    let (module, parameter) = token.name.split_once('.').unwrap_or(("kernel", &token.name));
    format!("/sys/module/{module}/parameters/{parameter}")
}

/// Texts in log lines about certain words, each with the names of the words. `true` means that the value was refused,
/// `false` that it was only changed.
const FATES: &[(&str, &str, bool)] = &[
    ("nohz_full= or isolcpus= incorrect CPU range", "isolcpus nohz_full", true),
    ("nohz_full= must match isolcpus=", "isolcpus nohz_full", true),
    ("isolcpus: Invalid flag", "isolcpus", true),
    ("isolcpus: Skipped unknown flag", "isolcpus", false),
    ("Housekeeping: must include one present CPU, using", "isolcpus nohz_full", false),
    ("Housekeeping: must include one present CPU neither", "isolcpus nohz_full", true),
    ("Housekeeping: nohz unsupported", "nohz_full", true),
    ("NO_HZ: Clearing", "nohz_full", false),
    ("rcu_nocbs= bad CPU range", "rcu_nocbs", true),
    ("contains nonexistent CPUs", "rcu_nocbs", false),
    ("Dynamic Preempt: unsupported mode", "preempt", true),
    ("transparent_hugepage= cannot parse", "transparent_hugepage", true),
    ("Unable to parse numa_balancing=", "numa_balancing", true),
    ("Unsupported mitigations=", "mitigations", true),
];
/// Texts in log lines that may be about any word.
const SIGNS: [&str; 4] = ["Malformed early option", ": unknown parameter '", "is obsolete, ignored", "for parameter `"];

fn fate(line: &str) -> Option<&'static (&'static str, &'static str, bool)> {
    FATES.iter().find(|(part, ..)| line.contains(part))
}

/// The words between quotes in `Unknown kernel command line parameters "a b=c", will be passed to user space.`
fn unknown_words(line: &str) -> Option<&str> {
    if let Some((_, rest)) = line.split_once("Unknown kernel command line parameters \"") {
        return Some(rest.rsplit_once('"').map_or(rest, |(list, _)| list));
    }
    line.split_once("Unknown command line parameters: ").map(|(_, list)| list)
}

/// The words that a kernel hands to the first program because it did not know them: the lines after `with arguments:`
/// without the program, and the lines after `with environment:` without the kernel's own variables. Kernels before 5.14
/// list unknown words nowhere else.
fn handed_on<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let texts = lines.map(|line| line.rsplit_once("]   ").map_or(line, |(_, text)| text));
    let mut is_environment = false;
    let mut names = Vec::new();
    for text in texts.skip(1) {
        if text == "with environment:" {
            is_environment = true;
            continue;
        }
        let Some(word) = text.strip_prefix("  ") else { break };
        let name = same_dashes(word.split('=').next().unwrap_or(word));
        if !(is_environment && matches!(name.as_str(), "HOME" | "TERM")) {
            names.push(name);
        }
    }
    names
}

/// A line of the log without its time stamp, as it is shown to the user.
fn shown(line: &str) -> String {
    let text = line.rsplit_once("] ").map_or(line, |(_, text)| text);
    crate::fact::printable(text.trim(), 120)
}

/// Whether this value of `isolcpus=` changes `/sys/devices/system/cpu/isolated`: it has the flag `domain`, or no flags.
fn is_about_domains(value: &str) -> bool {
    let has = |wanted: &str| value.split(',').any(|flag| flag == wanted);
    has("domain") || !(has("nohz") || has("managed_irq"))
}

fn effect(tree: &dyn Tree, token: &Token) -> Option<ShownEffect> {
    let value = token.value.as_deref();
    let is = |path: &str, wanted: &[&str]| {
        let found = text(tree, path).known()?.trim().to_owned();
        let file = format!("{path} = {}", crate::fact::printable(&found, 60));
        Some(ShownEffect { agrees: wanted.contains(&found.as_str()), file })
    };
    let cpus = |path: &str, wanted: &str, is_exact: bool| {
        let found = CpuSet::parse_list(text(tree, path).known()?.trim()).ok()?;
        let possible =
            text(tree, "/sys/devices/system/cpu/possible").known().and_then(|p| CpuSet::parse_list(p).ok())?;
        let list = wanted.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '_' || c == ',');
        let asked = CpuSet::parse_kernel(list, possible.iter().last()? + 1).ok()?;
        let agrees = if is_exact { asked == found } else { asked.is_subset(&found) };
        Some(ShownEffect { agrees, file: format!("{path} = {found}") })
    };
    let marked = |path: &str| {
        let text = text(tree, path).known()?.clone();
        let word = text.split('[').nth(1)?.split(']').next()?.to_owned();
        let file = format!("{path} = {}", crate::fact::printable(&text, 60));
        Some(ShownEffect { agrees: Some(word.as_str()) == value, file })
    };
    match token.name.as_str() {
        "isolcpus" if is_about_domains(value?) => cpus("/sys/devices/system/cpu/isolated", value?, true),
        "nohz_full" => cpus("/sys/devices/system/cpu/nohz_full", value?, true),
        "nosmt" => is("/sys/devices/system/cpu/smt/control", &["off", "forceoff", "notsupported", "notimplemented"]),
        "clocksource" => is("/sys/devices/system/clocksource/clocksource0/current_clocksource", &[value?]),
        "idle" if value == Some("poll") => is("/sys/devices/system/cpu/cpuidle/current_driver", &["none"]),
        "nmi_watchdog" if value == Some("0") => is("/proc/sys/kernel/nmi_watchdog", &["0"]),
        "nosoftlockup" => is("/proc/sys/kernel/soft_watchdog", &["0"]),
        "numa_balancing" if value == Some("disable") => is("/proc/sys/kernel/numa_balancing", &["0"]),
        "transparent_hugepage" => marked("/sys/kernel/mm/transparent_hugepage/enabled"),
        "hugepages" => is("/proc/sys/vm/nr_hugepages", &[value?]),
        _ => None,
    }
}
