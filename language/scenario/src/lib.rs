//! The scenario language: users as small programs in a file, read, checked and compiled.
//!
//! A scenario describes users of any HTTP service: operations of one or more exchanges, the values sent and
//! extracted, the checks of answers, and the order and pace of operations. [`read`] turns text into a checked
//! [`Scenario`], or into all [`Refusal`](barograph_model::Refusal)s at once with file, line and key.
//! The language itself is described in docs/scenario.md. This crate does no I/O: files named in a scenario
//! are read through a function passed to [`read`].
//!
//! # The compiled form
//!
//! Everything is resolved: names have become numbers, texts with `{name}` have become [`Template`]s, regular
//! expressions, JSON pointers and schemas are compiled. A [`Scenario`] is immutable and goes into an `Arc` that all
//! workers share; data files and file bodies are in it once.
//!
//! **For the engine**: [`Scenario::behaviours`], [`Scenario::operations`] (names), [`Scenario::rules`].
//! A `ChooserId` is an index into [`Scenario::choosers`], an `OpId` into [`Scenario::operations`].
//!
//! **Where values live.** A [`Source`] is the origin of a value: a [`SlotIndex`], a column of the data row whose
//! number is kept in a place, or a [`BuiltIn`]. A place is a slot in one of four arrays by its [`Life`];
//! [`Scenario::slots`] gives the length of each array:
//!
//! | life | one array per | cleared when |
//! |---|---|---|
//! | `User` | user | never |
//! | `Session` | user | `end_session` |
//! | `Activity` | activity of a user | the activity ends; the main one's never |
//! | `Operation` | operation in progress | the operation ends |
//!
//! Only one operation of an activity runs at a time, but activities of a user interleave, so the values of an
//! operation are in an array of its own. Values are [`Value`]s; their owner shows them as [`View`]s through
//! the trait [`Values`], which is all that templates and conditions ask for.
//!
//! **Doing an operation** ([`Operation`]), in order:
//!
//! 1. Do the groups one after the other. The exchanges of a group run side by side; most groups have one.
//! 2. An [`Exchange`] with `for_each` is done once per item of the list, at most `at_most` times, not at all when there
//!    is no list; others once. Each time: put the item into its place; make the draws of `exchange.draws` in their
//!    order, those [`DrawScope::Exchange`] always, the others where their place is empty; leave the rest out unless `when`
//!    holds; render; send.
//! 3. `Template::fixed` gives the bytes of a template without placeholders, so that what is constant is prepared once.
//!    A template with an absent value cannot be rendered: nothing is sent, and the operation is
//!    `WrongAnswer`.
//! 4. Judge the answer: a `wait` whose status is listed in `wait.expired` makes the operation `Expired`; a status
//!    outside `check.status` makes it `Refused`; any other broken check, and a required extraction that finds nothing,
//!    makes it `WrongAnswer`. The first bad exchange ends the operation. Otherwise put extracted values in their places.
//! 5. Apply the requests to the engine ([`OperationEffects`]), its draws first: `start` only after a good operation;
//!    `stop_others`, `end` and `reset` after any, when their conditions hold; the built-in `outcome` is
//!    already this operation's.
//!
//! **Activities.** `OpContext::argument` is a number, the argument of a started behaviour is a text. So the executor keeps a
//! frame per activity (argument text, behaviour, `Activity` slots) and passes the frame's number; frame 0 is the main
//! activity's. It counts frames by behaviour for `start.at_most`, and frees a frame when its activity ends itself, is
//! stopped by another, or the user is reset.
//!
//! **Choosers** ([`Chooser`]): the first branch whose condition holds, the last one otherwise; or a script's function.
//! `chooser.draws` are made first where their places are empty. The frame of the operation is gone by then: a chooser
//! names only values that live longer, which is checked.
//!
//! **Streams.** Server-Sent Events and WebSockets are opened under a name and live in the user until closed, the
//! session's end or the user's: `StreamId` is an index into [`Scenario::streams`].
//!
//! **Scripts** choose and compute, never do I/O: [`Script`] holds source and path, [`Call`] names a function. Values are
//! visible to a script by name through [`Scenario::names`].
//!
//! **Time of day**: [`Generator::Timestamp`] needs it, and the executor's owner provides it.

mod behaviour;
mod check;
mod data;
mod draw;
mod expression;
mod json;
mod minimal;
mod mix;
mod name;
mod operation;
mod pattern;
mod qos;
mod read;
mod resolved;
mod scenario;
mod section;
mod settings_reader;
mod target;
mod template;
mod value;

pub use behaviour::{Call, Chooser, Script, ScriptId};
pub use check::{BodyCheck, Check, ExpectedValue, HeaderCheck, HeaderTest};
pub use data::{Data, DataId};
pub use draw::{Draw, DrawId, DrawScope, DrawSource, Generator, Pick, TimeFormat};
pub use expression::{Condition, Operand, Relation};
pub use json::{Pointer, Step, say, without_mark};
pub use minimal::{Minimal, minimal};
pub use name::leak;
pub use operation::{
    Action, Body, Exchange, Extraction, ExtractionSource, ForEach, Group, Header, Operation,
    OperationEffects, Order, Request, Start, StreamId, Wait,
};
pub use pattern::{Pattern, Schema};
pub use read::{Files, MOST_BODY, MOST_REDIRECTS, read, statuses};
pub use scenario::Scenario;
pub use target::{Connections, Protocol, Target, Tls, Url};
pub use template::{Escape, Segment, Template};
pub use value::{BuiltIn, Life, SlotIndex, Slots, Source, Value, Values, View};
