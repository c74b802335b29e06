//! The registers of the floating-point and vector units, filled with patterns and read back around one act of a thread.
//!
//! [`hold`] fills the registers, does something, and reads them back, in one piece of assembler code. No code of the
//! compiler runs in between, so whatever is read back other than it was written was changed by the kernel, the
//! hypervisor or the CPU.

#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
mod errand;
#[cfg(target_arch = "aarch64")]
#[path = "aarch64.rs"]
mod machine;
#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
#[path = "other.rs"]
mod machine;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod machine;

use punctual_rt::SleepCall;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Bytes that hold all registers of any CPU. The largest are those of SVE with its longest vectors.
const IMAGE_BYTES: usize = 12 * 1024;

/// One register, or the part of a register that the CPU keeps apart from the rest.
#[derive(Clone, Debug)]
pub struct Register {
    pub name: String,
    pub unit: Unit,
    place: Range<usize>,
    /// Whether a system call may change it. The upper part of an SVE register is kept only while nothing is called.
    volatile: bool,
    /// The bits of a control register that patterns may change. All others keep the value that they have at the start
    /// of a program. `None` for a register that takes any pattern.
    control: Option<Control>,
}

/// The part of a CPU that a register belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    X87,
    Sse,
    Avx,
    Avx512,
    Neon,
    Sve,
}

/// How patterns are made for a control register.
#[derive(Clone, Copy, Debug)]
struct Control {
    initial: u32,
    /// The lowest of the two bits that select how results are rounded.
    rounding: u32,
}

/// Who wrote a pattern: it can be read from any 64 bits of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Writer {
    pub cpu: u32,
    /// The number of the thread on its CPU, from 0.
    pub thread: u32,
}

/// The contents of all registers.
#[repr(C, align(64))]
pub struct Image([u8; IMAGE_BYTES]);

/// What a thread does between filling its registers and reading them back.
#[derive(Clone, Copy, Debug)]
pub enum Act<'a> {
    Yield,
    Sleep(Duration),
    /// Sleeps as a thread of a real-time core, by the call that the core gave the calling thread.
    CoreSleep(SleepCall, Duration),
    /// Sleeps until `word` is not 0, at most for the given time.
    Wait(&'a AtomicU32, Duration),
    /// Wakes the thread that waits on the word. If that thread has a higher priority, it runs before the call returns.
    Wake(&'a AtomicU32),
    /// Sends the calling thread this signal, whose handler runs before the call returns.
    Signal(i32),
    /// Reads the word until it is not 0, at most the given number of times. Only interrupts take the CPU away.
    Spin(&'a AtomicU32, u32),
    /// Writes to each page of this memory.
    Touch(&'a super::pages::Pages),
}

/// A register that does not hold what was written.
#[derive(Clone, Debug)]
pub struct Difference {
    pub register: &'static str,
    pub expected: Vec<u8>,
    pub found: Vec<u8>,
    /// Who wrote what was found, if it is a pattern of this program.
    pub written_by: Option<Writer>,
}

/// The registers of this CPU that are known here; empty on an architecture that is not supported.
pub fn registers() -> &'static [Register] {
    static REGISTERS: OnceLock<Vec<Register>> = OnceLock::new();
    REGISTERS.get_or_init(machine::registers)
}

impl Image {
    pub fn new() -> Box<Self> {
        let mut image = Box::new(Self::zeroed());
        machine::prepare(&mut image.0);
        image
    }

    /// An image that can be read into, and not loaded.
    pub const fn zeroed() -> Self {
        Self([0; IMAGE_BYTES])
    }

    /// Writes a pattern into every register. Each 64 bits tell the writer, the register, their place in it, and the
    /// round.
    pub fn fill(&mut self, writer: Writer, round: u32) {
        for (number, register) in registers().iter().enumerate() {
            if let Some(Control { initial, rounding }) = register.control {
                let word = initial | (round.wrapping_add(writer.thread) & 3) << rounding;
                self.0[register.place.clone()].copy_from_slice(&word.to_le_bytes()[..register.place.len()]);
                continue;
            }
            for (nth, bytes) in self.0[register.place.clone()].chunks_mut(8).enumerate() {
                let place = (number as u64 & 0xff) << 32 | (nth as u64 & 0xff) << 24;
                let word = writer.bits() | place | u64::from(round) & 0xff_ffff;
                bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
            }
        }
    }

    /// Flips one bit of the last register, and returns its name; `None` if no register is known.
    pub fn spoil(&mut self) -> Option<&'static str> {
        let register = registers().iter().rfind(|register| register.control.is_none() && !register.volatile)?;
        self.0[register.place.start] ^= 1;
        Some(&register.name)
    }

    /// The registers whose contents differ, in two images of which this one was written and the other one read back.
    /// What an act may change is left out.
    pub fn differences(&self, found: &Self, act: &Act<'_>) -> Vec<Difference> {
        let read = |image: &Self, register: &Register| image.0[register.place.clone()].to_vec();
        let difference = |one: &'static Register| Difference {
            register: &one.name,
            expected: read(self, one),
            found: read(found, one),
            written_by: if one.control.is_none() { Writer::of(&found.0[one.place.clone()]) } else { None },
        };
        self.differing(found, act).map(difference).collect()
    }

    /// Whether there are no differences. Allocates nothing.
    pub fn is_as(&self, found: &Self, act: &Act<'_>) -> bool {
        self.differing(found, act).next().is_none()
    }

    fn differing<'a>(&'a self, found: &'a Self, act: &Act<'_>) -> impl Iterator<Item = &'static Register> + use<'a> {
        let calls = !matches!(act, Act::Spin(..) | Act::Touch(_));
        let kept = registers().iter().filter(move |register| !(calls && register.volatile));
        kept.filter(|one| self.0[one.place.clone()] != found.0[one.place.clone()])
    }
}

impl Writer {
    /// The bits of a pattern that name its writer. Threads count from 1 in it, so that no pattern is 0.
    fn bits(self) -> u64 {
        u64::from(self.cpu & 0xfff) << 52 | u64::from((self.thread + 1) & 0xfff) << 40
    }

    fn of(bytes: &[u8]) -> Option<Self> {
        let word = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
        let [cpu, thread] = [52, 40].map(|shift| u32::try_from(word >> shift & 0xfff).unwrap_or_default());
        Some(Self { cpu, thread: thread.checked_sub(1)? })
    }
}

/// Fills the registers with `image`, acts, and reads them into `found`.
pub fn hold(image: &Image, found: &mut Image, act: Act<'_>) {
    machine::hold(&image.0, &mut found.0, act);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::pages::Pages;

    const WRITER: Writer = Writer { cpu: 3, thread: 5 };

    fn filled(round: u32) -> Box<Image> {
        let mut image = Image::new();
        image.fill(WRITER, round);
        image
    }

    #[test]
    fn what_was_written_is_read_back_whatever_the_thread_does() {
        let (zero, one) = (AtomicU32::new(0), AtomicU32::new(1));
        let pages = Pages::map(8).unwrap();
        let moment = Duration::from_micros(50);
        let acts = [
            Act::Yield,
            Act::Sleep(moment),
            Act::Wait(&zero, moment),
            Act::Wait(&one, moment),
            Act::Wake(&zero),
            Act::Signal(0),
            Act::Spin(&zero, 1000),
            Act::Touch(&pages),
        ];
        for (round, act) in (0..64).flat_map(|round| acts.iter().map(move |act| (round, act))) {
            let (image, mut found) = (filled(round), Image::new());
            hold(&image, &mut found, *act);
            assert!(image.differences(&found, act).is_empty(), "{act:?}: {:?}", image.differences(&found, act));
        }
        assert_eq!((std::hint::black_box(0.1_f64) + 0.2).to_bits(), 0.3_f64.to_bits() + 1, "rounding is as it was");
    }

    #[test]
    #[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
    fn one_bit_in_any_register_is_seen_and_named() {
        let names: Vec<&str> = registers().iter().map(|register| register.name.as_str()).collect();
        assert!(names.len() >= 26, "no CPU has fewer: {names:?}");
        for (number, register) in registers().iter().enumerate().filter(|(_, register)| register.control.is_none()) {
            let (image, mut found) = (filled(7), Image::new());
            let mut spoilt = filled(7);
            spoilt.0[register.place.end - 1] ^= 0x80;
            let act = Act::Spin(&AtomicU32::new(1), 1);
            hold(&spoilt, &mut found, act);
            let differences = image.differences(&found, &act);
            let told: Vec<&str> = differences.iter().map(|one| one.register).collect();
            assert_eq!(told, [names[number]]);
            assert_ne!(differences[0].expected, differences[0].found);
        }
    }

    #[test]
    #[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
    fn a_pattern_tells_who_wrote_it() {
        let (image, mut other) = (filled(1), Image::new());
        let theirs = Writer { cpu: 1023, thread: 0 };
        other.fill(theirs, 1);
        let act = Act::Yield;
        let differences = image.differences(&other, &act);
        assert!(differences.len() >= 26, "{differences:?}");
        assert!(differences.iter().all(|one| one.written_by.is_none_or(|writer| writer == theirs)));
        assert!(
            image.differences(&Image::new(), &act).iter().all(|one| one.written_by.is_none()),
            "zeros are no pattern"
        );
        let mut spoilt = filled(1);
        assert_eq!(spoilt.spoil(), image.differences(&spoilt, &act).first().map(|one| one.register));
    }
}
