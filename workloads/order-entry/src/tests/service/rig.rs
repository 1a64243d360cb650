//! Small databases of a server, their users, and digests of tables.

use std::marker::PhantomData;
use std::sync::Arc;

use barograph_database::{Database, Table as _};
use barograph_database_engines::{
    Form, MariadbSessions, PostgresSessions, ServerError, SessionUsers, Sessions, rows,
};
use barograph_engine::{OpContext, User as _, UserFactory as _};
use barograph_model::{ChooserId, CounterId, OpId, Outcome, UserId};
use barograph_reactor::block_on;
use barograph_test_services::{MissingRequirement, Service, mariadb, postgres};
use barograph_workload::{Reasons, WorkloadFactory as _};
use futures::future::join_all;

use crate::OrderEntry;
use crate::draw::Constants;
use crate::generate::Generator;
use crate::input::Inputs;
use crate::session::Session;
use crate::sqlite::tests::rig::SIZE;
use crate::tables::{Size, Table};
use crate::tests::{block, fill, plan_at};
use crate::user::{LoadState, Terminal, Transaction};

/// A server product.
pub(super) trait Product: Sync + 'static {
    type Sessions: Sessions<Session: Session>;

    /// SQL of sessions that wait for locks.
    const PATIENT: &'static str;

    /// SQL of sessions that give up at once.
    const HASTY: &'static str;

    fn start() -> Result<Service, MissingRequirement>;

    /// The address of a database.
    fn url(server: &Service, name: &str) -> String;

    fn sessions(url: &str, setup: &str) -> Self::Sessions;

    /// SQL of sessions with an isolation level.
    fn isolated(level: &str) -> String;
}

pub(super) struct Postgres;

impl Product for Postgres {
    type Sessions = PostgresSessions<crate::postgres::Sql>;

    const PATIENT: &'static str = "SET deadlock_timeout = '20ms'";
    const HASTY: &'static str = "SET lock_timeout = 1";

    fn start() -> Result<Service, MissingRequirement> {
        postgres()
    }

    fn url(server: &Service, name: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{name}", server.port())
    }

    fn sessions(url: &str, setup: &str) -> Self::Sessions {
        let address = barograph_postgres::Address::parse(url).unwrap();
        PostgresSessions::new(&barograph_postgres::Target::resolve(address, &[]).unwrap(), &setup.into())
    }

    fn isolated(level: &str) -> String {
        format!("SET default_transaction_isolation = '{level}'")
    }
}

pub(super) struct Mariadb;

impl Product for Mariadb {
    type Sessions = MariadbSessions<crate::mariadb::Sql>;

    const PATIENT: &'static str =
        "SET autocommit = 0; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
    const HASTY: &'static str = "SET autocommit = 0, innodb_lock_wait_timeout = 0; \
         SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";

    fn start() -> Result<Service, MissingRequirement> {
        mariadb()
    }

    fn url(server: &Service, name: &str) -> String {
        format!("mysql://auction@127.0.0.1:{}/{name}", server.port())
    }

    fn sessions(url: &str, setup: &str) -> Self::Sessions {
        let address = barograph_mysql::Address::parse(url).unwrap();
        MariadbSessions::new(&barograph_mysql::Target::resolve(address, &[]).unwrap(), &setup.into())
    }

    fn isolated(level: &str) -> String {
        format!("SET autocommit = 0; SET SESSION TRANSACTION ISOLATION LEVEL {level}")
    }
}

/// A filled database, and the copy for a run.
pub(super) struct Rig<P> {
    pub(super) filled: String,
    pub(super) copy: String,
    pub(super) generator: Generator,
    pub(super) shared: Arc<LoadState>,
    _product: PhantomData<P>,
}

impl<P: Product> Rig<P> {
    pub(super) fn new(server: &Service, name: &str, seed: u64) -> Self {
        let filled = P::url(server, name);
        let sets = [format!("seed={seed}"), format!("order_entry.warehouses={}", SIZE.0)];
        let plan = plan_at(&filled, &sets.each_ref().map(String::as_str));
        let reused = block(fill(OrderEntry.of_plan(&plan).unwrap().as_ref(), &plan));
        assert!(!reused.unwrap());
        let copy = format!("{filled}_run");
        let generator = Generator::new(Size::new(SIZE.0, SIZE.1), seed);
        let rig = Rig {
            filled,
            copy,
            generator,
            shared: shared(&generator, Form::Statements),
            _product: PhantomData,
        };
        assert_eq!(digests(&rig.copy), digests(&rig.filled));
        rig
    }

    /// The same with other users.
    pub(super) fn with_form(self, form: Form) -> Self {
        Rig { shared: shared(&self.generator, form), ..self }
    }

    /// Makes the copy anew.
    pub(super) fn reset(&self) {
        let sets = [format!("seed={}", self.generator.seed), format!("order_entry.warehouses={}", SIZE.0)];
        let plan = plan_at(&self.filled, &sets.each_ref().map(String::as_str));
        assert!(block(fill(OrderEntry.of_plan(&plan).unwrap().as_ref(), &plan)).unwrap());
    }

    pub(super) fn users(&self, setup: &str) -> SessionUsers<P::Sessions, Terminal> {
        SessionUsers::new(P::sessions(&self.copy, setup), &self.shared)
    }

    /// Transactions of some users side by side, in sessions that begin with this SQL. Returns the number of failures, and the
    /// sums of counters.
    pub(super) fn transact(
        &self,
        (users, each): (u32, u32),
        setup: &str,
        counters: &[CounterId],
    ) -> (u64, Vec<u64>) {
        let factory = self.users(setup);
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

    /// The violations that the checks find in the copy, with the counts of the users.
    pub(super) fn wrong(&self) -> Vec<String> {
        let counted = self.shared.tally.counted();
        let mut copy = Queries(self.copy.clone());
        crate::checks::check(&mut copy, &self.generator, counted).unwrap().violations
    }
}

fn shared(generator: &Generator, form: Form) -> Arc<LoadState> {
    let Generator { size, seed, .. } = *generator;
    let inputs = Inputs { size, constants: Constants::of_seed(seed) };
    let (cards, tally) = (Transaction::CARDS, Arc::default());
    Arc::new(LoadState { inputs, form, cards, tally, reasons: Reasons::shared() })
}

/// Queries of checks on the database of an address.
struct Queries(String);

impl Database for Queries {
    type Error = ServerError;

    fn rows(&mut self, sql: &str, take: &mut dyn FnMut(&[i64])) -> Result<(), ServerError> {
        rows(&self.0, sql, &mut |row| {
            let numbers: Vec<i64> = row.iter().map(|text| text.unwrap_or("0").parse().unwrap()).collect();
            take(&numbers);
        })
    }
}

/// Runs SQL in a database.
pub(super) fn run(url: &str, sql: &str) {
    rows(url, sql, &mut |_| {}).unwrap();
}

/// The text that a query returns.
pub(super) fn text(url: &str, sql: &str) -> String {
    let mut text = String::new();
    rows(url, sql, &mut |row| text = row[0].unwrap_or_default().to_owned()).unwrap();
    text
}

/// A number for the rows of each table, in any order, as of SQLite's.
pub(super) fn digests(url: &str) -> Vec<(&'static str, u64)> {
    Table::ALL.map(|table| (table.name(), digest(url, table))).to_vec()
}

fn digest(url: &str, table: Table) -> u64 {
    let is_text: Vec<bool> = table.spec().columns().map(|column| column.kind.is_text()).collect();
    let mut sum = 0_u64;
    let mut add = |row: &[Option<&str>]| {
        let mut hash = 0_u64;
        for (text, is_text) in row.iter().zip(&is_text) {
            hash = match (text, is_text) {
                (Some(text), false) => barograph_data::mix(hash ^ text.parse::<i64>().unwrap() as u64),
                (Some(text), true) => {
                    text.bytes().fold(hash, |h, byte| barograph_data::mix(h ^ u64::from(byte)))
                }
                (None, _) => barograph_data::mix(!hash),
            };
        }
        sum = sum.wrapping_add(hash);
    };
    rows(url, &format!("SELECT * FROM {}", table.name()), &mut add).unwrap();
    sum
}
