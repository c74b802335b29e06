//! The loads that are part of the program.

use super::worker::Load;
use super::{cache, cpu, fork, io_copy, io_read, io_write, memory, net, procfs, switch, syscall, timers};

/// Every load that is part of the program, in the order of their listing.
pub const ALL: &[Load] = &[
    cpu::LOAD,
    memory::LOAD,
    cache::LOAD,
    io_write::LOAD,
    io_read::LOAD,
    io_copy::LOAD,
    procfs::LOAD,
    switch::LOAD,
    fork::LOAD,
    timers::LOAD,
    net::LOAD,
    syscall::LOAD,
];

pub fn find(name: &str) -> Option<&'static Load> {
    ALL.iter().find(|load| load.name == name)
}
