//! Decides whether kernels take a name, according to the tables.
//!
//! The machine's testimony and the value of the word are not considered here.

use super::WordVerdict::{Accepted, ModuleNotLoaded, Undecided, Unknown};
use super::draft::Draft;
use super::names::{NAMES, Nearest, Presence, Where, examined_text, nearest};
use super::{Target, second, user_space};
use crate::cmdline::Token;
use crate::machine::{Arch, Flavour, Version};

/// The verdict on a word according to the tables.
pub(super) fn by_name(token: &Token, target: &Target) -> Draft {
    let name = token.name.as_str();
    if name.starts_with("sysctl.") || name.starts_with("sysctl/") {
        if target.version < Version::new(5, 8) {
            let why = "only kernels from 5.8 on set sysctls from their command line";
            return Draft::new(Unknown, why, "kernel commit 3db978d480e2 (5.8)");
        }
        return Draft::new(Accepted, "set as a sysctl before init starts", "kernel fs/proc/proc_sysctl.c");
    }
    let entries = NAMES.exact(name, token.value.is_some());
    if let Some(entry) = entries.iter().max_by_key(|e| rank(e.place.on(target))) {
        let mut draft = placed(entry.place, target, None, "");
        draft.kind = entry.kind;
        if draft.verdict == Unknown && is_patched_in(name, target) {
            let why = "kernels from kernel.org lack it with PREEMPT_RT before 7.x; the PREEMPT_RT patches for 6.12, which \
                distributions take, bring it";
            draft = Draft::new(Accepted, why, "kernel 6.12 kernel/Kconfig.preempt; unverified: the patches");
        }
        return with_needs(Draft { needs: entry.needs, ..draft });
    }
    if let Some(draft) = second::by_name(token, target) {
        return with_needs(draft);
    }
    if let Some((module, parameter)) = name.split_once('.') {
        return dotted(module, parameter, target);
    }
    if let Some(owner) = user_space::downstream(name) {
        let why = format!("it belongs to {owner}; the kernel's own sources do not have it");
        return Draft::new(Accepted, why, "not verified");
    }
    unknown_bare(token, target)
}

/// Whether a kernel has the word only by a patch: from 6.12 on, Debian's kernels with PREEMPT_RT choose between full
/// and lazy preemption at boot.
fn is_patched_in(name: &str, target: &Target) -> bool {
    let versions = Version::new(6, 12)..Version::new(7, 0);
    let has_patch = matches!(target.arch, Arch::X86 | Arch::Arm64);
    has_patch && name == "preempt" && target.flavour == Flavour::Rt && versions.contains(&target.version)
}

fn rank(presence: Presence) -> u8 {
    match presence {
        Presence::Yes => 2,
        Presence::Perhaps(_) => 1,
        Presence::No => 0,
    }
}

/// The versions that represent the target's version, and a remark if they differ from it.
fn looked_at(target: &Target, and: &str) -> (String, String) {
    let (Nearest { before, after }, asked) = (nearest(target), target.version);
    if before == after && before == asked {
        (asked.to_string(), String::new())
    } else if before == after {
        (before.to_string(), format!(", the known version nearest to {asked}"))
    } else {
        (format!("{before} {and} {after}"), format!(", the known versions nearest to {asked}"))
    }
}

/// `module` owns the parameter; `None` for a parameter of the kernel itself.
fn placed(place: Where, target: &Target, module: Option<&str>, of: &str) -> Draft {
    let version = target.version;
    let what =
        module.map_or_else(|| "kernel parameter".to_owned(), |module| format!("parameter of the module {module}"));
    let source = format!("kernel {}: names registered{of}", examined_text(", "));
    match place.on(target) {
        Presence::Yes => {
            let (versions, nearest) = looked_at(target, "and");
            let why = match module {
                Some(module) => format!("a parameter of the module {module} of {versions}{nearest}"),
                None => format!("a kernel parameter of {versions}{nearest}"),
            };
            Draft::new(Accepted, why, source)
        }
        Presence::Perhaps(has) => {
            let why = format!(
                "of the two known versions around {version}, only {has} has this {what}; whether {version} has it is \
                not known"
            );
            Draft::new(Undecided, why, source)
        }
        Presence::No => {
            let (versions, nearest) = looked_at(target, "or");
            let elsewhere = place.elsewhere(target).map(|text| format!(": {text}")).unwrap_or_default();
            let why = format!("no {what} for {} in {versions}{nearest}{elsewhere}", kernel(target));
            Draft::new(Unknown, why, source)
        }
    }
}

fn kernel(target: &Target) -> String {
    format!("{}, {}", target.arch.name(), target.flavour.name())
}

fn with_needs(mut draft: Draft) -> Draft {
    if draft.needs != "-" && draft.is_taken() {
        let needs = format!("needs {}", options(draft.needs));
        draft.why = format!("{}; {needs}", draft.why);
    }
    draft
}

/// Converts an expression of configuration options, such as `A&!B|C`, into words.
pub(super) fn options(needs: &str) -> String {
    let one = |option: &str| match option.strip_prefix('!') {
        Some(option) => format!("no CONFIG_{option}"),
        None => format!("CONFIG_{option}"),
    };
    let all = |term: &str| term.split('&').map(one).collect::<Vec<_>>().join(" and ");
    needs.split('|').map(all).collect::<Vec<_>>().join(", or ")
}

fn registered_by_modules() -> String {
    format!("kernel {}: names registered by modules", examined_text(", "))
}

fn dotted(module: &str, parameter: &str, target: &Target) -> Draft {
    const SILENT: &str = "the kernel does not report it, because the name has a dot";
    let Some(known) = NAMES.modules.get(module) else {
        if let Some(owner) = user_space::downstream(module) {
            let why = format!("it is for {owner}, which is not part of the kernel's sources");
            return Draft::new(ModuleNotLoaded, why, "not verified");
        }
        let why = format!("no module called {module} takes parameters in {}; {SILENT}", examined_text(" or "));
        return Draft::new(Unknown, why, registered_by_modules());
    };
    let owner = known.can_be_loaded.then_some(module);
    // Every module has these two parameters.
    if matches!(parameter, "dyndbg" | "async_probe") {
        return Draft { needs: known.needs, ..placed(known.place, target, owner, " by modules") };
    }
    let Some(found) = known.parameter(parameter) else {
        let whole = format!("{module}.{parameter}");
        let draft = if let Some(owner) = user_space::downstream(&whole) {
            let why = format!("{owner} have it; the kernel's own sources do not");
            Draft::new(ModuleNotLoaded, why, "not verified")
        } else if known.has_more {
            let why = format!("{module} defines parameters by macros, which this program did not evaluate");
            Draft::new(Accepted, why, "kernel sources")
        } else {
            let why = format!("{module} has no parameter {parameter}; {SILENT}");
            Draft::new(Unknown, why, registered_by_modules())
        };
        return Draft { needs: known.needs, ..draft };
    };
    let mut draft = with_needs(Draft { needs: known.needs, ..placed(found.place, target, owner, " by modules") });
    draft.kind = found.kind;
    // With Debian's patches i915 can be built with PREEMPT_RT up to 6.12, and other distributions may have similar
    // patches.
    let is_patched = module == "i915" && target.arch == Arch::X86 && target.version.major < 7;
    if draft.verdict == Unknown && is_patched {
        let stock = Target { flavour: Flavour::Stock, ..target.clone() };
        if found.place.on(&stock) != Presence::No {
            let why = "before 7.0, kernels from kernel.org have no i915 with PREEMPT_RT; up to 6.12, distributions \
                add it by a patch";
            draft = Draft::new(Accepted, why, "kernel 6.1, 6.12 drivers/gpu/drm/i915/Kconfig");
            draft.kind = found.kind;
        }
    }
    Draft { needs: known.needs, ..draft }
}

fn unknown_bare(token: &Token, target: &Target) -> Draft {
    let source = format!("kernel {}: names registered; init/main.c: obsolete_checksetup", examined_text(", "));
    let (versions, nearest) = looked_at(target, "or");
    let begins =
        NAMES.by_beginning(&token.name, token.value.as_deref()).filter(|entry| entry.place.on(target) != Presence::No);
    let only_valued = NAMES.exact(&token.name, true);
    let only_valued = only_valued.iter().find(|e| token.value.is_none() && e.place.on(target) != Presence::No);
    let why = if let Some(entry) = only_valued {
        format!("a value has to follow {} in {versions}{nearest}", entry.name)
    } else if let Some(entry) = begins {
        format!(
            "no kernel parameter of {versions}{nearest}; the kernel passes it to the handler of '{}', because it only \
            compares the beginning",
            entry.name
        )
    } else {
        format!("no kernel parameter for {} in {versions}{nearest}", kernel(target))
    };
    Draft::new(Unknown, why, source)
}
