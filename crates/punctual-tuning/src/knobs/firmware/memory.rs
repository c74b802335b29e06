//! Knobs about memory modules: their number, their channels and their speed. The reader of the live machine extracts
//! these facts from the firmware's table, because the table itself also holds serial numbers.

use super::has_setup;
use crate::knobs::prelude::*;

/// The modules, which the reader of the live machine supplies: a line `slot=NAME bank=NAME size_mib=N width=TOTAL/DATA
/// rated_mts=N configured_mts=N` for each slot. A number is 0 if the firmware does not state it, and an empty slot has
/// size 0.
const MODULES: &str = "punctual:/dmi/memory";

const KNOB: Knob = Knob { confidence: Confidence::Medium, blast: Blast::Breaking, ..Knob::of(Family::Firmware) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "fw.memory_channels",
        title: "Memory on two channels or more",
        severity: Weight::all(Medium),
        check: Check::Probe(channels),
        why: "With one channel every CPU, graphics and every device wait in one queue for memory: the worst case is \
            about twice as long.",
        fix: Fix::prose(
            "Put modules of the same kind into the slots of different channels, as the board's manual says.",
        ),
        persist: &[Lasting::other("Memory modules in the right slots.")],
        cost: "Memory modules.",
        sources: &[
            "SMBIOS 3 specification: type 17",
            "unverified: size of the effect; boards name their slots as they like",
        ],
        ..KNOB
    },
    Knob {
        id: "fw.memory_speed",
        title: "Memory at the speed it is made for",
        check: Check::Probe(speed),
        why: "Modules that run below their speed make every cache miss longer; firmware with default settings, or too \
            many modules on a channel, may be the reason.",
        fix: Fix::prose("Set the memory frequency in the firmware to what the modules and the CPU are made for."),
        persist: &[Lasting::Firmware(
            "Memory frequency or memory profile (XMP, EXPO), usually under Advanced, Memory or Overclocking",
        )],
        cost: "None, if the CPU and the modules are made for this frequency.",
        sources: &["SMBIOS 3 specification: type 17", "unverified: size of the effect"],
        ..KNOB
    },
    Knob {
        id: "fw.patrol_scrub",
        title: "No patrol scrubbing of memory by the controller",
        blast: Blast::Harmless,
        check: Check::seen(
            "/sys/devices/system/edac/mc/mc*/sdram_scrub_rate",
            Want::ZERO,
            CannotBe(
                "no memory controller with error correction is registered, or none shows whether it scrubs memory",
            ),
        ),
        why: "Patrol scrubbing reads all of memory in the background, which takes memory bandwidth. If the firmware \
            reports the errors that scrubbing finds, each report is a system management interrupt. Scrubbing by \
            hardware is better than scrubbing by firmware.",
        fix: Fix::prose("echo 0 > /sys/devices/system/edac/mc/mcN/sdram_scrub_rate, where the driver lets you."),
        persist: &[
            Lasting::write("/sys/devices/system/edac/mc/mc*/sdram_scrub_rate", "0"),
            Lasting::Firmware("Patrol Scrub, usually under Advanced, Memory RAS configuration"),
        ],
        cost: "Errors accumulate in memory that is seldom read.",
        confidence: Confidence::Low,
        sources: &[
            "kernel 7.3 drivers/edac/edac_mc_sysfs.c: sdram_scrub_rate",
            "kernel 7.3 core-api/real-time/hardware.rst: memory scrubbing",
            "unverified: size of the effect",
        ],
        ..KNOB
    },
];

/// A module of memory, as the firmware describes it.
struct Module {
    /// The slot's name and the bank's name, in lower case: some boards name the channel in one, some in the other.
    place: String,
    rated_mts: u64,
    configured_mts: u64,
}

fn modules(case: &Case<'_>) -> Result<Vec<Module>, Doubt> {
    has_setup(case)?;
    let missing = TellsNothing("the firmware's table of memory modules is not shown; root may be able to read it");
    let text = case.content(MODULES, missing)?;
    let mut found = Vec::new();
    for line in text.lines() {
        let word = |name: &str| line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        let number = |name: &str| word(name).and_then(|value| value.parse::<u64>().ok());
        let (Some(size_mib), Some(rated_mts), Some(configured_mts)) =
            (number("size_mib"), number("rated_mts"), number("configured_mts"))
        else {
            return Doubt::unknown(format!(
                "{MODULES} (the memory modules, as the firmware describes them) is not understood"
            ));
        };
        if size_mib > 0 {
            let place = format!("{} {}", word("slot").unwrap_or(""), word("bank").unwrap_or("")).to_lowercase();
            found.push(Module { place, rated_mts, configured_mts });
        }
    }
    if found.is_empty() { Doubt::unknown("the firmware describes no memory module") } else { Ok(found) }
}

/// The channel in the name of a slot, such as `channela-dimm0`, `p0_channel_b` or `controller0-channelb`.
fn channel(place: &str) -> Option<String> {
    let at = place.find("channel")?;
    let name: String = place[at + "channel".len()..].trim_start_matches(['_', '-', ' ']).chars().take(1).collect();
    let before = place[..at].trim_end_matches(['_', '-', ' ']);
    // Every controller or node numbers its channels from the start, so the name of the controller or node is kept as
    // well.
    let of = before.rsplit(' ').next().unwrap_or("");
    (!name.is_empty()).then(|| format!("{of} {name}"))
}

/// Not applicable if the firmware says that no memory module has additional bits for error correction.
pub(super) fn may_have_ecc(case: &Case<'_>) -> Result<(), Doubt> {
    let text = case.peek(MODULES);
    let Some(text) = text.known() else { return Ok(()) };
    let widths = text.lines().filter_map(|line| line.split_whitespace().find_map(|word| word.strip_prefix("width=")));
    let is_wider = |width: &str| {
        let (total, data) = width.split_once('/')?;
        Some(total.parse::<u32>().ok()? > data.parse::<u32>().ok()?)
    };
    let has_ecc: Vec<Option<bool>> = widths.map(is_wider).collect();
    let has_no_ecc = !has_ecc.is_empty() && has_ecc.iter().all(|has_ecc| *has_ecc == Some(false));
    Doubt::not_applicable_if(has_no_ecc, "the memory modules have no error correction")
}

fn channels(case: &Case<'_>) -> Judged {
    let modules = modules(case)?;
    let places: Vec<&str> = modules.iter().map(|module| module.place.as_str()).collect();
    case.note(MODULES, format!("{} modules: {}", modules.len(), places.join(", ")));
    if modules.len() == 1 {
        return Ok(false);
    }
    let mut channels: Vec<String> = modules.iter().filter_map(|module| channel(&module.place)).collect();
    if channels.len() < modules.len() {
        return Doubt::unknown(format!(
            "{} memory modules, and the names of their slots do not tell which channels they are on",
            modules.len()
        ));
    }
    channels.sort_unstable();
    channels.dedup();
    Ok(channels.len() > 1)
}

fn speed(case: &Case<'_>) -> Judged {
    let modules = modules(case)?;
    let is_untold = modules.iter().any(|module| module.rated_mts == 0 || module.configured_mts == 0);
    Doubt::unknown_if(is_untold, "the firmware does not tell the speed of every memory module")?;
    let slow = modules.iter().find(|module| module.configured_mts < module.rated_mts);
    let shown = slow.or(modules.first()).map(|m| format!("{} MT/s, made for {} MT/s", m.configured_mts, m.rated_mts));
    case.note(MODULES, shown.unwrap_or_default());
    Ok(slow.is_none())
}

#[cfg(test)]
mod tests {
    use super::channel;

    #[test]
    fn channels_are_told_by_their_names() {
        assert_ne!(channel("channela-dimm0 bank_0"), channel("channelb-dimm0 bank_2"));
        assert_eq!(channel("channela-dimm0 bank_0"), channel("channela-dimm1 bank_1"));
        assert_ne!(channel("controller0-channela-dimm0 bank_0"), channel("controller1-channela-dimm0 bank_0"));
        assert_eq!(channel("dimm_a1 p0_channel_a"), channel("dimm_a2 p0_channel_a"));
        assert_ne!(channel("dimm_0 p0_channel_a"), channel("dimm_0 p0_channel_b"));
        assert_eq!(channel("dimm_a1 node_0"), None);
        assert_eq!(channel("channel"), None);
    }
}
