//! Ways to a server, and what a session begins with.

use std::error::Error as _;
use std::path::Path;

use barograph_model::Outcome;
use barograph_mysql::{ErrorCode, Fault, LoginError};
use barograph_test_services::Service;
use barograph_testkit::Authority;

use super::stand::{client, code, on_worker, refused, run, server_with, session, text, url};

/// Writes certificates for a server into a folder; the settings that name them, and the files of two authorities, of which
/// the first is the server's.
fn certificates(folder: &Path) -> (String, [String; 2]) {
    let file = |name: &str, text: &str| {
        let file = folder.join(name);
        std::fs::write(&file, text).unwrap();
        file.display().to_string()
    };
    let (authority, other) = (Authority::new().unwrap(), Authority::new().unwrap());
    let identity = authority.server().unwrap();
    let [certificate, key] = identity.pem();
    let (certificate, key) = (file("server.pem", certificate), file("server.key", key));
    let settings = format!("ssl-cert={certificate} ssl-key={key}");
    (settings, [file("good.pem", authority.ca_pem()), file("bad.pem", other.ca_pem())])
}

#[test]
fn a_session_begins_in_every_way_that_the_server_knows() {
    let folder = tempfile::tempdir().unwrap();
    let (settings, authorities) = certificates(folder.path());
    let Some(server) = server_with(&settings) else { return };
    on_worker(async {
        over_tcp_and_a_socket(&server).await;
        through_tls(&server, &authorities).await;
        with_passwords(&server).await;
        refusals_say_why(&server).await;
    });
}

async fn over_tcp_and_a_socket(server: &Service) {
    let mut over_tcp = session(server).await;
    assert!(over_tcp.is_usable() && !over_tcp.in_transaction());
    assert!(over_tcp.version().contains("MariaDB"), "{}", over_tcp.version());
    assert_eq!(text(&mut over_tcp, "SELECT VERSION()").await, over_tcp.version());
    assert_eq!(text(&mut over_tcp, "SELECT CONNECTION_ID()").await, over_tcp.id().to_string());
    assert_eq!(text(&mut over_tcp, "SELECT USER()").await, "auction@127.0.0.1");
    assert_eq!(text(&mut over_tcp, "SELECT @@character_set_client").await, "utf8mb4");
    let socket = server.folder().join("data/socket");
    let address = format!("mysql://auction@/mysql?socket={}", socket.display());
    let mut over_socket = client(&address).connect(0).await.unwrap();
    assert_eq!(
        text(&mut over_socket, "SELECT CONCAT(USER(), ' ', DATABASE())").await,
        "auction@localhost mysql"
    );
    let without = format!("mysql://auction@127.0.0.1:{}", server.port());
    let mut session = client(&without).connect(0).await.unwrap();
    assert_eq!(text(&mut session, "SELECT DATABASE() IS NULL").await, "1");
}

async fn through_tls(server: &Service, [good, bad]: &[String; 2]) {
    for query in ["ssl-mode=required".to_owned(), format!("ssl-mode=verify-identity&ssl-ca={good}")] {
        let mut session = client(&url(server, "auction", &query)).connect(0).await.unwrap();
        let cipher = "SELECT VARIABLE_VALUE <> '' FROM information_schema.SESSION_STATUS \
                      WHERE VARIABLE_NAME = 'Ssl_cipher'";
        assert_eq!(text(&mut session, cipher).await, "1");
        assert!(session.is_usable());
    }
    let fault = refused(&url(server, "auction", &format!("ssl-mode=verify-identity&ssl-ca={bad}"))).await;
    assert!(matches!(fault, Fault::Connect(barograph_net::Fault::Tls { .. })), "{fault:?}");
}

async fn with_passwords(server: &Service) {
    let mut root = session(server).await;
    run(&mut root, "CREATE USER native@'%' IDENTIFIED VIA mysql_native_password USING PASSWORD('pä ss/')")
        .await;
    let good = url(server, "native:p%C3%A4%20ss%2F", "").replace("/auction", "/");
    let mut session = client(&good).connect(0).await.unwrap();
    assert_eq!(text(&mut session, "SELECT CURRENT_USER()").await, "native@%");
    for wrong in ["native:wrong", "native"] {
        let fault = refused(&url(server, wrong, "")).await;
        assert_eq!(code(&fault), ErrorCode::ACCESS_DENIED, "{fault:?}");
    }
    if root.query("INSTALL SONAME 'auth_ed25519'").unwrap().finish().await.is_ok() {
        run(&mut root, "CREATE USER curve@'%' IDENTIFIED VIA ed25519 USING PASSWORD('pw')").await;
        let fault = refused(&url(server, "curve:pw", "")).await;
        assert!(matches!(fault, Fault::Login(LoginError::Plugin(_))), "{fault:?}");
    }
}

async fn refusals_say_why(server: &Service) {
    let fault = refused(&url(server, "auction", "").replace("/auction?", "/nothing?")).await;
    let said = fault.diagnostic().expect("the server says why");
    assert_eq!((said.code(), said.state(), fault.outcome()), (ErrorCode(1049), *b"42000", Outcome::Refused));
    assert_eq!(fault.to_string(), "the server refuses the session");
    assert_eq!(fault.source().unwrap().to_string(), "Unknown database 'nothing' (1049, 42000)");
    let mut sessions = Vec::new();
    let fault = loop {
        match client(&url(server, "native:p%C3%A4%20ss%2F", "").replace("/auction", "/")).connect(0).await {
            Ok(session) => sessions.push(session),
            Err(fault) => break fault,
        }
        assert!(sessions.len() < 60, "the server has 50 connections");
    };
    assert_eq!(code(&fault), ErrorCode::TOO_MANY_CONNECTIONS, "{fault:?}");
}
