//! Who may ask what.

use axum::extract::{Request, State};
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Shared;
use super::failure::Failure;

/// A token that requests must show.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Vec<u8>);

impl Token {
    /// `None` if it could be guessed: less than 16 bytes.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (text.len() >= 16).then(|| Self(text.as_bytes().to_vec()))
    }

    /// Takes as long for a near miss as for any other.
    fn is(&self, shown: &[u8]) -> bool {
        let differences = self.0.iter().zip(shown).map(|(a, b)| a ^ b);
        let different = differences.fold(0, |all, difference| all | difference);
        different == 0 && self.0.len() == shown.len()
    }
}

impl std::fmt::Debug for Token {
    /// Tokens do not belong into logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Lets in who shows a token: the operator's is good for everything, a lobby's for registering
/// sessions. `/health`, `/metrics` and `/openapi.json` are open to this machine. A web page that somebody
/// on this machine visits must not act for them.
pub(super) async fn guard(State(web): State<Shared>, request: Request, next: Next) -> Response {
    if request.headers().contains_key(header::ORIGIN) {
        return Failure::from_a_web_page().into_response();
    }
    let path = request.uri().path();
    let open = ["/health", "/metrics", "/openapi.json"].contains(&path);
    let of_lobbies = request.method() == Method::POST && path.starts_with("/v1/sessions");
    let shown = request.headers().get(header::AUTHORIZATION);
    let shown = shown.and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
    let welcome = shown.is_some_and(|shown| {
        let lobby = web.lobby.as_ref().is_some_and(|token| token.is(shown));
        web.admin.is(shown) || of_lobbies && lobby
    });
    match open || welcome {
        true => next.run(request).await,
        false => Failure::no_token().into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_taken_and_short_ones_are_refused() {
        assert!(Token::new("too short").is_none());
        let token = Token::new("0123456789abcdef\n").unwrap();
        assert!(token.is(b"0123456789abcdef"));
        for wrong in [
            &b"0123456789abcdeg"[..],
            b"0123456789abcde",
            b"0123456789abcdef0",
            b"",
        ] {
            assert!(!token.is(wrong));
        }
        assert!(!format!("{token:?}").contains("0123"));
    }
}
