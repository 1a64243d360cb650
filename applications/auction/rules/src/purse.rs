//! Who can pay how much: the seam between the rules of an auction and where credit is kept.

use std::collections::HashMap;

use barograph_auction_api::{Cents, UserId};

/// Answers for the credit of users and takes what they pay.
pub trait Purse {
    /// What the user can still spend, in cents.
    fn credit(&self, user: UserId) -> Cents;
    /// Takes `amount` cents; called only when the credit suffices.
    fn pay(&mut self, user: UserId, amount: Cents);
}

/// Credits in a map; users that are not in it have the same default credit.
#[derive(Clone, Debug)]
pub struct Purses {
    credits: HashMap<UserId, Cents>,
    default: Cents,
}

impl Purses {
    /// Nobody is known yet; everybody has `default` cents.
    #[must_use]
    pub fn new(default: Cents) -> Self {
        Purses { credits: HashMap::new(), default }
    }

    /// Learns a user's credit, in cents. Credit only falls, so of two figures the smaller is the newer one: what is known
    /// here may be ahead of the store, and the store ahead of what is known here when the user buys elsewhere too.
    pub fn learn(&mut self, user: UserId, credit: Cents) {
        self.credits.entry(user).and_modify(|known| *known = credit.min(*known)).or_insert(credit);
    }

    /// Gives a payment back that did not come about, in cents.
    pub fn refund(&mut self, user: UserId, amount: Cents) {
        if let Some(credit) = self.credits.get_mut(&user) {
            *credit += amount;
        }
    }
}

impl Purse for Purses {
    fn credit(&self, user: UserId) -> Cents {
        self.credits.get(&user).copied().unwrap_or(self.default)
    }

    fn pay(&mut self, user: UserId, amount: Cents) {
        *self.credits.entry(user).or_insert(self.default) -= amount;
    }
}
