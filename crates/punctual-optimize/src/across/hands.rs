//! Carries a campaign across boots: performs one act after the other and saves the state, until another boot is needed.

use super::{Across, Act, BootSeen, Course};
use punctual_tuning::plan::Keep;

/// The reason why [`go_on`] returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The campaign is complete and all files are put back. `is_home` is false if the machine still runs with settings
    /// that only the next boot takes back.
    Ended {
        is_home: bool,
    },
    Rebooting,
    /// The machine cannot restart itself, so a person has to.
    RebootByHand,
    Interrupted,
    /// Another process reverted all settings of the campaign, which ended it.
    PutBack,
    /// The next act is the one that was just performed: it had no effect.
    Stuck(Act),
}

/// The operations on the machine. An error ends [`go_on`], and the last saved state stays valid.
pub trait Hands {
    type Error;
    /// What is carried across boots.
    type Course: Course;
    fn look(&mut self) -> Result<BootSeen, Self::Error>;
    /// Saves the state of the campaign, whole or not at all.
    fn keep(&mut self, course: &Self::Course, across: &Across) -> Result<(), Self::Error>;
    /// Makes the campaign continue by itself after each boot.
    fn hook(&mut self) -> Result<(), Self::Error>;
    fn unhook(&mut self) -> Result<(), Self::Error>;
    /// Makes a boot entry that only the next boot uses. If that is impossible, changes nothing and returns the reason.
    fn enter(&mut self, keeps: &[Keep]) -> Result<Option<String>, Self::Error>;
    fn leave(&mut self) -> Result<(), Self::Error>;
    /// Restarts the machine; `false` if a person has to do that.
    fn reboot(&mut self) -> Result<bool, Self::Error>;
    /// Measures once what is due; `None` if the measurement was interrupted.
    fn measure(
        &mut self,
        course: &Self::Course,
        arm: &[usize],
    ) -> Result<Option<<Self::Course as Course>::Outcome>, Self::Error>;
}

/// Performs acts until another boot is needed or nothing is left to do. `is_at_boot` says that the hook started this
/// process.
pub fn go_on<H: Hands>(
    hands: &mut H,
    campaign: &mut H::Course,
    across: &mut Across,
    is_at_boot: bool,
) -> Result<Ending, H::Error> {
    let (mut last, mut is_hooked) = (None, is_at_boot);
    loop {
        let seen = hands.look()?;
        if is_hooked && !seen.hooked {
            // Another process reverted the campaign's settings meanwhile. Going on would set them again.
            hands.leave()?;
            return Ok(Ending::PutBack);
        }
        is_hooked = seen.hooked;
        let was_in_vain = across.arrived(campaign, &seen);
        if seen.is_after_a_pause {
            campaign.begin_anew();
        }
        if seen.is_late {
            campaign.close();
        }
        if was_in_vain {
            hands.keep(campaign, across)?;
        }
        let (act, runs) = (across.next(campaign, &seen), campaign.made());
        if last.as_ref() == Some(&act) {
            return Ok(Ending::Stuck(act));
        }
        match &act {
            Act::Hook => hands.hook()?,
            Act::Unhook => {
                hands.unhook()?;
                is_hooked = false;
            }
            Act::Leave => hands.leave()?,
            Act::Enter(keeps) => {
                if let Some(why) = hands.enter(keeps)? {
                    refuse(campaign, across, why);
                    hands.keep(campaign, across)?;
                }
            }
            Act::Reboot => {
                across.asking(&seen.boot);
                hands.keep(campaign, across)?;
                return Ok(if hands.reboot()? { Ending::Rebooting } else { Ending::RebootByHand });
            }
            Act::Measure(arm) => {
                if !measured(hands, campaign, across, arm, &seen.boot)? {
                    return Ok(Ending::Interrupted);
                }
            }
            Act::Refuse(_, why) => {
                refuse(campaign, across, why.clone());
                hands.keep(campaign, across)?;
            }
            Act::GiveUp(why) => {
                across.gave_up = Some(why.clone());
                hands.keep(campaign, across)?;
            }
            Act::End => {
                hands.keep(campaign, across)?;
                return Ok(Ending::Ended { is_home: across.fits(&[], &seen) });
            }
        }
        last = (campaign.made() == runs).then_some(act);
    }
}

/// Measures with the candidates of `arm` set; `false` if the measurement was interrupted.
fn measured<H: Hands>(
    hands: &mut H,
    campaign: &mut H::Course,
    across: &mut Across,
    arm: &[usize],
    boot: &str,
) -> Result<bool, H::Error> {
    across.beginning(boot);
    hands.keep(campaign, across)?;
    let outcome = hands.measure(campaign, arm)?;
    let is_measured = outcome.is_some();
    if let Some(outcome) = outcome {
        campaign.take(arm, outcome);
        across.done_with(arm, Some(boot));
    }
    // If the process dies before this, the next boot sees a measurement without an outcome, and counts it as one that
    // ended its boot.
    hands.keep(campaign, across)?;
    Ok(is_measured)
}

fn refuse(course: &mut impl Course, across: &mut Across, why: String) {
    if let Some(arm) = course.due() {
        course.refuse(&arm, why);
        across.done_with(&arm, None);
    }
}
