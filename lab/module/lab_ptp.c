// SPDX-License-Identifier: GPL-2.0
/*
 * A PTP device without a network card. Its clock runs beside CLOCK_MONOTONIC, faster by `ppb` and by what clock_adjtime()
 * asks for, so that what follows such a clock can be tried where no emulated card has one that advances.
 *
 * For guests of the lab only.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/ptp_clock_kernel.h>
#include <linux/spinlock.h>

static int ppb = 20000;
module_param(ppb, int, 0444);
MODULE_PARM_DESC(ppb, "how much faster the clock's crystal is than the computer's, in billionths");
static unsigned int ahead_ns = 300000;
module_param(ahead_ns, uint, 0444);
MODULE_PARM_DESC(ahead_ns, "how far the clock is ahead of CLOCK_MONOTONIC when the module is loaded");

/* After this time the clock is written down anew, long before the product of time and rate would overflow. */
#define STRETCH (100 * NSEC_PER_SEC)

static DEFINE_SPINLOCK(lock);
/* What the clock showed at `since`, an instant of CLOCK_MONOTONIC. */
static u64 shown;
static u64 since;
/* The rate that was asked for, in millionths with 16 binary places. */
static long asked;
static struct ptp_clock *device;

static u64 shows(u64 at)
{
	s64 passed = at - since;
	s64 own = div_s64(passed * ppb, NSEC_PER_SEC);
	s64 more = div_s64(div_s64(passed * asked, 1000000), 65536);

	return shown + passed + own + more;
}

static void write_down(void)
{
	u64 now = ktime_get_ns();

	shown = shows(now);
	since = now;
}

static int lab_gettime(struct ptp_clock_info *info, struct timespec64 *time)
{
	unsigned long flags;
	u64 now, reading;

	spin_lock_irqsave(&lock, flags);
	now = ktime_get_ns();
	reading = shows(now);
	if (now - since > STRETCH)
		write_down();
	spin_unlock_irqrestore(&lock, flags);
	*time = ns_to_timespec64(reading);
	return 0;
}

static int lab_settime(struct ptp_clock_info *info, const struct timespec64 *time)
{
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	shown = timespec64_to_ns(time);
	since = ktime_get_ns();
	spin_unlock_irqrestore(&lock, flags);
	return 0;
}

static int lab_adjtime(struct ptp_clock_info *info, s64 by)
{
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	write_down();
	shown += by;
	spin_unlock_irqrestore(&lock, flags);
	return 0;
}

static int lab_adjfine(struct ptp_clock_info *info, long scaled_ppm)
{
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	write_down();
	asked = scaled_ppm;
	spin_unlock_irqrestore(&lock, flags);
	return 0;
}

static int lab_enable(struct ptp_clock_info *info, struct ptp_clock_request *request, int on)
{
	return -EOPNOTSUPP;
}

static struct ptp_clock_info lab_info = {
	.owner = THIS_MODULE,
	.name = "lab_ptp",
	.max_adj = 500000,
	.adjfine = lab_adjfine,
	.adjtime = lab_adjtime,
	.gettime64 = lab_gettime,
	.settime64 = lab_settime,
	.enable = lab_enable,
};

static int __init lab_ptp_init(void)
{
	since = ktime_get_ns();
	shown = since + ahead_ns;
	device = ptp_clock_register(&lab_info, NULL);
	if (!device)
		return -ENODEV;
	return PTR_ERR_OR_ZERO(device);
}

static void __exit lab_ptp_exit(void)
{
	ptp_clock_unregister(device);
}

module_init(lab_ptp_init);
module_exit(lab_ptp_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A PTP device without a network card");
