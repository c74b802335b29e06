// A loop of 1 kHz with one planted defect, to hold `punctual inspect` against. It does not use our library.
// Usage: loop KIND EVERY CYCLES, where KIND is one of those in main() and EVERY is how often the defect comes.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD_NS = 1000000, HOG_NS = 400000, BLOCK = 1 << 20 };
static volatile unsigned sum;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int holder_runs = 1;

__attribute__((noinline)) static void work(void) {
    for (unsigned i = 0; i < 20000; i++) sum += i;
}

__attribute__((noinline)) static void planted_malloc(void) {
    char *block = (char *)malloc(BLOCK);
    block[0] = 1;
    sum += (unsigned char)block[0];
    free(block);
    __asm__ volatile("" ::: "memory");
}

static char *volatile kept;
__attribute__((noinline)) static void planted_small(void) {
    kept = (char *)malloc(64);
    kept[0] = 1;
    free((void *)kept);
    __asm__ volatile("" ::: "memory");
}

static char *fresh;
__attribute__((noinline)) static void planted_fault(void) {
    fresh[0] = 1;
    fresh += 4096;
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void planted_lock(void) {
    pthread_mutex_lock(&lock);
    sum++;
    pthread_mutex_unlock(&lock);
    __asm__ volatile("" ::: "memory");
}

static int question[2], answer[2];
__attribute__((noinline)) static void planted_server(void) {
    char byte = 1;
    if (write(question[1], &byte, 1) == 1 && read(answer[0], &byte, 1) == 1) sum++;
    __asm__ volatile("" ::: "memory");
}

// Answers what the loop asks, with a lower priority than the loop has.
static void *server(void *unused) {
    char byte;
    (void)unused;
    pthread_setname_np(pthread_self(), "server");
    while (read(question[0], &byte, 1) == 1 && write(answer[1], &byte, 1) == 1) continue;
    return NULL;
}

__attribute__((noinline)) static void planted_sleep(void) {
    usleep(50);
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void planted_printf(void) {
    printf("cycle\n");
    fflush(stdout);
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void planted_migration(void) {
    cpu_set_t set;
    int other = sched_getcpu() == 0 ? 1 : 0;
    CPU_ZERO(&set);
    CPU_SET(other, &set);
    sched_setaffinity(0, sizeof set, &set);
    __asm__ volatile("" ::: "memory");
}

// Holds the lock for 200 us of each millisecond, so that the loop finds it held.
static void *holder(void *unused) {
    (void)unused;
    pthread_setname_np(pthread_self(), "holder");
    while (holder_runs) {
        pthread_mutex_lock(&lock);
        usleep(300);
        pthread_mutex_unlock(&lock);
        usleep(300);
    }
    return NULL;
}

static void add(struct timespec *time, long ns) {
    time->tv_nsec += ns;
    while (time->tv_nsec >= 1000000000) {
        time->tv_nsec -= 1000000000;
        time->tv_sec++;
    }
}

// Another program of higher priority, which takes the loop's CPU for 400 us every so many cycles.
static void hog(long cycles, struct timespec next) {
    struct sched_param param = {60};
    struct timespec now, until;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "planted_hog");
    sched_setscheduler(0, SCHED_FIFO, &param);
    add(&next, PERIOD_NS - HOG_NS / 4);
    for (;;) {
        for (long cycle = 0; cycle < cycles; cycle++) add(&next, PERIOD_NS);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        clock_gettime(CLOCK_MONOTONIC, &until);
        add(&until, HOG_NS);
        do clock_gettime(CLOCK_MONOTONIC, &now);
        while (now.tv_sec < until.tv_sec || (now.tv_sec == until.tv_sec && now.tv_nsec < until.tv_nsec));
    }
}

static int by_size(const void *one, const void *other) {
    long a = *(const long *)one, b = *(const long *)other;
    return (a > b) - (a < b);
}

// Prints the latencies that the loop saw itself: median, 99th percentile and maximum, in nanoseconds.
static void tell(long *latencies, long count) {
    qsort(latencies, (size_t)count, sizeof *latencies, by_size);
    printf("own latency %ld %ld %ld\n", latencies[count / 2], latencies[count * 99 / 100], latencies[count - 1]);
}

// Writes when the first cycle was released, in nanoseconds of CLOCK_MONOTONIC. The others follow a millisecond apart, whatever
// happens to the loop.
static void record(struct timespec first) {
    const char *path = getenv("LOOP_RECORD");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    fprintf(file, "%lld\n", (long long)first.tv_sec * 1000000000 + first.tv_nsec);
    fclose(file);
}

static int is(const char *kind, const char *name) { return strcmp(kind, name) == 0; }

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    const char *kind = argv[1];
    long every = atol(argv[2]), cycles = atol(argv[3]);
    void (*defect)(void) = NULL;
    if (is(kind, "malloc")) defect = planted_malloc;
    if (is(kind, "small")) defect = planted_small;
    if (is(kind, "server")) defect = planted_server;
    if (is(kind, "fault")) defect = planted_fault;
    if (is(kind, "lock")) defect = planted_lock;
    if (is(kind, "sleep")) defect = planted_sleep;
    if (is(kind, "printf")) defect = planted_printf;
    if (is(kind, "migration")) defect = planted_migration;
    int relative = is(kind, "relative"), timer = is(kind, "timerfd"), polled = is(kind, "epoll");
    clockid_t clock = is(kind, "realtime") ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    if (!defect && !relative && !timer && !polled && !is(kind, "clean") && !is(kind, "hog") && !is(kind, "timed") && !is(kind, "realtime")) return 2;

    mallopt(M_MMAP_THRESHOLD, BLOCK / 2);
    struct sched_param param = {.sched_priority = 50};
    pthread_t thread;
    if (is(kind, "lock")) pthread_create(&thread, NULL, holder, NULL);
    if (is(kind, "server") && (pipe(question) || pipe(answer) || pthread_create(&thread, NULL, server, NULL))) return 1;
    sched_setscheduler(0, SCHED_FIFO, &param);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &set);
    sched_setaffinity(0, sizeof set, &set);
    mlockall(MCL_CURRENT | (is(kind, "malloc") || is(kind, "fault") ? 0 : MCL_FUTURE));
    // Locked memory is taken at once, so a loop without faults must not ask for a page for each cycle.
    size_t untouched = is(kind, "fault") ? 4096UL * (cycles + 1) : 4096;
    fresh = (char *)mmap(NULL, untouched, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    madvise(fresh, untouched, MADV_NOHUGEPAGE);

    int fd = timerfd_create(CLOCK_MONOTONIC, 0), poll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
    struct timespec next, length = {0, PERIOD_NS};
    clock_gettime(clock, &next);
    struct timespec first = next;
    add(&first, PERIOD_NS);
    struct itimerspec spec = {length, first};
    if (timer || polled) timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL);
    if (is(kind, "hog") && fork() == 0) hog(every, next);
    long *latencies = (long *)calloc((size_t)cycles + 1, sizeof *latencies);
    memset(latencies, 1, (size_t)cycles * sizeof *latencies);
    for (long cycle = 0; cycle < cycles; cycle++) {
        uint64_t expirations;
        if (polled && epoll_wait(poll, &event, 1, -1) < 0) return 1;
        if (timer || polled) {
            if (read(fd, &expirations, sizeof expirations) < 0) return 1;
        } else if (relative) {
            clock_nanosleep(clock, 0, &length, NULL);
        } else {
            add(&next, PERIOD_NS);
            clock_nanosleep(clock, TIMER_ABSTIME, &next, NULL);
            struct timespec woke;
            clock_gettime(clock, &woke);
            latencies[cycle] = (woke.tv_sec - next.tv_sec) * 1000000000L + woke.tv_nsec - next.tv_nsec;
        }
        work();
        if (defect && cycle % every == every - 1) defect();
    }
    holder_runs = 0;
    if (is(kind, "timed")) tell(latencies, cycles);
    if (clock == CLOCK_MONOTONIC && !relative) record(first);
    return 0;
}
