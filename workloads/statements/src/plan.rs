//! The keys of the workload in plans: `[statements]`.

use std::path::PathBuf;
use std::sync::Arc;

use barograph_database::STATISTICS;
use barograph_database_engines::{
    DatabasePlan, DatabaseSettings, DatabaseWorkload as _, Rules, TIERS, check, engine,
};
use barograph_model::{Distribution, MeasureSpec, Nanos, Pace, StatisticMetric};
use barograph_spec::{Plan, SettingsReader, WorkloadKeys, WorkloadSettings};

use crate::contents::FileContents;
use crate::measures::MEASURES;
use crate::script::Script;
use crate::seam::{FileDatabase, NAME, Statements};

/// The key of the file.
pub(crate) const SCRIPT: &str = "statements.script";

/// The largest scale.
const MOST_SCALE: u64 = 1_000_000;

/// The settings of the workload in a plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StatementsPlan {
    /// The file.
    pub(crate) script: Option<PathBuf>,
    pub(crate) scale: u64,
    /// The run fills the tables of the file. Otherwise the database is used as it is.
    pub(crate) is_filled: bool,
    /// Mean think time between transactions.
    pub(crate) think: Nanos,
    /// Rules in place of those of the file.
    pub(crate) rules: Option<Rules>,
    pub(crate) database: DatabaseSettings,
}

impl StatementsPlan {
    /// The settings in a plan of this workload.
    pub(crate) fn of(plan: &Plan) -> &Self {
        plan.settings().expect("a plan of this workload is read with its keys")
    }

    /// The waits between transactions: think time, up to twice the mean.
    pub(crate) fn pace(&self) -> Pace {
        match self.think {
            Nanos::ZERO => Pace::AtOnce,
            think => {
                Pace::Think(Distribution::Uniform { min: Nanos::ZERO, max: Nanos(think.0.saturating_mul(2)) })
            }
        }
    }
}

/// The database of a plan with the tables of a file.
pub(crate) fn database(plan: &Plan, script: Arc<Script>) -> DatabasePlan<FileContents> {
    let StatementsPlan { script: file, scale, is_filled, database, .. } = StatementsPlan::of(plan);
    let stem = file.as_deref().and_then(std::path::Path::file_stem).unwrap_or_default();
    DatabasePlan {
        settings: database.clone(),
        size: format!("{}-{scale}", stem.to_string_lossy()),
        contents: FileContents { script, scale: *scale, seed: plan.seed, is_filled: *is_filled },
    }
}

impl WorkloadKeys for Statements {
    fn name(&self) -> &'static str {
        NAME
    }

    fn asks_target(&self) -> bool {
        true
    }

    fn statistics(&self) -> &'static [StatisticMetric] {
        &STATISTICS
    }

    fn measures(&self) -> &'static [MeasureSpec] {
        &MEASURES
    }

    fn tiers(&self) -> &'static [&'static str] {
        &TIERS
    }

    fn read(&self, g: &mut SettingsReader) -> Option<Arc<dyn WorkloadSettings>> {
        let script = g.optional_word(SCRIPT, "a file of statements, as in \"scenarios/sql/pgbench.toml\"");
        let scale = g.number("statements.scale", 1..=MOST_SCALE, 1);
        let is_filled = g.flag("statements.fill", true);
        let think = g.time("statements.think_s", 0.0..=3_600.0, 0.0);
        let rules = Rules::read(g, FileDatabase::SECTION);
        let database = DatabaseSettings::read(g, FileDatabase::SECTION);
        Some(Arc::new(StatementsPlan {
            script: script?.map(PathBuf::from),
            scale: scale?,
            is_filled: is_filled?,
            think: think?,
            rules: rules?,
            database: database?,
        }))
    }
}

impl WorkloadSettings for StatementsPlan {
    fn check(&self, plan: &Plan, g: &mut SettingsReader) {
        // The file may be on another host; what is checked here does not depend on it.
        check::<FileDatabase>(plan, database(plan, Arc::default()), g);
        if plan.target.url.is_none() {
            let allowed = "true without target.url: a new database has no tables";
            g.refuse_asked("statements.fill", allowed, "leave it out, or set target.url");
        }
    }

    fn explain(&self, plan: &Plan) -> Vec<String> {
        let database = database(plan, Arc::default());
        let Some(engine) = engine::<FileDatabase>(plan, database) else { return Vec::new() };
        let think = match self.think {
            Nanos::ZERO => "without think time".to_owned(),
            think => format!("with {} s between transactions on average", think.as_secs_f64()),
        };
        let (users, target) = engine.explain(plan);
        let file = self.script.as_ref().map_or_else(String::new, |file| file.display().to_string());
        let data = match self.is_filled {
            true => format!("tables of the file, scale {}", self.scale),
            false => "those of the database, which is used as it is".to_owned(),
        };
        let mut lines = vec![
            format!("file      {file}"),
            format!("data      {data}"),
            format!("users     {users}, one transaction after the other, {think}"),
        ];
        lines.extend(target);
        lines
    }
}

#[cfg(test)]
mod tests {
    use barograph_model::words::in_one_line;
    use barograph_spec::{Catalogue, Refusals};

    use super::*;

    fn plan(sets: &[&str]) -> Result<Plan, Refusals> {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        barograph_spec::read(Catalogue::of(&[&Statements]), "a plan", "workload = \"statements\"\n", &sets)
    }

    #[test]
    fn a_plan_says_what_will_happen() {
        let sets = [
            "statements.script=\"bank.toml\"",
            "statements.scale=3",
            "statements.think_s=0.5",
            "target.url=postgres://me@h/bank",
        ];
        let plan = plan(&sets).unwrap();
        let own = StatementsPlan::of(&plan);
        assert_eq!(
            own.explain(&plan)[..3],
            [
                "file      bank.toml",
                "data      tables of the file, scale 3",
                "users     sessions, one transaction after the other, with 0.5 s between transactions on average",
            ]
        );
        let max = Nanos::from_secs(1);
        assert_eq!(own.pace(), Pace::Think(Distribution::Uniform { min: Nanos::ZERO, max }));
        assert_eq!(StatementsPlan { think: Nanos::ZERO, ..own.clone() }.pace(), Pace::AtOnce);
    }

    #[test]
    fn a_file_of_sqlite_has_the_name_of_the_script() {
        let plan = plan(&["statements.script=\"folder/bank.toml\"", "statements.scale=2"]).unwrap();
        let lines = StatementsPlan::of(&plan).explain(&plan).join("\n");
        assert!(lines.contains("/data/statements-bank-2-s1.db: filled once"), "{lines}");
    }

    #[test]
    fn a_new_database_is_filled() {
        let why = in_one_line(&plan(&["statements.fill=false"]).unwrap_err());
        assert!(why.contains("true without target.url"), "{why}");
        let there = plan(&["statements.fill=false", "target.url=mysql://me@h/bank"]).unwrap();
        assert!(StatementsPlan::of(&there).explain(&there)[1].contains("used as it is"));
        let why = in_one_line(&plan(&["target.url=http://h/bank"]).unwrap_err());
        assert!(why.contains("a file of SQLite"), "{why}");
    }
}
