//! `punctual torture`: tries to break what the kernel promises, and tells whether it held.

use crate::cli::TortureArgs;
use crate::commands::here::Here;
use crate::exit::Exit;
use crate::render;
use anyhow::{Context, Result, bail};
use punctual_linux::interrupt;
use punctual_linux::load::Launcher;
use punctual_linux::torture::{self, Order, Outcome, Test, Verdict, own_tests};

pub fn run(args: &TortureArgs) -> Result<Exit> {
    let order = order(args)?;
    let machine = Here::read();
    let interrupted = interrupt::flag().context("listen for Ctrl-C")?;
    let own = if args.own_tests {
        let path = std::env::var_os("PATH").unwrap_or_default();
        own_tests::run_all(&std::env::split_paths(&path).collect::<Vec<_>>(), &interrupted)
    } else {
        Vec::new()
    };
    let outcome = torture::run(&order, &machine.cpus, &interrupted)?.with_own_tests(own);
    render::print(&if args.json {
        render::document(&render::torture::TortureDocument { outcome: &outcome })?
    } else if args.form.brief {
        render::torture::brief(&outcome)
    } else {
        render::for_people(|| render::torture::text(&outcome, render::style()))
    })?;
    Ok(exit(&outcome))
}

fn order(args: &TortureArgs) -> Result<Order> {
    let test = args.test;
    if args.threads.is_some() && matches!(test, Test::Mutex | Test::Heap) {
        bail!("--threads means nothing to this test: its threads have their roles; leave it away");
    }
    if args.plant && !matches!(test, Test::Switches | Test::Fpu) {
        bail!("--plant spoils a register, and only switches and fpu look at registers: leave it away");
    }
    Ok(Order {
        test,
        cpus: args.cpus.clone(),
        threads: args.threads.unwrap_or(if test == Test::Fpu { 4 } else { 16 }),
        length: args.duration,
        priority: args.priority,
        plant: args.plant,
        launcher: Launcher::default(),
        load_dir: args.load_dir.clone(),
    })
}

fn exit(outcome: &Outcome) -> Exit {
    match outcome.verdict {
        Verdict::Held => Exit::Fine,
        Verdict::Broken => Exit::Exceeded,
        Verdict::Inconclusive => Exit::Doubtful,
    }
}
