//! Attendance: entries of their user's documents, and one document for each user and auction with an open
//! attendance.
//!
//! The insert of that document decides which join succeeds, on every server. It is made before the entry and
//! deleted after the entry was marked as left, so that an entry that is not marked as left always has its
//! document, and a user never has two open entries at one auction. The next join completes a write that broke
//! off in between.

use std::collections::{BTreeMap, HashMap, HashSet};

use barograph_auction_api::{AttendanceRecord, AuctionId, Page, UserId};
use barograph_auction_store::{AttendanceRow, PageWindow, StoreError, codes};
use mongodb::bson::{doc, serialize_to_bson};
use serde::{Deserialize, Serialize};

use super::bids::damaged;
use super::link::{Change, STORE, read, write};
use super::{ATTENDING, LOADED_ATTENDANCE, Mongo, Pair, RUN_ATTENDANCE, parts};
use crate::documents::AttendanceDocument;
use crate::failure::{RACES, StoreAction, refused};
use crate::histories;

/// Collections of attendances.
const ATTENDANCE: Pair = Pair { loaded: LOADED_ATTENDANCE, run: RUN_ATTENDANCE };

/// One part of a user's attendances.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Attendee {
    #[serde(rename = "_id")]
    pub(super) id: String,
    /// Attendances by id.
    #[serde(default)]
    pub(super) a: BTreeMap<String, AttendanceDocument>,
    /// States of ended attendances, by id.
    #[serde(default)]
    pub(super) l: BTreeMap<String, i64>,
}

/// An open attendance of a user at an auction.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct OpenAttendance {
    #[serde(rename = "_id")]
    id: String,
    attendance: i64,
    ms: i64,
    name: String,
}

impl OpenAttendance {
    pub(super) fn of(row: &AttendanceRow) -> Self {
        Self {
            id: open_id(row.user_id, row.auction_id),
            attendance: row.id,
            ms: row.record_ms,
            name: row.auction_name.clone().into_owned(),
        }
    }

    fn row(self, user_id: i64, auction_id: i64) -> AttendanceRow {
        AttendanceRow {
            id: self.attendance,
            user_id,
            record_ms: self.ms,
            auction_id,
            auction_name: self.name.into(),
            state: codes::attendance::ATTENDING,
        }
    }
}

fn open_id(user: i64, auction: i64) -> String {
    format!("{user}:{auction}")
}

/// The change that writes an attendance into a document.
pub(super) fn entry(id: String, row: &AttendanceRow) -> Result<Change, StoreError> {
    let document = serialize_to_bson(&AttendanceDocument::of(row))
        .map_err(|error| refused(STORE, "write an attendance as a document", error.to_string()))?;
    let mut change = Change::new(id);
    change.set.insert(format!("a.{}", row.id), document);
    Ok(change)
}

impl Mongo {
    pub(super) async fn join_auction(&self, wanted: AttendanceRow) -> Result<AttendanceRecord, StoreError> {
        let deed = write("join an auction");
        let _turn = self.parts.turn().await?;
        let open = OpenAttendance::of(&wanted);
        for _ in 0..RACES {
            if self.link.insert(deed, ATTENDING, &open).await? {
                self.enter(deed, &wanted).await?;
                return histories::attendance(STORE, wanted);
            }
            if let Some(there) = self.rejoin(deed, &wanted).await? {
                return histories::attendance(STORE, there);
            }
        }
        Err(deed.unreachable("others join and leave for the same user all the time".into()))
    }

    /// The existing open attendance, unless it ends at this moment.
    async fn rejoin(
        &self,
        deed: StoreAction,
        wanted: &AttendanceRow,
    ) -> Result<Option<AttendanceRow>, StoreError> {
        let (user, auction) = (wanted.user_id, wanted.auction_id);
        let Some(open) = self.link.find::<OpenAttendance>(deed, ATTENDING, &open_id(user, auction)).await?
        else {
            return Ok(None);
        };
        let there = open.row(user, auction);
        let entries = self.attendances_of(deed, user).await?;
        match entries.iter().find(|row| row.id == there.id).map(|row| row.state) {
            Some(codes::attendance::ATTENDING) => Ok(Some(there)),
            // A join was lost before it made its entry.
            None => {
                self.enter(deed, &there).await?;
                Ok(Some(there))
            }
            // A leave was lost before it deleted this. Matched by its attendance too, since the user may have
            // joined anew.
            Some(_) => {
                let filter = doc! { "_id": open_id(user, auction), "attendance": there.id };
                self.link.delete_where(deed, ATTENDING, vec![filter]).await?;
                Ok(None)
            }
        }
    }

    async fn enter(&self, deed: StoreAction, row: &AttendanceRow) -> Result<(), StoreError> {
        self.link.update(deed, RUN_ATTENDANCE, &[entry(self.parts.own(row.user_id), row)?]).await
    }

    pub(super) async fn leave_auctions(
        &self,
        user: i64,
        auction: Option<AuctionId>,
    ) -> Result<usize, StoreError> {
        let deed = write("leave auctions");
        let _turn = self.parts.turn().await?;
        let mut open = Vec::new();
        match auction {
            Some(auction) => {
                let found =
                    self.link.find::<OpenAttendance>(deed, ATTENDING, &open_id(user, auction.0)).await?;
                open.extend(found.map(|found| found.row(user, auction.0)));
            }
            None => {
                open = self.attendances_of(deed, user).await?;
                open.retain(|row| row.state == codes::attendance::ATTENDING);
            }
        }
        if open.is_empty() {
            return Ok(0);
        }
        let mut change = Change::new(self.parts.own(user));
        for row in &open {
            change.set.insert(format!("l.{}", row.id), codes::attendance::LEFT);
        }
        self.link.update(deed, RUN_ATTENDANCE, &[change]).await?;
        let ids: Vec<String> = open.iter().map(|row| open_id(user, row.auction_id)).collect();
        self.link.delete(deed, ATTENDING, &ids).await
    }

    pub(super) async fn attendance_history(
        &self,
        user: i64,
        window: PageWindow,
    ) -> Result<Page<AttendanceRecord>, StoreError> {
        let mut rows = self.attendances_of(read("read a user's attendances"), user).await?;
        histories::latest_first(&mut rows, |row| (row.record_ms, row.id));
        let (total, shown) = histories::slice(rows, window);
        let records = shown.map(|row| histories::attendance(STORE, row)).collect::<Result<_, _>>()?;
        Ok(histories::page(records, window, total))
    }

    async fn attendances_of(&self, deed: StoreAction, user: i64) -> Result<Vec<AttendanceRow>, StoreError> {
        merge(self.gather(deed, ATTENDANCE, &[user]).await?)
    }

    /// Users with several open attendances. Loaded open rows are in the written collection too, so that the
    /// loaded one need not be read here.
    pub(super) async fn doubles(&self) -> Result<Vec<(UserId, AuctionId)>, StoreError> {
        let rows = merge(self.link.scan(read("look for double attendance"), RUN_ATTENDANCE).await?)?;
        let mut seen = HashSet::new();
        let open = rows.iter().filter(|row| row.state == codes::attendance::ATTENDING);
        let mut doubles: Vec<(UserId, AuctionId)> = open
            .filter(|row| !seen.insert((row.user_id, row.auction_id)))
            .map(|row| (UserId(row.user_id), AuctionId(row.auction_id)))
            .collect();
        doubles.sort_unstable();
        doubles.dedup();
        Ok(doubles)
    }
}

/// The attendances in some parts, with the ended ones marked.
fn merge(attendees: Vec<Attendee>) -> Result<Vec<AttendanceRow>, StoreError> {
    let over: HashMap<String, i64> = attendees
        .iter()
        .flat_map(|attendee| attendee.l.iter().map(|(id, state)| (id.clone(), *state)))
        .collect();
    let mut rows = Vec::new();
    for attendee in attendees {
        let user = parts::key(&attendee.id).ok_or_else(|| damaged(&attendee.id))?;
        for (name, mut document) in attendee.a {
            let id = name.parse().map_err(|_| damaged(&attendee.id))?;
            document.state = over.get(&name).copied().unwrap_or(document.state);
            rows.push(document.row(user, id));
        }
    }
    rows.sort_unstable_by_key(|row| (row.user_id, row.id));
    rows.dedup_by_key(|row| (row.user_id, row.id));
    Ok(rows)
}
