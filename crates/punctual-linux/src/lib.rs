//! Acts: the only crate of the tool that touches the machine.
//!
//! It decides nothing: what to do arrives as values of the crates below, and what happened leaves as such. [`live`]
//! reads the machine, [`measure`] runs a scenario and hands out the frames of its recording, [`probe`] are the
//! measuring threads, [`load`] what disturbs them, [`trace`] looks for causes, [`recording`] the file that a [`keeper`] fills
//! ([`result_file`]: or one that another program wrote), [`merge`] several of them; [`apply`] changes the machine and puts it
//! back by its [`hand`], by what [`journal`] keeps; [`privilege`] explains a refusal, [`under_way`] tells whoever would disturb a campaign.

pub mod apply;
pub mod hand;
pub mod in_force;
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
pub mod trace;
pub mod under_way;
