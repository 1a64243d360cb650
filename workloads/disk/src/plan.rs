//! The keys of the workload in plans: `[disk]`.

mod checked;
mod explained;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use barograph_data::Popularity;
use barograph_model::{MeasureSpec, Nanos, Share};
use barograph_nbd::NbdAddress;
use barograph_spec::{Ability, Plan, SettingsReader, WorkloadKeys, WorkloadSettings};

use crate::access::Access;
use crate::error::DiskError;
use crate::measures::MEASURES;
use crate::operation::OpKind;
use crate::places::{Block, Pattern};
use crate::seam::{Disk, NAME};
use crate::size;
use crate::topology::TIER;

/// The scheme of addresses of files and devices.
const SCHEME: &str = "file://";

/// Address of a file in the working folder of a driver that is a unit. Plans cannot name it.
pub(crate) const IN_FOLDER: &str = "file:disk.data";

/// Name of that file.
const FILE: &str = "disk.data";

/// Most bytes of a block.
const LARGEST_BLOCK: u64 = 64 << 20;

/// Bytes of which a block is a multiple.
const SECTOR: u64 = 512;

/// Most bytes of a target.
const LARGEST: u64 = 1 << 50;

/// Most operations of a batch: the users of a ring.
const LARGEST_BATCH: u64 = 1_024;

/// The mix where a plan names none.
const USUAL_MIX: [(OpKind, u32); 2] = [(OpKind::Read, 70), (OpKind::Write, 30)];

/// The settings of the workload in a plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DiskPlan {
    /// Bytes that are loaded.
    pub(crate) size: u64,
    /// Sizes of blocks.
    pub(crate) blocks: Vec<Block>,
    /// Operations with their weights, none of them 0.
    pub(crate) mix: Vec<(OpKind, u32)>,
    pub(crate) pattern: Pattern,
    /// The part of written bytes that is random.
    pub(crate) entropy: f64,
    /// Past the page cache.
    pub(crate) direct: bool,
    pub(crate) engine: Engine,
    /// Operations that complete before others follow, where as many are in flight.
    pub(crate) batch: u32,
    pub(crate) sync: Sync,
    /// What is read is compared with what was written.
    pub(crate) verify: bool,
    /// The device, named again.
    pub(crate) device_again: String,
    /// Time between an operation and the next one of a user.
    pub(crate) think: Nanos,
    pub(crate) rules: Rules,
    /// The server of an export that the plan deploys.
    pub(crate) server: Option<Server>,
}

/// A server of an export: nbdkit with memory behind a chain of filters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    /// Filters with their number, in the order of requests.
    pub(crate) filters: Vec<(&'static str, u32)>,
}

impl Server {
    /// The name of each filter, in the order of requests.
    pub(crate) fn chain(&self) -> Vec<&'static str> {
        self.filters.iter().flat_map(|(name, count)| std::iter::repeat_n(*name, *count as usize)).collect()
    }
}

/// How operations are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// In a ring of each worker.
    IoUring,
    /// By calls that block, in a thread of each user.
    Threads,
}

/// When writes are on the disk for certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sync {
    /// Whenever the system likes.
    None,
    /// When the write is done.
    Each,
    /// After this number of writes of a user.
    Every(u32),
}

/// What is judged of each operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rules {
    /// The quantile of response time that must be within the limit.
    pub(crate) quantile: Share,
    /// The limit; `None` where response time is not judged.
    pub(crate) limit: Option<Nanos>,
    /// Largest share of failed operations.
    pub(crate) failures: Share,
}

impl DiskPlan {
    /// The settings in a plan of this workload.
    pub(crate) fn of(plan: &Plan) -> &Self {
        plan.settings().expect("a plan of this workload is read with its keys")
    }

    /// Whether the load writes.
    pub(crate) fn writes(&self) -> bool {
        self.mix.iter().any(|(kind, _)| *kind != OpKind::Read)
    }

    /// Bytes of the largest block.
    pub(crate) fn largest(&self) -> u64 {
        self.blocks.iter().map(|block| block.bytes).max().unwrap_or(SECTOR)
    }

    /// The operations, by index: those of the mix, and the sync after a number of writes.
    pub(crate) fn kinds(&self) -> Vec<OpKind> {
        let after = matches!(self.sync, Sync::Every(_)).then_some(OpKind::Sync);
        self.mix.iter().map(|(kind, _)| *kind).chain(after).collect()
    }

    /// How the target is opened for the load.
    pub(crate) fn access(&self) -> Access {
        Access { writes: self.writes(), direct: self.direct, durable: self.sync == Sync::Each }
    }

    /// Refuses blocks that do not suit direct access.
    ///
    /// # Errors
    /// [`DiskError::Misaligned`].
    pub(crate) fn check_alignment(&self, path: &Path, alignment: u64) -> Result<(), DiskError> {
        match self.blocks.iter().find(|block| !block.bytes.is_multiple_of(alignment)) {
            None => Ok(()),
            Some(Block { bytes, .. }) => {
                Err(DiskError::Misaligned { path: path.to_owned(), block: *bytes, alignment })
            }
        }
    }
}

/// What a plan loads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A file or device of this machine.
    Path(PathBuf),
    /// A file in the folder of a driver that is a unit of the platform.
    Unit,
    /// An export, by its address.
    Export(String),
    /// An export of a server that the plan deploys.
    Deployed,
}

impl Place {
    /// The place of a plan.
    pub(crate) fn of(plan: &Plan) -> Self {
        match plan.target.url.as_deref() {
            Some(url) if NbdAddress::is_one(url) => Place::Export(url.to_owned()),
            Some(IN_FOLDER) => Place::Path(absolute(PathBuf::from(FILE))),
            None if DiskPlan::of(plan).server.is_some() => Place::Deployed,
            None if driver_is_unit(plan) => Place::Unit,
            _ => Place::Path(path(plan)),
        }
    }

    /// Whether it is a file or device.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self, Place::Path(_) | Place::Unit)
    }
}

/// Whether the only driver of a plan without a target is a unit of the platform.
fn driver_is_unit(plan: &Plan) -> bool {
    let is_unit = match plan.driver.place.as_str() {
        "unit" => true,
        place => place == "auto" && plan.deploy.has(Ability::Drivers),
    };
    is_unit && plan.driver.count == 1
}

/// The file or device of a plan.
fn path(plan: &Plan) -> PathBuf {
    match plan.target.url.as_deref().and_then(path_of) {
        Some(path) => path.to_owned(),
        None => {
            let load = if plan.load.is_empty() { String::new() } else { format!("-{}", plan.load) };
            let size = size::shown(DiskPlan::of(plan).size).replace(' ', "");
            absolute(plan.data.dir.join(format!("disk{load}-{size}.data")))
        }
    }
}

fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

/// The path of an address; `None` for an address of another kind.
pub(crate) fn path_of(url: &str) -> Option<&Path> {
    url.strip_prefix(SCHEME).map(Path::new).filter(|path| path.is_absolute())
}

/// The address of a file or device.
pub(crate) fn address(path: &Path) -> String {
    format!("{SCHEME}{}", path.display())
}

impl WorkloadKeys for Disk {
    fn name(&self) -> &'static str {
        NAME
    }

    fn tiers(&self) -> &'static [&'static str] {
        &[TIER]
    }

    fn measures(&self) -> &'static [MeasureSpec] {
        &MEASURES
    }

    fn read(&self, g: &mut SettingsReader) -> Option<Arc<dyn WorkloadSettings>> {
        let size = bytes(g, "disk.size", "1g", LARGEST);
        let blocks = blocks(g);
        let mix = mix(g);
        let pattern = pattern(g);
        let entropy = g.fraction("disk.entropy", 0.0..=1.0, 1.0);
        let direct = g.flag("disk.direct", true);
        let engine = g.choice("disk.engine", &["io_uring", "threads"], "io_uring");
        let batch = g.number("disk.batch", 1..=LARGEST_BATCH, 1);
        let sync = sync(g);
        let verify = g.flag("disk.verify", false);
        let device_again = g.word("disk.device_again", &[], "");
        let think_ms = g.fraction("disk.think_ms", 0.0..=3_600_000.0, 0.0);
        let rules = rules(g);
        let server = server(g);
        Some(Arc::new(DiskPlan {
            size: size?,
            blocks: blocks?,
            mix: mix?,
            pattern: pattern?,
            entropy: entropy?,
            direct: direct?,
            engine: if engine? == "threads" { Engine::Threads } else { Engine::IoUring },
            batch: batch? as u32,
            sync: sync?,
            verify: verify?,
            device_again: device_again?,
            think: Nanos::from_secs_f64(think_ms? / 1e3),
            rules: rules?,
            server: server?,
        }))
    }
}

/// A size in bytes.
fn bytes(g: &mut SettingsReader, key: &str, default: &str, most: u64) -> Option<u64> {
    let text = g.word(key, &[], default)?;
    let bytes = size::read(&text).filter(|bytes| *bytes <= most);
    if bytes.is_none() {
        let allowed = format!("a size up to {}, as in \"4k\" or \"1g\"", size::shown(most));
        g.refuse(key, format!("{text:?}"), &allowed, "correct it");
    }
    bytes
}

/// Sizes of blocks, with weights where there are several.
fn blocks(g: &mut SettingsReader) -> Option<Vec<Block>> {
    let text = g.word("disk.block", &[], "4k")?;
    let blocks = read_blocks(&text);
    if let Err(why) = &blocks {
        g.refuse("disk.block", format!("{text:?}"), why, "correct it");
    }
    blocks.ok()
}

/// Reads `4k`, or `4k=60,64k=40`.
pub(crate) fn read_blocks(text: &str) -> Result<Vec<Block>, String> {
    let wrong = || {
        let most = size::shown(LARGEST_BLOCK);
        format!("sizes in multiples of {SECTOR} bytes up to {most}, as in \"4k\" or \"4k=60,64k=40\"")
    };
    let one = |part: &str| {
        let (bytes, weight) = part.split_once('=').unwrap_or((part, "1"));
        let bytes = size::read(bytes).filter(|b| *b <= LARGEST_BLOCK && b.is_multiple_of(SECTOR));
        let weight = weight.trim().parse().ok().filter(|weight| (1..=1_000_000).contains(weight));
        Some(Block { bytes: bytes?, weight: weight? })
    };
    let blocks: Option<Vec<Block>> = text.split(',').map(one).collect();
    blocks.ok_or_else(wrong)
}

/// The weight of each operation; the usual mix where all are 0.
fn mix(g: &mut SettingsReader) -> Option<Vec<(OpKind, u32)>> {
    let weight = |kind: OpKind| {
        Some((kind, g.number(&format!("disk.mix.{}", kind.spec().name), 0..=1_000_000, 0)? as u32))
    };
    let weights: Vec<Option<(OpKind, u32)>> = OpKind::ALL.into_iter().map(weight).collect();
    let weights: Vec<(OpKind, u32)> = weights.into_iter().collect::<Option<_>>()?;
    let named: Vec<(OpKind, u32)> = weights.into_iter().filter(|(_, weight)| *weight > 0).collect();
    Some(if named.is_empty() { USUAL_MIX.to_vec() } else { named })
}

fn pattern(g: &mut SettingsReader) -> Option<Pattern> {
    let kind = g.choice("disk.pattern", &["uniform", "zipf", "hot", "sequential"], "uniform")?;
    let exponent = g.fraction("disk.zipf_exponent", 0.0..=10.0, 0.99);
    let numbers = g.fraction("disk.hot_blocks", 0.0..=1.0, 0.1);
    let draws = g.fraction("disk.hot_operations", 0.0..=1.0, 0.9);
    Some(match kind {
        "sequential" => Pattern::Sequential,
        "zipf" => Pattern::Random(Popularity::Zipf { exponent: exponent? }),
        "hot" => Pattern::Random(Popularity::Hot { numbers: numbers?, draws: draws? }),
        _ => Pattern::Random(Popularity::Uniform),
    })
}

fn sync(g: &mut SettingsReader) -> Option<Sync> {
    let kind = g.choice("disk.sync", &["none", "each", "every"], "none");
    let writes = g.number("disk.sync_every", 1..=1_000_000, 1);
    Some(match kind? {
        "each" => Sync::Each,
        "every" => Sync::Every(writes? as u32),
        _ => Sync::None,
    })
}

/// Filters without settings that pass everything on, or nearly so.
const FILTERS: [&str; 7] = ["nofilter", "noextents", "nozero", "nocache", "noparallel", "fua", "cow"];

/// Most filters of a chain.
const MOST_FILTERS: u32 = 64;

/// The server, where there is one.
fn server(g: &mut SettingsReader) -> Option<Option<Server>> {
    let kind = g.choice("deploy.server", &["none", "nbdkit"], "none");
    let text = g.word("deploy.filters", &[], "none")?;
    let filters = read_filters(&text);
    if filters.is_none() {
        let allowed = format!(
            "\"none\", or names of {} with counts, {MOST_FILTERS} in all, as in \"nofilter=4,fua\"",
            FILTERS.join(", ")
        );
        g.refuse("deploy.filters", format!("{text:?}"), &allowed, "correct it");
    }
    let filters = filters?;
    Some((kind? == "nbdkit").then_some(Server { filters }))
}

/// Reads `none`, or `nofilter=4,fua`.
fn read_filters(text: &str) -> Option<Vec<(&'static str, u32)>> {
    if text == "none" {
        return Some(Vec::new());
    }
    let one = |part: &str| {
        let (name, count) = part.split_once('=').unwrap_or((part, "1"));
        let name = FILTERS.into_iter().find(|known| *known == name.trim())?;
        Some((name, count.trim().parse().ok().filter(|count| *count > 0)?))
    };
    let filters: Vec<(&str, u32)> = text.split(',').map(one).collect::<Option<_>>()?;
    let all = filters.iter().try_fold(0_u32, |sum, (_, count)| sum.checked_add(*count));
    all.is_some_and(|all| all <= MOST_FILTERS).then_some(filters)
}

fn rules(g: &mut SettingsReader) -> Option<Rules> {
    let quantile = g.fraction("disk.quantile", 0.01..=0.99999, 0.99);
    let limit_ms = g.fraction("disk.limit_ms", 0.0..=3_600_000.0, 0.0);
    let failures = g.fraction("disk.failures", 0.0..=1.0, 0.0);
    Some(Rules {
        quantile: Share::new(quantile?).ok()?,
        limit: Some(Nanos::from_secs_f64(limit_ms? / 1e3)).filter(|limit| *limit > Nanos::ZERO),
        failures: Share::new(failures?).ok()?,
    })
}

#[cfg(test)]
mod tests;
