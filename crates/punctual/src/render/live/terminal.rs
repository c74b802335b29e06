//! Takes the terminal over, writes to it without waiting, and restores it.
//!
//! The terminal device is opened anew instead of using standard input and output. Writing must not wait, and
//! `O_NONBLOCK` on standard output would also apply to other programs that share it. Standard output may also be
//! redirected.

use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read, write};
use rustix::process::getpgrp;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr,
};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const TERMINAL: &str = "/dev/tty";
/// Switches to the alternate screen, hides the cursor, and clears the screen.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[0m\x1b[H\x1b[2J";
/// Clears the screen (for terminals without an alternate one), shows the cursor, and switches back to the main screen.
const LEAVE: &[u8] = b"\x1b[0m\x1b[H\x1b[J\x1b[?25h\x1b[?1049l";
/// Longest time to wait for a terminal that takes no output, while its state is restored.
const PATIENCE: Duration = Duration::from_millis(500);
/// Columns and lines of a terminal that does not know its size, such as a serial line.
const USUAL_SIZE: (usize, usize) = (80, 24);

/// The controlling terminal of this process.
pub struct Terminal {
    tty: OwnedFd,
    /// Modes of the terminal before it was taken over.
    modes: Termios,
    /// Whether this program holds the terminal in raw mode at the moment.
    taken: Mutex<bool>,
}

impl Terminal {
    /// Opens the terminal without changing it.
    ///
    /// # Errors
    /// There is no terminal, it cannot move its cursor, or another process has it in the foreground.
    pub fn open() -> Result<Self> {
        let kind = std::env::var("TERM").unwrap_or_default();
        if kind.is_empty() || kind == "dumb" {
            bail!("--live needs a terminal that can move its cursor, TERM is \"{kind}\": leave --live away");
        }
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let tty = open(TERMINAL, flags, Mode::empty()).with_context(|| {
            format!("open {TERMINAL}: --live needs a terminal (ssh -t gives one); leave --live away")
        })?;
        let terminal = Self::on(tty).with_context(|| format!("read the modes of {TERMINAL}: leave --live away"))?;
        if !terminal.is_ours_to_use() {
            bail!("--live needs the terminal, and this process runs in the background: bring it to the front (fg)");
        }
        Ok(terminal)
    }

    fn on(tty: OwnedFd) -> Result<Self, Errno> {
        let modes = tcgetattr(&tty)?;
        Ok(Self { tty, modes, taken: Mutex::new(false) })
    }

    /// Whether this process is in the foreground, and so may read from the terminal and change its modes.
    pub fn is_ours_to_use(&self) -> bool {
        tcgetpgrp(&self.tty).is_ok_and(|group| group == getpgrp())
    }

    /// Takes the terminal over: keys are read one by one and not echoed. Ctrl-C and Ctrl-Z still send signals; Ctrl-\
    /// does not, because it would end the program without restoring the terminal.
    pub fn enter(&self) -> &'static [u8] {
        let mut taken = self.lock();
        let mut modes = self.modes.clone();
        modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN;
        modes.special_codes[SpecialCodeIndex::VMIN] = 1;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        modes.special_codes[SpecialCodeIndex::VQUIT] = 0;
        // An error is ignored here: reading reports a terminal that has gone.
        let _ = tcsetattr(&self.tty, OptionalActions::Now, &modes);
        *taken = true;
        ENTER
    }

    /// Restores the terminal if it is taken over. Any thread may call this, repeatedly; it returns within bounded time.
    pub fn leave(&self) {
        let mut taken = self.lock();
        if !std::mem::take(&mut *taken) {
            return;
        }
        // Switching IXON off releases output that Ctrl-S held back. `Now` is used because waiting until all output has
        // been sent may take for ever.
        let mut released = self.modes.clone();
        released.input_modes -= InputModes::IXON;
        let _ = tcsetattr(&self.tty, OptionalActions::Now, &released);
        self.write_patiently(LEAVE);
        let _ = tcsetattr(&self.tty, OptionalActions::Now, &self.modes);
    }

    pub fn is_taken(&self) -> bool {
        *self.lock()
    }

    pub fn size(&self) -> (usize, usize) {
        let size = tcgetwinsize(&self.tty).map(|size| (usize::from(size.ws_col), usize::from(size.ws_row)));
        size.ok().filter(|(columns, rows)| *columns > 0 && *rows > 0).unwrap_or(USUAL_SIZE)
    }

    /// Writes as many bytes as the terminal takes without waiting, and returns their number.
    pub fn write(&self, bytes: &[u8]) -> usize {
        let taken = self.lock();
        // Another thread may have restored the terminal; after that nothing may be written to it.
        if *taken { write(&self.tty, bytes).unwrap_or(0) } else { 0 }
    }

    /// Waits until a key was typed or, if `writing`, the terminal takes output, but not longer than `at_most`.
    pub fn wait(&self, writing: bool, at_most: Duration) {
        let flags = if writing { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let start = Instant::now();
        let _ = self.poll(flags, at_most);
        let hung_up = PollFlags::HUP | PollFlags::ERR;
        if self.poll(flags, Duration::ZERO).is_some_and(|seen| seen.intersects(hung_up)) {
            // On a terminal that hung up, each poll returns at once. Sleeping for the rest of the time avoids a busy
            // loop.
            std::thread::sleep(at_most.saturating_sub(start.elapsed()));
        }
    }

    /// The bytes that were typed. Does not wait for more.
    pub fn read(&self) -> Vec<u8> {
        let mut bytes = vec![0; 256];
        let length = read(&self.tty, &mut bytes).unwrap_or(0);
        bytes.truncate(length);
        bytes
    }

    fn write_patiently(&self, mut bytes: &[u8]) {
        let start = Instant::now();
        while !bytes.is_empty() && start.elapsed() < PATIENCE {
            match write(&self.tty, bytes) {
                Ok(length) => bytes = bytes.get(length..).unwrap_or_default(),
                Err(Errno::AGAIN | Errno::INTR) => _ = self.poll(PollFlags::OUT, PATIENCE / 5),
                Err(_) => return,
            }
        }
    }

    fn poll(&self, flags: PollFlags, at_most: Duration) -> Option<PollFlags> {
        let mut fds = [PollFd::new(&self.tty, flags)];
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(at_most.subsec_nanos()) };
        poll(&mut fds, Some(&timeout)).ok()?;
        Some(fds[0].revents())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, bool> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    /// A terminal whose output nobody reads, and the other end of it.
    pub(in crate::render::live) fn unread() -> (Terminal, OwnedFd) {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK;
        (Terminal::on(open(name.as_c_str(), flags, Mode::empty()).unwrap()).unwrap(), master)
    }

    pub(in crate::render::live) fn modes(terminal: &Terminal) -> String {
        format!("{:?}", tcgetattr(&terminal.tty).unwrap())
    }

    #[test]
    fn a_full_terminal_takes_nothing_and_is_put_back_in_bounded_time() {
        let (terminal, _master) = unread();
        let before = modes(&terminal);
        assert_eq!(terminal.write(b"x"), 0, "it is not ours yet");
        terminal.enter();
        assert_ne!(modes(&terminal), before);
        let start = Instant::now();
        // A moment after a write, the kernel moves its bytes on, which makes room again. The buffer counts as full only
        // after five refusals in a row.
        let mut refused = 0;
        while refused < 5 {
            refused = if terminal.write(b"xyz") > 0 { 0 } else { refused + 1 };
            terminal.wait(false, Duration::from_millis(u64::from(refused > 0)));
        }
        assert!(terminal.read().is_empty());
        terminal.leave();
        assert_eq!(modes(&terminal), before);
        assert!(start.elapsed() < PATIENCE * 10, "{:?}", start.elapsed());
    }

    #[test]
    fn a_terminal_that_went_away_is_no_reason_to_fail_or_to_spin() {
        let (terminal, master) = unread();
        terminal.enter();
        drop(master);
        let start = Instant::now();
        terminal.wait(true, Duration::from_millis(50));
        assert!(start.elapsed() >= Duration::from_millis(50));
        assert_eq!((terminal.write(b"x"), terminal.read(), terminal.size()), (0, vec![], USUAL_SIZE));
        terminal.leave();
    }
}
