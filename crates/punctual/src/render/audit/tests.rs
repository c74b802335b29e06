//! All output formats of an audit, with hostile evidence and on terminals of many widths.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use super::*;
use crate::render::document::schema::assert_valid;
use crate::render::sheet::Style;
use crate::render::words;
use punctual_facts::cpu_set::CpuSet;
use punctual_facts::machine::Machine;
use punctual_facts::profile::Need;
use punctual_facts::tree::MemTree;
use punctual_tuning::audit::audit;
use punctual_tuning::diff::{AuditDifference, AuditSide};
use punctual_tuning::knobs;
use quick_xml::events::Event;

/// Text of a hostile machine that tries to break out of each form it is put into.
const EVIL: &str =
    "]]> \u{1b}[2J\u{7}\u{0}\u{202e}`|` a\\|b <script>x</script> </failure> @root #1 \"'&amp; {0}\n# y\r| z |";

/// Calls `use_it` with an audit that has these findings.
fn with_audit<T>(findings: &[Finding], use_it: impl FnOnce(&Audit<'_>) -> T) -> T {
    let text = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/machines/debian-12-stock-plain.machine"
    ));
    let tree = MemTree::parse(&text.unwrap()).unwrap();
    let machine = Machine::read(&tree);
    let need = Need { cpus: CpuSet::from_iter([1]), ..Need::default() };
    let case = Case::new(&tree, &machine, &need);
    let own = audit(&tree, &machine, &need);
    let findings = if findings.is_empty() { &own } else { findings };
    use_it(&Audit { case: &case, findings })
}

/// One finding per state, full of [`EVIL`].
fn evil() -> Vec<Finding> {
    let because = || EVIL.to_owned();
    let states = [
        State::Bad,
        State::Good,
        State::Unknown(EVIL.into()),
        State::Advice(because()),
        State::NotApplicable(because()),
    ];
    let findings = states.into_iter().zip(knobs::ALL.iter()).map(|(state, knob)| Finding {
        id: knob.id.to_owned(),
        title: knob.title.to_owned(),
        severity: Severity::High,
        state,
        evidence: vec![Evidence { source: format!("/proc/{EVIL}"), value: EVIL.to_owned() }],
        why: knob.why.to_owned(),
        fix: knob.fix_anywhere(),
        cost: knob.cost.to_owned(),
        confidence: knob.confidence,
    });
    findings.collect()
}

fn is_harmless_text(text: &str) -> bool {
    !text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}')
}

#[test]
fn evidence_does_nothing_to_a_terminal() {
    with_audit(&evil(), |audit| {
        for columns in [None, Some(80)] {
            for all in [false, true] {
                let text = anstream::adapter::strip_str(&list(audit, columns, all)).to_string();
                assert!(is_harmless_text(&text) && text.contains("[2J"), "{text:?}");
            }
        }
        for finding in audit.findings {
            let knob = knobs::find(&finding.id).unwrap();
            let text = essay(audit, knob, Style::default());
            assert!(is_harmless_text(&text) && text.contains("script"), "{text:?}");
        }
    });
}

#[test]
fn evidence_stays_in_its_cell_of_markdown() {
    with_audit(&evil(), |audit| {
        let text = markdown(audit).unwrap();
        assert!(is_harmless_text(&text), "{text:?}");
        for line in text.lines().filter(|line| line.starts_with('|')) {
            // Cells are split as GitHub splits them: a backslash escapes the next character, inside code too.
            let mut cells = 0;
            let mut rest = line.chars();
            while let Some(c) = rest.next() {
                match c {
                    '\\' => drop(rest.next()),
                    '|' => cells += 1,
                    _ => {}
                }
            }
            assert!([3, 4, 5].contains(&cells), "{cells} bars in {line}");
            assert!(!line.contains("| z |") && !line.contains("<script>x</script>") || line.contains("``"), "{line}");
        }
        assert!(!text.lines().any(|line| line.starts_with("# y")), "{text}");
    });
}

#[test]
fn evidence_stays_in_its_element_of_junit() {
    with_audit(&evil(), |audit| {
        let text = junit(audit, None).unwrap();
        let root = r#"<testsuites name="punctual audit" tests="5" failures="1" errors="0">"#;
        assert!(text.contains(root), "{text}");
        let mut reader = quick_xml::Reader::from_str(&text);
        let mut cases = 0;
        loop {
            match reader.read_event().unwrap() {
                Event::Eof => break,
                Event::Start(tag) | Event::Empty(tag) => {
                    assert!(tag.attributes().all(|attribute| attribute.is_ok()), "{tag:?}");
                    cases += usize::from(tag.name().as_ref() == b"testcase");
                }
                _ => {}
            }
        }
        assert_eq!(cases, 5);
        let failure = text.split("</failure>").next().unwrap();
        assert!(failure.contains("&lt;script&gt;") && !text.contains('\u{7}') && !text.contains('\u{0}'), "{text}");
    });
}

#[test]
fn junit_fails_as_the_exit_code_does() {
    let states = |least| {
        with_audit(&evil(), |audit| {
            let text = junit(audit, least).unwrap();
            (text.matches("<failure ").count(), text.matches("<skipped ").count())
        })
    };
    assert_eq!(states(None), (1, 3));
    assert_eq!(states(Some(Severity::High)), (1, 3));
    assert_eq!(states(Some(Severity::Fatal)), (0, 4));
}

#[test]
fn sarif_holds_what_is_bad_and_on_request_the_rest() {
    with_audit(&evil(), |audit| {
        let log = |all| -> serde_json::Value { serde_json::from_str(&sarif(audit, None, all)).unwrap() };
        let kinds = |log: &serde_json::Value| -> Vec<String> {
            let results = log["runs"][0]["results"].as_array().unwrap();
            results.iter().map(|result| result["kind"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(kinds(&log(false)), ["fail"]);
        assert_eq!(kinds(&log(true)), ["fail", "pass", "open", "review", "notApplicable"]);
        let rule = &log(false)["runs"][0]["tool"]["driver"]["rules"][0];
        for part in ["shortDescription", "fullDescription", "help"] {
            assert!(!rule[part]["text"].as_str().unwrap().is_empty(), "{part}");
        }
    });
}

#[test]
fn a_captured_machine_gives_the_line() {
    with_audit(&[], |audit| {
        let path = std::path::Path::new("fixtures/machines/x.machine");
        let text = "punctual-machine 1\n/proc/irq/default_smp_affinity_not = 1\n/proc/irq/default_smp_affinity = 3\n";
        let captured = Captured { path, text };
        let log: serde_json::Value = serde_json::from_str(&sarif(audit, Some(captured), true)).unwrap();
        let results = log["runs"][0]["results"].as_array().unwrap();
        let result = results.iter().find(|result| result["ruleId"] == "irq.default").unwrap();
        let location = &result["locations"][0];
        assert_eq!(location["physicalLocation"]["region"]["startLine"], 3, "{result:#}");
        assert_eq!(location["physicalLocation"]["artifactLocation"]["uri"], "fixtures/machines/x.machine");
        assert_eq!(location["logicalLocations"][0]["fullyQualifiedName"], "/proc/irq/default_smp_affinity");
    });
}

#[test]
fn every_line_of_the_list_fits_the_terminal_and_no_fix_is_cut() {
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    with_audit(&[], |audit| {
        for columns in [60, 80, 132, 200, 400] {
            for all in [false, true] {
                let text = anstream::adapter::strip_str(&list(audit, Some(columns), all)).to_string();
                for line in text.lines() {
                    let has_no_break = !line.trim_start_matches([' ', '-', '>']).contains(' ');
                    assert!(line.chars().count() <= columns || has_no_break, "{columns}: {line}");
                }
                let text = squeezed(&text);
                for finding in audit.findings.iter().filter(|finding| finding.state == State::Bad) {
                    let deed = squeezed(&format!("-> {}", finding.fix));
                    assert!(text.contains(&deed), "{columns}: {deed}");
                }
            }
        }
        let unshortened = list(audit, None, false);
        for finding in audit.findings.iter().filter(|finding| finding.state == State::Bad) {
            let line = format!("{}{}", shown(&finding.evidence), format_args!(" -> {}", finding.fix));
            let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(unshortened.contains(&line), "{line}\nin\n{unshortened}");
        }
    });
}

#[test]
fn nothing_is_lost_in_the_list() {
    with_audit(&[], |audit| {
        let all = list(audit, None, true);
        for finding in audit.findings {
            assert!(all.contains(&finding.id), "{}", finding.id);
        }
        let short = list(audit, None, false);
        let good: Vec<&Finding> = audit.findings.iter().filter(|finding| finding.state == State::Good).collect();
        assert!(short.contains(&format!("GOOD ({})", good.len())) && short.lines().count() < all.lines().count());
        let numbers = words::by_family(&good);
        let sum: usize = numbers.split([' ', ',']).filter_map(|word| word.parse::<usize>().ok()).sum();
        assert_eq!(sum, good.len(), "{numbers}");
    });
}

#[test]
fn an_essay_fits_and_says_all() {
    with_audit(&[], |audit| {
        for knob in knobs::ALL.iter() {
            let text = essay(audit, knob, Style::default());
            for part in ["here", "severity", "in general", "why", "now", "lasting", "undo", "cost", "blast", "sources"]
            {
                assert!(text.contains(&format!("\n  {part}")), "{}: no '{part}' in\n{text}", knob.id);
            }
            for line in text.lines() {
                assert!(line.chars().count() <= 80 || !line.trim().contains(' '), "{}: {line}", knob.id);
            }
        }
    });
}

#[test]
fn the_same_is_nothing_and_what_differs_is_harmless() {
    with_audit(&evil(), |audit| {
        let machine = audit.case.machine;
        let mut changed = evil();
        changed[0].evidence[0].value.push_str(" more");
        let side = |findings| AuditSide { machine, cpus: audit.case.rt(), findings };
        let names = Names { from: EVIL, to: "b" };
        let same = AuditDifference::between(&side(audit.findings), &side(audit.findings));
        assert_eq!(difference_text(&same, names, Style::default()), "");
        assert!(difference_markdown(&same, names).unwrap().contains("Nothing."));
        let difference = AuditDifference::between(&side(audit.findings), &side(&changed));
        assert_eq!(difference.knobs.len(), 1);
        for text in
            [difference_text(&difference, names, Style::default()), difference_markdown(&difference, names).unwrap()]
        {
            assert!(is_harmless_text(&text) && text.contains("more"), "{text:?}");
        }
        let json: serde_json::Value = assert_valid(&DifferenceDocument { names, difference: &difference });
        assert_eq!(json["findings"][0]["trend"], "same-verdict");
    });
}
