//! Derives changes from the catalogue alone: if a knob names a value and a file for later boots, the value is written
//! now as well.
//!
//! The catalogue leaves some things to a person: a value to be chosen, a rule for one device, a new kernel. No change
//! is derived then, and the error says what the person can do.

use super::wanted::is_given;
use super::{Expected, Keep, Reading, Step};
use crate::knobs::{Case, File, Knob, Lasting, Part, Setting, Template};
use crate::pattern::fitting;
use punctual_facts::cmdline::same_dashes;
use punctual_facts::fact::Fact;
use punctual_facts::machine::Cmdline;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Derived {
    pub steps: Vec<Step>,
    /// Settings that are kept for later boots.
    pub keeps: Vec<Keep>,
    /// The values before the change, one for each value in `after`.
    pub before: Vec<String>,
    pub after: Vec<String>,
}

/// The change that follows from the lasting places of a knob. The error says what a person has to do instead. If
/// `is_partition` is true, the CPUs are isolated at run time and not by the word `isolcpus`.
pub fn derive(knob: &Knob, case: &Case<'_>, is_partition: bool) -> Result<Derived, String> {
    let mut derived = Derived::default();
    let places = knob.places();
    let places: Vec<&Lasting> = places.iter().map(|place| place.chosen(case)).collect();
    for place in &places {
        derived.take(place, case);
    }
    // A word of the command line is used only if no value can be written now: a value that can be written now is also
    // written at each boot.
    if derived.steps.is_empty() && !derived.keeps.iter().any(|keep| matches!(keep, Keep::Manager(_))) {
        let words = places.iter().filter(|place| !(is_partition && sets_cpus_apart(place)));
        words.for_each(|place| derived.take_word(place, case));
    }
    // If the lasting places led to no step, but the knob names a file and a value, the value is written now.
    if let Some(Setting { file, value }) = knob.setting().filter(|_| derived.steps.is_empty()) {
        if let Some(value) = value.whole(case) {
            derived.write(&file.path(), &value, case, |_, _| Keep::Anew);
        }
    }
    if derived.steps.is_empty() && derived.keeps.is_empty() { Err(by_hand(knob, case)) } else { Ok(derived) }
}

/// Whether a lasting place is the word `isolcpus` of the command line.
fn sets_cpus_apart(place: &Lasting) -> bool {
    matches!(place, Lasting::Word(word) if Cmdline::parse(&word.anywhere()).value("isolcpus").is_some())
}

/// What a person can do, in the words of the knob's entry.
fn by_hand(knob: &Knob, case: &Case<'_>) -> String {
    if knob.is_for_boot_only() { crate::audit::lasting(knob, case) } else { knob.fix_here(case) }
}

impl Derived {
    /// The change that consists of a latency limit, which a process of this program holds.
    pub fn holding(limit_us: u32) -> Self {
        Self { keeps: vec![Keep::Hold(limit_us)], ..Self::default() }
    }

    /// Replaces the derived steps. If the new steps are not among the derived ones, they are planned again at each
    /// boot.
    #[must_use]
    pub fn with_steps(mut self, steps: Vec<Step>) -> Self {
        let is_kept = |step: &Step| self.steps.contains(step) || matches!(step, Step::Silence { .. });
        if !steps.iter().all(is_kept) {
            self.keeps.push(Keep::Anew);
        }
        Self { steps, before: Vec::new(), after: Vec::new(), ..self }
    }

    /// Adds udev rules for devices that appear later, except for network cards: a rule would change every card, and not
    /// only the cards that the real-time work uses.
    #[must_use]
    pub fn with_rules(mut self, knob: &Knob, case: &Case<'_>) -> Self {
        for place in knob.places() {
            let Lasting::Udev(rule) = *place.chosen(case) else { continue };
            let filled = rule.whole(case).filter(|_| rule.is_ours());
            self.keeps.extend(filled.map(Keep::Udev));
        }
        self
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.keeps.iter().all(|keep| matches!(keep, Keep::Anew | Keep::Udev(_)))
    }

    /// Whether the change takes effect only at the next boot.
    pub fn is_for_next_boot(&self) -> bool {
        self.steps.is_empty() && !self.keeps.iter().any(|keep| matches!(keep, Keep::Hold(_)))
    }

    fn take(&mut self, place: &Lasting, case: &Case<'_>) {
        match place {
            Lasting::Set(Setting { file, value }) => {
                let Some(value) = value.whole(case) else { return };
                match file {
                    File::Sysctl(name) => self
                        .write(&file.path(), &value, case, |_, value| Keep::Sysctl { name: (*name).to_owned(), value }),
                    file => {
                        for path in expand(&file.path(), case) {
                            self.write(&path, &value, case, |path, value| Keep::Write { path, value });
                        }
                    }
                }
            }
            Lasting::Module(line) => {
                let line = line.anywhere();
                self.keep(Keep::ModuleOptions(line.clone()), "", &line);
            }
            Lasting::NoModule(name) => self.keep(Keep::NoModule((*name).to_owned()), "", &format!("{name} not loaded")),
            Lasting::Limit(line) => {
                let Some(line) = case.fill_whole(*line) else { return };
                self.keep(Keep::Limit(line.clone()), "no such limit", &line);
            }
            Lasting::Manager if case.machine.boot.is_systemd() && !case.housekeeping().is_empty() => {
                let cpus = case.housekeeping().clone();
                let told = format!("CPUs {cpus} for what systemd starts");
                self.keep(Keep::Manager(cpus), "any CPU for what systemd starts", &told);
            }
            _ => {}
        }
    }

    fn take_word(&mut self, place: &Lasting, case: &Case<'_>) {
        match place {
            Lasting::Word(word) => {
                let Some(word) = case.fill_whole(*word) else { return };
                let keep = Keep::Word(word.clone());
                let booted = case.machine.cmdline.known();
                // The word was on this boot's command line and the state is bad all the same, so the word would not
                // help at the next boot either.
                if booted.is_some_and(|line| is_given(&line.for_the_kernel(), [&keep])) {
                    return;
                }
                let name = word.split('=').next().unwrap_or_default();
                let before = booted.and_then(|line| line.value(name).map(|v| shown(name, v)));
                let before = before.unwrap_or_else(|| format!("no {name}"));
                self.keep(keep, &before, &word);
            }
            Lasting::NoWord(name) => {
                let there = case.machine.cmdline.known().and_then(|line| line.value(name).map(|v| shown(name, v)));
                if let Some(word) = there {
                    self.keep(Keep::NoWord(same_dashes(name)), &word, &format!("no {name}"));
                }
            }
            _ => {}
        }
    }

    fn keep(&mut self, keep: Keep, before: &str, after: &str) {
        self.keeps.push(keep);
        self.before.push(before.to_owned());
        self.after.push(after.to_owned());
    }

    /// Writes a value, unless the file does not exist or holds the value already.
    fn write(&mut self, path: &str, value: &str, case: &Case<'_>, keep: impl Fn(String, String) -> Keep) {
        let Fact::Known(text) = case.peek(path) else { return };
        let reading = reading(path, &text);
        let before = reading.value(&text, value);
        // The file shows 0 while the other file of its pair decides, and the kernel does not accept 0 as a value. So
        // the write could not be undone.
        let is_one_way = path.starts_with("/proc/sys/vm/dirty_") && path.ends_with("_bytes") && before == "0";
        if is_one_way || reading.same(&before, value) {
            return;
        }
        let (path, value) = (path.to_owned(), value.to_owned());
        self.before.push(before);
        self.after.push(value.clone());
        self.keeps.push(keep(path.clone(), value.clone()));
        self.steps.push(Step::Write { path, value, expected: Expected::same(reading) });
    }
}

/// A word in the form that it has on a command line.
fn shown(name: &str, value: &str) -> String {
    if value.is_empty() { name.to_owned() } else { format!("{name}={value}") }
}

/// How the text of a kernel file shows its value, judged by the file's name and content.
fn reading(path: &str, text: &str) -> Reading {
    let name = path.rsplit('/').next().unwrap_or_default();
    match name {
        "cpumask" | "default_smp_affinity" | "rps_cpus" | "xps_cpus" | "rps_default_mask" => Reading::CpuMask,
        "watchdog_cpumask" | "smp_affinity_list" | "cpuset.cpus" => Reading::CpuList,
        _ if text.split_whitespace().any(|word| word.starts_with(['[', '(']) && word.ends_with([']', ')'])) => {
            Reading::Marked
        }
        _ => Reading::Plain,
    }
}

/// The files that a path of the catalogue stands for: one for each CPU if the path names CPUs, and all files that match
/// its stars.
fn expand(path: &str, case: &Case<'_>) -> Vec<String> {
    let template = Template::parse(path);
    let cpus = template.parts().find_map(|part| match part {
        Part::Cpus => Some(case.rt()),
        Part::Housekeeping => Some(case.housekeeping()),
        _ => None,
    });
    match cpus {
        Some(cpus) => cpus.iter().flat_map(|cpu| fitting(case, &template.filled(|_| cpu.to_string()))).collect(),
        None => fitting(case, path),
    }
}
