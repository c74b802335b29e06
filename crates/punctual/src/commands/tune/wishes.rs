//! What was typed, as what is wanted.

use crate::cli::TuneArgs;
use anyhow::{Result, bail};
use punctual_core::knobs;
use punctual_core::plan::Wishes;
use punctual_core::plan::remedies::{HugePages, Needs};
use punctual_core::profile::Need;
use std::os::unix::fs::MetadataExt;

const WRITABLE_BY_ALL: u32 = 0o002;

/// The wishes; a knob nobody knows is refused.
pub fn wishes(args: &TuneArgs) -> Result<Wishes> {
    for id in args.only.iter().chain(&args.except) {
        if knobs::find(id).is_none() {
            let near = knobs::near(id);
            let hint = if near.is_empty() { String::new() } else { format!(", did you mean {}?", near.join(" or ")) };
            bail!("there is no knob '{id}'{hint}; `punctual audit --all` lists them");
        }
    }
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
        standing: Vec::new(),
        exe: place(),
    })
}

/// Where this program is, if nobody but root can put another one there.
fn place() -> Result<String, String> {
    let install = "install it where only root writes, in /usr/local/sbin for example";
    let exe = std::env::current_exe().map_err(|error| format!("where this program stands cannot be told ({error})"))?;
    for part in exe.ancestors() {
        let name = part.display();
        let found =
            std::fs::metadata(part).map_err(|error| format!("{name} cannot be looked at ({error}); {install}"))?;
        if found.uid() != 0 || found.mode() & WRITABLE_BY_ALL != 0 {
            return Err(format!("{name} is not root's alone, so that others could change what root runs; {install}"));
        }
    }
    exe.into_os_string().into_string().map_err(|_| format!("its path is not text; {install}"))
}
