//! Words that are given more than once.

use super::line::Token;

/// Words of which each one adds to the others.
const ACCUMULATE: &[&str] = &[
    "console",
    "earlycon",
    "hugepages",
    "hugepagesz",
    "memmap",
    "memblock",
    "mem",
    "dyndbg",
    "module_blacklist",
    "video",
    "pci",
    "efi",
    "acpi_osi",
    "add_efi_memmap",
    "initcall_blacklist",
    "crashkernel",
    "nfsaddrs",
    "blkdevparts",
    "mtdparts",
    "trace_event",
    "kprobe_event",
    "ftrace_filter",
    "reserve_mem",
    "hugetlb_cma",
    "cma",
    "lsm",
    "debug",
    "mce",
    "usbcore.quirks",
    "acpi_enforce_resources",
    "iommu",
    "cgroup_disable",
    "cgroup_enable",
    "apic",
    "tsc",
    "hpet",
    // idle=poll is never undone.
    "idle",
    "intel_pstate",
    "intel_iommu",
    "intel_idle.states_off",
    "rcutorture",
    "trace_options",
    "sysrq_always_enabled",
    "printk.devkmsg",
    "isolcpus",
    "memtest",
    "pcie_ports",
    "i8042.nopnp",
    "nosmt",
    "xen",
    "efi_fake_mem",
    "mitigations",
    "clearcpuid",
    "earlyprintk",
    "netconsole",
];

/// Whether the same word stands further on with another value, which then is the one that counts; a value that
/// `is_refused` counts for nothing.
pub fn is_overridden(token: &Token, line: &[Token], is_refused: impl Fn(&Token) -> bool) -> bool {
    if ACCUMULATE.contains(&token.name.as_str()) || token.name.starts_with("sysctl.") || token.is_for_init {
        return false;
    }
    let later = line.iter().filter(|other| other.end > token.end && !other.is_for_init && other.name == token.name);
    let mut later = later.filter(|other| !is_refused(other)).peekable();
    later.peek().is_some()
        && later.all(|other| other.value.is_some() == token.value.is_some() && other.value != token.value)
}
