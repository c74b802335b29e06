//! Turns SIGINT, SIGTERM and SIGHUP into a flag, so that a run ends in order and its recording is complete. Also
//! catches the signals before which a process has to restore its terminal.

use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::{SigId, flag, low_level};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// A flag that is set by the first SIGINT, SIGTERM or SIGHUP. The second one ends the process at once.
pub fn flag() -> io::Result<Arc<AtomicBool>> {
    let interrupted = Arc::default();
    second_ends_at_once(&interrupted)?;
    Ok(interrupted)
}

fn second_ends_at_once(interrupted: &Arc<AtomicBool>) -> io::Result<()> {
    for signal in ENDING {
        flag::register_conditional_default(signal, Arc::clone(interrupted))?;
        flag::register(signal, Arc::clone(interrupted))?;
    }
    Ok(())
}

/// The signals of a process that has changed its terminal. Until [`Signals::let_go`], none of them ends or stops the
/// process by itself; their owner has to check for them several times a second.
#[derive(Default)]
pub struct Signals {
    interrupted: Arc<AtomicBool>,
    /// The last signal that requested the end; 0 for none.
    ending: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    resumed: Arc<AtomicBool>,
    resized: Arc<AtomicBool>,
    caught: Vec<SigId>,
}

impl Signals {
    pub fn catch() -> io::Result<Self> {
        let mut signals = Self::default();
        // SIGQUIT can come only from another process, because its key is disabled in the terminal.
        for signal in ENDING.into_iter().chain([SIGQUIT]) {
            signals.caught.push(flag::register(signal, Arc::clone(&signals.interrupted))?);
            let number = usize::try_from(signal).unwrap_or_default();
            signals.caught.push(flag::register_usize(signal, Arc::clone(&signals.ending), number)?);
        }
        let flags = [(SIGTSTP, &signals.stop), (SIGCONT, &signals.resumed), (SIGWINCH, &signals.resized)];
        let caught = flags.map(|(signal, flag)| flag::register(signal, Arc::clone(flag)));
        for id in caught {
            signals.caught.push(id?);
        }
        Ok(signals)
    }

    pub fn interrupted(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.interrupted)
    }

    /// The signal that requested the end since the last call, if any.
    pub fn take_ending(&self) -> Option<i32> {
        i32::try_from(self.ending.swap(0, Relaxed)).ok().filter(|signal| *signal != 0)
    }

    /// Whether Ctrl-Z was pressed since the last call.
    pub fn take_stop(&self) -> bool {
        self.stop.swap(false, Relaxed)
    }

    /// Whether the process was resumed since the last call.
    pub fn take_resumed(&self) -> bool {
        self.resumed.swap(false, Relaxed)
    }

    /// Whether the terminal changed its size since the last call.
    pub fn take_resized(&self) -> bool {
        self.resized.swap(false, Relaxed)
    }

    pub fn stop_here(&self) {
        // If this fails, the process does not stop.
        let _ = low_level::emulate_default_handler(SIGTSTP);
    }

    /// Ends the process as the default action of the signal does.
    pub fn end_by(&self, signal: i32) {
        // If this fails, the flag still ends the run.
        let _ = low_level::emulate_default_handler(signal);
    }

    /// To be called when the terminal is restored: from now on the first signal sets the flag, and the second one ends
    /// the process.
    pub fn let_go(&mut self) {
        // The new handlers are installed before the old ones are removed, so that no signal is missed. If they cannot
        // be installed, no second signal ends the process at once, as before this call.
        let _ = second_ends_at_once(&self.interrupted);
        for signal in [SIGTSTP, SIGQUIT] {
            let _ = flag::register_conditional_default(signal, Arc::new(AtomicBool::new(true)));
        }
        for id in self.caught.drain(..) {
            low_level::unregister(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_caught_is_told_once() {
        let mut signals = Signals::catch().unwrap();
        assert_eq!((signals.take_ending(), signals.take_resized()), (None, false));
        // The other signals would end the test program.
        low_level::raise(SIGWINCH).unwrap();
        assert_eq!((signals.take_resized(), signals.take_resized()), (true, false));
        assert!(!signals.take_stop() && !signals.take_resumed() && !signals.interrupted().load(Relaxed));
        assert_eq!(signals.caught.len(), 11);
        signals.let_go();
        assert!(signals.caught.is_empty());
    }
}
