/* Loads the library with dlopen, as a plug-in would, and checks whether the first cycles of a thread allocate. */
#include <punctual_rt.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The allocator of the C library, to which the functions below pass every call on. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *at, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

/* When the calling thread last allocated. Thread-local storage of the program itself needs no allocation. */
static __thread int64_t last_ns;

static void note(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    last_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void *malloc(size_t size) { return note(), __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return note(), __libc_calloc(count, size); }
void *realloc(void *at, size_t size) { return note(), __libc_realloc(at, size); }
void *memalign(size_t alignment, size_t size) { return note(), __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return note(), __libc_memalign(alignment, size); }
int posix_memalign(void **at, size_t alignment, size_t size)
{
    note();
    *at = __libc_memalign(alignment, size);
    return *at == NULL;
}

#define FUNCTIONS(use)                                                                                                 \
    use(prt_config_init) use(prt_wake_init) use(prt_task_spawn) use(prt_task_join) use(prt_task_close)                 \
    use(prt_cycle_wake) use(prt_cyclic_open) use(prt_cyclic_wait) use(prt_cyclic_finish) use(prt_cyclic_steer)         \
    use(prt_cyclic_close) use(prt_now) use(prt_delay_until)

#define DECLARE(name) static __typeof__(name) *late_##name;
FUNCTIONS(DECLARE)

static void *find(void *library, const char *name)
{
    void *const found = dlsym(library, name);

    if (found == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return found;
}

static void expect(int is_so, const char *what)
{
    if (!is_so) {
        fprintf(stderr, "not so: %s\n", what);
        exit(1);
    }
}

static prt_config config_of(void)
{
    prt_config config;

    expect(late_prt_config_init(&config, sizeof config) == 0, "init");
    config.period_ns = 1000000;
    config.phase = PRT_PHASE_OFFSET;
    config.require = PRT_REQUIRE_BEST_EFFORT;
    return config;
}

struct seen {
    int cycles;
    int64_t first_ns;
};

static int body(prt_cycle *cycle, void *user)
{
    struct seen *seen = (struct seen *)user;
    prt_wake wake;

    expect(late_prt_wake_init(&wake, sizeof wake) == 0 && late_prt_cycle_wake(cycle, &wake) == 0, "wake");
    if (seen->cycles == 0) {
        seen->first_ns = wake.release_ns;
    }
    expect(last_ns < seen->first_ns, "a task allocates nothing after its first release");
    return ++seen->cycles == 5;
}

static void *loop(void *user)
{
    prt_config config = config_of();
    prt_cyclic *cyclic;
    int64_t opened_ns;

    (void)user;
    expect(late_prt_cyclic_open(&config, &cyclic) == 0, "open");
    opened_ns = late_prt_now();
    for (int n = 0; n < 5; n++) {
        expect(late_prt_cyclic_wait(cyclic, NULL) == 0, "wait");
        expect(late_prt_cyclic_steer(cyclic, 100, NULL) == 0 && late_prt_cyclic_finish(cyclic) == 0, "steer");
        expect(last_ns < opened_ns, "a loop allocates nothing once it is open");
    }
    expect(late_prt_cyclic_close(cyclic) == 0, "close");
    return NULL;
}

static void *delay(void *user)
{
    const int64_t began_ns = late_prt_now();

    (void)user;
    expect(late_prt_delay_until(began_ns + 1000) == 0, "delay");
    expect(last_ns >= began_ns, "the first delay of a thread allocates: it is seen here");
    return NULL;
}

int main(int count, char **words)
{
    void *const library = count == 2 ? dlopen(words[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    struct seen seen = {0, 0};
    prt_task *task;
    prt_config config;
    pthread_t other;

    expect(library != NULL, "the library can be loaded");
#define FIND(name) *(void **)&late_##name = find(library, #name);
    FUNCTIONS(FIND)
    config = config_of();
    expect(late_prt_task_spawn(&config, body, &seen, &task) == 0, "spawn");
    expect(late_prt_task_join(task) == PRT_ENDED_STOPPED && seen.cycles == 5, "join");
    expect(late_prt_task_close(task) == 0, "close");
    expect(pthread_create(&other, NULL, loop, NULL) == 0 && pthread_join(other, NULL) == 0, "loop");
    expect(pthread_create(&other, NULL, delay, NULL) == 0 && pthread_join(other, NULL) == 0, "delay");
    puts("nothing was allocated");
    return 0;
}
