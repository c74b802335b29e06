//! Records of the kernel's trace, and the windows around late activations that a recording keeps.
//!
//! This module only defines and decodes values. A [`TraceRecord`] is one event of one CPU, in the same form for every
//! engine. A [`Window`] holds everything known of one late activation, so that it can be explained on any machine.
//! [`explain`](crate::explain) finds the causes; only `punctual-linux` knows how to collect records. All instants are
//! those of `CLOCK_MONOTONIC`.

mod decode;
mod decode_events;
pub(crate) mod decode_fields;
pub(crate) mod format;
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
    Address, Context, FLAG_HARDIRQ, FLAG_IRQS_OFF, FLAG_NEED_RESCHED, FLAG_NMI, FLAG_SOFTIRQ, NoiseKind, RemoteRecord,
    Tid, TraceEvent, TraceRecord, Vector,
};
pub use tracing::{Blind, RefusedRung, Rung, SelfTest, TraceTotal, Tracing};
pub use window::{Around, Counter, Growth, Incomplete, IrqLine, Kept, Late, LateList, LateTotal, Names, Window};
