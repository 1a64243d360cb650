//! The mail workload: users who read, file and write mail by IMAP, SMTP and LMTP.
//!
//! Every user has a mailbox of its own and draws its operations from the mix of a heavy user. Most users hold
//! IDLE on a second connection, which tells when a submitted mail is visible. Every mail has an id and a hash
//! of its content; after the run all mailboxes are read and compared with what was submitted, appended and
//! deleted: mail that is lost, doubled or altered makes the run invalid.
//!
//! `README.md` beside this folder's manifest describes the extent of the model.

mod address;
mod background;
mod fill;
mod greetings;
mod inventory;
mod ledger;
mod measures;
mod message;
mod one_line;
mod operation;
mod plan;
mod prepared;
mod program;
mod seam;
#[cfg(test)]
mod tests;
mod topology;
mod user;
mod verify;
mod vocabulary;
mod watch;

pub use seam::Mail;
