//! Which engine is used: the one that is wanted, or else the best that can be had.

use super::engine::{Engine, EngineChoice, Wish};
use super::tracefs::Tracefs;
use super::{TraceError, self_test};
use punctual_numbers::trace::{Rung, SelfTest};

#[derive(Default)]
pub struct Opened {
    /// The engine and the results of its self-test.
    pub engine: Option<(Box<dyn Engine>, Vec<SelfTest>)>,
    pub refused: Vec<(Rung, String)>,
}

type Opening = fn(&Wish<'_>) -> Result<Box<dyn Engine>, TraceError>;

/// Opens the engine that is wanted, or else the best one. Its events are on, and nothing is recorded yet.
pub fn open(wish: &Wish<'_>) -> Opened {
    let (tracefs, bpf) = ((Rung::Tracefs, tracefs as Opening), (Rung::Bpf, bpf as Opening));
    let timerlat = (Rung::Timerlat, timerlat as Opening);
    let order = match wish.choice {
        EngineChoice::Bpf => vec![bpf, tracefs],
        EngineChoice::Timerlat => vec![timerlat, tracefs],
        EngineChoice::Best if cfg!(feature = "bpf") => vec![tracefs, bpf],
        EngineChoice::Best | EngineChoice::Tracefs => vec![tracefs],
    };
    let mut opened = Opened::default();
    for (rung, opening) in order {
        let tried = opening(wish).and_then(|mut engine| {
            let tests = self_test::repeated(&mut *engine).and_then(self_test::believed)?;
            Ok((engine, tests))
        });
        match tried {
            Ok(tried) => {
                opened.refused.extend(tried.0.no_better());
                opened.engine = Some(tried);
                break;
            }
            Err(error) => opened.refused.push((rung, error.to_string())),
        }
    }
    // The first of two reasons tells why the engine failed, the second only that it was not tried again.
    opened.refused.sort_by_key(|(rung, _)| *rung);
    opened.refused.dedup_by_key(|(rung, _)| *rung);
    opened
}

fn tracefs(wish: &Wish<'_>) -> Result<Box<dyn Engine>, TraceError> {
    Ok(Box::new(Tracefs::open(wish, false)?))
}

fn timerlat(wish: &Wish<'_>) -> Result<Box<dyn Engine>, TraceError> {
    Ok(Box::new(Tracefs::open(wish, true)?))
}

#[cfg(feature = "bpf")]
fn bpf(wish: &Wish<'_>) -> Result<Box<dyn Engine>, TraceError> {
    Ok(Box::new(super::bpf::Bpf::open(wish.cpus, wish.buffer_bytes)?))
}

#[cfg(not(feature = "bpf"))]
fn bpf(_: &Wish<'_>) -> Result<Box<dyn Engine>, TraceError> {
    Err(TraceError::NoBpf("this program was built without it: build with --features bpf, which needs clang".to_owned()))
}
