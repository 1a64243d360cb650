//! Plans that a SQLite file does not allow.

use barograph_model::words::in_one_line;
use barograph_spec::{Plan, Refusal};

use super::{SqliteError, Target, address};
use crate::Contents;

impl<C: Contents> Target<C> {
    /// The refusals of a file with other contents, and of drivers outside of this process.
    pub fn refusals(&self, plan: &Plan) -> Vec<Refusal> {
        let file = self.found().err().map(|why| self.refusal(plan, &why));
        let instead = "choose a server: deploy.database = \"postgres\" or \"mariadb\"";
        let elsewhere = plan.drivers_elsewhere("the database is in it", Some(instead));
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
