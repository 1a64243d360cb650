//! Credit of bidders: the interface between the rules of an auction and the storage of credit.

use std::collections::HashMap;

use barograph_auction_api::{Cents, UserId};

/// Credit of users, and payments.
pub trait Purse {
    /// A user's available credit, in cents.
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
    /// Purses in which all users have `default` cents.
    #[must_use]
    pub fn new(default: Cents) -> Self {
        Purses { credits: HashMap::new(), default }
    }

    /// Records a user's credit, in cents. Credit only falls, so the smaller of two figures is the newer one:
    /// the figure here may be ahead of the store, or behind it if the user buys elsewhere too.
    pub fn learn(&mut self, user: UserId, credit: Cents) {
        self.credits.entry(user).and_modify(|known| *known = credit.min(*known)).or_insert(credit);
    }

    /// Reverses a failed payment, in cents.
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
