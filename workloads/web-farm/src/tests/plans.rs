//! Plans: refusals, rules, and the parts that are deployed.

use barograph_model::{Bound, MissedBeats, Nanos, Pace, Subject};
use barograph_spec::MOST_INSTANCES;
use barograph_workload::WorkloadFactory as _;
use barograph_workload::topology::{PartWork, Value};

use super::rig::plan;
use crate::plan::{PROFILES, SERVERS};
use crate::seam::WebFarm;

const FIXED: &str = "[load]\nstrategy = \"fixed\"\nusers = 10\n";

#[test]
fn a_level_is_a_number_of_servers() {
    let refused = |lines: &str, sets: &[&str], part: &str| {
        let why = plan(lines, sets).unwrap_err();
        assert!(why.contains(part), "{sets:?}: {why}");
    };
    refused(FIXED, &["deploy.servers=9"], "at least the 10 users of the load");
    refused("", &[], "`load.max_users` = 0");
    refused("[load]\nunit = \"rate\"\nmax_rate = 100\n", &[], "`load.unit` = \"rate\"");
    refused(FIXED, &["target.url=http://localhost:80", "deploy.servers=10"], "left out with target.url");
    refused(FIXED, &["target.url=ftp://localhost"], "`target.url` = \"ftp://localhost\"");
    refused(FIXED, &["deploy.servers=1001"], "`deploy.servers` = 1001");
    assert!(plan(FIXED, &[&format!("deploy.servers={MOST_INSTANCES}")]).is_ok());
    assert!(plan("", &["load.max_users=100"]).is_ok());
    assert!(plan(FIXED, &["target.url=http://localhost:80"]).is_ok());
}

#[test]
fn limits_of_response_time_and_of_the_host_are_rules() {
    let of = |sets: &[&str]| WebFarm.of_plan(&plan(FIXED, sets).unwrap()).unwrap();
    for (name, rate) in PROFILES {
        let workload = of(&[]);
        let profile = workload.profile(name).unwrap();
        let cpu = profile.rules.iter().find(|rule| rule.subject == Subject::HostCpu).unwrap();
        assert_eq!(cpu.bound, Bound::AtMost(0.9));
        let time = profile.rules.iter().find_map(|rule| rule.time_limit());
        assert!(time.is_some() && profile.check(workload.measures(), workload.ops()).is_ok());
        let behaviours = workload.behaviours(name).unwrap();
        let Pace::Beat { every, missed: MissedBeats::Beside { most: 6 } } = behaviours.all()[0].pace else {
            panic!("{behaviours:?}")
        };
        assert_eq!(every.0 * u64::from(rate), 1_000_000_000);
    }
    let beat = |sets: &[&str]| of(sets).behaviours("medium").unwrap().all()[0].pace.clone();
    let every = Nanos(400_000);
    assert_eq!(beat(&["farm.rate=2500"]), Pace::Beat { every, missed: MissedBeats::Beside { most: 6 } });
    assert_eq!(beat(&["farm.rate=25"]), beat(&[]));
    // Elsewhere the driver's host is not that of the servers.
    for sets in [&["farm.most_cpu=1.0"], &["target.url=http://localhost:80"]] {
        let profile = of(sets).profile("high").unwrap();
        assert!(profile.rules.iter().all(|rule| rule.subject != Subject::HostCpu), "{sets:?}");
    }
    assert!(of(&[]).profile("low").is_none() && of(&[]).behaviours("low").is_none());
}

#[test]
fn every_server_is_a_part_that_waits_for_the_sets() {
    for server in SERVERS {
        let made = plan(FIXED, &[&format!("deploy.server={server}"), "deploy.servers=1000"]).unwrap();
        let workload = WebFarm.of_plan(&made).unwrap();
        let topology = workload.application().unwrap().topology(&made, None);
        assert_eq!((topology.fronts.len(), topology.parts.len()), (1_000, 1_001));
        let last = topology.parts.iter().find(|part| part.name == "server-1000").unwrap();
        let PartWork::Service(service) = last.work else { panic!("{last:?}") };
        assert!(
            service
                .url(std::net::Ipv4Addr::LOCALHOST.into(), &[("main".to_owned(), 80)].into())
                .contains("http")
        );
        assert_eq!(last.needs, ["sets"]);
        let number = last.values.iter().find(|(name, _)| *name == "number");
        assert!(matches!(number, Some((_, Value::Text(number))) if number == "1000"));
    }
}
