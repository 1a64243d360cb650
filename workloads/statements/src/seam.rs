//! The workload behind the seam.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use barograph_database::{CommitGaps, Contents as _, Database, Findings, Table as _, measures};
use barograph_database_engines::{DatabaseLoad, DatabaseOperations, DatabaseWorkload, EngineKind};
use barograph_model::words::count;
use barograph_model::{
    Behaviour, Behaviours, MeasureSpec, NextOp, OpId, OpSpec, Profile, QosRule, Share, Vector,
};
use barograph_spec::{Plan, Refusal, Refusals};
use barograph_workload::{LoadCommand, Reasons, SentFile, Workload, WorkloadFactory};
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
        of_text(plan, path, &text)
    }

    fn of_files(&self, plan: &Plan, files: &[SentFile]) -> Result<Arc<dyn Workload>, Refusals> {
        let sent = files.first().and_then(|(path, text)| Some((path, std::str::from_utf8(text).ok()?)));
        let Some((path, text)) = sent else {
            return Err(refused(plan, "nothing", "a file that the harness sends to its drivers"));
        };
        of_text(plan, path.clone(), text)
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

/// The settings of a plan with its file.
pub(crate) struct FileSettings {
    plan: StatementsPlan,
    path: PathBuf,
    text: String,
    script: Arc<Script>,
    ops: Vec<OpSpec>,
}

/// The workload of a plan with the text of its file.
fn of_text(plan: &Plan, path: PathBuf, text: &str) -> Result<Arc<dyn Workload>, Refusals> {
    let script = Arc::new(read::read(&path.display().to_string(), text)?);
    let own = StatementsPlan::of(plan).clone();
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
    let ops = script.transactions.iter().map(|transaction| transaction.spec).collect();
    let database = database(plan, Arc::clone(&script));
    let settings = FileSettings { plan: own, path, text: text.to_owned(), script, ops };
    Ok(Arc::new(DatabaseLoad::<FileDatabase>::new(plan, settings, database)))
}

impl FileSettings {
    /// The share of each transaction.
    fn shares(&self) -> Vec<(OpId, Share)> {
        let transactions = &self.script.transactions;
        let sum: f64 = transactions.iter().map(|transaction| transaction.weight).sum();
        let share = |weight: f64| Share::percent(100.0 * weight / sum);
        let ids = (0..=u8::MAX).map(OpId);
        ids.zip(transactions).map(|(op, transaction)| (op, share(transaction.weight))).collect()
    }
}

impl DatabaseOperations for FileDatabase {
    type Settings = FileSettings;

    const VERSION: u32 = crate::VERSION;
    const NOTICE: &'static str = "";
    const OPS: &'static [OpSpec] = &[];
    const COUNTERS: &'static [&'static str] = &measures::COUNTERS;
    const MEASURES: &'static [MeasureSpec] = &MEASURES;
    const PROFILES: &'static [&'static str] = &[NAME];

    fn ops(settings: &FileSettings) -> &[OpSpec] {
        &settings.ops
    }

    fn profile(settings: &FileSettings, name: &'static str) -> Profile {
        let (mix, mix_tolerance) = (Share::ZERO, Share::ZERO);
        let rules: Vec<QosRule> = settings
            .shares()
            .into_iter()
            .zip(&settings.script.transactions)
            .map(|((op, _), transaction)| {
                let rules = settings.plan.rules.unwrap_or(transaction.rules);
                let (quantile, limit, failures) = (rules.quantile, rules.limit, rules.failures);
                QosRule { op, quantile, limit, judged: true, mix, mix_tolerance, failures }
            })
            .collect();
        Profile::usual(name, &rules, None)
    }

    fn behaviours(settings: &FileSettings, _: &str) -> Option<Behaviours> {
        let next = match settings.shares() {
            shares if shares.len() == 1 => NextOp::Op(OpId(0)),
            shares => NextOp::Vector(Vector::new(shares).ok()?),
        };
        let main = Behaviour {
            name: "main",
            first: OpId(0),
            next: vec![Some(next); settings.ops.len()],
            pace: settings.plan.pace(),
        };
        Behaviours::new(vec![main]).ok()
    }

    fn size(contents: &FileContents) -> String {
        let FileContents { script, scale, seed, .. } = contents;
        format!("{}-{:016x}-{scale}-s{seed}", script.name, contents.digest())
    }

    fn explain(settings: &FileSettings, contents: &FileContents) -> Option<String> {
        let rows = contents.tables().into_iter().zip(contents.rows());
        let rows =
            rows.map(|(table, rows)| format!("data      {} rows of {}\n", count(rows), table.spec().name));
        let transactions =
            settings.shares().into_iter().zip(&settings.script.transactions).map(|((_, share), t)| {
                let statements: u32 =
                    settings.script.statements[t.statements.clone()].iter().map(|s| s.times).sum();
                let percent = (share.get() * 1e4).round() / 1e2;
                format!("mix       {percent} % {}: {} ({statements} statements)\n", t.spec.name, t.spec.about)
            });
        Some(rows.chain(transactions).collect())
    }

    fn files(settings: &FileSettings) -> Vec<SentFile> {
        vec![(settings.path.clone(), settings.text.clone().into_bytes().into())]
    }

    fn disclose(settings: &FileSettings, contents: &FileContents) -> Map<String, Value> {
        let StatementsPlan { think, database, .. } = &settings.plan;
        let facts = [
            ("file", json!(settings.path.display().to_string())),
            ("text", json!(settings.text)),
            ("scale", json!(contents.scale)),
            ("filled", json!(contents.is_filled)),
            ("busy_ms", json!(database.busy.as_millis() as u64)),
            ("think_s", json!(think.as_secs_f64())),
        ];
        facts.map(|(name, fact)| (name.to_owned(), fact)).into_iter().collect()
    }

    fn shared(
        (settings, _): (&FileSettings, &str),
        contents: &FileContents,
        (tally, reasons): (&Arc<Tally>, &Arc<Mutex<Reasons>>),
    ) -> LoadState {
        let (script, rows) = (Arc::clone(&settings.script), contents.rows());
        LoadState {
            draws: script.values.iter().map(|draw| Draw::new(draw, &rows)).collect(),
            script,
            tally: Arc::clone(tally),
            reasons: Arc::clone(reasons),
        }
    }

    fn gaps(tally: &Tally) -> Option<&CommitGaps> {
        Some(&tally.gaps)
    }

    fn numbers(tally: &Tally) -> Vec<i64> {
        tally.numbers()
    }

    fn add_numbers(tally: &Tally, numbers: &[i64]) {
        tally.add_numbers(numbers);
    }
}
