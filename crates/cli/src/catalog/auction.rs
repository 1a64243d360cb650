//! The auction workload and application, as the harness wants a kind of workload.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use barograph_auction::fill::{FillPlan, Marker};
use barograph_auction::sizes::{self, Factors};
use barograph_auction_api::StoreView;
use barograph_engine::{Runnable, runnable};
use barograph_harness::{
    DataSet, Deployment, FillLine, FillProgress, HarnessError, Job, LoadJob, SizeInfo, Verified, WorkloadKind,
};
use barograph_model::{Behaviours, Nanos, OpSpec, Profile};
use barograph_platform::{Later, Readiness, Unit};
use barograph_record::{Count, Figure, Fill, Tier};
use barograph_spec::{Connections, DataPlan, Refusal};
use barograph_workload_auction::{Auction, Http, Keeping, News, VERSION, ops, profile};

use crate::commands::fill::Line;

/// The auction.
pub(crate) struct AuctionKind {
    /// How users hear of bids in the profile that a plan asks for.
    news: News,
}

impl AuctionKind {
    /// As its default profile has it.
    pub(crate) const DEFAULT: AuctionKind = AuctionKind { news: News::Polled };

    /// As the profile of this name has it. One that does not exist is refused when the plan is checked.
    pub(crate) fn of_profile(name: &str) -> Self {
        profile::news(name).map_or(AuctionKind::DEFAULT, |news| AuctionKind { news })
    }
}

/// Filling the largest published size takes hours on a slow disk; a job that takes longer is stuck.
const FILL_TIMEOUT: Duration = Duration::from_secs(6 * 3_600);

/// How long the application holds a long poll without news; its OpenAPI document says the same. A stream of events has
/// news as often.
const LONGEST_POLL: Nanos = Nanos::from_secs(45);

/// The size of the main job.
const DEFAULT_SIZE: &str = "run30k";

impl WorkloadKind for AuctionKind {
    fn name(&self) -> &'static str {
        "auction"
    }

    fn version(&self) -> u32 {
        VERSION
    }

    fn ops(&self) -> &[OpSpec] {
        &ops::ALL
    }

    fn session_op(&self) -> Option<&str> {
        Some("Login")
    }

    fn profiles(&self) -> Vec<&str> {
        profile::names()
    }

    fn profile(&self, name: &str) -> Option<Profile> {
        profile::profile(name)
    }

    fn behaviours(&self, name: &str) -> Option<Behaviours> {
        profile::profile(name).map(|_| profile::behaviours())
    }

    fn deployment(&self) -> Option<&dyn Deployment> {
        Some(self)
    }

    fn connections(&self, users: u32, kept: Connections) -> u64 {
        (f64::from(users) * keeping(kept).connections_per_user(self.news)).ceil() as u64
    }

    fn longest_wait(&self) -> Option<Nanos> {
        Some(LONGEST_POLL)
    }

    fn load(&self, job: &LoadJob<'_>) -> Result<Box<dyn Runnable>, HarnessError> {
        let address = address(job.url)?;
        let keeping = keeping(job.plan.driver.connections);
        let max_users = job.data.ok_or(HarnessError::NoData)?.max_users;
        let news = self.news;
        Ok(runnable(move || Auction::new(Http::new(address, keeping), max_users).hearing(news)))
    }
}

impl Deployment for AuctionKind {
    fn sizes(&self) -> Vec<SizeInfo> {
        sizes::ALL.iter().map(|s| SizeInfo { name: s.name, max_users: s.max_users }).collect()
    }

    fn data(&self, plan: &DataPlan, seed: u64) -> Result<DataSet, Refusal> {
        let fill = fill_plan(plan, seed)?;
        let rows = fill.rows();
        // Three sizes for current items, two for all others.
        let full = rows.files.saturating_sub(2 * rows.images) as f64;
        let factor = fill.factors.images();
        let bytes = full * 741e3 * factor
            + rows.images as f64 * (60e3 * factor + 12e3)
            + rows_of(&rows) as f64 * 150.0;
        Ok(DataSet {
            size: fill.size.name.to_owned(),
            max_users: fill.size.max_users,
            factors: vec![("history", fill.factors.history()), ("images", fill.factors.images())],
            stamp: fill.stamp(),
            bytes: bytes as u64,
        })
    }

    fn is_filled(&self, dir: &Path) -> bool {
        matches!(Marker::read(dir), Ok(Some(_)))
    }

    fn fill_unit(&self, job: &Job<'_>) -> Unit {
        let factor =
            |name: &str| job.data.factors.iter().find(|f| f.0 == name).map_or(1.0, |f| f.1).to_string();
        let args = [
            ("--data", absolute(&job.data_dir)),
            ("--size", job.data.size.clone()),
            ("--history", factor("history")),
            ("--images", factor("images")),
            ("--seed", job.plan.seed.to_string()),
        ];
        unit("fill", args, job, Readiness::Exit { timeout: FILL_TIMEOUT })
    }

    fn fill_line(&self, line: &str) -> Option<FillLine> {
        match serde_json::from_str(line).ok()? {
            Line::Progress { stage, done, total } => {
                Some(FillLine::Progress(FillProgress { stage, done, total }))
            }
            Line::Filled { marker, reused } => Some(FillLine::Filled(Box::new(kept(&marker, reused)))),
        }
    }

    fn serve_unit(&self, job: &Job<'_>) -> Unit {
        let args = [
            ("--data", absolute(&job.data_dir)),
            ("--state", absolute(&job.state_dir)),
            ("--listen", format!("127.0.0.1:{}", job.plan.target.port)),
            ("--threads", job.plan.target.threads.to_string()),
        ];
        unit("serve", args, job, Readiness::StdoutLine { timeout: job.plan.target.start_timeout.into() })
    }

    fn describing_files(&self, data_dir: &Path) -> Vec<PathBuf> {
        vec![Marker::path(data_dir)]
    }

    fn tiers<'a>(&'a self, url: &'a str) -> Later<'a, Result<Vec<Tier>, String>> {
        Box::pin(async move {
            let target = address(url).map_err(|why| why.to_string())?;
            let asked = tokio::task::spawn_blocking(move || crate::commands::serve::ask_health(target)).await;
            let health = asked.map_err(|e| e.to_string())??;
            let tier = |store: StoreView| Tier {
                tier: store.tier.name().to_owned(),
                product: store.product,
                durability: store.durability,
            };
            Ok(health.stores.into_iter().map(tier).collect())
        })
    }

    fn verify<'a>(&'a self, url: &'a str) -> Later<'a, Result<Verified, String>> {
        Box::pin(async move {
            let target = address(url).map_err(|why| why.to_string())?;
            let asked = tokio::task::spawn_blocking(move || crate::commands::serve::ask_check(target)).await;
            let report = asked.map_err(|e| e.to_string())??;
            Ok(Verified { ok: report.ok, findings: report.findings })
        })
    }
}

/// The address in a URL. The name in it is resolved before any clock starts.
fn address(url: &str) -> Result<SocketAddr, HarnessError> {
    let unreachable = |why: Box<dyn std::error::Error + Send + Sync>| HarnessError::Unreachable {
        url: url.to_owned(),
        why,
    };
    let host = url.strip_prefix("http://").map(|rest| rest.split('/').next().unwrap_or(rest));
    let host = host.ok_or_else(|| {
        unreachable("the auction speaks http:// with its port, as in http://127.0.0.1:8080".into())
    })?;
    let found = host.to_socket_addrs().map_err(|why| unreachable(why.into()))?.next();
    found.ok_or_else(|| unreachable("the name has no address".into()))
}

fn keeping(connections: Connections) -> Keeping {
    match connections {
        Connections::Close => Keeping::WithinOperation,
        Connections::Keep | Connections::Auto => Keeping::BetweenOperations,
    }
}

/// The fill a plan asks for.
fn fill_plan(plan: &DataPlan, seed: u64) -> Result<FillPlan, Refusal> {
    let name = if plan.size.is_empty() { DEFAULT_SIZE } else { &plan.size };
    let refusal = |key: &str, value: String, allowed: String| Refusal {
        place: String::new(),
        key: key.to_owned(),
        value,
        allowed,
        remedy: "`barograph list sizes` shows the sizes; a factor of 0 takes the size's default".to_owned(),
    };
    let size = sizes::find(name).ok_or_else(|| {
        let names: Vec<&str> = sizes::ALL.iter().map(|s| s.name).collect();
        refusal("data.size", format!("{name:?}"), format!("one of {}", names.join(", ")))
    })?;
    let default = if name == DEFAULT_SIZE { sizes::DEFAULT_FACTORS } else { sizes::PUBLISHED_FACTORS };
    let or = |given: f64, default: f64| if given == 0.0 { default } else { given };
    let factors = Factors::new(or(plan.history, default.history()), or(plan.images, default.images()))
        .map_err(|e| {
            refusal(&format!("data.{}", e.name), e.value.to_string(), "above 0 and at most 1".into())
        })?;
    Ok(FillPlan { dir: PathBuf::new(), size, factors, seed, threads: 1 })
}

fn rows_of(rows: &barograph_auction::fill::Rows) -> u64 {
    rows.users + rows.auctions + rows.items + rows.high_bids + rows.bids + rows.attendance + rows.images
}

/// This program as a unit: one of its own commands.
fn unit<const N: usize>(verb: &str, args: [(&str, String); N], job: &Job<'_>, ready: Readiness) -> Unit {
    let mut all = vec![verb.to_owned(), "auction".to_owned(), "--supervised".to_owned()];
    all.extend(args.into_iter().flat_map(|(key, value)| [key.to_owned(), value]));
    Unit {
        name: format!("auction {verb}"),
        // A program that cannot find itself is refused by the platform's preflight with this name.
        program: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe")),
        args: all,
        env: Vec::new(),
        workdir: job.log.parent().map_or_else(|| PathBuf::from("/"), Path::to_owned),
        log: job.log.clone(),
        ready,
    }
}

fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// A marker as the record keeps it.
fn kept(marker: &Marker, reused: bool) -> Fill {
    let r = &marker.rows;
    Fill {
        size: marker.size.clone(),
        max_users: marker.max_users,
        rows: vec![
            Count::new("users", r.users),
            Count::new("auctions", r.auctions),
            Count::new("items", r.items),
            Count::new("high bids", r.high_bids),
            Count::new("bids", r.bids),
            Count::new("attendance", r.attendance),
            Count::new("images", r.images),
            Count::new("picture files", r.files),
        ],
        bytes: vec![Count::new("stores", marker.store_bytes), Count::new("pictures", marker.image_bytes)],
        factors: vec![
            Figure::new("history", marker.factors.history()),
            Figure::new("images", marker.factors.images()),
        ],
        seconds: marker.seconds,
        reused,
        stamp: marker.stamp.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_connections_beside_those_that_are_kept() {
        let of = |profile: &str, kept| AuctionKind::of_profile(profile).connections(100, kept);
        for profile in ["", "official2", "unknown"] {
            assert_eq!((of(profile, Connections::Keep), of(profile, Connections::Close)), (400, 165));
        }
        let push = "official2-push";
        assert_eq!((of(push, Connections::Keep), of(push, Connections::Close)), (565, 165));
    }
}
