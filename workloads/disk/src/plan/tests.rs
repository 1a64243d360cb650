//! Reading, refusing and explaining `[disk]`.

use super::*;
use crate::tests::{plan, refusals};

fn own(text: &str) -> DiskPlan {
    DiskPlan::of(&plan(text)).clone()
}

#[test]
fn an_empty_plan_is_seven_reads_to_three_writes_at_random() {
    let own = own("");
    assert_eq!((own.size, own.blocks.as_slice()), (1 << 30, &[Block { bytes: 4_096, weight: 1 }][..]));
    assert_eq!(own.mix, [(OpKind::Read, 70), (OpKind::Write, 30)]);
    assert_eq!((own.direct, own.engine, own.sync), (true, Engine::IoUring, Sync::None));
    assert_eq!((own.verify, own.entropy, own.rules.limit), (false, 1.0, None));
    assert_eq!(path(&plan("")), std::path::absolute("data/disk-1GiB.data").unwrap());
}

#[test]
fn a_resolved_plan_reads_back_to_the_same() {
    let text = "[disk]\nsize = \"64m\"\nblock = \"4k=60, 64k=40\"\nmix.Write = 2\nmix.Read = 1\npattern = \"hot\"\nhot_blocks = 0.2\n\
                hot_operations = 0.8\nentropy = 0.5\ndirect = false\nengine = \"threads\"\nsync = \"every\"\nsync_every = 7\n\
                think_ms = 2\nlimit_ms = 0.5\nquantile = 0.95\nfailures = 0.1\n";
    let first = plan(text);
    let again = barograph_spec::read(barograph_spec::Catalogue::of(&[&Disk]), "again", &first.resolved, &[]);
    assert_eq!(DiskPlan::of(&again.unwrap()), DiskPlan::of(&first));
    let own = DiskPlan::of(&first);
    assert_eq!(own.blocks, [Block { bytes: 4_096, weight: 60 }, Block { bytes: 65_536, weight: 40 }]);
    assert_eq!((own.engine, own.sync, own.largest()), (Engine::Threads, Sync::Every(7), 65_536));
    assert_eq!(own.kinds(), [OpKind::Read, OpKind::Write, OpKind::Sync]);
}

#[test]
fn what_does_not_go_together_is_refused_with_the_way_out() {
    let refused = |text: &str, key: &str, part: &str| {
        let why = refusals(text);
        assert!(why.contains(&format!("`{key}`")) && why.contains(part), "{text}: {why}");
    };
    refused("[disk]\nsize = \"1x\"\n", "disk.size", "as in \"4k\"");
    refused("[disk]\nsize = \"5k\"\n", "disk.size", "a multiple of all blocks");
    refused("[disk]\nblock = \"1000\"\n", "disk.block", "multiples of 512");
    refused("[disk]\nblock = \"4k=0\"\n", "disk.block", "multiples of 512");
    refused("[disk]\nblock = \"1g\"\n", "disk.block", "up to 64 MiB");
    refused("[disk]\nhot_blocks = 0.5\n", "disk.hot_blocks", "only with disk.pattern = \"hot\"");
    refused("[disk]\nzipf_exponent = 0.5\n", "disk.zipf_exponent", "only with disk.pattern = \"zipf\"");
    refused("[disk]\nquantile = 0.5\n", "disk.quantile", "left out with disk.limit_ms = 0");
    refused("[disk]\nsync_every = 5\n", "disk.sync_every", "only with disk.sync");
    refused("[disk]\nmix.Read = 1\nsync = \"each\"\n", "disk.sync", "left out without Write");
    refused(
        "[disk]\nmix.Write = 1\nmix.Sync = 1\nsync = \"every\"\n",
        "disk.mix.Sync",
        "left out with disk.sync",
    );
    refused("[disk]\nbatch = 2\nengine = \"threads\"\n", "disk.batch", "only with disk.engine");
    let rate = "load.strategy = \"fixed\"\nload.unit = \"rate\"\nload.rate = 5\ndisk.batch = 2\n";
    refused(rate, "disk.batch", "1 at a rate");
    refused("[disk]\nverify = true\nblock = \"4k,8k\"\n", "disk.block", "one size with disk.verify");
    refused("[disk]\nverify = true\nsize = \"1024t\"\n", "disk.size", "at most");
    refused("target.url = \"http://h/\"\n", "target.url", "a file or device by its whole path");
    refused("target.url = \"file://relative\"\n", "target.url", "a file or device by its whole path");
}

#[test]
fn a_plan_says_what_will_happen() {
    let first = plan("target.url = \"file:///var/tmp/x\"\n[disk]\nsync = \"each\"\nverify = true\n");
    assert_eq!(
        DiskPlan::of(&first).explain(&first),
        [
            "work      Read 70.0 %, Write 30.0 %; each as soon as the one before is done",
            "data      blocks of 4 KiB in 1 GiB, at random; 100 % of the bytes random",
            "way       io_uring, past the page cache, each write on the disk before it is done",
            "          blocks are filled before the load, and what is read is compared with what was written",
            "target    /var/tmp/x",
        ]
    );
    let other = plan("[disk]\nbatch = 8\ndirect = false\n");
    assert!(
        DiskPlan::of(&other)
            .explain(&other)
            .join("\n")
            .contains("io_uring in batches of 8, through the page")
    );
    let other =
        plan("[disk]\nblock = \"4k=1,8k=3\"\npattern = \"zipf\"\nengine = \"threads\"\ndirect = false\n");
    let lines = DiskPlan::of(&other).explain(&other).join("\n");
    for words in
        ["4 KiB (1), 8 KiB (3)", "Zipf's law with exponent 0.99", "a thread of each user, through the page"]
    {
        assert!(lines.contains(words), "{words}: {lines}");
    }
}

#[test]
fn a_driver_that_is_a_unit_loads_a_file_in_its_folder() {
    let of_harness = plan("driver.place = \"unit\"\n");
    assert_eq!(Place::of(&of_harness), Place::Unit);
    let mut of_driver = of_harness;
    of_driver.target.url = Some(IN_FOLDER.to_owned());
    let Place::Path(path) = Place::of(&of_driver) else { panic!("{:?}", Place::of(&of_driver)) };
    assert_eq!(path, std::path::absolute(FILE).unwrap());
    let own = Place::of(&plan("target.url = \"file:///x\"\ndriver.place = \"unit\"\n"));
    assert_eq!(own, Place::Path("/x".into()), "which its workload refuses");
    assert!(refusals(&format!("target.url = {IN_FOLDER:?}\n")).contains("by its whole path"));
}
