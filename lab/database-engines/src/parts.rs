//! The parts beside a server: a balancer and a pool in front of it, and a standby behind it.

use barograph_spec::SettingsReader;

use crate::EngineKind;

/// A second server that follows the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standby {
    /// A commit waits until it is on the disk of the standby, too.
    Synchronous,
    /// A commit waits for the first server only.
    Asynchronous,
}

impl Standby {
    /// Its word in plans.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Standby::Synchronous => "synchronous",
            Standby::Asynchronous => "asynchronous",
        }
    }

    fn of(name: &str) -> Option<Self> {
        [Standby::Synchronous, Standby::Asynchronous].into_iter().find(|standby| standby.name() == name)
    }
}

/// The parts beside a deployed server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerParts {
    /// HAProxy passes connections on.
    pub has_balancer: bool,
    /// PgBouncer passes sessions on.
    pub has_pool: bool,
    /// The second server.
    pub standby: Option<Standby>,
}

impl ServerParts {
    /// Reads `deploy.balancer`, `deploy.pool` and `deploy.standby`; `None` if one is refused.
    pub(crate) fn read(g: &mut SettingsReader) -> Option<Self> {
        let balancer = g.choice("deploy.balancer", &["none", "haproxy"], "none");
        let pool = g.choice("deploy.pool", &["none", "pgbouncer"], "none");
        let standby = g.choice("deploy.standby", &["none", "synchronous", "asynchronous"], "none");
        Some(ServerParts {
            has_balancer: balancer? != "none",
            has_pool: pool? != "none",
            standby: Standby::of(standby?),
        })
    }

    /// Refuses parts that a server of this kind cannot have.
    pub(crate) fn check(&self, g: &mut SettingsReader, kind: EngineKind, is_durable: bool) {
        if kind == EngineKind::Sqlite {
            g.refuse_asked(
                "deploy.balancer",
                "left out where no server is deployed",
                "leave it out, or set deploy.database to a server",
            );
        }
        if kind != EngineKind::Postgres {
            for key in ["deploy.pool", "deploy.standby"] {
                let allowed = "left out, or with deploy.database = \"postgres\"";
                g.refuse_asked(key, allowed, "leave it out, or set deploy.database = \"postgres\"");
            }
        }
        if self.standby == Some(Standby::Synchronous) && !is_durable {
            let allowed = "left out or \"asynchronous\" with durability off: commits wait for no disk";
            g.refuse_asked("deploy.standby", allowed, "leave it out, or make commits durable");
        }
    }

    /// The products in front of the server, from the users to it.
    pub(crate) fn in_front(&self) -> Vec<&'static str> {
        let parts = [(self.has_balancer, "HAProxy"), (self.has_pool, "PgBouncer")];
        parts.into_iter().filter(|(is_there, _)| *is_there).map(|(_, name)| name).collect()
    }

    /// The parts in words, for `barograph check`; `None` for a server alone.
    pub(crate) fn words(&self) -> Option<String> {
        let front = (!self.in_front().is_empty())
            .then(|| format!("sessions go through {}", self.in_front().join(" and ")));
        let standby = self.standby.map(|standby| match standby {
            Standby::Synchronous => "a commit is on the disk of a standby, too, before it is done",
            Standby::Asynchronous => "a standby follows, for which no commit waits",
        });
        let all: Vec<String> = front.into_iter().chain(standby.map(str::to_owned)).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}
