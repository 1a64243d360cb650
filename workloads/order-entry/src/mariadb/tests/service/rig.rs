//! Small databases of a server, their users, and digests of tables.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use barograph_engine::{OpContext, User as _, UserFactory as _};
use barograph_model::{ChooserId, CounterId, OpId, Outcome, UserId};
use barograph_mysql::{Address, Connection, Fault, Target};
use barograph_reactor::block_on;
use barograph_test_services::Service;
use barograph_workload::{OnProgress, Reasons};
use futures::future::join_all;

use crate::draw::Constants;
use crate::engine::FillCounts;
use crate::generate::Generator;
use crate::input::Inputs;
use crate::mariadb::MariadbError;
use crate::mariadb::admin::{in_session, row, run};
use crate::mariadb::check::Queries;
use crate::mariadb::databases::Databases;
use crate::mariadb::fill::DatabaseFill;
use crate::mariadb::users::MariadbUsers;
use crate::sqlite::tests::rig::SIZE;
use crate::tables::{Size, Table};
use crate::user::LoadState;

/// SQL with which sessions of users begin.
pub(super) const SETUP: &str = "SET autocommit = 0; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";

/// The databases of a load.
pub(super) struct Rig {
    pub(super) databases: Databases,
    pub(super) generator: Generator,
    pub(super) shared: Arc<LoadState>,
}

impl Rig {
    /// Databases that do not exist yet.
    pub(super) fn empty(server: &Service, name: &str, seed: u64) -> Self {
        let address = Address::parse(&url(server, name)).unwrap();
        let generator = Generator::new(Size::new(SIZE.0, SIZE.1), seed);
        let inputs = Inputs { size: generator.size, constants: Constants::of_seed(seed) };
        let shared = Arc::new(LoadState { inputs, tally: Arc::default(), reasons: Reasons::shared() });
        Rig { databases: Databases::at(address).unwrap(), generator, shared }
    }

    /// Filled databases.
    pub(super) fn filled(server: &Service, name: &str, seed: u64) -> Self {
        let rig = Rig::empty(server, name, seed);
        assert!(!rig.fill().unwrap().reused);
        rig
    }

    pub(super) fn fill(&self) -> Result<FillCounts, MariadbError> {
        self.filling(Arc::new(|_| {})).run()
    }

    pub(super) fn filling(&self, progress: OnProgress) -> DatabaseFill {
        DatabaseFill {
            databases: self.databases.clone(),
            generator: self.generator,
            progress,
            stopped: Arc::default(),
            done: AtomicU64::new(0),
        }
    }

    /// Lets users do some transactions side by side, in sessions that begin with this SQL. Returns the number of those that
    /// failed, and the sums of counters.
    pub(super) fn transact(
        &self,
        (users, each): (u32, u32),
        setup: &str,
        counters: &[CounterId],
    ) -> (u64, Vec<u64>) {
        let factory = MariadbUsers::new(&self.databases.copy(), &setup.into(), &self.shared);
        let one = async |number: u32| {
            let user = factory.user(UserId(number));
            let mut context = OpContext::for_test();
            context.rng = barograph_engine::stream(self.generator.seed, number, 0);
            let mut failed = 0;
            for _ in 0..each {
                let op = user.choose(ChooserId(0), &mut context);
                failed += u64::from(user.act(OpId(op as u8), &mut context).await != Outcome::Good);
            }
            (failed, context)
        };
        let ended = block_on(join_all((0..users).map(one))).unwrap();
        let sum = |counter: &CounterId| ended.iter().map(|(_, context)| context.added(*counter)).sum();
        (ended.iter().map(|(failed, _)| failed).sum(), counters.iter().map(sum).collect())
    }

    /// What the checks find wrong in the copy, with what the users counted.
    pub(super) fn wrong(&self) -> Vec<String> {
        let counted = self.shared.tally.counted();
        let mut queries = Queries(self.databases.copy());
        crate::checks::check(&mut queries, &self.generator, counted).unwrap().violations
    }
}

/// An address of a database of the server.
pub(super) fn url(server: &Service, name: &str) -> String {
    format!("mysql://auction@127.0.0.1:{}/{name}", server.port())
}

/// Runs SQL in a database.
pub(super) fn run_in(target: &Target, sql: &str) {
    in_session(target, ("change", "it"), async |session| run(session, sql).await).unwrap();
}

/// The text that a query returns.
pub(super) fn text(target: &Target, sql: &str) -> String {
    let row = in_session(target, ("read", "it"), async |session| row(session, sql).await);
    row.unwrap().unwrap().remove(0)
}

/// A number for the rows of each table, in any order, as of SQLite's.
pub(super) fn digests(target: &Target) -> Vec<(&'static str, u64)> {
    let digests = in_session(target, ("read", "it"), async |session| {
        let mut all = Vec::new();
        for table in Table::ALL {
            all.push((table.name(), digest(session, table).await?));
        }
        Ok(all)
    });
    digests.unwrap()
}

async fn digest(session: &mut Connection, table: Table) -> Result<u64, Fault> {
    let is_number: Vec<bool> = table.columns().split(", ").map(|column| column.ends_with(" i")).collect();
    let mut replies = session.query(&format!("SELECT * FROM {}", table.name()))?;
    let mut sum = 0_u64;
    while let Some(row) = replies.row().await? {
        let mut hash = 0_u64;
        for (at, is_number) in is_number.iter().enumerate() {
            let text = row.get_optional::<&str>(at)?;
            hash = match (text, is_number) {
                (Some(text), true) => barograph_data::mix(hash ^ text.parse::<i64>().unwrap() as u64),
                (Some(text), false) => {
                    text.bytes().fold(hash, |h, byte| barograph_data::mix(h ^ u64::from(byte)))
                }
                (None, _) => barograph_data::mix(!hash),
            };
        }
        sum = sum.wrapping_add(hash);
    }
    replies.finish().await?;
    Ok(sum)
}
