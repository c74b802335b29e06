//! The words that options accept for values of the libraries, each with its help. A word without help is another
//! spelling of the word above it.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use punctual_facts::finding::Severity;
use punctual_facts::machine::{Arch, Flavour};
use punctual_linux::torture::Test;
use punctual_linux::trace::EngineChoice;
use punctual_numbers::inspect::Engine;
use punctual_numbers::scenario::{Channel, Core, CoreContext, Mechanism, OtherClock};
use punctual_optimize::Strategy;
use punctual_tuning::knobs::Blast;
use punctual_tuning::plan::lasting::Artefact;

pub struct Word<T: 'static>(&'static str, T, &'static str);

/// A parser that accepts these words and returns their values.
pub fn one_of<T: Copy + Send + Sync>(words: &'static [Word<T>]) -> impl TypedValueParser<Value = T> {
    let possible = words.iter().map(|Word(word, _, help)| PossibleValue::new(word).help(help).hide(help.is_empty()));
    PossibleValuesParser::new(possible).try_map(|typed| {
        let found = words.iter().find(|Word(word, ..)| *word == typed);
        found.map(|Word(_, value, _)| *value).ok_or("it is not one of the possible words")
    })
}

pub const FLAVOURS: &[Word<Flavour>] = &[
    Word("stock", Flavour::Stock, "Neither PREEMPT_RT nor Xenomai"),
    Word("rt", Flavour::Rt, "PREEMPT_RT"),
    Word("cobalt", Flavour::Cobalt, "Xenomai 3"),
    Word("evl", Flavour::Evl, "Xenomai 4"),
];

pub const ARCHES: &[Word<Arch>] = &[
    Word("x86_64", Arch::X86, "64-bit x86"),
    Word("amd64", Arch::X86, ""),
    Word("aarch64", Arch::Arm64, "64-bit ARM"),
    Word("arm64", Arch::Arm64, ""),
    Word("arm", Arch::Arm, "32-bit ARM"),
    Word("riscv64", Arch::Riscv64, "64-bit RISC-V"),
];

/// The severity of a finding from which on the exit code is 2.
pub const FINDING_LEVELS: &[Word<Severity>] = &[
    Word("fail", Severity::High, "Findings that are high or fatal"),
    Word("warn", Severity::Medium, "Findings that are medium, too"),
];

/// How much a change may disturb the running machine.
pub const RADII: &[Word<Blast>] = &[
    Word("harmless", Blast::Harmless, "Nothing"),
    Word("disturbing", Blast::Disturbing, "Disturb running real-time work for a moment"),
    Word("any", Blast::Breaking, "Break a service or lose a function, too"),
];

pub const MECHANISMS: &[Word<Mechanism>] = &[
    Word("absolute", Mechanism::Absolute, "clock_nanosleep until the release itself"),
    Word("relative", Mechanism::Relative, "clock_nanosleep for the time left"),
    Word("timerfd", Mechanism::Timerfd, "timerfd and read"),
    Word("futex", Mechanism::Futex, "futex with a time-out"),
    Word("hybrid", Mechanism::Hybrid, "Sleep until shortly before the release, then poll the clock"),
    Word("spin", Mechanism::Spin, "Poll the clock; leaves one CPU free"),
    Word(
        "nanosleep",
        Mechanism::Nanosleep,
        "Sleep for one period from the current time, as the published suite classic-2002 does",
    ),
    Word(
        "rpmsg",
        Mechanism::RoundTrip(Channel::Rpmsg),
        "Send a message to another processor through --endpoint and wait for its answer",
    ),
    Word(
        "shm",
        Mechanism::RoundTrip(Channel::SharedMemory),
        "Write a number to memory shared with another processor, and poll for its answer",
    ),
];

/// A clock on which releases may lie; `None` is `CLOCK_MONOTONIC`.
pub type ClockWish = Option<OtherClock>;

pub fn parse_clock(text: &str) -> Result<ClockWish, String> {
    if text == "monotonic" { Ok(None) } else { text.parse().map(Some) }
}

/// The ways to wait by their names, for files that name one. Round trips are left out: a file names no endpoint.
pub fn mechanisms() -> Vec<(&'static str, Mechanism)> {
    let waits = MECHANISMS.iter().filter(|Word(_, mechanism, _)| !matches!(mechanism, Mechanism::RoundTrip(_)));
    waits.map(|Word(name, mechanism, _)| (*name, *mechanism)).collect()
}

/// The kernel that wakes the measuring threads; `None` is Linux.
pub const KERNELS: &[Word<Option<Core>>] = &[
    Word("linux", None, "Linux, in-band"),
    Word("evl", Some(Core::Evl), "The EVL core of Xenomai 4, out-of-band"),
    Word("cobalt", Some(Core::Cobalt), "The Cobalt core of Xenomai 3, out-of-band"),
];

/// Where on a real-time core the clock is read.
pub const CONTEXTS: &[Word<CoreContext>] = &[
    Word("user", CoreContext::User, "A thread of this program"),
    Word("kernel", CoreContext::Kernel, "A task in the kernel, measured by the core's driver (latmus, timerbench)"),
    Word("irq", CoreContext::Irq, "The handler of the timer, measured by the core's driver"),
];

/// What is done about the gravity of a real-time core before a measurement.
pub const GRAVITIES: &[Word<GravityWish>] = &[
    Word("leave", GravityWish::Leave, "Leave the gravity as it is"),
    Word(
        "tune",
        GravityWish::Tune,
        "Let the core's driver find the gravity, which takes up to 80 s; lasts until the next boot",
    ),
    Word("reset", GravityWish::Reset, "Restore the value that the kernel was built with"),
];

/// What is done about the gravity of a real-time core: by how much its timers fire early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GravityWish {
    Leave,
    Tune,
    Reset,
}

/// Engines that look for causes.
pub const ENGINES: &[Word<EngineChoice>] = &[
    Word("tracefs", EngineChoice::Tracefs, "The kernel's trace"),
    Word("bpf", EngineChoice::Bpf, "A program in the kernel"),
    Word(
        "timerlat",
        EngineChoice::Timerlat,
        "The kernel's trace and its osnoise tracer, as a second opinion; needs a kernel with both tracers, from 6.2 on",
    ),
];

/// Engines that record a program.
pub const TRACE_ENGINES: &[Word<Engine>] = &[
    Word("bpf", Engine::Bpf, "A program in the kernel, in builds that have it; needs BTF, CAP_BPF and CAP_PERFMON"),
    Word("tracefs", Engine::Tracefs, "The kernel's trace; needs root"),
];

/// What `punctual torture` tests.
pub const TESTS: &[Word<Test>] = &[
    Word("switches", Test::Switches, "Registers of threads that switch in every way"),
    Word("fpu", Test::Fpu, "Registers under signals and page faults"),
    Word("mutex", Test::Mutex, "Chains of locks, with and without priority inheritance"),
    Word("heap", Test::Heap, "Allocation while memory is taken away"),
    Word("timers", Test::Timers, "Many timers at once: none early, none lost"),
];

/// The order in which knobs are tried.
pub const STRATEGIES: &[Word<Strategy>] = &[
    Word("one-at-a-time", Strategy::OneAtATime, "Each alone, compared with the unchanged machine"),
    Word(
        "screening",
        Strategy::Screening,
        "Many at once first, then the most promising ones each alone; for many knobs",
    ),
    Word("race", Strategy::Race, "Each alone; the less promising half is dropped, again and again"),
];

/// What can be printed alone, for people who build images.
#[derive(Clone, Copy, Debug)]
pub enum Printed {
    /// What the plan wants to last, in the form of this artefact.
    Lasting(Artefact),
    Kconfig,
    Resctrl,
    Rk3568L3,
}

pub const ARTEFACTS: &[Word<Printed>] = &[
    Word("cmdline", Printed::Lasting(Artefact::Cmdline), "The kernel's command line"),
    Word("grub", Printed::Lasting(Artefact::Grub), "A fragment of /etc/default/grub.d"),
    Word("extlinux", Printed::Lasting(Artefact::Extlinux), "A label of extlinux.conf"),
    Word("uboot", Printed::Lasting(Artefact::Uboot), "Variables of U-Boot's environment"),
    Word("systemd-boot", Printed::Lasting(Artefact::SystemdBoot), "An entry of systemd-boot"),
    Word("sysctl", Printed::Lasting(Artefact::Sysctl), "A file of /etc/sysctl.d"),
    Word("tmpfiles", Printed::Lasting(Artefact::Tmpfiles), "A file of /etc/tmpfiles.d"),
    Word("systemd", Printed::Lasting(Artefact::Systemd), "Units and drop-ins of systemd"),
    Word("kconfig", Printed::Kconfig, "A fragment of the kernel's configuration"),
    Word("resctrl", Printed::Resctrl, "Groups of resctrl that divide the caches"),
    Word(
        "rk3568-l3",
        Printed::Rk3568L3,
        "The parameter word of Rockchip's RK3568 boot loader that divides its L3 cache",
    ),
];
