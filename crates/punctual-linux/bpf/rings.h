// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the BPF programs share: the parts of the kernel that they read, and the rings that they write. User space maps the
// rings and reads them in place. New records overwrite the oldest ones.
//
// Each program is compiled by build.rs with clang 12 or later. No header of the kernel is needed: the few structures are
// declared here, and the loader looks up the offsets of their members in this kernel.

#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define inlined static inline __attribute__((always_inline))
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name
#define has(member) __builtin_preserve_field_info(member, 2)

enum { MAP_ARRAY = 2, MAPPABLE = 1 << 10 };

static void *(*map_lookup)(void *map, const void *key) = (void *)1;
static u64 (*ktime_get_ns)(void) = (void *)5;
static u32 (*get_smp_processor_id)(void) = (void *)8;
static u64 (*get_current_pid_tgid)(void) = (void *)14;
static long (*get_stack)(void *context, void *to, u32 size, u64 flags) = (void *)67;
static long (*probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*probe_read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;

// Parts of the kernel's structures. The loader ignores the end of a name from `___` on.
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct thread_info {
	u32 cpu;
};
struct task_struct {
	struct thread_info thread_info;
	u32 __state;
	s32 pid;
	s32 prio;
	char comm[16];
};
struct task_struct___before_5_14 {
	long state;
};
struct task_struct___with_cpu {
	u32 cpu;
};
struct irqaction {
	const char *name;
};
struct timerqueue_node {
	s64 expires;
};
struct hrtimer {
	struct timerqueue_node node;
	void *function;
};
struct timerqueue_linked_node {
	s64 expires;
};
struct hrtimer___linked {
	struct timerqueue_linked_node node;
};
struct timer_list {
	void *function;
};
struct work_struct {
	void *func;
};
struct cpumask {
	unsigned long bits[1];
};
struct pt_regs {
	unsigned long ip;
};
#pragma clang attribute pop

#define CPUS 1024
#define NOT_MEASURED 0xffff

// The loader sets the following values.
// The lane of each CPU.
const volatile u16 lane_of[CPUS] = {};
// The binary logarithm of the number of records in a lane.
const volatile u32 shift = 10;

// A record fills one cache line.
struct record {
	u64 mark; // Number of the record in its lane, from 1; the CPU is in the upper 16 bits. Written last.
	u64 at;
	u64 who; // Kind, flags and part; the task is in the upper half.
	u64 word[5];
};

// A lane's header fills two cache lines. This program writes the first, user space the second.
struct lane {
	u64 head;    // Number of records begun so far.
	u64 hardirq; // Nesting depth of hard interrupts.
	u64 softirq;
	u64 timer; // The timer that the measuring thread armed last.
	u64 woken; // Time when the measuring thread was woken.
	u64 stack; // Time when the last stack was taken.
	u64 spare[2];
	u64 on;
	u64 thread;     // The measuring thread; 0: any thread.
	u64 stack_over; // Latency in ns above which a stack is taken.
	u64 also_spare[5];
};

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, MAPPABLE);
	__type(key, u32);
	__type(value, struct lane);
} lanes SEC(".maps");

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, MAPPABLE);
	__type(key, u32);
	__type(value, struct record);
} ring SEC(".maps");

enum { IRQS_OFF = 1, HARDIRQ = 8, IN_SOFTIRQ = 16, IN_NMI = 64 };


// A record that is being written, and the mark that completes it.
struct pen {
	struct lane *lane;
	struct record *record;
	u64 mark;
};

inlined u32 lane_of_cpu(u64 cpu)
{
	if (cpu >= CPUS)
		return NOT_MEASURED;
	// The verifier needs this limit. The compiler would drop an ordinary `&`, because it has no effect after the check.
	asm volatile("%0 &= 1023" : "+r"(cpu));
	return lane_of[cpu];
}

inlined u32 lane_number(void)
{
	return lane_of_cpu(get_smp_processor_id());
}

inlined struct lane *lane_at(u32 number)
{
	struct lane *lane = map_lookup(&lanes, &number);
	return lane && lane->on ? lane : 0;
}

// The lane of this CPU, if it is measured and recorded.
inlined struct lane *here(u32 *number)
{
	*number = lane_number();
	return *number == NOT_MEASURED ? 0 : lane_at(*number);
}

inlined struct record *begin(struct pen *pen, struct lane *lane, u32 number, u64 kind, u64 flags)
{
	u64 at = ktime_get_ns();
	u64 n = __sync_fetch_and_add(&lane->head, 1);
	u32 key = (number << shift) | (n & ((1ULL << shift) - 1));
	struct record *record = map_lookup(&ring, &key);
	if (!record)
		return 0;
	if (lane->hardirq)
		flags |= HARDIRQ | IRQS_OFF;
	if (lane->softirq)
		flags |= IN_SOFTIRQ;
	record->at = at;
	record->who = kind | flags << 8 | get_current_pid_tgid() << 32;
	pen->lane = lane;
	pen->record = record;
	pen->mark = (n + 1) | (u64)get_smp_processor_id() << 48;
	return record;
}

// The mark is written with a barrier, so that a reader that sees the mark also sees the whole record.
inlined void end(struct pen *pen)
{
	__sync_lock_test_and_set(&pen->record->mark, pen->mark);
}

inlined int write_in(struct lane *lane, u32 number, u64 kind, u64 flags, u64 a, u64 b, u64 c)
{
	struct pen pen;
	struct record *record = begin(&pen, lane, number, kind, flags);
	if (record) {
		record->word[0] = a;
		record->word[1] = b;
		record->word[2] = c;
		end(&pen);
	}
	return 0;
}

inlined int write(u64 kind, u64 flags, u64 a, u64 b, u64 c)
{
	u32 number;
	struct lane *lane = here(&number);
	return lane ? write_in(lane, number, kind, flags, a, b, c) : 0;
}

inlined u32 cpu_of(struct task_struct *task)
{
	struct task_struct___with_cpu *old = (void *)task;
	return has(old->cpu) ? old->cpu : task->thread_info.cpu;
}

// The sleeping state of a task that leaves the CPU; 0 if the task was pre-empted.
inlined u32 state_of(struct task_struct *task)
{
	struct task_struct___before_5_14 *old = (void *)task;
	u32 state = has(old->state) ? old->state : task->__state;
	return state ? (state & 0xff ?: 2) : 0;
}

// Priorities go from -1 to 140, so one more fits into a byte.
inlined u64 short_prio(struct task_struct *task)
{
	return (u8)(task->prio + 1);
}

inlined s64 expires_of(struct hrtimer *timer)
{
	struct hrtimer___linked *linked = (void *)timer;
	return has(linked->node.expires) ? linked->node.expires : timer->node.expires;
}

// Some functions of the kernel may be called only by programs under the GPL; the dual licence counts as such.
char LICENSE[] SEC("license") = "Dual MIT/GPL";
