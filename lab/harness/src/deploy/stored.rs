//! Stores that start with the data loaded by an earlier run.
//!
//! After the job that loads the stores and before the application starts, the stores are ended in order,
//! their folders copied into a snapshot, and the stores started again. A later run with the same recipe
//! copies the folders back and omits the job. Both runs begin with freshly started stores on the same bytes,
//! and neither changes them for the next.

use std::path::{Path, PathBuf};

use barograph_model::words::in_one_line;
use barograph_platform::{Platform, StopSignal, UnitExit};
use barograph_record::SnapshotRecord;
use barograph_spec::Plan;
use barograph_workload::topology::{Part, PartWork, StoredData, Topology};

use super::deployment::{Deployment, StartedPart};
use super::placement::PlacedPart;
use super::planned::PlannedApplication;
use super::{recipe, start};
use crate::HarnessError;
use crate::run::Run;
use crate::snapshots::{
    CompleteSnapshot, CopyMethod, Marker, SnapshotDraft, SnapshotStore, apart, bytes_of, copy, key,
};

/// Describes in a sentence how the stores will be loaded, before anything happens. `None` if nothing is
/// loaded.
#[must_use]
pub fn outlook(planned: &PlannedApplication<'_>, platform: &dyn Platform) -> Option<String> {
    let PlannedApplication { plan, topology, .. } = planned;
    let (stored, data) = topology.stored.as_ref().zip(planned.data)?;
    let Some(folders) = folders(platform, plan) else {
        let name = platform.name();
        return Some(format!(
            "loaded in every run: on platform {name} their folders are not on this machine"
        ));
    };
    let Some(shelf) = SnapshotStore::of(&plan.data) else {
        return Some("loaded in every run, as data.snapshots and data.snapshots_gb ask for".to_owned());
    };
    if let Some(part) = with_own_disk(topology, stored, plan) {
        return Some(format!("loaded in every run: {part} has a file system of its own"));
    }
    let recipe = recipe::recipe(topology, stored, folders, data).ok()?;
    Some(match shelf.find(&key(&data.size, &recipe)) {
        Some(CompleteSnapshot { dir, marker, .. }) => format!(
            "as run {} loaded them, which leaves out {:.1} s: {}",
            marker.run,
            marker.load_s,
            dir.display()
        ),
        None => format!("loaded, and kept for later runs in {}", shelf.folder().display()),
    })
}

/// Starts all parts. Stores start on a snapshot if there is one; else their job loads them, and a snapshot is
/// made if the plan asks for it.
pub(super) async fn start_all(
    run: &mut Run<'_>,
    platform: &dyn Platform,
    (planned, common): (&PlannedApplication<'_>, &Path),
    (deployed, mut parts): (&mut Deployment, Vec<PlacedPart>),
) -> Result<Option<SnapshotRecord>, HarnessError> {
    let stop = run.world.stop.clone();
    let clock = run.clock.clone();
    let Some(stores) = stop.or(Stores::of(run, platform, planned, common)).await?? else {
        stop.or(start::start(deployed, parts, clock.clone(), &mut |line| run.screen.say(line))).await??;
        return Ok(None);
    };
    if let Some(kept) = stores.restore(run, &parts).await? {
        stores.leave_job_out(&mut parts);
        stop.or(start::start(deployed, parts, clock.clone(), &mut |line| run.screen.say(line))).await??;
        return Ok(Some(kept));
    }
    let (now, later) = stores.split(parts);
    stop.or(start::start(deployed, now, clock.clone(), &mut |line| run.screen.say(line))).await??;
    let kept = stop.or(stores.keep(run, deployed)).await??;
    stop.or(start::start(deployed, later, clock, &mut |line| run.screen.say(line))).await??;
    Ok(kept)
}

/// The kind of folders on this machine in which stores are; `None` if they are elsewhere.
fn folders(platform: &dyn Platform, plan: &Plan) -> Option<&'static str> {
    platform.folders().filter(|_| !plan.deploy.sends_files())
}

/// A store with its own file system, which is empty at its start, so no copy can be placed there before.
fn with_own_disk<'t>(topology: &'t Topology, stored: &StoredData, plan: &Plan) -> Option<&'t str> {
    let mut kept = topology.parts.iter().filter(|part| stored.services.contains(&part.name));
    kept.find(|part| crate::check::disk_mib(plan, part).is_some()).map(|part| part.name.as_str())
}

/// Stores of a deployment that can be saved.
struct Stores {
    stored: StoredData,
    shelf: SnapshotStore,
    recipe: Vec<String>,
    key: String,
    /// Folder of the whole site.
    common: PathBuf,
}

/// A folder in a snapshot, its place in the site, and the way to copy it.
type FolderCopy = (PathBuf, PathBuf, CopyMethod);

impl Stores {
    async fn of(
        run: &mut Run<'_>,
        platform: &dyn Platform,
        planned: &PlannedApplication<'_>,
        common: &Path,
    ) -> Result<Option<Self>, HarnessError> {
        let PlannedApplication { plan, topology, .. } = planned;
        let (Some(stored), Some(data), Some(folders), Some(shelf)) = (
            topology.stored.clone(),
            planned.data.cloned(),
            folders(platform, plan),
            SnapshotStore::of(&plan.data),
        ) else {
            return Ok(None);
        };
        if with_own_disk(topology, &stored, plan).is_some() {
            return Ok(None);
        }
        let (topology, of) = (topology.clone(), stored.clone());
        let size = data.size.clone();
        // Building the recipe asks programs for their versions.
        let asked = move || recipe::recipe(&topology, &of, folders, &data);
        let asked = tokio::task::spawn_blocking(asked).await.map_err(|why| why.to_string());
        match asked.and_then(|recipe| recipe.map_err(|why| why.to_string())) {
            Ok(recipe) => {
                let (key, common) = (key(&size, &recipe), common.to_owned());
                Ok(Some(Stores { stored, shelf, recipe, key, common }))
            }
            Err(why) => {
                run.note(format!("loaded stores are not kept for later runs: {why}"))?;
                Ok(None)
            }
        }
    }

    /// Every folder of a snapshot, with its place in the site.
    fn ways<'p>(&self, parts: impl Iterator<Item = (&'p str, PartWork, &'p Path)>) -> Vec<FolderCopy> {
        let of_unit = |(name, work, folder): (&str, PartWork, &Path)| match work {
            PartWork::Service(service) if self.has(name) => {
                Some((Path::new("units").join(name), folder.join(service.keeps()?), CopyMethod::Copy))
            }
            _ => None,
        };
        let folders = self.stored.folders.iter();
        let folders =
            folders.map(|name| (Path::new("folders").join(name), self.common.join(name), CopyMethod::Link));
        parts.filter_map(of_unit).chain(folders).collect()
    }

    fn has(&self, part: &str) -> bool {
        self.stored.services.iter().any(|name| name == part)
    }

    /// Copies a snapshot into the place of the stores, if there is one. A snapshot that cannot be copied is
    /// noted, and the stores are loaded instead.
    async fn restore(
        &self,
        run: &mut Run<'_>,
        parts: &[PlacedPart],
    ) -> Result<Option<SnapshotRecord>, HarnessError> {
        let Some(whole) = self.shelf.find(&self.key) else { return Ok(None) };
        whole.used();
        let begun = run.clock.now();
        let ways = parts.iter().map(|p| (p.part.name.as_str(), p.part.work, p.unit.workdir.as_path()));
        let ways = self.ways(ways);
        let from = whole.dir.clone();
        let copying = apart(move |stop| {
            for (inside, place, how) in &ways {
                let copied = place.parent().map_or(Ok(()), std::fs::create_dir_all);
                if let Err(why) = copied.and_then(|()| copy(&from.join(inside), place, *how, stop)) {
                    for (_, place, _) in &ways {
                        // Most of them were not begun.
                        let _ = std::fs::remove_dir_all(place);
                    }
                    return Err(why);
                }
            }
            Ok(())
        });
        if let Err(why) = run.world.stop.clone().or(copying).await? {
            let (key, again) = (&self.key, "the stores are loaded again");
            run.note(format!("snapshot {key} could not be copied, so that {again}: {why}"))?;
            if let Err(why) = whole.condemn() {
                run.note(format!("snapshot {key} cannot be made anew: {why}"))?;
            }
            return Ok(None);
        }
        let copy_s = (run.clock.now() - begun).as_secs_f64();
        let Marker { run: made_by, parts, bytes, load_s, .. } = whole.marker.clone();
        run.note(format!(
            "the stores begin with snapshot {} of run {made_by}: {load_s:.1} s of loading are left out, copying {:.2} GB \
             took {copy_s:.1} s",
            self.key,
            bytes as f64 / 1e9
        ))?;
        let key = self.key.clone();
        Ok(Some(SnapshotRecord { key, reused: true, made_by, parts, bytes, load_s, copy_s }))
    }

    /// Removes the load job. Parts that need the job then need its own needs; the preparing steps of the
    /// stores were done when they were loaded.
    fn leave_job_out(&self, parts: &mut Vec<PlacedPart>) {
        let job = &self.stored.job;
        let Some(at) = parts.iter().position(|placed| placed.part.name == *job) else { return };
        let needs = parts.remove(at).part.needs;
        for placed in parts {
            if placed.part.needs.contains(job) {
                placed.part.needs.retain(|name| name != job);
                placed.part.needs.extend(needs.iter().cloned());
            }
            if self.has(&placed.part.name) {
                placed.unit.prepare.clear();
            }
        }
    }

    /// Parts that may start before the stores are saved, and parts that need them loaded.
    fn split(&self, parts: Vec<PlacedPart>) -> (Vec<PlacedPart>, Vec<PlacedPart>) {
        let later = behind(&self.stored.job, &parts.iter().map(|placed| &placed.part).collect::<Vec<_>>());
        parts.into_iter().partition(|placed| !later.contains(&placed.part.name))
    }

    /// Ends the loaded stores in order, copies their folders, and starts them again. Failure to save is
    /// noted; failure to start again ends the run.
    async fn keep(
        &self,
        run: &mut Run<'_>,
        deployed: &Deployment,
    ) -> Result<Option<SnapshotRecord>, HarnessError> {
        let begun = run.clock.now();
        let named = |name: &String| deployed.parts().iter().find(|part| part.name == *name);
        let load_s = named(&self.stored.job).map_or(f64::NAN, |job| job.took.as_secs_f64());
        let stores: Vec<&StartedPart> = self.stored.services.iter().filter_map(named).collect();
        // A standby is created from its primary.
        let others = deployed.services().filter(|part| !self.has(&part.name));
        let followers: Vec<&StartedPart> =
            others.filter(|part| self.stored.services.iter().any(|name| part.needs.contains(name))).collect();
        let mut orderly = Ok(());
        for part in &followers {
            // The copy does not show how they end.
            part.stop().await?;
        }
        for part in &stores {
            let ended = part.stop().await?;
            if !is_orderly(&ended, part.unit.stop) {
                orderly = Err(format!("{} did not end in order: {ended}", part.name));
            }
        }
        let drafted = match orderly {
            Ok(()) => self.draft(run, &stores).await,
            Err(why) => Err(why),
        };
        for part in stores.iter().chain(&followers) {
            part.start_again(deployed.site()).await?;
        }
        let parts: Vec<String> = stores.iter().map(|part| part.name.clone()).collect();
        let named = match drafted {
            Ok((draft, bytes)) => {
                let (run, recipe) = (run.world.id.to_string(), self.recipe.clone());
                self.name(draft, Marker { recipe, run, parts: parts.clone(), bytes, load_s }).await
            }
            Err(why) => Err(why),
        };
        let copy_s = (run.clock.now() - begun).as_secs_f64();
        match named {
            Ok(bytes) => {
                run.note(format!(
                    "the loaded stores are kept as snapshot {} ({:.2} GB): ending, copying and starting them again took \
                     {copy_s:.1} s, loading {load_s:.1} s",
                    self.key,
                    bytes as f64 / 1e9
                ))?;
                let (key, made_by) = (self.key.clone(), run.world.id.to_string());
                Ok(Some(SnapshotRecord { key, reused: false, made_by, parts, bytes, load_s, copy_s }))
            }
            Err(why) => {
                run.note(format!("the loaded stores are not kept for later runs: {why}"))?;
                Ok(None)
            }
        }
    }

    /// Copies the folders of ended stores. Returns the draft and its size in bytes; an error is the reason in
    /// words.
    async fn draft(&self, run: &Run<'_>, stores: &[&StartedPart]) -> Result<(SnapshotDraft, u64), String> {
        let ways = stores.iter().map(|p| (p.name.as_str(), p.work, p.unit.workdir.as_path()));
        let ways = self.ways(ways);
        let (shelf, key) = (self.shelf.clone(), self.key.clone());
        let (id, ledger) = (run.world.id.clone(), run.ledger.clone());
        let copying = apart(move |stop| {
            let mut bytes = 0;
            for (_, place, _) in &ways {
                bytes += bytes_of(place)?;
            }
            if let Some(why) = shelf.no_room(bytes) {
                return Err(std::io::Error::other(why));
            }
            let draft = shelf.begin(&key, &id, &ledger).map_err(std::io::Error::other)?;
            for (inside, place, how) in &ways {
                let to = draft.dir.join(inside);
                let copied = to.parent().map_or(Ok(()), std::fs::create_dir_all);
                if let Err(why) = copied.and_then(|()| copy(place, &to, *how, stop)) {
                    draft.abandon().map_err(std::io::Error::other)?;
                    return Err(why);
                }
            }
            Ok((draft, bytes))
        });
        copying.await.map_err(|why| in_one_line(&why))
    }

    /// Turns a draft into a snapshot. Returns its size in bytes.
    async fn name(&self, draft: SnapshotDraft, marker: Marker) -> Result<u64, String> {
        let (shelf, bytes) = (self.shelf.clone(), marker.bytes);
        let named = apart(move |_| shelf.finish(draft, &marker)).await;
        match named {
            Ok(true) => Ok(bytes),
            Ok(false) => Err("another run was faster with the same".to_owned()),
            Err(why) => Err(in_one_line(&why)),
        }
    }
}

/// Whether a store ended as asked: by itself with success, or by the signal sent.
fn is_orderly(ended: &UnitExit, asked: StopSignal) -> bool {
    let signal = match asked {
        StopSignal::Int => 2,
        StopSignal::Quit => 3,
        StopSignal::Term => 15,
    };
    ended.is_success() || *ended == UnitExit::Signal(signal)
}

/// Names of all parts that need this one, directly or through others.
fn behind(name: &str, parts: &[&Part]) -> Vec<String> {
    let mut found = vec![name.to_owned()];
    let mut at = 0;
    while let Some(needed) = found.get(at).cloned() {
        let new = parts.iter().filter(|part| part.needs.contains(&needed) && !found.contains(&part.name));
        let new: Vec<String> = new.map(|part| part.name.clone()).collect();
        found.extend(new);
        at += 1;
    }
    found.split_off(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_ends_in_order_by_itself_or_by_what_it_was_asked_with() {
        assert!(is_orderly(&UnitExit::Code(0), StopSignal::Int));
        assert!(is_orderly(&UnitExit::Signal(15), StopSignal::Term));
        let others =
            [UnitExit::Code(1), UnitExit::Signal(9), UnitExit::Signal(11), UnitExit::Unknown(String::new())];
        for ended in others {
            assert!(!is_orderly(&ended, StopSignal::Term), "{ended}");
        }
        assert!(!is_orderly(&UnitExit::Signal(15), StopSignal::Int));
    }

    fn part(name: &str, needs: &[&str]) -> Part {
        Part {
            name: name.to_owned(),
            tier: "application",
            node: true,
            host: name.to_owned(),
            work: PartWork::Job,
            needs: needs.iter().map(|name| (*name).to_owned()).collect(),
            uses: vec![],
            values: vec![],
            limits: barograph_platform::Limits::default(),
        }
    }

    #[test]
    fn what_is_behind_a_part_is_found_through_others() {
        let parts = [
            part("web", &[]),
            part("second", &["first"]),
            part("first", &["load", "bus"]),
            part("bus", &[]),
            part("load", &["store"]),
            part("store", &[]),
        ];
        let parts: Vec<&Part> = parts.iter().collect();
        assert_eq!(behind("load", &parts), ["first", "second"]);
        assert_eq!(behind("web", &parts), Vec::<String>::new());
    }
}
