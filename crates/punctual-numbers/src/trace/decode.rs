//! Raw events to records: by what a kernel's `format` files say, learned before.
//!
//! Knows no page and no file. An event whose fields are not what is needed is not learned at all, so that it gives no
//! record instead of a wrong one. Nothing is allocated for an event but for a name not met before.

use super::decode_events::{EVENTS, Shape, Wanted};
use super::decode_fields::{Number, Text, low, set, signed, tid, took};
use super::format::{EventFormat, FormatError, FormatFault};
use super::page::RawEvent;
use super::{Address, Context, Names, NoiseKind, Record, Tid, What};
use std::collections::BTreeMap;

/// Knows the formats of one kernel's events.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    /// By number of the event.
    learned: Vec<Option<Learned>>,
    /// `group:name` of what is known, by number.
    known: BTreeMap<u16, &'static Wanted>,
}

/// Numbers that the longest event is read for.
const NUMBERS: usize = 5;
const TEXTS: usize = 2;
/// States a task can be shown in; the bit above them says that it was pre-empted, and is the same from 4.15 on.
const STATES: u32 = 0xff;
/// What `cpu_idle` says when the CPU woke.
const WOKE: u32 = u32::MAX;

/// Where things are in one kind of event.
#[derive(Clone, Copy, Debug)]
struct Learned {
    shape: Shape,
    flags: Number,
    preempt: Number,
    /// Its own field on real-time kernels up to 5.15, part of the other from then on.
    migrate: Number,
    pid: Number,
    numbers: [Number; NUMBERS],
    texts: [Text; TEXTS],
    /// Shorter payloads are none of it.
    needs: usize,
}

impl Decoder {
    /// Knows nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Learns an event of [`EVENTS`] from the text of its `format` file.
    pub fn learn(&mut self, group: &str, name: &str, format: &str) -> Result<(), FormatError> {
        let fault = |why| FormatError { of: format!("{group}:{name}"), why };
        let wanted = EVENTS
            .iter()
            .find(|wanted| wanted.group == group && wanted.name == name)
            .ok_or_else(|| fault(FormatFault::NotWanted))?;
        if cfg!(target_endian = "big") {
            return Err(fault(FormatFault::BigEndian));
        }
        let format = EventFormat::parse(format).map_err(fault)?;
        let learned = Learned::new(wanted, &format).map_err(fault)?;
        if self.known.get(&format.id).is_some_and(|other| other.path() != wanted.path()) {
            return Err(fault(FormatFault::SameId(format.id)));
        }
        let place = usize::from(format.id);
        if self.learned.len() <= place {
            self.learned.resize(place + 1, None);
        }
        self.learned[place] = Some(learned);
        self.known.insert(format.id, wanted);
        Ok(())
    }

    /// Whether this event was learned.
    pub fn knows(&self, group: &str, name: &str) -> bool {
        self.known.values().any(|wanted| wanted.group == group && wanted.name == name)
    }

    /// Events that were learned.
    pub fn events(&self) -> impl Iterator<Item = &'static Wanted> {
        self.known.values().copied()
    }

    /// What an event says; `None` when it is none that was learned. Names in it are put into `names`. Of several CPUs that
    /// were asked for an interrupt at once, only the first is told: see [`Self::decode_each`].
    pub fn decode(&self, event: &RawEvent<'_>, names: &mut Names) -> Option<Record> {
        let learned = self.find(event.payload)?;
        let what = learned.what(event, names)?;
        Some(learned.record(event, what))
    }

    /// As [`Self::decode`], with one record for each CPU that was asked for an interrupt.
    pub fn decode_each(&self, event: &RawEvent<'_>, names: &mut Names, mut each: impl FnMut(Record)) {
        let Some(learned) = self.find(event.payload) else { return };
        if learned.shape == Shape::IpiSet {
            for target in set(learned.texts[0].read(event.payload)) {
                each(learned.record(event, learned.send(event.payload, target)));
            }
        } else if let Some(what) = learned.what(event, names) {
            each(learned.record(event, what));
        }
    }

    /// Every record begins with the number of its event.
    fn find(&self, payload: &[u8]) -> Option<&Learned> {
        let id = u16::from_le_bytes(*payload.first_chunk()?);
        self.learned.get(usize::from(id))?.as_ref().filter(|learned| payload.len() >= learned.needs)
    }
}

impl Learned {
    fn new(wanted: &Wanted, format: &EventFormat) -> Result<Self, FormatFault> {
        let need = |name: &str| format.field(name).ok_or_else(|| FormatFault::Missing(name.to_owned()));
        let number = |name: &str| Number::of(need(name)?).ok_or_else(|| FormatFault::Unfit(name.to_owned()));
        let text = |name: &str| Text::of(need(name)?).ok_or_else(|| FormatFault::Unfit(name.to_owned()));
        let id = need("common_type")?;
        if (id.offset, id.size) != (0, 2) {
            return Err(FormatFault::Unfit(id.name.clone()));
        }
        let migrate = match format.field("common_migrate_disable") {
            Some(_) => number("common_migrate_disable")?,
            None => Number::default(),
        };
        let mut learned = Self {
            shape: wanted.shape,
            flags: number("common_flags")?,
            preempt: number("common_preempt_count")?,
            migrate,
            pid: number("common_pid")?,
            numbers: [Number::default(); NUMBERS],
            texts: [Text::NONE; TEXTS],
            needs: 2,
        };
        for (place, name) in learned.numbers.iter_mut().zip(wanted.numbers) {
            *place = number(name)?;
        }
        for (place, name) in learned.texts.iter_mut().zip(wanted.texts) {
            *place = text(name)?;
        }
        let common = [learned.flags, learned.preempt, learned.migrate, learned.pid];
        let numbers = common.iter().chain(&learned.numbers).map(|number| number.end());
        learned.needs = numbers.chain(learned.texts.iter().map(|text| text.end())).fold(2, usize::max);
        Ok(learned)
    }

    fn record(&self, event: &RawEvent<'_>, what: What) -> Record {
        let payload = event.payload;
        let [flags, ..] = self.flags.read(payload).to_le_bytes();
        let [preempt, ..] = self.preempt.read(payload).to_le_bytes();
        let preempt = if self.migrate.size == 0 {
            preempt
        } else {
            let [migrate, ..] = self.migrate.read(payload).to_le_bytes();
            preempt.min(15) | (migrate.min(15) << 4)
        };
        Record { at: event.at, tid: tid(self.pid.read(payload)), context: Context { flags, preempt }, what }
    }

    /// What an event says, with its names put in their place.
    fn what(&self, event: &RawEvent<'_>, names: &mut Names) -> Option<What> {
        let payload = event.payload;
        let number = |place: usize| self.numbers[place].read(payload);
        let task = |place: usize| tid(number(place));
        let small = |place: usize| low(number(place));
        let text = |place: usize| self.texts[place].read(payload);
        Some(match self.shape {
            Shape::Switch => {
                let (prev, next) = (task(0), task(3));
                name(names, prev, text(0));
                name(names, next, text(1));
                let state = small(2);
                let prev_state = if state > STATES { 0 } else { state };
                What::Switch { prev, prev_prio: task(1), prev_state, next, next_prio: task(4) }
            }
            Shape::Waking => {
                name(names, task(0), text(0));
                What::Waking { tid: task(0), prio: task(1), target: small(2) }
            }
            Shape::Migrate => {
                name(names, task(0), text(0));
                What::Migrate { tid: task(0), from_cpu: small(1), to_cpu: small(2) }
            }
            Shape::Boost => {
                name(names, task(0), text(0));
                What::Boost { tid: task(0), from: task(1), prio: task(2) }
            }
            Shape::IrqEntry => {
                let irq = small(0);
                action(names, irq, text(0));
                What::IrqEntry { irq }
            }
            Shape::IrqExit => What::IrqExit { irq: small(0) },
            Shape::Noise(kind) => {
                if kind == NoiseKind::Thread {
                    name(names, task(1), text(0));
                }
                // The kernel's `start` is of the clock `local`, whatever the trace's clock is.
                let took = took(number(0));
                What::Noise { kind, id: task(1), start: event.at.minus(took), took }
            }
            _ => return self.plain(payload),
        })
    }

    /// What an event says that names nobody.
    fn plain(&self, payload: &[u8]) -> Option<What> {
        let number = |place: usize| self.numbers[place].read(payload);
        let address = |place: usize| Address(number(place));
        let small = |place: usize| low(number(place));
        Some(match self.shape {
            Shape::SoftirqEntry => What::SoftirqEntry { vector: small(0) },
            Shape::SoftirqExit => What::SoftirqExit { vector: small(0) },
            Shape::SoftirqRaise => What::SoftirqRaise { vector: small(0) },
            Shape::VectorEntry(vector) => What::VectorEntry { vector },
            Shape::VectorExit(vector) => What::VectorExit { vector },
            Shape::HrtimerStart => {
                What::HrtimerStart { timer: address(0), function: address(1), expires: signed(number(2)) }
            }
            Shape::HrtimerEntry => What::HrtimerEntry { timer: address(0), function: address(1) },
            Shape::HrtimerExit => What::HrtimerExit { timer: address(0) },
            Shape::TimerEntry => What::TimerEntry { timer: address(0), function: address(1) },
            Shape::TimerExit => What::TimerExit { timer: address(0) },
            Shape::Nmi => What::Nmi { handler: address(0), took: took(number(1)) },
            Shape::WorkStart => What::WorkStart { function: address(0) },
            Shape::WorkEnd => What::WorkEnd,
            Shape::CallEntry => What::CallEntry { function: address(0) },
            Shape::CallExit => What::CallExit,
            Shape::IpiSend => What::IpiSend { target: small(0), callsite: address(1), callback: address(2) },
            Shape::IpiSet => self.send(payload, set(self.texts[0].read(payload)).next()?),
            Shape::Idle => What::Idle { state: Some(small(0)).filter(|state| *state != WOKE) },
            Shape::Frequency => What::Frequency { cpu: small(1), khz: small(0) },
            Shape::Fault(user) => What::Fault { address: address(0), ip: address(1), user },
            Shape::Timerlat => {
                let [context, ..] = number(0).to_le_bytes();
                What::Timerlat { context, latency: took(number(1)) }
            }
            Shape::Switch
            | Shape::Waking
            | Shape::Migrate
            | Shape::Boost
            | Shape::IrqEntry
            | Shape::IrqExit
            | Shape::Noise(_) => {
                return None;
            }
        })
    }

    fn send(&self, payload: &[u8], target: u32) -> What {
        let [callsite, callback, ..] = self.numbers.map(|number| Address(number.read(payload)));
        What::IpiSend { target, callsite, callback }
    }
}

/// Puts the name of a task in its place. The idle task has none: it is another one on each CPU.
fn name(names: &mut Names, tid: Tid, bytes: &[u8]) {
    if tid == 0 {
        return;
    }
    if let Some(known) = names.tasks.get_mut(&tid) {
        replace(known, bytes);
    } else {
        replace(names.tasks.entry(tid).or_default(), bytes);
    }
}

fn action(names: &mut Names, irq: u32, bytes: &[u8]) {
    if let Some(line) = names.irqs.get_mut(&irq) {
        replace(&mut line.action, bytes);
    } else {
        replace(&mut names.irqs.entry(irq).or_default().action, bytes);
    }
}

/// Makes `known` what the bytes up to the first 0 say, if it is not already.
fn replace(known: &mut String, bytes: &[u8]) {
    let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    if known.as_bytes() != bytes {
        let now = String::from_utf8_lossy(bytes);
        if *known != now {
            known.replace_range(.., &now);
        }
    }
}
