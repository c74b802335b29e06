//! Tests that probes, remedies and conflicts use the table of programs consistently.

use punctual_facts::finding::State;
use punctual_facts::machine::Machine;
use punctual_facts::profile::Need;
use punctual_facts::tree::MemTree;
use punctual_tuning::audit::audit;
use punctual_tuning::knobs::{self, Case, Lasting};
use punctual_tuning::plan::remedies::{KnobRemedy, Preferences, REMEDIES, Site, remedy};
use punctual_tuning::programs::{PROGRAMS, Program};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A machine on which a program is at work: its first process runs, or else its first unit is active.
fn at_work(program: &Program) -> MemTree {
    let unit = program.units.first().filter(|_| program.processes.is_empty());
    let lines = [
        "punctual-machine 1\n/proc/1/comm = systemd\n/run/systemd/system/\n".to_owned(),
        "/sys/devices/system/cpu/online = 0-3\n".to_owned(),
        "/etc/systemd/system/multi-user.target.wants/dbus.service = x\n".to_owned(),
        format!("/run/systemd/units/invocation:{} = x\n", unit.unwrap_or(&"dbus.service")),
        "punctual:/tasks =\n    2129984 0 0 0 kthreadd\n".to_owned(),
        program.processes.first().map_or(String::new(), |process| format!("    4194560 0 0 0 {process}\n")),
    ];
    MemTree::parse(&lines.concat()).unwrap()
}

#[test]
fn what_the_probe_finds_bad_the_remedy_knows() {
    let mut seen = BTreeSet::new();
    for program in PROGRAMS {
        let tree = at_work(program);
        let (machine, need, preferences) = (Machine::read(&tree), Need::default(), Preferences::default());
        let (case, findings) = (Case::new(&tree, &machine, &need), audit(&tree, &machine, &need));
        for id in program.bad_for.iter().filter(|id| REMEDIES.iter().any(|remedy| remedy.knob == **id)) {
            let finding = findings.iter().find(|finding| finding.id == **id).unwrap();
            assert_eq!(finding.state, State::Bad, "{id} does not see {}: {:?}", program.name, finding.evidence);
            match remedy(&Site::new(&case, &preferences), id) {
                Some(KnobRemedy::Steps(steps, _)) => assert_eq!(steps.len(), 1, "{id} {}", program.name),
                Some(KnobRemedy::ByHand(_)) => assert!(program.by_hand.is_some(), "{id} {}", program.name),
                other => panic!("{id} knows nothing of {}: {other:?}", program.name),
            }
            seen.insert(*id);
        }
    }
    for id in ["irq.irqbalance", "pm.daemons", "svc.timers", "svc.update_timers", "svc.maintenance", "svc.priority"] {
        assert!(seen.contains(id), "{id}");
    }
}

#[test]
fn an_update_at_work_is_left_to_finish_and_a_service_of_a_user_is_left_to_him() {
    for (id, process, told) in [
        ("svc.timers", "dnf-automatic", "let dnf-automatic finish"),
        ("svc.timers", "apt.systemd.dai", "let apt finish"),
        ("svc.priority", "gamemoded", "systemctl --user mask --now gamemoded.service"),
    ] {
        let program = PROGRAMS.iter().find(|program| program.processes == [process]).unwrap();
        let tree = at_work(program);
        let (machine, need, preferences) = (Machine::read(&tree), Need::default(), Preferences::default());
        let case = Case::new(&tree, &machine, &need);
        let Some(KnobRemedy::ByHand(how)) = remedy(&Site::new(&case, &preferences), id) else { panic!("{process}") };
        assert!(how.starts_with(told), "{process}: {how}");
    }
}

#[test]
fn entries_are_sound() {
    let mut units = BTreeSet::new();
    for program in PROGRAMS {
        assert!(!program.units.is_empty() || !program.processes.is_empty(), "{}", program.name);
        assert!(program.writes.is_empty() == program.sets.is_empty(), "{}", program.name);
        for id in program.knobs() {
            assert!(knobs::find(id).is_some(), "there is no knob {id}");
        }
        assert!(program.knobs().next().is_some(), "{} has to do with no knob", program.name);
        for process in program.processes {
            assert!(process.len() <= 15, "{process} is cut by the kernel");
        }
        for unit in program.units {
            assert!(matches!(unit.rsplit('.').next(), Some("service" | "timer" | "target")), "{unit}");
            assert!(units.insert(unit), "{unit} stands twice");
        }
    }
}

/// Whether a text contains the name of a systemd unit. Names of manual pages, such as `systemd.timer(5)`, do not count.
fn names_a_unit(text: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "@._-".contains(c);
    text.match_indices(".service").chain(text.match_indices(".timer")).any(|(at, ending)| {
        let rest = &text[at + ending.len()..];
        text[..at].ends_with(is_name) && !rest.starts_with(|c| is_name(c) || c == '(')
    })
}

/// Collects the Rust files below a folder, except tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.file_name().and_then(|name| name.to_str()).unwrap() {
            _ if path.is_dir() => sources(&path, found),
            "tests.rs" => {}
            _ if path.extension().is_some_and(|extension| extension == "rs") => found.push(path),
            _ => {}
        }
    }
}

#[test]
fn no_unit_is_named_outside_the_table() {
    assert!(names_a_unit("\"irqbalance.service\"") && names_a_unit("mask --now apt-daily.timer && x"));
    assert!(!names_a_unit("\".service\"") && !names_a_unit("systemd.timer(5)") && !names_a_unit("svc.timers"));
    let mut files = Vec::new();
    for folder in ["src/knobs", "src/plan/remedies", "src/plan/conflicts"] {
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut files);
    }
    assert!(files.len() > 80);
    let units: Vec<&str> = PROGRAMS.iter().flat_map(|program| program.units).copied().collect();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let is_comment = |line: &str| line.trim_start().starts_with("//");
        let guilty = |line: &&str| {
            !is_comment(line)
                && !line.contains("sources: ")
                && (names_a_unit(line) || units.iter().any(|unit| line.contains(&format!("\"{unit}\""))))
        };
        assert_eq!(text.lines().find(guilty), None, "{}", path.display());
    }
}

#[test]
fn what_silences_a_knob_is_one_command_for_what_is_at_work_here() {
    let program = |name: &str| PROGRAMS.iter().find(|program| program.name == name).unwrap();
    let told = |name: &str, id: &str| {
        let tree = at_work(program(name));
        let (machine, need) = (Machine::read(&tree), Need::default());
        let case = Case::new(&tree, &machine, &need);
        let knob = knobs::find(id).unwrap();
        let place = knob.places().into_iter().find(|place| matches!(place, Lasting::Silence(_))).unwrap();
        [knob.fix_here(&case), knob.undo_here(&case), place.here(&case), place.undo_here(&case).unwrap_or_default()]
    };
    assert_eq!(
        told("fapolicyd", "svc.scanners")[2..],
        [
            "systemctl mask --now fapolicyd.service",
            "systemctl unmask fapolicyd.service && systemctl start fapolicyd.service"
        ]
    );
    assert_eq!(
        told("TLP", "pm.daemons")[..2],
        [
            "systemctl mask --runtime --now tlp.service",
            "systemctl unmask --runtime tlp.service && systemctl start tlp.service"
        ]
    );
    let by_hand = "balooctl disable, as the user whose files it reads";
    assert_eq!(told("baloo", "svc.indexers"), [by_hand, "systemctl --user unmask", by_hand, ""]);
    // To start one of these targets again would send the machine to sleep.
    let sleep = told("sleep", "pm.sleep_targets");
    assert!(sleep[0].starts_with("systemctl mask --runtime --now sleep.target"), "{sleep:?}");
    assert!(sleep.iter().all(|command| !command.contains("start ")), "{sleep:?}");
}
