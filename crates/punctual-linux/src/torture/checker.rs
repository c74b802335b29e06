//! Registers of one thread, filled anew before each act and compared after it.

use super::seat::{Kind, Seat};
use crate::sys::registers::{Act, Difference, Image, Writer, hold, registers};
use crate::sys::usage::Usage;

/// Number of corruptions that a thread keeps in detail. All are counted.
const KEPT: usize = 8;
/// The round of a planted corruption: not the first, and early enough for a run of any length.
const PLANT_ROUND: u32 = 3;

/// What a thread did while its registers were filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ActKind {
    Yield,
    Sleep,
    /// It slept as a thread of the real-time core.
    CoreSleep,
    /// It waited to be woken by another thread.
    Wait,
    /// It woke another thread, which may have run at once.
    Wake,
    /// A signal was handled.
    Signal,
    /// It ran, and only interrupts could take the CPU away.
    Spin,
    /// It wrote to pages that were not in memory.
    PageFault,
}

impl From<&Act<'_>> for ActKind {
    fn from(act: &Act<'_>) -> Self {
        match act {
            Act::Yield => Self::Yield,
            Act::Sleep(_) => Self::Sleep,
            Act::CoreSleep(..) => Self::CoreSleep,
            Act::Wait(..) => Self::Wait,
            Act::Wake(_) => Self::Wake,
            Act::Signal(_) => Self::Signal,
            Act::Spin(..) => Self::Spin,
            Act::Touch(_) => Self::PageFault,
        }
    }
}

/// A register that did not hold what its thread had written.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Corruption {
    pub cpu: u32,
    /// The number of the thread on its CPU, from 0.
    pub thread: u32,
    /// The scheduling of the thread.
    pub kind: Kind,
    /// The scheduling of the thread that it had last woken; null if there was none.
    pub partner: Option<Kind>,
    /// What the thread did meanwhile.
    pub act: ActKind,
    /// The register, or the part of a register.
    pub register: String,
    /// The bytes that were written, in hexadecimal digits, the lowest byte first.
    pub expected: String,
    /// The bytes that were read, in hexadecimal digits, the lowest byte first.
    pub found: String,
    /// The thread that wrote what was read; null if it is no pattern of this program.
    pub written_by: Option<Writer>,
}

/// A corruption that was made on purpose.
#[derive(Clone, Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plant {
    pub cpu: u32,
    /// The register, or the part of a register.
    pub register: String,
    /// Whether the test noticed it.
    pub caught: bool,
}

/// What a thread has seen when it ends.
pub(crate) struct Checked {
    pub seat: Seat,
    pub checks: u64,
    pub usage: Usage,
    pub corruptions: u64,
    pub kept: Vec<Corruption>,
    pub plant: Option<Plant>,
    /// How often the thread left the real-time core for Linux.
    pub in_band_switches: u64,
}

pub(crate) struct Checker {
    checked: Checked,
    image: Box<Image>,
    found: Box<Image>,
    round: u32,
    has_plant: bool,
}

impl Checker {
    /// The registers of the calling thread. With `plant`, one of them is spoilt once.
    pub(super) fn new(seat: &Seat, plant: bool) -> Self {
        let usage = Usage::of_this_thread();
        let (checks, corruptions, in_band_switches) = (0, 0, 0);
        let checked =
            Checked { seat: *seat, checks, usage, corruptions, kept: Vec::new(), plant: None, in_band_switches };
        Self { checked, image: Image::new(), found: Image::new(), round: 0, has_plant: plant }
    }

    /// Acts with filled registers, and compares them. `partner` is the kind of the thread that was woken last.
    pub(super) fn during(&mut self, act: Act<'_>, partner: Option<Kind>) {
        let Seat { cpu, thread, .. } = self.checked.seat;
        self.round = self.round.wrapping_add(1);
        let writer = Writer { cpu, thread };
        self.image.fill(writer, self.round);
        if self.has_plant && self.round == PLANT_ROUND {
            let register = self.image.spoil();
            hold(&self.image, &mut self.found, act);
            self.image.fill(writer, self.round);
            let caught = self.image.differences(&self.found, &act).iter().any(|one| Some(one.register) == register);
            self.checked.plant = register.map(|register| Plant { cpu, register: register.to_owned(), caught });
        } else {
            hold(&self.image, &mut self.found, act);
        }
        self.checked.checks += u64::from(!registers().is_empty());
        if !self.image.is_as(&self.found, &act) {
            self.keep(&act, partner);
        }
    }

    fn keep(&mut self, act: &Act<'_>, partner: Option<Kind>) {
        let Seat { cpu, thread, kind, .. } = self.checked.seat;
        let differences = self.image.differences(&self.found, act);
        self.checked.corruptions += differences.len() as u64;
        let room = KEPT.saturating_sub(self.checked.kept.len());
        let corruption = |one: Difference| Corruption {
            cpu,
            thread,
            kind,
            partner,
            act: act.into(),
            register: one.register.to_owned(),
            expected: hexadecimal(&one.expected),
            found: hexadecimal(&one.found),
            written_by: one.written_by,
        };
        self.checked.kept.extend(differences.into_iter().take(room).map(corruption));
    }

    /// What was seen, with what the thread used meanwhile.
    pub(super) fn finish(mut self) -> Checked {
        self.checked.usage = Usage::of_this_thread().since(self.checked.usage);
        self.checked
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}
