//! Experiments on a simulated machine that is started again, and on which one command line does not come up.

use super::{Cell, Experiment, Order, Outcome};
use crate::across::{Across, BootEntry, BootSeen, Ending, Hands, go_on};
use punctual_tuning::plan::lasting::merge;
use punctual_tuning::plan::{Keep, wanted};

const PLAIN: &str = "root=/dev/vda1 ro quiet";

struct Machine {
    saved: (Experiment, Across),
    boot: u32,
    line: String,
    entry: Option<BootEntry>,
    hooked: bool,
    can_hook: bool,
    /// A word with which no kernel comes up.
    bad: &'static str,
    /// Command lines under which cells were measured.
    measured: Vec<(usize, String)>,
    /// Number of the measurement that a person interrupts.
    interrupted: Option<usize>,
}

impl Machine {
    fn new(experiment: Experiment) -> Self {
        let across = Across::begun(PLAIN.to_owned(), "6.1".to_owned(), "boot 0".to_owned());
        Self {
            saved: (experiment, across),
            boot: 0,
            line: PLAIN.to_owned(),
            entry: None,
            hooked: false,
            can_hook: true,
            bad: "none",
            measured: Vec::new(),
            interrupted: None,
        }
    }

    fn start_again(&mut self) {
        self.boot += 1;
        // The boot loader takes the entry once, in the boot after the one in which it was made.
        let before = format!("boot {}", self.boot - 1);
        let once = self.entry.as_ref().filter(|entry| entry.made_in == before);
        let line = once.map(|entry| merge(PLAIN, &wanted(&entry.keeps, "")).unwrap());
        self.line = line.filter(|line| !line.contains(self.bad)).unwrap_or_else(|| PLAIN.to_owned());
    }

    /// Starts one process after the other, until the experiment is complete.
    fn run_out(&mut self) -> (Experiment, Across, bool) {
        for _ in 0..500 {
            let (mut experiment, mut across) = self.saved.clone();
            let is_at_boot = self.hooked;
            match go_on(self, &mut experiment, &mut across, is_at_boot).unwrap() {
                Ending::Ended { is_home } => return (self.saved.0.clone(), self.saved.1.clone(), is_home),
                Ending::RebootByHand => self.start_again(),
                Ending::Rebooting | Ending::Interrupted => {}
                other => panic!("{other:?}"),
            }
        }
        panic!("it does not end");
    }
}

impl Hands for Machine {
    type Error = std::convert::Infallible;
    type Course = Experiment;

    fn look(&mut self) -> Result<BootSeen, Self::Error> {
        Ok(BootSeen {
            boot: format!("boot {}", self.boot),
            line: self.line.clone(),
            release: "6.1".to_owned(),
            entry: self.entry.clone(),
            hooked: self.hooked,
            can_hook: self.can_hook,
            is_late: false,
            is_after_a_pause: false,
        })
    }

    fn keep(&mut self, experiment: &Experiment, across: &Across) -> Result<(), Self::Error> {
        self.saved = (experiment.clone(), across.clone());
        Ok(())
    }

    fn hook(&mut self) -> Result<(), Self::Error> {
        self.hooked = true;
        Ok(())
    }

    fn unhook(&mut self) -> Result<(), Self::Error> {
        self.hooked = false;
        Ok(())
    }

    fn enter(&mut self, keeps: &[Keep]) -> Result<Option<String>, Self::Error> {
        self.entry = Some(BootEntry { keeps: keeps.to_vec(), made_in: format!("boot {}", self.boot) });
        Ok(None)
    }

    fn leave(&mut self) -> Result<(), Self::Error> {
        self.entry = None;
        Ok(())
    }

    fn reboot(&mut self) -> Result<bool, Self::Error> {
        if self.can_hook {
            self.start_again();
        }
        Ok(self.can_hook)
    }

    fn measure(&mut self, experiment: &Experiment, arm: &[usize]) -> Result<Option<Outcome>, Self::Error> {
        if self.interrupted == Some(self.measured.len()) {
            self.interrupted = None;
            return Ok(None);
        }
        assert_eq!(experiment.next().map(|(cell, _)| vec![cell]), Some(arm.to_vec()));
        self.measured.push((arm[0], self.line.clone()));
        Ok(Some(Outcome::Measured))
    }
}

fn experiment(order: Order) -> Experiment {
    let cell = |name: &str, words: &[&str]| Cell {
        name: name.to_owned(),
        boot: words.iter().map(|word| (*word).to_owned()).collect(),
    };
    let cells = vec![cell("plain", &[]), cell("other", &[]), cell("loud", &["-quiet"]), cell("tick", &["nohz_full=1"])];
    Experiment::new(cells, order, 3, 2)
}

#[test]
fn each_cell_is_measured_with_its_own_words_and_cells_share_boots() {
    for (order, can_hook) in [(Order::Abba, true), (Order::Random, true), (Order::Random, false)] {
        let mut machine = Machine { can_hook, interrupted: Some(3), ..Machine::new(experiment(order)) };
        let (experiment, across, is_home) = machine.run_out();
        assert_eq!((experiment.next(), machine.measured.len()), (None, 8));
        for (cell, line) in &machine.measured {
            assert_eq!(line.contains("nohz_full=1"), *cell == 3, "{cell}: {line}");
            assert_eq!(line.contains("quiet"), *cell != 2, "{cell}: {line}");
        }
        assert!(machine.entry.is_none() && !machine.hooked && across.gave_up.is_none());
        assert!(is_home || !can_hook);
        // Each of the two command lines needs a boot per repetition, and then one or two lead back.
        assert!(across.boots <= 8, "{} boots", across.boots);
    }
}

#[test]
fn a_cell_whose_kernel_does_not_come_up_is_left_out_with_that_as_its_reason() {
    let mut machine = Machine { bad: "nohz_full", ..Machine::new(experiment(Order::Abba)) };
    let (experiment, across, is_home) = machine.run_out();
    let why = experiment.refused(3).unwrap();
    assert!(why.starts_with("after 2 boots in which the machine did not run with the requested kernel"), "{why}");
    assert!(is_home && across.gave_up.is_none());
    for cell in 0..3 {
        assert_eq!(experiment.measured(cell), [0, 1], "{cell}");
    }
}
