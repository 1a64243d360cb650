//! The compared tools: command lines, paths, installation by hand.

use std::path::{Path, PathBuf};

use super::output::{self, ToolReport};
use crate::contest::programs::{find, version, words};

/// A job for a tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job<'a> {
    pub(super) url: &'a str,
    pub(super) connections: u32,
    pub(super) seconds: u64,
    /// Starts per second over all connections; `None` for as fast as answers come.
    pub(super) rate: Option<u32>,
    /// Wait of a user between an answer and the next request, s.
    pub(super) think_s: Option<u32>,
    /// Folder for a file that a tool needs.
    pub(super) folder: &'a Path,
}

/// A tool.
pub(super) struct Tool {
    pub(super) name: &'static str,
    program: &'static str,
    /// The command that installs it. It is printed, never run.
    pub(super) install: &'static str,
    version: &'static str,
    /// The arguments for a job; `None` if the tool cannot do it.
    pub(super) arguments: fn(&Job<'_>) -> Option<Vec<String>>,
    pub(super) read: fn(&str) -> anyhow::Result<ToolReport>,
}

/// Every tool except this product's, in the order of the tables.
pub(super) const TOOLS: [Tool; 6] = [
    Tool {
        name: "wrk",
        program: "wrk",
        install: "apt-get install wrk",
        version: "-v",
        arguments: wrk,
        read: output::wrk,
    },
    Tool {
        name: "wrk2",
        program: "wrk2",
        install: "build https://github.com/giltene/wrk2 with make and name the program wrk2",
        version: "-v",
        arguments: wrk2,
        read: output::wrk,
    },
    Tool {
        name: "h2load",
        program: "h2load",
        install: "apt-get install nghttp2-client",
        version: "--version",
        arguments: h2load,
        read: output::h2load,
    },
    Tool {
        name: "fortio",
        program: "fortio",
        install: "go install fortio.org/fortio@latest",
        version: "version",
        arguments: fortio,
        read: output::fortio,
    },
    Tool {
        name: "oha",
        program: "oha",
        install: "cargo install oha",
        version: "--version",
        arguments: oha,
        read: output::oha,
    },
    Tool {
        name: "k6",
        program: "k6",
        install: "go install go.k6.io/k6@latest",
        version: "version",
        arguments: k6,
        read: output::k6,
    },
];

impl Tool {
    /// Its path, if it is available.
    pub(super) fn find(&self, folders: &[PathBuf]) -> Option<PathBuf> {
        find(self.program, folders)
    }

    /// The tool's version in its own words.
    pub(super) fn version(&self, program: &Path) -> String {
        version(program, self.version)
    }
}

fn wrk(job: &Job<'_>) -> Option<Vec<String>> {
    let Job { url, connections, seconds, rate, think_s, .. } = job;
    (rate.is_none() && think_s.is_none())
        .then(|| words(&format!("-t1 -c{connections} -d{seconds}s --latency {url}")))
}

fn wrk2(job: &Job<'_>) -> Option<Vec<String>> {
    let Job { url, connections, seconds, rate, think_s, .. } = job;
    let rate = rate.filter(|_| think_s.is_none())?;
    Some(words(&format!("-t1 -c{connections} -d{seconds}s -R{rate} --latency {url}")))
}

fn h2load(job: &Job<'_>) -> Option<Vec<String>> {
    let Job { url, connections, seconds, rate, think_s, .. } = job;
    if think_s.is_some() {
        return None;
    }
    let rate = match rate {
        // Its rate is per connection.
        Some(rate) => format!(" --rps={}", f64::from(*rate) / f64::from(*connections)),
        None => String::new(),
    };
    Some(words(&format!("--h1 -t1 -c{connections} -D{seconds}{rate} {url}")))
}

fn fortio(job: &Job<'_>) -> Option<Vec<String>> {
    let Job { url, connections, seconds, rate, think_s, .. } = job;
    let rate = rate.unwrap_or(0);
    think_s.is_none().then(|| {
        words(&format!("load -quiet -json - -p 50,99 -c {connections} -t {seconds}s -qps {rate} {url}"))
    })
}

fn oha(job: &Job<'_>) -> Option<Vec<String>> {
    let Job { url, connections, seconds, rate, think_s, .. } = job;
    // Without the correction its times begin when a connection is free, not when the request was due.
    let rate = rate.map_or(String::new(), |rate| format!(" -q {rate} --latency-correction"));
    think_s
        .is_none()
        .then(|| words(&format!("--no-tui --output-format json -c {connections} -z {seconds}s{rate} {url}")))
}

fn k6(job: &Job<'_>) -> Option<Vec<String>> {
    let file = job.folder.join("k6.js");
    std::fs::write(&file, k6_script(job)).ok()?;
    Some(words(&format!("run --quiet --no-usage-report {}", file.display())))
}

/// A script for k6 for the job; its summary is the JSON that [`output::k6`] parses.
fn k6_script(job: &Job<'_>) -> String {
    let Job { url, connections, seconds, rate, think_s, .. } = job;
    let scenario = match rate {
        Some(rate) => format!(
            "executor: 'constant-arrival-rate', rate: {rate}, timeUnit: '1s', duration: '{seconds}s', \
             preAllocatedVUs: {connections}, maxVUs: {connections}"
        ),
        None => format!(
            "executor: 'constant-vus', vus: {connections}, duration: '{seconds}s', gracefulStop: '0s'"
        ),
    };
    let think = think_s.map_or(String::new(), |s| format!(" sleep({s});"));
    format!(
        "import http from 'k6/http';\nimport {{ sleep }} from 'k6';\n\
         export const options = {{ discardResponseBodies: true, scenarios: {{ all: {{ {scenario} }} }},\n  \
         summaryTrendStats: ['p(50)', 'p(99)'] }};\n\
         export default function () {{ http.get('{url}');{think} }}\n\
         export function handleSummary(data) {{\n  const m = data.metrics;\n  const t = m.http_req_duration.values;\n  \
         return {{ stdout: JSON.stringify({{ requests: m.http_reqs.values.count, requests_per_s: \
         m.http_reqs.values.rate, failed_share: m.http_req_failed.values.rate, p50_ms: t['p(50)'], p99_ms: \
         t['p(99)'] }}) }};\n}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(job: &Job<'_>) -> Vec<String> {
        let of = |t: &Tool| (t.arguments)(job).map(|a| format!("{} {}", t.name, a.join(" ")));
        TOOLS.iter().filter(|t| t.name != "k6").filter_map(of).collect()
    }

    fn job() -> Job<'static> {
        Job {
            url: "U",
            connections: 64,
            seconds: 5,
            rate: None,
            think_s: None,
            folder: Path::new("/nowhere"),
        }
    }

    #[test]
    fn closed_loop_leaves_out_the_tool_that_needs_a_rate() {
        let expected = [
            "wrk -t1 -c64 -d5s --latency U",
            "h2load --h1 -t1 -c64 -D5 U",
            "fortio load -quiet -json - -p 50,99 -c 64 -t 5s -qps 0 U",
            "oha --no-tui --output-format json -c 64 -z 5s U",
        ];
        assert_eq!(lines(&job()), expected);
    }

    #[test]
    fn a_fixed_rate_leaves_out_the_tool_that_has_none() {
        let expected = [
            "wrk2 -t1 -c64 -d5s -R5000 --latency U",
            "h2load --h1 -t1 -c64 -D5 --rps=78.125 U",
            "fortio load -quiet -json - -p 50,99 -c 64 -t 5s -qps 5000 U",
            "oha --no-tui --output-format json -c 64 -z 5s -q 5000 --latency-correction U",
        ];
        assert_eq!(lines(&Job { rate: Some(5_000), ..job() }), expected);
    }

    #[test]
    fn users_that_wait_are_for_k6_alone() {
        let waiting = Job { think_s: Some(7), connections: 10_000, ..job() };
        assert!(lines(&waiting).is_empty());
        let script = k6_script(&waiting);
        assert!(script.contains("executor: 'constant-vus', vus: 10000, duration: '5s'"), "{script}");
        assert!(script.contains("http.get('U'); sleep(7);"), "{script}");
        let script = k6_script(&Job { rate: Some(5_000), ..job() });
        assert!(
            script.contains("'constant-arrival-rate', rate: 5000,") && !script.contains("sleep("),
            "{script}"
        );
    }
}
