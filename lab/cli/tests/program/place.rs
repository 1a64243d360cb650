//! Folders of a test, and leftovers of its runs.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use barograph_record::Run;
use tempfile::TempDir;

use crate::data::{shared_data, shared_set};
use crate::going::{RunningProgram, seen_within};

/// Size of the data in all tests.
pub(crate) const SIZE: [&str; 3] = ["data.size=nano", "data.history=0.1", "data.images=0.02"];

/// Keys for a fixed load without ramp that holds for `window_s` and drains briefly.
pub(crate) fn fixed(users: u32, window_s: u32) -> Vec<String> {
    let load = ["load.strategy=fixed", "load.ramp_s=1", "load.warm_up_s=1", "load.drain_s=1"];
    let mut sets: Vec<String> = load.map(str::to_owned).to_vec();
    sets.push(format!("load.users={users}"));
    sets.push(format!("load.window_s={window_s}"));
    // A window needs several intervals to be judged.
    sets.push("driver.interval_ms=250".to_owned());
    sets
}

/// Folders of a place that contain records.
const RECORDS: [&str; 2] = ["runs", "kept"];

/// Time in which the leftovers of a failed test must be removed.
const CLEANED_WITHIN: Duration = Duration::from_secs(60);

/// Folders of one test. If it panics, the leftovers of its runs are removed.
pub(crate) struct TestFolders {
    root: TempDir,
    data: PathBuf,
}

impl TestFolders {
    /// Creates a place with the shared data.
    pub(crate) fn new() -> Self {
        TestFolders { root: TempDir::new().unwrap(), data: shared_data().to_owned() }
    }

    /// Creates a place with an empty data folder.
    pub(crate) fn without_data() -> Self {
        let root = TempDir::new().unwrap();
        let data = root.path().join("data");
        TestFolders { root, data }
    }

    /// Creates a place with a copy of the shared data set, for a user who may not write to the original. Snapshots
    /// are left out: runs of other tests write and remove them meanwhile.
    pub(crate) fn with_data_of_its_own() -> Self {
        let place = Self::without_data();
        fs::create_dir(&place.data).unwrap();
        let copied = Command::new("cp").arg("-r").arg(shared_set()).arg(&place.data).status();
        assert!(copied.unwrap().success());
        place
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    pub(crate) fn runs(&self) -> PathBuf {
        self.root().join("runs")
    }

    /// The program, started in the root of this place.
    pub(crate) fn program(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_barograph"));
        command.args(args).current_dir(self.root());
        command
    }

    /// `barograph run` on the data and records of this place, with these further keys.
    pub(crate) fn run(&self, plan: Option<&Path>, sets: &[String]) -> Command {
        let mut command = self.program(&["run"]);
        command.args(plan);
        for set in SIZE {
            command.args(["--set", set]);
        }
        command.arg("--set").arg(format!("data.dir={}", self.data.display()));
        command.arg("--set").arg(format!("runs={}", self.runs().display()));
        for set in sets {
            command.args(["--set", set]);
        }
        command
    }

    /// `barograph check` of a plan on the data of this place.
    pub(crate) fn checks(&self, plan: &Path) -> Command {
        let mut command = self.program(&["check"]);
        command.arg(plan);
        for set in SIZE {
            command.args(["--set", set]);
        }
        command.arg("--set").arg(format!("data.dir={}", self.data.display()));
        command
    }

    /// Folders of all records, oldest first.
    pub(crate) fn records(&self) -> Vec<PathBuf> {
        let ids = barograph_record::list(&self.runs()).unwrap();
        ids.iter().map(|id| self.runs().join(id.as_str())).collect()
    }

    /// The only record, read.
    pub(crate) fn record(&self) -> Run {
        let records = self.records();
        assert_eq!(records.len(), 1, "{records:?}");
        Run::open(&records[0]).unwrap()
    }

    /// Checks that no process, temporary folder or ledger of a run remains, and that `clean` agrees.
    pub(crate) fn assert_nothing_left(&self) {
        self.assert_gone();
        self.assert_nothing_to_clean();
    }

    /// Checks what can be seen without `clean`, which would remove it.
    pub(crate) fn assert_gone(&self) {
        assert_eq!(self.processes(), Vec::<String>::new());
        for record in self.records() {
            for folder in ["site", "common", "control", "home"] {
                assert!(!record.join(folder).exists(), "folder {folder} of {} is left", record.display());
            }
            let ledger = record.join("ledger.jsonl");
            assert!(!ledger.exists(), "{}", fs::read_to_string(&ledger).unwrap());
        }
    }

    /// Checks that `clean` finds nothing.
    pub(crate) fn assert_nothing_to_clean(&self) {
        let cleaned = RunningProgram::start(self.program(&["clean"])).end();
        assert_eq!((cleaned.code, cleaned.out.as_str()), (Some(0), "nothing was left behind\n"));
    }

    /// Command lines of processes that name this place.
    pub(crate) fn processes(&self) -> Vec<String> {
        self.found().into_iter().map(|(_, line)| line).collect()
    }

    /// Returns the process of this place whose command line contains `words`.
    pub(crate) fn process(&self, words: &str) -> Option<u32> {
        self.found().into_iter().find(|(_, line)| line.contains(words)).map(|(pid, _)| pid)
    }

    fn found(&self) -> Vec<(u32, String)> {
        let name = self.root().to_str().unwrap();
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.filter_map(|p| {
            let pid = p.file_name().to_str()?.parse().ok()?;
            // A process may end between the two reads.
            let line = fs::read(p.path().join("cmdline")).ok()?;
            Some((pid, String::from_utf8_lossy(&line).replace('\0', " ")))
        });
        lines.filter(|(_, line)| line.contains(name)).collect()
    }

    /// Runs `clean` on a folder of records until it leaves nothing or time is up. Returns its output. Must
    /// not panic.
    fn clean_up(&self, records: &str) -> Option<String> {
        let said = self.root().join("cleaned");
        seen_within(CLEANED_WITHIN, || {
            let mut clean = self.program(&["clean", "--runs", records]);
            clean.stdin(Stdio::null()).stdout(fs::File::create(&said).ok()?).stderr(Stdio::null());
            let mut child = clean.spawn().ok()?;
            let ended = seen_within(CLEANED_WITHIN, || child.try_wait().ok().flatten());
            if ended.is_none() {
                let _ = child.kill();
                let _ = child.wait();
            }
            let said = fs::read_to_string(&said).ok()?;
            (ended?.success() && !said.contains("still running")).then_some(said)
        })
    }
}

impl Drop for TestFolders {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        for records in RECORDS.iter().filter(|folder| self.root().join(folder).is_dir()) {
            let said =
                self.clean_up(records).unwrap_or_else(|| format!("not clean after {CLEANED_WITHIN:?}\n"));
            // A failure to print is ignored.
            let _ = write!(
                std::io::stderr(),
                "after a panic, in {}: {said}",
                self.root().join(records).display()
            );
        }
    }
}
