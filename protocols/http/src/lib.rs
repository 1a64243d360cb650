//! The measured HTTP client: HTTP/1.1 read in place, HTTP/2, event streams and WebSockets, on the connections
//! of `barograph-net`.
//!
//! It does what a measuring client may do and nothing more: no redirects, no decompression, no cookies, no
//! retry that could hide time. The exceptions are those of every browser: a GET, HEAD or OPTIONS on a kept
//! connection that the peer closed before the first byte of an answer is sent once more on a fresh one, and a
//! request that an HTTP/2 peer declares unprocessed is sent again a few times. Both are counted. The client
//! has no clock: time-outs are the engine's, which drops the exchange, and with it the connection.
//!
//! A [`Target`] is parsed and resolved before any clock starts; a [`Client`] belongs to one worker, and gives
//! each user its [`Connections`]. Over HTTP/1.1 nothing is allocated or copied per request once buffers are
//! warm, and a waiting exchange holds no answer buffer: it is taken when bytes arrive and returned when the
//! answer is dropped.

mod answer;
mod carriers;
mod chunks;
mod client;
mod connect;
mod connections;
mod detour;
mod draft;
mod events;
mod exchange;
mod fault;
mod flaw;
#[cfg(test)]
mod fuzz;
mod head;
mod lane;
mod location;
mod multiplex;
mod options;
mod proxy;
mod reader;
mod request;
mod sse;
mod target;
mod translate;
mod url;
mod websocket;

pub use answer::Answer;
pub use barograph_net::{Identity, Policy, Tls, Verify, Watch, certificates};
pub use client::Client;
pub use connections::Connections;
pub use detour::Detour;
pub use draft::Draft;
pub use events::EventStream;
pub use fault::{Fault, TargetError};
pub use flaw::Flaw;
pub use location::Location;
pub use options::{Options, Protocol};
pub use proxy::Proxy;
pub use request::{JSON, Method, PreparedRequest, Request};
pub use sse::Event;
pub use target::{ResolvedTarget, Target};
pub use websocket::{Message, WebSocket};
