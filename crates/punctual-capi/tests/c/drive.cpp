// Uses every part of the C++ header correctly, and some parts incorrectly.
#include <punctual_rt.hpp>

#include "expect.h"
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>

static prt::Config config_of(const char *name)
{
    prt::Config config(1'000'000);
    config.name(name).best_effort().raw.phase = PRT_PHASE_OFFSET;
    return config;
}

static void tasks()
{
    int count = 0;
    prt::Task first(config_of("first"), [&count](prt::Cycle &cycle) {
        prt::Wake wake;
        std::int64_t next_ns = 0;
        EXPECT_TRUE(!cycle.wake(wake) && !cycle.next_release(next_ns) && !cycle.steer(100) && !cycle.shift_phase(0));
        EXPECT_TRUE(!cycle.set_period(1'000'000) && next_ns > wake.release_ns);
        return ++count == 20 ? prt::Control::stop : prt::Control::go_on;
    });
    prt::Task moved = std::move(first);
    EXPECT(moved.join(), PRT_ENDED_STOPPED);
    EXPECT(count, 20);
    EXPECT(moved.stats().activations, 20);
    EXPECT_TRUE(moved.report().find("latency") != std::string::npos && !moved.grants().empty());
    EXPECT_TRUE(first.stop() == std::errc::bad_address); // NOLINT: a moved-from task has no handle

    prt::Task throwing(config_of("throwing"), [](prt::Cycle &) -> prt::Control { throw std::runtime_error("oh"); });
    try {
        throwing.join();
        EXPECT_TRUE(false);
    } catch (const std::runtime_error &error) {
        EXPECT_TRUE(std::string(error.what()) == "oh");
    }
    try {
        throwing.join();
        EXPECT_TRUE(false);
    } catch (const prt::Error &error) {
        EXPECT(error.code().value(), PRT_E_DONE);
    }
    // The task ends at the end of its scope, or when another task is assigned to the variable.
    prt::Task endless(config_of("endless"), [](prt::Cycle &) { return prt::Control::go_on; });
    endless = prt::Task(config_of("other"), [](prt::Cycle &) { return prt::Control::go_on; });
}

static void groups()
{
    prt::Group group;
    int counts[2] = {0, 0};
    for (int &count : counts) {
        group.add(config_of("member"), [&count](prt::Cycle &) {
            return ++count == 5 ? prt::Control::stop : prt::Control::go_on;
        });
    }
    for (prt::Task &task : group.start()) {
        EXPECT(task.join(), PRT_ENDED_STOPPED);
    }
    EXPECT(counts[0] + counts[1], 10);
}

static void loops()
{
    prt::Cyclic cyclic(config_of("loop"));
    prt::Servo servo(1'000'000, 1.0);
    prt::Wake wake;
    std::error_code error;
    for (int n = 0; n < 20; ++n) {
        EXPECT_TRUE(!cyclic.wait(wake));
        const auto steer_ns = servo.sample(static_cast<std::uint64_t>(wake.woke_ns), wake.woke_ns, wake.release_ns, &error);
        EXPECT_TRUE(!error && !cyclic.steer(steer_ns) && !cyclic.finish());
    }
    EXPECT_TRUE(servo.sample32(1, prt::now(), prt::now(), &error) <= 5000 && !error);
    EXPECT(servo.coast(), servo.coast());
    EXPECT_TRUE(!servo.set_target(5) && !servo.set_period(1'000'000));
    EXPECT(servo.state().target_ns, 5);
    EXPECT_TRUE(!cyclic.set_period(2'000'000) && !cyclic.shift_phase(5) && !cyclic.resync());
    std::thread([&cyclic, &wake] { EXPECT(cyclic.wait(wake).value(), PRT_E_THREAD); }).join();
    EXPECT(cyclic.stats().activations, 20);
    EXPECT(prt::StatsReader(static_cast<std::uint32_t>(getpid()), "loop").snapshot().activations, 20);
    EXPECT_TRUE(!cyclic.report().empty() && !cyclic.grants().empty() && !cyclic.stop());
    EXPECT_TRUE(cyclic.wait(wake) == std::errc::operation_canceled);
}

struct Sample {
    std::int64_t value;
    float other[5];
};

static void talking()
{
    auto [sender, receiver] = prt::spsc<Sample>(4);
    Sample sample{7, {}};
    EXPECT_TRUE(receiver.pop(sample) == std::errc::resource_unavailable_try_again);
    for (int n = 0; n < 5; ++n) {
        EXPECT(static_cast<bool>(sender.push(sample)), n == 4);
    }
    EXPECT_TRUE(!receiver.pop(sample) && sample.value == 7);
    EXPECT(receiver.refused(), 1);

    auto [writer, reader] = prt::latest(Sample{1, {}});
    bool is_new = true;
    EXPECT_TRUE(!reader.read(sample, is_new) && !is_new && sample.value == 1);
    EXPECT_TRUE(!writer.write(Sample{2, {}}) && !reader.read(sample, is_new) && is_new && sample.value == 2);

    prt::Signal signal;
    EXPECT_TRUE(signal.try_wait() == std::errc::resource_unavailable_try_again);
    EXPECT_TRUE(signal.wait_until(prt::now() + 1000) == std::errc::timed_out);
    EXPECT_TRUE(!signal.post() && !signal.wait());

    prt::Log log("cpp.log", "cpp.perfetto-trace");
    prt::LogWriter log_writer = log.writer("loop", 16);
    const prt::Text text("value {}"), name("work");
    EXPECT_TRUE(!log_writer.begin(name) && !log_writer.message(text, 5) && !log_writer.counter(name, 0.5));
    EXPECT_TRUE(!log_writer.end(name));
    EXPECT(log.close(), 4);
}

static void locks_and_dogs()
{
    prt::Semaphore semaphore{PRT_BACKEND_LINUX, 1};
    EXPECT_TRUE(!semaphore.wait() && !semaphore.post() && !semaphore.try_wait());
    EXPECT_TRUE(semaphore.wait_until(prt::now() + 1000) == std::errc::timed_out);
    prt::PiMutex mutex{PRT_BACKEND_LINUX};
    {
        const prt::Lock lock(mutex);
        EXPECT_TRUE(lock && !lock.error() && !lock.owner_died());
        std::thread([&mutex] {
            EXPECT_TRUE(prt::Lock(mutex, std::try_to_lock).error() == std::errc::device_or_resource_busy);
            EXPECT_TRUE(prt::Lock(mutex, prt::now() + 1000).error() == std::errc::timed_out);
        }).join();
    }
    EXPECT_TRUE(static_cast<bool>(prt::Lock(mutex, std::try_to_lock)));

    prt::Watchdog watchdog(prt::Watchdog::usual(1'000'000));
    {
        prt::Heart heart = watchdog.watch("stops", 60'000'000'000);
        EXPECT_TRUE(!heart.beat() && !heart.retire());
        EXPECT_TRUE(heart.beat() == std::errc::bad_address);
        EXPECT(watchdog.misses(), 0);
        prt::Heart thrown_away = watchdog.watch("dies", 3'000'000);
    }
    for (int n = 0; n < 1000 && watchdog.misses() == 0; ++n) {
        prt::delay_until(prt::now() + 10'000'000);
    }
    EXPECT(watchdog.misses(), 1);
}

static void refusals()
{
    try {
        prt::Config config(0);
        prt::Cyclic cyclic(config);
        EXPECT_TRUE(false);
    } catch (const prt::Error &error) {
        EXPECT(error.code().value(), PRT_E_PERIOD);
        EXPECT_TRUE(std::string(error.what()).find("period") != std::string::npos);
    }
    try {
        prt::Log log("no/such/folder/x");
        EXPECT_TRUE(false);
    } catch (const prt::Error &error) {
        EXPECT_TRUE(error.code() == std::errc::no_such_file_or_directory);
    }
    prt::Config config(1'000'000);
    config.fifo(80).cpus({0}).wait(PRT_WAIT_SPIN).lock_memory(65536, 0);
    const auto findings = config.findings();
    EXPECT_TRUE(prt::Config::findings({config, config}).size() > findings.size());
    EXPECT_TRUE(!findings.empty() && !findings.front().code.empty() && !findings.front().remedy.empty());
}

int main()
{
    prt::delay_until(prt::now() + 100'000);
    tasks();
    groups();
    loops();
    talking();
    locks_and_dogs();
    refusals();
    std::puts("all good");
    return 0;
}
