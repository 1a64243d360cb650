//! PostgreSQL, MariaDB and FerretDB. Settings of durability are queried from the running server.

use barograph_services::Flavour;

use crate::FLAVOURS;
use crate::said::{connect, program};
use crate::stand::{InstanceSpec, ReadyUnit, TestSite, or_skip};
use std::io::{Read, Write};

/// A row, in psql's unaligned format without headers.
pub(crate) fn psql(url: &str, question: &str) -> String {
    program("psql", &[url, "-AtXq", "-v", "ON_ERROR_STOP=1", "-c", question])
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_keeps_what_it_answered() {
    let Some([service]) = or_skip(["postgres"]) else { return };
    let stand = TestSite::new().await;
    for flavour in FLAVOURS {
        // A topology must not be able to trade durability for speed.
        let values = [(
            "settings",
            "fsync=off synchronous_commit=off full_page_writes=off log_temp_files=7".to_owned(),
        )];
        let up = stand.start(service, InstanceSpec { name: flavour.name(), flavour, values: &values }).await;
        let show = |name: &str| psql(&up.url, &format!("SHOW {name}"));
        for setting in ["fsync", "synchronous_commit", "full_page_writes"] {
            assert_eq!(show(setting), "on", "{setting}");
        }
        assert_eq!(
            (show("dynamic_shared_memory_type").as_str(), show("log_temp_files").as_str()),
            ("mmap", "7kB")
        );
        let wanted = match flavour {
            // The product's default.
            Flavour::Vanilla => ("128MB", "100", "on"),
            Flavour::Tuned => ("512MB", "300", "off"),
        };
        assert_eq!(
            (show("shared_buffers").as_str(), show("max_connections").as_str(), show("jit").as_str()),
            wanted
        );
        psql(&up.url, "CREATE TABLE kept (x int); INSERT INTO kept SELECT generate_series(1, 1000)");
        assert_eq!(psql(&up.url, "SELECT sum(x) FROM kept"), "500500");
        up.assert_listens_at_home();
        up.assert_version();
        up.stop().await;
    }
    stand.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_go_through_pgbouncer() {
    let Some([postgres, pgbouncer]) = or_skip(["postgres", "pgbouncer"]) else { return };
    let stand = TestSite::new().await;
    let flavour = Flavour::Tuned;
    let server = stand.start(postgres, InstanceSpec { name: "postgres-1", flavour, values: &[] }).await;
    for flavour in FLAVOURS {
        let values = [("server", server.main().to_string()), ("connections", "7".to_owned())];
        let up =
            stand.start(pgbouncer, InstanceSpec { name: flavour.name(), flavour, values: &values }).await;
        // A session keeps its connection, and with it what it has set and prepared.
        let session = "SET lock_timeout = 7; PREPARE three AS SELECT 3; EXECUTE three; SHOW lock_timeout";
        assert_eq!(psql(&up.url, session), "3\n7ms");
        assert_eq!(psql(&up.url, "SHOW lock_timeout"), "0");
        psql(&up.url, "CREATE DATABASE shop");
        assert_eq!(psql(&up.url.replace("/postgres", "/shop"), "SELECT current_database()"), "shop");
        // No connection of the pool stays in the database.
        psql(&server.url, "DROP DATABASE shop");
        up.assert_listens_at_home();
        up.assert_version();
        up.stop().await;
    }
    server.stop().await;
    stand.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mariadb_keeps_what_it_answered() {
    let Some([service]) = or_skip(["mariadb"]) else { return };
    let stand = TestSite::new().await;
    for flavour in FLAVOURS {
        let binlog = if flavour == Flavour::Tuned { "on" } else { "off" };
        let values = [
            ("binlog", binlog.to_owned()),
            ("settings", "innodb-flush-log-at-trx-commit=0 sync-binlog=0 long-query-time=3".to_owned()),
        ];
        let up = stand.start(service, InstanceSpec { name: flavour.name(), flavour, values: &values }).await;
        let (host, port) = (up.main().ip().to_string(), up.main().port().to_string());
        let ask = |question: &str| {
            let args =
                ["--no-defaults", "-h", &host, "-P", &port, "-u", "auction", "auction", "-BNe", question];
            program("mariadb", &args)
        };
        let show = |name: &str| ask(&format!("SELECT @@GLOBAL.{name}"));
        let durable = ["innodb_flush_log_at_trx_commit", "innodb_doublewrite", "sync_binlog"];
        assert_eq!(durable.map(show), ["1", "1", "1"]);
        assert_eq!(
            (show("log_bin"), show("long_query_time")),
            (u8::from(binlog == "on").to_string(), "3.000000".to_owned())
        );
        let buffer_mib = show("innodb_buffer_pool_size").parse::<u64>().unwrap() >> 20;
        let wanted = match flavour {
            Flavour::Vanilla => (128, "151", "one-thread-per-connection"),
            Flavour::Tuned => (1024, "300", "pool-of-threads"),
        };
        assert_eq!((buffer_mib, show("max_connections").as_str(), show("thread_handling").as_str()), wanted);
        ask("CREATE TABLE kept (x int); INSERT INTO kept SELECT seq FROM seq_1_to_1000");
        assert_eq!(ask("SELECT sum(x) FROM kept"), "500500");
        assert!(
            up.url.starts_with("mysql://auction@127.0.0.9:") && up.url.ends_with("/auction"),
            "{}",
            up.url
        );
        up.assert_listens_at_home();
        up.assert_version();
        up.stop().await;
    }
    stand.end().await;
}

/// `{hello: 1, $db: "admin"}` in a message of MongoDB's protocol.
fn hello() -> Vec<u8> {
    let mut document = vec![0x10];
    document.extend(b"hello\0\x01\0\0\0\x02$db\0\x06\0\0\0admin\0\0");
    let mut message = Vec::new();
    // Length, number, number answered, kind 2013, flags, a body.
    let length = 16 + 4 + 1 + 4 + document.len() as u32;
    for word in [length, 1, 0, 2013, 0] {
        message.extend(word.to_le_bytes());
    }
    message.push(0);
    message.extend((4 + document.len() as u32).to_le_bytes());
    message.extend(document);
    message
}

/// Answer to `hello`.
pub(crate) fn say_hello(up: &ReadyUnit) -> Vec<u8> {
    let mut stream = connect(up.main());
    stream.write_all(&hello()).unwrap();
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut answer = vec![0; u32::from_le_bytes(length) as usize - 4];
    stream.read_exact(&mut answer).unwrap();
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn ferretdb_speaks_as_mongodb_does() {
    let Some([service]) = or_skip(["ferretdb"]) else { return };
    let stand = TestSite::new().await;
    for flavour in FLAVOURS {
        let up = stand.start(service, InstanceSpec { name: flavour.name(), flavour, values: &[] }).await;
        let answer = say_hello(&up);
        assert!(String::from_utf8_lossy(&answer).contains("isWritablePrimary"));
        up.assert_listens_at_home();
        up.assert_version();
        up.stop().await;
    }
    stand.end().await;
}
