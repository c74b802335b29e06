//! Applies random plans on top of each other, ends the program anywhere, and undoes some or all of the plans.

use crate::bench::{Bench, Fault, Faulty, GRUB, GRUBENV, TheEnd, change, cpus, edit, irq, own, task, tune, write};
use proptest::prelude::*;
use punctual_linux::apply::{Extent, revert};
use punctual_tuning::plan::{Invocation, NicSetting, Reading, SchedPolicy, Step};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A step that can be applied on its own: one of several kinds, with one of a few values.
fn step(bench: &Bench, kind: u8, value: u8) -> Step {
    let number = value.to_string();
    match kind {
        0 => write("/proc/sys/kernel/numa_balancing", &number, Reading::Plain),
        1 => irq(5, &format!("0-{value}")),
        2 => write("/proc/irq/default_smp_affinity", &format!("{:x}", value + 1), Reading::CpuMask),
        3 => own("/etc/tmpfiles.d/punctual.conf", &number),
        4 => own("/etc/sysctl.d/10-user.conf", &number),
        5 => edit(GRUB, &bench.text(GRUB), &format!("ours {number}\n"), false),
        6 => edit(GRUBENV, &bench.text(GRUBENV), &"xyz".repeat(usize::from(value) + 1), true),
        7 => Step::Affinity { task: task(77), cpus: cpus(&number) },
        8 => Step::Policy { task: task(78), policy: SchedPolicy::Fifo(u32::from(value) + 1) },
        9 => Step::Silence { unit: "irqbalance.service".to_owned(), lasting: value % 2 == 0 },
        10 => write("/sys/kernel/refused", &number, Reading::Plain),
        11 => write("/sys/kernel/clamped", &number, Reading::Plain),
        12 => Step::Nic {
            device: "eth0".to_owned(),
            settings: vec![NicSetting { name: "rx-usecs".to_owned(), value: u32::from(value) }],
        },
        13 => Step::Remove { path: "/etc/modprobe.d/old.conf".to_owned() },
        14 => write(
            "/sys/fs/cgroup/cgroup.subtree_control",
            if value == 0 { "+cpuset" } else { "+io -cpu" },
            Reading::Switches,
        ),
        15 => own(&format!("/etc/systemd/a{value}.d/b/x.conf"), &number),
        _ => Step::Run {
            doing: Some(Invocation::new("update-grub", [])),
            undoing: Some(Invocation::new("update-grub", [])),
        },
    }
}

type Plans = Vec<Vec<Vec<(u8, u8)>>>;

fn plans() -> impl Strategy<Value = Plans> {
    let step = (0_u8..17, 0_u8..4);
    let change = prop::collection::vec(step, 1..5);
    prop::collection::vec(prop::collection::vec(change, 1..4), 1..5)
}

fn changes(bench: &Bench, plan: &[Vec<(u8, u8)>]) -> Vec<punctual_tuning::plan::Change> {
    let steps = |steps: &Vec<(u8, u8)>| steps.iter().map(|(kind, value)| step(bench, *kind, *value)).collect();
    plan.iter().enumerate().map(|(number, plan)| change(&format!("c{number}"), steps(plan))).collect()
}

fn survive(work: impl FnOnce()) {
    if let Err(end) = catch_unwind(AssertUnwindSafe(work)) {
        if !end.is::<TheEnd>() {
            std::panic::resume_unwind(end);
        }
    }
}

fn fault(kind: u8) -> Fault {
    [Fault::Before, Fault::Within, Fault::After, Fault::Fails(libc::EIO), Fault::DiskFull][usize::from(kind)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn whatever_was_done_and_wherever_it_ended_the_start_is_restored(
        plans in plans(), at in 0_usize..80, kind in 0_u8..5, again in 0_usize..60, again_kind in 0_u8..5,
    ) {
        let (_folder, bench) = Bench::new();
        let start = bench.picture();
        let last = plans.len() - 1;
        for (number, plan) in plans.iter().enumerate() {
            let changes = changes(&bench, plan);
            let at = if number == last { at } else { usize::MAX };
            survive(|| drop(tune(&Faulty::new(&bench, at, fault(kind)), &changes)));
        }
        survive(|| drop(revert(&Faulty::new(&bench, again, fault(again_kind)), Extent::All, false)));
        let back = revert(&bench, Extent::All, false).unwrap();
        prop_assert!(back.closed && back.trouble.is_empty(), "{:#?}", back.trouble);
        prop_assert_eq!(bench.picture(), start);
    }

    #[test]
    fn taken_back_in_part_it_is_as_it_was_then(plans in plans(), kept in 0_usize..5) {
        let (_folder, bench) = Bench::new();
        let without_journal = || {
            let mut picture = bench.picture();
            picture.retain(|path, _| !path.starts_with("var/lib/punctual"));
            picture
        };
        let mut pictures = vec![without_journal()];
        // A plan that changes nothing makes no transaction, so the first one must always change something.
        bench.set("/proc/sys/kernel/numa_balancing", "77\n");
        pictures[0] = without_journal();
        let mut numbers = vec![0];
        for plan in &plans {
            let applied = tune(&bench, &changes(&bench, plan)).unwrap();
            if applied.stands {
                numbers.push(applied.transaction);
                pictures.push(without_journal());
            }
        }
        let kept = kept.min(numbers.len() - 1);
        let back = revert(&bench, Extent::DownTo(numbers[kept]), false).unwrap();
        prop_assert!(back.trouble.is_empty(), "{:#?}", back.trouble);
        prop_assert_eq!(without_journal(), pictures[kept].clone());
    }
}
