/*
 * A loop that `punctual watch` is tried on. Its main thread sleeps until absolute times, every 5 ms; a second one, "axis", reads
 * a timer file, every 4 ms. Signals make it do what programs do: USR1 plants a late cycle, USR2 renames it, HUP executes
 * another file, TERM ends it.
 *
 * It keeps its own record, so that a busy machine changes what is expected as well as what is found. At each planted cycle and
 * at its end it appends a line to a file: its name, the largest planted latency before the kernel was asked to wait, the
 * largest time from any release to the end of the wait after it, and the releases that it skipped. The wake-up that the
 * kernel records is between those two times.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define PERIOD 5000000LL
#define AXIS_PERIOD 4000000L
#define PLANTED (30 * PERIOD)
#define SECOND 1000000000LL

static volatile sig_atomic_t asked[65];

static void ask(int number) { asked[number] = 1; }

static int is_asked(int number) {
    int is = asked[number];
    asked[number] = 0;
    return is;
}

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * SECOND + t.tv_nsec;
}

static void *axis(void *unused) {
    struct itimerspec every = {{0, AXIS_PERIOD}, {0, AXIS_PERIOD}};
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    uint64_t expired;
    prctl(PR_SET_NAME, "axis");
    timerfd_settime(timer, 0, &every, 0);
    while (read(timer, &expired, sizeof expired) == sizeof expired) {
    }
    return unused;
}

int main(int count, char **words) {
    static const int signals[] = {SIGUSR1, SIGUSR2, SIGHUP, SIGTERM};
    int64_t release, late, planted = 0, largest = 0;
    unsigned i, skipped = 0;
    char name[16];
    pthread_t thread;
    sigset_t set;
    if (count < 3) return 1;
    sigemptyset(&set);
    for (i = 0; i < sizeof signals / sizeof *signals; i++) sigaddset(&set, signals[i]);
    sigprocmask(SIG_BLOCK, &set, 0);
    for (i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], ask);
    if (pthread_create(&thread, 0, axis, 0)) return 1;
    sigprocmask(SIG_UNBLOCK, &set, 0);
    release = now();
    for (;;) {
        int64_t before = release;
        int is_planted = is_asked(SIGUSR1), ends = is_asked(SIGTERM), becomes = is_asked(SIGHUP);
        if (is_asked(SIGUSR2)) prctl(PR_SET_NAME, "renamed");
        if (is_planted || ends || becomes) {
            FILE *file = fopen(words[1], "a");
            if (is_planted) {
                release += PERIOD;
                while (now() < release + PLANTED) {
                }
                planted = now() - release;
                clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &(struct timespec){release / SECOND, release % SECOND}, 0);
                before = release;
                late = (now() - release) / PERIOD;
                skipped += late;
                release += late * PERIOD;
            }
            prctl(PR_GET_NAME, name);
            fprintf(file, "%s %lld %lld %u\n", name, (long long)planted, (long long)largest, skipped);
            fclose(file);
        }
        if (ends) return 0;
        if (becomes) execl(words[2], words[2], words[1], words[2], (char *)0);
        release += PERIOD;
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &(struct timespec){release / SECOND, release % SECOND}, 0)) {
        }
        if (now() - before > largest) largest = now() - before;
    }
}
