//! Small databases of a server, their users, and digests of tables.

use std::marker::PhantomData;
use std::sync::Arc;

use barograph_database::{Database, Table as _};
use barograph_database_engines::{
    MariadbSessions, PostgresSessions, ServerError, SessionUsers, Sessions, rows,
};
use barograph_test_services::{MissingRequirement, Service, mariadb, postgres};
use barograph_workload::{Reasons, WorkloadFactory as _};

use crate::Store;
use crate::engines;
use crate::generate::Generator;
use crate::input::Inputs;
use crate::session::Session;
use crate::tables::{Size, Table};
use crate::tests::rig::{HABITS, visit};
use crate::tests::seam::{block, fill, plan_at};
use crate::user::{LoadState, Visitor};

/// A server product.
pub(super) trait Product: 'static {
    type Sessions: Sessions<Session: Session>;

    /// SQL with which sessions begin.
    const SETUP: &'static str;

    fn start() -> Result<Service, MissingRequirement>;

    /// The address of a database.
    fn url(server: &Service, name: &str) -> String;

    fn sessions(url: &str) -> Self::Sessions;
}

pub(super) struct Postgres;

impl Product for Postgres {
    type Sessions = PostgresSessions<engines::postgres::Sql>;

    const SETUP: &'static str = "SET default_transaction_isolation = 'read committed'";

    fn start() -> Result<Service, MissingRequirement> {
        postgres()
    }

    fn url(server: &Service, name: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{name}", server.port())
    }

    fn sessions(url: &str) -> Self::Sessions {
        let address = barograph_postgres::Address::parse(url).unwrap();
        let target = barograph_postgres::Target::resolve(address, &[]).unwrap();
        PostgresSessions::new(&target, &Self::SETUP.into())
    }
}

pub(super) struct Mariadb;

impl Product for Mariadb {
    type Sessions = MariadbSessions<engines::mariadb::Sql>;

    const SETUP: &'static str = "SET autocommit = 0; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";

    fn start() -> Result<Service, MissingRequirement> {
        mariadb()
    }

    fn url(server: &Service, name: &str) -> String {
        format!("mysql://auction@127.0.0.1:{}/{name}", server.port())
    }

    fn sessions(url: &str) -> Self::Sessions {
        let address = barograph_mysql::Address::parse(url).unwrap();
        let target = barograph_mysql::Target::resolve(address, &[]).unwrap();
        MariadbSessions::new(&target, &Self::SETUP.into())
    }
}

/// A filled database of a megabyte, and the copy for a run.
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
        let plan = plan_at(&filled, &[&format!("seed={seed}")]);
        assert!(!block(fill(Store.of_plan(&plan).unwrap().as_ref(), &plan)).unwrap());
        let generator = Generator::new(Size::new(1), seed);
        let inputs = Inputs::new(generator, HABITS);
        let shared = Arc::new(LoadState { inputs, tally: Arc::default(), reasons: Reasons::shared() });
        Rig { copy: format!("{filled}_run"), filled, generator, shared, _product: PhantomData }
    }

    pub(super) fn users(&self) -> SessionUsers<P::Sessions, Visitor> {
        SessionUsers::new(P::sessions(&self.copy), &self.shared)
    }

    /// Operations of some users side by side. Returns the number of failures.
    pub(super) fn visit(&self, users: u32, each: u32) -> u64 {
        visit(&self.users(), self.generator.seed, users, each)
    }

    /// The violations that the checks find in the copy, with the counts of the users.
    pub(super) fn wrong(&self) -> Vec<String> {
        let counted = self.shared.tally.counted();
        let mut copy = Queries(self.copy.clone());
        crate::checks::check(&mut copy, &self.generator, counted).unwrap().violations
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
