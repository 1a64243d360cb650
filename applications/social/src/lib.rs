//! A social site of events: people with friends, events with attendees, comments, tags, pictures and documents.
//!
//! Pages are HTML over HTTP with their static files, and answer conditional requests. Rows are in a SQLite file, in
//! PostgreSQL or in MariaDB, with memcached or Redis as a cache of rows before them; pictures and documents are files
//! in a folder, or objects of an S3 bucket. The geocoder is a service of its own, which the site asks for every new address.
//!
//! Not a server for a real site: passwords are hashed without a slow function, the fill and the checks are open to
//! every client, and there is no TLS.

mod cache;
mod check;
mod cookie;
mod files;
mod fill;
mod form;
mod geocoder;
mod html;
mod made;
mod maria;
mod pages;
mod postgres;
mod reset;
mod schema;
mod server;
mod sessions;
mod site;
mod size;
mod sqlite;
mod statics;
mod store;
#[cfg(test)]
mod tests;
mod writer;

pub use cache::CacheError;
pub use check::{Added, Counts};
pub use files::{FileKind, FileMaker, FilePlace};
pub use fill::{FillError, fill};
pub use geocoder::serve as serve_geocoder;
pub use made::{EventText, PASSWORD, PersonText, tag_name, user_name};
pub use server::serve;
pub use site::{Site, SiteError, SiteOptions};
pub use size::{FillOrder, Size};
pub use statics::{STATICS, STATICS_OF_EVENT};
pub use store::StoreError;
