//! Decodes raw events into records, by layouts that were learned before from the kernel's `format` files.
//!
//! This module knows neither pages nor files. An event that lacks a needed field is not learned at all, so that it
//! gives no record instead of a wrong one. Decoding an event allocates memory only for a name that is new.

use super::decode_events::{EVENTS, Wanted};
use super::decode_fields::{Fields, NUMBERS, Number, TEXTS, Text, int, set};
use super::format::{EventFormat, FormatError, FormatFault};
use super::page::RawEvent;
use super::{Context, Names, TraceEvent, TraceRecord};

#[derive(Clone, Debug, Default)]
pub struct Decoder {
    /// The layout of each learned event, by the number that the kernel gave the event.
    learned: Vec<Option<Learned>>,
}

/// The places of the fields in one kind of event.
#[derive(Clone, Copy, Debug)]
struct Learned {
    wanted: &'static Wanted,
    flags: Number,
    preempt: Number,
    /// The count of sections that forbid migration: a field of its own on real-time kernels up to 5.15, and part of
    /// `preempt` later.
    migrate: Number,
    pid: Number,
    numbers: [Number; NUMBERS],
    texts: [Text; TEXTS],
    /// Number of bytes that an event must have to hold all fields.
    needs: usize,
}

impl Decoder {
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
        let place = usize::from(format.id);
        if self.learned.len() <= place {
            self.learned.resize(place + 1, None);
        }
        if self.learned[place].is_some_and(|other| other.wanted.path() != wanted.path()) {
            return Err(fault(FormatFault::SameId(format.id)));
        }
        self.learned[place] = Some(learned);
        Ok(())
    }

    pub fn knows(&self, group: &str, name: &str) -> bool {
        self.events().any(|wanted| wanted.group == group && wanted.name == name)
    }

    pub fn events(&self) -> impl Iterator<Item = &'static Wanted> {
        self.learned.iter().flatten().map(|learned| learned.wanted)
    }

    /// Decodes an event; `None` if its kind was not learned. Names in the event are added to `names`. If the event
    /// names a mask of several CPUs, only the record of the first CPU is returned: see [`Self::decode_each`].
    pub fn decode(&self, event: &RawEvent<'_>, names: &mut Names) -> Option<TraceRecord> {
        let mut first = None;
        self.decode_each(event, names, |record| first = first.take().or(Some(record)));
        first
    }

    /// Like [`Self::decode`], but hands out one record for each CPU in the event's mask of CPUs.
    pub fn decode_each(&self, event: &RawEvent<'_>, names: &mut Names, mut each: impl FnMut(TraceRecord)) {
        let Some(learned) = self.find(event.payload) else { return };
        let Learned { wanted, numbers, texts, .. } = learned;
        let mut fields = Fields { numbers, texts, event, names, cpu: 0 };
        if !wanted.is_for_each_cpu {
            return each(learned.record(event, (wanted.what)(&mut fields)));
        }
        for cpu in set(texts[0].read(event.payload)) {
            fields.cpu = cpu;
            each(learned.record(event, (wanted.what)(&mut fields)));
        }
    }

    /// Finds the layout of an event by its number, with which the payload begins. `None` if that number was not learned
    /// or the payload is too short.
    fn find(&self, payload: &[u8]) -> Option<&Learned> {
        let id = u16::from_le_bytes(*payload.first_chunk()?);
        self.learned.get(usize::from(id))?.as_ref().filter(|learned| payload.len() >= learned.needs)
    }
}

impl Learned {
    fn new(wanted: &'static Wanted, format: &EventFormat) -> Result<Self, FormatFault> {
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
            wanted,
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

    fn record(&self, event: &RawEvent<'_>, what: TraceEvent) -> TraceRecord {
        let payload = event.payload;
        let [flags, ..] = self.flags.read(payload).to_le_bytes();
        let [preempt, ..] = self.preempt.read(payload).to_le_bytes();
        let preempt = if self.migrate.size == 0 {
            preempt
        } else {
            let [migrate, ..] = self.migrate.read(payload).to_le_bytes();
            preempt.min(15) | (migrate.min(15) << 4)
        };
        TraceRecord { at: event.at, tid: int(self.pid.read(payload)), context: Context { flags, preempt }, what }
    }
}
