//! Tests what changes in the audit of a machine with a real-time core when the core is stopped or disabled, or does not
//! fit its library.

use crate::machines::need;
use crate::{check, repository};
use punctual_facts::finding::{Finding, Severity, State};
use punctual_facts::machine::Machine;
use punctual_facts::tree::MemTree;
use punctual_tuning::audit::audit;
use std::fmt::Write as _;

const EVL_STATE: &str = "/sys/devices/virtual/evl/control/state";
const PC_TIMERS: &str = "/sys/devices/system/clockevents/clockevent0/current_device = lapic-deadline\n\
    /sys/devices/system/clockevents/clockevent2/current_device = lapic-deadline\n\
    /sys/devices/system/clockevents/clockevent3/current_device = lapic-deadline\n";

const PC_LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/pkgconfig/evl.pc =\n    Name: evl\n";

/// Machines of the fixtures, each with what happens to it and the files that differ then.
fn changes() -> Vec<(&'static str, &'static str, String)> {
    let evl_stops = format!("{EVL_STATE} = stopped\n");
    vec![
        ("evl-5.10", "stopped", format!("{evl_stops}{PC_TIMERS}")),
        ("evl-5.10", "wrong-pair", format!("{PC_LIBRARY}    Version: 0.49\n")),
        ("evl-6.6-arm64", "stopped", evl_stops),
        (
            "evl-6.6-arm64",
            "wrong-pair",
            "/usr/include/evl/evl.h = #define EVL_ABI_PREREQ 32\npunctual:/evl/abi_base = 36\n".to_owned(),
        ),
        ("cobalt-3.2.7", "stopped", PC_TIMERS.to_owned()),
        ("cobalt-3.2.7", "wrong-pair", "/usr/xenomai/bin/xeno-config = XENO_VERSION=\"3.3.1\"\n".to_owned()),
    ]
}

fn findings(text: &str, changed: &str) -> Vec<Finding> {
    let mut tree = MemTree::parse(text).unwrap();
    tree.overlay(changed, 1).unwrap();
    audit(&tree, &Machine::read(&tree), &need(text))
}

fn told(finding: &Finding) -> String {
    let state = match (&finding.state, finding.state.because().unwrap_or_default()) {
        (State::Good, _) => "good".to_owned(),
        (State::Bad, _) => format!("bad {:?}", finding.severity),
        (State::Unknown(_), because) => format!("unknown: {because}"),
        (State::Advice(_), because) => format!("advice: {because}"),
        (State::NotApplicable(_), because) => format!("not applicable: {because}"),
    };
    let evidence: Vec<String> = finding.evidence.iter().map(|e| format!("    {} = {}\n", e.source, e.value)).collect();
    let fix = if finding.state == State::Bad { format!("    -> {}\n", finding.fix) } else { String::new() };
    format!("{state}\n{}{fix}", evidence.concat())
}

/// The machine as it would be with its core disabled on the command line: of the core, only the parameters are there.
fn with_core_disabled(text: &str) -> String {
    const GONE: [&str; 3] =
        ["/sys/devices/virtual/evl/", "/sys/devices/virtual/clock/", "/sys/devices/virtual/thread/"];
    let is_there = |line: &&str| !line.starts_with("/dev/evl/") && !GONE.iter().any(|gone| line.starts_with(gone));
    let rest: Vec<&str> = text.lines().filter(is_there).collect();
    rest.join("\n") + "\n/sys/module/evl/parameters/state = disabled\n"
}

#[test]
fn a_disabled_core_is_told_from_none() {
    let text = std::fs::read_to_string(repository("fixtures/machines/evl-6.6-arm64.machine")).unwrap();
    let findings = findings(&with_core_disabled(&text), "");
    let of = |id: &str| findings.iter().find(|finding| finding.id == id).unwrap();
    let state = of("evl.state");
    assert_eq!((&state.state, state.severity), (&State::Bad, Severity::Fatal));
    assert!(state.fix.contains("evl.state=enabled"), "{}", state.fix);
    assert!(matches!(of("kconf.flavour").state, State::NotApplicable(_)));
    assert!(matches!(of("evl.gravity").state, State::NotApplicable(_)));
}

#[test]
fn what_is_wrong_with_a_core_is_said_and_nothing_else_changes() {
    for (name, what, changed) in changes() {
        let text = std::fs::read_to_string(repository(&format!("fixtures/machines/{name}.machine"))).unwrap();
        let (before, after) = (findings(&text, ""), findings(&text, &changed));
        let mut out = String::new();
        for finding in &after {
            let was = before.iter().find(|was| was.id == finding.id).unwrap();
            if was != finding {
                write!(out, "{}\n  was {}  is {}\n", finding.id, told(was), told(finding)).unwrap();
            }
        }
        let fatal = if what == "wrong-pair" { "library" } else { "state" };
        let is_told = after.iter().any(|f| f.id.ends_with(&format!(".{fatal}")) && f.state == State::Bad);
        assert!(is_told, "{name} {what}");
        check(&repository(&format!("fixtures/second-kernel/{name}-{what}.changes")), &out);
    }
}

/// Nobody who runs a second kernel is told to install another one, and nobody else is told about second kernels.
#[test]
fn advice_fits_the_kernel() {
    for path in fixtures::files("machines", "machine") {
        let text = std::fs::read_to_string(&path).unwrap();
        let tree = MemTree::parse(&text).unwrap();
        let machine = Machine::read(&tree);
        let has_core = matches!(machine.second_kernel.known(), Some(Some(_)));
        for finding in audit(&tree, &machine, &need(&text)) {
            let is_about_core = ["evl.", "cob.", "dual."].iter().any(|prefix| finding.id.starts_with(prefix));
            let place = format!("{}: {}", path.display(), finding.id);
            match finding.state {
                State::Bad if has_core => {
                    assert!(
                        !finding.fix.contains("Debian") && !finding.fix.contains("-rt-"),
                        "{place}: {}",
                        finding.fix
                    );
                }
                State::Bad | State::Good | State::Advice(_) => assert!(has_core || !is_about_core, "{place}"),
                State::Unknown(_) | State::NotApplicable(_) => {}
            }
        }
    }
}

/// The options that `evl check` of libevl 0.49 looks at on x86-64, the value that it wants of each, and our knob.
const EVL_CHECK: [(&str, &str, &str); 12] = [
    ("CPU_FREQ_DEFAULT_GOV_PERFORMANCE", "y", "kconf.default_gov"),
    ("DEBUG_HARD_LOCKS", "n", "dual.hard_locks"),
    ("ACPI_PROCESSOR_IDLE", "n", "dual.acpi_idle"),
    ("LOCKDEP", "n", "dual.lockdep"),
    ("DEBUG_LIST", "n", "dual.debug_list"),
    ("DEBUG_VM", "n", "dual.debug_vm"),
    ("DEBUG_PER_CPU_MAPS", "n", "dual.per_cpu_maps"),
    ("KASAN", "n", "kconf.debug_heavy"),
    ("DEBUG_ENTRY", "n", "dual.debug_entry"),
    ("EVL_DEBUG_CORE", "n", "evl.debug_core"),
    ("EVL_DEBUG_MEMORY", "n", "evl.debug_memory"),
    ("FTRACE", "n", "dual.ftrace"),
];

/// The configuration of a kernel in which all options but `wrong` are as `evl check` wants them.
fn configuration(wrong: Option<&str>) -> String {
    let mut text = "punctual:/kernel/config =\n".to_owned();
    for line in ["CONFIG_X86_64=y", "CONFIG_HZ=250", "CONFIG_EVL=y", "CONFIG_EVL_DEBUG=y", "CONFIG_CPU_FREQ=y"] {
        writeln!(text, "    {line}").unwrap();
    }
    for (option, wanted, _) in EVL_CHECK {
        let is_on = (wanted == "y") != (wrong == Some(option));
        let line = if is_on { format!("CONFIG_{option}=y") } else { format!("# CONFIG_{option} is not set") };
        writeln!(text, "    {line}").unwrap();
    }
    let governor = if wrong == Some(EVL_CHECK[0].0) { "schedutil" } else { "performance" };
    text + &format!("/sys/module/cpufreq/parameters/default_governor = {governor}\n")
}

/// `evl check` was run on the same 13 configurations, and named the one wrong option of each.
#[test]
fn the_audit_names_the_option_that_evl_check_names_and_no_other() {
    let text = std::fs::read_to_string(repository("fixtures/machines/evl-5.10.machine")).unwrap();
    for wrong in EVL_CHECK.iter().map(|(option, ..)| Some(*option)).chain([None]) {
        let findings = findings(&text, &configuration(wrong));
        for (option, _, id) in EVL_CHECK {
            let finding = findings.iter().find(|finding| finding.id == id).unwrap();
            let expected = if wrong == Some(option) { State::Bad } else { State::Good };
            assert_eq!(finding.state, expected, "{id} with {wrong:?} wrong: {:?}", finding.evidence);
        }
    }
}
