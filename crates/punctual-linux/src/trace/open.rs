//! Chooses the engine: the requested one, or otherwise the best that is available.

use super::engine::{Engine, EngineChoice, Wish};
use super::tracefs::Tracefs;
use super::{TraceError, guard, self_test};
use punctual_numbers::trace::{RefusedRung, Rung, SelfTest};

#[derive(Default)]
pub struct Opened {
    pub engine: Option<(Box<dyn Engine>, Vec<SelfTest>)>,
    pub refused: Vec<RefusedRung>,
}

/// Opens the requested engine, or otherwise the best one. Its events are on, and nothing is recorded yet.
pub fn open(wish: &Wish<'_>) -> Opened {
    let order: &[Rung] = match wish.choice {
        EngineChoice::Bpf => &[Rung::Bpf, Rung::Tracefs],
        EngineChoice::Timerlat => &[Rung::Timerlat, Rung::Tracefs],
        EngineChoice::Best if cfg!(feature = "bpf") => &[Rung::Tracefs, Rung::Bpf],
        EngineChoice::Best | EngineChoice::Tracefs => &[Rung::Tracefs],
    };
    let mut opened = Opened::default();
    for rung in order {
        let opening = match rung {
            Rung::Bpf => bpf(wish),
            rung => Tracefs::open(wish, *rung == Rung::Timerlat).map(|engine| Box::new(engine) as Box<dyn Engine>),
        };
        let tried = opening.and_then(|mut engine| {
            let tests = self_test::repeated(&mut *engine).and_then(self_test::believed)?;
            Ok((engine, tests))
        });
        match tried {
            Ok(tried) => {
                // Where few files may be open, the trace goes before its guard.
                guard::start();
                opened.refused.extend(tried.0.no_better());
                opened.engine = Some(tried);
                break;
            }
            Err(error) => opened.refused.push(RefusedRung { rung: *rung, why: error.to_string() }),
        }
    }
    // If an engine was refused twice, only the first reason says why; the second says that it was not tried again.
    opened.refused.sort_by_key(|refused| refused.rung);
    opened.refused.dedup_by_key(|refused| refused.rung);
    opened
}

#[cfg(feature = "bpf")]
fn bpf(wish: &Wish<'_>) -> Result<Box<dyn Engine>, TraceError> {
    Ok(Box::new(super::bpf::Bpf::open(wish.cpus, wish.buffer_bytes)?))
}

#[cfg(not(feature = "bpf"))]
fn bpf(_: &Wish<'_>) -> Result<Box<dyn Engine>, TraceError> {
    Err(TraceError::LeftOut)
}
