//! The timed server as a process of its own, for measurements by hand with any client.
//!
//! `timed constant MS | bimodal QUICK_MS SLOW_MS SHARE | pareto LEAST_MS MOST_MS SHAPE [stall EVERY_MS LASTS_MS]`
//! prints its URL, serves until its input ends, and then prints what it did and how late it was.

use std::io::{Error, Read, Result, Write, stdin, stdout};
use std::time::Duration;

use barograph_testkit::{Delay, Stalls, TimedServer, Timing};

/// The seed of the sequence of delays; any would do.
const SEED: u64 = 1;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let server = TimedServer::start(timing(&words)?)?;
    writeln!(stdout(), "{}", server.url("/"))?;
    stdin().read_to_end(&mut Vec::new())?;
    writeln!(stdout(), "{} answers on {} connections", server.answered(), server.connections())?;
    for q in [0.5, 0.9, 0.99, 0.999, 1.0] {
        writeln!(stdout(), "p{}: delay {:?}, late by {:?}", q * 100.0, server.exact(q), server.lateness(q))?;
    }
    Ok(())
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
        _ => {
            return Err(Error::other("say constant MS, bimodal QUICK SLOW SHARE or pareto LEAST MOST SHAPE"));
        }
    };
    let timing = Timing::of(delay, SEED);
    match rest {
        [] => Ok(timing),
        ["stall", every, lasts] => Ok(timing.stalling(Stalls { every: ms(every)?, lasts: ms(lasts)? })),
        _ => Err(Error::other("after the delay may come: stall EVERY_MS LASTS_MS")),
    }
}

fn number(word: &str) -> Result<f64> {
    word.parse().map_err(|_| Error::other(format!("{word} is no number")))
}

fn ms(word: &str) -> Result<Duration> {
    Duration::try_from_secs_f64(number(word)? / 1000.0).map_err(Error::other)
}
