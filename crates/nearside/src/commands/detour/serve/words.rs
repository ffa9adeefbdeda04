//! What lines of the log say of the directory's events. Who was offered which relays is not written:
//! who reads logs could attack them.

use nearside_tunnel::service::Event;

/// Which events are alike.
pub(super) const fn kind(event: &Event) -> &'static str {
    match event {
        Event::Joined { .. } => "joined",
        Event::Refused { .. } => "refused",
        Event::Left { goodbye: true, .. } => "left",
        Event::Left { .. } => "silent",
        Event::Moved { .. } => "moved",
        Event::Nat { .. } => "nat",
        Event::Introduced { .. } => "introduced",
        Event::Paused { paused: true, .. } => "paused",
        Event::Paused { .. } => "offered again",
    }
}

/// The words of an event.
pub(super) fn of(event: &Event) -> String {
    let kind = kind(event);
    match event {
        Event::Joined {
            id,
            address,
            relays,
        } => format!("{kind} id={} addr={address} relays={relays}", id.0),
        Event::Refused {
            id,
            address,
            refusal,
        } => {
            let why = refusal.to_string();
            format!("{kind} id={} addr={address} why={why:?}", id.0)
        }
        Event::Left { id, .. } => format!("{kind} id={}", id.0),
        Event::Moved { id, from, to } => format!("{kind} id={} from={from} to={to}", id.0),
        Event::Nat { id, nat } => format!("{kind} id={} kind=\"{nat:?}\"", id.0),
        Event::Introduced {
            session,
            source,
            target,
        } => format!(
            "{kind} session={session} source={} target={}",
            source.0, target.0
        ),
        Event::Paused { relay, .. } => format!("{kind} relay={}", relay.0),
    }
}
