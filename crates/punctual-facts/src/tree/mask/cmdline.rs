//! Decides which words of a kernel command line may be shown with their values: words that the kernel itself takes, and
//! values that are only numbers or yes and no. Any other value may be an address, a name or a key.

use super::{Masks, Secret};
use std::ops::Range;

/// Files that hold a command line, in addition to the files below [`FOLDERS`].
const FILES: [&str; 6] = [
    "/proc/cmdline",
    "/proc/bootconfig",
    "/proc/device-tree/chosen/bootargs",
    "/etc/default/grub",
    "/etc/kernel/cmdline",
    "/etc/lilo.conf",
];
const FOLDERS: [&str; 4] = ["/boot/", "/efi/", "/etc/default/grub.d/", "/etc/cmdline.d/"];
const LOG: &str = "punctual:/kernel/log";

/// Words of the kernel whose value is technical, so it is not masked as a whole. A secret within the value, such as the
/// UUID of a disk, is recognised by its form.
const KERNELS: &str = "acpi acpi_backlight acpi_enforce_resources acpi_irq_balance acpi_osi acpi_rsdp amd_iommu \
    amd_prefcore amd_pstate apic apparmor arm64 audit audit_backlog_limit boot_delay boot_image bootconfig cgroup \
    cgroup_disable cgroup_enable cgroup_memory clearcpuid clk_ignore_unused clocksource cma coherent_pool console \
    consoleblank cpufreq cpuidle crashkernel debug default_hugepagesz driver_async_probe dyndbg earlycon earlyprintk \
    efi fb fbcon fsck hpet hugepages hugepagesz hugetlb_cma hung_task_panic idle idlepoll init initcall_debug initrd \
    intel_idle intel_iommu intel_pstate io_delay iommu irqaffinity irqfixup irqpoll isolcpus kaslr kasan kfence \
    kgdboc kgdbwait kpti kthread_cpus kvm libata loglevel lpj lsm maxcpus mce mem memmap memory_corruption_check \
    memtest mitigations module_blacklist mtrr_gran_size nmi_watchdog no_hash_pointers noapic nohlt nohz nohz_full \
    nopti nosmt noxsave nr_cpus nr_uarts numa numa_balancing oops page_alloc page_owner page_poison panic \
    panic_on_oops panic_on_warn pause_on_oops pci pcie_aspm pcie_port_pm pcie_ports possible_cpus preempt printk \
    profile psi pti ramdisk_size randomize_kstack_offset rcu_nocb_poll rcu_nocbs rdinit reboot resume retbleed root \
    rootdelay rootflags rootfstype rootwait sched_debug sched_thermal_decay_shift sched_verbose security selinux \
    skew_tick slab_nomerge slub_debug smp smt softlockup_all_cpu_backtrace softlockup_panic spec_rstack_overflow \
    spec_store_bypass_disable spectre_v2 split_lock_detect swapaccount swiotlb sysrq_always_enabled thermal \
    threadirqs tick_sched transparent_hugepage trace_buf_size trace_clock trace_event trace_options tsc tsc_tuned \
    tsx vdso vga video vmalloc vsyscall watchdog watchdog_thresh workqueue x2apic xapic xenomai";
/// Modules and parts of the kernel whose parameters are technical, so their values are not masked.
const PARTS: &str = "acpi acpi_cpufreq amdgpu amd_pstate ata bcm2708_fb bcm2709 clocksource cobalt cpufreq cpuidle \
    cpuidle_haltpoll drm drm_kms_helper dwc_otg evl haltpoll hugetlb i915 igb intel_idle intel_pstate iommu irq \
    irqchip ixgbe kernel kvm kvm_amd kvm_intel libata module mmc_core nmi_watchdog nouveau nvidia nvidia_drm \
    nvidia_modeset nvme nvme_core page_reporting pci pcie_aspm printk processor psi radeon random rcupdate rcutree \
    sched scsi_mod smsc95xx snd_hda_intel srcutree sysctl tcp_cubic thermal tsc uhci_hcd usbcore usbhid usb_storage \
    vc_mem vt watchdog workqueue xe xenomai xhci_hcd zswap";
const WORDS: &str = "on off yes no true false auto none default enable enabled disable disabled force forced always \
    never madvise full lazy voluntary strict relaxed ro rw poll halt performance powersave";

/// Whether the file at this path holds a command line.
pub(super) fn is_one(path: &str) -> bool {
    let is_config =
        path.rsplit('/').next().is_some_and(|name| name.starts_with("config-") || name.starts_with("System.map"));
    path == LOG || FILES.contains(&path) || (FOLDERS.iter().any(|folder| path.starts_with(folder)) && !is_config)
}

/// The private values in the text of a file. `path` decides how the file's lines are split.
pub(super) fn private_values(path: &str, text: &str) -> Vec<String> {
    let lines = text.lines().flat_map(|line| parts_of_line(line, path == LOG));
    lines.flat_map(|line| private(line, true).into_iter().map(|range| line[range].to_owned())).collect()
}

impl Masks {
    /// Replaces the private values in the text of a file by stand-ins.
    pub(super) fn command_lines(&mut self, path: &str, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            let mut copied = 0;
            for part in parts_of_line(line, path == LOG) {
                let start = part.as_ptr() as usize - line.as_ptr() as usize;
                for range in private(part, true) {
                    out.push_str(&line[copied..start + range.start]);
                    out.push_str(&self.stand_in(Secret::Value, &part[range.clone()]));
                    copied = start + range.end;
                }
            }
            out.push_str(&line[copied..]);
        }
        out
    }
}

/// The parts of a line that are to be masked like command lines. In the kernel's log this is the text after a colon or
/// in quotes; in a boot loader's file it is the whole line.
fn parts_of_line(line: &str, is_log: bool) -> Vec<&str> {
    // Texts of the device tree end in a NUL byte.
    let line = line.trim_end_matches(|c: char| c.is_whitespace() || c == '\0');
    if let Some((_, rest)) = line.split_once("ommand line: ") {
        return vec![rest];
    }
    if let Some((_, rest)) = line.split_once("ommand line parameters \"") {
        return vec![rest.split('"').next().unwrap_or_default()];
    }
    if is_log { Vec::new() } else { vec![line] }
}

/// Replaces the private values in a command line, so that a report may show it.
pub fn without_private_values(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut copied = 0;
    for range in private(line, false) {
        out.push_str(&line[copied..range.start]);
        out.push_str("(masked)");
        copied = range.end;
    }
    out + &line[copied..]
}

/// The byte ranges of the private values in a command line. After a lone `--` every value is private.
fn private(line: &str, is_outermost: bool) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut is_init, mut is_password) = (false, false);
    for word in words(line) {
        let text = &line[word.clone()];
        let inner = text.trim_matches(['"', '\'']);
        let Some((name, value)) = text.split_once('=') else {
            let is_option = inner.starts_with('-') || inner.is_empty();
            is_init |= text == "--";
            if (is_init && !is_option && !is_simple(inner)) || is_password {
                found.push(word.clone());
            }
            // GRUB's configuration has lines `password_pbkdf2 USER HASH`, so all words after `password...` are private.
            is_password |= inner.to_ascii_lowercase().starts_with("password");
            continue;
        };
        let start = word.start + name.len() + 1;
        let body = value.trim_matches(['"', '\'']);
        let start = start + (value.len() - value.trim_start_matches(['"', '\'']).len());
        // The value of a variable in a boot loader's settings is a command line of its own.
        let is_variable = name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
        if is_variable && is_outermost && value.starts_with(['"', '\'']) {
            found.extend(private(body, false).into_iter().map(|range| start + range.start..start + range.end));
        } else if !body.is_empty() && (is_init || !is_kernels(name)) && !is_simple(body) {
            found.push(start..start + body.len());
        } else if let Some(at) = body.find("LABEL=").filter(|_| body.contains(char::is_whitespace)) {
            // A label in quotes may contain blanks, so all of it is masked here. The scan of the whole text finds
            // labels without blanks.
            let (label, end) = (start + at + "LABEL=".len(), start + body.len());
            found.extend((label < end).then_some(label..end));
        }
    }
    found
}

/// The byte ranges of the words, split as in the kernel: at blanks outside quotes.
fn words(line: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut start, mut quote) = (None, None);
    for (at, c) in line.char_indices().chain([(line.len(), ' ')]) {
        let is_blank = c.is_whitespace() && (quote.is_none() || at == line.len());
        match c {
            '"' | '\'' if quote == Some(c) => quote = None,
            '"' | '\'' if quote.is_none() => quote = Some(c),
            _ => {}
        }
        match start {
            Some(from) if is_blank => {
                found.push(from..at);
                start = None;
            }
            None if !is_blank => start = Some(at),
            _ => {}
        }
    }
    found
}

fn is_kernels(name: &str) -> bool {
    let name = name.trim_matches(['"', '\'']).replace('-', "_").to_ascii_lowercase();
    let is_among = |list: &str, word: &str| list.split_whitespace().any(|known| known == word);
    match name.split_once('.') {
        Some((part, parameter)) => is_among(PARTS, part) && !parameter.contains("key") && !parameter.contains("mac"),
        None => is_among(KERNELS, &name),
    }
}

/// Whether a value is a number, a size, a list of numbers or sizes, or a word for yes or no.
fn is_simple(value: &str) -> bool {
    let is_number = |part: &str| {
        let part = part.strip_prefix(['-', '+']).unwrap_or(part);
        let digits = part.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G', 's', 'u', '%']);
        let is_hex =
            part.strip_prefix("0x").is_some_and(|hex| hex.len() <= 16 && hex.bytes().all(|b| b.is_ascii_hexdigit()));
        is_hex || (digits.len() <= 10 && digits.bytes().all(|b| b.is_ascii_digit()))
    };
    let is_word = |part: &str| WORDS.split_whitespace().any(|word| word.eq_ignore_ascii_case(part)) || part.len() == 1;
    value.split([',', ':', '-', '/']).all(|part| is_number(part) || is_word(part))
}
