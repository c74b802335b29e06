//! What of this program works on a machine, and what to install or to grant for the rest.

use super::document::Published;
use super::sheet::{Sheet, Style, Tone};
use super::units::{self, counted};
use crate::render::lang::tr;
use punctual_facts::ability::{Ability, Obstacle, Tried};
use serde::Serialize;

/// Width of the labels before the reason and the remedy.
const LABEL: usize = 5;

/// The document of `punctual check --why-not --json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WhyNot<'a> {
    /// What was tried on this machine.
    abilities: &'a [Tried],
}

impl<'a> WhyNot<'a> {
    pub fn new(abilities: &'a [Tried]) -> Self {
        Self { abilities }
    }
}

impl Published for WhyNot<'_> {
    const SCHEMA: &'static str = "punctual/why-not/1";
}

/// The answer in one line.
pub fn brief(tried: &[Tried]) -> String {
    let lacking: Vec<String> = lacking(tried).map(|(ability, _)| name(ability)).collect();
    let works = tried.len() - lacking.len();
    if lacking.is_empty() {
        return tr!("EVERYTHING WORKS: {things} tried", things = counted(works as u64, "feature"));
    }
    tr!(
        "{works} of {things} work; these do not work here: {lacking}",
        works,
        things = counted(tried.len() as u64, "feature"),
        lacking = lacking.join(", ")
    )
}

/// What works in a few lines, then each thing that does not, with its reason and its remedy. The answer comes last.
pub fn text(tried: &[Tried], style: Style) -> String {
    let mut sheet = Sheet::new(style);
    let works: Vec<String> = tried.iter().filter(|one| one.obstacle.is_none()).map(|one| name(&one.ability)).collect();
    sheet.heading(tr!("Works here"));
    sheet.paragraph(2, &if works.is_empty() { tr!("nothing that was tried").to_owned() } else { works.join(", ") });
    if works.len() < tried.len() {
        sheet.heading(tr!("Does not work here"));
    }
    let is_missing = |obstacle: &Obstacle| matches!(obstacle, Obstacle::NoProgram { .. });
    for (ability, obstacle) in lacking(tried).filter(|(_, obstacle)| !is_missing(obstacle)) {
        let tone = if ability.is_essential() { Tone::Bad } else { Tone::Doubt };
        sheet.toned_paragraph(2, tone, &units::capitalised(&name(ability)), &format!("({})", needed_for(ability)));
        sheet.entry(4, LABEL, tr!("why"), &why(obstacle));
        let (remedy, command) = remedy(obstacle);
        sheet.entry(4, LABEL, tr!("do"), remedy);
        if let Some(command) = command {
            sheet.command(4 + LABEL + 1, &command);
        }
    }
    missing_programs(&mut sheet, tried);
    answer(&mut sheet, tried);
    sheet.finish()
}

/// The loads that need a program, with one command that installs all of them.
fn missing_programs(sheet: &mut Sheet, tried: &[Tried]) {
    let missing = lacking(tried).filter_map(|(_, obstacle)| match obstacle {
        Obstacle::NoProgram { program, package } => Some((program.as_str(), package.as_str())),
        _ => None,
    });
    let (programs, packages): (Vec<&str>, Vec<&str>) = missing.unzip();
    if programs.is_empty() {
        return;
    }
    sheet.toned_paragraph(
        2,
        Tone::Doubt,
        tr!("Loads by other programs"),
        tr!("(--load with their names; other loads are built in)"),
    );
    sheet.entry(4, LABEL, tr!("why"), &tr!("not installed: {programs}", programs = programs.join(", ")));
    sheet.entry(4, LABEL, tr!("do"), tr!("install those that you want; on Debian:"));
    sheet.command(4 + LABEL + 1, &format!("sudo apt install {}", packages.join(" ")));
}

fn answer(sheet: &mut Sheet, tried: &[Tried]) {
    let essential = lacking(tried).filter(|(ability, _)| ability.is_essential()).count();
    sheet.gap();
    let (tone, word, rest) = match (essential, lacking(tried).count()) {
        (0, 0) => (Tone::Good, tr!("EVERYTHING WORKS:"), tr!("nothing that was tried is refused here").to_owned()),
        (0, some) => (
            Tone::Good,
            tr!("MEASUREMENTS WORK:"),
            tr!(
                "they have the rights that they need; {other_things} do not work here",
                other_things = counted(some as u64, "other feature")
            ),
        ),
        _ => (
            Tone::Bad,
            tr!("MEASUREMENTS CANNOT BE TRUSTED:"),
            tr!("without real-time priority and locked memory, they show the latency of an ordinary thread").to_owned(),
        ),
    };
    sheet.hanging_paragraph(0, 2, tone, word, &rest);
    let needs_root = lacking(tried).any(|(_, obstacle)| is_ended_by_root(obstacle));
    let again = (tr!("See what root may do here:"), "sudo punctual check --why-not".to_owned());
    let check = (tr!("Measure for half a minute:"), "sudo punctual check".to_owned());
    let (why, command) = if needs_root { again } else { check };
    sheet.answer_next(why, &command, None);
}

fn lacking(tried: &[Tried]) -> impl Iterator<Item = (&Ability, &Obstacle)> {
    tried.iter().filter_map(|one| Some((&one.ability, one.obstacle.as_ref()?)))
}

fn is_ended_by_root(obstacle: &Obstacle) -> bool {
    matches!(obstacle, Obstacle::NotRoot | Obstacle::PriorityLimit(_) | Obstacle::MemoryLimit(_))
}

fn name(ability: &Ability) -> String {
    match ability {
        Ability::RealTimePriority => tr!("real-time priority").to_owned(),
        Ability::LockMemory => tr!("locked memory").to_owned(),
        Ability::HoldIdleStates => tr!("limiting idle states").to_owned(),
        Ability::KernelTrace => tr!("the kernel's trace").to_owned(),
        Ability::FirmwareCounter => tr!("the firmware's counter of interruptions (SMIs)").to_owned(),
        Ability::ChangeSettings => tr!("changing settings").to_owned(),
        Ability::Load(name) => tr!("the load {name}", name),
    }
}

fn needed_for(ability: &Ability) -> &'static str {
    match ability {
        Ability::RealTimePriority | Ability::LockMemory => tr!("every measurement"),
        Ability::HoldIdleStates => tr!("measure --dma-latency, and tune while it measures"),
        Ability::KernelTrace => tr!("explain and inspect; without the trace they use counters"),
        Ability::FirmwareCounter => tr!("blaming the firmware for a late activation"),
        Ability::ChangeSettings => tr!("tune, optimize, revert"),
        Ability::Load(_) => "--load with this name; other loads are built in",
    }
}

fn why(obstacle: &Obstacle) -> String {
    match obstacle {
        Obstacle::NotRoot => tr!("only root may do this").to_owned(),
        Obstacle::PriorityLimit(limit) => {
            tr!("the limit on real-time priorities of this user is {limit}, and CAP_SYS_NICE is missing", limit)
        }
        Obstacle::MemoryLimit(bytes) => {
            tr!("this user may lock {bytes} KiB, and CAP_IPC_LOCK is missing", bytes = units::count(bytes / 1024))
        }
        Obstacle::GroupWithoutRunTime => tr!(
            "the control group of this shell, or the container around it, has no real-time run time (cpu.rt_runtime_us)"
        )
        .to_owned(),
        Obstacle::PidNamespace => {
            tr!("this process has a PID namespace of its own, but the trace contains the thread ids of the machine")
                .to_owned()
        }
        Obstacle::NoFile(path) => tr!("there is no {path}", path),
        Obstacle::NoProgram { program, .. } => tr!("there is no program {program}", program),
        Obstacle::NoDisplay => tr!("there is no display to draw on (DISPLAY is not set)").to_owned(),
        Obstacle::NotGranted(why) => why.clone(),
    }
}

/// What to do, and the command for it if there is one.
fn remedy(obstacle: &Obstacle) -> (&'static str, Option<String>) {
    const LIMITS: &str = "/etc/security/limits.d/punctual.conf";
    let limit = |item: &str| Some(format!("echo \"$USER - {item}\" | sudo tee -a {LIMITS}"));
    match obstacle {
        Obstacle::NotRoot => (tr!("put sudo before the command"), None),
        Obstacle::PriorityLimit(_) => (tr!("run as root, or raise the limit and log in again:"), limit("rtprio 95")),
        Obstacle::MemoryLimit(_) => {
            (tr!("run as root, or raise the limit and log in again:"), limit("memlock unlimited"))
        }
        Obstacle::GroupWithoutRunTime => (
            tr!("start a container with --cap-add SYS_NICE; elsewhere move this shell to the root group:"),
            Some("echo $$ | sudo tee /sys/fs/cgroup/cgroup.procs".to_owned()),
        ),
        Obstacle::PidNamespace => (tr!("start the container with --pid=host"), None),
        Obstacle::NoFile(path) if path.ends_with("/msr") => {
            (tr!("load its module:"), Some("sudo modprobe msr".to_owned()))
        }
        Obstacle::NoFile(_) => {
            (tr!("in a container, pass the device to it; elsewhere, the kernel was built without this device"), None)
        }
        Obstacle::NoProgram { package, .. } => (tr!("install it:"), Some(format!("sudo apt install {package}"))),
        Obstacle::NoDisplay => (tr!("run it in a session with a display"), None),
        Obstacle::NotGranted(_) => (tr!("see the system's message above"), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::document::schema::assert_valid;
    use crate::render::golden::assert_golden;

    fn tried(obstacles: impl IntoIterator<Item = (Ability, Option<Obstacle>)>) -> Vec<Tried> {
        obstacles.into_iter().map(|(ability, obstacle)| Tried { ability, obstacle }).collect()
    }

    fn ordinary() -> Vec<Tried> {
        let program = Obstacle::NoProgram { program: "hackbench".to_owned(), package: "rt-tests".to_owned() };
        tried([
            (Ability::RealTimePriority, Some(Obstacle::PriorityLimit(0))),
            (Ability::LockMemory, Some(Obstacle::MemoryLimit(8 << 20))),
            (Ability::HoldIdleStates, Some(Obstacle::NotRoot)),
            (Ability::KernelTrace, Some(Obstacle::PidNamespace)),
            (Ability::FirmwareCounter, Some(Obstacle::NoFile("/dev/cpu/0/msr".to_owned()))),
            (Ability::ChangeSettings, Some(Obstacle::NotRoot)),
            (Ability::Load("hackbench".to_owned()), Some(program)),
            (Ability::Load("stress".to_owned()), None),
            (Ability::Load("glmark2".to_owned()), Some(Obstacle::NoDisplay)),
        ])
    }

    fn root() -> Vec<Tried> {
        tried([
            (Ability::RealTimePriority, None),
            (Ability::LockMemory, None),
            (Ability::KernelTrace, Some(Obstacle::NotGranted("no tracefs: locked down".to_owned()))),
        ])
    }

    #[test]
    fn each_thing_that_does_not_work_has_its_reason_and_its_remedy() {
        for (name, tried) in [("ordinary", ordinary()), ("root", root())] {
            let text = text(&tried, Style::default());
            assert_golden(&format!("why-not-{name}.txt"), &text);
            let whys = text.lines().filter(|line| line.starts_with("    why ")).count();
            assert_eq!(whys, lacking(&tried).count(), "one program is missing, so that none are told together");
            let document = assert_valid(&WhyNot::new(&tried));
            assert_eq!(document["abilities"].as_array().unwrap().len(), tried.len());
        }
        let all = tried([(Ability::LockMemory, None), (Ability::ChangeSettings, None)]);
        assert!(text(&all, Style::default()).contains("EVERYTHING WORKS"));
        assert!(brief(&all).starts_with("EVERYTHING WORKS: 2"), "{}", brief(&all));
        assert!(brief(&root()).ends_with("these do not work here: the kernel's trace"), "{}", brief(&root()));
    }

    #[test]
    fn the_obstacles_are_not_confused_in_the_document() {
        let document = serde_json::to_value(ordinary()).unwrap();
        assert_eq!(document[1]["obstacle"]["memory-limit"], 8 << 20);
        assert_eq!(document[6]["obstacle"]["no-program"]["package"], "rt-tests");
        assert_eq!(document[7]["obstacle"], serde_json::Value::Null);
    }
}
