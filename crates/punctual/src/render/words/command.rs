//! Commands that can be pasted: the typed command line, with options added or removed.

use crate::cli::{CHECK_LOADS, PRIORITY};
use crate::render::units::{self, THIN};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::profile::Need;
use punctual_hist::Nanos;
use punctual_numbers::report::Report;
use punctual_numbers::scenario::{Amount, LoadPhase, Policy};
use std::path::Path;

/// A command of this program that can be pasted into a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    words: Vec<String>,
    as_root: bool,
}

impl Command {
    /// A command with these words after the program's name, unquoted.
    pub fn new(words: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { words: words.into_iter().map(Into::into).collect(), as_root: false }
    }

    /// A command about this recording.
    pub fn on_file<const N: usize>(words: [&str; N], recording: Option<&Path>) -> Self {
        let file = recording.map(|path| path.display().to_string());
        Self::new(words.into_iter().map(str::to_owned).chain(file))
    }

    pub fn with_sudo(self, needed: bool) -> Self {
        Self { as_root: needed, ..self }
    }

    /// The same command with this value for this option, in place of any earlier value.
    pub fn with(self, option: &str, value: &str) -> Self {
        let mut command = self.without(option);
        let end = command.end_of_options();
        command.words.splice(end..end, [option.to_owned(), value.to_owned()]);
        command
    }

    /// Where the words of another program begin, or the end.
    fn end_of_options(&self) -> usize {
        self.words.iter().position(|word| word == "--").unwrap_or(self.words.len())
    }

    /// The same measurement with a search for causes. `check` searches by default; `measure` needs an option for it.
    pub fn looking(mut self) -> Self {
        self.words.retain(|word| word != "--no-explain" && word != "--explain");
        if self.words.first().is_some_and(|verb| verb == "measure") {
            self.words.push("--explain".to_owned());
        }
        self
    }

    pub fn into_words(self) -> Vec<String> {
        self.words
    }

    pub fn without(mut self, option: &str) -> Self {
        let joined = format!("{option}=");
        let is_it = |word: &String| word == option || word.starts_with(&joined);
        while let Some(at) = self.words.iter().take_while(|word| *word != "--").position(is_it) {
            let takes_next = self.words.get(at).is_some_and(|word| word == option);
            self.words.drain(at..(at + 1 + usize::from(takes_next)).min(self.words.len()));
        }
        self
    }
}

impl std::fmt::Display for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.as_root { "sudo punctual" } else { "punctual" })?;
        self.words.iter().try_for_each(|word| write!(f, " {}", quoted(word)))
    }
}

/// A word quoted so that a shell reads it as one word.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A command that checks the need of a recording, for the same length.
pub fn check(report: &Report) -> Command {
    let need = &report.need;
    let mut command = Command::new(["check", "--period"]);
    command.words.push(length(need.period));
    if let Some(budget) = need.budget {
        command = command.with("--budget", &length(budget));
    }
    if !need.cpus.is_empty() {
        command = command.with("--cpus", &need.cpus.to_string());
    }
    let scenario = &report.scenario;
    // A check measures its phases a second time, traced: these are not among the ones that were asked for.
    let untraced = |(at, _): &(u16, &LoadPhase)| !report.traced_apart() || !report.traced(*at);
    let asked: Vec<&LoadPhase> = (0..).zip(&scenario.load_phases).filter(untraced).map(|(_, phase)| phase).collect();
    let parts = |phases: &[&LoadPhase]| phases.iter().map(|phase| u64::from(phase.parts)).sum::<u64>();
    let all: Vec<&LoadPhase> = scenario.load_phases.iter().collect();
    // A check multiplies the parts of its untraced phases; only their proportion matters.
    let common = asked.iter().map(|phase| phase.parts).reduce(greatest_common_divisor).unwrap_or(1).max(1);
    let loads: Vec<String> = asked.iter().map(|phase| format!("{}:{}", phase.name(), phase.parts / common)).collect();
    // The weight of an outside program cannot be written, because its words may hold colons.
    let loads = loads.join(",");
    let is_outside = |phase: &&LoadPhase| phase.loads.iter().any(|load| load.starts_with("cmd:"));
    if loads != CHECK_LOADS && !asked.iter().any(is_outside) {
        command = command.with("--load", &loads);
    }
    match scenario.policy {
        Policy::Fifo(priority) if priority != PRIORITY => command = command.with("--priority", &priority.to_string()),
        _ => {}
    }
    match scenario.length {
        Amount::Time(time) if parts(&all) > 0 => {
            let ns = u128::from(time.as_ns()) * u128::from(parts(&asked)) / u128::from(parts(&all));
            // Whole milliseconds are easier to read, and no shorter.
            let ms = u64::try_from(ns.div_ceil(1_000_000)).unwrap_or(u64::MAX);
            command.with("--duration", &length(Nanos::from_ms(ms)))
        }
        _ => command,
    }
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// A command that audits for this need. If the need was stated under a name, that is `profile`; if it stands in a file
/// other than the folder's own, that is `config`.
pub fn audit(need: &Need, profile: Option<&str>, config: Option<&Path>) -> Command {
    let (period, budget) = (need.period.map(length), need.budget.map(length));
    let cpus = (!need.cpus.is_empty()).then(|| need.cpus.to_string());
    let (profile, config) = (profile.map(str::to_owned), config.map(|path| path.display().to_string()));
    let options =
        [("--config", config), ("--profile", profile), ("--cpus", cpus), ("--period", period), ("--budget", budget)];
    let given = options.into_iter().filter_map(|(option, value)| Some((option, value?)));
    given.fold(Command::new(["audit"]), |command, (option, value)| command.with(option, &value))
}

/// A command that plans changes of these knobs only.
pub fn tune(cpus: &CpuSet, knobs: &[&str]) -> Command {
    Command::new(["tune"]).with("--cpus", &cpus.to_string()).with("--only", &knobs.join(","))
}

/// A length of time as options take it: exact, as one number with one unit.
pub fn length(length: Nanos) -> String {
    let ns = length.as_ns();
    let units =
        [(3_600_000_000_000, "h"), (60_000_000_000, "m"), (1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let fits = units.into_iter().find(|(unit, _)| ns >= *unit && ns % unit == 0);
    fits.map_or_else(|| format!("{ns}ns"), |(unit, name)| format!("{}{name}", ns / unit))
}

/// A latency without the thin spaces that sentences have in numbers: `61.2us`.
pub fn tight(length: Nanos) -> String {
    units::latency(length).replace(THIN, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_replaced_wherever_they_stand() {
        let typed = Command::new(["check", "--out=a b.punctual", "--duration", "8s", "--cpus", "1"]);
        let again = typed.without("--out").with("--duration", "60s").with_sudo(true);
        assert_eq!(again.to_string(), "sudo punctual check --cpus 1 --duration 60s");
        assert_eq!(Command::new(["check", "--out"]).without("--out").to_string(), "punctual check");
        let other = Command::new(["inspect", "--", "loop", "--duration", "2s"]).with("--duration", "60s");
        assert_eq!(other.to_string(), "punctual inspect --duration 60s -- loop --duration 2s");
    }

    #[test]
    fn a_command_that_looks_for_causes_asks_for_it_where_that_is_not_usual() {
        let looking = |words: &[&str]| Command::new(words.iter().copied()).looking().to_string();
        assert_eq!(looking(&["check", "--no-explain", "--cpus", "1"]), "punctual check --cpus 1");
        assert_eq!(looking(&["measure", "--cpus", "1"]), "punctual measure --cpus 1 --explain");
    }

    #[test]
    fn an_audit_is_for_the_need_as_it_was_stated() {
        let need = Need { period: Some(Nanos::from_us(500)), ..Need::default() };
        let told = |profile: Option<&str>, config: Option<&Path>| audit(&need, profile, config).to_string();
        assert_eq!(told(None, None), "punctual audit --period 500us");
        let named = told(Some("telecom"), Some(Path::new("a b.toml")));
        assert_eq!(named, "punctual audit --config 'a b.toml' --profile telecom --period 500us");
    }

    #[test]
    fn a_check_again_names_loads_and_priority_only_if_they_are_not_the_usual_ones() {
        let mut report = crate::render::sample::two_cpus();
        report.scenario.policy = Policy::Fifo(PRIORITY);
        report.scenario.load_phases = crate::cli::parse_loads(CHECK_LOADS).unwrap().0;
        let usual = check(&report).to_string();
        assert!(!usual.contains("--load") && !usual.contains("--priority"), "{usual}");
        report.scenario.policy = Policy::Fifo(80);
        report.scenario.load_phases = crate::cli::parse_loads("idle:1,cpu+net:3").unwrap().0;
        let other = check(&report).to_string();
        assert!(other.contains(" --load idle:1,cpu+net:3 --priority 80"), "{other}");
    }

    #[test]
    fn words_that_a_shell_would_split_are_quoted() {
        let odd = Command::new(["measure", "--load", "cmd:sh -c 'x y'", ""]);
        assert_eq!(odd.to_string(), r"punctual measure --load 'cmd:sh -c '\''x y'\''' ''");
    }

    #[test]
    fn lengths_are_exact() {
        let told =
            [1, 1_500, 50_000, 1_000_000, 90_000_000_000, 7_200_000_000_000].map(|ns| length(Nanos::from_ns(ns)));
        assert_eq!(told, ["1ns", "1500ns", "50us", "1ms", "90s", "2h"]);
    }
}
