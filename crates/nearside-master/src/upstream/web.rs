//! Lists by HTTP.

use std::fmt;
use std::time::Duration;

use super::place::without_secrets;
use super::{FetchError, Fetched, Known, document};

/// A personal key of Steam's Web API. Shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct SteamKey(String);

impl SteamKey {
    /// `None` if there is nothing in the text.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// A text without the key in it.
    fn hidden_in(&self, text: &str) -> String {
        text.replace(&self.0, "…")
    }
}

impl fmt::Debug for SteamKey {
    /// Keys do not belong into logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SteamKey(…)")
    }
}

/// The largest document: about 200,000 servers.
const MOST_BYTES: u64 = 64 << 20;
/// The longest that a request may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// What Steam gives at most.
pub(super) const STEAM_LIMIT: usize = 20_000;

/// Any document with servers. One that is known and has not changed is not sent again.
pub(super) fn document(url: &str, known: &mut Option<Known>) -> Result<Fetched, FetchError> {
    let etag = known.as_ref().map(|known| &*known.etag);
    let answer = get(url, &[], etag).map_err(|reason| failed(url, &reason))?;
    let Answer::Document { body, etag } = answer else {
        let known = known.as_ref().map(|known| known.list.clone());
        return known.ok_or_else(|| failed(url, "it sends no list"));
    };
    let list = document::parse(&without_secrets(url), &body)?;
    *known = etag.map(|etag| Known {
        etag,
        list: list.clone(),
    });
    Ok(list)
}

/// `IGameServersService/GetServerList`.
pub(super) fn steam(
    base: &str,
    filter: &str,
    key: Option<&SteamKey>,
) -> Result<Fetched, FetchError> {
    let key = key.ok_or(FetchError::NoKey)?;
    let url = format!("{base}/IGameServersService/GetServerList/v1/");
    let limit = STEAM_LIMIT.to_string();
    let query = [("key", &*key.0), ("filter", filter), ("limit", &limit)];
    match get(&url, &query, None) {
        Ok(Answer::Document { body, .. }) => {
            document::parse_up_to(STEAM_LIMIT, &without_secrets(&url), &body)
        }
        Ok(Answer::Unchanged) => Err(failed(&url, "it sends no list")),
        Err(reason) => Err(failed(&url, &key.hidden_in(&reason))),
    }
}

/// Some reasons repeat the URL.
fn failed(url: &str, reason: &str) -> FetchError {
    let place = without_secrets(url);
    FetchError::Http {
        reason: reason.replace(url, &place),
        place,
    }
}

/// What a web server says.
enum Answer {
    /// Status 304: as it was when the tag was given.
    Unchanged,
    Document {
        body: Vec<u8>,
        etag: Option<String>,
    },
}

fn get(url: &str, query: &[(&str, &str)], etag: Option<&str>) -> Result<Answer, String> {
    let agent = ureq::Agent::config_builder()
        .timeout_global(Some(TIMEOUT))
        .max_redirects(3)
        .user_agent(concat!("nearside/", env!("CARGO_PKG_VERSION")))
        .build()
        .new_agent();
    let mut request = agent.get(url);
    for (name, value) in query {
        request = request.query(*name, *value);
    }
    if let Some(etag) = etag {
        request = request.header("If-None-Match", etag);
    }
    let mut answer = request.call().map_err(|error| words(&error))?;
    if answer.status().as_u16() == 304 {
        return Ok(Answer::Unchanged);
    }
    let etag = answer.headers().get("ETag");
    let etag = etag.and_then(|etag| etag.to_str().ok()).map(str::to_owned);
    let body = answer.body_mut().with_config().limit(MOST_BYTES);
    let body = body.read_to_vec().map_err(|error| words(&error))?;
    Ok(Answer::Document { body, etag })
}

/// What happened, with a next step where there is one.
fn words(error: &ureq::Error) -> String {
    match error {
        ureq::Error::StatusCode(401 | 403) => {
            "access is refused: is the key right, and yours?".to_owned()
        }
        ureq::Error::StatusCode(429) => "asked too often; make the interval longer".to_owned(),
        ureq::Error::StatusCode(code) => format!("it answers with status {code}"),
        ureq::Error::BodyExceedsLimit(most) => format!("the list is larger than {most} bytes"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_place_without_its_secrets() {
        let url = "http://user:pa55@127.0.0.1:1/x.json?token=T";
        let error = failed(url, &format!("bad uri: {url}")).to_string();
        let place = "http://127.0.0.1:1/x.json";
        assert_eq!(error, format!("{place}: bad uri: {place}"));
        let error = document(url, &mut None).unwrap_err().to_string();
        assert!(
            error.starts_with(place) && !error.contains("pa55") && !error.contains("token"),
            "{error}"
        );
    }

    #[test]
    fn keys_are_shown_nowhere() {
        let key = SteamKey::new(" 0123ABCD\n").unwrap();
        assert_eq!(format!("{key:?}"), "SteamKey(…)");
        assert_eq!(key.hidden_in("bad uri ?key=0123ABCD&x"), "bad uri ?key=…&x");
        assert!(SteamKey::new(" \n").is_none());
    }
}
