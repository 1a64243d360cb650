//! Tiles: copies of all loads of a plan, each copy with a number.

use std::collections::BTreeSet;
use std::path::PathBuf;

use barograph_model::{Level, LoadUnit, Nanos};

use crate::catalogue::Catalogue;
use crate::plan::{LONGEST_S, Plan};
use crate::settings_reader::SettingsReader;
use crate::{actions, loads};

/// Most tiles of one run.
pub(crate) const MOST: u64 = 16;

/// The key for copies of the only load of a plan.
pub(crate) const INSTANCES: &str = "instances";

/// A whole tile, in percent.
pub const WHOLE_TILE: u32 = 100;

/// Percent from which a tile counts as whole: users and starts of an interval scatter.
const WHOLE_FROM: u32 = 90;

/// Prefix of a target that another load of the same plan deploys.
const OF_LOAD: &str = "load:";

/// The place of a load among tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TilePlan {
    /// Number of its tile, from 1.
    pub number: u32,
    /// Name of the load within its tile: the same in each.
    pub member: String,
    /// Number of tiles of the run.
    pub of: u32,
}

impl TilePlan {
    /// The tile of a load called `name`, such as `shop-2` in tile 2.
    fn of(number: u32, name: &str) -> Self {
        let member = name.strip_suffix(&format!("-{number}")).unwrap_or(name);
        TilePlan { number, member: member.to_owned(), of: number }
    }
}

/// Settings of `[load]` for tiles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TileLoadPlan {
    /// Whether levels are percent of a tile, and tiles are loaded one after another.
    pub(crate) one_by_one: bool,
    /// Time between the beginnings of the ramps of two tiles.
    pub(crate) stagger: Nanos,
    /// File of the reference rates.
    pub(crate) reference: Option<PathBuf>,
}

/// Reads the settings of `[load]` for tiles; they belong to `several` loads only.
pub(crate) fn of_load(g: &mut SettingsReader, several: bool) -> Option<TileLoadPlan> {
    for key in ["load.scale_of", "load.stagger_s", "load.reference"] {
        g.only_with(key, several, "[[loads]]");
    }
    let scale_of = g.choice("load.scale_of", &["loads", "tiles"], "loads");
    let stagger = g.number("load.stagger_s", 0..=LONGEST_S, 0);
    let reference = g.optional_word("load.reference", "a file with the rates of a tile of a reference");
    Some(TileLoadPlan {
        one_by_one: scale_of? == "tiles",
        stagger: Nanos::from_secs(stagger?),
        reference: reference?.map(PathBuf::from),
    })
}

/// Makes the list of a plan with several instances: a table for each, without keys of its own. `false` if
/// their number is refused.
pub(crate) fn instances(given: &mut SettingsReader, list: &str, catalogue: Catalogue<'_>) -> bool {
    let has_list = given.has_list(list);
    let Some(count) = given.number(INSTANCES, 1..=MOST, 1) else { return false };
    // The resolved plan of a run with instances has both.
    let is_resolved = given.count_of(list) as u64 == count && given.stands(&format!("{list}[0].tile"));
    if has_list && count > 1 && !is_resolved {
        let allowed = format!("left out with [[{list}]]");
        given.refuse(INSTANCES, count, &allowed, "leave it out, or set tiles");
        return false;
    }
    if !has_list && count > 1 {
        if given.stands("tiles") {
            given.refuse(INSTANCES, count, "left out with tiles", "leave one of the two out");
            return false;
        }
        given.add_list(list);
        copy(given, list, count as usize, catalogue);
    }
    true
}

/// The line of a resolved plan that says how many instances were asked for; empty for one.
pub(crate) fn copied(given: &SettingsReader) -> String {
    given.asked(INSTANCES).map_or_else(String::new, |count| format!("{INSTANCES} = {count}\n"))
}

/// Copies the tables of the list for each tile, with names and numbers; `false` if the number of tiles is
/// refused. Without `tiles` the list stays as it is.
pub(crate) fn multiply(given: &mut SettingsReader, list: &str, catalogue: Catalogue<'_>) -> bool {
    if !given.stands("tiles") {
        return true;
    }
    let Some(tiles) = given.number("tiles", 1..=MOST, 1) else { return false };
    let members = given.count_of(list);
    let mut keys = (0..members).map(|at| format!("{list}[{at}].tile"));
    if let Some(key) = keys.find(|key| given.stands(key)) {
        let allowed = "left out with `tiles`, which copies and numbers all loads";
        given.refuse_given(&key, allowed, "leave one of the two out");
        return false;
    }
    if members * tiles as usize > loads::MOST {
        let most = loads::MOST;
        let allowed =
            format!("at most {}: a tile has {members} loads, and a run up to {most}", most / members);
        given.refuse("tiles", tiles, &allowed, "set fewer tiles");
        return false;
    }
    copy(given, list, tiles as usize, catalogue);
    true
}

fn copy(given: &mut SettingsReader, list: &str, tiles: usize, catalogue: Catalogue<'_>) {
    let members = given.count_of(list);
    let names: Vec<String> = (0..members).map(|at| name_of(given, list, at, catalogue)).collect();
    let deployed = (0..members).filter(|at| loads::deploys(given, *at, catalogue));
    let deployed: Vec<String> = deployed.map(|at| names[at].clone()).collect();
    let place = given.name().to_owned();
    given.copy_tables(list, tiles);
    // Parts of an only application have no name of a load.
    if deployed.len() * tiles > 1 {
        copy_actions(given, &deployed, tiles);
    }
    for at in 0..members * tiles {
        let (number, member) = (at / members + 1, &names[at % members]);
        let element = format!("{list}[{at}]");
        let url = given.text(&format!("{element}.target.url")).or_else(|| given.text("target.url"));
        let of = url.and_then(|url| url.strip_prefix(OF_LOAD)).filter(|of| names.iter().any(|n| n == of));
        if let Some(of) = of.map(|of| format!("{OF_LOAD}{of}-{number}")) {
            given.set_at(&format!("{element}.target.url"), &format!("{of:?}"), &place);
        }
        let name = format!("{element}.name");
        let place = given.place_of(&name);
        given.set_at(&name, &format!("{:?}", format!("{member}-{number}")), &place);
        given.set_at(&format!("{element}.tile"), &number.to_string(), &place);
    }
}

/// Copies actions on a part of a load for each tile: on `shop-web` of two tiles for `shop-1-web` and
/// `shop-2-web`. Where one load deploys, its parts need no name of it.
fn copy_actions(given: &mut SettingsReader, names: &[String], tiles: usize) {
    for list in actions::LISTS {
        for at in 0..given.count_of(list) {
            let key = format!("{list}[{at}].unit");
            let Some((member, part)) = given.text(&key).and_then(|unit| member_of(unit, names)) else {
                continue;
            };
            let unit = |tile: usize| format!("\"{member}-{tile}-{part}\"");
            let place = given.place_of(&key);
            for tile in 2..=tiles {
                let copy = given.copy_table(list, at);
                given.set_at(&format!("{copy}.unit"), &unit(tile), &place);
            }
            given.set_at(&key, &unit(1), &place);
        }
    }
}

/// The load of a part in every tile, with the name of the part in it; `None` for a part of one tile, which
/// has its number.
fn member_of(unit: &str, names: &[String]) -> Option<(String, String)> {
    let of =
        |name: &String| Some((name.clone(), unit.strip_prefix(name.as_str())?.strip_prefix('-')?.to_owned()));
    let found = names.iter().filter_map(of).max_by_key(|(name, _)| name.len());
    let only = || (names.len() == 1).then(|| (names[0].clone(), unit.to_owned()));
    let has_number = |(_, part): &(String, String)| part.starts_with(|c: char| c.is_ascii_digit());
    found.or_else(only).filter(|found| !has_number(found))
}

/// Name of a load within its tile.
fn name_of(given: &SettingsReader, list: &str, at: usize, catalogue: Catalogue<'_>) -> String {
    let own = |key: &str| given.text(&format!("{list}[{at}].{key}"));
    let default = || catalogue.workloads.first().map_or("", |keys| keys.name());
    let name = own("name").or_else(|| own("workload")).or_else(|| given.text("workload"));
    name.unwrap_or_else(default).to_owned()
}

/// Reads the number of the tile of a load; `None` without tiles.
pub(crate) fn of_element(each: &mut SettingsReader, name: &str) -> Option<TilePlan> {
    if !each.stands("tile") {
        return None;
    }
    let number = each.number("tile", 1..=MOST, 1)?;
    Some(TilePlan::of(number as u32, name))
}

/// Refuses settings for tiles in a plan without tiles; otherwise each load learns their number, and the
/// positions of the keys of the run.
pub(crate) fn check(whole: &mut SettingsReader, shape: &TileLoadPlan, loads: &mut [Plan]) {
    let numbers: BTreeSet<u32> = loads.iter().filter_map(|load| Some(load.tile.as_ref()?.number)).collect();
    let tiles = numbers.last().copied();
    if let Some(missing) = (1..tiles.unwrap_or(1)).find(|number| !numbers.contains(number)) {
        let (value, allowed) = (format!("no load of tile {missing}"), "tiles from 1 on, each with a load");
        whole.refuse(loads::LIST, value, allowed, "number the tiles without a gap");
    }
    for tile in loads.iter_mut().filter_map(|load| load.tile.as_mut()) {
        tile.of = tiles.unwrap_or(1);
    }
    for load in loads {
        load.places.extend(whole.places());
    }
    let used = [
        ("load.scale_of", shape.one_by_one),
        ("load.stagger_s", shape.stagger > Nanos::ZERO),
        ("load.reference", shape.reference.is_some()),
    ];
    for (key, _) in used.into_iter().filter(|(_, used)| *used && tiles.is_none()) {
        whole.refuse_asked(key, "only with tiles", "set tiles = 1, or more, or leave it out");
    }
}

impl Plan {
    /// This load's own level at a level of the run.
    #[must_use]
    pub fn own_level(&self, level: Level) -> Level {
        let Some(whole) = self.whole() else { return level };
        let scale = self.scale_at(level);
        if self.is_trace() && scale > Level::ZERO { whole.level } else { whole.scaled(scale) }
    }

    /// Percent of the load's own level at a level of the run of several loads.
    fn scale_at(&self, level: Level) -> Level {
        if self.unit_of_all() != LoadUnit::Tiles {
            return level;
        }
        let below = Level::from(WHOLE_TILE * self.tiles_before()).thousandths();
        let above = level.thousandths().saturating_sub(below);
        Level::of_thousandths(above.min(Level::from(WHOLE_TILE).thousandths()))
    }

    /// Level of the run at which this load has its own level `own`; the highest number if any higher level
    /// would do.
    #[must_use]
    pub fn run_level(&self, own: u32) -> u32 {
        let Some(whole) = self.whole() else { return own };
        let scale = whole.scale_of(own);
        match self.unit_of_all() {
            _ if self.is_trace() => u32::MAX,
            LoadUnit::Tiles if scale >= WHOLE_FROM => u32::MAX,
            LoadUnit::Tiles => WHOLE_TILE * self.tiles_before() + scale,
            _ => scale,
        }
    }

    /// Tiles that are loaded before that of this load; 0 for a load of no tile.
    fn tiles_before(&self) -> u32 {
        self.tile.as_ref().map_or(0, |tile| tile.number - 1)
    }

    /// Number of tiles of the run; `None` without tiles, or for a load of none.
    #[must_use]
    pub fn tiles(&self) -> Option<u32> {
        Some(self.tile.as_ref()?.of)
    }

    /// Seed of the users of this load, which differs by tile.
    #[must_use]
    pub fn seed_of_users(&self) -> u64 {
        self.seed.wrapping_add(self.tiles_before().into())
    }
}
