//! Common parts of the tests: a server on a thread, and a run that ends on a condition.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use barograph_engine::{EngineHandle, Settings};
use barograph_mail::{Durability, MailServer, ServerOptions};
use barograph_model::words::in_one_line;
use barograph_model::{CounterId, Nanos, Outcome, TimeLimits};
use barograph_spec::Plan;
use barograph_stats::Interval;
use barograph_workload::{LoadJob, VerifyResult, Workload, WorkloadFactory as _};

use crate::operation::Operation;
use crate::seam::Mail;

/// Most intervals of a tenth of a second in a run: one that needs more hangs.
const MOST_INTERVALS: usize = 1_200;

/// The URL of an embedded server on a thread of its own, which ends with the test's process.
pub(super) fn embedded(folder: &Path) -> String {
    let (send, addresses) = sync_channel(1);
    let any = ([127, 0, 0, 1], 0).into();
    let options = ServerOptions {
        smtp: any,
        imap: any,
        folder: folder.to_owned(),
        durability: Durability::System,
        domain: "barograph.test".to_owned(),
        password: "barograph".to_owned(),
        max_connections: 1_000,
    };
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let server = MailServer::bind(&options).await.unwrap();
            send.send(server.addresses().unwrap()).unwrap();
            server.serve().await;
        });
    });
    let addresses = addresses.recv().unwrap();
    format!("mail://{},{}", addresses.smtp, addresses.imap)
}

/// A plan with its workload and its server.
pub(super) struct Load {
    plan: Plan,
    workload: Arc<dyn Workload>,
    url: String,
}

/// Result of a run.
pub(super) struct RunResult {
    sum: Interval,
    reasons: String,
}

impl Load {
    /// Twenty mailboxes of small mail, with users who hurry; mail may be on its way for `delivery_s` after the load.
    pub(super) fn at(url: &str, delivery_s: u32) -> Self {
        Load::of(url, "mail", &format!("size = 0.01\ncompression = 2000\ndelivery_s = {delivery_s}\n"))
    }

    /// Ten users who submit one mail after another, of 2,000 bytes.
    pub(super) fn submitting(url: &str, keeps_session: bool) -> Self {
        Load::of(url, "submit", &format!("bytes = 2000\nkeep_session = {keeps_session}\ndelivery_s = 0\n"))
    }

    /// Ten users who read one mail after another.
    pub(super) fn reading(url: &str) -> Self {
        Load::of(url, "read", "bytes = 2000\ndelivery_s = 0\n")
    }

    pub(super) fn of(url: &str, profile: &str, keys: &str) -> Self {
        let text = format!(
            "workload = \"mail\"\nprofile = \"{profile}\"\n[load]\nstrategy = \"fixed\"\nusers = 10\n[target]\nurl = {url:?}\n\
             [mail]\nmailboxes = 20\nmessages = 30\n{keys}"
        );
        let plan = barograph_spec::read(barograph_spec::Catalogue::of(&[&Mail]), "a plan", &text, &[])
            .unwrap_or_else(|why| panic!("{why}"));
        let workload = Mail.of_plan(&plan).unwrap();
        Load { plan, workload, url: url.to_owned() }
    }

    /// Whether mail is filled in before the load, and checked after it.
    pub(super) fn reads_mail(&self) -> (bool, bool) {
        let filled = self.workload.prepare(&self.job(), Arc::new(|_| {})).is_some();
        (filled, self.workload.application().unwrap().verify(&self.url).is_some())
    }

    fn job(&self) -> LoadJob<'_> {
        LoadJob { url: &self.url, plan: &self.plan, data: None }
    }

    /// Fills the mailboxes; returns the number of mails in all of them.
    pub(super) fn fill(&self) -> u64 {
        let job = self.job();
        let filling = self.workload.prepare(&job, Arc::new(|_| {})).unwrap();
        let filled = runtime().block_on(filling).unwrap_or_else(|why| panic!("{why:?}"));
        filled.rows.iter().find(|row| row.name == "mail").unwrap().count
    }

    /// Checks all mailboxes.
    pub(super) fn verify(&self) -> VerifyResult {
        let checks = self.workload.application().unwrap().verify(&self.url).unwrap();
        runtime().block_on(checks).unwrap()
    }

    /// Asks whether the server answers.
    pub(super) fn answers(&self) -> Result<(), String> {
        runtime().block_on(self.workload.application().unwrap().answers(&self.url))
    }

    /// The refusal of the load, of the fill or of its begin.
    pub(super) fn refusal(&self) -> String {
        let job = self.job();
        let refused = match self.workload.prepare(&job, Arc::new(|_| {})) {
            Some(filling) => runtime().block_on(filling).err(),
            None => self.workload.load(&job).err(),
        };
        in_one_line(&refused.unwrap())
    }

    /// Runs until `enough` holds.
    pub(super) fn until(&self, enough: impl Fn(&RunResult) -> bool) -> RunResult {
        let settings = Settings {
            workers: 2,
            seed: 11,
            behaviours: Arc::new(self.workload.behaviours(&self.plan.profile).unwrap()),
            limits: vec![TimeLimits::default(); Operation::ALL.len()],
            interval: Nanos::from_millis(100),
            timeout: Nanos::from_secs(30),
            pause_after_failure: Nanos::from_secs(1),
            realtime: false,
            cores: Vec::new(),
            poll: Nanos::ZERO,
            open: None,
        };
        let handle = self.workload.load(&self.job()).unwrap().start(&settings).unwrap();
        let mut ended = RunResult { sum: Interval::new(Operation::ALL.len()), reasons: String::new() };
        runtime().block_on(ended.follow(handle, enough));
        ended.reasons = format!("{:?}", self.workload.failure_reasons());
        ended
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

impl RunResult {
    async fn follow(&mut self, mut handle: EngineHandle, enough: impl Fn(&RunResult) -> bool) {
        handle.ramp(10_u32, Nanos::ZERO).await.unwrap();
        for n in 0.. {
            assert!(n < MOST_INTERVALS, "this takes too long");
            self.sum.append(&handle.next().await.unwrap().expect("it was not stopped"));
            if enough(self) {
                break;
            }
        }
        handle.stop(Nanos::from_secs(5)).await;
        while let Some(next) = handle.next().await.unwrap() {
            self.sum.append(&next);
        }
    }

    /// Operations that ended well.
    pub(super) fn good(&self, operation: Operation) -> u64 {
        self.sum.ops[operation.op().index()].outcomes[Outcome::Good.index()]
    }

    /// The value of a counter.
    pub(super) fn counter(&self, counter: CounterId) -> u64 {
        self.sum.counters.get(counter)
    }

    /// The operations that were done, none of which may have failed.
    pub(super) fn done(&self) -> Vec<Operation> {
        let failed: u64 = self.sum.ops.iter().map(|op| op.failed()).sum();
        assert_eq!(failed, 0, "{}", self.reasons);
        Operation::ALL.into_iter().filter(|operation| self.good(*operation) > 0).collect()
    }

    /// Asserts that every operation was done, and none failed; of the excused ones one in ten may.
    pub(super) fn all_good_but(&self, excused: &[Operation]) {
        for (operation, op) in Operation::ALL.into_iter().zip(&self.sum.ops) {
            let good = self.good(operation);
            let may_fail = if excused.contains(&operation) { good / 10 } else { 0 };
            assert!(
                good > 0 && op.failed() <= may_fail,
                "{operation:?}: {good} good, {} failed: {}",
                op.failed(),
                self.reasons
            );
        }
    }
}
