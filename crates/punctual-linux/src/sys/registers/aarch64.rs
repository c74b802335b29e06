//! arm64: the registers of NEON, and those of SVE where the CPU has them.
//!
//! A system call may change what SVE adds to NEON's registers, so these parts are tested only while nothing is called.

use super::errand::{self, Errand};
use super::{Act, Control, IMAGE_BYTES, Register, Unit};
use std::arch::asm;
use std::ptr::from_ref;
use std::sync::OnceLock;

type Bytes = [u8; IMAGE_BYTES];

/// Where the control register lies, behind the 32 vector registers of the longest vectors and the 16 predicates.
const FPCR: usize = IMAGE_BYTES - 64;
/// Where the predicates lie, behind the longest vectors.
const PREDICATES: usize = 32 * 256;

/// Bytes of a vector of SVE; `None` on a CPU without it.
fn vector_bytes() -> Option<usize> {
    static BYTES: OnceLock<Option<usize>> = OnceLock::new();
    *BYTES.get_or_init(|| {
        // SAFETY: reads a word that the kernel gave to this process.
        let capabilities = unsafe { libc::getauxval(libc::AT_HWCAP) };
        if capabilities & libc::HWCAP_SVE == 0 {
            return None;
        }
        let bytes: usize;
        // SAFETY: the CPU has the instruction, as the flag above says. It writes to one register.
        unsafe { asm!(".arch_extension sve", "rdvl {0}, #1", out(reg) bytes, options(nomem, nostack)) };
        Some(bytes)
    })
}

pub(super) fn registers() -> Vec<Register> {
    let apart = vector_bytes().unwrap_or(16);
    let register = |name: String, start: usize, bytes: usize, volatile| Register {
        name,
        unit: if volatile { Unit::Sve } else { Unit::Neon },
        place: start..start + bytes,
        volatile,
        control: None,
    };
    let control = Control { initial: 0, rounding: 22 };
    let mut all = vec![Register {
        name: "fpcr".to_owned(),
        unit: Unit::Neon,
        place: FPCR..FPCR + 4,
        volatile: false,
        control: Some(control),
    }];
    all.extend((0..32).map(|n| register(format!("v{n}"), n * apart, 16, false)));
    if apart > 16 {
        all.extend((0..32).map(|n| register(format!("upper part of z{n}"), n * apart + 16, apart - 16, true)));
    }
    if vector_bytes().is_some() {
        all.extend((0..16).map(|n| register(format!("p{n}"), PREDICATES + n * apart / 8, apart / 8, true)));
    }
    all
}

/// An image needs no header.
pub(super) fn prepare(_: &mut Bytes) {}

/// What the assembler code reads. It knows the members by their offsets.
#[repr(C)]
struct Orders {
    errand: Errand,
    fpcr: u64,
    found_fpcr: u64,
}

pub(super) fn hold(image: &Bytes, found: &mut Bytes, act: Act<'_>) {
    let length = errand::length(act);
    let fpcr = image[FPCR..FPCR + 4].try_into().map_or(0, u32::from_le_bytes);
    let mut orders = Orders { errand: Errand::of(act, &length), fpcr: fpcr.into(), found_fpcr: 0 };
    carry_out(image, found, &mut orders);
    found[FPCR..FPCR + 4].copy_from_slice(&orders.found_fpcr.to_le_bytes()[..4]);
}

macro_rules! act {
    () => {
        "ldp x9, x8, [x22]
         ldp x0, x1, [x22, #16]
         ldp x2, x3, [x22, #32]
         ldp x4, x10, [x22, #48]
         msr fpcr, x10
         cmp x9, #1
         b.eq 3f
         b.hi 4f
         svc #0
         b 5f
      3: isb
         ldr w10, [x0]
         cbnz w10, 5f
         subs x8, x8, #1
         b.ne 3b
         b 5f
      4: ldrb w10, [x0]
         add w10, w10, #1
         strb w10, [x0]
         add x0, x0, x1
         subs x8, x8, #1
         b.ne 4b
      5: mrs x10, fpcr
         str x10, [x22, #64]
         msr fpcr, xzr"
    };
}

/// The same instruction for pairs of the 32 registers of NEON.
macro_rules! neon {
    ($operation:literal, $base:literal) => {
        concat!(
            neon!(@ $operation, $base, "q0, q1", "0"), neon!(@ $operation, $base, "q2, q3", "32"),
            neon!(@ $operation, $base, "q4, q5", "64"), neon!(@ $operation, $base, "q6, q7", "96"),
            neon!(@ $operation, $base, "q8, q9", "128"), neon!(@ $operation, $base, "q10, q11", "160"),
            neon!(@ $operation, $base, "q12, q13", "192"), neon!(@ $operation, $base, "q14, q15", "224"),
            neon!(@ $operation, $base, "q16, q17", "256"), neon!(@ $operation, $base, "q18, q19", "288"),
            neon!(@ $operation, $base, "q20, q21", "320"), neon!(@ $operation, $base, "q22, q23", "352"),
            neon!(@ $operation, $base, "q24, q25", "384"), neon!(@ $operation, $base, "q26, q27", "416"),
            neon!(@ $operation, $base, "q28, q29", "448"), neon!(@ $operation, $base, "q30, q31", "480"),
        )
    };
    (@ $operation:literal, $base:literal, $pair:literal, $at:literal) => {
        concat!($operation, " ", $pair, ", [", $base, ", #", $at, "]\n")
    };
}

/// The same instruction for all vectors, then for all predicates, by a loop of the assembler.
macro_rules! sve {
    ($operation:literal, $base:literal) => {
        concat!(
            ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n",
            $operation,
            " z\\n, [",
            $base,
            ", #\\n, mul vl]\n.endr\n",
            "add x11, ",
            $base,
            ", #2, lsl #12\n",
            ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n",
            $operation,
            " p\\n, [x11, #\\n, mul vl]\n.endr\n",
        )
    };
}

macro_rules! carry_out {
    ($load:expr, $store:expr, $image:expr, $found:expr, $orders:expr) => {
        asm!(
            ".arch_extension sve",
            $load,
            act!(),
            $store,
            in("x20") $image,
            in("x21") $found,
            in("x22") $orders,
            clobber_abi("C"),
            options(nostack)
        )
    };
}

fn carry_out(image: &Bytes, found: &mut Bytes, orders: &mut Orders) {
    let (image, found, orders) = (from_ref(image), std::ptr::from_mut(found), std::ptr::from_mut(orders));
    if vector_bytes().is_some() {
        // SAFETY: both images are larger than all registers of the longest vectors. The calls get pointers that outlive
        // them, and none of the calls writes; `Touch` writes to memory of its own. All registers that are changed are
        // declared, and the control register gets its initial value back. The CPU has the instructions of SVE.
        unsafe { carry_out!(sve!("ldr", "x20"), sve!("str", "x21"), image, found, orders) };
    } else {
        // SAFETY: as above; every CPU of this architecture has these instructions.
        unsafe { carry_out!(neon!("ldp", "x20"), neon!("stp", "x21"), image, found, orders) };
    }
}
