//! A small database, its users, and digests of tables.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use barograph_database::sqlite::{ConnectionOptions, Target, Users};
use barograph_database_engines::Form;
use barograph_engine::{BlockingFactory as _, BlockingUser as _, OpContext};
use barograph_model::{ChooserId, OpId, Outcome, UserId};
use barograph_workload::Reasons;
use parking_lot::FairMutex;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use tempfile::TempDir;

use crate::checks;
use crate::generate::Generator;
use crate::input::Inputs;
use crate::market::Market;
use crate::tables::{Size, Table};
use crate::user::{LoadState, Trader};

/// A small database.
pub(crate) const SIZE: Size = Size { customers: 100, trades: 8, days: 20 };

/// The state of the users of a small database.
pub(crate) fn shared(seed: u64, form: Form) -> Arc<LoadState> {
    Arc::new(LoadState {
        inputs: Inputs(Generator { size: SIZE, seed }),
        form,
        market: Market::new(Generator::date(SIZE.loaded())),
        tally: Arc::default(),
        reasons: Reasons::shared(),
    })
}

/// The context of a user, with a random stream of its own.
pub(crate) fn context(seed: u64, user: u32) -> OpContext {
    let mut context = OpContext::for_test();
    context.rng = barograph_engine::stream(seed, user, 0);
    context
}

/// A filled file and the copy of a run.
pub(crate) struct Rig {
    _folder: TempDir,
    pub(crate) copy: PathBuf,
    pub(crate) target: Target<Generator>,
    pub(crate) shared: Arc<LoadState>,
}

impl Rig {
    pub(crate) fn new(seed: u64) -> Self {
        let folder = TempDir::new().unwrap();
        let target = Target::new(folder.path().join("brokerage.db"), Generator { size: SIZE, seed });
        assert!(!target.prepare(|_, _| true).unwrap().reused);
        let shared = shared(seed, Form::Statements);
        Rig { _folder: folder, copy: target.copy(), target, shared }
    }

    /// Settings of connections. A user that cannot write gives up at once.
    pub(super) fn connecting(&self) -> ConnectionOptions {
        ConnectionOptions { path: self.copy.clone(), is_durable: false, busy: Duration::from_millis(1) }
    }

    pub(super) fn users(&self) -> Users<Trader> {
        let queue = Some(Arc::new(FairMutex::new(())));
        Users { shared: Arc::clone(&self.shared), connecting: self.connecting(), queue }
    }

    /// Operations of some users side by side, each with a thread. Returns the number of failures.
    pub(crate) fn trade(&self, users: u32, each: u32) -> u64 {
        let factory = self.users();
        let one = |number: u32| {
            let mut user = factory.user(UserId(number));
            let mut context = context(self.target.contents().seed, number);
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
    pub(super) fn connection(&self) -> Connection {
        Connection::open(&self.copy).unwrap()
    }

    /// The first number of a query on the copy.
    pub(super) fn number(&self, sql: &str) -> i64 {
        self.connection().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// The violations that the checks find, with the counts of the users.
    pub(super) fn wrong(&self) -> Vec<String> {
        let checked = barograph_database::sqlite::check(&self.copy, |queries| {
            checks::check(queries, self.target.contents(), &self.shared.tally)
        });
        checked.unwrap().violations
    }
}

/// A number for the rows of each table, in any order.
pub(crate) fn digests(path: &Path) -> Vec<(&'static str, u64)> {
    let connection = Connection::open(path).unwrap();
    let digest = |table: Table| {
        let mut statement = connection.prepare(&format!("SELECT * FROM {}", table.name())).unwrap();
        let columns = statement.column_count();
        let (mut rows, mut sum) = (statement.query([]).unwrap(), 0_u64);
        while let Some(row) = rows.next().unwrap() {
            let texts = (0..columns).map(|at| match row.get_ref(at).unwrap() {
                ValueRef::Integer(number) => number.to_string(),
                ValueRef::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
                other => panic!("{other:?}"),
            });
            sum = sum.wrapping_add(hash(texts));
        }
        sum
    };
    Table::ALL.map(|table| (table.name(), digest(table))).to_vec()
}

/// A number for the values of a row.
pub(crate) fn hash(texts: impl Iterator<Item = String>) -> u64 {
    let add =
        |hash, text: String| text.bytes().fold(hash, |h, byte| barograph_data::mix(h ^ u64::from(byte)));
    texts.fold(0, |hash, text| barograph_data::mix(!add(hash, text)))
}
