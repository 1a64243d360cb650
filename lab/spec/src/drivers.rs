//! Where the drivers of a plan are: this process, or units of the deployment.

use barograph_model::{Ability, Refusal};

use crate::plan::Plan;

impl Plan {
    /// Number of drivers that are units; 0 if this process is the driver.
    #[must_use]
    pub fn driver_units(&self) -> u32 {
        let alone = self.driver.count == 1;
        let own = match self.driver.place.as_str() {
            "own" => true,
            "unit" => false,
            // If hosts have their own network, load from this process would come from outside of it.
            _ => !self.deploy.has(Ability::Drivers) || self.target.url.is_some(),
        };
        if alone && own { 0 } else { self.driver.count }
    }

    /// A refusal of each key that asks for drivers outside of this process, for a load that no other can do:
    /// `why` is the reason, and `instead` what to do beside leaving the key out.
    #[must_use]
    pub fn drivers_elsewhere(&self, why: &str, instead: Option<&str>) -> Vec<Refusal> {
        let asked = [
            ("driver.count", self.driver.count.to_string(), self.driver.count > 1),
            ("driver.place", format!("{:?}", self.driver.place), self.driver.place == "unit"),
            ("platform", format!("{:?}", self.deploy.platform), self.deploy.has(Ability::Hosts)),
        ];
        let instead = instead.map_or_else(String::new, |instead| format!(", or {instead}"));
        let asked = asked.into_iter().filter(|(_, _, asks)| *asks);
        let refusals = asked.map(|(key, value, _)| Refusal {
            place: self.place(key).to_owned(),
            key: key.to_owned(),
            value,
            allowed: format!("one driver, which is this process: {why}"),
            remedy: format!("leave {key} out{instead}"),
        });
        refusals.collect()
    }
}
