// SPDX-License-Identifier: GPL-2.0
/*
 * Plants delays of known cause and length on one CPU, so that explanations of them can be compared with the truth.
 *
 * For guests of the lab only. A loaded module plants one kind, and stops after `count` sections or when it is unloaded.
 * The file `lab_plant` of debugfs has one line `kind name start_ns end_ns` (CLOCK_MONOTONIC) for each section;
 * `name` is the thread, function or vector that causes the delay.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/stop_machine.h>
#include <linux/timekeeping.h>
#include <linux/timer.h>
#include <linux/version.h>
#include <linux/workqueue.h>

#define LONGEST_US 10000U
#define MOST 4096U

static char *kind = "preemptoff";
module_param(kind, charp, 0444);
MODULE_PARM_DESC(kind, "preemptoff, irqoff, irq (a timer that expires in it), softirq (likewise), kworker, stopper or ipi");
static unsigned int cpu;
module_param(cpu, uint, 0444);
MODULE_PARM_DESC(cpu, "where");
static unsigned int length_us = 1000;
module_param(length_us, uint, 0444);
MODULE_PARM_DESC(length_us, "how long each section is");
static unsigned int every_us = 20000;
module_param(every_us, uint, 0444);
MODULE_PARM_DESC(every_us, "from the end of one section to about the beginning of the next");
static unsigned int count = 300;
module_param(count, uint, 0444);
MODULE_PARM_DESC(count, "how many sections");

struct section {
	u64 start;
	u64 end;
};

static struct section *sections;
static unsigned int written;
static struct task_struct *planter;
static struct dentry *log;
static char name[32];
static struct hrtimer lab_hrtimer;
static struct timer_list lab_timer;
static struct workqueue_struct *queue;
/* Set before a section is requested, and cleared by the section at its end. */
static atomic_t is_asked;

static bool is_kind(const char *wanted)
{
	return !strcmp(kind, wanted);
}

/* The section itself: burns time, and records when. */
static noinline void lab_plant_burn(void)
{
	unsigned int place = READ_ONCE(written);
	u64 start = ktime_get_ns();
	u64 end;

	/* No cpu_relax(), at which an emulator would run the other CPU. */
	do {
		end = ktime_get_ns();
	} while (end - start < (u64)length_us * NSEC_PER_USEC);
	if (place < MOST) {
		sections[place].start = start;
		sections[place].end = end;
		smp_store_release(&written, place + 1);
	}
	atomic_set(&is_asked, 0);
}

static noinline enum hrtimer_restart lab_plant_hrtimer(struct hrtimer *timer)
{
	lab_plant_burn();
	return HRTIMER_NORESTART;
}

static noinline void lab_plant_timer(struct timer_list *timer)
{
	lab_plant_burn();
}

/* A worker with a real-time priority, as administrators may set it: without it, it cannot delay a measuring thread. */
static noinline void lab_plant_work(struct work_struct *work)
{
	sched_set_fifo(current);
	lab_plant_burn();
	sched_set_normal(current, 0);
}

static DECLARE_WORK(lab_work, lab_plant_work);

static noinline int lab_plant_stop(void *nothing)
{
	if (smp_processor_id() == cpu)
		lab_plant_burn();
	return 0;
}

static noinline void lab_plant_call(void *nothing)
{
	lab_plant_burn();
}

static void lab_plant_nothing(void *nothing)
{
}

static void plant_here(void)
{
	unsigned long flags;

	if (is_kind("irqoff")) {
		local_irq_save(flags);
		lab_plant_burn();
		local_irq_restore(flags);
	} else {
		preempt_disable();
		lab_plant_burn();
		preempt_enable();
	}
}

/* Requests one section, which may begin a little later. */
static void ask(void)
{
	static struct cpumask one;

	atomic_set(&is_asked, 1);
	if (is_kind("irq")) {
		hrtimer_start(&lab_hrtimer, ns_to_ktime(200 * NSEC_PER_USEC), HRTIMER_MODE_REL_PINNED_HARD);
	} else if (is_kind("softirq")) {
		lab_timer.expires = jiffies + 1;
		add_timer_on(&lab_timer, cpu);
	} else if (is_kind("kworker")) {
		queue_work_on(cpu, queue, &lab_work);
	} else if (is_kind("stopper")) {
		cpumask_clear(&one);
		cpumask_set_cpu(cpu, &one);
		stop_machine(lab_plant_stop, NULL, &one);
	} else if (is_kind("ipi")) {
		smp_call_function_single(cpu, lab_plant_call, NULL, 0);
	} else {
		plant_here();
	}
}

static int plant(void *nothing)
{
	unsigned int asked;

	for (asked = 0; asked < min(count, MOST) && !kthread_should_stop(); asked++) {
		/* The gap varies by a third of its mean, so that sections do not keep step with the measurement. */
		unsigned int gap = every_us - every_us / 6 + (asked * 7919U) % (every_us / 3 + 1);

		usleep_range(gap, gap + 50);
		ask();
		while (atomic_read(&is_asked) && !kthread_should_stop())
			usleep_range(500, 1000);
	}
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

static int lab_plant_show(struct seq_file *file, void *nothing)
{
	unsigned int place, have = smp_load_acquire(&written);

	for (place = 0; place < have; place++)
		seq_printf(file, "%s %s %llu %llu\n", kind, name, sections[place].start, sections[place].end);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(lab_plant);

/* Sets the name of the thread or function that causes the delay, as it appears in traces. */
static void name_it(void)
{
	if (is_kind("irq"))
		snprintf(name, sizeof(name), "lab_plant_hrtimer");
	else if (is_kind("softirq"))
		snprintf(name, sizeof(name), "lab_plant_timer");
	else if (is_kind("kworker"))
		snprintf(name, sizeof(name), "lab_plant_work");
	else if (is_kind("stopper"))
		snprintf(name, sizeof(name), "migration/%u", cpu);
	else if (is_kind("ipi"))
		snprintf(name, sizeof(name), "lab_plant_call");
	else
		snprintf(name, sizeof(name), "lab-%s", kind);
}

/* Whether sections are requested from another CPU than the one on which they run. */
static bool plants_from_elsewhere(void)
{
	return is_kind("softirq") || is_kind("kworker") || is_kind("stopper") || is_kind("ipi");
}

static int __init lab_plant_init(void)
{
	static const char *const kinds[] = { "preemptoff", "irqoff",  "irq", "softirq",
					     "kworker",	   "stopper", "ipi" };

	if (match_string(kinds, ARRAY_SIZE(kinds), kind) < 0)
		return -EINVAL;
	if (cpu >= nr_cpu_ids || !cpu_online(cpu) || num_online_cpus() < 2 || !length_us || length_us > LONGEST_US || every_us < 2 * length_us)
		return -EINVAL;
	sections = kvcalloc(MOST, sizeof(*sections), GFP_KERNEL);
	if (!sections)
		return -ENOMEM;
	queue = alloc_workqueue("lab_plant", 0, 0);
	if (!queue)
		goto no_queue;
	name_it();
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&lab_hrtimer, lab_plant_hrtimer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
#else
	hrtimer_init(&lab_hrtimer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	lab_hrtimer.function = lab_plant_hrtimer;
#endif
	timer_setup(&lab_timer, lab_plant_timer, TIMER_PINNED);
	planter = kthread_create(plant, NULL, "lab-%s", kind);
	if (IS_ERR(planter))
		goto no_planter;
	if (plants_from_elsewhere())
		kthread_bind(planter, cpumask_any_but(cpu_online_mask, cpu));
	else
		kthread_bind(planter, cpu);
	log = debugfs_create_file("lab_plant", 0400, NULL, NULL, &lab_plant_fops);
	wake_up_process(planter);
	return 0;

no_planter:
	destroy_workqueue(queue);
no_queue:
	kvfree(sections);
	return -ENOMEM;
}

static void __exit lab_plant_exit(void)
{
	kthread_stop(planter);
	hrtimer_cancel(&lab_hrtimer);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	timer_delete_sync(&lab_timer);
#else
	del_timer_sync(&lab_timer);
#endif
	destroy_workqueue(queue);
	/* Calls are answered in order: when this one returns, the previous one has been answered too. */
	smp_call_function_single(cpu, lab_plant_nothing, NULL, 1);
	debugfs_remove(log);
	kvfree(sections);
}

module_init(lab_plant_init);
module_exit(lab_plant_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Plants delays of known cause and length (the lab of punctual)");
