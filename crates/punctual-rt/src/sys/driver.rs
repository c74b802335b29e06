//! Calls to the drivers of a real-time core: opening a device and `ioctl`, in the form that the core accepts.

use super::evl::CallForm;
use super::{checked, cobalt, evl};
use std::ffi::{CStr, c_void};
use std::os::fd::RawFd;

/// How threads of a core call its drivers. Made by [`CoreThread::calls`](crate::CoreThread::calls).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverCalls(Form);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Evl(CallForm),
    Cobalt,
}

impl DriverCalls {
    pub(crate) const COBALT: Self = Self(Form::Cobalt);

    pub(crate) const fn evl(form: CallForm) -> Self {
        Self(Form::Evl(form))
    }

    /// Opens a device of the core for reading and writing.
    ///
    /// # Errors
    /// The `errno`.
    ///
    /// # Real-time
    /// Takes the thread in-band: call before the loop.
    ///
    /// # Kernel
    /// See [`Backend`](crate::Backend).
    pub fn open(self, path: &CStr) -> Result<RawFd, i32> {
        let fd = match self.0 {
            // SAFETY: the path ends with NUL.
            Form::Evl(_) => libc::c_long::from(unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) }),
            Form::Cobalt => cobalt::open(path),
        };
        checked(fd).and_then(|fd| RawFd::try_from(fd).map_err(|_| libc::EBADF))
    }

    /// Closes what [`DriverCalls::open`] opened.
    ///
    /// # Real-time
    /// Takes the thread in-band: call after the loop.
    pub fn close(self, fd: RawFd) {
        match self.0 {
            Form::Evl(_) => {
                // SAFETY: the caller owns the descriptor and does not use it again.
                unsafe { libc::close(fd) };
            }
            Form::Cobalt => cobalt::close(fd),
        }
    }

    /// Makes an `ioctl` on the core's stage. It fails with `EPERM` unless the calling thread belongs to the core.
    ///
    /// # Errors
    /// The `errno`. `EINTR` says that a signal arrived.
    ///
    /// # Real-time
    /// One call of the core, which moves the thread out-of-band if the driver answers there.
    ///
    /// # Kernel
    /// See [`Backend`](crate::Backend).
    ///
    /// # Safety
    /// `argument` must be what the driver reads and writes for `request`, and so must be all that it points to.
    #[allow(unsafe_code, reason = "only the caller knows what the driver reads and writes")]
    pub unsafe fn ioctl(self, fd: RawFd, request: u32, argument: *mut c_void) -> Result<(), i32> {
        match self.0 {
            Form::Evl(form) => evl::ioctl(form, fd, request, argument),
            // SAFETY: the caller vouches for the argument.
            Form::Cobalt => checked(unsafe { cobalt::ioctl(fd, request, argument) }).map(drop),
        }
    }
}
