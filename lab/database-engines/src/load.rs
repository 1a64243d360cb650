//! Workloads on databases behind the seam of the harness: all that is the same for each of them.

use std::sync::{Arc, Mutex, PoisonError};

use barograph_database::CommitGaps;
use barograph_engine::Runnable;
use barograph_model::{Behaviours, MeasureSpec, OpSpec, Profile, StatisticMetric};
use barograph_platform::BoxFuture;
use barograph_record::{Fill, Tier};
use barograph_spec::{Connections, Plan, Refusal};
use barograph_workload::topology::Topology;
use barograph_workload::{
    Application, DataSet, FailureReason, Gauge, LoadError, LoadJob, OnProgress, Reasons, SentFile,
    TargetStatistics, VerifyResult, Workload,
};
use serde_json::{Map, Value, json};

use crate::{DatabasePlan, DatabaseWorkload, Engine, engine, fill_entry, gauges};

/// A workload on databases: what the harness needs of it.
pub trait DatabaseOperations: DatabaseWorkload<Tally: Default> {
    /// Its settings in a plan.
    type Settings: Send + Sync + 'static;

    /// Raised with every change that can move results or loaded rows.
    const VERSION: u32;

    /// The sentence at the end of every verdict; empty for none.
    const NOTICE: &'static str;

    /// Its operations, where they are the same in all plans.
    const OPS: &'static [OpSpec];

    /// Names of its counters.
    const COUNTERS: &'static [&'static str];

    /// The measures of all engines.
    const MEASURES: &'static [MeasureSpec];

    /// Its profiles.
    const PROFILES: &'static [&'static str];

    /// Its operations.
    fn ops(settings: &Self::Settings) -> &[OpSpec] {
        let _ = settings;
        Self::OPS
    }

    /// The rules of one of its profiles.
    fn profile(settings: &Self::Settings, name: &'static str) -> Profile;

    /// What users do in one of its profiles.
    fn behaviours(settings: &Self::Settings, name: &str) -> Option<Behaviours>;

    /// Size and seed of the loaded rows, as part of a name.
    fn size(contents: &Self::Contents) -> String;

    /// Data and mix in lines, where they do not follow from the plan.
    fn explain(settings: &Self::Settings, contents: &Self::Contents) -> Option<String> {
        let _ = (settings, contents);
        None
    }

    /// Files of the plan, for drivers on other hosts.
    fn files(settings: &Self::Settings) -> Vec<SentFile> {
        let _ = settings;
        Vec::new()
    }

    /// Facts for the disclosure of a run.
    fn disclose(settings: &Self::Settings, contents: &Self::Contents) -> Map<String, Value>;

    /// State that all users of a load share. `planned` are settings and profile of the plan, which is empty for the first one.
    fn shared(
        planned: (&Self::Settings, &str),
        contents: &Self::Contents,
        kept: (&Arc<Self::Tally>, &Arc<Mutex<Reasons>>),
    ) -> Self::Shared;

    /// The counts of a tally as numbers.
    fn numbers(tally: &Self::Tally) -> Vec<i64>;

    /// Adds [`Self::numbers`] of another tally.
    fn add_numbers(tally: &Self::Tally, numbers: &[i64]);

    /// The times without a commit, if the tally has them.
    fn gaps(tally: &Self::Tally) -> Option<&CommitGaps> {
        let _ = tally;
        None
    }
}

/// The workload of a plan.
pub struct DatabaseLoad<W: DatabaseOperations> {
    settings: W::Settings,
    contents: W::Contents,
    engine: Box<dyn Engine<W>>,
    measures: Vec<MeasureSpec>,
    tally: Arc<W::Tally>,
    reasons: Arc<Mutex<Reasons>>,
}

impl<W: DatabaseOperations> DatabaseLoad<W> {
    /// The workload of a plan that was read.
    #[must_use]
    pub fn new(plan: &Plan, settings: W::Settings, database: DatabasePlan<W::Contents>) -> Self {
        let contents = database.contents.clone();
        let engine = engine(plan, database).expect("other targets are refused when the plan is read");
        let has = |measure: &&MeasureSpec| engine.kind().lacks() != measure.id;
        DatabaseLoad {
            settings,
            contents,
            measures: W::MEASURES.iter().filter(has).copied().collect(),
            engine,
            tally: Arc::default(),
            reasons: Reasons::shared(),
        }
    }
}

impl<W: DatabaseOperations> Workload for DatabaseLoad<W> {
    fn name(&self) -> &'static str {
        W::NAME
    }

    fn version(&self) -> u32 {
        W::VERSION
    }

    fn ops(&self) -> &[OpSpec] {
        W::ops(&self.settings)
    }

    fn counters(&self) -> &[&'static str] {
        W::COUNTERS
    }

    fn measures(&self) -> &[MeasureSpec] {
        &self.measures
    }

    fn statistics(&self) -> &'static [StatisticMetric] {
        self.engine.kind().statistics()
    }

    fn profiles(&self) -> Vec<&str> {
        W::PROFILES.to_vec()
    }

    fn profile(&self, name: &str) -> Option<Profile> {
        let known = W::PROFILES.iter().find(|known| **known == name)?;
        Some(W::profile(&self.settings, known))
    }

    fn behaviours(&self, profile: &str) -> Option<Behaviours> {
        W::behaviours(&self.settings, profile).filter(|_| W::PROFILES.contains(&profile))
    }

    fn application(&self) -> Option<&dyn Application> {
        Some(self)
    }

    fn target(&self) -> Option<&str> {
        self.engine.target()
    }

    fn connections(&self, users: u32, _: Connections) -> u64 {
        u64::from(users) * self.engine.files()
    }

    fn operations_block(&self) -> bool {
        self.engine.operations_block()
    }

    fn notice(&self) -> Option<&'static str> {
        (!W::NOTICE.is_empty()).then_some(W::NOTICE)
    }

    fn refusals(&self, plan: &Plan) -> Vec<Refusal> {
        self.engine.refusals(plan)
    }

    fn disclose(&self) -> Map<String, Value> {
        let notice = self.notice().map(|notice| ("notice".to_owned(), json!(notice)));
        let mut section: Map<String, Value> = notice.into_iter().collect();
        section.append(&mut W::disclose(&self.settings, &self.contents));
        section.append(&mut self.engine.disclose());
        Map::from_iter([(W::SECTION.to_owned(), section.into())])
    }

    fn explain(&self) -> Option<String> {
        W::explain(&self.settings, &self.contents)
    }

    fn files(&self) -> Result<Vec<SentFile>, LoadError> {
        Ok(W::files(&self.settings))
    }

    fn prepare<'a>(
        &'a self,
        job: &'a LoadJob<'a>,
        progress: OnProgress,
    ) -> Option<BoxFuture<'a, Result<Fill, LoadError>>> {
        let filling = self.engine.fill(job, progress);
        let stamp = format!("{}-{}-{}", W::NAME, W::VERSION, W::size(&self.contents));
        Some(Box::pin(async move { Ok(fill_entry(filling.await?, stamp)) }))
    }

    fn load(&self, job: &LoadJob<'_>) -> Result<Box<dyn Runnable>, LoadError> {
        let shared =
            W::shared((&self.settings, &job.plan.profile), &self.contents, (&self.tally, &self.reasons));
        self.engine.load(job, shared)
    }

    fn gauges(&self) -> Vec<Gauge> {
        W::gaps(&self.tally).map(gauges).unwrap_or_default()
    }

    fn counts(&self) -> Vec<i64> {
        W::numbers(&self.tally)
    }

    fn add_counts(&self, counts: &[i64]) {
        W::add_numbers(&self.tally, counts);
    }

    fn failure_reasons(&self) -> Vec<FailureReason> {
        self.reasons.lock().unwrap_or_else(PoisonError::into_inner).by_name(W::ops(&self.settings))
    }
}

impl<W: DatabaseOperations> Application for DatabaseLoad<W> {
    fn topology(&self, plan: &Plan, _: Option<&DataSet>) -> Topology {
        self.engine.topology(plan)
    }

    fn answers<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<(), String>> {
        self.engine.answers(url)
    }

    fn tiers<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Vec<Tier>, String>> {
        Box::pin(async move { Ok(vec![self.engine.tier(url).await?]) })
    }

    fn statistics(&self, url: &str) -> Option<TargetStatistics> {
        self.engine.statistics(url)
    }

    fn verify<'a>(&'a self, url: &'a str) -> Option<BoxFuture<'a, Result<VerifyResult, String>>> {
        let checking = self.engine.verify(url, Arc::clone(&self.tally));
        Some(Box::pin(async move {
            let findings = checking.await?.violations;
            Ok(VerifyResult { ok: findings.is_empty(), findings })
        }))
    }
}
