//! Platforms, limits and links, and conflicts between them.

use barograph_spec::{
    Ability, ActionKind, Catalogue, Plan, PlatformKind, Refusals, Resize, WorkloadKeys, explain, read,
};

/// A workload whose application has two tiers.
struct Shop;

impl WorkloadKeys for Shop {
    fn name(&self) -> &'static str {
        "shop"
    }
    fn tiers(&self) -> &'static [&'static str] {
        &["web", "store"]
    }
}

/// A platform without hosts of its own, one with links, one whose hosts are machines, and a cluster.
const PLATFORMS: [PlatformKind; 4] = [
    PlatformKind { name: "here", abilities: &[Ability::Disks] },
    PlatformKind {
        name: "linked",
        abilities: &[Ability::Hosts, Ability::Links, Ability::Offloads, Ability::Disks, Ability::DiskRates],
    },
    PlatformKind {
        name: "guests",
        abilities: &[Ability::Hosts, Ability::Machines, Ability::Links, Ability::Moves],
    },
    PlatformKind { name: "cluster", abilities: &[Ability::Hosts, Ability::Pods] },
];

const CATALOGUE: Catalogue<'static> = Catalogue { workloads: &[&Shop], platforms: &PLATFORMS };

fn plan(text: &str) -> Result<Plan, Refusals> {
    read(CATALOGUE, "p.toml", text, &[])
}

fn refusal(text: &str) -> (String, String) {
    let refused = plan(text).unwrap_err();
    let first = &refused.0[0];
    (first.key.clone(), first.allowed.clone())
}

#[test]
fn a_plan_as_resolved_reads_back_to_itself() {
    let text = "platform = \"linked\"\ndeploy.link_mbit = 10\ndeploy.web_cores = \"0-1\"\n\
                [[actions]]\nat_s = 3.5\nunit = \"web-1\"\nact = \"kill\"\nlimit_s = 2.5\n\
                [[actions]]\nat_s = 2\nunit = \"store-1\"\nact = \"delay\"\ndelay_ms = 12.5\n\
                [[actions]]\nat_s = 9\nact = \"heal\"\n\
                [[actions]]\nat_s = 10\nunit = \"web-1\"\nact = \"fill-disk\"\n\
                [[actions]]\nat_s = 11\nunit = \"web-1\"\nact = \"free-disk\"\n\
                [[actions]]\nat_s = 12\nunit = \"web-1\"\nact = \"memory\"\nmemory_mib = 64\n\
                [[actions]]\nat_s = 13\nunit = \"web-1\"\nact = \"memory\"\n\
                [[actions]]\nat_s = 14\nunit = \"web-1\"\nact = \"resize\"\ncpus = 0.5\nmemory_mib = 32\n\
                [[actions]]\nat_s = 15\nunit = \"web-1\"\nact = \"stop\"\n\
                [[actions]]\nat_s = 16\nunit = \"web\"\nact = \"scale\"\ncount = 3\n";
    let first = plan(text).unwrap();
    let second = plan(&first.resolved).unwrap();
    assert_eq!((&first.deploy, &first.actions), (&second.deploy, &second.actions));
    let acts: Vec<&str> = first.actions.iter().map(|f| f.act.name()).collect();
    assert_eq!(
        acts,
        ["delay", "kill", "heal", "fill-disk", "free-disk", "resize", "resize", "resize", "stop", "scale"]
    );
    assert_eq!([0, 1].map(|at| first.actions[at].limit.map(|limit| limit.as_secs_f64())), [None, Some(2.5)]);
    assert_eq!(first.actions[9].act, ActionKind::Scale(3));
    let resized: Vec<ActionKind> = first.actions[5..8].iter().map(|action| action.act.clone()).collect();
    let resize = |cpus, memory_mib| ActionKind::Resize(Resize { cpus, memory_mib });
    assert_eq!(resized, [resize(None, Some(64)), resize(None, Some(0)), resize(Some(0.5), Some(32))]);
    assert!(matches!(first.actions[0].act, ActionKind::Delay(d) if d.as_secs_f64() == 0.0125));
}

#[test]
fn the_old_name_of_the_list_is_read_and_not_beside_the_new_one() {
    let table = "at_s = 3.0\nunit = \"web-1\"\nact = \"kill\"\n";
    let (old, new) = (format!("[[faults]]\n{table}"), format!("[[actions]]\n{table}"));
    let (first, second) = (plan(&old).unwrap(), plan(&new).unwrap());
    assert_eq!(first.actions, second.actions);
    assert_eq!(first.resolved, second.resolved);
    let refused = plan(&format!("{old}{new}")).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "p.toml:1: `faults` = 1 tables\n  allowed: left out in a plan with `actions`, the name of the same list\n  to do:   \
         move its tables to `actions`"
    );
    assert_eq!(refusal("[[faults]]\nat_s = 1\nunit = \"a\"\nact = \"burn\"").0, "faults[0].act");
}

#[test]
fn an_act_that_a_platform_cannot_do_is_refused_with_those_that_can() {
    for act in [
        "act = \"move\"",
        "act = \"move-disk\"",
        "act = \"move-with-disk\"",
        "act = \"snapshot\"\nname = \"a\"",
    ] {
        let text = format!("[[actions]]\nat_s = 1\nunit = \"web-1\"\n{act}\n");
        let allowed = "this act only with platform = \"guests\", whose hosts can be moved, cloned and taken back while they run";
        assert_eq!(
            refusal(&format!("platform = \"linked\"\n{text}")),
            ("actions[0].act".to_owned(), allowed.to_owned())
        );
        let first = plan(&format!("platform = \"guests\"\n{text}")).unwrap();
        assert_eq!(plan(&first.resolved).unwrap().actions, first.actions);
    }
}

#[test]
fn a_node_is_drained_only_in_a_cluster() {
    let drain = "[[actions]]\nat_s = 1\nunit = \"web-1\"\nact = \"drain\"\n";
    let undrain = "[[actions]]\nat_s = 2\nact = \"undrain\"\n";
    let allowed = "this act only with platform = \"cluster\", whose parts are pods of a cluster";
    for text in [drain, undrain] {
        let refused = refusal(&format!("platform = \"here\"\n{text}"));
        assert_eq!(refused, ("actions[0].act".to_owned(), allowed.to_owned()));
    }
    let first = plan(&format!("platform = \"cluster\"\n{drain}{undrain}")).unwrap();
    let acts: Vec<(&ActionKind, &str)> = first.actions.iter().map(|a| (&a.act, a.unit.as_str())).collect();
    assert_eq!(acts, [(&ActionKind::Drain, "web-1"), (&ActionKind::Undrain, "")]);
    assert_eq!(plan(&first.resolved).unwrap().actions, first.actions);
    let (key, _) = refusal(&format!("platform = \"cluster\"\n{}", drain.replace("unit = \"web-1\"\n", "")));
    assert_eq!(key, "actions[0].unit");
}

#[test]
fn a_refused_value_is_the_one_that_was_written() {
    for written in ["0.5", "0.07", "12"] {
        let refused = plan(&format!("deploy.link_delay_ms = {written}")).unwrap_err();
        assert_eq!(refused.0[0].value, written);
    }
}

#[test]
fn what_does_not_go_together_is_refused_with_its_key() {
    let wrong = [
        ("deploy.link_delay_ms = 5", "deploy.link_delay_ms"),
        ("platform = \"here\"\ndeploy.link_loss = 0.1", "deploy.link_loss"),
        ("platform = \"moon\"", "platform"),
        ("[[actions]]\nat_s = 1\nact = \"kill\"", "actions[0].unit"),
        ("[[actions]]\nat_s = 1\nact = \"heal\"", "actions[0].act"),
        ("platform = \"guests\"\n[[actions]]\nat_s = 1\nunit = \"a\"\nact = \"fill-disk\"", "actions[0].act"),
        ("[[actions]]\nat_s = 1\nunit = \"a\"\nact = \"burn\"", "actions[0].act"),
        ("[[actions]]\nat_s = 1\nunit = \"a\"\nact = \"kill\"\ndelay_ms = 3", "actions[0].delay_ms"),
        ("[[actions]]\nat_s = 1\nunit = \"a\"\nact = \"cpus\"\nmemory_mib = 3", "actions[0].memory_mib"),
        ("[[actions]]\nat_s = 1\nunit = \"a\"\nact = \"memory\"\nmemory_mib = 0.5", "actions[0].memory_mib"),
        ("[[actions]]\nat_s = 1\nunit = \"a\"\nact = \"resize\"", "actions[0].act"),
        ("[[actions]]\nat_s = 1\nunit = \"a\"\nact = \"stop\"\nname = \"b\"", "actions[0].name"),
        ("[[actions]]\nat_s = 1\nunit = \"a\"\nact = \"scale\"", "actions[0].act"),
        ("[[actions]]\nat_s = 1\nunit = \"a\"\nact = \"scale\"\ncount = 0", "actions[0].count"),
        ("[[actions]]\nat_s = 1\nunit = \"a\"\nact = \"start\"\ncount = 2", "actions[0].count"),
        (
            "platform = \"guests\"\n[[actions]]\nat_s = 1\nunit = \"a\"\nact = \"clone\"\nname = \"B/c\"",
            "actions[0].name",
        ),
    ];
    for (text, key) in wrong {
        assert_eq!(refusal(text).0, key, "{text}");
    }
}

#[test]
fn each_wrong_action_is_refused_at_its_line_and_no_other() {
    let text = "[[actions]]\nat_s = 1\nunit = \"web-1\"\nact = \"burn\"\ncount = 2\n\
                [[actions]]\nat_s = 2\nact = \"kill\"\n\
                [[actions]]\nat_s = 3\nunit = \"web-1\"\nact = \"kill\"\n\
                [[actions]]\nat_s = -1\nunit = \"web-1\"\nact = \"stop\"\n";
    let refused = plan(text).unwrap_err().0;
    let places: Vec<(&str, &str)> = refused.iter().map(|r| (r.place.as_str(), r.key.as_str())).collect();
    let wrong =
        [("p.toml:4", "actions[0].act"), ("p.toml:6", "actions[1].unit"), ("p.toml:14", "actions[3].at_s")];
    assert_eq!(places, wrong);
    let kept = plan(
        &text
            .replace("burn\"\ncount = 2", "kill\"")
            .replace("2\nact", "2\nunit = \"web-2\"\nact")
            .replace("-1", "0"),
    );
    let indices: Vec<Option<usize>> = kept.unwrap().actions.iter().map(|action| action.index).collect();
    assert_eq!(indices, [Some(3), Some(0), Some(1), Some(2)], "by time");
}

#[test]
fn links_go_with_every_platform_that_has_them() {
    let (_, allowed) = refusal("deploy.link_delay_ms = 5");
    let links =
        "0, unless platform = \"linked\" or \"guests\", whose links can be limited, slow, lossy and cut";
    assert_eq!(allowed, links);
    let unlisted = Catalogue::of(&[&Shop]);
    let sets = ["platform=moon", "deploy.link_mbit=1"].map(str::to_owned);
    assert!(read(unlisted, "p.toml", "", &sets).is_ok(), "of a platform that is not known nothing is asked");
    for platform in ["linked", "guests"] {
        let text = format!("platform = {platform:?}\ndeploy.link_delay_ms = 5\ndeploy.link_loss = 0.01");
        let plan = plan(&text).unwrap();
        assert_eq!((plan.deploy.link.delay.0, plan.deploy.link.loss), (5_000_000, 0.01), "{platform}");
    }
}

#[test]
fn offloads_go_with_platforms_that_set_them() {
    let text = "platform = \"linked\"\ndeploy.web_offloads = \"gro=on, tso=off\"";
    let first = plan(text).unwrap();
    let of = |plan: &Plan| plan.deploy.limits_of("web").unwrap().offloads.to_string();
    assert_eq!(of(&first), "tso=off,gro=on");
    assert_eq!(of(&plan(&first.resolved).unwrap()), "tso=off,gro=on");
    assert!(explain(&first).contains("each part of web: a link end with tso=off,gro=on"));
    let (key, allowed) = refusal("platform = \"here\"\ndeploy.web_offloads = \"gro=on\"");
    assert_eq!(key, "deploy.web_offloads");
    assert_eq!(
        allowed,
        "left out, unless platform = \"linked\", whose link ends have offloads that can be set"
    );
    assert!(refusal("deploy.web_offloads = \"gro=1\"").1.contains("tso, gso, gro and lro are on or off"));
}

#[test]
fn rates_of_disks_go_with_platforms_that_limit_them() {
    let first = plan("platform = \"linked\"\ndeploy.store_disk_mb_s = 0.5").unwrap();
    assert_eq!(first.deploy.limits_of("store").unwrap().disk_mb_s, 0.5);
    assert_eq!(plan(&first.resolved).unwrap().deploy, first.deploy);
    assert!(explain(&first).contains("each part of store: 0.5 MB/s of each disk, each way"));
    for platform in ["here", "guests", "cluster"] {
        let (key, allowed) = refusal(&format!("platform = {platform:?}\ndeploy.store_disk_mb_s = 2"));
        assert_eq!(key, "deploy.store_disk_mb_s");
        let words = "0, unless platform = \"linked\", whose parts can have a limited rate of disks";
        assert_eq!(allowed, words, "{platform}");
    }
    assert_eq!(
        refusal("platform = \"linked\"\ndeploy.web_disk_mb_s = 0.001").1,
        "0 for none, or at least 0.01"
    );
}

#[test]
fn programs_of_a_tier_are_in_a_folder() {
    let first = plan("platform = \"here\"\ndeploy.store_programs = \"/opt/store-2/bin\"").unwrap();
    let folder = &first.deploy.limits_of("store").unwrap().programs;
    assert_eq!(folder.as_deref(), Some(std::path::Path::new("/opt/store-2/bin")));
    assert_eq!(plan(&first.resolved).unwrap().deploy, first.deploy);
    assert!(explain(&first).contains("each part of store: programs of /opt/store-2/bin"));
    let (key, allowed) = refusal("deploy.store_programs = \"bin\"");
    let wanted = "the absolute path of a folder with programs";
    assert_eq!((key.as_str(), allowed.as_str()), ("deploy.store_programs", wanted));
    assert_eq!(refusal("deploy.driver_programs = \"/opt\"").0, "deploy.driver_programs");
}

#[test]
fn cores_are_read_in_any_form_and_kept_in_one() {
    for (written, kept) in [("\"0-3,6\"", "0-3,6"), ("\"0,1,2\"", "0-2"), ("2", "2"), ("\"\"", "")] {
        let first = plan(&format!("deploy.web_cores = {written}")).unwrap();
        let limits = first.deploy.limits_of("web").unwrap();
        assert_eq!(limits.cores.to_string(), kept, "{written}");
        assert!(first.resolved.contains(&format!("\nweb_cores = {kept:?}\n")), "{}", first.resolved);
        assert_eq!(plan(&first.resolved).unwrap().deploy, first.deploy, "{written}");
    }
    // Without quotes, as in a shell.
    let sets = ["deploy.driver_cores=0-1", "deploy.web_cores=0,2", "driver.place=unit"];
    let deploy = read(CATALOGUE, "p.toml", "", &sets.map(str::to_owned)).unwrap().deploy;
    let cores = |tier: &str| deploy.limits_of(tier).unwrap().cores.numbers().to_vec();
    assert_eq!((cores("driver"), cores("web"), cores("store")), (vec![0, 1], vec![0, 2], vec![]));
}

#[test]
fn a_set_of_cores_that_is_none_is_refused_with_its_place_and_what_is_allowed() {
    let refused = plan("[deploy]\nhosts = \"apart\"\nweb_cores = \"3-1\"\n").unwrap_err();
    assert_eq!(
        refused.to_string(),
        "p.toml:3: `deploy.web_cores` = \"3-1\"\n  allowed: numbers and ranges of cores, ascending, each core at \
         most once, up to 1023, as in \"0-3,6\"; empty for all\n  to do:   give `deploy.web_cores` such a value, \
         or leave it out for the default"
    );
    for wrong in ["\"0,0\"", "\"1024\"", "-1", "0.5", "[0, 1]", "true"] {
        assert_eq!(refusal(&format!("deploy.web_cores = {wrong}")).0, "deploy.web_cores", "{wrong}");
    }
}

#[test]
fn parts_of_one_virtual_machine_have_no_cores_of_their_own() {
    let text = "platform = \"guests\"\ndeploy.store_cores = \"0\"\n";
    assert!(plan(text).is_ok());
    let (key, allowed) = refusal(&format!("{text}deploy.hosts = \"together\""));
    assert_eq!(key, "deploy.store_cores");
    assert!(allowed.contains("all parts are in one virtual machine"), "{allowed}");
    let drivers = "platform = \"guests\"\ndeploy.hosts = \"together\"\ndriver.place = \"unit\"\ndeploy.driver_cores = 0";
    assert!(plan(drivers).is_ok(), "drivers have machines of their own");
}

#[test]
fn limits_and_how_much_an_action_changes_are_explained() {
    let says = |text: &str| explain(&plan(text).unwrap());
    let text = "deploy.web_cpus = 0.5\ndeploy.web_cores = \"0,1\"\ndeploy.web_memory_mib = 512\n\
                [[actions]]\nat_s = 5\nunit = \"web-1\"\nact = \"memory\"\nmemory_mib = 64\n";
    let told = says(text);
    let limits = "limits    each part of web: CPU time of 0.5 cores, on cores 0-1, 512 MiB of memory\n";
    assert!(told.contains(limits), "{told}");
    assert!(told.contains("action    resize to 64 MiB web-1 at 5 s of the load\n"), "{told}");
    let told = says("platform = \"guests\"\ndeploy.web_cores = 0");
    assert!(told.contains("each part of web: a virtual machine on cores 0\n"), "{told}");
    assert!(!says("").contains("limits  "));
}
