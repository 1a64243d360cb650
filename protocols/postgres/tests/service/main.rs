//! The client at a real server.

mod bulk;
mod ends;
mod logins;
mod sessions;
mod stand;
mod statements;
mod trouble;
