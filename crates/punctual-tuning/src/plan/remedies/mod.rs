//! What to do about a finding where the knob's own words do not say it: values per CPU, per device and per thread, which
//! only a look at the machine gives.
//!
//! A remedy reads and decides; it writes nothing and knows nothing of boot loaders. What is to last beyond the next boot
//! is derived from the knob's [`Lasting`](crate::knobs::Lasting) words, which stand beside every remedy: "not here" only
//! says that nothing can be done at run time.

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
use crate::knobs::{Blast, Case, Doubt};
use plain::one;
use services::{bad, owners};
use threads::Threads;

/// What somebody wants of the changes, beyond what the real-time work needs of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preferences {
    /// Devices of the real-time work, by the names Linux gives them: `eth1`, `0000:03:00.0`. Their interrupts stay where
    /// they are, and only they are set up for real-time traffic.
    pub devices: Vec<String>,
    /// More interrupts that stay where they are: a number, or the name of a handler.
    pub keep_irqs: Vec<String>,
    /// The priority of the real-time work, where it is known.
    pub priority: Option<u32>,
    /// Whether the CPUs are to be set apart at run time, by a cpuset partition.
    pub partition: bool,
    /// Whether services stay silent after the next boot as well.
    pub for_good: bool,
    pub huge_pages: Vec<HugePages>,
}

/// What a change is told with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    pub before: String,
    pub after: String,
    pub risk: String,
    /// What will show that it took effect.
    pub proof: String,
    /// How far it reaches, where that is further than the knob says.
    pub blast: Option<Blast>,
    /// Whether each step stands for itself: one that the kernel refuses leaves the others as they are.
    pub apart: bool,
}

/// What can be done about a knob on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    Steps(Vec<Step>, Notes),
    /// A process of ours keeps `/dev/cpu_dma_latency` open with this limit.
    Hold(u32, Notes),
    /// Nothing at run time, because of this.
    NotHere(String),
    /// Somebody has to do it, or to decide it first.
    ByHand(String),
}

impl Remedy {
    /// The same, where it reaches further than the knob says.
    fn reaching(mut self, blast: Blast) -> Self {
        if let Self::Steps(_, notes) | Self::Hold(_, notes) = &mut self {
            notes.blast = Some(blast);
        }
        self
    }
}

/// One machine, one need, and what is wanted of the changes.
pub struct Site<'a> {
    /// The machine and what the real-time work needs of it.
    pub case: &'a Case<'a>,
    /// What is wanted of the changes.
    pub preferences: &'a Preferences,
    threads: Threads,
}

impl<'a> Site<'a> {
    /// A site at which nothing was looked at yet.
    pub fn new(case: &'a Case<'a>, preferences: &'a Preferences) -> Self {
        Self { case, preferences, threads: Threads::default() }
    }

    /// Whether a device is one of the real-time work's.
    fn is_named(&self, device: &str) -> bool {
        self.preferences.devices.iter().any(|name| name == device)
    }
}

type Found = Result<Remedy, Doubt>;

pub type Find = fn(&Site<'_>) -> Found;

#[allow(clippy::unnecessary_wraps, reason = "it is found in the same way as every other remedy")]
fn by_hand(what: &str) -> Found {
    Ok(Remedy::ByHand(what.to_owned()))
}

/// Every remedy, by the id of its knob, in the order in which they are best applied: who would undo the rest is silenced
/// first, what is moved finds its place made, and what takes a safety net away comes last.
pub const REMEDIES: &[(&str, Find)] = &[
    ("irq.irqbalance", |site| {
        bad(
            site,
            "irq.irqbalance",
            "Interrupts are redistributed for about a second; from then on nobody spreads them but what is set here.",
        )
    }),
    ("pm.daemons", |site| {
        bad(
            site,
            "pm.daemons",
            "Nobody slows the machine down before it gets hot, but the hardware itself: see that it stays cool.",
        )
    }),
    ("agree.owners_power", |site| owners(site, "agree.owners_power")),
    ("agree.owners_irq", |site| owners(site, "agree.owners_irq")),
    ("agree.owners_priorities", |site| owners(site, "agree.owners_priorities")),
    ("sched.stalld", |site| {
        Ok(bad(site, "sched.stalld", "What starves behind a thread that spins is helped by nobody.")?
            .reaching(Blast::Breaking))
    }),
    ("svc.update_timers", |site| bad(site, "svc.update_timers", "Security updates no longer come by themselves.")),
    ("svc.maintenance", |site| {
        bad(site, "svc.maintenance", "Disks get slower, or decay unseen, unless it is done by hand.")
    }),
    ("svc.timers", |site| bad(site, "svc.timers", "Security updates no longer come by themselves.")),
    ("svc.rtkit", |site| bad(site, "svc.rtkit", "Desktop audio asks for real time in vain.")),
    ("svc.priority", |site| bad(site, "svc.priority", "Their comfort.")),
    ("iso.domain", partition::domain),
    ("iso.cpuset", partition::broken),
    ("sysd.affinity", slices::first_process),
    ("sysd.slices", slices::slices),
    ("wq.unbound", workqueues::unbound),
    ("wq.named", workqueues::named),
    ("wd.cpumask", workqueues::watchdog),
    ("kthr.affinity", threads::kernel),
    ("leftovers", threads::leftovers),
    ("irq.default", interrupts::default),
    ("irq.affinity", interrupts::affinity),
    ("irq.requested", interrupts::requested),
    ("irq.gic_target", interrupts::spread),
    ("irq.managed", interrupts::managed),
    ("net.queues", network::queues),
    ("net.rps", network::steering),
    ("net.coalesce", network::coalesce),
    ("net.napi_thread", network::threaded),
    ("net.napi_defer", network::defer),
    ("pm.turbo", frequency::turbo),
    ("pm.pstate_drv", frequency::driver),
    ("pm.governor", frequency::governor),
    ("pm.clock_domain", frequency::clock_domain),
    ("pm.epp_epb", frequency::preference),
    ("pm.epb", frequency::bias),
    ("pm.freq_pin", frequency::pin),
    ("pm.limits", frequency::limits),
    ("pm.uncore", frequency::uncore),
    ("pm.uncore_elc", frequency::uncore_elc),
    ("pm.devfreq", frequency::memory),
    ("pm.devfreq_bus", frequency::bus),
    ("pm.devfreq_gpu", frequency::gpu),
    ("pm.devfreq_npu", frequency::npu),
    ("pm.rapl", frequency::rapl),
    ("pm.idle_state", idle::limit),
    ("pm.idle_usage", idle::limit),
    ("pm.qos_percpu", idle::limit),
    ("pm.qos_global", idle::hold),
    ("pm.usb", devices::usb),
    ("pm.pci_runtime", devices::runtime),
    ("pm.aspm", devices::aspm),
    ("pm.clkpm", devices::clock),
    ("pm.sata", devices::sata),
    ("pm.nvme", devices::nvme),
    ("blk.scheduler", storage::scheduler),
    ("blk.rq_affinity", storage::completion),
    ("blk.poll", storage::polling),
    ("rcu.normal", plain::rcu),
    ("pm.idle_governor", plain::idle_governor),
    ("virt.halt_poll", |site| {
        one(site, "KVM", "/sys/module/kvm/parameters/halt_poll_ns", "0", "Guests wake up later.")
    }),
    ("mem.watermark", memory::watermark),
    ("mem.hugetlb", memory::huge_pages),
    ("cat.l3", caches::ways),
    ("cat.l2", caches::ways),
    ("dyn.preempt", scheduler::preempt),
    ("sched.features", scheduler::features),
    ("kthr.prio", priorities::kernel),
    ("irq.prio", priorities::interrupts),
    ("irq.fixup", plain::fixup),
    ("sched.ext_server", scheduler::ext_server),
    ("sched.fair_server", scheduler::fair_server),
    ("sched.rt_runtime", scheduler::throttling),
];

/// What can be done about a knob here; `None` where all there is to know stands in the knob itself.
pub fn remedy(site: &Site<'_>, id: &str) -> Option<Remedy> {
    let (_, find) = REMEDIES.iter().find(|(known, _)| *known == id)?;
    site.case.forget();
    let found = find(site);
    site.case.forget();
    Some(match found {
        Ok(Remedy::Steps(steps, _)) if steps.is_empty() => Remedy::NotHere("nothing is left to do about it".to_owned()),
        Ok(found) => found,
        Err(Doubt::Unknown(because) | Doubt::NotApplicable(because)) => Remedy::NotHere(because),
    })
}
