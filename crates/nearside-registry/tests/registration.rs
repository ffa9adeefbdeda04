//! Who gets on the list, who does not, and who is told why.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Net, answer, client, public, quake3_info, steam_info};
use nearside_registry::{
    Ban, BanTarget, Bans, Event, Refusal, Removal, Settings, SocketId, Standing,
};
use nearside_types::ServerAddr;
use nearside_wire::quake3::{InfoString, master::ListRequest};

fn addr(number: u32) -> ServerAddr {
    ServerAddr::from_socket(public(number)).unwrap()
}

#[test]
fn a_server_that_repeats_the_challenge_is_listed_until_its_time_is_up() {
    let mut net = Net::new(Settings::default());
    assert!(net.register(public(1), quake3_info()));
    assert!(matches!(&net.events[..], [Event::Put { is_new: true, .. }]));
    let listed = net.list(client(), ListRequest::new(None, 71));
    assert_eq!(listed.len(), 1);
    net.pass(899);
    assert_eq!(net.master.shelf().len(), 1);
    net.pass(1);
    assert!(net.master.shelf().is_empty());
    assert_eq!(
        net.events.last(),
        Some(&Event::Removed {
            addr: addr(1),
            cause: Removal::Expired
        })
    );
}

#[test]
fn a_goldsource_server_joins_with_its_challenge() {
    let mut net = Net::new(Settings::default());
    net.join(public(1), steam_info("de_dust2"));
    assert_eq!(net.pages(client(), r"\gamedir\cstrike").len(), 1);
    assert_eq!(net.pages(client(), r"\gamedir\valve").len(), 0);
}

#[test]
fn forged_old_and_foreign_answers_register_nobody() {
    let mut net = Net::new(Settings::default());
    let heartbeat = b"\xFF\xFF\xFF\xFFheartbeat QuakeArena-1\n";
    let asked = net.ask(public(1), heartbeat).remove(0);
    net.ask(public(2), &answer(&asked, quake3_info()));
    net.ask(
        public(1),
        b"\xFF\xFF\xFF\xFFinfoResponse\n\\challenge\\AAAAAAAA\\protocol\\71",
    );
    net.pass(121);
    net.ask(public(1), &answer(&asked, quake3_info()));
    net.ask(
        public(1),
        b"0\n\\protocol\\48\\challenge\\12\\players\\1\\max\\2\\gamedir\\x",
    );
    assert!(net.master.shelf().is_empty());
    assert_eq!(net.master.tally().wrong_challenges, 4);
    assert!(
        net.master.refusals().is_empty(),
        "nothing is noted of those who prove nothing"
    );
}

#[test]
fn a_silent_server_is_asked_and_stays_if_it_answers() {
    let mut net = Net::new(Settings::default());
    net.socket = SocketId(1);
    net.register(public(1), quake3_info());
    net.pass(450);
    assert_eq!(net.left_by, Some(SocketId(1)), "from where it registered");
    let (to, asked) = net.sent.last().cloned().expect("half its time is up");
    assert_eq!(to, public(1));
    net.ask(public(1), &answer(&asked, quake3_info()));
    net.pass(600);
    assert_eq!(net.master.shelf().len(), 1);
}

#[test]
fn a_server_refused_is_told_why_when_it_comes_again() {
    let mut net = Net::new(Settings::default());
    net.register(public(1), InfoString::new().with("protocol", "71"));
    let refusal = Refusal::Incomplete("clients");
    let refused = Event::Refused {
        addr: addr(1),
        refusal: refusal.clone(),
    };
    assert_eq!(net.events, [refused]);
    net.events.clear();
    net.register(public(1), quake3_info());
    assert!(net.events.contains(&Event::Reminded {
        addr: addr(1),
        refusal
    }));
    assert_eq!(net.master.shelf().len(), 1);
    assert!(net.master.refusals().is_empty());
}

#[test]
fn caps_hold_for_address_network_and_as_and_not_for_the_allowed() {
    let settings = Settings {
        servers_per_address: 2,
        servers_per_network: 3,
        servers_per_as: Some(4),
        uncapped: vec!["20.0.0.0/8".parse().unwrap(), "AS7680".parse().unwrap()],
        ..Settings::default()
    };
    let mut net = Net::new(settings);
    for server in [
        "11.0.0.1:1",
        "11.0.0.1:2",
        "11.0.0.1:3",
        "11.0.0.2:1",
        "11.0.0.3:1",
        "11.0.1.1:1",
        "11.0.2.1:1",
        "20.0.0.1:1",
        "20.0.0.1:2",
        "20.0.0.1:3",
        "30.0.0.1:1",
        "30.0.0.1:2",
        "30.0.0.1:3",
    ] {
        net.register(server.parse().unwrap(), quake3_info());
    }
    let refused = |text: &str| net.master.refusals().of(text.parse().unwrap()).cloned();
    assert_eq!(refused("11.0.0.1:3"), Some(Refusal::AddressFull(2)));
    assert_eq!(refused("11.0.0.3:1"), Some(Refusal::NetworkFull(3)));
    assert_eq!(refused("11.0.2.1:1"), Some(Refusal::AsFull(4)));
    assert_eq!(net.master.shelf().len(), 10);
    net.pass(901);
    net.register("11.0.0.1:3".parse().unwrap(), quake3_info());
    assert_eq!(
        net.master.shelf().len(),
        1,
        "counts go down with the servers"
    );
}

#[test]
fn a_full_master_refuses_newcomers_and_keeps_the_registered() {
    let mut net = Net::new(Settings {
        servers: 2,
        ..Settings::default()
    });
    for number in 1..=3 {
        net.register(public(number), quake3_info());
    }
    assert_eq!(net.master.shelf().len(), 2);
    assert_eq!(
        net.master.refusals().of(addr(3)),
        Some(&Refusal::MasterFull(2))
    );
    net.pass(800);
    net.register(public(1), quake3_info());
    net.pass(200);
    assert!(
        net.master.shelf().get(addr(1)).is_some(),
        "renewal needs no room"
    );
}

#[test]
fn bans_take_effect_at_once_and_tell_their_reason() {
    let mut net = Net::new(Settings::default());
    net.register(public(1), quake3_info());
    net.register(public(2), quake3_info());
    let ban = Ban {
        target: addr(1).ip().to_string().parse().unwrap(),
        reason: "spam".to_owned(),
    };
    net.master.set_bans(Bans::new([ban]));
    assert_eq!(net.master.shelf().len(), 1);
    net.register(public(1), quake3_info());
    assert_eq!(net.master.shelf().len(), 1);
    assert_eq!(
        net.master.refusals().of(addr(1)),
        Some(&Refusal::Banned("spam".to_owned()))
    );
}

#[test]
fn private_addresses_are_listed_only_where_wanted() {
    let home = "192.168.1.5:27960".parse().unwrap();
    for lan in [false, true] {
        let mut net = Net::new(Settings {
            lan,
            ..Settings::default()
        });
        net.register(home, quake3_info());
        assert_eq!(net.master.shelf().len(), usize::from(lan));
        let known: Vec<_> = net.master.shelf().iter().cloned().collect();
        let mut restarted = Net::new(Settings::default());
        for server in known {
            restarted.master.remember(restarted.now, server);
        }
        assert_eq!(restarted.master.shelf().len(), 0, "nor from the store");
        net.master.set_settings(Settings::default());
        assert_eq!(
            net.master.shelf().len(),
            0,
            "nor after the settings changed"
        );
    }
}

#[test]
fn what_is_remembered_from_before_is_listed_marked_and_asked() {
    let mut before = Net::new(Settings::default());
    before.register(public(1), quake3_info());
    let mut server = before.master.shelf().get(addr(1)).unwrap().clone();
    server.standing = Standing::Remembered;
    let mut net = Net::new(Settings::default());
    let ban = Ban {
        target: BanTarget::As(server.origin.asn.unwrap()),
        reason: "spam".to_owned(),
    };
    let mut strict = Net::new(Settings::default());
    strict.master.set_bans(Bans::new([ban]));
    strict.master.remember(strict.now, server.clone());
    assert!(
        strict.master.shelf().is_empty(),
        "its AS was banned meanwhile"
    );
    net.master.remember(net.now, server);
    assert_eq!(net.list(client(), ListRequest::new(None, 71)).len(), 1);
    net.pass(1);
    let (_, asked) = net.sent.last().cloned().expect("it is asked at once");
    let version = net.master.shelf().version();
    net.ask(public(1), &answer(&asked, quake3_info()));
    let standing = net.master.shelf().get(addr(1)).unwrap().standing;
    assert_eq!(standing, Standing::Verified);
    assert!(net.master.shelf().version() > version, "web lists show it");
}
