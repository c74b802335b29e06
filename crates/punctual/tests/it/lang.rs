//! The language of what people read: by option, by locale, and English where neither names one that is known.

use crate::run::{Run, Said};

/// Runs `punctual report` on the recording, with these options and these locale variables alone.
fn report(run: &Run, options: &[&str], locale: &[(&str, &str)]) -> Said {
    let mut command = run.command(&["report", "r.punctual"]);
    for name in ["LC_ALL", "LC_MESSAGES", "LANG"] {
        command.env_remove(name);
    }
    Said::of(command.args(options).envs(locale.iter().copied()).output().unwrap())
}

#[test]
fn the_option_goes_before_the_locale_and_programs_read_english() {
    let run = Run::new();
    run.recording("200ms");
    let english = report(&run, &[], &[]).out;
    let chinese = report(&run, &["--lang", "zh"], &[]).out;
    assert!(english.contains("How sure") && english.is_ascii(), "{english}");
    assert!(chinese.contains("把握") && !chinese.contains("How sure"), "{chinese}");
    assert_eq!(report(&run, &[], &[("LANG", "zh_CN.UTF-8")]).out, chinese);
    for locale in [[("LC_ALL", "xx_YY"), ("LANG", "zh_CN.UTF-8")], [("LC_ALL", "C"), ("LANG", "zh_CN.UTF-8")]] {
        assert_eq!(report(&run, &[], &locale).out, english, "{locale:?}");
    }
    assert_eq!(report(&run, &["--lang", "en"], &[("LC_ALL", "zh_CN.UTF-8")]).out, english);
    for form in ["--json", "--brief"] {
        assert_eq!(report(&run, &[form, "--lang", "zh"], &[]).out, report(&run, &[form], &[]).out, "{form}");
    }
}

#[test]
fn a_language_that_is_not_known_is_refused_with_those_that_are() {
    let refused = Run::new().punctual(&["audit", "--lang", "xx"]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("'xx'") && refused.err.contains("en, zh"), "{refused:?}");
}
