//! Tests of `optimize` up to the point where it would change something.

use crate::run::Run;

#[test]
fn what_cannot_be_tried_is_refused_with_a_remedy() {
    let run = Run::new();
    let dry = |words: &[&str]| run.punctual(&[&["optimize", "--cpus", "0", "--dry-run"], words].concat());
    dry(&["--knobs", "irq.affinit"]).refused(&["no knob 'irq.affinit'", "irq.affinity"]);
    dry(&["--knobs", "script:/does/not/exist"]).refused(&["/does/not/exist", "whole path"]);
    std::fs::write(run.path("mine"), "#!/bin/sh\n").unwrap();
    // Any user may write to the folder for temporary files.
    let mine = format!("script:{}", run.path("mine").display());
    dry(&["--knobs", &mine]).refused(&["users other than root"]);
    // It is refused before a plan is printed.
    let said = dry(&["--knobs", "mem.compact", "--budget", "1h"]);
    assert_eq!(said.out, "");
    said.refused(&["a budget of 1 h is not below the period"]);
    dry(&["--knobs", "mem.compact", "--run", "1s"]).refused(&["1000 releases", "--run"]);
    dry(&["--knobs", "mem.compact,rcu.normal", "--time", "20s"]).refused(&["cannot tell anything", "--time"]);
    run.punctual(&["optimize", "--resume", "."]).refused(&["campaign.json"]);
    std::fs::write(run.path("campaign.json"), "{\"schema\": \"other\"}").unwrap();
    run.punctual(&["optimize", "--resume", "."]).refused(&["this program reads"]);
}
