//! Small databases of a server, their users, and digests of tables.

use std::marker::PhantomData;
use std::sync::Arc;

use barograph_database::Database;
use barograph_database_engines::{
    Form, MariadbSessions, PostgresSessions, ServerError, SessionUsers, Sessions, rows,
};
use barograph_engine::{User as _, UserFactory as _};
use barograph_model::{ChooserId, OpId, Outcome, UserId};
use barograph_reactor::block_on;
use barograph_test_services::{MissingRequirement, Service, mariadb, postgres};
use barograph_workload::WorkloadFactory as _;
use futures::future::join_all;

use crate::Brokerage;
use crate::generate::Generator;
use crate::session::Session;
use crate::statements::{OnMariadb, OnPostgres};
use crate::tables::Table;
use crate::tests::rig::{SIZE, context, hash, shared};
use crate::tests::seam::{block, fill, plan_at};
use crate::user::{LoadState, Trader};

/// A server product.
pub(super) trait Product: 'static {
    type Sessions: Sessions<Session: Session>;

    fn start() -> Result<Service, MissingRequirement>;

    /// The address of a database.
    fn url(server: &Service, name: &str) -> String;

    fn sessions(url: &str) -> Self::Sessions;
}

pub(super) struct Postgres;

impl Product for Postgres {
    type Sessions = PostgresSessions<OnPostgres>;

    fn start() -> Result<Service, MissingRequirement> {
        postgres()
    }

    fn url(server: &Service, name: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{name}", server.port())
    }

    fn sessions(url: &str) -> Self::Sessions {
        let address = barograph_postgres::Address::parse(url).unwrap();
        let target = barograph_postgres::Target::resolve(address, &[]).unwrap();
        PostgresSessions::new(&target, &"SET default_transaction_isolation = 'read committed'".into())
    }
}

pub(super) struct Mariadb;

impl Product for Mariadb {
    type Sessions = MariadbSessions<OnMariadb>;

    fn start() -> Result<Service, MissingRequirement> {
        mariadb()
    }

    fn url(server: &Service, name: &str) -> String {
        format!("mysql://auction@127.0.0.1:{}/{name}", server.port())
    }

    fn sessions(url: &str) -> Self::Sessions {
        let address = barograph_mysql::Address::parse(url).unwrap();
        let target = barograph_mysql::Target::resolve(address, &[]).unwrap();
        let setup = "SET autocommit = 0; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
        MariadbSessions::new(&target, &setup.into())
    }
}

/// A small filled database, and the copy for a run.
pub(super) struct Rig<P> {
    pub(super) filled: String,
    pub(super) copy: String,
    seed: u64,
    pub(super) shared: Arc<LoadState>,
    _product: PhantomData<P>,
}

impl<P: Product> Rig<P> {
    pub(super) fn new(server: &Service, name: &str, (seed, form): (u64, Form)) -> Self {
        let filled = P::url(server, name);
        let plan = plan_at(&filled, &[&format!("seed={seed}")]);
        assert!(!block(fill(Brokerage.of_plan(&plan).unwrap().as_ref(), &plan)).unwrap());
        let copy = format!("{filled}_run");
        Rig { copy, filled, seed, shared: shared(seed, form), _product: PhantomData }
    }

    pub(super) fn users(&self) -> SessionUsers<P::Sessions, Trader> {
        SessionUsers::new(P::sessions(&self.copy), &self.shared)
    }

    /// Operations of some users side by side. Returns the number of failures.
    pub(super) fn trade(&self, users: u32, each: u32) -> u64 {
        let factory = self.users();
        let one = async |number: u32| {
            let user = factory.user(UserId(number));
            let (mut context, mut failed) = (context(self.seed, number), 0);
            for _ in 0..each {
                let op = user.choose(ChooserId(0), &mut context);
                failed += u64::from(user.act(OpId(op as u8), &mut context).await != Outcome::Good);
            }
            failed
        };
        block_on(join_all((0..users).map(one))).unwrap().into_iter().sum()
    }

    /// The violations that the checks find in the copy, with the counts of the users.
    pub(super) fn wrong(&self) -> Vec<String> {
        let generator = Generator { size: SIZE, seed: self.seed };
        let mut copy = Queries(self.copy.clone());
        crate::checks::check(&mut copy, &generator, &self.shared.tally).unwrap().violations
    }
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
    rows(url, sql, &mut |_| {}).unwrap_or_else(|why| panic!("{sql}: {why:?}"));
}

/// A number for the rows of each table, in any order, as of SQLite's.
pub(super) fn digests(url: &str) -> Vec<(&'static str, u64)> {
    let digest = |table: Table| {
        let mut sum = 0_u64;
        let mut add = |row: &[Option<&str>]| {
            sum = sum.wrapping_add(hash(row.iter().map(|text| text.unwrap().to_owned())));
        };
        rows(url, &format!("SELECT * FROM {}", table.name()), &mut add).unwrap();
        sum
    };
    Table::ALL.map(|table| (table.name(), digest(table))).to_vec()
}
