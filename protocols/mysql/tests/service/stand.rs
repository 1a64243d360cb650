//! A server, and sessions of it.

use barograph_mysql::{Address, Client, Connection, ErrorCode, Fault, Target};
use barograph_test_services::{Service, or_skip, product};

/// A server with these settings; `None` after a line that says why there is none.
pub(crate) fn server_with(settings: &str) -> Option<Service> {
    or_skip(product("mariadb", &[("connections", "50"), ("settings", settings)]))
}

/// A server; `None` after a line that says why there is none.
pub(crate) fn server() -> Option<Service> {
    server_with("")
}

/// An address of it, with this user and this query.
pub(crate) fn url(server: &Service, user: &str, query: &str) -> String {
    format!("mysql://{user}@127.0.0.1:{}/auction?{query}", server.port())
}

/// A client of an address.
pub(crate) fn client(address: &str) -> Client {
    Client::new(&Target::resolve(Address::parse(address).unwrap(), &[]).unwrap())
}

/// A session of the user who may do everything.
pub(crate) async fn session(server: &Service) -> Connection {
    client(&url(server, "auction", "")).connect(0).await.unwrap()
}

/// The reason why there is no session at an address.
pub(crate) async fn refused(address: &str) -> Fault {
    match client(address).connect(0).await {
        Ok(_) => panic!("a session was made at {address}"),
        Err(fault) => fault,
    }
}

/// Runs SQL to its end.
pub(crate) async fn run(session: &mut Connection, sql: &str) -> u64 {
    end(session, sql).await.unwrap_or_else(|fault| panic!("{sql}: {fault:?}"))
}

/// What a query ends with.
pub(crate) async fn end(session: &mut Connection, sql: &str) -> Result<u64, Fault> {
    session.query(sql)?.finish().await
}

/// The first value of a query as text.
pub(crate) async fn text(session: &mut Connection, sql: &str) -> String {
    let mut replies = session.query(sql).unwrap();
    let value = replies.row().await.unwrap().unwrap().get::<&str>(0).unwrap().to_owned();
    replies.finish().await.unwrap();
    value
}

pub(crate) fn code(fault: &Fault) -> ErrorCode {
    fault.diagnostic().unwrap_or_else(|| panic!("{fault:?}")).code()
}

/// Runs `work` on a loop like a worker's.
pub(crate) fn on_worker<T>(work: impl Future<Output = T>) -> T {
    barograph_reactor::block_on(work).unwrap()
}
