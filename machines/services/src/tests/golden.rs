//! Every unit as a whole text, so that each change in it is visible.

use crate::{Flavour, find};

use super::{needed, shown, unit};

fn both(name: &str) -> String {
    let service = find(name).unwrap();
    let of = |flavour: Flavour| {
        let made = unit(service, flavour, &needed(name)).unwrap();
        format!("=== {}\n{}", flavour.name(), shown(&made))
    };
    format!("{}{}", of(Flavour::Vanilla), of(Flavour::Tuned))
}

macro_rules! golden {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                insta::assert_snapshot!(stringify!($name), both(stringify!($name)));
            }
        )*

        /// A service without a text here would be untested.
        #[test]
        fn none_is_left_out() {
            let shown = [$(stringify!($name)),*];
            for service in crate::all() {
                assert!(shown.contains(&service.name()), "{}", service.name());
            }
        }
    };
}

golden! {
    auction dovecot driver farm ferretdb ganesha geocoder haproxy httpd httpd_static keepalived kv maddy mail mariadb memcached nats nbdkit net
    nginx nginx_static pgbouncer postfix postgres rabbitmq redis social spark spark_worker store twemproxy yarn yarn_node
}

/// Settings that a topology may add to the defaults.
#[test]
fn wishes_of_the_topology_are_heard() {
    let text = |name: &str, values: &[(&str, &str)]| {
        let values = [&needed(name)[..], values].concat();
        shown(&unit(find(name).unwrap(), Flavour::Tuned, &values).unwrap())
    };
    let has = |text: &str, lines: &[&str]| {
        for line in lines {
            assert!(text.lines().any(|l| l.trim() == *line), "no `{line}` in\n{text}");
        }
    };
    let tls = [("tls_certificate", "/tls/cert.pem"), ("tls_key", "/tls/key.pem")];
    let nginx = text("nginx", &tls);
    has(
        &nginx,
        &[
            "listen 10.1.0.5:8080 ssl backlog=4096;",
            "listen 10.1.0.5:8081;",
            "ssl_certificate \"/tls/cert.pem\";",
            "ready: Http { path: \"/barograph/ready\" } at 10.1.0.5:8081 in 30s",
        ],
    );
    has(&text("httpd", &tls), &["Listen 10.1.0.5:8080 https", "<VirtualHost 10.1.0.5:8080>", "SSLEngine on"]);
    assert!(!text("nginx", &[("image_cache_mib", "0")]).contains("proxy_cache"));
    assert!(!text("httpd", &[("image_cache_mib", "0")]).contains("Cache"));
    let tcp = text("haproxy", &[("mode", "tcp"), ("check", "https")]);
    has(&tcp, &["mode tcp", "default-server check-ssl verify none"]);
    assert!(!tcp.contains("/auction/bid") && !tcp.contains("retry-on"), "{tcp}");
    let primary = text("postgres", &[("standby", "postgres-2"), ("settings", "fsync=off work_mem=8MB")]);
    has(&primary, &["synchronous_standby_names = 'FIRST 1 (\"postgres-2\")'", "work_mem = '8MB'"]);
    let asynchronous = text("postgres", &[("standby", "postgres-2"), ("replication", "asynchronous")]);
    has(&asynchronous, &["wal_keep_size = 256MB"]);
    assert!(!asynchronous.contains("synchronous_standby_names"), "{asynchronous}");
    // The last of two settings applies.
    let last = primary.lines().rfind(|l| l.starts_with("fsync"));
    assert_eq!(last, Some("fsync = on"));
    let standby = text("postgres", &[("primary", "10.1.0.4:5432")]);
    assert!(
        standby.contains("before: /programs/pg_basebackup") && !standby.contains("initdb -D"),
        "{standby}"
    );
    has(&text("mariadb", &[("binlog", "on")]), &["log-bin = binlog", "sync-binlog = 1"]);
    let lax = text("mariadb", &[("not_durable", "yes")]);
    assert_eq!(
        lax.lines().rfind(|l| l.starts_with("innodb-flush-log")),
        Some("innodb-flush-log-at-trx-commit = 0")
    );
    has(&text("redis", &[("cache", "yes")]), &["appendonly no", "maxmemory-policy allkeys-lru"]);
}
