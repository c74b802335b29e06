// The loop that C++ programs write by hand: sleep until an absolute instant, work, compute the next instant.
//
// Arguments: CPU, SCHED_FIFO priority (0: none), period, offset, number of releases at the start that are not counted,
// number of counted releases. All times are in nanoseconds. The output is the text that `Taken::from_lines` in round.rs
// reads.

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include <csignal>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>

namespace {

constexpr std::int64_t SECOND = 1'000'000'000;

std::int64_t read_clock(clockid_t clock)
{
    timespec time{};
    clock_gettime(clock, &time);
    return time.tv_sec * SECOND + time.tv_nsec;
}

void sleep_until(std::int64_t at)
{
    const timespec time{at / SECOND, at % SECOND};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) {
    }
}

bool set_up(int cpu, int priority)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(static_cast<std::size_t>(cpu), &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) {
        std::perror("sched_setaffinity");
        return false;
    }
    mlockall(MCL_CURRENT | MCL_FUTURE); // Tried, but not required, as in the other loops.
    prctl(PR_SET_TIMERSLACK, 1);
    sigset_t signals;
    sigfillset(&signals);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    if (priority > 0) {
        sched_param parameters{};
        parameters.sched_priority = priority;
        if (sched_setscheduler(0, SCHED_FIFO, &parameters) != 0) {
            std::perror("sched_setscheduler");
            return false;
        }
    }
    return true;
}

} // namespace

int main(int count, char** words)
{
    if (count != 7) {
        std::fputs("usage: CPU PRIORITY PERIOD OFFSET SETTLING CYCLES\n", stderr);
        return 2;
    }
    const std::int64_t period = std::atoll(words[3]), offset = std::atoll(words[4]);
    const std::int64_t settling = std::atoll(words[5]), cycles = std::atoll(words[6]);
    std::vector<std::int64_t> errors(static_cast<std::size_t>(cycles), -1);
    if (!set_up(std::atoi(words[1]), std::atoi(words[2]))) {
        return 1;
    }
    constexpr std::int64_t step = 20'000'000, lead = 5'000'000;
    std::int64_t release = ((read_clock(CLOCK_MONOTONIC) + lead) / step + 1) * step + offset;
    std::int64_t error = 0, passed = 0;
    const auto wait = [&] {
        sleep_until(release);
        error = read_clock(CLOCK_MONOTONIC) - release;
        passed = error > 0 ? error / period : 0;
        release += (passed + 1) * period;
    };
    for (std::int64_t due = 0; due < settling; due += passed + 1) {
        wait();
    }
    const std::int64_t began = read_clock(CLOCK_MONOTONIC), cpu_before = read_clock(CLOCK_THREAD_CPUTIME_ID);
    std::int64_t missed = 0;
    std::size_t ran = 0;
    while (static_cast<std::int64_t>(ran) + missed < cycles) {
        wait();
        errors[ran++] = error;
        missed += passed;
    }
    const std::int64_t cpu = read_clock(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
    const std::int64_t elapsed = read_clock(CLOCK_MONOTONIC) - began;
    std::printf("%lld %lld %lld 0\n", static_cast<long long>(cpu), static_cast<long long>(elapsed),
                static_cast<long long>(missed));
    for (std::size_t k = 0; k < ran; ++k) {
        std::printf("%lld\n", static_cast<long long>(errors[k]));
    }
    return 0;
}
