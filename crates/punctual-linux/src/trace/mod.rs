//! Looks for the causes of late activations in the kernel's own trace, without disturbing the measurement.
//!
//! ```text
//! place -> instance -> events, self_test   selects what is recorded, and checks whether the trace can be trusted
//! timerlat                                 adds the kernel's own noise tracer, on request
//! pages -> cut (names) -> Window           keeps what belongs to a late activation
//! around -> Window                         adds counters, also where there is no trace
//! engine: tracefs (all above) or bpf       return records; `open` chooses one of them
//! flight                                   is the thread that does all this, on housekeeping CPUs
//! program: tracefs or bpf                  records what the threads of one program do
//! releases                                 records only when they are released and run, for months
//! guard                                    removes instances after a kill -9
//! ```
//! Raw pages are read and held for some seconds. `punctual-numbers` decodes only those that a window needs, and decides
//! about causes.

pub mod around;
#[cfg(feature = "bpf")]
mod bpf;
mod cut;
mod elsewhere;
mod engine;
mod error;
mod events;
mod flight;
mod guard;
mod instance;
mod memory;
mod names;
mod open;
mod pages;
mod place;
pub mod price;
mod program;
mod releases;
mod reserve;
mod self_test;
mod timerlat;
mod tracefs;

pub use engine::{Engine, EngineChoice, MeasuredThread, Span, Wish};
pub use error::TraceError;
pub use flight::{Flight, Found, TracePace};
pub use instance::CLOCK;
pub use memory::{BUFFER_BYTES_MIN, largest_buffer};
pub use open::{Opened, open};
pub use program::{OpenedProgram, ProgramTrace, StackEvents, USER_STACK, open_program};
pub use releases::{Followed, ReleaseTrace};
pub use reserve::Reserve;

/// Whether this process may create a tracing instance here.
pub fn permitted() -> bool {
    refusal().is_none()
}

/// Why this process may not create a tracing instance here; `None` if it may.
pub fn refusal() -> Option<TraceError> {
    place::tracefs().and_then(|tracefs| instance::Instance::new(&tracefs, "")).err()
}

/// Removes tracing instances that killed measurements left behind, which would record for ever. Returns their names.
pub fn sweep() -> Vec<String> {
    place::tracefs().map(|tracefs| instance::sweep(&tracefs)).unwrap_or_default()
}

/// Does the work of a guard of our instances, if the arguments of this process begin with the word, and returns whether
/// they do. If they do not, instances of this process are guarded by this program, started with that word.
pub fn guards_if_asked(word: &'static str) -> bool {
    let remove_all = |owner| place::tracefs().is_ok_and(|tracefs| instance::remove_of(&tracefs, owner));
    let is_guard = guard::run_if_asked(word, remove_all);
    if !is_guard {
        guard::guarded_by(word);
    }
    is_guard
}

/// Tracing instances that killed measurements left behind, as far as this process can see them.
pub fn left_behind() -> Vec<String> {
    place::tracefs().map(|tracefs| instance::left_behind(&tracefs)).unwrap_or_default()
}
