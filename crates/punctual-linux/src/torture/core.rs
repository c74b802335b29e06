//! The real-time core beside Linux, whose threads take part in a test where it has any.

use super::TortureError;
use punctual_facts::cpu_set::CpuSet;
use punctual_rt::{Backend, CoreRefusal, CoreThread, Error, SetupError, setup};

/// A real-time core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CoreName {
    /// The EVL core of Xenomai 4.
    Evl,
    /// The Cobalt core of Xenomai 3.
    Cobalt,
}

/// The core whose threads take part.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Share {
    pub name: CoreName,
    /// The CPUs on which some real-time threads belong to the core.
    pub cpus: CpuSet,
}

impl CoreName {
    const ALL: [Self; 2] = [Self::Evl, Self::Cobalt];

    pub(super) const fn backend(self) -> Backend {
        match self {
            Self::Evl => Backend::Evl,
            Self::Cobalt => Backend::Cobalt,
        }
    }
}

impl Share {
    /// The core of this machine, with those of the CPUs on which it takes a thread; `None` if there is no core, or if it
    /// takes none there.
    ///
    /// # Errors
    /// Why a core that is there cannot be used, as a sentence.
    pub(super) fn of(cpus: &CpuSet, priority: u8) -> Result<Option<Self>, String> {
        for name in CoreName::ALL {
            let mut share = Self { name, cpus: CpuSet::new() };
            for cpu in cpus.iter() {
                match tried(name, cpu, priority) {
                    Ok(()) => share.cpus = share.cpus.union(&[cpu].into_iter().collect()),
                    Err(error) => match refusal(&error) {
                        Some(CoreRefusal::Absent) => break,
                        Some(CoreRefusal::Cpus) => {}
                        _ => return Err(format!("{error}; {}", error.remedy())),
                    },
                }
            }
            if !share.cpus.is_empty() {
                return Ok(Some(share));
            }
        }
        Ok(None)
    }

    /// Makes the calling thread, which is pinned to this CPU, one of the core.
    pub(super) fn attach(&self, cpu: u32, priority: u8) -> Result<CoreThread, TortureError> {
        CoreThread::attach(self.name.backend(), priority).map_err(|source| TortureError::Setup { cpu, source })
    }
}

/// Lets a thread on this CPU belong to the core for a moment.
fn tried(name: CoreName, cpu: u32, priority: u8) -> Result<(), Error> {
    name.backend().look()?;
    let attempt = move || {
        setup::pin_current(&[cpu])?;
        CoreThread::attach(name.backend(), priority).map(drop)
    };
    // A panic of the thread is passed on.
    std::thread::spawn(attempt).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn refusal(error: &Error) -> Option<CoreRefusal> {
    match error {
        Error::Setup(SetupError::Evl(refusal) | SetupError::Cobalt(refusal)) => Some(*refusal),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_refusal_of_a_core_is_one() {
        assert_eq!(refusal(&Error::Setup(SetupError::Cobalt(CoreRefusal::Cpus))), Some(CoreRefusal::Cpus));
        assert_eq!(refusal(&Error::Setup(SetupError::ReadBack(libc::EPERM))), None);
    }

    #[test]
    fn where_there_is_no_core_none_takes_part() {
        let is_absent =
            |name: &CoreName| name.backend().look().err().as_ref().and_then(refusal) == Some(CoreRefusal::Absent);
        if CoreName::ALL.iter().all(is_absent) {
            assert_eq!(Share::of(&[0].into_iter().collect(), 1), Ok(None));
        }
    }
}
