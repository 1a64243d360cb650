//! The auction as a workload of plans: its load, its data, and its application.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use barograph_auction::fill::{FillPlan, Marker, Rows};
use barograph_auction::sizes::{self, Factors};
use barograph_auction_api::StoreView;
use barograph_engine::{Runnable, runnable};
use barograph_http::{ResolvedTarget, Target, Tls, Verify, certificates};
use barograph_model::words::in_one_line;
use barograph_model::{Behaviours, Nanos, OpSpec, Profile};
use barograph_platform::{BoxFuture, Readiness, Unit};
use barograph_record::{Count, Figure, Fill, Tier};
use barograph_spec::{Connections, DataPlan, Plan, Refusal, Refusals, TlsPlan};
use barograph_workload::topology::Topology;
use barograph_workload::{
    Application, DataSet, DataSets, FillLine, FillProgress, Job, LoadError, LoadJob, Machine, Program,
    SentFile, SizeInfo, UsualSize, Verb, VerifyResult, Workload, WorkloadFactory,
};
use serde_json::{Map, Value, json};

use crate::fill::Line;
use crate::plan::AuctionPlan;
use crate::topology::{self, Certificate};
use crate::{Auction, BidUpdates, ConnectionReuse, Http, VERSION, ops, profile, programs, questions, usual};

/// The auction.
pub(crate) struct AuctionWorkload {
    settings: AuctionPlan,
    /// Source of news of bids in the plan's profile.
    news: BidUpdates,
    /// Trust in an application over TLS.
    tls: Tls,
    /// The certificate of a web tier deployed by this program.
    certificate: Option<Certificate>,
}

impl AuctionWorkload {
    /// The auction with its default profile.
    const DEFAULT: AuctionWorkload = AuctionWorkload {
        settings: AuctionPlan::DEFAULT,
        news: BidUpdates::Polled,
        tls: Tls { authorities: None, verify: Verify::Peer, server_name: None, identity: None },
        certificate: None,
    };

    /// The workload of a plan.
    fn of_plan(plan: &Plan) -> Result<Self, Refusals> {
        let plain = AuctionWorkload::plain(plan);
        if !plain.settings.deploy.tls || plan.target.url.is_some() {
            return Ok(AuctionWorkload { tls: trust(plan)?, ..plain });
        }
        let certificate = Certificate::new().map_err(|why| no_certificate(plan, &why))?;
        let tls = Tls {
            authorities: Some(certificate.pem.as_bytes().into()),
            verify: Verify::Peer,
            server_name: Some(Certificate::NAME.to_owned()),
            ..Tls::default()
        };
        Ok(AuctionWorkload { tls, certificate: Some(certificate), ..plain })
    }

    /// The workload of a plan on the host of a driver. The file, if there is one, has the trusted
    /// authorities.
    fn of_files(plan: &Plan, files: &[SentFile]) -> Self {
        let plain = AuctionWorkload::plain(plan);
        // A deployed web tier has the certificate that the harness made.
        let deployed = plain.settings.deploy.tls.then(|| Certificate::NAME.to_owned());
        let said = &plain.settings.tls;
        let tls = Tls {
            authorities: files.first().map(|(_, pem)| Arc::clone(pem)),
            verify: verify(said),
            server_name: deployed.or_else(|| said.server_name.clone()),
            ..Tls::default()
        };
        AuctionWorkload { tls, ..plain }
    }

    /// The workload of a plan, without trust in its target.
    fn plain(plan: &Plan) -> Self {
        AuctionWorkload {
            settings: AuctionPlan::of(plan).clone(),
            ..AuctionWorkload::of_profile(&plan.profile)
        }
    }

    /// The auction with the profile of this name. An unknown one is refused when the plan is checked.
    fn of_profile(name: &str) -> Self {
        let news = profile::news(name).unwrap_or(AuctionWorkload::DEFAULT.news);
        AuctionWorkload { news, ..AuctionWorkload::DEFAULT }
    }
}

/// Time limit of a fill: the largest published size takes hours on a slow disk.
const FILL_TIMEOUT: Duration = Duration::from_secs(6 * 3_600);

/// Time limit of a connection for a query.
const ASK_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest hold of a long poll without news; the application's OpenAPI document states the same. A stream of
/// events has news as often.
const LONGEST_POLL: Nanos = Nanos::from_secs(45);

/// Its name in plans.
pub(crate) const NAME: &str = "auction";

/// Default size for an existing target.
const DEFAULT_SIZE: &str = "run30k";

impl Workload for AuctionWorkload {
    fn name(&self) -> &'static str {
        NAME
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

    fn application(&self) -> Option<&dyn Application> {
        Some(self)
    }

    fn connections(&self, users: u32, kept: Connections) -> u64 {
        connections(users, kept, self.news)
    }

    fn longest_wait(&self) -> Option<Nanos> {
        Some(LONGEST_POLL)
    }

    /// The trusted authorities.
    fn files(&self) -> Result<Vec<SentFile>, LoadError> {
        Ok(self
            .tls
            .authorities
            .iter()
            .map(|pem| (PathBuf::from("authorities.pem"), Arc::clone(pem)))
            .collect())
    }

    fn load(&self, job: &LoadJob<'_>) -> Result<Box<dyn Runnable>, LoadError> {
        let target = reached(job.url, self.tls.clone(), job.plan.driver.timeout.into());
        let target = target.map_err(|why| LoadError::Unreachable { url: job.url.to_owned(), why })?;
        let keeping = keeping(job.plan.driver.connections);
        let max_users = job.data.ok_or(LoadError::NoData)?.max_users;
        let news = self.news;
        Ok(runnable(move || Auction::new(Http::new(&target, keeping), max_users).hearing(news)))
    }
}

impl Application for AuctionWorkload {
    fn data_sets(&self) -> Option<&dyn DataSets> {
        Some(self)
    }

    fn topology(&self, plan: &Plan, data: Option<&DataSet>) -> Topology {
        let data = data.expect("the harness gives the data set of an application that has them");
        topology::topology(plan, &self.settings, data, self.certificate.as_ref())
    }

    fn tables(&self, plan: &Plan) -> usize {
        topology::tables(plan, &self.settings)
    }

    fn job_unit(&self, _: &str, words: &BTreeMap<String, String>, job: &Job<'_>) -> Option<Unit> {
        let options = ["data", "relational", "events", "images"];
        let args: Vec<(&str, String)> =
            options.iter().filter_map(|name| Some((*name, words.get(*name)?.clone()))).collect();
        let args = args.into_iter().flat_map(|(name, value)| [format!("--{name}"), value]);
        Some(unit("load", args, job, Readiness::Exit { timeout: FILL_TIMEOUT }))
    }

    fn disclose(&self) -> Map<String, Value> {
        let passwords =
            "argon2id, 64 KiB, 1 pass, 1 lane: cheap on purpose, so that a login measures the application";
        Map::from_iter([("application".to_owned(), json!({ "passwords": passwords }))])
    }

    fn answers<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let health = self.ask(url, questions::health).await?;
            if health.ready {
                Ok(())
            } else {
                Err(health.trouble.unwrap_or_else(|| "it is not ready yet".to_owned()))
            }
        })
    }

    fn tiers<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Vec<Tier>, String>> {
        Box::pin(async move {
            let health = self.ask(url, questions::health).await?;
            let tier = |store: StoreView| Tier {
                tier: store.tier.name().to_owned(),
                product: store.product,
                durability: store.durability,
            };
            Ok(health.stores.into_iter().map(tier).collect())
        })
    }

    fn verify<'a>(&'a self, url: &'a str) -> Option<BoxFuture<'a, Result<VerifyResult, String>>> {
        Some(Box::pin(async move {
            let report = self.ask(url, questions::check).await?;
            Ok(VerifyResult { ok: report.ok, findings: report.findings })
        }))
    }
}

impl DataSets for AuctionWorkload {
    fn sizes(&self) -> Vec<SizeInfo> {
        sizes::ALL.iter().map(|s| SizeInfo { name: s.name, max_users: s.max_users }).collect()
    }

    fn usual_size(&self, plan: &Plan, machine: &Machine) -> Option<UsualSize> {
        Some(usual::size(self, plan, machine))
    }

    fn data(&self, plan: &DataPlan, seed: u64) -> Result<DataSet, Refusal> {
        let fill = fill_plan(plan, &self.settings, seed)?;
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

    fn fill_unit(&self, data: &DataSet, dir: &Path, job: &Job<'_>) -> Unit {
        let factor = |name: &str| data.factors.iter().find(|f| f.0 == name).map_or(1.0, |f| f.1).to_string();
        let args = [
            ("--data", topology::absolute(dir).display().to_string()),
            ("--size", data.size.clone()),
            ("--history", factor("history")),
            ("--images", factor("images")),
            ("--seed", job.plan.seed.to_string()),
        ];
        let args = ["--supervised".to_owned()]
            .into_iter()
            .chain(args.into_iter().flat_map(|(key, value)| [key.to_owned(), value]));
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

    fn describing_files(&self, dir: &Path) -> Vec<PathBuf> {
        vec![Marker::path(dir)]
    }
}

impl AuctionWorkload {
    /// Queries the application at `url`, on a thread that may block.
    async fn ask<T: Send + 'static>(
        &self,
        url: &str,
        question: fn(&ResolvedTarget) -> Result<T, String>,
    ) -> Result<T, String> {
        let (url, tls) = (url.to_owned(), self.tls.clone());
        let asking = move || {
            let target = reached(&url, tls, ASK_TIMEOUT).map_err(|why| in_one_line(&*why))?;
            question(&target)
        };
        tokio::task::spawn_blocking(asking).await.map_err(|why| why.to_string())?
    }
}

/// The application at a URL, with those of its addresses that answer; each of several fronts must. Blocks.
fn reached(url: &str, tls: Tls, timeout: Duration) -> Result<ResolvedTarget, Box<dyn Error + Send + Sync>> {
    let options = Http::options(tls);
    let mut fronts = fronts_of(url)
        .into_iter()
        .map(|front| Target::parse(&front, &options)?.resolve()?.answering(timeout));
    let first = fronts.next().unwrap_or_else(|| unreachable!("a URL has one front at least"))?;
    fronts.try_fold(first, |all, front| Ok(all.beside(&front?)))
}

/// The URLs of all fronts of `SCHEME://ADDRESS:PORT,ADDRESS:PORT`.
fn fronts_of(url: &str) -> Vec<String> {
    match url.split_once("://") {
        Some((scheme, fronts)) => fronts.split(',').map(|front| format!("{scheme}://{front}")).collect(),
        None => vec![url.to_owned()],
    }
}

fn no_certificate(plan: &Plan, why: &rcgen::Error) -> Refusals {
    Refusals(vec![Refusal {
        place: plan.place("deploy.tls").to_owned(),
        key: "deploy.tls".to_owned(),
        value: "true".to_owned(),
        allowed: format!("false, as no certificate could be made here ({why})"),
        remedy: "deploy without TLS".to_owned(),
    }])
}

/// Factory of the auction of plans.
pub struct Auctions;

impl WorkloadFactory for Auctions {
    fn about(&self) -> &'static str {
        "users of an auction site that browse, bid and sell, and the site itself"
    }

    fn built_in(&self) -> Option<&dyn Workload> {
        Some(&AuctionWorkload::DEFAULT)
    }

    fn program(&self, verb: Verb) -> Option<&dyn Program> {
        Some(programs::of(verb))
    }

    fn of_plan(&self, plan: &Plan) -> Result<Arc<dyn Workload>, Refusals> {
        Ok(Arc::new(AuctionWorkload::of_plan(plan)?))
    }

    fn of_files(&self, plan: &Plan, files: &[SentFile]) -> Result<Arc<dyn Workload>, Refusals> {
        Ok(Arc::new(AuctionWorkload::of_files(plan, files)))
    }
}

fn verify(said: &TlsPlan) -> Verify {
    if said.verify { Verify::Peer } else { Verify::Nothing }
}

/// A plan's trust in the target.
fn trust(plan: &Plan) -> Result<Tls, Refusals> {
    const KEY: &str = "target.tls.authorities";
    let said = &AuctionPlan::of(plan).tls;
    let read = |file: &PathBuf| {
        certificates(&plan.file_of(KEY, file)).map_err(|why| {
            Refusals(vec![Refusal {
                place: plan.place(KEY).to_owned(),
                key: KEY.to_owned(),
                value: format!("{:?}", file.display().to_string()),
                allowed: format!("a PEM file ({})", in_one_line(&why)),
                remedy: "name the file of the authority that signed the target's certificate".to_owned(),
            }])
        })
    };
    Ok(Tls {
        authorities: said.authorities.as_ref().map(read).transpose()?,
        verify: verify(said),
        server_name: said.server_name.clone(),
        identity: None,
    })
}

/// Connections of users with this source of news.
pub(crate) fn connections(users: u32, kept: Connections, news: BidUpdates) -> u64 {
    (f64::from(users) * keeping(kept).connections_per_user(news)).ceil() as u64
}

fn keeping(connections: Connections) -> ConnectionReuse {
    match connections {
        Connections::Close => ConnectionReuse::WithinOperation,
        Connections::Keep | Connections::Auto => ConnectionReuse::BetweenOperations,
    }
}

/// The fill of a plan.
fn fill_plan(plan: &DataPlan, own: &AuctionPlan, seed: u64) -> Result<FillPlan, Refusal> {
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
    let default = size.usual_factors();
    let or = |given: f64, default: f64| if given == 0.0 { default } else { given };
    let factors = Factors::new(or(own.history, default.history()), or(own.images, default.images()))
        .map_err(|e| {
            refusal(&format!("data.{}", e.name), e.value.to_string(), "above 0 and at most 1".into())
        })?;
    Ok(FillPlan { dir: PathBuf::new(), size, factors, seed, threads: 1 })
}

fn rows_of(rows: &Rows) -> u64 {
    rows.users + rows.auctions + rows.items + rows.high_bids + rows.bids + rows.attendance + rows.images
}

/// A unit that runs one of this program's commands.
fn unit(verb: &str, args: impl IntoIterator<Item = String>, job: &Job<'_>, ready: Readiness) -> Unit {
    // If the program cannot find itself, the platform's preflight refuses it by this name.
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe"));
    Unit {
        args: [verb.to_owned(), "auction".to_owned()].into_iter().chain(args).collect(),
        workdir: job.log.parent().map_or_else(|| PathBuf::from("/"), Path::to_owned),
        log: job.log.clone(),
        ..Unit::new(&format!("auction {verb}"), program, ready)
    }
}

/// Converts a marker for the record.
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
        let of = |profile: &str, kept| AuctionWorkload::of_profile(profile).connections(100, kept);
        for profile in ["", "official2", "unknown"] {
            assert_eq!((of(profile, Connections::Keep), of(profile, Connections::Close)), (400, 165));
        }
        let push = "official2-push";
        assert_eq!((of(push, Connections::Keep), of(push, Connections::Close)), (565, 165));
    }

    fn plan(sets: &[&str]) -> Plan {
        barograph_spec::read(
            barograph_spec::Catalogue::of(&[&Auctions]),
            "a plan",
            "",
            &sets.iter().map(|set| (*set).to_owned()).collect::<Vec<_>>(),
        )
        .unwrap()
    }

    /// A driver's trust in a target given by its URL.
    fn of_driver(mut plan: Plan) -> (Tls, Tls) {
        let here = AuctionWorkload::of_plan(&plan).unwrap();
        plan.target.url.get_or_insert("https://10.0.0.1:443".to_owned());
        let there = AuctionWorkload::of_files(&plan, &here.files().unwrap());
        (here.tls, there.tls)
    }

    #[test]
    fn a_target_may_have_several_fronts() {
        let all = fronts_of("https://10.0.0.1:8443,10.0.0.2:8444");
        assert_eq!(all, ["https://10.0.0.1:8443", "https://10.0.0.2:8444"]);
        assert_eq!(fronts_of("http://shop.example/a"), ["http://shop.example/a"]);
    }

    #[test]
    fn a_driver_elsewhere_believes_what_the_harness_believes() {
        let (here, there) =
            of_driver(plan(&["deploy.relational=postgres", "deploy.web=nginx", "deploy.tls=true"]));
        assert!(here.authorities.is_some() && here.authorities == there.authorities);
        assert_eq!(there.server_name.as_deref(), Some(Certificate::NAME));
        assert_eq!((here.verify, there.verify), (Verify::Peer, Verify::Peer));

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        std::fs::write(&file, "a certificate").unwrap();
        let named = format!("target.tls.authorities={}", file.display());
        let url = "target.url=https://shop.example";
        let (_, there) = of_driver(plan(&[url, &named, "target.tls.server_name=inner.example"]));
        assert_eq!(there.authorities.as_deref(), Some(&b"a certificate"[..]));
        assert_eq!(there.server_name.as_deref(), Some("inner.example"));

        let (_, there) = of_driver(plan(&[url, "target.tls.verify=false"]));
        assert_eq!((there.authorities, there.verify, there.server_name), (None, Verify::Nothing, None));
    }
}
