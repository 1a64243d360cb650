//! Order of calls in which each finds its inputs in earlier answers.

use std::collections::{BTreeMap, BTreeSet};

use super::calls::{Call, ParameterLocation};
use super::schema::{Leaf, Schemas};
use crate::draft::ValueSource;
use crate::name;

/// Usual names of a token.
const TOKENS: [&str; 6] = ["token", "access_token", "auth_token", "id_token", "session_token", "jwt"];

/// One call in the order.
pub(super) struct Step<'a> {
    /// Its index among the calls.
    pub(super) at: usize,
    pub(super) call: &'a Call<'a>,
    /// Values from earlier answers: what they are known as, and their names.
    pub(super) known: BTreeMap<String, String>,
    /// The possible credential.
    pub(super) token: Option<String>,
}

/// Calls in order.
pub(super) struct Order<'a> {
    pub(super) steps: Vec<Step<'a>>,
    /// The source of each value: the number of the step, and the place in its answer.
    pub(super) givers: BTreeMap<String, (usize, ValueSource)>,
}

/// The ids needed by a call, by name.
type RequiredIds = BTreeSet<String>;

/// The ids in an answer, by name, with their places.
type ProducedIds = BTreeMap<String, ValueSource>;

/// Sorts calls into an order.
pub(super) fn order<'a>(schemas: Schemas<'a>, calls: &'a [Call<'a>]) -> Order<'a> {
    let mut needs: Vec<RequiredIds> = calls.iter().map(|call| needs(schemas, call)).collect();
    let mut gives = all_gives(schemas, calls, &needs);
    add_links(calls, &mut needs, &mut gives);
    let ranks: Vec<u8> = calls.iter().zip(&gives).map(|(call, gives)| rank(call, gives)).collect();
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    gives.iter().flat_map(ProducedIds::keys).for_each(|name| *counts.entry(name).or_default() += 1);
    let mut left: Vec<usize> = (0..calls.len()).collect();
    let mut known = BTreeMap::new();
    let mut steps: Vec<Step<'a>> = Vec::new();
    let mut givers = BTreeMap::new();
    while !left.is_empty() {
        // Ids that only remaining calls give.
        let missing = |at: usize| {
            let own = |need: &String| usize::from(gives[at].contains_key(need));
            let others = |need: &String| counts.get(need).copied().unwrap_or(0) > own(need);
            needs[at].iter().filter(|need| !known.contains_key(*need) && others(need)).count()
        };
        let count: Vec<usize> = left.iter().map(|at| missing(*at)).collect();
        let all = left.iter().copied().zip(count);
        let ready = all.clone().filter(|(_, missing)| *missing == 0);
        let next = ready.min_by_key(|(at, _)| (ranks[*at], *at));
        let best = || all.min_by_key(|(at, missing)| (ranks[*at], *missing, *at));
        let (next, _) = next.or_else(best).expect("something is left");
        left.retain(|at| *at != next);
        let call = &calls[next];
        let token = TOKENS.iter().find_map(|t| known.get(*t).cloned()).filter(|_| !call.schemes.is_empty());
        steps.push(Step { at: next, call, known: known.clone(), token });
        for (known_as, from) in &gives[next] {
            *counts.entry(known_as).or_default() -= 1;
            if !known.contains_key(known_as) {
                let name = name::free(known_as);
                known.insert(known_as.clone(), name.clone());
                givers.insert(name, (steps.len() - 1, from.clone()));
            }
        }
    }
    Order { steps, givers }
}

/// The inputs of a call. Only ids are taken from other answers: another call's `name` or `page` has another
/// meaning; and a body that creates a resource does not need its id.
fn needs<'a>(schemas: Schemas<'a>, call: &Call<'a>) -> RequiredIds {
    let parameters =
        call.parameters.iter().filter(|p| p.place == ParameterLocation::Path || is_id(&p.known_as));
    let mut needs: RequiredIds = parameters.map(|p| p.known_as.clone()).collect();
    if let Some(content) = &call.content {
        let leaves = schemas.leaves(content.schema, call.path);
        let creates = call.method == "post";
        let mentioned = leaves.into_iter().filter(|leaf| !(creates && leaf.is_own) && is_id(&leaf.known_as));
        needs.extend(mentioned.map(|leaf| leaf.known_as));
    }
    needs
}

/// Adds the links in the document: the parameters of calls given by an answer.
fn add_links(calls: &[Call<'_>], needs: &mut [RequiredIds], gives: &mut [ProducedIds]) {
    for (giver, link) in calls.iter().enumerate().flat_map(|(i, call)| call.links.iter().map(move |l| (i, l)))
    {
        let Some(taker) = calls.iter().position(|call| call.id == Some(link.to)) else { continue };
        let Some(parameter) = calls[taker].parameters.iter().find(|p| p.name == link.parameter) else {
            continue;
        };
        needs[taker].insert(parameter.known_as.clone());
        gives[giver].insert(parameter.known_as.clone(), link.from.clone());
    }
}

fn is_id(known_as: &str) -> bool {
    known_as.ends_with("_id") || known_as.ends_with("_uuid")
}

/// The values of each answer. If the resource itself is available, mere mentions of it are ignored: the first
/// bid of a new user is a poor source of an item.
fn all_gives<'a>(schemas: Schemas<'a>, calls: &[Call<'a>], needs: &[RequiredIds]) -> Vec<ProducedIds> {
    let leaves: Vec<Vec<Leaf>> = calls.iter().map(|call| useful_leaves(schemas, call)).collect();
    // An answer whose request needs the id is not a source of it.
    let owned: BTreeSet<&str> = leaves
        .iter()
        .zip(needs)
        .flat_map(|(all, needs)| all.iter().filter(|leaf| leaf.is_own && !needs.contains(&leaf.known_as)))
        .map(|leaf| leaf.known_as.as_str())
        .collect();
    let of_call = |all: &Vec<Leaf>| {
        let logs_in = all.iter().any(|leaf| TOKENS.contains(&leaf.known_as.as_str()));
        let kept = |leaf: &&Leaf| leaf.is_own || logs_in || !owned.contains(leaf.known_as.as_str());
        let mut nearest: BTreeMap<&str, &str> = BTreeMap::new();
        let depth = |pointer: &str| pointer.matches('/').count();
        for leaf in all.iter().filter(kept) {
            if nearest.get(leaf.known_as.as_str()).is_none_or(|known| depth(&leaf.pointer) < depth(known)) {
                nearest.insert(&leaf.known_as, &leaf.pointer);
            }
        }
        let json =
            |(known_as, pointer): (&str, &str)| (known_as.to_owned(), ValueSource::Json(pointer.to_owned()));
        nearest.into_iter().map(json).collect()
    };
    leaves.iter().map(of_call).collect()
}

/// Ids and tokens of an answer.
fn useful_leaves<'a>(schemas: Schemas<'a>, call: &Call<'a>) -> Vec<Leaf> {
    let leaves = call.answer.map(|schema| schemas.leaves(schema, call.path)).unwrap_or_default();
    let is_useful = |leaf: &Leaf| is_id(&leaf.known_as) || TOKENS.contains(&leaf.known_as.as_str());
    leaves.into_iter().filter(is_useful).collect()
}

/// Rank of a call: logging in comes first and logging out last; reading before writing, lists before single
/// resources.
fn rank(call: &Call<'_>, gives: &ProducedIds) -> u8 {
    let path = call.path.to_ascii_lowercase();
    let logs_out = ["logout", "signout", "sign-out", "log-out"].iter().any(|word| path.contains(word));
    let has_path_parameters = call.parameters.iter().any(|p| p.place == ParameterLocation::Path);
    match call.method {
        _ if logs_out => 7,
        "post" if call.schemes.is_empty() && TOKENS.iter().any(|t| gives.contains_key(*t)) => 0,
        "get" | "head" if !has_path_parameters => 1,
        "get" | "head" => 2,
        "post" => 3,
        "put" | "patch" => 4,
        _ => 6,
    }
}
