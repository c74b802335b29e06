//! Tests that no secret of a test machine is left, that equal secrets get equal stand-ins, and that no finding changes.

use super::super::{MemTree, Tree};
use super::{Masks, masked};
use crate::fact::Fact;
use proptest::prelude::*;

const PLANTED: &str = r#"punctual-machine 1
/proc/sys/kernel/hostname = zaphod
/proc/sys/kernel/osrelease = 6.12.0.1-custom
/proc/version = Linux version 6.12.0.1-custom (trillian@zaphod) (gcc 14) #1 SMP PREEMPT_RT
/proc/cmdline = BOOT_IMAGE=/vmlinuz root=UUID=01234567-89ab-4cde-8f01-23456789abcd ro isolcpus=managed_irq,domain,2-3 ip=10.11.12.13::10.11.12.1:255.255.255.0:zaphod:eth0:off wlan.password=mostly-harmless systemd.hostname=zaphod nosmt=force foo="deep thought" i915.enable_dc=0 -- --user marvin --auth s3cr3t-42
/proc/cpuinfo =
    processor	: 0
    Serial		: 10000000deadbeef
/proc/net/arp = 10.11.12.1 0x1 0x2 52:54:00:ab:cd:ef * eth0
/sys/class/net/enx525400abcdef/address = 52:54:00:ab:cd:ef
/sys/class/net/enx525400abcdef/mtu = 1500
/sys/class/dmi/id/product_serial = VMX-77-42-QQ
/sys/class/dmi/id/product_uuid = 4c4c4544-0042-3510-8052-b4c04f4d4d32
/sys/block/sda/device/serial = S3X9NX0K712345
/dev/disk/by-id/ata-Samsung_S3X9NX0K712345 -> ../../sda
/etc/machine-id = 0f1e2d3c4b5a69788796a5b4c3d2e1f0
/etc/security/limits.conf =
    # comment
    @realtime - rtprio 95
    fordprefect - rtprio 80
/etc/default/grub =
    GRUB_TIMEOUT=5
    GRUB_CMDLINE_LINUX="quiet isolcpus=2-3 wlan.password=mostly-harmless nickname=eddie-computer"
/boot/grub/grub.cfg =
    password_pbkdf2 root grub.pbkdf2.sha512.10000.ABCDEF
    linux /vmlinuz root=UUID=01234567-89ab-4cde-8f01-23456789abcd magrathea=factory-floor isolcpus=2-3
/sys/fs/cgroup/home/fordprefect.slice/cpu.max = max 100000
/proc/mounts = /dev/sda1 /home/fordprefect ext4 rw 0 0
/proc/net/if_inet6 = fe80::5054:ff:feab:cdef and fe800000000000005054
punctual:/tasks = 4194304 0 0 0 zaphod-agent
punctual:/kernel/log =
    [    0.000000] Linux version 6.12.0.1-custom (trillian@zaphod) (gcc 14) #1 SMP PREEMPT_RT
    [    0.000000] Command line: root=UUID=01234567-89ab-4cde-8f01-23456789abcd wlan.password=mostly-harmless foo="deep thought" isolcpus=managed_irq,domain,2-3
    [    0.010000] Unknown kernel command line parameters "magrathea=factory-floor wlan.password=mostly-harmless", will be passed to user space.
    [    1.000000] usb 1-1: SerialNumber: AA00112233
    [    1.100000] e1000 0000:00:03.0 eth0: (PCI:33MHz:32-bit) 52:54:00:ab:cd:ef
    [    1.200000] Loaded X.509 cert 'Build key: 6ccece7e4c6c0d1f6149f3dd27dfcc5cbb419ea1'
    [    1.300000] IP-Config: device=eth0, ipaddr=10.11.12.13, host=zaphod.galaxy.example, nis-domain=(none)
    [    1.400000] audit: secret = "vogon-poetry"
/var/log/x ! garbled cannot open /home/fordprefect/x on zaphod
"#;

const SECRETS: &str = "zaphod|trillian|01234567-89ab|10.11.12|mostly-harmless|deep thought|marvin|s3cr3t|deadbeef|52:54:00|\
    525400abcdef|VMX-77|4c4c4544|S3X9NX|0f1e2d3c|fordprefect|eddie|ABCDEF|factory-floor|feab:cdef|AA001122|6ccece7e|galaxy|\
    vogon";

#[test]
fn the_command_line_in_the_device_tree_is_masked_like_the_one_that_booted() {
    let line = "isolcpus=2 wlan.password=mostly-harmless";
    let mut tree = MemTree::new();
    tree.file("/proc/cmdline", Fact::Known(line.as_bytes().to_vec()));
    tree.file("/proc/device-tree/chosen/bootargs", Fact::Known(format!("{line}\0").into_bytes()));
    let out = masked(&tree);
    let text = |path: &str| String::from_utf8(out.read(path).known().unwrap().clone()).unwrap();
    let (booted, passed) = (text("/proc/cmdline"), text("/proc/device-tree/chosen/bootargs"));
    assert!(!booted.contains("harmless"), "{booted}");
    assert_eq!(format!("{booted}\0"), passed);
}

#[test]
fn nothing_planted_is_left() {
    let text = masked(&MemTree::parse(PLANTED).unwrap()).to_string();
    let left: Vec<&str> =
        SECRETS.split('|').filter(|secret| text.to_lowercase().contains(&secret.to_lowercase())).collect();
    assert!(left.is_empty(), "{left:?} in\n{text}");
    for kept in [
        "6.12.0.1-custom",
        "isolcpus=managed_irq,domain,2-3",
        "nosmt=force",
        "i915.enable_dc=0",
        "GRUB_TIMEOUT=5",
        "GRUB_CMDLINE_LINUX=\"quiet isolcpus=2-3",
        "BOOT_IMAGE=/vmlinuz",
        "@realtime - rtprio 95",
        "0000:00:03.0 eth0",
        "/mtu = 1500",
        "= max 100000",
        "SMP PREEMPT_RT",
    ] {
        assert!(text.contains(kept), "no '{kept}' in\n{text}");
    }
}

#[test]
fn what_is_alike_stays_alike() {
    let tree = masked(&MemTree::parse(PLANTED).unwrap());
    let names = tree.list("/sys/class/net").known().unwrap().clone();
    let name = names.first().unwrap();
    let address =
        String::from_utf8(tree.read(&format!("/sys/class/net/{name}/address")).known().unwrap().clone()).unwrap();
    assert_eq!(name.strip_prefix("enx").unwrap(), address.trim().replace(':', ""));
    let text = tree.to_string();
    let uuid = text.split("root=UUID=").nth(1).unwrap().get(..36).unwrap().to_owned();
    assert_eq!(text.matches(&uuid).count(), 3);
    assert_eq!(text.matches("masked-serial-2").count(), 1, "the disk in /sys:\n{text}");
}

#[test]
fn an_ordinary_host_name_takes_nothing_else_away() {
    for host in ["vm", "debian", "kernel", "sys", "1", "localhost", "tsc"] {
        let text = format!(
            "punctual-machine 1\n/proc/sys/kernel/hostname = {host}\n/proc/sys/vm/swappiness = 1\n\
             /sys/devices/system/clocksource/clocksource0/current_clocksource = tsc\n"
        );
        let tree = masked(&MemTree::parse(&text).unwrap());
        assert_eq!(tree.read("/proc/sys/kernel/hostname"), Fact::Known(b"masked-host\n".to_vec()), "{host}");
        assert_eq!(tree.read("/proc/sys/vm/swappiness"), Fact::Known(b"1\n".to_vec()), "{host}");
    }
}

#[test]
fn numbers_that_are_no_addresses_stay() {
    let mut masks = Masks::default();
    let kept = "00000000-0000|ffffffff,ffffffff|0000:00:1f.2|12:34:56|1.2.3|127.0.0.1|1.2.3.4.5|::1|0::/user.slice|\
        ffffffffffffffffffffffffffffffffffff|00:00:00:00:00:00|0-3,8|10000000000|a:b|std::vec|ff|\
        Rescuing: 3 tokens|serial8250: ttyS0|cap: 0x1f|[mem 0x0000000000000000-0x000000000009fbff]";
    for kept in kept.split('|') {
        assert_eq!(masks.text(kept), kept);
    }
    for (text, expected) in [
        ("b8:27:eb:01:02:03.", "02:00:00:00:00:01."),
        ("B8-27-EB-01-02-03", "02-00-00-00-00-01"),
        ("x=192.168.7.9:2024", "x=198.18.0.1:2024"),
        ("2001:db8:1:2:3:4:5:6/64 fd00::7", "2001:db8::1/64 2001:db8::2"),
        ("/home/ann/x:/home/bob", "/home/masked-user-1/x:/home/masked-user-2"),
        ("psk: \"abc def\"", "psk: \"masked-1 def\""),
    ] {
        assert_eq!(masks.text(text), expected);
    }
}

#[test]
fn names_and_labels_of_disks_go() {
    let line = "root=LABEL=Eddie rootflags=subvol=@marvin,ssd resume=/dev/disk/by-id/ata-SAMSUNG_S1X2 ro \
        a=PARTUUID=1234abcd-02 resume=PARTUUID=1234abcd-02 root=PARTLABEL=Heart-of-Gold root=\"LABEL=deep blue\" \
        root=/dev/disk/by-label/Eddie root=LABEL=root rootflags=subvol=@ root=UUID=12AB-34CD";
    let text = format!(
        "punctual-machine 1\n/proc/cmdline = {line}\n/etc/fstab = LABEL=\"Eddie\" / ext4 subvol=/@marvin/x\n\
         /dev/disk/by-id/nvme-eui.0025388b910 -> ../../nvme0n1\n/dev/disk/by-id/usb-Maker_77:0:0-part1 -> ../../sda1\n\
         /dev/disk/by-id/wwn-0x5002538d -> ../../sda\n/dev/disk/by-label/Eddie -> ../../sda1\n\
         /sys/fs/cgroup/system.slice/dev-disk-by\\\\x2dlabel-Eddie.swap/cpu.max = max\n\
         punctual:/kernel/log =\n    [    0.1] Serial: 8250/16550 driver, 32 ports\n    [    0.2] Serial: AMBA PL011 UART driver\n"
    );
    let masked = masked(&MemTree::parse(&text).unwrap());
    let text = masked.to_string();
    for gone in ["eddie", "marvin", "s1x2", "1234abcd", "heart", "deep", "blue", "12AB", "0025388", "_77", "5002538d"] {
        assert!(!text.to_lowercase().contains(&gone.to_lowercase()), "'{gone}' in\n{text}");
    }
    for kept in [
        "Serial: 8250/16550 driver",
        "Serial: AMBA PL011 UART driver",
        "root=LABEL=root",
        "subvol=@ ",
        ",ssd ",
        "-> ../../nvme0n1",
        "root=/dev/disk/by-label/",
        ".swap/cpu.max",
        "resume=/dev/disk/by-id/",
    ] {
        assert!(text.contains(kept), "no '{kept}' in\n{text}");
    }
    assert_eq!(masked.list("/dev/disk/by-id").known().map(Vec::len), Some(3), "each disk is still one");
}

#[test]
fn a_command_line_that_is_no_text_keeps_nothing_either() {
    let mut tree = MemTree::new();
    tree.file("/proc/cmdline", Fact::Known(b"isolcpus=2 pin=let-me-in \xff\xfe -- hunter-two\n".to_vec()));
    let Fact::Known(line) = masked(&tree).read("/proc/cmdline") else { panic!("it is gone") };
    assert_eq!(line, b"isolcpus=2 pin=masked-1 \xff\xff -- masked-2\n");
}

#[test]
fn long_lines_of_little_sense_take_no_more_than_long_lines() {
    for part in
        ["password=x ", "A=\"", "serial: 12345 ", "/home/", "a.", "0:", "52:54:00:ab:cd:ef-", "x=y", "--", "(a@"]
    {
        let line = part.repeat(50_000 / part.len());
        let mut tree = MemTree::new();
        for path in ["/boot/x", "/proc/cmdline", "punctual:/kernel/log", "/etc/x"] {
            tree.file(path, Fact::Known(line.clone().into_bytes()));
        }
        assert!(masked(&tree).read("/etc/x").known().is_some());
    }
}

proptest! {
    #[test]
    fn nothing_makes_it_panic(
        files in prop::collection::vec((r"/(proc/cmdline|etc/machine-id|boot/x|home/[a-z]{0,9}|[a-z/.]{0,12})", prop::collection::vec(any::<u8>(), 0..60)), 0..4),
        text in r#"([a-f0-9:.\-]{0,20}|[ =\"'/\n]|serial|password|--|\PC){0,12}"#,
    ) {
        let mut tree = MemTree::new();
        for (path, content) in files {
            tree.file(&path, Fact::Known(content));
        }
        tree.file("/proc/cmdline", Fact::Known(text.clone().into_bytes()));
        tree.file("punctual:/kernel/log", Fact::Known(text.into_bytes()));
        let masked = masked(&tree);
        prop_assert_eq!(MemTree::parse(&masked.to_string()).unwrap(), masked);
    }
}
