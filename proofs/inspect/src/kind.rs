//! The kinds of planted defects, and what the inspection must say of each.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Clean,
    Malloc,
    Small,
    Fault,
    Lock,
    Server,
    Sleep,
    Print,
    Migration,
    Relative,
    Timerfd,
    Epoll,
    Realtime,
    Hog,
}

impl Kind {
    pub const ALL: [Self; 14] = [
        Self::Clean,
        Self::Malloc,
        Self::Small,
        Self::Fault,
        Self::Lock,
        Self::Server,
        Self::Sleep,
        Self::Print,
        Self::Migration,
        Self::Relative,
        Self::Timerfd,
        Self::Epoll,
        Self::Realtime,
        Self::Hog,
    ];

    /// Those of the loops in Rust and Python that are judged where time is short.
    pub const FEW: [Self; 3] = [Self::Malloc, Self::Print, Self::Sleep];

    /// Whether the loops in Rust and Python have it as well.
    pub fn is_in_each_language(self) -> bool {
        !matches!(self, Self::Small | Self::Epoll | Self::Realtime | Self::Hog)
    }

    /// The word that the loops know it by.
    pub fn word(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Malloc => "malloc",
            Self::Small => "small",
            Self::Server => "server",
            Self::Fault => "fault",
            Self::Lock => "lock",
            Self::Sleep => "sleep",
            Self::Print => "printf",
            Self::Migration => "migration",
            Self::Relative => "relative",
            Self::Timerfd => "timerfd",
            Self::Epoll => "epoll",
            Self::Realtime => "realtime",
            Self::Hog => "hog",
        }
    }

    /// What must be in the cycles; `None` if nothing may be.
    pub fn intruder(self) -> Option<&'static str> {
        match self {
            Self::Malloc => Some("memory"),
            Self::Small => Some("allocation"),
            Self::Server => Some("blocking-call"),
            Self::Fault => Some("fault"),
            Self::Lock => Some("lock"),
            Self::Sleep => Some("sleep"),
            Self::Print => Some("write"),
            Self::Migration => Some("migration"),
            Self::Clean | Self::Relative | Self::Timerfd | Self::Epoll | Self::Realtime | Self::Hog => None,
        }
    }

    /// How the pace is called in the document.
    pub fn pace(self) -> &'static str {
        match self {
            Self::Timerfd | Self::Epoll => "timerfd",
            _ => "sleep",
        }
    }

    /// The finding about how the thread waits.
    pub fn finding(self) -> Option<&'static str> {
        match self {
            Self::Relative => Some("relative-sleep"),
            Self::Realtime => Some("realtime-clock"),
            _ => None,
        }
    }

    /// Whether the defect comes exactly as often as planted. A lock is not always held when it is asked for, a server may
    /// have answered already, and allocations are looked for in some of the cycles.
    pub fn is_counted(self) -> bool {
        self.intruder().is_some() && !matches!(self, Self::Lock | Self::Server | Self::Small)
    }

    /// Whether the thread must be told to wait for one of lower priority.
    pub fn has_lower(self) -> bool {
        matches!(self, Self::Lock | Self::Server)
    }

    /// Whether the defect is looked for only once the loop is known.
    pub fn comes_late(self) -> bool {
        self == Self::Small
    }

    /// The function that the defect is in; `None` without a defect in the cycles.
    pub fn function(self) -> Option<&'static str> {
        match self {
            Self::Malloc => Some("planted_malloc"),
            Self::Small => Some("planted_small"),
            Self::Server => Some("planted_server"),
            Self::Fault => Some("planted_fault"),
            Self::Lock => Some("planted_lock"),
            Self::Sleep => Some("planted_sleep"),
            Self::Print => Some("planted_print"),
            Self::Migration => Some("planted_migration"),
            Self::Clean | Self::Relative | Self::Timerfd | Self::Epoll | Self::Realtime | Self::Hog => None,
        }
    }

    /// The program that takes the CPU from the loop, and must be named as the cause of late cycles.
    pub fn culprit(self) -> Option<&'static str> {
        (self == Self::Hog).then_some("planted_hog")
    }
}
