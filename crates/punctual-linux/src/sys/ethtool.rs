//! The old way to a network device's settings: questions, and orders of the same shape as the answers.

use rustix::net::{AddressFamily, SocketType, socket};
use std::io;
use std::os::fd::AsRawFd;

/// From `linux/sockios.h`; the same on every architecture.
const SIOCETHTOOL: libc::c_ulong = 0x8946;
/// Longest name of a device, with the zero at its end.
const NAME_BYTES: usize = 16;

/// The kernel's `struct ifreq`, as this question needs it. On 32-bit machines the kernel's is shorter.
#[repr(C)]
struct Request {
    name: [u8; NAME_BYTES],
    data: *mut u32,
    rest: [u8; 16],
}

/// A question of `linux/ethtool.h`. Its answer is a row of words, of which the first repeats the question.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// Its number: one of the `ETHTOOL_G...`, which change nothing.
    number: u32,
    /// The number of the order that changes the same: `ETHTOOL_S...`.
    order: u32,
    /// Words of the answer, the first included.
    words: usize,
}

impl Question {
    /// Whether the answer has a word of that number.
    #[cfg(test)]
    pub fn holds(self, word: usize) -> bool {
        word < self.words
    }
}

/// Asks a device.
pub fn ask(device: &str, question: Question) -> io::Result<Vec<u32>> {
    exchange(device, question.number, vec![0; question.words])
}

/// Tells a device what it answered to the same question, with some words changed.
pub fn tell(device: &str, question: Question, words: Vec<u32>) -> io::Result<()> {
    if words.len() != question.words {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    exchange(device, question.order, words).map(drop)
}

/// `words` are as many as the structure of that number has; its first is set here.
fn exchange(device: &str, number: u32, mut words: Vec<u32>) -> io::Result<Vec<u32>> {
    let mut request = Request { name: [0; NAME_BYTES], data: std::ptr::null_mut(), rest: [0; 16] };
    if device.is_empty() || device.len() >= NAME_BYTES || device.contains('\0') {
        return Err(io::Error::from(io::ErrorKind::NotFound));
    }
    request.name[..device.len()].copy_from_slice(device.as_bytes());
    if let Some(first) = words.first_mut() {
        *first = number;
    }
    request.data = words.as_mut_ptr();
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: the kernel reads the request, which lives until the call returns, and reads or writes as many words behind
    // its pointer as the structure of this number has; `Question`s are made below only, beside the structures' sizes.
    let done = unsafe { libc::syscall(libc::SYS_ioctl, socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(words) }
}

/// `ETHTOOL_GCOALESCE`, `struct ethtool_coalesce`.
pub const COALESCE: Question = Question { number: 0x0e, order: 0x0f, words: 23 };
/// `ETHTOOL_GPAUSEPARAM`, `struct ethtool_pauseparam`.
pub const PAUSE: Question = Question { number: 0x12, order: 0x13, words: 4 };
/// `ETHTOOL_GCHANNELS`, `struct ethtool_channels`.
pub const CHANNELS: Question = Question { number: 0x3c, order: 0x3d, words: 9 };
/// `ETHTOOL_GEEE`, `struct ethtool_eee`.
pub const EEE: Question = Question { number: 0x44, order: 0x45, words: 10 };
