//! Words of the command line that are not for the kernel, but for boot loaders, initial RAM disks and init.
//!
//! The kernel passes these words on to init, and its log calls them unknown.

/// The names of the words, grouped by the program that reads them. A name that ends in `.` stands for all words that
/// begin with it.
#[rustfmt::skip]
const NAMES: &[(&str, &[&str])] = &[
    ("the boot loader", &["BOOT_IMAGE", "BOOTIF", "initrd", "kexec", "subarch", "vga"]),
    ("systemd or the initial RAM disk", &[
        "1", "2", "3", "4", "5", "S", "_b", "biosdevname", "emergency", "fsck.", "locale.", "luks", "luks.", "modprobe.",
        "modules_load", "mount.", "net.ifnames", "net.naming_scheme", "plymouth.", "quotacheck.", "rd.", "rescue",
        "resumeflags", "rhgb", "roothash", "s", "single", "splash", "systemd.", "tpm2.", "udev.", "usrhash", "vconsole.",
        "vt.handoff",
    ]),
    // Words of initramfs-tools, dracut, mkinitcpio, mkinitfs, casper and live-boot.
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

/// The program that reads a word with this name. In `name`, each `-` is replaced by `_`.
pub(super) fn reader(name: &str) -> Option<&'static str> {
    let is_it = |known: &str| match known.strip_suffix('.') {
        Some(prefix) => name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.')),
        None => name == known,
    };
    NAMES.iter().find(|(_, names)| names.iter().any(|known| is_it(known))).map(|(reader, _)| *reader)
}

/// Modules that are not part of the kernel's sources, and prefixes that only vendors' kernels have, grouped by their
/// owners.
const DOWNSTREAM: &[(&str, &str)] = &[
    ("NVIDIA's driver", "nvidia nvidia_drm nvidia_modeset nvidia_uvm"),
    ("OpenZFS", "zfs spl"),
    ("VirtualBox", "vboxdrv vboxguest"),
    ("VMware's modules", "vmmon"),
    ("Broadcom's wireless driver", "wl"),
    ("the IgH EtherCAT master", "ec_master ec_generic"),
    ("v4l2loopback", "v4l2loopback"),
    ("DisplayLink's driver", "evdi"),
    ("acpi_call", "acpi_call"),
    ("ryzen_smu", "ryzen_smu"),
    ("Intel's out-of-tree i915", "i915_sriov"),
    (
        "Raspberry Pi's kernels",
        "bcm2708_fb bcm2708 bcm2709 vc_mem snd_bcm2835 dwc_otg system_heap cgroup_memory smsc95xx.macaddr numa_policy",
    ),
    ("patched kernels (Debian's, Raspberry Pi's)", "cgroup_enable"),
    ("Allwinner's kernels", "hdmi disp"),
    ("NVIDIA's kernels for Jetson", "bl_prof_dataptr bl_prof_ro_ptr nvdumper_reserved"),
    ("vendors' kernels for boards", "video_hdmi"),
    ("Rockchip's kernels", "storagemedia"),
    ("Android's kernels and init", "androidboot"),
];

/// The owner of a word that is known, but does not come from the kernel's own sources. The owner is found by the whole
/// name or by the part before the dot.
pub(super) fn downstream(name: &str) -> Option<&'static str> {
    let prefix = name.split_once('.').map_or(name, |(module, _)| module);
    let is_owned = |known: &str| known == prefix || known == name;
    DOWNSTREAM.iter().find(|(_, known)| known.split(' ').any(is_owned)).map(|(owner, _)| *owner)
}
