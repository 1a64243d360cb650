//! Kills the bus or a node under load, and times the recovery of the nodes.

use std::net::SocketAddr;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use barograph_auction_api::{BusState, ClusterView};

use crate::auction::ask::{Session, cluster};
use crate::auction::load::Load;
use crate::auction::node::Node;
use crate::auction::quantile::quantiles;
use crate::auction::stand::DataServices;
use crate::auction::watch::Watch;
use crate::say::say;

/// Interval between queries to live nodes.
const LOOK: Duration = Duration::from_millis(20);

/// Time between the bus's death and its restart.
const BUS_AWAY: Duration = Duration::from_secs(2);

/// Time limit of a recovery.
const BACK_WITHIN: Duration = Duration::from_secs(30);

/// Time without news after which a bid is repeated.
const BID_AGAIN: Duration = Duration::from_millis(250);

/// Pause between two rounds of bids in all auctions of a killed node.
const ROUND: Duration = Duration::from_millis(100);

/// Cents above the present state: enough for a moment's highest bid.
const MORE: i64 = 500;

/// The observer of an outage.
pub(crate) struct OutageObserver<'a> {
    pub(crate) session: &'a Session,
    /// Watch of all auctions through the first node, which is never killed.
    pub(crate) watch: &'a Watch,
    /// All running auctions.
    pub(crate) auctions: &'a [i64],
}

/// Waits between two checks: a receive on an empty channel ends on time, unlike a sleep, and can be counted.
struct PollInterval(SyncSender<()>, std::sync::mpsc::Receiver<()>);

impl PollInterval {
    fn new() -> PollInterval {
        let (keep, wait) = sync_channel(1);
        PollInterval(keep, wait)
    }

    fn pause(&self, time: Duration) {
        // Nothing is ever sent, and the sender lives as long as this does.
        let _ = (&self.0, self.1.recv_timeout(time));
    }

    /// Repeats `seen` until it returns a value; returns the time since `since`.
    fn until<T>(&self, since: Instant, mut seen: impl FnMut() -> Option<T>) -> anyhow::Result<(Duration, T)> {
        while since.elapsed() < BACK_WITHIN {
            if let Some(found) = seen() {
                return Ok((since.elapsed(), found));
            }
            self.pause(LOOK);
        }
        bail!("it did not come within {} s", BACK_WITHIN.as_secs())
    }
}

fn views(nodes: &[Node]) -> Option<Vec<ClusterView>> {
    nodes.iter().map(|node| cluster(node.address).ok()).collect()
}

fn owned(views: &[ClusterView]) -> u64 {
    views.iter().map(|view| view.owned).sum()
}

/// Waits until all nodes know each other and own all auctions.
pub(crate) fn settled(nodes: &[Node], auctions: usize) -> anyhow::Result<()> {
    let together = |views: &Vec<ClusterView>| {
        owned(views) == auctions as u64 && views.iter().all(|view| view.members.len() == nodes.len())
    };
    PollInterval::new()
        .until(Instant::now(), || views(nodes).filter(together))
        .map(drop)
        .context("wait for the nodes to share the auctions")
}

/// Kills the bus and starts it again.
pub(crate) fn bus(
    stand: &mut DataServices,
    nodes: &[Node],
    by: &OutageObserver<'_>,
    load: &Load,
) -> anyhow::Result<Vec<String>> {
    let here = &nodes[0];
    let others = stand.sql(&format!(
        "SELECT auction_id FROM barograph_ownership WHERE owner IS NOT NULL AND owner <> '{}' ORDER BY 1",
        here.name
    ))?;
    let foreign: Vec<i64> =
        others.lines().filter_map(|l| l.trim().parse().ok()).filter(|a| by.auctions.contains(a)).collect();
    let foreign = *foreign.first().ok_or_else(|| anyhow!("no auction is owned by another node"))?;
    let bus = stand.bus.as_mut().context("kill the bus: there is none")?;
    bus.kill();
    load.pass(BUS_AWAY)?;
    let begun = Instant::now();
    bus.restart();
    let (started, back) = (begun.elapsed(), Instant::now());
    let looks = PollInterval::new();
    let connected = |views: &Vec<ClusterView>| views.iter().all(|view| view.bus == BusState::Connected);
    let (connected, _) = looks.until(back, || views(nodes).filter(connected)).context("wait for the bus")?;
    let mut crossed = None;
    while crossed.is_none() && back.elapsed() < BACK_WITHIN {
        crossed = cross(by, (here.address, foreign), &looks, back)?;
    }
    let crossed = crossed.context("wait for a bid to cross nodes")?;
    say(&format!(
        "    bus: started in {started:.1?}, then all nodes connected after {connected:.2?}, a bid crossed after {crossed:.2?}"
    ));
    Ok(vec![ms(connected), ms(crossed)])
}

/// Bids at one node in an auction of another one; returns the time from `back` to the news at the first node.
fn cross(
    by: &OutageObserver<'_>,
    (here, auction): (SocketAddr, i64),
    looks: &PollInterval,
    back: Instant,
) -> anyhow::Result<Option<Duration>> {
    let placed = Instant::now();
    let Ok(seen) = by.session.state(here, auction) else { return Ok(None) };
    if !by.session.bid(here, &seen, MORE).unwrap_or(false) {
        looks.pause(LOOK);
        return Ok(None);
    }
    while placed.elapsed() < BID_AGAIN {
        if by.watch.has_told(placed, by.session.id) {
            return Ok(Some(back.elapsed()));
        }
        looks.pause(Duration::from_millis(2));
    }
    Ok(None)
}

/// Kills the last node; the others take over its auctions, and a user bids in each of them until the bid is
/// published.
pub(crate) fn node(
    stand: &DataServices,
    nodes: &mut Vec<Node>,
    by: &OutageObserver<'_>,
) -> anyhow::Result<Vec<String>> {
    let mut victim = nodes.pop().context("kill a node: there is none")?;
    let here = nodes.first().context("kill a node: it is the only one")?.address;
    let question = format!("SELECT auction_id FROM barograph_ownership WHERE owner = '{}'", victim.name);
    let all = views(nodes).map_or(0, |views| owned(&views)) + cluster(victim.address)?.owned;
    let its: Vec<i64> = stand.sql(&question)?.lines().filter_map(|l| l.trim().parse().ok()).collect();
    let its: Vec<i64> = by.auctions.iter().copied().filter(|auction| its.contains(auction)).collect();
    let killed = Instant::now();
    victim.kill()?;
    let (again, missing) = std::thread::scope(|threads| {
        let bidding = threads.spawn(|| bid_in_all(by, here, &its, killed));
        let mut last = 0;
        let again = PollInterval::new().until(killed, || {
            last = owned(&views(nodes)?);
            (last >= all).then_some(())
        });
        let again = again.with_context(|| format!("wait for {all} auctions to be owned again; {last} are"));
        (again, bidding.join().unwrap_or(its.len()))
    });
    let (again, ()) = again?;
    let first: Vec<f64> = by.watch.first_after(killed, &its).values().map(Duration::as_secs_f64).collect();
    let mut told = match quantiles(&first, [0.0, 0.5, 1.0]) {
        Some([first, median, last]) => format!("first {first:.2} s, median {median:.2} s, last {last:.2} s"),
        None => "none".to_owned(),
    };
    if missing > 0 {
        told += &format!(", none in {missing} within {} s", BACK_WITHIN.as_secs());
    }
    say(&format!(
        "    node: {all} auctions owned again after {again:.2?}; new states of its {}: {told}",
        its.len()
    ));
    Ok(vec![format!("{} of {all}", its.len()), ms(again), told])
}

/// Bids in all auctions without news since `killed`, repeatedly; returns the number left in the end.
fn bid_in_all(by: &OutageObserver<'_>, here: SocketAddr, auctions: &[i64], killed: Instant) -> usize {
    let looks = PollInterval::new();
    let mut left = auctions.to_vec();
    while !left.is_empty() && killed.elapsed() < BACK_WITHIN {
        for auction in &left {
            // Refused or lost bids are repeated.
            if let Ok(seen) = by.session.state(here, *auction) {
                let _ = by.session.bid(here, &seen, MORE);
            }
        }
        looks.pause(ROUND);
        let told = by.watch.first_after(killed, auctions);
        left.retain(|auction| !told.contains_key(auction));
    }
    left.len()
}

fn ms(time: Duration) -> String {
    format!("{:.0}", time.as_secs_f64() * 1e3)
}
