//! Power saving of PCI Express links, from two bits in the configuration of each device. Few bytes are read per device.
//! Sleeping devices are not read, because reading would wake them.

use punctual_facts::fact::Fact;
use std::fmt::Write as _;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

pub(super) const FOLDER: &str = "/sys/bus/pci/devices";
const MOST_DEVICES: usize = 512;
/// Limit on the number of entries in a list of capabilities, because a broken list may be circular.
const MOST_CAPABILITIES: usize = 48;
const STATUS: u64 = 0x06;
const HAS_CAPABILITIES: u16 = 0x10;
const FIRST_CAPABILITY: u64 = 0x34;
const EXPRESS: u8 = 0x10;
const LINK_CONTROL: u64 = 0x10;
const ASPM: u16 = 0b11;
const CLOCK_PM: u16 = 1 << 8;
/// Types of devices at the ends of links: endpoints, root ports and both sides of switches. Devices integrated into the
/// chip have no link.
const WITH_LINK: [u16; 5] = [0, 1, 4, 5, 6];

/// One line `DEVICE aspm=N clkpm=N` for each device with a link, below the folder of PCI devices.
pub(super) fn told(folder: &Path, devices: &[String]) -> Fact<Vec<u8>> {
    let (mut text, mut was_cut_short) = (String::new(), false);
    for device in devices.iter().take(MOST_DEVICES) {
        let place = folder.join(device);
        let status = std::fs::read_to_string(place.join("power/runtime_status"));
        if status.is_ok_and(|status| status.trim() == "suspended") {
            continue;
        }
        let Ok(config) = File::open(place.join("config")) else { continue };
        match link_control(&config) {
            LinkAnswer::Link(control) => {
                let (aspm, clock) = (control & ASPM, u8::from(control & CLOCK_PM != 0));
                // Writing into a string cannot fail.
                let _ = writeln!(text, "{device} aspm={aspm} clkpm={clock}");
            }
            LinkAnswer::NoLink => {}
            LinkAnswer::CutShort => was_cut_short = true,
        }
    }
    // Without privileges the kernel shows only the first 64 bytes of the configuration, which cuts the list of
    // capabilities short.
    match (text.is_empty(), was_cut_short) {
        (_, true) => Fact::Denied,
        (true, false) => Fact::Absent,
        (false, false) => Fact::Known(text.into_bytes()),
    }
}

enum LinkAnswer {
    Link(u16),
    NoLink,
    CutShort,
}

fn link_control(config: &File) -> LinkAnswer {
    let byte = |at: u64| {
        let mut byte = [0];
        config.read_exact_at(&mut byte, at).ok().map(|()| byte[0])
    };
    let word = |at: u64| Some(u16::from_le_bytes([byte(at)?, byte(at + 1)?]));
    match word(STATUS) {
        Some(u16::MAX) => return LinkAnswer::NoLink,
        Some(status) if status & HAS_CAPABILITIES != 0 => {}
        _ => return LinkAnswer::NoLink,
    }
    let Some(mut at) = byte(FIRST_CAPABILITY) else { return LinkAnswer::NoLink };
    for _ in 0..MOST_CAPABILITIES {
        let place = u64::from(at & 0xfc);
        if place < 0x40 {
            return LinkAnswer::NoLink;
        }
        let (Some(kind), Some(next)) = (byte(place), byte(place + 1)) else { return LinkAnswer::CutShort };
        if kind == EXPRESS {
            let (Some(flags), Some(control)) = (word(place + 2), word(place + LINK_CONTROL)) else {
                return LinkAnswer::CutShort;
            };
            let port = (flags >> 4) & 0xf;
            return if WITH_LINK.contains(&port) { LinkAnswer::Link(control) } else { LinkAnswer::NoLink };
        }
        at = next;
    }
    LinkAnswer::NoLink
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(folder: &Path, name: &str, port: u8, control: u8, bytes: usize) {
        let mut config = vec![0_u8; 256];
        config[0x06] = 0x10;
        config[0x34] = 0x40;
        (config[0x40], config[0x41]) = (0x01, 0x50);
        (config[0x50], config[0x52], config[0x60]) = (EXPRESS, port << 4, control);
        config.truncate(bytes);
        std::fs::create_dir_all(folder.join(name).join("power")).unwrap();
        std::fs::write(folder.join(name).join("config"), config).unwrap();
    }

    #[test]
    fn tells_what_the_registers_hold() {
        let folder = tempfile::tempdir().unwrap();
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(told(folder.path(), &names(&["gone"])), Fact::Absent);
        device(folder.path(), "a", 0, 0b10, 256);
        device(folder.path(), "b", 4, 0, 256);
        device(folder.path(), "inside", 9, 0b11, 256);
        device(folder.path(), "asleep", 0, 0b11, 256);
        std::fs::write(folder.path().join("asleep/power/runtime_status"), "suspended\n").unwrap();
        let all = told(folder.path(), &names(&["a", "asleep", "b", "inside"]));
        assert_eq!(all, Fact::Known(b"a aspm=2 clkpm=0\nb aspm=0 clkpm=0\n".to_vec()));
        device(folder.path(), "short", 0, 0, 64);
        assert_eq!(told(folder.path(), &names(&["a", "short"])), Fact::Denied);
    }
}
