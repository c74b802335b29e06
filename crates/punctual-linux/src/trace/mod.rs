//! Looks at what the kernel does while threads measure.
//!
//! [`around`] counts. What follows from it is decided in `punctual-core`.

pub mod around;
