//! The text file of a captured machine: a head with the program's version, the date and what is left out, then the
//! captured files.

use super::units;
use punctual_facts::tree::MemTree;

pub fn snapshot(machine: &MemTree, is_raw: bool) -> String {
    let masking = if is_raw {
        "# Nothing is masked: names, addresses and serial numbers of this machine are in here.\n"
    } else {
        "# Masked: host and user names, serial numbers, UUIDs, MAC and IP addresses, keys, and values of words on the\n\
         # command line that are not the kernel's. Look through it all the same before it is shown to anybody: names of\n\
         # processes, network devices and control groups are as they were.\n"
    };
    machine.signed(env!("CARGO_PKG_VERSION"), &units::utc_stamp(), masking)
}
