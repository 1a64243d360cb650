//! The client at a real server. Servers start slowly, so the tests of a file share one.

mod bulk;
mod ends;
mod sessions;
mod stand;
mod statements;
mod trouble;
