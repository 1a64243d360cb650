//! The compared tools: command lines, places of their figures, installation by hand.

use std::path::PathBuf;

use super::output::{self, ToolReport};
use crate::contest::programs::words;

/// Keys of every store, each written before anything is measured.
pub(super) const KEYS: u32 = 100_000;

/// The command of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Get,
    Set,
}

impl Verb {
    pub(super) fn name(self) -> &'static str {
        match self {
            Verb::Get => "GET",
            Verb::Set => "SET",
        }
    }
}

/// A job for a tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Job {
    pub(super) port: u16,
    pub(super) verb: Verb,
    pub(super) value_bytes: u32,
    pub(super) connections: u32,
    /// Commands in flight on a connection.
    pub(super) pipeline: u32,
    pub(super) seconds: u64,
    /// Commands per second over all connections; `None` for as fast as replies come.
    pub(super) rate: Option<u32>,
    /// Commands of a tool that ends after a number of them, not after a time.
    pub(super) count: u64,
    /// Folder for a tool's files.
    pub(super) folder: PathBuf,
}

impl Job {
    /// Its shape, in the form for rows of tables.
    pub(super) fn shape(&self) -> String {
        format!("{}x{}", self.connections, self.pipeline)
    }
}

/// A tool.
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// The command that installs it. It is printed, never run.
    pub(super) install: &'static str,
    /// The arguments for a job; `None` if the tool cannot do it.
    pub(super) arguments: fn(&Job) -> Option<Vec<String>>,
    pub(super) read: fn(&str, &Job) -> anyhow::Result<ToolReport>,
    /// File in the folder of the job with the figures; `None` if they are printed.
    pub(super) file: Option<&'static str>,
    /// Whether it ends after a number of commands.
    pub(super) counts: bool,
    /// Whether its figures are of a window, with load before and after it.
    pub(super) window: bool,
    /// Exit codes with a result.
    pub(super) fine: &'static [i32],
}

/// The tool with which the others are compared.
pub(super) const REDIS_BENCHMARK: &str = "redis-benchmark";

/// Every tool except this product's, in the order of the tables.
pub(super) static TOOLS: [Tool; 3] = [
    Tool {
        name: REDIS_BENCHMARK,
        install: "apt-get install redis-tools",
        arguments: redis_benchmark,
        read: output::csv,
        file: None,
        counts: true,
        window: false,
        fine: &[0],
    },
    Tool {
        name: "valkey-benchmark",
        install: "build https://github.com/valkey-io/valkey with make valkey-benchmark",
        arguments: redis_benchmark,
        read: output::csv,
        file: None,
        counts: true,
        window: false,
        fine: &[0],
    },
    Tool {
        name: "memtier_benchmark",
        install: "build https://github.com/redis/memtier_benchmark with autoreconf -i, ./configure and make",
        arguments: memtier,
        read: output::memtier,
        file: Some(MEMTIER_FILE),
        counts: false,
        window: false,
        fine: &[0],
    },
];

/// The file in which memtier writes its figures.
const MEMTIER_FILE: &str = "memtier.json";

/// This product's tool. A broken rule, and a driver that was the limit, still give figures: at full load on
/// one core the second is expected.
pub(super) static OURS: Tool = Tool {
    name: "barograph",
    install: crate::contest::programs::BUILD,
    arguments: barograph,
    read: output::barograph,
    file: None,
    counts: false,
    window: true,
    fine: &[0, 4, 9],
};

/// Without a warm-up and with all connections at once, like the others: CPU time is taken over the whole run, and so must be its
/// commands.
fn barograph(job: &Job) -> Option<Vec<String>> {
    let Job { port, connections, pipeline, value_bytes, seconds, .. } = job;
    let rate = job.rate.map_or(String::new(), |rate| format!(" --rate {rate}"));
    Some(words(&format!(
        "kv 127.0.0.1:{port} -c {connections} -P {pipeline}{rate} --mix {} --keys {KEYS} --value {value_bytes} --no-fill \
         -d {seconds}s --warm-up 0s --set load.ramp_s=0 --workers 1 -q --json",
        job.verb.name()
    )))
}

/// redis-benchmark, which has no rate.
fn redis_benchmark(job: &Job) -> Option<Vec<String>> {
    let Job { port, connections, pipeline, value_bytes, count, .. } = job;
    let verb = job.verb.name().to_lowercase();
    job.rate.is_none().then(|| {
        words(&format!(
            "-h 127.0.0.1 -p {port} -t {verb} -d {value_bytes} -c {connections} -P {pipeline} -n {count} -r {KEYS} --csv \
             --precision 3"
        ))
    })
}

/// memtier_benchmark, whose rate is per connection.
fn memtier(job: &Job) -> Option<Vec<String>> {
    let Job { port, connections, pipeline, value_bytes, seconds, .. } = job;
    let ratio = match job.verb {
        Verb::Get => "0:1",
        Verb::Set => "1:0",
    };
    let rate = job.rate.map_or(String::new(), |rate| format!(" --rate-limiting={}", rate / connections));
    let file = job.folder.join(MEMTIER_FILE);
    Some(words(&format!(
        "-s 127.0.0.1 -p {port} -t 1 -c {connections} --pipeline {pipeline}{rate} --ratio={ratio} -d {value_bytes} \
         --key-minimum=1 --key-maximum={KEYS} --test-time={seconds} --hide-histogram --print-percentiles=50,90,95,99 \
         --json-out-file={}",
        file.display()
    )))
}

/// Keys of this product's tool, of redis-benchmark and of valkey-benchmark.
pub(super) fn usual_key(number: u32) -> String {
    format!("key:{number:012}")
}

/// Keys of memtier_benchmark.
pub(super) fn memtier_key(number: u32) -> String {
    format!("memtier-{}", number + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        Job {
            port: 7001,
            verb: Verb::Get,
            value_bytes: 100,
            connections: 50,
            pipeline: 30,
            seconds: 3,
            rate: None,
            count: 40_000,
            folder: PathBuf::from("/f"),
        }
    }

    fn lines(job: &Job) -> Vec<String> {
        let all = std::iter::once(&OURS).chain(&TOOLS);
        all.filter_map(|t| (t.arguments)(job).map(|a| format!("{} {}", t.name, a.join(" ")))).collect()
    }

    #[test]
    fn as_fast_as_replies_come_all_take_part() {
        let expected = [
            "barograph kv 127.0.0.1:7001 -c 50 -P 30 --mix GET --keys 100000 --value 100 --no-fill -d 3s --warm-up 0s \
             --set load.ramp_s=0 --workers 1 -q --json",
            "redis-benchmark -h 127.0.0.1 -p 7001 -t get -d 100 -c 50 -P 30 -n 40000 -r 100000 --csv --precision 3",
            "valkey-benchmark -h 127.0.0.1 -p 7001 -t get -d 100 -c 50 -P 30 -n 40000 -r 100000 --csv --precision 3",
            "memtier_benchmark -s 127.0.0.1 -p 7001 -t 1 -c 50 --pipeline 30 --ratio=0:1 -d 100 --key-minimum=1 \
             --key-maximum=100000 --test-time=3 --hide-histogram --print-percentiles=50,90,95,99 \
             --json-out-file=/f/memtier.json",
        ];
        assert_eq!(lines(&job()), expected);
    }

    #[test]
    fn a_rate_leaves_out_the_tools_that_have_none() {
        let lines = lines(&Job { rate: Some(20_000), pipeline: 1, verb: Verb::Set, ..job() });
        assert_eq!(lines.len(), 2);
        assert!(lines[0].contains(" -c 50 -P 1 --rate 20000 --mix SET "), "{}", lines[0]);
        assert!(lines[1].contains(" --pipeline 1 --rate-limiting=400 --ratio=1:0 "), "{}", lines[1]);
    }

    #[test]
    fn all_keys_of_a_tool_are_among_those_that_are_filled() {
        assert_eq!(
            (usual_key(0), usual_key(KEYS - 1)),
            ("key:000000000000".into(), "key:000000099999".into())
        );
        assert_eq!((memtier_key(0), memtier_key(KEYS - 1)), ("memtier-1".into(), "memtier-100000".into()));
    }
}
