//! The names that entries of the catalogue and their probes use.

pub(super) use super::case::Missing::{CannotBe, TellsNothing};
pub(super) use super::case::{Case, Doubt, Judged, LOG, Missing, OfCpus, Task, or_absent};
pub(super) use super::check::{Check, Want};
pub(super) use super::fix::Fix;
pub(super) use super::lasting::{Attribute, Event, Lasting, Rule, Then, When, attribute};
pub(super) use super::{Blast, Family, Knob, Resort, Weight};
pub(super) use punctual_facts::cpu_set::CpuSet;
pub(super) use punctual_facts::fact::Fact;
pub(super) use punctual_facts::finding::Confidence;
pub(super) use punctual_facts::finding::Severity::{self, Fatal, High, Info, Medium};
pub(super) use punctual_facts::machine::{Arch, CMDLINE, Flavour, ISOLATED, NOHZ_FULL, Version};
pub(super) use punctual_facts::profile::Kind;
pub(super) use punctual_hist::Nanos;
