//! The measured SMTP and LMTP client.
//!
//! A [`Client`] is one worker's and makes [`Session`]s: connection, greeting, EHLO, TLS and login as the
//! address requires. [`Session::submit`] sends one mail, in one round trip for its envelope where the server
//! allows pipelining. No retry and no queue: a refusal is a result. Time-outs are the engine's.

mod body;
mod client;
mod extensions;
mod flaw;
#[cfg(test)]
mod fuzz;
mod reply;
mod session;

pub use barograph_lines::{Address, AddressError, Scheme, Target};
pub use client::{Client, Dialect};
pub use extensions::Extensions;
pub use flaw::Flaw;
pub use reply::Reply;
pub use session::{Envelope, Receipt, Session};

/// Failure of a call.
pub type Fault = barograph_lines::Fault<Flaw>;

/// The names of SMTP in addresses. Port 587 is that of submission.
pub const SCHEME: Scheme = Scheme { clear: "smtp", port: 587, tls: "smtps", tls_port: 465 };
