//! Users: names are unique, tokens lead to their user, removed users are hidden but counted.

use std::borrow::Cow;
use std::sync::Arc;

use barograph_auction_api::{User, UserId};

use super::data::{CREDIT, FREE_ID, USERS};
use super::relational_data;
use crate::{Profile, Relational, StoreError, UserRow};

/// An id of no user.
const NOBODY: UserId = UserId(FREE_ID);

fn named(id: i64, name: &str) -> UserRow {
    UserRow {
        id,
        name: name.to_owned(),
        password: "hash of new".to_owned(),
        first_name: Cow::Borrowed("Grace"),
        last_name: Cow::Borrowed("O'Hara \"☂\""),
        credit_cents: 500,
        enabled: true,
    }
}

fn as_shown(row: &UserRow) -> User {
    User {
        id: UserId(row.id),
        name: row.name.clone(),
        first_name: row.first_name.to_string(),
        last_name: row.last_name.to_string(),
        credit_cents: row.credit_cents,
        enabled: row.enabled,
    }
}

pub(super) async fn profiles<S: Relational + ?Sized>(store: &S) {
    assert!(!store.describe().product.is_empty() && !store.describe().durability.is_empty());
    store.ping().await.unwrap();
    for row in relational_data().iter().flat_map(|b| &b.users) {
        let found = store.user(UserId(row.id)).await.unwrap().expect("a loaded user is found");
        assert_eq!((found.user, &found.password), (as_shown(row), &row.password));
        let same = store.user_by_name(&row.name).await.unwrap().expect("a loaded user is found by name");
        assert_eq!(same.user.id.0, row.id);
    }
    assert_eq!(store.user(NOBODY).await.unwrap(), None);
    for name in ["", "USER1@example.org", "user1@example.org ", "user_@example.org", "' OR 1=1 --"] {
        assert_eq!(store.user_by_name(name).await.unwrap(), None, "{name:?} is nobody's name");
    }
    let new = named(FREE_ID, "User1@example.org");
    store.add_user(new.clone()).await.unwrap();
    assert_eq!(store.user(NOBODY).await.unwrap().expect("an added user is found").user, as_shown(&new));
    let taken = store.add_user(named(FREE_ID + 1, "user1@example.org")).await;
    assert!(matches!(taken, Err(StoreError::Conflict)), "{taken:?}");
    assert_eq!(store.user(UserId(FREE_ID + 1)).await.unwrap(), None, "a conflict leaves nothing");
    renaming(store).await;
}

async fn renaming<S: Relational + ?Sized>(store: &S) {
    let nothing = Profile::default();
    let before = store.user(UserId(1)).await.unwrap().expect("user 1");
    assert_eq!(store.update_user(UserId(1), nothing.clone()).await.unwrap(), Some(before.user.clone()));
    assert_eq!(store.user(UserId(1)).await.unwrap(), Some(before.clone()), "nothing asked, nothing changed");
    assert_eq!(store.update_user(UserId(FREE_ID + 9), nothing).await.unwrap(), None);
    let all = Profile {
        name: Some("ada@example.org".to_owned()),
        password: Some("other".to_owned()),
        first_name: Some(String::new()),
        last_name: Some("Ångström".to_owned()),
    };
    let after = store.update_user(UserId(1), all).await.unwrap().expect("user 1");
    assert_eq!((after.name.as_str(), after.first_name.as_str()), ("ada@example.org", ""));
    assert_eq!((after.last_name.as_str(), after.credit_cents), ("Ångström", CREDIT));
    let account = store.user_by_name("ada@example.org").await.unwrap().expect("the new name");
    assert_eq!((account.password.as_str(), account.user), ("other", after));
    assert_eq!(store.user_by_name("user1@example.org").await.unwrap(), None, "the old name is free");
    let own = Profile { name: Some("ada@example.org".to_owned()), ..Profile::default() };
    assert!(
        store.update_user(UserId(1), own.clone()).await.unwrap().is_some(),
        "one's own name is not taken"
    );
    let taken = store.update_user(UserId(2), own).await;
    assert!(matches!(taken, Err(StoreError::Conflict)), "{taken:?}");
    assert_eq!(store.user(UserId(2)).await.unwrap().expect("user 2").user.name, "user2@example.org");
}

pub(super) async fn tokens<S: Relational + ?Sized>(store: &S) {
    let token = |n: u32| Some(format!("token-{n}"));
    assert_eq!(store.token_holder("token-1").await.unwrap(), None);
    assert_eq!(store.set_token(UserId(1), token(1)).await.unwrap(), None);
    assert_eq!(store.set_token(UserId(2), token(2)).await.unwrap(), None);
    assert_eq!(store.token_holder("token-1").await.unwrap(), Some(UserId(1)));
    assert_eq!(store.token_holder("TOKEN-1").await.unwrap(), None, "tokens are compared exactly");
    assert_eq!(
        store.set_token(UserId(1), token(3)).await.unwrap(),
        token(1),
        "answers with the token before"
    );
    assert_eq!(store.token_holder("token-1").await.unwrap(), None);
    assert_eq!(store.token_holder("token-3").await.unwrap(), Some(UserId(1)));
    assert_eq!(store.token_holder("token-2").await.unwrap(), Some(UserId(2)));
    assert_eq!(store.set_token(UserId(1), None).await.unwrap(), token(3));
    assert_eq!(store.token_holder("token-3").await.unwrap(), None);
    assert_eq!(store.set_token(UserId(1), None).await.unwrap(), None);
    assert_eq!(store.set_token(NOBODY, token(4)).await.unwrap(), None, "nobody has no token before");
    assert_eq!(store.token_holder("token-4").await.unwrap(), None, "and gets none");
}

pub(super) async fn removal<S: Relational + ?Sized>(store: &S) {
    store.set_token(UserId(2), Some("of 2".to_owned())).await.unwrap();
    let before = store.audit().await.unwrap();
    assert_eq!(store.remove_user(UserId(2)).await.unwrap(), Some(Some("of 2".to_owned())));
    assert_eq!(store.remove_user(UserId(3)).await.unwrap(), Some(None), "user 3 has no token");
    assert_eq!(store.remove_user(UserId(2)).await.unwrap(), None, "a removed user is not found");
    assert_eq!(store.remove_user(NOBODY).await.unwrap(), None);
    assert_eq!(store.user(UserId(2)).await.unwrap(), None);
    assert_eq!(store.user_by_name("user2@example.org").await.unwrap(), None);
    assert_eq!(store.token_holder("of 2").await.unwrap(), None);
    assert_eq!(store.update_user(UserId(2), Profile::default()).await.unwrap(), None);
    assert_eq!(store.set_token(UserId(2), Some("again".to_owned())).await.unwrap(), None);
    assert_eq!(store.token_holder("again").await.unwrap(), None, "a removed user gets no token");
    assert_eq!(store.audit().await.unwrap(), before, "a removed user's credit is still counted");
    store.add_user(named(FREE_ID, "user2@example.org")).await.unwrap();
    assert_eq!(store.remove_user(NOBODY).await.unwrap(), Some(None), "the name can be freed twice");
    let renamed = Profile { name: Some("user3@example.org".to_owned()), ..Profile::default() };
    assert!(store.update_user(UserId(4), renamed).await.unwrap().is_some(), "a freed name can be taken");
    assert_eq!(store.user_by_name("user3@example.org").await.unwrap().expect("user 4").user.id, UserId(4));
}

/// Changes and loaded rows persist when the store is opened again.
pub(super) async fn stay<S: Relational + ?Sized>(
    store: &S,
    open: &impl AsyncFn() -> Result<Arc<S>, StoreError>,
) {
    store.add_user(named(FREE_ID, "stays@example.org")).await.unwrap();
    let audit = store.audit().await.unwrap();
    assert_eq!((audit.initial.users, audit.initial.last_user), (USERS, USERS));
    assert_eq!(audit.initial.credit_cents, USERS * CREDIT);
    let again = open().await.unwrap();
    assert!(again.user(NOBODY).await.unwrap().is_some());
    assert_eq!(again.audit().await.unwrap(), audit);
}
