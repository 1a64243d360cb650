//! Memory of users: nothing is allocated for a transaction once buffers are warm.

use std::sync::Arc;

use barograph_database::{Terminal as _, Transacts as _, Value};
use barograph_engine::OpContext;
use barograph_model::{OpId, Outcome, UserId};
use barograph_workload::Reasons;
use futures::FutureExt as _;

use super::files::SCENARIOS;
use crate::draw::{Draw, room};
use crate::engines::Session;
use crate::read::read;
use crate::script::Statement;
use crate::tally::Tally;
use crate::user::{FileUser, LoadState};

/// A session that returns a row of one text for every statement, without a database behind it.
struct Rows;

impl barograph_database::Transactions for Rows {
    async fn begin(
        &mut self,
        _: barograph_database::Access,
        _: &mut OpContext,
    ) -> barograph_database::Reply<()> {
        Ok(())
    }

    async fn commit(&mut self) -> barograph_database::Reply<()> {
        Ok(())
    }

    async fn roll_back(&mut self) -> barograph_database::Reply<()> {
        Ok(())
    }
}

impl Session for Rows {
    async fn execute(
        &mut self,
        _: &Statement,
        _: &[Value],
        kept: &mut [Value],
    ) -> barograph_database::Reply<u64> {
        for slot in kept {
            room(slot).push_str("a row");
        }
        Ok(1)
    }
}

#[test]
fn transactions_allocate_nothing_once_buffers_are_warm() {
    for file in ["pgbench", "sysbench-read-write"] {
        let path = format!("{SCENARIOS}/{file}.toml");
        let script = Arc::new(read(&path, &std::fs::read_to_string(&path).unwrap()).unwrap());
        let draws = script.values.iter().map(|draw| Draw::new(draw, &[1, 10, 100, 0])).collect();
        let tally: Arc<Tally> = Arc::default();
        let shared =
            Arc::new(LoadState { script, draws, tally: Arc::clone(&tally), reasons: Reasons::shared() });
        let mut user = FileUser::new(&shared, UserId(0));
        let mut context = OpContext::for_test();
        let mut act = || {
            let ended = user.act(&mut Rows, OpId(0), &mut context).now_or_never();
            assert_eq!(ended, Some(Outcome::Good));
        };
        (0..3).for_each(|_| act());
        let before = barograph_testkit::allocations();
        (0..100).for_each(|_| act());
        assert_eq!(barograph_testkit::allocations(), before, "{file}");
        assert_eq!(tally.commits(0), (103, 0));
    }
}
