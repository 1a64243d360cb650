//! The compared tools: command lines, places of their figures, installation by hand.

use anyhow::Context;
use serde_json::Value;

use crate::contest::programs::words;

/// Traffic of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Traffic {
    /// A stream to the target, in messages of a size, with socket buffers of a size or those of the system.
    To { message: u32, buffer: Option<u32> },
    /// A stream from the target.
    From { message: u32 },
    /// Requests and answers of one byte.
    Request,
    /// Datagrams of a size to the target, at a rate per second or as fast as the system takes them.
    Datagrams { bytes: u32, per_s: Option<u32> },
}

/// What is counted in a case, which decides its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Stream,
    Request,
    Datagram,
}

/// A case: what every tool does in its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) traffic: Traffic,
}

impl Case {
    pub(super) fn kind(&self) -> Kind {
        match self.traffic {
            Traffic::To { .. } | Traffic::From { .. } => Kind::Stream,
            Traffic::Request => Kind::Request,
            Traffic::Datagrams { .. } => Kind::Datagram,
        }
    }

    pub(super) fn is_stream(&self) -> bool {
        self.kind() == Kind::Stream
    }

    /// The wanted rate in thousands per second.
    pub(super) fn wanted(&self) -> Option<f64> {
        match self.traffic {
            Traffic::Datagrams { per_s, .. } => per_s.map(|rate| f64::from(rate) / 1e3),
            _ => None,
        }
    }
}

const fn to(name: &'static str, message: u32, buffer: Option<u32>) -> Case {
    Case { name, traffic: Traffic::To { message, buffer } }
}

const fn datagrams(name: &'static str, per_s: Option<u32>) -> Case {
    Case { name, traffic: Traffic::Datagrams { bytes: 1_448, per_s } }
}

/// All cases: the message and buffer sizes of published LRO measurements, the blocks of iperf3, a round trip, and datagrams
/// that fill a packet.
pub(super) const CASES: [Case; 8] = [
    to("to, 256 bytes, 8 KiB", 256, Some(8_192)),
    to("to, 16 KiB, 64 KiB", 16_384, Some(65_536)),
    to("to, 64 KiB, 256 KiB", 65_536, Some(262_144)),
    to("to, 128 KiB, system", 131_072, None),
    Case { name: "from, 128 KiB, system", traffic: Traffic::From { message: 131_072 } },
    Case { name: "request, 1 byte", traffic: Traffic::Request },
    datagrams("datagrams, 1448 bytes, 20 K/s", Some(20_000)),
    datagrams("datagrams, 1448 bytes, unpaced", None),
];

/// Figures that a tool prints.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Figures {
    /// Gigabits per second of a stream, or thousands of requests or sent datagrams per second.
    pub(super) rate: f64,
    pub(super) p50_us: Option<f64>,
    pub(super) p99_us: Option<f64>,
    /// Datagrams that did not arrive, of those that were sent.
    pub(super) lost_percent: Option<f64>,
    /// Jitter of RFC 3550.
    pub(super) jitter_us: Option<f64>,
    /// Processor time of driver and target by the tool's own account, in milliseconds per 10⁹ bytes of a stream.
    pub(super) own_cpu: Option<(f64, f64)>,
}

/// A tool.
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// The command that installs it. It is printed, never run.
    pub(super) install: &'static str,
    pub(super) client: &'static str,
    pub(super) server: &'static str,
    /// Argument for its version.
    pub(super) version: &'static str,
    pub(super) server_arguments: fn(u16) -> Vec<String>,
    /// Arguments for a case, a port and seconds; `None` if the tool cannot do it.
    pub(super) client_arguments: fn(&Case, u16, u64) -> Option<Vec<String>>,
    pub(super) read: fn(&str, &Case) -> anyhow::Result<Figures>,
    /// Exit codes with a result.
    pub(super) fine: &'static [i32],
}

/// This product's tool. A window that is not valid still gives figures: seconds are few.
pub(super) static OURS: Tool = Tool {
    name: "barograph",
    install: crate::contest::programs::BUILD,
    client: "barograph",
    server: "barograph",
    version: "--version",
    server_arguments: |port| words(&format!("serve net --listen 127.0.0.1:{port}")),
    client_arguments: barograph,
    read: read_barograph,
    fine: &[0, 4, 9],
};

/// Every tool except this product's, in the order of the tables.
pub(super) static TOOLS: [Tool; 2] = [
    Tool {
        name: "iperf3",
        install: "apt-get install iperf3",
        client: "iperf3",
        server: "iperf3",
        version: "--version",
        server_arguments: |port| words(&format!("-s -B 127.0.0.1 -p {port}")),
        client_arguments: iperf3,
        read: read_iperf3,
        fine: &[0],
    },
    Tool {
        name: "netperf",
        install: "build https://github.com/HewlettPackard/netperf with ./configure CFLAGS=\"-O2 -fcommon\" and make",
        client: "netperf",
        server: "netserver",
        version: "-V",
        server_arguments: |port| words(&format!("-D -4 -L 127.0.0.1 -p {port}")),
        client_arguments: netperf,
        read: read_netperf,
        fine: &[0],
    },
];

/// Without a warm-up, like the others: processor time is taken over the whole run, and so must be its bytes.
fn barograph(case: &Case, port: u16, seconds: u64) -> Option<Vec<String>> {
    let what = match case.traffic {
        Traffic::To { message, buffer } => {
            let buffer = buffer.map_or(String::new(), |bytes| format!(" --buffer {bytes}"));
            format!("--pattern to --message {message}{buffer}")
        }
        Traffic::From { message } => format!("--pattern from --message {message}"),
        Traffic::Request => "--pattern request --request 1,1".to_owned(),
        Traffic::Datagrams { bytes, per_s } => {
            let rate = per_s.map_or(String::new(), |rate| format!(" --rate {rate}"));
            format!("--udp --pattern to --message {bytes}{rate}")
        }
    };
    Some(words(&format!("net 127.0.0.1:{port} {what} -c 1 -d {seconds}s --warm-up 0s --workers 1 -q --json")))
}

/// iperf3, which has no requests.
fn iperf3(case: &Case, port: u16, seconds: u64) -> Option<Vec<String>> {
    let what = match case.traffic {
        Traffic::To { message, buffer } => {
            let buffer = buffer.map_or(String::new(), |bytes| format!(" -w {bytes}"));
            format!("-l {message}{buffer}")
        }
        Traffic::From { message } => format!("-l {message} -R"),
        // Its rate is in bits of what datagrams carry, and 0 for none.
        Traffic::Datagrams { bytes, per_s } => {
            format!("-u -l {bytes} -b {}", u64::from(per_s.unwrap_or(0)) * u64::from(bytes) * 8)
        }
        Traffic::Request => return None,
    };
    Some(words(&format!("-c 127.0.0.1 -p {port} -t {seconds} {what} -J")))
}

/// netperf, which has no rate in builds by default and does not say what was lost.
fn netperf(case: &Case, port: u16, seconds: u64) -> Option<Vec<String>> {
    let what = match case.traffic {
        Traffic::To { message, buffer } => {
            let buffer = buffer.map_or(String::new(), |bytes| format!(" -s {bytes} -S {bytes}"));
            format!("-d send -m {message}{buffer} -o THROUGHPUT")
        }
        Traffic::From { message } => format!("-d recv -M {message} -o THROUGHPUT"),
        Traffic::Request => "-d rr -r 1,1 -o THROUGHPUT,P50_LATENCY,P99_LATENCY".to_owned(),
        Traffic::Datagrams { .. } => return None,
    };
    Some(words(&format!("-4 -H 127.0.0.1 -p {port} -t omni -l {seconds} -P 0 -- {what}")))
}

fn read_barograph(text: &str, case: &Case) -> anyhow::Result<Figures> {
    let json: Value = serde_json::from_str(text).context("not JSON")?;
    let of = |key: &str| json.get(key).and_then(Value::as_f64).with_context(|| format!("no number at {key}"));
    if case.kind() == Kind::Request {
        let (p50_us, p99_us) = (Some(of("p50_ms")? * 1e3), Some(of("p99_ms")? * 1e3));
        return Ok(Figures { rate: of("requests_per_s")? / 1e3, p50_us, p99_us, ..Figures::default() });
    }
    let measures = json.get("measures").and_then(Value::as_array).context("no measures")?;
    let measure = |name: &str| {
        let found = measures.iter().find(|measure| measure["measure"] == name);
        found.and_then(|measure| measure["value"].as_f64())
    };
    let gbit_per_s = measure("gbit_per_s").context("no gbit_per_s")?;
    let Traffic::Datagrams { bytes, .. } = case.traffic else {
        let own_cpu = measure("driver_cpu_ms_per_gb").zip(measure("target_cpu_ms_per_gb"));
        return Ok(Figures { rate: gbit_per_s, own_cpu, ..Figures::default() });
    };
    let rate = gbit_per_s * 1e6 / 8.0 / f64::from(bytes);
    let (lost_percent, jitter_us) = (measure("lost_percent"), measure("jitter_us"));
    Ok(Figures { rate, lost_percent, jitter_us, ..Figures::default() })
}

/// Bytes that the receiver counted; of datagrams those that were sent and what the receiver said of them.
fn read_iperf3(text: &str, case: &Case) -> anyhow::Result<Figures> {
    let json: Value = serde_json::from_str(text).context("not JSON")?;
    let number = |pointer: &str| json.pointer(pointer).and_then(Value::as_f64);
    if case.kind() == Kind::Datagram {
        let sent = number("/end/sum_sent/packets").zip(number("/end/sum_sent/seconds"));
        let (packets, seconds) = sent.context("no sum of the sender")?;
        let jitter_us = number("/end/sum_received/jitter_ms").map(|ms| ms * 1e3);
        let lost_percent = number("/end/sum_received/lost_percent");
        return Ok(Figures { rate: packets / seconds / 1e3, lost_percent, jitter_us, ..Figures::default() });
    }
    let bits = number("/end/sum_received/bits_per_second");
    Ok(Figures { rate: bits.context("no sum of the receiver")? / 1e9, ..Figures::default() })
}

/// Megabits per second of a stream, or requests per second with quantiles in microseconds.
fn read_netperf(text: &str, case: &Case) -> anyhow::Result<Figures> {
    let line = text.lines().rfind(|line| !line.trim().is_empty()).context("it printed nothing")?;
    let numbers: Vec<f64> = line.split(',').filter_map(|word| word.trim().parse().ok()).collect();
    match (case.is_stream(), numbers.as_slice()) {
        (true, [mbit]) => Ok(Figures { rate: mbit / 1e3, ..Figures::default() }),
        (false, [per_s, p50, p99]) => {
            Ok(Figures { rate: per_s / 1e3, p50_us: Some(*p50), p99_us: Some(*p99), ..Figures::default() })
        }
        _ => anyhow::bail!("other figures than asked for: `{line}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_does_the_same_in_a_case() {
        let all: Vec<&Tool> = std::iter::once(&OURS).chain(&TOOLS).collect();
        let line =
            |case: &Case, tool: &Tool| (tool.client_arguments)(case, 7, 5).map(|words| words.join(" "));
        let lines: Vec<Option<String>> = all.iter().map(|tool| line(&CASES[0], tool)).collect();
        assert_eq!(
            lines,
            [
                Some("net 127.0.0.1:7 --pattern to --message 256 --buffer 8192 -c 1 -d 5s --warm-up 0s --workers 1 -q --json"
                    .to_owned()),
                Some("-c 127.0.0.1 -p 7 -t 5 -l 256 -w 8192 -J".to_owned()),
                Some("-4 -H 127.0.0.1 -p 7 -t omni -l 5 -P 0 -- -d send -m 256 -s 8192 -S 8192 -o THROUGHPUT".to_owned()),
            ]
        );
        assert_eq!(line(&CASES[5], &TOOLS[0]), None);
        let [paced, unpaced] = [&CASES[6], &CASES[7]];
        assert_eq!(
            line(paced, &OURS).as_deref(),
            Some(
                "net 127.0.0.1:7 --udp --pattern to --message 1448 --rate 20000 -c 1 -d 5s --warm-up 0s --workers 1 -q --json"
            )
        );
        assert_eq!(
            line(paced, &TOOLS[0]).as_deref(),
            Some("-c 127.0.0.1 -p 7 -t 5 -u -l 1448 -b 231680000 -J")
        );
        assert!(line(unpaced, &TOOLS[0]).unwrap().contains(" -b 0 ") && line(paced, &TOOLS[1]).is_none());
        assert!(!line(unpaced, &OURS).unwrap().contains("--rate") && paced.wanted() == Some(20.0));
        assert!(
            line(&CASES[5], &TOOLS[1])
                .unwrap()
                .ends_with("-d rr -r 1,1 -o THROUGHPUT,P50_LATENCY,P99_LATENCY")
        );
    }

    #[test]
    fn figures_are_read_where_they_stand() {
        let ours = r#"{"requests_per_s":20000,"p50_ms":0.03,"p99_ms":0.06,"measures":[{"measure":"gbit_per_s","value":12.5},
            {"measure":"driver_cpu_ms_per_gb","value":300.0},{"measure":"target_cpu_ms_per_gb","value":100.0}]}"#;
        let stream = read_barograph(ours, &CASES[0]).unwrap();
        assert_eq!((stream.rate, stream.own_cpu), (12.5, Some((300.0, 100.0))));
        let request = read_barograph(ours, &CASES[5]).unwrap();
        assert_eq!((request.rate, request.p50_us), (20.0, Some(30.0)));
        let iperf3 = r#"{"end":{"sum_received":{"bits_per_second":2e9}}}"#;
        assert_eq!(read_iperf3(iperf3, &CASES[0]).unwrap().rate, 2.0);
        assert!(read_iperf3(iperf3, &CASES[6]).is_err());
        let figures = |rate, lost, jitter| Figures {
            rate,
            lost_percent: lost,
            jitter_us: jitter,
            ..Figures::default()
        };
        let iperf3 = r#"{"end":{"sum_sent":{"packets":40000,"seconds":2.0,"lost_percent":0},
                         "sum_received":{"packets":40000,"jitter_ms":0.004,"lost_percent":0.5}}}"#;
        assert_eq!(read_iperf3(iperf3, &CASES[6]).unwrap(), figures(20.0, Some(0.5), Some(4.0)));
        let ours = r#"{"measures":[{"measure":"gbit_per_s","value":0.23168},{"measure":"lost_percent","value":0.5},
                       {"measure":"jitter_us","value":null}]}"#;
        let datagrams = read_barograph(ours, &CASES[6]).unwrap();
        assert!((datagrams.rate - 20.0).abs() < 1e-9, "{datagrams:?}");
        assert_eq!((datagrams.lost_percent, datagrams.jitter_us), (Some(0.5), None));
        assert_eq!(read_netperf("\n9550.5\n", &CASES[0]).unwrap().rate, 9.5505);
        let request = read_netperf("33696.1,29,58\n", &CASES[5]).unwrap();
        assert_eq!((request.p50_us, request.p99_us), (Some(29.0), Some(58.0)));
        assert!(read_netperf("1,2", &CASES[0]).is_err() && read_iperf3("{}", &CASES[0]).is_err());
    }
}
