//! Guide.
use super::{Claim, Judged, Lab, Scenario, Verdict, skip};
use crate::kernel::Kernel;
use anyhow::Result;
use std::fs;

/// The scenario.
pub const GUIDE: Scenario = Scenario { name: "guide", claims: CLAIMS, wants: |spec| spec.boots, run };

const CLAIMS: &[Claim] = &[Claim { id: "guide.log", says: "x" }];

fn run(lab: &Lab, kernel: &Kernel) -> Result<Judged> {
    if lab.product(kernel.spec.arch)?.is_none() { return Ok(skip(CLAIMS, "no")); }
    let words = fs::read_to_string(lab.root.join("fixtures/cmdlines/guide-2025.txt"))?;
    let words = std::env::var("GUIDE").unwrap_or(words.trim().to_owned());
    let mut guest = lab.boot(kernel, "guide", &words, 3072, &["i915".to_owned()])?;
    crate::say(&format!("booted in {:?}, {} tries", guest.boot_time, guest.tries));
    for (name, command) in [("up", "cat /proc/uptime"), ("cmdline","cat /proc/cmdline"), ("dmesg","dmesg"), ("lint.json","punctual lint --json"), ("audit.json","punctual audit --json"),("snap","punctual snapshot -o /tmp/m"),("snap.json","punctual audit --machine /tmp/m --json")] {
        let start = std::time::Instant::now();
        let o = guest.command(command)?;
        crate::say(&format!("{command}: {} {} bytes in {:?} {}", o.code, o.out.len(), start.elapsed(), o.err));
        lab.keep("guide", kernel, name, &o.out)?;
    }
    Ok(vec![("guide.log", Verdict::Held)])
}
