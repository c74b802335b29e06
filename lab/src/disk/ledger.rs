//! The claims of a story and the verdicts on them. Each claim is one sentence that a run can refute.
//!
//! A claim that the story did not reach counts as failed.

use anyhow::{Result, bail, ensure};

/// The name of a claim, and its sentence.
pub type Claim = (&'static str, &'static str);

/// The claims of one story, and the verdicts so far.
#[derive(Debug)]
pub struct Ledger {
    claims: &'static [Claim],
    verdicts: Vec<(&'static str, Result<(), String>)>,
}

impl Ledger {
    pub fn new(claims: &'static [Claim]) -> Self {
        Self { claims, verdicts: Vec::new() }
    }

    /// Records the verdict on a claim, which held if there are no complaints.
    pub fn enter(&mut self, id: &'static str, complaints: &[String]) -> Result<()> {
        let Some((_, sentence)) = self.claims.iter().find(|(known, _)| *known == id) else {
            bail!("`{id}` is no claim of this story");
        };
        let verdict = if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n")) };
        match &verdict {
            Ok(()) => println!("  held    {id}: {sentence}"),
            Err(why) => println!("  FAILED  {id}: {sentence}\n{}", indented(why)),
        }
        self.verdicts.push((id, verdict));
        Ok(())
    }

    /// Each claim, and whether it held. A claim that was entered twice must have held both times.
    pub fn verdicts(&self) -> Vec<(&'static str, bool)> {
        let held = |id: &str| {
            let mut of = self.verdicts.iter().filter(|(known, _)| *known == id).peekable();
            of.peek().is_some() && of.all(|(_, verdict)| verdict.is_ok())
        };
        self.claims.iter().map(|(id, _)| (*id, held(id))).collect()
    }

    /// Returns the number of claims if all of them held, and an error otherwise.
    pub fn close(self, story: Result<()>) -> Result<usize> {
        let reached = |id: &str| self.verdicts.iter().any(|(known, _)| *known == id);
        let lost: Vec<&str> = self.verdicts().into_iter().filter(|(_, held)| !held).map(|(id, _)| id).collect();
        let unreached = self.claims.iter().filter(|(id, _)| !reached(id));
        unreached
            .for_each(|(id, sentence)| println!("  FAILED  {id}: {sentence}\n          the story did not get there"));
        story?;
        ensure!(lost.is_empty(), "{} of {} claims failed: {}", lost.len(), self.claims.len(), lost.join(" "));
        Ok(self.claims.len())
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("          {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &[Claim] = &[("a", "one"), ("b", "two")];

    #[test]
    fn all_must_be_entered_and_hold() {
        let mut ledger = Ledger::new(TWO);
        ledger.enter("a", &[]).unwrap();
        let error = ledger.close(Ok(())).unwrap_err().to_string();
        assert_eq!(error, "1 of 2 claims failed: b");
        let mut ledger = Ledger::new(TWO);
        ledger.enter("a", &[]).unwrap();
        ledger.enter("b", &["no".into()]).unwrap();
        ledger.enter("b", &[]).unwrap();
        assert_eq!(ledger.verdicts(), [("a", true), ("b", false)]);
        assert!(ledger.close(Ok(())).is_err());
        let mut ledger = Ledger::new(TWO);
        ledger.enter("a", &[]).unwrap();
        ledger.enter("b", &[]).unwrap();
        assert_eq!(ledger.close(Ok(())).unwrap(), 2);
    }

    #[test]
    fn what_is_no_claim_cannot_be_held() {
        assert!(Ledger::new(TWO).enter("c", &[]).is_err());
    }
}
