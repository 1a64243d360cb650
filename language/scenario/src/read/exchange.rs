//! Reads `[[operations.NAME.exchanges]]`: condition, repetition, target, action.

use crate::draw::DrawScope;
use crate::operation::{Action, Exchange, ForEach, Wait};
use crate::read::ScenarioReader;
use crate::read::names::Scope;
use crate::section::Section;
use crate::settings_reader::{RawValue, ReadValue};

/// Most repetitions of an exchange within an operation.
const MOST_REPEATS: i64 = 1_000;

/// Default status of a wait that ran out: request timeout.
const EXPIRED: i64 = 408;

impl ScenarioReader<'_> {
    /// An exchange, and the name of its group if it has one.
    pub(crate) fn exchange(&mut self, mut section: Section<'_>) -> (Exchange, Option<String>) {
        let mut scope = Scope::new(DrawScope::Exchange);
        let when = section.any("when").and_then(|got| self.condition(&got, &mut scope));
        let mut for_each = section.section("for_each").and_then(|s| self.for_each(s, &mut scope));
        let group = self.group(&mut section);
        let action = self.action(&mut section, &mut scope);
        let wait = self.wait(&mut section);
        let has_head = !matches!(action, Action::SseNext(..) | Action::SocketReceive(_));
        let has_answer =
            !matches!(action, Action::SseClose(_) | Action::SocketSend(..) | Action::SocketClose(_));
        let (extract, check) =
            if has_answer { self.answer(&mut section, has_head, &mut scope) } else { Default::default() };
        section.finish();
        let draws = scope.draws;
        if let Some(each) = &mut for_each {
            each.side_by_side = group.is_some();
        }
        (Exchange { when, for_each, draws, action, wait, extract, check }, group)
    }

    fn for_each(&mut self, mut section: Section<'_>, scope: &mut Scope) -> Option<ForEach> {
        let list = section.text("list");
        let item = section.text("as");
        let at_most = section.integer_or("at_most", 1..=MOST_REPEATS, 100) as u32;
        let list = self.required(&section, "list", list);
        let item = self.required(&section, "as", item);
        section.finish();
        let (list, item) = (list?, item?);
        let list = self.find(&list.at, &list.value, scope)?;
        let (_, item) = self.names.place(&item.value)?;
        Some(ForEach { list: list.source, item, at_most, side_by_side: false })
    }

    /// Group of an exchange: `parallel = true` joins neighbours with the same setting; a text joins
    /// neighbours with the same text.
    fn group(&self, section: &mut Section<'_>) -> Option<String> {
        let ReadValue { value, at } = section.any("parallel")?;
        match value {
            RawValue::Flag(parallel) => parallel.then(String::new),
            RawValue::Text(name) => Some(name),
            other => {
                let found = crate::resolved::inline(&other);
                self.given.refuse(&at, found, "true, or the name of a group", "remove it, or write true");
                None
            }
        }
    }

    fn wait(&self, section: &mut Section<'_>) -> Option<Wait> {
        if !section.flag("wait", false) {
            return None;
        }
        let got = section.any("expired");
        let Some(got) = got else { return Some(Wait { expired: vec![EXPIRED as u16] }) };
        let RawValue::List(items) = &got.value else {
            let found = crate::resolved::inline(&got.value);
            self.given.refuse(&got.at, found, "a list of statuses, as in [408, 504]", "write it so");
            return None;
        };
        let status = |n: &crate::settings_reader::Node| match n.plain {
            RawValue::Integer(n @ 100..=599) => Some(n as u16),
            _ => None,
        };
        let expired: Option<Vec<u16>> = items.iter().map(status).collect();
        if expired.is_none() {
            self.given.refuse(
                &got.at,
                crate::resolved::inline(&got.value),
                "statuses from 100 to 599",
                "correct them",
            );
        }
        Some(Wait { expired: expired? })
    }

    fn action(&mut self, section: &mut Section<'_>, scope: &mut Scope) -> Action {
        match (section.has("sse"), section.has("websocket")) {
            (true, false) => self.sse(section, scope),
            (false, true) => self.websocket(section, scope),
            (false, false) => Action::Request(self.request(section, scope)),
            (true, true) => {
                let at = section.at_key("sse");
                self.given.refuse(&at, "", "`sse` or `websocket`, not both", "make two exchanges of it");
                section.any("sse");
                self.websocket(section, scope)
            }
        }
    }
}
