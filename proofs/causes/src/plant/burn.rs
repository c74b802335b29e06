//! A BPF program that burns time inside a tracepoint and records when. It gives the exact truth about a delay in a hard
//! interrupt, in a softirq or with interrupts off, and needs neither a kernel module nor a compiler.
//!
//! The program is assembled here and loaded with `bpf()`. It burns time on one CPU, not more often than requested, and
//! the kernel removes it when this process ends. This module must not know why a tracepoint was chosen.

#![allow(unsafe_code, reason = "`bpf()` takes addresses")]

use crate::sys::{bpf, own};
use anyhow::{Context, Result, ensure};
use std::ffi::CString;
use std::os::fd::{AsRawFd, OwnedFd};

/// Where, how long and how often to burn time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burn {
    /// The only CPU on which time is burnt.
    pub cpu: u32,
    /// Length of each delay, in nanoseconds.
    pub burst_ns: u32,
    /// Shortest time from the start of one delay to the start of the next, in nanoseconds.
    pub every_ns: u32,
    /// If set, time is burnt only while the thread with this id runs.
    pub tid: Option<u32>,
    /// If set, time is burnt only if the first argument of the tracepoint has this value.
    pub argument: Option<u32>,
    /// If set, the first argument of the tracepoint points to a structure that contains the address of a function at
    /// this offset, in bytes.
    pub function_at: Option<u8>,
}

/// One delay that the program caused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Burnt {
    /// Start on `CLOCK_MONOTONIC`, in nanoseconds.
    pub start_ns: u64,
    pub end_ns: u64,
    /// The part of the delay, in nanoseconds, during which the program itself was interrupted.
    pub gaps_ns: u64,
    /// Name of the thread that ran, or that was interrupted.
    pub comm: String,
    /// Address of the function in the tracepoint's first argument; 0 if none was requested.
    pub function: u64,
}

/// A loaded program that burns time. Dropping it removes the program.
#[derive(Debug)]
pub struct Burner {
    map: OwnedFd,
    // These are kept open, because the kernel removes the program when they are closed.
    _program: OwnedFd,
    _attached: Vec<OwnedFd>,
}

/// Number of delays that the map holds. Later ones overwrite the oldest.
const ENTRIES: u32 = 1 << 14;
/// Bytes per delay in the map: start, end, name (16 bytes), function, gaps, and padding.
const ENTRY: u32 = 64;
/// Offsets at the beginning of the map's value: the time from which the next delay may begin (`NEXT`), and the number
/// of delays so far (`COUNT`).
const NEXT: i16 = 0;
const COUNT: i16 = 8;
const HEAD: u32 = 32;
const VALUE: usize = HEAD as usize + ENTRIES as usize * ENTRY as usize;

const MAP_CREATE: i32 = 0;
const MAP_LOOKUP: i32 = 1;
const PROGRAM_LOAD: i32 = 5;
const RAW_TRACEPOINT_OPEN: i32 = 17;
const RAW_TRACEPOINT: u64 = 17;
const ARRAY: u64 = 2;

impl Burner {
    /// Loads the program and attaches it to these tracepoints. It burns time from now on.
    pub fn start(tracepoints: &[&str], burn: Burn) -> Result<Self> {
        let map = create_map(VALUE).context("make a map to write burns down")?;
        let program =
            load(&assemble(u32::try_from(map.as_raw_fd())?, burn)).context("load a program that burns time")?;
        let attached: Result<Vec<OwnedFd>> =
            tracepoints.iter().map(|tracepoint| attach(&program, tracepoint)).collect();
        Ok(Self { map, _program: program, _attached: attached? })
    }

    /// The latest [`ENTRIES`] delays so far.
    pub fn burnt(&self) -> Result<Vec<Burnt>> {
        let mut value = vec![0_u64; VALUE / 8];
        let key = 0_u32;
        let mut words = [word(&self.map), (&raw const key).addr() as u64, value.as_mut_ptr().addr() as u64, 0];
        // SAFETY: the key is the 4 bytes and the value the VALUE bytes that the map was made with.
        unsafe { bpf(MAP_LOOKUP, &mut words) }.context("read which burns there were")?;
        let count = value.get(1).copied().unwrap_or(0);
        let entries = value.get(HEAD as usize / 8..).unwrap_or_default().chunks_exact(ENTRY as usize / 8);
        let mut burnt: Vec<Burnt> =
            entries.take(usize::try_from(count).unwrap_or(usize::MAX)).filter_map(entry).collect();
        burnt.sort_by_key(|burnt| burnt.start_ns);
        Ok(burnt)
    }
}

/// A file descriptor as a word of the attribute of `bpf()`.
fn word(descriptor: &OwnedFd) -> u64 {
    u64::try_from(descriptor.as_raw_fd()).unwrap_or(u64::MAX)
}

fn attach(program: &OwnedFd, tracepoint: &str) -> Result<OwnedFd> {
    let name = CString::new(tracepoint)?;
    let mut words = [name.as_ptr().addr() as u64, word(program)];
    // SAFETY: the name lives through the call.
    let attached = unsafe { bpf(RAW_TRACEPOINT_OPEN, &mut words) };
    Ok(own(attached.with_context(|| format!("attach to the tracepoint {tracepoint}"))?))
}

fn entry(words: &[u64]) -> Option<Burnt> {
    let [start_ns, end_ns, name @ .., function, gaps_ns, _, _] = words else { return None };
    let bytes: Vec<u8> = name.iter().flat_map(|word| word.to_ne_bytes()).take_while(|byte| *byte != 0).collect();
    // A delay is counted just before its entry is written. Until then the entry is empty, and is skipped here, or still
    // holds an older delay.
    (*end_ns > 0).then(|| Burnt {
        start_ns: *start_ns,
        end_ns: *end_ns,
        gaps_ns: *gaps_ns,
        comm: String::from_utf8_lossy(&bytes).into_owned(),
        function: *function,
    })
}

/// A small map that holds nothing, to be dropped again.
pub fn small_map() -> Result<OwnedFd> {
    create_map(8).context("make a small map")
}

fn create_map(value: usize) -> Result<OwnedFd> {
    // The words are: type and size of keys, size of values and number of entries, flags.
    let mut words = [ARRAY | 4 << 32, value as u64 | 1 << 32, 0, 0];
    // SAFETY: there is no address among the words.
    Ok(own(unsafe { bpf(MAP_CREATE, &mut words) }?))
}

fn load(program: &[u64]) -> Result<OwnedFd> {
    let license = c"GPL";
    let instructions = program.len() as u64;
    let mut log = vec![0_u8; 1 << 16];
    let plain =
        [RAW_TRACEPOINT | instructions << 32, program.as_ptr().addr() as u64, license.as_ptr().addr() as u64, 0, 0, 0];
    // SAFETY: program and licence live through the call, and the program's length is told.
    if let Ok(loaded) = unsafe { bpf(PROGRAM_LOAD, &mut plain.clone()) } {
        return Ok(own(loaded));
    }
    // The program is loaded once more with a log, to learn why it was refused.
    let mut words = plain;
    words[3] = 1 | (log.len() as u64) << 32;
    words[4] = log.as_mut_ptr().addr() as u64;
    // SAFETY: program, licence and log outlive the call, and the lengths that are passed are theirs.
    let loaded = unsafe { bpf(PROGRAM_LOAD, &mut words) };
    let text: Vec<u8> = log.into_iter().take_while(|byte| *byte != 0).collect();
    let text = String::from_utf8_lossy(&text);
    let last: Vec<&str> = text.lines().rev().take(4).collect();
    let loaded = loaded.with_context(|| format!("the verifier said (last line first): {}", last.join(" | ")))?;
    ensure!(loaded > 0, "no descriptor");
    Ok(own(loaded))
}

// Codes of instructions: class, size and operation, as in the kernel.
const LOAD_64: u8 = 0x18;
const LOAD: u8 = 0x79;
const STORE: u8 = 0x7b;
const MOVE: u8 = 0xbf;
const MOVE_VALUE: u8 = 0xb7;
const ADD: u8 = 0x0f;
const ADD_VALUE: u8 = 0x07;
const SUBTRACT: u8 = 0x1f;
const AND: u8 = 0x5f;
const SHIFT_SIGN: u8 = 0xc7;
const AND_VALUE: u8 = 0x57;
const SHIFT_LEFT: u8 = 0x67;
const JUMP_LESS: u8 = 0xad;
const JUMP_LESS_VALUE: u8 = 0xa5;
const JUMP_AT_LEAST: u8 = 0x3d;
const JUMP_NOT_VALUE: u8 = 0x55;
const JUMP_NOT_VALUE_32: u8 = 0x56;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
// Numbers of the kernel's functions for BPF programs.
const KTIME_GET_NS: u32 = 5;
const GET_CPU: u32 = 8;
const GET_PID_TGID: u32 = 14;
const GET_COMM: u32 = 16;
const READ_KERNEL: u32 = 113;
/// The register that points to the program's stack.
const FRAME: u8 = 10;
/// Offsets on the stack: the gaps so far, and the last reading of the clock.
const GAPS: i16 = -16;
const LAST: i16 = -24;
/// A round of several clock readings takes less than this, unless the program is interrupted.
const ROUND_MOST_NS: u32 = 3000;

/// A program being assembled. `to_end` has the positions of jumps to its end, whose distance is not known yet.
#[derive(Default)]
struct Assembly {
    code: Vec<u64>,
    to_end: Vec<usize>,
}

impl Assembly {
    fn put(&mut self, code: u8, to: u8, from: u8, offset: i16, value: u32) {
        let fields = u64::from(code) | u64::from(to) << 8 | u64::from(from) << 12;
        let numbers = u64::from(u16::from_ne_bytes(offset.to_ne_bytes())) << 16 | u64::from(value) << 32;
        self.code.push(fields | numbers);
    }

    fn call(&mut self, function: u32) {
        self.put(CALL, 0, 0, 0, function);
    }

    /// Adds a conditional jump to the end of the program.
    fn leave(&mut self, code: u8, to: u8, from: u8, value: u32) {
        self.to_end.push(self.code.len());
        self.put(code, to, from, 0, value);
    }

    fn end(mut self) -> Vec<u64> {
        let end = self.code.len();
        for at in self.to_end {
            let distance = u16::try_from(end - at - 1).unwrap_or(0);
            if let Some(jump) = self.code.get_mut(at) {
                *jump |= u64::from(distance) << 16;
            }
        }
        self.code.extend([u64::from(MOVE_VALUE), u64::from(EXIT)]);
        self.code
    }
}

/// Assembles the program. Register 6 holds the start, 7 the time to stop, 8 the number of rounds, and 9 the address of
/// the map's value. The stack holds the tracepoint's first argument, the gaps so far, and the last reading of the
/// clock.
fn assemble(map: u32, burn: Burn) -> Vec<u64> {
    // The verifier requires that the loop ends whatever the clock shows. So there is a limited number of rounds, with
    // several clock readings in each.
    const ROUNDS: u32 = 4000;
    const LOOKS: usize = 12;
    let mut asm = Assembly::default();
    // The first argument is kept on the stack.
    asm.put(LOAD, 1, 1, 0, 0);
    asm.put(STORE, FRAME, 1, -8, 0);
    if let Some(wanted) = burn.argument {
        asm.leave(JUMP_NOT_VALUE, 1, 0, wanted);
    }
    asm.call(GET_CPU);
    asm.leave(JUMP_NOT_VALUE, 0, 0, burn.cpu);
    if let Some(tid) = burn.tid {
        asm.call(GET_PID_TGID);
        asm.leave(JUMP_NOT_VALUE_32, 0, 0, tid);
    }
    // This instruction has two words. It loads the address of the map's value.
    asm.put(LOAD_64, 9, 2, 0, map);
    asm.code.push(0);
    asm.call(KTIME_GET_NS);
    asm.put(MOVE, 6, 0, 0, 0);
    asm.put(LOAD, 1, 9, NEXT, 0);
    asm.leave(JUMP_LESS, 6, 1, 0);
    asm.put(MOVE, 1, 6, 0, 0);
    asm.put(ADD_VALUE, 1, 0, 0, burn.every_ns);
    asm.put(STORE, 9, 1, NEXT, 0);
    asm.put(MOVE, 7, 6, 0, 0);
    asm.put(ADD_VALUE, 7, 0, 0, burn.burst_ns);
    asm.put(MOVE_VALUE, 8, 0, 0, 0);
    asm.put(STORE, FRAME, 8, GAPS, 0);
    asm.put(STORE, FRAME, 6, LAST, 0);
    let again = asm.code.len();
    for _ in 0..LOOKS {
        asm.call(KTIME_GET_NS);
    }
    add_gap(&mut asm);
    asm.put(JUMP_AT_LEAST, 0, 7, 2, 0);
    asm.put(ADD_VALUE, 8, 0, 0, 1);
    let back = i16::try_from(asm.code.len() + 1 - again).unwrap_or(0);
    asm.put(JUMP_LESS_VALUE, 8, 0, -back, ROUNDS);
    asm.put(MOVE, 7, 0, 0, 0);
    write_down(&mut asm, burn.function_at);
    asm.end()
}

/// Adds the time since the last clock reading to the gaps if it is longer than [`ROUND_MOST_NS`]. Register 0 holds the
/// present time. This is done without a jump, because every jump doubles the number of paths that the verifier checks.
fn add_gap(asm: &mut Assembly) {
    // Register 4 holds the length; register 5 holds all ones if the length is that of a gap, and 0 otherwise.
    asm.put(LOAD, 3, FRAME, LAST, 0);
    asm.put(STORE, FRAME, 0, LAST, 0);
    asm.put(MOVE, 4, 0, 0, 0);
    asm.put(SUBTRACT, 4, 3, 0, 0);
    asm.put(MOVE_VALUE, 5, 0, 0, ROUND_MOST_NS);
    asm.put(SUBTRACT, 5, 4, 0, 0);
    asm.put(SHIFT_SIGN, 5, 0, 0, 63);
    asm.put(AND, 4, 5, 0, 0);
    asm.put(LOAD, 3, FRAME, GAPS, 0);
    asm.put(ADD, 3, 4, 0, 0);
    asm.put(STORE, FRAME, 3, GAPS, 0);
}

/// Writes the start (register 6), the end (register 7), the name of the thread and the function into the next entry.
fn write_down(asm: &mut Assembly, function_at: Option<u8>) {
    asm.put(LOAD, 8, 9, COUNT, 0);
    asm.put(MOVE, 1, 8, 0, 0);
    asm.put(ADD_VALUE, 8, 0, 0, 1);
    asm.put(STORE, 9, 8, COUNT, 0);
    asm.put(AND_VALUE, 1, 0, 0, ENTRIES - 1);
    asm.put(SHIFT_LEFT, 1, 0, 0, ENTRY.trailing_zeros());
    asm.put(ADD, 9, 1, 0, 0);
    asm.put(STORE, 9, 6, 32, 0);
    asm.put(STORE, 9, 7, 40, 0);
    asm.put(LOAD, 1, FRAME, GAPS, 0);
    asm.put(STORE, 9, 1, 72, 0);
    asm.put(MOVE, 1, 9, 0, 0);
    asm.put(ADD_VALUE, 1, 0, 0, HEAD + 16);
    asm.put(MOVE_VALUE, 2, 0, 0, 16);
    asm.call(GET_COMM);
    if let Some(offset) = function_at {
        asm.put(MOVE, 1, 9, 0, 0);
        asm.put(ADD_VALUE, 1, 0, 0, HEAD + 32);
        asm.put(MOVE_VALUE, 2, 0, 0, 8);
        asm.put(LOAD, 3, FRAME, -8, 0);
        asm.put(ADD_VALUE, 3, 0, 0, u32::from(offset));
        asm.call(READ_KERNEL);
    }
}
