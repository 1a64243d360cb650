//! The order of calls in which each finds what it needs in earlier answers, and what must be kept for that.

use std::collections::{BTreeMap, BTreeSet};

use super::calls::{Call, Place};
use super::schema::{Leaf, Schemas};
use crate::draft::From;

/// Names under which a token goes.
const TOKENS: [&str; 6] = ["token", "access_token", "auth_token", "id_token", "session_token", "jwt"];

/// One call in its place.
pub(super) struct Step<'a> {
    pub(super) call: &'a Call<'a>,
    /// What earlier answers gave: what it is known as, and the name of the value.
    pub(super) known: BTreeMap<String, String>,
    /// What later calls need of its answer: the value's name and where it is found.
    pub(super) keeps: Vec<(String, From)>,
    /// The value that holds its credential.
    pub(super) token: Option<String>,
}

/// Puts calls in order.
pub(super) fn order<'a>(schemas: Schemas<'a>, calls: &'a [Call<'a>]) -> Vec<Step<'a>> {
    let needs: Vec<BTreeSet<String>> = calls.iter().map(|call| needs(schemas, call)).collect();
    let gives = all_gives(schemas, calls, &needs);
    let mut left: Vec<usize> = (0..calls.len()).collect();
    let mut known = BTreeMap::new();
    let mut steps: Vec<(usize, Step<'a>)> = Vec::new();
    let mut kept_by: BTreeMap<String, (usize, String)> = BTreeMap::new();
    while !left.is_empty() {
        let missing = |at: usize| {
            let hopeful = |need: &&String| {
                !known.contains_key(*need)
                    && left.iter().any(|other| *other != at && gives[*other].contains_key(*need))
            };
            needs[at].iter().filter(hopeful).count()
        };
        let best = left.iter().copied().min_by_key(|at| (rank(&calls[*at], &gives[*at]), missing(*at), *at));
        let ready = left.iter().copied().filter(|at| missing(*at) == 0);
        let next =
            ready.min_by_key(|at| (rank(&calls[*at], &gives[*at]), *at)).or(best).expect("something is left");
        left.retain(|at| *at != next);
        let call = &calls[next];
        let token = call.scheme.and_then(|_| TOKENS.iter().find_map(|t| known.get(*t).cloned()));
        steps.push((next, Step { call, known: known.clone(), keeps: Vec::new(), token }));
        for (known_as, pointer) in &gives[next] {
            if !known.contains_key(known_as) {
                known.insert(known_as.clone(), known_as.clone());
                kept_by.insert(known_as.clone(), (steps.len() - 1, pointer.clone()));
            }
        }
    }
    keep_what_is_used(&mut steps, &needs, &kept_by);
    steps.into_iter().map(|(_, step)| step).collect()
}

/// Only what a later call needs is kept.
fn keep_what_is_used(
    steps: &mut [(usize, Step<'_>)],
    needs: &[BTreeSet<String>],
    kept_by: &BTreeMap<String, (usize, String)>,
) {
    for (known_as, (giver, pointer)) in kept_by {
        let is_used = steps[giver + 1..].iter().any(|(at, step)| {
            needs[*at].contains(known_as) || step.token.as_ref().is_some_and(|token| token == known_as)
        });
        if is_used {
            steps[*giver].1.keeps.push((known_as.clone(), From::Json(pointer.clone())));
        }
    }
}

/// What a call must be given, by what it is known as. Only what names a thing is taken from other answers: another
/// call's `name` or `page` is not this one's.
fn needs<'a>(schemas: Schemas<'a>, call: &Call<'a>) -> BTreeSet<String> {
    let mut needs: BTreeSet<String> = call
        .parameters
        .iter()
        .filter(|p| p.place == Place::Path || is_id(&p.known_as))
        .map(|p| p.known_as.clone())
        .collect();
    if let Some(content) = &call.content {
        let leaves = schemas.leaves(content.schema, call.path);
        needs.extend(leaves.into_iter().map(|leaf| leaf.known_as).filter(|name| is_id(name)));
    }
    needs
}

fn is_id(known_as: &str) -> bool {
    known_as.ends_with("_id") || known_as.ends_with("_uuid")
}

/// What each answer gives, by what it is known as, and where. Where the thing itself is to be had, mentions of it are
/// left aside: the first bid of a new user is no good place to look for an item.
fn all_gives<'a>(
    schemas: Schemas<'a>,
    calls: &[Call<'a>],
    needs: &[BTreeSet<String>],
) -> Vec<BTreeMap<String, String>> {
    let leaves: Vec<Vec<Leaf>> = calls.iter().map(|call| useful_leaves(schemas, call)).collect();
    let has_token: Vec<bool> =
        leaves.iter().map(|all| all.iter().any(|leaf| TOKENS.contains(&leaf.known_as.as_str()))).collect();
    // An answer that needs the id to be asked for is no source of it.
    let owned: BTreeSet<&str> = leaves
        .iter()
        .zip(needs)
        .flat_map(|(all, needs)| all.iter().filter(|leaf| leaf.is_own && !needs.contains(&leaf.known_as)))
        .map(|leaf| leaf.known_as.as_str())
        .collect();
    let of_call = |(all, logs_in): (&Vec<Leaf>, &bool)| {
        let kept = |leaf: &&Leaf| leaf.is_own || *logs_in || !owned.contains(leaf.known_as.as_str());
        let mut gives: BTreeMap<String, String> = BTreeMap::new();
        let depth = |pointer: &str| pointer.matches('/').count();
        for leaf in all.iter().filter(kept) {
            if gives.get(&leaf.known_as).is_none_or(|known| depth(&leaf.pointer) < depth(known)) {
                gives.insert(leaf.known_as.clone(), leaf.pointer.clone());
            }
        }
        gives
    };
    leaves.iter().zip(&has_token).map(of_call).collect()
}

/// Ids and tokens of an answer.
fn useful_leaves<'a>(schemas: Schemas<'a>, call: &Call<'a>) -> Vec<Leaf> {
    let leaves = call.answer.map(|schema| schemas.leaves(schema, call.path)).unwrap_or_default();
    let is_useful = |leaf: &Leaf| is_id(&leaf.known_as) || TOKENS.contains(&leaf.known_as.as_str());
    leaves.into_iter().filter(is_useful).collect()
}

/// Logging in comes first and logging out last; reading before writing, lists before single things.
fn rank(call: &Call<'_>, gives: &BTreeMap<String, String>) -> u8 {
    let path = call.path.to_ascii_lowercase();
    let logs_out = ["logout", "signout", "sign-out", "log-out"].iter().any(|word| path.contains(word));
    let has_path_parameters = call.parameters.iter().any(|p| p.place == Place::Path);
    match call.method {
        _ if logs_out => 7,
        "post" if call.scheme.is_none() && TOKENS.iter().any(|t| gives.contains_key(*t)) => 0,
        "get" | "head" if !has_path_parameters => 1,
        "get" | "head" => 2,
        "post" => 3,
        "put" | "patch" => 4,
        _ => 6,
    }
}
