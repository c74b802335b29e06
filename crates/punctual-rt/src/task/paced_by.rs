//! Decides which kernel paces a task, and makes its pacer.

use super::TaskConfig;
use crate::backend::{Attached, Found, Needs, find_any, find_only};
use crate::setup::{Prepared, Require, SetupStep};
use crate::stats::StatsWriter;
use crate::{Error, Grid, Memory, Pacer, Sleeper, Stopper};

/// The kernel that is to pace a task.
pub(super) struct PacedBy {
    /// A real-time core, and the priority of the task there; `None` for Linux.
    core: Option<(Found, u8)>,
    /// Why a core that the kernel has is not used.
    refused: Option<Error>,
}

impl PacedBy {
    /// Looks for the kernel that the task asks for. Nothing has been set up for the task before this, so an error
    /// leaves nothing to undo.
    pub(super) fn choose(config: &TaskConfig) -> Result<Self, Error> {
        let linux = Self { core: None, refused: None };
        let Some(priority) = config.out_of_band_priority() else { return Ok(linux) };
        match config.backend.map_or_else(find_any, find_only) {
            Ok(found) => Ok(Self { core: found.map(|found| (found, priority)), ..linux }),
            Err(error) if may_fall_back(config) => Ok(Self { refused: Some(error), ..linux }),
            Err(error) => Err(error),
        }
    }

    /// Makes the pacer of the calling thread, which was set up before.
    pub(super) fn pacer(
        self,
        config: &TaskConfig,
        prepared: &mut Prepared,
        stats: &StatsWriter,
        grid: Grid,
        stop: &Stopper,
    ) -> Result<Pacer, Error> {
        let mut refused = self.refused;
        if let Some((found, priority)) = self.core {
            let lock_refused = prepared.refusals().iter().any(|refusal| refusal.what == SetupStep::MemoryLock);
            let needs = Needs {
                priority,
                in_band: config.in_band,
                by_timer: false,
                memory_is_locked: matches!(config.setup.memory, Memory::Lock { .. }) && !lock_refused,
                stop: stop.clone(),
                report: stats.tells_switches(),
            };
            match Attached::new(found, needs) {
                Ok(core) => {
                    stats.paced_by(core.backend());
                    return Ok(Pacer::out_of_band(grid, &config.wait, core));
                }
                Err(error) if may_fall_back(config) => refused = Some(error),
                Err(error) => return Err(error),
            }
        }
        if let Some(error) = refused {
            prepared.refuse(SetupStep::Backend, error);
        }
        Pacer::new(grid, &config.wait, Sleeper::Absolute)
    }
}

/// Whether Linux paces the task if a core refuses. A core that was asked for by name is never replaced.
fn may_fall_back(config: &TaskConfig) -> bool {
    config.backend.is_none() && config.setup.require == Require::BestEffort
}
