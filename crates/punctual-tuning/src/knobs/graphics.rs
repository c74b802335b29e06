//! Knobs about graphics, which shares memory bandwidth with the CPUs and, if integrated, the last-level cache.

use crate::knobs::prelude::*;

const FOLDER: &str = "/sys/class/drm";
const NO_CARD: Missing = CannotBe("there is no graphics card");
const NO_LIMITS: Missing = CannotBe("no graphics card here lets its frequency be set");
const NO_INTEL: Missing =
    CannotBe("no driver of Intel graphics is loaded that has this parameter (i915 cannot be built with PREEMPT_RT)");

const KNOB: Knob = Knob { confidence: Confidence::Low, ..Knob::of(Family::Graphics) };
/// Fields shared by the knobs that change parameters of Intel's drivers.
const TAINTING: Knob = Knob {
    cost: "Power; the kernel marks itself tainted.",
    sources: &[
        "kernel 6.12, 7.3 drivers/gpu/drm/i915/display/intel_display_params.c",
        "unverified: the effect on a given machine",
    ],
    ..KNOB
};

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "gpu.desktop",
        title: "No desktop session",
        severity: Weight::all(Medium),
        applies: |case| case.not_for(Kind::Audio, "audio work usually shares its machine with a desktop session"),
        check: Check::Service,
        why: "Drawing loads memory, the last-level cache and USB, in step with the screen and with every movement of \
            the mouse.",
        fix: Fix::prose("systemctl isolate multi-user.target (ends the session)."),
        persist: &[Lasting::other(
            "systemctl set-default multi-user.target; if a screen is needed, a kiosk program that draws little.",
        )],
        undo: Fix::command("systemctl set-default graphical.target; systemctl isolate graphical.target"),
        cost: "The desktop.",
        blast: Blast::Breaking,
        confidence: Confidence::Medium,
        sources: &["kernel 7.3 core-api/real-time/kernel-configuration.rst (severity info)"],
        ..KNOB
    },
    Knob {
        id: "gpu.freq",
        title: "GPU frequency fixed",
        check: Check::All(&[
            Check::seen("/sys/class/drm/card*/gt_min_freq_mhz", Want::SameAs("gt_max_freq_mhz"), NO_LIMITS),
            Check::seen("/sys/class/drm/card*/device/tile*/gt*/freq0/min_freq", Want::SameAs("max_freq"), NO_LIMITS),
        ]),
        why: "An integrated GPU that speeds up takes power, cache and memory bandwidth from the CPUs.",
        fix: Fix::prose(
            "Write one low frequency as both limits: gt_min_freq_mhz and gt_max_freq_mhz (i915), min_freq and \
            max_freq (xe).",
        ),
        persist: &[Lasting::Udev(Rule {
            kernel: "card0",
            ..Rule::add("drm", &[attribute("gt_max_freq_mhz", "300"), attribute("gt_min_freq_mhz", "300")])
        })],
        cost: "Slow graphics.",
        sources: &["kernel 7.3 drivers/gpu/drm/xe/xe_gt_freq.c", "unverified: the effect on a given machine"],
        ..KNOB
    },
    Knob {
        id: "gpu.display",
        title: "No display is lit",
        applies: |case| case.not_for(Kind::Audio, "audio work usually shares its machine with a desktop session"),
        check: Check::seen(
            "/sys/class/drm/card*-*/enabled",
            Want::Word { good: &["disabled"], bad: &["enabled"] },
            CannotBe("no connector for a display"),
        ),
        why: "A lit display reads its picture from memory all the time and interrupts a CPU at every frame.",
        fix: Fix::prose(
            "Unplug the display, or end the programs that draw on it; echo off > /sys/class/drm/CONNECTOR/status",
        ),
        persist: &[Lasting::word("video=<HDMI-A-1>:d")],
        cost: "The display.",
        blast: Blast::Breaking,
        sources: &["kernel 6.12 drivers/gpu/drm/drm_sysfs.c: enabled", "unverified: the effect on a given machine"],
        ..KNOB
    },
    Knob {
        id: "gpu.i915_params",
        title: "The display's power wells stay on (Intel)",
        check: Check::All(&[
            Check::seen("/sys/module/i915/parameters/enable_dc", Want::ZERO, NO_INTEL),
            Check::seen("/sys/module/xe/parameters/enable_dc", Want::ZERO, NO_INTEL),
        ]),
        why: "Switching power wells and display states off and on stalls the memory path of the integrated graphics.",
        persist: &[
            Lasting::module("i915 enable_dc=0 disable_power_well=0"),
            Lasting::module("xe enable_dc=0 disable_power_well=0"),
        ],
        ..TAINTING
    },
    Knob {
        id: "gpu.psr",
        title: "Panel self-refresh and frame buffer compression are off (Intel)",
        check: Check::All(&[
            Check::seen("/sys/module/i915/parameters/enable_psr", Want::ZERO, NO_INTEL),
            Check::seen("/sys/module/i915/parameters/enable_fbc", Want::ZERO, NO_INTEL),
            Check::seen("/sys/module/xe/parameters/enable_psr", Want::ZERO, NO_INTEL),
            Check::seen("/sys/module/xe/parameters/enable_fbc", Want::ZERO, NO_INTEL),
        ]),
        why: "Panel self refresh and frame buffer compression put parts of the graphics to sleep and wake them \
            whenever the picture changes.",
        persist: &[Lasting::module("i915 enable_psr=0 enable_fbc=0"), Lasting::module("xe enable_psr=0 enable_fbc=0")],
        ..TAINTING
    },
    Knob {
        id: "gpu.nvidia",
        title: "No proprietary graphics driver",
        // NVIDIA's driver was not made for PREEMPT_RT kernels.
        severity: Weight::of(Medium, Medium, Info).at_least(High, |case| case.flavour() == Ok(Flavour::Rt)),
        check: Check::NoModule("nvidia"),
        why: "Nobody outside its maker can say how long the proprietary NVIDIA driver keeps interrupts off.",
        fix: Fix::prose(
            "Use the open-source driver of the card, or none: systemctl isolate multi-user.target; rmmod nvidia_drm \
            nvidia_modeset nvidia_uvm nvidia",
        ),
        persist: &[Lasting::NoModule("nvidia_drm")],
        undo: Fix::command("modprobe nvidia_drm"),
        cost: "Graphics and computing on that card.",
        blast: Blast::Breaking,
        sources: &["unverified: usual advice; the driver's build refuses PREEMPT_RT unless told otherwise"],
        ..KNOB
    },
    Knob {
        id: "gpu.clients",
        title: "No program computes on the graphics card",
        applies: |case| cards(case).map(|_| ()),
        check: Check::advice(
            "whether a program computes on the GPU was not looked for, because that would be costly: see the lines \
            drm-engine-* in /proc/PID/fdinfo of every program that has /dev/dri open",
        ),
        why: "An integrated GPU at work takes power, cache and memory bandwidth from the CPUs.",
        fix: Fix::prose("End the programs that compute on the GPU, or limit the GPU's frequency (gpu.freq)."),
        persist: &[Lasting::other("Do not start programs that compute on the GPU with the machine")],
        cost: "Graphics, video, computing on the card.",
        confidence: Confidence::Medium,
        sources: &["kernel gpu/drm-usage-stats.rst"],
        ..KNOB
    },
];

/// The graphics cards by name, without their connectors.
fn cards(case: &Case<'_>) -> Result<Vec<String>, Doubt> {
    let names = case.names(FOLDER, NO_CARD)?;
    let is_card = |name: &str| name.strip_prefix("card").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
    let cards: Vec<String> = names.into_iter().filter(|name| is_card(name)).collect();
    if cards.is_empty() { Doubt::not_applicable("there is no graphics card") } else { Ok(cards) }
}
