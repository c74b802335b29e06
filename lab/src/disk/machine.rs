//! A running computer: runs commands in it, restarts it, switches it off, or cuts its power.
//!
//! Every wait has a time limit. Whether the guest's answers are right is decided by the stories.

use super::agent::{self, Line, Output};
use super::qemu::{Computer, Qemu};
use anyhow::{Context, Result, bail, ensure};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How long a start may take. This is twice the usual time, because a start may try one boot entry, fail, and start the
/// previous one.
const START: Duration = Duration::from_secs(1200);

/// How long switching off may take. systemd gives its services 90 s.
const STOP: Duration = Duration::from_secs(180);

/// How long a command may take that needs seconds. On a busy host an emulated machine is slow.
const ANSWER: Duration = Duration::from_secs(300);

/// How long a machine that restarts by itself may work between two restarts.
const WORK: Duration = Duration::from_secs(1800);

/// How often to look at the console of a machine that is silent.
const LOOK: Duration = Duration::from_millis(500);

/// A machine that has started and answers.
#[derive(Debug)]
pub struct Machine {
    computer: Computer,
    qemu: Qemu,
    line: BufReader<UnixStream>,
    /// The beginning of a line that has not arrived completely.
    half: Vec<u8>,
    /// Length of the console's log when the machine was last switched on.
    quiet: usize,
    boot: String,
    asked: u64,
}

/// The result of starting a machine.
#[derive(Clone, Debug)]
pub struct Start {
    /// Time from the request until all services had started.
    pub took: Duration,
    /// Output of the console during the start.
    pub console: String,
}

/// A boot that prints `mark` on the console, and then gives no sign of life for the time `silence`.
#[derive(Clone, Copy, Debug)]
pub struct Hang {
    pub mark: &'static str,
    pub silence: Duration,
}

/// What a machine that works by itself came to.
#[derive(Debug)]
pub enum Turn {
    Started(Start),
    /// A boot hangs, until the power is cut.
    Hung,
    /// The command that was to end by itself has ended.
    Done,
}

impl Start {
    /// Whether a kernel panicked during the start.
    pub fn panicked(&self) -> bool {
        panicked(&self.console)
    }
}

impl Machine {
    /// Switches a computer on, and waits until all its services have started.
    pub fn start(computer: &Computer) -> Result<(Self, Start)> {
        // The emulator sometimes fails when a kernel patches its own code. Such a start is repeated, and a message
        // reports it.
        for attempt in 1..=3 {
            let started = Instant::now();
            let quiet = console(computer, 0).len();
            let (qemu, line) = switch_on(computer)?;
            let computer = computer.clone();
            let mut machine = Self { computer, qemu, line, half: Vec::new(), quiet, boot: String::new(), asked: 0 };
            match machine.wait_until_up(started, quiet) {
                Ok(start) => return Ok((machine, start)),
                Err(error) if attempt < 3 && emulator_tripped(&machine.console(quiet)) => {
                    eprintln!("start {attempt}: the emulator tripped, once more ({error:#})");
                }
                Err(error) => return Err(error),
            }
        }
        bail!("the emulator tripped three times")
    }

    /// Switches the computer on again if a reset has ended the emulator. Returns whether it did.
    fn follow_reset(&mut self) -> Result<bool> {
        if !self.qemu.ends()? {
            return Ok(false);
        }
        self.switch_on_again()?;
        Ok(true)
    }

    fn switch_on_again(&mut self) -> Result<()> {
        self.half.clear();
        self.quiet = self.console(0).len();
        (self.qemu, self.line) = switch_on(&self.computer)?;
        Ok(())
    }

    /// Pulls the plug, switches the computer on again, and waits until it has started.
    pub fn cycle_power(&mut self) -> Result<Start> {
        self.qemu.kill();
        let since = Instant::now();
        self.switch_on_again()?;
        self.wait_until_up(since, self.quiet)
    }

    /// Runs a command as root, and ends it after `limit`.
    pub fn run(&mut self, command: &str, limit: Duration) -> Result<Output> {
        self.put(command, limit)?;
        let until = Instant::now() + limit + Duration::from_secs(30);
        let (mut out, mut err) = (Vec::new(), Vec::new());
        loop {
            let what = || format!("wait for `{command}` in the guest");
            let line = match self.next_line(until).with_context(what)? {
                Next::Line(line) => line,
                Next::Nothing => bail!("the guest did not answer `{command}` in time"),
                Next::Ended => bail!("the guest restarted or ended during `{command}`"),
            };
            match line {
                Line::Out(piece) => out.extend(piece),
                Line::Err(piece) => err.extend(piece),
                Line::End(id, code) if id == self.asked => {
                    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
                    let output = Output { code, out: text(out), err: text(err) };
                    self.keep(command, &output);
                    return Ok(output);
                }
                Line::End(..) | Line::Up(_) | Line::Noise => {}
            }
        }
    }

    /// Adds a command and its output to the transcript. An error is ignored, because verdicts do not depend on the
    /// transcript.
    fn keep(&self, command: &str, Output { code, out, err }: &Output) {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(self.computer.transcript());
        let _ = file.and_then(|mut file| writeln!(file, "# {command}\n{out}{err}# ended with {code}\n"));
    }

    fn put(&mut self, command: &str, limit: Duration) -> Result<()> {
        self.asked += 1;
        let question = agent::question(self.asked, limit, command);
        self.line.get_mut().write_all(question.as_bytes()).context("ask the guest")
    }

    /// Sends a command that also ends the agent, so there is no answer to wait for.
    fn order(&mut self, command: &str) -> Result<()> {
        self.put(command, STOP)
    }

    /// Runs a command that must succeed within [`ANSWER`], and returns its standard output.
    pub fn ask(&mut self, command: &str) -> Result<String> {
        self.run(command, ANSWER)?.ok(command)
    }

    /// Restarts the machine as an administrator does, and waits until it has started, from whichever boot entry.
    pub fn reboot(&mut self) -> Result<Start> {
        self.restart_by("systemctl --no-block reboot")
    }

    /// Runs a command that restarts the machine, and waits until it has started again.
    pub fn restart_by(&mut self, command: &str) -> Result<Start> {
        let from = self.console(0).len();
        let asked = Instant::now();
        self.order(command)?;
        self.wait_until_up(asked, from)
    }

    /// Waits until the machine has restarted by itself.
    pub fn restarted(&mut self) -> Result<Start> {
        let from = self.console(0).len();
        self.wait_until_up(Instant::now(), from)
    }

    /// Restarts into a kernel that hangs.
    pub fn reboot_to_hang(&mut self, hang: Hang) -> Result<()> {
        let from = self.console(0).len();
        let asked = Instant::now();
        self.order("systemctl --no-block reboot")?;
        match self.turn(asked + START, from, Some(hang), None)? {
            Turn::Hung => Ok(()),
            Turn::Started(_) | Turn::Done => bail!("it came up instead of hanging"),
        }
    }

    /// Waits until the machine has restarted by itself, or hangs in a boot, or `command`, which waits in the guest for
    /// the end of all this, succeeds.
    pub fn follow(&mut self, command: &str, hang: Option<Hang>) -> Result<Turn> {
        let from = self.console(0).len();
        // If the machine is restarting already, the command cannot be sent, and is not needed.
        let awaited = self.put(command, WORK).ok().map(|()| self.asked);
        self.turn(Instant::now() + WORK, from, hang, awaited)
    }

    /// Shuts the machine down in order. Returns how long this took.
    pub fn power_off(mut self) -> Result<Duration> {
        let asked = Instant::now();
        self.order("systemctl --no-block poweroff")?;
        while !self.qemu.ended()? {
            ensure!(asked.elapsed() < STOP, "the guest did not switch off within {} s", STOP.as_secs());
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(asked.elapsed())
    }

    pub fn cut_power(mut self) {
        self.qemu.kill();
    }

    /// Output of the console after its first `from` bytes.
    fn console(&self, from: usize) -> String {
        console(&self.computer, from)
    }

    /// Waits until the next start is complete, however many resets happen before.
    fn wait_until_up(&mut self, since: Instant, from: usize) -> Result<Start> {
        match self.turn(since + START, from, None, None)? {
            Turn::Started(start) => Ok(Start { took: since.elapsed(), ..start }),
            Turn::Hung | Turn::Done => bail!("nobody waited for a boot that hangs, or for a command"),
        }
    }

    /// Waits until the machine has restarted, hangs, or has answered the question `awaited` with success. A start's
    /// console output begins at `from`.
    fn turn(&mut self, until: Instant, from: usize, hang: Option<Hang>, awaited: Option<u64>) -> Result<Turn> {
        let since = Instant::now();
        let mut marked: Option<Instant> = None;
        loop {
            let said = |machine: &Self| format!("the console ended with:\n{}", last_lines(&machine.console(from), 15));
            match self.next_line(until.min(Instant::now() + LOOK)) {
                Ok(Next::Line(Line::Up(boot))) if boot != self.boot => {
                    self.boot = boot;
                    return Ok(Turn::Started(Start { took: since.elapsed(), console: self.console(from) }));
                }
                Ok(Next::Line(Line::End(id, 0))) if awaited == Some(id) => return Ok(Turn::Done),
                Ok(Next::Ended) if self.follow_reset()? => marked = None,
                Ok(Next::Ended) => bail!("the guest hung up, but QEMU goes on; {}", said(self)),
                Ok(Next::Nothing) if Instant::now() >= until => {
                    bail!("the guest did not answer in time; {}", said(self))
                }
                Ok(Next::Line(_) | Next::Nothing) => {}
                Err(error) => return Err(error.context(said(self))),
            }
            let Some(Hang { mark, silence }) = hang else { continue };
            if marked.is_none() && self.console(self.quiet).contains(mark) {
                marked = Some(Instant::now());
            }
            if marked.is_some_and(|since| since.elapsed() > silence) {
                return Ok(Turn::Hung);
            }
        }
    }

    /// The next line from the guest. An error if the guest's kernel panicked and does not restart.
    fn next_line(&mut self, until: Instant) -> Result<Next> {
        loop {
            match self.line.read_until(b'\n', &mut self.half) {
                Ok(0) => return Ok(Next::Ended),
                Ok(_) if self.half.ends_with(b"\n") => {
                    let line = std::mem::take(&mut self.half);
                    return agent::line(String::from_utf8_lossy(&line).trim()).map(Next::Line);
                }
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    ensure!(!gave_up(&self.console(self.quiet)), "the guest's kernel panicked and stays so");
                    if Instant::now() >= until {
                        return Ok(Next::Nothing);
                    }
                }
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(Next::Ended),
                Err(error) => return Err(error).context("read from the guest"),
            }
        }
    }
}

/// Result of waiting for a line from the guest.
enum Next {
    Line(Line),
    /// No complete line arrived in time.
    Nothing,
    /// QEMU closed its end of the line.
    Ended,
}

fn switch_on(computer: &Computer) -> Result<(Qemu, BufReader<UnixStream>)> {
    let (qemu, line) = computer.switch_on()?;
    line.set_read_timeout(Some(Duration::from_millis(250))).context("set the time to wait for the guest")?;
    Ok((qemu, BufReader::new(line)))
}

fn console(computer: &Computer, from: usize) -> String {
    let bytes = std::fs::read(computer.console()).unwrap_or_default();
    String::from_utf8_lossy(bytes.get(from..).unwrap_or_default()).into_owned()
}

/// Whether the console's output reports a kernel panic.
fn panicked(console: &str) -> bool {
    console.contains("Kernel panic - not syncing")
}

/// Whether a kernel panicked and will not restart. With `panic=` the kernel restarts and does not print this line.
fn gave_up(console: &str) -> bool {
    console.contains("---[ end Kernel panic")
}

/// Whether a panic looks like an error of the emulator: one CPU ran into an int3 that the kernel wrote while it patched
/// its own code.
fn emulator_tripped(console: &str) -> bool {
    panicked(console) && console.contains("int3")
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(count)..).unwrap_or_default().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PANIC: &str = "[  1.0] Kernel panic - not syncing: Attempted to kill init!\n";

    #[test]
    fn a_panic_that_restarts_is_not_the_end() {
        assert!(!gave_up(""));
        assert!(!gave_up(&format!("{PANIC}[  1.1] Rebooting in 10 seconds..\n")));
        assert!(gave_up(&format!("{PANIC}[  1.1] ---[ end Kernel panic - not syncing: Attempted ]---\n")));
        assert!(!gave_up(PANIC), "it is still talking");
    }

    #[test]
    fn only_a_panic_with_int3_is_the_emulators() {
        assert!(emulator_tripped(&format!("int3: 0000 [#1]\n{PANIC}")));
        assert!(!emulator_tripped(PANIC) && !emulator_tripped("int3"));
    }

    #[test]
    fn the_end_of_the_console_is_shown() {
        assert_eq!(last_lines("a\nb\nc", 2), "b\nc");
        assert_eq!(last_lines("a", 5), "a");
    }
}
