// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The part of the flight recorder in the kernel: writes what happens on the measured CPUs into rings, which user space
// maps and reads. A record only repeats what a tracepoint reported.

#include "rings.h"

// Largest number of measured CPUs that are checked when an interrupt is sent to a set of CPUs.
#define TOLD 16

// The loader sets the following values.
// The first measured CPUs; unused entries hold CPUS.
const volatile u32 measured[TOLD] = {};
// The lane of all CPUs that are not measured, for what they do to measured ones.
const volatile u32 elsewhere = 0;

// Kinds are numbered as in a recording.
enum {
	SWITCH, WAKING, IRQ_ENTRY, IRQ_EXIT, SOFTIRQ_ENTRY, SOFTIRQ_EXIT, SOFTIRQ_RAISE, VECTOR_ENTRY, VECTOR_EXIT,
	HRTIMER_START, HRTIMER_ENTRY, HRTIMER_EXIT, TIMER_ENTRY, TIMER_EXIT, NMI, WORK_START, WORK_END, CALL_ENTRY,
	CALL_EXIT, IPI_SEND, IDLE, FAULT, FREQUENCY, MIGRATE, STACK = 27,
};
enum { LOCAL_TIMER, RESCHEDULE, CALL_FUNCTION, CALL_FUNCTION_SINGLE, IRQ_WORK, THERMAL, MACHINE_CHECK, PLATFORM, ERROR, IPI };

// Other threads cause very many timers and faults, which delay no measuring thread.
inlined int is_ours(struct lane *lane)
{
	return !lane->thread || lane->thread == (u32)get_current_pid_tgid();
}

#define FRAMES 30
#define FRAMES_OF_A_RECORD 5
// Frames from the tracepoint to this program, which are left out.
#define SKIPPED 2
// Shortest time in ns between two stacks. Taking a stack costs time (tens of microseconds were seen), so it is done
// seldom, and only if the activation is already late.
#define APART 100000000

// Writes the functions of the kernel that this CPU is in.
inlined void write_stack(void *context, struct lane *lane, u32 number, u64 flags)
{
	u64 frames[FRAMES] = {};
	u64 now = ktime_get_ns();
	long bytes;
	if (now - lane->stack < APART)
		return;
	lane->stack = now;
	bytes = get_stack(context, frames, sizeof(frames), SKIPPED);
	if (bytes <= 0)
		return;
#pragma unroll
	for (u64 part = 0; part < FRAMES / FRAMES_OF_A_RECORD; part++) {
		struct pen pen;
		struct record *record;
		if (!frames[part * FRAMES_OF_A_RECORD])
			return;
		record = begin(&pen, lane, number, STACK | part << 16, flags);
		if (!record)
			return;
#pragma unroll
		for (int i = 0; i < FRAMES_OF_A_RECORD; i++)
			record->word[i] = frames[part * FRAMES_OF_A_RECORD + i];
		end(&pen);
	}
}

SEC("tp_btf/sched_switch")
int sched_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	u32 number;
	struct lane *lane = here(&number);
	struct pen pen;
	struct record *record;
	u32 state;
	if (!lane)
		return 0;
	// No interrupt is active during a switch, so a wrong nesting depth is corrected here.
	lane->hardirq = lane->softirq = 0;
	state = ctx[0] ? 0 : state_of(prev);
	if (next->pid == lane->thread && lane->woken) {
		if (ktime_get_ns() - lane->woken > lane->stack_over)
			write_stack(ctx, lane, number, IRQS_OFF);
		lane->woken = 0;
	}
	record = begin(&pen, lane, number, SWITCH, IRQS_OFF);
	if (!record)
		return 0;
	record->word[0] = (u32)next->pid | short_prio(prev) << 32 | short_prio(next) << 40 | (u64)state << 48;
	probe_read_kernel(&record->word[1], 16, prev->comm);
	probe_read_kernel(&record->word[3], 16, next->comm);
	end(&pen);
	return 0;
}

SEC("tp_btf/sched_waking")
int sched_waking(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u32 number = lane_number(), target = cpu_of(task);
	struct lane *lane;
	struct pen pen;
	struct record *record;
	if (number == NOT_MEASURED) {
		if (lane_of_cpu(target) == NOT_MEASURED)
			return 0;
		number = elsewhere;
	}
	lane = lane_at(number);
	if (!lane)
		return 0;
	record = begin(&pen, lane, number, WAKING, IRQS_OFF);
	if (!record)
		return 0;
	if (task->pid == lane->thread)
		lane->woken = record->at;
	record->word[0] = (u32)task->pid | (u64)(u32)task->prio << 32;
	record->word[1] = target;
	probe_read_kernel(&record->word[2], 16, task->comm);
	end(&pen);
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int sched_migrate_task(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	return write(MIGRATE, 0, (u32)task->pid, cpu_of(task), (u32)ctx[1]);
}

SEC("tp_btf/irq_handler_entry")
int irq_handler_entry(u64 *ctx)
{
	struct irqaction *action = (void *)ctx[1];
	u32 number;
	struct lane *lane = here(&number);
	struct pen pen;
	struct record *record;
	if (!lane)
		return 0;
	lane->hardirq++;
	record = begin(&pen, lane, number, IRQ_ENTRY, 0);
	if (!record)
		return 0;
	record->word[0] = (u32)ctx[0];
	probe_read_kernel_str(&record->word[1], 32, action->name);
	end(&pen);
	return 0;
}

inlined int leave_hardirq(u64 kind, u64 what)
{
	u32 number;
	struct lane *lane = here(&number);
	if (!lane)
		return 0;
	write_in(lane, number, kind, 0, what, 0, 0);
	if (lane->hardirq)
		lane->hardirq--;
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int irq_handler_exit(u64 *ctx)
{
	return leave_hardirq(IRQ_EXIT, (u32)ctx[0]);
}

SEC("tp_btf/softirq_entry")
int softirq_entry(u64 *ctx)
{
	u32 number;
	struct lane *lane = here(&number);
	if (!lane)
		return 0;
	lane->softirq = 1;
	return write_in(lane, number, SOFTIRQ_ENTRY, 0, (u32)ctx[0], 0, 0);
}

SEC("tp_btf/softirq_exit")
int softirq_exit(u64 *ctx)
{
	u32 number;
	struct lane *lane = here(&number);
	if (!lane)
		return 0;
	write_in(lane, number, SOFTIRQ_EXIT, 0, (u32)ctx[0], 0, 0);
	lane->softirq = 0;
	return 0;
}

SEC("tp_btf/softirq_raise")
int softirq_raise(u64 *ctx)
{
	return write(SOFTIRQ_RAISE, IRQS_OFF, (u32)ctx[0], 0, 0);
}

inlined int enter_vector(u64 vector)
{
	u32 number;
	struct lane *lane = here(&number);
	if (!lane)
		return 0;
	lane->hardirq++;
	return write_in(lane, number, VECTOR_ENTRY, 0, vector, 0, 0);
}

#define VECTOR(name, vector)                                                                                           \
	SEC("tp_btf/" #name "_entry")                                                                                  \
	int name##_entry(u64 *ctx)                                                                                     \
	{                                                                                                              \
		return enter_vector(vector);                                                                           \
	}                                                                                                              \
	SEC("tp_btf/" #name "_exit")                                                                                   \
	int name##_exit(u64 *ctx)                                                                                      \
	{                                                                                                              \
		return leave_hardirq(VECTOR_EXIT, vector);                                                             \
	}

VECTOR(local_timer, LOCAL_TIMER)
VECTOR(reschedule, RESCHEDULE)
VECTOR(call_function, CALL_FUNCTION)
VECTOR(call_function_single, CALL_FUNCTION_SINGLE)
VECTOR(irq_work, IRQ_WORK)
VECTOR(thermal_apic, THERMAL)
VECTOR(threshold_apic, MACHINE_CHECK)
VECTOR(deferred_error_apic, MACHINE_CHECK)
VECTOR(x86_platform_ipi, PLATFORM)
VECTOR(error_apic, ERROR)
VECTOR(spurious_apic, ERROR)
VECTOR(ipi, IPI)

SEC("tp_btf/hrtimer_start")
int hrtimer_start(u64 *ctx)
{
	struct hrtimer *timer = (void *)ctx[0];
	u32 number;
	struct lane *lane = here(&number);
	if (!lane || !is_ours(lane))
		return 0;
	lane->timer = (u64)timer;
	return write_in(lane, number, HRTIMER_START, IRQS_OFF, (u64)timer, (u64)timer->function, expires_of(timer));
}

SEC("tp_btf/hrtimer_expire_entry")
int hrtimer_expire_entry(u64 *ctx)
{
	struct hrtimer *timer = (void *)ctx[0];
	u32 number;
	struct lane *lane = here(&number);
	s64 late;
	if (!lane)
		return 0;
	late = ktime_get_ns() - expires_of(timer);
	write_in(lane, number, HRTIMER_ENTRY, 0, (u64)timer, (u64)timer->function, 0);
	if (lane->thread && lane->timer == (u64)timer && late > 0 && late > lane->stack_over)
		write_stack(ctx, lane, number, 0);
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int hrtimer_expire_exit(u64 *ctx)
{
	return write(HRTIMER_EXIT, 0, ctx[0], 0, 0);
}

SEC("tp_btf/timer_expire_entry")
int timer_expire_entry(u64 *ctx)
{
	struct timer_list *timer = (void *)ctx[0];
	return write(TIMER_ENTRY, 0, (u64)timer, (u64)timer->function, 0);
}

SEC("tp_btf/timer_expire_exit")
int timer_expire_exit(u64 *ctx)
{
	return write(TIMER_EXIT, 0, ctx[0], 0, 0);
}

SEC("tp_btf/nmi_handler")
int nmi_handler(u64 *ctx)
{
	return write(NMI, IN_NMI | IRQS_OFF, ctx[0], ctx[1], 0);
}

SEC("tp_btf/workqueue_execute_start")
int workqueue_execute_start(u64 *ctx)
{
	struct work_struct *work = (void *)ctx[0];
	return write(WORK_START, 0, (u64)work->func, 0, 0);
}

SEC("tp_btf/workqueue_execute_end")
int workqueue_execute_end(u64 *ctx)
{
	return write(WORK_END, 0, 0, 0, 0);
}

// A tp_btf program cannot read this argument, because the verifier does not know pointers to functions.
SEC("raw_tp/csd_function_entry")
int csd_function_entry(u64 *ctx)
{
	return write(CALL_ENTRY, IRQS_OFF, ctx[0], 0, 0);
}

SEC("tp_btf/csd_function_exit")
int csd_function_exit(u64 *ctx)
{
	return write(CALL_EXIT, IRQS_OFF, 0, 0, 0);
}

// Records that this CPU sends an interrupt to `target`, if that CPU is measured.
inlined int send(u32 target, u64 callsite, u64 callback)
{
	u32 number = lane_number();
	struct lane *lane;
	if (lane_of_cpu(target) == NOT_MEASURED)
		return 0;
	lane = lane_at(number == NOT_MEASURED ? elsewhere : number);
	return lane ? write_in(lane, number == NOT_MEASURED ? elsewhere : number, IPI_SEND, 0, target, callsite, callback) : 0;
}

inlined int send_to_all(struct cpumask *mask, u64 callsite, u64 callback)
{
#pragma clang loop unroll(disable)
	for (int i = 0; i < TOLD; i++) {
		u32 cpu = measured[i];
		unsigned long bits = 0;
		if (cpu >= CPUS)
			break;
		probe_read_kernel(&bits, sizeof(bits), (unsigned long *)mask + cpu / 64);
		if (bits >> (cpu % 64) & 1)
			send(cpu, callsite, callback);
	}
	return 0;
}

SEC("raw_tp/csd_queue_cpu")
int csd_queue_cpu(u64 *ctx)
{
	return send(ctx[0], ctx[1], ctx[2]);
}

SEC("tp_btf/ipi_send_cpu")
int ipi_send_cpu(u64 *ctx)
{
	return send(ctx[0], ctx[1], ctx[2]);
}

SEC("tp_btf/ipi_send_cpumask")
int ipi_send_cpumask(u64 *ctx)
{
	return send_to_all((void *)ctx[0], ctx[1], ctx[2]);
}

SEC("tp_btf/ipi_raise")
int ipi_raise(u64 *ctx)
{
	return send_to_all((void *)ctx[0], 0, 0);
}

SEC("tp_btf/cpu_idle")
int cpu_idle(u64 *ctx)
{
	return write(IDLE, 0, (u32)ctx[0], 0, 0);
}

SEC("tp_btf/cpu_frequency")
int cpu_frequency(u64 *ctx)
{
	return write(FREQUENCY, 0, (u32)ctx[0], (u32)ctx[1], 0);
}

inlined int fault(u64 *ctx, u64 user)
{
	struct pt_regs *regs = (void *)ctx[1];
	u32 number;
	struct lane *lane = here(&number);
	if (!lane || !is_ours(lane))
		return 0;
	return write_in(lane, number, FAULT, 0, ctx[0], has(regs->ip) ? regs->ip : 0, user);
}

SEC("tp_btf/page_fault_user")
int page_fault_user(u64 *ctx)
{
	return fault(ctx, 1);
}

SEC("tp_btf/page_fault_kernel")
int page_fault_kernel(u64 *ctx)
{
	return fault(ctx, 0);
}
