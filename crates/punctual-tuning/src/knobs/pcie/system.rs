//! The whole machine asleep.

use crate::knobs::prelude::*;

/// Without this target, none of the others can be reached.
const TARGET: &str = "sleep.target";

const KNOB: Knob = Knob::of(Family::Pcie);

pub(crate) const KNOBS: &[Knob] = &[Knob {
    id: "pm.sleep_targets",
    title: "The machine cannot be sent to sleep",
    severity: Weight::all(Info),
    check: Check::Probe(sleep),
    why: "Suspend stops everything; after it, affinities and priorities of threads and interrupts may not be what they \
        were, clocks are calibrated anew, and the firmware has run.",
    fix: Fix::command("systemctl mask sleep.target suspend.target hibernate.target hybrid-sleep.target"),
    persist: &[
        Lasting::NoService("sleep.target"),
        Lasting::NoService("suspend.target"),
        Lasting::NoService("hibernate.target"),
        Lasting::NoService("hybrid-sleep.target"),
    ],
    cost: "The machine can no longer be suspended.",
    blast: Blast::Breaking,
    confidence: Confidence::Medium,
    sources: &["kernel 7.3 kernel/power/main.c: state", "systemd.special(7): sleep.target", "rtirq: resume unit"],
    ..KNOB
}];

fn sleep(case: &Case<'_>) -> Judged {
    let none = CannotBe("this kernel cannot sleep");
    if case.text("/sys/power/state", none)?.is_empty() {
        return Ok(true);
    }
    for folder in ["/etc/systemd/system", "/run/systemd/system"] {
        let place = format!("{folder}/{TARGET}");
        if case.link(&place) == Fact::Known("/dev/null".to_owned()) {
            case.note(place, "masked");
            return Ok(true);
        }
    }
    if !case.exists("/run/systemd/system") {
        return Doubt::unknown("who may send this machine to sleep is not known: systemd does not run it");
    }
    case.note("/etc/systemd/system", format!("{TARGET} is not masked"));
    Ok(false)
}
