//! What the kernel says it did: records of its trace, and the windows around late activations that a recording keeps.
//!
//! Values only. A [`Record`] is one event of one CPU, whatever engine saw it; a [`Window`] is all that is known of one
//! late activation and can be explained without anything else, on any machine. Who was to blame is decided in
//! [`explain`](crate::explain), how records are got is known to `punctual-linux` alone.
//! Instants are those of `CLOCK_MONOTONIC`.

mod decode;
mod decode_events;
mod decode_fields;
mod format;
pub mod keep;
pub mod ledger;
mod page;
pub mod pulses;
mod record;
pub mod tables;
mod tracing;
mod window;

pub use decode::Decoder;
pub use decode_events::{EVENTS, Wanted};
pub use format::{FormatError, FormatFault};
pub use page::{Events, Missed, Page, PageError, PageLayout, RawEvent};
pub use record::{
    Address, Context, FLAG_HARDIRQ, FLAG_IRQS_OFF, FLAG_NEED_RESCHED, FLAG_NMI, FLAG_SOFTIRQ, NoiseKind, Record, Tid,
    Vector, What,
};
pub use tracing::{Blind, Rung, SelfTest, TraceTotal, Tracing};
pub use window::{Around, Counter, Growth, Incomplete, IrqLine, Kept, Late, LateList, LateTotal, Names, Window};
