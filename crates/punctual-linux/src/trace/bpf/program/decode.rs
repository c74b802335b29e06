//! Decodes records as `program.bpf.c` writes them. Only that file depends on the numbers of kinds, and both are built together.

use super::super::record::{Raw, low, small, text};
use punctual_numbers::inspect::{CLONE_THREAD, Seen};
use punctual_numbers::trace::Address;

/// What the record says; `None` if its kind is not known.
pub fn seen(raw: &Raw) -> Option<Seen> {
    let [first, second, third, ..] = raw.words;
    let signed = |word: u64| i64::from_ne_bytes(word.to_ne_bytes());
    Some(match raw.kind {
        0 => Seen::Enter { number: small(first), arguments: [second, third] },
        1 => Seen::Exit { number: small(first), result: signed(second) },
        2 => Seen::Armed { expires: signed(first) },
        3 => Seen::Fault { ip: Address(first) },
        4 => {
            Seen::Switch { prev: low(third), prev_state: small(first >> 32), next: low(first), next_prio: low(second) }
        }
        5 => Seen::Waking { tid: low(first) },
        6 => Seen::Signal,
        7 => Seen::Begun {
            tid: low(first),
            is_thread: second & CLONE_THREAD != 0,
            name: text(raw.words.get(2..).unwrap_or_default()).into(),
        },
        8 => Seen::Renamed { tid: low(first), name: text(raw.words.get(1..).unwrap_or_default()).into() },
        _ => return None,
    })
}
