//! Choosers of the behaviours.

use barograph_engine::OpContext;
use barograph_model::ChooserId;

use crate::bidding;
use crate::profile::{
    AFTER_LOOKING, BID_OR_NOT, HAS_ITEMS, HAS_PICTURE, LOOK_AGAIN, MAX_FOLLOWED, STILL_OPEN, WAIT_ON,
};
use crate::state::Session;

pub(crate) fn choose(chooser: ChooserId, session: &mut Session, context: &mut OpContext) -> usize {
    match chooser {
        AFTER_LOOKING if session.running_auctions == Some(0) => 0,
        AFTER_LOOKING if session.followed.len() < MAX_FOLLOWED && session.candidate.is_some() => 1,
        AFTER_LOOKING => 2,
        BID_OR_NOT => {
            session.bid_in = bidding::decide(session, &mut context.rng);
            usize::from(session.bid_in.is_none())
        }
        STILL_OPEN => {
            let auction = i64::from(context.argument);
            let open = session.followed.iter().any(|f| f.auction == auction && f.open());
            if open { WAIT_ON } else { LOOK_AGAIN }
        }
        HAS_ITEMS => usize::from(session.items.is_empty()),
        HAS_PICTURE => usize::from(session.picture.is_none()),
        other => unreachable!("the profile names five choosers, not {}", other.0),
    }
}
