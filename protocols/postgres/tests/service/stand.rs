//! A server, and sessions of it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::PathBuf;

use barograph_postgres::{Address, Client, Connection, Fault, Target};
use barograph_test_services::{Service, or_skip, product};
use barograph_testkit::Authority;

/// A server that listens on a socket in its data folder too; `None` after a line that says why there is none.
pub(crate) fn server() -> Option<Service> {
    // A relative folder begins at the data folder, so its path is short for the server.
    let settings = "recovery_init_sync_method=syncfs unix_socket_directories=.";
    or_skip(product("postgres", &[("settings", settings)]))
}

/// Its data folder.
pub(crate) fn data(server: &Service) -> PathBuf {
    server.folder().join("data")
}

/// An address of it, with this user and this query.
pub(crate) fn url(server: &Service, user: &str, query: &str) -> String {
    format!("postgres://{user}@127.0.0.1:{}/postgres?{query}", server.port())
}

/// A client of an address.
pub(crate) fn client(address: &str) -> Client {
    Client::new(&Target::resolve(Address::parse(address).unwrap(), &[]).unwrap())
}

/// A session of the superuser.
pub(crate) async fn session(server: &Service) -> Connection {
    client(&url(server, "postgres", "")).connect(0).await.unwrap()
}

/// What a session could not be made with.
pub(crate) async fn refused(address: &str) -> Fault {
    match client(address).connect(0).await {
        Ok(_) => panic!("a session was made at {address}"),
        Err(fault) => fault,
    }
}

/// Runs SQL to its end.
pub(crate) async fn run(session: &mut Connection, sql: &str) -> u64 {
    session.query(sql).unwrap().finish().await.unwrap()
}

/// Runs `work` on a loop like a worker's.
pub(crate) fn on_worker<T>(work: impl Future<Output = T>) -> T {
    barograph_reactor::block_on(work).unwrap()
}

/// Writes a file that only the server may read.
pub(crate) fn give(server: &Service, name: &str, text: &str) {
    let file = data(server).join(name);
    let owner = fs::metadata(data(server)).unwrap();
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    chown(&file, Some(owner.uid()), Some(owner.gid())).unwrap();
}

/// Makes the server speak TLS with a certificate of the authority.
pub(crate) async fn secure(server: &Service, authority: &Authority) {
    let identity = authority.server().unwrap();
    let [certificate, key] = identity.pem();
    give(server, "server.crt", certificate);
    give(server, "server.key", key);
    let mut session = session(server).await;
    run(&mut session, "ALTER SYSTEM SET ssl = on").await;
    reload(&mut session).await;
    let mut shown = String::new();
    // The server reads its files again after it has answered.
    while shown != "on" {
        let mut replies = session.query("SHOW ssl").unwrap();
        shown = replies.row().await.unwrap().unwrap().get::<&str>(0).unwrap().to_owned();
        replies.finish().await.unwrap();
    }
}

/// Makes the server read its files again.
pub(crate) async fn reload(session: &mut Connection) {
    run(session, "SELECT pg_reload_conf()").await;
}
