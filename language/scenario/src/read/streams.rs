//! Reads actions on Server-Sent Events and WebSockets.

use crate::operation::{Action, StreamId};
use crate::read::ScenarioReader;
use crate::read::names::Scope;
use crate::section::Section;
use crate::template::{Escape, Template};

#[derive(Clone, Copy, PartialEq)]
enum Sse {
    Open,
    Next,
    Close,
}

#[derive(Clone, Copy, PartialEq)]
enum Socket {
    Open,
    Send,
    Receive,
    Close,
}

/// Placeholder for a refused stream.
const NO_STREAM: StreamId = StreamId(0);

impl ScenarioReader<'_> {
    pub(crate) fn sse(&mut self, section: &mut Section<'_>, scope: &mut Scope) -> Action {
        let words = [("open", Sse::Open), ("next", Sse::Next), ("close", Sse::Close)];
        let step = section.word_if("sse", &words);
        let stream = self.named_stream(section);
        let Some(step) = step else {
            // Without its step the other keys cannot be checked.
            section.rest();
            return Action::SseClose(stream);
        };
        match step {
            Sse::Open => Action::SseOpen(stream, self.request(section, scope)),
            Sse::Next => Action::SseNext(stream, section.text("event").map(|got| got.value.into())),
            Sse::Close => Action::SseClose(stream),
        }
    }

    pub(crate) fn websocket(&mut self, section: &mut Section<'_>, scope: &mut Scope) -> Action {
        let words = [
            ("open", Socket::Open),
            ("send", Socket::Send),
            ("receive", Socket::Receive),
            ("close", Socket::Close),
        ];
        let step = section.word_if("websocket", &words);
        let stream = self.named_stream(section);
        let Some(step) = step else {
            section.rest();
            return Action::SocketClose(stream);
        };
        match step {
            Socket::Open => {
                let protocols = section.texts("protocols").into_iter().map(|got| got.value.into()).collect();
                Action::SocketOpen(stream, self.head(section, scope, "GET"), protocols)
            }
            Socket::Send => Action::SocketSend(stream, self.message(section, scope)),
            Socket::Receive => Action::SocketReceive(stream),
            Socket::Close => Action::SocketClose(stream),
        }
    }

    fn named_stream(&mut self, section: &mut Section<'_>) -> StreamId {
        let stream = section.text("stream");
        let stream = self.required(section, "stream", stream);
        stream.and_then(|name| self.stream(&name)).unwrap_or(NO_STREAM)
    }

    fn message(&mut self, section: &mut Section<'_>, scope: &mut Scope) -> Template {
        if let Some(json) = section.any("json") {
            return self.json(&json, scope);
        }
        let text = section.text("text");
        let text = self.required(section, "text", text);
        text.map(|text| self.template(&text, Escape::Raw, scope)).unwrap_or_default()
    }
}
