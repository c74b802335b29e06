//! The instruction and the note of a mark: see [`marks`](crate::marks).

/// One mark with this name: a `nop`, and a note of version 3 of SystemTap's format in a section that is not loaded.
///
/// The note holds the address of the `nop`, the address of a section by which readers see whether the file was moved, no
/// semaphore, the names, and no arguments. The C header `punctual_marks.h` has the same text.
#[doc(hidden)]
#[macro_export]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "arm", target_arch = "riscv64"))]
macro_rules! __mark {
    ($($name:expr),+) => {
        // SAFETY: the only instruction is a `nop`, which changes nothing. What else is written is no code.
        unsafe {
            ::core::arch::asm!(
                "990:",
                "nop",
                ".pushsection .note.stapsdt,\"\",%note",
                ".balign 4",
                ".4byte 992f-991f, 994f-993f, 3",
                "991: .asciz \"stapsdt\"",
                "992: .balign 4",
                $crate::__mark_addresses!(),
                ".asciz \"punctual\"",
                ::core::concat!(".asciz \"", $($name),+, "\""),
                ".asciz \"\"",
                "994: .balign 4",
                ".popsection",
                ".ifndef _.stapsdt.base",
                ".pushsection .stapsdt.base,\"aG\",%progbits,.stapsdt.base,comdat",
                ".weak _.stapsdt.base",
                ".hidden _.stapsdt.base",
                "_.stapsdt.base:",
                ".space 1",
                ".size _.stapsdt.base, 1",
                ".popsection",
                ".endif",
                options(nomem, nostack, preserves_flags)
            )
        }
    };
}

/// On other architectures a mark is nothing.
#[doc(hidden)]
#[macro_export]
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "arm", target_arch = "riscv64")))]
macro_rules! __mark {
    ($($name:expr),+) => {
        ()
    };
}

/// The addresses in a note, which are as wide as the machine's.
#[doc(hidden)]
#[macro_export]
#[cfg(target_pointer_width = "64")]
macro_rules! __mark_addresses {
    () => {
        "993: .8byte 990b\n.8byte _.stapsdt.base\n.8byte 0"
    };
}

/// The addresses in a note, which are as wide as the machine's.
#[doc(hidden)]
#[macro_export]
#[cfg(not(target_pointer_width = "64"))]
macro_rules! __mark_addresses {
    () => {
        "993: .4byte 990b\n.4byte _.stapsdt.base\n.4byte 0"
    };
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "a call would cost more than the mark, and would mark one place for all")]
pub(crate) fn cycle_begin() {
    __mark!("cycle_begin");
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "a call would cost more than the mark, and would mark one place for all")]
pub(crate) fn cycle_end() {
    __mark!("cycle_end");
}
