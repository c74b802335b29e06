/*
 * Measures how punctually a thread of this machine wakes up, with the options that cyclictest users know.
 *
 *   cc cyclictest_like.c -o cyclictest_like $(pkg-config --cflags --libs punctual_rt)
 *   ./cyclictest_like -p 90 -i 1000 -D 10 -a 1 -w sleep
 *
 *   -p PRIORITY   SCHED_FIFO at 1 to 95 (none: an ordinary thread)
 *   -i INTERVAL   period in microseconds (1000)
 *   -D SECONDS    how long (10)
 *   -a CPU        which CPU (any)
 *   -w WAIT       sleep, anticipate, hybrid or spin (hybrid)
 */
#include <punctual_rt.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "cyclictest_like: %s: %s\n", what, why);
    return 1;
}

/* Returns a whole number from 0 to `max`, or -1 for any other text. */
static int64_t number(const char *text, int64_t max)
{
    char *end;
    long long value;

    errno = 0;
    value = strtoll(text, &end, 10);
    return errno != 0 || end == text || *end != '\0' || value < 0 || value > max ? -1 : (int64_t)value;
}

static int64_t wait_named(const char *name)
{
    static const char *const names[] = {"hybrid", "sleep", "anticipate", "spin"};
    static const uint32_t waits[] = {PRT_WAIT_HYBRID, PRT_WAIT_SLEEP, PRT_WAIT_ANTICIPATE, PRT_WAIT_SPIN};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) {
            return (int64_t)waits[i];
        }
    }
    return -1;
}

/* Fills `config`, `cpu` and `seconds` from the command line. Returns what is wrong, or NULL. */
static const char *read_options(int argc, char **argv, prt_config *config, uint32_t *cpu, int64_t *seconds)
{
    for (int i = 1; i < argc; i += 2) {
        const char *option = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        int64_t n = strcmp(option, "-w") == 0 ? wait_named(value) : number(value, 1000000000);

        if (n < 0) {
            return option;
        } else if (strcmp(option, "-p") == 0) {
            config->policy = n == 0 ? PRT_POLICY_OTHER : PRT_POLICY_FIFO;
            config->priority = (uint32_t)n;
        } else if (strcmp(option, "-i") == 0) {
            config->period_ns = n * 1000;
        } else if (strcmp(option, "-D") == 0) {
            *seconds = n;
        } else if (strcmp(option, "-a") == 0) {
            *cpu = (uint32_t)n;
            config->cpus = cpu;
            config->cpu_count = 1;
        } else if (strcmp(option, "-w") == 0) {
            config->wait = (uint32_t)n;
        } else {
            return option;
        }
    }
    return NULL;
}

static void print_time(const char *name, int64_t ns)
{
    if (ns < 0) {
        printf(" %s: -", name); /* too few values to tell */
    } else {
        printf(" %s: %lld ns", name, (long long)ns);
    }
}

static void print_line(const prt_stats *stats)
{
    const prt_summary *late = &stats->latency;

    printf("C: %llu", (unsigned long long)stats->activations);
    print_time("Min", late->min_ns);
    print_time("Avg", late->mean_ns);
    print_time("Max", late->max_ns);
    print_time("P50", late->p50_ns);
    print_time("P99", late->p99_ns);
    print_time("P99.9", late->p999_ns);
    print_time("P99.99", late->p9999_ns);
    printf(" missed: %llu\n\n", (unsigned long long)stats->missed);
}

int main(int argc, char **argv)
{
    prt_config config;
    prt_cyclic *cyclic;
    prt_stats stats;
    prt_wake wake;
    const char *wrong;
    char text[8192];
    uint32_t cpu = 0;
    int64_t seconds = 10, end = 0;
    int returned;

    prt_config_init(&config, sizeof config);
    config.name = "cyclictest";
    config.period_ns = 1000000;
    config.memory = PRT_MEMORY_LOCK;
    config.require = PRT_REQUIRE_BEST_EFFORT;
    wrong = read_options(argc, argv, &config, &cpu, &seconds);
    if (wrong != NULL) {
        return fail(wrong, "unknown, or its value can not be used; see the head of this file");
    }
    if (prt_cyclic_open(&config, &cyclic) < 0) {
        return fail("start", prt_last_error());
    }
    prt_cyclic_grants(cyclic, text, sizeof text);
    printf("%s\n", text);

    prt_wake_init(&wake, sizeof wake);
    while ((returned = prt_cyclic_wait(cyclic, &wake)) == 0 && (end == 0 || wake.woke_ns < end)) {
        if (end == 0) { /* the first wait chose when to begin */
            end = wake.woke_ns + seconds * 1000000000;
        }
        prt_cyclic_finish(cyclic);
    }
    if (returned < 0) {
        return fail("wait", prt_error_text(returned));
    }

    prt_stats_init(&stats, sizeof stats);
    if (prt_cyclic_stats(cyclic, &stats) < 0) {
        return fail("statistics", prt_last_error());
    }
    print_line(&stats);
    prt_cyclic_report(cyclic, text, sizeof text);
    puts(text);
    return prt_cyclic_close(cyclic) < 0;
}
