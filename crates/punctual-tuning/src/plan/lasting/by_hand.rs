//! Systems whose command line is not kept in a file of the machine: an edit on the machine would be lost, or would
//! invalidate the signature of the image. The obstacle says what to do instead.

use super::{Obstacle, Wanted};
use punctual_facts::machine::Loader;

pub(super) fn why(loader: Loader, wanted: &Wanted) -> Obstacle {
    let add = wanted.words.join(" ");
    let mut how = match loader {
        Loader::Ostree => return Obstacle::ByHand(ostree(wanted)),
        Loader::Kernelstub => return Obstacle::ByHand(kernelstub(wanted)),
        Loader::Uki => format!(
            "the command line is inside the kernel image: add '{add}' to /etc/kernel/cmdline, build the image again and \
             sign it as before"
        ),
        Loader::UBootEnv => format!("fw_setenv bootargs \"$(fw_printenv -n bootargs) {add}\""),
        Loader::UbuntuCore => format!("snap set system system.kernel.dangerous-cmdline-append='{add}'"),
        Loader::NixOs => {
            format!("boot.kernelParams = [ {} ]; in the configuration, then nixos-rebuild boot", quoted(wanted))
        }
        Loader::MachineConfig => {
            let list = quoted(wanted).replace(' ', ", ");
            format!("in a MachineConfig of the node's pool: spec.kernelArguments: [{list}]")
        }
        Loader::Talos => {
            let list = quoted(wanted).replace(' ', ", ");
            format!("in the machine configuration: machine.install.extraKernelArgs: [{list}], then talosctl upgrade")
        }
        Loader::Yocto => format!("in the image's recipe or local.conf: APPEND += \"{add}\""),
        other => format!("{}: add '{add}' to the kernel's command line", other.name()),
    };
    if !wanted.no_words.is_empty() {
        how = format!("{how}; and remove: {}", wanted.no_words.join(" "));
    }
    Obstacle::ByHand(how)
}

fn quoted(wanted: &Wanted) -> String {
    wanted.words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" ")
}

/// All words go into one command, so that rpm-ostree can roll back the change as one transaction.
fn ostree(wanted: &Wanted) -> String {
    let add = wanted.words.iter().map(|word| format!(" --append-if-missing='{word}'"));
    let del = wanted.no_words.iter().map(|word| format!(" --delete-if-present='{word}'"));
    format!(
        "rpm-ostree kargs{} (taken back by `rpm-ostree rollback`; bootc: a file in /usr/lib/bootc/kargs.d of the image)",
        del.chain(add).collect::<String>()
    )
}

fn kernelstub(wanted: &Wanted) -> String {
    let del = wanted.no_words.iter().map(|word| format!("kernelstub -d '{word}'"));
    let add = wanted.words.iter().map(|word| format!("kernelstub -a '{word}'"));
    del.chain(add).collect::<Vec<_>>().join(" && ")
}
