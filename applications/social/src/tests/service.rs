//! The site on real services, and in a real browser.

mod browsing;
mod stores;
