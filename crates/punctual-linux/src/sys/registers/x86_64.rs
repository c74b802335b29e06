//! x86-64: x87, SSE, AVX and AVX-512, whatever of these the CPU has and the kernel has enabled.
//!
//! Images have the layout of XSAVE. On a CPU without it they have the layout of FXSAVE, which is its first part.

use super::errand::{self, Errand};
use super::{Act, Control, IMAGE_BYTES, Register, Unit};
use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count};
use std::ptr::from_ref;
use std::sync::OnceLock;

type Bytes = [u8; IMAGE_BYTES];

/// Components of the processor state (bits of XCR0): x87, SSE, AVX, mask registers, and the two parts of AVX-512.
const X87_SSE: u32 = 0b11;
const AVX: u32 = 2;
const MASKS: u32 = 5;
const UPPER_ZMM: u32 = 6;
const MORE_ZMM: u32 = 7;
/// Where XSAVE keeps the set of components that an image holds.
const HEADER: usize = 512;
/// Values that a program starts with: all exceptions masked.
const INITIAL_FCW: u32 = 0x037f;
const INITIAL_MXCSR: u32 = 0x1f80;

/// The components that are tested; `None` on a CPU without XSAVE.
fn components() -> Option<u32> {
    static COMPONENTS: OnceLock<Option<u32>> = OnceLock::new();
    *COMPONENTS.get_or_init(|| {
        const OSXSAVE: u32 = 1 << 27;
        if __cpuid(1).ecx & OSXSAVE == 0 {
            return None;
        }
        let enabled: u32;
        // SAFETY: the kernel has enabled the instruction, as the flag above says. It reads a register.
        unsafe { asm!("xgetbv", in("ecx") 0, out("eax") enabled, out("edx") _, options(nomem, nostack)) };
        Some(enabled & (X87_SSE | 1 << AVX | 1 << MASKS | 1 << UPPER_ZMM | 1 << MORE_ZMM))
    })
}

/// Where a component lies in an image.
fn offset(component: u32) -> usize {
    __cpuid_count(0xd, component).ebx as usize
}

pub(super) fn registers() -> Vec<Register> {
    let control = |name: &str, unit, at, bytes, initial, rounding| Register {
        name: name.to_owned(),
        unit,
        place: at..at + bytes,
        volatile: false,
        control: Some(Control { initial, rounding }),
    };
    let mut all =
        vec![control("fcw", Unit::X87, 0, 2, INITIAL_FCW, 10), control("mxcsr", Unit::Sse, 24, 4, INITIAL_MXCSR, 13)];
    // Places are the distance of two registers; the bytes of one are fewer in the case of x87.
    let mut add = |unit, name: &dyn Fn(usize) -> String, count, at, apart: usize, bytes| {
        all.extend((0..count).map(|n| {
            let start = at + n * apart;
            Register { name: name(n), unit, place: start..start + bytes, volatile: false, control: None }
        }));
    };
    add(Unit::X87, &|n| format!("st{n}"), 8, 32, 16, 10);
    add(Unit::Sse, &|n| format!("xmm{n}"), 16, 160, 16, 16);
    let has = |component: u32| components().unwrap_or(0) & 1 << component != 0;
    if has(AVX) {
        add(Unit::Avx, &|n| format!("upper half of ymm{n}"), 16, offset(AVX), 16, 16);
    }
    if has(MASKS) {
        add(Unit::Avx512, &|n| format!("k{n}"), 8, offset(MASKS), 8, 8);
    }
    if has(UPPER_ZMM) {
        add(Unit::Avx512, &|n| format!("upper half of zmm{n}"), 16, offset(UPPER_ZMM), 32, 32);
    }
    if has(MORE_ZMM) {
        add(Unit::Avx512, &|n| format!("zmm{}", n + 16), 16, offset(MORE_ZMM), 64, 64);
    }
    all
}

/// Marks every component as present and every x87 register as in use, so that the whole image is loaded.
pub(super) fn prepare(image: &mut Bytes) {
    image[..2].copy_from_slice(&INITIAL_FCW.to_le_bytes()[..2]);
    image[24..28].copy_from_slice(&INITIAL_MXCSR.to_le_bytes());
    image[4] = 0xff;
    image[HEADER..HEADER + 4].copy_from_slice(&components().unwrap_or(0).to_le_bytes());
}

#[repr(C, align(64))]
struct Aligned(Bytes);

/// The state that compiled code expects: an empty x87 stack, and no exceptions. It holds no component, which sets all
/// of them to their initial values.
fn initial() -> &'static Aligned {
    static INITIAL: OnceLock<Box<Aligned>> = OnceLock::new();
    INITIAL.get_or_init(|| {
        let mut clean = Box::new(Aligned([0; IMAGE_BYTES]));
        prepare(&mut clean.0);
        clean.0[4] = 0;
        clean.0[HEADER..HEADER + 8].fill(0);
        clean
    })
}

/// What the assembler code reads. It knows the members by their offsets.
#[repr(C)]
struct Orders {
    errand: Errand,
    clean: *const Aligned,
    components: u64,
}

pub(super) fn hold(image: &Bytes, found: &mut Bytes, act: Act<'_>) {
    let length = errand::length(act);
    let errand = Errand::of(act, &length);
    carry_out(image, found, &Orders { errand, clean: initial(), components: components().unwrap_or(0).into() });
}

/// The code between the two halves that load and store. R12 to R14 stay unchanged.
macro_rules! act {
    () => {
        "mov rax, [r14 + 8]
         mov rdi, [r14 + 16]
         mov rsi, [r14 + 24]
         mov rdx, [r14 + 32]
         mov r10, [r14 + 40]
         mov r8, [r14 + 48]
         mov rcx, [r14]
         cmp rcx, 1
         je 3f
         ja 4f
         syscall
         jmp 5f
      3: pause
         cmp dword ptr [rdi], 0
         jne 5f
         dec rax
         jnz 3b
         jmp 5f
      4: add byte ptr [rdi], 1
         add rdi, rsi
         dec rax
         jnz 4b
      5:"
    };
}

/// Loads, acts, stores, and loads the initial state again.
macro_rules! carry_out {
    ($load:literal, $store:literal, $image:expr, $found:expr, $orders:expr) => {
        asm!(
            concat!("mov eax, [r14 + 64]\n xor edx, edx\n ", $load, " [r12]"),
            act!(),
            concat!("mov eax, [r14 + 64]\n xor edx, edx\n ", $store, " [r13]"),
            concat!("mov rcx, [r14 + 56]\n mov eax, [r14 + 64]\n xor edx, edx\n ", $load, " [rcx]"),
            in("r12") $image,
            in("r13") $found,
            in("r14") $orders,
            clobber_abi("sysv64"),
            options(nostack)
        )
    };
}

fn carry_out(image: &Bytes, found: &mut Bytes, orders: &Orders) {
    let (image, found, orders) = (from_ref(image), std::ptr::from_mut(found), from_ref(orders));
    if components().is_some() {
        // SAFETY: both images are aligned and larger than the components, which the kernel has enabled. The calls get
        // pointers that outlive them, and none of the calls writes; `Touch` writes to memory of its own. All registers
        // that are changed are declared, and the control registers get their initial values back.
        unsafe { carry_out!("xrstor64", "xsave64", image, found, orders) };
    } else {
        // SAFETY: as above; every CPU of this architecture has these instructions.
        unsafe { carry_out!("fxrstor64", "fxsave64", image, found, orders) };
    }
}
