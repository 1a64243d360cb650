//! Reads `[behaviours.NAME]`: the first operation of an activity, its pace, its transitions.

use barograph_model::{Behaviour, Behaviours, NextOp, OpId, Pace};

use crate::name;
use crate::read::ScenarioReader;
use crate::read::next::Choices;
use crate::section::Section;
use crate::settings_reader::KeyPosition;

/// Most behaviours: they are numbered in eight bits.
const MOST_BEHAVIOURS: usize = 256;

impl ScenarioReader<'_> {
    /// All behaviours, `main` first. By default, users repeat a single operation without pause.
    pub(crate) fn behaviours(&mut self, root: &mut Section<'_>) -> Behaviours {
        let choices = Choices::read(self, root);
        let mut sections = root.named("behaviours");
        sections.sort_by_key(|(name, _)| name != "main");
        let at = KeyPosition { key: "behaviours".into(), line: 1 };
        if sections.len() > MOST_BEHAVIOURS {
            self.given.refuse(&at, sections.len(), "at most 256 behaviours", "use fewer");
            sections.truncate(MOST_BEHAVIOURS);
        }
        let lacks_main = sections.first().is_none_or(|(name, _)| name != "main");
        if lacks_main && !(sections.is_empty() && self.operations.len() == 1) {
            let remedy = "add `[behaviours.main]` with `first` and `next`";
            self.given.refuse(&at.inner("main", 1), "", "a behaviour that every user runs", remedy);
        }
        let mut list = Vec::with_capacity(sections.len());
        for (name, section) in sections {
            list.push(self.behaviour(&name, section, &choices));
        }
        choices.finish(self);
        if list.is_empty() {
            list.push(repeating("main", OpId(0), self.operations.len().clamp(1, 256)));
        }
        // A fault in one of them has been refused, with its place; this one is never returned then.
        Behaviours::new(list).unwrap_or_else(|_| {
            let stand_in = vec![repeating("main", OpId(0), 1)];
            Behaviours::new(stand_in).expect("an operation that follows itself")
        })
    }

    fn behaviour(&mut self, name: &str, mut section: Section<'_>, choices: &Choices) -> Behaviour {
        let first = section.text("first");
        let by_default = (self.operations.len() == 1 && !section.was_given("first")).then_some(OpId(0));
        let first = match by_default {
            Some(op) => Some(op),
            None => self
                .required(&section, "first", first)
                .and_then(|got| self.operation_number(&got.at, &got.value)),
        };
        let first = first.unwrap_or(OpId(0));
        let pace = self.pace(&mut section);
        let mut next: Vec<Option<NextOp>> = vec![None; self.operations.len().clamp(1, 256)];
        let at = section.at_key("next");
        let given = section.section("next");
        section.finish();
        let Some(mut given) = given else {
            let same = repeating(name::leak(name), first, next.len());
            return Behaviour { pace, ..same };
        };
        for (operation, got) in given.rest() {
            let then = self.next(&got, first, choices);
            if let Some(op) = self.operation_number(&got.at, &operation) {
                next[op.index()] = Some(then.unwrap_or(NextOp::Op(first)));
            }
        }
        if !self.operations.is_empty() {
            self.all_lead_on(&at, first, &next);
        }
        Behaviour { name: name::leak(name), first, next, pace }
    }

    /// Refuses reachable operations without a following one.
    fn all_lead_on(&self, at: &KeyPosition, first: OpId, next: &[Option<NextOp>]) {
        let mut todo = vec![first];
        let mut seen = vec![false; next.len()];
        while let Some(op) = todo.pop() {
            if std::mem::replace(&mut seen[op.index()], true) {
                continue;
            }
            match &next[op.index()] {
                Some(next) => leads_to(next, &mut todo),
                None => {
                    let name = &self.operations[op.index()];
                    let remedy =
                        format!("add `{name} = ...`: an operation, shares of operations, or \"end_session\"");
                    self.given.refuse(
                        &at.inner(name, at.line),
                        "",
                        "what follows each operation that is reached",
                        &remedy,
                    );
                }
            }
        }
    }
}

fn leads_to(next: &NextOp, todo: &mut Vec<OpId>) {
    match next {
        NextOp::Op(op) | NextOp::EndSession { first: op } => todo.push(*op),
        NextOp::Vector(vector) => todo.extend(vector.entries().iter().map(|e| e.0)),
        NextOp::Choose { branches, .. } => branches.iter().for_each(|branch| leads_to(branch, todo)),
    }
}

/// A behaviour that repeats one operation.
fn repeating(name: &'static str, first: OpId, operations: usize) -> Behaviour {
    let mut next = vec![None; operations];
    next[first.index()] = Some(NextOp::Op(first));
    Behaviour { name, first, next, pace: Pace::AtOnce }
}
