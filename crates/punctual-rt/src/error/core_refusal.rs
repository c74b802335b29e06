//! Why a real-time core beside Linux cannot be used.

use std::fmt;

/// Why a real-time core (EVL, Cobalt) does not serve a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CoreRefusal {
    /// The running kernel has no such core.
    Absent,
    /// The core is stopped or disabled.
    Stopped,
    /// The core's ABI is not among those that this library was tested with.
    Abi {
        /// Oldest ABI that the core accepts.
        oldest: u32,
        /// Newest ABI that the core accepts.
        newest: u32,
    },
    /// The core does not answer the question for its ABI in a form that this library knows.
    UnknownAbi,
    /// The process may not use the core; with the `errno`.
    NotAllowed(i32),
    /// The thread already belongs to a core, for example because a library attached it.
    AlreadyAttached,
    /// The core has no room for another thread; with the `errno`.
    Full(i32),
    /// None of the CPUs that the thread may run on belongs to the core.
    Cpus,
    /// A device of the core is missing or does not work; with the `errno`.
    Device(i32),
    /// The core refused another call; with the `errno`.
    Call(i32),
}

impl CoreRefusal {
    pub(super) const fn errno(self) -> i32 {
        match self {
            Self::Absent => libc::ENOSYS,
            Self::Stopped => libc::ENXIO,
            Self::Abi { .. } | Self::UnknownAbi => libc::ENOEXEC,
            Self::AlreadyAttached => libc::EBUSY,
            Self::Cpus => libc::EINVAL,
            Self::NotAllowed(errno) | Self::Full(errno) | Self::Device(errno) | Self::Call(errno) => errno,
        }
    }

    pub(super) const fn evl_remedy(self) -> &'static str {
        match self {
            Self::Absent => "boot a kernel with CONFIG_EVL=y, or let Linux pace the task",
            Self::Stopped => {
                "start the core (`evl start`), and look for `evl.state=` on the kernel command line; or let \
                 Linux pace the task"
            }
            Self::Abi { .. } | Self::UnknownAbi => {
                "boot a kernel whose EVL accepts ABI 26, 32 or 36 (/sys/devices/virtual/evl/control/abi), use a newer \
                 version of this library, or let Linux pace the task"
            }
            Self::NotAllowed(_) => "run as root, or give the user read and write access to all of /dev/evl",
            Self::AlreadyAttached => "attach no thread with libevl (`evl_attach_self`) that this library is to pace",
            Self::Full(_) => {
                "run fewer EVL threads (`evl ps`), or build the kernel with a larger CONFIG_EVL_NR_THREADS"
            }
            Self::Cpus => {
                "choose CPUs from /sys/devices/virtual/evl/control/cpus, or change `evl.oobcpus=` on the kernel command \
                 line"
            }
            Self::Device(_) => {
                "look whether /dev/evl is complete (devtmpfs), and at the kernel's log (`dmesg | grep EVL`)"
            }
            Self::Call(_) => {
                "look at the kernel's log (`dmesg | grep EVL`), and whether a sandbox (seccomp) filters prctl"
            }
        }
    }

    pub(super) const fn cobalt_remedy(self) -> &'static str {
        match self {
            Self::Absent => "boot a kernel with CONFIG_XENOMAI=y, or let Linux pace the task",
            Self::Stopped => {
                "start the core (`corectl --start`), and look for `xenomai.state=` on the kernel command line; or let \
                 Linux pace the task"
            }
            Self::Abi { .. } | Self::UnknownAbi => {
                "boot a kernel with Xenomai 3.2 or 3.3, use a newer version of this library, or let Linux pace the task"
            }
            Self::NotAllowed(_) => {
                "run as root; or name a group of the user with `xenomai.allowed_group=` on the kernel command line, give it \
                 /dev/rtdm, and let the first thread of the program ask for the core (`Backend::look`) before it starts others"
            }
            Self::AlreadyAttached => "attach no thread with libcobalt that this library is to pace",
            Self::Full(_) => {
                "run fewer Cobalt threads (/proc/xenomai/sched/threads), or give the core more memory \
                              (`xenomai.sysheap_size=`)"
            }
            Self::Cpus => {
                "choose CPUs from /proc/xenomai/affinity, or change `xenomai.supported_cpus=` on the kernel command line"
            }
            Self::Device(_) | Self::Call(_) => {
                "look at the kernel's log (`dmesg | grep Xenomai`), and whether a sandbox (seccomp) filters system calls"
            }
        }
    }
}

impl fmt::Display for CoreRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = |errno: &i32| std::io::Error::from_raw_os_error(*errno);
        match self {
            Self::Absent => f.write_str("the running kernel has none"),
            Self::Stopped => f.write_str("it is stopped or disabled"),
            Self::Abi { oldest, newest } if oldest == newest => write!(f, "its ABI is {oldest}, which was not tested"),
            Self::Abi { oldest, newest } => write!(f, "it accepts ABI {oldest} to {newest}, none of which was tested"),
            Self::UnknownAbi => f.write_str("it does not state its ABI in a known form"),
            Self::NotAllowed(errno) => write!(f, "the process may not use it: {}", why(errno)),
            Self::AlreadyAttached => f.write_str("the thread is attached to a core already"),
            Self::Full(errno) => write!(f, "it has no room for another thread: {}", why(errno)),
            Self::Cpus => f.write_str("none of the thread's CPUs belongs to it"),
            Self::Device(errno) => write!(f, "one of its devices does not work: {}", why(errno)),
            Self::Call(errno) => write!(f, "it refused a call: {}", why(errno)),
        }
    }
}
