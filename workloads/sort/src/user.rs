//! The user: records generated, sorted and validated, again and again.

use std::cell::RefCell;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use barograph_engine::{OpContext, User, UserFactory};
use barograph_model::words::{count, in_one_line};
use barograph_model::{OpId, OpSpec, Outcome, UserId};
use barograph_sort::{Checksum, Files, RECORD, SortError, Traffic, check, generate};
use barograph_workload::{Failure, Reasons};

use crate::background::in_thread;
use crate::disk::SortFiles;
use crate::measures::{GENERATED, GENERATING, READ, SORTED, SORTING, VALIDATED, VALIDATING, WRITTEN};
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
        OpSpec { name: "Sort", about: "sorts the records into another file" },
        OpSpec { name: "Validate", about: "reads the sorted file: order, number and checksum" },
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
    files: Option<Arc<SortFiles>>,
    /// Checksum of the generated records.
    expected: Option<Checksum>,
    is_sorted: bool,
    /// Data sets generated so far: each is another one.
    sets: u64,
}

/// An outcome, and the reason for it.
type Trouble = (Outcome, String);

impl User for Sorter {
    async fn act(&self, op: OpId, context: &mut OpContext) -> Outcome {
        context.sent();
        let (now, bytes) = (context.watch(), self.of.plan.bytes());
        let begun = now();
        let (done, counts) = match Step::ALL[op.index()] {
            Step::Generate => (self.generate().await, [(GENERATED, bytes), (GENERATING, 0)]),
            Step::Validate => (self.validate().await, [(VALIDATED, bytes), (VALIDATING, 0)]),
            Step::Sort => {
                let sorted = self.sort().await.map(|Traffic { read, written, .. }| {
                    context.add(READ, read);
                    context.add(WRITTEN, written);
                });
                (sorted, [(SORTED, bytes), (SORTING, 0)])
            }
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
            (state.files, state.expected, state.is_sorted) = (None, None, false);
            state.sets
        };
        let of = self.of.clone();
        let done = in_thread(move |stop| {
            let files = SortFiles::make(&of.folder).map_err(|why| {
                (
                    Outcome::DriverFault,
                    format!("cannot make files in `{}`: {}", of.folder.display(), in_one_line(&why)),
                )
            })?;
            let seed = of.seed.wrapping_add(set);
            let expected = fill(&of.plan, seed, &files, stop).map_err(|why| trouble(&of, &why))?;
            flush(&of, &files.input)?;
            Ok((files, expected))
        });
        let (files, expected) = done.await.map_err(|why| broken(&why))??;
        let mut state = self.state.borrow_mut();
        (state.files, state.expected) = (Some(Arc::new(files)), Some(expected));
        Ok(())
    }

    async fn sort(&self) -> Result<Traffic, Trouble> {
        let files = self.state.borrow().files.clone().ok_or_else(no_data)?;
        let of = self.of.clone();
        let done = in_thread(move |stop| {
            let SortFiles { input, scratch, output } = &*files;
            let sorted = of.plan.sort().sort(Files { input, scratch, output }, stop);
            let traffic = sorted.map_err(|why| trouble(&of, &why))?;
            flush(&of, output)?;
            Ok(traffic)
        });
        let traffic = done.await.map_err(|why| broken(&why))??;
        self.state.borrow_mut().is_sorted = true;
        Ok(traffic)
    }

    async fn validate(&self) -> Result<(), Trouble> {
        let (files, expected) = {
            let state = self.state.borrow();
            let files = state.files.clone().filter(|_| state.is_sorted);
            files.zip(state.expected).ok_or_else(no_data)?
        };
        let of = self.of.clone();
        let done = in_thread(move |stop| {
            let threads = of.plan.used_threads();
            check(&files.output, of.plan.records, threads, stop).map_err(|why| trouble(&of, &why))
        });
        let found = done.await.map_err(|why| broken(&why))??;
        let wrong = |why: String| Err((Outcome::WrongAnswer, why));
        match found.first_disorder {
            Some(first) => wrong(format!(
                "{} records are out of order, the first is number {}",
                count(found.disorders),
                count(first)
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

/// Generates all records into the input by all threads; returns their checksum.
fn fill(plan: &SortPlan, seed: u64, files: &SortFiles, stop: &AtomicBool) -> Result<Checksum, SortError> {
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
            files.input.write_all_at(block, at).map_err(|why| SortError::Write { at, why })?;
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

/// Waits until a file is on the disk, if the plan says so.
fn flush(of: &Sorters, file: &std::fs::File) -> Result<(), Trouble> {
    if !of.plan.flush {
        return Ok(());
    }
    file.sync_data().map_err(|why| (Outcome::Refused, format!("cannot flush a file: {}", in_one_line(&why))))
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

    fn sorter(folder: PathBuf, records: u64) -> Sorter {
        let plan = SortPlan { records, memory_mib: 1, threads: 2, folder: None, flush: true };
        Sorters { plan, folder, seed: 7, reasons: Reasons::shared() }.user(UserId(0))
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
            files.output.write_all_at(&[0, 1], at).unwrap();
            assert_eq!(act(&sorter, Step::Validate), Outcome::WrongAnswer);
            let reasons = sorter.of.reasons.lock().unwrap();
            let last = reasons.of(Step::Validate.op()).last().unwrap();
            assert!(last.why.contains(found), "{last:?}");
        }
    }

    #[test]
    fn a_full_disk_is_a_refusal_with_its_name() {
        let folder = folder();
        let sorter = sorter(folder.path().to_owned(), 5_000);
        assert_eq!(act(&sorter, Step::Generate), Outcome::Good);
        let full =
            || std::fs::OpenOptions::new().read(true).write(true).mode(0o600).open("/dev/full").unwrap();
        let files = sorter.state.borrow_mut().files.take().unwrap();
        let input = Arc::into_inner(files).unwrap().input;
        sorter.state.borrow_mut().files =
            Some(Arc::new(SortFiles { input, scratch: full(), output: full() }));
        assert_eq!(act(&sorter, Step::Sort), Outcome::Refused);
        let why = reason(&sorter, Step::Sort);
        assert!(why.contains("is full: cannot write records at byte 0"), "{why}");
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
