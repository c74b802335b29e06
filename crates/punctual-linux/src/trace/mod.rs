//! Looks for the causes of late activations in the kernel's own trace, beside the measurement and without disturbing it.
//!
//! ```text
//! place -> instance -> events, self_test      what is recorded, and whether it can be believed
//! pages -> cut (names) -> Window              what is kept of it
//! around                                      counters beside the trace, or instead of it
//! flight                                      the thread that does it, on housekeeping CPUs
//! ```
//! Raw pages are read and held for some seconds; only those that a window needs are decoded, by the core. Who was to
//! blame is not asked here.

pub mod around;
mod cut;
mod engine;
mod error;
mod events;
mod flight;
mod instance;
mod names;
mod pages;
mod place;
mod self_test;

pub use engine::Engine;
pub use error::TraceError;
pub use flight::{Flight, Found};
pub use instance::CLOCK;
