//! What was typed, as what is wanted.

use crate::cli::TuneArgs;
use anyhow::{Context, Result, bail};
use punctual_core::knobs;
use punctual_core::plan::Wishes;
use punctual_core::plan::remedies::{HugePages, Needs};
use punctual_core::profile::Need;

/// The wishes; a knob nobody knows is refused.
pub fn wishes(args: &TuneArgs) -> Result<Wishes> {
    for id in args.only.iter().chain(&args.except) {
        if knobs::find(id).is_none() {
            let near = knobs::near(id);
            let hint = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) };
            bail!("there is no knob '{id}'{hint} `punctual audit --all` lists them");
        }
    }
    let exe =
        std::env::current_exe().context("where this program stands cannot be told, and a boot service needs it")?;
    Ok(Wishes {
        need: Need {
            kind: args.profile.into(),
            period: args.period,
            budget: args.budget,
            cpus: args.cpus.clone().unwrap_or_default(),
        },
        only: args.only.clone(),
        except: args.except.clone(),
        blast: args.blast.into(),
        needs: Needs {
            devices: args.device.clone().into_iter().collect(),
            partition: args.partition,
            for_good: !args.until_reboot && args.command.is_empty(),
            keep_irqs: args.keep_irqs.clone(),
            priority: args.priority,
            huge_pages: args
                .hugepages
                .map(|count| HugePages { size_kb: 2048, count, node: None })
                .into_iter()
                .collect(),
        },
        holds: !args.command.is_empty(),
        lasting: !args.until_reboot && args.command.is_empty(),
        exe: exe.to_string_lossy().into_owned(),
    })
}
