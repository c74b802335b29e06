//! Compares the audit's findings with the machine's own files.

use super::facts::Finding;
use std::collections::{BTreeMap, BTreeSet};

pub type Findings = BTreeMap<String, Finding>;
/// Paths of files, each with the first line of the file.
pub type Files = BTreeMap<String, String>;

const ISOLATED: &str = "/sys/devices/system/cpu/isolated";
const TICKLESS: &str = "/sys/devices/system/cpu/nohz_full";
const INTERRUPTS: &str = "/proc/irq/default_smp_affinity";
const NMI: &str = "/proc/sys/kernel/nmi_watchdog";
/// Smallest number of values to compare. With fewer, something is wrong with the texts.
const ENOUGH: usize = 20;

/// Files that findings refer to and that do not change by themselves.
pub fn named(findings: &Findings) -> BTreeSet<String> {
    let sources = findings.values().flat_map(|finding| &finding.evidence).map(|(source, _)| source);
    let steady = |source: &&String| {
        let is_name = source.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte));
        is_name && (source.starts_with("/proc/sys/") || [ISOLATED, TICKLESS, INTERRUPTS].contains(&source.as_str()))
    };
    sources.filter(steady).cloned().chain([ISOLATED, TICKLESS, INTERRUPTS, NMI].map(str::to_owned)).collect()
}

/// Complaints about values that findings show as evidence but that differ from the file.
pub fn against_files(findings: &Findings, files: &Files) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut compared = 0;
    for (id, finding) in findings {
        for (source, shown) in &finding.evidence {
            let Some(value) = files.get(source) else { continue };
            compared += 1;
            let shown = shown.lines().next().unwrap_or_default().replace('\t', " ");
            let value = value.replace('\t', " ");
            // The audit describes an empty file in words.
            if shown.trim() != value && !(value.is_empty() && shown.starts_with('(')) {
                complaints.push(format!("{id}: shows {source} = {shown}, and it says {value}"));
            }
        }
    }
    if compared < ENOUGH {
        complaints.push(format!("only {compared} values could be compared"));
    }
    complaints
}

/// Complaints about findings on isolation, ticks and interrupts that do not follow from the files.
pub fn against_state(findings: &Findings, files: &Files) -> Vec<String> {
    let value = |path: &str| files.get(path).map(String::as_str);
    let some = |path: &str| value(path).is_some_and(|text| !text.is_empty() && text != "(null)");
    let mask = |path: &str| u64::from_str_radix(&value(path).unwrap_or_default().replace(',', ""), 16).ok();
    let apart = value(ISOLATED).and_then(mask_of_list);
    let kept_off = mask(INTERRUPTS).zip(apart).map(|(interrupts, apart)| interrupts & apart == 0);
    let rules = [
        ("iso.domain", Some(some(ISOLATED))),
        // The audit was asked about periodic work, for which ticks should not be stopped.
        ("iso.nohz_full", Some(!some(TICKLESS))),
        ("irq.default", kept_off),
        // Without this watchdog there is no expectation.
        ("wd.nmi", value(NMI).map(|text| text == "0")),
    ];
    let mut complaints = Vec::new();
    for (id, good) in rules.into_iter().filter_map(|(id, good)| Some((id, good?))) {
        let wanted = if good { "good" } else { "bad" };
        match findings.get(id) {
            None => complaints.push(format!("{id}: no such finding")),
            Some(finding) if finding.state != wanted => {
                complaints.push(format!("{id}: {}, and the files say {wanted}", finding.state));
            }
            Some(_) => {}
        }
    }
    complaints
}

/// Findings that depend on a measurement, which is repeated each time. Under emulation, reading the clock costs about
/// as much as the threshold, sometimes a little less and sometimes a little more.
const MEASURED_ANEW: [&str; 1] = ["clk.vdso"];

/// Complaints about findings that differ between the running machine and its captured files.
pub fn against_capture(live: &Findings, captured: &Findings) -> Vec<String> {
    let ids: BTreeSet<&String> = live.keys().chain(captured.keys()).collect();
    let state = |findings: &Findings, id: &String| findings.get(id).map(|finding| finding.state.clone());
    let read = ids.into_iter().filter(|id| !MEASURED_ANEW.contains(&id.as_str()));
    let differing = read.map(|id| (id, state(live, id), state(captured, id))).filter(|(_, a, b)| a != b);
    differing.map(|(id, live, captured)| format!("{id}: {live:?} live, {captured:?} from the capture")).collect()
}

/// The bits of a CPU list such as `2-3,5`; `None` if the text contains no CPU, or one above 63.
fn mask_of_list(list: &str) -> Option<u64> {
    let mut bits = 0_u64;
    for part in list.split(',').filter(|part| !part.is_empty()) {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        for cpu in low.parse::<u32>().ok()?..=high.parse::<u32>().ok()? {
            bits |= 1_u64.checked_shl(cpu)?;
        }
    }
    (bits != 0).then_some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(id: &str, state: &str, evidence: &[(&str, &str)]) -> (String, Finding) {
        let evidence = evidence.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        (id.to_owned(), Finding { state: state.to_owned(), evidence })
    }

    fn files(pairs: &[(&str, &str)]) -> Files {
        pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    }

    fn machine() -> Files {
        files(&[(ISOLATED, "2-3"), (TICKLESS, "(null)"), (INTERRUPTS, "3"), (NMI, "0")])
    }

    #[test]
    fn verdicts_follow_from_the_files_or_are_named() {
        let good = ["iso.domain", "iso.nohz_full", "irq.default", "wd.nmi"].map(|id| finding(id, "good", &[]));
        let good = Findings::from(good);
        assert_eq!(against_state(&good, &machine()), Vec::<String>::new());
        for change in [(ISOLATED, ""), (TICKLESS, "2-3"), (INTERRUPTS, "f"), (NMI, "1")] {
            let mut changed = machine();
            changed.extend(files(&[change]));
            assert_eq!(against_state(&good, &changed).len(), 1, "{change:?}");
        }
        assert_eq!(against_state(&Findings::new(), &machine()).len(), 4);
    }

    #[test]
    fn a_value_that_is_shown_otherwise_is_named() {
        let many: Vec<(String, String)> = (0..ENOUGH).map(|n| (format!("/proc/sys/{n}"), "1\t2".to_owned())).collect();
        let files: Files = many.iter().cloned().collect();
        let mut finding = finding("x", "good", &[]);
        finding.1.evidence = many.iter().map(|(path, _)| (path.clone(), "1 2".to_owned())).collect();
        assert_eq!(against_files(&Findings::from([finding.clone()]), &files), Vec::<String>::new());
        finding.1.evidence[3].1 = "3".to_owned();
        assert_eq!(against_files(&Findings::from([finding]), &files).len(), 1);
        assert_eq!(against_files(&Findings::new(), &files), ["only 0 values could be compared"]);
    }

    #[test]
    fn a_capture_that_says_otherwise_is_named() {
        let live = Findings::from([finding("a", "good", &[]), finding("b", "bad", &[])]);
        let other = Findings::from([finding("a", "bad", &[])]);
        assert_eq!(against_capture(&live, &live), Vec::<String>::new());
        assert_eq!(against_capture(&live, &other).len(), 2);
    }

    #[test]
    fn lists_are_masks() {
        assert_eq!(mask_of_list("2-3"), Some(0b1100));
        assert_eq!(mask_of_list("0,2"), Some(0b101));
        assert_eq!(mask_of_list(""), None);
        assert_eq!(mask_of_list("70"), None);
    }
}
