//! The check of a task's plan for C: its findings, whose texts live until the findings are closed.

use crate::config::prt_config;
use crate::error::{Failure, cold, done};
use crate::versioned::{Versioned, give_or_tell, init, zeroed};
use crate::{handle, text};
use punctual_rt::check::{Findings, Host, Severity, check};
use std::ffi::{CString, c_char, c_int};

/// The findings of a check. Opaque.
pub struct prt_findings([u8; 0]);

handled!(prt_findings, 1: Vec<Found>);

/// One finding, with its texts as C strings.
pub struct Found {
    severity: u32,
    code: CString,
    task: CString,
    evidence: CString,
    remedy: CString,
}

/// The largest number of tasks that can be checked together.
const TASKS_MAX: usize = 4096;

/// Worth knowing, without an effect on latency of its own.
pub const PRT_SEVERITY_INFO: u32 = 0;
/// Costs microseconds, or happens rarely.
pub const PRT_SEVERITY_MEDIUM: u32 = 1;
/// Costs tens of microseconds to milliseconds, or happens regularly.
pub const PRT_SEVERITY_HIGH: u32 = 2;
/// The task cannot start, or cannot keep its period.
pub const PRT_SEVERITY_FATAL: u32 = 3;

/// One obstacle between a task and its period. The texts live until `prt_findings_close`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct prt_finding {
    /// Set by `prt_finding_init`.
    pub size: u32,
    /// Set by `prt_finding_init`.
    pub version: u32,
    /// The rule that reported the finding: the id of a knob of `punctual audit`, or `task.` and a word.
    pub code: *const c_char,
    /// Name of the task.
    pub task: *const c_char,
    /// The planned value, or the value read from the machine, that led to the finding.
    pub evidence: *const c_char,
    /// What to do about the finding.
    pub remedy: *const c_char,
    /// One of `PRT_SEVERITY_...`.
    pub severity: u32,
    /// Reserved; always 0.
    pub reserved: u32,
}

// SAFETY: `repr(C)`, size and version first, no padding; the pointers are never read.
unsafe impl Versioned for prt_finding {
    const NAME: &'static str = "prt_finding";

    fn usual() -> Self {
        let none = c"".as_ptr();
        Self { code: none, task: none, evidence: none, remedy: none, ..zeroed() }
    }
}

/// Prepares a finding of `size` bytes (`sizeof *finding`) to be filled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_finding_init(finding: *mut prt_finding, size: usize) -> c_int {
    // SAFETY: the C caller promises NULL or a structure of `size` bytes.
    cold(|| unsafe { init(finding, size) })
}

/// Checks, before the task starts, what on this machine can keep it from holding its period. Returns the number of
/// findings. `findings` receives them, gravest first; close it with `prt_findings_close`.
///
/// Not for the loop: reads files, allocates.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_config_check(config: *const prt_config, findings: *mut *mut prt_findings) -> c_int {
    cold(|| {
        // SAFETY: the C caller promises that the pointer is NULL or valid.
        let found = unsafe { crate::config::config(config) }?.check();
        // SAFETY: the C caller promises that the pointer is NULL or valid.
        unsafe { hand_over(&found, findings) }
    })
}

/// Checks `count` tasks of one program that run together, each as `prt_config_check` does, and against each other.
///
/// Not for the loop: reads files, allocates.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_group_check(
    configs: *const *const prt_config,
    count: usize,
    findings: *mut *mut prt_findings,
) -> c_int {
    cold(|| {
        if configs.is_null() {
            return Err((-libc::EFAULT).into());
        }
        if count > TASKS_MAX {
            return Err(Failure::new(-libc::E2BIG, format!("count is {count}, more than {TASKS_MAX}")));
        }
        let plan = |index| {
            // SAFETY: the C caller promises `count` pointers.
            let config = unsafe { configs.wrapping_add(index).read_unaligned() };
            // SAFETY: the C caller promises that the pointer is NULL or valid.
            Ok(unsafe { crate::config::config(config) }?.plan())
        };
        let plans = (0..count).map(plan).collect::<Result<Vec<_>, Failure>>()?;
        // SAFETY: the C caller promises that the pointer is NULL or valid.
        unsafe { hand_over(&check(&plans, &Host::here()), findings) }
    })
}

/// # Safety
/// `to` is null or valid.
unsafe fn hand_over(findings: &Findings, to: *mut *mut prt_findings) -> Result<c_int, Failure> {
    let found = found(findings);
    let count = c_int::try_from(found.len()).unwrap_or(c_int::MAX);
    // SAFETY: required of the caller under `# Safety` above.
    unsafe { text::put(to, || Ok(handle::open(found)?)) }?;
    Ok(count)
}

fn found(findings: &Findings) -> Vec<Found> {
    let text = |text: &str| CString::new(text.replace('\0', " ")).unwrap_or_default();
    let one = |finding: &punctual_rt::check::Finding| Found {
        severity: match finding.severity {
            Severity::Info => PRT_SEVERITY_INFO,
            Severity::Medium => PRT_SEVERITY_MEDIUM,
            Severity::High => PRT_SEVERITY_HIGH,
            Severity::Fatal => PRT_SEVERITY_FATAL,
        },
        code: text(finding.code),
        task: text(&finding.task),
        evidence: text(&finding.evidence),
        remedy: text(finding.remedy),
    };
    findings.iter().map(one).collect()
}

/// Writes finding number `index`, counted from 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prt_findings_get(
    findings: *const prt_findings,
    index: usize,
    finding: *mut prt_finding,
) -> c_int {
    done(|| {
        let all = handle::shared(findings)?;
        let found = all.get(index).ok_or(Failure::new(-libc::ERANGE, "there is no finding of this number"))?;
        let value = prt_finding {
            code: found.code.as_ptr(),
            task: found.task.as_ptr(),
            evidence: found.evidence.as_ptr(),
            remedy: found.remedy.as_ptr(),
            severity: found.severity,
            ..prt_finding::usual()
        };
        // SAFETY: the C caller promises that the pointer is NULL or valid.
        unsafe { give_or_tell(finding, &value) }
    })
}

/// Frees the findings and their texts.
#[unsafe(no_mangle)]
pub extern "C" fn prt_findings_close(findings: *mut prt_findings) -> c_int {
    done(|| handle::free(findings))
}
