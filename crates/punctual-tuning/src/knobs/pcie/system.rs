//! Knobs about suspending the whole machine.

use crate::knobs::prelude::*;
use crate::programs::Silencing;

const KNOB: Knob = Knob { confidence: Confidence::Medium, blast: Blast::Breaking, ..Knob::of(Family::Pcie) };

pub(crate) const KNOBS: &[Knob] = &[Knob {
    id: "pm.sleep_targets",
    title: "The machine cannot be sent to sleep",
    check: Check::Probe(sleep),
    why: "Suspend stops everything; after it, affinities and priorities of threads and interrupts may have changed, \
        clocks are calibrated anew, and the firmware may have changed settings of its own.",
    cost: "The machine can no longer be suspended.",
    sources: &["kernel 7.3 kernel/power/main.c: state", "systemd.special(7): sleep.target", "rtirq: resume unit"],
    ..KNOB
}];

fn sleep(case: &Case<'_>) -> Judged {
    let none = CannotBe("this kernel cannot sleep");
    if case.text("/sys/power/state", none)?.is_empty() {
        return Ok(true);
    }
    let target = Silencing::of("pm.sleep_targets").units[0];
    for folder in ["/etc/systemd/system", "/run/systemd/system"] {
        let place = format!("{folder}/{target}");
        if case.link(&place) == Fact::Known("/dev/null".to_owned()) {
            case.note(place, "masked");
            return Ok(true);
        }
    }
    let is_unknown_init = !case.exists("/run/systemd/system");
    Doubt::unknown_if(is_unknown_init, "what may suspend this machine is not known: it is not run by systemd")?;
    case.note("/etc/systemd/system", format!("{target} is not masked"));
    Ok(false)
}
