//! Words that are not for the kernel: for boot loaders, initial RAM disks and init.
//!
//! The kernel hands them on; its log then calls them unknown, which they are, to it.

/// Whole names; for everything below a prefix that ends in `.`, the prefix.
#[rustfmt::skip]
const NAMES: &[(&str, &[&str])] = &[
    ("the boot loader", &["BOOT_IMAGE", "BOOTIF", "initrd", "kexec", "subarch", "vga"]),
    ("systemd or the initial RAM disk", &[
        "1", "2", "3", "4", "5", "S", "_b", "biosdevname", "emergency", "fsck.", "locale.", "luks", "luks.", "modprobe.",
        "modules_load", "mount.", "net.ifnames", "net.naming_scheme", "plymouth.", "quotacheck.", "rd.", "rescue",
        "resumeflags", "rhgb", "roothash", "s", "single", "splash", "systemd.", "tpm2.", "udev.", "usrhash", "vconsole.",
        "vt.handoff",
    ]),
    // initramfs-tools, dracut, mkinitcpio, mkinitfs, casper, live-boot.
    ("the initial RAM disk", &[
        "___", "alpine_dev", "alpine_repo", "apkovl", "archisobasedir", "archisodevice", "archisolabel",
        "archisosearchuuid", "automatic_ubiquity", "bond", "boot", "boot.", "bootdev", "break", "bridge", "casper",
        "components", "copytoram", "cow_spacesize", "cryptdevice", "cryptkey", "cryptopts", "crypto", "disablehooks",
        "earlymodules", "fetch", "file", "findiso", "fixrtc", "fromiso", "hooks", "hostname", "ifname", "img_dev",
        "img_loop", "iso_scan/filename", "keep_apk_new", "layerfs_path", "live_config.", "live_media", "loop", "loopfstype",
        "maybe_ubiquity", "modloop", "modules", "multipath", "nameserver", "netboot", "noeject", "noprompt",
        "only_ubiquity", "overlayroot", "persistence", "persistent", "persistent_path", "pkgs", "resize",
        "team", "timezone", "toram", "ubiquity.", "url", "usbdelay", "username", "vlan", "zfs",
    ]),
    ("an installer or cloud-init", &[
        "autoinstall", "cc", "ci.", "cloud_config_url", "cloud_init", "debian_installer/locale", "domain", "ds", "inst.",
        "interface", "ks", "language", "locale", "network_config", "preseed/file", "preseed/url", "priority", "repo",
        "stage2",
    ]),
    ("the system's image", &[
        "bootc.", "coreos.", "flatcar.", "ignition.", "ostree", "snapd_recovery_mode", "snapd_recovery_system",
    ]),
    ("tuned", &["tuned."]),
    ("Armbian's scripts", &["ubootpart", "ubootsource", "bootsplash.bootfile"]),
    ("the environment of init", &["COLUMNS", "HOME", "LANG", "PATH", "TERM"]),
];

/// What a word with such a name (`-` written as `_`) is for.
pub(super) fn reader(name: &str) -> Option<&'static str> {
    let is_it = |known: &str| match known.strip_suffix('.') {
        Some(prefix) => name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.')),
        None => name == known,
    };
    NAMES.iter().find(|(_, names)| names.iter().any(|known| is_it(known))).map(|(reader, _)| *reader)
}

/// Modules that are not part of the kernel's sources, and prefixes that only vendors' kernels know.
const DOWNSTREAM: &[(&str, &str)] = &[
    ("nvidia", "NVIDIA's driver"),
    ("nvidia_drm", "NVIDIA's driver"),
    ("nvidia_modeset", "NVIDIA's driver"),
    ("nvidia_uvm", "NVIDIA's driver"),
    ("zfs", "OpenZFS"),
    ("spl", "OpenZFS"),
    ("vboxdrv", "VirtualBox"),
    ("vboxguest", "VirtualBox"),
    ("vmmon", "VMware's modules"),
    ("wl", "Broadcom's wireless driver"),
    ("ec_master", "the IgH EtherCAT master"),
    ("ec_generic", "the IgH EtherCAT master"),
    ("v4l2loopback", "v4l2loopback"),
    ("evdi", "DisplayLink's driver"),
    ("acpi_call", "acpi_call"),
    ("ryzen_smu", "ryzen_smu"),
    ("i915_sriov", "Intel's out-of-tree i915"),
    ("bcm2708_fb", "Raspberry Pi's kernels"),
    ("bcm2708", "Raspberry Pi's kernels"),
    ("bcm2709", "Raspberry Pi's kernels"),
    ("vc_mem", "Raspberry Pi's kernels"),
    ("snd_bcm2835", "Raspberry Pi's kernels"),
    ("dwc_otg", "Raspberry Pi's kernels"),
    ("system_heap", "Raspberry Pi's kernels"),
    ("cgroup_memory", "Raspberry Pi's kernels"),
    ("cgroup_enable", "patched kernels (Debian's, Raspberry Pi's)"),
    ("smsc95xx.macaddr", "Raspberry Pi's kernels"),
    ("hdmi", "Allwinner's kernels"),
    ("disp", "Allwinner's kernels"),
    ("numa_policy", "Raspberry Pi's kernels"),
    ("bl_prof_dataptr", "NVIDIA's kernels for Jetson"),
    ("bl_prof_ro_ptr", "NVIDIA's kernels for Jetson"),
    ("nvdumper_reserved", "NVIDIA's kernels for Jetson"),
    ("video_hdmi", "vendors' kernels for boards"),
    ("storagemedia", "Rockchip's kernels"),
    ("androidboot", "Android's kernels and init"),
];

/// Whose word it is, where it is known but not from the kernel's own sources: by whole name or by what stands before
/// the dot.
pub(super) fn downstream(name: &str) -> Option<&'static str> {
    let prefix = name.split_once('.').map_or(name, |(module, _)| module);
    DOWNSTREAM.iter().find(|(known, _)| *known == prefix || *known == name).map(|(_, owner)| *owner)
}
