//! Assignment of auctions to nodes: pure arithmetic.

use std::collections::HashMap;

use barograph_auction_api::AuctionId;

/// The fewest moves after which every auction is assigned to one of `members` and every member has its fair
/// share, the floor or the ceiling of auctions per member. No moves if there are no members.
///
/// Neighbouring auctions go to different members as far as possible: users fill those that began first, and a
/// member with a stretch of these would have all of the bidding.
///
/// `assigned` holds the present assignment of each running auction; names that are not members count as
/// unassigned.
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
    // The members with most auctions keep one more than the floor, while there are such places.
    let mut order: Vec<&str> = members.to_vec();
    order.sort_by_key(|m| (std::cmp::Reverse(shares[m].len()), *m));
    let mut places = Vec::new();
    for member in order {
        let room = floor + usize::from(extra > 0);
        extra = extra.saturating_sub(1);
        let mut share = shares.get_mut(member).map(std::mem::take).unwrap_or_default();
        share.sort_unstable();
        homeless.extend(evenly(&share, share.len().saturating_sub(room)));
        places.push((member, room.saturating_sub(share.len())));
    }
    homeless.sort_unstable();
    // The seats of each member spread evenly over all of them for any numbers.
    let all = homeless.len();
    let seats = |(member, room): (_, usize)| (0..room).map(move |seat| ((2 * seat + 1) * all / room, member));
    let mut seats: Vec<(usize, &str)> = places.into_iter().flat_map(seats).collect();
    seats.sort_by_key(|(at, _)| *at);
    homeless.into_iter().zip(seats).map(|(auction, (_, member))| (auction, member.to_owned())).collect()
}

/// Picks `some` auctions of a share, spread evenly over it.
fn evenly(share: &[AuctionId], some: usize) -> impl Iterator<Item = AuctionId> {
    let taken = move |of: usize| of * some / share.len();
    share.iter().enumerate().filter(move |(at, _)| taken(at + 1) > taken(*at)).map(|(_, auction)| *auction)
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

    #[test]
    fn any_stretch_of_auctions_is_shared() {
        let mut owners: Vec<(AuctionId, Option<String>)> =
            (0..1_068).map(|id| (AuctionId(id), None)).collect();
        for members in [&["a"][..], &["a", "b"], &["a", "b", "c"], &["a", "b", "c", "d"]] {
            let before: Vec<_> = owners.iter().map(|(id, owner)| (*id, owner.as_deref())).collect();
            for (auction, node) in moves(&before, members) {
                owners.iter_mut().find(|(id, _)| *id == auction).unwrap().1 = Some(node);
            }
            for stretch in owners.chunks_exact(100) {
                let of = |member: &str| stretch.iter().filter(|o| o.1.as_deref() == Some(member)).count();
                let fair = 100 / members.len();
                assert!(members.iter().all(|m| of(m).abs_diff(fair) <= 10), "{members:?}: {stretch:?}");
            }
        }
    }

    /// Two other members were lost: those that are left need 48, 200 and 300 more.
    #[test]
    fn members_of_unlike_need_have_seats_everywhere() {
        let owner = |at: usize| match at % 9 {
            0 | 2 | 4 | 6 if at / 9 < 63 => Some("a"),
            8 => Some("b"),
            _ => None,
        };
        let owners: Vec<Option<&str>> = (0..900).map(owner).collect();
        let moved = moves(&named(&owners), &["a", "b", "c"]);
        let gained = |of: &[(AuctionId, String)], member: &str| of.iter().filter(|m| m.1 == member).count();
        let all: Vec<usize> = ["a", "b", "c"].iter().map(|m| gained(&moved, m)).collect();
        assert_eq!(all, [48, 200, 300]);
        for stretch in moved.chunks_exact(moved.len() / 4) {
            for (member, all) in ["a", "b", "c"].iter().zip(&all) {
                assert!(gained(stretch, member).abs_diff(all / 4) <= 1, "{member}: {stretch:?}");
            }
        }
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
            // Only unassigned auctions, and those above a fair share, may move.
            let homeless = before.iter().filter(|(_, o)| !o.is_some_and(|o| members.contains(&o))).count();
            let above: usize = members.iter()
                .map(|m| before.iter().filter(|(_, o)| *o == Some(*m)).count().saturating_sub(least)).sum();
            prop_assert!(moved.len() <= homeless + above);
            prop_assert!(moves(&after.into_iter().collect::<Vec<_>>(), &members).is_empty());
        }
    }
}
