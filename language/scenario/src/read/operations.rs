//! Reads `[operations.NAME]`, without its exchanges.

use barograph_model::{OpId, QosRule, Rule};

use crate::draw::DrawScope;
use crate::expression::Condition;
use crate::name;
use crate::operation::{Group, Operation, OperationEffects, Start};
use crate::read::ScenarioReader;
use crate::read::names::Scope;
use crate::section::Section;
use crate::settings_reader::KeyPosition;
use crate::template::{Escape, Template};

/// Most operations: they are numbered in eight bits.
const MOST_OPERATIONS: usize = 256;

/// Most exchanges: more belong into several operations.
const MOST_EXCHANGES: usize = 64;

/// Most activities of a user beside the main one: the limit of the engine.
const MOST_ACTIVITIES: i64 = 16;

/// All operations with their rules.
pub(crate) struct Operations {
    pub(crate) operations: Vec<Operation>,
    /// The usual rules, by operation.
    pub(crate) rules: Vec<QosRule>,
    /// Limits beside the first of an operation.
    pub(crate) further: Vec<Rule>,
}

impl ScenarioReader<'_> {
    pub(crate) fn operations(&mut self, root: &mut Section<'_>) -> Operations {
        let (mut operations, mut rules, mut further) = (Vec::new(), Vec::new(), Vec::new());
        let at = KeyPosition { key: "operations".into(), line: 1 };
        let mut sections = root.named("operations");
        if sections.is_empty() {
            let remedy = "add `[operations.Get]` with `[[operations.Get.exchanges]]`";
            self.given.refuse(&at, "", "at least one operation", remedy);
        }
        if sections.len() > MOST_OPERATIONS {
            let allowed = format!("at most {MOST_OPERATIONS} operations");
            self.given.refuse(&sections[MOST_OPERATIONS].1.at, "", &allowed, "join some of them");
            sections.truncate(MOST_OPERATIONS);
        }
        let mut qos_at = at;
        for (i, (name, section)) in sections.into_iter().enumerate() {
            qos_at = section.at.clone();
            let (operation, (rule, more)) = self.operation(OpId(i as u8), &name, section);
            operations.push(operation);
            rules.push(rule);
            further.extend(more);
        }
        self.mix_fits(&qos_at, &rules);
        Operations { operations, rules, further }
    }

    fn operation(
        &mut self,
        op: OpId,
        name: &str,
        mut section: Section<'_>,
    ) -> (Operation, (QosRule, Vec<Rule>)) {
        if !is_operation(name) {
            let allowed = "letters and digits, the first a capital, as in `PlaceOrder`";
            self.given.refuse(&section.at, format!("\"{name}\""), allowed, "choose another name");
        }
        let about = section.text_or("about", "");
        let groups = self.groups(&mut section);
        let waits = groups.iter().flatten().any(|exchange| exchange.wait.is_some());
        let rules = self.rules(&mut section, op, waits);
        let beside = self.beside(&mut section);
        section.finish();
        let operation =
            Operation { name: name::leak(name), about: name::leak(&about), groups, order: None, beside };
        (operation, rules)
    }

    fn groups(&mut self, section: &mut Section<'_>) -> Vec<Group> {
        let exchanges = section.list("exchanges");
        if exchanges.is_empty() && !section.was_given("exchanges") {
            let at = section.at_key("exchanges");
            self.given.refuse(&at, "", "at least one exchange", &format!("add `[[{}]]`", at.key));
        }
        let mut groups: Vec<Group> = Vec::new();
        let mut before: Option<String> = None;
        for (i, exchange) in exchanges.into_iter().enumerate() {
            if i == MOST_EXCHANGES {
                let allowed = format!("at most {MOST_EXCHANGES} exchanges in an operation");
                self.given.refuse(&exchange.at, "", &allowed, "make several operations of it");
            }
            let (exchange, group) = self.exchange(exchange);
            match groups.last_mut() {
                Some(last) if group.is_some() && group == before => last.push(exchange),
                _ => groups.push(vec![exchange]),
            }
            before = group;
        }
        groups
    }

    fn beside(&mut self, section: &mut Section<'_>) -> OperationEffects {
        let mut scope = Scope::new(DrawScope::Exchange);
        let mut condition = |section: &mut Section<'_>, key| -> Option<Condition> {
            section.any(key).and_then(|got| self.condition(&got, &mut scope))
        };
        let stop_others = condition(section, "stop_others");
        let end = condition(section, "end");
        let reset = condition(section, "reset");
        let start = section.section("start").and_then(|s| self.start(s, &mut scope));
        OperationEffects { draws: scope.draws, start, stop_others, end, reset }
    }

    fn start(&mut self, mut section: Section<'_>, scope: &mut Scope) -> Option<Start> {
        let behaviour = section.text("behaviour");
        let argument = section.text("argument");
        let argument = argument.map_or_else(Template::default, |a| self.template(&a, Escape::Raw, scope));
        let at_most = section.integer_or("at_most", 1..=MOST_ACTIVITIES, MOST_ACTIVITIES) as u32;
        let when = section.any("when").and_then(|got| self.condition(&got, scope));
        let behaviour = self.required(&section, "behaviour", behaviour);
        section.finish();
        let behaviour = behaviour?;
        let number = self.behaviours.iter().position(|name| *name == behaviour.value);
        let number = number.filter(|n| *n > 0).and_then(|n| u8::try_from(n).ok());
        let Some(number) = number else {
            let others = self.behaviours.iter().filter(|n| *n != "main").map(String::as_str);
            self.given.refuse_name(&behaviour.at, &behaviour.value, "a behaviour beside main", others);
            return None;
        };
        Some(Start { behaviour: barograph_model::BehaviourId(number), argument, at_most, when })
    }
}

/// Whether a name is in CamelCase, the custom of the field; so none is taken for a word of the language.
fn is_operation(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(|c| c.is_ascii_alphanumeric())
}
