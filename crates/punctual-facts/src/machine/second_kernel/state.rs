//! What a real-time core is doing.

crate::named! {
    /// The effective state of a core, whatever was asked for at boot.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum CoreState {
        Running = "running",
        /// The core is ready and serves nobody until it is started.
        Stopped = "stopped",
        /// The core was switched off on the command line, and only a boot brings it back.
        Disabled = "disabled",
        /// The core is ending its threads and stops then.
        Teardown = "teardown",
        /// The core is about to run.
        Warmup = "warmup",
        /// The core was to start at boot and gave up, so that its parameters are there and nothing else of it.
        HalfInitialised = "half-initialised",
    }
}

impl CoreState {
    /// The state with this name in a file of the kernel.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name && *state != Self::HalfInitialised)
    }

    /// The state of a core of which only the parameters are there, given the state that was asked for at boot.
    pub(super) fn without_files(asked: &str) -> Self {
        if asked == Self::Disabled.name() { Self::Disabled } else { Self::HalfInitialised }
    }
}
