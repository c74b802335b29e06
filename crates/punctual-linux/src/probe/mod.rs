//! Measuring threads, and the collection of what they record.

mod collect;
pub mod driver;
mod gaps;
mod late;
mod other_clock;
mod recorder;
mod ring;
mod round_trip;
mod wakeup;

pub use collect::{Assignment, Collector, CpuSoFar, Spike};
pub use gaps::Gap;
pub use late::{CrowdedOut, LateReader, LateTap, SeenActivation};
pub use other_clock::{ClockError, OpenClock};
pub use recorder::{Block, GAP_DEFERRED, Recorder, RecorderReader};
pub use round_trip::{Endpoint, EndpointError};
pub use wakeup::{Go, Probe, ProbeError, RunControl, Waiting};
