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
}

/// A case: what every tool does in its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) traffic: Traffic,
}

impl Case {
    pub(super) fn is_stream(&self) -> bool {
        self.traffic != Traffic::Request
    }
}

const fn to(name: &'static str, message: u32, buffer: Option<u32>) -> Case {
    Case { name, traffic: Traffic::To { message, buffer } }
}

/// All cases: the message and buffer sizes of published LRO measurements, the blocks of iperf3, and a round trip.
pub(super) const CASES: [Case; 6] = [
    to("to, 256 bytes, 8 KiB", 256, Some(8_192)),
    to("to, 16 KiB, 64 KiB", 16_384, Some(65_536)),
    to("to, 64 KiB, 256 KiB", 65_536, Some(262_144)),
    to("to, 128 KiB, system", 131_072, None),
    Case { name: "from, 128 KiB, system", traffic: Traffic::From { message: 131_072 } },
    Case { name: "request, 1 byte", traffic: Traffic::Request },
];

/// Figures that a tool prints.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Figures {
    /// Gigabits per second of a stream, or thousands of requests per second.
    pub(super) rate: f64,
    pub(super) p50_us: Option<f64>,
    pub(super) p99_us: Option<f64>,
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
        Traffic::Request => return None,
    };
    Some(words(&format!("-c 127.0.0.1 -p {port} -t {seconds} {what} -J")))
}

fn netperf(case: &Case, port: u16, seconds: u64) -> Option<Vec<String>> {
    let what = match case.traffic {
        Traffic::To { message, buffer } => {
            let buffer = buffer.map_or(String::new(), |bytes| format!(" -s {bytes} -S {bytes}"));
            format!("-d send -m {message}{buffer} -o THROUGHPUT")
        }
        Traffic::From { message } => format!("-d recv -M {message} -o THROUGHPUT"),
        Traffic::Request => "-d rr -r 1,1 -o THROUGHPUT,P50_LATENCY,P99_LATENCY".to_owned(),
    };
    Some(words(&format!("-4 -H 127.0.0.1 -p {port} -t omni -l {seconds} -P 0 -- {what}")))
}

fn read_barograph(text: &str, case: &Case) -> anyhow::Result<Figures> {
    let json: Value = serde_json::from_str(text).context("not JSON")?;
    let of = |key: &str| json.get(key).and_then(Value::as_f64).with_context(|| format!("no number at {key}"));
    if !case.is_stream() {
        let (p50_us, p99_us) = (Some(of("p50_ms")? * 1e3), Some(of("p99_ms")? * 1e3));
        return Ok(Figures { rate: of("requests_per_s")? / 1e3, p50_us, p99_us });
    }
    let measures = json.get("measures").and_then(Value::as_array).context("no measures")?;
    let rate = measures.iter().find(|measure| measure["measure"] == "gbit_per_s");
    let rate = rate.and_then(|measure| measure["value"].as_f64()).context("no gbit_per_s")?;
    Ok(Figures { rate, ..Figures::default() })
}

/// Bytes that the receiver counted.
fn read_iperf3(text: &str, _: &Case) -> anyhow::Result<Figures> {
    let json: Value = serde_json::from_str(text).context("not JSON")?;
    let bits = json.pointer("/end/sum_received/bits_per_second").and_then(Value::as_f64);
    Ok(Figures { rate: bits.context("no sum of the receiver")? / 1e9, ..Figures::default() })
}

/// Megabits per second of a stream, or requests per second with quantiles in microseconds.
fn read_netperf(text: &str, case: &Case) -> anyhow::Result<Figures> {
    let line = text.lines().rfind(|line| !line.trim().is_empty()).context("it printed nothing")?;
    let numbers: Vec<f64> = line.split(',').filter_map(|word| word.trim().parse().ok()).collect();
    match (case.is_stream(), numbers.as_slice()) {
        (true, [mbit]) => Ok(Figures { rate: mbit / 1e3, ..Figures::default() }),
        (false, [per_s, p50, p99]) => {
            Ok(Figures { rate: per_s / 1e3, p50_us: Some(*p50), p99_us: Some(*p99) })
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
        assert!(
            line(&CASES[5], &TOOLS[1])
                .unwrap()
                .ends_with("-d rr -r 1,1 -o THROUGHPUT,P50_LATENCY,P99_LATENCY")
        );
    }

    #[test]
    fn figures_are_read_where_they_stand() {
        let ours = r#"{"requests_per_s":20000,"p50_ms":0.03,"p99_ms":0.06,"measures":[{"measure":"gbit_per_s","value":12.5}]}"#;
        assert_eq!(read_barograph(ours, &CASES[0]).unwrap().rate, 12.5);
        let request = read_barograph(ours, &CASES[5]).unwrap();
        assert_eq!((request.rate, request.p50_us), (20.0, Some(30.0)));
        let iperf3 = r#"{"end":{"sum_received":{"bits_per_second":2e9}}}"#;
        assert_eq!(read_iperf3(iperf3, &CASES[0]).unwrap().rate, 2.0);
        assert_eq!(read_netperf("\n9550.5\n", &CASES[0]).unwrap().rate, 9.5505);
        let request = read_netperf("33696.1,29,58\n", &CASES[5]).unwrap();
        assert_eq!((request.p50_us, request.p99_us), (Some(29.0), Some(58.0)));
        assert!(read_netperf("1,2", &CASES[0]).is_err() && read_iperf3("{}", &CASES[0]).is_err());
    }
}
