//! Tests of the real executable, started as a user starts it. Tests use the ordinary scheduling class if they can, so
//! that they need no privilege. Tests that need root are ignored by default; `cargo xtask ci` runs them if it is root.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on fails, and may say what it saw")]

mod audit;
mod bad_input;
mod book;
#[cfg(feature = "bpf")]
mod bpf_privileged;
mod campaign;
mod causes_privileged;
mod ci_example;
mod compare;
mod documents;
mod explain;
mod figures;
mod fleet;
mod fleet_tables;
mod foreign;
mod inspect;
mod inspect_privileged;
mod interrupted;
mod lab;
mod lang;
mod lint;
mod live;
mod long;
#[path = "../../../punctual-numbers/tests/header/mod.rs"]
mod made_up;
mod measuring;
mod need;
mod optimize;
mod optimize_privileged;
mod privileged;
mod round_trip;
mod run;
mod share;
mod snapshot;
mod torture;
mod tune;
mod tune_privileged;
mod tutorial;
mod watch;
mod watch_privileged;
mod why_not;
