//! Servers of this test that answer well, badly, in part or not at all, and the embedded server.

mod broken;
mod embedded;

use barograph_smtp::{Address, Client, Dialect, SCHEME, Target};

/// A client of an address.
fn client(url: &str, dialect: Dialect) -> Client {
    Client::new(&Target::resolve(Address::parse(url, SCHEME).unwrap()).unwrap(), dialect)
}

/// Runs `work` on a loop like a worker's.
fn on_worker<T>(work: impl Future<Output = T>) -> T {
    barograph_reactor::block_on(work).unwrap()
}
