//! Tests of the Chinese texts: that the catalogue fits the code, that lines fit the terminal, and what they say.

use super::catalogue::{messages, unpacked};
use super::keys;
use super::{in_chinese, pieces, width};
use crate::cli::Lang;
use crate::render::clean::shortened;
use crate::render::golden::{assert_golden, root};
use crate::render::sheet::{Sheet, Style};
use crate::render::{explain, sample, text};
use punctual_numbers::report::Report;
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn the_locale_decides_unless_it_is_none_that_is_known() {
    let of = |set: &[(&str, &str)]| {
        let value = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Lang::of_locale(value)
    };
    for chinese in ["zh", "zh_CN", "zh_CN.UTF-8", "zh_TW.utf8", "zh-Hans", "zh_CN.UTF-8@pinyin"] {
        assert_eq!(of(&[("LANG", chinese)]), Lang::Zh, "{chinese}");
    }
    for english in ["", "C", "POSIX", "C.UTF-8", "en_US.UTF-8", "xx_YY", "zha_CN", "zh_CN.GB18030"] {
        assert_eq!(of(&[("LANG", english)]), Lang::En, "{english}");
    }
    assert_eq!(of(&[("LC_ALL", "C"), ("LANG", "zh_CN.UTF-8")]), Lang::En);
    assert_eq!(of(&[("LC_ALL", ""), ("LC_MESSAGES", "zh_CN.UTF-8"), ("LANG", "C")]), Lang::Zh);
    assert_eq!(of(&[]), Lang::En);
}

#[test]
fn a_line_of_chinese_breaks_beside_any_character_but_not_before_a_full_stop() {
    assert_eq!(pieces("p99.9"), ["p99.9"]);
    assert_eq!(pieces("（延迟）。"), ["（延", "迟）。"]);
    assert_eq!(pieces("在CPU上"), ["在", "CPU", "上"]);
    let mut sheet = Sheet::new(Style { width: 20, colour: false });
    sheet.entry(0, 4, "原因", "设备中断 nvme0q3 占用了 CPU，很久。");
    let text = sheet.finish();
    assert_eq!(text, "原因 设备中断\n     nvme0q3 占用了\n     CPU，很久。\n");
    assert_eq!(shortened("实时不是快，而是准时", 11), "实时不是...");
}

fn places(pattern: &str) -> BTreeSet<&str> {
    pattern.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect()
}

#[test]
fn the_catalogue_has_the_places_of_the_code_and_nothing_that_is_gone() {
    let keys = keys::known();
    let texts = messages(&unpacked());
    let gone: Vec<&str> =
        texts.iter().map(|(english, _)| english.as_str()).filter(|key| !keys.contains(*key)).collect();
    assert!(gone.is_empty(), "no code says this any more: {gone:#?}");
    let mut seen = BTreeSet::new();
    for (english, chinese) in texts {
        assert_eq!(places(&english), places(&chinese), "{english}");
        assert!(!chinese.contains(['“', '”', '…', '—']), "a mark of unclear width: {chinese}");
        assert!(seen.insert(english.clone()), "twice: {english}");
    }
}

/// The number of texts without a translation may only become smaller. `BLESS=1` writes a smaller number.
#[test]
fn no_text_is_added_without_its_translation() {
    let translated: BTreeSet<String> = messages(&unpacked()).into_iter().map(|(english, _)| english).collect();
    let missing: Vec<String> = keys::wanted().into_iter().filter(|key| !translated.contains(key)).collect();
    let path = fixtures::repository("crates/punctual/catalogue/zh-CN.missing");
    let allowed: usize = std::fs::read_to_string(&path).unwrap().trim().parse().unwrap();
    assert!(missing.len() <= allowed, "translate in zh-CN.po, {allowed} at most may lack: {missing:#?}");
    fixtures::check(&path, &format!("{}\n", missing.len()));
}

fn check(report: &Report, columns: usize) -> String {
    let paths = [Some(Path::new("bench.punctual")), Some(Path::new("bench.html"))];
    in_chinese(|| text::short(report, &root(), paths, Style { width: columns, colour: false }))
}

#[test]
fn check_in_chinese() {
    for (name, report) in sample::all().into_iter().chain([("causes", explain::sample::causes())]) {
        let text = check(&report, 80);
        assert_golden(&format!("{name}.check.zh.txt"), &text);
        assert!(text.lines().count() <= 60, "{name}: the short text is short\n{text}");
    }
}

#[test]
fn chinese_lines_fit_the_terminal() {
    for (name, report) in sample::all().into_iter().chain([("causes", explain::sample::causes())]) {
        for columns in [40, 80, 120] {
            for line in check(&report, columns).lines() {
                let is_whole = line.split_whitespace().count() <= 2 || line.contains("punctual ");
                assert!(width(line) <= columns || is_whole, "{name} at {columns}: {line}");
            }
        }
    }
}

#[test]
fn formats_for_programs_stay_english() {
    let report = sample::two_cpus();
    let reader = root();
    let of = crate::render::golden::of(&report, &reader, None);
    let document = || crate::render::json::check(of).unwrap();
    let line = || crate::render::words::answer::brief(&report, None);
    assert_eq!((in_chinese(document), in_chinese(line)), (document(), line()));
}
