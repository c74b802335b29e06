//! What `punctual fleet` prints.

pub mod run;
