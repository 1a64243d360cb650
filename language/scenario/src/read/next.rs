//! Reads transitions of an operation: an operation, shares, a choice, the end of the session; and
//! `[choices]`.

use std::cell::RefCell;

use barograph_model::{ChooserId, NextOp, OpId, Share, Vector};

use crate::behaviour::Chooser;
use crate::draw::DrawScope;
use crate::read::ScenarioReader;
use crate::read::names::Scope;
use crate::section::{Section, as_share};
use crate::settings_reader::{KeyPosition, Node, RawValue, ReadValue};

/// Deepest nesting of choices, including named ones: it also ends those that name themselves.
const DEEPEST: u32 = 16;

/// Most choosers: they are numbered in eight bits.
const MOST_CHOOSERS: usize = 256;

/// Most branches of a choice.
const MOST_BRANCHES: usize = 64;

/// Possible values of a choice, for refusals.
const ALLOWED: &str =
    "an operation, \"end_session\", a name under [choices], { A = 0.5, B = 0.5 }, or { choose = ... }";

/// Named choices from `[choices]`, for use in several places.
pub(crate) struct Choices {
    named: Vec<(String, ReadValue<RawValue>)>,
    used: RefCell<Vec<bool>>,
}

impl Choices {
    pub(crate) fn read(reading: &ScenarioReader<'_>, root: &mut Section<'_>) -> Self {
        let named = root.section("choices").map(|mut s| s.rest()).unwrap_or_default();
        for (name, got) in &named {
            if !name.starts_with(|c: char| c.is_ascii_lowercase()) || name == "end_session" {
                let allowed = "a name that begins with a lower-case letter and is not end_session";
                reading.given.refuse(&got.at, format!("\"{name}\""), allowed, "choose another name");
            }
        }
        let used = RefCell::new(vec![false; named.len()]);
        Choices { named, used }
    }

    fn find(&self, name: &str) -> Option<&ReadValue<RawValue>> {
        let index = self.named.iter().position(|(n, _)| n == name)?;
        self.used.borrow_mut()[index] = true;
        Some(&self.named[index].1)
    }

    /// Refuses unused choices: they have not been checked.
    pub(crate) fn finish(&self, reading: &ScenarioReader<'_>) {
        let used = self.used.borrow();
        for ((name, got), _) in self.named.iter().zip(used.iter()).filter(|(_, used)| !**used) {
            reading.given.refuse(
                &got.at,
                "",
                "choices that some `next` names",
                &format!("remove `{name}`, or use it"),
            );
        }
    }
}

/// Constant context within the `next` of one operation.
struct NextContext<'c> {
    first: OpId,
    choices: &'c Choices,
}

impl ScenarioReader<'_> {
    /// The transition of an operation in a behaviour that begins with `first`.
    pub(crate) fn next(
        &mut self,
        got: &ReadValue<RawValue>,
        first: OpId,
        choices: &Choices,
    ) -> Option<NextOp> {
        self.nested(got, &NextContext { first, choices }, 0)
    }

    fn nested(&mut self, got: &ReadValue<RawValue>, around: &NextContext<'_>, depth: u32) -> Option<NextOp> {
        if depth > DEEPEST {
            let allowed = format!("at most {DEEPEST} choices within each other");
            self.given.refuse(&got.at, "", &allowed, "let no choice lead back to itself");
            return None;
        }
        match &got.value {
            RawValue::Text(text) if text == "end_session" => Some(NextOp::EndSession { first: around.first }),
            RawValue::Text(text) if text.starts_with(|c: char| c.is_ascii_lowercase()) => {
                let Some(choice) = around.choices.find(text) else {
                    let named = around.choices.named.iter().map(|(name, _)| name.as_str());
                    let known = std::iter::once("end_session").chain(named);
                    self.given.refuse_name(
                        &got.at,
                        text,
                        "the end of the session, or a name under [choices]",
                        known,
                    );
                    return None;
                };
                self.nested(&choice.clone(), around, depth + 1)
            }
            RawValue::Text(text) => self.operation_number(&got.at, text).map(NextOp::Op),
            RawValue::Table(entries) if entries.iter().any(|(key, _)| key == "choose") => {
                self.choice(got, around, depth)
            }
            RawValue::Table(entries) if !entries.is_empty() => {
                self.vector(&got.at, entries).map(NextOp::Vector)
            }
            other => {
                self.given.refuse(&got.at, crate::resolved::inline(other), ALLOWED, "write one of them");
                None
            }
        }
    }

    fn vector(&self, at: &KeyPosition, entries: &[(String, Node)]) -> Option<Vector> {
        let mut shares: Vec<(OpId, Share)> = Vec::with_capacity(entries.len());
        for (name, node) in entries {
            let at = at.inner(name, node.line);
            let share = as_share(&node.plain);
            if share.is_none() {
                let found = crate::resolved::inline(&node.plain);
                self.given.refuse(&at, found, crate::qos::SHARE, "correct it");
            }
            shares.push((self.operation_number(&at, name)?, share?));
        }
        let sum: f64 = shares.iter().map(|s| s.1.get()).sum();
        let vector = Vector::new(shares);
        if vector.is_err() {
            self.given.refuse(
                at,
                format!("shares that sum to {sum:.6}"),
                "shares that sum to 1",
                "correct the shares",
            );
        }
        vector.ok()
    }

    fn choice(&mut self, got: &ReadValue<RawValue>, around: &NextContext<'_>, depth: u32) -> Option<NextOp> {
        if let Some((key, node)) = got.value.entries().iter().find(|(key, _)| key != "choose") {
            let at = got.at.inner(key, node.line);
            self.given.refuse(&at, "", "nothing beside `choose`", "remove the key");
        }
        let at = got.at.inner("choose", got.at.line);
        let (chooser, branches) = match got.value.entry("choose")? {
            RawValue::List(items) => self.conditions(&at, items, around, depth)?,
            table @ RawValue::Table(_) => {
                self.by_script(&ReadValue { value: table.clone(), at: at.clone() }, around, depth)?
            }
            other => {
                let allowed =
                    "a list of { when = CONDITION, next = ... } with { else = ... } at its end, or a script";
                self.given.refuse(&at, crate::resolved::inline(other), allowed, "write it so");
                return None;
            }
        };
        Some(NextOp::Choose { chooser: self.chooser(&at, chooser)?, branches })
    }

    /// The number of a chooser; equal ones share one.
    fn chooser(&mut self, at: &KeyPosition, chooser: Chooser) -> Option<ChooserId> {
        let known = self.choosers.iter().position(|c| *c == chooser);
        let index = known.unwrap_or_else(|| {
            self.choosers.push(chooser);
            self.choosers.len() - 1
        });
        if index >= MOST_CHOOSERS {
            self.given.refuse(at, "", "at most 256 different choices", "use fewer");
        }
        u8::try_from(index).ok().map(ChooserId)
    }

    fn conditions(
        &mut self,
        at: &KeyPosition,
        items: &[Node],
        around: &NextContext<'_>,
        depth: u32,
    ) -> Option<(Chooser, Vec<NextOp>)> {
        let mut scope = Scope::new(DrawScope::Activity);
        let (mut conditions, mut branches) = (Vec::new(), Vec::new());
        let last = items.len().checked_sub(1).filter(|_| items.len() <= MOST_BRANCHES);
        for (i, node) in items.iter().enumerate() {
            let at = at.element(i, node.line);
            let inner = |key| {
                let (_, node) = node.plain.entries().iter().find(|(k, _)| k == key)?;
                Some(ReadValue { value: node.plain.clone(), at: at.inner(key, node.line) })
            };
            let count = node.plain.entries().len();
            let next = match (inner("when"), inner("next"), inner("else")) {
                (Some(when), Some(next), None) if count == 2 && Some(i) != last => {
                    conditions.push(self.condition(&when, &mut scope)?);
                    next
                }
                (None, None, Some(next)) if count == 1 && Some(i) == last => next,
                _ => {
                    let found = crate::resolved::inline(&node.plain);
                    let allowed = "{ when = CONDITION, next = ... }, and { else = ... } as the last one only";
                    self.given.refuse(&at, found, allowed, "write it so");
                    return None;
                }
            };
            branches.push(self.nested(&next, around, depth + 1)?);
        }
        if last.is_none() {
            let allowed = format!("1 to {MOST_BRANCHES} branches");
            self.given.refuse(at, items.len(), &allowed, "add { else = ... }, or split the choice");
            return None;
        }
        Some((Chooser::When { draws: scope.draws, conditions }, branches))
    }

    fn by_script(
        &mut self,
        got: &ReadValue<RawValue>,
        around: &NextContext<'_>,
        depth: u32,
    ) -> Option<(Chooser, Vec<NextOp>)> {
        let mut section = Section::inside(self.given, got);
        let call = self.call(&mut section);
        let list = section.any("branches");
        let list = self.required(&section, "branches", list);
        section.finish();
        let list = list?;
        let RawValue::List(items) = &list.value else {
            let found = crate::resolved::inline(&list.value);
            self.given.refuse(&list.at, found, "a list of what may follow", "write it so");
            return None;
        };
        if items.is_empty() || items.len() > MOST_BRANCHES {
            let allowed = format!("1 to {MOST_BRANCHES} branches");
            self.given.refuse(&list.at, items.len(), &allowed, "correct the list");
            return None;
        }
        let mut branches = Vec::with_capacity(items.len());
        for (i, node) in items.iter().enumerate() {
            let branch = ReadValue { value: node.plain.clone(), at: list.at.element(i, node.line) };
            branches.push(self.nested(&branch, around, depth + 1)?);
        }
        Some((Chooser::Script { call: call?, branches: branches.len() }, branches))
    }
}
