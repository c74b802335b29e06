//! Decodes the events that show what a program does. Layouts are learned from the running kernel's `format` files, as
//! for the events that show what the machine does.

use super::record::{Seen, StackOf};
use crate::trace::decode_fields::{Number, Text, int};
use crate::trace::format::EventFormat;
use crate::trace::{Address, Context, FormatError, FormatFault, RawEvent, Tid};
use std::sync::Arc;

/// An event that is read, with the names of the fields that are needed of it. The numbers come first in the order that
/// `seen` expects.
#[derive(Debug)]
pub struct ProgramEvent {
    pub group: &'static str,
    pub name: &'static str,
    /// Whether the event has a file `enable`. The kernel writes the others by itself.
    pub switchable: bool,
    numbers: &'static [&'static str],
    bytes: Option<&'static str>,
    seen: fn(&Values<'_>) -> Seen,
}

impl ProgramEvent {
    pub fn path(&self) -> String {
        format!("{}:{}", self.group, self.name)
    }
}

const NUMBERS: usize = 4;

struct Values<'a> {
    numbers: [u64; NUMBERS],
    bytes: &'a [u8],
}

impl Values<'_> {
    fn number(&self, place: usize) -> u64 {
        self.numbers.get(place).copied().unwrap_or_default()
    }

    fn small(&self, place: usize) -> u32 {
        u32::try_from(self.number(place) & u64::from(u32::MAX)).unwrap_or_default()
    }

    fn signed(&self, place: usize) -> i64 {
        i64::from_ne_bytes(self.number(place).to_ne_bytes())
    }

    /// The text in the array, up to its first zero.
    fn text(&self) -> Arc<str> {
        let text = self.bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(text).into()
    }

    /// The words of eight bytes in the array.
    fn words(&self) -> impl Iterator<Item = u64> + '_ {
        self.bytes.chunks_exact(8).filter_map(|word| Some(u64::from_le_bytes(word.try_into().ok()?)))
    }
}

const fn event(
    group: &'static str,
    name: &'static str,
    numbers: &'static [&'static str],
    seen: fn(&Values<'_>) -> Seen,
) -> ProgramEvent {
    ProgramEvent { group, name, switchable: true, numbers, bytes: None, seen }
}

/// The flag `CLONE_THREAD` of `clone`.
pub const CLONE_THREAD: u64 = 0x1_0000;

/// Mask of the states in `prev_state`. The bit above the mask means that the task was pre-empted.
const STATES: u32 = 0xff;

pub const PROGRAM_EVENTS: &[ProgramEvent] = &[
    ProgramEvent {
        bytes: Some("args"),
        ..event("raw_syscalls", "sys_enter", &["id"], |of| {
            let mut words = of.words();
            let mut next = || words.next().unwrap_or_default();
            Seen::Enter { number: of.small(0), arguments: [next(), next()] }
        })
    },
    event("raw_syscalls", "sys_exit", &["id", "ret"], |of| Seen::Exit { number: of.small(0), result: of.signed(1) }),
    event("timer", "hrtimer_start", &["softexpires"], |of| Seen::Armed { expires: of.signed(0) }),
    event("exceptions", "page_fault_user", &["ip"], |of| Seen::Fault { ip: Address(of.number(0)) }),
    event("sched", "sched_switch", &["prev_pid", "prev_state", "next_pid", "next_prio"], |of| Seen::Switch {
        prev: int(of.number(0)),
        prev_state: Some(of.small(1)).filter(|state| *state <= STATES).unwrap_or(0),
        next: int(of.number(2)),
        next_prio: int(of.number(3)),
    }),
    event("sched", "sched_waking", &["pid"], |of| Seen::Waking { tid: int(of.number(0)) }),
    event("signal", "signal_deliver", &[], |_| Seen::Signal),
    ProgramEvent {
        bytes: Some("comm"),
        ..event("task", "task_newtask", &["pid", "clone_flags"], |of| Seen::Begun {
            tid: int(of.number(0)),
            is_thread: of.number(1) & CLONE_THREAD != 0,
            name: of.text(),
        })
    },
    ProgramEvent {
        bytes: Some("newcomm"),
        ..event("task", "task_rename", &["pid"], |of| Seen::Renamed { tid: int(of.number(0)), name: of.text() })
    },
    ProgramEvent {
        bytes: Some("caller"),
        switchable: false,
        ..event("ftrace", "user_stack", &[], |of| Seen::Stack {
            of: StackOf::Call,
            // The kernel writes return addresses, which may be the first of the next function.
            addresses: of.words().take_while(|at| *at != 0 && *at != u64::MAX).map(|at| Address(at - 1)).collect(),
        })
    },
];

/// Decodes raw events whose layouts it has learned.
#[derive(Debug, Default)]
pub struct ProgramDecoder {
    learned: Vec<Option<Learned>>,
}

#[derive(Debug)]
struct Learned {
    event: &'static ProgramEvent,
    flags: Number,
    preempt: Number,
    pid: Number,
    numbers: [Number; NUMBERS],
    bytes: Option<Text>,
    needs: usize,
}

impl ProgramDecoder {
    /// Learns an event from the text of its `format` file.
    pub fn learn(&mut self, event: &'static ProgramEvent, format: &str) -> Result<(), FormatError> {
        let fault = |why| FormatError { of: event.path(), why };
        if cfg!(target_endian = "big") {
            return Err(fault(FormatFault::BigEndian));
        }
        let format = EventFormat::parse(format).map_err(fault)?;
        let place = usize::from(format.id);
        if self.learned.len() <= place {
            self.learned.resize_with(place + 1, || None);
        }
        if self.learned[place].is_some() {
            return Err(fault(FormatFault::SameId(format.id)));
        }
        self.learned[place] = Some(Learned::new(event, &format).map_err(fault)?);
        Ok(())
    }

    pub fn knows(&self, path: &str) -> bool {
        self.learned.iter().flatten().any(|learned| learned.event.path() == path)
    }

    /// Decodes an event; `None` if its kind was not learned or it is too short. The result is the current task, the
    /// context and what was seen.
    pub fn decode(&self, raw: &RawEvent<'_>) -> Option<(Tid, Context, Seen)> {
        let payload = raw.payload;
        let id = u16::from_le_bytes(*payload.first_chunk()?);
        let learned = self.learned.get(usize::from(id))?.as_ref().filter(|of| payload.len() >= of.needs)?;
        let values = Values {
            numbers: learned.numbers.map(|number| number.read(payload)),
            bytes: learned.bytes.map(|bytes| bytes.read(payload)).unwrap_or_default(),
        };
        let [flags, ..] = learned.flags.read(payload).to_le_bytes();
        let [preempt, ..] = learned.preempt.read(payload).to_le_bytes();
        Some((int(learned.pid.read(payload)), Context { flags, preempt }, (learned.event.seen)(&values)))
    }
}

impl Learned {
    fn new(event: &'static ProgramEvent, format: &EventFormat) -> Result<Self, FormatFault> {
        let need = |name: &str| format.field(name).ok_or_else(|| FormatFault::Missing(name.to_owned()));
        let number = |name: &str| Number::of(need(name)?).ok_or_else(|| FormatFault::Unfit(name.to_owned()));
        let bytes = |name: &str| Text::of(need(name)?).ok_or_else(|| FormatFault::Unfit(name.to_owned()));
        let mut numbers = [Number::default(); NUMBERS];
        for (place, name) in numbers.iter_mut().zip(event.numbers) {
            *place = number(name)?;
        }
        let bytes = event.bytes.map(bytes).transpose()?;
        let [flags, preempt, pid] = [number("common_flags")?, number("common_preempt_count")?, number("common_pid")?];
        let ends = [flags, preempt, pid].into_iter().chain(numbers).map(Number::end);
        let needs = ends.chain(bytes.map(Text::end)).fold(2, usize::max);
        Ok(Self { event, flags, preempt, pid, numbers, bytes, needs })
    }
}
