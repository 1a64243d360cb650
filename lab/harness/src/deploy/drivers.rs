//! Drivers as parts of the deployment: processes that run the engine, on hosts of their own if the platform
//! has hosts.

use barograph_spec::{Cores, Plan};
use barograph_workload::topology::{Part, PartWork, Value, limits_of};

use crate::fleet::{DriverAddress, Token};

use super::Deployment;

/// Tier of drivers.
pub(crate) const TIER: &str = "driver";

/// File with the token that drivers share with this process.
pub(super) const TOKEN: &str = "token";

/// Cores of the driver that is this process; all if drivers are units.
pub(crate) fn cores_of_own(plan: &Plan) -> Cores {
    let limits = plan.deploy.limits_of(TIER).filter(|_| plan.driver_units() == 0);
    limits.map_or_else(Cores::default, |limits| limits.cores.clone())
}

/// Driver parts that load these fronts.
pub(crate) fn parts(plan: &Plan, fronts: &[String]) -> Vec<Part> {
    let Some(service) = barograph_services::find(TIER) else { return Vec::new() };
    let limits = limits_of(plan.deploy.limits_of(TIER));
    let one = |number| Part {
        host: format!("{TIER}-{number}"),
        node: false,
        name: format!("{TIER}-{number}"),
        tier: TIER,
        work: PartWork::Service(service),
        needs: vec![],
        uses: fronts.to_vec(),
        values: vec![("token_file", Value::SiteFile(TOKEN))],
        limits: limits.clone(),
    };
    (1..=plan.driver_units()).map(one).collect()
}

/// Addresses at which drivers wait for the harness.
pub(crate) fn waiting(deployed: &Deployment) -> Vec<DriverAddress> {
    let Some(token) = deployed.token() else { return Vec::new() };
    let drivers = deployed.services().filter(|part| part.tier == TIER);
    let at = |token: &Token, name: &str, address| DriverAddress {
        name: name.to_owned(),
        address,
        token: token.clone(),
    };
    drivers.map(|part| at(token, &part.name, part.endpoint.socket())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(text: &str) -> u32 {
        barograph_spec::read(crate::testing::CATALOGUE, "p", text, &[]).unwrap().driver_units()
    }

    #[test]
    fn this_process_drives_unless_hosts_are_apart_or_there_are_several() {
        assert_eq!(counted(""), 0);
        assert_eq!(counted("platform = \"apart\""), 1);
        assert_eq!(counted("platform = \"apart\"\ndriver.place = \"own\""), 0);
        assert_eq!(counted("driver.place = \"unit\""), 1);
        assert_eq!(counted("driver.count = 3"), 3);
        assert_eq!(counted("platform = \"apart\"\ntarget.url = \"http://127.0.0.1:1\""), 0);
    }

    #[test]
    fn only_a_driver_of_this_process_has_cores_of_its_own() {
        let of = |text: &str| {
            let text = format!("deploy.driver_cores = \"0,2\"\n{text}");
            let plan = barograph_spec::read(crate::testing::CATALOGUE, "p", &text, &[]).unwrap();
            cores_of_own(&plan).to_string()
        };
        assert_eq!(of(""), "0,2");
        assert_eq!(of("target.url = \"http://127.0.0.1:1\""), "0,2");
        assert_eq!(of("driver.place = \"unit\""), "");
        assert_eq!(of("platform = \"apart\""), "");
    }
}
