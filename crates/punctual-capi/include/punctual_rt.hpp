/*
 * libpunctual_rt for C++17: owners for the handles of punctual_rt.h, and nothing else.
 *
 * - Functions that are not for the loop (constructors, join, snapshots) throw prt::Error.
 * - Functions for the loop are noexcept and return a std::error_code, which is false on success.
 * - A body may throw: the task ends, and join() throws it again.
 */

#ifndef PUNCTUAL_RT_HPP
#define PUNCTUAL_RT_HPP

#include "punctual_rt.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace prt {

/// The error category for the numbers that the library returns.
class Category final : public std::error_category {
public:
    const char *name() const noexcept override { return "punctual_rt"; }
    std::string message(int code) const override { return prt_error_text(code); }
    std::error_condition default_error_condition(int code) const noexcept override
    {
        // Numbers down to -4095 are errno values with their sign turned.
        return code < 0 && code >= -4095 ? std::error_condition(-code, std::generic_category())
                                         : std::error_condition(code, *this);
    }
};

inline const std::error_category &category() noexcept
{
    static const Category instance;
    return instance;
}

/// Converts a returned number to an error code. A count of 0 or more is not an error.
inline std::error_code code(int returned) noexcept { return {returned < 0 ? returned : 0, category()}; }

/// Thrown by functions that are not for the loop. what() tells what was refused, why, and what to do about it.
class Error : public std::system_error {
public:
    Error(int returned, const std::string &why) : std::system_error(prt::code(returned), why) {}
};

/// Throws if `returned` is an error, and returns it otherwise.
inline int check(int returned)
{
    if (returned < 0) {
        throw Error(returned, prt_last_error());
    }
    return returned;
}

namespace detail {

/// Closes a handle when it goes out of scope.
template <typename T, int (*Close)(T *)> class Handle {
public:
    Handle() noexcept = default;
    explicit Handle(T *handle) noexcept : handle_(handle) {}
    Handle(Handle &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Handle &operator=(Handle &&other) noexcept
    {
        if (this != &other) {
            reset();
            handle_ = std::exchange(other.handle_, nullptr);
        }
        return *this;
    }
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;
    ~Handle() { reset(); }

    T *get() const noexcept { return handle_; }
    T **out() noexcept { return &handle_; }
    void reset() noexcept
    {
        if (handle_ != nullptr) {
            // Closing is refused only if another thread uses the handle at the same moment.
            static_cast<void>(Close(std::exchange(handle_, nullptr)));
        }
    }

private:
    T *handle_ = nullptr;
};

/// Calls a function of the library that writes a text, and returns the text.
template <typename Copy> std::string text(Copy copy)
{
    std::string buffer(static_cast<std::size_t>(check(copy(nullptr, std::size_t{0}))) + 4096, '\0');
    const auto whole = static_cast<std::size_t>(check(copy(buffer.data(), buffer.size())));
    buffer.resize(whole < buffer.size() ? whole : buffer.size() - 1);
    return buffer;
}

} // namespace detail

/// One activation; see prt_wake.
struct Wake : prt_wake {
    Wake() noexcept : prt_wake{} { static_cast<void>(prt_wake_init(this, sizeof(prt_wake))); }
};

/// The statistics of a loop; see prt_stats.
struct Stats : prt_stats {
    Stats() noexcept : prt_stats{} { static_cast<void>(prt_stats_init(this, sizeof(prt_stats))); }
};

/// One obstacle between a task and its period; see prt_finding.
struct Finding {
    std::uint32_t severity;
    std::string code, task, evidence, remedy;
};

/// The configuration of a task. Members without a function here are set in `raw`.
class Config {
public:
    prt_config raw{};

    explicit Config(std::int64_t period_ns)
    {
        check(prt_config_init(&raw, sizeof raw));
        raw.period_ns = period_ns;
    }
    Config &name(std::string name)
    {
        name_ = std::move(name);
        return *this;
    }
    Config &cpus(std::vector<std::uint32_t> cpus)
    {
        cpus_ = std::move(cpus);
        return *this;
    }
    Config &fifo(std::uint32_t priority) noexcept
    {
        raw.policy = PRT_POLICY_FIFO;
        raw.priority = priority;
        return *this;
    }
    Config &wait(std::uint32_t wait) noexcept
    {
        raw.wait = wait;
        return *this;
    }
    Config &lock_memory(std::uint64_t stack_bytes, std::uint64_t heap_bytes) noexcept
    {
        raw.memory = PRT_MEMORY_LOCK;
        raw.stack_bytes = stack_bytes;
        raw.heap_bytes = heap_bytes;
        return *this;
    }
    Config &best_effort() noexcept
    {
        raw.require = PRT_REQUIRE_BEST_EFFORT;
        return *this;
    }

    /// The configuration for C functions. Valid while this object lives.
    prt_config get() const noexcept
    {
        prt_config config = raw;
        if (!name_.empty()) {
            config.name = name_.c_str();
        }
        if (!cpus_.empty()) {
            config.cpus = cpus_.data();
            config.cpu_count = static_cast<std::uint32_t>(cpus_.size());
        }
        return config;
    }

    /// Checks what on this machine can keep the task from holding its period; gravest finding first.
    std::vector<Finding> findings() const
    {
        return findings({*this});
    }

    /// Checks the tasks of one program, each on its own and against the others.
    static std::vector<Finding> findings(const std::vector<Config> &tasks)
    {
        std::vector<prt_config> configs;
        std::vector<const prt_config *> pointers;
        configs.reserve(tasks.size());
        for (const Config &task : tasks) {
            pointers.push_back(&configs.emplace_back(task.get()));
        }
        detail::Handle<prt_findings, prt_findings_close> handle;
        const int found = check(prt_group_check(pointers.data(), pointers.size(), handle.out()));
        const auto count = static_cast<std::size_t>(found);
        std::vector<Finding> all;
        for (std::size_t index = 0; index < count; ++index) {
            prt_finding one{};
            check(prt_finding_init(&one, sizeof one));
            check(prt_findings_get(handle.get(), index, &one));
            all.push_back({one.severity, one.code, one.task, one.evidence, one.remedy});
        }
        return all;
    }

private:
    std::string name_;
    std::vector<std::uint32_t> cpus_;
};

/// The current activation of a task, as passed to its body.
class Cycle {
public:
    explicit Cycle(prt_cycle *cycle) noexcept : cycle_(cycle) {}

    std::error_code wake(Wake &wake) const noexcept { return code(prt_cycle_wake(cycle_, &wake)); }
    std::error_code steer(std::int64_t by_ns, std::int64_t *moved_ns = nullptr) noexcept
    {
        return code(prt_cycle_steer(cycle_, by_ns, moved_ns));
    }
    std::error_code set_period(std::int64_t period_ns) noexcept { return code(prt_cycle_set_period(cycle_, period_ns)); }
    std::error_code shift_phase(std::int64_t by_ns) noexcept { return code(prt_cycle_shift_phase(cycle_, by_ns)); }
    std::error_code next_release(std::int64_t &release_ns) const noexcept
    {
        return code(prt_cycle_next_release(cycle_, &release_ns));
    }

private:
    prt_cycle *cycle_;
};

/// The return value of a body: whether the task goes on.
enum class Control { go_on, stop };

namespace detail {

/// A body of any type, and the exception that it threw.
class Body {
public:
    virtual ~Body() = default;
    virtual Control run(Cycle &cycle) = 0;

    static int call(prt_cycle *cycle, void *self) noexcept
    {
        Body &body = *static_cast<Body *>(self);
        try {
            Cycle now(cycle);
            return body.run(now) == Control::stop ? 1 : 0;
        } catch (...) {
            body.thrown_ = std::current_exception();
            return 1;
        }
    }

    /// Rethrows the exception that the body threw, if any. Call it only after the task was joined.
    void throw_again()
    {
        if (thrown_) {
            std::rethrow_exception(std::exchange(thrown_, nullptr));
        }
    }

private:
    std::exception_ptr thrown_;
};

template <typename F> class BodyOf final : public Body {
public:
    explicit BodyOf(F function) : function_(std::move(function)) {}
    Control run(Cycle &cycle) override { return function_(cycle); }

private:
    F function_;
};

template <typename F> std::unique_ptr<Body> body(F &&function)
{
    return std::make_unique<BodyOf<std::decay_t<F>>>(std::forward<F>(function));
}

} // namespace detail

/// A running periodic task. The destructor stops the task and waits for its end.
class Task {
public:
    /// Starts a thread that calls `body(Cycle &)` at each release, until that returns Control::stop.
    template <typename F> Task(const Config &config, F &&body) : body_(detail::body(std::forward<F>(body)))
    {
        const prt_config raw = config.get();
        check(prt_task_spawn(&raw, &detail::Body::call, body_.get(), handle_.out()));
    }
    Task(Task &&) noexcept = default;
    Task &operator=(Task &&other) noexcept
    {
        if (this != &other) {
            handle_ = std::move(other.handle_); // The old thread must end before its body is destroyed.
            body_ = std::move(other.body_);
        }
        return *this;
    }

    std::error_code stop() noexcept { return code(prt_task_stop(handle_.get())); }
    /// Waits until the task has ended. Returns one of PRT_ENDED_..., or throws what the body threw.
    int join()
    {
        const int ended = check(prt_task_join(handle_.get()));
        body_->throw_again();
        return ended;
    }
    Stats stats() const
    {
        Stats stats;
        check(prt_task_stats(handle_.get(), &stats));
        return stats;
    }
    std::string report() const
    {
        return detail::text([this](char *at, std::size_t size) { return prt_task_report(handle_.get(), at, size); });
    }
    std::string grants() const
    {
        return detail::text([this](char *at, std::size_t size) { return prt_task_grants(handle_.get(), at, size); });
    }
    prt_task *get() const noexcept { return handle_.get(); }

private:
    friend class Group;
    Task(std::unique_ptr<detail::Body> body, prt_task *task) noexcept : body_(std::move(body)), handle_(task) {}

    std::unique_ptr<detail::Body> body_; // Destroyed after `handle_`, which ends the thread.
    detail::Handle<prt_task, prt_task_close> handle_;
};

/// Tasks that start at a common epoch and keep their phases to each other.
class Group {
public:
    Group() { check(prt_group_open(handle_.out())); }

    template <typename F> void add(const Config &config, F &&body)
    {
        auto owned = detail::body(std::forward<F>(body));
        const prt_config raw = config.get();
        bodies_.reserve(bodies_.size() + 1);
        check(prt_group_add(handle_.get(), &raw, &detail::Body::call, owned.get()));
        bodies_.push_back(std::move(owned));
    }
    /// Starts all tasks, and returns them in the order in which they were added.
    std::vector<Task> start()
    {
        std::vector<prt_task *> handles(bodies_.size());
        std::vector<Task> tasks;
        tasks.reserve(bodies_.size());
        check(prt_group_start(handle_.get(), handles.data(), handles.size()));
        for (std::size_t index = 0; index < handles.size(); ++index) {
            tasks.push_back(Task(std::move(bodies_[index]), handles[index]));
        }
        bodies_.clear();
        return tasks;
    }

private:
    std::vector<std::unique_ptr<detail::Body>> bodies_;
    detail::Handle<prt_group, prt_group_close> handle_;
};

/// A periodic loop on the thread that creates it. Only that thread may use and destroy it.
class Cyclic {
public:
    explicit Cyclic(const Config &config)
    {
        const prt_config raw = config.get();
        check(prt_cyclic_open(&raw, handle_.out()));
    }

    /// Waits for the next release. The error is std::errc::operation_canceled when the loop has ended.
    std::error_code wait(Wake &wake) noexcept { return code(prt_cyclic_wait(handle_.get(), &wake)); }
    std::error_code finish() noexcept { return code(prt_cyclic_finish(handle_.get())); }
    std::error_code steer(std::int64_t by_ns, std::int64_t *moved_ns = nullptr) noexcept
    {
        return code(prt_cyclic_steer(handle_.get(), by_ns, moved_ns));
    }
    std::error_code set_period(std::int64_t period_ns) noexcept
    {
        return code(prt_cyclic_set_period(handle_.get(), period_ns));
    }
    std::error_code shift_phase(std::int64_t by_ns) noexcept { return code(prt_cyclic_shift_phase(handle_.get(), by_ns)); }
    std::error_code resync(std::uint64_t *passed = nullptr) noexcept
    {
        return code(prt_cyclic_resync(handle_.get(), passed));
    }
    /// May be called from any thread.
    std::error_code stop() noexcept { return code(prt_cyclic_stop(handle_.get())); }
    Stats stats() const
    {
        Stats stats;
        check(prt_cyclic_stats(handle_.get(), &stats));
        return stats;
    }
    std::string report() const
    {
        return detail::text([this](char *at, std::size_t size) { return prt_cyclic_report(handle_.get(), at, size); });
    }
    std::string grants() const
    {
        return detail::text([this](char *at, std::size_t size) { return prt_cyclic_grants(handle_.get(), at, size); });
    }
    prt_cyclic *get() const noexcept { return handle_.get(); }

private:
    detail::Handle<prt_cyclic, prt_cyclic_close> handle_;
};

/// Keeps releases at a fixed phase of another clock.
class Servo {
public:
    /// A configuration with usual values.
    static prt_servo_config usual(std::int64_t period_ns, double bandwidth_hz)
    {
        prt_servo_config config{};
        check(prt_servo_config_init(&config, sizeof config));
        config.period_ns = period_ns;
        config.bandwidth_hz = bandwidth_hz;
        return config;
    }
    explicit Servo(const prt_servo_config &config) { check(prt_servo_open(&config, handle_.out())); }
    Servo(std::int64_t period_ns, double bandwidth_hz) : Servo(usual(period_ns, bandwidth_hz)) {}

    /// Returns by how much to move the next release, or 0 if there is an error, which `error` receives if it is given.
    std::int64_t sample(std::uint64_t reference_ns, std::int64_t local_ns, std::int64_t release_ns,
                        std::error_code *error = nullptr) noexcept
    {
        std::int64_t steer_ns = 0;
        tell(error, prt_servo_sample(handle_.get(), reference_ns, local_ns, release_ns, &steer_ns));
        return steer_ns;
    }
    /// As `sample`, for a reference of which only the low 32 bits are known.
    std::int64_t sample32(std::uint32_t reference_low_ns, std::int64_t local_ns, std::int64_t release_ns,
                          std::error_code *error = nullptr) noexcept
    {
        std::int64_t steer_ns = 0;
        tell(error, prt_servo_sample32(handle_.get(), reference_low_ns, local_ns, release_ns, &steer_ns));
        return steer_ns;
    }
    std::int64_t coast(std::error_code *error = nullptr) noexcept
    {
        std::int64_t steer_ns = 0;
        tell(error, prt_servo_coast(handle_.get(), &steer_ns));
        return steer_ns;
    }
    std::error_code set_target(std::int64_t target_ns) noexcept
    {
        return code(prt_servo_set_target(handle_.get(), target_ns));
    }
    std::error_code set_period(std::int64_t period_ns) noexcept
    {
        return code(prt_servo_set_period(handle_.get(), period_ns));
    }
    prt_servo_state state() const noexcept
    {
        prt_servo_state state{};
        static_cast<void>(prt_servo_state_init(&state, sizeof state));
        static_cast<void>(prt_servo_get_state(handle_.get(), &state));
        return state;
    }

private:
    static void tell(std::error_code *error, int returned) noexcept
    {
        if (error != nullptr) {
            *error = code(returned);
        }
    }

    detail::Handle<prt_servo, prt_servo_close> handle_;
};

/// The statistics of a task of another process, or of this one.
class StatsReader {
public:
    StatsReader(std::uint32_t pid, const std::string &task) { check(prt_stats_open(pid, task.c_str(), handle_.out())); }

    Stats snapshot() const
    {
        Stats stats;
        check(prt_stats_snapshot(handle_.get(), &stats));
        return stats;
    }
    std::string report() const
    {
        return detail::text([this](char *at, std::size_t size) { return prt_stats_report(handle_.get(), at, size); });
    }

private:
    detail::Handle<prt_stats_reader, prt_stats_close> handle_;
};

/// The sending end of a queue.
template <typename T> class Sender {
public:
    explicit Sender(prt_spsc_sender *handle) noexcept : handle_(handle) {}
    /// The error is std::errc::resource_unavailable_try_again when the queue is full.
    std::error_code push(const T &element) noexcept { return code(prt_spsc_push(handle_.get(), &element)); }

private:
    detail::Handle<prt_spsc_sender, prt_spsc_sender_close> handle_;
};

/// The receiving end of a queue.
template <typename T> class Receiver {
public:
    explicit Receiver(prt_spsc_receiver *handle) noexcept : handle_(handle) {}
    /// The error is std::errc::resource_unavailable_try_again when there is nothing to take.
    std::error_code pop(T &element) noexcept { return code(prt_spsc_pop(handle_.get(), &element)); }
    std::uint64_t refused() const noexcept
    {
        std::uint64_t count = 0;
        static_cast<void>(prt_spsc_refused(handle_.get(), &count));
        return count;
    }

private:
    detail::Handle<prt_spsc_receiver, prt_spsc_receiver_close> handle_;
};

/// A queue from one thread to one other.
template <typename T> std::pair<Sender<T>, Receiver<T>> spsc(std::size_t capacity)
{
    static_assert(std::is_trivially_copyable_v<T>, "elements are copied as bytes");
    prt_spsc_sender *sender = nullptr;
    prt_spsc_receiver *receiver = nullptr;
    check(prt_spsc_open(sizeof(T), capacity, &sender, &receiver));
    return {Sender<T>(sender), Receiver<T>(receiver)};
}

/// The writing end of a latest value.
template <typename T> class LatestWriter {
public:
    explicit LatestWriter(prt_latest_writer *handle) noexcept : handle_(handle) {}
    std::error_code write(const T &value) noexcept { return code(prt_latest_write(handle_.get(), &value)); }

private:
    detail::Handle<prt_latest_writer, prt_latest_writer_close> handle_;
};

/// The reading end of a latest value.
template <typename T> class LatestReader {
public:
    explicit LatestReader(prt_latest_reader *handle) noexcept : handle_(handle) {}
    /// `is_new` receives whether the value was written since the previous read.
    std::error_code read(T &value, bool &is_new) noexcept
    {
        const int returned = prt_latest_read(handle_.get(), &value);
        is_new = returned == 1;
        return code(returned);
    }

private:
    detail::Handle<prt_latest_reader, prt_latest_reader_close> handle_;
};

/// A cell that passes on only the newest value.
template <typename T> std::pair<LatestWriter<T>, LatestReader<T>> latest(const T &initial)
{
    static_assert(std::is_trivially_copyable_v<T>, "values are copied as bytes");
    static_assert(sizeof(T) <= PRT_LATEST_BYTES_MAX, "too large for a latest value");
    prt_latest_writer *writer = nullptr;
    prt_latest_reader *reader = nullptr;
    check(prt_latest_open(sizeof(T), &initial, &writer, &reader));
    return {LatestWriter<T>(writer), LatestReader<T>(reader)};
}

/// Counts posts. Each wait takes one post.
class Signal {
public:
    Signal() { check(prt_signal_open(handle_.out())); }

    std::error_code post() noexcept { return code(prt_signal_post(handle_.get())); }
    std::error_code wait() noexcept { return code(prt_signal_wait(handle_.get())); }
    /// The error is std::errc::timed_out when the deadline has come.
    std::error_code wait_until(std::int64_t deadline_ns) noexcept
    {
        return code(prt_signal_wait_until(handle_.get(), deadline_ns));
    }
    /// The error is std::errc::resource_unavailable_try_again when there is nothing to take.
    std::error_code try_wait() noexcept { return code(prt_signal_try_wait(handle_.get())); }

private:
    detail::Handle<prt_signal, prt_signal_close> handle_;
};

/// A semaphore that Linux or a real-time core serves. Each wait takes one post.
class Semaphore {
public:
    explicit Semaphore(std::uint32_t backend, std::uint32_t posts = 0)
    {
        check(prt_semaphore_open(handle_.out(), backend, posts));
    }

    std::error_code post() noexcept { return code(prt_semaphore_post(handle_.get())); }
    std::error_code wait() noexcept { return code(prt_semaphore_wait(handle_.get())); }
    /// The error is std::errc::timed_out when the deadline has come.
    std::error_code wait_until(std::int64_t deadline_ns) noexcept
    {
        return code(prt_semaphore_wait_until(handle_.get(), deadline_ns));
    }
    /// The error is std::errc::resource_unavailable_try_again when there is nothing to take.
    std::error_code try_wait() noexcept { return code(prt_semaphore_try_wait(handle_.get())); }

private:
    detail::Handle<prt_semaphore, prt_semaphore_close> handle_;
};

/// The calling thread as a thread of a real-time core. Destroy it in the same thread.
class CoreThread {
public:
    CoreThread(std::uint32_t backend, std::uint32_t priority)
    {
        check(prt_core_thread_open(handle_.out(), backend, priority));
    }

private:
    detail::Handle<prt_core_thread, prt_core_thread_close> handle_;
};

/// A lock with priority inheritance. A `Lock` holds it.
class PiMutex {
public:
    PiMutex() { check(prt_pi_mutex_open(handle_.out())); }
    explicit PiMutex(std::uint32_t backend) { check(prt_pi_mutex_open_on(handle_.out(), backend)); }
    prt_pi_mutex *get() const noexcept { return handle_.get(); }

private:
    detail::Handle<prt_pi_mutex, prt_pi_mutex_close> handle_;
};

/// Holds a `PiMutex` until the end of its scope, unless taking it failed.
class [[nodiscard]] Lock {
public:
    /// Waits for the lock.
    explicit Lock(const PiMutex &mutex) noexcept : mutex_(mutex.get()), returned_(prt_pi_mutex_lock(mutex_)) {}
    /// Waits for the lock until `deadline_ns`; then the error is std::errc::timed_out.
    Lock(const PiMutex &mutex, std::int64_t deadline_ns) noexcept
        : mutex_(mutex.get()), returned_(prt_pi_mutex_lock_until(mutex_, deadline_ns))
    {
    }
    /// Does not wait; the error is std::errc::device_or_resource_busy when the lock is held.
    Lock(const PiMutex &mutex, std::try_to_lock_t) noexcept
        : mutex_(mutex.get()), returned_(prt_pi_mutex_try_lock(mutex_))
    {
    }
    Lock(const Lock &) = delete;
    Lock &operator=(const Lock &) = delete;
    ~Lock()
    {
        if (returned_ >= 0) {
            static_cast<void>(prt_pi_mutex_unlock(mutex_));
        }
    }

    /// Whether this object holds the lock.
    explicit operator bool() const noexcept { return returned_ >= 0; }
    std::error_code error() const noexcept { return code(returned_); }
    /// Whether the previous owner ended without releasing the lock.
    bool owner_died() const noexcept { return returned_ == 1; }

private:
    prt_pi_mutex *mutex_;
    int returned_;
};

/// The loop's end of a watchdog, on which the loop calls beat() once per cycle. The destructor does not end the watch,
/// because the watchdog should notice a loop that was ended by an exception.
class Heart {
public:
    explicit Heart(prt_heart *handle) noexcept : handle_(handle) {}
    std::error_code beat() noexcept { return code(prt_heart_beat(handle_.get())); }
    /// Ends the watch because the loop stops as intended.
    std::error_code retire() noexcept { return code(prt_heart_retire(std::exchange(*handle_.out(), nullptr))); }

private:
    detail::Handle<prt_heart, prt_heart_close> handle_;
};

/// A thread that notices when a loop stops completing cycles.
class Watchdog {
public:
    /// A configuration with usual values.
    static prt_watchdog_config usual(std::int64_t interval_ns)
    {
        prt_watchdog_config config{};
        check(prt_watchdog_config_init(&config, sizeof config));
        config.interval_ns = interval_ns;
        return config;
    }
    /// Calls `missed` at each miss. With nullptr, each miss prints a line to standard error.
    explicit Watchdog(const prt_watchdog_config &config, prt_missed missed = nullptr, void *user = nullptr)
    {
        check(prt_watchdog_open(&config, missed, user, handle_.out()));
    }

    Heart watch(const std::string &name, std::int64_t limit_ns)
    {
        prt_heart *heart = nullptr;
        check(prt_watchdog_watch(handle_.get(), name.c_str(), limit_ns, &heart));
        return Heart(heart);
    }
    std::uint64_t misses() const
    {
        std::uint64_t count = 0;
        check(prt_watchdog_misses(handle_.get(), &count));
        return count;
    }

private:
    detail::Handle<prt_watchdog, prt_watchdog_close> handle_;
};

/// A text that loops refer to. It stays valid while the program runs.
class Text {
public:
    explicit Text(const std::string &text) { check(prt_log_text_open(text.c_str(), &handle_)); }
    const prt_log_text *get() const noexcept { return handle_; }

private:
    prt_log_text *handle_ = nullptr;
};

/// The writing end of a log, for one loop.
class LogWriter {
public:
    explicit LogWriter(prt_log_writer *handle) noexcept : handle_(handle) {}

    std::error_code message(const Text &text, std::int64_t a = 0, std::int64_t b = 0, std::int64_t c = 0,
                            std::int64_t d = 0) noexcept
    {
        return code(prt_log_message(handle_.get(), text.get(), a, b, c, d));
    }
    std::error_code begin(const Text &name) noexcept { return code(prt_log_begin(handle_.get(), name.get())); }
    std::error_code end(const Text &name) noexcept { return code(prt_log_end(handle_.get(), name.get())); }
    std::error_code counter(const Text &name, double value) noexcept
    {
        return code(prt_log_counter(handle_.get(), name.get(), value));
    }

private:
    detail::Handle<prt_log_writer, prt_log_writer_close> handle_;
};

/// Collects the records of loops and writes them out.
class Log {
public:
    /// Writes text to `text_path` and a trace to `trace_path`. An empty path means that this file is not written.
    explicit Log(const std::string &text_path, const std::string &trace_path = {}, std::int64_t interval_ns = 0)
    {
        const auto path = [](const std::string &at) { return at.empty() ? nullptr : at.c_str(); };
        check(prt_log_open(path(text_path), path(trace_path), interval_ns, handle_.out()));
    }
    LogWriter writer(const std::string &name, std::size_t capacity)
    {
        prt_log_writer *writer = nullptr;
        check(prt_log_writer_open(handle_.get(), name.c_str(), capacity, &writer));
        return LogWriter(writer);
    }
    /// Writes out all remaining records. Returns the number of written records.
    std::uint64_t close()
    {
        std::uint64_t records = 0;
        detail::Handle<prt_log, ended> closing(std::move(handle_));
        prt_log *const log = std::exchange(*closing.out(), nullptr);
        check(prt_log_close(log, &records, nullptr));
        return records;
    }

private:
    static int ended(prt_log *log) noexcept { return prt_log_close(log, nullptr, nullptr); }

    detail::Handle<prt_log, ended> handle_;
};

/// The current time on CLOCK_MONOTONIC.
inline std::int64_t now() noexcept { return prt_now(); }

/// Waits once until an instant, by the hybrid wait.
inline void delay_until(std::int64_t instant_ns) { check(prt_delay_until(instant_ns)); }

} // namespace prt

#endif // PUNCTUAL_RT_HPP
