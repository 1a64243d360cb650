//! How a leader shares auctions among nodes: pure arithmetic.

use std::collections::HashMap;

use barograph_auction_api::AuctionId;

/// The moves that give every auction an owner-to-be among `members` and every member its fair share, the floor or the
/// ceiling of auctions per member, with as few moves as that takes. Nothing moves when there are no members.
///
/// `assigned` says for each running auction whose it is to be so far; names that are no members count as nobody.
pub(crate) fn moves(assigned: &[(AuctionId, Option<&str>)], members: &[&str]) -> Vec<(AuctionId, String)> {
    if members.is_empty() {
        return Vec::new();
    }
    let mut shares: HashMap<&str, Vec<AuctionId>> = members.iter().map(|m| (*m, Vec::new())).collect();
    let mut homeless = Vec::new();
    for (auction, node) in assigned {
        match node.and_then(|n| shares.get_mut(n)) {
            Some(share) => share.push(*auction),
            None => homeless.push(*auction),
        }
    }
    let (floor, mut extra) = (assigned.len() / members.len(), assigned.len() % members.len());
    // Whoever has most keeps one more than the floor, while there are such places.
    let mut order: Vec<&str> = members.to_vec();
    order.sort_by_key(|m| (std::cmp::Reverse(shares[m].len()), *m));
    let mut places = Vec::new();
    for member in order {
        let room = floor + usize::from(extra > 0);
        extra = extra.saturating_sub(1);
        let share = shares.get_mut(member).map(std::mem::take).unwrap_or_default();
        homeless.extend(share.iter().skip(room));
        places.push((member, room.saturating_sub(share.len())));
    }
    let mut homeless = homeless.into_iter();
    let mut moves = Vec::new();
    for (member, room) in places {
        moves.extend(homeless.by_ref().take(room).map(|auction| (auction, member.to_owned())));
    }
    moves
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn named<'a>(owners: &[Option<&'a str>]) -> Vec<(AuctionId, Option<&'a str>)> {
        owners.iter().enumerate().map(|(i, owner)| (AuctionId(i as i64), *owner)).collect()
    }

    #[test]
    fn a_dead_nodes_auctions_go_to_the_others_and_nothing_else_moves() {
        let owners = [Some("a"), Some("b"), Some("c"), Some("a"), Some("b"), Some("c")];
        let moved = moves(&named(&owners), &["a", "b"]);
        assert_eq!(moved, [(AuctionId(2), "a".to_owned()), (AuctionId(5), "b".to_owned())]);
    }

    #[test]
    fn a_newcomer_gets_its_share() {
        let owners = [Some("a"); 5];
        let moved = moves(&named(&owners), &["a", "b"]);
        assert_eq!(moved.len(), 2);
        assert!(moved.iter().all(|m| m.1 == "b"));
        assert!(moves(&named(&owners), &[]).is_empty());
    }

    proptest! {
        #[test]
        fn shares_are_fair_and_moves_few(
            owners in prop::collection::vec(prop::option::of(0usize..6), 0..60),
            present in prop::collection::btree_set(0usize..6, 1..6),
        ) {
            let names = ["a", "b", "c", "d", "e", "f"];
            let owners: Vec<Option<&str>> = owners.iter().map(|o| o.map(|i| names[i])).collect();
            let members: Vec<&str> = present.iter().map(|i| names[*i]).collect();
            let before = named(&owners);
            let moved = moves(&before, &members);
            let mut after: HashMap<AuctionId, Option<&str>> = before.iter().copied().collect();
            for (auction, node) in &moved {
                prop_assert!(after[auction] != Some(node.as_str()));
                after.insert(*auction, Some(node));
            }
            let count = |m: &str| after.values().filter(|o| **o == Some(m)).count();
            let (least, most) = (owners.len() / members.len(), owners.len().div_ceil(members.len()));
            for member in &members {
                prop_assert!((least..=most).contains(&count(member)));
            }
            // Only the homeless, and what somebody has above a fair share, may move.
            let homeless = before.iter().filter(|(_, o)| !o.is_some_and(|o| members.contains(&o))).count();
            let above: usize = members.iter()
                .map(|m| before.iter().filter(|(_, o)| *o == Some(*m)).count().saturating_sub(least)).sum();
            prop_assert!(moved.len() <= homeless + above);
            prop_assert!(moves(&after.into_iter().collect::<Vec<_>>(), &members).is_empty());
        }
    }
}
