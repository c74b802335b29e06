//! Finds the init that runs the machine, by the traces that it leaves while it runs.

use super::{Sign, has_folder};
use crate::tree::{Tree, text};

crate::named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Init {
        Systemd = "systemd",
        /// `OpenRC`, whatever program process 1 is.
        OpenRc = "OpenRC",
        Runit = "runit",
        S6 = "s6",
        Dinit = "dinit",
        /// `BusyBox` init with an inittab.
        Busybox = "BusyBox init",
        /// System V init with run levels.
        SysV = "sysvinit",
    }
}

/// Folders that exist only while the given init runs.
const RUNNING: [(&str, Init); 5] = [
    ("/run/systemd/system", Init::Systemd),
    ("/run/openrc", Init::OpenRc),
    ("/run/runit", Init::Runit),
    ("/run/s6", Init::S6),
    ("/run/s6-rc", Init::S6),
];

pub(super) fn read(tree: &dyn Tree) -> Option<Sign<Init>> {
    if let Some((folder, init)) = RUNNING.into_iter().find(|(folder, _)| has_folder(tree, folder)) {
        return Some(Sign::new(init, folder));
    }
    let first = text(tree, "/proc/1/comm");
    let first = first.known()?;
    let named = |init| Some(Sign::new(init, format!("/proc/1/comm: {first}")));
    match first.as_str() {
        "systemd" => named(Init::Systemd),
        "runit" | "runit-init" => named(Init::Runit),
        "s6-svscan" => named(Init::S6),
        "dinit" => named(Init::Dinit),
        "openrc-init" => named(Init::OpenRc),
        "busybox" | "linuxrc" => named(Init::Busybox),
        "init" => {
            let links = ["/sbin/init", "/init"].map(|path| (path, tree.link(path)));
            let busybox = links.iter().find(|(_, to)| to.known().is_some_and(|to| to.ends_with("busybox")));
            match busybox {
                Some((path, _)) => Some(Sign::new(Init::Busybox, format!("{path} -> busybox"))),
                // BusyBox's init has no run levels, so a line of its inittab has an empty field for them.
                None if text(tree, "/etc/inittab").known().is_some_and(|table| table.contains("::sysinit:")) => {
                    Some(Sign::new(Init::Busybox, "/etc/inittab"))
                }
                None if has_folder(tree, "/etc/rc2.d") || has_folder(tree, "/etc/rc.d") => {
                    Some(Sign::new(Init::SysV, "/proc/1/comm: init, and run levels"))
                }
                None => None,
            }
        }
        _ => None,
    }
}
