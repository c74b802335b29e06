//! The table of programs: what a probe finds bad, its remedy knows, and so does the list of conflicts.

use punctual_facts::finding::State;
use punctual_facts::machine::Machine;
use punctual_facts::profile::Need;
use punctual_facts::tree::MemTree;
use punctual_tuning::audit::audit;
use punctual_tuning::knobs::{self, Case, Lasting};
use punctual_tuning::plan::remedies::{Preferences, REMEDIES, Remedy, Site, remedy};
use punctual_tuning::programs::{PROGRAMS, Program};
use std::collections::BTreeSet;

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
                Some(Remedy::Steps(steps, _)) => assert_eq!(steps.len(), 1, "{id} {}", program.name),
                Some(Remedy::ByHand(_)) => assert!(program.by_hand.is_some(), "{id} {}", program.name),
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
        let Some(Remedy::ByHand(how)) = remedy(&Site::new(&case, &preferences), id) else { panic!("{process}") };
        assert!(how.starts_with(told), "{process}: {how}");
    }
}

#[test]
fn entries_are_sound() {
    let mut units = BTreeSet::new();
    for program in PROGRAMS {
        assert!(!program.units.is_empty() || !program.processes.is_empty(), "{}", program.name);
        assert!(program.writes.is_empty() == program.sets.is_empty(), "{}", program.name);
        for id in program.bad_for.iter().chain(program.owner_for) {
            assert!(knobs::find(id).is_some(), "there is no knob {id}");
        }
        assert!(!program.knob().is_empty(), "{} is bad for nothing", program.name);
        for process in program.processes {
            assert!(process.len() <= 15, "{process} is cut by the kernel");
        }
        for unit in program.units {
            assert!(matches!(unit.rsplit('.').next(), Some("service" | "timer")), "{unit}");
            assert!(units.insert(unit), "{unit} stands twice");
        }
    }
}

/// What the catalogue has a person mask for a knob is of a program that this knob calls bad.
#[test]
fn the_catalogue_masks_no_unit_that_the_table_does_not_know() {
    for knob in knobs::ALL {
        let known = PROGRAMS.iter().filter(|program| program.bad_for.contains(&knob.id));
        let known: Vec<&str> = known.flat_map(|program| program.units).copied().collect();
        for place in knob.persist.iter().filter(|_| !known.is_empty()) {
            let Lasting::NoService(unit) = place else { continue };
            assert!(known.contains(unit), "{}: {unit}", knob.id);
        }
    }
}
