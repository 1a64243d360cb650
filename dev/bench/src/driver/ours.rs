//! This product's program among the contenders.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::output;
use super::sections::{Contender, Section};
use super::tools::Job;

/// Exit codes with figures. A broken rule, and a driver that was the limit, still give some: at full load on
/// one core the second is expected.
const FINE: &[i32] = &[0, 4, 9];

/// The name of another build of this program.
pub(super) const OTHER: &str = "barograph, other";

/// Users for whom one worker has enough files on machines that allow 20,000.
const ONE_WORKER: u32 = 19_000;

/// This program's contenders of a section.
pub(super) fn contenders(section: Section, job: &Job<'_>, program: &Path) -> anyhow::Result<Vec<Contender>> {
    let name = if section == Section::Scenario { "barograph, plain" } else { "barograph" };
    let plain = plain(name, job, program);
    if section != Section::Scenario {
        return Ok(vec![plain]);
    }
    let runs = job.folder.join("runs");
    let plan = write_scenario(job, &runs).context("write the scenario and its plan")?;
    let scenario = Contender {
        name: "barograph, scenario",
        program: program.to_path_buf(),
        arguments: ["run", &plan.to_string_lossy()].map(str::to_owned).to_vec(),
        read: output::record,
        fine: FINE,
        record: Some(runs),
    };
    Ok(vec![plain, scenario])
}

/// `barograph http` of this or another build.
pub(super) fn plain(name: &'static str, job: &Job<'_>, program: &Path) -> Contender {
    Contender {
        name,
        program: program.to_path_buf(),
        arguments: http(job),
        read: output::barograph,
        fine: FINE,
        record: None,
    }
}

/// Empties the folder of records, so that the next record is the only one.
pub(super) fn forget_records(runs: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(runs) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => {
            Err(why).with_context(|| format!("remove {}", runs.display()))
        }
        _ => Ok(()),
    }
}

/// The entries of the only record in the folder.
pub(super) fn only_record(runs: &Path) -> anyhow::Result<String> {
    let folders = fs::read_dir(runs).with_context(|| format!("read {}", runs.display()))?;
    let files = folders.filter_map(|entry| Some(entry.ok()?.path().join("run.jsonl")));
    let file = files.into_iter().find(|file| file.is_file());
    let file = file.with_context(|| format!("find a record in {}", runs.display()))?;
    fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))
}

/// The arguments of `barograph http` for a job. Without a warm-up, like the others: CPU time is taken over
/// the whole run, and so must be its requests.
fn http(job: &Job<'_>) -> Vec<String> {
    let Job { url, connections, seconds, .. } = job;
    let load = match job.rate {
        Some(rate) => format!("--rate {rate} --connections pool:{connections}"),
        None => format!("-c {connections}"),
    };
    let think = job.think_s.map_or(String::new(), |s| format!(" --think {s}s"));
    // One worker, like the others; if its open files do not suffice for the users, the program chooses.
    let workers = u32::from(*connections <= ONE_WORKER);
    let line =
        format!("http {url} {load}{think} -d {seconds}s --warm-up 0s --workers {workers} --json --quiet");
    line.split(' ').map(str::to_owned).collect()
}

/// Writes a scenario of one exchange with one extraction and one check, and a plan that runs it like
/// `barograph http`.
fn write_scenario(job: &Job<'_>, runs: &Path) -> anyhow::Result<PathBuf> {
    let scenario = job.folder.join("scenario.toml");
    fs::write(&scenario, scenario_text(job.url))?;
    let plan = job.folder.join("plan.toml");
    fs::write(&plan, plan_text(job, &scenario, runs))?;
    Ok(plan)
}

fn scenario_text(url: &str) -> String {
    let (origin, path) = split(url);
    format!(
        "about = \"One request with one extraction and one check.\"\n\n[target]\nurl = \"{origin}\"\n\n\
         [operations.Get]\nabout = \"Fetches a document and takes its number.\"\n\n\
         [[operations.Get.exchanges]]\npath = \"{path}\"\ncheck.status = 200\nextract.id = {{ json = \"/id\" }}\n"
    )
}

fn plan_text(job: &Job<'_>, scenario: &Path, runs: &Path) -> String {
    let (origin, _) = split(job.url);
    format!(
        "workload = \"scenario\"\nscenario = {scenario:?}\nruns = {runs:?}\n\n\
         [load]\nstrategy = \"fixed\"\nunit = \"users\"\nusers = {users}\nramp_s = 0\nwindow_s = {seconds}\n\
         warm_up_s = 0\ndrain_s = 2\n\n[target]\nurl = \"{origin}\"\n\n\
         [driver]\nworkers = 1\nconnections = \"keep\"\ninterval_ms = {interval_ms}\n",
        users = job.connections,
        // A window needs some intervals: twenty of them, as in `barograph http`.
        interval_ms = (job.seconds * 50).clamp(100, 1_000),
        seconds = job.seconds,
    )
}

/// Splits a URL of this benchmark into scheme with host, and path.
fn split(url: &str) -> (&str, &str) {
    let host = url.find("://").map_or(0, |at| at + 3);
    let path = url[host..].find('/').map_or(url.len(), |at| host + at);
    url.split_at(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(rate: Option<u32>, think_s: Option<u32>) -> Job<'static> {
        Job {
            url: "http://127.0.0.1:81/a",
            connections: 64,
            seconds: 5,
            rate,
            think_s,
            folder: Path::new("/f"),
        }
    }

    #[test]
    fn jobs_become_arguments() {
        assert_eq!(
            http(&job(None, None)).join(" "),
            "http http://127.0.0.1:81/a -c 64 -d 5s --warm-up 0s --workers 1 --json --quiet"
        );
        assert_eq!(
            http(&job(Some(5_000), None)).join(" "),
            "http http://127.0.0.1:81/a --rate 5000 --connections pool:64 -d 5s --warm-up 0s --workers 1 --json --quiet"
        );
        assert_eq!(
            http(&job(None, Some(7))).join(" "),
            "http http://127.0.0.1:81/a -c 64 --think 7s -d 5s --warm-up 0s --workers 1 --json --quiet"
        );
        let many = Job { connections: 100_000, ..job(None, None) };
        assert!(http(&many).join(" ").contains("--workers 0"));
    }

    #[test]
    fn the_scenario_and_its_plan_are_toml_with_one_extraction_and_one_check() {
        let text: toml::Table = scenario_text("http://127.0.0.1:81/1k.json").parse().unwrap();
        assert_eq!(text["target"]["url"].as_str(), Some("http://127.0.0.1:81"));
        let exchange = &text["operations"]["Get"]["exchanges"][0];
        assert_eq!(exchange["path"].as_str(), Some("/1k.json"));
        assert_eq!(exchange["extract"].as_table().map(toml::Table::len), Some(1));
        assert_eq!(exchange["check"].as_table().map(toml::Table::len), Some(1));
        let plan: toml::Table =
            plan_text(&job(None, None), Path::new("/f/s.toml"), Path::new("/f/runs")).parse().unwrap();
        assert_eq!(plan["load"]["users"].as_integer(), Some(64));
        assert_eq!(plan["scenario"].as_str(), Some("/f/s.toml"));
    }

    #[test]
    fn the_record_is_the_one_that_was_just_written() {
        let folder = tempfile::tempdir().unwrap();
        let runs = folder.path().join("runs");
        forget_records(&runs).unwrap();
        assert!(only_record(&runs).is_err());
        fs::create_dir_all(runs.join("2026-a")).unwrap();
        fs::write(runs.join("2026-a/run.jsonl"), "first").unwrap();
        assert_eq!(only_record(&runs).unwrap(), "first");
        forget_records(&runs).unwrap();
        assert!(only_record(&runs).is_err());
    }
}
