//! A message to another processor and its answer, through an rpmsg endpoint or through two words of shared memory.
//!
//! The other side sends each message back as it came. A message is a number, counted up from 1: 8 bytes, least first, on
//! an rpmsg endpoint. In shared memory the number is written to the word at the place named, and the other side copies
//! it to the word 64 bytes behind, so that each side writes a cache line of its own. Only the lower 32 bits of either
//! word count, because small processors write no more at once.

use crate::sys::shared_words::SharedWords;
use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::scenario::Channel;
use punctual_rt::now;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcsetattr};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use thiserror::Error;

/// How long an answer is waited for. Who polls for it leaves the CPU to nobody else, so this is less than what
/// `bound_run_away` allows.
const PATIENCE: Nanos = Nanos::from_secs(1);
/// Bytes of a message.
const MESSAGE: usize = 8;
/// Number of words from the one that is sent to the one that answers.
const ANSWER: usize = 8;

/// Where the other side is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub path: PathBuf,
    /// Where in the file the shared words begin, in bytes.
    pub offset: u64,
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.path.display())?;
        if self.offset > 0 { write!(f, "@{:#x}", self.offset) } else { Ok(()) }
    }
}

impl FromStr for Endpoint {
    type Err = String;

    /// Reads `PATH` or `PATH@OFFSET`, with the offset in bytes, as `4096` or `0x1000`.
    fn from_str(text: &str) -> Result<Self, String> {
        let whole = |path: &str| Self { path: path.into(), offset: 0 };
        let Some((path, digits)) = text.rsplit_once('@') else {
            return if text.is_empty() { Err("an endpoint is the path of a file".to_owned()) } else { Ok(whole(text)) };
        };
        let offset = match digits.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => digits.parse(),
        };
        match offset {
            Ok(offset) if offset % 8 == 0 && !path.is_empty() => Ok(Self { path: path.into(), offset }),
            Ok(_) => Err(format!("`{text}`: write PATH@OFFSET, with an offset that is a multiple of 8")),
            // Names of devices hold an @ as well.
            Err(_) => Ok(whole(text)),
        }
    }
}

#[derive(Debug, Error)]
pub enum EndpointError {
    #[error("{endpoint} cannot be used as an endpoint: {reason}")]
    Unusable { endpoint: Endpoint, channel: Channel, reason: io::Error },
    #[error("{endpoint} does not answer: nothing came back within a second")]
    Silent { endpoint: Endpoint, channel: Channel },
    #[error("{endpoint} answers something else than it was sent ({got} for {sent})")]
    Other { endpoint: Endpoint, sent: u64, got: u64 },
}

impl EndpointError {
    pub fn remedy(&self) -> String {
        match self {
            Self::Unusable { endpoint, reason, .. } if reason.raw_os_error() == Some(libc::EACCES) => {
                format!("run as root, or let this user read and write {}", endpoint.path.display())
            }
            Self::Unusable { channel: Channel::Rpmsg, .. } => {
                let found = rpmsg_files(Path::new("/dev"));
                let list = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
                format!(
                    "endpoints of this machine: {list}; the driver rpmsg_char or rpmsg_tty makes them when the firmware \
                     announces a channel (cat /sys/class/remoteproc/remoteproc*/state)"
                )
            }
            Self::Unusable { channel: Channel::SharedMemory, .. } => {
                "name memory that both sides see, as PATH@OFFSET: a file of /dev/shm, /dev/uio0, a PCI device's \
                 resource2, or /dev/mem where the kernel allows it"
                    .to_owned()
            }
            Self::Silent { channel: Channel::Rpmsg, .. } | Self::Other { .. } => {
                "run firmware on the other side that sends each message back as it came".to_owned()
            }
            Self::Silent { channel: Channel::SharedMemory, .. } => {
                "run a program on another CPU that copies the number at this place to the place 64 bytes behind, at once"
                    .to_owned()
            }
        }
    }
}

/// The files of rpmsg endpoints in a folder of devices.
fn rpmsg_files(dev: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dev).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_endpoint = |name: &String| {
        let number = name.strip_prefix("rpmsg").or_else(|| name.strip_prefix("ttyRPMSG"));
        number.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()))
    };
    let mut found: Vec<String> = names.filter(is_endpoint).map(|name| dev.join(name).display().to_string()).collect();
    found.sort();
    found
}

/// An endpoint whose other side answered once.
#[derive(Debug)]
pub struct OpenEndpoint {
    endpoint: Endpoint,
    channel: Channel,
    line: Line,
    /// The number that was sent last.
    sent: u64,
}

#[derive(Debug)]
enum Line {
    /// A file that is written and read. If it is a terminal, it gets its settings back at the end.
    Messages(File, Option<Termios>),
    Words(SharedWords),
}

impl OpenEndpoint {
    /// Opens an endpoint and waits for a first answer.
    pub fn open(channel: Channel, endpoint: &Endpoint) -> Result<Self, EndpointError> {
        let unusable = |reason| EndpointError::Unusable { endpoint: endpoint.clone(), channel, reason };
        let line = match channel {
            Channel::Rpmsg => Line::messages(&endpoint.path),
            Channel::SharedMemory => Line::words(endpoint),
        };
        let line = line.map_err(unusable)?;
        // An answer that is still there from an earlier run must not be taken for one of this run.
        let sent = match &line {
            Line::Messages(..) => 0,
            Line::Words(words) => low(places(words).1.load(Acquire)),
        };
        let mut open = Self { endpoint: endpoint.clone(), channel, line, sent };
        open.round_trip()?;
        Ok(open)
    }

    /// Sends a message and waits for its answer. Returns when it was sent, and when the answer was there.
    ///
    /// # Real-time
    /// Through rpmsg three kernel entries; the thread sleeps for the answer. Through shared memory none; the thread
    /// polls for the answer.
    pub fn round_trip(&mut self) -> Result<(MonoTime, MonoTime), EndpointError> {
        self.sent += 1;
        let sent = self.sent;
        let from = now();
        let answer = match &self.line {
            Line::Messages(file, _) => exchange(file, sent, from).map_err(|reason| EndpointError::Unusable {
                endpoint: self.endpoint.clone(),
                channel: self.channel,
                reason,
            })?,
            Line::Words(words) => poll_for(words, sent, from),
        };
        match answer {
            Answer::Same(at) => Ok((from, at)),
            Answer::Other(got) => Err(EndpointError::Other { endpoint: self.endpoint.clone(), sent, got }),
            Answer::None => Err(EndpointError::Silent { endpoint: self.endpoint.clone(), channel: self.channel }),
        }
    }
}

impl Line {
    fn messages(path: &Path) -> io::Result<Self> {
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
        let mut before = None;
        if isatty(&file) {
            let settings = tcgetattr(&file)?;
            let mut raw = settings.clone();
            raw.make_raw();
            tcsetattr(&file, OptionalActions::Flush, &raw)?;
            before = Some(settings);
        }
        let mut rest = [0; 512];
        // Bounded, because the other side may talk all the time.
        for _ in 0..1_000 {
            match rustix::io::read(&file, &mut rest) {
                Ok(1..) => {}
                Ok(0) | Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Self::Messages(file, before))
    }

    fn words(endpoint: &Endpoint) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(&endpoint.path)?;
        let end = endpoint.offset.saturating_add(((ANSWER + 1) * size_of::<u64>()) as u64);
        let about = file.metadata()?;
        // A place behind the end of a file can be mapped, but touching it ends the process.
        if about.is_file() && about.len() < end {
            let why = format!("it has {} bytes, and the words end at byte {end}", about.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        Ok(Self::Words(SharedWords::map(&file, endpoint.offset, ANSWER + 1)?))
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Self::Messages(file, Some(before)) = self {
            // If it fails, the terminal is gone.
            let _ = tcsetattr(&*file, OptionalActions::Now, before);
        }
    }
}

enum Answer {
    Same(MonoTime),
    Other(u64),
    /// Nothing came within [`PATIENCE`].
    None,
}

const fn low(word: u64) -> u64 {
    word & 0xffff_ffff
}

/// The word that is sent, and the one that answers.
fn places(words: &SharedWords) -> (&AtomicU64, &AtomicU64) {
    let words = words.words();
    (&words[0], &words[ANSWER])
}

fn poll_for(words: &SharedWords, sent: u64, from: MonoTime) -> Answer {
    let (ours, theirs) = places(words);
    ours.store(sent, Release);
    loop {
        let got = low(theirs.load(Acquire));
        let at = now();
        if got == low(sent) {
            return Answer::Same(at);
        }
        if at.since(from) > PATIENCE {
            return Answer::None;
        }
        std::hint::spin_loop();
    }
}

/// Writes a message and reads until its answer is there. Answers to earlier messages are passed over.
fn exchange(file: &File, sent: u64, from: MonoTime) -> io::Result<Answer> {
    if rustix::io::write(file, &sent.to_le_bytes())? != MESSAGE {
        return Err(io::Error::other("a message of 8 bytes was not taken whole"));
    }
    let (mut message, mut have) = ([0; MESSAGE], 0);
    let until = from.plus(PATIENCE);
    loop {
        let left = until.since(now());
        if left == Nanos::ZERO {
            return Ok(Answer::None);
        }
        match rustix::io::read(file, &mut message[have..]) {
            Ok(0) => return Err(io::Error::other("the other side closed it")),
            Ok(length) => have += length,
            Err(Errno::AGAIN) => wait_readable(file, left)?,
            Err(error) => return Err(error.into()),
        }
        if have < MESSAGE {
            continue;
        }
        let at = now();
        match u64::from_le_bytes(message) {
            got if got == sent => return Ok(Answer::Same(at)),
            earlier if earlier < sent => have = 0,
            got => return Ok(Answer::Other(got)),
        }
    }
}

fn wait_readable(file: &File, longest: Nanos) -> io::Result<()> {
    let [seconds, ns] = [longest.as_ns() / 1_000_000_000, longest.as_ns() % 1_000_000_000];
    let longest = Timespec { tv_sec: seconds.try_into().unwrap_or(0), tv_nsec: ns.try_into().unwrap_or(0) };
    match poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&longest)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::Relaxed;

    fn place(path: &Path) -> Endpoint {
        Endpoint { path: path.to_owned(), offset: 0 }
    }

    #[test]
    fn an_endpoint_is_a_path_and_perhaps_an_offset() {
        let read = |text: &str| text.parse::<Endpoint>();
        let at = |path: &str, offset| Ok(Endpoint { path: path.into(), offset });
        assert_eq!(read("/dev/rpmsg0"), at("/dev/rpmsg0", 0));
        assert_eq!(read("/dev/mem@0x3c000000"), at("/dev/mem", 0x3c00_0000));
        assert_eq!(read("/dev/uio0@4096"), at("/dev/uio0", 4096));
        assert_eq!(read("/sys/devices/vdev0@dev/shm"), at("/sys/devices/vdev0@dev/shm", 0));
        assert_eq!(read("/dev/mem@0x1000").unwrap().to_string(), "/dev/mem@0x1000");
        for wrong in ["", "/dev/mem@3", "@8"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn messages_come_back_and_late_answers_are_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        // A pipe that is open for both gives back what is written to it, as the firmware is to do.
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let mut open = OpenEndpoint::open(Channel::Rpmsg, &place(&pipe)).unwrap();
        let (sent, answered) = open.round_trip().unwrap();
        assert!(sent <= answered);
        let Line::Messages(file, None) = &open.line else { panic!("a pipe is no terminal") };
        rustix::io::write(file, &1_u64.to_le_bytes()).unwrap();
        assert!(open.round_trip().is_ok(), "the answer to the first message came late");
        let Line::Messages(file, _) = &open.line else { unreachable!() };
        rustix::io::write(file, &900_u64.to_le_bytes()).unwrap();
        let other = open.round_trip().unwrap_err();
        assert!(matches!(other, EndpointError::Other { got: 900, .. }), "{other}");
    }

    #[test]
    fn who_does_not_answer_is_named_with_what_to_do() {
        let refused = |channel, path: &str| {
            let error = OpenEndpoint::open(channel, &path.parse().unwrap()).unwrap_err();
            format!("{error}; {}", error.remedy())
        };
        assert!(refused(Channel::Rpmsg, "/dev/null").contains("the other side closed it"));
        assert!(refused(Channel::Rpmsg, "/dev/zero").contains("sends each message back"), "all zeros are late answers");
        assert!(refused(Channel::Rpmsg, "/dev/rpmsg77").contains("endpoints of this machine"));
        assert!(refused(Channel::SharedMemory, "/nowhere@8").contains("PATH@OFFSET"));
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        assert!(refused(Channel::SharedMemory, path).contains("it has 0 bytes, and the words end at byte 72"));
        assert!(refused(Channel::SharedMemory, &format!("{path}@0xfffffffffffffff8")).contains("it has 0 bytes"));
        file.as_file().set_len(4096).unwrap();
        assert!(refused(Channel::SharedMemory, path).contains("copies the number"));
    }

    #[test]
    fn a_program_beside_answers_through_memory() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(8192).unwrap();
        let endpoint = Endpoint { path: file.path().to_owned(), offset: 4096 };
        let (theirs, over) = (SharedWords::map(file.as_file(), 4096, ANSWER + 1).unwrap(), AtomicBool::new(false));
        // The answer of an earlier run.
        theirs.words()[0].store(70, Relaxed);
        theirs.words()[ANSWER].store(70, Relaxed);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (ours, answer) = places(&theirs);
                while !over.load(Relaxed) {
                    // A small processor writes 32 bits, and the upper ones may be anything.
                    answer.store(ours.load(Acquire) | (7 << 32), Release);
                    std::thread::yield_now();
                }
            });
            let mut open = OpenEndpoint::open(Channel::SharedMemory, &endpoint).unwrap();
            let trips = (0..100).map(|_| open.round_trip()).collect::<Result<Vec<_>, _>>();
            over.store(true, Relaxed);
            assert!(trips.unwrap().iter().all(|(sent, answered)| sent < answered));
            assert_eq!(open.sent, 171);
        });
    }
}
