//! `barograph kv`: stores under load in one line, for users of redis-benchmark or memtier_benchmark.

use barograph_resp::Address;
use barograph_workload::typed::TypedRule;
use barograph_workload::{CommandError, LoadCommand, LoadOptions, Noun, TypedLoad, UsualUsers};
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};

use crate::command::{self, Verb};
use crate::seam::KeyValue;

/// Default number of connections: that of redis-benchmark; and the most that one machine usually reaches.
const CONNECTIONS: UsualUsers = UsualUsers { fixed: 50, searched: 5_000, in_flight: 1_000 };

/// Loads Redis, Valkey or what speaks their protocol. Without options: 50 connections, three GET to a SET on 100,000 keys
/// that are filled before, as fast as replies come, for 10 s.
#[derive(Args)]
struct KvArgs {
    /// Where stores answer, as in 127.0.0.1:6379 or redis://USER:PASSWORD@HOST:PORT/DATABASE; rediss:// for TLS, unix:///PATH
    /// for a socket. Of several, HOST:PORT,HOST:PORT, each key has one
    address: String,
    /// Commands in flight on a connection, each with times of its own; -c counts connections
    #[arg(short = 'P', long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024), value_name = "N")]
    pipeline: u32,
    /// Commands with weights, as in GET=3,SET=1 [default: GET=3,SET=1]
    #[arg(long, value_parser = mix, value_name = "COMMAND=WEIGHT,...")]
    mix: Option<Mix>,
    /// Keys
    #[arg(long, default_value_t = 100_000, value_name = "N")]
    keys: u64,
    /// Bytes of a value, or a range, as in 100 or 64-1024
    #[arg(long, default_value = "100", value_parser = bytes, value_name = "BYTES")]
    value: (u64, u64),
    /// How often each key is asked for
    #[arg(long, value_enum, default_value_t = PopularityArg::Uniform, value_name = "HOW")]
    popularity: PopularityArg,
    /// Do not write the keys before the load
    #[arg(long)]
    no_fill: bool,
    /// Compare values that come back with what was written
    #[arg(long)]
    verify: bool,
    /// Seconds that a key lives from each write on
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..), value_name = "SECONDS")]
    expire: Option<u32>,
    /// Speak RESP3
    #[arg(short = '3', long)]
    resp3: bool,
    /// With rediss://: accept any certificate
    #[arg(long, conflicts_with = "ca")]
    insecure: bool,
    /// With rediss://: file with the certificates (PEM) to trust instead of the usual ones
    #[arg(long, value_name = "FILE")]
    ca: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PopularityArg {
    /// All alike
    Uniform,
    /// By Zipf's law with exponent 0.99
    Zipf,
    /// 90 % of the commands to 10 % of the keys
    Hot,
    /// One after the other
    Sequential,
}

/// Commands with their weights.
type Mix = std::sync::Arc<[(Verb, u32)]>;

impl LoadCommand for KeyValue {
    fn arguments(&self) -> Command {
        KvArgs::augment_args(Command::new("kv"))
    }

    fn request(&self) -> Noun {
        Noun { one: "command", several: "commands" }
    }

    fn load(&self, typed: &ArgMatches, options: &LoadOptions) -> Result<TypedLoad, CommandError> {
        let args = KvArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        if !matches!(options.rules.as_slice(), [] | [TypedRule::Response(_)]) {
            return Err(CommandError::refused("judge commands by more than one limit of response time"));
        }
        let address = Address::parse(&args.address).map_err(|why| {
            let given = &args.address;
            CommandError::refused(format!(
                "read the address `{given}`: {why}; it is written as in 127.0.0.1:6379"
            ))
        })?;
        let connections = options.users_or(CONNECTIONS);
        Ok(TypedLoad {
            title: title(&args, &address),
            url: args.address.clone(),
            users: connections.saturating_mul(args.pipeline),
            keys: keys(&args, options),
            workload: None,
        })
    }
}

/// Description of the load, without a password.
fn title(args: &KvArgs, address: &Address) -> String {
    let usual = [(Verb::Get, 3), (Verb::Set, 1)];
    let mix = args.mix.as_deref().unwrap_or(&usual);
    let of_one = |(verb, weight): &(Verb, u32)| match mix.len() {
        1 => verb.spec().name.to_owned(),
        _ => format!("{} {weight}", verb.spec().name),
    };
    let commands = mix.iter().map(of_one).collect::<Vec<_>>().join(", ");
    match args.pipeline {
        1 => format!("{commands} on {address}"),
        n => format!("{commands} on {address}, {n} at once on a connection"),
    }
}

/// The arguments as keys of a plan.
fn keys(args: &KvArgs, options: &LoadOptions) -> Vec<String> {
    let mut keys = vec![
        format!("kv.keys = {}", args.keys),
        format!("kv.pipeline = {}", args.pipeline),
        format!("kv.fill = {}", if args.no_fill { "0.0" } else { "1.0" }),
        format!("kv.verify = {}", args.verify),
        format!("kv.failures = {:?}", options.errors.get()),
        format!("kv.protocol = \"{}\"", if args.resp3 { "resp3" } else { "resp2" }),
    ];
    for (verb, weight) in args.mix.iter().flat_map(|mix| mix.iter()) {
        keys.push(format!("kv.mix.{} = {weight}", verb.spec().name));
    }
    let stores_values = args.mix.as_ref().is_none_or(|mix| mix.iter().any(|(verb, _)| *verb != Verb::Incr));
    if stores_values {
        keys.push(format!("kv.value_bytes = {}", args.value.0));
        keys.push(format!(
            "kv.value_bytes_max = {}",
            if args.value.0 == args.value.1 { 0 } else { args.value.1 }
        ));
    }
    match options.limit() {
        None => keys.push("kv.limit_ms = 0".to_owned()),
        Some(limit) => {
            keys.push(format!("kv.limit_ms = {:?}", limit.limit.as_secs_f64() * 1e3));
            keys.push(format!("kv.quantile = {:?}", limit.quantile.get()));
        }
    }
    if let Some(value) = args.popularity.to_possible_value() {
        keys.push(format!("kv.popularity = \"{}\"", value.get_name()));
    }
    keys.extend(options.think.map(|think| format!("kv.think_ms = {:?}", think.as_secs_f64() * 1e3)));
    keys.extend(args.expire.map(|seconds| format!("kv.expire_s = {seconds}")));
    keys.extend(args.insecure.then(|| "target.tls.verify = false".to_owned()));
    keys.extend(args.ca.as_ref().map(|file| format!("target.tls.authorities = {file:?}")));
    keys
}

/// Parses `GET=3,SET=1`; a command alone has weight 1.
fn mix(text: &str) -> Result<Mix, String> {
    let one = |part: &str| {
        let (name, weight) = part.split_once('=').unwrap_or((part, "1"));
        let verb = Verb::find(name.trim()).ok_or_else(|| {
            let known = command::ALL.map(|verb| verb.spec().name).join(", ");
            format!("`{}` is not one of {known}", name.trim())
        })?;
        match weight.trim().parse::<u32>() {
            Ok(weight) if (1..=1_000_000).contains(&weight) => Ok((verb, weight)),
            _ => Err(format!("the weight of {} is a whole number from 1 to 1000000", verb.spec().name)),
        }
    };
    let mix: Vec<(Verb, u32)> = text.split(',').map(one).collect::<Result<_, String>>()?;
    match mix.iter().enumerate().find(|(at, (verb, _))| mix[..*at].iter().any(|(other, _)| other == verb)) {
        Some((_, (verb, _))) => Err(format!("{} is named twice", verb.spec().name)),
        None => Ok(mix.into()),
    }
}

/// Parses `100` or `64-1024`.
fn bytes(text: &str) -> Result<(u64, u64), String> {
    let wrong = || "a size is written 100, and a range 64-1024".to_owned();
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
    let (least, most) = match text.split_once('-') {
        None => (number(text)?, number(text)?),
        Some((least, most)) => (number(least)?, number(most)?),
    };
    if least > most { Err(wrong()) } else { Ok((least, most)) }
}

#[cfg(test)]
mod tests {
    use barograph_data::Popularity;
    use barograph_model::{Nanos, Share};
    use barograph_workload::testing::{plan, typed};
    use barograph_workload::typed::Limit;

    use super::*;
    use crate::plan::KvPlan;

    #[test]
    fn an_address_alone_is_fifty_connections() {
        let load = typed(&KeyValue, "127.0.0.1", &LoadOptions::default()).unwrap();
        assert_eq!((load.title.as_str(), load.users), ("GET 3, SET 1 on redis://127.0.0.1:6379", 50));
        let own = KvPlan::of(&plan(&KeyValue, &load).unwrap()).clone();
        assert_eq!((own.mix.len(), own.rules.limit, own.rules.failures), (2, None, Share::percent(1.0)));
    }

    #[test]
    fn options_reach_the_plan() {
        let limit = Limit { quantile: Share::percent(95.0), percent: 95.0, limit: Nanos(1_500_000) };
        let options = LoadOptions {
            users: Some(10),
            rules: vec![TypedRule::Response(limit)],
            think: Some(Nanos::from_millis(2)),
            ..LoadOptions::default()
        };
        let words = "redis://:secret@h:7000 -P 30 --mix get,mget=2 --keys 5 --value 10-20 --popularity hot --no-fill --verify -3";
        let load = typed(&KeyValue, words, &options).unwrap();
        assert_eq!(load.users, 300);
        assert_eq!(load.title, "GET 1, MGET 2 on redis://h:7000, 30 at once on a connection");
        let own = KvPlan::of(&plan(&KeyValue, &load).unwrap()).clone();
        assert_eq!(own.mix, [(Verb::Get, 1), (Verb::MGet, 2)]);
        assert_eq!((own.keys, own.pipeline), (5, 30));
        assert_eq!((own.value.least, own.value.most), (10, 20));
        assert_eq!((own.verify, own.resp3, own.fill), (true, true, Share::ZERO));
        assert_eq!((own.rules.limit, own.rules.quantile), (Some(Nanos(1_500_000)), Share::percent(95.0)));
        assert_eq!(
            (own.think, own.popularity),
            (Nanos::from_millis(2), Popularity::Hot { numbers: 0.1, draws: 0.9 })
        );
    }

    #[test]
    fn what_cannot_be_typed_says_why() {
        let why = |words: &str| typed(&KeyValue, words, &LoadOptions::default()).err().unwrap();
        assert!(why("http://h").contains("unknown scheme `http`"));
        assert!(why("h --mix FLUSHALL").contains("is not one of GET, SET"));
        assert!(why("h --mix GET=0").contains("from 1 to 1000000"));
        assert!(why("h --mix GET,GET").contains("named twice"));
        assert!(why("h --value 20-10").contains("64-1024"));
        assert!(why("h -P 0").contains("1..=1024"));
    }
}
