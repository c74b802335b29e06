//! The whole story on a real Debian disk: made from packages, started through its own boot loader, tuned, restarted,
//! put back, and compared file by file. It takes minutes, so it is not part of every run (`cargo xtask lab --full`).
//!
//! The product is known here only as a program inside the guest; what is true of the guest is read from its `/proc` and
//! `/sys` by other means, and from its disk when it is off.

mod agent;
mod bench;
mod findings;
mod ledger;
mod machine;
mod qemu;
mod reader;
mod recipe;
mod story;
mod tree;

pub use story::{all, is_story, run};
