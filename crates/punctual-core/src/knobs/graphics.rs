//! Graphics: it shares memory bandwidth and, with integrated GPUs, the last-level cache.

use super::{Blast, Case, Doubt, Family, Judged, Knob, Lasting, Missing, Probe, Weight};
use crate::finding::Confidence;
use crate::finding::Severity::{Info, Medium};
use crate::profile::Kind;

/// Names of display servers and compositors, as the kernel cuts them to 15 bytes.
const DESKTOPS: &[&str] = &[
    "Xorg",
    "Xwayland",
    "gnome-shell",
    "kwin_wayland",
    "kwin_x11",
    "plasmashell",
    "xfwm4",
    "cinnamon",
    "sway",
    "Hyprland",
    "labwc",
    "wayfire",
    "gdm3",
    "gdm",
    "sddm",
    "lightdm",
];

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        id: "gpu.desktop",
        title: "No desktop session",
        family: Family::Graphics,
        severity: Weight::all(Medium),
        probe: Probe::Effective(desktop),
        why: "Drawing loads memory, the last-level cache and USB, in step with the screen and with whoever moves \
            the mouse.",
        fix: "systemctl isolate multi-user.target (ends the session).",
        persist: &[Lasting::Other(
            "systemctl set-default multi-user.target; where a screen is needed, a kiosk that draws little.",
        )],
        undo: "systemctl set-default graphical.target; systemctl isolate graphical.target",
        cost: "The desktop.",
        blast: Blast::Breaking,
        confidence: Confidence::Medium,
        sources: &["kernel 7.3 core-api/real-time/kernel-configuration.rst (severity info)"],
    },
    Knob {
        id: "gpu.freq",
        title: "GPU frequency fixed",
        family: Family::Graphics,
        severity: Weight::all(Info),
        probe: Probe::Effective(freq),
        why: "An integrated GPU that speeds up takes power, cache and memory bandwidth from the CPUs.",
        fix: "Write one low frequency as both limits: gt_min_freq_mhz and gt_max_freq_mhz (i915), min_freq and \
            max_freq (xe).",
        persist: &[Lasting::Other("A udev rule for the card.")],
        undo: "Write back both limits.",
        cost: "Slow graphics.",
        blast: Blast::Harmless,
        confidence: Confidence::Low,
        sources: &["kernel 7.3 drivers/gpu/drm/xe/xe_gt_freq.c", "unverified: the effect on a given machine"],
    },
];

fn desktop(case: &Case<'_>) -> Judged {
    if case.is(Kind::Audio) {
        return Doubt::not_applicable("a shared desktop is what is asked for");
    }
    Ok(case.daemons(DESKTOPS)?.is_empty())
}

fn freq(case: &Case<'_>) -> Judged {
    let folder = "/sys/class/drm";
    let none = Missing::CannotBe("there is no graphics card");
    let cards = case.known(folder, case.list(folder), none)?;
    let cards = cards.iter().filter(|name| name.starts_with("card") && !name.contains('-'));
    let limits = cards.flat_map(|card| {
        [
            (format!("{folder}/{card}/gt_min_freq_mhz"), format!("{folder}/{card}/gt_max_freq_mhz")),
            (
                format!("{folder}/{card}/device/tile0/gt0/freq0/min_freq"),
                format!("{folder}/{card}/device/tile0/gt0/freq0/max_freq"),
            ),
        ]
    });
    let (mut seen, mut is_fixed) = (false, true);
    for (lowest, highest) in limits {
        if case.peek(&lowest).known().is_some() {
            seen = true;
            is_fixed &= case.text(&lowest, none)? == case.text(&highest, none)?;
        }
    }
    if seen { Ok(is_fixed) } else { Doubt::not_applicable("no graphics card here lets its frequency be set") }
}
