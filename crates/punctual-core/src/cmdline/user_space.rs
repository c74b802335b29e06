//! Words that are not for the kernel: for boot loaders, initial RAM disks and init.
//!
//! The kernel hands them on; its log then calls them unknown, which they are, to it.

/// Whole names; for everything below a prefix that ends in `.`, the prefix.
const NAMES: &[(&str, &[&str])] = &[
    (
        "the boot loader",
        &["BOOT_IMAGE", "initrd", "kexec", "vga", "boot", "linux", "dtb", "dtbo", "fdt", "efi_console", "subarch", "BOOTIF"],
    ),
    (
        "systemd",
        &[
            "systemd.", "udev.", "rd.", "modprobe.", "locale.", "vconsole.", "luks", "luks.", "fsck.", "quotacheck.", "modules_load",
            "net.naming_scheme", "net.ifnames", "single", "s", "S", "emergency", "rescue", "1", "2", "3", "4", "5", "6",
            "auto", "nofail", "mount.usr", "mount.usrfstype", "mount.usrflags", "usrhash", "roothash", "tpm2.",
            "verity.", "veritytab", "cryptdevice", "resume_offset", "noswap", "credential", "-b", "b", "SYSTEMD_COLORS",
            "plymouth.", "splash", "rhgb", "nosplash", "vt.handoff", "biosdevname", "container",
        ],
    ),
    (
        "the initial RAM disk",
        &[
            "fixrtc", "multipath", "resize", "___", "cryptkey", "cryptopts", "crypto", "break", "BOOT", "live", "toram",
            "persistent", "persistence", "persistent_path", "casper", "maybe_ubiquity", "autoinstall",
            "netboot", "fetch", "iso_scan", "iso_scan/filename", "findiso", "components", "config", "overlayroot",
            "copytoram", "archisobasedir", "archisolabel", "archisodevice", "archisosearchuuid", "arch", "alpine_dev",
            "alpine_repo", "modloop", "pkgs", "modules", "apkovl", "usbdelay", "keep_apk_new", "s390x_net", 
            "rootsubvol", "zfs", "boot_zfs", "nohang", "earlymodules", "disablehooks", "cow_spacesize", "bootdev",
            "resume_wait", "recovery", "recover", "fsckfix", 
            "fb_tunnel", "noprompt", "ubiquity.", "debian_installer.", "hostname", "domain", "locale", 
            "url", "preseed", "priority", "mirror", "language", "country", "interface", "uuid", "loop",
            "loopfstype", "looptype", "ds", "cc", "network_config", "cloud_config_url", "ci.", "cloud_init", "inst.",
            "ks", "stage2", "repo", "coreos.", "ignition.", "flatcar.", "ostree",
            "bootc.", "snapd_recovery_mode", "snapd_recovery_system", "bootsplash.",
            "bootsplash", "ubootpart", "ubootsource", "skip_initramfs", 
            "boardid", "tegraid", "tegra_fbmem",
            "is_hdmi_initialized", 
            "boot.", "nix", "COMMAND_LINE",
        ],
    ),
    ("tuned", &["tuned."]),
    ("a console or a service", &["TERM", "LANG", "HOME", "PATH", "COLUMNS", "ROOTFS", "no_timestamp"]),
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
