//! Execution of each operation: its requests, in order, and the values kept from the answers.

use std::rc::Rc;

use barograph_auction_api::{ImageSize, TOKEN_HEADER};
use barograph_data::names::{PASSWORD, user_name};
use barograph_data::text::words;
use barograph_engine::{OpContext, Stream};
use barograph_http::{Answer, Fault, JSON, Method, Request};
use barograph_model::{OpId, Outcome};
use rand::RngExt;
use rand::seq::IndexedRandom;
use serde::de::{DeserializeOwned, IgnoredAny};
use smallvec::SmallVec;

use crate::bidding;
use crate::ops::*;
use crate::profile::{FOLLOW, MAX_FOLLOWED};
use crate::state::FollowedAuction;
use crate::view::{AuctionView, ImageView, ItemView, LoginView, PageView, PurchaseView};
use crate::{ACCOUNTS_PER_USER, AuctionUser, BidUpdates, Line};

/// Entries on a page, as in the published driver.
const PAGE_SIZE: u64 = 5;

/// Users who share two auctions, which gives 15 users per auction.
const USERS_PER_BLOCK: u32 = 30;

/// The outcome of a failed operation.
pub(crate) struct OperationFailure(pub(crate) Outcome);

impl From<Fault> for OperationFailure {
    fn from(fault: Fault) -> Self {
        OperationFailure(fault.outcome())
    }
}

pub(crate) type OperationResult<T = ()> = Result<T, OperationFailure>;

/// A request of this user and the expected status.
struct ExpectedRequest<'a> {
    method: Method<'static>,
    path: std::fmt::Arguments<'a>,
    json: Option<&'a [u8]>,
    expected: u16,
}

/// Compares an answer's status with the expected one.
pub(crate) fn expect(answer: &Answer, status: u16, context: &mut OpContext) -> OperationResult {
    if answer.status == status { Ok(()) } else { Err(refused(answer.status, context)) }
}

/// The failure for an unexpected status.
pub(crate) fn refused(status: u16, context: &mut OpContext) -> OperationFailure {
    // The application forgot the session: begin a new one, or all later operations fail too.
    if status == 401 {
        context.reset();
    }
    OperationFailure(Outcome::Refused)
}

/// Reads an answer's body.
pub(crate) fn read<T: DeserializeOwned>(answer: &Answer) -> OperationResult<T> {
    serde_json::from_slice(answer.body()).map_err(|_| OperationFailure(Outcome::WrongAnswer))
}

/// Pictures to fetch: item and picture.
pub(crate) type Pictures = SmallVec<[(i64, i64); 5]>;

/// The first picture of a size, if the item has one.
pub(crate) fn first_picture(item: i64, images: &[ImageView], size: ImageSize) -> Option<(i64, i64)> {
    images.iter().find(|i| i.has(size)).map(|i| (item, i.id))
}

impl<L: Line> AuctionUser<L> {
    pub(crate) async fn perform(&self, op: OpId, context: &mut OpContext) -> Outcome {
        // Most users are waiting, most of the time, and nearly all of those for the next bid: that one future
        // lives inside the user's task, the others only while their operation runs. It keeps a waiting user
        // small.
        let done = match op {
            GET_NEXT_BID if self.news == BidUpdates::Pushed => self.hear_next_bid(context).await,
            GET_NEXT_BID => self.poll_next_bid(context).await,
            _ => Box::pin(self.perform_short(op, context)).await,
        };
        if op != GET_NEXT_BID && op != GET_CURRENT_ITEM {
            self.line.rest();
        }
        match done {
            Ok(()) => Outcome::Good,
            Err(OperationFailure(outcome)) => {
                if outcome == Outcome::Expired || op == LOGIN {
                    context.reset();
                }
                outcome
            }
        }
    }

    async fn perform_short(&self, op: OpId, context: &mut OpContext) -> OperationResult {
        match op {
            HOME_PAGE => self.home_page(context).await,
            LOGIN => self.login(context).await,
            GET_ACTIVE_AUCTIONS => self.active_auctions(context).await,
            GET_AUCTION_DETAIL => self.auction_detail(context).await,
            GET_USER_PROFILE => self.simple(context, |s| format!("/auction/user/{}", s.account)).await,
            JOIN_AUCTION => self.join(context).await,
            GET_CURRENT_ITEM => self.current_item(context).await,
            PLACE_BID => self.place_bid(context).await,
            GET_BID_HISTORY => {
                self.simple(context, |s| format!("/auction/bid/user/{}?page=0&pageSize=5", s.account)).await
            }
            GET_ATTENDANCE_HISTORY => {
                self.simple(context, |s| format!("/auction/attendance/user/{}?page=0&pageSize=5", s.account))
                    .await
            }
            GET_PURCHASE_HISTORY => self.purchases(context).await,
            GET_ITEM_DETAIL => self.item_detail(context).await,
            GET_IMAGE_FOR_ITEM => self.full_picture(context).await,
            ADD_ITEM => self.add_item(context).await,
            LOGOUT => self.logout(context).await,
            other => unreachable!("no behaviour of this workload leads to operation {}", other.0),
        }
    }

    /// Sends one request with the session's token; fails unless it has the expected status.
    async fn request(&self, context: &mut OpContext, ask: ExpectedRequest<'_>) -> OperationResult<Answer> {
        context.sent();
        let sent = {
            let token = self.with(|s| Rc::clone(&s.token));
            let all = [JSON, (TOKEN_HEADER, &*token)];
            let (first, end) = (usize::from(ask.json.is_none()), 2 - usize::from(token.is_empty()));
            let headers = &all[first..end];
            self.line.send(&Request { method: ask.method, path: ask.path, headers, body: ask.json })
        };
        let answer = sent.await?;
        expect(&answer, ask.expected, context)?;
        if answer.body().is_empty() && ask.expected != 204 {
            return Err(OperationFailure(Outcome::WrongAnswer));
        }
        Ok(answer)
    }

    async fn post(
        &self,
        context: &mut OpContext,
        path: std::fmt::Arguments<'_>,
        json: &str,
        expected: u16,
    ) -> OperationResult<Answer> {
        self.request(
            context,
            ExpectedRequest { method: Method::POST, path, json: Some(json.as_bytes()), expected },
        )
        .await
    }

    pub(crate) async fn get(
        &self,
        context: &mut OpContext,
        path: std::fmt::Arguments<'_>,
    ) -> OperationResult<Answer> {
        self.request(context, ExpectedRequest { method: Method::GET, path, json: None, expected: 200 }).await
    }

    /// Sends one GET whose answer is read to its end and not kept.
    async fn simple(
        &self,
        context: &mut OpContext,
        path: impl FnOnce(&crate::state::Session) -> String,
    ) -> OperationResult {
        let path = self.with(|s| path(s));
        let answer = self.get(context, format_args!("{path}")).await?;
        read::<IgnoredAny>(&answer)?;
        Ok(())
    }

    /// Fetches pictures side by side, at most as many at once as the user has connections.
    pub(crate) async fn pictures(
        &self,
        context: &mut OpContext,
        pictures: &Pictures,
        size: ImageSize,
    ) -> OperationResult {
        let token = self.with(|s| Rc::clone(&s.token));
        let one = |&(item, picture): &(i64, i64)| {
            context.sent();
            self.line.send(&Request {
                method: Method::GET,
                path: format_args!("/auction/item/{item}/image/{picture}?size={}", size.name()),
                headers: &[(TOKEN_HEADER, &token)],
                body: None,
            })
        };
        for answer in futures::future::join_all(pictures.iter().map(one)).await {
            check_picture(&answer?, context)?;
        }
        Ok(())
    }

    async fn home_page(&self, context: &mut OpContext) -> OperationResult {
        self.get(context, format_args!("/auction/")).await?;
        Ok(())
    }

    async fn login(&self, context: &mut OpContext) -> OperationResult {
        // Each user has accounts of its own, one of them per session.
        let share = context.rng.random_range(0..ACCOUNTS_PER_USER);
        let name = user_name(share * self.max_users + self.id.0 + 1);
        let json = format!(r#"{{"name":"{name}","password":"{PASSWORD}"}}"#);
        let path = format_args!("/auction/login");
        let answer = self.post(context, path, &json, 201).await?;
        let view: LoginView = read(&answer)?;
        self.with(|s| {
            s.token = view.token.into();
            s.account = view.user_id;
            s.credit_cents = view.credit_cents;
        });
        Ok(())
    }

    /// A page of running auctions that holds one of this user's two.
    async fn active_auctions(&self, context: &mut OpContext) -> OperationResult {
        let running = match self.with(|s| s.running_auctions) {
            Some(n) => n,
            None => self.auctions_page(context, 0).await?.total_records,
        };
        self.with(|s| {
            s.running_auctions = Some(running);
            s.candidate = None;
        });
        if running == 0 {
            return Ok(());
        }
        // Users are assigned to auctions by their number, so that every auction has the same company at any
        // load.
        let first = u64::from(self.id.0 / USERS_PER_BLOCK) * 2;
        let (a, b) = (first % running, (first + 1) % running);
        let (one, two) = if context.rng.random_bool(0.5) { (a, b) } else { (b, a) };
        let mut page = self.auctions_page(context, one / PAGE_SIZE).await?;
        let mut wanted = page.items.get((one % PAGE_SIZE) as usize).map(|a| a.id);
        let attended =
            |s: &crate::state::Session, a: Option<i64>| s.followed.iter().any(|f| Some(f.auction) == a);
        if self.with(|s| s.followed.len() == 1 && attended(s, wanted)) {
            // This one is attended already: the other of the two.
            if two / PAGE_SIZE != one / PAGE_SIZE {
                page = self.auctions_page(context, two / PAGE_SIZE).await?;
            }
            wanted = page.items.get((two % PAGE_SIZE) as usize).map(|a| a.id);
        }
        self.with(|s| {
            s.page = page.items.iter().map(|a| a.id).collect();
            s.candidate = wanted.filter(|_| !attended(s, wanted));
        });
        Ok(())
    }

    async fn auctions_page(
        &self,
        context: &mut OpContext,
        page: u64,
    ) -> OperationResult<PageView<AuctionView>> {
        read(
            &self
                .get(context, format_args!("/auction/live/auction?page={page}&pageSize={PAGE_SIZE}"))
                .await?,
        )
    }

    async fn auction_detail(&self, context: &mut OpContext) -> OperationResult {
        self.with(|s| s.items.clear());
        if self.with(|s| s.page.is_empty()) {
            // All looks for auctions have failed so far: look again.
            let page = self.auctions_page(context, 0).await?;
            self.with(|s| s.page = page.items.iter().map(|a| a.id).collect());
        }
        let auction = self.with(|s| s.page.choose(&mut context.rng).copied());
        let auction = auction.ok_or(OperationFailure(Outcome::WrongAnswer))?;
        read::<IgnoredAny>(&self.get(context, format_args!("/auction/auction/{auction}")).await?)?;
        let path = format_args!("/auction/item/auction/{auction}?page=0&pageSize={PAGE_SIZE}");
        let page: PageView<ItemView> = read(&self.get(context, path).await?)?;
        self.with(|s| s.items = page.items.iter().map(|i| i.id).collect());
        let thumbnails: Pictures =
            page.items.iter().filter_map(|i| first_picture(i.id, &i.images, ImageSize::Thumbnail)).collect();
        drop(page);
        self.pictures(context, &thumbnails, ImageSize::Thumbnail).await
    }

    async fn join(&self, context: &mut OpContext) -> OperationResult {
        let (auction, account) = self.with(|s| (s.candidate.take(), s.account));
        let auction = auction.ok_or(OperationFailure(Outcome::WrongAnswer))?;
        let json = format!(r#"{{"userId":{account},"auctionId":{auction}}}"#);
        let path = format_args!("/auction/live/auction");
        self.post(context, path, &json, 201).await?;
        read::<IgnoredAny>(&self.get(context, format_args!("/auction/auction/{auction}")).await?)?;
        let seen = self.look_at_item(context, auction).await?;
        let room = self.with(|s| {
            let room = s.followed.len() < MAX_FOLLOWED && s.account == account;
            if room {
                s.followed.push(FollowedAuction { auction, seen, round: None });
            }
            room
        });
        if room {
            context
                .start(FOLLOW, u32::try_from(auction).map_err(|_| OperationFailure(Outcome::WrongAnswer))?);
        }
        Ok(())
    }

    async fn place_bid(&self, context: &mut OpContext) -> OperationResult {
        let bid = self.with(|s| {
            let auction = s.bid_in.take()?;
            let seen = s.followed.iter().find(|f| f.auction == auction)?.seen;
            let cents = bidding::amount(seen.amount_cents, s.credit_cents, &mut context.rng);
            Some((s.account, auction, seen.item_id, cents))
        });
        let (account, auction, item, cents) = bid.ok_or(OperationFailure(Outcome::WrongAnswer))?;
        let json =
            format!(r#"{{"userId":{account},"auctionId":{auction},"itemId":{item},"amountCents":{cents}}}"#);
        let answer = self.post(context, format_args!("/auction/bid"), &json, 202).await?;
        read::<IgnoredAny>(&answer)?;
        Ok(())
    }

    async fn purchases(&self, context: &mut OpContext) -> OperationResult {
        let account = self.with(|s| s.account);
        let path = format_args!("/auction/item/user/{account}/purchased?page=0&pageSize={PAGE_SIZE}");
        let page: PageView<PurchaseView> = read(&self.get(context, path).await?)?;
        let thumbnails: Pictures = page
            .items
            .iter()
            .filter_map(|p| first_picture(p.item_id, &p.images, ImageSize::Thumbnail))
            .collect();
        drop(page);
        self.pictures(context, &thumbnails, ImageSize::Thumbnail).await
    }

    async fn item_detail(&self, context: &mut OpContext) -> OperationResult {
        let item = self.with(|s| {
            s.picture = None;
            s.items.choose(&mut context.rng).copied()
        });
        let item = item.ok_or(OperationFailure(Outcome::WrongAnswer))?;
        let view: ItemView = read(&self.get(context, format_args!("/auction/item/{item}")).await?)?;
        self.with(|s| s.picture = first_picture(item, &view.images, ImageSize::Full));
        let previews: Pictures =
            view.images.iter().filter(|i| i.has(ImageSize::Preview)).map(|i| (item, i.id)).collect();
        drop(view);
        self.pictures(context, &previews, ImageSize::Preview).await
    }

    async fn full_picture(&self, context: &mut OpContext) -> OperationResult {
        let picture = self.with(|s| s.picture).ok_or(OperationFailure(Outcome::WrongAnswer))?;
        let one: Pictures = [picture].into_iter().collect();
        self.pictures(context, &one, ImageSize::Full).await
    }

    async fn add_item(&self, context: &mut OpContext) -> OperationResult {
        let json = new_item(&mut context.rng);
        let path = format_args!("/auction/item");
        let answer = self.post(context, path, &json, 201).await?;
        read::<IgnoredAny>(&answer)?;
        Ok(())
    }

    async fn logout(&self, context: &mut OpContext) -> OperationResult {
        context.stop_others();
        self.request(
            context,
            ExpectedRequest {
                method: Method::GET,
                path: format_args!("/auction/logout"),
                json: None,
                expected: 204,
            },
        )
        .await?;
        Ok(())
    }
}

/// A new item with a made-up text and a starting bid of 100. Made-up words need no escaping in JSON.
fn new_item(rng: &mut Stream) -> String {
    let (maker, short, long) = (words(rng, 5..=30), words(rng, 20..=80), words(rng, 100..=500));
    format!(
        r#"{{"condition":"good","manufacturer":"{maker}","shortDescription":"{short}","longDescription":"{long}","originMs":1600000000000,"startingBidCents":10000}}"#
    )
}

/// Checks that a picture is a non-empty JPEG.
fn check_picture(answer: &Answer, context: &mut OpContext) -> OperationResult {
    expect(answer, 200, context)?;
    if answer.body().starts_with(&[0xff, 0xd8]) {
        Ok(())
    } else {
        Err(OperationFailure(Outcome::WrongAnswer))
    }
}
