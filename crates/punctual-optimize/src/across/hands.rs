//! Going on with a campaign across boots: what is next is done, and written down, until another boot is needed.

use super::{Across, Act, Seen};
use crate::{Campaign, Next, Outcome, Stage};
use punctual_tuning::plan::Keep;

/// How going on came to an end for now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All is told that will be; everything is put back.
    Ended {
        /// The machine runs on the boot that it was begun in.
        is_home: bool,
    },
    /// The machine starts again.
    Rebooting,
    /// Somebody has to start the machine again.
    RebootByHand,
    /// A measurement was interrupted.
    Interrupted,
    /// Somebody put everything back, and so ended it.
    PutBack,
    /// What was done has no effect: which act.
    Stuck(Act),
}

/// Who does it.
pub trait Hands {
    /// Why something could not be done.
    type Error;
    /// What this boot shows.
    ///
    /// # Errors
    /// It cannot be told.
    fn look(&mut self) -> Result<Seen, Self::Error>;
    /// Writes all of it down, whole or not at all.
    ///
    /// # Errors
    /// It cannot be written; nothing else is done then.
    fn keep(&mut self, campaign: &Campaign, across: &Across) -> Result<(), Self::Error>;
    /// Sees to it that somebody goes on after a boot.
    ///
    /// # Errors
    /// It cannot be done, and nothing of it stands.
    fn hook(&mut self) -> Result<(), Self::Error>;
    /// Takes that away.
    ///
    /// # Errors
    /// It cannot be done.
    fn unhook(&mut self) -> Result<(), Self::Error>;
    /// Makes a boot entry for the next boot alone. Something: why that cannot be, and nothing of it stands.
    ///
    /// # Errors
    /// It cannot be told what stands.
    fn enter(&mut self, keeps: &[Keep]) -> Result<Option<String>, Self::Error>;
    /// Takes it away.
    ///
    /// # Errors
    /// It cannot be done.
    fn leave(&mut self) -> Result<(), Self::Error>;
    /// Starts the machine again. False: somebody has to do that.
    ///
    /// # Errors
    /// It cannot be done.
    fn reboot(&mut self) -> Result<bool, Self::Error>;
    /// Measures. Nothing: it was interrupted.
    ///
    /// # Errors
    /// It cannot be done.
    fn measure(&mut self, arm: &[usize], stage: Stage, round: u32) -> Result<Option<Outcome>, Self::Error>;
}

/// Goes on until another boot is needed, or nothing is left to be done; `is_at_boot`: because somebody was to see to it.
///
/// # Errors
/// Those of the hands. What was written down is true then, too.
pub fn go_on<H: Hands>(
    hands: &mut H,
    campaign: &mut Campaign,
    across: &mut Across,
    is_at_boot: bool,
) -> Result<Ending, H::Error> {
    let (mut last, mut is_hooked) = (None, is_at_boot);
    loop {
        let seen = hands.look()?;
        if is_hooked && !seen.hooked {
            // Who goes on all the same cannot be ended.
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
        let (act, runs) = (across.next(campaign, &seen), campaign.runs.len());
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
        last = (campaign.runs.len() == runs).then_some(act);
    }
}

/// Whether it was measured; otherwise it was interrupted.
fn measured<H: Hands>(
    hands: &mut H,
    campaign: &mut Campaign,
    across: &mut Across,
    arm: &[usize],
    boot: &str,
) -> Result<bool, H::Error> {
    let Next::Measure { stage, round, .. } = campaign.next() else { return Ok(false) };
    across.beginning(boot);
    hands.keep(campaign, across)?;
    let outcome = hands.measure(arm, stage, round)?;
    let is_measured = outcome.is_some();
    if let Some(outcome) = outcome {
        campaign.take(arm, outcome);
        across.done_with(arm, Some(boot));
    }
    // Otherwise it is told by the next boot whether this one was lost by it.
    hands.keep(campaign, across)?;
    Ok(is_measured)
}

fn refuse(campaign: &mut Campaign, across: &mut Across, why: String) {
    if let Next::Measure { arm, .. } = campaign.next() {
        campaign.take(&arm, Outcome::Refused(why));
        across.done_with(&arm, None);
    }
}
