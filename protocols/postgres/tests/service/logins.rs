//! Passwords in every way that the server knows.

use std::error::Error as _;

use barograph_postgres::{Connection, Fault, SqlState};
use barograph_test_services::Service;
use barograph_testkit::Authority;

use super::stand::{client, on_worker, refused, reload, run, secure, server, session, url};

/// Users with their methods.
const METHODS: [(&str, &str); 3] = [("clear", "password"), ("five", "md5"), ("scram", "scram-sha-256")];

/// Makes a user for each method, all with the password `pä ss/`, and waits until the server asks them for it.
async fn users(server: &Service, session: &mut Connection) {
    let mut rules = String::new();
    for (user, method) in METHODS {
        let encryption = if method == "md5" { "md5" } else { "scram-sha-256" };
        run(session, &format!("SET password_encryption = '{encryption}'")).await;
        run(session, &format!("CREATE USER {user} PASSWORD 'pä ss/'")).await;
        rules.push_str(&format!("host all {user} all {method}\n"));
    }
    let file = server.folder().join("pg_hba.conf");
    let rest = std::fs::read_to_string(&file).unwrap();
    // Written in place: the file stays the server's own.
    std::fs::write(&file, rules + &rest).unwrap();
    reload(session).await;
    while client(&url(server, "scram", "")).connect(0).await.is_ok() {}
}

/// Who the server takes a session for.
async fn name(mut session: Connection) -> String {
    let mut replies = session.query("SELECT current_user").unwrap();
    let name = replies.row().await.unwrap().unwrap().get::<&str>(0).unwrap().to_owned();
    replies.finish().await.unwrap();
    name
}

#[test]
fn passwords_are_taken_in_every_method_and_wrong_ones_refused() {
    let Some(server) = server() else { return };
    let authority = Authority::new().unwrap();
    on_worker(async {
        users(&server, &mut session(&server).await).await;
        for (user, _) in METHODS {
            let good = url(&server, &format!("{user}:p%C3%A4%20ss%2F"), "");
            assert_eq!(name(client(&good).connect(0).await.unwrap()).await, user);
            let fault = refused(&url(&server, &format!("{user}:wrong"), "")).await;
            assert_eq!(fault.diagnostic().unwrap().state(), SqlState(*b"28P01"), "{fault:?}");
            let fault = refused(&url(&server, user, "")).await;
            assert!(matches!(fault, Fault::Login(_)), "{fault:?}");
            assert!(fault.source().unwrap().to_string().starts_with("the server asks for a password"));
        }
        // Through TLS the login is bound to the server's certificate.
        secure(&server, &authority).await;
        let bound = url(&server, "scram:p%C3%A4%20ss%2F", "sslmode=require");
        assert_eq!(name(client(&bound).connect(0).await.unwrap()).await, "scram");
    });
}
