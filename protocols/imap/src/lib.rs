//! The measured client of IMAP4rev1.
//!
//! A [`Client`] is one worker's and makes [`Session`]s. Each call sends one command and passes the untagged
//! data of its answer to a closure, in place and without allocation; what a session knows of its mailbox
//! ([`Mailbox`]) is kept current by data at any time. UIDs name messages in all commands. No retry and no
//! cache. Time-outs are the engine's.

mod client;
mod data;
mod flaw;
mod frame;
#[cfg(test)]
mod fuzz;
mod mailbox;
mod quoted;
mod session;
mod value;

pub use barograph_lines::{Address, AddressError, Scheme, Target};
pub use client::Client;
pub use data::{Condition, Data, Fetched, Numbers, Status};
pub use flaw::Flaw;
pub use mailbox::Mailbox;
pub use session::Session;
pub use value::{List, Value};

/// Failure of a call.
pub type Fault = barograph_lines::Fault<Flaw>;

/// The names of IMAP in addresses.
pub const SCHEME: Scheme = Scheme { clear: "imap", port: 143, tls: "imaps", tls_port: 993 };
