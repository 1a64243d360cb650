//! Whole tables of made-up runs.

use std::path::PathBuf;

use super::super::tools::{Job, TOOLS, Verb};
use super::*;

fn case(group: &str, connections: u32, pipeline: u32) -> Case {
    let (verb, folder) = (Verb::Get, PathBuf::new());
    let job = Job {
        port: 1,
        verb,
        value_bytes: 1,
        connections,
        pipeline,
        seconds: 3,
        rate: None,
        count: 9,
        folder,
    };
    Case { group: group.to_owned(), name: job.shape(), chain: 0, job }
}

fn run(case: usize, tool: &'static str, round: u32, driver_us: f64) -> Run {
    let reading = ToolReport { commands: 9_000, per_s: 50_000.0, p99_ms: Some(1.5), ..ToolReport::default() };
    Run { case, tool, round, reading, served: 9_010, driver_us, servers_us: [Some(12.0), None, None] }
}

fn direct() -> (Vec<Case>, Vec<Run>) {
    let cases = vec![case("GET, 1 byte", 50, 1), case("GET, 1 byte", 50, 30), case("SET, 1 byte", 50, 1)];
    // The second round was slow for both: the ratio of the medians would be another one.
    let mut runs = vec![
        run(0, "barograph", 0, 8.0),
        run(0, "redis-benchmark", 0, 10.0),
        run(0, "barograph", 1, 18.0),
        run(0, "redis-benchmark", 1, 20.0),
        run(1, "barograph", 0, 0.6),
        run(1, "redis-benchmark", 0, 1.0),
        run(2, "barograph", 0, 7.0),
        run(2, "redis-benchmark", 0, 10.0),
    ];
    runs[0].reading.own_cpu_us = Some(7.5);
    (cases, runs)
}

#[test]
fn a_table_for_each_group_and_one_of_all() {
    let (cases, runs) = direct();
    let expected = "\
### All commands and sizes together

| CPU to redis-benchmark | 1x1 | 50x1 | 50x30 | 1000x1 | 1000x30 |
|---|---|---|---|---|---|
| barograph | - | 0.80 (0.70 to 0.90) | 0.60 (0.60 to 0.60) | - | - |
| barograph, by its own account of the window | - | 0.75 (0.75 to 0.75) | - | - | - |
| wanted of barograph, at most | - | 0.80 | 0.70 | 0.65 | 0.65 |

### GET, 1 byte

| connections x pipeline | driver | rounds | K commands/s | CPU us/command | to redis-benchmark | store CPU us/command | p50 ms | p99 ms | failed |
|---|---|---|---|---|---|---|---|---|---|
| 50x1 | barograph | 2 | 50.0 (50.0 to 50.0) | 13.00 (8.00 to 18.00) | 0.85 (0.80 to 0.90) | 12.00 | - | 1.500 | 0 |
| 50x1 | redis-benchmark | 2 | 50.0 (50.0 to 50.0) | 15.00 (10.00 to 20.00) | 1.00 (1.00 to 1.00) | 12.00 | - | 1.500 | 0 |
| 50x30 | barograph | 1 | 50.0 (50.0 to 50.0) | 0.60 (0.60 to 0.60) | 0.60 (0.60 to 0.60) | 12.00 | - | 1.500 | 0 |
| 50x30 | redis-benchmark | 1 | 50.0 (50.0 to 50.0) | 1.00 (1.00 to 1.00) | 1.00 (1.00 to 1.00) | 12.00 | - | 1.500 | 0 |

### SET, 1 byte

| connections x pipeline | driver | rounds | K commands/s | CPU us/command | to redis-benchmark | store CPU us/command | p50 ms | p99 ms | failed |
|---|---|---|---|---|---|---|---|---|---|
| 50x1 | barograph | 1 | 50.0 (50.0 to 50.0) | 7.00 (7.00 to 7.00) | 0.70 (0.70 to 0.70) | 12.00 | - | 1.500 | 0 |
| 50x1 | redis-benchmark | 1 | 50.0 (50.0 to 50.0) | 10.00 (10.00 to 10.00) | 1.00 (1.00 to 1.00) | 12.00 | - | 1.500 | 0 |
";
    assert_eq!(tables(Section::Direct, &cases, &runs), expected);
}

#[test]
fn another_build_is_the_base_where_it_was_measured() {
    let (cases, mut runs) = direct();
    runs.push(run(0, OTHER, 0, 16.0));
    let text = tables(Section::Direct, &cases, &runs);
    assert!(text.contains("| CPU to barograph, other |") && !text.contains("wanted of"), "{text}");
    assert!(text.contains(
        "| 50x1 | barograph | 2 | 50.0 (50.0 to 50.0) | 13.00 (8.00 to 18.00) | 0.50 (0.50 to 0.50) |"
    ));
}

#[test]
fn without_a_base_there_are_no_ratios() {
    let (cases, runs) = direct();
    let text = tables(Section::Direct, &cases[..1], &runs[..1]);
    assert!(text.starts_with("\n### GET, 1 byte\n"), "{text}");
    assert!(text.contains("| CPU us/command | store CPU us/command |"), "{text}");
}

#[test]
fn a_rate_is_missed_by_too_much_or_too_little() {
    let off = |per_s| {
        missed_percent(&Run { reading: ToolReport { per_s, ..ToolReport::default() }, ..run(0, "t", 0, 1.0) })
    };
    assert!((off(20_020.0) - 0.1).abs() < 1e-9);
    assert!((off(19_000.0) - 5.0).abs() < 1e-9);
}

#[test]
fn stalls_have_a_row_of_what_is_computed() {
    let stalled = Run {
        reading: ToolReport { p99_ms: Some(855.0), ..ToolReport::default() },
        ..run(0, "barograph", 0, 1.0)
    };
    let text = tables(Section::Stall, &[Case { group: String::new(), ..case("", 50, 1) }], &[stalled]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[2],
        "| at equal distances | computed | - | - | 0 | 500 | 750 | 950 | 1.000 | 1000 | - |"
    );
    assert_eq!(lines[3], "| 50x1 | barograph | 1 | 0 (0 to 0) | - | - | - | 855.000 | 0.900 | - | 0 |");
    let columns = |line: &str| line.matches('|').count();
    assert_eq!((columns(lines[0]), columns(lines[1])), (columns(lines[2]), columns(lines[3])));
}

#[test]
fn proxies_have_columns_of_their_own() {
    let chained = Run { servers_us: [Some(3.0), Some(16.0), None], ..run(0, "barograph", 0, 18.0) };
    let text = tables(Section::Proxies, &[Case { group: String::new(), ..case("", 100, 1) }], &[chained]);
    assert!(text.contains("| store CPU us/command | twemproxy | HAProxy | stores and proxies |"), "{text}");
    assert!(text.contains("| 18.00 (18.00 to 18.00) | 3.00 | 16.00 | - | 19.00 | - | 1.500 | 0 |"), "{text}");
}

#[test]
fn counts_that_disagree_are_doubted() {
    let job = case("", 50, 30).job;
    let by = |tool, commands, failed, served, misses| {
        let reading = ToolReport { commands, failed, ..ToolReport::default() };
        super::doubt(tool, &job, &reading, &Account { commands: served, misses, ..Account::default() })
    };
    let doubt = |commands, failed, served, misses| by(&TOOLS[0], commands, failed, served, misses);
    assert_eq!(doubt(100_000, 0, 100_004, 0), None);
    assert_eq!(doubt(100_000, 0, 105_000, 0), None);
    assert_eq!(doubt(100_000, 0, 105_101, 0).unwrap(), "it counted 100000 commands, and the store 105101");
    assert_eq!(doubt(100_000, 5, 100_004, 0).unwrap(), "it counted 100005 commands, and the store 100004");
    assert_eq!(by(&OURS, 100_000, 0, 150_000, 0), None);
    assert!(by(&OURS, 100_000, 0, 99_999, 0).is_some());
    assert_eq!(doubt(100_000, 0, 100_004, 7).unwrap(), "7 of the keys were not there");
}

#[test]
fn raw_lines_have_as_many_fields_as_titles() {
    let line =
        raw_line(Section::Direct, &case("GET, 1 byte", 50, 1), &run(0, "barograph, other", 3, 9.876_54));
    assert_eq!(
        line,
        "direct,\"GET, 1 byte, 50x1\",\"barograph, other\",3,9000,50000.0,9010,0,9.8765,12.0000,,,,,,1.5000,,,,"
    );
    // Three commas stand inside quoted names.
    assert_eq!(line.matches(',').count(), RAW_TITLES.matches(',').count() + 3);
}
