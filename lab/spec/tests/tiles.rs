//! Tiles in a plan: copies of its loads, levels of tiles loaded one after another, and conflicts.

use barograph_model::{Level, LoadUnit};
use barograph_spec::{Catalogue, Plan, Refusals, WorkloadKeys, explain, read};

/// A workload with an application.
struct Shop;

impl WorkloadKeys for Shop {
    fn name(&self) -> &'static str {
        "shop"
    }
    fn tiers(&self) -> &'static [&'static str] {
        &["web"]
    }
}

/// A workload for any target.
struct Script;

impl WorkloadKeys for Script {
    fn name(&self) -> &'static str {
        "script"
    }
}

const TEXT: &str = "tiles = 2\nseed = 7\n[load]\nstrategy = \"fixed\"\n[[loads]]\nload.users = 4\n\
                    [[loads]]\nname = \"guests\"\nworkload = \"script\"\nload.unit = \"rate\"\nload.rate = 9\n\
                    target.url = \"load:shop\"\n";

fn plan(text: &str, sets: &[&str]) -> Result<Plan, Refusals> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    read(Catalogue::of(&[&Shop, &Script]), "p.toml", text, &sets)
}

fn refused(text: &str, sets: &[&str]) -> Vec<(String, String)> {
    let all = plan(text, sets).map_or_else(|refused| refused.0, |_| Vec::new());
    all.into_iter().map(|refusal| (refusal.key, refusal.allowed)).collect()
}

#[test]
fn each_tile_has_all_loads_with_names_targets_and_seeds_of_its_own() {
    let all = plan(TEXT, &[]).unwrap_or_else(|why| panic!("{why}"));
    let of = |load: &Plan| {
        let tile = load.tile.clone().unwrap();
        (load.load.clone(), tile.member, tile.number, load.target.url.clone(), load.seed_of_users())
    };
    let load = |name: &str, member: &str, tile: u32, url: Option<&str>, seed: u64| {
        (name.to_owned(), member.to_owned(), tile, url.map(str::to_owned), seed)
    };
    let expected = [
        load("shop-1", "shop", 1, None, 7),
        load("guests-1", "guests", 1, Some("load:shop-1"), 7),
        load("shop-2", "shop", 2, None, 8),
        load("guests-2", "guests", 2, Some("load:shop-2"), 8),
    ];
    assert_eq!(all.all().map(of).collect::<Vec<_>>(), expected);
    assert!(all.all().all(|load| load.tiles() == Some(2) && load.seed == 7));
    assert_eq!(all.all().map(|load| load.letter).collect::<Vec<_>>(), [Some('a'), None, Some('b'), None]);
    let again = plan(&all.of_run, &[]).unwrap_or_else(|why| panic!("{why}\n{}", all.of_run));
    assert_eq!(again.of_run, all.of_run);
    assert_eq!(again.all().map(of).collect::<Vec<_>>(), expected);
}

#[test]
fn a_key_of_a_load_is_set_in_every_tile_or_in_one() {
    let users = |sets: &[&str]| -> Vec<u32> {
        let all = plan(TEXT, sets).unwrap_or_else(|why| panic!("{why}"));
        all.all().map(|load| load.whole().unwrap().level.whole()).collect()
    };
    assert_eq!(users(&["loads[0].load.users=5"]), [5, 9, 5, 9]);
    assert_eq!(users(&["loads[2].load.users=5"]), [4, 9, 5, 9]);
    assert_eq!(users(&["tiles=1"]), [4, 9]);
    assert_eq!(plan(TEXT, &["tiles=1"]).unwrap().load, "shop-1", "figures have one name for any number");
    assert_eq!(refused(TEXT, &["loads[4].load.users=5"])[0].0, "loads[4].load.users");
}

#[test]
fn levels_of_tiles_load_one_after_another() {
    let all = plan(TEXT, &["load.scale_of=tiles", "load.scale=150"]).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(all.unit_of_all(), LoadUnit::Tiles);
    let at = |level: u32| -> Vec<f64> {
        all.all().map(|load| f64::from(load.own_level(Level::from(level)))).collect()
    };
    assert_eq!(at(0), [0.0; 4]);
    assert_eq!(at(100), [4.0, 9.0, 0.0, 0.0]);
    assert_eq!(at(150), [4.0, 9.0, 2.0, 4.5]);
    assert_eq!(at(900), [4.0, 9.0, 4.0, 9.0]);
    // A whole tile would do with any level; a part says how far the run is.
    let levels: Vec<u32> = all.all().zip([4, 3, 2, 0]).map(|(load, own)| load.run_level(own)).collect();
    assert_eq!(levels, [u32::MAX, 33, 150, 100]);
    let each = plan(TEXT, &["load.scale=150"]).unwrap();
    assert_eq!(
        each.all().map(|load| f64::from(load.own_level(150.into()))).collect::<Vec<_>>(),
        [6.0, 13.5, 6.0, 13.5]
    );
}

#[test]
fn tiles_are_explained_with_their_reference() {
    let sets = ["load.stagger_s=30", "load.reference=r.toml", "load.ramp_s=10", "load.warm_up_s=0"];
    let all = plan(TEXT, &sets).unwrap_or_else(|why| panic!("{why}"));
    let told = explain(&all);
    assert!(
        told.contains("tiles     2 of shop and guests, ramps 30 s apart; scored against r.toml\n"),
        "{told}"
    );
    // 10 s of ramp after 30 s, a window of 45 s, 5 s of drain.
    assert!(told.contains("at most 1 min 30 s"), "{told}");
    assert_eq!(all.file_of("load.reference", "r.toml".as_ref()).to_str(), Some("r.toml"));
    assert!(explain(&plan(TEXT, &[]).unwrap()).contains("; no score without load.reference\n"));
}

#[test]
fn settings_of_tiles_without_tiles_are_refused() {
    let without = TEXT.replace("tiles = 2\n", "");
    for set in ["load.scale_of=tiles", "load.stagger_s=3", "load.reference=r.toml"] {
        let found = refused(&without, &[set]);
        assert_eq!((found.len(), found[0].1.as_str()), (1, "only with tiles"), "{set}: {found:?}");
    }
    assert_eq!(refused("", &["tiles=2"]), [("tiles".to_owned(), "only with [[loads]]".to_owned())]);
    assert_eq!(refused(TEXT, &["tiles=17"])[0].1, "a whole number from 1 to 16");
}

#[test]
fn tiles_are_numbered_by_the_plan_or_copied() {
    let numbered = |tiles: [u32; 2]| {
        let [one, other] = tiles.map(|tile| format!("[[loads]]\nload.users = 4\ntile = {tile}\n"));
        format!("load.strategy = \"fixed\"\n{one}name = \"a\"\n{other}name = \"b\"\n")
    };
    assert_eq!(plan(&numbered([1, 2]), &[]).unwrap().tiles(), Some(2));
    let gap = ("loads".to_owned(), "tiles from 1 on, each with a load".to_owned());
    assert_eq!(refused(&numbered([1, 3]), &[]), [gap]);
    let copied = "left out with `tiles`, which copies and numbers all loads";
    assert_eq!(refused(&numbered([1, 2]), &["tiles=2"]), [("loads[0].tile".to_owned(), copied.to_owned())]);
    let many = format!("{TEXT}{}", "[[loads]]\nload.users = 4\n".repeat(3));
    let most = "at most 12: a tile has 5 loads, and a run up to 64";
    assert_eq!(refused(&many, &["tiles=13"]), [("tiles".to_owned(), most.to_owned())]);
}

#[test]
fn the_name_of_a_load_is_refused_as_it_was_written() {
    let named = |name: &str| TEXT.replace("name = \"guests\"", &format!("name = {name:?}"));
    let of = |text: &str| {
        let refused = plan(text, &[]).unwrap_err().0;
        (refused[0].place.clone(), refused[0].value.clone(), refused[0].allowed.clone())
    };
    let allowed = "up to 62 letters, digits and hyphens, and no other load of this name".to_owned();
    assert_eq!(of(&named("a b")), ("p.toml:8".to_owned(), "\"a b\"".to_owned(), allowed.clone()));
    let long = "n".repeat(63);
    assert_eq!(of(&named(&long)), ("p.toml:8".to_owned(), format!("{long:?}"), allowed));
    assert!(plan(&named(&long[1..]), &[]).is_ok());
}

#[test]
fn a_refused_load_does_not_make_keys_of_tiles_wrong() {
    let refused = refused(TEXT, &["load.reference=r.toml", "load.stagger_s=3", "loads[0].load.users=0"]);
    let keys: Vec<&str> = refused.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["loads[0].load.users", "loads[2].load.users"]);
}

#[test]
fn instances_are_copies_of_the_only_load_of_a_plan() {
    let text = "instances = 3\nseed = 7\n[load]\nstrategy = \"fixed\"\nusers = 4\n";
    let all = plan(text, &[]).unwrap_or_else(|why| panic!("{why}"));
    let of = |load: &Plan| (load.load.clone(), load.whole().unwrap().level.whole(), load.seed_of_users());
    let expected = [("shop-1", 4, 7), ("shop-2", 4, 8), ("shop-3", 4, 9)];
    let expected = expected.map(|(name, users, seed)| (name.to_owned(), users, seed));
    assert_eq!(all.all().map(of).collect::<Vec<_>>(), expected);
    assert!(all.all().all(|load| load.tiles() == Some(3) && load.letter.is_some()));
    let again = plan(&all.of_run, &[]).unwrap_or_else(|why| panic!("{why}\n{}", all.of_run));
    assert!(again.of_run == all.of_run && again.of_run.starts_with("instances = 3\n"), "{}", again.of_run);
    let other = plan(text, &["loads[1].load.users=9"]).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(other.all().map(|load| load.whole().unwrap().level.whole()).collect::<Vec<_>>(), [4, 9, 4]);
    let one = plan(text, &["instances=1"]).unwrap_or_else(|why| panic!("{why}"));
    assert!(one.beside.is_empty() && one.tile.is_none() && one.load.is_empty());
    for (text, sets, key, allowed) in [
        (text, &["instances=17"][..], "instances", "a whole number from 1 to 16"),
        (text, &["tiles=2"], "instances", "left out with tiles"),
        (TEXT, &["instances=2"], "instances", "left out with [[loads]]"),
        (TEXT, &["loads[0].instances=2"], "loads[0].instances", "left out in [[loads]]"),
    ] {
        assert_eq!(refused(text, sets)[0], (key.to_owned(), allowed.to_owned()), "{sets:?}");
    }
}

#[test]
fn actions_on_parts_of_a_load_are_those_of_every_tile() {
    let act = |unit: &str| format!("{{at_s=5,unit={unit:?},act=\"kill\",every_s=9}}");
    let two_shops = TEXT
        .replace("name = \"guests\"\nworkload = \"script\"", "name = \"shop-b\"")
        .replace("target.url = \"load:shop\"\n", "");
    let units = |text: &str, sets: &[&str], named: &[&str]| -> Vec<String> {
        let list: Vec<String> = named.iter().map(|unit| act(unit)).collect();
        let list = format!("actions=[{}]", list.join(","));
        let sets: Vec<&str> = sets.iter().copied().chain([list.as_str()]).collect();
        let all = plan(text, &sets).unwrap_or_else(|why| panic!("{why}"));
        let again = plan(&all.of_run, &[]).unwrap_or_else(|why| panic!("{why}\n{}", all.of_run));
        assert_eq!(again.actions, all.actions, "a resolved plan has them once");
        assert!(
            all.actions.iter().all(|action| action.every.is_some_and(|every| every.as_secs_f64() == 9.0))
        );
        all.actions.iter().map(|action| action.unit.clone()).collect()
    };
    assert_eq!(units(&two_shops, &[], &["shop-web-1"]), ["shop-1-web-1", "shop-2-web-1"]);
    assert_eq!(units(&two_shops, &["tiles=1"], &["shop-web-1"]), ["shop-1-web-1"]);
    assert_eq!(
        units(&two_shops, &[], &["shop-b-web", "shop-2-web"]),
        ["shop-b-1-web", "shop-2-web", "shop-b-2-web"],
        "a part of one tile stays"
    );
    // One load deploys: in one tile its parts have no name of a load.
    assert_eq!(units(TEXT, &["tiles=1"], &["web-1"]), ["web-1"]);
    assert_eq!(units(TEXT, &[], &["web-1"]), ["shop-1-web-1", "shop-2-web-1"]);
    let alone = "instances = 2\n[load]\nstrategy = \"fixed\"\nusers = 4\n";
    assert_eq!(units(alone, &[], &["web-1", "shop-2-web"]), ["shop-1-web-1", "shop-2-web", "shop-2-web-1"]);
    let often = [&format!("actions=[{}]", act("shop-web-1").replace("=9", "=0.5"))[..]];
    assert_eq!(refused(&two_shops, &often)[0].1, "at least 1 s, or 0 for once");
}
