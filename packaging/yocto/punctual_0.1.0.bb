SUMMARY = "What stands between a Linux machine and real time"
DESCRIPTION = "Audits a machine, measures how late its threads wake up while it works, tells who made them late, and says \
whether a stated need is held. Changes settings when told to, and puts back exactly what was there."
HOMEPAGE = "https://example.org/punctual"
LICENSE = "MIT | Apache-2.0"
LIC_FILES_CHKSUM = "file://LICENSE-MIT;md5=3b9dc3da261b32fd0c309789c03fc20b \
                    file://LICENSE-APACHE;md5=3b83ef96387f14655fc854ddc3c6bd57"

# `bitbake -c update_crates punctual` writes the list of crates from Cargo.lock into the file that is included here. It has to
# be run once before the first build.
inherit cargo cargo-update-recipe-crates bash-completion systemd
include ${BPN}-crates.inc

SRC_URI += "git://example.org/punctual.git;protocol=https;nobranch=1;tag=v${PV}"
S = "${WORKDIR}/git"

# Rust 1.85 or newer: Yocto 5.2 (walnascar), or meta-lts-mixins for older releases.
CARGO_BUILD_FLAGS:append = " --package punctual"
PACKAGECONFIG ??= ""
PACKAGECONFIG[parquet] = ",,,"
PACKAGECONFIG[png] = ",,,"
CARGO_FEATURES = "${@','.join((d.getVar('PACKAGECONFIG') or '').split())}"
CARGO_BUILD_FLAGS:append = "${@' --features ' + d.getVar('CARGO_FEATURES') if d.getVar('CARGO_FEATURES') else ''}"

do_install() {
    install -Dm0755 ${B}/target/${CARGO_TARGET_SUBDIR}/punctual ${D}${bindir}/punctual
    install -d ${D}${mandir}/man1
    install -m0644 ${S}/man/*.1 ${D}${mandir}/man1/
    install -Dm0644 ${S}/completions/punctual.bash ${D}${datadir}/bash-completion/completions/punctual
    install -Dm0644 ${S}/completions/_punctual ${D}${datadir}/zsh/site-functions/_punctual
    install -Dm0644 ${S}/completions/punctual.fish ${D}${datadir}/fish/vendor_completions.d/punctual.fish
    install -d ${D}${docdir}/punctual/examples/realtime-group
    install -m0644 ${S}/examples/realtime-group/* ${D}${docdir}/punctual/examples/realtime-group/
    install -d ${D}${systemd_system_unitdir} ${D}${datadir}/punctual/campaigns ${D}${datadir}/punctual/schemas
    install -m0644 ${S}/packaging/systemd/* ${D}${systemd_system_unitdir}/
    install -m0644 ${S}/examples/campaigns/* ${D}${datadir}/punctual/campaigns/
    install -m0644 ${S}/schemas/* ${D}${datadir}/punctual/schemas/
}

# The image decides which of the two services run; until then both are off. They are stopped before the package is removed.
SYSTEMD_SERVICE:${PN} = "punctual-check.service punctual-watch.service"
SYSTEMD_AUTO_ENABLE = "disable"

FILES:${PN} += "${datadir}/zsh ${datadir}/fish ${datadir}/punctual"

# Settings that are in force would stay for good without the program that puts them back.
pkg_prerm:${PN}() {
    if [ -z "$D" ] && [ -e /var/lib/punctual/journal ]; then
        punctual revert
    fi
}
