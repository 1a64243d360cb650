//! The user: records generated, sorted and validated, again and again.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use barograph_engine::{OpContext, User, UserFactory};
use barograph_model::words::{count, in_one_line};
use barograph_model::{Nanos, OpId, OpSpec, Outcome, UserId};
use barograph_sort::{Checksum, Files, RECORD, SortError, check, generate};
use barograph_supervisor::SupervisedCommand;
use barograph_workload::{Failure, Reasons};
use rustix::time::{ClockId, clock_gettime};

use crate::background::in_thread;
use crate::disk::{DataFiles, JobFiles, SortFiles};
use crate::job::{Jobs, flush};
use crate::measures::{
    CLIENT_CPU, GENERATED, GENERATING, OVERHEAD, READ, SORTED, SORTING, VALIDATED, VALIDATING, WRITTEN,
};
use crate::plan::SortPlan;

/// Records that a thread generates and writes at once.
const BLOCK: u64 = 10_000;

/// A step of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Generate,
    Sort,
    Validate,
}

impl Step {
    /// All steps, by index of operation.
    pub(crate) const ALL: [Step; 3] = [Step::Generate, Step::Sort, Step::Validate];

    pub(crate) const SPECS: [OpSpec; 3] = [
        OpSpec { name: "Generate", about: "writes records in no order to a file" },
        OpSpec { name: "Sort", about: "sorts the records into other files" },
        OpSpec { name: "Validate", about: "reads the sorted files: order, number and checksum" },
    ];

    pub(crate) const fn op(self) -> OpId {
        OpId(self as u8)
    }
}

/// Makes the user of a load.
#[derive(Clone, Debug)]
pub(crate) struct Sorters {
    pub(crate) plan: SortPlan,
    pub(crate) folder: PathBuf,
    pub(crate) seed: u64,
    pub(crate) reasons: Arc<Mutex<Reasons>>,
    /// Jobs of a cluster; `None` for the sort of this program.
    pub(crate) jobs: Option<Jobs>,
}

impl UserFactory for Sorters {
    type User = Sorter;

    fn user(&self, _: UserId) -> Sorter {
        Sorter { of: self.clone(), state: RefCell::default() }
    }
}

/// The user with its files.
pub(crate) struct Sorter {
    of: Sorters,
    state: RefCell<State>,
}

/// The data at hand.
#[derive(Default)]
struct State {
    files: Option<Arc<DataFiles>>,
    /// Supervisor of the job that sorts them.
    job: Option<SupervisedCommand>,
    /// Checksum of the generated records.
    expected: Option<Checksum>,
    is_sorted: bool,
    /// Data sets generated so far: each is another one.
    sets: u64,
}

/// An outcome, and the reason for it.
pub(crate) type Trouble = (Outcome, String);

impl User for Sorter {
    async fn act(&self, op: OpId, context: &mut OpContext) -> Outcome {
        context.sent();
        let (now, bytes) = (context.watch(), self.of.plan.bytes());
        let begun = now();
        let (done, counts) = match Step::ALL[op.index()] {
            Step::Generate => (self.generate().await, [(GENERATED, bytes), (GENERATING, 0)]),
            Step::Validate => (self.validate().await, [(VALIDATED, bytes), (VALIDATING, 0)]),
            Step::Sort => (self.sort(context).await, [(SORTED, bytes), (SORTING, 0)]),
        };
        let took = (now() - begun).0;
        match done {
            Ok(()) => {
                let [(amount, bytes), (time, _)] = counts;
                context.add(amount, bytes);
                context.add(time, took);
                Outcome::Good
            }
            Err((outcome, why)) => {
                Reasons::note(&self.of.reasons, op, &Failure { outcome, why, seen: b"" });
                outcome
            }
        }
    }
}

impl Sorter {
    async fn generate(&self) -> Result<(), Trouble> {
        let set = {
            let mut state = self.state.borrow_mut();
            state.sets += 1;
            // The files before are closed, and so removed, first: the disk may have room for one set only.
            (state.job, state.files, state.expected, state.is_sorted) = (None, None, None, false);
            state.sets
        };
        let of = self.of.clone();
        let done = in_thread(move |stop| {
            let files = DataFiles::make(&of.folder, of.jobs.is_some()).map_err(|why| {
                (
                    Outcome::DriverFault,
                    format!("cannot make files in `{}`: {}", of.folder.display(), in_one_line(&why)),
                )
            })?;
            let seed = of.seed.wrapping_add(set);
            let expected = fill(&of.plan, seed, files.input(), stop).map_err(|why| trouble(&of, &why))?;
            flush_if(&of, || files.input().sync_data())?;
            Ok((files, expected))
        });
        let (files, expected) = done.await.map_err(|why| broken(&why))??;
        let job = match (&self.of.jobs, &files) {
            (Some(jobs), DataFiles::Job(files)) => Some(jobs.prepare(files).await?),
            _ => None,
        };
        let mut state = self.state.borrow_mut();
        (state.files, state.expected, state.job) = (Some(Arc::new(files)), Some(expected), job);
        Ok(())
    }

    async fn sort(&self, context: &mut OpContext) -> Result<(), Trouble> {
        let files = self.state.borrow().files.clone().ok_or_else(no_data)?;
        match &*files {
            DataFiles::Own(_) => self.sort_here(files, context).await?,
            DataFiles::Job(job) => self.sort_by_job(job, context).await?,
        }
        self.state.borrow_mut().is_sorted = true;
        Ok(())
    }

    /// Sorts by this program.
    async fn sort_here(&self, files: Arc<DataFiles>, context: &mut OpContext) -> Result<(), Trouble> {
        let of = self.of.clone();
        let done = in_thread(move |stop| {
            let DataFiles::Own(SortFiles { input, scratch, output }) = &*files else { return Err(no_data()) };
            let sorted = of.plan.sort().sort(Files { input, scratch, output }, stop);
            let traffic = sorted.map_err(|why| trouble(&of, &why))?;
            flush_if(&of, || output.sync_data())?;
            Ok(traffic)
        });
        let traffic = done.await.map_err(|why| broken(&why))??;
        context.add(READ, traffic.read);
        context.add(WRITTEN, traffic.written);
        Ok(())
    }

    /// Sorts by a job on a cluster.
    async fn sort_by_job(&self, files: &JobFiles, context: &mut OpContext) -> Result<(), Trouble> {
        let (jobs, job) = (self.of.jobs.as_ref(), self.state.borrow_mut().job.take());
        let (jobs, mut job) = jobs.zip(job).ok_or_else(no_data)?;
        let (now, cpu) = (context.watch(), process_cpu());
        let begun = now();
        let report = jobs.run(&mut job, &self.of.folder).await?;
        let (took, cpu) = (now() - begun, process_cpu() - cpu);
        let around = took.0.saturating_sub(report.elapsed_us * 1_000);
        // The supervisor ends after its report; waiting for it here would count.
        self.state.borrow_mut().job = Some(job);
        let results = files.results().map_err(|why| unreadable(&self.of, &why))?;
        let of = self.of.clone();
        let flushed = in_thread(move |_| flush_if(&of, || flush(&results)));
        flushed.await.map_err(|why| broken(&why))??;
        context.add(CLIENT_CPU, report.usage.user_us + report.usage.system_us);
        context.add(OVERHEAD, around + cpu.0);
        Ok(())
    }

    async fn validate(&self) -> Result<(), Trouble> {
        let (files, expected) = {
            let state = self.state.borrow();
            let files = state.files.clone().filter(|_| state.is_sorted);
            files.zip(state.expected).ok_or_else(no_data)?
        };
        let of = self.of.clone();
        let done = in_thread(move |stop| {
            let results = files.results().map_err(|why| unreadable(&of, &why))?;
            check(&results, of.plan.used_threads(), stop).map_err(|why| match why {
                SortError::Broken { .. } => (Outcome::WrongAnswer, format!("cannot {}", in_one_line(&why))),
                why => trouble(&of, &why),
            })
        });
        let found = done.await.map_err(|why| broken(&why))??;
        let wrong = |why: String| Err((Outcome::WrongAnswer, why));
        match found.first_disorder {
            Some(first) => wrong(format!(
                "{} records are out of order, the first is number {}",
                count(found.disorders),
                count(first)
            )),
            None if found.checksum.records != expected.records => wrong(format!(
                "{} records, generated were {}",
                count(found.checksum.records),
                count(expected.records)
            )),
            None if found.checksum != expected => wrong(format!(
                "checksum {:x} of {} records, generated were {:x} of {}",
                found.checksum.sum,
                count(found.checksum.records),
                expected.sum,
                count(expected.records)
            )),
            None => Ok(()),
        }
    }
}

/// CPU time of this process.
fn process_cpu() -> Nanos {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
}

/// Generates all records into the input by all threads; returns their checksum.
fn fill(plan: &SortPlan, seed: u64, input: &File, stop: &AtomicBool) -> Result<Checksum, SortError> {
    let next = AtomicU64::new(0);
    let (next, records) = (&next, plan.records);
    let worker = move || {
        let (mut room, mut own) = (vec![0; BLOCK.min(records) as usize * RECORD], Checksum::default());
        loop {
            let first = next.fetch_add(BLOCK, Ordering::Relaxed);
            if first >= records {
                return Ok(own);
            }
            if stop.load(Ordering::Relaxed) {
                return Err(SortError::Stopped);
            }
            let block = &mut room[..BLOCK.min(records - first) as usize * RECORD];
            generate(seed, first, block);
            own.take(block);
            let at = first * RECORD as u64;
            input.write_all_at(block, at).map_err(|why| SortError::Write { at, why })?;
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..plan.used_threads()).map(|_| scope.spawn(worker)).collect();
        let mut all = Checksum::default();
        for worker in workers {
            all.add(worker.join().expect("the generation does not panic")?);
        }
        Ok(all)
    })
}

/// Waits until files are on the disk, if the plan says so.
fn flush_if(of: &Sorters, flush: impl FnOnce() -> io::Result<()>) -> Result<(), Trouble> {
    if !of.plan.flush {
        return Ok(());
    }
    flush().map_err(|why| (Outcome::Refused, format!("cannot flush a file: {}", in_one_line(&why))))
}

fn unreadable(of: &Sorters, why: &io::Error) -> Trouble {
    (Outcome::Refused, format!("cannot read results in `{}`: {}", of.folder.display(), in_one_line(why)))
}

fn trouble(of: &Sorters, why: &SortError) -> Trouble {
    let folder = of.folder.display();
    let text = match why {
        why if why.is_full_disk() => format!("the disk of `{folder}` is full: cannot {}", in_one_line(why)),
        why => format!("cannot {} in `{folder}`", in_one_line(why)),
    };
    (Outcome::Refused, text)
}

fn broken(why: &io::Error) -> Trouble {
    (Outcome::DriverFault, format!("cannot work in a thread: {}", in_one_line(why)))
}

fn no_data() -> Trouble {
    (Outcome::DriverFault, "there are no records: the step before failed".to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::OpenOptionsExt;

    use super::*;
    use crate::engine::Engine;

    fn sorter(folder: PathBuf, records: u64) -> Sorter {
        let engine = Engine::Embedded;
        let plan =
            SortPlan { engine, records, memory_mib: 1, threads: 2, folder: None, flush: true, workers: 1 };
        Sorters { plan, folder, seed: 7, reasons: Reasons::shared(), jobs: None }.user(UserId(0))
    }

    /// The folder that tests of the build may write to.
    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    fn act(sorter: &Sorter, step: Step) -> Outcome {
        let mut context = OpContext::for_test();
        barograph_reactor::block_on(sorter.act(step.op(), &mut context)).unwrap()
    }

    fn reason(sorter: &Sorter, step: Step) -> String {
        sorter.of.reasons.lock().unwrap().of(step.op())[0].why.clone()
    }

    #[test]
    fn sets_of_records_are_sorted_one_after_the_other_and_leave_no_file() {
        let folder = folder();
        let sorter = sorter(folder.path().join("made"), 30_000);
        let mut sums = Vec::new();
        for _ in 0..2 {
            for step in Step::ALL {
                let reasons = &sorter.of.reasons;
                assert_eq!(act(&sorter, step), Outcome::Good, "{step:?} {reasons:?}");
            }
            sums.push(sorter.state.borrow().expected.unwrap());
            assert_eq!(std::fs::read_dir(folder.path().join("made")).unwrap().count(), 0);
        }
        assert!(sums[0] != sums[1] && sums.iter().all(|sum| sum.records == 30_000), "{sums:?}");
    }

    #[test]
    fn a_sort_counts_what_it_reads_and_writes() {
        let folder = folder();
        let sorter = sorter(folder.path().to_owned(), 30_000);
        assert_eq!(act(&sorter, Step::Generate), Outcome::Good);
        let mut context = OpContext::for_test();
        let done = barograph_reactor::block_on(sorter.act(Step::Sort.op(), &mut context)).unwrap();
        assert_eq!(done, Outcome::Good);
        let passes = u64::from(sorter.of.plan.sort().traffic().passes);
        assert!(passes > 2, "{passes}");
        let expected = [3_000_000, passes * 3_000_000, passes * 3_000_000];
        assert_eq!([SORTED, READ, WRITTEN].map(|counter| context.added(counter)), expected);
    }

    #[test]
    fn damage_is_a_wrong_answer() {
        let folder = folder();
        let sorter = sorter(folder.path().to_owned(), 5_000);
        for (at, found) in [(12, "checksum"), (300_000, "out of order, the first is number 3,000")] {
            for step in [Step::Generate, Step::Sort] {
                assert_eq!(act(&sorter, step), Outcome::Good);
            }
            let files = sorter.state.borrow().files.clone().unwrap();
            let DataFiles::Own(files) = &*files else { panic!("{files:?}") };
            files.output.write_all_at(&[0, 1], at).unwrap();
            assert_eq!(act(&sorter, Step::Validate), Outcome::WrongAnswer);
            let reasons = sorter.of.reasons.lock().unwrap();
            let last = reasons.of(Step::Validate.op()).last().unwrap();
            assert!(last.why.contains(found), "{last:?}");
        }
    }

    /// A user whose job has left these results of 300 generated records.
    fn after_job(folder: &std::path::Path, results: impl FnOnce(Vec<u8>) -> Vec<Vec<u8>>) -> Sorter {
        let sorter = sorter(folder.to_owned(), 300);
        let mut records = vec![0; 300 * RECORD];
        generate(7, 0, &mut records);
        let mut expected = Checksum::default();
        expected.take(&records);
        let mut sorted: Vec<&[u8]> = records.chunks_exact(RECORD).collect();
        sorted.sort_by_key(|record| &record[..10]);
        let files = DataFiles::make(folder, true).unwrap();
        let DataFiles::Job(job) = &files else { panic!("{files:?}") };
        std::fs::create_dir(job.output()).unwrap();
        std::fs::write(job.output().join("_SUCCESS"), "not a result").unwrap();
        for (number, bytes) in results(sorted.concat()).into_iter().enumerate() {
            std::fs::write(job.output().join(format!("part-r-{number:05}")), bytes).unwrap();
        }
        let (files, expected) = (Some(Arc::new(files)), Some(expected));
        *sorter.state.borrow_mut() = State { files, expected, is_sorted: true, ..State::default() };
        sorter
    }

    fn in_two(bytes: &[u8]) -> Vec<Vec<u8>> {
        let (one, other) = bytes.split_at(100 * RECORD);
        vec![one.to_vec(), other.to_vec()]
    }

    #[test]
    fn results_of_jobs_are_checked_in_the_order_of_their_names() {
        let folder = folder();
        assert_eq!(act(&after_job(folder.path(), |bytes| in_two(&bytes)), Step::Validate), Outcome::Good);
        type Damage = fn(Vec<u8>) -> Vec<Vec<u8>>;
        let cases: [(Damage, &str); 6] = [
            (
                |bytes| in_two(&bytes).into_iter().rev().collect(),
                "1 records are out of order, the first is number 200",
            ),
            (|bytes| vec![bytes[RECORD..].to_vec()], "299 records, generated were 300"),
            (|bytes| vec![bytes.clone(), bytes[299 * RECORD..].to_vec()], "301 records, generated were 300"),
            (|bytes| vec![[&bytes[..299 * RECORD], &bytes[298 * RECORD..299 * RECORD]].concat()], "checksum"),
            (|bytes| vec![bytes[..299 * RECORD + 40].to_vec()], "cannot divide 29940 bytes into records"),
            (|_| Vec::new(), "0 records, generated were 300"),
        ];
        for (damage, found) in cases {
            let sorter = after_job(folder.path(), damage);
            assert_eq!(act(&sorter, Step::Validate), Outcome::WrongAnswer, "{found}");
            let why = reason(&sorter, Step::Validate);
            assert!(why.contains(found), "{found}: {why}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "folders of jobs are removed");
    }

    #[test]
    fn a_full_disk_is_a_refusal_with_its_name() {
        let folder = folder();
        let sorter = sorter(folder.path().to_owned(), 5_000);
        assert_eq!(act(&sorter, Step::Generate), Outcome::Good);
        let full =
            || std::fs::OpenOptions::new().read(true).write(true).mode(0o600).open("/dev/full").unwrap();
        let files = sorter.state.borrow_mut().files.take().unwrap();
        let DataFiles::Own(SortFiles { input, .. }) = Arc::into_inner(files).unwrap() else {
            panic!("of a job")
        };
        let files = DataFiles::Own(SortFiles { input, scratch: full(), output: full() });
        sorter.state.borrow_mut().files = Some(Arc::new(files));
        assert_eq!(act(&sorter, Step::Sort), Outcome::Refused);
        let why = reason(&sorter, Step::Sort);
        assert!(why.contains("is full: cannot write records at byte "), "{why}");
        assert_eq!(act(&sorter, Step::Validate), Outcome::DriverFault, "there is nothing to validate");
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_a_fault_of_the_driver() {
        let sorter = sorter(PathBuf::from("/proc/none"), 10);
        assert_eq!(act(&sorter, Step::Generate), Outcome::DriverFault);
        assert!(reason(&sorter, Step::Generate).starts_with("cannot make files in `/proc/none`"));
        assert_eq!(act(&sorter, Step::Sort), Outcome::DriverFault);
    }
}
