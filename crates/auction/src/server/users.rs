//! Sessions and profiles.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use barograph_auction_api::{ErrorCode, LoginRequest, LoginResponse, NewUser, UserId, UserUpdate};
use uuid::Uuid;

use super::error::ApiError;
use super::extract::{Caller, Parted, Sent, check_text};
use super::respond;
use crate::app::App;
use crate::auth;
use crate::fill::CREDIT_CENTS;
use crate::store::StoreError;

/// Bytes of a user name, at most: an e-mail address has no more.
const NAME: usize = 254;
/// Bytes of a password, at most: hashing takes time by the byte.
const PASSWORD: usize = 128;
/// Bytes of a first or last name, at most.
const PERSON: usize = 100;

type Answer = Result<Response, ApiError>;

fn hash(password: &str) -> String {
    auth::hash(password, Uuid::new_v4().into_bytes())
}

/// `POST /login`
pub(crate) async fn login(State(app): State<Arc<App>>, Sent(sent): Sent<LoginRequest>) -> Answer {
    let refuse = || ApiError::new(ErrorCode::Unauthorized, "wrong name or password");
    if sent.password.len() > PASSWORD {
        return Err(refuse());
    }
    let account = app.store.user_by_name(&sent.name)?.ok_or_else(refuse)?;
    // Verified on the spot: it takes less time than handing it over would be worth.
    if !account.user.enabled || !auth::verify(&sent.password, &account.password) {
        return Err(refuse());
    }
    let user = account.user;
    let token = Uuid::new_v4();
    let before = app.store.set_token(user.id, Some(token.to_string())).await?;
    if let Some(before) = before.and_then(|t| Uuid::try_parse(&t).ok()) {
        app.sessions.invalidate(&before.as_u128());
    }
    app.sessions.insert(token.as_u128(), user.id);
    let answer = LoginResponse {
        user_id: user.id,
        token: token.to_string(),
        name: user.name,
        first_name: user.first_name,
        last_name: user.last_name,
        credit_cents: user.credit_cents,
    };
    Ok(respond::json(StatusCode::CREATED, &answer))
}

/// `GET /logout`
pub(crate) async fn logout(State(app): State<Arc<App>>, caller: Caller) -> Answer {
    // The two writes go to two files; neither needs the other's result.
    let (token, left) = tokio::join!(app.store.set_token(caller.id, None), app.store.leave(caller.id, None));
    token?;
    left?;
    app.sessions.invalidate(&caller.token);
    Ok(respond::nothing())
}

/// `POST /user`
pub(crate) async fn register(State(app): State<Arc<App>>, Sent(new): Sent<NewUser>) -> Answer {
    check_text("name", &new.name, NAME)?;
    check_text("password", &new.password, PASSWORD)?;
    check_text("firstName", &new.first_name, PERSON)?;
    check_text("lastName", &new.last_name, PERSON)?;
    let password = hash(&new.password);
    let user = app.store.add_user(new, password, CREDIT_CENTS).await.map_err(taken)?;
    Ok(respond::json(StatusCode::CREATED, &user))
}

/// `GET /user/{id}`
pub(crate) async fn profile(State(app): State<Arc<App>>, caller: Caller, Parted(id): Parted<i64>) -> Answer {
    caller.must_be(UserId(id))?;
    let account = app.store.user(UserId(id))?.ok_or_else(|| ApiError::no_such("user"))?;
    Ok(respond::json(StatusCode::OK, &account.user))
}

/// `PUT /user/{id}`
pub(crate) async fn update(
    State(app): State<Arc<App>>,
    caller: Caller,
    Parted(id): Parted<i64>,
    Sent(mut update): Sent<UserUpdate>,
) -> Answer {
    caller.must_be(UserId(id))?;
    let texts = [
        ("name", &update.name, NAME),
        ("password", &update.password, PASSWORD),
        ("firstName", &update.first_name, PERSON),
        ("lastName", &update.last_name, PERSON),
    ];
    for (name, text, most) in texts {
        text.as_ref().map_or(Ok(()), |text| check_text(name, text, most))?;
    }
    update.password = update.password.as_deref().map(hash);
    let user = app.store.update_user(UserId(id), update).await.map_err(taken)?;
    let user = user.ok_or_else(|| ApiError::no_such("user"))?;
    Ok(respond::json(StatusCode::OK, &user))
}

fn taken(error: StoreError) -> ApiError {
    if error.is_conflict() {
        return ApiError::new(ErrorCode::NameTaken, "another user has this name");
    }
    error.into()
}
