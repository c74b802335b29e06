//! Knobs about RCU, the part of the kernel that frees memory once all its readers are done, on real-time CPUs.

use crate::knobs::prelude::*;
use crate::knobs::seen::isolation;

const PARAMETERS: &str = "kernel-parameters.txt (6.12, 7.3)";

const KNOB: Knob = Knob { confidence: Confidence::Medium, ..Knob::of(Family::Isolation) };

pub(crate) const KNOBS: &[Knob] = &[
    Knob {
        id: "rcu.nocb_poll",
        title: "The CPUs of polling work need not wake RCU's threads",
        confidence: Confidence::High,
        check: Check::Probe(nocb_poll),
        why: "A callback that is queued on an offloaded CPU may have to wake the thread that will run it; with \
            polling, this thread looks for callbacks by itself instead.",
        persist: &[Lasting::word("rcu_nocb_poll")],
        undo: Fix::prose("Remove the word and boot again; rcu_nocb_poll has no value that turns polling off."),
        cost: "RCU's threads keep waking up on the other CPUs, which costs power and some CPU time.",
        sources: &[PARAMETERS, "kernel 6.1, 6.12, 7.3 kernel/rcu/tree_nocb.h"],
        ..KNOB
    },
    Knob {
        id: "rcu.patience",
        title: "RCU waits before it disturbs tick-free CPUs",
        applies: |case| {
            case.only_for(Kind::Poll, "only real-time work that stays out of the kernel gains from this setting")?;
            let tick_free = case.cpu_list(NOHZ_FULL, CannotBe("this kernel cannot stop its tick"))?;
            let is_other = case.rt().intersection(&tick_free).is_empty();
            Doubt::not_applicable_if(is_other, "the real-time CPUs are not tick-free, see iso.nohz_full")
        },
        check: Check::seen(
            "/sys/module/rcutree/parameters/nohz_full_patience_delay",
            Want::AtLeast(1),
            CannotBe("this kernel's RCU has no nohz_full_patience_delay (6.12 has it, 6.1 does not)"),
        ),
        why: "Without patience, a grace period soon asks a tick-free CPU for a quiescent state, which takes that CPU \
            into the kernel.",
        persist: &[Lasting::word("rcutree.nohz_full_patience_delay=1000")],
        cost: "Memory may be freed up to a second later.",
        sources: &[PARAMETERS, "kernel 6.12, 7.3 kernel/rcu/tree.c, tree_plugin.h", "tuned network-latency profile"],
        ..KNOB
    },
    Knob {
        id: "rcu.stall_suppress",
        title: "Starved RCU is reported",
        confidence: Confidence::High,
        check: Check::parameter(
            "rcupdate",
            "rcu_cpu_stall_suppress",
            Want::ZERO,
            CannotBe("this kernel has no switch that suppresses stall reports"),
        ),
        why: "A stall report is the first sign that a real-time thread keeps the kernel's own work from running. If \
            stall reports are suppressed, the next sign is that the machine runs out of memory.",
        persist: &[Lasting::NoWord("rcupdate.rcu_cpu_stall_suppress")],
        cost: "A report is printed with interrupts off, which takes milliseconds on a slow console.",
        sources: &[PARAMETERS, "kernel 6.1, 6.12, 7.3 kernel/rcu/update.c"],
        ..KNOB
    },
    Knob {
        id: "rcu.kthread_prio",
        title: "RCU's threads have a priority from 1 to 49",
        severity: Weight::of(Info, Medium, Info),
        // Interrupt threads have priority 50 by default, and RCU's threads must have a lower one.
        check: Check::seen(
            "/sys/module/rcutree/parameters/kthread_prio",
            Want::Within(1, 49),
            CannotBe("this kernel's RCU has no threads whose priority could be set"),
        ),
        why: "If a spinning real-time thread keeps RCU's own threads from running, grace periods stall and memory runs \
            out. If RCU's threads rank above the threads of interrupts, they delay all other work.",
        fix: Fix::prose("chrt -f -p 11 PID for each rcuc/N, rcub/N and rcu_preempt."),
        persist: &[Lasting::word("rcutree.kthread_prio=11")],
        cost: "Callbacks run ahead of real-time threads below that priority.",
        blast: Blast::Disturbing,
        sources: &[PARAMETERS, "kernel 6.1, 6.12, 7.3 kernel/rcu/tree.c", "OpenShift node tuning operator"],
        ..KNOB
    },
    Knob {
        id: "rcu.use_softirq",
        title: "RCU's core runs in the soft interrupt or in threads, whichever suits this kernel",
        check: Check::Probe(use_softirq),
        why: "PREEMPT_RT runs RCU's core in threads with a priority. On other kernels, RCU's core should run in the \
            soft interrupt: as a thread without a real-time priority it starves behind real-time work.",
        persist: &[Lasting::NoWord("rcutree.use_softirq")],
        cost: "None.",
        sources: &[PARAMETERS, "kernel 6.1, 6.12, 7.3 kernel/rcu/tree.c"],
        ..KNOB
    },
];

/// Not applicable if the RCU callbacks of the real-time CPUs are not moved to other CPUs.
fn offloaded(case: &Case<'_>) -> Result<(), Doubt> {
    if isolation::rcu_nocbs(case)? {
        return Ok(());
    }
    Doubt::not_applicable("the RCU callbacks of the real-time CPUs are not moved to other CPUs, see iso.rcu_nocbs")
}

fn nocb_poll(case: &Case<'_>) -> Judged {
    Doubt::not_applicable_if(
        !case.is(Kind::Poll),
        "only real-time work that stays out of the kernel gains from this setting",
    )?;
    offloaded(case)?;
    let log = case.content_or_trouble(
        LOG,
        TellsNothing("only the kernel's log shows whether RCU's threads poll for callbacks, and it was not read"),
    )?;
    if log.contains("Poll for callbacks from no-CBs CPUs") {
        case.note(LOG, "Poll for callbacks from no-CBs CPUs");
        return Ok(true);
    }
    // At boot, the kernel prints the message about offloading directly before the message about polling. So if the log
    // has only the first, RCU's threads do not poll.
    if log.contains("Offload RCU callbacks from CPUs:") {
        case.note(LOG, "'Offload RCU callbacks from CPUs', and no line about polling");
        return Ok(false);
    }
    Doubt::unknown("the kernel's log no longer holds its beginning")
}

fn use_softirq(case: &Case<'_>) -> Judged {
    let path = "/sys/module/rcutree/parameters/use_softirq";
    let in_softirq =
        match case.text(path, CannotBe("this kernel does not let you choose where RCU's core runs"))?.trim() {
            "Y" => true,
            "N" => false,
            other => return Doubt::unknown(format!("{path} holds '{other}', neither Y nor N")),
        };
    Ok(in_softirq != case.is_rt())
}
