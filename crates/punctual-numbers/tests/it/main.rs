//! Whole stages, as text: `BLESS=1 cargo test -p punctual-numbers` writes the expectations anew.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod foreign;
mod tables;
mod trace;
mod trace_pages;

use fixtures::{check, repository};
