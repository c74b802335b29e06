//! Everything that touches the machine: reading it, measuring on it, tracing it and changing it.
//!
//! This crate decides nothing: what to do arrives as values of other crates, and what happened is returned as values.
//! [`live`] reads the machine, [`measure`] runs a scenario and produces the frames of its recording, [`probe`] contains
//! the measuring threads, [`load`] the loads that disturb them, and [`trace`] looks for causes. [`recording`] is the
//! recording file that a [`keeper`] fills, [`result_file`] the file of another program, and [`merge`] combines several.
//! [`watch`] measures for months into a store of bounded size.
//! [`apply`] changes the machine through its [`hand`], and restores it from the [`journal`]. [`inspect`] observes a program of
//! the user. [`fleet`] runs a command on many hosts. [`abilities`] tries what this program may do here, [`privilege`] explains refusals, [`torture`] tries to break what the kernel promises, and [`under_way`] warns other programs of a running campaign.

pub mod abilities;
pub mod apply;
mod burden;
pub mod fleet;
pub mod hand;
pub mod in_force;
pub mod inspect;
pub mod interrupt;
pub mod journal;
pub mod keeper;
pub mod live;
pub mod load;
pub mod measure;
pub mod merge;
pub mod privilege;
pub mod probe;
pub mod recording;
pub mod result_file;
pub mod sync;
mod sys;
pub mod torture;
pub mod trace;
pub mod under_way;
pub mod watch;
