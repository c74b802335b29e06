/* Misuses every part of the library. Each misuse must be refused with a number that says what was wrong. */
#include <punctual_rt.h>

#include "expect.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static const uint32_t absent_cpu = 8000;

static prt_config usual(void)
{
    prt_config config;

    EXPECT(prt_config_init(&config, sizeof config), 0);
    config.period_ns = 1000000;
    config.phase = PRT_PHASE_OFFSET;
    return config;
}

static int never(prt_cycle *cycle, void *user)
{
    (void)cycle, (void)user;
    return 1;
}

/* Asserts that every function that takes a configuration refuses this one. */
static void refused(prt_config config, int expected)
{
    prt_task *task = NULL;
    prt_cyclic *cyclic = NULL;
    prt_group *group;

    EXPECT(prt_task_spawn(&config, never, NULL, &task), expected);
    EXPECT_TRUE(task == NULL);
    EXPECT_TRUE(strlen(prt_last_error()) > 10);
    EXPECT(prt_cyclic_open(&config, &cyclic), expected);
    EXPECT_TRUE(cyclic == NULL);
    EXPECT(prt_group_open(&group), 0);
    EXPECT(prt_group_add(group, &config, never, NULL), expected);
    EXPECT(prt_group_close(group), 0);
}

#define REFUSED(change, expected)                                                                                      \
    do {                                                                                                               \
        prt_config config = usual();                                                                                   \
        change;                                                                                                        \
        refused(config, expected);                                                                                     \
    } while (0)

static void configurations(void)
{
    REFUSED(config.period_ns = 0, PRT_E_PERIOD);
    REFUSED(config.period_ns = -1, -ERANGE);
    REFUSED((config.policy = PRT_POLICY_FIFO, config.priority = 0), PRT_E_PRIORITY);
    REFUSED((config.policy = PRT_POLICY_FIFO, config.priority = 96), PRT_E_PRIORITY);
    REFUSED((config.policy = PRT_POLICY_FIFO, config.priority = 100), PRT_E_PRIORITY);
    REFUSED((config.policy = PRT_POLICY_RR, config.priority = 4000000000u), PRT_E_PRIORITY);
    REFUSED((config.policy = PRT_POLICY_DEADLINE, config.reserved_runtime_ns = 9), PRT_E_RESERVATION);
    REFUSED((config.cpus = &absent_cpu, config.cpu_count = 1), -EINVAL);
    REFUSED(config.cpu_count = 1, -EFAULT);
    REFUSED((config.cpus = &absent_cpu, config.cpu_count = 100000), -E2BIG);
    REFUSED(config.margin_ns = 1000000, PRT_E_MARGIN);
    REFUSED(config.margin_ns = 2000000, PRT_E_MARGIN);
    REFUSED(config.margin_ns = -5, -ERANGE);
    REFUSED(config.steer_max_ns = 1000000, PRT_E_STEER);
    REFUSED(config.tolerance_ns = -5, -ERANGE);
    REFUSED(config.deadline_ns = -5, -ERANGE);
    REFUSED(config.budget_ns = -5, -ERANGE);
    REFUSED(config.execution_ns = -5, -ERANGE);
    REFUSED(config.phase_offset_ns = -5, -ERANGE);
    REFUSED(config.phase = 77, PRT_E_CHOICE);
    REFUSED((config.phase = PRT_PHASE_ALIGNED, config.phase_clock = 77), PRT_E_CHOICE);
    REFUSED(config.policy = 77, PRT_E_CHOICE);
    REFUSED(config.wait = 77, PRT_E_CHOICE);
    REFUSED(config.overrun = 77, PRT_E_CHOICE);
    REFUSED(config.memory = 77, PRT_E_CHOICE);
    REFUSED(config.require = 77, PRT_E_CHOICE);
    REFUSED(config.backend = 77, PRT_E_CHOICE);
    REFUSED(config.in_band = 77, PRT_E_CHOICE);
    REFUSED(config.backend = PRT_BACKEND_EVL, -EINVAL); /* ordinary policy cannot run out-of-band */
    REFUSED(config.latency_qos = 77, PRT_E_CHOICE);
    REFUSED(config.confirm_interference = 77, PRT_E_CHOICE);
    REFUSED(config.flight_cycles = 1000, -EINVAL);
    REFUSED((config.latency_qos = PRT_LATENCY_GLOBAL, config.latency_us = -3), -EINVAL);
    REFUSED(config.period_ns = 999, PRT_E_PERIOD);
    REFUSED((config.wait = PRT_WAIT_EXTERNAL, config.external_fd = 0, config.external_patience_ns = 0), -EINVAL);
    REFUSED((config.wait = PRT_WAIT_EXTERNAL, config.external_fd = 0, config.external_patience_ns = -1), -ERANGE);
    REFUSED(config.wait = PRT_WAIT_EXTERNAL, -EBADF);
    REFUSED((config.wait = PRT_WAIT_EXTERNAL, config.external_signal = (prt_signal *)(uintptr_t)0x1234), PRT_E_HANDLE);
    REFUSED((config.memory = PRT_MEMORY_LOCK, config.heap_bytes = UINT64_MAX), -ENOMEM);
    REFUSED(config.name = "a name that is longer than the thirty-two bytes", PRT_E_TEXT);
    REFUSED(config.name = "\xff\xfe", PRT_E_TEXT);
    REFUSED(config.name = "", PRT_E_TEXT);
    REFUSED(config.name = "a\nb", PRT_E_TEXT);
    /* Structures that are none. */
    REFUSED(config.version = 2, -EINVAL);
    REFUSED(config.version = 0, -EINVAL);
    REFUSED(config.size = 0, -EINVAL);
    REFUSED(config.size = 7, -EINVAL);
    REFUSED(config.size = 12, -EINVAL);
    REFUSED(config.size = 5000, -E2BIG);
    REFUSED(config.size = 8, PRT_E_PERIOD); /* the size is accepted, but the period is missing */
}

static void ages(void)
{
    struct {
        prt_config known;
        int64_t unknown[2];
    } newer;
    prt_cyclic *cyclic;
    prt_config older = usual();

    memset(&newer, 0, sizeof newer);
    EXPECT(prt_config_init(&newer.known, sizeof newer), 0);
    newer.known.period_ns = 1000000;
    EXPECT(newer.known.size, sizeof newer);
    EXPECT(prt_cyclic_open(&newer.known, &cyclic), 0);
    EXPECT(prt_cyclic_close(cyclic), 0);
    newer.unknown[1] = 1;
    EXPECT(prt_cyclic_open(&newer.known, &cyclic), -E2BIG);

    older.size = offsetof(prt_config, phase); /* as if built with a header without later members */
    older.policy = 77;
    EXPECT(prt_cyclic_open(&older, &cyclic), 0);
    EXPECT(prt_cyclic_close(cyclic), 0);
}

static void nothing(void)
{
    static const prt_config *const no_configs[1] = {NULL};
    prt_config config = usual();
    prt_wake wake;
    prt_task *task;
    prt_cyclic *cyclic;
    prt_findings *findings;
    prt_spsc_sender *sender;
    prt_spsc_receiver *receiver;
    prt_latest_writer *writer;
    prt_latest_reader *reader;
    prt_servo_config servo;
    prt_stats stats;
    int64_t ns;
    int byte = 0;

    EXPECT(prt_config_init(NULL, sizeof config), -EFAULT);
    EXPECT(prt_config_init(&config, 0), -EINVAL);
    EXPECT(prt_config_init(&config, (size_t)-1), -E2BIG);
    EXPECT(prt_wake_init(NULL, sizeof wake), -EFAULT);
    EXPECT(prt_stats_init(NULL, sizeof stats), -EFAULT);
    EXPECT(prt_finding_init(NULL, 8), -EFAULT);
    EXPECT(prt_servo_config_init(NULL, 8), -EFAULT);
    EXPECT(prt_servo_state_init(NULL, 8), -EFAULT);
    config = usual();
    EXPECT(prt_config_check(NULL, &findings), -EFAULT);
    EXPECT(prt_config_check(&config, NULL), -EFAULT);
    EXPECT(prt_group_check(NULL, 1, &findings), -EFAULT);
    EXPECT(prt_group_check(no_configs, 1, &findings), -EFAULT);
    EXPECT(prt_group_check(no_configs, 1 << 20, &findings), -E2BIG);
    EXPECT(prt_findings_get(NULL, 0, NULL), -EFAULT);
    EXPECT(prt_findings_close(NULL), -EFAULT);
    EXPECT(prt_task_spawn(NULL, never, NULL, &task), -EFAULT);
    EXPECT(prt_task_spawn(&config, NULL, NULL, &task), -EFAULT);
    EXPECT(prt_task_spawn(&config, never, NULL, NULL), -EFAULT);
    EXPECT(prt_task_stop(NULL), -EFAULT);
    EXPECT(prt_task_join(NULL), -EFAULT);
    EXPECT(prt_task_stats(NULL, &stats), -EFAULT);
    EXPECT(prt_task_report(NULL, NULL, 0), -EFAULT);
    EXPECT(prt_task_grants(NULL, NULL, 0), -EFAULT);
    EXPECT(prt_task_close(NULL), -EFAULT);
    EXPECT(prt_cycle_wake(NULL, NULL), -EFAULT);
    EXPECT(prt_cycle_steer(NULL, 0, NULL), -EFAULT);
    EXPECT(prt_cycle_set_period(NULL, 1), -EFAULT);
    EXPECT(prt_cycle_shift_phase(NULL, 1), -EFAULT);
    EXPECT(prt_cycle_next_release(NULL, &ns), -EFAULT);
    EXPECT(prt_group_open(NULL), -EFAULT);
    EXPECT(prt_group_add(NULL, &config, never, NULL), -EFAULT);
    EXPECT(prt_group_start(NULL, NULL, 0), -EFAULT);
    EXPECT(prt_group_close(NULL), -EFAULT);
    EXPECT(prt_cyclic_open(NULL, &cyclic), -EFAULT);
    EXPECT(prt_cyclic_open(&config, NULL), -EFAULT);
    EXPECT(prt_cyclic_wait(NULL, NULL), -EFAULT);
    EXPECT(prt_cyclic_finish(NULL), -EFAULT);
    EXPECT(prt_cyclic_steer(NULL, 0, NULL), -EFAULT);
    EXPECT(prt_cyclic_set_period(NULL, 1), -EFAULT);
    EXPECT(prt_cyclic_shift_phase(NULL, 1), -EFAULT);
    EXPECT(prt_cyclic_resync(NULL, NULL), -EFAULT);
    EXPECT(prt_cyclic_exists(NULL), -EFAULT);
    EXPECT(prt_cyclic_next_release(NULL, NULL), -EFAULT);
    EXPECT(prt_cyclic_stop(NULL), -EFAULT);
    EXPECT(prt_cyclic_stats(NULL, NULL), -EFAULT);
    EXPECT(prt_cyclic_report(NULL, NULL, 0), -EFAULT);
    EXPECT(prt_cyclic_grants(NULL, NULL, 0), -EFAULT);
    EXPECT(prt_cyclic_close(NULL), -EFAULT);
    EXPECT(prt_servo_open(NULL, NULL), -EFAULT);
    EXPECT(prt_servo_config_init(&servo, sizeof servo), 0);
    servo.period_ns = 1000000;
    EXPECT(prt_servo_open(&servo, NULL), -EFAULT);
    EXPECT(prt_servo_sample(NULL, 0, 0, 0, &ns), -EFAULT);
    EXPECT(prt_servo_sample32(NULL, 0, 0, 0, &ns), -EFAULT);
    EXPECT(prt_servo_coast(NULL, &ns), -EFAULT);
    EXPECT(ns, 0); /* the call was refused, so there is no move */
    EXPECT(prt_servo_set_target(NULL, 0), -EFAULT);
    EXPECT(prt_servo_set_period(NULL, 1), -EFAULT);
    EXPECT(prt_servo_get_state(NULL, NULL), -EFAULT);
    EXPECT(prt_servo_close(NULL), -EFAULT);
    EXPECT(prt_stats_open((uint32_t)getpid(), NULL, NULL), -EFAULT);
    EXPECT(prt_stats_snapshot(NULL, &stats), -EFAULT);
    EXPECT(prt_stats_report(NULL, NULL, 0), -EFAULT);
    EXPECT(prt_stats_close(NULL), -EFAULT);
    EXPECT(prt_spsc_open(8, 8, NULL, &receiver), -EFAULT);
    EXPECT(prt_spsc_open(8, 8, &sender, NULL), -EFAULT);
    EXPECT(prt_spsc_push(NULL, &byte), -EFAULT);
    EXPECT(prt_spsc_pop(NULL, &byte), -EFAULT);
    EXPECT(prt_spsc_waiting(NULL, NULL), -EFAULT);
    EXPECT(prt_spsc_refused(NULL, NULL), -EFAULT);
    EXPECT(prt_spsc_sender_close(NULL), -EFAULT);
    EXPECT(prt_spsc_receiver_close(NULL), -EFAULT);
    EXPECT(prt_latest_open(4, NULL, &writer, &reader), -EFAULT);
    EXPECT(prt_latest_open(4, &byte, NULL, &reader), -EFAULT);
    EXPECT(prt_latest_open(4, &byte, &writer, NULL), -EFAULT);
    EXPECT(prt_latest_write(NULL, &byte), -EFAULT);
    EXPECT(prt_latest_read(NULL, &byte), -EFAULT);
    EXPECT(prt_latest_writer_close(NULL), -EFAULT);
    EXPECT(prt_latest_reader_close(NULL), -EFAULT);
    EXPECT(prt_semaphore_open(NULL, PRT_BACKEND_LINUX, 0), -EFAULT);
    EXPECT(prt_semaphore_post(NULL), -EFAULT);
    EXPECT(prt_semaphore_wait(NULL), -EFAULT);
    EXPECT(prt_semaphore_wait_until(NULL, 0), -EFAULT);
    EXPECT(prt_semaphore_try_wait(NULL), -EFAULT);
    EXPECT(prt_semaphore_close(NULL), -EFAULT);
    EXPECT(prt_pi_mutex_open_on(NULL, PRT_BACKEND_LINUX), -EFAULT);
    EXPECT(prt_core_thread_open(NULL, PRT_BACKEND_AUTO, 0), -EFAULT);
    EXPECT(prt_core_thread_close(NULL), -EFAULT);
    prt_semaphore *no_semaphore;
    EXPECT(prt_semaphore_open(&no_semaphore, 99, 0), PRT_E_CHOICE);
    prt_pi_mutex *no_mutex;
    EXPECT(prt_pi_mutex_open_on(&no_mutex, 99), PRT_E_CHOICE);
    prt_core_thread *no_thread;
    EXPECT(prt_core_thread_open(&no_thread, PRT_BACKEND_EVL, 96), PRT_E_PRIORITY);
    EXPECT(prt_core_thread_open(&no_thread, PRT_BACKEND_EVL, 1000), PRT_E_PRIORITY);
    EXPECT(prt_core_thread_open(&no_thread, PRT_BACKEND_LINUX, 1), -EINVAL);
    EXPECT(prt_signal_open(NULL), -EFAULT);
    EXPECT(prt_signal_post(NULL), -EFAULT);
    EXPECT(prt_signal_wait(NULL), -EFAULT);
    EXPECT(prt_signal_wait_until(NULL, 0), -EFAULT);
    EXPECT(prt_signal_try_wait(NULL), -EFAULT);
    EXPECT(prt_signal_close(NULL), -EFAULT);
    EXPECT(prt_log_open(NULL, NULL, 0, NULL), -EFAULT);
    EXPECT(prt_log_writer_open(NULL, NULL, 0, NULL), -EFAULT);
    EXPECT(prt_log_writer_open(NULL, "x", 1, NULL), -EFAULT);
    EXPECT(prt_log_writer_of_this_thread(NULL), -EFAULT);
    EXPECT(prt_log_text_open(NULL, NULL), -EFAULT);
    EXPECT(prt_log_text_open("x", NULL), -EFAULT);
    EXPECT(prt_log_message(NULL, NULL, 0, 0, 0, 0), -EFAULT);
    EXPECT(prt_log_begin(NULL, NULL), -EFAULT);
    EXPECT(prt_log_end(NULL, NULL), -EFAULT);
    EXPECT(prt_log_counter(NULL, NULL, 0), -EFAULT);
    EXPECT(prt_log_lost(NULL, NULL), -EFAULT);
    EXPECT(prt_log_writer_close(NULL), -EFAULT);
    EXPECT(prt_log_close(NULL, NULL, NULL), -EFAULT);
}

/* Numbers that look like handles, but are not. */
static void garbage(void)
{
    static const uintptr_t numbers[] = {1, 8, 0x1234, (uintptr_t)-1, (uintptr_t)1 << 63, 0x0300000001000000};
    int on_stack = 0;

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        void *handle = (void *)numbers[i];

        EXPECT(prt_task_stop((prt_task *)handle), PRT_E_HANDLE);
        EXPECT(prt_task_join((prt_task *)handle), PRT_E_HANDLE);
        EXPECT(prt_cyclic_wait((prt_cyclic *)handle, NULL), PRT_E_HANDLE);
        EXPECT(prt_cyclic_close((prt_cyclic *)handle), PRT_E_HANDLE);
        EXPECT(prt_signal_post((prt_signal *)handle), PRT_E_HANDLE);
        EXPECT(prt_spsc_push((prt_spsc_sender *)handle, &on_stack), PRT_E_HANDLE);
        EXPECT(prt_log_close((prt_log *)handle, NULL, NULL), PRT_E_HANDLE);
    }
    EXPECT(prt_task_close((prt_task *)(void *)&on_stack), PRT_E_HANDLE);
}

static void *use_elsewhere(void *handle)
{
    prt_cyclic *cyclic = (prt_cyclic *)handle;
    int64_t ns;

    EXPECT(prt_cyclic_wait(cyclic, NULL), PRT_E_THREAD);
    EXPECT(prt_cyclic_finish(cyclic), PRT_E_THREAD);
    EXPECT(prt_cyclic_steer(cyclic, 1, NULL), PRT_E_THREAD);
    EXPECT(prt_cyclic_set_period(cyclic, 1000), PRT_E_THREAD);
    EXPECT(prt_cyclic_shift_phase(cyclic, 1), PRT_E_THREAD);
    EXPECT(prt_cyclic_resync(cyclic, NULL), PRT_E_THREAD);
    EXPECT(prt_cyclic_next_release(cyclic, &ns), PRT_E_THREAD);
    EXPECT(prt_cyclic_grants(cyclic, NULL, 0), PRT_E_THREAD);
    EXPECT(prt_cyclic_close(cyclic), PRT_E_THREAD);
    return NULL;
}

static void cyclic(void)
{
    prt_config config = usual();
    prt_cyclic *cyclic;
    prt_wake wake;
    pthread_t other;

    EXPECT(prt_cyclic_open(&config, &cyclic), 0);
    EXPECT(pthread_create(&other, NULL, use_elsewhere, cyclic), 0);
    EXPECT(pthread_join(other, NULL), 0);
    EXPECT(prt_task_join((prt_task *)(void *)cyclic), PRT_E_HANDLE);

    EXPECT(prt_wake_init(&wake, sizeof wake), 0);
    wake.version = 9;
    EXPECT(prt_cyclic_wait(cyclic, &wake), -EINVAL);
    wake.version = 1, wake.size = 3;
    EXPECT(prt_cyclic_wait(cyclic, &wake), -EINVAL);
    wake.size = 100000;
    EXPECT(prt_cyclic_wait(cyclic, &wake), -E2BIG);
    EXPECT(prt_cyclic_next_release(cyclic, NULL), -EFAULT);
    EXPECT(prt_cyclic_set_period(cyclic, 0), PRT_E_PERIOD);
    EXPECT(prt_cyclic_set_period(cyclic, -1), PRT_E_PERIOD);
    EXPECT(prt_cyclic_set_period(cyclic, 999), PRT_E_PERIOD);
    EXPECT(prt_cyclic_steer(cyclic, INT64_MIN, NULL), 0); /* limited, not refused */
    EXPECT(prt_cyclic_shift_phase(cyclic, INT64_MAX), 0);
    EXPECT(prt_cyclic_report(cyclic, NULL, 10), -EFAULT);

    EXPECT(prt_cyclic_stop(cyclic), 0);
    EXPECT(prt_cyclic_wait(cyclic, NULL), -ECANCELED);
    EXPECT(prt_cyclic_wait(cyclic, NULL), -ECANCELED);
    EXPECT(prt_cyclic_close(cyclic), 0);
    EXPECT(prt_cyclic_close(cyclic), PRT_E_HANDLE);
    EXPECT(prt_cyclic_wait(cyclic, NULL), PRT_E_HANDLE);
    EXPECT(prt_cyclic_stop(cyclic), PRT_E_HANDLE);
}

struct inside {
    prt_task *task;
    prt_cycle *cycle;
    int joined, closed, no_room, period, elsewhere;
};

static void *use_cycle_elsewhere(void *user)
{
    struct inside *inside = (struct inside *)user;
    inside->elsewhere = prt_cycle_steer(inside->cycle, 1, NULL);
    return NULL;
}

static int misbehaving(prt_cycle *cycle, void *user)
{
    struct inside *inside = (struct inside *)user;
    pthread_t other;

    while (*(prt_task *volatile *)&inside->task == NULL) {
        usleep(1000);
    }
    inside->cycle = cycle;
    inside->joined = prt_task_join(inside->task);
    inside->closed = prt_task_close(inside->task);
    inside->no_room = prt_cycle_wake(cycle, NULL);
    inside->period = prt_cycle_set_period(cycle, 999);
    EXPECT(pthread_create(&other, NULL, use_cycle_elsewhere, inside), 0);
    EXPECT(pthread_join(other, NULL), 0);
    return 1;
}

static void tasks(void)
{
    struct inside inside;
    prt_config config = usual();
    prt_group *group;
    prt_task *task, *none[1];

    memset(&inside, 0, sizeof inside);
    EXPECT(prt_task_spawn(&config, misbehaving, &inside, &task), 0);
    *(prt_task *volatile *)&inside.task = task;
    EXPECT(prt_task_join(task), PRT_ENDED_STOPPED);
    EXPECT(inside.joined, -EDEADLK);
    EXPECT(inside.closed, -EDEADLK);
    EXPECT(inside.no_room, -EFAULT);
    EXPECT(inside.period, PRT_E_PERIOD);
    EXPECT(inside.elsewhere, PRT_E_THREAD);
    EXPECT(prt_cycle_steer(inside.cycle, 1, NULL), PRT_E_HANDLE); /* the body has returned */
    EXPECT(prt_task_join(task), PRT_E_DONE);
    EXPECT(prt_task_close(task), 0);
    EXPECT(prt_task_close(task), PRT_E_HANDLE);
    EXPECT(prt_task_join(task), PRT_E_HANDLE);
    EXPECT(prt_task_stop(task), PRT_E_HANDLE);

    EXPECT(prt_group_open(&group), 0);
    EXPECT(prt_group_add(group, &config, NULL, NULL), -EFAULT);
    EXPECT(prt_group_add(group, &config, never, NULL), 0);
    EXPECT(prt_group_start(group, none, 2), -EINVAL);
    EXPECT(prt_group_start(group, NULL, 1), -EFAULT);
    EXPECT(prt_group_start(group, none, 1), 0);
    EXPECT(prt_group_start(group, none, 1), PRT_E_DONE);
    EXPECT(prt_group_add(group, &config, never, NULL), PRT_E_DONE);
    EXPECT(prt_group_close(group), 0);
    EXPECT(prt_group_close(group), PRT_E_HANDLE);
    EXPECT(prt_task_close(none[0]), 0);
    EXPECT(prt_group_open(&group), 0);
    EXPECT(prt_group_add(group, &config, never, NULL), 0);
    EXPECT(prt_group_close(group), 0); /* closed before it was started */
}

static prt_spsc_sender *hammered;

static void *hammer(void *user)
{
    uint64_t element = 0;
    int returned;

    (void)user;
    do {
        returned = prt_spsc_push(hammered, &element);
        EXPECT_TRUE(returned == 0 || returned == -EAGAIN || returned == -EBUSY || returned == PRT_E_HANDLE);
    } while (returned != PRT_E_HANDLE);
    return NULL;
}

static volatile int waits;

static void *wait_for_ever(void *signal)
{
    waits = 1;
    EXPECT(prt_signal_wait((prt_signal *)signal), 0);
    return NULL;
}

static void talking(void)
{
    prt_spsc_sender *sender;
    prt_spsc_receiver *receiver;
    prt_latest_writer *writer;
    prt_latest_reader *reader;
    prt_signal *signal;
    prt_log *log;
    prt_log_writer *log_writer;
    prt_log_text *text;
    pthread_t threads[2];
    char value[8] = "";
    int returned;

    EXPECT(prt_spsc_open(0, 8, &sender, &receiver), -EINVAL);
    EXPECT(prt_spsc_open(8, 0, &sender, &receiver), -EINVAL);
    EXPECT(prt_spsc_open((size_t)-1, 8, &sender, &receiver), -ENOMEM);
    EXPECT(prt_spsc_open(1 << 20, 1 << 20, &sender, &receiver), -ENOMEM);
    EXPECT(prt_spsc_open(8, 8, &sender, &receiver), 0);
    EXPECT(prt_spsc_push(sender, NULL), -EFAULT);
    EXPECT(prt_spsc_pop(receiver, NULL), -EFAULT);
    EXPECT(prt_spsc_push((prt_spsc_sender *)(void *)receiver, value), PRT_E_HANDLE);
    /* Two threads push at once, which is not allowed, and a third closes meanwhile. */
    hammered = sender;
    for (int i = 0; i < 2; i++) {
        EXPECT(pthread_create(&threads[i], NULL, hammer, NULL), 0);
    }
    usleep(20000);
    while ((returned = prt_spsc_sender_close(sender)) == -EBUSY) {
    }
    EXPECT(returned, 0);
    for (int i = 0; i < 2; i++) {
        EXPECT(pthread_join(threads[i], NULL), 0);
    }
    EXPECT(prt_spsc_sender_close(sender), PRT_E_HANDLE);
    EXPECT(prt_spsc_receiver_close(receiver), 0);
    EXPECT(prt_spsc_pop(receiver, value), PRT_E_HANDLE);

    EXPECT(prt_latest_open(0, value, &writer, &reader), -EINVAL);
    EXPECT(prt_latest_open(PRT_LATEST_BYTES_MAX + 1, value, &writer, &reader), -EINVAL);
    EXPECT(prt_latest_open(8, value, &writer, &reader), 0);
    EXPECT(prt_latest_write(writer, NULL), -EFAULT);
    EXPECT(prt_latest_read(reader, NULL), -EFAULT);
    EXPECT(prt_latest_writer_close(writer), 0);
    EXPECT(prt_latest_write(writer, value), PRT_E_HANDLE);
    EXPECT(prt_latest_reader_close(reader), 0);
    EXPECT(prt_latest_reader_close(reader), PRT_E_HANDLE);

    EXPECT(prt_signal_open(&signal), 0);
    EXPECT(pthread_create(&threads[0], NULL, wait_for_ever, signal), 0);
    while (!waits) {
        usleep(1000);
    }
    usleep(200000);
    EXPECT(prt_signal_close(signal), -EBUSY);
    EXPECT(prt_signal_post(signal), 0);
    EXPECT(pthread_join(threads[0], NULL), 0);
    EXPECT(prt_signal_close(signal), 0);
    EXPECT(prt_signal_post(signal), PRT_E_HANDLE);

    EXPECT(prt_log_open("no/such/folder/x", NULL, 0, &log), -ENOENT);
    EXPECT_TRUE(strstr(prt_last_error(), "no/such/folder/x") != NULL);
    EXPECT(prt_log_open(NULL, NULL, -1, &log), -ERANGE);
    EXPECT(prt_log_open("/dev/full", NULL, 1000000, &log), 0);
    EXPECT(prt_log_writer_open(log, "x", 0, &log_writer), -EINVAL);
    EXPECT(prt_log_writer_open(log, "x", (size_t)-1, &log_writer), -EINVAL);
    EXPECT(prt_log_writer_open(log, "x", 2, &log_writer), 0);
    EXPECT(prt_log_text_open("{} {} {} {} {}", &text), -EINVAL);
    EXPECT(prt_log_text_open("\xff", &text), PRT_E_TEXT);
    EXPECT(prt_log_text_open("text", &text), 0);
    EXPECT(prt_log_message(log_writer, NULL, 0, 0, 0, 0), -EFAULT);
    EXPECT(prt_log_message(log_writer, text, 0, 0, 0, 0), 0);
    EXPECT(prt_log_close(log, NULL, NULL), -ENOSPC);
    EXPECT(prt_log_message(log_writer, text, 0, 0, 0, 0), 0); /* accepted, although the log is closed */
    EXPECT(prt_log_writer_close(log_writer), 0);
    EXPECT(prt_log_message(log_writer, text, 0, 0, 0, 0), PRT_E_HANDLE);
}

static void servo(void)
{
    prt_servo_config config;
    prt_servo_state state;
    prt_servo *servo;
    int64_t steer_ns;

    EXPECT(prt_servo_config_init(&config, sizeof config), 0);
    EXPECT(prt_servo_open(&config, &servo), PRT_E_SERVO); /* no period */
    config.period_ns = 1000000;
    config.bandwidth_hz = 0.0 / (double)(config.period_ns - 1000000);
    EXPECT(prt_servo_open(&config, &servo), PRT_E_SERVO); /* not a number */
    config.bandwidth_hz = 1e9;
    EXPECT(prt_servo_open(&config, &servo), PRT_E_SERVO);
    config.bandwidth_hz = 1;
    config.step_max_ns = -1;
    EXPECT(prt_servo_open(&config, &servo), -ERANGE);
    config.step_max_ns = 5000;
    EXPECT(prt_servo_open(&config, &servo), 0);
    EXPECT(prt_servo_sample(servo, 0, 0, 0, NULL), -EFAULT);
    EXPECT(prt_servo_sample(servo, UINT64_MAX, INT64_MIN, INT64_MAX, &steer_ns), 0);
    EXPECT(prt_servo_set_period(servo, 0), PRT_E_PERIOD);
    EXPECT(prt_servo_set_period(servo, INT64_MAX), PRT_E_SERVO);
    memset(&state, 0, sizeof state);
    EXPECT(prt_servo_get_state(servo, &state), -EINVAL);
    EXPECT(prt_servo_close(servo), 0);
    EXPECT(prt_servo_coast(servo, &steer_ns), PRT_E_HANDLE);
}

static void locks_and_dogs(void)
{
    prt_watchdog_config config;
    prt_watchdog *watchdog = NULL;
    prt_heart *heart = NULL;
    prt_pi_mutex *mutex;
    uint64_t misses;

    EXPECT(prt_pi_mutex_open(NULL), -EFAULT);
    EXPECT(prt_pi_mutex_lock(NULL), -EFAULT);
    EXPECT(prt_pi_mutex_lock_until(NULL, 0), -EFAULT);
    EXPECT(prt_pi_mutex_try_lock(NULL), -EFAULT);
    EXPECT(prt_pi_mutex_unlock(NULL), -EFAULT);
    EXPECT(prt_pi_mutex_close(NULL), -EFAULT);
    EXPECT(prt_pi_mutex_open(&mutex), 0);
    EXPECT(prt_pi_mutex_unlock(mutex), -EPERM); /* never locked */
    EXPECT(prt_pi_mutex_lock(mutex), 0);
    EXPECT(prt_pi_mutex_try_lock(mutex), -EBUSY);
    EXPECT(prt_pi_mutex_close(mutex), -EBUSY);
    EXPECT(prt_pi_mutex_unlock(mutex), 0);
    EXPECT(prt_pi_mutex_close(mutex), 0);
    EXPECT(prt_pi_mutex_lock(mutex), PRT_E_HANDLE);
    EXPECT(prt_pi_mutex_unlock(mutex), PRT_E_HANDLE);
    EXPECT(prt_pi_mutex_close(mutex), PRT_E_HANDLE);

    EXPECT(prt_watchdog_config_init(NULL, sizeof config), -EFAULT);
    EXPECT(prt_watchdog_config_init(&config, sizeof config), 0);
    EXPECT(prt_watchdog_open(NULL, NULL, NULL, &watchdog), -EFAULT);
    EXPECT(prt_watchdog_open(&config, NULL, NULL, NULL), -EFAULT);
    config.interval_ns = 0;
    EXPECT(prt_watchdog_open(&config, NULL, NULL, &watchdog), -EINVAL);
    config.interval_ns = -1;
    EXPECT(prt_watchdog_open(&config, NULL, NULL, &watchdog), -ERANGE);
    config.interval_ns = 1000000;
    config.priority = 96;
    EXPECT(prt_watchdog_open(&config, NULL, NULL, &watchdog), PRT_E_PRIORITY);
    config.priority = 256;
    EXPECT(prt_watchdog_open(&config, NULL, NULL, &watchdog), PRT_E_PRIORITY);
    config.priority = 0;
    config.cpu_count = 1;
    EXPECT(prt_watchdog_open(&config, NULL, NULL, &watchdog), -EFAULT);
    config.cpus = &absent_cpu;
    EXPECT(prt_watchdog_open(&config, NULL, NULL, &watchdog), -EINVAL);
    EXPECT_TRUE(watchdog == NULL);
    config.cpu_count = 0;
    EXPECT(prt_watchdog_open(&config, NULL, NULL, &watchdog), 0);
    EXPECT(prt_watchdog_watch(NULL, "x", 1, &heart), -EFAULT);
    EXPECT(prt_watchdog_watch(watchdog, NULL, 1, &heart), -EFAULT);
    EXPECT(prt_watchdog_watch(watchdog, "x", 0, &heart), -EINVAL);
    EXPECT(prt_watchdog_watch(watchdog, "x", -1, &heart), -ERANGE);
    EXPECT(prt_watchdog_watch(watchdog, "x", 1000000000, NULL), -EFAULT);
    EXPECT(prt_watchdog_watch(watchdog, "x", 1000000000, &heart), 0);
    EXPECT(prt_watchdog_misses(NULL, &misses), -EFAULT);
    EXPECT(prt_watchdog_misses(watchdog, NULL), -EFAULT);
    EXPECT(prt_watchdog_close(NULL), -EFAULT);
    EXPECT(prt_watchdog_close(watchdog), 0);
    EXPECT(prt_watchdog_close(watchdog), PRT_E_HANDLE);
    EXPECT(prt_heart_beat(NULL), -EFAULT);
    EXPECT(prt_heart_beat(heart), 0); /* accepted, although the watchdog is closed */
    EXPECT(prt_heart_retire(NULL), -EFAULT);
    EXPECT(prt_heart_close(NULL), -EFAULT);
    EXPECT(prt_heart_retire(heart), 0);
    EXPECT(prt_heart_beat(heart), PRT_E_HANDLE);
    EXPECT(prt_heart_retire(heart), PRT_E_HANDLE);
    EXPECT(prt_heart_close(heart), PRT_E_HANDLE);
}

static void others(void)
{
    prt_stats_reader *reader;

    EXPECT(prt_stats_open((uint32_t)getpid(), "nobody", &reader), PRT_E_NO_TASK);
    EXPECT(prt_stats_open(0x7FFFFFFF, "nobody", &reader), -ENOENT);
    EXPECT_TRUE(strlen(prt_last_error()) > 10);
    EXPECT_TRUE(strlen(prt_error_text(-EPERM)) > 5);
    EXPECT_TRUE(strlen(prt_error_text(INT32_MIN)) > 5);
    EXPECT_TRUE(strlen(prt_error_text(INT32_MAX)) > 5);
}

int main(void)
{
    nothing();
    garbage();
    configurations();
    ages();
    cyclic();
    tasks();
    talking();
    servo();
    locks_and_dogs();
    others();
    puts("all refused");
    return 0;
}
