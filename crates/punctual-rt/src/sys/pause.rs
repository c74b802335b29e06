//! Waits inside the CPU until its counter reaches a value, with x86 `TPAUSE` or arm64 `WFET`, detected at run time.
//!
//! This saves power and leaves the core to its other hardware thread. The module does not know the rate of the counter;
//! the caller has to learn it.

/// An instruction that waits for the CPU's counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "each is made on its own architecture")]
pub(crate) enum TimedPause {
    /// `TPAUSE` of x86, if CPUID reports `WAITPKG`.
    Tpause,
    /// `WFET` of arm64, if the kernel reports `FEAT_WFxT`.
    Wfet,
}

/// Bit of `CPUID.(EAX=7,ECX=0):ECX` that reports `WAITPKG`.
#[cfg(any(target_arch = "x86_64", test))]
const CPUID_WAITPKG: u32 = 1 << 5;
/// Bit of `AT_HWCAP2` that reports `FEAT_WFxT` to arm64 programs (Linux 6.0 and later).
#[cfg(any(target_arch = "aarch64", test))]
const HWCAP2_WFXT: u64 = 1 << 31;

/// Whether an x86 CPU has `TPAUSE`: CPUID has a leaf 7, in which the bit is set.
#[cfg(any(target_arch = "x86_64", test))]
const fn says_waitpkg(highest_leaf: u32, leaf_7_ecx: u32) -> bool {
    highest_leaf >= 7 && leaf_7_ecx & CPUID_WAITPKG != 0
}

/// Whether an arm64 kernel reports that programs may use `WFET`.
#[cfg(any(target_arch = "aarch64", test))]
const fn says_wfxt(hwcap2: u64) -> bool {
    hwcap2 & HWCAP2_WFXT != 0
}

impl TimedPause {
    /// The instruction that this CPU has, if any.
    ///
    /// # Real-time
    /// `CPUID` causes an exit from a virtual machine (1 us to tens of us): call before the loop.
    pub(crate) fn detect() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        {
            let leaf = |number| {
                // SAFETY: every x86-64 CPU has the instruction.
                #[allow(unused_unsafe, reason = "safe since some later version of the standard library")]
                unsafe {
                    core::arch::x86_64::__cpuid_count(number, 0)
                }
            };
            says_waitpkg(leaf(0).eax, leaf(7).ecx).then_some(Self::Tpause)
        }
        #[cfg(target_arch = "aarch64")]
        {
            // SAFETY: reads the auxiliary vector that the kernel gave the process.
            let hwcap2 = unsafe { libc::getauxval(libc::AT_HWCAP2) };
            says_wfxt(hwcap2).then_some(Self::Wfet)
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        None
    }

    /// Waits until the counter ([`time_stamp_counter`](super::time_stamp_counter)) reaches `tick`, or less long:
    /// interrupts end the wait, `umwait_control` of the kernel limits it, and a hypervisor may end it at once. Returns
    /// at once if `tick` is past.
    ///
    /// # Real-time
    /// Does not enter the kernel, but a hypervisor may trap the instruction (arm64 `WFE` trap).
    #[inline]
    pub(crate) fn until(self, tick: u64) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Tpause => tpause(tick),
            #[cfg(target_arch = "aarch64")]
            Self::Wfet => wfet(tick),
            #[allow(unreachable_patterns, reason = "the other architecture's instruction, which detect never gives")]
            _ => {
                let _ = tick;
                core::hint::spin_loop();
            }
        }
    }
}

/// Bit 0 of the operand: 1 requests C0.1, which wakes faster than C0.2. The other bits must be 0.
#[cfg(target_arch = "x86_64")]
const C0_1: u32 = 1;

#[cfg(target_arch = "x86_64")]
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "the two halves are what the instruction takes")]
fn tpause(tick: u64) {
    // SAFETY: only reached if CPUID reports WAITPKG; the instruction reads three registers and writes flags.
    unsafe {
        core::arch::asm!(
            "tpause {state:e}",
            state = in(reg) C0_1,
            in("eax") tick as u32,
            in("edx") (tick >> 32) as u32,
            options(nomem, nostack),
        );
    }
}

#[cfg(target_arch = "aarch64")]
#[inline]
fn wfet(tick: u64) {
    // SAFETY: only reached if the kernel reports FEAT_WFxT; the instruction reads one register.
    unsafe {
        // `wfet x9` as a number, because assemblers accept the name only with the feature enabled.
        core::arch::asm!(".inst 0xd5031009", in("x9") tick, options(nomem, nostack, preserves_flags));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waitpkg_is_bit_5_of_leaf_7_and_only_where_there_is_a_leaf_7() {
        assert!(says_waitpkg(0x1f, 0x0000_0020));
        assert!(!says_waitpkg(0x1f, 0xffff_ffdf), "every bit but that one");
        assert!(!says_waitpkg(6, 0xffff_ffff), "an older CPU answers with something else");
    }

    #[test]
    fn wfxt_is_bit_31_of_hwcap2() {
        assert!(says_wfxt(0x8000_0000));
        assert!(!says_wfxt(!0x8000_0000));
    }

    #[test]
    fn what_is_detected_runs_and_ends() {
        if let Some(pause) = TimedPause::detect() {
            for ahead in [0, 1_000, 10_000] {
                pause.until(crate::sys::time_stamp_counter().unwrap().wrapping_add(ahead));
            }
            pause.until(0);
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_kernel_agrees_about_waitpkg() {
        let Ok(cpuinfo) = std::fs::read_to_string("/proc/cpuinfo") else { return };
        let flags = cpuinfo.lines().find(|l| l.starts_with("flags")).unwrap_or_default();
        assert_eq!(TimedPause::detect().is_some(), flags.split_whitespace().any(|f| f == "waitpkg"));
    }
}
