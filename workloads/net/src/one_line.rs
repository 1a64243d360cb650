//! `barograph net`: a network path under load in one line, for users of iperf3 or netperf.

use barograph_workload::typed::TypedRule;
use barograph_workload::{CommandError, LoadCommand, LoadOptions, Noun, TypedLoad, UsualUsers};
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};

use crate::pattern::Pattern;
use crate::plan::host_and_port;
use crate::seam::Net;

/// Port of a responder, if an address has none.
const USUAL_PORT: u16 = 5380;

/// Default number of connections: that of iperf3 and netperf.
const CONNECTIONS: UsualUsers = UsualUsers { fixed: 1, searched: 1_000, in_flight: 1_000 };

/// Loads a network path between this machine and a responder (barograph serve net). Without options: one connection, a
/// stream to the responder in messages of 128 KiB, for 10 s.
#[derive(Args)]
struct NetArgs {
    /// Where the responder listens, as in 192.0.2.1 or net://192.0.2.1:5380
    address: String,
    /// Pattern of the traffic
    #[arg(long, value_enum, default_value_t = PatternArg::To, value_name = "PATTERN")]
    pattern: PatternArg,
    /// Send datagrams (UDP), whose loss, order and jitter are measured; with the patterns to and request
    #[arg(long, conflicts_with_all = ["delay", "no_delay", "discard", "verify"])]
    udp: bool,
    /// Bytes of a message of a stream, as in 256, 16k or 1m [default: 128k; of datagrams 1448]
    #[arg(long, value_parser = bytes, value_name = "BYTES")]
    message: Option<u64>,
    /// Bytes of a request and of its answer, as in 1,1 or 128,64k [default: 1,1; of datagrams 24,24]
    #[arg(long, value_parser = two_sizes, value_name = "BYTES,BYTES")]
    request: Option<(u64, u64)>,
    /// Bytes of the send buffers and the receive buffers of both ends [default: left to the system]
    #[arg(long, value_parser = bytes, value_name = "BYTES")]
    buffer: Option<u64>,
    /// Let small writes wait for acknowledgements of earlier ones (Nagle's algorithm): the default of streams
    #[arg(long, conflicts_with = "no_delay")]
    delay: bool,
    /// Send small writes at once: the default of requests and connections
    #[arg(long)]
    no_delay: bool,
    /// Discard what arrives in the kernel, without copying it
    #[arg(long, conflicts_with = "verify")]
    discard: bool,
    /// Compare the bytes that arrive with those that were sent
    #[arg(long)]
    verify: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PatternArg {
    /// Streams to the responder
    To,
    /// Streams from the responder
    From,
    /// Streams in both directions of each connection
    Both,
    /// Requests and answers
    Request,
    /// A connection for each request
    Connect,
}

impl PatternArg {
    fn pattern(self) -> Pattern {
        match self {
            PatternArg::To => Pattern::To,
            PatternArg::From => Pattern::From,
            PatternArg::Both => Pattern::Both,
            PatternArg::Request => Pattern::Request,
            PatternArg::Connect => Pattern::Connect,
        }
    }
}

impl LoadCommand for Net {
    fn arguments(&self) -> Command {
        NetArgs::augment_args(Command::new("net"))
    }

    fn request(&self) -> Noun {
        Noun { one: "message", several: "messages" }
    }

    fn load(&self, typed: &ArgMatches, options: &LoadOptions) -> Result<TypedLoad, CommandError> {
        let args = NetArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        if !matches!(options.rules.as_slice(), [] | [TypedRule::Response(_)]) {
            return Err(CommandError::refused("judge messages by more than one limit of response time"));
        }
        let url = url(&args.address).map_err(|why| {
            let given = &args.address;
            CommandError::refused(format!(
                "read the address `{given}`: {why}; it is written as in 192.0.2.1:5380"
            ))
        })?;
        let pattern = args.pattern.pattern();
        Ok(TypedLoad {
            title: format!("{} {url}", title(pattern)),
            url,
            users: options.users_or(CONNECTIONS).saturating_mul(pattern.users()),
            keys: keys(&args, options),
            workload: None,
        })
    }
}

fn title(pattern: Pattern) -> &'static str {
    match pattern {
        Pattern::To => "streams to",
        Pattern::From => "streams from",
        Pattern::Both => "streams to and from",
        Pattern::Request => "requests to",
        Pattern::Connect => "connections to",
    }
}

/// The address as a URL, with the usual port if it has none.
fn url(address: &str) -> Result<String, &'static str> {
    let place = address.strip_prefix("net://").unwrap_or(address);
    let has_port = match place.rsplit_once(']') {
        Some((_, rest)) => rest.starts_with(':'),
        None => place.contains(':'),
    };
    let url = if has_port { format!("net://{place}") } else { format!("net://{place}:{USUAL_PORT}") };
    if address.contains("://") && !address.starts_with("net://") {
        return Err("its scheme is not net");
    }
    host_and_port(&url).map(|_| url)
}

/// The arguments as keys of a plan.
fn keys(args: &NetArgs, options: &LoadOptions) -> Vec<String> {
    let mut keys = vec![
        format!("net.pattern = {:?}", args.pattern.pattern().name()),
        format!("net.failures = {:?}", options.errors.get()),
    ];
    let flags = [
        (args.udp, "net.protocol = \"udp\""),
        (args.verify, "net.verify = true"),
        (args.discard, "net.receive = \"discard\""),
    ];
    keys.extend(flags.into_iter().filter(|(is_given, _)| *is_given).map(|(_, key)| key.to_owned()));
    if args.delay || args.no_delay {
        keys.push(format!("net.nodelay = {}", args.no_delay));
    }
    keys.extend(args.message.map(|bytes| format!("net.message_bytes = {bytes}")));
    if let Some((request, answer)) = args.request {
        keys.push(format!("net.request_bytes = {request}"));
        keys.push(format!("net.answer_bytes = {answer}"));
    }
    if let Some(bytes) = args.buffer {
        keys.push(format!("net.send_buffer_bytes = {bytes}"));
        keys.push(format!("net.receive_buffer_bytes = {bytes}"));
    }
    match options.limit() {
        None => keys.push("net.limit_ms = 0".to_owned()),
        Some(limit) => {
            keys.push(format!("net.limit_ms = {:?}", limit.limit.as_secs_f64() * 1e3));
            keys.push(format!("net.quantile = {:?}", limit.quantile.get()));
        }
    }
    keys.extend(options.think.map(|think| format!("net.think_ms = {:?}", think.as_secs_f64() * 1e3)));
    keys
}

/// Parses `256`, `16k` or `1m`.
fn bytes(text: &str) -> Result<u64, String> {
    let lower = text.trim().to_ascii_lowercase();
    let (digits, factor) = match lower.strip_suffix(['k', 'm']) {
        Some(digits) => (digits, if lower.ends_with('k') { 1 << 10 } else { 1 << 20 }),
        None => (lower.as_str(), 1),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| "a size is written 256, 16k or 1m".to_owned())
}

/// Parses `128,64k`.
fn two_sizes(text: &str) -> Result<(u64, u64), String> {
    let (request, answer) = text
        .split_once(',')
        .ok_or_else(|| "the sizes of request and answer are written 128,64k".to_owned())?;
    Ok((bytes(request)?, bytes(answer)?))
}

#[cfg(test)]
mod tests {
    use barograph_model::{Nanos, Share};
    use barograph_workload::testing::{plan, typed};
    use barograph_workload::typed::Limit;

    use super::*;
    use crate::plan::NetPlan;

    fn own(load: &TypedLoad) -> NetPlan {
        NetPlan::of(&plan(&Net, load).unwrap()).clone()
    }

    #[test]
    fn an_address_alone_is_a_stream() {
        let load = typed(&Net, "h", &LoadOptions::default()).unwrap();
        assert_eq!((load.title.as_str(), load.users), ("streams to net://h:5380", 1));
        let own = own(&load);
        assert_eq!((own.run.pattern, own.run.message, own.run.delays), (Pattern::To, 131_072, true));
        assert_eq!((own.rules.limit, own.rules.failures), (None, Share::percent(1.0)));
    }

    #[test]
    fn options_reach_the_plan() {
        let limit = Limit { quantile: Share::percent(95.0), percent: 95.0, limit: Nanos(1_500_000) };
        let options = LoadOptions {
            users: Some(4),
            rules: vec![TypedRule::Response(limit)],
            think: Some(Nanos::from_millis(2)),
            ..LoadOptions::default()
        };
        let load = typed(&Net, "net://[::1]:7 --pattern both --message 16k --buffer 64k --verify", &options);
        let load = load.unwrap();
        assert_eq!((load.users, load.title.as_str()), (8, "streams to and from net://[::1]:7"));
        let of = own(&load);
        assert_eq!((of.run.message, of.run.send_buffer, of.run.receive_buffer), (16_384, 65_536, 65_536));
        assert!(of.run.verifies && of.run.delays && !of.run.discards);
        assert_eq!((of.rules.limit, of.think), (Some(Nanos(1_500_000)), Nanos::from_millis(2)));
        let of = own(
            &typed(&Net, "h --pattern connect --request 128,64k --discard --no-delay", &options).unwrap()
        );
        assert_eq!((of.run.pattern, of.run.request, of.run.answer), (Pattern::Connect, 128, 65_536));
        assert!(of.run.discards && !of.run.delays);
        let of = own(&typed(&Net, "h --pattern request --udp --request 64,1k", &options).unwrap());
        assert_eq!((of.run.datagrams, of.run.request, of.run.answer), (true, 64, 1_024));
        assert!(!own(&typed(&Net, "h --no-delay", &options).unwrap()).run.delays);
    }

    #[test]
    fn what_cannot_be_typed_says_why() {
        let why = |words: &str| typed(&Net, words, &LoadOptions::default()).err().unwrap();
        assert!(why("http://h").contains("scheme is not net"));
        assert!(why("h:0").contains("from 1 to 65535"));
        assert!(why("::1:5380").contains("without brackets"));
        assert!(why("h --message 0").contains("16k or 1m"));
        assert!(why("h --request 5").contains("128,64k"));
        assert!(why("h --delay --no-delay").contains("cannot be used with"));
        assert!(why("h --udp --verify").contains("cannot be used with"));
        assert!(why("h --verify --discard").contains("cannot be used with"));
    }
}
