//! Settings of network devices by the ethtool ioctl: queries, commands with the same structures, and the words in them.

use rustix::net::{AddressFamily, SocketType, socket};
use std::io;
use std::os::fd::AsRawFd;

/// From `linux/sockios.h`; the same on every architecture.
const SIOCETHTOOL: libc::c_ulong = 0x8946;
/// Longest name of a device, including its final zero byte.
const NAME_BYTES: usize = 16;

/// The kernel's `struct ifreq` as used here. The kernel's own structure is shorter on 32-bit machines.
#[repr(C)]
struct Request {
    name: [u8; NAME_BYTES],
    data: *mut u32,
    rest: [u8; 16],
}

/// A query of `linux/ethtool.h`. Its answer is an array of words, the first of which repeats the query.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    /// One of the `ETHTOOL_G...` commands, which change nothing.
    number: u32,
    /// The `ETHTOOL_S...` command that sets what the query reads.
    order: u32,
    /// Number of words in the answer, including the first.
    words: usize,
}

pub fn ask(device: &str, question: Query) -> io::Result<Vec<u32>> {
    exchange(device, question.number, vec![0; question.words])
}

/// Sets what the query reads; `words` is a changed answer.
pub fn tell(device: &str, question: Query, words: Vec<u32>) -> io::Result<()> {
    if words.len() != question.words {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    exchange(device, question.order, words).map(drop)
}

/// Sends a command whose structure has as many words as `words`. The first word is set here.
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
    // SAFETY: the kernel reads the request, which lives until the call returns. Behind its pointer, the kernel accesses
    // as many words as the structure of this command has; `Query` values are made only below, with these sizes.
    let done = unsafe { libc::syscall(libc::SYS_ioctl, socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(words) }
}

#[derive(Debug)]
pub struct Subject {
    pub name: &'static str,
    pub question: Query,
    /// Names of words in an answer that no command can change, each with its index.
    pub read_only: &'static [(&'static str, usize)],
    /// Names of words in an answer that a command can change, each with its index.
    pub settings: &'static [(&'static str, usize)],
}

/// From the structures `ethtool_coalesce`, `ethtool_pauseparam`, `ethtool_channels` and `ethtool_eee`.
pub const SUBJECTS: [Subject; 4] = [
    Subject {
        name: "coalesce",
        question: Query { number: 0x0e, order: 0x0f, words: 23 },
        read_only: &[],
        settings: &[
            ("rx-usecs", 1),
            ("rx-frames", 2),
            ("tx-usecs", 5),
            ("tx-frames", 6),
            ("adaptive-rx", 10),
            ("adaptive-tx", 11),
        ],
    },
    Subject {
        name: "pause",
        question: Query { number: 0x12, order: 0x13, words: 4 },
        read_only: &[],
        settings: &[("autoneg", 1), ("rx", 2), ("tx", 3)],
    },
    Subject {
        name: "channels",
        question: Query { number: 0x3c, order: 0x3d, words: 9 },
        read_only: &[("max-rx", 1), ("max-combined", 4)],
        settings: &[("rx", 5), ("tx", 6), ("combined", 8)],
    },
    Subject {
        name: "eee",
        question: Query { number: 0x44, order: 0x45, words: 10 },
        read_only: &[("supported", 1), ("active", 4)],
        settings: &[("enabled", 5), ("tx-lpi", 6), ("tx-lpi-timer", 7)],
    },
];

#[cfg(test)]
mod tests {
    use super::SUBJECTS;

    #[test]
    fn every_word_is_one_of_the_answer() {
        for subject in SUBJECTS {
            let mut words = subject.read_only.iter().chain(subject.settings).map(|(_, word)| *word);
            assert!(words.all(|word| word < subject.question.words), "{}", subject.name);
        }
    }
}
