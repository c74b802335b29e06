//! Knobs about memory that becomes slow to reach because pages are moved, merged, split or taken away while a thread
//! runs.

mod probes;

use crate::knobs::prelude::*;
pub(crate) use probes::meminfo;
use probes::{RESERVE_KB, nodes, swap_areas};

const KNOB: Knob = Knob::of(Family::Memory);

const NO_COMPACTION: Missing = CannotBe("this kernel does not compact memory");
const NO_HUGE: Missing = CannotBe("this kernel has no transparent huge pages (never with PREEMPT_RT)");
const HUGE_PAGES_OFF: Check =
    Check::seen("/sys/kernel/mm/transparent_hugepage/enabled", Want::Choice { good: &["never"], bad: &[] }, NO_HUGE);

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "mem.swap",
        title: "No swap",
        severity: Weight::all(Medium),
        check: Check::Probe(|case| Ok(swap_areas(case)?.is_empty())),
        why: "Memory that is not locked can be swapped out. Reading it back takes as long as the disk needs or, with \
            zram, as long as the CPU that needs the page takes to decompress it. Swapping also loads the disk and the \
            memory bus.",
        fix: Fix::prose("swapoff -a, if there is enough memory without swap; locked memory is never swapped."),
        persist: &[Lasting::other(
            "Remove the swap lines from /etc/fstab; for zram, remove zram-generator.conf or mask zramswap.service.",
        )],
        undo: Fix::command("swapon -a"),
        cost: "The machine runs out of memory sooner.",
        blast: Blast::Breaking,
        confidence: Confidence::Low,
        sources: &["mlockall(2)", "proc_swaps(5)", "unverified: usual advice"],
        ..KNOB
    },
    Knob {
        id: "mem.thp",
        title: "Transparent huge pages only where a program asks for them",
        severity: Weight::all(Medium),
        check: Check::file(
            "/sys/kernel/mm/transparent_hugepage/enabled",
            Want::Choice { good: &["madvise", "never"], bad: &["always"] },
            CannotBe("this kernel has no transparent huge pages (they cannot be built with PREEMPT_RT)"),
        ),
        why: "khugepaged merges the pages of a running program into huge pages, and moves other pages to make room for \
            them.",
        // This fix is not undone automatically: writing the file makes the kernel compute `vm.min_free_kbytes` again,
        // and the undo would not restore that value.
        fix: Fix::prose("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"),
        persist: &[Lasting::word("transparent_hugepage=madvise")],
        cost: "More TLB misses in programs that do not ask for huge pages.",
        sources: &["kernel admin-guide/mm/transhuge.rst", "kernel 6.1, 6.12, 7.3 mm/Kconfig"],
        ..KNOB
    },
    Knob {
        id: "mem.ksm",
        title: "No merging of equal pages",
        severity: Weight::all(Medium),
        check: Check::file(
            "/sys/kernel/mm/ksm/run",
            Want::Not { bad: 1, write: 0 },
            CannotBe("this kernel cannot merge pages"),
        ),
        why: "ksmd scans memory all the time, and the first write to a merged page faults.",
        cost: "More memory on hosts with many similar guests.",
        sources: &["kernel admin-guide/mm/ksm.rst"],
        ..KNOB
    },
    Knob {
        id: "mem.compact",
        title: "Memory not compacted unasked",
        severity: Weight::all(Medium).at_most(Info, probes::keeps_locked),
        // Kernels before 5.9 do not compact memory in advance.
        check: Check::All(&[
            Check::sysctl("vm.compact_unevictable_allowed", Want::ZERO, NO_COMPACTION),
            Check::sysctl("vm.compaction_proactiveness", Want::ZERO, NO_COMPACTION),
        ]),
        why: "Compaction moves pages, and a thread that touches a page while it is moved waits in a page fault. If \
            compact_unevictable_allowed is 1, locked pages are moved, too.",
        cost: "Fragmentation; huge pages get rarer.",
        sources: &["kernel admin-guide/sysctl/vm.rst", "kernel 7.3 mm/Kconfig"],
        ..KNOB
    },
    Knob {
        id: "sched.numa_balancing",
        title: "No automatic NUMA balancing",
        severity: Weight::all(Medium),
        check: Check::sysctl(
            "kernel.numa_balancing",
            Want::ZERO,
            CannotBe("this kernel has no NUMA balancing (it cannot be built with PREEMPT_RT)"),
        ),
        excused: |case| {
            let nodes = case.peek("/sys/devices/system/node/online");
            let is_one = nodes.known().is_some_and(|nodes| nodes == "0");
            Doubt::not_applicable_if(is_one, "there is one memory node")
        },
        why: "NUMA balancing unmaps pages to see which threads touch them, so that running threads fault, and then \
            moves the pages.",
        cost: "Programs must place their memory themselves.",
        sources: &["kernel admin-guide/sysctl/kernel.rst: numa_balancing", "kernel 6.1, 6.12, 7.3 init/Kconfig"],
        ..KNOB
    },
    Knob {
        id: "mem.overcommit",
        title: "Memory overcommit not forbidden",
        check: Check::sysctl(
            "vm.overcommit_memory",
            Want::Not { bad: 2, write: 0 },
            TellsNothing("the mode of memory overcommit is not shown"),
        ),
        why: "Some guides recommend mode 2 to avoid the out-of-memory killer, but before it helps, it breaks thread \
            stacks, locked future mappings and several run-time systems.",
        cost: "The out-of-memory killer stays possible.",
        blast: Blast::Disturbing,
        confidence: Confidence::Medium,
        sources: &["kernel mm/overcommit-accounting.rst", "proc_sys_vm(5)"],
        ..KNOB
    },
    Knob {
        id: "mem.stat_interval",
        title: "Memory statistics collected rarely",
        excused: probes::counts_isolated,
        check: Check::sysctl(
            "vm.stat_interval",
            Want::AtLeast(10),
            TellsNothing("the interval of the memory statistics is not shown"),
        ),
        why: "Every vm.stat_interval seconds, kernel work on each CPU adds the memory statistics of that CPU to those \
            of the machine.",
        cost: "Numbers in /proc/vmstat are updated less often.",
        sources: &["kernel 6.12, 7.3 mm/vmstat.c", "kernel admin-guide/kernel-per-CPU-kthreads.rst"],
        ..KNOB
    },
    Knob {
        id: "mem.lock",
        title: "The application locks and touches its memory before its loop",
        severity: Weight::all(High),
        applies: |case| {
            let has_no_mmu = case.lacks("MMU") && case.peek("/proc/swaps") == Fact::Absent;
            Doubt::not_applicable_if(has_no_mmu, "this kernel was built without an MMU, so there are no page faults")
        },
        check: Check::advice(
            "cannot be seen before the application runs: in /proc/PID/status VmLck should be near VmRSS, and \
                minflt and majflt of /proc/PID/stat should stand still in the loop",
        ),
        why: "Touching a page for the first time, or after the kernel took it away, causes a page fault: it takes \
            microseconds if memory is free, and as long as a disk access if it is not.",
        fix: Fix::prose(
            "Call mlockall(MCL_CURRENT | MCL_FUTURE) before the loop, and touch the stack and heap that the loop will \
            use.",
        ),
        persist: &[Lasting::unit("LimitMEMLOCK=infinity")],
        undo: Fix::prose("munlockall()"),
        cost: "Memory that no other program can use.",
        confidence: Confidence::Medium,
        sources: &["mlockall(2)", "kernel 7.3 admin-guide/cpu-isolation.rst"],
        ..KNOB
    },
    Knob {
        id: "mem.swappiness",
        title: "Anonymous memory is swapped last",
        applies: probes::swaps,
        check: Check::sysctl("vm.swappiness", Want::AtMost(10), TellsNothing("the value is not shown")),
        why: "With swap in use, a high value writes out the memory of programs long before the page cache is used \
            up. Judged bad: more than 10.",
        cost: "File caches shrink earlier.",
        confidence: Confidence::Medium,
        sources: &[
            "kernel admin-guide/sysctl/vm.rst: swappiness",
            "kernel 6.1, 6.12, 7.3 mm/vmscan.c: default 60",
            "unverified: the limit of 10",
        ],
        ..KNOB
    },
    Knob {
        id: "mem.zswap",
        title: "No compressed cache before swap",
        check: Check::parameter("zswap", "enabled", Want::NO, CannotBe("this kernel has no zswap")),
        excused: probes::swaps,
        why: "zswap compresses pages on the CPU that has to free memory, in the middle of that CPU's own memory \
            request.",
        persist: &[Lasting::word("zswap.enabled=0"), Lasting::write("/sys/module/zswap/parameters/enabled", "N")],
        cost: "More of the swap goes to the disk.",
        confidence: Confidence::Medium,
        sources: &["kernel admin-guide/mm/zswap.rst", "kernel 6.1, 6.12, 7.3 mm/zswap.c"],
        ..KNOB
    },
    Knob {
        id: "mem.thp_defrag",
        title: "Page faults do not compact memory",
        severity: Weight::all(Medium),
        check: Check::Any(&[
            HUGE_PAGES_OFF,
            Check::seen(
                "/sys/kernel/mm/transparent_hugepage/defrag",
                Want::Choice { good: &[], bad: &["always"] },
                NO_HUGE,
            ),
        ]),
        why: "With the value 'always', a page fault in any large mapping waits while the kernel moves other pages \
            until a huge page is free.",
        persist: &[Lasting::write("/sys/kernel/mm/transparent_hugepage/defrag", "madvise")],
        cost: "Huge pages get rarer.",
        sources: &[
            "kernel admin-guide/mm/transhuge.rst: defrag",
            "kernel 6.1, 6.12, 7.3 mm/Kconfig (never with PREEMPT_RT)",
        ],
        ..KNOB
    },
    Knob {
        id: "mem.khugepaged",
        title: "khugepaged does not compact memory",
        check: Check::Any(&[
            HUGE_PAGES_OFF,
            Check::seen("/sys/kernel/mm/transparent_hugepage/khugepaged/defrag", Want::ZERO, NO_HUGE),
        ]),
        why: "khugepaged makes room for huge pages by moving ordinary pages, and a thread that touches a page while it \
            is moved waits.",
        persist: &[Lasting::write("/sys/kernel/mm/transparent_hugepage/khugepaged/defrag", "0")],
        cost: "Huge pages get rarer.",
        sources: &["kernel admin-guide/mm/transhuge.rst: khugepaged"],
        ..KNOB
    },
    Knob {
        id: "mem.hugetlb",
        title: "Reserved huge pages are used",
        check: Check::Probe(probes::hugetlb),
        why: "Memory that is reserved for huge pages cannot be used for anything else. If the machine then runs short \
            of memory, it has to reclaim, which delays every thread that allocates.",
        fix: Fix::prose(
            "Map the reserved pages (MAP_HUGETLB, hugetlbfs), or give them back: echo 0 > \
            /sys/kernel/mm/hugepages/hugepages-*/nr_hugepages",
        ),
        persist: &[Lasting::NoWord("hugepages")],
        cost: "None while no program uses them.",
        blast: Blast::Disturbing,
        confidence: Confidence::Medium,
        sources: &["kernel admin-guide/mm/hugetlbpage.rst"],
        ..KNOB
    },
    Knob {
        id: "mem.ksm_advisor",
        title: "No advisor that makes KSM merge pages faster",
        check: Check::file(
            "/sys/kernel/mm/ksm/advisor_mode",
            Want::Choice { good: &["none"], bad: &[] },
            CannotBe("in this kernel, the merging of pages (KSM) has no advisor"),
        ),
        excused: |case| {
            let none = CannotBe("in this kernel, the merging of pages (KSM) has no advisor");
            let merges = case.number("/sys/kernel/mm/ksm/run", none)? == 1;
            Doubt::not_applicable_if(!merges, "pages are not merged")
        },
        why: "The advisor scan-time raises the number of pages that ksmd scans, up to a set share of a CPU's time.",
        cost: "Pages are merged later.",
        sources: &["kernel admin-guide/mm/ksm.rst: advisor_mode", "kernel 6.12, 7.3 mm/ksm.c"],
        ..KNOB
    },
    Knob {
        id: "mem.commit",
        title: "Memory can still be allocated below the commit limit",
        severity: Weight::all(Medium),
        check: Check::Probe(|case| {
            if case
                .number("/proc/sys/vm/overcommit_memory", TellsNothing("the mode of memory overcommit is not shown"))?
                != 2
            {
                return Doubt::not_applicable("the commit limit is in force in overcommit mode 2 only");
            }
            let (limit, used) = (meminfo(case, "CommitLimit")?, meminfo(case, "Committed_AS")?);
            Ok(limit.saturating_sub(used) >= limit / 10)
        }),
        why: "In overcommit mode 2 a request beyond the limit fails, even if it is for the stack of a new thread or \
            for memory that is locked in advance. Judged bad: less than a tenth of the limit free.",
        fix: Fix::prose("sysctl vm.overcommit_ratio=90, or vm.overcommit_memory=0"),
        persist: &[Lasting::sysctl("vm.overcommit_ratio", "90")],
        cost: "None.",
        sources: &["kernel mm/overcommit-accounting.rst", "proc_meminfo(5)"],
        ..KNOB
    },
    Knob {
        id: "mem.dirty",
        title: "Dirty memory is written back early",
        check: Check::Probe(probes::dirty),
        why: "Dirty memory that accumulates is written in bursts, which load the disk, the bus and the CPUs at the \
            same time. Judged bad: writing in the background starts at more than 256 MiB.",
        persist: &[Lasting::sysctl("vm.dirty_background_bytes", "67108864")],
        cost: "Throughput of large writes.",
        confidence: Confidence::Low,
        sources: &[
            "kernel admin-guide/sysctl/vm.rst: dirty_background_bytes",
            "unverified: the size at which a burst hurts",
        ],
        ..KNOB
    },
    Knob {
        id: "mem.watermark",
        title: "Free memory kept in reserve",
        check: Check::Probe(|case| {
            let unseen = TellsNothing("the lowest mark of free memory is not shown");
            let free_kb = u64::try_from(case.number("/proc/sys/vm/min_free_kbytes", unseen)?).unwrap_or(0);
            Ok(free_kb >= RESERVE_KB || free_kb >= meminfo(case, "MemTotal")? / 100)
        }),
        why: "When free memory falls below the lowest mark, a thread that allocates has to reclaim memory itself. \
            Judged bad: a mark below 64 MiB and below one hundredth of the memory.",
        fix: Fix::prose(
            "sysctl vm.min_free_kbytes=N, with N the smaller of 65536 and a hundredth of MemTotal (/proc/meminfo, in kB).",
        ),
        persist: &[Lasting::other(
            "/etc/sysctl.d: vm.min_free_kbytes = N, with N the smaller of 65536 and a hundredth of this machine's \
            MemTotal (in kB).",
        )],
        cost: "The reserved memory; a number too large for the machine makes it run out of memory at once.",
        blast: Blast::Breaking,
        confidence: Confidence::Low,
        sources: &["kernel admin-guide/sysctl/vm.rst: min_free_kbytes", "unverified: the size"],
        ..KNOB
    },
    Knob {
        id: "mem.oom",
        title: "The out-of-memory killer spares the application",
        applies: probes::oom,
        check: Check::advice(
            "cannot be seen before the application runs: /proc/PID/oom_score_adj should be below that of everything else, \
                -1000 keeps the killer away",
        ),
        why: "When memory runs out, the kernel kills the largest process, which is often the one that locked all of \
            its memory. A program inherits the score of the process that starts it.",
        fix: Fix::prose("echo -1000 > /proc/PID/oom_score_adj as root (with CAP_SYS_RESOURCE)."),
        persist: &[Lasting::unit("OOMScoreAdjust=-1000")],
        cost: "The kernel kills another process instead.",
        confidence: Confidence::Medium,
        sources: &["proc_pid_oom_score_adj(5)", "unverified: the value that suits a given system"],
        ..KNOB
    },
    Knob {
        id: "mem.panic_on_oom",
        title: "Running out of memory does not stop the machine",
        check: Check::sysctl("vm.panic_on_oom", Want::ZERO, TellsNothing("the setting of panic_on_oom is not shown")),
        why: "With panic_on_oom set, one program that asks for too much stops everything.",
        cost: "A process is killed instead.",
        sources: &["kernel admin-guide/sysctl/vm.rst: panic_on_oom"],
        ..KNOB
    },
    Knob {
        id: "mem.numa",
        title: "The real-time CPUs are of one memory node",
        severity: Weight::all(Medium),
        check: Check::Probe(probes::numa),
        why: "Access to the memory of another node is slower, and all programs share the links between nodes.",
        fix: Fix::prose(
            "Choose real-time CPUs of a single node, namely the one with the device that they serve, and bind memory \
            there (numactl --cpunodebind --membind).",
        ),
        persist: &[
            Lasting::unit("NUMAPolicy=bind"),
            Lasting::other("Name CPUs of one node only in isolcpus= or the cpuset."),
        ],
        cost: "Fewer usable CPUs.",
        confidence: Confidence::Medium,
        sources: &["numa(7)", "kernel ABI stable/sysfs-devices-node: cpulist"],
        ..KNOB
    },
    Knob {
        id: "mem.zone_reclaim",
        title: "A full memory node does not reclaim at once",
        check: Check::sysctl("vm.zone_reclaim_mode", Want::ZERO, CannotBe("this kernel knows one memory node")),
        why: "With zone_reclaim_mode set, an allocation on a full node frees pages there first, although another node \
            has free pages.",
        cost: "Some memory comes from another node.",
        sources: &["kernel admin-guide/sysctl/vm.rst: zone_reclaim_mode"],
        ..KNOB
    },
    Knob {
        id: "mem.memory_only",
        title: "No memory nodes without CPUs",
        check: Check::Probe(|case| Ok(nodes(case, "has_memory")?.is_subset(&nodes(case, "has_cpu")?))),
        why: "Memory without CPUs of its own (CXL, persistent, high-bandwidth) is slower or farther, and pages may \
            land there.",
        fix: Fix::prose("Bind real-time work to a node with CPUs: numactl --membind=NODE"),
        persist: &[Lasting::unit("NUMAPolicy=bind"), Lasting::unit("NUMAMask=0")],
        cost: "That memory is not used.",
        confidence: Confidence::Medium,
        sources: &["kernel 6.1, 6.12, 7.3 drivers/base/node.c: has_cpu, has_memory"],
        ..KNOB
    },
    Knob {
        id: "mem.demotion",
        title: "Pages are not moved to slower memory",
        applies: |case| nodes(case, "has_memory").map(drop),
        check: Check::file(
            "/sys/kernel/mm/numa/demotion_enabled",
            Want::Word { good: &["false"], bad: &["true"] },
            CannotBe("this kernel does not demote pages"),
        ),
        why: "Demotion moves pages that were not used recently to a slower tier of memory, and the pages of a thread \
            that sleeps between releases may be taken for such pages.",
        cost: "The fast memory fills up sooner.",
        sources: &["kernel ABI testing/sysfs-kernel-mm-numa", "kernel 6.1, 6.12, 7.3 mm/memory-tiers.c"],
        ..KNOB
    },
    Knob {
        id: "mem.balloon",
        title: "The host cannot take memory away",
        severity: Weight::all(Medium),
        check: Check::Probe(probes::balloon),
        why: "With a balloon, the host takes memory from a running guest, and the host has to fault in every page that \
            it gives back.",
        fix: Fix::prose(
            "rmmod virtio_balloon, if it is a module; on the host, define the guest without a balloon and lock its \
            memory.",
        ),
        persist: &[
            Lasting::NoModule("virtio_balloon"),
            Lasting::other("On the host: <memballoon model=\"none\"/> and <locked/> in the guest's definition."),
        ],
        cost: "Fewer guests fit on the host.",
        blast: Blast::Breaking,
        confidence: Confidence::Medium,
        sources: &["kernel 6.12 drivers/virtio/virtio_balloon.c", "unverified: names of other hypervisors' drivers"],
        ..KNOB
    },
    Knob {
        id: "mem.damon",
        title: "Memory use is not sampled",
        check: Check::Probe(probes::damon),
        why: "DAMON regularly clears the accessed marks of pages to see which of them are used, and may reclaim or \
            move pages accordingly.",
        fix: Fix::prose(
            "echo off > /sys/kernel/mm/damon/admin/kdamonds/NUMBER/state, for the one that is on; or echo N > \
            /sys/module/MODULE/parameters/enabled, for the damon_* module that is on.",
        ),
        persist: &[
            Lasting::word("damon_reclaim.enabled=N"),
            Lasting::word("damon_lru_sort.enabled=N"),
            Lasting::word("damon_stat.enabled=N"),
        ],
        undo: Fix::prose("Write 'on' and 'Y' back."),
        cost: "No proactive reclaim.",
        confidence: Confidence::Medium,
        sources: &[
            "kernel admin-guide/mm/damon/usage.rst",
            "kernel 7.3 mm/damon/{reclaim,lru_sort,stat}.c: enabled",
            "unverified: the effect on a real-time thread",
        ],
        ..KNOB
    },
];
