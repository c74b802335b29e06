//! Remedies for findings that the catalogue alone cannot resolve: values per CPU, per device and per thread, which
//! depend on the machine.
//!
//! A remedy reads and decides. It writes nothing, and does not depend on the boot loader. Lasting settings are derived
//! from the knob's [`Lasting`](crate::knobs::Lasting) places in addition to every remedy, so "not here" only means that
//! nothing can be done at run time.

mod caches;
mod devices;
mod draft;
mod frequency;
mod idle;
mod interrupts;
mod memory;
mod network;
mod partition;
mod plain;
mod priorities;
mod scheduler;
mod services;
mod slices;
mod storage;
mod threads;
mod workqueues;

#[cfg(test)]
mod tests;

pub use memory::HugePages;
pub use partition::{GROUP, SLICE};

use super::Step;
use crate::knobs::{BUS, Blast, Case, Doubt, GPU, MEMORY, NPU};
use plain::one;
use punctual_facts::finding::WhyUnknown;
use services::{bad, owners};
use threads::Threads;

/// The user's wishes for the changes. The needs of the real-time work are stated in
/// [`Need`](punctual_facts::profile::Need) instead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preferences {
    /// Names in Linux of the devices that the real-time work uses: `eth1`, `0000:03:00.0`. Their interrupts stay where
    /// they are, and only these devices are set up for real-time traffic.
    pub devices: Vec<String>,
    /// Other interrupts that stay where they are, given by number or by the name of the handler.
    pub keep_irqs: Vec<String>,
    /// The priority of the real-time work, if it is known.
    pub priority: Option<u32>,
    /// Whether to isolate the CPUs at run time, by a cpuset partition.
    pub partition: bool,
    /// Whether services stay silent after the next boot as well.
    pub for_good: bool,
    pub huge_pages: Vec<HugePages>,
}

/// What the plan tells the user about a change besides its steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    pub before: String,
    pub after: String,
    pub risk: String,
    /// How to see that the change took effect.
    pub proof: String,
    /// The blast radius, if it is larger than the knob says.
    pub blast: Option<Blast>,
    /// Whether each step stands alone: if the kernel refuses one step, the others stay.
    pub apart: bool,
}

/// What can be done at run time about a knob on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KnobRemedy {
    Steps(Vec<Step>, Notes),
    /// A process of this program keeps `/dev/cpu_dma_latency` open with this limit, in microseconds.
    Hold(u32, Notes),
    /// Nothing can be done at run time; the text is the reason.
    NotHere(String),
    /// A person has to make the change, or to decide something first; the text says what.
    ByHand(String),
}

impl KnobRemedy {
    fn reaching(mut self, blast: Blast) -> Self {
        if let Self::Steps(_, notes) | Self::Hold(_, notes) = &mut self {
            notes.blast = Some(blast);
        }
        self
    }
}

/// The machine with the need of the work, and the user's wishes about the changes.
pub struct Site<'a> {
    pub case: &'a Case<'a>,
    pub preferences: &'a Preferences,
    threads: Threads,
}

impl<'a> Site<'a> {
    pub fn new(case: &'a Case<'a>, preferences: &'a Preferences) -> Self {
        Self { case, preferences, threads: Threads::default() }
    }

    /// Whether the user named this device as one of the real-time work.
    fn is_named(&self, device: &str) -> bool {
        self.preferences.devices.iter().any(|name| name == device)
    }
}

type Found = Result<KnobRemedy, Doubt>;

#[allow(clippy::unnecessary_wraps, reason = "it is found in the same way as every other remedy")]
fn by_hand(what: &str) -> Found {
    Ok(KnobRemedy::ByHand(what.to_owned()))
}

pub struct RemedyOf {
    pub knob: &'static str,
    way: Way,
}

enum Way {
    Find(fn(&Site<'_>) -> Found),
    /// Stop the programs that spoil the good state of the knob. The plan shows the knob's `cost` as the risk of the
    /// change.
    Silence,
    /// Stop all but one of the programs that own the knob's settings.
    OneOwner,
}

const fn find(knob: &'static str, find: fn(&Site<'_>) -> Found) -> RemedyOf {
    RemedyOf { knob, way: Way::Find(find) }
}

const fn silence(knob: &'static str) -> RemedyOf {
    RemedyOf { knob, way: Way::Silence }
}

const fn one_owner(knob: &'static str) -> RemedyOf {
    RemedyOf { knob, way: Way::OneOwner }
}

/// Every remedy in the order in which remedies are best applied. Programs that would undo other remedies are silenced
/// first. A partition is made before work is moved to it, and safety nets are removed last.
#[rustfmt::skip]
pub const REMEDIES: &[RemedyOf] = &[
    silence("irq.irqbalance"),
    silence("pm.daemons"),
    one_owner("agree.owners_power"),
    one_owner("agree.owners_irq"),
    one_owner("agree.owners_priorities"),
    silence("sched.stalld"),
    silence("svc.update_timers"),
    silence("svc.maintenance"),
    silence("svc.timers"),
    silence("svc.rtkit"),
    silence("svc.priority"),
    find("iso.domain", partition::domain),
    find("iso.cpuset", partition::broken),
    find("sysd.affinity", slices::first_process),
    find("sysd.slices", slices::slices),
    find("wq.unbound", workqueues::unbound),
    find("wq.named", workqueues::named),
    find("wd.cpumask", workqueues::watchdog),
    find("kthr.affinity", threads::kernel),
    find("leftovers", threads::leftovers),
    find("irq.default", interrupts::default),
    find("irq.affinity", interrupts::affinity),
    find("irq.requested", interrupts::requested),
    find("irq.gic_target", interrupts::spread),
    find("irq.managed", interrupts::managed),
    find("net.queues", network::queues),
    find("net.rps", network::steering),
    find("net.coalesce", network::coalesce),
    find("net.napi_thread", network::threaded),
    find("net.napi_defer", network::defer),
    find("pm.turbo", frequency::turbo),
    find("pm.pstate_drv", frequency::driver),
    find("pm.governor", |site| frequency::performance(site, site.case.rt())),
    find("pm.clock_domain", frequency::clock_domain),
    find("pm.epp_epb", |site| frequency::preference(site, "cpufreq/energy_performance_preference", "performance",
        "the CPU does not choose its clock by a preference here")),
    find("pm.epb", |site| frequency::preference(site, "power/energy_perf_bias", "0", "this CPU has no energy bias")),
    find("pm.freq_pin", frequency::pin),
    find("pm.limits", frequency::limits),
    find("pm.uncore", |site| frequency::uncore(site, "min_freq_khz")),
    find("pm.uncore_elc", |site| frequency::uncore(site, "elc_floor_freq_khz")),
    find("pm.devfreq", |site| frequency::devfreq(site, MEMORY)),
    find("pm.devfreq_bus", |site| frequency::devfreq(site, BUS)),
    find("pm.devfreq_gpu", |site| frequency::devfreq(site, GPU)),
    find("pm.devfreq_npu", |site| frequency::devfreq(site, NPU)),
    find("pm.rapl", frequency::rapl),
    find("pm.idle_state", idle::limit),
    find("pm.idle_usage", idle::limit),
    find("pm.qos_percpu", idle::limit),
    find("pm.qos_global", idle::hold),
    find("pm.usb", devices::usb),
    find("pm.pci_runtime", devices::runtime),
    find("pm.aspm", devices::aspm),
    find("pm.clkpm", devices::clock),
    find("pm.sata", devices::sata),
    find("pm.nvme", devices::nvme),
    find("blk.scheduler", storage::scheduler),
    find("blk.rq_affinity", storage::completion),
    find("blk.poll", storage::polling),
    find("rcu.normal", plain::rcu),
    find("pm.idle_governor", plain::idle_governor),
    find("virt.halt_poll", |site| one(site, "KVM", "/sys/module/kvm/parameters/halt_poll_ns", "0", "Guests wake up later.")),
    find("mem.watermark", memory::watermark),
    find("mem.hugetlb", memory::huge_pages),
    find("cat.l3", caches::ways),
    find("cat.l2", caches::ways),
    find("dyn.preempt", scheduler::preempt),
    find("sched.features", scheduler::features),
    find("kthr.prio", priorities::kernel),
    find("irq.prio", priorities::interrupts),
    find("irq.fixup", plain::fixup),
    find("sched.ext_server", scheduler::ext_server),
    find("sched.fair_server", scheduler::fair_server),
    find("sched.rt_runtime", scheduler::throttling),
];

/// What can be done about a knob at run time on this machine; `None` if the catalogue alone decides that.
pub fn remedy(site: &Site<'_>, id: &str) -> Option<KnobRemedy> {
    let RemedyOf { knob, way } = REMEDIES.iter().find(|remedy| remedy.knob == id)?;
    site.case.forget();
    let found = match way {
        Way::Find(find) => find(site),
        Way::Silence => bad(site, knob),
        Way::OneOwner => owners(site, knob),
    };
    site.case.forget();
    Some(match found {
        Ok(KnobRemedy::Steps(steps, _)) if steps.is_empty() => {
            KnobRemedy::NotHere("nothing is left to change for this knob".to_owned())
        }
        Ok(found) => found,
        Err(Doubt::Unknown(WhyUnknown { because, .. }) | Doubt::NotApplicable(because)) => KnobRemedy::NotHere(because),
    })
}
