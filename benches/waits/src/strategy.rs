//! Names and parameters of the ways to wait that are compared. `pace` implements them.

use punctual_rt::{Margin, Nanos, Wait};

/// A way to wait, together with the conditions under which the loop runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// Name in JSON and on the command line.
    pub name: &'static str,
    pub about: &'static str,
    pub way: Way,
    /// The conditions: phase of the releases, scheduling policy, idle states and user.
    pub setting: Setting,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Real-time policy, releases away from the tick.
    Usual,
    /// Real-time policy, releases at the same instants as the tick.
    OnTick,
    /// Like `Usual`, but no CPU may enter an idle state.
    NoIdle,
    /// Ordinary policy with the default timer slack: the kernel rounds timers by up to 50 us.
    Ordinary,
    /// Ordinary policy with a timer slack of 1 ns.
    OrdinaryExact,
    /// A separate process of an ordinary user, without real-time policy.
    Unprivileged,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A bare `clock_nanosleep` until the instant of the release.
    BareAbsolute,
    /// A bare `clock_nanosleep` for one period.
    BareRelative,
    /// The library's [`Pacer`](punctual_rt::Pacer) with one of its waits.
    Ours(Ours),
    /// The library as applications use it: a `Cyclic` with automatic margin and statistics.
    Task {
        /// Whether another thread reads the statistics without pause.
        read: bool,
        /// Whether each release is moved by a random distance.
        steered: bool,
    },
    /// The `spin_sleep` crate.
    SpinSleep {
        /// How long before the release the crate stops sleeping and spins; `None` for the crate's default.
        accuracy_us: Option<u32>,
        /// Whether the crate yields the CPU while it spins, which is its default.
        yields: bool,
    },
    /// A loop written by hand in C++.
    Cpp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ours {
    Sleep,
    Anticipate,
    /// `Wait::Hybrid` with a margin in microseconds.
    Fixed(u64),
    Spin,
}

const TASK: Way = Way::Task { read: false, steered: false };
const STEERED: Way = Way::Task { read: false, steered: true };
const READ: Way = Way::Task { read: true, steered: false };

const fn usual(name: &'static str, about: &'static str, way: Way) -> Strategy {
    Strategy { name, about, way, setting: Setting::Usual }
}

const fn in_setting(name: &'static str, about: &'static str, way: Way, setting: Setting) -> Strategy {
    Strategy { name, about, way, setting }
}

const fn spin_sleep(name: &'static str, about: &'static str, accuracy_us: Option<u32>, yields: bool) -> Strategy {
    usual(name, about, Way::SpinSleep { accuracy_us, yields })
}

/// All strategies, in the order in which each round runs them. Strategies that are compared closely are neighbours.
pub const ALL: &[Strategy] = &[
    in_setting(
        "ordinary_sleep_relative",
        "relative sleep of one period, SCHED_OTHER: drifts away from the grid",
        Way::BareRelative,
        Setting::Ordinary,
    ),
    in_setting("ordinary_sleep_absolute", "absolute sleep, SCHED_OTHER", Way::BareAbsolute, Setting::Ordinary),
    in_setting("ordinary_sleep_exact", "the same with 1 ns of timer slack", Way::BareAbsolute, Setting::OrdinaryExact),
    in_setting("sleep_absolute_on_tick", "absolute sleep, releases on the tick", Way::BareAbsolute, Setting::OnTick),
    usual("sleep_absolute", "absolute sleep, as cyclictest does, off the tick as all below", Way::BareAbsolute),
    usual("cpp_sleep_absolute", "the same by hand in C++", Way::Cpp),
    in_setting("sleep_absolute_no_idle", "absolute sleep, no idle states", Way::BareAbsolute, Setting::NoIdle),
    usual("sleep", "Wait::Sleep", Way::Ours(Ours::Sleep)),
    usual("anticipate", "Wait::Anticipate", Way::Ours(Ours::Anticipate)),
    usual("hybrid_50us", "Wait::Hybrid, fixed 50 us", Way::Ours(Ours::Fixed(50))),
    usual("hybrid_100us", "Wait::Hybrid, fixed 100 us", Way::Ours(Ours::Fixed(100))),
    usual("hybrid_auto", "Wait::Hybrid, automatic margin: a Cyclic as it comes, with its statistics", TASK),
    usual("hybrid_auto_steered", "the same, steered by up to 5 us each cycle", STEERED),
    usual("hybrid_auto_read", "the same, its statistics read without pause by another CPU", READ),
    in_setting("hybrid_auto_on_tick", "hybrid_auto, releases on the tick", TASK, Setting::OnTick),
    in_setting("hybrid_auto_no_idle", "hybrid_auto, no idle states", TASK, Setting::NoIdle),
    in_setting(
        "hybrid_auto_unprivileged",
        "hybrid_auto for an ordinary user, SCHED_OTHER",
        TASK,
        Setting::Unprivileged,
    ),
    spin_sleep("spin_sleep", "spin_sleep, as it comes (125 us, yields)", None, true),
    spin_sleep("spin_sleep_100us", "spin_sleep, 100 us, does not yield", Some(100), false),
    spin_sleep("spin_sleep_50us", "spin_sleep, 50 us, does not yield", Some(50), false),
    spin_sleep("spin_sleep_25us", "spin_sleep, 25 us, does not yield", Some(25), false),
    usual("spin", "Wait::Spin", Way::Ours(Ours::Spin)),
];

impl Strategy {
    /// The strategy called `name`.
    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|strategy| strategy.name == name)
    }
}

impl Ours {
    /// The library's type for this wait.
    pub fn wait(self) -> Wait {
        match self {
            Self::Sleep => Wait::Sleep,
            Self::Anticipate => Wait::Anticipate,
            Self::Fixed(us) => Wait::Hybrid(Margin::Fixed(Nanos::from_us(us))),
            Self::Spin => Wait::Spin,
        }
    }
}
