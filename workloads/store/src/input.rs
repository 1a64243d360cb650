//! Inputs of the operations, drawn from the random stream of a user.

use barograph_data::Stream;
use barograph_model::Share;
use rand::RngExt;
use rand_distr::{Distribution as _, Zipf};
use serde::{Deserialize, Serialize};

use crate::generate::{Generator, user_name};
use crate::shuffle::Shuffle;
use crate::tables::{CATEGORIES, in_stock, sold_out};
use crate::words::{Pair, TITLE_WORDS, Word};

/// The choices that a plan leaves to users.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Habits {
    /// Share of visitors that are new customers.
    pub(crate) new_customers: Share,
    /// Searches of a visit on average.
    pub(crate) searches: i64,
    /// Products that a search asks for at the most, on average.
    pub(crate) search_rows: i64,
    /// Share of title searches with words of an existing title.
    pub(crate) title_hits: Share,
    /// Lines of an order on average.
    pub(crate) lines: i64,
    /// Share of orders with a product that is sold out.
    pub(crate) shortages: Share,
    /// Exponent of Zipf's law for the popularity of products; 0 for all alike.
    pub(crate) skew: f64,
}

/// The input of Login, written again for each.
#[derive(Debug, Default)]
pub(crate) struct Login {
    pub(crate) customer: i64,
    pub(crate) name: String,
    pub(crate) password: String,
}

/// The input of a search by two words, written again for each.
#[derive(Debug, Default)]
pub(crate) struct Search {
    pub(crate) pair: Pair,
    /// Whether a product has both words.
    pub(crate) is_known: bool,
    pub(crate) most: i64,
}

impl Search {
    /// The words, and how many products are asked for at the most.
    pub(crate) fn asked(&self) -> ([&str; 2], i64) {
        (self.pair.words(), self.most)
    }
}

/// A line of the input of Purchase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LineInput {
    pub(crate) product: i64,
    pub(crate) quantity: i64,
}

/// The input of Purchase, written again for each.
#[derive(Debug, Default)]
pub(crate) struct Order {
    pub(crate) customer: i64,
    /// Sorted by product. All orders change stock in this sequence, which rules out deadlocks.
    pub(crate) lines: Vec<LineInput>,
    /// Whether a product is sold out: a planned shortage.
    pub(crate) is_short: bool,
}

/// Draws inputs for a database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inputs {
    pub(crate) generator: Generator,
    pub(crate) habits: Habits,
    ranks: Zipf<f64>,
    /// Products in stock by their popularity.
    popular: Shuffle,
}

impl Inputs {
    pub(crate) fn new(generator: Generator, habits: Habits) -> Self {
        let products = generator.size.in_stock();
        let ranks = Zipf::new(products as f64, habits.skew)
            .expect("a size has products, and the skew is not negative");
        Inputs { generator, habits, ranks, popular: Shuffle::new(products, !generator.seed) }
    }

    pub(crate) fn login(&self, rng: &mut Stream, login: &mut Login) {
        login.customer = self.customer(rng);
        login.name = user_name(login.customer);
        login.password = self.generator.password(login.customer).to_string();
    }

    /// A loaded customer.
    pub(crate) fn customer(&self, rng: &mut Stream) -> i64 {
        rng.random_range(1..=self.generator.size.customers)
    }

    /// Whether the next visitor is a new customer.
    pub(crate) fn is_new(&self, rng: &mut Stream) -> bool {
        rng.random_bool(self.habits.new_customers.get())
    }

    /// The number of searches of a visit.
    pub(crate) fn searches(&self, rng: &mut Stream) -> i64 {
        around(self.habits.searches, rng)
    }

    /// A category, and how many of its offers are asked for at the most.
    pub(crate) fn category(&self, rng: &mut Stream) -> (i64, i64) {
        (rng.random_range(1..=CATEGORIES), around(self.habits.search_rows, rng))
    }

    /// Two words of the title of a product, or two that no title has.
    pub(crate) fn title(&self, rng: &mut Stream, search: &mut Search) {
        search.is_known = rng.random_bool(self.habits.title_hits.get());
        let [first, second, _] = match search.is_known {
            true => self.generator.title(self.product(rng)),
            false => [rng.random_range(0..TITLE_WORDS); 3].map(Word::unused),
        };
        search.pair.set([first, second]);
        search.most = around(self.habits.search_rows, rng);
    }

    /// First and last name of the actor of a product.
    pub(crate) fn actor(&self, rng: &mut Stream, search: &mut Search) {
        search.is_known = true;
        search.pair.set(self.generator.actor(self.product(rng)));
        search.most = around(self.habits.search_rows, rng);
    }

    pub(crate) fn order(&self, rng: &mut Stream, order: &mut Order) {
        order.lines.clear();
        for _ in 0..around(self.habits.lines, rng) {
            let product = self.product(rng);
            order.lines.push(LineInput { product, quantity: rng.random_range(1..=3) });
        }
        order.is_short = rng.random_bool(self.habits.shortages.get());
        if order.is_short
            && let Some(last) = order.lines.last_mut()
        {
            last.product = sold_out(rng.random_range(0..self.generator.size.sold_out()));
        }
        order.lines.sort_unstable_by_key(|line| line.product);
    }

    /// A product in stock, by its popularity.
    fn product(&self, rng: &mut Stream) -> i64 {
        let rank = self.ranks.sample(rng) as i64;
        in_stock(self.popular.at(rank - 1))
    }
}

/// A number with this mean, at least 1.
fn around(mean: i64, rng: &mut Stream) -> i64 {
    rng.random_range(1..=2 * mean - 1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use barograph_data::Streams;

    use super::*;
    use crate::tables::{Size, is_sold_out};
    use crate::tests::rig::HABITS;

    const TIMES: u32 = 40_000;

    fn inputs(habits: Habits) -> (Inputs, Stream) {
        (Inputs::new(Generator::new(Size::new(1), 1), habits), Streams::new(1).stream("a test", 0))
    }

    /// Within six standard deviations.
    fn is_near(found: u32, of: u32, share: f64) -> bool {
        let (n, found) = (f64::from(of), f64::from(found));
        (found - n * share).abs() <= 6.0 * (n * share * (1.0 - share)).sqrt()
    }

    #[test]
    fn orders_have_their_lines_and_their_share_of_shortages() {
        let (inputs, mut rng) = inputs(HABITS);
        let (mut order, mut lines, mut short) = (Order::default(), 0, 0);
        for _ in 0..TIMES {
            inputs.order(&mut rng, &mut order);
            assert!(
                (1..=9).contains(&order.lines.len()) && order.lines.is_sorted_by_key(|line| line.product)
            );
            assert!(order.lines.iter().all(|line| (1..=3).contains(&line.quantity)));
            let without = order.lines.iter().filter(|line| is_sold_out(line.product)).count();
            assert_eq!(without, usize::from(order.is_short));
            lines += order.lines.len() as u32;
            short += u32::from(order.is_short);
        }
        assert!((f64::from(lines) / f64::from(TIMES) - 5.0).abs() < 0.1, "{lines}");
        assert!(is_near(short, TIMES, HABITS.shortages.get()), "{short}");
    }

    /// Shares of the most popular products against their definition.
    #[test]
    fn products_are_as_popular_as_the_skew_says() {
        for skew in [0.0, 0.8, 1.2] {
            let (inputs, mut rng) = inputs(Habits { skew, ..HABITS });
            let mut counts = BTreeMap::<i64, u32>::new();
            for _ in 0..TIMES {
                *counts.entry(inputs.product(&mut rng)).or_default() += 1;
            }
            let weight = |rank: i64| (rank as f64).powf(-skew);
            let all: f64 = (1..=inputs.generator.size.in_stock()).map(weight).sum();
            for rank in [1, 2, 10, 100] {
                let found = counts.get(&in_stock(inputs.popular.at(rank - 1))).copied().unwrap_or(0);
                assert!(is_near(found, TIMES, weight(rank) / all), "skew {skew}, rank {rank}: {found}");
            }
            assert!(counts.keys().all(|product| !is_sold_out(*product)));
        }
    }

    #[test]
    fn titles_hit_as_often_as_the_plan_says() {
        let (inputs, mut rng) = inputs(HABITS);
        let (mut search, mut hits) = (Search::default(), 0);
        for _ in 0..TIMES {
            inputs.title(&mut rng, &mut search);
            hits += u32::from(search.is_known);
            assert!((1..=9).contains(&search.most));
        }
        assert!(is_near(hits, TIMES, 0.9), "{hits}");
    }
}
