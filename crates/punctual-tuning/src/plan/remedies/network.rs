//! Remedies for network devices. Only the devices that the real-time work uses are set up for it. Packets of the other
//! devices are kept away from the real-time CPUs.

use super::super::{Expected, NicSetting, Reading, SchedPolicy, Step};
use super::draft::Draft;
use super::{Found, Site, by_hand};
use crate::knobs::{Blast, Case, Doubt, Missing};
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::fact::Fact;

const FOLDER: &str = "/sys/class/net";
const ETHTOOL: &str = "punctual:/ethtool";
const NAME_IT: &str = "name the network device of the real-time traffic with --device: only that device may be changed";

fn devices(case: &Case<'_>) -> Result<Vec<String>, Doubt> {
    case.known(FOLDER, case.list(FOLDER), Missing::CannotBe("there is no network"))
}

/// The devices that the user named for the real-time work and that exist here; `None` if the user named none.
fn named(site: &Site<'_>) -> Result<Option<Vec<String>>, Doubt> {
    let all = devices(site.case)?;
    if site.preferences.devices.is_empty() {
        return Ok(None);
    }
    Ok(Some(all.into_iter().filter(|device| site.is_named(device)).collect()))
}

/// The number of one setting of a device, as ethtool shows it.
fn setting(case: &Case<'_>, device: &str, subject: &str, name: &str) -> Option<u32> {
    let text = case.peek(&format!("{ETHTOOL}/{device}/{subject}"));
    let value = |line: &str| line.split_once(' ').filter(|(found, _)| *found == name)?.1.trim().parse().ok();
    text.known()?.lines().find_map(value)
}

pub(super) fn coalesce(site: &Site<'_>) -> Found {
    let case = site.case;
    let Some(devices) = named(site)? else { return by_hand(NAME_IT) };
    let mut draft = Draft::default();
    for device in devices {
        let now = |name: &str| setting(case, &device, "coalesce", name);
        // `rx-frames` is set to 1, because some drivers interpret 0 as "never".
        let wanted = [("adaptive-rx", 0), ("rx-usecs", 0), ("rx-frames", 1)];
        let is_due = |name: &str, value: u32| match now(name) {
            Some(now) if name == "rx-frames" => now > 1,
            Some(now) => now != value,
            None => false,
        };
        let settings: Vec<NicSetting> = wanted
            .iter()
            .filter(|(name, value)| is_due(name, *value))
            .map(|(name, value)| NicSetting { name: (*name).to_owned(), value: *value })
            .collect();
        if settings.is_empty() {
            continue;
        }
        let told = |value: &dyn Fn(&str, u32) -> u32| {
            settings
                .iter()
                .map(|of| format!("{} {}", of.name, value(&of.name, of.value)))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let (before, after) = (told(&|name, _| now(name).unwrap_or_default()), told(&|_, wanted| wanted));
        draft.step(&device, &before, &after, Step::Nic { device: device.clone(), settings });
    }
    Ok(draft.remedy("More interrupts; some drivers reset the device for it.", "ethtool -c DEVICE"))
}

/// Limits the number of a device's queues to the number of housekeeping CPUs, which handle the queues.
pub(super) fn queues(site: &Site<'_>) -> Found {
    let case = site.case;
    case.has_housekeeping()?;
    let most = u32::try_from(case.housekeeping().len()).unwrap_or(u32::MAX);
    let mut draft = Draft::default();
    for device in devices(case)? {
        let now = |name: &str| setting(case, &device, "channels", name).unwrap_or_default();
        if now("combined") <= most {
            continue;
        }
        let settings = vec![NicSetting { name: "channels/combined".to_owned(), value: most }];
        let (before, after) = (format!("{} queues", now("combined")), format!("{most} queues"));
        draft.step(&device, &before, &after, Step::Nic { device: device.clone(), settings });
    }
    Doubt::not_applicable_if(draft.is_empty(), "no device here has combined queues that could be reduced")?;
    let risk = "The device is reset: its link goes down for seconds, and connections over it are interrupted.";
    Ok(draft.apart(risk, "ethtool -l DEVICE").reaching(Blast::Breaking))
}

/// Lets threads handle the packets of named devices. Threads that exist already also get the priority for devices.
pub(super) fn threaded(site: &Site<'_>) -> Found {
    let case = site.case;
    let Some(devices) = named(site)? else { return by_hand(NAME_IT) };
    let mut draft = Draft::default();
    for device in &devices {
        draft.write(case, device, &format!("{FOLDER}/{device}/threaded"), "1");
    }
    let priority = site.device_priority();
    for thread in site.kernel_threads().unwrap_or_default() {
        let of_device = |device: &String| {
            thread.name.comm.strip_prefix("napi/").is_some_and(|rest| rest.starts_with(&format!("{device}-")))
        };
        if devices.iter().any(of_device) && thread.policy != SchedPolicy::Fifo(priority) {
            let step = Step::Policy { task: thread.name.clone(), policy: SchedPolicy::Fifo(priority) };
            draft.step(&thread.name.comm, &thread.policy.to_string(), &format!("fifo {priority}"), step);
        }
    }
    Doubt::not_applicable_if(
        draft.is_empty(),
        "none of the devices named with --device has this switch, or it is on already for all of them",
    )?;
    Ok(draft.remedy(
        "Threads that this change creates have ordinary priority until punctual tune runs a second time.",
        "threads napi/DEVICE-N with their priority",
    ))
}

/// Stops the deferral of interrupts on the devices that the real-time work uses.
pub(super) fn defer(site: &Site<'_>) -> Found {
    let case = site.case;
    let Some(devices) = named(site)? else { return by_hand(NAME_IT) };
    let mut draft = Draft::default();
    for device in &devices {
        for file in ["napi_defer_hard_irqs", "gro_flush_timeout"] {
            draft.write(case, device, &format!("{FOLDER}/{device}/{file}"), "0");
        }
    }
    Ok(draft.remedy("More interrupts.", "napi_defer_hard_irqs and gro_flush_timeout"))
}

pub(super) fn steering(site: &Site<'_>) -> Found {
    let case = site.case;
    case.has_housekeeping()?;
    let mut draft = Draft::default();
    for device in devices(case)? {
        let queues = case.list(&format!("{FOLDER}/{device}/queues"));
        for queue in queues.known().into_iter().flatten().filter(|name| name.starts_with("rx-")) {
            let path = format!("{FOLDER}/{device}/queues/{queue}/rps_cpus");
            let Fact::Known(text) = case.peek(&path) else { continue };
            let Ok(now) = CpuSet::parse_mask(&text) else { continue };
            if now.intersection(case.rt()).is_empty() {
                continue;
            }
            let expected = Expected::same(Reading::CpuMask);
            draft.write_as(case, &format!("{device} {queue}"), &path, &case.kept_off(&now).mask(), expected);
        }
    }
    Ok(draft.apart("The other CPUs get the packets.", "queues/rx-N/rps_cpus"))
}
