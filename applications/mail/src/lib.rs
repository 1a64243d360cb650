//! A small mail server, so that a first run of the mail workload needs no other program.
//!
//! It speaks SMTP, LMTP (after LHLO) and the part of IMAP4rev1 that mail clients use most, and keeps mail in a
//! SQLite file. A mail is answered when it is stored. Not a server for real mail: every account has the same
//! password and exists as soon as it is named, there is no TLS, no queue and no relaying, and of IMAP it lacks
//! ENVELOPE, BODYSTRUCTURE, INTERNALDATE, single MIME parts, and changes of mailbox names.

mod changes;
mod command;
mod fetch;
mod folders;
mod imap;
mod input;
mod search;
mod server;
mod sets;
mod smtp;
mod store;

pub use server::{Addresses, MailServer, ServerError, ServerOptions};
pub use store::{Durability, StoreError};
