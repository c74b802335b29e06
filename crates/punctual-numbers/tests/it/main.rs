//! Tests that compare the output of whole stages with committed text. `BLESS=1 cargo test -p punctual-numbers` writes
//! the expected text again.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod foreign;
mod tables;
mod trace;
mod trace_pages;

use fixtures::{check, repository};
