//! Users and their sessions.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Cents, UserId};

/// Body of `POST /login`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoginRequest {
    /// The user's name, an e-mail address.
    pub name: String,
    /// The password in clear.
    pub password: String,
}

/// Answer to `POST /login` (201).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoginResponse {
    /// Who logged in.
    pub user_id: UserId,
    /// Goes into the header `API_TOKEN` of every further request; an earlier token of the user is void now.
    pub token: String,
    /// The user's name.
    pub name: String,
    /// First name.
    pub first_name: String,
    /// Last name.
    pub last_name: String,
    /// What the user can still spend, in cents.
    pub credit_cents: Cents,
}

/// A user's profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct User {
    /// Names the user.
    pub id: UserId,
    /// The name the user logs in with, an e-mail address.
    pub name: String,
    /// First name.
    pub first_name: String,
    /// Last name.
    pub last_name: String,
    /// What the user can still spend, in cents.
    pub credit_cents: Cents,
    /// Whether the user may log in.
    pub enabled: bool,
}

/// Body of `POST /user`: registration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewUser {
    /// The name to log in with; 409 when it is taken.
    pub name: String,
    /// The password in clear.
    pub password: String,
    /// First name.
    pub first_name: String,
    /// Last name.
    pub last_name: String,
}

/// Body of `PUT /user/{id}`: what changes; absent fields stay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserUpdate {
    /// A new name to log in with; 409 when it is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A new password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// A new first name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    /// A new last name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
}
