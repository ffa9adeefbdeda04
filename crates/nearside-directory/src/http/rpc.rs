//! What lobbies do on behalf of their players, as section 4 of the paper describes: they get a handle,
//! and what goes with it goes to the player alone.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use nearside_detour::ClientId;
use nearside_tunnel::crypto::PublicKey;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::failure::Failure;
use super::{Shared, ask};
use crate::command::Command;

/// Two players, each by its number or its key.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Registration {
    source: String,
    target: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Registered {
    session: String,
}

pub(super) async fn register(
    State(web): State<Shared>,
    body: Bytes,
) -> Result<(StatusCode, Json<Registered>), Failure> {
    let Registration { source, target } = read(&body)?;
    let (source, target) = (player("source", &source)?, player("target", &target)?);
    if source == target {
        let same = "source and target: a session has two different players";
        return Err(Failure::bad_request(same.to_owned()));
    }
    let session = ask(&web, |reply| Command::Register {
        source,
        target,
        reply,
    })
    .await?;
    let unknown = "source or target: no player with this number or key has joined";
    let session = session.map_err(|refusal| Failure::unless_known(refusal, unknown))?;
    let session = session.to_string();
    Ok((StatusCode::CREATED, Json(Registered { session })))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    #[serde(default = "usual_number")]
    most: u8,
}

const fn usual_number() -> u8 {
    8
}

#[derive(Debug, Serialize)]
pub(super) struct Offered {
    offered: usize,
}

pub(super) async fn offer(
    State(web): State<Shared>,
    Path(session): Path<String>,
    body: Bytes,
) -> Result<Json<Offered>, Failure> {
    let session = session.parse();
    let session = session.map_err(|_| Failure::bad_request("a session is a number"))?;
    let Wanted { most } = match body.is_empty() {
        true => Wanted {
            most: usual_number(),
        },
        false => read(&body)?,
    };
    let offered = ask(&web, |reply| Command::Offer {
        session,
        most,
        reply,
    })
    .await?;
    let unknown = format!("there is no session {session}, or who leads it has left");
    let offered = offered.map_err(|refusal| Failure::unless_known(refusal, unknown))?;
    Ok(Json(Offered { offered }))
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(body).map_err(|error| Failure::bad_request(error.to_string()))
}

/// A key has 64 hexadecimal digits, a number at most 20 decimal ones.
fn player(field: &str, text: &str) -> Result<ClientId, Failure> {
    let id = match text.len() {
        64 => text.parse().map(|key: PublicKey| key.id()).ok(),
        _ => text.parse().map(ClientId).ok(),
    };
    let wrong =
        || format!("{field}: write the player's number, or its key of 64 digits, in quotes");
    id.ok_or_else(|| Failure::bad_request(wrong()))
}
