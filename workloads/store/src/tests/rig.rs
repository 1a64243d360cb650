//! A small database, its users, and digests of tables.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use barograph_database::sqlite::{ConnectionOptions, Target, Users};
use barograph_engine::{BlockingFactory as _, BlockingUser as _, OpContext, User as _, UserFactory};
use barograph_model::{ChooserId, OpId, Outcome, Share, UserId};
use barograph_reactor::block_on;
use barograph_workload::Reasons;
use futures::future::join_all;
use parking_lot::FairMutex;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use tempfile::TempDir;

use crate::checks;
use crate::generate::Generator;
use crate::input::{Habits, Inputs};
use crate::tables::{Size, Table};
use crate::user::{LoadState, Visitor};

/// The usual habits, with more shortages.
pub(crate) const HABITS: Habits = Habits {
    new_customers: Share::percent(20.0),
    searches: 3,
    search_rows: 5,
    title_hits: Share::percent(90.0),
    lines: 5,
    shortages: Share::percent(5.0),
    skew: 0.8,
};

/// A filled database of a megabyte and the copy of a run.
pub(crate) struct Rig {
    _folder: TempDir,
    pub(crate) copy: PathBuf,
    pub(crate) target: Target<Generator>,
    pub(crate) shared: Arc<LoadState>,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Rig::of(1, HABITS)
    }

    pub(crate) fn of(seed: u64, habits: Habits) -> Self {
        let folder = TempDir::new().unwrap();
        let generator = Generator::new(Size::new(1), seed);
        let target = Target::new(folder.path().join("store.db"), generator);
        assert!(!target.prepare(|_, _| true).unwrap().reused);
        let inputs = Inputs::new(generator, habits);
        let shared = LoadState { inputs, tally: Arc::default(), reasons: Reasons::shared() };
        Rig { _folder: folder, copy: target.copy(), target, shared: Arc::new(shared) }
    }

    /// Settings of connections. A user that cannot write gives up at once.
    pub(crate) fn connecting(&self) -> ConnectionOptions {
        ConnectionOptions { path: self.copy.clone(), is_durable: false, busy: Duration::from_millis(1) }
    }

    pub(crate) fn users(&self) -> Users<Visitor> {
        Users {
            shared: Arc::clone(&self.shared),
            connecting: self.connecting(),
            queue: Some(Arc::new(FairMutex::new(()))),
        }
    }

    /// Operations of some users side by side, each with a thread. Returns the number of failures.
    pub(crate) fn visit(&self, users: u32, each: u32) -> u64 {
        let factory = self.users();
        let one = |number: u32| {
            let mut user = factory.user(barograph_model::UserId(number));
            let mut context = OpContext::for_test();
            context.rng = barograph_engine::stream(self.target.contents().seed, number, 0);
            let failed = (0..each).filter(|_| {
                let op = user.choose(ChooserId(0), &mut context);
                user.act(OpId(op as u8), &mut context) != Outcome::Good
            });
            failed.count() as u64
        };
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..users).map(|number| scope.spawn(move || one(number))).collect();
            all.into_iter().map(|user| user.join().unwrap()).sum()
        })
    }

    /// A connection to the copy of the run.
    pub(crate) fn connection(&self) -> Connection {
        Connection::open(&self.copy).unwrap()
    }

    /// The first number of a query on the copy.
    pub(crate) fn number(&self, sql: &str) -> i64 {
        self.connection().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// The violations that the checks find, with the counts of the users.
    pub(crate) fn wrong(&self) -> Vec<String> {
        let counted = self.shared.tally.counted();
        let checked = barograph_database::sqlite::check(&self.copy, |queries| {
            checks::check(queries, self.target.contents(), counted)
        });
        checked.unwrap().violations
    }
}

/// Operations of some users side by side on one event loop. Returns the number of failures.
pub(crate) fn visit(factory: &impl UserFactory, seed: u64, users: u32, each: u32) -> u64 {
    let one = async |number: u32| {
        let user = factory.user(UserId(number));
        let mut context = OpContext::for_test();
        context.rng = barograph_engine::stream(seed, number, 0);
        let mut failed = 0;
        for _ in 0..each {
            let op = user.choose(ChooserId(0), &mut context);
            failed += u64::from(user.act(OpId(op as u8), &mut context).await != Outcome::Good);
        }
        failed
    };
    block_on(join_all((0..users).map(one))).unwrap().into_iter().sum()
}

/// A number for the rows of each table, in any order.
pub(crate) fn digests(path: &Path) -> Vec<(&'static str, u64)> {
    let connection = Connection::open(path).unwrap();
    Table::ALL.map(|table| (table.name(), digest(&connection, table))).to_vec()
}

fn digest(connection: &Connection, table: Table) -> u64 {
    let mut statement = connection.prepare(&format!("SELECT * FROM {}", table.name())).unwrap();
    let columns = statement.column_count();
    let mut rows = statement.query([]).unwrap();
    let mut sum = 0_u64;
    while let Some(row) = rows.next().unwrap() {
        let mut hash = 0_u64;
        for at in 0..columns {
            hash = match row.get_ref(at).unwrap() {
                ValueRef::Integer(number) => barograph_data::mix(hash ^ number as u64),
                ValueRef::Text(text) => {
                    text.iter().fold(hash, |h, byte| barograph_data::mix(h ^ u64::from(*byte)))
                }
                _ => barograph_data::mix(!hash),
            };
        }
        sum = sum.wrapping_add(hash);
    }
    sum
}
