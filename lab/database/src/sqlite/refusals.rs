//! Plans that a SQLite file does not allow.

use barograph_model::words::in_one_line;
use barograph_spec::{Ability, Plan, Refusal};

use super::{SqliteError, Target, address};
use crate::Contents;

impl<C: Contents> Target<C> {
    /// The refusals of a file with other contents, and of drivers outside of this process.
    pub fn refusals(&self, plan: &Plan) -> Vec<Refusal> {
        let file = self.found().err().map(|why| self.refusal(plan, &why));
        let driver = &plan.driver;
        let is_elsewhere = driver.count > 1 || driver.place == "unit" || plan.deploy.has(Ability::Hosts);
        let elsewhere = is_elsewhere.then(|| Refusal {
            place: plan.place("driver.place").to_owned(),
            key: "driver.place".to_owned(),
            value: format!("{:?}", driver.place),
            allowed: "one driver, which is this process: the database is in it".to_owned(),
            remedy: "leave driver.place, driver.count and platform out".to_owned(),
        });
        file.into_iter().chain(elsewhere).collect()
    }

    /// The refusal of the file.
    pub fn refusal(&self, plan: &Plan, why: &SqliteError) -> Refusal {
        Refusal {
            place: plan.place("target.url").to_owned(),
            key: "target.url".to_owned(),
            value: format!("{:?}", address(self.file())),
            allowed: format!("a file of this size and seed, or none yet: cannot {}", in_one_line(why)),
            remedy: "remove the file if nothing needs it, or name another".to_owned(),
        }
    }
}
