//! The register of nodes in one process: leases in memory, fences and numbers in the file.
//!
//! The clock is SQLite's, the time of day: if it is set back, a dead node's lease lasts longer, which is
//! harmless in one process.

use std::collections::BTreeMap;

use barograph_auction_api::AuctionId;
use barograph_auction_store::{
    Assignment, Cluster, Enlistment, Heartbeat, LeaderState, Member, Registry, Standing, StoreError,
    StoreFuture, codes,
};
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, Result, params};

use crate::Sqlite;

/// Members, leader and owners.
#[derive(Default)]
pub(crate) struct SingleNode(Mutex<Nodes>);

#[derive(Default)]
struct Nodes {
    members: BTreeMap<String, Lease>,
    /// The last leader, and the end of its lease.
    leader: Option<(String, i64)>,
    assigned: BTreeMap<AuctionId, String>,
    owners: BTreeMap<AuctionId, String>,
    version: i64,
}

struct Lease {
    standing: Standing,
    until_ms: i64,
}

impl SingleNode {
    /// Records a change of the set of running auctions.
    pub(crate) fn changed(&self) {
        self.0.lock().version += 1;
    }
}

impl Nodes {
    fn leads(&self, node: &str, now: i64) -> bool {
        self.leader.as_ref().is_some_and(|(leader, until)| leader == node && *until > now)
    }

    fn enlist(&mut self, beat: &Heartbeat, now: i64) {
        self.assigned.retain(|_, node| *node != beat.node);
        self.owners.retain(|_, node| *node != beat.node);
        self.version += 1;
        self.strike(&beat.node);
        self.members.insert(beat.node.clone(), lease(beat, now));
    }

    fn strike(&mut self, node: &str) {
        self.members.remove(node);
        if self.leader.as_ref().is_some_and(|(leader, _)| leader == node) {
            self.leader = None;
        }
    }

    fn beat(&mut self, beat: &Heartbeat, now: i64) -> std::result::Result<Cluster, StoreError> {
        let member = self.members.get_mut(&beat.node).ok_or(StoreError::Closed)?;
        *member = lease(beat, now);
        let free = self.leader.as_ref().is_none_or(|(_, until)| *until <= now);
        if beat.standing == Standing::Active && (free || self.leads(&beat.node, now)) {
            self.leader = Some((beat.node.clone(), now.saturating_add(beat.lease_ms)));
        }
        let alive = self.members.iter().filter(|(_, lease)| lease.until_ms > now);
        Ok(Cluster {
            leader: self.leader.as_ref().filter(|(_, until)| *until > now).map(|(leader, _)| leader.clone()),
            members: alive
                .map(|(node, lease)| Member { node: node.clone(), standing: lease.standing })
                .collect(),
            version: self.version,
        })
    }
}

fn lease(beat: &Heartbeat, now: i64) -> Lease {
    Lease { standing: beat.standing, until_ms: now.saturating_add(beat.lease_ms) }
}

/// Milliseconds since 1970 on the clock of SQLite.
fn now(conn: &Connection) -> Result<i64> {
    let mut query =
        conn.prepare_cached("SELECT CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER)")?;
    query.query_row([], |row| row.get(0))
}

/// Assigns a number; returns the present time and the time of the first number.
fn enlist(conn: &Connection) -> Result<(Enlistment, i64)> {
    let now = now(conn)?;
    let mut first = conn.prepare_cached(
        "INSERT INTO meta (name, number) VALUES ('started_ms', ?1) \
         ON CONFLICT DO UPDATE SET number = number RETURNING number",
    )?;
    let started: i64 = first.query_row([now], |row| row.get(0))?;
    let mut count = conn.prepare_cached(
        "INSERT INTO meta (name, number) VALUES ('nodes', 1) \
         ON CONFLICT DO UPDATE SET number = number + 1 RETURNING number",
    )?;
    let number = count.query_row([], |row| row.get(0))?;
    Ok((Enlistment { number, since_start_ms: (now - started).max(0) }, now))
}

/// Raises the fences of those auctions that run.
fn claim(conn: &Connection, auctions: &[AuctionId]) -> Result<Vec<(AuctionId, i64)>> {
    let mut raise = conn.prepare_cached(
        "UPDATE auction SET fence = fence + 1 WHERE id = ?1 AND state = ?2 RETURNING fence",
    )?;
    let mut claimed = Vec::with_capacity(auctions.len());
    for id in auctions {
        let fence = raise.query_row(params![id.0, codes::auction::RUNNING], |row| row.get(0)).optional()?;
        claimed.extend(fence.map(|fence| (*id, fence)));
    }
    Ok(claimed)
}

impl Registry for Sqlite {
    fn enlist<'a>(&'a self, beat: &'a Heartbeat) -> StoreFuture<'a, Enlistment> {
        Box::pin(async move {
            let (enlisted, now) = self.relational.writer.write_surely("enlist a node", enlist).await?;
            self.alone.0.lock().enlist(beat, now);
            Ok(enlisted)
        })
    }

    fn beat<'a>(&'a self, beat: &'a Heartbeat) -> StoreFuture<'a, Cluster> {
        Box::pin(async move {
            let now = self.relational.readers.read("read the time", now)?;
            self.alone.0.lock().beat(beat, now)
        })
    }

    fn assignments(&self) -> StoreFuture<'_, Vec<Assignment>> {
        Box::pin(async move {
            let running = self.relational.readers.read("list fences", |conn| {
                let mut query =
                    conn.prepare_cached("SELECT id, fence FROM auction WHERE state = ?1 ORDER BY id")?;
                let rows = query.query_map([codes::auction::RUNNING], |row| {
                    Ok((AuctionId(row.get(0)?), row.get::<_, i64>(1)?))
                })?;
                rows.collect::<Result<Vec<_>>>()
            })?;
            let nodes = self.alone.0.lock();
            let whose = |(auction, fence)| Assignment {
                auction,
                assigned: nodes.assigned.get(&auction).cloned(),
                owner: nodes.owners.get(&auction).cloned(),
                fence,
            };
            Ok(running.into_iter().map(whose).collect())
        })
    }

    fn assign<'a>(
        &'a self,
        leader: &'a str,
        moves: &'a [(AuctionId, String)],
    ) -> StoreFuture<'a, LeaderState> {
        Box::pin(async move {
            let now = self.relational.readers.read("read the time", now)?;
            let mut nodes = self.alone.0.lock();
            if !nodes.leads(leader, now) {
                return Ok(LeaderState::No);
            }
            nodes.assigned.extend(moves.iter().cloned());
            nodes.version += i64::from(!moves.is_empty());
            Ok(LeaderState::Yes)
        })
    }

    fn claim<'a>(
        &'a self,
        node: &'a str,
        auctions: &'a [AuctionId],
    ) -> StoreFuture<'a, Vec<(AuctionId, i64)>> {
        Box::pin(async move {
            let mut mine: Vec<AuctionId> = {
                let nodes = self.alone.0.lock();
                let is_mine = |id: &AuctionId| nodes.assigned.get(id).is_some_and(|to| to == node);
                auctions
                    .iter()
                    .copied()
                    .filter(|id| nodes.members.contains_key(node) && is_mine(id))
                    .collect()
            };
            mine.sort_unstable();
            mine.dedup();
            if mine.is_empty() {
                return Ok(Vec::new());
            }
            // The only writer thread has applied all earlier changes.
            let change = move |conn: &Connection| claim(conn, &mine);
            let claimed = self.relational.writer.write_surely("claim auctions", change).await?;
            let mut nodes = self.alone.0.lock();
            nodes.owners.extend(claimed.iter().map(|(id, _)| (*id, node.to_owned())));
            nodes.version += 1;
            Ok(claimed)
        })
    }

    fn leave<'a>(&'a self, node: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            self.alone.0.lock().strike(node);
            Ok(())
        })
    }
}
