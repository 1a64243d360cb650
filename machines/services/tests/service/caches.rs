//! Redis, memcached and twemproxy; RabbitMQ and NATS; nbdkit.

use barograph_services::Flavour;

use crate::FLAVOURS;
use crate::said::{ask, connect, http, program};
use crate::stand::{InstanceSpec, ReadyUnit, TestSite, or_skip};

/// Second line of the answer to `CONFIG GET`.
fn redis_setting(up: &ReadyUnit, name: &str) -> String {
    let mut stream = connect(up.main());
    let answer = ask(&mut stream, format!("CONFIG GET {name}\r\nPING\r\n").as_bytes(), "+PONG\r\n");
    answer.lines().nth(4).unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_keeps_what_it_answered_unless_it_is_a_cache() {
    let Some([service]) = or_skip(["redis"]) else { return };
    let stand = TestSite::new().await;
    for flavour in FLAVOURS {
        let values = [("settings", "appendonly=no appendfsync=no".to_owned())];
        let up = stand.start(service, InstanceSpec { name: flavour.name(), flavour, values: &values }).await;
        assert_eq!(["appendonly", "appendfsync"].map(|name| redis_setting(&up, name)), ["yes", "always"]);
        let memory = if flavour == Flavour::Tuned { 2048 * 60 / 100 } else { 0 };
        assert_eq!(redis_setting(&up, "maxmemory"), (memory << 20).to_string());
        let mut stream = connect(up.main());
        assert_eq!(ask(&mut stream, b"SET key value\r\nGET key\r\n", "value\r\n"), "+OK\r\n$5\r\nvalue\r\n");
        up.assert_listens_at_home();
        up.assert_version();
        up.stop().await;
    }
    let values = [("cache", "yes".to_owned())];
    let up =
        stand.start(service, InstanceSpec { name: "cache", flavour: Flavour::Tuned, values: &values }).await;
    assert_eq!(
        ["appendonly", "maxmemory-policy"].map(|name| redis_setting(&up, name)),
        ["no", "allkeys-lru"]
    );
    up.stop().await;
    stand.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_is_that_of_the_folder_which_a_plan_names() {
    let Some([service]) = or_skip(["redis"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let theirs = service.with_programs(folder.path());
    let missing = theirs.missing().unwrap().to_string();
    let what = format!("`{}` has no program `redis-server` of Redis", folder.path().display());
    assert!(missing.contains(&what), "{missing}");
    assert!(theirs.version().is_err());
    let own = folder.path().join("redis-server");
    let installed = TestSite::new().await;
    let (unit, _) =
        installed.unit(service, &InstanceSpec { name: "installed", flavour: Flavour::Tuned, values: &[] });
    std::os::unix::fs::symlink(unit.program, &own).unwrap();
    let up =
        installed.start(theirs, InstanceSpec { name: "theirs", flavour: Flavour::Tuned, values: &[] }).await;
    assert_eq!(up.unit.program, own);
    assert_eq!(theirs.version().unwrap(), service.version().unwrap());
    assert_eq!(redis_setting(&up, "appendonly"), "yes");
    up.stop().await;
    installed.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn memcached_answers() {
    let Some([service]) = or_skip(["memcached"]) else { return };
    let stand = TestSite::new().await;
    for flavour in FLAVOURS {
        let up = stand.start(service, InstanceSpec { name: flavour.name(), flavour, values: &[] }).await;
        let mut stream = connect(up.main());
        let settings = ask(&mut stream, b"stats settings\r\n", "END\r\n");
        let memory = if flavour == Flavour::Tuned { 2048 * 70 / 100 } else { 64 };
        assert!(settings.contains(&format!("STAT maxbytes {}\r\n", memory << 20)), "{settings}");
        let answer = ask(&mut stream, b"set key 0 0 5\r\nvalue\r\nget key\r\n", "END\r\n");
        assert_eq!(answer, "STORED\r\nVALUE key 0 5\r\nvalue\r\nEND\r\n");
        up.assert_version();
        up.stop().await;
    }
    stand.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn twemproxy_spreads_keys() {
    let Some([service, redis, memcached]) = or_skip(["twemproxy", "redis", "memcached"]) else { return };
    let stand = TestSite::new().await;
    for flavour in FLAVOURS {
        for (protocol, behind) in [("redis", redis), ("memcached", memcached)] {
            let name = |what: &str| format!("{protocol}-{what}-{}", flavour.name());
            let [one, two] = [name("one"), name("two")];
            let one = stand.start(behind, InstanceSpec { name: &one, flavour, values: &[] }).await;
            let two = stand.start(behind, InstanceSpec { name: &two, flavour, values: &[] }).await;
            let servers = format!("one={} {}", one.main(), two.main());
            let values = [("servers", servers), ("protocol", protocol.to_owned())];
            let up =
                stand.start(service, InstanceSpec { name: &name("front"), flavour, values: &values }).await;
            let mut stream = connect(up.main());
            // Its hash hardly distinguishes keys that differ only at their end.
            for key in 0..40 {
                let (question, end) = match protocol {
                    "redis" => {
                        (format!("*3\r\n$3\r\nSET\r\n$10\r\n{key:02}-of-some\r\n$1\r\nx\r\n"), "+OK\r\n")
                    }
                    _ => (format!("set {key:02}-of-some 0 0 1\r\nx\r\n"), "STORED\r\n"),
                };
                ask(&mut stream, question.as_bytes(), end);
            }
            let held = [&one, &two].map(|up| match protocol {
                "redis" => number(&ask(&mut connect(up.main()), b"DBSIZE\r\n", "\r\n")),
                _ => {
                    let stats = ask(&mut connect(up.main()), b"stats\r\n", "END\r\n");
                    number(stats.lines().find(|line| line.starts_with("STAT curr_items")).unwrap())
                }
            });
            assert!(held[0] > 0 && held[1] > 0 && held[0] + held[1] == 40, "{protocol} {held:?}");
            up.assert_listens_at_home();
            up.assert_version();
            for unit in [up, one, two] {
                unit.stop().await;
            }
        }
    }
    stand.end().await;
}

fn number(text: &str) -> u32 {
    text.trim().trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn nats_carries_a_message() {
    let Some([service]) = or_skip(["nats"]) else { return };
    let stand = TestSite::new().await;
    for flavour in FLAVOURS {
        let streams = if flavour == Flavour::Tuned { "on" } else { "off" };
        let values = [("jetstream", streams.to_owned())];
        let up = stand.start(service, InstanceSpec { name: flavour.name(), flavour, values: &values }).await;
        let mut stream = connect(up.main());
        let info = ask(&mut stream, b"", "\r\n");
        assert!(
            info.starts_with("INFO ") && info.contains(&format!("\"server_name\":\"{}\"", flavour.name())),
            "{info}"
        );
        assert_eq!(info.contains("\"jetstream\":true"), streams == "on", "{info}");
        let talk = b"CONNECT {\"verbose\":false}\r\nSUB news 1\r\nPUB news 5\r\nhello\r\nPING\r\n";
        let answer = ask(&mut stream, talk, "PONG\r\n");
        assert!(answer.contains("MSG news 1 5\r\nhello\r\n"), "{answer}");
        let (head, body) = http(up.at("monitor"), "GET", "/varz", "").unwrap();
        assert!(head.starts_with("HTTP/1.1 200") && body.contains("\"in_msgs\""), "{head}");
        up.assert_listens_at_home();
        up.assert_version();
        up.stop().await;
    }
    stand.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rabbitmq_lets_others_in() {
    let Some([service]) = or_skip(["rabbitmq"]) else { return };
    let stand = TestSite::new().await;
    for flavour in FLAVOURS {
        let up = stand.start(service, InstanceSpec { name: flavour.name(), flavour, values: &[] }).await;
        let mut stream = connect(up.main());
        let greeting = ask(&mut stream, b"AMQP\0\0\x09\x01", "en_US");
        assert!(greeting.contains("RabbitMQ") && greeting.contains("PLAIN"), "{greeting}");
        // The tool finds the node by its address, as probes do.
        let environment = up.unit.env.iter().map(|(name, value)| format!("{name}={value}"));
        let mut words: Vec<String> = environment.collect();
        words.extend(
            ["/usr/lib/rabbitmq/bin/rabbitmqctl", "authenticate_user", "guest", "guest"].map(str::to_owned),
        );
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        assert!(program("env", &words).contains("Success"));
        up.assert_listens_at_home();
        up.assert_version();
        up.stop().await;
    }
    stand.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nbdkit_offers_memory_behind_filters() {
    let Some([service]) = or_skip(["nbdkit"]) else { return };
    let stand = TestSite::new().await;
    for flavour in FLAVOURS {
        let values = [("bytes", "1048576".to_owned()), ("filters", "nofilter nofilter fua".to_owned())];
        let up = stand.start(service, InstanceSpec { name: flavour.name(), flavour, values: &values }).await;
        let greeting = ask(&mut connect(up.main()), b"", "IHAVEOPT");
        assert!(greeting.starts_with("NBDMAGICIHAVEOPT"), "{greeting}");
        up.assert_listens_at_home();
        up.assert_version();
        up.stop().await;
    }
    stand.end().await;
}
