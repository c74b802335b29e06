//! Tests how boot loaders and inits are recognised, and which words are read from their files.

use super::{Init, Initramfs, Loader, configured};
use crate::fact::Fact;
use crate::machine::Machine;
use crate::tree::MemTree;

fn machine(text: &str) -> (MemTree, Machine) {
    let tree = MemTree::parse(&format!("punctual-machine 1\n{text}")).unwrap();
    let machine = Machine::read(&tree);
    (tree, machine)
}

fn loaders(text: &str) -> Vec<Loader> {
    machine(text).1.boot.loaders.iter().map(|sign| sign.what).collect()
}

/// A snapshot line with a firmware variable as systemd-boot leaves it: four bytes of attributes, then 16-bit
/// characters.
fn variable(name: &str, value: &str) -> String {
    let units = value.replace("", "\\x00");
    let units = units.trim_start_matches("\\x00");
    format!(
        "/sys/firmware/efi/efivars/{name}-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f =\n    \\x06\\x00\\x00\\x00{units}\\x00\\x00\\c\n"
    )
}

#[test]
fn one_of_several_is_told_by_what_ran() {
    let both = "/etc/default/grub = \\e\n/etc/debian_version = 13.1\n/boot/efi/loader/loader.conf = timeout 3\n";
    assert_eq!(loaders(both), [Loader::UpdateGrub, Loader::SystemdBoot]);
    assert_eq!(loaders(&format!("{both}/proc/cmdline = BOOT_IMAGE=/vmlinuz quiet\n")), [Loader::UpdateGrub]);
    let info = variable("LoaderInfo", "systemd-boot 257.8");
    assert_eq!(loaders(&format!("{both}{info}")), [Loader::SystemdBoot]);
    // The firmware variable of a loader overrides a word on the command line.
    assert_eq!(loaders(&format!("{both}{info}/proc/cmdline = BOOT_IMAGE=x\n")), [Loader::SystemdBoot]);
    assert_eq!(loaders(&format!("{both}{}", variable("LoaderInfo", "GRUB 2.12"))), [Loader::UpdateGrub]);
    let stub = variable("StubInfo", "systemd-stub 257.8");
    assert_eq!(loaders(&format!("{both}{info}{stub}")), [Loader::Uki]);
}

#[test]
fn a_container_has_no_loader_and_an_image_is_made_elsewhere() {
    let (_, container) = machine("/run/systemd/container = lxc\n/etc/default/grub = \\e\n");
    assert_eq!((container.boot.loaders.len(), container.boot.container.as_deref()), (0, Some("lxc")));
    assert_eq!(loaders("/etc/os-release = ID=nixos\n/boot/loader/loader.conf = timeout 3\n"), [Loader::NixOs]);
    assert_eq!(loaders("/run/ostree-booted = \\e\n/etc/default/grub = \\e\n"), [Loader::Ostree]);
    assert_eq!(loaders("/proc/cmdline = snapd_recovery_mode=run quiet\n"), [Loader::UbuntuCore]);
    assert_eq!(loaders("/etc/hostname = x\n"), []);
}

/// In an unpacked system nobody can tell what was below `/run`.
#[test]
fn what_nobody_can_tell_is_no_sign() {
    let unpacked = "/run/ostree-booted ! garbled not in the unpacked system\n/run/systemd/system/ ! garbled gone\n";
    let (_, machine) = machine(&format!("{unpacked}/etc/default/grub = \\e\n/etc/debian_version = 12.1\n"));
    assert_eq!(machine.boot.loaders.iter().map(|sign| sign.what).collect::<Vec<_>>(), [Loader::UpdateGrub]);
    assert!(machine.boot.init.is_none(), "{:?}", machine.boot.init);
}

#[test]
fn an_unreadable_file_is_still_a_sign() {
    assert_eq!(loaders("/boot/grub/grub.cfg ! denied\n"), [Loader::Grub]);
    assert_eq!(loaders("/etc/default/grub ! denied\n/etc/debian_version = 12.1\n"), [Loader::UpdateGrub]);
}

#[test]
fn inits_are_told_by_what_they_leave_while_they_run() {
    let init = |text: &str| machine(text).1.boot.init.map(|sign| sign.what);
    assert_eq!(init("/run/systemd/system/\n/proc/1/comm = init\n"), Some(Init::Systemd));
    assert_eq!(init("/run/openrc/softlevel = default\n/proc/1/comm = init\n"), Some(Init::OpenRc));
    assert_eq!(init("/proc/1/comm = runit\n"), Some(Init::Runit));
    assert_eq!(init("/proc/1/comm = init\n/sbin/init -> /bin/busybox\n"), Some(Init::Busybox));
    assert_eq!(init("/proc/1/comm = init\n/etc/inittab = ::sysinit:/etc/init.d/rcS\n"), Some(Init::Busybox));
    assert_eq!(init("/proc/1/comm = init\n/etc/rc2.d/\n"), Some(Init::SysV));
    assert_eq!(init("/proc/1/comm = bash\n"), None);
    assert_eq!(machine("/etc/dracut.conf.d/\n").1.boot.initramfs, Some(Initramfs::Dracut));
}

fn words(text: &str) -> Vec<Fact<String>> {
    let (tree, machine) = machine(&format!("/proc/sys/kernel/osrelease = 6.12.1\n{text}"));
    let release = machine.kernel.release.known().map(String::as_str);
    configured(&tree, &machine.boot, release).into_iter().map(|c| c.line).collect()
}

fn known(line: &str) -> Fact<String> {
    Fact::Known(line.to_owned())
}

#[test]
fn shell_fragments_are_read_as_a_shell_reads_them() {
    let found = words(
        "/etc/debian_version = 13.1\n/etc/default/grub =\n    # GRUB_CMDLINE_LINUX=no\n    GRUB_TIMEOUT=$(date)\n    \
         GRUB_CMDLINE_LINUX=\"console=ttyS0 \\\\\n     debug\" # remark\n    GRUB_CMDLINE_LINUX_DEFAULT='quiet $x'\n\
         /etc/default/grub.d/60-rt.cfg =\n    GRUB_CMDLINE_LINUX=\"${GRUB_CMDLINE_LINUX} isolcpus=2-3\"\n    \
         GRUB_CMDLINE_LINUX_DEFAULT+=\" splash\"\n/etc/default/grub.d/60-rt.cfg.bak = GRUB_CMDLINE_LINUX=bad\n",
    );
    assert_eq!(found, [known("console=ttyS0  debug isolcpus=2-3 quiet $x splash")]);
    for trick in [
        "GRUB_CMDLINE_LINUX=`cat x`",
        "if true; then GRUB_CMDLINE_LINUX=a; fi",
        "GRUB_CMDLINE_LINUX=${a:-b}",
        "GRUB_CMDLINE_LINUX=\"a",
    ] {
        let found = words(&format!("/etc/default/grub =\n    {trick}\n"));
        assert!(matches!(found[0], Fact::Garbled(_)), "{trick}: {found:?}");
    }
    assert_eq!(words("/etc/default/grub ! denied\n"), [Fact::Denied]);
}

#[test]
fn other_loaders_keep_their_words_elsewhere() {
    let entry = |options: &str| {
        format!("/boot/loader/entries/a-6.12.1.conf =\n    linux /vmlinuz-6.12.1\n    options {options}\n")
    };
    assert_eq!(
        words(&format!(
            "/boot/loader/loader.conf = timeout 3\n{}/etc/kernel/cmdline = root=/dev/sda1 ro\n",
            entry("ro quiet")
        )),
        [known("ro quiet"), known("root=/dev/sda1 ro")]
    );
    let bls = format!(
        "/etc/default/grub = GRUB_ENABLE_BLSCFG=true\n/boot/grub2/grubenv =\n    # GRUB Environment Block\n    kernelopts=root=/dev/x ro \n{}",
        entry("$kernelopts isolcpus=2")
    );
    assert_eq!(words(&bls), [known("root=/dev/x ro  isolcpus=2")]);
    assert_eq!(words("/etc/default/grub = GRUB_ENABLE_BLSCFG=true\n/boot/loader/entries/ ! denied\n"), [Fact::Denied]);
    let labels = "DEFAULT b\n    LABEL a\n      APPEND one\n    label b\n      append ${cbootargs} two";
    let model = "/proc/device-tree/model =\n    Raspberry Pi 4 Model B Rev 1.4\\x00\\c";
    let fragment = "/etc/u-boot-menu/conf.d/rt.conf = U_BOOT_PARAMETERS=\"ro isolcpus=3\"";
    for (files, line) in [
        (format!("/boot/extlinux/extlinux.conf =\n    {labels}"), "${cbootargs} two"),
        ("/boot/armbianEnv.txt =\n    verbosity=1\n    extraargs=isolcpus=4-5".to_owned(), "isolcpus=4-5"),
        (format!("{model}\n/boot/firmware/cmdline.txt = console=tty1 quiet"), "console=tty1 quiet"),
        ("/etc/kernelstub/configuration = {\"user\":{\"kernel_options\":[\"quiet\"]}}".to_owned(), "quiet"),
        (format!("/etc/default/u-boot = U_BOOT_PARAMETERS=\"ro quiet\"\n{fragment}"), "ro isolcpus=3"),
    ] {
        assert_eq!(words(&format!("{files}\n")), [known(line)]);
    }
}
