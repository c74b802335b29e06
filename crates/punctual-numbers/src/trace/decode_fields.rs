//! Reads numbers and texts from the bytes of a raw event, and makes records from them.
//!
//! This module knows no particular event. A field that lies outside the bytes is read as 0 or empty. The decoder has
//! already checked that the event is long enough for all its fields.

use super::format::{Field, Kind};
use super::page::{RawEvent, little};
use super::{Address, Names, NoiseKind, Tid, TraceEvent};
use punctual_hist::Nanos;

/// Largest number of numeric fields, and of text fields, that are read from any event.
pub(crate) const NUMBERS: usize = 5;
pub(crate) const TEXTS: usize = 2;

/// The fields of one event, at the positions that they have in its [`Wanted`](super::Wanted).
pub(crate) struct Fields<'a> {
    pub(crate) numbers: &'a [Number; NUMBERS],
    pub(crate) texts: &'a [Text; TEXTS],
    pub(crate) event: &'a RawEvent<'a>,
    pub(crate) names: &'a mut Names,
    /// The CPU the record is about, if the event names a mask of CPUs.
    pub(crate) cpu: u32,
}

impl Fields<'_> {
    pub(crate) fn number(&self, place: usize) -> u64 {
        self.numbers[place].read(self.event.payload)
    }

    pub(crate) fn small(&self, place: usize) -> u32 {
        low(self.number(place))
    }

    pub(crate) fn int(&self, place: usize) -> i32 {
        int(self.number(place))
    }

    pub(crate) fn signed(&self, place: usize) -> i64 {
        signed(self.number(place))
    }

    pub(crate) fn address(&self, place: usize) -> Address {
        Address(self.number(place))
    }

    /// Reads a task id and notes the task's name. No name is noted for id 0, which the idle tasks of all CPUs share.
    pub(crate) fn task(&mut self, place: usize, text: usize) -> Tid {
        let tid = self.int(place);
        let bytes = self.texts[text].read(self.event.payload);
        match self.names.tasks.get_mut(&tid) {
            _ if tid == 0 => {}
            Some(known) => replace(known, bytes),
            None => replace(self.names.tasks.entry(tid).or_default(), bytes),
        }
        tid
    }

    /// Reads the number of an interrupt line and notes the name of its handler.
    pub(crate) fn line(&mut self, place: usize, text: usize) -> u32 {
        let irq = self.small(place);
        replace(&mut self.names.irqs.entry(irq).or_default().action, self.texts[text].read(self.event.payload));
        irq
    }

    pub(crate) fn ipi(&self, target: u32) -> TraceEvent {
        TraceEvent::IpiSend { target, callsite: self.address(0), callback: self.address(1) }
    }

    pub(crate) fn fault(&self, user: bool) -> TraceEvent {
        TraceEvent::Fault { address: self.address(0), ip: self.address(1), user }
    }

    /// Makes a noise record. Its start is computed from the end, because the kernel's field `start` always counts on
    /// the clock `local`, even if the trace uses another clock.
    pub(crate) fn noise(&self, kind: NoiseKind) -> TraceEvent {
        let took = took(self.number(0));
        TraceEvent::Noise { kind, id: self.int(1), start: self.event.at.minus(took), took }
    }

    pub(crate) fn timerlat(&self) -> TraceEvent {
        let [context, ..] = self.number(0).to_le_bytes();
        TraceEvent::Timerlat { context, latency: took(self.number(1)) }
    }
}

/// Sets `known` to the text before the first zero byte. Nothing is allocated if the text is the same already, which is
/// usual for names.
fn replace(known: &mut String, bytes: &[u8]) {
    let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    if known.as_bytes() != bytes {
        let now = String::from_utf8_lossy(bytes);
        if *known != now {
            known.replace_range(.., &now);
        }
    }
}

/// The position of a number in the payload. A number of size 0 is read as 0.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Number {
    at: usize,
    pub(crate) size: usize,
    signed: bool,
}

impl Number {
    pub(crate) fn of(field: &Field) -> Option<Self> {
        let fits = field.kind == Kind::Number && matches!(field.size, 1 | 2 | 4 | 8);
        fits.then(|| Self { at: field.offset.into(), size: field.size.into(), signed: field.signed })
    }

    pub(crate) fn end(self) -> usize {
        self.at + self.size
    }

    pub(crate) fn read(self, payload: &[u8]) -> u64 {
        let bytes = payload.get(self.at..).unwrap_or_default();
        let number = match self.size {
            4 => bytes.first_chunk().map(|bytes| u64::from(u32::from_le_bytes(*bytes))),
            8 => bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes)),
            size => little(bytes, size),
        };
        let number = number.unwrap_or(0);
        let bits = self.size * 8;
        if self.signed && (1..64).contains(&bits) && number >> (bits - 1) != 0 {
            number | (u64::MAX << bits)
        } else {
            number
        }
    }
}

/// The position of a text in the payload: fixed, or given by a number (16 bits offset, 16 bits length) at `at`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Text {
    Fixed { at: usize, size: usize },
    Located { at: usize, from: usize },
}

impl Text {
    pub(crate) const NONE: Self = Self::Fixed { at: 0, size: 0 };

    pub(crate) fn of(field: &Field) -> Option<Self> {
        let (at, size) = (usize::from(field.offset), usize::from(field.size));
        match field.kind {
            Kind::Number => None,
            Kind::Array => Some(Self::Fixed { at, size }),
            Kind::Located => (size == 4).then_some(Self::Located { at, from: 0 }),
            Kind::Relative => (size == 4).then_some(Self::Located { at, from: at + size }),
        }
    }

    pub(crate) fn end(self) -> usize {
        match self {
            Self::Fixed { at, size } => at + size,
            Self::Located { at, .. } => at + 4,
        }
    }

    pub(crate) fn read(self, payload: &[u8]) -> &[u8] {
        let (at, size) = match self {
            Self::Fixed { at, size } => (at, size),
            Self::Located { at, from } => {
                let place = payload.get(at..).and_then(|bytes| bytes.first_chunk::<4>());
                let [a, b, c, d] = *place.unwrap_or(&[0; 4]);
                (from + usize::from(u16::from_le_bytes([a, b])), usize::from(u16::from_le_bytes([c, d])))
            }
        };
        payload.get(at..at + size).unwrap_or_default()
    }
}

fn low(number: u64) -> u32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

pub(crate) fn int(number: u64) -> i32 {
    i32::from_le_bytes(low(number).to_le_bytes())
}

fn signed(number: u64) -> i64 {
    i64::from_le_bytes(number.to_le_bytes())
}

/// Converts the kernel's signed length of time; a negative length becomes zero.
pub(crate) fn took(number: u64) -> Nanos {
    Nanos::from_ns(u64::try_from(signed(number)).unwrap_or(0))
}

pub(crate) fn set(mask: &[u8]) -> impl Iterator<Item = u32> + '_ {
    (0_u32..)
        .step_by(8)
        .zip(mask)
        .flat_map(|(first, byte)| (0..8).filter(move |bit| byte >> bit & 1 != 0).map(move |bit| first + bit))
}
