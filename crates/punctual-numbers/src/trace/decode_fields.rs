//! Fields of a raw event: from where in its bytes a number or a text is taken.
//!
//! Knows no event. What lies outside of the bytes is 0 or empty; who reads has seen to it that what is needed is there.

use super::Tid;
use super::format::{Field, Kind};
use super::page::little;
use punctual_hist::Nanos;

/// A number in place; of no bytes where there is none: it is read as 0.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Number {
    at: usize,
    pub(super) size: usize,
    signed: bool,
}

impl Number {
    pub(super) fn of(field: &Field) -> Option<Self> {
        let fits = field.kind == Kind::Number && matches!(field.size, 1 | 2 | 4 | 8);
        fits.then(|| Self { at: field.offset.into(), size: field.size.into(), signed: field.signed })
    }

    pub(super) fn end(self) -> usize {
        self.at + self.size
    }

    pub(super) fn read(self, payload: &[u8]) -> u64 {
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

/// Where bytes are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Text {
    Fixed { at: usize, size: usize },
    Located { at: usize, from: usize },
}

impl Text {
    pub(super) const NONE: Self = Self::Fixed { at: 0, size: 0 };

    pub(super) fn of(field: &Field) -> Option<Self> {
        let (at, size) = (usize::from(field.offset), usize::from(field.size));
        match field.kind {
            Kind::Number => None,
            Kind::Array => Some(Self::Fixed { at, size }),
            Kind::Located => (size == 4).then_some(Self::Located { at, from: 0 }),
            Kind::Relative => (size == 4).then_some(Self::Located { at, from: at + size }),
        }
    }

    pub(super) fn end(self) -> usize {
        match self {
            Self::Fixed { at, size } => at + size,
            Self::Located { at, .. } => at + 4,
        }
    }

    pub(super) fn read(self, payload: &[u8]) -> &[u8] {
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

/// The lower half.
pub(super) fn low(number: u64) -> u32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

pub(super) fn tid(number: u64) -> Tid {
    Tid::from_le_bytes(low(number).to_le_bytes())
}

pub(super) fn signed(number: u64) -> i64 {
    i64::from_le_bytes(number.to_le_bytes())
}

/// A length of time; what the kernel counts as less than nothing is nothing.
pub(super) fn took(number: u64) -> Nanos {
    Nanos::from_ns(u64::try_from(signed(number)).unwrap_or(0))
}

/// The CPUs of a mask.
pub(super) fn set(mask: &[u8]) -> impl Iterator<Item = u32> + '_ {
    (0_u32..)
        .step_by(8)
        .zip(mask)
        .flat_map(|(first, byte)| (0..8).filter(move |bit| byte >> bit & 1 != 0).map(move |bit| first + bit))
}
