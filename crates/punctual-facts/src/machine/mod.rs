//! The few facts about a machine that decide which advice applies. A fact that only one knob needs is read by that
//! knob.
//!
//! Each part is read from a [`Tree`]. Reading cannot fail: if a value is not known, its [`Fact`] says why. The user's
//! need is not considered here.

mod boot;
mod config;
mod facts;
mod idle;
mod kernel;
mod line;
mod second_kernel;
mod topology;
mod virtualisation;

pub use crate::cmdline::Cmdline;
pub use boot::{Boot, Configured, Init, Initramfs, Loader, Sign, WITHOUT, WITHOUT_END, configured};
pub use boot::{ESPS, efi_variable};
pub use config::Config;
pub use facts::MachineFacts;
pub use idle::IdleState;
pub use kernel::{Arch, Flavour, Kernel, Version};
pub use line::MachineLine;
pub use second_kernel::{
    COBALT_CLOCK, COBALT_FAULTS, COBALT_HEAP, COBALT_REGISTRY, COBALT_THREADS, COBALT_VERSION, Cobalt, CoreState,
    CoreThread, EVL_CONTROL, EVL_DEVICES, EVL_GRAVITY, EVL_THREADS, Evl, Fault, Fit, Gravity, Heap, Library,
    SecondKernel, Slots,
};
pub use topology::{BOOT_CPU, CoreKind, KINDS, NODES, Node, Topology};
pub use virtualisation::{Virtualisation, container};

use crate::cpu_set::CpuSet;
use crate::fact::{Fact, printable};
use crate::tree::{Tree, text, without_private_values};

#[derive(Clone, Debug)]
pub struct Machine {
    /// Model of the computer or, failing that, of its CPU.
    pub model: Fact<String>,
    pub kernel: Kernel,
    /// The real-time core beside Linux; `Known(None)` if there is none.
    pub second_kernel: Fact<Option<SecondKernel>>,
    pub config: Config,
    pub cmdline: Fact<Cmdline>,
    pub boot: Boot,
    pub topology: Topology,
    /// CPUs that were isolated from the scheduler at boot.
    pub isolated: Fact<CpuSet>,
    /// CPUs that may stop their tick.
    pub nohz_full: Fact<CpuSet>,
    pub clocksource: Fact<String>,
    pub idle: Vec<IdleState>,
    pub virtualisation: Fact<Virtualisation>,
}

pub const ISOLATED: &str = "/sys/devices/system/cpu/isolated";
pub const NOHZ_FULL: &str = "/sys/devices/system/cpu/nohz_full";
pub const CLOCKSOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
/// Name of the line that lists the idle states in a recording.
pub const IDLE: &str = "idle states";
/// Name of the line about the second kernel in a recording.
pub const SECOND_KERNEL: &str = "second kernel";
/// The length, in characters, to which a line of a fingerprint is cut. x86 and arm64 kernels keep 2048 bytes of their
/// command line.
const LINE_CHARS: usize = 2048;
pub const CMDLINE: &str = "/proc/cmdline";

impl Machine {
    pub fn read(tree: &dyn Tree) -> Self {
        let cpuinfo = text(tree, "/proc/cpuinfo");
        let release = kernel::release(tree);
        let config = Config::read(tree, &release);
        let second_kernel = SecondKernel::read(tree, &config);
        let beside = second_kernel.as_ref().map(|core| core.as_ref().map(SecondKernel::flavour));
        Self {
            model: model(tree, &cpuinfo),
            config,
            cmdline: text(tree, CMDLINE).map(|line| Cmdline::parse(&line)),
            boot: Boot::read(tree),
            topology: Topology::read(tree, &cpuinfo),
            isolated: cpus(tree, ISOLATED),
            nohz_full: cpus(tree, NOHZ_FULL),
            clocksource: text(tree, CLOCKSOURCE),
            idle: IdleState::read(tree),
            virtualisation: Virtualisation::read(tree, &cpuinfo),
            kernel: Kernel::read(tree, release, beside, &cpuinfo),
            second_kernel,
        }
    }

    /// The facts that a recording keeps: the fingerprint, the second kernel if there is one, and the idle states, which
    /// help to find the cause of a latency.
    pub fn recorded(&self) -> Vec<MachineLine> {
        let idle = (!self.idle.is_empty()).then(|| (IDLE, printable(&IdleState::line(&self.idle), LINE_CHARS)).into());
        let core = self.second_kernel.known().and_then(Option::as_ref);
        let core = core.map(|core| (SECOND_KERNEL, printable(&core.line(&self.kernel.arch), LINE_CHARS)).into());
        self.fingerprint().into_iter().chain(core).chain(idle).collect()
    }

    /// Five lines that identify the machine.
    pub fn fingerprint(&self) -> Vec<MachineLine> {
        let shown = |fact: Fact<String>| match fact {
            Fact::Known(value) => value,
            other => format!("unknown ({})", other.trouble().unwrap_or_default()),
        };
        let list = |cpus: &Fact<CpuSet>| match cpus {
            Fact::Known(set) if set.is_empty() => "none".to_owned(),
            other => shown(other.as_ref().map(CpuSet::to_string)),
        };
        // A kernel that cannot stop its tick has no such file. The missing file is taken for this proof only if the
        // file `isolated` in the same folder can be read.
        let tick_free = match (&self.nohz_full, &self.isolated) {
            (Fact::Absent, Fact::Known(_)) => "none".to_owned(),
            (cpus, _) => list(cpus),
        };
        let smt = match self.topology.smt_active {
            Fact::Known(true) => "SMT on",
            Fact::Known(false) => "no SMT",
            _ => "SMT unknown",
        };
        let cpus = format!(
            "{} online, isolated {}, tick-free {tick_free}, {smt}, clock {}",
            shown(self.topology.online.as_ref().map(CpuSet::to_string)),
            list(&self.isolated),
            shown(self.clocksource.clone()),
        );
        let kernel = format!(
            "{}, {}, {}",
            shown(self.kernel.release.clone()),
            shown(self.kernel.flavour.as_ref().map(|f| f.name().to_owned())),
            shown(self.kernel.arch.as_ref().map(|a| a.name().to_owned())),
        );
        [
            ("model", shown(self.model.clone())),
            ("kernel", kernel),
            ("cpus", cpus),
            ("virtualisation", shown(self.virtualisation.as_ref().map(ToString::to_string))),
            ("command line", shown(self.cmdline.as_ref().map(|line| without_private_values(&line.for_the_kernel())))),
        ]
        .map(|(name, value)| (name, printable(&value, LINE_CHARS)).into())
        .to_vec()
    }
}

/// Parses a file with a list of CPUs. Kernels before 5.x print `(null)` for an empty list.
fn cpus(tree: &dyn Tree, path: &str) -> Fact<CpuSet> {
    text(tree, path).and_then(|list| match list.trim() {
        "(null)" => Fact::Known(CpuSet::new()),
        list => CpuSet::parse_list(list).map_or_else(|e| Fact::Garbled(e.to_string()), Fact::Known),
    })
}

fn cpuinfo_field(cpuinfo: &str, name: &str) -> Option<String> {
    let value = |line: &str| line.split_once(':').filter(|(n, _)| n.trim() == name).map(|(_, v)| v.trim().to_owned());
    cpuinfo.lines().find_map(value).filter(|value| !value.is_empty())
}

fn model(tree: &dyn Tree, cpuinfo: &Fact<String>) -> Fact<String> {
    let board = || text(tree, "/proc/device-tree/model");
    let cpu = || {
        cpuinfo.as_ref().and_then(|info| {
            let name = cpuinfo_field(info, "model name").or_else(|| cpuinfo_field(info, "Hardware"));
            name.map_or(Fact::Absent, Fact::Known)
        })
    };
    let product = || text(tree, "/sys/class/dmi/id/product_name");
    board().or_else(|| match (cpu(), product()) {
        (Fact::Known(cpu), Fact::Known(product)) => Fact::Known(format!("{product}, {cpu}")),
        (cpu, product) => cpu.or_else(|| product),
    })
}
