//! Knobs about the background work of storage and other devices.

use crate::knobs::prelude::*;

const KNOB: Knob = Knob { confidence: Confidence::Low, ..Knob::of(Family::Devices) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "blk.scheduler",
        title: "Fast disks without an I/O scheduler",
        check: Check::each(
            "/sys/block/*/queue/scheduler",
            has_no_moving_parts,
            Want::Choice { good: &["none"], bad: &[] },
            CannotBe("no disk here has this setting"),
        ),
        why: "An I/O scheduler sorts requests under a lock and adds work to each request; disks without moving parts \
            gain nothing from it.",
        fix: Fix::command("echo none > /sys/block/DISK/queue/scheduler"),
        persist: &[Lasting::Udev(Rule {
            event: Event::AddOrChange,
            when: &[attribute("queue/rotational", "0")],
            ..Rule::add("block", &[attribute("queue/scheduler", "none")])
        })],
        cost: "Fairness between programs that write.",
        sources: &["kernel block/switching-sched.rst", "unverified: the effect on a real-time thread"],
        ..KNOB
    },
    Knob {
        id: "blk.rq_affinity",
        title: "I/O need not complete on the CPU that requested it",
        check: Check::seen(
            "/sys/block/*/queue/rq_affinity",
            Want::Within(0, 1),
            CannotBe("no disk here has this setting"),
        ),
        why: "With rq_affinity 2 each completion interrupts exactly the CPU that sent the request.",
        fix: Fix::prose("echo 1 > /sys/block/DISK/queue/rq_affinity, and send no requests from CPUs <I>."),
        persist: &[Lasting::Udev(Rule {
            event: Event::AddOrChange,
            ..Rule::add("block", &[attribute("queue/rq_affinity", "1")])
        })],
        cost: "Completions find colder caches.",
        confidence: Confidence::Medium,
        sources: &[
            "kernel ABI stable/sysfs-block: rq_affinity",
            "kernel admin-guide/kernel-per-CPU-kthreads.rst: BLOCK_SOFTIRQ",
        ],
        ..KNOB
    },
    Knob {
        id: "blk.poll",
        title: "Drives are not polled for media",
        check: Check::Probe(poll),
        why: "The kernel polls drives with removable media that cannot report a change themselves, and an optical \
            drive on a slow bus answers slowly.",
        fix: Fix::command("echo 0 > /sys/block/DISK/events_poll_msecs"),
        persist: &[Lasting::Udev(Rule {
            when: &[attribute("removable", "1")],
            ..Rule::add("block", &[attribute("events_poll_msecs", "0")])
        })],
        cost: "Media are noticed when used.",
        confidence: Confidence::High,
        sources: &["kernel 6.1, 6.12, 7.3 block/disk-events.c"],
        ..KNOB
    },
    Knob {
        id: "blk.md",
        title: "No array is being rebuilt or checked",
        severity: Weight::all(Medium),
        check: Check::Probe(md),
        why: "A resync or check reads every disk of the array end to end, computes parity and takes the memory bus \
            with it.",
        fix: Fix::command("echo idle > /sys/block/mdN/md/sync_action"),
        cost: "Until an array is rebuilt, it does not protect against the loss of another disk.",
        blast: Blast::Breaking,
        confidence: Confidence::High,
        sources: &["kernel admin-guide/md.rst: sync_action", "mdstat"],
        ..KNOB
    },
    Knob {
        id: "fs.discard",
        title: "Blocks of deleted files are not discarded at once",
        check: Check::Probe(|case| {
            no_mount(case, |_, options| options.iter().any(|option| option == "discard" || option == "discard=sync"))
        }),
        why: "With the option discard every deletion sends commands that some disks take milliseconds to answer.",
        fix: Fix::command("mount -o remount,nodiscard PLACE"),
        persist: &[Lasting::other("Remove discard from the options in /etc/fstab")],
        undo: Fix::command("mount -o remount,discard PLACE"),
        cost: "Needs fstrim from time to time.",
        blast: Blast::Disturbing,
        confidence: Confidence::Medium,
        sources: &["ext4(5): discard", "kernel 6.12 fs/ext4/super.c, fs/btrfs/super.c, fs/xfs/xfs_super.c"],
        ..KNOB
    },
    Knob {
        id: "fs.commit",
        title: "File systems do not commit more often than by default",
        check: Check::Probe(|case| {
            no_mount(case, |_, options| {
                let seconds = options.iter().find_map(|option| option.strip_prefix("commit=")?.parse::<u32>().ok());
                let at_once = ["sync", "dirsync", "data=journal"];
                seconds.is_some_and(|seconds| seconds < 5)
                    || options.iter().any(|option| at_once.contains(&option.as_str()))
            })
        }),
        why: "A commit interval below five seconds, or writing everything at once (sync, dirsync, data=journal), makes \
            the disk write in more and smaller bursts.",
        fix: Fix::prose("mount -o remount,commit=30 PLACE; or without sync, dirsync"),
        persist: &[Lasting::other("The same in the options in /etc/fstab")],
        undo: Fix::prose("mount -o remount with the options that were there."),
        cost: "More data is lost in a power cut.",
        blast: Blast::Disturbing,
        sources: &[
            "ext4(5): commit",
            "kernel 6.12 fs/ext4/super.c, fs/btrfs/super.c: shown where not the default",
            "unverified: the effect on a real-time thread",
        ],
        ..KNOB
    },
    Knob {
        id: "fs.atime",
        title: "Reading a file does not write its access time",
        check: Check::Probe(|case| {
            no_mount(case, |kind, options| {
                let has = |word: &str| options.iter().any(|option| option == word);
                has("rw") && !has("noatime") && !has("relatime") && !["vfat", "exfat", "ntfs3"].contains(&kind)
            })
        }),
        why: "With strict access times, every read of a file causes a write.",
        fix: Fix::command("mount -o remount,noatime PLACE"),
        persist: &[Lasting::other("noatime in the options in /etc/fstab")],
        undo: Fix::command("mount -o remount,strictatime PLACE"),
        cost: "Access times are stale.",
        confidence: Confidence::Medium,
        sources: &["mount(8): noatime, relatime"],
        ..KNOB
    },
    Knob {
        id: "dev.sound",
        title: "No sound devices",
        applies: |case| case.not_for(Kind::Audio, "audio work needs sound"),
        check: Check::NoDevice { class: "sound", start: "card" },
        why: "Sound devices interrupt at every period, and their codecs are powered up and down.",
        fix: Fix::prose("rmmod the drivers (snd_hda_intel ...), when nothing uses them."),
        persist: &[Lasting::NoModule("snd_hda_intel"), Lasting::NoModule("snd_usb_audio")],
        cost: "Sound.",
        blast: Blast::Breaking,
        sources: &["elisa-tech#222: unused modules", "unverified: the effect on a given machine"],
        ..KNOB
    },
    Knob {
        id: "dev.bluetooth",
        title: "No Bluetooth",
        check: Check::NoDevice { class: "bluetooth", start: "hci" },
        why: "Bluetooth adapters scan at any time, and interrupt a CPU over USB when they do.",
        fix: Fix::command("rfkill block bluetooth; rmmod btusb"),
        persist: &[Lasting::NoModule("btusb"), Lasting::NoModule("bluetooth")],
        cost: "Bluetooth.",
        blast: Blast::Breaking,
        sources: &["elisa-tech#222: unused modules", "unverified: the effect on a given machine"],
        ..KNOB
    },
    Knob {
        id: "dev.camera",
        title: "No cameras",
        check: Check::NoDevice { class: "video4linux", start: "video" },
        why: "A camera in use sends every frame over USB into memory; a camera that is not in use still wakes the bus.",
        persist: &[Lasting::NoModule("uvcvideo")],
        cost: "Cameras.",
        blast: Blast::Breaking,
        sources: &["elisa-tech#222: unused modules", "unverified: the effect on a given machine"],
        ..KNOB
    },
    Knob {
        id: "dev.evbug",
        title: "Input events are not logged",
        check: Check::NoModule("evbug"),
        why: "The module evbug prints every input event to the kernel log.",
        cost: "None.",
        confidence: Confidence::Medium,
        sources: &["kernel drivers/input/evbug.c"],
        ..KNOB
    },
    Knob {
        id: "dev.rng",
        title: "The kernel thread hwrng stays off the real-time CPUs",
        check: Check::Probe(rng),
        why: "The kernel thread hwrng reads the random number generator all the time. Some generators answer slowly \
            over a bus that other devices need; a TPM takes milliseconds.",
        fix: Fix::prose(
            "taskset -pc <H> PID-OF-hwrng; from 6.12 on also: echo none > /sys/class/misc/hw_random/rng_current (6.1 \
            refuses it: blacklist the driver there).",
        ),
        persist: &[Lasting::word("rng_core.default_quality=0")],
        undo: Fix::prose("Set the former CPUs with taskset; write back to rng_current the name that was there."),
        cost: "Fewer random numbers early after boot.",
        confidence: Confidence::Medium,
        sources: &["kernel 6.1, 6.12, 7.3 drivers/char/hw_random/core.c", "unverified: the cost on a given machine"],
        ..KNOB
    },
];

const BLOCKS: &str = "/sys/block";

fn has_no_moving_parts(case: &Case<'_>, disk: &str) -> bool {
    case.peek(&format!("{disk}/queue/rotational")) == Fact::Known("0".to_owned())
}

/// Good if the kernel polls no drive. It polls only for events that a drive cannot announce itself.
fn poll(case: &Case<'_>) -> Judged {
    let parameter = "/sys/module/block/parameters/events_dfl_poll_msecs";
    let usual_ms = case.number(parameter, TellsNothing("how often the kernel polls drives by default is not shown"))?;
    let (mut seen, mut polled) = (0, Vec::new());
    for disk in case.names(BLOCKS, CannotBe("there are no disks"))? {
        let unseen = TellsNothing("whether the kernel polls a disk is not shown");
        let read = |file: &str| {
            let path = format!("{BLOCKS}/{disk}/{file}");
            case.content(&path, unseen)
        };
        let Fact::Known(events) = case.peek(&format!("{BLOCKS}/{disk}/events")) else { continue };
        seen += 1;
        if events.trim().is_empty() {
            continue;
        }
        let told = read("events_async")?;
        let must_ask = events.split_whitespace().any(|event| !told.split_whitespace().any(|other| other == event));
        let Ok(own_ms) = read("events_poll_msecs")?.parse::<i64>() else {
            return Doubt::unknown(format!("{BLOCKS}/{disk}/events_poll_msecs is no number"));
        };
        if own_ms > 0 || own_ms < 0 && usual_ms != 0 && must_ask {
            polled.push(format!("{disk}: {events}"));
        }
    }
    Doubt::not_applicable_if(seen == 0, "no disk here has this setting")?;
    case.none_found(format!("{BLOCKS}/*/events"), polled.join("; "), format!("set as wanted on all {seen} devices"))
}

fn md(case: &Case<'_>) -> Judged {
    let path = "/proc/mdstat";
    let table = case.content(path, CannotBe("there are no arrays (md)"))?;
    Doubt::unknown_if(!table.starts_with("Personalities"), format!("{path} has an unexpected format"))?;
    let busy = |line: &&str| {
        ["resync =", "recovery =", "check =", "reshape =", "repair ="].iter().any(|word| line.contains(word))
    };
    match table.lines().find(busy) {
        Some(line) => case.note(path, line.trim()),
        None => case.note(path, "no array is busy"),
    }
    Ok(table.lines().find(busy).is_none())
}

/// The mounted file systems of disks: folder, type and options.
fn mounts(case: &Case<'_>) -> Result<Vec<(String, String, Vec<String>)>, Doubt> {
    let path = "/proc/mounts";
    let table = case.content(path, TellsNothing("what is mounted is not shown"))?;
    let mount = |line: &str| {
        let mut parts = line.split(' ');
        let (device, place, kind, options) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let options = options.split(',').map(str::to_owned).collect();
        device.starts_with("/dev/").then(|| (place.to_owned(), kind.to_owned(), options))
    };
    let found: Vec<_> = table.lines().filter_map(mount).collect();
    if found.is_empty() { Doubt::not_applicable("no file system on a disk is mounted here") } else { Ok(found) }
}

/// Good if `is_bad` holds for no mounted file system, given its type and its options.
fn no_mount(case: &Case<'_>, is_bad: impl Fn(&str, &[String]) -> bool) -> Judged {
    let mounts = mounts(case)?;
    let bad: Vec<&str> =
        mounts.iter().filter(|(_, kind, options)| is_bad(kind, options)).map(|(place, ..)| place.as_str()).collect();
    case.none_found("/proc/mounts", bad.join(", "), format!("none of {} mounted file systems", mounts.len()))
}

fn rng(case: &Case<'_>) -> Judged {
    let threads = case.tasks(|task| task.is_kernel && task.name == "hwrng")?;
    let keeps_off = |cpus: &CpuSet| !case.rt().is_empty() && cpus.intersection(case.rt()).is_empty();
    let is_elsewhere = !threads.is_empty() && threads.iter().all(|task| task.cpus.as_ref().is_some_and(keeps_off));
    let places = threads.iter().map(|task| match &task.cpus {
        Some(cpus) => format!("runs on CPUs {cpus}"),
        None => "runs; on which CPUs is not known".to_owned(),
    });
    let places: Vec<String> = places.collect();
    case.note("kernel thread hwrng", if places.is_empty() { "none".to_owned() } else { places.join("; ") });
    if !threads.is_empty() && !is_elsewhere {
        let path = "/sys/class/misc/hw_random/rng_current";
        case.cite(path, &case.peek(path));
    }
    Ok(threads.is_empty() || is_elsewhere)
}
