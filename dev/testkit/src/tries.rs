//! Repeated tries of which one suffices, for properties that other work of the machine can only make worse.

use std::panic::Location;

use futures::FutureExt;

/// Repeats a try until it succeeds, at most `tries` times, and returns its result.
///
/// An `Err` gives the reason why a try does not count: for effects of noise, such as a late answer.
/// Properties that noise cannot affect are asserted inside, so that they hold in every try: a panic there
/// ends all of them.
///
/// Panics with the reasons of all tries if none succeeded.
#[track_caller]
pub fn one_of<T>(tries: usize, mut attempt: impl FnMut() -> Result<T, String>) -> T {
    one_of_async(tries, async || attempt())
        .now_or_never()
        .expect("an attempt that awaits nothing is never pending")
}

/// Like [`one_of`], for async tries.
#[track_caller]
pub fn one_of_async<T>(
    tries: usize,
    mut attempt: impl AsyncFnMut() -> Result<T, String>,
) -> impl Future<Output = T> {
    let place = Location::caller();
    async move {
        let mut failed = Vec::new();
        while failed.len() < tries {
            match attempt().await {
                Ok(value) => return value,
                Err(why) => failed.push(why),
            }
        }
        panic!("{}", none_went_well(place, &failed))
    }
}

fn none_went_well(place: &Location<'_>, failed: &[String]) -> String {
    let reasons: Vec<String> =
        failed.iter().enumerate().map(|(before, why)| format!("try {}: {why}", before + 1)).collect();
    format!("{place}: none of {} tries went well\n{}", failed.len(), reasons.join("\n"))
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use tokio::task::yield_now;

    use super::*;

    /// The message of its panic.
    fn panics(work: impl FnOnce()) -> String {
        let panic = catch_unwind(AssertUnwindSafe(work)).expect_err("it panics");
        *panic.downcast::<String>().expect("a text that was put together")
    }

    #[test]
    fn the_first_that_goes_well_is_the_last() {
        let mut made = 0;
        let value = one_of(5, || {
            made += 1;
            if made < 3 { Err(format!("{made} is too small")) } else { Ok(made * 10) }
        });
        assert_eq!((value, made), (30, 3));
    }

    #[test]
    fn where_none_goes_well_the_place_and_every_reason_are_said() {
        let mut made = 0;
        let text = panics(|| {
            one_of(3, || -> Result<(), String> {
                made += 1;
                Err(format!("{made} s"))
            });
        });
        let (place, reasons) = text.split_once(": ").expect("a place");
        assert!(place.starts_with(&format!("{}:", file!())), "{text}");
        assert_eq!(reasons, "none of 3 tries went well\ntry 1: 1 s\ntry 2: 2 s\ntry 3: 3 s");
    }

    #[test]
    fn what_is_asserted_in_a_try_ends_all_of_them() {
        let mut made = 0;
        let text = panics(|| {
            one_of(3, || -> Result<(), String> {
                made += 1;
                assert!(made < 2, "try {made} is early");
                Err("late".to_owned())
            });
        });
        assert_eq!((text.as_str(), made), ("try 2 is early", 2));
    }

    #[tokio::test]
    async fn what_is_awaited_is_tried_in_the_same_way() {
        let mut made = 0;
        let value = one_of_async(5, async || {
            yield_now().await;
            made += 1;
            if made < 3 { Err(format!("{made} is too small")) } else { Ok(made * 10) }
        });
        assert_eq!(value.await, 30);
        let late = one_of_async(2, async || -> Result<(), String> {
            yield_now().await;
            Err("late".to_owned())
        });
        let panic = AssertUnwindSafe(late).catch_unwind().await.expect_err("it panics");
        let text = panic.downcast::<String>().expect("a text that was put together");
        assert!(text.starts_with(&format!("{}:", file!())), "{text}");
        assert!(text.ends_with(": none of 2 tries went well\ntry 1: late\ntry 2: late"), "{text}");
    }
}
