//! The fill phase. Before deploying, a job fills a data set, or an earlier run's is found; after deploying, a
//! workload may fill its target through the target's address.

use std::path::Path;
use std::sync::{Arc, Mutex};

use barograph_model::Phase;
use barograph_model::words::count;
use barograph_platform::{OnLine, Resource};
use barograph_record::{Count, Entry, Fill};
use barograph_workload::{
    Application, DataSet, DataSets, FillLine, FillProgress, Job, LoadJob, OnProgress, Workload,
};

use crate::deploy::Deployment;
use crate::run::{CheckedLoad, Run};
use crate::{HarnessError, Progress, load_phase};

/// Interval between progress updates on the screen.
const SHOW_EVERY: std::time::Duration = std::time::Duration::from_millis(250);

/// Reports of the job so far.
#[derive(Default)]
struct JobReport {
    progress: Option<FillProgress>,
    filled: Option<Box<Fill>>,
}

/// Provides the data set of a load's application, if it has data sets.
pub(crate) async fn fill(run: &mut Run<'_>, at: usize) -> Result<(), HarnessError> {
    let load = run.loads[at].clone();
    let Some((sets, data)) = Run::data_sets(&load) else { return Ok(()) };
    let factors: Vec<String> = data.factors.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let about = format!("data of size {} for {} users ({})", data.size, data.max_users, factors.join(", "));
    run.phase(Phase::Fill, &about)?;
    let dir = data.dir_in(&run.plan.data.dir);
    let filled = if sets.is_filled(&dir) {
        run_job(run, (at, sets), (data, &dir)).await?
    } else {
        fill_afresh(run, (at, sets), (data, &dir)).await?
    };
    run.say(&words(&filled, &dir));
    run.record_of_target(at).append(&Entry::Fill(filled))?;
    run.done()
}

/// Fills under a temporary name of this run, and renames the data set when it is complete. A stopped run
/// therefore removes only its own files, and two runs may fill at the same time.
async fn fill_afresh(
    run: &mut Run<'_>,
    (at, sets): (usize, &dyn DataSets),
    (data, dir): (&DataSet, &Path),
) -> Result<Fill, HarnessError> {
    let mut name = dir.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", run.world.id));
    let part = dir.with_file_name(name);
    let path = std::path::absolute(&part).unwrap_or_else(|_| part.clone());
    let entry = run.ledger.will(Resource::Directory { path })?;
    let filled = run_job(run, (at, sets), (data, &part)).await?;
    match std::fs::rename(&part, dir) {
        Ok(()) => run.ledger.removed(entry)?,
        // Another run was faster; its data are the same.
        Err(_) if sets.is_filled(dir) => run.ledger.remove_directory(entry)?,
        Err(why) => return Err(HarnessError::KeepData { dir: dir.to_owned(), why }),
    }
    Ok(filled)
}

async fn run_job(
    run: &mut Run<'_>,
    (at, sets): (usize, &dyn DataSets),
    (data, dir): (&DataSet, &Path),
) -> Result<Fill, HarnessError> {
    let CheckedLoad { checked, workload } = run.loads[at].clone();
    let job = Job { plan: &checked.plan, data: Some(data), log: run.file_of(at, "fill.log") };
    let unit = sets.fill_unit(data, dir, &job);
    let said: Arc<Mutex<JobReport>> = Arc::default();
    let on_line = listener(workload, Arc::clone(&said));
    let stop = run.world.stop.clone();
    let home = stop.or(run.home()).await??;
    stop.or(home.preflight(&unit)).await?.map_err(HarnessError::Missing)?;
    let mut job = home.create(&unit, on_line);
    let mut show = tokio::time::interval(SHOW_EVERY);
    loop {
        tokio::select! {
            biased;
            () = stop.wanted() => return Err(HarnessError::Interrupted),
            _ = show.tick() => {
                let progress = said.lock().expect("nobody panics while holding it").progress.clone();
                show_progress(run, progress);
            }
            ended = &mut job => {
                let running = ended?;
                drop(running);
                break;
            }
        }
    }
    drop(job);
    home.close().await?;
    let filled = said.lock().expect("nobody panics while holding it").filled.take();
    filled.map(|fill| *fill).ok_or_else(|| HarnessError::FillSilent { size: data.size.clone() })
}

/// Keeps the newest line of each kind, so that the last one is never lost.
fn listener(workload: Arc<dyn Workload>, said: Arc<Mutex<JobReport>>) -> OnLine {
    Arc::new(move |line: &str| {
        let sets = workload.application().and_then(Application::data_sets);
        let heard = sets.and_then(|sets| sets.fill_line(line));
        let mut said = said.lock().expect("nobody panics while holding it");
        match heard {
            Some(FillLine::Progress(progress)) => said.progress = Some(progress),
            Some(FillLine::Filled(fill)) => said.filled = Some(fill),
            None => {}
        }
    })
}

/// Lets the workload of a load fill its target through the target's address, if it has a fill.
pub(crate) async fn prepare(
    run: &mut Run<'_>,
    at: usize,
    app: Option<&Deployment>,
    url: &str,
) -> Result<(), HarnessError> {
    let CheckedLoad { checked, workload } = run.loads[at].clone();
    let (tell, told) = tokio::sync::watch::channel(None);
    let progress: OnProgress = Arc::new(move |progress| {
        tell.send_replace(Some(progress));
    });
    let job = LoadJob { url, plan: &checked.plan, data: checked.data.as_ref() };
    let Some(mut filling) = workload.prepare(&job, progress) else { return Ok(()) };
    let shown = run.record.shown(url);
    let about = match checked.plan.load.as_str() {
        "" => format!("through {shown}"),
        name => format!("for load {name}, through {shown}"),
    };
    run.phase(Phase::Fill, &about)?;
    let begun_s = run.clock.at_s();
    let stop = run.world.stop.clone();
    let mut gone = std::pin::pin!(load_phase::gone(app));
    let mut show = tokio::time::interval(SHOW_EVERY);
    let mut filled = loop {
        tokio::select! {
            biased;
            () = stop.wanted() => return Err(HarnessError::Interrupted),
            gone = &mut gone => return Err(gone),
            filled = &mut filling => break filled?,
            _ = show.tick() => show_progress(run, told.borrow().clone()),
        }
    };
    // The last progress may be newer than the last look.
    show_progress(run, told.borrow().clone());
    if !filled.reused {
        filled.seconds = run.clock.at_s() - begun_s;
    }
    run.say(&words_through(&filled));
    run.record.of_load(at).append(&Entry::Fill(filled))?;
    run.done()
}

fn show_progress(run: &mut Run<'_>, progress: Option<FillProgress>) {
    if let Some(p) = progress {
        let done = if p.total == 0 { 0.0 } else { p.done as f64 / p.total as f64 };
        let line = format!("{}: {} of {}", p.stage, count(p.done), count(p.total));
        run.screen.progress(&Progress { done, remaining: None, line });
    }
}

fn words(fill: &Fill, dir: &Path) -> String {
    let rows: u64 = fill.rows.iter().map(|c| c.count).sum();
    let bytes: u64 = fill.bytes.iter().map(|c| c.count).sum();
    let how = if fill.reused { "reused from an earlier run" } else { "filled" };
    format!(
        "{how}: {} rows and pictures, {:.2} GB in {} ({:.1} s when it was made)",
        count(rows),
        bytes as f64 / 1e9,
        dir.display(),
        fill.seconds
    )
}

/// Formats a fill as in `filled: 1,000,000 rows, 0.12 GB in 3.2 s (312,500 rows/s)`.
fn words_through(fill: &Fill) -> String {
    let sum = |of: &[Count]| of.iter().map(|c| c.count).sum::<u64>();
    let bytes = match sum(&fill.bytes) {
        0 => String::new(),
        bytes => format!(", {:.2} GB", bytes as f64 / 1e9),
    };
    let rows = sum(&fill.rows);
    let rate = count((rows as f64 / fill.seconds.max(f64::MIN_POSITIVE)) as u64);
    let rows = count(rows);
    match fill.reused {
        true => format!("filled already: {rows} rows{bytes}"),
        false => format!("filled: {rows} rows{bytes} in {:.1} s ({rate} rows/s)", fill.seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestWorkload;

    #[test]
    fn the_closing_line_is_kept_however_many_lines_come() {
        let said: Arc<Mutex<JobReport>> = Arc::default();
        let on_line = listener(Arc::new(TestWorkload::default()), Arc::clone(&said));
        for n in 0..10_000 {
            on_line(&n.to_string());
        }
        on_line("filled");
        on_line("a word of a library");
        on_line("10000");
        let said = said.lock().unwrap();
        assert_eq!(said.progress.as_ref().unwrap().done, 10_000);
        assert!(said.filled.is_some());
    }
}
