//! The timed server of the testkit as a process of its own, for manual measurements with any client.
//!
//! It prints its URL, serves until its input ends, and then prints its counts and its lateness.

use std::io::{Read, stdin};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use barograph_testkit::{Delay, Stalls, TimedServer, Timing};

use crate::say::say;

/// The seed of the sequence of delays; an arbitrary number.
const SEED: u64 = 1;

/// Serves with the delays in the arguments.
pub(crate) fn run(words: &[&str]) -> Result<bool> {
    let server = TimedServer::start(timing(words)?)?;
    say(&server.url("/"));
    stdin().read_to_end(&mut Vec::new())?;
    say(&format!("{} answers on {} connections", server.answered(), server.connections()));
    for q in [0.5, 0.9, 0.99, 0.999, 1.0] {
        say(&format!("p{}: delay {:?}, late by {:?}", q * 100.0, server.exact(q), server.lateness(q)));
    }
    Ok(true)
}

fn timing(words: &[&str]) -> Result<Timing> {
    let (delay, rest) = match words {
        ["constant", value, rest @ ..] => (Delay::Constant(ms(value)?), rest),
        ["bimodal", quick, slow, share, rest @ ..] => {
            (Delay::Bimodal { quick: ms(quick)?, slow: ms(slow)?, slow_share: number(share)? }, rest)
        }
        ["pareto", least, most, shape, rest @ ..] => {
            (Delay::Pareto { least: ms(least)?, most: ms(most)?, shape: number(shape)? }, rest)
        }
        _ => bail!("wanted is constant MS, bimodal QUICK_MS SLOW_MS SHARE or pareto LEAST_MS MOST_MS SHAPE"),
    };
    let timing = Timing::of(delay, SEED);
    match rest {
        [] => Ok(timing),
        ["stall", every, lasts] => Ok(timing.stalling(Stalls { every: ms(every)?, lasts: ms(lasts)? })),
        _ => bail!("after the delay may come: stall EVERY_MS LASTS_MS"),
    }
}

fn number(word: &str) -> Result<f64> {
    word.parse().with_context(|| format!("read `{word}` as a number"))
}

fn ms(word: &str) -> Result<Duration> {
    Ok(Duration::try_from_secs_f64(number(word)? / 1000.0)?)
}
