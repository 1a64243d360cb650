//! The start page, and resources for operating a node.

use std::sync::{Arc, LazyLock};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use barograph_auction_api::{
    BusState, ClusterView, Drain, Health, Leadership, MemberStanding, MemberView, StoreView, Tier,
    openapi_json,
};
use barograph_auction_store::{Standing, StoreDescription};
use bytes::Bytes;

use super::error::ApiError;
use super::metrics;
use super::respond;
use super::traffic::Traffic;
use crate::app::App;

/// The start page of the node.
const HOME: &str = include_str!("home.html");

/// The OpenAPI document; constant while the program runs.
static OPENAPI: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(openapi_json()));

type Answer = Result<Response, ApiError>;

/// `GET /`
pub(crate) async fn home() -> Response {
    respond::body(StatusCode::OK, "text/html; charset=utf-8", Bytes::from_static(HOME.as_bytes()))
}

/// `GET /openapi.json`
pub(crate) async fn openapi() -> Response {
    respond::ready_json(OPENAPI.clone())
}

/// `GET /healthCheck`
pub(crate) async fn health(State(app): State<Arc<App>>) -> Response {
    let trouble = app.trouble();
    let ready = trouble.is_none();
    let tiers = app.tiers();
    let health = Health {
        ready,
        trouble,
        running_auctions: app.channels.len() as u64,
        now_ms: app.clock.now(),
        durability: durability(&tiers),
        node: app.node.to_string(),
        role: app.role,
        stores: tiers
            .into_iter()
            .map(|(tier, what)| StoreView { tier, product: what.product, durability: what.durability })
            .collect(),
    };
    respond::json(if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, &health)
}

/// Durability of the stores in one line; once if both are the same.
fn durability(tiers: &[(Tier, StoreDescription)]) -> String {
    let kept = tiers.iter().filter(|(tier, _)| matches!(tier, Tier::Relational | Tier::Events));
    let mut said: Vec<String> =
        kept.map(|(_, what)| format!("{}: {}", what.product, what.durability)).collect();
    said.dedup();
    said.join("; ")
}

/// `GET /alive`
pub(crate) async fn alive() -> Response {
    respond::nothing()
}

/// `GET /check`
pub(crate) async fn check(State(app): State<Arc<App>>) -> Answer {
    Ok(respond::json(StatusCode::OK, &app.check().await?))
}

/// `GET /live/auction/isMaster`
pub(crate) async fn is_master(State(app): State<Arc<App>>) -> Response {
    let leader = app.known.cluster().and_then(|cluster| cluster.leader);
    let leadership =
        Leadership { node: app.node.to_string(), is_leader: leader.as_deref() == Some(&*app.node), leader };
    respond::json(StatusCode::OK, &leadership)
}

/// `GET /live/auction/prepareForShutdown`
pub(crate) async fn prepare_for_shutdown(State(app): State<Arc<App>>) -> Response {
    if !app.known.is_draining() {
        app.known.drain();
        app.look.notify_one();
    }
    let owned = app.known.owns();
    let drain = Drain { node: app.node.to_string(), owned_auctions: owned as u64, ready: owned == 0 };
    respond::json(StatusCode::OK, &drain)
}

/// `GET /live/auction/release`
pub(crate) async fn release(State(app): State<Arc<App>>) -> Response {
    app.channels.stop();
    respond::nothing()
}

/// `GET /cluster`
pub(crate) async fn cluster(State(app): State<Arc<App>>) -> Response {
    let known = app.known.cluster();
    let owned = app.known.owns();
    let connected = app.bus.as_ref().is_none_or(|bus| bus.is_connected());
    let since = app.known.seen().map_or(app.clock.now(), |seen| app.clock.now() - seen);
    let view = ClusterView {
        node: app.node.to_string(),
        role: app.role,
        leader: known.as_ref().and_then(|cluster| cluster.leader.clone()),
        members: known.map_or_else(Vec::new, |cluster| {
            let view = |m: barograph_auction_store::Member| MemberView {
                node: m.node,
                standing: match m.standing {
                    Standing::Active => MemberStanding::Active,
                    Standing::Idle => MemberStanding::Idle,
                },
            };
            cluster.members.into_iter().map(view).collect()
        }),
        owned: owned as u64,
        followed: app.channels.len().saturating_sub(owned) as u64,
        bus: if connected { BusState::Connected } else { BusState::Lost },
        last_seen_ms: u64::try_from(since).unwrap_or(0),
    };
    respond::json(StatusCode::OK, &view)
}

/// `GET /metrics`
pub(crate) fn metrics(app: &App, traffic: &Arc<Traffic>) -> Response {
    respond::body(StatusCode::OK, metrics::KIND, Bytes::from(metrics::text(app, traffic)))
}
