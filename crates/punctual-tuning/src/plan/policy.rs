//! Changes that are made only when the user names them: only the owner of the machine can judge their price, or they
//! matter little, or nobody has verified their benefit.
//!
//! The catalogue decides about all other changes.

use punctual_facts::finding::{Confidence, Finding, Severity};
use punctual_facts::profile::Kind;

/// Knobs that are changed only on request, with the reason. A name that ends in a dot stands for all knobs with that
/// prefix.
const ASKED_FOR_ONLY: &[(&str, &str)] = &[
    ("cpu.smt", "it halves the threads of all other cores; real-time CPUs are chosen as whole cores instead"),
    ("fw.smt", "it halves the threads of all other cores; real-time CPUs are chosen as whole cores instead"),
    ("sec.", "it takes away some protection of the machine"),
    ("kconf.", "it needs another kernel"),
    ("fw.", "it can only be changed in the firmware"),
    ("cat.", "it takes cache away from everything else"),
    ("lim.", "it is a right of users, which only you should grant"),
    ("proc.", "it belongs to the application"),
    ("mem.lock", "it belongs to the application"),
    ("log.console", "it can leave you without a console"),
    ("log.nbcon", "it can leave you without a console"),
    ("tick.idle", "it costs power on every CPU"),
    ("wd.", "it decides how the machine behaves when something hangs"),
    ("ras.", "it decides what you hear of failing hardware"),
    ("clk.", "it decides which clock the machine uses"),
];

/// Knobs that are changed without request although a prefix in [`ASKED_FOR_ONLY`] covers them.
const NEVERTHELESS: &[&str] = &["wd.nmi", "wd.soft", "wd.cpumask"];

/// The reason why a bad finding stays as it is unless the user names it; `None` if it is changed without request.
pub(super) fn left_unasked(finding: &Finding, kind: Kind) -> Option<&'static str> {
    if finding.id == "iso.nohz_full" && kind != Kind::Poll {
        return Some("it removes a word from the command line that somebody put there on purpose");
    }
    let stands_for = |name: &str| finding.id == name || (name.ends_with('.') && finding.id.starts_with(name));
    let kept_back = ASKED_FOR_ONLY.iter().find(|(name, _)| stands_for(name)).map(|(_, why)| *why);
    let kept_back = kept_back.filter(|_| !NEVERTHELESS.contains(&finding.id.as_str()));
    let weighs_little = match (finding.severity, finding.confidence) {
        (Severity::Info, _) => Some("it matters little here"),
        (_, Confidence::Low) => Some("it is common advice that has not been verified"),
        _ => None,
    };
    kept_back.or(weighs_little)
}
