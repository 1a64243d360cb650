//! The page in docs/reference, and the raw readings beside it.

use std::path::Path;

use anyhow::Context;

use super::Reading;
use super::tools::{CASES, Case, Figures, Kind, OURS, TOOLS};
use crate::contest::figures::{median, middle, ratios, with_spread};
use crate::contest::{DRIVER_CPU, Head, TARGET_CPU, readings};

/// One run of one tool in one case.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    /// Index of the case.
    pub(super) case: usize,
    pub(super) tool: &'static str,
    pub(super) round: u32,
    pub(super) reading: Reading,
}

/// The whole page. One sentence per line, as everywhere.
pub(super) fn page(
    head: &Head,
    runs: &[Run],
    (began, ended): (&str, &str),
    (trouble, raw_name): (&[String], &str),
) -> String {
    let mut text = format!(
        "# What the network workload carries, beside iperf3 and netperf\n\n\
         This page is written by `cargo xtask bench net`; do not edit it.\n\
         The target is on core {TARGET_CPU} and the driver on core {DRIVER_CPU}, over the loopback network with one connection.\n\
         A case has the bytes of a message and those of the socket buffers of both ends; one of datagrams has their bytes and their rate.\n\
         Tools take turns in each case of a round, each with its own server; a figure is the median over the rounds, with the least and the most of them.\n\
         A ratio is the median of the ratios of Barograph to the tool within each round.\n\
         CPU is user and system time of the whole process at each end, divided by the bytes, requests or sent datagrams that the tool counts.\n\
         Streams of Barograph begin before the window whose bytes it counts and end after it, so their CPU is that of the window, by its own account of both ends.\n\
         Both tools read in blocks of their own choice, Barograph in blocks of 128 KiB.\n\
         Receivers of streams of Barograph look for bytes for some microseconds before they sleep, which is in their CPU; those of the others sleep at once.\n\
         Streams of all tools are with Nagle's algorithm, and buffers of a stated size are set before a connection is made.\n\
         Processor time of a target is missing where its processes end without being counted, as those of netserver.\n\
         Datagrams are lost where the socket of the target has no room for them; without a rate they are sent as fast as the system takes them.\n\
         Jitter is that of RFC 3550 at the target, which is the mean over all arrivals with Barograph, and the last one with iperf3.\n\
         All readings are in [{raw_name}]({raw_name}).\n\n"
    );
    text += &head.text();
    text += &format!("\n## Figures\n\n{}", table(runs));
    text += &format!("\nLoad of the machine {began} at the beginning and {ended} at the end.\n");
    for line in trouble {
        text += &format!("Not measured: {line}.\n");
    }
    text
}

/// The tables of streams, requests and datagrams.
pub(super) fn table(runs: &[Run]) -> String {
    let streams = "| case | tool | Gb/s | ratio | driver CPU ms/GB | target CPU ms/GB | ratio of both |\n|---|---|---|---|---|---|---|\n";
    let requests = "\n| case | tool | K requests/s | ratio | p50 us | p99 us | ratio of p50 | driver CPU us | target CPU us |\n\
                    |---|---|---|---|---|---|---|---|---|\n";
    let datagrams = "\n| case | tool | K datagrams/s sent | ratio | of the rate % | lost % | jitter us | driver CPU us | target CPU us | ratio of both |\n\
                     |---|---|---|---|---|---|---|---|---|---|\n";
    let rows = |kind: Kind| {
        let cases = CASES.iter().enumerate().filter(move |(_, case)| case.kind() == kind);
        cases.flat_map(|(at, case)| rows_of(case, at, runs)).collect::<String>()
    };
    format!(
        "{streams}{}{requests}{}{datagrams}{}",
        rows(Kind::Stream),
        rows(Kind::Request),
        rows(Kind::Datagram)
    )
}

fn rows_of(case: &Case, at: usize, runs: &[Run]) -> Vec<String> {
    let mut tools: Vec<&str> = Vec::new();
    for run in runs.iter().filter(|run| run.case == at) {
        if !tools.contains(&run.tool) {
            tools.push(run.tool);
        }
    }
    tools
        .iter()
        .map(|tool| row(case, tool, &runs.iter().filter(|run| run.case == at).collect::<Vec<_>>()))
        .collect()
}

fn row(case: &Case, tool: &str, runs: &[&Run]) -> String {
    type Figure = fn(&Reading) -> Option<f64>;
    let of = |name: &str, figure: Figure| -> Vec<(u32, f64)> {
        let of_tool = runs.iter().filter(|run| run.tool == name);
        of_tool.filter_map(|run| Some((run.round, figure(&run.reading)?))).collect()
    };
    let alone = |figure: Figure| of(tool, figure).into_iter().map(|(_, value)| value).collect::<Vec<f64>>();
    let ratio = |figure: Figure| match median(&ratios(&of(OURS.name, figure), &of(tool, figure))) {
        Some(ratio) if tool != OURS.name => format!("{ratio:.3}"),
        _ => String::new(),
    };
    let (rate, both): (Figure, Figure) = (|r| Some(r.figures.rate), |r| Some(r.driver_cpu + r.target_cpu?));
    let (driver, target) = (alone(|r| Some(r.driver_cpu)), alone(|r| r.target_cpu));
    let begin = format!("| {} | {tool} | {} | {} |", case.name, with_spread(&alone(rate), 2), ratio(rate));
    let (driver, target) = (middle(&driver, 1), middle(&target, 1));
    match case.kind() {
        Kind::Stream => format!("{begin} {driver} | {target} | {} |\n", ratio(both)),
        Kind::Request => {
            let (p50, p99) = (alone(|r| r.figures.p50_us), alone(|r| r.figures.p99_us));
            let of_p50 = ratio(|r| r.figures.p50_us);
            let (p50, p99) = (with_spread(&p50, 1), middle(&p99, 1));
            format!("{begin} {p50} | {p99} | {of_p50} | {driver} | {target} |\n")
        }
        Kind::Datagram => {
            let wanted = case.wanted();
            let held: Vec<f64> = alone(rate).iter().filter_map(|rate| Some(rate / wanted? * 100.0)).collect();
            let (lost, jitter) = (alone(|r| r.figures.lost_percent), alone(|r| r.figures.jitter_us));
            let (held, lost, jitter) = (middle(&held, 1), with_spread(&lost, 2), with_spread(&jitter, 1));
            format!("{begin} {held} | {lost} | {jitter} | {driver} | {target} | {} |\n", ratio(both))
        }
    }
}

/// All readings, one line each.
pub(super) fn raw(runs: &[Run]) -> String {
    let mut text =
        "case,tool,round,rate,p50_us,p99_us,driver_cpu,target_cpu,lost_percent,jitter_us\n".to_owned();
    for Run { case, tool, round, reading: Reading { figures, driver_cpu, target_cpu } } in runs {
        let Figures { rate, p50_us, p99_us, lost_percent, jitter_us, own_cpu: _ } = figures;
        let [p50, p99, target, lost, jitter] = [p50_us, p99_us, target_cpu, lost_percent, jitter_us]
            .map(|figure| figure.map_or(String::new(), |figure| format!("{figure:.2}")));
        text += &format!(
            "\"{}\",{tool},{round},{rate:.4},{p50},{p99},{driver_cpu:.2},{target},{lost},{jitter}\n",
            CASES[*case].name
        );
    }
    text
}

/// The runs of earlier measurements, from the readings beside the page.
pub(super) fn earlier(out: &Path) -> anyhow::Result<Vec<Run>> {
    let of = |cells: &Vec<String>| {
        run_of(cells).with_context(|| format!("find a case and a tool of here in `{}`", cells.join(",")))
    };
    readings(out)?.iter().map(of).collect()
}

fn run_of(cells: &[String]) -> Option<Run> {
    // Readings from before there were datagrams end with the processor time of the target.
    let [case, tool, round, rate, p50, p99, driver, target, of_datagrams @ ..] = cells else { return None };
    let number = |cell: &String| cell.parse().ok();
    let figures = Figures {
        own_cpu: None,
        rate: number(rate)?,
        p50_us: number(p50),
        p99_us: number(p99),
        lost_percent: of_datagrams.first().and_then(number),
        jitter_us: of_datagrams.get(1).and_then(number),
    };
    let mut tools = std::iter::once(&OURS).chain(&TOOLS);
    Some(Run {
        case: CASES.iter().position(|known| known.name == case)?,
        tool: tools.find(|known| known.name == tool)?.name,
        round: round.parse().ok()?,
        reading: Reading { figures, driver_cpu: number(driver)?, target_cpu: number(target) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(case: usize, tool: &'static str, rate: f64) -> Run {
        let some = |kind, value| Some(value).filter(|_| CASES[case].kind() == kind);
        let times = some(Kind::Request, 30.0);
        let (lost_percent, jitter_us) = (some(Kind::Datagram, 0.5), some(Kind::Datagram, 4.0));
        let figures = Figures { rate, p50_us: times, p99_us: times, lost_percent, jitter_us, own_cpu: None };
        Run { case, tool, round: 0, reading: Reading { figures, driver_cpu: 100.0, target_cpu: Some(50.0) } }
    }

    #[test]
    fn a_page_has_a_row_for_each_tool_of_a_case() {
        let head = Head::new(Vec::new(), vec![("netperf".to_owned(), "make".to_owned())]);
        let runs = [
            run(3, "barograph", 20.0),
            run(3, "iperf3", 25.0),
            run(5, "barograph", 33.0),
            run(6, "barograph", 20.0),
            run(6, "iperf3", 19.0),
        ];
        let text = page(&head, &runs, ("0.1", "0.2"), (&["iperf3, x: no".to_owned()], "net.csv"));
        for words in [
            "| to, 128 KiB, system | barograph | 20.00 (20.00 to 20.00) |  | 100.0 | 50.0 |  |\n",
            "| to, 128 KiB, system | iperf3 | 25.00 (25.00 to 25.00) | 0.800 | 100.0 | 50.0 | 1.000 |\n",
            "| request, 1 byte | barograph | 33.00 (33.00 to 33.00) |  | 30.0 (30.0 to 30.0) | 30.0 |  | 100.0 | 50.0 |\n",
            "| datagrams, 1448 bytes, 20 K/s | barograph | 20.00 (20.00 to 20.00) |  | 100.0 | 0.50 (0.50 to 0.50) | 4.0 (4.0 to 4.0) | 100.0 | 50.0 |  |\n",
            "| datagrams, 1448 bytes, 20 K/s | iperf3 | 19.00 (19.00 to 19.00) | 1.053 | 95.0 | 0.50 (0.50 to 0.50) | 4.0 (4.0 to 4.0) | 100.0 | 50.0 | 1.000 |\n",
            "- netperf was not found, and is not in the tables; to install it: `make`.\n",
            "Not measured: iperf3, x: no.\n",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("net.md");
        let mut runs = runs.to_vec();
        runs[1].reading.target_cpu = None;
        crate::contest::write(&out, |_| String::new(), &raw(&runs)).unwrap();
        assert_eq!(earlier(&out).unwrap(), runs);
        let before = "head\n\"request, 1 byte\",netperf,0,33.0000,30.00,30.00,100.00,50.00\n";
        crate::contest::write(&out, |_| String::new(), before).unwrap();
        let expected = Run { tool: "netperf", ..runs[2].clone() };
        assert_eq!(earlier(&out).unwrap(), [expected]);
    }
}
