//! The engine that changes a machine and puts it back, on a machine made of files: on good days, on bad days, and ended
//! at every single point.

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
