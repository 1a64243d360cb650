//! A small database, its users, and digests of tables.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use barograph_database::sqlite::{self, ConnectionOptions};
use barograph_database_engines::Form;
use barograph_engine::{BlockingFactory as _, BlockingUser as _, OpContext};
use barograph_model::{ChooserId, OpId, Outcome};
use barograph_workload::Reasons;
use parking_lot::FairMutex;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use tempfile::TempDir;

use crate::checks::check;
use crate::draw::Constants;
use crate::generate::Generator;
use crate::input::Inputs;
use crate::tables::{Size, Table};
use crate::user::{LoadState, Terminal, Transaction};

/// The files of a database, locked for one run.
type Files = sqlite::Files<Generator>;

/// Makes the users of a file.
type SqliteUsers = sqlite::Users<Terminal>;

/// Two warehouses with a hundredth of their rows.
pub(crate) const SIZE: (u32, f64) = (2, 0.01);

/// A filled database and the copy of a run.
pub(crate) struct Rig {
    _folder: TempDir,
    pub(crate) filled: PathBuf,
    pub(crate) copy: PathBuf,
    pub(crate) files: Files,
    pub(crate) generator: Generator,
    pub(crate) shared: Arc<LoadState>,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Rig::of_seed(1)
    }

    pub(crate) fn of_seed(seed: u64) -> Self {
        let folder = TempDir::new().unwrap();
        let filled = folder.path().join("oe.db");
        let generator = Generator::new(Size::new(SIZE.0, SIZE.1), seed);
        let files = Files::take(&filled).unwrap();
        assert!(!files.fill(&generator, |_, _| true).unwrap().reused);
        let copy = files.reset().unwrap();
        let inputs = Inputs { size: generator.size, constants: Constants::of_seed(seed) };
        let (form, tally, reasons) = (Form::Statements, Arc::default(), Reasons::shared());
        let cards = Transaction::CARDS;
        let shared = LoadState { inputs, form, cards, tally, reasons };
        Rig { _folder: folder, filled, copy, files, generator, shared: Arc::new(shared) }
    }

    /// Its users. One that cannot write gives up at once.
    pub(crate) fn users(&self) -> SqliteUsers {
        SqliteUsers {
            shared: Arc::clone(&self.shared),
            connecting: ConnectionOptions {
                path: self.copy.clone(),
                is_durable: false,
                busy: Duration::from_millis(1),
            },
            queue: Some(Arc::new(FairMutex::new(()))),
        }
    }

    /// Lets users do some transactions side by side, each with a thread; those that failed.
    pub(crate) fn transact(&self, users: u32, each: u32) -> u64 {
        let factory = self.users();
        let one = |number: u32| {
            let mut user = factory.user(barograph_model::UserId(number));
            let mut context = OpContext::for_test();
            context.rng = barograph_engine::stream(self.generator.seed, number, 0);
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

    /// What the checks find wrong, with what the users counted.
    pub(crate) fn wrong(&self) -> Vec<String> {
        let counted = self.shared.tally.counted();
        let checked = sqlite::check(&self.copy, |queries| check(queries, &self.generator, counted));
        checked.unwrap().violations
    }
}

/// A number for the rows of each table, in any order.
pub(crate) fn digests(path: &std::path::Path) -> Vec<(&'static str, u64)> {
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
