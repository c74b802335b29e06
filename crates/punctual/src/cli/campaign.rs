//! `punctual campaign`.

use super::Brief;
use clap::Args;
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct CampaignArgs {
    /// Campaign file to run; some are in /usr/share/punctual/campaigns or, in the sources, in examples/campaigns
    #[arg(value_name = "FILE", required_unless_present = "resume", conflicts_with = "resume")]
    pub file: Option<PathBuf>,
    /// Divide all durations by this factor, to see whether a campaign runs to its end
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = parse_factor)]
    pub shorten: f64,
    /// Folder to make for the campaign and its recordings [default: punctual-campaign-DATE-TIME; below /var/lib if the machine is rebooted for it]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Continue the campaign in this folder, or show its result again if it is complete
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "dry_run", "shorten"])]
    pub resume: Option<PathBuf>,
    /// Continues unattended after a boot
    #[arg(long, hide = true, requires = "resume")]
    pub at_boot: bool,
    /// Show what would be measured and how long it takes; change nothing
    #[arg(long, conflicts_with = "html")]
    pub dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long, short)]
    pub yes: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Also write the page with all cells to this file; the campaign's folder has one in any case
    #[arg(long, value_name = "PATH")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub form: Brief,
}

fn parse_factor(text: &str) -> Result<f64, String> {
    let factor = text.parse::<f64>().ok().filter(|factor| (1.0..=1e6).contains(factor));
    factor.ok_or_else(|| format!("'{text}' is no factor: write a number from 1 to 1000000"))
}
