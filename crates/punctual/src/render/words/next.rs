//! Next steps, in words and as commands to paste. `punctual_numbers::report` decides which steps there are.

use super::command::{self, Command};
use crate::render::lang::{text, tr};
use crate::render::units;
use crate::render::words::knob;
use punctual_facts::machine::MachineFacts;
use punctual_numbers::report::{NextStep, Report, Situation};
use punctual_tuning::knobs::Fix;
use std::path::Path;

/// The reader of the answer: privileges, container, and the typed command.
#[derive(Clone, Debug)]
pub struct Reader {
    pub is_root: bool,
    /// The container that this program runs in; `None` outside of a container.
    pub container: Option<String>,
    /// The command that was typed to measure; `None` if a recording is shown again.
    pub typed: Option<Command>,
}

/// One next step in words: its purpose, and the command to type.
#[derive(Debug, PartialEq, Eq)]
pub struct Next {
    pub step: NextStep,
    /// The purpose of the step. It ends with a colon, because the command follows.
    pub why: String,
    pub command: Command,
    /// The command that measures again; `None` if the step changes nothing.
    pub then: Option<Command>,
}

/// The values that the words of a step depend on.
#[derive(Clone, Copy)]
pub struct Wording<'a> {
    pub report: &'a Report,
    pub reader: &'a Reader,
    /// The file that holds the report.
    pub recording: Option<&'a Path>,
}

impl<'a> Wording<'a> {
    fn situation(self) -> Situation<'a> {
        let can_change = |id: &str| knob(id).is_some_and(|knob| !matches!(knob.fix, Fix::Boot(_) | Fix::Prose(_)));
        Situation { is_root: self.reader.is_root, container: self.container(), can_change }
    }

    /// The container that keeps the reader from changing the measured machine. `None` if the recording says that the
    /// measurement was not made in a container, wherever the recording is shown now.
    fn container(self) -> Option<&'a str> {
        let measured = MachineFacts::of(&self.report.machine);
        let was_outside = measured.is_guest.is_some() && measured.container.is_none();
        self.reader.container.as_deref().filter(|_| !was_outside)
    }

    /// All steps for the reader, the most useful first.
    pub fn steps(self) -> Vec<Next> {
        self.report.next(&self.situation()).into_iter().map(|step| self.said(step)).collect()
    }

    pub fn for_causes(self) -> Next {
        self.said(self.report.next_for_causes(&self.situation()))
    }

    fn said(&self, step: NextStep) -> Next {
        let (why, command) = self.worded(&step);
        let is_change = matches!(step, NextStep::Change { .. } | NextStep::ByHand { .. });
        // What a container's reader changes on the host is measured there as well.
        let then = is_change.then(|| self.again().with_sudo(self.is_root_wanted()));
        Next { step, why, command, then }
    }

    #[allow(clippy::too_many_lines, reason = "a table")]
    fn worded(&self, step: &NextStep) -> (String, Command) {
        let again = self.again();
        match step {
            NextStep::AsRoot => (
                tr!("As an ordinary user this run had no real-time priority. As root it has:").to_owned(),
                again.with_sudo(true),
            ),
            NextStep::OnHost { container } => (
                tr!(
                    "This is a container ({container}); the kernel's settings are the host's. On the host, type:",
                    container
                ),
                again.with_sudo(true),
            ),
            NextStep::PinOnHost => (
                tr!(
                    "The host takes time from this guest, and nothing in the guest prevents that. On the host, pin each \
                     virtual CPU to a CPU of its own with SCHED_FIFO; then type here:"
                )
                .to_owned(),
                again,
            ),
            NextStep::Change { ids } => {
                let place = self.container().map_or(tr!("Change"), |_| tr!("On the host, change"));
                let settings = units::counted(ids.len() as u64, "setting");
                let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                (
                    tr!(
                        "{place} {settings} that the audit calls bad (the plan is shown first; the changes can be \
                        undone):",
                        place,
                        settings
                    ),
                    command::tune(&self.report.need.cpus, &ids).with_sudo(self.is_root_wanted()),
                )
            }
            NextStep::ByHand { id } => {
                let fix = self.report.findings.iter().find(|finding| finding.id == *id).map_or("", |found| &found.fix);
                (tr!("By hand: {fix} Why, and how:", fix = text(fix)), Command::new(["audit", "--explain", id]))
            }
            NextStep::StateBudget => {
                (tr!("Say which latency is too large, for example 50 us:").to_owned(), again.with("--budget", "50us"))
            }
            NextStep::Repeat => {
                let first = super::answer::remedies(self.report);
                let first = if first.is_empty() { String::new() } else { tr!("First {remedies}. Then ", remedies = first.join(tr!("; "))) };
                (units::capitalised(&tr!("{first}measure again:", first)), again)
            }
            NextStep::OutlastMoods { length } => (
                tr!(
                    "This machine's latency changes slowly, and this run was too short to say something about the next \
                    one. Measure for {length}:",
                    length = units::duration(*length)
                ),
                again.with("--duration", &command::length(*length)),
            ),
            NextStep::MeasureLonger { length, releases, one_in } => (
                tr!(
                    "To claim that fewer than 1 in {n} releases miss, measure for {length} ({releases}; none may miss):",
                    n = units::count(*one_in),
                    length = units::duration(*length),
                    releases = units::counted(*releases, "release")
                ),
                again.with("--duration", &command::length(*length)),
            ),
            NextStep::LookAtThreads => {
                (tr!("See which class and priority each thread was granted:").to_owned(), self.of_file(["report", "--full"]))
            }
            NextStep::LookAtCauses => (
                tr!("No setting is known to stand in the way. See when and why activations were late:").to_owned(),
                self.of_file(["explain"]),
            ),
            NextStep::LookForCauses => (tr!("Find the cause first, in a run that looks for it:").to_owned(), again),
            NextStep::LookAtSpike => {
                (tr!("See the parts of the worst activation:").to_owned(), self.of_file(["explain", "--spike", "1"]))
            }
            NextStep::LookAtRun => (tr!("See the whole run:").to_owned(), self.of_file(["report", "--full"])),
            NextStep::LookAtSkips { cpu, longest_gap } => (
                tr!(
                    "Releases were skipped on CPU {cpu}, with up to {gap} between two wake-ups. Find out what kept the \
                    thread from running:",
                    cpu,
                    gap = units::latency(*longest_gap)
                ),
                match self.report.causes {
                    Some(_) => self.of_file(["explain"]),
                    None => self.of_file(["report", "--full"]),
                },
            ),
            NextStep::AuditAsRoot { ids } => (
                tr!("As root, the audit can perhaps decide these unknown findings ({ids}):", ids = ids.join(", ")),
                command::audit(&super::answer::need(self.report), None, None).with_sudo(true),
            ),
            NextStep::Nothing => {
                (tr!("Nothing: this need is met. To see all of the run:").to_owned(), self.of_file(["report", "--full"]))
            }
        }
    }

    /// Whether a command of the next step needs `sudo`: the reader is no root, or root of a container only.
    fn is_root_wanted(&self) -> bool {
        !self.reader.is_root || self.reader.container.is_some()
    }

    /// The typed measuring command or, if none was typed, one that measures the same. It looks for causes if there were
    /// misses and nobody looked.
    fn again(&self) -> Command {
        let typed = self.reader.typed.clone().unwrap_or_else(|| command::check(self.report));
        let again = typed.without("--out").without("--resume").with_sudo(!self.reader.is_root);
        if self.report.causes.is_none() && self.report.verdict.missed > 0 { again.looking() } else { again }
    }

    fn of_file<const N: usize>(&self, words: [&str; N]) -> Command {
        Command::on_file(words, self.recording)
    }
}
