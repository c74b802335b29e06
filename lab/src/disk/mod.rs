//! Tests on a real Debian disk: it is made from packages, started through its own boot loader, tuned, restarted,
//! reverted, and compared file by file. This takes minutes, so it is not part of every run (`cargo xtask lab --full`).
//!
//! The product is used only as a program inside the guest. The state of the guest is read from its `/proc` and `/sys`
//! by other means, and from its disk while it is off.

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
