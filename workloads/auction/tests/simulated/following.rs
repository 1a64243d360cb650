//! Following by push, and followers of both kinds when the application refuses them.

use barograph_engine::sim::Simulation;
use barograph_model::{Nanos, Outcome};
use barograph_simulated_auction::{Application, Feeds, InProcess};
use barograph_stats::Interval;
use barograph_workload_auction::{Auction, BidUpdates, ops};

use crate::settings;

/// Users who share two auctions.
const USERS: u32 = 30;

type Sim = Simulation<Auction<InProcess>>;

/// A simulation of the users on two auctions, all of them present from the start.
fn simulate(
    seed: u64,
    users: u32,
    news: BidUpdates,
    change: impl Fn(Application) -> Application,
) -> (Sim, Application) {
    let mut app = None;
    let mut sim = Simulation::new(&settings(seed, 1), |timer| {
        let app = app.get_or_insert_with(|| change(Application::new(timer, USERS, seed)));
        Auction::new(InProcess::new(app.clone()), USERS).hearing(news)
    });
    sim.ramp(users, Nanos::ZERO);
    (sim, app.expect("there is one worker"))
}

fn count(got: &Interval, op: barograph_model::OpId) -> u64 {
    got.ops[op.index()].count()
}

/// An hour of load, and the operations in progress at the end of all users.
fn an_hour(sim: &mut Sim) -> Interval {
    let mut all = sim.run(Nanos::from_secs(3_600));
    sim.ramp(0, Nanos::ZERO);
    all.add_worker(&sim.run(Nanos::from_secs(60)));
    all
}

#[test]
fn a_follower_asks_for_one_stream_and_keeps_it_for_its_session() {
    let (mut sim, app) = simulate(6, USERS, BidUpdates::Pushed, |app| app);
    let got = an_hour(&mut sim);
    let waits = &got.ops[ops::GET_NEXT_BID.index()];
    let Feeds { opened, open, most } = app.feeds();
    // Each join leads to one stream, for any number of items seen by its follower, unless the session ends
    // right then.
    let joins = count(&got, ops::JOIN_AUCTION);
    assert!(opened <= joins && joins - opened <= joins / 100, "{joins} joins and {opened} streams");
    assert_eq!(waits.requests, opened, "nothing else is asked for");
    assert!(waits.count() > 8 * opened, "{} states heard on {opened} streams", waits.count());
    assert!(count(&got, ops::GET_CURRENT_ITEM) > joins, "items changed meanwhile");
    assert_eq!((open, most), (0, 2 * u64::from(USERS)), "a user follows two auctions, and leaves none open");
    for (i, op) in got.ops.iter().enumerate() {
        assert_eq!(op.failed(), 0, "{} failed: {:?}", ops::ALL[i].name, op.outcomes);
    }
}

#[test]
fn a_stream_that_stays_silent_is_timed_out_and_opened_again() {
    let (mut sim, app) = simulate(7, 1, BidUpdates::Pushed, Application::that_never_changes);
    let got = an_hour(&mut sim);
    let waits = &got.ops[ops::GET_NEXT_BID.index()];
    let timed_out = waits.outcomes[Outcome::TimedOut.index()];
    assert!(timed_out > 20 && waits.failed() == timed_out, "{:?}", waits.outcomes);
    // In microseconds. The engine looks for timed-out operations every tenth of a second.
    assert!((60_000_000..60_200_000).contains(&waits.service.max()), "{} µs", waits.service.max());
    assert_eq!(waits.requests, app.feeds().opened);
    // One look when a follower begins, and one before each new stream.
    let looks = count(&got, ops::GET_CURRENT_ITEM);
    let (joins, streams) = (count(&got, ops::JOIN_AUCTION), app.feeds().opened);
    assert!(looks.abs_diff(joins + timed_out) <= 2, "{looks} looks, {joins} joins, {timed_out} timed out");
    assert!(looks.abs_diff(streams) <= 2, "{looks} looks, {streams} streams");
}

/// After any temporary refusal of the bidding, users continue as if nothing had happened.
#[test]
fn no_refusal_wedges_a_user() {
    for (status, news) in
        [503, 410, 408, 409, 500].into_iter().flat_map(|s| [(s, BidUpdates::Polled), (s, BidUpdates::Pushed)])
    {
        let (mut sim, app) = simulate(8, USERS, news, |app| app);
        sim.run(Nanos::from_secs(300));
        let before = sim.run(Nanos::from_secs(1_200));
        app.refuse(Some(status));
        let refused = sim.run(Nanos::from_secs(5));
        app.refuse(None);
        // An operation refused at the end of that time is retried within a second; sessions begun then have
        // to join their auctions anew.
        sim.run(Nanos::from_secs(120));
        let after = sim.run(Nanos::from_secs(1_200));
        let failed: u64 = refused.ops.iter().map(barograph_stats::OpStats::failed).sum();
        assert!(failed <= u64::from(USERS) * 3 * 6, "{status}, {news:?}: {failed} failures in five seconds");
        assert!(failed > 0, "{status}, {news:?}");
        for (i, (before, after)) in before.ops.iter().zip(&after.ops).enumerate() {
            let (op, before, now) = (ops::ALL[i].name, before.count() as f64, after.count() as f64);
            assert!(
                (now - before).abs() <= 0.25 * before + 30.0,
                "{status}, {news:?}: {op}: {before} and {now}"
            );
            assert_eq!(after.failed(), 0, "{status}, {news:?}: {op}: {:?}", after.outcomes);
        }
    }
}
