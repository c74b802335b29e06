//! Acts: the only crate of the tool that touches the machine.
//!
//! [`measure`] runs a scenario and hands out the frames of its recording; [`probe`] are the measuring threads;
//! [`privilege`] explains a refusal. Deciding is done elsewhere, in `punctual-core`.

pub mod in_force;
pub mod interrupt;
pub mod live;
pub mod load;
pub mod measure;
pub mod privilege;
pub mod probe;
pub mod recording;
