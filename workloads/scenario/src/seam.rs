//! The workload of a scenario file.

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use barograph_engine::Runnable;
use barograph_http::{Options as HttpOptions, Target};
use barograph_model::words::in_one_line;
use barograph_model::{Behaviours, Nanos, OpSpec, Profile, Strategy};
use barograph_scenario::{Connections as Sharing, Exchange, Scenario};
use barograph_spec::{Connections, Plan, Refusal, Refusals, SettingsReader, WorkloadKeys, WorkloadSettings};
use barograph_workload::{
    FailureReason, LoadCommand, LoadError, LoadJob, Reasons, SentFile, Workload, WorkloadFactory,
};
use serde_json::{Map, Value, json};

use crate::reach::{self, RouteOptions};
use crate::{Options, ScenarioError, explain, runnable_at, traffic};

/// Its name in plans.
const NAME: &str = "scenario";

/// Version of the execution of scenarios. It rises with every change that can move results.
const VERSION: u32 = 1;

/// A scenario, read and checked.
pub struct ScenarioFile {
    scenario: Arc<Scenario>,
    ops: Vec<OpSpec>,
    /// The name of the scenario's only profile: that of its file.
    profile: &'static str,
    /// The address of its target, if it has one.
    target: Option<String>,
    /// Its own file and those that it names; empty for one without a file.
    files: Vec<PathBuf>,
    reasons: Arc<Mutex<Reasons>>,
    time_of_day: fn() -> Nanos,
    ways: RouteOptions,
}

impl ScenarioFile {
    /// The workload of a scenario without a file. `time_of_day` is the time since 1970, for requests that
    /// contain it.
    pub fn new(scenario: Scenario, time_of_day: fn() -> Nanos) -> Self {
        let stem = Path::new(&scenario.name).file_stem().map_or("scenario".into(), |s| s.to_string_lossy());
        ScenarioFile {
            ops: scenario.op_specs(),
            profile: barograph_scenario::leak(&stem),
            target: scenario.target.url.as_ref().map(|url| {
                let scheme = if url.tls { "https" } else { "http" };
                format!("{scheme}://{}{}", url.authority(), url.base)
            }),
            scenario: Arc::new(scenario),
            files: Vec::new(),
            reasons: Reasons::shared(),
            time_of_day,
            ways: RouteOptions::default(),
        }
    }

    /// Sets the ways to its target.
    pub(crate) fn by(self, ways: RouteOptions) -> Self {
        ScenarioFile { ways, ..self }
    }

    /// Most concurrent requests of a user: those of its widest group, in each of its activities.
    fn side_by_side(&self) -> u32 {
        let repeated = |exchange: &Exchange| exchange.for_each.as_ref().map_or(1, |each| each.at_most);
        let groups = self.scenario.operations.iter().flat_map(|op| &op.groups);
        let widest = groups.map(|group| group.iter().map(repeated).fold(0, u32::saturating_add)).max();
        let started = self.scenario.operations.iter().filter_map(|op| op.beside.start.as_ref());
        let activities = started.map(|start| start.at_most).fold(1, u32::saturating_add);
        widest.unwrap_or(1).max(1).saturating_mul(activities)
    }

    /// The refusal of a scenario that cannot be prepared for its target.
    fn refused(&self, why: &ScenarioError) -> LoadError {
        LoadError::Refused(Refusals(vec![Refusal {
            place: self.scenario.name.clone(),
            key: String::new(),
            value: in_one_line(why),
            allowed: "requests that can be sent, and scripts that have the functions they are asked for"
                .to_owned(),
            remedy: "correct the scenario; docs/scenario.md describes it".to_owned(),
        }]))
    }
}

impl Workload for ScenarioFile {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> u32 {
        VERSION
    }

    fn ops(&self) -> &[OpSpec] {
        &self.ops
    }

    fn counters(&self) -> &[&'static str] {
        &traffic::NAMES
    }

    fn profiles(&self) -> Vec<&str> {
        vec![self.profile]
    }

    fn profile(&self, name: &str) -> Option<Profile> {
        (name == self.profile).then(|| self.scenario.profile(self.profile))
    }

    fn behaviours(&self, profile: &str) -> Option<Behaviours> {
        (profile == self.profile).then(|| self.scenario.behaviours.clone())
    }

    fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }

    fn connections(&self, users: u32, _: Connections) -> u64 {
        let streams = self.scenario.streams.len() as u64;
        let origins = self.ways.origins.len() as u64 + 1;
        match self.scenario.target.connections {
            Sharing::PerUser(most) => {
                u64::from(users) * (u64::from(most.min(self.side_by_side())) * origins + streams)
            }
            Sharing::Pool(most) => u64::from(most) * origins + u64::from(users) * streams,
            Sharing::New => u64::from(users) * (u64::from(self.side_by_side()) + streams),
        }
    }

    fn timeout(&self) -> Option<Nanos> {
        self.scenario.target.timeout
    }

    fn refusals(&self, plan: &Plan) -> Vec<Refusal> {
        [too_many_users(&self.scenario, plan), closing(plan)].into_iter().flatten().collect()
    }

    fn explain(&self) -> Option<String> {
        Some(explain::scenario(&self.scenario))
    }

    fn disclose(&self) -> Map<String, Value> {
        let section = json!({ "file": self.scenario.name, "text": self.scenario.resolved });
        Map::from_iter([("scenario".to_owned(), section)])
    }

    fn files(&self) -> Result<Vec<SentFile>, LoadError> {
        let read = |path: &PathBuf| match std::fs::read(path) {
            Ok(bytes) => Ok((path.clone(), bytes.into())),
            Err(why) => Err(LoadError::ReadFile { path: path.clone(), why }),
        };
        self.files.iter().map(read).collect()
    }

    fn load(&self, job: &LoadJob<'_>) -> Result<Box<dyn Runnable>, LoadError> {
        let RouteOptions { proxy, detours, origins } = self.ways.clone();
        let options = HttpOptions { proxy, detours, ..reach::reach(&self.scenario.target) };
        let timeout = self.scenario.target.connect_timeout.into();
        let resolved = |url: &str| {
            let unreachable = |why| LoadError::Unreachable { url: url.to_owned(), why };
            let target = Target::parse(url, &options).map_err(|why| unreachable(why.into()))?;
            let resolved = target.resolve().map_err(|why| unreachable(why.into()))?;
            resolved.answering(timeout).map_err(unreachable)
        };
        let further: Result<_, LoadError> = origins.iter().map(|origin| resolved(origin)).collect();
        let targets = (resolved(job.url)?, further?);
        let how = Options { clock: self.time_of_day, reasons: Arc::clone(&self.reasons) };
        let ready = runnable_at(Arc::clone(&self.scenario), targets, how);
        ready.map_err(|why| self.refused(&why))
    }

    fn failure_reasons(&self) -> Vec<FailureReason> {
        self.reasons.lock().unwrap_or_else(PoisonError::into_inner).by_name(&self.ops)
    }
}

/// Reads the scenario named in a plan. A path in the plan's file is relative to it, one of `--set` to the
/// working folder.
fn of_plan(plan: &Plan, time_of_day: fn() -> Nanos) -> Result<ScenarioFile, Refusals> {
    let refused = |value: String, allowed: String| {
        Refusals(vec![Refusal {
            place: plan.place("scenario").to_owned(),
            key: "scenario".to_owned(),
            value,
            allowed,
            remedy: "name a scenario file; `barograph list scenarios` shows those in scenarios/, `barograph new scenario` \
                     writes one"
                .to_owned(),
        }])
    };
    let Some(file) = &ScenarioPlan::of(plan).file else {
        return Err(refused(
            "nothing".to_owned(),
            "a scenario file, which workload = \"scenario\" needs".to_owned(),
        ));
    };
    let path = plan.file_of("scenario", file);
    let text = std::fs::read_to_string(&path).map_err(|why| {
        refused(
            format!("{:?}", file.display().to_string()),
            format!("a file that can be read, looked for at {} ({why})", path.display()),
        )
    })?;
    // Drivers elsewhere receive the files read, under the same paths.
    let files = RefCell::new(vec![path.clone()]);
    let noted = |file: &Path| {
        files.borrow_mut().push(file.to_owned());
        std::fs::read(file)
    };
    let scenario = barograph_scenario::read(&path.display().to_string(), &text, &noted)?;
    Ok(ScenarioFile { files: files.into_inner(), ..ScenarioFile::new(scenario, time_of_day) })
}

/// Reads a scenario from files: the first is the scenario, the others are those that it names.
fn of_files(plan: &Plan, files: &[SentFile], time_of_day: fn() -> Nanos) -> Result<ScenarioFile, Refusals> {
    let not_sent = |value: String| {
        Refusals(vec![Refusal {
            place: plan.place("scenario").to_owned(),
            key: "scenario".to_owned(),
            value,
            allowed: "a file that the harness sends to its drivers".to_owned(),
            remedy: "name it in the plan; a scenario that is in no file can only be driven by one driver"
                .to_owned(),
        }])
    };
    let (path, text) = files.first().ok_or_else(|| not_sent("nothing".to_owned()))?;
    let name = path.display().to_string();
    let text = std::str::from_utf8(text).map_err(|_| not_sent(name.clone()))?;
    let read = |wanted: &Path| {
        let found = files.iter().find(|(path, _)| path == wanted);
        found.map(|(_, bytes)| bytes.to_vec()).ok_or_else(|| io::Error::from(ErrorKind::NotFound))
    };
    Ok(ScenarioFile::new(barograph_scenario::read(&name, text, &read)?, time_of_day))
}

/// Factory of the workloads of plans that name a scenario.
pub struct ScenarioFiles {
    /// The time since 1970, for requests that contain it.
    pub time_of_day: fn() -> Nanos,
}

impl WorkloadKeys for ScenarioFiles {
    fn name(&self) -> &'static str {
        NAME
    }

    fn read(&self, given: &mut SettingsReader) -> Option<Arc<dyn WorkloadSettings>> {
        let file = given.optional_word("scenario", "a scenario file, as in \"scenarios/get.toml\"");
        Some(Arc::new(ScenarioPlan { file: file?.map(PathBuf::from) }))
    }
}

/// The keys of a scenario in a plan.
#[derive(Debug)]
struct ScenarioPlan {
    /// The scenario's file.
    file: Option<PathBuf>,
}

impl ScenarioPlan {
    fn of(plan: &Plan) -> &Self {
        plan.settings().expect("a plan of a scenario is read with the keys of scenarios")
    }
}

impl WorkloadSettings for ScenarioPlan {
    fn explain(&self, plan: &Plan) -> Vec<String> {
        let file = self.file.iter().map(|file| format!("scenario  {}", file.display()));
        let target = match &plan.target.url {
            Some(url) => barograph_spec::there(url, "nothing is deployed, filled or verified"),
            None => "target    as the scenario names it".to_owned(),
        };
        file.chain([target]).collect()
    }
}

impl WorkloadFactory for ScenarioFiles {
    fn about(&self) -> &'static str {
        "users as small programs in a file, on any HTTP service"
    }

    fn hint(&self) -> Option<&'static str> {
        Some("`barograph list scenarios` shows files, `barograph new scenario` writes one")
    }

    fn load_command(&self) -> Option<&dyn LoadCommand> {
        Some(self)
    }

    fn of_plan(&self, plan: &Plan) -> Result<Arc<dyn Workload>, Refusals> {
        Ok(Arc::new(of_plan(plan, self.time_of_day)?))
    }

    fn of_files(&self, plan: &Plan, files: &[SentFile]) -> Result<Arc<dyn Workload>, Refusals> {
        Ok(Arc::new(of_files(plan, files, self.time_of_day)?))
    }
}

/// Reads and checks a scenario with the files it names.
pub fn read(name: &str, text: &str) -> Result<Scenario, Refusals> {
    barograph_scenario::read(name, text, &|path: &Path| std::fs::read(path))
}

/// Refuses more users than data picked once per user allow.
fn too_many_users(scenario: &Scenario, plan: &Plan) -> Option<Refusal> {
    let most = scenario.most_users()?;
    let (key, users) = match (&plan.open, &plan.strategy) {
        (Some(open), _) => ("load.most_users", open.most_users),
        (None, Strategy::Fixed { level, .. }) => ("load.users", level.whole()),
        (None, Strategy::Search(bounds)) => ("load.max_users", bounds.max),
        (None, Strategy::Path(path)) => ("load.path", path.most().whole()),
    };
    (users > most).then(|| Refusal {
        place: plan.place(key).to_owned(),
        key: key.to_owned(),
        value: users.to_string(),
        allowed: format!("at most {most}: so many rows has the shortest file that is picked once per user"),
        remedy: "set it, add rows to the file, or pick in another way (`pick` under [data])".to_owned(),
    })
}

/// Refuses a setting of connections: the scenario has it.
fn closing(plan: &Plan) -> Option<Refusal> {
    let key = "driver.connections";
    let asked = plan.places.contains_key(key) && plan.driver.connections == Connections::Close;
    asked.then(|| Refusal {
        place: plan.place(key).to_owned(),
        key: key.to_owned(),
        value: "\"close\"".to_owned(),
        allowed: "auto or keep: a scenario says itself how users share connections".to_owned(),
        remedy: "set `connections` under [target] in the scenario: user, pool or new".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use barograph_scenario::Action;

    use super::*;

    fn workload(target: &str) -> ScenarioFile {
        let text = format!(
            "[target]\n{target}\n[operations.Page]\nstart = {{ behaviour = \"poll\", at_most = 2 }}\n\
             [[operations.Page.exchanges]]\npath = \"/\"\n[[operations.Page.exchanges]]\nparallel = true\npath = \"/a\"\n\
             [[operations.Page.exchanges]]\nparallel = true\npath = \"/b\"\n\
             [operations.Poll]\n[[operations.Poll.exchanges]]\npath = \"/poll\"\n\
             [behaviours.main]\nfirst = \"Page\"\n[behaviours.poll]\nfirst = \"Poll\"\n"
        );
        ScenarioFile::new(read("folder/mine.toml", &text).unwrap(), || Nanos::ZERO)
    }

    #[test]
    fn connections_follow_from_what_users_do_side_by_side() {
        let of = |target: &str| workload(target).connections(100, Connections::Keep);
        assert_eq!(of(""), 600, "two side by side in each of three activities");
        assert_eq!(of("per_user = 4"), 400);
        assert_eq!(of("connections = \"pool\"\npool = 7"), 7);
        assert_eq!(of("connections = \"new\""), 600);
    }

    /// Every key that docs/scenario.md shows under `[target]` has an effect.
    #[test]
    fn every_documented_key_of_the_target_changes_something() {
        let folder = tempfile::tempdir().unwrap();
        let pem = folder.path().join("ca.pem");
        std::fs::write(&pem, "a certificate").unwrap();
        let authorities = format!("\n[target.tls]\nauthorities = {pem:?}");
        let certificate = authorities.replace("authorities", "certificate");
        let key = format!("{certificate}\nkey = \"/dev/null\"");
        let changes = [
            ("url", "url = \"http://other\""),
            ("protocol", "protocol = \"http2\""),
            ("connections", "connections = \"new\""),
            ("per_user", "per_user = 2"),
            ("pool", "connections = \"pool\"\npool = 3"),
            ("unix_socket", "unix_socket = \"/run/x\""),
            ("source_addresses", "source_addresses = [\"127.0.0.2\"]"),
            ("connect_timeout", "connect_timeout = \"1 s\""),
            ("timeout", "timeout = \"2 s\""),
            ("cookies", "cookies = false"),
            ("accept", "\n[target.headers]\naccept = \"x\""),
            ("redirects", "redirects = 3"),
            ("verify", "\n[target.tls]\nverify = false"),
            ("authorities", &authorities),
            ("server_name", "\n[target.tls]\nserver_name = \"x\""),
            ("certificate", &certificate),
            ("key", &key),
        ];
        let page = include_str!("../../../docs/scenario.md");
        let section = page.split("\n## ").find(|section| section.starts_with("target: ")).unwrap();
        let block = section.split("```").nth(1).unwrap();
        for line in block.lines().filter(|line| line.contains(" = ")) {
            let key = line.split(" = ").next().unwrap();
            assert!(changes.iter().any(|(known, _)| *known == key), "{key} has no row in this test");
        }
        let used = |target: &str| {
            let workload = workload(target);
            let of = &workload.scenario.target;
            let Action::Request(request) = &workload.scenario.operations[0].groups[0][0].action else {
                panic!("a request")
            };
            // Cookies are taken and redirects followed while answers come, the time to connect before the load begins; all have
            // tests of their own.
            let others = (of.cookies, of.redirects, of.connect_timeout, &request.headers);
            format!("{:?} {:?} {:?} {others:?}", reach::reach(of), workload.target(), workload.timeout())
        };
        for (key, change) in changes {
            assert_ne!(used(change), used(""), "{key}");
        }
    }

    #[test]
    fn a_workload_is_called_after_its_file_and_knows_its_target() {
        let workload = workload("url = \"https://[::1]:8443/base/\"");
        assert_eq!((workload.profiles(), workload.target()), (vec!["mine"], Some("https://[::1]:8443/base")));
        assert!(workload.profile("mine").is_some() && workload.profile("other").is_none());
    }

    #[test]
    fn a_plan_says_which_scenario_goes_where() {
        let keys = ScenarioFiles { time_of_day: || Nanos::ZERO };
        let text = "scenario = \"scenarios/get.toml\"\n[load]\nstrategy = \"fixed\"\nunit = \"rate\"\n";
        let url = ["target.url=http://127.0.0.1:8080".to_owned()];
        let there =
            barograph_spec::read(barograph_spec::Catalogue::of(&[&keys]), "p.toml", text, &url).unwrap();
        assert_eq!(ScenarioPlan::of(&there).file.as_deref(), Some(Path::new("scenarios/get.toml")));
        assert_eq!(
            barograph_spec::explain(&there),
            "plan      p.toml (workload scenario, seed 1)\nload      1,000 starts/s: ramp 1 min 30 s, warm-up 1 min 10 s, 1 \
             measured window of 45 s\n          operations start at equal distances; as many users at work as rate and limits \
             ask for, and at most 100,000 arrivals waiting\nscenario  scenarios/get.toml\ntarget    \
             http://127.0.0.1:8080, which is there already: nothing is deployed, filled or verified\nrecord    a new folder \
             in runs\nduration  at most 3 min 30 s of load\n"
        );
    }

    #[test]
    fn a_driver_elsewhere_reads_what_it_was_sent_and_nothing_else() {
        let keys = ScenarioFiles { time_of_day: || Nanos::ZERO };
        let plan = barograph_spec::read(
            barograph_spec::Catalogue::of(&[&keys]),
            "a plan",
            "scenario = \"s.toml\"",
            &[],
        )
        .unwrap();
        let of = |files: &[SentFile]| of_files(&plan, files, || Nanos::ZERO).map(|made| made.profile);
        let text = "[data.words]\nfile = \"words.csv\"\n[operations.Page]\n[[operations.Page.exchanges]]\npath = \"/\"\n\
                    [behaviours.main]\nfirst = \"Page\"\n";
        let scenario: SentFile = ("/there/s.toml".into(), text.as_bytes().into());
        let words: SentFile = ("/there/words.csv".into(), b"word\none\ntwo\n"[..].into());
        assert_eq!(of(&[scenario.clone(), words]), Ok("s"));
        let why = |files: &[SentFile]| of(files).unwrap_err().to_string();
        assert!(why(&[scenario]).contains("words.csv"), "the file that it names was not sent");
        assert!(why(&[]).contains("a file that the harness sends to its drivers"));
        assert!(why(&[("/there/s.toml".into(), b"\xff"[..].into())]).contains("/there/s.toml"));
    }
}
