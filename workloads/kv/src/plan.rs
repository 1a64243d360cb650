//! The keys of the key-value workload in plans: `[kv]`, and the parts of its stores.

mod checked;
mod explained;

use std::sync::Arc;

use barograph_data::Popularity;
use barograph_model::{MeasureSpec, Nanos, Share};
use barograph_spec::{MOST_INSTANCES, Plan, SettingsReader, TlsPlan, WorkloadKeys, WorkloadSettings};

use crate::command::{self, Verb};
use crate::measures::MEASURES;
use crate::seam::{KeyValue, NAME};
use crate::values::Size;

/// Deployable tiers, in the order of a command's way.
pub(crate) const TIERS: [&str; 3] = ["balancer", "proxy", "store"];

/// Most keys: beyond the memory of any machine.
const MOST_KEYS: u64 = 1_000_000_000_000;

/// Largest value: the default limit of Redis is 512 MiB; this is what a driver can make.
const LARGEST_VALUE: u64 = 16 << 20;

/// Most commands in flight on a connection.
const MOST_PIPELINED: u64 = 1_024;

/// Most keys of one command, fields of a hash, elements of a range.
const MOST_AT_ONCE: u64 = 1_000;

/// Default mix: three reads to a write.
const USUAL_MIX: [(Verb, u32); 2] = [(Verb::Get, 3), (Verb::Set, 1)];

/// Key-value settings of a plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KvPlan {
    /// Commands with their weights, none of them 0.
    pub(crate) mix: Vec<(Verb, u32)>,
    /// Keys of each family.
    pub(crate) keys: u64,
    /// Prefix of keys.
    pub(crate) prefix: String,
    /// Bytes of a key of a string; more if prefix and number need them.
    pub(crate) key_bytes: usize,
    /// Distribution of commands over keys.
    pub(crate) popularity: Popularity,
    /// Bytes of a value.
    pub(crate) value: Size,
    /// The random part of a value.
    pub(crate) entropy: f64,
    /// Commands in flight on a connection, each of its own user.
    pub(crate) pipeline: u32,
    /// The part of the keys written before the load.
    pub(crate) fill: Share,
    /// Whether values read are compared with those written.
    pub(crate) verify: bool,
    /// Lifetime of a key after each write, in seconds; 0 for ever.
    pub(crate) expire_s: u32,
    /// Keys of an MGET.
    pub(crate) mget_keys: u32,
    /// Fields of a hash.
    pub(crate) fields: u32,
    /// Elements read by LRANGE.
    pub(crate) range: u32,
    /// Whether to use RESP3 instead of RESP2.
    pub(crate) resp3: bool,
    /// Time between a reply and the next command of a user.
    pub(crate) think: Nanos,
    /// The rules.
    pub(crate) rules: Rules,
    /// The deployment.
    pub(crate) deploy: Parts,
    /// Trust in a target over TLS.
    pub(crate) tls: TlsPlan,
}

/// Rules for each command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rules {
    /// The judged quantile of response time.
    pub(crate) quantile: Share,
    /// The limit of response time; `None` if it is not judged.
    pub(crate) limit: Option<Nanos>,
    /// Largest share of failed commands.
    pub(crate) failures: Share,
    /// Least share of lookups with a hit; 0 if it is not judged.
    pub(crate) hits: Share,
}

/// The parts of the stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    /// `embedded` or `redis`.
    pub(crate) store: &'static str,
    /// Number of stores.
    pub(crate) stores: u32,
    /// Proxies in front of the stores: `none`, with keys spread by the driver, or `twemproxy`.
    pub(crate) proxy: &'static str,
    /// Number of proxies; 0 without any.
    pub(crate) proxies: u32,
    /// Balancers in front of the proxies, or of a single store: `none` or `haproxy`.
    pub(crate) balancer: &'static str,
    /// Durability of writes: `none`, `everysec` or `always`.
    pub(crate) append_only: &'static str,
}

impl KvPlan {
    /// The key-value settings of a plan.
    pub(crate) fn of(plan: &Plan) -> &Self {
        plan.settings().expect("a plan of the key-value workload is read with its keys")
    }
}

impl WorkloadKeys for KeyValue {
    fn name(&self) -> &'static str {
        NAME
    }

    fn tiers(&self) -> &'static [&'static str] {
        &TIERS
    }

    fn measures(&self) -> &'static [MeasureSpec] {
        &MEASURES
    }

    fn read(&self, g: &mut SettingsReader) -> Option<Arc<dyn WorkloadSettings>> {
        let mix = mix(g);
        let keys = g.number("kv.keys", 1..=MOST_KEYS, 100_000);
        let prefix = g.word("kv.key_prefix", &[], "key:");
        let key_bytes = g.number("kv.key_bytes", 1..=1_024, 16);
        let popularity = popularity(g);
        let value = value(g);
        let entropy = g.fraction("kv.entropy", 0.0..=1.0, 1.0);
        let pipeline = g.number("kv.pipeline", 1..=MOST_PIPELINED, 1);
        let fill = g.fraction("kv.fill", 0.0..=1.0, 1.0);
        let verify = g.flag("kv.verify", false);
        let expire_s = g.number("kv.expire_s", 0..=1_000_000_000, 0);
        let mget_keys = g.number("kv.mget_keys", 1..=MOST_AT_ONCE, 10);
        let fields = g.number("kv.fields", 1..=MOST_AT_ONCE, 10);
        let range = g.number("kv.range", 1..=MOST_AT_ONCE, 10);
        let protocol = g.choice("kv.protocol", &["resp2", "resp3"], "resp2");
        let think_ms = g.fraction("kv.think_ms", 0.0..=3_600_000.0, 0.0);
        let rules = rules(g);
        let deploy = parts(g);
        let tls = TlsPlan::read(g);
        Some(Arc::new(KvPlan {
            mix: mix?,
            keys: keys?,
            prefix: prefix?,
            key_bytes: key_bytes? as usize,
            popularity: popularity?,
            value: value?,
            entropy: entropy?,
            pipeline: pipeline? as u32,
            fill: Share::new(fill?).ok()?,
            verify: verify?,
            expire_s: expire_s? as u32,
            mget_keys: mget_keys? as u32,
            fields: fields? as u32,
            range: range? as u32,
            resp3: protocol? == "resp3",
            think: Nanos::from_secs_f64(think_ms? / 1e3),
            rules: rules?,
            deploy: deploy?,
            tls: tls?,
        }))
    }
}

/// The weight of each command; the default mix if all are 0.
fn mix(g: &mut SettingsReader) -> Option<Vec<(Verb, u32)>> {
    let weights: Vec<Option<(Verb, u32)>> = command::ALL
        .into_iter()
        .map(|verb| Some((verb, g.number(&format!("kv.mix.{}", verb.spec().name), 0..=1_000_000, 0)? as u32)))
        .collect();
    let weights: Vec<(Verb, u32)> = weights.into_iter().collect::<Option<_>>()?;
    let named: Vec<(Verb, u32)> = weights.into_iter().filter(|(_, weight)| *weight > 0).collect();
    Some(if named.is_empty() { USUAL_MIX.to_vec() } else { named })
}

fn popularity(g: &mut SettingsReader) -> Option<Popularity> {
    let kinds = ["uniform", "zipf", "hot", "sequential"];
    let kind = g.choice("kv.popularity", &kinds, "uniform")?;
    let exponent = g.fraction("kv.zipf_exponent", 0.0..=10.0, 0.99);
    let keys = g.fraction("kv.hot_keys", 0.0..=1.0, 0.1);
    let commands = g.fraction("kv.hot_commands", 0.0..=1.0, 0.9);
    Some(match kind {
        "zipf" => Popularity::Zipf { exponent: exponent? },
        "hot" => Popularity::Hot { numbers: keys?, draws: commands? },
        "sequential" => Popularity::Sequential,
        _ => Popularity::Uniform,
    })
}

fn value(g: &mut SettingsReader) -> Option<Size> {
    let least = g.number("kv.value_bytes", 0..=LARGEST_VALUE, 100);
    let most = g.number("kv.value_bytes_max", 0..=LARGEST_VALUE, 0);
    let (least, most) = (least? as u32, most? as u32);
    Some(Size { least, most: most.max(least) })
}

fn rules(g: &mut SettingsReader) -> Option<Rules> {
    let quantile = g.fraction("kv.quantile", 0.01..=0.99999, 0.99);
    let limit_ms = g.fraction("kv.limit_ms", 0.0..=3_600_000.0, 5.0);
    let failures = g.fraction("kv.failures", 0.0..=1.0, 0.001);
    let hits = g.fraction("kv.hits", 0.0..=1.0, 0.0);
    Some(Rules {
        quantile: Share::new(quantile?).ok()?,
        limit: Some(Nanos::from_secs_f64(limit_ms? / 1e3)).filter(|limit| *limit > Nanos::ZERO),
        failures: Share::new(failures?).ok()?,
        hits: Share::new(hits?).ok()?,
    })
}

fn parts(g: &mut SettingsReader) -> Option<Parts> {
    let store = g.choice("deploy.store", &["embedded", "redis"], "embedded");
    let stores = g.number("deploy.stores", 1..=MOST_INSTANCES, 1);
    let proxy = g.choice("deploy.proxy", &["none", "twemproxy"], "none");
    let proxies = g.number("deploy.proxies", 1..=MOST_INSTANCES, 1);
    let balancer = g.choice("deploy.balancer", &["none", "haproxy"], "none");
    let append_only = g.choice("deploy.append_only", &["none", "everysec", "always"], "none");
    let proxy = proxy?;
    Some(Parts {
        store: store?,
        stores: stores? as u32,
        proxy,
        proxies: if proxy == "none" { 0 } else { proxies? as u32 },
        balancer: balancer?,
        append_only: append_only?,
    })
}

#[cfg(test)]
mod tests;
