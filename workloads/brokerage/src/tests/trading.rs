//! Orders on SQLite: what they leave in the database, alone and side by side.

use barograph_database::measures::WRITES;
use barograph_database::sqlite::Connection;
use barograph_database::{Access, TransactionError, Transactions as _};
use barograph_engine::{BlockingFactory as _, BlockingUser as _, OpContext};
use barograph_model::{OpId, Outcome, UserId};
use futures::FutureExt as _;

use super::rig::{Rig, SIZE, context, digests};
use crate::generate::Kind;
use crate::input::{OrderInput, Tick};
use crate::measures::ROLLED_BACK;
use crate::session::Session as _;
use crate::statements::Sql;
use crate::trading::{complete_order, market_feed, place_order};
use crate::transactions::End;
use crate::user::Transaction;

/// The result of a call, which never waits.
fn ready<T>(call: impl Future<Output = T>) -> T {
    call.now_or_never().unwrap()
}

/// An order of account 7 in a security that it does not have.
fn order(rig: &Rig, kind: Kind, quantity: i64) -> OrderInput {
    let held = "SELECT min(s_id) FROM securities WHERE s_id NOT IN (SELECT o_security FROM positions WHERE o_account = 7)";
    let security = rig.number(held);
    OrderInput {
        account: 7,
        customer: 2,
        by_company: false,
        security,
        kind,
        quantity,
        limit: if kind.has_limit() { rig.target.contents().price(security, 500) } else { 0 },
        is_lifo: false,
        is_rolled_back: false,
        date: 5,
    }
}

/// Places an order and completes it at a price. Returns the trade.
fn trade(session: &mut Connection, order: OrderInput, price: i64) -> i64 {
    let mut context = OpContext::for_test();
    let End::Placed { trade, .. } = ready(place_order(session, order, &mut context)).unwrap() else {
        panic!("placed")
    };
    ready(session.commit()).unwrap();
    Connection::change(session, "UPDATE last_prices SET l_price = ?", [price]).unwrap();
    let mut lots = Vec::new();
    let ended = ready(complete_order(session, (trade, 9), &mut lots, &mut context)).unwrap();
    assert!(matches!(ended, End::Completed { .. }));
    ready(session.commit()).unwrap();
    let again = ready(complete_order(session, (trade, 9), &mut lots, &mut context));
    assert_eq!(again, Ok(End::Left));
    trade
}

#[test]
fn a_fill_and_users_side_by_side_leave_a_consistent_database() {
    let rig = Rig::new(1);
    assert_eq!(rig.wrong(), Vec::<String>::new());
    assert_eq!(rig.trade(4, 1_000), 0, "{:?}", rig.shared.reasons.lock().unwrap());
    assert_eq!(rig.wrong(), Vec::<String>::new());
    let [placed, limits, triggered, completed, commission, ticks, amended] =
        rig.shared.tally.counts.committed();
    // Decks are exact; planned rollbacks and prices are drawn.
    assert!((380..=410).contains(&placed) && (110..200).contains(&limits), "{placed} {limits}");
    assert!((100..250).contains(&triggered) && completed > 350 && commission > 0, "{triggered} {completed}");
    assert!((700..=900).contains(&ticks) && (1_500..=1_700).contains(&amended), "{ticks} {amended}");
    let at_market = rig.number("SELECT count(*) FROM trades WHERE t_status = 2");
    assert_eq!(rig.shared.market.backlog() as i64, at_market);
}

#[test]
fn a_seed_repeats_the_state_after_a_run_and_another_changes_it() {
    let (one, again, other) = (Rig::new(3), Rig::new(3), Rig::new(4));
    let filled = digests(&one.copy);
    for rig in [&one, &again, &other] {
        assert_eq!(rig.trade(1, 600), 0);
    }
    assert_eq!(digests(&one.copy), digests(&again.copy));
    assert_ne!(digests(&one.copy), digests(&other.copy));
    assert_eq!(digests(one.target.file()), filled);
}

#[test]
fn lots_are_closed_in_their_order_and_gains_are_taxed() {
    for (is_lifo, left) in [(false, (200, 3_000)), (true, (200, 2_000))] {
        let rig = Rig::new(1);
        let mut session = Connection::open(&rig.connecting()).unwrap();
        session.change("UPDATE accounts SET a_taxed = 1 WHERE a_id = 7", []).unwrap();
        let buy = order(&rig, Kind::MARKET_BUY, 300);
        trade(&mut session, buy, 2_000);
        trade(&mut session, buy, 3_000);
        let sold =
            trade(&mut session, OrderInput { kind: Kind::MARKET_SELL, quantity: 400, is_lifo, ..buy }, 4_000);
        let lot = format!(
            "SELECT h_quantity * 10000 + h_price FROM lots WHERE h_account = 7 AND h_security = {}",
            buy.security
        );
        assert_eq!(rig.number(&lot), left.0 * 10_000 + left.1);
        let gain = if is_lifo { 300 * 1_000 + 100 * 2_000 } else { 300 * 2_000 + 100 * 1_000 };
        assert_eq!(rig.number(&format!("SELECT t_tax FROM trades WHERE t_id = {sold}")), gain / 10);
        // More than is there: a lot below zero, which a purchase closes.
        trade(&mut session, OrderInput { kind: Kind::MARKET_SELL, quantity: 500, ..buy }, 4_000);
        assert_eq!(rig.number(&lot), -300 * 10_000 + 4_000);
        trade(&mut session, buy, 4_500);
        let position =
            format!("SELECT o_quantity FROM positions WHERE o_account = 7 AND o_security = {}", buy.security);
        let lots = format!("SELECT count(*) FROM lots WHERE h_account = 7 AND h_security = {}", buy.security);
        assert_eq!((rig.number(&position), rig.number(&lots)), (0, 0));
    }
}

#[test]
fn a_price_sends_the_orders_to_the_market_whose_limits_it_crosses() {
    let rig = Rig::new(1);
    let mut session = Connection::open(&rig.connecting()).unwrap();
    let mut context = OpContext::for_test();
    session.change("DELETE FROM pending_orders", []).unwrap();
    let below = order(&rig, Kind::LIMIT_BUY, 100);
    let above = OrderInput { kind: Kind::LIMIT_SELL, ..below };
    let mut placed = Vec::new();
    for order in [below, above, OrderInput { kind: Kind::STOP_LOSS, ..below }] {
        let Ok(End::Placed { trade, is_pending: true }) =
            ready(place_order(&mut session, order, &mut context))
        else {
            panic!("pending")
        };
        ready(session.commit()).unwrap();
        placed.push(trade);
    }
    let mut crossed = Vec::new();
    for (price, expected) in
        [(below.limit - 1, vec![placed[0], placed[2]]), (below.limit, vec![placed[1]]), (below.limit, vec![])]
    {
        let ticks = [Tick { security: below.security, price }];
        ready(market_feed(&mut session, (&ticks, 8), &mut crossed, &mut context)).unwrap();
        ready(session.commit()).unwrap();
        assert_eq!(crossed, expected);
    }
    assert_eq!(rig.number(&format!("SELECT sum(t_status) FROM trades WHERE t_id > {}", SIZE.loaded())), 6);
}

#[test]
fn a_planned_rollback_is_no_failure_and_leaves_nothing_behind() {
    let rig = Rig::new(1);
    let before = digests(&rig.copy);
    let mut session = Connection::open(&rig.connecting()).unwrap();
    let order = OrderInput { is_rolled_back: true, ..order(&rig, Kind::MARKET_BUY, 100) };
    let ended = ready(place_order(&mut session, order, &mut OpContext::for_test()));
    assert_eq!((ended, digests(&rig.copy)), (Ok(End::RolledBack), before));
    let mut user = rig.users().user(UserId(0));
    let mut context = context(1, 0);
    for _ in 0..1_000 {
        assert_eq!(user.act(Transaction::PlaceOrder.op(), &mut context), Outcome::Good);
    }
    let rolled_back = context.added(ROLLED_BACK);
    assert!((1..40).contains(&rolled_back) && context.added(WRITES) == 1_000, "{rolled_back}");
    assert_eq!(rig.shared.tally.counts.committed()[0] + rolled_back as i64, 1_000);
}

#[test]
fn data_that_are_wrong_fail_transactions() {
    let rig = Rig::new(1);
    rig.connection()
        .execute_batch("DELETE FROM watch_items; DELETE FROM daily_prices; DELETE FROM last_prices")
        .unwrap();
    let mut user = rig.users().user(UserId(0));
    for transaction in [Transaction::SecurityPage, Transaction::PlaceOrder, Transaction::MarketFeed] {
        assert_eq!(
            user.act(transaction.op(), &mut OpContext::for_test()),
            Outcome::WrongAnswer,
            "{transaction:?}"
        );
    }
    // No order is at the market.
    assert_eq!(user.act(OpId(5), &mut OpContext::for_test()), Outcome::WrongAnswer);
    let mut session = Connection::open(&rig.connecting()).unwrap();
    ready(session.begin(Access::Read, &mut OpContext::for_test())).unwrap();
    let missing = ready(session.one::<1, 1>(Sql::LastPrice, [1]));
    assert_eq!(missing, Err(TransactionError::missing("row of LastPrice")));
}
