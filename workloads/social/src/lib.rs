//! The social workload: users of a site of events, who look, search, join, post and attend.
//!
//! A user goes from operation to operation by a published matrix and starts them in cycles. An operation is a page
//! with its static files and pictures, as far as the browser cache of the user lacks them. After the run every
//! person and event that the site has acknowledged must be there with its files.
//!
//! `README.md` beside this folder's manifest describes the extent of the model.

mod ask;
mod browser;
mod form;
mod ledger;
mod measures;
mod operation;
mod page;
mod plan;
mod prepared;
mod program;
mod rules;
mod seam;
#[cfg(test)]
mod tests;
mod topology;
mod user;
mod verify;

pub use seam::Social;
