//! Inputs of the five transactions, drawn from the random stream of a user.

use barograph_data::Stream;
use rand::RngExt;

use crate::draw::{Constants, last_name};
use crate::tables::{DISTRICTS, Size};

/// A district of a warehouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct District {
    pub(crate) w: i64,
    pub(crate) d: i64,
}

/// A customer, or an order, of a district.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) of: District,
    pub(crate) id: i64,
}

/// How an input names a customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CustomerChoice {
    Id(i64),
    /// By the last name in [`Input::name`].
    Name,
}

/// A line of the input of New-Order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineInput {
    pub(crate) supply: i64,
    pub(crate) item: i64,
    pub(crate) quantity: i64,
}

/// Parts of an input that need memory, reused by each transaction of a user.
#[derive(Debug, Default)]
pub(crate) struct Input {
    /// The last name of the customer.
    pub(crate) name: String,
    /// Lines of an order, sorted by warehouse and item. All transactions change stock in this order, which rules out
    /// deadlocks.
    pub(crate) lines: Vec<LineInput>,
}

/// The input of New-Order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewOrder {
    pub(crate) customer: Key,
    /// Whether all lines are of the home warehouse.
    pub(crate) all_local: bool,
}

/// The input of Payment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Payment {
    /// The district that receives the payment.
    pub(crate) district: District,
    /// The district of the customer.
    pub(crate) customer_of: District,
    pub(crate) who: CustomerChoice,
    pub(crate) cents: i64,
}

/// Draws inputs for a database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inputs {
    pub(crate) size: Size,
    pub(crate) constants: Constants,
}

impl Inputs {
    /// Share of orders with an item that does not exist: planned rollbacks.
    const ROLLED_BACK: f64 = 0.01;

    /// Share of lines from another warehouse.
    const REMOTE_LINES: f64 = 0.01;

    /// Share of payments of a customer of another warehouse.
    const REMOTE_PAYMENTS: f64 = 0.15;

    /// Share of customers that are named by their last name.
    const BY_NAME: f64 = 0.6;

    pub(crate) fn new_order(&self, w: i64, rng: &mut Stream, room: &mut Input) -> NewOrder {
        let of = District { w, d: rng.random_range(1..=DISTRICTS) };
        let customer = Key { of, id: self.constants.customer(self.size.customers, rng) };
        room.lines.clear();
        for _ in 0..rng.random_range(5..=15) {
            let item = self.constants.item(self.size.items, rng);
            let supply = if rng.random_bool(Self::REMOTE_LINES) { self.other(w, rng) } else { w };
            room.lines.push(LineInput { supply, item, quantity: rng.random_range(1..=10) });
        }
        room.lines.sort_unstable_by_key(|line| (line.supply, line.item));
        let all_local = room.lines.iter().all(|line| line.supply == w);
        if rng.random_bool(Self::ROLLED_BACK)
            && let Some(last) = room.lines.last_mut()
        {
            last.item = self.size.items + 1;
        }
        NewOrder { customer, all_local }
    }

    pub(crate) fn payment(&self, w: i64, rng: &mut Stream, room: &mut Input) -> Payment {
        let district = District { w, d: rng.random_range(1..=DISTRICTS) };
        let is_remote = self.size.warehouses > 1 && rng.random_bool(Self::REMOTE_PAYMENTS);
        let customer_of = match is_remote {
            true => District { w: self.other(w, rng), d: rng.random_range(1..=DISTRICTS) },
            false => district,
        };
        let who = self.who(rng, room);
        Payment { district, customer_of, who, cents: rng.random_range(100..=500_000) }
    }

    /// The customer of Order-Status.
    pub(crate) fn order_status(
        &self,
        w: i64,
        rng: &mut Stream,
        room: &mut Input,
    ) -> (District, CustomerChoice) {
        (District { w, d: rng.random_range(1..=DISTRICTS) }, self.who(rng, room))
    }

    /// The carrier of Delivery.
    pub(crate) fn carrier(rng: &mut Stream) -> i64 {
        rng.random_range(1..=10)
    }

    /// The threshold of Stock-Level.
    pub(crate) fn threshold(rng: &mut Stream) -> i64 {
        rng.random_range(10..=20)
    }

    fn who(&self, rng: &mut Stream, room: &mut Input) -> CustomerChoice {
        if !rng.random_bool(Self::BY_NAME) {
            return CustomerChoice::Id(self.constants.customer(self.size.customers, rng));
        }
        room.name.clear();
        last_name(self.constants.asked_name(self.size.customers, rng), &mut room.name);
        CustomerChoice::Name
    }

    /// Another warehouse, where there is one.
    fn other(&self, w: i64, rng: &mut Stream) -> i64 {
        if self.size.warehouses == 1 {
            return w;
        }
        let other = rng.random_range(1..self.size.warehouses);
        if other < w { other } else { other + 1 }
    }
}

#[cfg(test)]
mod tests {
    use barograph_data::Streams;

    use super::*;

    const TIMES: u32 = 40_000;

    fn inputs(warehouses: u32) -> (Inputs, Stream, Input) {
        let inputs = Inputs { size: Size::new(warehouses, 1.0), constants: Constants::of_seed(1) };
        (inputs, Streams::new(1).stream("a test", 0), Input::default())
    }

    /// Within six standard deviations.
    fn is_near(found: u32, of: u32, share: f64) -> bool {
        let (n, found) = (f64::from(of), f64::from(found));
        (found - n * share).abs() <= 6.0 * (n * share * (1.0 - share)).sqrt()
    }

    #[test]
    fn orders_have_their_shares_of_remote_lines_and_planned_rollbacks() {
        let (inputs, mut rng, mut room) = inputs(4);
        let (mut lines, mut remote, mut rolled_back, mut local) = (0, 0, 0, 0);
        for _ in 0..TIMES {
            let order = inputs.new_order(2, &mut rng, &mut room);
            assert!((5..=15).contains(&room.lines.len()) && order.customer.of.w == 2);
            lines += room.lines.len() as u32;
            let of_others = room.lines.iter().filter(|line| line.supply != 2).count() as u32;
            remote += of_others;
            assert_eq!(order.all_local, of_others == 0);
            local += u32::from(order.all_local);
            let missing = room.lines.iter().filter(|line| line.item > inputs.size.items).count();
            rolled_back += missing as u32;
            let known = room.lines.len() - missing;
            assert!(room.lines[..known].is_sorted_by_key(|line| (line.supply, line.item)));
            assert!(missing <= 1 && room.lines.iter().all(|line| (1..=10).contains(&line.quantity)));
        }
        assert!(is_near(remote, lines, 0.01) && is_near(rolled_back, TIMES, 0.01), "{remote} {rolled_back}");
        let all_local = (5..=15).map(|n| 0.99_f64.powi(n)).sum::<f64>() / 11.0;
        assert!(is_near(local, TIMES, all_local), "{local}");
    }

    #[test]
    fn payments_have_their_shares_of_names_and_other_warehouses() {
        let (inputs, mut rng, mut room) = inputs(3);
        let (mut by_name, mut remote, mut to_each) = (0, 0, [0; 4]);
        for _ in 0..TIMES {
            let payment = inputs.payment(3, &mut rng, &mut room);
            assert!((100..=500_000).contains(&payment.cents));
            by_name += u32::from(payment.who == CustomerChoice::Name);
            remote += u32::from(payment.customer_of.w != 3);
            to_each[payment.customer_of.w as usize] += 1;
        }
        assert!(is_near(by_name, TIMES, 0.6) && is_near(remote, TIMES, 0.15));
        assert!(is_near(to_each[1], TIMES, 0.075) && is_near(to_each[2], TIMES, 0.075), "{to_each:?}");
    }

    #[test]
    fn a_single_warehouse_is_never_remote() {
        let (inputs, mut rng, mut room) = inputs(1);
        for _ in 0..1_000 {
            assert!(inputs.new_order(1, &mut rng, &mut room).all_local);
            let payment = inputs.payment(1, &mut rng, &mut room);
            assert_eq!(payment.customer_of, payment.district);
        }
    }
}
