//! Tests of the engine that changes a machine and restores it, on a simulated machine: under good conditions, under bad
//! ones, and with the program ended at every single operation.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod bad_days;
mod bench;
mod crash;
mod faulty;
mod golden;
mod good_days;
mod kill;
mod plans;
mod random;
