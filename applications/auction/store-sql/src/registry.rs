//! The register of nodes. Leases are on the server's clock. A node is a name and the number of its
//! registration, so that a replaced process has no effect under the name any more.

use std::collections::{BTreeMap, BTreeSet};

use barograph_auction_api::AuctionId;
use barograph_auction_store::{
    Assignment, Cluster, Enlistment, Heartbeat, LeaderState, Member, Standing, StoreError, codes,
};

use crate::sql::Sql;
use crate::value::{Statement, values};

/// Makes all nodes read the assignments again.
pub(crate) const RAISE_VERSION: &str = "UPDATE barograph_registry SET version = version + 1 WHERE id = 1";

/// Takes or renews the leader's lease, if it is free or the node's own.
const LEAD: &str = "UPDATE barograph_registry SET leader = ?, until_ms = {now} + ? \
     WHERE id = 1 AND (leader IS NULL OR leader = ? OR until_ms <= {now}) \
     AND EXISTS (SELECT 1 FROM barograph_node WHERE name = ? AND number = ?)";

/// Raises the version if the node still holds the leader's lease.
const STILL_LEADS: &str = "UPDATE barograph_registry SET version = version + 1 \
     WHERE id = 1 AND leader = ? AND until_ms > {now} \
     AND EXISTS (SELECT 1 FROM barograph_node WHERE name = ? AND number = ?)";

/// Number of an active node in the table.
const ACTIVE: i64 = 0;
/// Number of an idle node in the table.
const IDLE: i64 = 1;

fn standing_number(standing: Standing) -> i64 {
    match standing {
        Standing::Active => ACTIVE,
        Standing::Idle => IDLE,
    }
}

impl Sql {
    fn number_of(&self, node: &str) -> Option<i64> {
        self.inner().enlisted.lock().get(node).copied()
    }

    pub(crate) async fn enlist_node(&self, beat: &Heartbeat) -> Result<Enlistment, StoreError> {
        let node = beat.node.as_str();
        let statements = vec![
            Statement::new("UPDATE barograph_ownership SET owner = NULL WHERE owner = ?", values![node]),
            // The lease is ended before its holder is cleared: MariaDB assigns one after the other.
            Statement::new(
                "UPDATE barograph_registry SET last_number = last_number + 1, version = version + 1, \
                 start_ms = COALESCE(start_ms, {now}), \
                 until_ms = CASE WHEN leader = ? THEN 0 ELSE until_ms END, \
                 leader = CASE WHEN leader = ? THEN NULL ELSE leader END WHERE id = 1",
                values![node, node],
            ),
            Statement::new("UPDATE barograph_assignment SET node = NULL WHERE node = ?", values![node]),
            Statement::new("DELETE FROM barograph_node WHERE name = ?", values![node]),
            Statement::new(
                "INSERT INTO barograph_node (name, number, standing, until_ms) \
                 SELECT ?, last_number, CAST(? AS {int}), {now} + CAST(? AS {int}) \
                 FROM barograph_registry WHERE id = 1",
                values![node, standing_number(beat.standing), beat.lease_ms],
            ),
            Statement::plain("SELECT last_number, {now} - start_ms FROM barograph_registry WHERE id = 1"),
        ];
        let answers = self.change("enlist a node", statements).await?;
        let row = answers.last().and_then(|answer| answer.rows.first()).ok_or(StoreError::Closed)?;
        let enlisted = Enlistment { number: row.int(0)?, since_start_ms: row.int(1)? };
        self.inner().enlisted.lock().insert(beat.node.clone(), enlisted.number);
        Ok(enlisted)
    }

    pub(crate) async fn beat_node(&self, beat: &Heartbeat) -> Result<Cluster, StoreError> {
        let node = beat.node.as_str();
        let Some(number) = self.number_of(node) else { return Err(StoreError::Closed) };
        let mut statements = Vec::with_capacity(4);
        if beat.standing == Standing::Active {
            statements.push(Statement::new(LEAD, values![node, beat.lease_ms, node, node, number]));
        }
        let renewed = statements.len();
        statements.extend([
            Statement::new(
                "UPDATE barograph_node SET standing = ?, until_ms = {now} + ? WHERE name = ? AND number = ?",
                values![standing_number(beat.standing), beat.lease_ms, node, number],
            ),
            Statement::plain(
                "SELECT CASE WHEN until_ms > {now} THEN leader END, version FROM barograph_registry WHERE id = 1",
            ),
            Statement::plain("SELECT name, standing FROM barograph_node WHERE until_ms > {now}"),
        ]);
        let answers = self.change("give a sign of life", statements).await?;
        let [lease, registry, members] = answers.get(renewed..).unwrap_or_default() else {
            return Err(StoreError::Closed);
        };
        let row = registry.rows.first().filter(|_| lease.found > 0).ok_or(StoreError::Closed)?;
        let mut alive = Vec::with_capacity(members.rows.len());
        for row in &members.rows {
            let standing = if row.int(1)? == ACTIVE { Standing::Active } else { Standing::Idle };
            alive.push(Member { node: row.text(0)?, standing });
        }
        // Sorted here and not in the server, whose order of texts depends on its language.
        alive.sort_unstable_by(|a, b| a.node.cmp(&b.node));
        Ok(Cluster { leader: row.words(0)?, members: alive, version: row.int(1)? })
    }

    pub(crate) async fn all_assignments(&self) -> Result<Vec<Assignment>, StoreError> {
        let statement = Statement::new(
            "SELECT a.id, s.node, o.owner, o.fence FROM barograph_auction a \
             JOIN barograph_ownership o ON o.auction_id = a.id \
             JOIN barograph_assignment s ON s.auction_id = a.id WHERE a.state = ? ORDER BY a.id",
            values![codes::auction::RUNNING],
        );
        let rows = self.read("read assignments", statement).await?;
        let assignment = |row: &crate::value::Row| {
            Ok(Assignment {
                auction: AuctionId(row.int(0)?),
                assigned: row.words(1)?,
                owner: row.words(2)?,
                fence: row.int(3)?,
            })
        };
        rows.iter().map(assignment).collect()
    }

    pub(crate) async fn assign_auctions(
        &self,
        leader: &str,
        moves: &[(AuctionId, String)],
    ) -> Result<LeaderState, StoreError> {
        let Some(number) = self.number_of(leader) else { return Ok(LeaderState::No) };
        let leads = Statement::new(STILL_LEADS, values![leader, leader, number]);
        self.transact("assign auctions", vec![leads], |answers| {
            if answers.first().is_none_or(|answer| answer.found == 0) {
                return Ok((Vec::new(), LeaderState::No));
            }
            // Of several moves of one auction the last one counts.
            let last: BTreeMap<i64, &str> = moves.iter().map(|(id, node)| (id.0, node.as_str())).collect();
            let mut by_node: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
            for (id, node) in last {
                by_node.entry(node).or_default().push(id);
            }
            let sql = "UPDATE barograph_assignment SET node = ? WHERE auction_id ?in";
            let update = |(node, ids)| Statement::new(sql, values![node, ids]);
            Ok((by_node.into_iter().map(update).collect(), LeaderState::Yes))
        })
        .await
    }

    pub(crate) async fn claim_auctions(
        &self,
        node: &str,
        auctions: &[AuctionId],
    ) -> Result<Vec<(AuctionId, i64)>, StoreError> {
        let Some(number) = self.number_of(node).filter(|_| !auctions.is_empty()) else {
            return Ok(Vec::new());
        };
        let ids: Vec<i64> = auctions.iter().map(|id| id.0).collect();
        let locks = vec![
            // Waits for changes being applied under the old fences.
            Statement::new(
                "SELECT auction_id, fence FROM barograph_ownership WHERE auction_id ?in \
                 ORDER BY auction_id FOR UPDATE",
                values![ids.clone()],
            ),
            Statement::new(
                "SELECT auction_id FROM barograph_assignment WHERE auction_id ?in AND node = ? \
                 AND EXISTS (SELECT 1 FROM barograph_node WHERE name = ? AND number = ?)",
                values![ids, node, node, number],
            ),
        ];
        self.transact("claim auctions", locks, |answers| {
            let [fences, assigned] = answers else { return Ok((Vec::new(), Vec::new())) };
            let assigned: BTreeSet<i64> =
                assigned.rows.iter().map(|row| row.int(0)).collect::<Result<_, _>>()?;
            let mut claimed = Vec::with_capacity(assigned.len());
            for row in &fences.rows {
                if assigned.contains(&row.int(0)?) {
                    claimed.push((AuctionId(row.int(0)?), row.int(1)? + 1));
                }
            }
            if claimed.is_empty() {
                return Ok((Vec::new(), claimed));
            }
            let ids: Vec<i64> = claimed.iter().map(|(id, _)| id.0).collect();
            let sql = "UPDATE barograph_ownership SET owner = ?, fence = fence + 1 WHERE auction_id ?in";
            Ok((vec![Statement::new(sql, values![node, ids]), Statement::plain(RAISE_VERSION)], claimed))
        })
        .await
    }

    pub(crate) async fn strike_off_node(&self, node: &str) -> Result<(), StoreError> {
        let Some(number) = self.number_of(node) else { return Ok(()) };
        let statements = vec![
            Statement::new(
                "UPDATE barograph_registry SET leader = NULL, until_ms = 0 WHERE id = 1 AND leader = ? \
                 AND EXISTS (SELECT 1 FROM barograph_node WHERE name = ? AND number = ?)",
                values![node, node, number],
            ),
            Statement::new("DELETE FROM barograph_node WHERE name = ? AND number = ?", values![node, number]),
        ];
        self.change("strike a node off", statements).await.map(drop)
    }
}
