//! Writes `JUnit` XML that fits the schema of Jenkins, the strictest of its readers. Must not know what is tested.
//!
//! The schema demands the attribute `skipped` on each suite and forbids it on the root.

use punctual_facts::machine::MachineLine;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};
use std::io::{self, Cursor};

/// A document: suites under one root.
#[derive(Default)]
pub struct Document {
    pub name: &'static str,
    pub suites: Vec<Suite>,
}

#[derive(Default)]
pub struct Suite {
    pub name: String,
    pub properties: Vec<MachineLine>,
    pub cases: Vec<Case>,
}

pub struct Case {
    pub name: String,
    pub class: String,
    pub status: Status,
    /// Text that readers show with the case, whatever its status.
    pub output: Option<String>,
}

pub enum Status {
    Passed,
    Skipped(Option<String>),
    Failed(Trouble),
    /// The case could not be judged (`error` in XML). No reader takes an error for a pass.
    Broken(Trouble),
}

/// Why a case did not pass.
#[derive(Default)]
pub struct Trouble {
    pub message: Option<String>,
    pub kind: Option<String>,
    pub text: Option<String>,
}

impl Status {
    pub fn failed(message: String) -> Self {
        Self::Failed(Trouble { message: Some(message), ..Trouble::default() })
    }

    pub fn broken(message: String) -> Self {
        Self::Broken(Trouble { message: Some(message), ..Trouble::default() })
    }
}

/// Number of all cases, and of those that were skipped, failed or are errors.
#[derive(Clone, Copy)]
struct Numbers {
    tests: usize,
    skipped: usize,
    failures: usize,
    errors: usize,
}

impl Numbers {
    fn of<'a>(cases: &(impl Iterator<Item = &'a Case> + Clone)) -> Self {
        let count = |is: fn(&Status) -> bool| cases.clone().filter(|case| is(&case.status)).count();
        Self {
            tests: cases.clone().count(),
            skipped: count(|status| matches!(status, Status::Skipped(_))),
            failures: count(|status| matches!(status, Status::Failed(_))),
            errors: count(|status| matches!(status, Status::Broken(_))),
        }
    }
}

impl Document {
    pub fn text(&self) -> io::Result<String> {
        let mut to = Writer::new_with_indent(Cursor::new(Vec::new()), b' ', 4);
        to.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
        let all = Numbers::of(&self.suites.iter().flat_map(|suite| &suite.cases));
        let root = [("name", self.name.to_owned()), ("tests", all.tests.to_string())];
        let rest = [("failures", all.failures.to_string()), ("errors", all.errors.to_string())];
        begin(&mut to, "testsuites", &[root, rest].concat())?;
        self.suites.iter().try_for_each(|suite| suite.write(&mut to))?;
        end(&mut to, "testsuites")?;
        to.write_indent()?;
        String::from_utf8(to.into_inner().into_inner()).map_err(io::Error::other)
    }
}

type To = Writer<Cursor<Vec<u8>>>;
type Attributes<'a> = [(&'a str, String)];

impl Suite {
    fn write(&self, to: &mut To) -> io::Result<()> {
        let numbers = Numbers::of(&self.cases.iter());
        let attributes = [
            ("name", self.name.clone()),
            ("tests", numbers.tests.to_string()),
            ("skipped", numbers.skipped.to_string()),
            ("errors", numbers.errors.to_string()),
            ("failures", numbers.failures.to_string()),
        ];
        if self.properties.is_empty() && self.cases.is_empty() {
            return empty(to, "testsuite", &attributes);
        }
        begin(to, "testsuite", &attributes)?;
        if !self.properties.is_empty() {
            begin(to, "properties", &[])?;
            for MachineLine { name, value } in &self.properties {
                empty(to, "property", &[("name", name.clone()), ("value", value.clone())])?;
            }
            end(to, "properties")?;
        }
        self.cases.iter().try_for_each(|case| case.write(to))?;
        end(to, "testsuite")
    }
}

impl Case {
    fn write(&self, to: &mut To) -> io::Result<()> {
        let attributes = [("name", self.name.clone()), ("classname", self.class.clone())];
        if matches!(self.status, Status::Passed) && self.output.is_none() {
            return empty(to, "testcase", &attributes);
        }
        begin(to, "testcase", &attributes)?;
        match &self.status {
            Status::Passed => {}
            Status::Skipped(message) => {
                trouble(to, "skipped", &Trouble { message: message.clone(), ..Trouble::default() })?;
            }
            Status::Failed(why) => trouble(to, "failure", why)?,
            Status::Broken(why) => trouble(to, "error", why)?,
        }
        if let Some(output) = &self.output {
            with_text(to, "system-out", &[], output)?;
        }
        end(to, "testcase")
    }
}

fn trouble(to: &mut To, name: &str, why: &Trouble) -> io::Result<()> {
    let attributes = [("message", &why.message), ("type", &why.kind)];
    let attributes: Vec<_> = attributes.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))).collect();
    match &why.text {
        Some(text) => with_text(to, name, &attributes, text),
        None => empty(to, name, &attributes),
    }
}

fn with_text(to: &mut To, name: &str, attributes: &Attributes<'_>, text: &str) -> io::Result<()> {
    begin(to, name, attributes)?;
    to.write_event(Event::Text(BytesText::new(&printable(text))))?;
    end(to, name)
}

fn begin(to: &mut To, name: &str, attributes: &Attributes<'_>) -> io::Result<()> {
    to.write_event(Event::Start(tag(name, attributes)))
}

fn empty(to: &mut To, name: &str, attributes: &Attributes<'_>) -> io::Result<()> {
    to.write_event(Event::Empty(tag(name, attributes)))
}

fn end(to: &mut To, name: &str) -> io::Result<()> {
    to.write_event(Event::End(BytesEnd::new(name)))
}

fn tag<'a>(name: &'a str, attributes: &Attributes<'_>) -> BytesStart<'a> {
    let mut tag = BytesStart::new(name);
    for (name, value) in attributes {
        tag.push_attribute((*name, &*printable(value)));
    }
    tag
}

/// `text` without characters that XML 1.0 forbids even when escaped: control characters other than tab and line ends,
/// U+FFFE and U+FFFF. Colour codes are removed as a whole.
fn printable(text: &str) -> String {
    let allowed = |c: &char| !matches!(c, '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\u{fffe}' | '\u{ffff}');
    anstream::adapter::strip_str(text).to_string().chars().filter(allowed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_holds_what_it_was_given_quoted_and_counted() {
        let case = |name: &str, status, output: Option<&str>| Case {
            name: name.to_owned(),
            class: "punctual.x".to_owned(),
            status,
            output: output.map(str::to_owned),
        };
        let why = Trouble {
            message: Some("a < \"b\"".to_owned()),
            kind: Some("high".to_owned()),
            text: Some("\u{1b}[31mred\u{1b}[0m & \u{7}loud".to_owned()),
        };
        let cases = vec![
            case("passed", Status::Passed, None),
            case("told", Status::Passed, Some("p99_ns 7\nmax_ns 9")),
            case("skipped", Status::Skipped(None), None),
            case("failed", Status::Failed(why), None),
            case("broken", Status::broken("doubted".to_owned()), None),
        ];
        let properties = vec![("kernel", "6.12").into()];
        let suite = Suite { name: "latency".to_owned(), properties, cases };
        let empty = Suite { name: "none".to_owned(), ..Suite::default() };
        let document = Document { name: "punctual", suites: vec![suite, empty] };
        let wanted = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="punctual" tests="5" failures="1" errors="1">
    <testsuite name="latency" tests="5" skipped="1" errors="1" failures="1">
        <properties>
            <property name="kernel" value="6.12"/>
        </properties>
        <testcase name="passed" classname="punctual.x"/>
        <testcase name="told" classname="punctual.x">
            <system-out>p99_ns 7
max_ns 9</system-out>
        </testcase>
        <testcase name="skipped" classname="punctual.x">
            <skipped/>
        </testcase>
        <testcase name="failed" classname="punctual.x">
            <failure message="a &lt; &quot;b&quot;" type="high">red &amp; loud</failure>
        </testcase>
        <testcase name="broken" classname="punctual.x">
            <error message="doubted"/>
        </testcase>
    </testsuite>
    <testsuite name="none" tests="0" skipped="0" errors="0" failures="0"/>
</testsuites>
"#;
        assert_eq!(document.text().unwrap(), wanted);
    }
}
