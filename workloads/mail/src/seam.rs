//! The implementation of the workload's interfaces.

use std::error::Error;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use barograph_engine::Runnable;
use barograph_lines::{Address, Target};
use barograph_model::words::in_one_line;
use barograph_model::{
    Behaviour, Behaviours, MeasureSpec, NextOp, OpSpec, Pace, Profile, QosRule, Share, Vector,
};
use barograph_platform::BoxFuture;
use barograph_record::Fill;
use barograph_spec::{Connections, Plan, Refusals};
use barograph_workload::topology::Topology;
use barograph_workload::{
    Application, DataSet, FailureReason, LoadCommand, LoadError, LoadJob, OnProgress, Program, Reasons, Verb,
    VerifyResult, Workload, WorkloadFactory,
};
use serde_json::{Map, Value, json};

use crate::address::MailAddress;
use crate::measures::{COUNTERS, MEASURES};
use crate::operation::Operation;
use crate::plan::MailPlan;
use crate::prepared::{LoadState, PreparedLoad};
use crate::user::MailUsers;
use crate::{background, fill, greetings, topology, verify};

/// Its name in plans, and that of its first profile.
pub(crate) const NAME: &str = "mail";

/// The profile of users who submit one mail after another.
pub(crate) const SUBMIT: &str = "submit";

/// The profile of users who read one mail of their mailbox after another.
pub(crate) const READ: &str = "read";

/// All profiles.
const PROFILES: [&str; 3] = [NAME, SUBMIT, READ];

/// Version of the workload. It rises with every change that can move results.
const VERSION: u32 = 2;

/// Time limit of a server's first answer before the load.
const FIRST_ANSWER: Duration = Duration::from_secs(5);

/// Factory of the mail load of plans.
pub struct Mail;

impl WorkloadFactory for Mail {
    fn about(&self) -> &'static str {
        "users who read, file and send mail by IMAP, SMTP and LMTP; no mail may be lost, doubled or altered"
    }

    fn load_command(&self) -> Option<&dyn LoadCommand> {
        Some(self)
    }

    fn program(&self, verb: Verb) -> Option<&dyn Program> {
        (verb == Verb::Serve).then_some(self)
    }

    fn of_plan(&self, plan: &Plan) -> Result<Arc<dyn Workload>, Refusals> {
        Ok(Arc::new(MailWorkload::new(plan)))
    }
}

/// The mail load of a plan.
struct MailWorkload {
    plan: MailPlan,
    seed: u64,
    /// Tells the mail of this load from that of others, which may have the same seed.
    run: u32,
    state: LoadState,
}

impl MailWorkload {
    fn new(plan: &Plan) -> Self {
        // The keys of hashers are random, and need no clock and no generator.
        let run = RandomState::new().build_hasher().finish() as u32;
        let state =
            LoadState { vocabulary: Arc::default(), ledger: Arc::default(), reasons: Reasons::shared() };
        let mut own = MailPlan::of(plan).clone();
        if [SUBMIT, READ].contains(&plan.profile.as_str()) {
            // Nothing waits for the delivery of mail.
            own.idle = 0.0;
        }
        MailWorkload { plan: own, seed: plan.seed, run, state }
    }

    /// The load prepared for a server, which answers at both addresses.
    fn prepared(&self, url: &str) -> Result<Arc<PreparedLoad>, Box<dyn Error + Send + Sync>> {
        let address = MailAddress::parse(url)?;
        let target = |address: &Address| Target::resolve(address.clone())?.answering(FIRST_ANSWER);
        let mailboxes = address.mailboxes.as_ref().map(target).transpose()?;
        let targets = (target(&address.submission)?, mailboxes);
        Ok(Arc::new(PreparedLoad::new(
            (self.plan.clone(), self.seed, self.run),
            address,
            targets,
            self.state.clone(),
        )))
    }

    fn reached(&self, job: &LoadJob<'_>) -> Result<Arc<PreparedLoad>, LoadError> {
        self.prepared(job.url).map_err(|why| unreachable(job, why))
    }
}

fn unreachable(job: &LoadJob<'_>, why: Box<dyn Error + Send + Sync>) -> LoadError {
    LoadError::Unreachable { url: shown(job.url), why }
}

/// Whether mailboxes can be read at an address.
fn reads(url: &str) -> bool {
    MailAddress::parse(url).is_ok_and(|address| address.mailboxes.is_some())
}

/// An address without its logins.
fn shown(url: &str) -> String {
    MailAddress::parse(url).map_or_else(|_| url.to_owned(), |address| address.shown())
}

impl Workload for MailWorkload {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> u32 {
        VERSION
    }

    fn ops(&self) -> &[OpSpec] {
        &Operation::SPECS
    }

    fn counters(&self) -> &[&'static str] {
        &COUNTERS
    }

    fn measures(&self) -> &[MeasureSpec] {
        &MEASURES
    }

    fn profiles(&self) -> Vec<&str> {
        PROFILES.to_vec()
    }

    fn profile(&self, name: &str) -> Option<Profile> {
        let rule = |operation: Operation| QosRule {
            op: operation.op(),
            quantile: self.plan.quantile,
            limit: self.plan.limit.or(Some(operation.limit())),
            judged: match name {
                SUBMIT => operation == Operation::Submit,
                READ => matches!(operation, Operation::Open | Operation::Body),
                _ => true,
            },
            mix: Share::ZERO,
            mix_tolerance: Share::ZERO,
            failures: self.plan.failures,
        };
        let name = PROFILES.into_iter().find(|known| *known == name)?;
        Some(Profile::usual(name, &Operation::ALL.map(rule), None))
    }

    fn behaviours(&self, profile: &str) -> Option<Behaviours> {
        let all: u32 = Operation::ALL.iter().map(|operation| operation.tasks()).sum();
        let share = |operation: Operation| {
            let share = f64::from(operation.tasks()) / f64::from(all);
            (operation.op(), Share::new(share).unwrap_or_default())
        };
        let mix = Operation::ALL.into_iter().filter(|operation| operation.tasks() > 0).map(share).collect();
        let mix = NextOp::Vector(Vector::new(mix).ok()?);
        let next = Operation::ALL.map(|operation| (operation.tasks() > 0).then(|| mix.clone())).to_vec();
        let first = Operation::Open.op();
        let mut main = Behaviour { name: "main", first, next, pace: self.plan.pace() };
        // An activity of one operation, which ends it.
        let once = |name, operation: Operation| {
            let next = Operation::ALL.map(|of| (of == operation).then(|| NextOp::Op(of.op()))).to_vec();
            Behaviour { name, first: operation.op(), next, pace: Pace::AtOnce }
        };
        match profile {
            SUBMIT => main = once("main", Operation::Submit),
            READ => {
                let next = Operation::ALL.map(|of| {
                    let is_read = matches!(of, Operation::Open | Operation::Body);
                    is_read.then(|| NextOp::Op(Operation::Body.op()))
                });
                main = Behaviour { name: "main", first, next: next.to_vec(), pace: Pace::AtOnce };
            }
            _ => {}
        }
        let list = vec![main, once("delivery", Operation::Delivery), once("watch", Operation::Watch)];
        Behaviours::new(list).ok().filter(|_| self.profiles().contains(&profile))
    }

    fn application(&self) -> Option<&dyn Application> {
        Some(self)
    }

    fn connections(&self, users: u32, _: Connections) -> u64 {
        // The mailbox, IDLE and a submission.
        u64::from(users) * 3
    }

    fn disclose(&self) -> Map<String, Value> {
        let MailPlan { mailboxes, messages, size, compression, idle, recipients, .. } = &self.plan;
        let MailPlan { bytes, keeps_session, .. } = &self.plan;
        let section = json!({
            "mailboxes": mailboxes,
            "messages_each": messages,
            "size_factor": size,
            "bytes_of_a_mail": bytes,
            "sessions_kept": keeps_session,
            "compression": compression,
            "users_in_idle": idle,
            "recipients": recipients,
            "check": "ids, counts and hashes of all mail in all mailboxes, after the load",
        });
        Map::from_iter([(NAME.to_owned(), section)])
    }

    fn prepare<'a>(
        &'a self,
        job: &'a LoadJob<'a>,
        progress: OnProgress,
    ) -> Option<BoxFuture<'a, Result<Fill, LoadError>>> {
        reads(job.url).then_some(())?;
        Some(Box::pin(async move {
            let load = self.reached(job)?;
            greetings::check(&load).await.map_err(|why| unreachable(job, why.into()))?;
            let filled = fill::fill(load, progress).await;
            filled.map_err(|why| LoadError::Fill { url: shown(job.url), why: why.into() })
        }))
    }

    fn load(&self, job: &LoadJob<'_>) -> Result<Box<dyn Runnable>, LoadError> {
        let load = self.reached(job)?;
        if load.mailboxes.is_none() {
            // No fill has asked it.
            greetings::check_blocking(&load).map_err(|why| unreachable(job, why.into()))?;
        }
        // Made here, before the clock starts.
        load.vocabulary();
        Ok(barograph_engine::runnable(move || MailUsers::new(&load)))
    }

    fn counts(&self) -> Vec<i64> {
        self.state.ledger.numbers()
    }

    fn add_counts(&self, counts: &[i64]) {
        self.state.ledger.add_numbers(counts);
    }

    fn failure_reasons(&self) -> Vec<FailureReason> {
        let reasons = self.state.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        reasons.by_name(&Operation::SPECS)
    }
}

impl Application for MailWorkload {
    fn topology(&self, plan: &Plan, _: Option<&DataSet>) -> Topology {
        topology::topology(plan, &self.plan)
    }

    fn answers<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let load = self.prepared(url).map_err(|why| in_one_line(&*why))?;
            background::run(|_| {}, move |_| async move { greetings::ask(&load).await }).await
        })
    }

    fn verify<'a>(&'a self, url: &'a str) -> Option<BoxFuture<'a, Result<VerifyResult, String>>> {
        reads(url).then_some(())?;
        Some(Box::pin(async move {
            let load = self.prepared(url).map_err(|why| in_one_line(&*why))?;
            verify::verify(load).await
        }))
    }
}
