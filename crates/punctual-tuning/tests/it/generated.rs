//! Generates machines of any size, with files in the form in which a kernel prints them. The benchmark of the audit
//! uses the largest machine.

use punctual_facts::cpu_set::CpuSet;
use punctual_facts::fact::Fact;
use punctual_facts::tree::MemTree;
use std::fmt::Write as _;

/// The size of the machine to generate.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Number of possible CPUs.
    pub possible: u32,
    /// The CPUs that are online.
    pub online: CpuSet,
    /// The CPUs that `isolcpus=` names.
    pub isolated: CpuSet,
    /// The number of cores with two threads. The threads are CPU n and CPU n + `possible` / 2.
    pub smt_cores: u32,
    /// The number of memory nodes with CPUs.
    pub nodes: u32,
    /// The number of memory nodes without CPUs.
    pub memory_nodes: u32,
    pub interrupts: u32,
    /// The number of queues of the network device.
    pub queues: u32,
    /// The number of tasks; a third of them are kernel threads.
    pub tasks: u32,
    /// The release of the kernel, as `uname -r` prints it.
    pub release: String,
    pub is_rt: bool,
    pub is_arm: bool,
}

impl Shape {
    /// Two sockets with SMT: 256 CPUs, 3000 interrupt lines, 40 queues, 2000 tasks.
    pub fn large() -> Self {
        Self {
            possible: 256,
            online: (0..256).collect(),
            isolated: (64..128).chain(192..256).collect(),
            smt_cores: 128,
            nodes: 2,
            memory_nodes: 0,
            interrupts: 3000,
            queues: 40,
            tasks: 2000,
            release: "6.12.107+deb13-rt-amd64".to_owned(),
            is_rt: true,
            is_arm: false,
        }
    }

    fn siblings(&self, cpu: u32) -> CpuSet {
        let half = self.possible / 2;
        let core = if half > 0 { cpu % half } else { cpu };
        let pair = [core, core + half];
        let has_pair = half > 0 && core < self.smt_cores;
        let all = pair.into_iter().filter(|one| *one == cpu || (has_pair && self.online.contains(*one)));
        all.collect()
    }

    fn node_of(&self, cpu: u32) -> u32 {
        let half = (self.possible / 2).max(1);
        (cpu % half) * self.nodes.max(1) / half
    }

    pub fn machine(&self) -> MemTree {
        let mut made = Made { tree: MemTree::new(), shape: self };
        made.system();
        self.online.iter().for_each(|cpu| made.cpu(cpu));
        made.nodes();
        made.interrupts();
        made.network();
        made.tree
    }
}

struct Made<'a> {
    tree: MemTree,
    shape: &'a Shape,
}

impl Made<'_> {
    fn put(&mut self, path: &str, text: impl std::fmt::Display) {
        self.tree.file(path, Fact::Known(format!("{text}\n").into_bytes()));
    }

    fn system(&mut self) {
        let Shape { possible, online, isolated, release, is_rt, .. } = self.shape.clone();
        let all: CpuSet = (0..possible).collect();
        let rest = online.difference(&isolated);
        let cpus = "/sys/devices/system/cpu";
        for (name, set) in [("possible", &all), ("present", &all), ("online", &online), ("isolated", &isolated)] {
            self.put(&format!("{cpus}/{name}"), set);
        }
        self.put(&format!("{cpus}/offline"), all.difference(&online));
        self.put(&format!("{cpus}/nohz_full"), &isolated);
        let smt = self.shape.online.iter().any(|cpu| self.shape.siblings(cpu).len() > 1);
        self.put(&format!("{cpus}/smt/active"), u8::from(smt));
        self.put(&format!("{cpus}/smt/control"), if smt { "on" } else { "notsupported" });
        self.put(&format!("{cpus}/cpuidle/current_driver"), "intel_idle");
        self.put("/proc/sys/kernel/osrelease", release);
        let flavour = if is_rt { "PREEMPT_RT" } else { "PREEMPT_DYNAMIC" };
        self.put("/proc/sys/kernel/version", format!("#1 SMP {flavour} Debian 6.12.107-1"));
        self.put(
            "/proc/cmdline",
            format!("root=/dev/sda1 ro isolcpus=managed_irq,domain,{isolated} nohz_full={isolated} irqaffinity={rest}"),
        );
        for (path, value) in [
            ("/proc/sys/kernel/sched_rt_runtime_us", "950000"),
            ("/proc/sys/kernel/nmi_watchdog", "1"),
            ("/proc/sys/kernel/soft_watchdog", "1"),
            ("/proc/sys/vm/stat_interval", "1"),
            ("/proc/sys/vm/swappiness", "60"),
            ("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never"),
            ("/sys/kernel/mm/ksm/run", "0"),
            ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc"),
            ("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm"),
            ("/proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority"),
        ] {
            self.put(path, value);
        }
        for name in ["cpumask", "cpumask_isolated", "cpumask_requested"] {
            self.put(&format!("/sys/devices/virtual/workqueue/{name}"), online.mask());
        }
        self.put("/proc/sys/kernel/watchdog_cpumask", &online);
        self.put("/proc/irq/default_smp_affinity", online.mask());
        self.cpuinfo();
        self.tasks();
    }

    fn cpuinfo(&mut self) {
        let mut text = String::new();
        for cpu in self.shape.online.iter() {
            if self.shape.is_arm {
                let _ = write!(text, "processor\t: {cpu}\nFeatures\t: fp asimd aes\nCPU implementer\t: 0x41\n\n");
            } else {
                let flags = "fpu tsc constant_tsc nonstop_tsc lm ".repeat(40);
                let _ = write!(text, "processor\t: {cpu}\nmodel name\t: Made Up\nflags\t\t: {flags}\n\n");
            }
        }
        self.put("/proc/cpuinfo", text.trim_end());
    }

    fn cpu(&mut self, cpu: u32) {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}");
        let siblings = self.shape.siblings(cpu);
        let node: CpuSet =
            self.shape.online.iter().filter(|other| self.shape.node_of(*other) == self.shape.node_of(cpu)).collect();
        for (name, set) in
            [("thread_siblings_list", &siblings), ("core_cpus_list", &siblings), ("package_cpus_list", &node)]
        {
            self.put(&format!("{path}/topology/{name}"), set);
        }
        for (index, level, kind, set) in [
            (0, 1, "Data", &siblings),
            (1, 1, "Instruction", &siblings),
            (2, 2, "Unified", &siblings),
            (3, 3, "Unified", &node),
        ] {
            let cache = format!("{path}/cache/index{index}");
            self.put(&format!("{cache}/level"), level);
            self.put(&format!("{cache}/type"), kind);
            self.put(&format!("{cache}/shared_cpu_list"), set);
        }
        for (state, (name, latency)) in [("POLL", 0), ("C1", 2), ("C1E", 10), ("C6", 170)].into_iter().enumerate() {
            let idle = format!("{path}/cpuidle/state{state}");
            self.put(&format!("{idle}/name"), name);
            self.put(&format!("{idle}/latency"), latency);
            for (file, value) in [("disable", 0), ("usage", 12345), ("time", 67890), ("residency", latency * 3)] {
                self.put(&format!("{idle}/{file}"), value);
            }
        }
        self.put(&format!("{path}/power/pm_qos_resume_latency_us"), 0);
        for (file, value) in [
            ("scaling_governor", "powersave"),
            ("scaling_driver", "intel_pstate"),
            ("scaling_min_freq", "800000"),
            ("scaling_max_freq", "3800000"),
            ("cpuinfo_min_freq", "800000"),
            ("cpuinfo_max_freq", "3800000"),
            ("energy_performance_preference", "balance_performance"),
        ] {
            self.put(&format!("{path}/cpufreq/{file}"), value);
        }
    }

    fn nodes(&mut self) {
        for node in 0..self.shape.nodes + self.shape.memory_nodes {
            let cpus: CpuSet = self
                .shape
                .online
                .iter()
                .filter(|cpu| node < self.shape.nodes && self.shape.node_of(*cpu) == node)
                .collect();
            self.put(&format!("/sys/devices/system/node/node{node}/cpulist"), cpus);
            self.put(&format!("/sys/devices/system/node/node{node}/meminfo"), format!("Node {node} MemTotal: 1024 kB"));
        }
    }

    fn interrupts(&mut self) {
        let cpus: Vec<u32> = self.shape.online.iter().collect();
        let mut table = String::new();
        for cpu in &cpus {
            let _ = write!(table, "{:>11}", format!("CPU{cpu}"));
        }
        table.push('\n');
        for line in 0..self.shape.interrupts {
            let Some(cpu) = cpus.get(line as usize % cpus.len().max(1)) else { break };
            let one: CpuSet = [*cpu].into_iter().collect();
            let path = format!("/proc/irq/{line}");
            self.put(&format!("{path}/smp_affinity_list"), &self.shape.online);
            self.put(&format!("{path}/smp_affinity"), self.shape.online.mask());
            self.put(&format!("{path}/effective_affinity_list"), &one);
            self.put(&format!("{path}/effective_affinity"), one.mask());
            self.put(&format!("{path}/node"), self.shape.node_of(*cpu));
            self.put(&format!("{path}/spurious"), "count 1\nunhandled 0\nlast_unhandled 0 ms");
            self.tree.folder(&format!("{path}/nvme{}q{}", line / 128, line % 128), Fact::Known(()));
            let _ = write!(table, "{line:>4}:");
            for column in &cpus {
                let _ = write!(table, "{:>11}", if column == cpu { line * 7 } else { 0 });
            }
            let _ = writeln!(table, "  IR-PCI-MSIX-0000:81:00.0 {line}-edge      nvme{}q{}", line / 128, line % 128);
        }
        self.put("/proc/interrupts", table.trim_end());
        self.put("punctual:/later/proc/interrupts", table.trim_end());
    }

    fn network(&mut self) {
        let path = "/sys/class/net/eth0";
        self.put(&format!("{path}/address"), "52:54:00:01:02:03");
        for queue in 0..self.shape.queues {
            self.put(&format!("{path}/queues/rx-{queue}/rps_cpus"), CpuSet::new().mask());
            self.put(&format!("{path}/queues/tx-{queue}/xps_cpus"), self.shape.online.mask());
        }
    }

    fn tasks(&mut self) {
        let cpus: Vec<u32> = self.shape.online.iter().collect();
        let mut text = String::new();
        for task in 0..self.shape.tasks {
            let cpu = cpus.get(task as usize % cpus.len().max(1)).copied().unwrap_or(0);
            let _ = match task % 3 {
                0 => writeln!(text, "2129984 {cpu} 0 0 kworker/{cpu}:{task}-events"),
                1 => writeln!(text, "2129984 {cpu} 50 1 irq/{task}-nvme0q{task}"),
                _ => writeln!(text, "4194304 {cpu} 0 0 worker-{task}"),
            };
        }
        self.put("punctual:/tasks", text.trim_end());
    }
}
