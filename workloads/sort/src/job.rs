//! The job on a cluster: its command, and the judgement of its end.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use barograph_model::Outcome;
use barograph_services::find;
use barograph_supervisor::{End, Report, SupervisedCommand, SupervisorProgram};

use crate::disk::JobFiles;
use crate::engine::Engine;
use crate::plan::SortPlan;
use crate::topology::addresses;
use crate::user::Trouble;

/// Memory of the container of a job's master on YARN, in MiB.
pub(crate) const MASTER_MIB: u64 = 512;

/// Bytes of a file of the result on Spark, beside at least one file for each task at once: as much as is sorted in the memory
/// of a task without being written out.
const PART_BYTES: u64 = 64 << 20;

/// Bytes of records of a map on Hadoop: the block of its own file system.
const SPLIT_BYTES: u64 = 128 << 20;

/// Bytes of output in the reason of a failure: the last ones.
const SHOWN_OUTPUT: usize = 300;

/// Words of the system and of Java for a full disk.
const FULL_DISK: [&str; 2] = ["No space left on device", "Disk quota exceeded"];

/// A cluster with its jobs.
#[derive(Clone, Debug)]
pub(crate) struct Jobs {
    pub(crate) plan: SortPlan,
    pub(crate) url: String,
    pub(crate) supervisor: SupervisorProgram,
}

impl Jobs {
    /// Starts the supervisor of a job, which waits for [`Jobs::run`].
    pub(crate) async fn prepare(&self, files: &JobFiles) -> Result<SupervisedCommand, Trouble> {
        let words = self.words(files)?;
        SupervisedCommand::start(&self.supervisor, &words)
            .await
            .map_err(|why| (Outcome::DriverFault, format!("cannot start a supervisor: {why}")))
    }

    /// Runs a job to its end.
    pub(crate) async fn run(&self, ready: &mut SupervisedCommand, folder: &Path) -> Result<Report, Trouble> {
        let report = ready.run().await;
        let report = report.map_err(|why| (Outcome::DriverFault, format!("its supervisor failed: {why}")))?;
        judge(&report, folder).map(|()| report)
    }

    /// Words of the command.
    fn words(&self, files: &JobFiles) -> Result<Vec<String>, Trouble> {
        let missing = || (Outcome::DriverFault, format!("the program of the {} is gone", self.plan.engine));
        let service = find(self.plan.engine.services()[0]).ok_or_else(missing)?;
        let program = service.own_programs().into_iter().next().ok_or_else(missing)?;
        let addresses = addresses(&self.url);
        let manager = *addresses.first().ok_or_else(missing)?;
        let mut words = vec![program.display().to_string(), "-Xmx512m".to_owned()];
        match self.plan.engine {
            Engine::Hadoop => {
                let scheduler = *addresses.last().unwrap_or(&manager);
                words.extend(self.hadoop(files, &program, [manager, scheduler]));
            }
            _ => words.extend(self.spark(files, manager)),
        }
        Ok(words)
    }

    fn spark(&self, files: &JobFiles, master: SocketAddr) -> Vec<String> {
        let plan = &self.plan;
        let cores = plan.cores_of_worker();
        let parts = plan.bytes().div_ceil(PART_BYTES).max(cores * u64::from(plan.workers));
        let (here, other) = (master.ip(), files.other());
        let settings = [
            ("master", format!("spark://{master}")),
            ("driver.host", here.to_string()),
            ("driver.bindAddress", here.to_string()),
            ("ui.enabled", "false".to_owned()),
            ("executor.cores", cores.to_string()),
            ("executor.memory", format!("{}m", plan.task_mib() * cores)),
            // All workers take part from the beginning.
            ("scheduler.minRegisteredResourcesRatio", "1".to_owned()),
            ("local.dir", other.display().to_string()),
        ];
        let settings = settings.into_iter().map(|(name, value)| format!("-Dspark.{name}={value}"));
        let class = ["SparkSort".to_owned(), path(&files.input()), path(&files.output()), parts.to_string()];
        settings.chain(class).collect()
    }

    fn hadoop(&self, files: &JobFiles, program: &Path, [manager, scheduler]: [SocketAddr; 2]) -> Vec<String> {
        let plan = &self.plan;
        let jars = format!("{}/jars/*", program.parent().unwrap_or(program).display());
        let task = plan.task_mib();
        // A quarter of a container is not heap: threads, code, buffers of files.
        let heap = format!("-Xmx{}m", task * 3 / 4);
        let opens = "--add-opens=java.base/java.lang=ALL-UNNAMED";
        let settings = [
            ("mapreduce.framework.name", "yarn".to_owned()),
            ("yarn.resourcemanager.address", manager.to_string()),
            ("yarn.resourcemanager.scheduler.address", scheduler.to_string()),
            ("yarn.application.classpath", jars.clone()),
            ("mapreduce.application.classpath", jars),
            ("hadoop.tmp.dir", path(&files.other())),
            ("yarn.app.mapreduce.am.staging-dir", path(&files.other().join("staging"))),
            // Tasks look for the list of partitions there, which is in the folder of the result.
            ("mapreduce.job.working.dir", format!("file:{}", path(&files.output()))),
            ("yarn.app.mapreduce.am.resource.mb", MASTER_MIB.to_string()),
            ("yarn.app.mapreduce.am.command-opts", format!("-Xmx{}m {opens}", MASTER_MIB * 3 / 4)),
            ("mapreduce.map.memory.mb", task.to_string()),
            ("mapreduce.map.java.opts", heap.clone()),
            ("mapreduce.reduce.memory.mb", task.to_string()),
            ("mapreduce.reduce.java.opts", heap),
            // The buffer of a map's sort: with more, its records do not fit into the heap.
            ("mapreduce.task.io.sort.mb", (task / 4).to_string()),
            ("mapreduce.input.fileinputformat.split.minsize", SPLIT_BYTES.to_string()),
            ("mapreduce.job.reduces", (plan.cores_of_worker() * u64::from(plan.workers)).to_string()),
        ];
        let settings = settings.into_iter().map(|(name, value)| format!("-D{name}={value}"));
        let class = ["org.apache.hadoop.examples.terasort.TeraSort".to_owned()];
        class.into_iter().chain(settings).chain([path(&files.input()), path(&files.output())]).collect()
    }
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

/// The end of a job as an outcome. A full disk of `folder` is named as such.
fn judge(report: &Report, folder: &Path) -> Result<(), Trouble> {
    let why = match &report.end {
        End::Exited(0) => return Ok(()),
        End::NotStarted(_) => return Err((Outcome::DriverFault, report.end.to_string())),
        end => format!("the job failed, {end}"),
    };
    let disk = match FULL_DISK.iter().any(|words| report.output.contains(words)) {
        true => format!("the disk of `{}` is full: ", folder.display()),
        false => String::new(),
    };
    Err((Outcome::Refused, format!("{disk}{why}: {}", cause(&report.output))))
}

/// The lines of an output that say why a job failed: its first errors, or else its last lines.
fn cause(output: &str) -> String {
    let is_cause = |line: &&str| line.contains("Exception") || line.contains("Error:");
    let first = output.lines().find(is_cause).or_else(|| output.lines().last()).unwrap_or("no output");
    first.chars().take(SHOWN_OUTPUT).collect()
}

/// Waits until the results are on the disk.
pub(crate) fn flush(files: &[fs::File]) -> std::io::Result<()> {
    files.iter().try_for_each(fs::File::sync_data)
}

#[cfg(test)]
mod tests {
    use barograph_supervisor::Usage;

    use super::*;

    fn ended(end: End, output: &str) -> Result<(), Trouble> {
        let (usage, output) = (Usage::default(), output.to_owned());
        judge(
            &Report { end, elapsed_us: 1, usage, output, output_bytes: 0, left_behind: 0 },
            Path::new("/data"),
        )
    }

    #[test]
    fn the_end_of_a_job_is_an_outcome_with_a_reason() {
        assert_eq!(ended(End::Exited(0), "Exception in a task that was done again"), Ok(()));
        let failed = |why: &str| Err((Outcome::Refused, why.to_owned()));
        let lost = "INFO begun\nWARN java.io.IOException: a task is lost\n\tat X.y\nlast line\n";
        assert_eq!(
            ended(End::Exited(1), lost),
            failed("the job failed, exit code 1: WARN java.io.IOException: a task is lost")
        );
        assert_eq!(ended(End::Killed(9), "a\nb\n"), failed("the job failed, killed by signal 9: b"));
        let full = "java.io.IOException: No space left on device\n";
        assert_eq!(
            ended(End::Exited(1), full),
            failed(
                "the disk of `/data` is full: the job failed, exit code 1: java.io.IOException: No space left on device"
            )
        );
        let missing = ended(End::NotStarted("No such file".to_owned()), "");
        assert_eq!(missing, Err((Outcome::DriverFault, "not started: No such file".to_owned())));
    }
}
