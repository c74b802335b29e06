//! The helper that reads files at the other end of a stream: another process, or a thread if no process can be started.
//!
//! A question consists of one byte for its kind, the length of the path and the path. An answer consists of one byte
//! for the kind of fact, the length of its content and the content. The helper greets first with its thread id, so that
//! the time of its start is not taken for a file that hangs, and its state can be read. This module does not decide how
//! long to wait for an answer.

use punctual_facts::fact::Fact;
use punctual_facts::stat_line::StatLine;
use punctual_facts::tree::Tree;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs;
use std::io::{self, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The program of this process. The link works even if an update has just replaced the program's file.
const THIS_PROGRAM: &str = "/proc/self/exe";
const HELLO: u8 = b'p';
/// How long a helper may take to start.
const MOST_FOR_HELLO: Duration = Duration::from_secs(2);
/// How long the rest of an answer may take after it has begun.
const MOST_FOR_THE_REST: Duration = Duration::from_secs(1);
/// Factor on the wait for a helper that computes or waits for a CPU: then the machine is slow, and no file hangs.
const MOST_WHILE_RUNNING: u32 = 8;
/// Initial size of the buffer for an answer; most answers fit.
const USUAL_BYTES: usize = 16 << 10;
/// Limit on an answer. The largest answer is the table of interrupts.
const MOST_BYTES: u32 = 64 << 20;
/// Stack of a helper thread, enough for the deepest call chain, which unpacks a module.
const STACK_BYTES: usize = 512 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Question {
    Read = b'r',
    List = b'l',
    Link = b'k',
}

impl Question {
    const ALL: [Self; 3] = [Self::Read, Self::List, Self::Link];

    /// The answer as bytes. Names are joined with `/`, which is not part of any name.
    pub(super) fn of(self, tree: &impl Tree, path: &str) -> Fact<Vec<u8>> {
        match self {
            Self::Read => tree.read(path),
            Self::List => tree.list(path).map(|names| names.join("/").into_bytes()),
            Self::Link => tree.link(path).map(String::into_bytes),
        }
    }
}

#[derive(Debug)]
pub(super) struct Reader {
    stream: BufReader<UnixStream>,
    process: Option<Child>,
    thread_id: u32,
}

impl Reader {
    /// Starts this program again, with the argument `word` that makes it call [`answer`].
    pub(super) fn process(word: &str) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = Command::new(THIS_PROGRAM);
        // The helper may outlive this process. If it held the standard output or error of this process, a process that
        // waits for the end of these streams would wait for the helper.
        command.arg(word).current_dir("/").stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.spawn()?;
        // Closes our copy of the helper's end of the stream. Otherwise the end of the helper would not be noticed.
        drop(command);
        Self::greeted(ours, Some(process))
    }

    /// Starts a thread. If the thread hangs for ever, the process cannot end completely.
    pub(super) fn thread<T: Tree + Send + Sync + 'static>(tree: Arc<T>) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let answer = move || {
            // The thread ends when the stream is closed.
            let _ = serve(&*tree, &theirs);
        };
        thread::Builder::new().name("punctual-reader".to_owned()).stack_size(STACK_BYTES).spawn(answer)?;
        Self::greeted(ours, None)
    }

    fn greeted(stream: UnixStream, process: Option<Child>) -> io::Result<Self> {
        stream.set_read_timeout(Some(MOST_FOR_THE_REST))?;
        let mut reader = Self { stream: BufReader::with_capacity(USUAL_BYTES, stream), process, thread_id: 0 };
        reader.wait(MOST_FOR_HELLO)?;
        let (code, id) = take(&mut reader.stream)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        match id.try_into() {
            Ok(id) if code == HELLO => reader.thread_id = u32::from_le_bytes(id),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
        Ok(reader)
    }

    pub(super) fn ask(&mut self, question: Question, path: &str, limit: Duration) -> io::Result<Fact<Vec<u8>>> {
        put(self.stream.get_ref(), question as u8, path.as_bytes())?;
        let mut waits = 1;
        while let Err(e) = self.wait(limit) {
            if e.kind() != io::ErrorKind::TimedOut || waits == MOST_WHILE_RUNNING || !self.is_running() {
                return Err(e);
            }
            waits += 1;
        }
        let (code, bytes) = take(&mut self.stream)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        decoded(code, bytes)
    }

    /// Whether the helper computes or waits for a CPU. A helper sleeps while a file hangs.
    fn is_running(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.thread_id)).unwrap_or_default();
        StatLine::parse(&stat).and_then(|line| line.field(3)) == Some("R")
    }

    fn wait(&self, limit: Duration) -> io::Result<()> {
        let end = Instant::now() + limit;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).map_err(|_| io::ErrorKind::InvalidInput)?;
            let mut asked = [PollFd::new(self.stream.get_ref(), PollFlags::IN)];
            match poll(&mut asked, Some(&left)) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Err(Errno::INTR) => {}
                done => return Ok(done.map(|_| ())?),
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            // Killing the helper is safe, because it only reads. A hanging helper cannot be waited for here; init reaps
            // it.
            let _ = process.kill();
            let _ = process.try_wait();
        }
    }
}

/// Answers questions from standard input, a stream, until the other end is closed.
pub(super) fn answer(tree: &impl Tree) -> io::Result<()> {
    use std::os::fd::AsFd;
    crate::sys::process::close_inherited();
    // The name helps people who look at the list of processes.
    let _ = rustix::thread::set_name(c"punctual-reader");
    let stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    serve(tree, &stream)
}

fn serve(tree: &impl Tree, stream: &UnixStream) -> io::Result<()> {
    put(stream, HELLO, &rustix::thread::gettid().as_raw_nonzero().get().to_le_bytes())?;
    let mut questions = BufReader::new(stream);
    while let Some((code, path)) = take(&mut questions)? {
        let question = Question::ALL.into_iter().find(|question| *question as u8 == code);
        let (Some(question), Ok(path)) = (question, String::from_utf8(path)) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        match question.of(tree, &path) {
            Fact::Known(bytes) => put(stream, b'k', &bytes),
            Fact::Absent => put(stream, b'a', &[]),
            Fact::Denied => put(stream, b'd', &[]),
            Fact::Garbled(why) => put(stream, b'g', why.as_bytes()),
        }?;
    }
    Ok(())
}

fn decoded(code: u8, bytes: Vec<u8>) -> io::Result<Fact<Vec<u8>>> {
    Ok(match code {
        b'k' => Fact::Known(bytes),
        b'a' => Fact::Absent,
        b'd' => Fact::Denied,
        b'g' => Fact::Garbled(String::from_utf8_lossy(&bytes).into_owned()),
        _ => return Err(io::ErrorKind::InvalidData.into()),
    })
}

fn put(mut stream: &UnixStream, code: u8, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).ok().filter(|length| *length <= MOST_BYTES);
    let length = length.ok_or(io::ErrorKind::InvalidInput)?;
    let mut message = Vec::with_capacity(5 + bytes.len());
    message.push(code);
    message.extend_from_slice(&length.to_le_bytes());
    message.extend_from_slice(bytes);
    stream.write_all(&message)
}

/// The next message; `None` at the end of the stream.
fn take(source: &mut impl Read) -> io::Result<Option<(u8, Vec<u8>)>> {
    let mut head = [0; 5];
    match source.read_exact(&mut head) {
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        done => done?,
    }
    let [code, length @ ..] = head;
    let length = u32::from_le_bytes(length);
    if length > MOST_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = Vec::new();
    source.take(u64::from(length)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != u64::from(length) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some((code, bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_facts::tree::MemTree;

    #[test]
    fn an_answer_is_the_same_at_the_other_end() {
        let tree = MemTree::parse(
            "punctual-machine 1\n/a/x = \\xff\n/a/y y = 2\n/b/ ! denied\n/c ! garbled odd\n/l -> ../x y\n/e/\n",
        );
        let mut tree = tree.unwrap_or_default();
        tree.file("/large", Fact::Known(vec![7; 5 << 20]));
        let tree = Arc::new(tree);
        let mut reader = Reader::thread(Arc::clone(&tree)).unwrap();
        for question in Question::ALL {
            for path in ["/", "/a", "/a/x", "/b", "/c", "/e", "/l", "/large", "/none", ""] {
                let asked = reader.ask(question, path, Duration::from_secs(5)).unwrap();
                assert_eq!(asked, question.of(&*tree, path), "{question:?} {path}");
            }
        }
    }

    /// Each question about `/computing` keeps a CPU busy for 600 ms; each about `/hung` sleeps as long.
    struct Slow;

    impl Tree for Slow {
        fn read(&self, path: &str) -> Fact<Vec<u8>> {
            const TIME: Duration = Duration::from_millis(600);
            let start = Instant::now();
            while path == "/computing" && start.elapsed() < TIME {
                std::hint::spin_loop();
            }
            if path == "/hung" {
                thread::sleep(TIME);
            }
            Fact::Absent
        }
        fn list(&self, _: &str) -> Fact<Vec<String>> {
            Fact::Absent
        }
        fn link(&self, _: &str) -> Fact<String> {
            Fact::Absent
        }
    }

    #[test]
    fn a_reader_that_computes_is_given_more_time_than_one_that_sleeps() {
        let of =
            |path: &str| Reader::thread(Arc::new(Slow)).unwrap().ask(Question::Read, path, Duration::from_millis(400));
        assert_eq!(of("/computing").unwrap(), Fact::Absent);
        assert_eq!(of("/hung").unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn rubbish_ends_the_conversation_and_nothing_else() {
        for rubbish in [&b"x\0\0\0\0"[..], b"r\xff\xff\xff\xff", b"r\x01\0\0\0\xff", b"r"] {
            let (ours, theirs) = UnixStream::pair().unwrap();
            (&ours).write_all(rubbish).unwrap();
            ours.shutdown(std::net::Shutdown::Write).unwrap();
            let done = serve(&MemTree::new(), &theirs);
            assert_eq!(done.is_ok(), rubbish == b"r", "{rubbish:?}");
        }
        assert!(Reader::process("--version").is_err(), "who says no hello is no reader");
    }
}
