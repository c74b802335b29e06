//! The simulated machine of these tests: its disk, its boot loader and its kernels, with a fault at each operation.

use super::super::hands::{Ending, Hands, go_on};
use super::super::{Across, BootEntry, BootSeen, own_words};
use crate::format::{Doubts, Kept, read, write};
use crate::{Campaign, Candidate, Design, Response, RunOutcome, Strategy};
use punctual_hist::Nanos;
use punctual_tuning::plan::lasting::merge;
use punctual_tuning::plan::{Keep, wanted};

/// Releases due of a measurement are a multiple of this number, plus the number of the boot, so that tests see in which
/// boot it was made.
pub(super) const EACH: u64 = 1_000_000;
/// Number of times that the simulated user resumes a campaign that was given up.
pub(super) const TAKEN_UP: u32 = 12;
pub(super) const PLAIN: &str = "root=/dev/vda1 ro quiet isolcpus=1";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    KilledBefore,
    KilledAfter,
    PowerBefore,
    PowerAfter,
    /// Power is off for a time that counts as a pause.
    LongOff,
    /// The operation does nothing: a reboot does not happen, or a measurement is interrupted.
    Nothing,
    /// Another process reverts the campaign's settings before the operation.
    Reverted,
}

/// The error of a process that was killed. The machine may have restarted as well.
#[derive(Debug)]
pub(super) struct Gone;

#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Machine {
    /// Contents of the campaign's file.
    pub(super) disk: String,
    pub(super) boot: u64,
    pub(super) line: String,
    pub(super) entry: Option<BootEntry>,
    /// Words of the entry that the boot loader uses at the next boot only.
    pub(super) once: Option<Vec<Keep>>,
    pub(super) hooked: bool,
    pub(super) can_hook: bool,
    /// A word of the kernel command line with which no kernel comes up.
    pub(super) bad: &'static str,
    /// A word of the kernel command line with which a measurement kills the machine. `ro`, which is on every command line,
    /// makes each boot deadly.
    pub(super) deadly: &'static str,
    /// Number of further measurements that the deadly word turns into a crash.
    pub(super) deaths: u32,
    /// Whether there was a pause that no process has saved yet.
    pub(super) paused: bool,
    pub(super) seen_pause: bool,
    /// A word that cannot be written into a boot entry.
    pub(super) unwritable: &'static str,
    pub(super) faults: std::vec::IntoIter<Fault>,
    pub(super) measured: u32,
}

pub(super) fn candidate(id: &str, boot: &[Keep]) -> Candidate {
    Candidate { id: id.to_owned(), title: String::new(), cost: String::new(), boot: boot.to_vec() }
}

/// Two candidates that add words, one that removes a word, and one that is set at run time.
pub(super) fn candidates() -> Vec<Candidate> {
    let word = |word: &str| Keep::Word(word.to_owned());
    vec![
        candidate("helps", &[word("nohz_full=1")]),
        candidate("does nothing", &[word("rcu_nocbs=1"), word("skew_tick=1")]),
        candidate("takes away", &[Keep::NoWord("quiet".to_owned())]),
        candidate("at once", &[]),
    ]
}

pub(super) fn begun(runs: u64) -> Kept {
    let design = Design::new(candidates(), Strategy::OneAtATime, 5, 0.1, runs).unwrap();
    let across = Across::begun(PLAIN.to_owned(), "6.1".to_owned(), "boot 0".to_owned());
    Kept {
        arguments: Vec::new(),
        spent: Nanos::ZERO,
        last: None,
        campaign: Campaign::new(design),
        across: Some(across),
        doubts: Doubts::default(),
    }
}

impl Machine {
    pub(super) fn new(runs: u64, faults: Vec<Fault>) -> Self {
        Self {
            disk: write(&begun(runs)).unwrap(),
            boot: 0,
            line: PLAIN.to_owned(),
            entry: None,
            once: None,
            hooked: false,
            can_hook: true,
            bad: "none",
            deadly: "none",
            deaths: u32::MAX,
            paused: false,
            seen_pause: false,
            unwritable: "none",
            faults: faults.into_iter(),
            measured: 0,
        }
    }

    pub(super) fn start_again(&mut self) {
        self.boot += 1;
        let tried = self.once.take().map(|keeps| merge(PLAIN, &wanted(&keeps, "")).unwrap());
        let comes_up = tried.filter(|line| !line.contains(self.bad));
        self.line = comes_up.map_or_else(|| PLAIN.to_owned(), |line| format!("{line} panic=10"));
    }

    pub(super) fn operation<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> Result<T, Gone> {
        let fault = self.faults.next().unwrap_or(Fault::None);
        if fault == Fault::PowerBefore {
            self.start_again();
        }
        if matches!(fault, Fault::PowerBefore | Fault::KilledBefore) {
            return Err(Gone);
        }
        let done = act(self);
        match fault {
            Fault::PowerAfter => self.start_again(),
            Fault::LongOff => {
                self.start_again();
                self.paused = true;
            }
            Fault::Reverted => (self.entry, self.once, self.hooked) = (None, None, false),
            _ => {}
        }
        if matches!(fault, Fault::PowerAfter | Fault::LongOff | Fault::KilledAfter) { Err(Gone) } else { Ok(done) }
    }

    pub(super) fn kept(&self) -> Kept {
        read(&self.disk).unwrap()
    }

    pub(super) fn process(&mut self) -> Result<Ending, Gone> {
        let mut kept = self.kept();
        let mut across = kept.across.take().unwrap();
        let is_at_boot = self.hooked;
        go_on(self, &mut kept.campaign, &mut across, is_at_boot)
    }

    /// Starts one process after the other until the campaign is complete.
    pub(super) fn run_out(&mut self) -> Result<(Kept, bool), String> {
        let mut taken_up = 0;
        for _ in 0..2_000 {
            match self.process() {
                Ok(Ending::Ended { is_home }) => {
                    let mut kept = self.kept();
                    let across = kept.across.as_mut().ok_or("nothing was kept")?;
                    if across.gave_up.is_none() || taken_up == TAKEN_UP {
                        return Ok((kept, is_home));
                    }
                    taken_up += 1;
                    across.take_up();
                    self.disk = write(&kept).unwrap();
                }
                Ok(Ending::RebootByHand) => self.start_again(),
                // A fault made the process stop. The next process continues.
                Ok(Ending::Rebooting | Ending::Interrupted | Ending::PutBack | Ending::Stuck(_)) | Err(Gone) => {}
            }
        }
        Err("it does not end".to_owned())
    }
}

impl Hands for Machine {
    type Error = Gone;
    type Course = Campaign;

    fn look(&mut self) -> Result<BootSeen, Gone> {
        let (line, entry) = (format!("BOOT_IMAGE=/vmlinuz {}", self.line), self.entry.clone());
        let (hooked, can_hook) = (self.hooked, self.can_hook);
        let (boot, release) = (format!("boot {}", self.boot), "6.1".to_owned());
        let is_after_a_pause = self.paused;
        self.seen_pause = self.paused;
        Ok(BootSeen { boot, line, release, entry, hooked, can_hook, is_late: false, is_after_a_pause })
    }

    fn keep(&mut self, campaign: &Campaign, across: &Across) -> Result<(), Gone> {
        let kept = Kept { campaign: campaign.clone(), across: Some(across.clone()), ..self.kept() };
        self.operation(|machine| {
            machine.disk = write(&kept).unwrap();
            machine.paused &= !std::mem::take(&mut machine.seen_pause);
        })
    }

    fn hook(&mut self) -> Result<(), Gone> {
        self.operation(|machine| machine.hooked = true)
    }

    fn unhook(&mut self) -> Result<(), Gone> {
        self.operation(|machine| machine.hooked = false)
    }

    fn enter(&mut self, keeps: &[Keep]) -> Result<Option<String>, Gone> {
        assert_eq!(self.entry, None, "an entry is made where none stands");
        self.operation(|machine| {
            if keeps.contains(&Keep::Word(machine.unwritable.to_owned())) {
                return Some("no room".to_owned());
            }
            machine.once = Some(keeps.to_vec());
            machine.entry = Some(BootEntry { keeps: keeps.to_vec(), made_in: format!("boot {}", machine.boot) });
            None
        })
    }

    fn leave(&mut self) -> Result<(), Gone> {
        self.operation(|machine| (machine.entry, machine.once) = (None, None))
    }

    fn reboot(&mut self) -> Result<bool, Gone> {
        if !self.can_hook {
            return Ok(false);
        }
        let comes = self.faults.as_slice().first() != Some(&Fault::Nothing);
        self.operation(|machine| {
            if comes {
                machine.start_again();
            }
        })?;
        Ok(true)
    }

    fn measure(&mut self, _: &Campaign, _: &[usize]) -> Result<Option<RunOutcome>, Gone> {
        if self.line.contains(self.deadly) && self.deaths > 0 {
            self.deaths -= 1;
            self.start_again();
            return Err(Gone);
        }
        let is_interrupted = self.faults.as_slice().first() == Some(&Fault::Nothing);
        self.operation(|machine| {
            machine.measured += 1;
            // The outcome depends on the command line and on the boot, so that tests can recognise both. Misses are
            // constant.
            let factor = if machine.line.contains("nohz_full=1") { 10 } else { 20 };
            let wander = u64::from(machine.measured) * 37 % 11;
            let (p50, p99_9) = (Nanos::from_ns(factor * 400 + wander), Nanos::from_ns(factor * 1000 - wander));
            let due = EACH * (1 + line_number(&machine.line)) + machine.boot;
            let measured = Response { p50, p99_9, missed: 0, due };
            (!is_interrupted).then_some(RunOutcome::Measured(measured))
        })
    }
}

pub(super) fn line_number(line: &str) -> u64 {
    let has = |word: &str, bit: u64| if own_words(line).contains(&word) { bit } else { 0 };
    has("nohz_full=1", 1) + has("rcu_nocbs=1", 2) + has("skew_tick=1", 4) + has("quiet", 8)
}
