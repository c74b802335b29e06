//! Checks that each public function of the run-time library states whether a loop may call it.

use super::Complaint;
use super::source::Source;

/// Folder of the library for programs with a real-time loop.
const LIBRARY: &str = "crates/punctual-rt/src/";
const HEADING: &str = "/// # Real-time";

/// Complains about public functions without a heading `# Real-time`. Two kinds need none: functions that return `Self`,
/// because values are made before the loop, and constant functions, because the compiler ensures that they neither
/// allocate, lock nor enter the kernel.
pub fn unpromised(path: &str, text: &str, source: &Source) -> Vec<Complaint> {
    if !path.starts_with(LIBRARY) {
        return Vec::new();
    }
    let (lines, code): (Vec<&str>, Vec<&str>) = (text.lines().collect(), source.code.lines().collect());
    let mut complaints = Vec::new();
    for (line, at) in source.words("fn") {
        let is_public = code
            .get(line - 1)
            .is_some_and(|line| line.trim_start().strip_prefix("pub ").is_some_and(|rest| !rest.starts_with("const ")));
        let signature = source.code.get(at..).and_then(|rest| rest.split(['{', ';']).next()).unwrap_or_default();
        if is_public && !makes_something(signature) && !is_promised(lines.get(..line - 1).unwrap_or_default()) {
            let name = signature.trim_start_matches("fn").split(['(', '<']).next().unwrap_or_default().trim();
            complaints.push(Complaint::new(path, line, format!("`{name}` without `# Real-time`: may a loop call it?")));
        }
    }
    complaints
}

fn makes_something(signature: &str) -> bool {
    let returned = signature.rsplit_once("->").map(|(_, returned)| returned.split(" where").next().unwrap_or(returned));
    returned.is_some_and(|returned| returned.trim() == "Self")
}

/// Whether the comments and attributes at the end of these lines, which belong to the next item, have the heading.
fn is_promised(before: &[&str]) -> bool {
    let opens = |line: &&&str| line.starts_with("///") || (!line.is_empty() && !line.ends_with(['{', '}', ';']));
    let trimmed: Vec<&str> = before.iter().map(|line| line.trim()).collect();
    trimmed.iter().rev().take_while(opens).any(|line| *line == HEADING)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(text: &str) -> Vec<String> {
        let source = Source::new(text);
        unpromised("crates/punctual-rt/src/x.rs", text, &source).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn whether_a_loop_may_call_it_is_said() {
        let bare = "impl A {\n    /// Why.\n    #[inline]\n    pub fn a(&self) -> u64 {\n        0\n    }\n}\n";
        assert_eq!(complaints(bare), ["crates/punctual-rt/src/x.rs:4: `a` without `# Real-time`: may a loop call it?"]);
        assert_eq!(
            complaints(&bare.replace("Why.\n", "Why.\n    ///\n    /// # Real-time\n    /// Pure; {}\n")),
            [""; 0]
        );
        let other =
            "/// Why.\n///\n/// # Real-time\n/// Pure.\npub fn a() {}\n/// Why.\npub fn b<T>() -> Option<T> {\n";
        assert_eq!(complaints(other).len(), 1, "the promise of one is not that of the next");
    }

    #[test]
    fn what_makes_something_or_is_not_public_needs_no_promise() {
        assert_eq!(
            complaints(
                "pub fn new(a: u64) -> Self {}\npub fn with<T>(self) -> Self where T: Send {}\npub const fn a() -> u64 {}\n"
            ),
            [""; 0]
        );
        assert_eq!(complaints("fn a() {}\npub(crate) fn b() {}\n#[cfg(test)]\npub fn c() {}\n"), [""; 0]);
        assert_eq!(complaints("pub fn new() -> Option<Self> {}\n").len(), 1);
        assert_eq!(unpromised("crates/punctual-hist/src/x.rs", "pub fn a() {}", &Source::new("pub fn a() {}")), []);
    }
}
