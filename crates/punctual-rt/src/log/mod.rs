//! Reports what happens in a loop without disturbing it: the loop stores records of fixed size, and an ordinary thread
//! turns them into text and traces.
//!
//! ```
//! use punctual_rt::{log::Drain, rt_log};
//!
//! let mut drain = Drain::new().text(std::io::stdout());
//! let mut log = drain.writer("control", 256);
//! let (phase_ns, late) = (-350, 2u32);
//! rt_log!(log, "phase {} ns, {} late", phase_ns, late);    // in the loop
//! let running = drain.start(punctual_rt::Nanos::from_ms(50))?;    // an ordinary thread, until stopped
//! assert_eq!(running.stop()?.records, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod drain;
mod line;
mod perfetto;
mod record;
mod text;
mod thread;
mod writer;

pub use drain::{Drain, Drained};
pub use record::{Kind, LogRecord, LogValue, VALUES_MAX, placeholders};
pub use thread::DrainThread;
pub use writer::LogWriter;
