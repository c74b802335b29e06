//! Knobs about the CPUs to which the kernel's own software steers packets.

use super::{FOLDER, devices};
use crate::knobs::prelude::*;

/// Good if no queue of this kind (its name begins with `kind`) has real-time CPUs in the mask that `file` holds.
pub(super) fn queues_avoid(case: &Case<'_>, kind: &str, file: &str, none: &str) -> Judged {
    case.has_housekeeping()?;
    let (mut queues, mut steered) = (0_usize, Vec::new());
    for device in &devices(case)? {
        let names = case.list(&format!("{FOLDER}/{device}/queues"));
        for queue in names.known().into_iter().flatten().filter(|name| name.starts_with(kind)) {
            let path = format!("{FOLDER}/{device}/queues/{queue}/{file}");
            // A device with a single queue refuses to show its mask.
            let Some(text) = case.peek(&path).known().cloned() else { continue };
            queues += 1;
            match CpuSet::parse_mask(&text) {
                Ok(mask) if mask.intersection(case.rt()).is_empty() => {}
                Ok(mask) => steered.push(format!("{device} {queue} to {mask}")),
                Err(e) => return Doubt::unknown(format!("{path}: {e}")),
            }
        }
    }
    Doubt::not_applicable_if(queues == 0, none)?;
    case.none_found(format!("{FOLDER}/*/queues/{kind}*/{file}"), steered.join(", "), format!("none of {queues} queues"))
}
