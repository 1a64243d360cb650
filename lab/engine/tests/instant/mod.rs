//! Users whose operations end at once.

use std::sync::Arc;

use barograph_engine::{OpContext, Settings, User, UserFactory};
use barograph_model::{
    Behaviour, Behaviours, ChooserId, Nanos, NextOp, OpId, OpenLoop, Outcome, Pace, UserId,
};

pub(crate) struct InstantUser;

impl UserFactory for InstantUser {
    type User = InstantUser;
    fn user(&self, _: UserId) -> InstantUser {
        InstantUser
    }
}

impl User for InstantUser {
    async fn act(&self, _: OpId, context: &mut OpContext) -> Outcome {
        context.sent();
        Outcome::Good
    }
    fn choose(&self, _: ChooserId, _: &mut OpContext) -> usize {
        0
    }
    fn end_session(&self) {}
}

/// Settings of one worker whose users repeat one operation.
pub(crate) fn settings(interval: Nanos, poll: Nanos, open: Option<OpenLoop>) -> Settings {
    let main =
        Behaviour { name: "main", first: OpId(0), next: vec![Some(NextOp::Op(OpId(0)))], pace: Pace::AtOnce };
    Settings {
        workers: 1,
        seed: 1,
        behaviours: Arc::new(Behaviours::new(vec![main]).unwrap()),
        limits: vec![barograph_model::TimeLimits::default()],
        interval,
        timeout: Nanos::from_secs(10),
        pause_after_failure: Nanos::from_secs(1),
        realtime: false,
        cores: Vec::new(),
        poll,
        open,
    }
}
