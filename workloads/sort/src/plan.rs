//! The keys of the workload in plans: `[sort]`.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use barograph_model::words::{count, in_one_line};
use barograph_model::{Level, MeasureSpec, Strategy};
use barograph_sort::{RECORD, Sort};
use barograph_spec::{Plan, SettingsReader, WorkloadKeys, WorkloadSettings};

use crate::disk::free_bytes;
use crate::engine::Engine;
use crate::measures::MEASURES;
use crate::seam::{NAME, SortRecords};
use crate::topology::TIERS;

/// Most records: 100 TB.
const MOST_RECORDS: u64 = 1_000_000_000_000;

/// Most memory, in MiB.
const MOST_MEMORY_MIB: u64 = 1 << 20;

/// Most threads.
const MOST_THREADS: u64 = 1_024;

/// Condition of keys of clusters.
const CLUSTERS: &str = "with sort.engine = \"spark\" or \"hadoop\"";

/// Most workers of a cluster.
const MOST_WORKERS: u64 = 64;

/// The settings of the workload in a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SortPlan {
    pub(crate) engine: Engine,
    pub(crate) records: u64,
    pub(crate) memory_mib: u64,
    /// Threads of every step; 0 for one on each core of the driver.
    pub(crate) threads: usize,
    /// Folder of the files; `None` for that of the records of runs.
    pub(crate) folder: Option<PathBuf>,
    /// Whether the files are on the disk at the end of a step.
    pub(crate) flush: bool,
    /// Workers of a cluster, which share threads and memory.
    pub(crate) workers: u32,
}

impl SortPlan {
    /// The settings in a plan of this workload.
    pub(crate) fn of(plan: &Plan) -> Self {
        plan.settings::<Self>().expect("a plan of this workload is read with its keys").clone()
    }

    /// Bytes of the records.
    pub(crate) fn bytes(&self) -> u64 {
        self.records * RECORD as u64
    }

    /// Threads of a step on this machine.
    pub(crate) fn used_threads(&self) -> usize {
        match self.threads {
            0 => thread::available_parallelism().map_or(1, NonZero::get),
            threads => threads,
        }
    }

    /// The sort on this machine.
    pub(crate) fn sort(&self) -> Sort {
        let memory = usize::try_from(self.memory_mib << 20).unwrap_or(usize::MAX);
        Sort { records: self.records, memory, threads: self.used_threads() }
    }

    /// Tasks at once of a worker.
    pub(crate) fn cores_of_worker(&self) -> u64 {
        (self.used_threads() as u64 / u64::from(self.workers)).max(1)
    }

    /// Memory of a task, in MiB.
    pub(crate) fn task_mib(&self) -> u64 {
        self.memory_mib / (self.cores_of_worker() * u64::from(self.workers))
    }

    /// Bytes of all files: input, output and, for several passes and the exchange between tasks, as much again.
    pub(crate) fn disk_bytes(&self) -> u64 {
        let has_scratch = self.engine.is_cluster() || self.sort().traffic().passes > 1;
        self.bytes() * if has_scratch { 3 } else { 2 }
    }

    /// Folder of the files in a run of this plan.
    pub(crate) fn folder(&self, plan: &Plan) -> PathBuf {
        self.folder.clone().unwrap_or_else(|| plan.runs.clone())
    }

    /// Why the disk has no room for the files: a sentence without its full stop.
    pub(crate) fn lacks_room(&self, plan: &Plan) -> Option<String> {
        let folder = self.folder(plan);
        let (needed, shown) = (self.disk_bytes(), folder.display());
        match free_bytes(&folder) {
            Ok(free) if free >= needed => None,
            Ok(free) => Some(format!(
                "files of {:.2} GB, and `{shown}` has {:.2} GB free",
                needed as f64 / 1e9,
                free as f64 / 1e9
            )),
            Err(why) => {
                Some(format!("files in `{shown}`, whose disk cannot be asked: {}", in_one_line(&why)))
            }
        }
    }
}

impl WorkloadKeys for SortRecords {
    fn name(&self) -> &'static str {
        NAME
    }

    fn tiers(&self) -> &'static [&'static str] {
        &TIERS
    }

    fn measures(&self) -> &'static [MeasureSpec] {
        &MEASURES
    }

    fn read(&self, g: &mut SettingsReader) -> Option<Arc<dyn WorkloadSettings>> {
        let engine = Engine::of(g.choice("sort.engine", &Engine::NAMES, Engine::NAMES[0])?);
        g.only_with("deploy.workers", engine.is_cluster(), CLUSTERS);
        g.only_with(
            "sort.folder",
            !engine.is_cluster(),
            "with sort.engine = \"embedded\": jobs work in the folder of the run",
        );
        let records = g.number("sort.records", 1..=MOST_RECORDS, 1_000_000);
        let memory_mib = g.number("sort.memory_mib", 1..=MOST_MEMORY_MIB, engine.usual_memory_mib());
        let threads = g.number("sort.threads", 0..=MOST_THREADS, 0);
        let folder = g.optional_word("sort.folder", "a folder on the disk that is to be used");
        let flush = g.flag("sort.flush", false);
        let workers = g.number("deploy.workers", 1..=MOST_WORKERS, 1);
        Some(Arc::new(SortPlan {
            engine,
            records: records?,
            memory_mib: memory_mib?,
            threads: threads? as usize,
            folder: folder?.map(PathBuf::from),
            flush: flush?,
            workers: workers? as u32,
        }))
    }
}

impl WorkloadSettings for SortPlan {
    fn check(&self, plan: &Plan, g: &mut SettingsReader) {
        if !matches!(plan.strategy, Strategy::Fixed { level, .. } if level == Level::from(1_u32)) {
            let (allowed, remedy) =
                ("1 user, who has all threads", "set it to 1, and sort.threads to the number of threads");
            g.refuse("load.users", plan.strategy.most(), allowed, remedy);
        }
        if !self.engine.is_cluster() {
            TIERS.iter().for_each(|tier| g.refuse_limits(tier, CLUSTERS, "leave it out"));
            return;
        }
        if let Some(url) = &plan.target.url {
            let allowed = "no target: a job runs on the cluster that the run deploys";
            g.refuse("target.url", url, allowed, "leave it out");
        }
        let least = self.engine.least_task_mib();
        if self.task_mib() < least {
            let tasks = self.cores_of_worker() * u64::from(self.workers);
            let allowed = format!("at least {least} for each of {tasks} tasks at once");
            let remedy = format!("set it to {} or more, or sort.threads lower", least * tasks);
            g.refuse("sort.memory_mib", self.memory_mib, &allowed, &remedy);
        }
    }

    fn explain(&self, plan: &Plan) -> Vec<String> {
        let (memory, threads) = (count(self.memory_mib), self.used_threads());
        let folder = self.folder(plan).display().to_string();
        let (sort, place) = if self.engine.is_cluster() {
            let (workers, cores) = (self.workers, self.cores_of_worker());
            (
                format!(
                    "{} in {memory} MiB: workers {workers}, tasks at once on each {cores}, memory of a task {} MiB",
                    self.engine,
                    count(self.task_mib())
                ),
                "the folder of the run",
            )
        } else {
            let passes = match self.sort().traffic().passes {
                1 => "1 pass".to_owned(),
                passes => format!("{passes} passes"),
            };
            let sort =
                format!("{} in {memory} MiB by {threads} threads: {passes} over the data", self.engine);
            (sort, folder.as_str())
        };
        vec![
            format!(
                "records   {} of 100 bytes with keys of 10, {:.2} GB",
                count(self.records),
                self.bytes() as f64 / 1e9
            ),
            format!("sort      {sort}"),
            format!(
                "files     up to {:.2} GB in {place}, {}",
                self.disk_bytes() as f64 / 1e9,
                if self.flush { "flushed to the disk after each step" } else { "left to the page cache" }
            ),
            "check     order, number and checksum of every result".to_owned(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use barograph_spec::{Catalogue, Refusals};

    use super::*;

    fn plan(sets: &[&str]) -> Result<Plan, Refusals> {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let text = "workload = \"sort\"\n[load]\nstrategy = \"fixed\"\nusers = 1\n";
        barograph_spec::read(Catalogue::of(&[&SortRecords]), "a plan", text, &sets)
    }

    #[test]
    fn a_plan_says_what_will_be_sorted_and_where() {
        let plan = plan(&["sort.threads=2", "sort.folder=/a/b"]).unwrap();
        let own = SortPlan::of(&plan);
        let lines = own.explain(&plan).join("\n");
        assert!(lines.contains("1,000,000 of 100 bytes with keys of 10, 0.10 GB"), "{lines}");
        assert!(lines.contains("in 64 MiB by 2 threads: 2 passes"), "{lines}");
        assert!(lines.contains("up to 0.30 GB in /a/b"), "{lines}");
    }

    #[test]
    fn the_disk_is_asked_for_room_and_one_pass_needs_less() {
        let plan = plan(&["sort.records=1000000000000", "sort.folder=/no/such/folder"]).unwrap();
        let own = SortPlan::of(&plan);
        let why = own.lacks_room(&plan).unwrap();
        assert!(why.starts_with("files of 300000.00 GB, and `/no/such/folder` has "), "{why}");
        let small = SortPlan { records: 10, memory_mib: 1, threads: 1, ..own };
        assert_eq!((small.disk_bytes(), small.lacks_room(&plan)), (2_000, None));
    }

    #[test]
    fn other_loads_than_one_user_are_refused() {
        for sets in [&["load.users=2"][..], &["load.strategy=search", "load.max_users=9"]] {
            let refused = plan(sets).map(|_| ()).unwrap_err();
            let text = in_one_line(&refused);
            assert!(text.contains("load.users") && text.contains("1 user"), "{text}");
        }
    }

    #[test]
    fn workers_share_memory_and_threads() {
        let sets = ["sort.engine=spark", "deploy.workers=2", "sort.threads=4", "sort.memory_mib=4096"];
        let plan = plan(&sets).unwrap();
        let own = SortPlan::of(&plan);
        assert_eq!((own.cores_of_worker(), own.task_mib()), (2, 1_024));
        let lines = own.explain(&plan).join("\n");
        let found = "job on Apache Spark in 4,096 MiB: workers 2, tasks at once on each 2, memory of a task 1,024 MiB";
        assert!(lines.contains(found), "{lines}");
        assert!(lines.contains("up to 0.30 GB in the folder of the run"), "{lines}");
    }

    #[test]
    fn keys_of_another_engine_are_refused() {
        for (sets, key) in [
            (&["deploy.workers=2"][..], "deploy.workers"),
            (&["deploy.worker_cpus=1.0"], "deploy.worker_cpus"),
            (&["sort.engine=hadoop", "sort.folder=/x"], "sort.folder"),
            (&["sort.engine=hadoop", "target.url=yarn://127.0.0.1:9"], "target.url"),
            (
                &["sort.engine=spark", "sort.threads=4", "sort.memory_mib=2047"],
                "at least 512 for each of 4 tasks",
            ),
        ] {
            let text = in_one_line(&plan(sets).map(|_| panic!("{sets:?}")).unwrap_err());
            assert!(text.contains(key), "{sets:?}: {text}");
        }
    }
}
