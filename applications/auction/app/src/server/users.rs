//! Sessions and profiles.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use barograph_auction_api::{
    ErrorCode, LoginRequest, LoginResponse, MAX_NAME, MAX_PASSWORD, MAX_PERSON, NewUser, User, UserId,
    UserUpdate,
};
use barograph_auction_store::{Profile, StoreError, UserRow};
use uuid::Uuid;

use super::error::ApiError;
use super::extract::{Caller, JsonBody, PathParts, check_text};
use super::respond;
use crate::app::App;
use crate::auth;
use crate::fill::CREDIT_CENTS;

type Answer = Result<Response, ApiError>;

fn hash(password: &str) -> String {
    auth::hash(password, Uuid::new_v4().into_bytes())
}

/// Converts a stored token to a key.
fn key(token: &str) -> Option<u128> {
    Uuid::try_parse(token).ok().map(|token| token.as_u128())
}

/// `POST /login`
pub(crate) async fn login(State(app): State<Arc<App>>, JsonBody(sent): JsonBody<LoginRequest>) -> Answer {
    let refuse = || ApiError::new(ErrorCode::Unauthorized, "wrong name or password");
    // An impossible name is not looked up: a store may refuse such a text.
    let readable = check_text("name", &sent.name, MAX_NAME).is_ok();
    if !readable || check_text("password", &sent.password, MAX_PASSWORD).is_err() {
        return Err(refuse());
    }
    let account = app.relational.user_by_name(&sent.name).await?.ok_or_else(refuse)?;
    // Verified on this thread: it takes less time than a hand-over to another one would be worth.
    if !account.user.enabled || !auth::verify(&sent.password, &account.password) {
        return Err(refuse());
    }
    let user = account.user;
    let token = Uuid::new_v4();
    let before = app.relational.set_token(user.id, Some(token.to_string())).await?;
    if let Some(before) = before.as_deref().and_then(key) {
        app.end_session(before);
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
    // The two writes go to two stores; neither needs the other's result.
    let (token, left) =
        tokio::join!(app.relational.set_token(caller.id, None), app.events.leave(caller.id, None));
    token?;
    left?;
    app.end_session(caller.token);
    Ok(respond::nothing())
}

/// `POST /user`
pub(crate) async fn register(State(app): State<Arc<App>>, JsonBody(new): JsonBody<NewUser>) -> Answer {
    check_text("name", &new.name, MAX_NAME)?;
    check_text("password", &new.password, MAX_PASSWORD)?;
    check_text("firstName", &new.first_name, MAX_PERSON)?;
    check_text("lastName", &new.last_name, MAX_PERSON)?;
    let user = User {
        id: UserId(app.ids.next()),
        name: new.name,
        first_name: new.first_name,
        last_name: new.last_name,
        credit_cents: CREDIT_CENTS,
        enabled: true,
    };
    let row = UserRow {
        id: user.id.0,
        name: user.name.clone(),
        password: hash(&new.password),
        first_name: user.first_name.clone().into(),
        last_name: user.last_name.clone().into(),
        credit_cents: user.credit_cents,
        enabled: user.enabled,
    };
    app.relational.add_user(row).await.map_err(taken)?;
    Ok(respond::json(StatusCode::CREATED, &user))
}

/// `GET /user/{id}`
pub(crate) async fn profile(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathParts(id): PathParts<i64>,
) -> Answer {
    caller.must_be(UserId(id))?;
    let account = app.relational.user(UserId(id)).await?.ok_or_else(|| ApiError::no_such("user"))?;
    Ok(respond::json(StatusCode::OK, &account.user))
}

/// `PUT /user/{id}`
pub(crate) async fn update(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathParts(id): PathParts<i64>,
    JsonBody(update): JsonBody<UserUpdate>,
) -> Answer {
    caller.must_be(UserId(id))?;
    let texts = [
        ("name", &update.name, MAX_NAME),
        ("password", &update.password, MAX_PASSWORD),
        ("firstName", &update.first_name, MAX_PERSON),
        ("lastName", &update.last_name, MAX_PERSON),
    ];
    for (name, text, most) in texts {
        text.as_ref().map_or(Ok(()), |text| check_text(name, text, most))?;
    }
    let profile = Profile {
        name: update.name,
        password: update.password.as_deref().map(hash),
        first_name: update.first_name,
        last_name: update.last_name,
    };
    let user = app.relational.update_user(UserId(id), profile).await.map_err(taken)?;
    let user = user.ok_or_else(|| ApiError::no_such("user"))?;
    Ok(respond::json(StatusCode::OK, &user))
}

/// `DELETE /user/{id}`
pub(crate) async fn remove(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathParts(id): PathParts<i64>,
) -> Answer {
    caller.must_be(UserId(id))?;
    // First, because afterwards the token is gone.
    app.events.leave(caller.id, None).await?;
    let last = app.relational.remove_user(caller.id).await?.ok_or_else(|| ApiError::no_such("user"))?;
    for token in last.as_deref().and_then(key).into_iter().chain([caller.token]) {
        app.end_session(token);
    }
    Ok(respond::nothing())
}

fn taken(error: StoreError) -> ApiError {
    if matches!(error, StoreError::Conflict) {
        return ApiError::new(ErrorCode::NameTaken, "another user has this name");
    }
    error.into()
}
