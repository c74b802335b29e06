/*
 * Runs a task with a period of 1 ms for a second, and prints how it went.
 *
 *   cc hello_periodic.c -o hello_periodic $(pkg-config --cflags --libs punctual_rt) && ./hello_periodic
 */
#include <punctual_rt.h>
#include <stdio.h>

static int body(prt_cycle *cycle, void *user)
{
    int *left = user;
    (void)cycle; /* ... read, compute, write ... */
    return --*left == 0;
}

int main(void)
{
    prt_config config;
    prt_task *task;
    char text[8192];
    int left = 1000;

    prt_config_init(&config, sizeof config);
    config.period_ns = 1000000;
    config.policy = PRT_POLICY_FIFO;
    config.priority = 85;
    config.require = PRT_REQUIRE_BEST_EFFORT; /* an ordinary user gets no priority; go on all the same */

    if (prt_task_spawn(&config, body, &left, &task) < 0) {
        return fprintf(stderr, "hello_periodic: %s\n", prt_last_error()), 1;
    }
    prt_task_join(task);
    prt_task_report(task, text, sizeof text);
    puts(text);
    return prt_task_close(task) < 0;
}
