//! Follows a copy of a stack from function to caller, by the tables that compilers write for exceptions, and where a
//! module has none, by frame pointers. Code that was made at run time has no tables either.

use super::module::{Rule, Saved};
use super::space::Space;
use punctual_numbers::trace::Address;
use std::collections::HashMap;

/// Callers further out than this are not looked for.
const DEPTH: usize = 48;
const WORD: u64 = 8;
const NUMBERS: usize = 33;

/// Registers that are sampled: perf's number and DWARF's. None are on architectures without a table here.
#[cfg(target_arch = "x86_64")]
const SAMPLED: &[(u8, u16)] = &[
    (0, 0),
    (1, 3),
    (2, 2),
    (3, 1),
    (4, 4),
    (5, 5),
    (6, 6),
    (7, 7),
    (8, 16),
    (16, 8),
    (17, 9),
    (18, 10),
    (19, 11),
    (20, 12),
    (21, 13),
    (22, 14),
    (23, 15),
];
#[cfg(target_arch = "aarch64")]
const SAMPLED: &[(u8, u16)] = &[
    (19, 19),
    (20, 20),
    (21, 21),
    (22, 22),
    (23, 23),
    (24, 24),
    (25, 25),
    (26, 26),
    (27, 27),
    (28, 28),
    (29, 29),
    (30, 30),
    (31, 31),
    (32, 32),
];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const SAMPLED: &[(u8, u16)] = &[];

/// DWARF's numbers of the frame pointer, the stack pointer, the address of the next instruction and the return address.
const FRAME_POINTER: u16 = if cfg!(target_arch = "aarch64") { 29 } else { 6 };
const STACK_POINTER: u16 = if cfg!(target_arch = "aarch64") { 31 } else { 7 };
const HERE: u16 = if cfg!(target_arch = "aarch64") { 32 } else { 16 };
const RETURN: u16 = if cfg!(target_arch = "aarch64") { 30 } else { 16 };

/// What of an address is left when the signature of the pointer is taken away.
const ADDRESS: u64 = if cfg!(target_arch = "aarch64") { (1 << 48) - 1 } else { u64::MAX };

/// The registers that are sampled, a bit for each.
pub const REGISTERS: u64 = {
    let (mut mask, mut index) = (0, 0);
    while index < SAMPLED.len() {
        mask |= 1 << SAMPLED[index].0;
        index += 1;
    }
    mask
};

/// Values of registers, by DWARF's numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registers([Option<u64>; NUMBERS]);

impl Registers {
    /// From the values in the order in which perf writes them.
    pub fn of(values: impl Iterator<Item = u64>) -> Self {
        let mut registers = Self([None; NUMBERS]);
        for ((_, number), value) in SAMPLED.iter().zip(values) {
            registers.put(*number, Some(value));
        }
        registers
    }

    fn get(&self, number: u16) -> Option<u64> {
        self.0.get(usize::from(number)).copied().flatten()
    }

    fn put(&mut self, number: u16, value: Option<u64>) {
        if let Some(place) = self.0.get_mut(usize::from(number)) {
            *place = value;
        }
    }
}

/// A copy of the top of a stack.
struct Stack<'a> {
    from: u64,
    bytes: &'a [u8],
}

impl Stack<'_> {
    fn word(&self, at: u64) -> Option<u64> {
        let place = usize::try_from(at.checked_sub(self.from)?).ok()?;
        Some(u64::from_ne_bytes(*self.bytes.get(place..)?.first_chunk()?))
    }
}

/// Follows stacks of one process. Rules are kept by address, because a loop comes by the same places again and again.
#[derive(Debug, Default)]
pub struct Unwinder {
    rules: HashMap<u64, Option<Rule>>,
    version: u64,
}

impl Unwinder {
    /// The same where the thread stopped at the first instruction of a function, whose caller is then known without a table.
    pub fn follow_entry(&mut self, space: &Space, registers: &Registers, bytes: &[u8]) -> Vec<Address> {
        let Some(here) = registers.get(HERE) else { return Vec::new() };
        let mut addresses = vec![Address(here)];
        let rule = at_entry();
        let stack = Stack { from: registers.get(STACK_POINTER).unwrap_or_default(), bytes };
        if let Some(caller) = by_rule(&rule, registers, &stack) {
            let (_, popped) = rule.frame;
            let rest = usize::try_from(popped).ok().and_then(|popped| bytes.get(popped..));
            addresses.extend(self.follow(space, caller, rest.unwrap_or_default(), false));
        }
        addresses
    }

    /// Addresses of calling instructions, innermost first. `is_exact` says that the thread stopped at its instruction,
    /// and not after it.
    pub fn follow(&mut self, space: &Space, mut registers: Registers, bytes: &[u8], is_exact: bool) -> Vec<Address> {
        if self.version != space.version() {
            self.rules.clear();
            self.version = space.version();
        }
        let mut addresses = Vec::new();
        let Some(from) = registers.get(STACK_POINTER) else { return addresses };
        let stack = Stack { from, bytes };
        while let Some(here) = registers.get(HERE).filter(|here| *here != 0 && addresses.len() < DEPTH) {
            // A return address may be the first one of the next function.
            let at = if is_exact && addresses.is_empty() { here } else { here - 1 };
            if space.find(Address(at)).is_none() {
                break;
            }
            addresses.push(Address(at));
            let rule = self.rules.entry(at).or_insert_with(|| {
                let (module, address) = space.find(Address(at))?;
                if module.is_made() { by_ending(space.instructions(Address(here))?) } else { module.rule(address) }
            });
            let caller = match rule {
                Some(rule) => by_rule(rule, &registers, &stack),
                None => by_frame_pointer(&registers, &stack),
            };
            let moved = |caller: &Registers| caller.get(STACK_POINTER) > registers.get(STACK_POINTER);
            // Only the innermost function may have no frame of its own.
            let Some(caller) = caller.filter(|caller| moved(caller) || addresses.len() == 1) else { break };
            registers = caller;
        }
        addresses
    }
}

fn by_rule(rule: &Rule, registers: &Registers, stack: &Stack<'_>) -> Option<Registers> {
    let (register, distance) = rule.frame;
    let frame = registers.get(register)?.checked_add_signed(distance)?;
    let mut caller = registers.clone();
    for (number, saved) in &rule.saved {
        let value = match saved {
            Saved::At(distance) => stack.word(frame.checked_add_signed(*distance)?),
            Saved::Is(distance) => frame.checked_add_signed(*distance),
            Saved::In(other) => registers.get(*other),
            Saved::Unknown => None,
        };
        caller.put(*number, value);
    }
    let back = caller.get(RETURN).map(|back| back & ADDRESS);
    caller.put(HERE, back);
    caller.put(STACK_POINTER, Some(frame));
    Some(caller)
}

/// At its first instruction, a function has its return address in a register, or on x86 on top of the stack.
fn at_entry() -> Rule {
    if cfg!(target_arch = "aarch64") {
        Rule { frame: (STACK_POINTER, 0), saved: Vec::new() }
    } else {
        Rule { frame: (STACK_POINTER, 8), saved: vec![(RETURN, Saved::At(-8))] }
    }
}

/// Code that only makes room on the stack for a call: `add $ROOM, %rsp; ret`. Python puts such a function around each of
/// its own, to give it an address.
fn by_ending(next: [u8; 5]) -> Option<Rule> {
    let [0x48, 0x83, 0xc4, room @ 0..=0x7f, 0xc3] = next else { return None };
    cfg!(target_arch = "x86_64")
        .then(|| Rule { frame: (STACK_POINTER, i64::from(room) + 8), saved: vec![(RETURN, Saved::At(-8))] })
}

fn by_frame_pointer(registers: &Registers, stack: &Stack<'_>) -> Option<Registers> {
    let frame = registers.get(FRAME_POINTER)?;
    let mut caller = registers.clone();
    caller.put(HERE, Some(stack.word(frame.checked_add(WORD)?)? & ADDRESS));
    caller.put(FRAME_POINTER, Some(stack.word(frame)?));
    caller.put(STACK_POINTER, frame.checked_add(2 * WORD));
    Some(caller)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registers(values: &[(u16, u64)]) -> Registers {
        let mut registers = Registers([None; NUMBERS]);
        for (number, value) in values {
            registers.put(*number, Some(*value));
        }
        registers
    }

    #[test]
    fn a_rule_finds_the_caller_in_the_copied_stack() {
        let words: Vec<u8> = [0, 7_u64, 0x4010].iter().flat_map(|word: &u64| word.to_ne_bytes()).collect();
        let stack = Stack { from: 0x1000, bytes: &words };
        let rule = Rule { frame: (STACK_POINTER, 24), saved: vec![(3, Saved::At(-16)), (RETURN, Saved::At(-8))] };
        let own = registers(&[(STACK_POINTER, 0x1000), (HERE, 0x4000), (3, 1), (FRAME_POINTER, 5)]);
        let caller = by_rule(&rule, &own, &stack).unwrap();
        assert_eq!((caller.get(HERE), caller.get(STACK_POINTER)), (Some(0x4010), Some(0x1018)));
        assert_eq!((caller.get(3), caller.get(FRAME_POINTER)), (Some(7), Some(5)));
        // The return address lies beyond what was copied.
        let far = Rule { frame: (STACK_POINTER, 1 << 20), ..rule };
        assert_eq!(by_rule(&far, &own, &stack).unwrap().get(HERE), None);
    }

    #[test]
    fn without_tables_the_frame_pointer_leads_to_the_caller() {
        let words: Vec<u8> = [0x1100, 0x4010_u64].iter().flat_map(|word: &u64| word.to_ne_bytes()).collect();
        let stack = Stack { from: 0x1000, bytes: &words };
        let caller = by_frame_pointer(&registers(&[(FRAME_POINTER, 0x1000)]), &stack).unwrap();
        assert_eq!((caller.get(HERE), caller.get(FRAME_POINTER)), (Some(0x4010), Some(0x1100)));
        assert!(by_frame_pointer(&registers(&[(FRAME_POINTER, 0x0fff)]), &stack).is_none());
        assert!(by_frame_pointer(&registers(&[(FRAME_POINTER, u64::MAX)]), &stack).is_none());
    }

    #[test]
    fn at_the_first_instruction_the_caller_is_known_without_a_table() {
        let mut space = Space::of(u32::MAX);
        space.add(super::super::Piece { from: 0x4000, to: 0x5000, offset: 0, path: "/none/loop".to_owned() });
        let words: Vec<u8> = [0x4021, 0_u64].iter().flat_map(|word: &u64| word.to_ne_bytes()).collect();
        let own = registers(&[(STACK_POINTER, 0x1000), (HERE, 0x9000), (RETURN, 0x4021)]);
        // On x86 the return address has the number of the next instruction, which tells where the thread is.
        let own =
            if cfg!(target_arch = "aarch64") { own } else { registers(&[(STACK_POINTER, 0x1000), (HERE, 0x9000)]) };
        assert_eq!(Unwinder::default().follow_entry(&space, &own, &words), [Address(0x9000), Address(0x4020)]);
        let cut = registers(&[(STACK_POINTER, 0x1000), (HERE, 0x9000)]);
        assert_eq!(Unwinder::default().follow_entry(&space, &cut, &[]), [Address(0x9000)]);
    }

    #[test]
    fn what_is_in_no_module_ends_the_stack() {
        let own = registers(&[(STACK_POINTER, 0x1000), (HERE, 0x4000)]);
        assert_eq!(Unwinder::default().follow(&Space::default(), own, &[], false), []);
    }
}
