// Runs a task with a period of 1 ms for a second, and prints how it went.
//
//   c++ -std=c++17 hello_periodic.cpp -o hello_periodic $(pkg-config --cflags --libs punctual_rt) && ./hello_periodic
#include <punctual_rt.hpp>

#include <exception>
#include <iostream>

int main()
try {
    const auto config = prt::Config(1'000'000).fifo(85).best_effort();
    prt::Task task(config, [left = 1000](prt::Cycle &) mutable {
        // ... read, compute, write ...
        return --left == 0 ? prt::Control::stop : prt::Control::go_on;
    });
    task.join();
    std::cout << task.report() << '\n';
} catch (const std::exception &error) {
    std::cerr << "hello_periodic: " << error.what() << '\n';
    return 1;
}
