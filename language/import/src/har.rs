//! A first scenario from a recording of a browser (HAR 1.2): one operation per page with its exchanges, the
//! values from earlier answers, and the person's pauses.

mod links;
mod record;
mod request;

use std::collections::BTreeMap;

use crate::draft::{Draft, Operation, ThinkTime};
use crate::{Assets, ImportError, name};
use links::Links;
use record::{Entry, Recording};

/// Pause after the last exchange of a page from which on a request belongs to a new action of the person.
const PAUSE_MS: f64 = 1_000.0;

/// Longest pause that counts as think time; merged recordings have some of years.
const LONGEST_PAUSE_MS: f64 = 3_600_000.0;

/// Most operations of a scenario.
const MOST_OPERATIONS: usize = 256;

/// Most exchanges of an operation; a page with more becomes several.
const MOST_EXCHANGES: usize = 64;

/// Mean think time if the recording has no pauses.
const THINK_S: f64 = 1.0;

/// Reads a recording.
pub(crate) fn draft(text: &str, assets: Assets) -> Result<Draft, ImportError> {
    let mut recording = record::read(text)?;
    let mut entries = std::mem::take(&mut recording.entries);
    let origin = main_origin(&entries, assets).ok_or(ImportError::NoRequests)?;
    let all = entries.len();
    entries.retain(|entry| entry.address.origin == origin);
    let elsewhere = all - entries.len();
    let all = entries.len();
    entries.retain(|entry| assets == Assets::Keep || !is_asset(entry));
    let left_out = all - entries.len();
    if entries.is_empty() {
        return Err(ImportError::NoRequests);
    }
    let groups = grouped(&entries);
    let groups: Vec<&[&Entry]> = groups.iter().flat_map(|group| group.chunks(MOST_EXCHANGES)).collect();
    let mut draft = Draft {
        about: "What a person did in a browser, recorded.".to_owned(),
        remarks: recording.left_out.remarks().collect(),
        url: origin,
        values: Vec::new(),
        operations: Vec::new(),
        think: think(&groups),
    };
    operations(&recording, &groups, &mut draft);
    say_what_to_do((elsewhere, left_out), &mut draft);
    Ok(draft)
}

/// The origin of most requests that are no assets, in the site of the first page; the first of several.
/// Without a page it may be of any site.
fn main_origin(entries: &[Entry], assets: Assets) -> Option<String> {
    let is_page = |entry: &&Entry| matches!(entry.media_type.as_str(), "text/html" | "application/xhtml+xml");
    let has_ended_well = |entry: &&Entry| (200..300).contains(&entry.status);
    let of_service = || entries.iter().filter(|entry| !is_asset(entry));
    let home = of_service().filter(has_ended_well).find(is_page).map(|page| site(&page.address.origin));
    let near: Vec<&Entry> = match home {
        Some(home) => of_service().filter(|entry| site(&entry.address.origin) == home).collect(),
        None if assets == Assets::Keep && of_service().next().is_none() => entries.iter().collect(),
        None => of_service().collect(),
    };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    near.iter().for_each(|entry| *counts.entry(&entry.address.origin).or_default() += 1);
    let most = counts.values().max()?;
    let first = near.iter().find(|entry| counts.get(entry.address.origin.as_str()) == Some(most));
    first.map(|entry| entry.address.origin.clone())
}

/// The last two labels of an origin's host name, or the whole host where it is an address.
fn site(origin: &str) -> &str {
    let host = origin.split_once("://").map_or(origin, |(_, host)| host);
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let is_address = name.starts_with('[') || name.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let dots = name.rmatch_indices('.').nth(1).filter(|_| !is_address);
    dots.map_or(name, |(at, _)| &name[at + 1..])
}

/// Whether an entry is a picture, style, font or script, usually answered by a cache in front of a service.
fn is_asset(entry: &Entry) -> bool {
    const ENDINGS: [&str; 14] = [
        "css", "js", "mjs", "map", "png", "jpg", "jpeg", "gif", "svg", "webp", "ico", "woff", "woff2", "ttf",
    ];
    let media = entry.media_type.as_str();
    let file = entry.address.path.rsplit('/').next().and_then(|file| file.rsplit_once('.'));
    let ending = file.map(|(_, ending)| ending.to_ascii_lowercase());
    media.starts_with("image/")
        || media.starts_with("font/")
        || matches!(
            media,
            "text/css" | "text/javascript" | "application/javascript" | "application/x-javascript"
        )
        || ending.is_some_and(|e| ENDINGS.contains(&e.as_str()))
}

/// Groups the requests of one page without a pause between them.
fn grouped(entries: &[Entry]) -> Vec<Vec<&Entry>> {
    let mut groups: Vec<Vec<&Entry>> = Vec::new();
    let mut end = f64::MIN;
    for entry in entries {
        match groups.last_mut() {
            Some(group) if group[0].page == entry.page && entry.from - end < PAUSE_MS => group.push(entry),
            _ => {
                groups.push(vec![entry]);
                end = f64::MIN;
            }
        }
        end = end.max(entry.to);
    }
    groups
}

/// The pauses between operations.
fn think(groups: &[&[&Entry]]) -> ThinkTime {
    let end = |group: &[&Entry]| group.iter().map(|entry| entry.to).fold(f64::MIN, f64::max);
    let pause = |pair: &[&[&Entry]]| (pair[1][0].from - end(pair[0])).max(0.0);
    let pauses = groups.windows(2).map(pause).filter(|pause| *pause <= LONGEST_PAUSE_MS);
    // To a hundredth of a second: think times are not more precise.
    let mut pauses: Vec<f64> = pauses.map(|pause| (pause / 10.0).round() / 100.0).collect();
    pauses.sort_by(f64::total_cmp);
    if pauses.is_empty() { ThinkTime::Guess(THINK_S) } else { ThinkTime::Recorded(pauses) }
}

fn operations(recording: &Recording, groups: &[&[&Entry]], draft: &mut Draft) {
    let mut links = Links::default();
    let mut places: Vec<(usize, usize)> = Vec::new();
    let mut sockets = 0;
    for group in groups.iter().take(MOST_OPERATIONS) {
        let start = places.len();
        let mut exchanges = Vec::new();
        for (i, entry) in group.iter().enumerate() {
            let mut exchange = if entry.is_socket {
                sockets += 1;
                request::socket(entry, &mut links, format!("socket{sockets}"))
            } else {
                request::exchange(entry, &mut links)
            };
            let uses_this_group = links.take_latest().is_some_and(|latest| latest >= start);
            // The first one is the page; its further requests run side by side if the browser sent them so.
            exchange.beside = i > 1 && entry.from < group[i - 1].to && !uses_this_group;
            links.learn(places.len(), entry, &resource(&entry.address.path));
            places.push((draft.operations.len(), i));
            exchanges.push(exchange);
        }
        let first = group[0];
        let called = format!("{} {}", first.method.to_ascii_lowercase(), named_by(&first.address.path));
        let taken = |name: &str| draft.operations.iter().any(|operation| operation.name == name);
        let operation_name = name::unique(&name::operation(&called), taken);
        let title = recording.pages.get(&first.page).map_or("", |title| title.trim());
        let about = if title.is_empty() || title.starts_with("http") {
            format!("{} {}", first.method, first.address.target())
        } else {
            title.to_owned()
        };
        draft.operations.push(Operation { name: operation_name, about, exchanges });
    }
    for (n, (operation, exchange)) in places.into_iter().enumerate() {
        if let Some(keeps) = links.used.remove(&n) {
            draft.operations[operation].exchanges[exchange].keep = keeps;
        }
    }
    if groups.len() > MOST_OPERATIONS {
        let first = groups[MOST_OPERATIONS][0];
        draft.remarks.push(format!(
            "Operations after the first {MOST_OPERATIONS} are left out, from {} {} on.",
            first.method,
            first.address.target()
        ));
    }
}

/// Parts of a path that are not ids.
fn names(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty() && !part.chars().any(|c| c.is_ascii_digit()))
}

/// The name of the last part of a path that is not an id.
fn resource(path: &str) -> String {
    names(path).next_back().map_or_else(String::new, |part| name::singular(&name::value(part)))
}

/// The named parts of a path.
fn named_by(path: &str) -> String {
    let parts: Vec<&str> = names(path).collect();
    if parts.is_empty() { "home".to_owned() } else { parts.join(" ") }
}

fn say_what_to_do((elsewhere, left_out): (usize, usize), draft: &mut Draft) {
    draft.remarks.push(
        "Edit: names of operations, what follows what, and values that differ from user to user (search words, \
         accounts)."
            .to_owned(),
    );
    let requests = |n: usize| if n == 1 { "1 request".to_owned() } else { format!("{n} requests") };
    if elsewhere > 0 {
        draft
            .remarks
            .push(format!("Left out: {} to other origins. A scenario has one target.", requests(elsewhere)));
    }
    if left_out > 0 {
        draft.remarks.push(format!(
            "Left out: {} for pictures, styles, fonts and scripts. `--assets` takes them along.",
            requests(left_out)
        ));
    }
}
