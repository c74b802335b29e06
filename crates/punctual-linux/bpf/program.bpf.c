// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the threads of one program do: their system calls, timers, page faults and signals, and when they run. The kernel
// looks up each thread in a set of bits, so that other programs leave no records. Threads and processes that the program
// starts join the set before they run, and leave it when they end.

#include "rings.h"

// Kinds are numbered as in program/decode.rs.
enum { ENTER, EXIT, ARMED, FAULT, SWITCH, WAKING, SIGNAL, BEGUN, RENAMED };

// The kernel gives out no larger thread numbers than this (PID_MAX_LIMIT).
#define THREADS (4 << 20)

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, THREADS / 64);
	__uint(map_flags, MAPPABLE);
	__type(key, u32);
	__type(value, u64);
} followed SEC(".maps");

// The registers in which a system call gets its number and its first two arguments.
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pt_regs___x86_64 {
	unsigned long di, si, orig_ax;
};
struct pt_regs___arm64 {
	u64 regs[2], orig_x0, pc;
	s32 syscallno;
};
struct pt_regs___riscv {
	unsigned long orig_a0, a1, a7, epc;
};
struct hrtimer___soft {
	s64 _softexpires;
};
#pragma clang attribute pop

inlined u64 *bits_of(u32 tid)
{
	u32 key = tid / 64;
	return map_lookup(&followed, &key);
}

inlined int is_followed(u32 tid)
{
	u64 *bits = bits_of(tid);
	return bits && *bits >> (tid % 64) & 1;
}

inlined u32 current(void)
{
	return get_current_pid_tgid();
}

inlined int write_if_ours(u64 kind, u64 a, u64 b, u64 c)
{
	return is_followed(current()) ? write(kind, 0, a, b, c) : 0;
}

SEC("tp_btf/sys_enter")
int sys_enter(u64 *ctx)
{
	struct pt_regs___x86_64 *x86 = (void *)ctx[0];
	struct pt_regs___arm64 *arm = (void *)ctx[0];
	struct pt_regs___riscv *riscv = (void *)ctx[0];
	u64 first = 0, second = 0;
	if (!is_followed(current()))
		return 0;
	if (has(x86->di)) {
		first = x86->di;
		second = x86->si;
	} else if (has(arm->orig_x0)) {
		first = arm->orig_x0;
		second = arm->regs[1];
	} else if (has(riscv->orig_a0)) {
		first = riscv->orig_a0;
		second = riscv->a1;
	}
	return write(ENTER, 0, (u32)ctx[1], first, second);
}

SEC("tp_btf/sys_exit")
int sys_exit(u64 *ctx)
{
	struct pt_regs___x86_64 *x86 = (void *)ctx[0];
	struct pt_regs___arm64 *arm = (void *)ctx[0];
	struct pt_regs___riscv *riscv = (void *)ctx[0];
	u32 number = 0;
	if (!is_followed(current()))
		return 0;
	if (has(x86->orig_ax))
		number = x86->orig_ax;
	else if (has(arm->syscallno))
		number = arm->syscallno;
	else if (has(riscv->a7))
		number = riscv->a7;
	return write(EXIT, 0, number, ctx[1], 0);
}

SEC("tp_btf/hrtimer_start")
int hrtimer_start(u64 *ctx)
{
	struct hrtimer___soft *timer = (void *)ctx[0];
	return write_if_ours(ARMED, timer->_softexpires, 0, 0);
}

SEC("tp_btf/page_fault_user")
int page_fault_user(u64 *ctx)
{
	struct pt_regs *regs = (void *)ctx[1];
	struct pt_regs___arm64 *arm = (void *)ctx[1];
	struct pt_regs___riscv *riscv = (void *)ctx[1];
	u64 ip = has(regs->ip) ? regs->ip : has(arm->pc) ? arm->pc : has(riscv->epc) ? riscv->epc : 0;
	return write_if_ours(FAULT, ip, 0, 0);
}

SEC("tp_btf/sched_switch")
int sched_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	u64 state = ctx[0] ? 0 : state_of(prev);
	u32 number;
	struct lane *lane = here(&number);
	if (!lane)
		return 0;
	// No interrupt is active during a switch, so a wrong nesting depth is corrected here.
	lane->hardirq = lane->softirq = 0;
	if (!is_followed(prev->pid) && !is_followed(next->pid))
		return 0;
	return write_in(lane, number, SWITCH, IRQS_OFF, (u32)next->pid | state << 32, (u32)next->prio, (u32)prev->pid);
}

SEC("tp_btf/sched_waking")
int sched_waking(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	return is_followed(task->pid) ? write(WAKING, IRQS_OFF, (u32)task->pid, 0, 0) : 0;
}

SEC("tp_btf/signal_deliver")
int signal_deliver(u64 *ctx)
{
	return write_if_ours(SIGNAL, 0, 0, 0);
}

SEC("tp_btf/task_newtask")
int task_newtask(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct lane *lane;
	struct pen pen;
	struct record *record;
	u32 number, tid = task->pid;
	u64 *bits;
	if (!is_followed(current()))
		return 0;
	bits = bits_of(tid);
	if (bits)
		__sync_fetch_and_or(bits, 1ULL << (tid % 64));
	lane = here(&number);
	record = lane ? begin(&pen, lane, number, BEGUN, 0) : 0;
	if (!record)
		return 0;
	record->word[0] = tid;
	record->word[1] = ctx[1];
	probe_read_kernel(&record->word[2], 16, task->comm);
	end(&pen);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int sched_process_exit(u64 *ctx)
{
	u32 tid = current();
	u64 *bits = is_followed(tid) ? bits_of(tid) : 0;
	if (bits)
		__sync_fetch_and_and(bits, ~(1ULL << (tid % 64)));
	return 0;
}

// A thread that starts another program gets the number of its process's first thread, which has ended by then.
SEC("tp_btf/sched_process_exec")
int sched_process_exec(u64 *ctx)
{
	u32 before = (u32)ctx[1], tid = current();
	u64 *bits = before != tid && is_followed(before) ? bits_of(tid) : 0;
	if (!bits)
		return 0;
	__sync_fetch_and_or(bits, 1ULL << (tid % 64));
	bits = bits_of(before);
	if (bits)
		__sync_fetch_and_and(bits, ~(1ULL << (before % 64)));
	return 0;
}

SEC("tp_btf/task_rename")
int task_rename(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u32 number;
	struct lane *lane;
	struct pen pen;
	struct record *record;
	if (!is_followed(task->pid))
		return 0;
	lane = here(&number);
	record = lane ? begin(&pen, lane, number, RENAMED, 0) : 0;
	if (!record)
		return 0;
	record->word[0] = (u32)task->pid;
	probe_read_kernel_str(&record->word[1], 16, (void *)ctx[1]);
	end(&pen);
	return 0;
}

// The following keep count of the interrupts that the CPU is in, so that a record says whether an interrupt or a thread
// caused it.
#define DEPTH(name, change)                                                                                            \
	SEC("tp_btf/" #name)                                                                                           \
	int name(u64 *ctx)                                                                                             \
	{                                                                                                              \
		u32 number;                                                                                            \
		struct lane *lane = here(&number);                                                                     \
		if (lane)                                                                                              \
			change;                                                                                        \
		return 0;                                                                                              \
	}
#define INTERRUPT(enters, leaves)                                                                                      \
	DEPTH(enters, lane->hardirq++)                                                                                 \
	DEPTH(leaves, lane->hardirq -= !!lane->hardirq)

INTERRUPT(irq_handler_entry, irq_handler_exit)
INTERRUPT(local_timer_entry, local_timer_exit)
INTERRUPT(reschedule_entry, reschedule_exit)
INTERRUPT(call_function_entry, call_function_exit)
INTERRUPT(call_function_single_entry, call_function_single_exit)
INTERRUPT(irq_work_entry, irq_work_exit)
INTERRUPT(ipi_entry, ipi_exit)
DEPTH(softirq_entry, lane->softirq = 1)
DEPTH(softirq_exit, lane->softirq = 0)
