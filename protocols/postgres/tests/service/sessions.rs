//! Ways to a server, and what a session begins with.

use std::error::Error as _;

use barograph_model::Outcome;
use barograph_postgres::{Fault, SqlState, Transaction};
use barograph_testkit::Authority;

use super::stand::{client, data, on_worker, refused, run, secure, server, session, url};

#[test]
fn a_session_begins_over_tcp_and_over_a_socket() {
    let Some(server) = server() else { return };
    on_worker(async {
        let mut over_tcp = session(&server).await;
        assert_eq!(over_tcp.transaction(), Transaction::Idle);
        assert!(over_tcp.setting("server_version").unwrap().starts_with(|c: char| c.is_ascii_digit()));
        assert_eq!(over_tcp.setting("client_encoding"), Some("UTF8"));
        assert!(over_tcp.is_usable());
        let mut replies = over_tcp.query("SELECT inet_client_addr()").unwrap();
        let from = replies.row().await.unwrap().unwrap();
        assert_eq!(from.get(0), Ok("127.0.0.1"), "the address that the rules of servers name");
        replies.finish().await.unwrap();
        let socket = format!(
            "host={} port={} user=postgres dbname=template1 application_name=over-socket",
            data(&server).display(),
            server.port()
        );
        let mut over_socket = client(&socket).connect(0).await.unwrap();
        let sql =
            "SELECT current_database(), current_setting('application_name'), inet_client_addr() IS NULL";
        let mut replies = over_socket.query(sql).unwrap();
        let row = replies.row().await.unwrap().unwrap();
        assert_eq!([0, 1, 2].map(|n| row.get::<&str>(n).unwrap()), ["template1", "over-socket", "t"]);
        replies.finish().await.unwrap();
        let options = client(&url(&server, "postgres", "options=-c%20statement_timeout%3D77s"));
        let mut session = options.connect(3).await.unwrap();
        let mut replies = session.query("SHOW statement_timeout").unwrap();
        assert_eq!(replies.row().await.unwrap().unwrap().get(0), Ok("77s"));
        replies.finish().await.unwrap();
        // A change of a setting that the server reports.
        run(&mut session, "SET application_name = 'another'").await;
        assert_eq!(session.setting("application_name"), Some("another"));
    });
}

#[test]
fn a_session_that_is_refused_says_why() {
    let Some(server) = server() else { return };
    on_worker(async {
        let database = format!("postgres://postgres@127.0.0.1:{}/nothing", server.port());
        let fault = refused(&database).await;
        let said = fault.diagnostic().expect("the server says why");
        assert_eq!((said.state(), fault.outcome()), (SqlState(*b"3D000"), Outcome::Refused));
        assert_eq!(fault.to_string(), "the server refuses the session");
        assert_eq!(fault.source().unwrap().to_string(), "database \"nothing\" does not exist (3D000)");
        let fault = refused(&url(&server, "nobody", "")).await;
        assert_eq!(fault.diagnostic().unwrap().state(), SqlState(*b"28000"), "{fault:?}");
        let fault = refused(&url(&server, "postgres", "sslmode=require")).await;
        assert_eq!(
            fault.to_string(),
            format!(
                "127.0.0.1:{} speaks no TLS: set `ssl = on` there, or sslmode=disable here",
                server.port()
            )
        );
    });
}

#[test]
fn tls_is_with_any_server_or_with_a_known_one() {
    let Some(server) = server() else { return };
    let (authority, other) = (Authority::new().unwrap(), Authority::new().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, authority: &Authority| {
        let file = folder.path().join(name);
        std::fs::write(&file, authority.ca_pem()).unwrap();
        file.display().to_string()
    };
    let (good, bad) = (file("good.pem", &authority), file("bad.pem", &other));
    on_worker(async {
        secure(&server, &authority).await;
        for query in ["sslmode=require".to_owned(), format!("sslmode=verify-full&sslrootcert={good}")] {
            let mut session = client(&url(&server, "postgres", &query)).connect(0).await.unwrap();
            let mut replies =
                session.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").unwrap();
            assert_eq!(replies.row().await.unwrap().unwrap().get(0), Ok("t"));
            replies.finish().await.unwrap();
            assert!(session.is_usable());
        }
        let fault =
            refused(&url(&server, "postgres", &format!("sslmode=verify-full&sslrootcert={bad}"))).await;
        assert!(matches!(fault, Fault::Connect(barograph_net::Fault::Tls { .. })), "{fault:?}");
    });
}
