//! Acts: the only crate that touches the machine.

pub mod live;
