//! Plants.
fn main() {}
