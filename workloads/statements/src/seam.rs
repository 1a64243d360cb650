//! The workload behind the seam.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use barograph_database::{Contents as _, Database, Findings, measures};
use barograph_database_engines::{DatabaseWorkload, Engine, EngineKind, engine, fill_entry};
use barograph_engine::Runnable;
use barograph_model::words::count;
use barograph_model::{
    Behaviour, Behaviours, MeasureSpec, NextOp, OpId, OpSpec, Profile, QosRule, Share, Vector,
};
use barograph_platform::BoxFuture;
use barograph_record::{Fill, Tier};
use barograph_spec::{Connections, Plan, Refusal, Refusals};
use barograph_workload::topology::Topology;
use barograph_workload::{
    Application, DataSet, FailureReason, LoadCommand, LoadError, LoadJob, OnProgress, Reasons, SentFile,
    VerifyResult, Workload, WorkloadFactory,
};
use serde_json::{Map, Value, json};

use crate::contents::FileContents;
use crate::draw::Draw;
use crate::engines::Numbered;
use crate::measures::MEASURES;
use crate::parameters::Text;
use crate::plan::{SCRIPT, StatementsPlan, database};
use crate::script::{Script, Statement};
use crate::tally::Tally;
use crate::user::{FileUser, LoadState};
use crate::{checks, read};

/// Its name in plans, and that of its only profile.
pub(crate) const NAME: &str = "statements";

/// Makes the workload of plans.
pub struct Statements;

impl WorkloadFactory for Statements {
    fn about(&self) -> &'static str {
        "statements of a file, as transactions with weights on a database"
    }

    fn hint(&self) -> Option<&'static str> {
        Some("files are in scenarios/sql/")
    }

    fn load_command(&self) -> Option<&dyn LoadCommand> {
        Some(self)
    }

    fn of_plan(&self, plan: &Plan) -> Result<Arc<dyn Workload>, Refusals> {
        let Some(file) = &StatementsPlan::of(plan).script else {
            return Err(refused(
                plan,
                "nothing",
                "a file of statements, which workload = \"statements\" needs",
            ));
        };
        let path = plan.file_of(SCRIPT, file);
        let text = std::fs::read_to_string(&path).map_err(|why| {
            let allowed = format!("a file that can be read, looked for at {} ({why})", path.display());
            refused(plan, &format!("{:?}", file.display().to_string()), &allowed)
        })?;
        Ok(Arc::new(FileWorkload::new(plan, (path, &text))?))
    }

    fn of_files(&self, plan: &Plan, files: &[SentFile]) -> Result<Arc<dyn Workload>, Refusals> {
        let sent = files.first().and_then(|(path, text)| Some((path, std::str::from_utf8(text).ok()?)));
        let Some((path, text)) = sent else {
            return Err(refused(plan, "nothing", "a file that the harness sends to its drivers"));
        };
        Ok(Arc::new(FileWorkload::new(plan, (path.clone(), text))?))
    }
}

/// The refusal of a plan without a file.
fn refused(plan: &Plan, value: &str, allowed: &str) -> Refusals {
    Refusals(vec![Refusal {
        place: plan.place(SCRIPT).to_owned(),
        key: SCRIPT.to_owned(),
        value: value.to_owned(),
        allowed: allowed.to_owned(),
        remedy: "name a file, as in \"scenarios/sql/pgbench.toml\"; docs/statements.md describes it"
            .to_owned(),
    }])
}

/// The workload as engines need it.
pub(crate) enum FileDatabase {}

impl DatabaseWorkload for FileDatabase {
    type Contents = FileContents;
    type Shared = LoadState;
    type Tally = Tally;
    type Terminal = FileUser;
    type Postgres = Numbered;
    type Mariadb = Numbered;

    const NAME: &'static str = NAME;
    const SECTION: &'static str = "statements";
    const EXAMPLE: &'static str = "statements";

    fn statements(shared: &LoadState, kind: EngineKind) -> Vec<String> {
        let text: fn(&Statement) -> &Text = match kind {
            EngineKind::Sqlite => |statement| &statement.sqlite,
            EngineKind::Postgres => |statement| &statement.postgres,
            EngineKind::Mariadb => |statement| &statement.mariadb,
        };
        shared.script.statements.iter().map(|statement| text(statement).sql.clone()).collect()
    }

    fn check<D: Database>(
        database: &mut D,
        contents: &FileContents,
        tally: &Tally,
    ) -> Result<Findings, D::Error> {
        checks::check(database, contents, tally)
    }
}

/// The workload of a plan.
struct FileWorkload {
    plan: StatementsPlan,
    path: PathBuf,
    text: String,
    contents: FileContents,
    ops: Vec<OpSpec>,
    engine: Box<dyn Engine<FileDatabase>>,
    measures: Vec<MeasureSpec>,
    tally: Arc<Tally>,
    reasons: Arc<Mutex<Reasons>>,
}

impl FileWorkload {
    fn new(plan: &Plan, (path, text): (PathBuf, &str)) -> Result<Self, Refusals> {
        let script = Arc::new(read::read(&path.display().to_string(), text)?);
        let own = StatementsPlan::of(plan);
        if own.is_filled && script.tables.is_empty() {
            let allowed = "false for a file without tables: the database is used as it is";
            return Err(Refusals(vec![Refusal {
                place: plan.place("statements.fill").to_owned(),
                key: "statements.fill".to_owned(),
                value: "true".to_owned(),
                allowed: allowed.to_owned(),
                remedy: "set statements.fill = false, or add tables to the file".to_owned(),
            }]));
        }
        let database = database(plan, Arc::clone(&script));
        let contents = database.contents.clone();
        let engine = engine(plan, database).expect("other targets are refused when the plan is read");
        let has = |measure: &MeasureSpec| engine.kind().lacks() != measure.id;
        Ok(FileWorkload {
            plan: own.clone(),
            path,
            text: text.to_owned(),
            contents,
            ops: script.transactions.iter().map(|transaction| transaction.spec).collect(),
            measures: MEASURES.into_iter().filter(has).collect(),
            engine,
            tally: Arc::new(Tally::new(script.transactions.len())),
            reasons: Reasons::shared(),
        })
    }

    fn script(&self) -> &Script {
        &self.contents.script
    }

    /// The share of each transaction.
    fn shares(&self) -> Vec<(OpId, Share)> {
        let transactions = &self.script().transactions;
        let sum: f64 = transactions.iter().map(|transaction| transaction.weight).sum();
        let share = |weight: f64| Share::percent(100.0 * weight / sum);
        let ids = (0..=u8::MAX).map(OpId);
        ids.zip(transactions).map(|(op, transaction)| (op, share(transaction.weight))).collect()
    }
}

impl Workload for FileWorkload {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> u32 {
        crate::VERSION
    }

    fn ops(&self) -> &[OpSpec] {
        &self.ops
    }

    fn counters(&self) -> &[&'static str] {
        &measures::COUNTERS
    }

    fn measures(&self) -> &[MeasureSpec] {
        &self.measures
    }

    fn profiles(&self) -> Vec<&str> {
        vec![NAME]
    }

    fn profile(&self, name: &str) -> Option<Profile> {
        let (mix, mix_tolerance) = (Share::ZERO, Share::ZERO);
        let rules: Vec<QosRule> = self
            .shares()
            .into_iter()
            .zip(&self.script().transactions)
            .map(|((op, _), transaction)| {
                let rules = self.plan.rules.unwrap_or(transaction.rules);
                let (quantile, limit, failures) = (rules.quantile, rules.limit, rules.failures);
                QosRule { op, quantile, limit, judged: true, mix, mix_tolerance, failures }
            })
            .collect();
        (name == NAME).then(|| Profile::usual(NAME, &rules, None))
    }

    fn behaviours(&self, profile: &str) -> Option<Behaviours> {
        let next = match self.shares() {
            shares if shares.len() == 1 => NextOp::Op(OpId(0)),
            shares => NextOp::Vector(Vector::new(shares).ok()?),
        };
        let main = Behaviour {
            name: "main",
            first: OpId(0),
            next: vec![Some(next); self.ops.len()],
            pace: self.plan.pace(),
        };
        Behaviours::new(vec![main]).ok().filter(|_| profile == NAME)
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

    fn refusals(&self, plan: &Plan) -> Vec<Refusal> {
        self.engine.refusals(plan)
    }

    fn explain(&self) -> Option<String> {
        let rows = self.contents.tables().into_iter().zip(self.contents.rows());
        let rows = rows.map(|(table, rows)| {
            let name = barograph_database::Table::spec(table).name;
            format!("data      {} rows of {name}\n", count(rows))
        });
        let transactions =
            self.shares().into_iter().zip(&self.script().transactions).map(|((_, share), t)| {
                let statements: u32 =
                    self.script().statements[t.statements.clone()].iter().map(|s| s.times).sum();
                let percent = (share.get() * 1e4).round() / 1e2;
                format!("mix       {percent} % {}: {} ({statements} statements)\n", t.spec.name, t.spec.about)
            });
        Some(rows.chain(transactions).collect())
    }

    fn disclose(&self) -> Map<String, Value> {
        let StatementsPlan { think, database, .. } = &self.plan;
        let facts = [
            ("file", json!(self.path.display().to_string())),
            ("text", json!(self.text)),
            ("scale", json!(self.contents.scale)),
            ("filled", json!(self.contents.is_filled)),
            ("busy_ms", json!(database.busy.as_millis() as u64)),
            ("think_s", json!(think.as_secs_f64())),
        ];
        let mut section: Map<String, Value> =
            facts.map(|(name, fact)| (name.to_owned(), fact)).into_iter().collect();
        section.append(&mut self.engine.disclose());
        Map::from_iter([("statements".to_owned(), section.into())])
    }

    fn files(&self) -> Result<Vec<SentFile>, LoadError> {
        Ok(vec![(self.path.clone(), self.text.clone().into_bytes().into())])
    }

    fn prepare<'a>(
        &'a self,
        job: &'a LoadJob<'a>,
        progress: OnProgress,
    ) -> Option<BoxFuture<'a, Result<Fill, LoadError>>> {
        let filling = self.engine.fill(job, progress);
        let FileContents { scale, seed, .. } = self.contents;
        let digest = self.contents.digest();
        let stamp = format!("{NAME}-{}-{}-{digest:016x}-{scale}-s{seed}", crate::VERSION, self.script().name);
        Some(Box::pin(async move { Ok(fill_entry(filling.await?, stamp)) }))
    }

    fn load(&self, job: &LoadJob<'_>) -> Result<Box<dyn Runnable>, LoadError> {
        let (script, rows) = (Arc::clone(&self.contents.script), self.contents.rows());
        let shared = LoadState {
            draws: script.values.iter().map(|draw| Draw::new(draw, &rows)).collect(),
            script,
            tally: Arc::clone(&self.tally),
            reasons: Arc::clone(&self.reasons),
        };
        self.engine.load(job, shared)
    }

    fn counts(&self) -> Vec<i64> {
        self.tally.numbers()
    }

    fn add_counts(&self, counts: &[i64]) {
        self.tally.add_numbers(counts);
    }

    fn failure_reasons(&self) -> Vec<FailureReason> {
        let reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        reasons.by_name(&self.ops)
    }
}

impl Application for FileWorkload {
    fn topology(&self, plan: &Plan, _: Option<&DataSet>) -> Topology {
        self.engine.topology(plan)
    }

    fn answers<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<(), String>> {
        self.engine.answers(url)
    }

    fn tiers<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Vec<Tier>, String>> {
        Box::pin(async move { Ok(vec![self.engine.tier(url).await?]) })
    }

    fn verify<'a>(&'a self, url: &'a str) -> Option<BoxFuture<'a, Result<VerifyResult, String>>> {
        let checking = self.engine.verify(url, Arc::clone(&self.tally));
        Some(Box::pin(async move {
            let findings = checking.await?.violations;
            Ok(VerifyResult { ok: findings.is_empty(), findings })
        }))
    }
}
