//! `barograph disk`: a file or device under load in one line, for people who come from fio.

use std::path::{Path, PathBuf};

use barograph_nbd::NbdAddress;
use barograph_workload::typed::TypedRule;
use barograph_workload::{CommandError, LoadCommand, LoadOptions, Noun, TypedLoad, UsualUsers};
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};

use crate::operation::OpKind;
use crate::plan::{address, read_blocks};
use crate::seam::Disk;
use crate::size;

/// Operations at once without `-c`: a depth at which an SSD is near its most.
const DEPTH: UsualUsers = UsualUsers { fixed: 32, searched: 256, in_flight: 1_024 };

/// Loads a file or a device with reads and writes. Without options: a file of 1 GiB that is made and filled first, blocks of
/// 4 KiB at random, 70 % reads, 32 operations at once through io_uring and past the page cache, for 10 s.
#[derive(Args)]
struct DiskArgs {
    /// A file, which is made unless it is there; a device; or an export, as in nbd://HOST/NAME. Files and exports of others and
    /// devices are only read, unless a device is named again by --device-again
    file: PathBuf,
    /// Bytes that are loaded, as in 512m or 1g
    #[arg(long, default_value = "1g", value_parser = bytes, value_name = "BYTES")]
    size: String,
    /// Bytes of a block, or several sizes with weights, as in 4k or 4k=60,64k=40
    #[arg(long, default_value = "4k", value_parser = blocks, value_name = "BYTES")]
    block: String,
    /// Operations with weights, as in Read=70,Write=30 [default: Read=70,Write=30]
    #[arg(long, value_parser = mix, value_name = "OPERATION=WEIGHT,...")]
    mix: Option<Mix>,
    /// The order of blocks
    #[arg(long, value_enum, default_value_t = PatternArg::Uniform, value_name = "HOW")]
    pattern: PatternArg,
    /// Go through the page cache
    #[arg(long)]
    buffered: bool,
    /// How operations are done
    #[arg(long, value_enum, default_value_t = EngineArg::IoUring, value_name = "HOW")]
    engine: EngineArg,
    /// Operations that complete before others follow them together
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_024), value_name = "N")]
    batch: Option<u32>,
    /// When writes are on the disk: none (whenever the system likes), each (when the write is done), or a number of writes of a
    /// user after which it waits for them
    #[arg(long, default_value = "none", value_parser = sync, value_name = "WHEN")]
    sync: SyncArg,
    /// The part of written bytes that is random, from 0 to 1; the rest is zero
    #[arg(long, default_value_t = 1.0, value_parser = part, value_name = "PART")]
    entropy: f64,
    /// Compare what is read with what was written; the file is filled before
    #[arg(long)]
    verify: bool,
    /// The device once more: all that it holds is overwritten
    #[arg(long, value_name = "DEVICE")]
    device_again: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PatternArg {
    /// At random, all alike
    Uniform,
    /// At random, by Zipf's law with exponent 0.99
    Zipf,
    /// At random, 90 % of the operations in 10 % of the place
    Hot,
    /// One after the other
    Sequential,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EngineArg {
    /// In a ring of each worker
    #[value(name = "io_uring")]
    IoUring,
    /// By calls that block, in a thread of each user
    Threads,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SyncArg {
    None,
    Each,
    Every(u32),
}

/// Operations with their weights.
type Mix = std::sync::Arc<[(OpKind, u32)]>;

impl LoadCommand for Disk {
    fn arguments(&self) -> Command {
        DiskArgs::augment_args(Command::new("disk"))
    }

    fn request(&self) -> Noun {
        Noun { one: "operation", several: "operations" }
    }

    fn load(&self, typed: &ArgMatches, options: &LoadOptions) -> Result<TypedLoad, CommandError> {
        let args = DiskArgs::from_arg_matches(typed).map_err(CommandError::refused)?;
        if !matches!(options.rules.as_slice(), [] | [TypedRule::Response(_)]) {
            return Err(CommandError::refused("judge operations by more than one limit of response time"));
        }
        let absolute = |path: &Path| {
            std::path::absolute(path).map_err(|why| {
                CommandError::refused(why).while_doing(format!("find the folder of `{}`", path.display()))
            })
        };
        let typed = args.file.to_string_lossy();
        let (shown, url) = if NbdAddress::is_one(&typed) {
            (typed.clone().into_owned(), typed.into_owned())
        } else {
            let path = absolute(&args.file)?;
            (path.display().to_string(), address(&path))
        };
        let again = args.device_again.as_deref().map(absolute).transpose()?;
        Ok(TypedLoad {
            title: title(&args, &shown),
            users: options.users_or(DEPTH),
            keys: keys(&args, again.as_deref(), options),
            url,
            workload: None,
        })
    }
}

/// What is loaded.
fn title(args: &DiskArgs, target: &str) -> String {
    let usual = [(OpKind::Read, 70), (OpKind::Write, 30)];
    let mix = args.mix.as_deref().unwrap_or(if args.is_export() { &READS } else { &usual });
    let of_one = |(kind, weight): &(OpKind, u32)| match mix.len() {
        1 => kind.spec().name.to_owned(),
        _ => format!("{} {weight}", kind.spec().name),
    };
    let operations = mix.iter().map(of_one).collect::<Vec<_>>().join(", ");
    format!("{operations} of {} on {target}", args.block)
}

impl DiskArgs {
    fn is_export(&self) -> bool {
        NbdAddress::is_one(&self.file.to_string_lossy())
    }
}

/// The mix of an export, which is only read.
const READS: [(OpKind, u32); 1] = [(OpKind::Read, 1)];

/// What was typed, as keys of a plan.
fn keys(args: &DiskArgs, again: Option<&Path>, options: &LoadOptions) -> Vec<String> {
    let mut keys = vec![
        format!("disk.size = {:?}", args.size),
        format!("disk.block = {:?}", args.block),
        format!("disk.entropy = {:?}", args.entropy),
        format!("disk.failures = {:?}", options.errors.get()),
    ];
    let is_export = args.is_export();
    // What an export does not have is refused where it was typed.
    if !is_export || args.buffered {
        keys.push(format!("disk.direct = {}", !args.buffered));
    }
    if args.verify {
        keys.push("disk.verify = true".to_owned());
    }
    if !is_export || args.engine != EngineArg::IoUring {
        keys.extend(args.engine.to_possible_value().map(|v| format!("disk.engine = {:?}", v.get_name())));
    }
    let usual: &[(OpKind, u32)] = if is_export { &READS } else { &[] };
    for (kind, weight) in args.mix.as_deref().unwrap_or(usual) {
        keys.push(format!("disk.mix.{} = {weight}", kind.spec().name));
    }
    keys.extend(args.pattern.to_possible_value().map(|v| format!("disk.pattern = {:?}", v.get_name())));
    keys.extend(args.batch.map(|batch| format!("disk.batch = {batch}")));
    match args.sync {
        SyncArg::None => {}
        SyncArg::Each => keys.push("disk.sync = \"each\"".to_owned()),
        SyncArg::Every(writes) => {
            keys.extend(["disk.sync = \"every\"".to_owned(), format!("disk.sync_every = {writes}")]);
        }
    }
    if let Some(limit) = options.limit() {
        keys.push(format!("disk.limit_ms = {:?}", limit.limit.as_secs_f64() * 1e3));
        keys.push(format!("disk.quantile = {:?}", limit.quantile.get()));
    }
    keys.extend(options.think.map(|think| format!("disk.think_ms = {:?}", think.as_secs_f64() * 1e3)));
    keys.extend(again.map(|path| format!("disk.device_again = {:?}", path.display().to_string())));
    keys
}

fn bytes(text: &str) -> Result<String, String> {
    match size::read(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err("a size is written 4096, 4k, 512m or 1g".to_owned()),
    }
}

fn blocks(text: &str) -> Result<String, String> {
    read_blocks(text).map(|_| text.to_owned())
}

fn part(text: &str) -> Result<f64, String> {
    let part = text.parse().ok().filter(|part| (0.0..=1.0).contains(part));
    part.ok_or_else(|| "a part is a number from 0 to 1".to_owned())
}

fn sync(text: &str) -> Result<SyncArg, String> {
    match (text, text.parse()) {
        ("none", _) => Ok(SyncArg::None),
        ("each", _) => Ok(SyncArg::Each),
        (_, Ok(writes @ 1..=1_000_000)) => Ok(SyncArg::Every(writes)),
        _ => Err("it is none, each, or a number of writes from 1 to 1000000".to_owned()),
    }
}

/// `ReadResult=70,Write=30`; an operation alone has weight 1.
fn mix(text: &str) -> Result<Mix, String> {
    let one = |part: &str| {
        let (name, weight) = part.split_once('=').unwrap_or((part, "1"));
        let kind = OpKind::find(name.trim()).ok_or_else(|| {
            let known = OpKind::ALL.map(|kind| kind.spec().name).join(", ");
            format!("`{}` is not one of {known}", name.trim())
        })?;
        match weight.trim().parse::<u32>() {
            Ok(weight) if (1..=1_000_000).contains(&weight) => Ok((kind, weight)),
            _ => Err(format!("the weight of {} is a whole number from 1 to 1000000", kind.spec().name)),
        }
    };
    let mix: Vec<(OpKind, u32)> = text.split(',').map(one).collect::<Result<_, String>>()?;
    match mix.iter().enumerate().find(|(at, (kind, _))| mix[..*at].iter().any(|(other, _)| other == kind)) {
        Some((_, (kind, _))) => Err(format!("{} is named twice", kind.spec().name)),
        None => Ok(mix.into()),
    }
}

#[cfg(test)]
mod tests {
    use barograph_model::{Nanos, Share};
    use barograph_workload::testing::{plan, typed};
    use barograph_workload::typed::Limit;

    use super::*;
    use crate::places::Pattern;
    use crate::plan::{DiskPlan, Engine, Sync};

    #[test]
    fn a_file_alone_is_a_depth_of_32() {
        let load = typed(&Disk, "/var/tmp/x", &LoadOptions::default()).unwrap();
        assert_eq!((load.title.as_str(), load.users), ("Read 70, Write 30 of 4k on /var/tmp/x", 32));
        let own = DiskPlan::of(&plan(&Disk, &load).unwrap()).clone();
        assert_eq!((own.size, own.largest(), own.direct, own.rules.limit), (1 << 30, 4_096, true, None));
        let batches = typed(&Disk, "x --batch 8", &LoadOptions::default()).unwrap();
        assert_eq!((own.batch, DiskPlan::of(&plan(&Disk, &batches).unwrap()).batch), (1, 8));
        let here = typed(&Disk, "x", &LoadOptions::default()).unwrap();
        assert_eq!(here.url, address(&std::env::current_dir().unwrap().join("x")));
    }

    #[test]
    fn options_reach_the_plan() {
        let limit = Limit { quantile: Share::percent(95.0), percent: 95.0, limit: Nanos(1_500_000) };
        let options = LoadOptions {
            users: Some(10),
            rules: vec![TypedRule::Response(limit)],
            think: Some(Nanos::from_millis(2)),
            ..LoadOptions::default()
        };
        let words = "/dev/x --size 64m --block 8k --mix read,write=2 --pattern hot --buffered --engine threads --sync 16 \
                     --entropy 0.5 --verify --device-again /dev/x";
        let load = typed(&Disk, words, &options).unwrap();
        assert_eq!((load.users, load.title.as_str()), (10, "Read 1, Write 2 of 8k on /dev/x"));
        let own = DiskPlan::of(&plan(&Disk, &load).unwrap()).clone();
        assert_eq!(own.mix, [(OpKind::Read, 1), (OpKind::Write, 2)]);
        assert_eq!((own.size, own.largest(), own.entropy), (64 << 20, 8_192, 0.5));
        let hot = barograph_data::Popularity::Hot { numbers: 0.1, draws: 0.9 };
        assert_eq!(
            (own.pattern, own.engine, own.sync),
            (Pattern::Random(hot), Engine::Threads, Sync::Every(16))
        );
        assert_eq!((own.direct, own.verify, own.device_again.as_str()), (false, true, "/dev/x"));
        assert_eq!((own.rules.limit, own.rules.quantile), (Some(Nanos(1_500_000)), Share::percent(95.0)));
        assert_eq!(own.think, Nanos::from_millis(2));
    }

    #[test]
    fn what_cannot_be_typed_says_why() {
        let why = |words: &str| typed(&Disk, words, &LoadOptions::default()).err().unwrap();
        assert!(why("/x --size 1x").contains("a size is written"));
        assert!(why("/x --block 1000").contains("multiples of 512"));
        assert!(why("/x --mix Trim").contains("is not one of Read, Write, Sync"));
        assert!(why("/x --mix Read=0").contains("from 1 to 1000000"));
        assert!(why("/x --mix Read,Read").contains("named twice"));
        assert!(why("/x --sync often").contains("a number of writes"));
        assert!(why("/x --entropy 2").contains("from 0 to 1"));
    }
}
