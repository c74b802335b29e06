//! The binary: words in, words out.

#![forbid(unsafe_code)]

#[allow(dead_code, reason = "the commands that print are not here yet")]
mod render;

fn main() {}
