//! Tests of resuming, at boot and without a user, a campaign that cannot go on. No test restarts the machine.

use super::simulated::{self, ENTRY, UNIT};
use super::*;
use std::fs;
use std::path::PathBuf;

/// A simulated machine with a campaign, and the campaign's folder.
fn under_way() -> (tempfile::TempDir, Machine, PathBuf) {
    let (dir, hand) = simulated::machine();
    let folder = dir.path().join("campaign");
    drop(Folder::create(&folder, &simulated::kept(&["optimize"])).unwrap());
    // The journal names the folder by its canonical path.
    let folder = folder.canonicalize().unwrap();
    simulated::under_way(&hand, folder.to_str().unwrap());
    (dir, hand, folder)
}

/// Resumes the campaign as its unit does at boot.
fn at_boot(hand: &Machine, folder: &Path) -> Result<Exit> {
    let words = ["punctual", "optimize", "--resume", folder.to_str().unwrap(), "--at-boot"];
    let Command::Optimize(args) = Cli::try_parse_from(words).unwrap().command else { panic!("another command") };
    told::unattended(hand, folder, "optimize", |opened| resume(&args, opened))
}

/// Checks that resuming fails, that neither entry nor unit is left, and that the folder holds the reason.
#[track_caller]
fn assert_abandoned(dir: &Path, hand: &Machine, folder: &Path, reason: &str) {
    let error = format!("{:#}", at_boot(hand, folder).err().unwrap());
    assert!(error.contains(reason), "{error}");
    assert!(!dir.join(ENTRY).exists() && !dir.join(UNIT).exists(), "something stands: {error}");
    assert!(ours::standing(hand, folder.to_str().unwrap()).unwrap().is_empty());
    let told = fs::read_to_string(folder.join("result.txt")).unwrap();
    assert!(told.contains(reason) && told.contains("are taken away"), "{told}");
    assert!(told.contains(&format!("punctual optimize --resume {}", folder.display())), "{told}");
}

#[test]
fn a_campaign_whose_file_is_damaged_is_put_back_and_told() {
    let (dir, hand, folder) = under_way();
    fs::write(folder.join("campaign.json"), "{ half of it").unwrap();
    assert_abandoned(dir.path(), &hand, &folder, "it is no campaign");
}

#[test]
fn a_campaign_whose_file_is_gone_is_put_back_and_told() {
    let (dir, hand, folder) = under_way();
    fs::remove_file(folder.join("campaign.json")).unwrap();
    assert_abandoned(dir.path(), &hand, &folder, "no campaign was begun here");
}

#[test]
fn a_campaign_of_another_version_is_put_back_and_told() {
    let (dir, hand, folder) = under_way();
    Folder::open(&folder).unwrap().write(&simulated::kept(&["optimise-no-more"])).unwrap();
    assert_abandoned(dir.path(), &hand, &folder, "this version does not understand");
}

#[test]
fn a_folder_that_others_may_write_to_is_not_written_to_and_its_campaign_is_put_back() {
    use std::os::unix::fs::PermissionsExt;
    let (dir, hand, folder) = under_way();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    let error = format!("{:#}", at_boot(&hand, &folder).err().unwrap());
    assert!(error.contains("others may write to it"), "{error}");
    assert!(!dir.path().join(ENTRY).exists() && !dir.path().join(UNIT).exists());
    assert!(!folder.join("result.txt").exists());
}

#[test]
fn who_finds_the_campaign_held_by_another_leaves_it_alone() {
    let (dir, hand, folder) = under_way();
    let _held = Folder::open(&folder).unwrap();
    let error = at_boot(&hand, &folder).err().unwrap();
    assert!(error.to_string().contains("another process is at work"), "{error}");
    assert!(dir.path().join(ENTRY).exists() && dir.path().join(UNIT).exists());
}

#[test]
fn what_does_not_go_is_told_with_how_it_is_mended() {
    let (dir, hand, folder) = under_way();
    fs::write(dir.path().join(UNIT), "somebody else's by now").unwrap();
    fs::remove_file(folder.join("campaign.json")).unwrap();
    at_boot(&hand, &folder).err().unwrap();
    assert!(!dir.path().join(ENTRY).exists(), "the entry goes first");
    let told = fs::read_to_string(folder.join("result.txt")).unwrap();
    assert!(told.contains("Not everything is put back") && told.contains("punctual revert"), "{told}");
}

#[test]
fn a_campaign_that_ends_at_boot_with_doubts_leaves_no_failed_unit() {
    let (_dir, hand, folder) = under_way();
    let exit = told::unattended(&hand, &folder, "campaign", |_| Ok(Exit::Doubtful)).unwrap();
    assert_eq!(exit, Exit::Fine);
}

#[test]
fn words_of_a_campaign_begun_before_options_were_renamed_are_understood() {
    let words = |typed: &str| in_words_of_today(typed.split(' ').map(str::to_owned).collect()).join(" ");
    assert_eq!(words("optimize --budget 1h --late=50us --cpus 1"), "optimize --time 1h --budget=50us --cpus 1");
    assert_eq!(words("optimize --time 1h --budget 50us"), "optimize --time 1h --budget 50us");
}
