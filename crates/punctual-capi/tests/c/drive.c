/* Uses every part of the library correctly. */
#include <punctual_rt.h>

#include "expect.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static prt_config config_of(const char *name)
{
    prt_config config;

    EXPECT(prt_config_init(&config, sizeof config), 0);
    config.name = name;
    config.period_ns = 1000000;
    config.phase = PRT_PHASE_OFFSET;
    config.require = PRT_REQUIRE_BEST_EFFORT;
    return config;
}

struct seen {
    int activations, last;
    int64_t moved_ns, phase_ns;
};

/* Moves each release ahead and back. A release that is due meanwhile stays where it is, so moves may add up: `moved_ns` is their
   sum up to now, and `phase_ns` is the phase that the cycle would have without them. */
static int body(prt_cycle *cycle, void *user)
{
    struct seen *seen = (struct seen *)user;
    prt_wake wake;
    int64_t next_ns, moved_ns = 0, back_ns = 0;

    EXPECT(prt_wake_init(&wake, sizeof wake), 0);
    EXPECT(prt_cycle_wake(cycle, &wake), 0);
    EXPECT(wake.error_ns, wake.woke_ns - wake.release_ns);
    EXPECT_TRUE(wake.class_of <= PRT_CLASS_TIMED_OUT);
    EXPECT(prt_cycle_next_release(cycle, &next_ns), 0);
    EXPECT_TRUE(next_ns > wake.release_ns);
    EXPECT(prt_cycle_steer(cycle, 2000, &moved_ns), 0);
    EXPECT_TRUE(moved_ns >= 0 && moved_ns <= 2000);
    EXPECT(prt_cycle_steer(cycle, -moved_ns, &back_ns), 0);
    EXPECT_TRUE(back_ns <= 0 && back_ns >= -moved_ns);
    EXPECT(prt_cycle_set_period(cycle, 1000000), 0);
    EXPECT(prt_cycle_shift_phase(cycle, 0), 0);
    seen->phase_ns = (wake.release_ns - seen->moved_ns) % 1000000;
    seen->moved_ns += moved_ns + back_ns;
    return ++seen->activations == seen->last;
}

static void task(void)
{
    struct seen seen = {0, 50, 0, 0};
    prt_config config = config_of("drive");
    prt_stats_reader *reader;
    prt_stats stats, others;
    prt_task *task;
    char text[16384];
    int length;

    config.deadline_ns = 900000;
    config.budget_ns = 500000;
    EXPECT(prt_task_spawn(&config, body, &seen, &task), 0);
    EXPECT(prt_stats_open((uint32_t)getpid(), "drive", &reader), 0);
    EXPECT(prt_task_join(task), PRT_ENDED_STOPPED);
    EXPECT(seen.activations, 50);

    EXPECT(prt_stats_init(&stats, sizeof stats), 0);
    EXPECT(prt_stats_init(&others, sizeof others), 0);
    EXPECT(prt_task_stats(task, &stats), 0);
    EXPECT(prt_stats_snapshot(reader, &others), 0);
    EXPECT(stats.activations, 50);
    EXPECT(others.activations, 50);
    EXPECT(stats.latency.count, 50);
    EXPECT(stats.execution.count, 50);
    EXPECT(stats.period_ns, 1000000);
    EXPECT(stats.pid, getpid());
    EXPECT_TRUE(stats.latency.max_ns >= stats.latency.p50_ns && stats.latency.min_ns >= 0);

    length = prt_task_report(task, text, sizeof text);
    EXPECT_TRUE(length > 100 && (size_t)length == strlen(text));
    EXPECT_TRUE(strstr(text, "drive") != NULL && strstr(text, "latency") != NULL);
    EXPECT(prt_task_report(task, text, 8), length);
    EXPECT(strlen(text), 7);
    EXPECT_TRUE(prt_stats_report(reader, text, sizeof text) > 100);
    EXPECT_TRUE(prt_task_grants(task, text, sizeof text) > 20);
    EXPECT_TRUE(strstr(text, "SCHED_OTHER") != NULL);
    EXPECT(prt_stats_close(reader), 0);
    EXPECT(prt_task_close(task), 0);
}

static int for_ever(prt_cycle *cycle, void *user)
{
    (void)cycle;
    ++*(volatile int *)user;
    return 0;
}

static void stopping(void)
{
    volatile int count = 0;
    prt_config config = config_of("stopping");
    prt_task *task;

    EXPECT(prt_task_spawn(&config, for_ever, (void *)&count, &task), 0);
    EXPECT(prt_delay_until(prt_now() + 20000000), 0);
    for (int n = 0; n < 10000 && count == 0; n++) {
        usleep(1000);
    }
    EXPECT(prt_task_stop(task), 0);
    EXPECT(prt_task_join(task), PRT_ENDED_STOPPED);
    EXPECT_TRUE(count > 0);
    EXPECT(prt_task_stop(task), 0); /* stays stopped */
    EXPECT(prt_task_close(task), 0);

    EXPECT(prt_task_spawn(&config, for_ever, (void *)&count, &task), 0);
    EXPECT(prt_task_close(task), 0); /* stops and waits */
}

static int late(prt_cycle *cycle, void *user)
{
    (void)cycle, (void)user;
    usleep(5000);
    return 0;
}

static void overrun(void)
{
    prt_config config = config_of("overrun");
    prt_task *task;

    config.overrun = PRT_OVERRUN_STOP;
    EXPECT(prt_task_spawn(&config, late, NULL, &task), 0);
    EXPECT(prt_task_join(task), PRT_ENDED_OVERRUN);
    EXPECT(prt_task_close(task), 0);
}

static void group(void)
{
    struct seen seen[2] = {{0, 10, 0, 0}, {0, 10, 0, 0}};
    prt_config first = config_of("first"), second = config_of("second");
    prt_group *group;
    prt_task *tasks[2];

    second.phase_offset_ns = 250000;
    EXPECT(prt_group_open(&group), 0);
    EXPECT(prt_group_add(group, &first, body, &seen[0]), 0);
    EXPECT(prt_group_add(group, &second, body, &seen[1]), 1);
    EXPECT(prt_group_start(group, tasks, 2), 0);
    EXPECT(prt_group_close(group), 0);
    for (int i = 0; i < 2; i++) {
        EXPECT(prt_task_join(tasks[i]), PRT_ENDED_STOPPED);
        EXPECT(prt_task_close(tasks[i]), 0);
        EXPECT(seen[i].activations, 10);
    }
    EXPECT((seen[1].phase_ns - seen[0].phase_ns + 1000000) % 1000000, 250000);
}

struct cycles {
    prt_cyclic *cyclic;
    volatile uint64_t count;
};

static void *stop_soon(void *user)
{
    struct cycles *cycles = (struct cycles *)user;

    for (int n = 0; n < 10000 && cycles->count < 10; n++) {
        usleep(1000);
    }
    EXPECT(prt_cyclic_stop(cycles->cyclic), 0);
    return NULL;
}

static void cyclic(void)
{
    prt_config config = config_of("cyclic");
    prt_cyclic *cyclic;
    prt_servo_config servo_config;
    prt_servo_state state;
    prt_servo *servo;
    prt_stats stats;
    prt_wake wake;
    pthread_t other;
    char text[16384];
    int64_t steer_ns, moved_ns, next_ns;
    uint64_t passed, indices = 0;
    struct cycles cycles = {NULL, 0};
    int returned;

    EXPECT(prt_servo_config_init(&servo_config, sizeof servo_config), 0);
    EXPECT(prt_servo_state_init(&state, sizeof state), 0);
    EXPECT(prt_wake_init(&wake, sizeof wake), 0);
    servo_config.period_ns = config.period_ns;
    EXPECT(prt_servo_open(&servo_config, &servo), 0);
    EXPECT(prt_cyclic_open(&config, &cyclic), 0);
    EXPECT(prt_cyclic_wait(cyclic, NULL), 0);
    cycles.cyclic = cyclic;
    EXPECT(pthread_create(&other, NULL, stop_soon, &cycles), 0);
    while ((returned = prt_cyclic_wait(cyclic, &wake)) == 0) {
        EXPECT(prt_servo_sample(servo, (uint64_t)wake.woke_ns + 300000, wake.woke_ns, wake.release_ns, &steer_ns), 0);
        EXPECT_TRUE(steer_ns >= -5000 && steer_ns <= 5000);
        EXPECT(prt_cyclic_steer(cyclic, steer_ns, &moved_ns), 0);
        EXPECT(prt_cyclic_next_release(cyclic, &next_ns), 0);
        EXPECT(prt_cyclic_finish(cyclic), 0);
        EXPECT_TRUE(wake.index >= indices);
        indices = wake.index + wake.missed + 1;
        cycles.count++;
    }
    EXPECT(returned, -ECANCELED);
    EXPECT_TRUE(cycles.count > 0);
    EXPECT(pthread_join(other, NULL), 0);
    EXPECT(prt_servo_coast(servo, &steer_ns), 0);
    EXPECT(prt_servo_sample32(servo, 12345, prt_now(), prt_now(), &steer_ns), 0);
    EXPECT(prt_servo_set_target(servo, 1000), 0);
    EXPECT(prt_servo_set_period(servo, 2000000), 0);
    EXPECT(prt_servo_get_state(servo, &state), 0);
    EXPECT(state.target_ns, 1000);
    EXPECT(prt_servo_close(servo), 0);
    EXPECT(prt_cyclic_set_period(cyclic, 2000000), 0);
    EXPECT(prt_cyclic_shift_phase(cyclic, 12345), 0);
    EXPECT(prt_cyclic_resync(cyclic, &passed), 0);
    EXPECT(prt_cyclic_exists(cyclic), 0);
    EXPECT(prt_stats_init(&stats, sizeof stats), 0);
    EXPECT(prt_cyclic_stats(cyclic, &stats), 0);
    EXPECT(stats.activations, cycles.count + 1);
    EXPECT_TRUE(prt_cyclic_report(cyclic, text, sizeof text) > 100);
    EXPECT_TRUE(prt_cyclic_grants(cyclic, text, sizeof text) > 20);
    EXPECT(prt_cyclic_close(cyclic), 0);
}

/* Asserts that the next activation timed out, and only after the whole patience. */
static void comes_late(prt_cyclic *cyclic, prt_wake *wake, int64_t patience_ns)
{
    const int64_t began_ns = prt_now();

    EXPECT(prt_cyclic_wait(cyclic, wake), 0);
    EXPECT(wake->class_of, PRT_CLASS_TIMED_OUT);
    EXPECT_TRUE(prt_now() - began_ns >= patience_ns);
}

/* Loops activated by a signal, by a pipe, by neither, and by a pipe whose writing end is closed. */
static void external(void)
{
    prt_config config = config_of("external");
    prt_signal *signal;
    prt_cyclic *cyclic;
    prt_wake wake;
    int ends[2];
    char byte;

    EXPECT(prt_wake_init(&wake, sizeof wake), 0);
    EXPECT(prt_signal_open(&signal), 0);
    EXPECT(config.external_patience_ns, 1000000000);
    config.wait = PRT_WAIT_EXTERNAL;
    config.external_signal = signal;
    EXPECT(prt_cyclic_open(&config, &cyclic), 0);
    EXPECT(prt_signal_post(signal), 0);
    EXPECT(prt_signal_close(signal), 0);
    EXPECT(prt_cyclic_wait(cyclic, &wake), 0);
    EXPECT_TRUE(wake.class_of != PRT_CLASS_TIMED_OUT);
    comes_late(cyclic, &wake, 990000000);
    EXPECT(prt_cyclic_close(cyclic), 0);

    EXPECT(pipe(ends), 0);
    EXPECT(write(ends[1], "x", 1), 1);
    config.external_signal = NULL;
    config.external_fd = ends[0];
    config.external_patience_ns = 20000000;
    EXPECT(prt_cyclic_open(&config, &cyclic), 0);
    EXPECT(prt_cyclic_wait(cyclic, &wake), 0);
    EXPECT_TRUE(wake.class_of != PRT_CLASS_TIMED_OUT);
    EXPECT(read(ends[0], &byte, 1), 1);
    comes_late(cyclic, &wake, 19000000);
    EXPECT(write(ends[1], "x", 1), 1);
    EXPECT(prt_cyclic_wait(cyclic, &wake), 0);
    EXPECT_TRUE(wake.class_of != PRT_CLASS_TIMED_OUT);
    EXPECT(read(ends[0], &byte, 1), 1);
    close(ends[1]);
    comes_late(cyclic, &wake, 19000000); /* hung up: no reason to spin */
    comes_late(cyclic, &wake, 19000000);
    EXPECT(prt_cyclic_close(cyclic), 0);
    close(ends[0]);
}

struct sample {
    uint64_t number;
    char rest[13]; /* an odd size, so that elements lie across the queue's end */
};

static void *produce(void *sender)
{
    struct sample sample;

    memset(&sample, 0, sizeof sample);
    for (uint64_t n = 0; n < 20000;) {
        sample.number = n;
        memset(sample.rest, (int)(n & 0x7F), sizeof sample.rest);
        const int pushed = prt_spsc_push((prt_spsc_sender *)sender, &sample);
        EXPECT_TRUE(pushed == 0 || pushed == -EAGAIN);
        n += pushed == 0;
    }
    return NULL;
}

static void queue(void)
{
    prt_spsc_sender *sender;
    prt_spsc_receiver *receiver;
    struct sample sample;
    pthread_t other;
    uint64_t refused;
    size_t waiting;

    EXPECT(prt_spsc_open(sizeof sample, 7, &sender, &receiver), 0);
    EXPECT(prt_spsc_pop(receiver, &sample), -EAGAIN);
    EXPECT(pthread_create(&other, NULL, produce, sender), 0);
    for (uint64_t n = 0; n < 20000;) {
        if (prt_spsc_pop(receiver, &sample) == 0) {
            EXPECT(sample.number, n);
            EXPECT(sample.rest[12], n & 0x7F);
            n++;
        }
    }
    EXPECT(pthread_join(other, NULL), 0);
    for (int n = 0; n < 9; n++) {
        EXPECT(prt_spsc_push(sender, &sample), n < 7 ? 0 : -EAGAIN);
    }
    EXPECT(prt_spsc_waiting(receiver, &waiting), 0);
    EXPECT(waiting, 7);
    EXPECT(prt_spsc_refused(receiver, &refused), 0);
    EXPECT_TRUE(refused >= 2);
    EXPECT(prt_spsc_sender_close(sender), 0);
    EXPECT(prt_spsc_pop(receiver, &sample), 0);
    EXPECT(prt_spsc_receiver_close(receiver), 0);
}

static void latest(void)
{
    unsigned char value[PRT_LATEST_BYTES_MAX], read[PRT_LATEST_BYTES_MAX + 1];
    static const size_t sizes[] = {1, 16, 17, 64, 65, 256, 257, 1024, 1025, PRT_LATEST_BYTES_MAX};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        prt_latest_writer *writer;
        prt_latest_reader *reader;

        memset(value, 1, sizeof value);
        memset(read, 0x5A, sizeof read);
        EXPECT(prt_latest_open(sizes[i], value, &writer, &reader), 0);
        EXPECT(prt_latest_read(reader, read), 0);
        EXPECT(memcmp(value, read, sizes[i]), 0);
        for (int n = 2; n < 5; n++) {
            memset(value, n, sizeof value);
            EXPECT(prt_latest_write(writer, value), 0);
        }
        EXPECT(prt_latest_read(reader, read), 1);
        EXPECT(memcmp(value, read, sizes[i]), 0);
        EXPECT(read[sizes[i]], 0x5A);
        EXPECT(prt_latest_read(reader, read), 0);
        EXPECT(prt_latest_writer_close(writer), 0);
        EXPECT(prt_latest_reader_close(reader), 0);
    }
}

static void *take_one(void *signal)
{
    EXPECT(prt_signal_wait((prt_signal *)signal), 0);
    return NULL;
}

static void *post_semaphore(void *semaphore)
{
    EXPECT(prt_semaphore_post((prt_semaphore *)semaphore), 0);
    return NULL;
}

static void semaphores_count_on_the_back_end_that_was_asked_for(void)
{
    prt_semaphore *semaphore;
    pthread_t thread;

    EXPECT(prt_semaphore_open(&semaphore, PRT_BACKEND_LINUX, 1), 0);
    EXPECT(prt_semaphore_wait(semaphore), 0);
    EXPECT(prt_semaphore_try_wait(semaphore), -EAGAIN);
    EXPECT(prt_semaphore_wait_until(semaphore, prt_now() + 1000000), -ETIMEDOUT);
    EXPECT(pthread_create(&thread, NULL, post_semaphore, semaphore), 0);
    EXPECT(prt_semaphore_wait(semaphore), 0);
    EXPECT(pthread_join(thread, NULL), 0);
    EXPECT(prt_semaphore_close(semaphore), 0);
    EXPECT(prt_semaphore_open(&semaphore, PRT_BACKEND_LINUX, 2147483648u), 0);
    EXPECT(prt_semaphore_post(semaphore), -EOVERFLOW);
    EXPECT(prt_semaphore_close(semaphore), 0);

    prt_pi_mutex *mutex;
    EXPECT(prt_pi_mutex_open_on(&mutex, PRT_BACKEND_LINUX), 0);
    EXPECT(prt_pi_mutex_lock(mutex), 0);
    EXPECT(prt_pi_mutex_unlock(mutex), 0);
    EXPECT(prt_pi_mutex_close(mutex), 0);
}

static void signals(void)
{
    prt_signal *signal;
    pthread_t other;

    EXPECT(prt_signal_open(&signal), 0);
    EXPECT(prt_signal_try_wait(signal), -EAGAIN);
    EXPECT(prt_signal_wait_until(signal, prt_now() + 1000000), -ETIMEDOUT);
    EXPECT(prt_signal_post(signal), 0);
    EXPECT(prt_signal_wait(signal), 0);
    EXPECT(pthread_create(&other, NULL, take_one, signal), 0);
    EXPECT(prt_signal_post(signal), 0);
    EXPECT(pthread_join(other, NULL), 0);
    EXPECT(prt_signal_close(signal), 0);
}

static void logging(void)
{
    prt_log *log;
    prt_log_writer *writer;
    prt_log_text *text, *name;
    uint64_t records = 0, lost = 0, now_lost = 1;
    char line[256];
    FILE *file;

    EXPECT(prt_log_open("drive.log", "drive.perfetto-trace", 0, &log), 0);
    EXPECT(prt_log_writer_open(log, "loop", 64, &writer), 0);
    EXPECT(prt_log_text_open("phase {} ns, {} late", &text), 0);
    EXPECT(prt_log_text_open("control", &name), 0);
    EXPECT(prt_log_writer_of_this_thread(writer), 0);
    EXPECT(prt_log_begin(writer, name), 0);
    EXPECT(prt_log_message(writer, text, -350, 2, 3, 4), 0);
    EXPECT(prt_log_counter(writer, name, 1.5), 0);
    EXPECT(prt_log_end(writer, name), 0);
    EXPECT(prt_log_lost(writer, &now_lost), 0);
    EXPECT(now_lost, 0);
    EXPECT(prt_log_writer_close(writer), 0);
    EXPECT(prt_log_close(log, &records, &lost), 0);
    EXPECT(records, 4);
    EXPECT(lost, 0);
    file = fopen("drive.log", "r");
    EXPECT_TRUE(file != NULL);
    EXPECT_TRUE(fgets(line, sizeof line, file) != NULL && fgets(line, sizeof line, file) != NULL);
    EXPECT_TRUE(strstr(line, "phase -350 ns, 2 late") != NULL);
    fclose(file);
    file = fopen("drive.perfetto-trace", "r");
    EXPECT_TRUE(file != NULL && fgetc(file) == 0x0A);
    fclose(file);
}

static void findings(void)
{
    static const uint32_t cpus[] = {0};
    prt_config config = config_of("spinning");
    prt_findings *findings;
    prt_finding finding;
    int count, gravest = PRT_SEVERITY_FATAL;

    config.wait = PRT_WAIT_SPIN;
    config.policy = PRT_POLICY_FIFO;
    config.priority = 80;
    config.cpus = cpus;
    config.cpu_count = 1;
    config.execution_ns = 990000;
    count = prt_config_check(&config, &findings);
    EXPECT_TRUE(count > 0);
    EXPECT(prt_finding_init(&finding, sizeof finding), 0);
    for (int i = 0; i < count; i++) {
        EXPECT(prt_findings_get(findings, (size_t)i, &finding), 0);
        EXPECT_TRUE(strlen(finding.code) > 0 && strlen(finding.evidence) > 0 && strlen(finding.remedy) > 0);
        EXPECT_TRUE((int)finding.severity <= gravest);
        gravest = (int)finding.severity;
    }
    EXPECT(prt_findings_close(findings), 0);
}

/* Two tasks with the same priority on one CPU: only a check of both together finds the conflict. */
static void findings_together(void)
{
    static const uint32_t cpus[] = {0};
    prt_config first = config_of("first"), second;
    const prt_config *both[] = {&first, &second};
    prt_findings *findings;
    prt_finding finding;
    int alone, together, seen = 0, same_turn = 0;

    first.policy = PRT_POLICY_FIFO;
    first.priority = 50;
    first.cpus = cpus;
    first.cpu_count = 1;
    first.execution_ns = 600000;
    second = first;
    second.name = "second";
    alone = prt_group_check(both, 1, &findings);
    EXPECT_TRUE(alone >= 0);
    EXPECT(prt_findings_close(findings), 0);
    together = prt_group_check(both, 2, &findings);
    EXPECT_TRUE(together > alone);
    EXPECT(prt_finding_init(&finding, sizeof finding), 0);
    for (int i = 0; i < together; i++) {
        EXPECT(prt_findings_get(findings, (size_t)i, &finding), 0);
        seen += strstr(finding.evidence, "second") != NULL || strcmp(finding.task, "second") == 0;
        same_turn += strcmp(finding.code, "task.same_turn") == 0;
    }
    EXPECT_TRUE(seen > 0);
    EXPECT(same_turn, 1);
    EXPECT(prt_findings_close(findings), 0);
    EXPECT(prt_group_check(both, 0, &findings), 0);
    EXPECT(prt_findings_close(findings), 0);
}

struct shared {
    prt_pi_mutex *mutex;
    long count;
};

static void *count_up(void *user)
{
    struct shared *shared = (struct shared *)user;

    for (int n = 0; n < 20000; n++) {
        EXPECT(prt_pi_mutex_lock(shared->mutex), 0);
        shared->count++;
        EXPECT(prt_pi_mutex_unlock(shared->mutex), 0);
    }
    return NULL;
}

static void *lock_and_leave(void *mutex)
{
    EXPECT(prt_pi_mutex_try_lock((prt_pi_mutex *)mutex), 0);
    return NULL;
}

static void *find_it_held(void *mutex)
{
    const int64_t deadline_ns = prt_now() + 5000000;

    EXPECT(prt_pi_mutex_try_lock((prt_pi_mutex *)mutex), -EBUSY);
    EXPECT(prt_pi_mutex_lock_until((prt_pi_mutex *)mutex, deadline_ns), -ETIMEDOUT);
    EXPECT_TRUE(prt_now() >= deadline_ns);
    EXPECT(prt_pi_mutex_unlock((prt_pi_mutex *)mutex), -EPERM);
    EXPECT(prt_pi_mutex_close((prt_pi_mutex *)mutex), -EBUSY);
    return NULL;
}

static void mutexes(void)
{
    struct shared shared = {NULL, 0};
    pthread_t threads[3];

    EXPECT(prt_pi_mutex_open(&shared.mutex), 0);
    for (int i = 0; i < 3; i++) {
        EXPECT(pthread_create(&threads[i], NULL, count_up, &shared), 0);
    }
    for (int i = 0; i < 3; i++) {
        EXPECT(pthread_join(threads[i], NULL), 0);
    }
    EXPECT(shared.count, 60000);
    EXPECT(prt_pi_mutex_lock_until(shared.mutex, 0), 0); /* a free lock is taken even after the deadline */
    EXPECT(prt_pi_mutex_lock(shared.mutex), -EDEADLK);
    EXPECT(pthread_create(&threads[0], NULL, find_it_held, shared.mutex), 0);
    EXPECT(pthread_join(threads[0], NULL), 0);
    EXPECT(prt_pi_mutex_unlock(shared.mutex), 0);
    EXPECT(prt_pi_mutex_unlock(shared.mutex), -EPERM);
    EXPECT(pthread_create(&threads[0], NULL, lock_and_leave, shared.mutex), 0);
    EXPECT(pthread_join(threads[0], NULL), 0);
    EXPECT(prt_pi_mutex_lock(shared.mutex), 1); /* 1: the owner ended while it held the lock */
    EXPECT(prt_pi_mutex_unlock(shared.mutex), 0);
    EXPECT(prt_pi_mutex_lock(shared.mutex), 0);
    EXPECT(prt_pi_mutex_unlock(shared.mutex), 0);
    EXPECT(prt_pi_mutex_close(shared.mutex), 0);
}

static void missed(const char *heart, int64_t silent_ns, int64_t limit_ns, void *user)
{
    EXPECT(strcmp(heart, "loop"), 0);
    EXPECT(limit_ns, 100000000);
    EXPECT_TRUE(silent_ns > limit_ns);
    ++*(volatile int *)user;
}

static void watchdog(void)
{
    prt_watchdog_config config;
    prt_watchdog *watchdog;
    prt_heart *heart;
    volatile int told = 0;
    uint64_t misses = 0;

    EXPECT(prt_watchdog_config_init(&config, sizeof config), 0);
    config.interval_ns = 1000000;
    EXPECT(prt_watchdog_open(&config, missed, (void *)&told, &watchdog), 0);
    EXPECT(prt_watchdog_watch(watchdog, "loop", 100000000, &heart), 0);
    EXPECT(prt_heart_beat(heart), 0);
    for (int n = 0; n < 1000 && misses == 0; n++) {
        usleep(10000);
        EXPECT(prt_watchdog_misses(watchdog, &misses), 0);
    }
    EXPECT(misses, 1);
    EXPECT(prt_heart_retire(heart), 0);
    EXPECT(prt_watchdog_close(watchdog), 0);
    EXPECT(told, 1);
    EXPECT(prt_watchdog_open(&config, NULL, NULL, &watchdog), 0);
    EXPECT(prt_watchdog_close(watchdog), 0);
}

int main(void)
{
    EXPECT(strcmp(prt_version(), "0.1.0"), 0);
    EXPECT(prt_delay_until(0), 0);
    task();
    stopping();
    overrun();
    group();
    cyclic();
    external();
    queue();
    latest();
    signals();
    semaphores_count_on_the_back_end_that_was_asked_for();
    logging();
    findings();
    findings_together();
    mutexes();
    watchdog();
    puts("all good");
    return 0;
}
