//! Decodes records as the BPF program writes them.
//!
//! Only `flight.bpf.c` depends on this layout, and both are built together.

use punctual_hist::{MonoTime, Nanos};
use punctual_numbers::trace::{Address, Context, Names, Tid, TraceEvent, TraceRecord, Vector};

pub const RECORD_WORDS: usize = 8;
pub const RECORD_BYTES: u64 = 64;
const FRAMES: usize = 5;
const STACK: u8 = 27;
/// The state that `cpu_idle` reports when the CPU wakes.
const WOKE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
pub struct Raw {
    mark: u64,
    at: u64,
    pub kind: u8,
    pub flags: u8,
    /// Index of this part, for a stack that needs several records.
    part: u8,
    pub tid: Tid,
    pub words: [u64; FRAMES],
}

impl Raw {
    pub fn new([mark, at, who, words @ ..]: [u64; RECORD_WORDS]) -> Self {
        let [kind, flags, part, ..] = who.to_le_bytes();
        Self { mark, at, kind, flags, part, tid: high(who), words }
    }

    pub fn at(&self) -> MonoTime {
        MonoTime::from_ns(self.at)
    }

    pub fn cpu(&self) -> u32 {
        u32::try_from(self.mark >> 48).unwrap_or_default()
    }

    /// Appends this record to the stack in `before` if it is the next part of it.
    pub fn continues(&self, before: &mut TraceRecord) -> bool {
        match &mut before.what {
            TraceEvent::Stack { addresses } if self.kind == STACK && self.part > 0 => {
                addresses.extend(self.addresses());
                true
            }
            _ => false,
        }
    }

    fn addresses(&self) -> impl Iterator<Item = Address> {
        self.words.into_iter().take_while(|address| *address != 0).map(Address)
    }

    pub fn record(&self, names: &mut Names) -> Option<TraceRecord> {
        let context = Context { flags: self.flags, preempt: 0 };
        Some(TraceRecord { at: self.at(), tid: self.tid, context, what: self.what(names)? })
    }

    fn what(&self, names: &mut Names) -> Option<TraceEvent> {
        let [first, second, third, ..] = self.words;
        Some(match self.kind {
            0 => {
                let [.., prev_prio, next_prio, prev_state, _] = first.to_le_bytes();
                let (prev, next) = (self.tid, low(first));
                name(names, prev, [second, third]);
                name(names, next, [self.words[3], self.words[4]]);
                let prio = |short: u8| i32::from(short) - 1;
                TraceEvent::Switch {
                    prev,
                    prev_prio: prio(prev_prio),
                    prev_state: u32::from(prev_state),
                    next,
                    next_prio: prio(next_prio),
                }
            }
            1 => {
                name(names, low(first), [third, self.words[3]]);
                TraceEvent::Waking { tid: low(first), prio: high(first), target: small(second) }
            }
            2 => {
                let action = text(&self.words[1..]);
                names.irqs.entry(small(first)).or_default().action = action;
                TraceEvent::IrqEntry { irq: small(first) }
            }
            STACK => TraceEvent::Stack { addresses: self.addresses().collect() },
            23 => TraceEvent::Migrate { tid: low(first), from_cpu: small(second), to_cpu: small(third) },
            _ => return self.plain(),
        })
    }

    fn plain(&self) -> Option<TraceEvent> {
        let [first, second, third, ..] = self.words;
        let (timer, function) = (Address(first), Address(second));
        let vector = || Vector::ALL.get(usize::try_from(first).ok()?).copied();
        Some(match self.kind {
            3 => TraceEvent::IrqExit { irq: small(first) },
            4 => TraceEvent::SoftirqEntry { vector: small(first) },
            5 => TraceEvent::SoftirqExit { vector: small(first) },
            6 => TraceEvent::SoftirqRaise { vector: small(first) },
            7 => TraceEvent::VectorEntry { vector: vector()? },
            8 => TraceEvent::VectorExit { vector: vector()? },
            9 => TraceEvent::HrtimerStart { timer, function, expires: i64::from_ne_bytes(third.to_ne_bytes()) },
            10 => TraceEvent::HrtimerEntry { timer, function },
            11 => TraceEvent::HrtimerExit { timer },
            12 => TraceEvent::TimerEntry { timer, function },
            13 => TraceEvent::TimerExit { timer },
            14 => TraceEvent::Nmi { handler: timer, took: Nanos::from_ns(second) },
            15 => TraceEvent::WorkStart { function: timer },
            16 => TraceEvent::WorkEnd,
            17 => TraceEvent::CallEntry { function: timer },
            18 => TraceEvent::CallExit,
            19 => TraceEvent::IpiSend { target: small(first), callsite: function, callback: Address(third) },
            20 => TraceEvent::Idle { state: Some(small(first)).filter(|state| *state != WOKE) },
            21 => TraceEvent::Fault { address: timer, ip: function, user: third != 0 },
            22 => TraceEvent::Frequency { khz: small(first), cpu: small(second) },
            _ => return None,
        })
    }
}

pub fn small(word: u64) -> u32 {
    u32::try_from(word & u64::from(u32::MAX)).unwrap_or_default()
}

pub fn low(word: u64) -> i32 {
    i32::from_ne_bytes(small(word).to_ne_bytes())
}

fn high(word: u64) -> i32 {
    low(word >> 32)
}

/// The text in these words, up to the first zero byte.
pub fn text(words: &[u64]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Notes the name of a task. Task 0 is a different idle task on each CPU and gets no name.
fn name(names: &mut Names, tid: Tid, words: [u64; 2]) {
    if tid != 0 {
        names.tasks.insert(tid, text(&words));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(bytes: [u8; 8]) -> u64 {
        u64::from_ne_bytes(bytes)
    }

    #[test]
    fn a_switch_names_both() {
        let first = 9 | 121 << 32 | 50 << 40 | 2 << 48;
        let raw = Raw::new([
            1 | 3 << 48,
            77,
            1 << 8 | 8 << 32,
            first,
            word(*b"kworker/"),
            word(*b"1:2\0junk"),
            word(*b"hog99\0\0\0"),
            0,
        ]);
        let mut names = Names::default();
        let record = raw.record(&mut names).unwrap();
        let switch = TraceEvent::Switch { prev: 8, prev_prio: 120, prev_state: 2, next: 9, next_prio: 49 };
        assert_eq!((raw.cpu(), record.tid, record.what), (3, 8, switch));
        assert_eq!((names.tasks[&8].as_str(), names.tasks[&9].as_str()), ("kworker/1:2", "hog99"));
    }

    #[test]
    fn a_stack_of_several_records_is_one() {
        let part = |part: u64, addresses: [u64; 5]| {
            let head = [1, 77, u64::from(STACK) | part << 16];
            Raw::new(std::array::from_fn(|i| head.get(i).copied().unwrap_or_else(|| addresses[i - head.len()])))
        };
        let mut record = part(0, [1, 2, 3, 4, 5]).record(&mut Names::default()).unwrap();
        assert!(part(1, [6, 7, 0, 0, 0]).continues(&mut record));
        assert!(!part(0, [8, 0, 0, 0, 0]).continues(&mut record), "that is another stack");
        assert_eq!(record.what, TraceEvent::Stack { addresses: (1..=7).map(Address).collect() });
    }

    #[test]
    fn a_kind_that_is_not_known_is_no_record() {
        assert_eq!(Raw::new([1, 1, 200, 0, 0, 0, 0, 0]).record(&mut Names::default()), None);
        assert_eq!(Raw::new([1, 1, 7, 99, 0, 0, 0, 0]).record(&mut Names::default()), None);
    }
}
