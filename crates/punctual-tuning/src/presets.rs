//! Presets: kinds of work by the names that practitioners use, each with its usual need.
//!
//! A preset is a starting point: a period or budget that the user states replaces the preset's value. `sources` and the
//! book state the origin of the figures.

use punctual_facts::profile::Kind;
use punctual_hist::Nanos;

/// The usual need of a kind of work.
#[derive(Debug)]
pub struct Preset {
    /// The name by which `--profile` and a project file choose the preset.
    pub name: &'static str,
    /// The kind of work, in one line.
    pub about: &'static str,
    pub kind: Kind,
    pub period: Nanos,
    /// Largest latency that this kind of work usually tolerates.
    pub budget: Nanos,
    /// `SCHED_FIFO` priority at which programs of this kind usually run.
    pub priority: u8,
    /// Load phases under which to measure, in the syntax of `--load`.
    pub load: &'static str,
    /// Knobs whose severity is one level higher for this work than for other work of its kind.
    pub weighs_more: &'static [&'static str],
    /// Where the period, the budget and the priority are from.
    pub sources: &'static [&'static str],
}

/// All presets, in the order in which they are shown.
pub static ALL: &[Preset] = &[
    Preset {
        name: "ethercat",
        about: "EtherCAT master with distributed clocks",
        kind: Kind::Periodic,
        period: Nanos::from_ms(1),
        budget: Nanos::from_us(50),
        priority: 80,
        load: "idle:1,cpu+memory+switch+net:2",
        weighs_more: &["net.ethercat", "net.coalesce", "net.napi_thread", "irq.prio", "irq.managed", "pm.idle_state"],
        sources: &["https://wiki.bu.ost.ch/infoportal/embedded_systems/ethercat/test_and_tune_rt"],
    },
    Preset {
        name: "robotics",
        about: "Robot arm commanded over Ethernet at 1 kHz",
        kind: Kind::Periodic,
        period: Nanos::from_ms(1),
        budget: Nanos::from_us(200),
        priority: 80,
        load: "idle:1,cpu+memory+switch+net:2",
        weighs_more: &["net.coalesce", "net.eee", "pm.governor", "pm.idle_state", "lim.rtprio"],
        sources: &["https://support.franka.de/docs/requirements.html"],
    },
    Preset {
        name: "ros2",
        about: "Controller manager of ros2_control",
        kind: Kind::Periodic,
        period: Nanos::from_ms(10),
        budget: Nanos::from_us(500),
        priority: 50,
        load: "idle:1,cpu+memory+io-write+switch+net:2",
        weighs_more: &["lim.rtprio", "lim.memlock", "sched.rt_group", "lim.cpu_max", "agree.container"],
        sources: &["https://control.ros.org/master/doc/ros2_control/controller_manager/doc/userdoc.html"],
    },
    Preset {
        name: "plc",
        about: "Soft PLC with cyclic tasks",
        kind: Kind::Periodic,
        period: Nanos::from_ms(4),
        budget: Nanos::from_us(100),
        priority: 70,
        load: "idle:1,cpu+memory+io-write+switch+net:2",
        weighs_more: &["pm.governor", "gpu.desktop", "sched.rt_runtime", "svc.timers"],
        sources: &["https://faq.codesys.com/pages/viewpage.action?pageId=122748972"],
    },
    Preset {
        name: "audio",
        about: "64 frames at 48 kHz on a desktop, beside other programs",
        kind: Kind::Audio,
        period: Nanos::from_us(1333),
        budget: Nanos::from_us(650),
        priority: 88,
        load: "idle:1,cpu+memory+io-write+switch:2",
        weighs_more: &["dev.sound", "svc.rtkit", "pm.audio", "pm.usb"],
        sources: &["64 / 48 000 s is the period; half of it is left to the latency and half to the work"],
    },
    Preset {
        name: "telecom",
        about: "Radio or packet processing that polls",
        kind: Kind::Poll,
        period: Nanos::from_us(500),
        budget: Nanos::from_us(20),
        priority: 90,
        load: "idle:1,cpu+memory+switch+net:2",
        weighs_more: &["iso.nohz_full", "iso.domain", "tick.stopped", "mem.hugetlb", "cache.l3"],
        sources: &[
            "https://docs.openshift.com/container-platform/4.14/telco_ref_design_specs/ran/telco-ran-du-overview.html",
            "A slot of 5G at 30 kHz carrier spacing lasts 500 us (3GPP TS 38.211)",
        ],
    },
    Preset {
        name: "cnc",
        about: "Machine tool: servo thread of 1 ms",
        kind: Kind::Periodic,
        period: Nanos::from_ms(1),
        budget: Nanos::from_us(50),
        priority: 90,
        load: "idle:1,cpu+memory+io-write+switch+net:2",
        weighs_more: &["gpu.desktop", "gpu.i915_params", "fw.smi_count", "cpu.smt", "pm.idle_state"],
        sources: &["https://linuxcnc.org/docs/devel/html/install/latency-test.html"],
    },
];

/// The preset with this name, if there is one.
pub fn find(name: &str) -> Option<&'static Preset> {
    ALL.iter().find(|preset| preset.name == name)
}

/// Work that can be named without a project file: a preset, or a kind of work without further details.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    Preset(&'static Preset),
    Kind(Kind),
}

impl Work {
    pub fn find(name: &str) -> Option<Self> {
        let kind = || Kind::ALL.into_iter().find(|kind| kind.name() == name).map(Self::Kind);
        find(name).map(Self::Preset).or_else(kind)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Preset(preset) => preset.name,
            Self::Kind(kind) => kind.name(),
        }
    }

    /// All names that [`Work::find`] accepts, each once.
    pub fn names() -> Vec<&'static str> {
        let kinds = Kind::ALL.into_iter().map(Kind::name).filter(|name| find(name).is_none());
        ALL.iter().map(|preset| preset.name).chain(kinds).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs;

    #[test]
    fn every_preset_can_be_met_and_names_knobs_that_exist_and_sources() {
        for preset in ALL {
            let name = preset.name;
            assert!(preset.budget < preset.period && (1..=95).contains(&preset.priority), "{name}");
            assert!(!preset.sources.is_empty() && !preset.about.ends_with('.'), "{name}");
            for id in preset.weighs_more {
                assert!(knobs::find(id).is_some(), "{name}: no knob {id}");
            }
            assert!(std::ptr::eq(find(name).unwrap(), preset), "{name} is there once");
        }
    }

    #[test]
    fn work_is_named_by_a_preset_or_by_its_kind() {
        let names = Work::names();
        assert!(names.iter().all(|name| Work::find(name).is_some_and(|work| work.name() == *name)), "{names:?}");
        assert!(
            matches!(Work::find("audio"), Some(Work::Preset(_)))
                && matches!(Work::find("poll"), Some(Work::Kind(Kind::Poll)))
        );
        assert_eq!(names.iter().filter(|name| **name == "audio").count(), 1, "it is a preset and a kind");
        assert!(Work::find("ethercta").is_none());
    }
}
