//! Refusals of conflicting keys, and of keys without effect, which would be taken for measured.

use std::net::IpAddr;

use barograph_data::Popularity;
use barograph_resp::{Address, Host};
use barograph_spec::{Plan, SettingsReader, TlsPlan};

use super::{KvPlan, Parts};
use crate::command::{Family, Verb};

/// Most connections to a store on this machine: ports of the one address that Redis in protected mode takes them from.
const MOST_LOCAL: u32 = 28_000;

/// Refuses conflicts, and keys without effect in this plan.
pub(super) fn check(own: &KvPlan, plan: &Plan, g: &mut SettingsReader) {
    values(g);
    without_commands(own, g);
    popularity(own.popularity, g);
    if own.rules.limit.is_none() {
        g.refuse_asked("kv.quantile", "left out with kv.limit_ms = 0", "leave it out, or set kv.limit_ms");
    }
    if own.rules.hits.get() > 0.0 && !own.mix.iter().any(|(verb, _)| verb.looks_up()) {
        g.refuse_asked("kv.hits", "left out without GET, MGET, HGET or LPOP in kv.mix", "leave it out");
    }
    let url = plan.target.url.as_deref().filter(|url| !url.starts_with("load:"));
    match url {
        Some(url) => there(url, (own, plan), g),
        None if plan.target.url.is_none() => deployed(own, g),
        None => {}
    }
}

fn values(g: &mut SettingsReader) {
    let number = |g: &SettingsReader, key: &str| g.asked(key).and_then(|text| text.parse::<u64>().ok());
    if let Some(most) = number(g, "kv.value_bytes_max") {
        let least = number(g, "kv.value_bytes").unwrap_or(100);
        if most < least {
            let allowed = format!("0 for one size, or at least the {least} of kv.value_bytes");
            g.refuse("kv.value_bytes_max", most, &allowed, "raise it, or lower kv.value_bytes");
        }
    }
}

/// Refuses keys of commands that are not in the mix.
fn without_commands(own: &KvPlan, g: &mut SettingsReader) {
    let has = |verb| own.mix.iter().any(|(known, _)| *known == verb);
    let of_family = |family| own.mix.iter().any(|(verb, _)| verb.family() == family);
    let writes = of_family(Family::Strings) || of_family(Family::Hashes) || of_family(Family::Lists);
    let needs = [
        ("kv.mget_keys", has(Verb::MGet), "MGET"),
        ("kv.fields", of_family(Family::Hashes), "HSET or HGET"),
        ("kv.range", has(Verb::LRange), "LRANGE"),
        ("kv.expire_s", has(Verb::Set) || has(Verb::Expire), "SET or EXPIRE"),
        ("kv.value_bytes", writes, "strings, hashes or lists"),
        ("kv.value_bytes_max", writes, "strings, hashes or lists"),
        ("kv.entropy", writes, "strings, hashes or lists"),
        ("kv.verify", writes, "strings, hashes or lists"),
    ];
    for (key, is_used, what) in needs {
        if !is_used {
            let allowed = format!("left out without {what} in kv.mix");
            g.refuse_asked(key, &allowed, "leave it out, or add such a command to kv.mix");
        }
    }
    if has(Verb::Expire) && own.expire_s == 0 {
        g.refuse("kv.expire_s", 0, "at least 1 with EXPIRE in kv.mix", "say how many seconds keys live");
    }
}

fn popularity(popularity: Popularity, g: &mut SettingsReader) {
    let needs = [
        ("kv.zipf_exponent", matches!(popularity, Popularity::Zipf { .. }), "zipf"),
        ("kv.hot_keys", matches!(popularity, Popularity::Hot { .. }), "hot"),
        ("kv.hot_commands", matches!(popularity, Popularity::Hot { .. }), "hot"),
    ];
    for (key, is_used, kind) in needs {
        if !is_used {
            let allowed = format!("only with kv.popularity = {kind:?}");
            g.refuse_asked(key, &allowed, "leave it out, or set kv.popularity");
        }
    }
}

/// Checks the keys of an existing target.
fn there(url: &str, (own, plan): (&KvPlan, &Plan), g: &mut SettingsReader) {
    let address = match Address::parse(url) {
        Ok(address) => address,
        Err(why) => {
            let allowed = format!("an address of stores, as in redis://127.0.0.1:6379 ({why})");
            return g.refuse("target.url", format!("{url:?}"), &allowed, "correct it");
        }
    };
    let connections = plan.most_users().div_ceil(own.pipeline);
    if connections > MOST_LOCAL && address.hosts.iter().any(is_local) {
        let allowed = format!("at most {MOST_LOCAL} connections to a store on this machine");
        g.refuse("target.url", format!("{url:?} with {connections} connections"), &allowed, "lower the load");
    }
    if !address.tls {
        for key in TlsPlan::KEYS {
            g.refuse_asked(key, "only with a target.url of scheme rediss", "leave it out, or use rediss://");
        }
    }
    for key in ["store", "stores", "proxy", "proxies", "balancer", "append_only"] {
        let allowed = "left out with target.url, where the target is there already";
        g.refuse_asked(&format!("deploy.{key}"), allowed, "leave it out, or leave target.url out");
    }
}

/// Whether connections to a host go over the loopback network, as far as its name tells.
fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp { name, .. } => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
        }
        Host::Unix(_) => false,
    }
}

/// Checks the keys of a deployment.
fn deployed(own: &KvPlan, g: &mut SettingsReader) {
    let Parts { store, stores, proxy, proxies, balancer, append_only } = own.deploy;
    if store == "embedded" && append_only != "none" {
        let allowed = "\"none\" with deploy.store = \"embedded\", which keeps everything in memory";
        g.refuse(
            "deploy.append_only",
            format!("{append_only:?}"),
            allowed,
            "choose deploy.store = \"redis\"",
        );
    }
    if proxy == "none" {
        let allowed = "left out with deploy.proxy = \"none\"";
        g.refuse_asked("deploy.proxies", allowed, "leave it out, or set deploy.proxy = \"twemproxy\"");
        if balancer != "none" && stores > 1 {
            let allowed = "1 with deploy.balancer and without proxies: a balancer knows no keys";
            g.refuse(
                "deploy.stores",
                stores,
                allowed,
                "set deploy.proxy = \"twemproxy\", or leave the balancer out",
            );
        }
    }
    if proxies > 1 && balancer == "none" {
        let allowed = "1 without a balancer";
        g.refuse("deploy.proxies", proxies, allowed, "set deploy.balancer = \"haproxy\"");
    }
    if proxy != "none" && own.resp3 {
        let allowed = "\"resp2\" with deploy.proxy = \"twemproxy\", which speaks nothing else";
        g.refuse("kv.protocol", "\"resp3\"", allowed, "leave it out, or leave the proxies out");
    }
    for key in TlsPlan::KEYS {
        g.refuse_asked(
            key,
            "only with target.url",
            "leave it out, or say in target.url where the stores are",
        );
    }
    for (tier, has_parts) in [("balancer", balancer != "none"), ("proxy", proxy != "none")] {
        if !has_parts {
            let allowed = format!("left out with deploy.{tier} = \"none\"");
            g.refuse_limits(tier, &allowed, &format!("leave it out, or choose deploy.{tier}"));
        }
    }
}
