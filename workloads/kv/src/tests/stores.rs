//! Every command, against the embedded store, Redis, several stores, and through proxies.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use barograph_resp::Command;
use barograph_test_services::{or_skip, product};

use super::rig::{Load, embedded};
use crate::measures::{BYTES, HITS, LOOKUPS};

/// Every command once, few keys, and checked values.
const ALL: &str = "[kv]\nkeys = 50\nverify = true\nvalue_bytes = 1\nvalue_bytes_max = 200\nexpire_s = 3600\nmget_keys = 5\n\
                   mix.GET = 1\nmix.SET = 1\nmix.MGET = 1\nmix.INCR = 1\nmix.DEL = 1\nmix.EXPIRE = 1\nmix.HSET = 1\n\
                   mix.HGET = 1\nmix.LPUSH = 1\nmix.LPOP = 1\nmix.LRANGE = 1\n";

/// The same with windows of commands on few connections.
fn pipelined() -> String {
    ALL.replace("keys = 50", "keys = 50\npipeline = 16")
}

/// Fills and runs it.
fn carried(url: &str, text: &str, commands: u64) {
    let mut load = Load::at(url, text);
    load.users = 40;
    let (rows, progress) = load.fill().unwrap_or_else(|why| panic!("{why:?}"));
    let names: Vec<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["strings", "hashes", "lists"]);
    assert!(rows.iter().all(|(_, count)| *count == 50), "{rows:?}");
    assert!(progress.is_none_or(|p| p.done <= p.total && p.total == 50 + 500 + 550));
    load.until_done(commands).all_good();
}

#[test]
fn the_embedded_store_carries_every_command() {
    let url = format!("redis://{}", embedded(1 << 30));
    carried(&url, ALL, 5_000);
    carried(&url, &pipelined(), 20_000);
    carried(&url, &ALL.replace("[kv]", "[kv]\nprotocol = \"resp3\""), 5_000);
}

#[test]
fn hits_are_those_of_the_keys_that_were_filled() {
    let url = format!("redis://{}", embedded(1 << 30));
    let load = Load::at(&url, "[kv]\nmix.GET = 1\nkeys = 1000\nfill = 0.25\nvalue_bytes = 10\n");
    load.fill().unwrap();
    let ended = load.until_done(20_000);
    let (lookups, hits) = (ended.counter(LOOKUPS), ended.counter(HITS));
    assert_eq!((lookups, ended.counter(BYTES)), (ended.count(), 10 * hits));
    let share = hits as f64 / lookups as f64;
    assert!((share - 0.25).abs() < 0.02, "{share}");
}

#[test]
fn keys_are_spread_over_embedded_stores() {
    let url = format!("redis://{},{},{}", embedded(1 << 30), embedded(1 << 30), embedded(1 << 30));
    carried(&url, &pipelined(), 20_000);
}

#[test]
fn redis_carries_every_command_in_both_versions() {
    let Some(redis) = or_skip(product("redis", &[("durability", "none")])) else { return };
    carried(redis.url(), ALL, 5_000);
    carried(redis.url(), &pipelined(), 20_000);
    carried(redis.url(), &pipelined().replace("[kv]", "[kv]\nprotocol = \"resp3\""), 20_000);
}

#[test]
fn redis_is_reached_through_twemproxy_and_haproxy() {
    let Some(one) = or_skip(product("redis", &[("durability", "none")])) else { return };
    let Some(two) = or_skip(product("redis", &[("durability", "everysec")])) else { return };
    let server = |name: &str, url: &str| format!("{name}={}", url.trim_start_matches("redis://"));
    let servers = format!("{} {}", server("a", one.url()), server("b", two.url()));
    let proxy = or_skip(product("twemproxy", &[("servers", &servers), ("server_connections", "1")]));
    let Some(proxy) = proxy else { return };
    carried(&format!("redis://{}", proxy.url()), &pipelined(), 10_000);

    let servers = server("p", proxy.url());
    let balancer = product("haproxy", &[("servers", &servers), ("mode", "tcp"), ("check", "connect")]);
    let Some(balancer) = or_skip(balancer) else { return };
    let url = balancer.url().replace("http://", "redis://");
    carried(&url, ALL, 5_000);
}

/// Sends a command to a store that has no password.
fn told(host: &str, words: &[&[u8]]) {
    let mut stream = TcpStream::connect(host).unwrap();
    let (mut bytes, mut answer) = (Vec::new(), [0; 64]);
    Command::write(&mut bytes, words);
    stream.write_all(&bytes).unwrap();
    let read = stream.read(&mut answer).unwrap();
    assert_eq!(&answer[..read], b"+OK\r\n");
}

#[test]
fn a_login_and_a_database_come_before_the_first_command() {
    let Some(redis) = or_skip(product("redis", &[("durability", "none")])) else { return };
    let host = redis.url().trim_start_matches("redis://");
    told(host, &[b"CONFIG", b"SET", b"requirepass", b"secret"]);
    for version in ["resp2", "resp3"] {
        let text = ALL.replace("[kv]", &format!("[kv]\nprotocol = \"{version}\""));
        carried(&format!("redis://:secret@{host}/3"), &text, 3_000);
    }
    let load = Load::at(redis.url(), "");
    let why = barograph_model::words::in_one_line(&load.fill().unwrap_err());
    assert!(why.contains("NOAUTH"), "{why}");
}
