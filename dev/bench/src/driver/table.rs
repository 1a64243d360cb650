//! Tables of the page from the readings of all rounds.

use std::fmt::Write as _;

use super::output::ToolReport;
use crate::contest::figures::{median, middle, ratios, with_spread};

/// One run of one contender.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) contender: &'static str,
    pub(super) round: u32,
    pub(super) reading: ToolReport,
    /// CPU of the process over its requests, in microseconds.
    pub(super) cpu_us: f64,
    pub(super) rss_mib: f64,
}

/// Column titles of the raw readings.
pub(super) const RAW_TITLES: &str = "section,contender,round,requests,requests_per_s,failed,cpu_us_per_request,peak_rss_mib,p50_ms,p99_ms,start_lag_p99_ms,own_cpu_us_per_request";

/// A reading as a line of comma-separated values.
pub(super) fn raw_line(section: &str, run: &Run) -> String {
    let Run { contender, round, reading, cpu_us, rss_mib } = run;
    let mut line = format!(
        "{section},\"{contender}\",{round},{},{:.1},{},{cpu_us:.3},{rss_mib:.1}",
        reading.requests, reading.requests_per_s, reading.failed
    );
    for value in [reading.p50_ms, reading.p99_ms, reading.lag_p99_ms, reading.own_cpu_us] {
        line.push_str(&value.map_or(",".to_owned(), |v| format!(",{v:.4}")));
    }
    line
}

/// Median CPU per request by a contender's own account, if it has one.
pub(super) fn own_cpu_us(runs: &[Run], contender: &str) -> Option<f64> {
    let mine = runs.iter().filter(|r| r.contender == contender);
    median(&mine.filter_map(|r| r.reading.own_cpu_us).collect::<Vec<_>>())
}

/// The table of a section; ratios are taken against `base`.
pub(super) fn table(runs: &[Run], base: Option<&str>) -> String {
    let to = base.unwrap_or("nothing");
    let mut text = format!(
        "| tool | rounds | requests/s | to {to} | CPU us/request | to {to} | peak RSS MiB | p50 ms | p99 ms | start lag p99 ms | failed |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n"
    );
    let of = |name: &str| runs.iter().filter(|r| r.contender == name).collect::<Vec<_>>();
    let base = base.map(of).unwrap_or_default();
    let mut seen: Vec<&str> = Vec::new();
    for run in runs {
        if seen.contains(&run.contender) {
            continue;
        }
        seen.push(run.contender);
        let mine = of(run.contender);
        let all = |figure: fn(&Run) -> f64| mine.iter().map(|r| figure(r)).collect::<Vec<f64>>();
        let some = |figure: fn(&Run) -> Option<f64>| {
            middle(&mine.iter().filter_map(|r| figure(r)).collect::<Vec<_>>(), 3)
        };
        let times = |figure: fn(&Run) -> f64| {
            let by_round = |runs: &[&Run]| runs.iter().map(|r| (r.round, figure(r))).collect::<Vec<_>>();
            middle(&ratios(&by_round(&mine), &by_round(&base)), 2)
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            run.contender,
            mine.len(),
            with_spread(&all(|r| r.reading.requests_per_s), 0),
            times(|r| r.reading.requests_per_s),
            with_spread(&all(|r| r.cpu_us), 1),
            times(|r| r.cpu_us),
            middle(&all(|r| r.rss_mib), 1),
            some(|r| r.reading.p50_ms),
            some(|r| r.reading.p99_ms),
            some(|r| r.reading.lag_p99_ms),
            mine.iter().map(|r| r.reading.failed).sum::<u64>(),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(contender: &'static str, round: u32, requests_per_s: f64, cpu_us: f64) -> Run {
        let (requests, failed, p50_ms) = (10, 1, Some(0.5));
        let reading = ToolReport { requests, requests_per_s, failed, p50_ms, ..ToolReport::default() };
        Run { contender, round, reading, cpu_us, rss_mib: 5.0 }
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        // The second round was slow for both: the ratio of the medians would be another one.
        let runs = [
            run("wrk", 0, 100.0, 10.0),
            run("ours", 0, 90.0, 9.0),
            run("wrk", 1, 50.0, 20.0),
            run("ours", 1, 50.0, 18.0),
            run("ours", 2, 70.0, 1.0),
        ];
        let lines: Vec<String> = table(&runs, Some("wrk")).lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 4);
        assert_eq!(
            lines[2],
            "| wrk | 2 | 75 (50 to 100) | 1.00 | 15.0 (10.0 to 20.0) | 1.00 | 5.0 | 0.500 | - | - | 2 |"
        );
        assert_eq!(
            lines[3],
            "| ours | 3 | 70 (50 to 90) | 0.95 | 9.0 (1.0 to 18.0) | 0.90 | 5.0 | 0.500 | - | - | 3 |"
        );
    }

    #[test]
    fn without_a_base_there_are_no_ratios() {
        let text = table(&[run("oha", 0, 1.0, 1.0)], None);
        assert!(
            text.lines().last().unwrap().starts_with("| oha | 1 | 1 (1 to 1) | - | 1.0 (1.0 to 1.0) | - |"),
            "{text}"
        );
    }

    #[test]
    fn raw_lines_have_as_many_fields_as_titles() {
        let line = raw_line("closed", &run("barograph, plain", 3, 1234.5, 9.87));
        assert_eq!(line, "closed,\"barograph, plain\",3,10,1234.5,1,9.870,5.0,0.5000,,,");
        // One comma stands inside the quoted name.
        assert_eq!(line.matches(',').count(), RAW_TITLES.matches(',').count() + 1);
    }
}
