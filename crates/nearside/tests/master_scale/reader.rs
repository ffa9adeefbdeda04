//! The tests' own reader of lists, against a master whose packets come late.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use nearside::fleet::address;
use nearside_types::{Origin, ServerAddr};
use nearside_wire::list::Listed;
use nearside_wire::quake3::master as quake3;
use nearside_wire::steam;

use crate::seen::Player;

/// Server 0 is on the list of protocol 71, server 1 on that of 68, and server 2 on Steam's.
fn listed(number: u32) -> [Listed; 1] {
    [Listed {
        addr: ServerAddr::new(address(number), 27960).unwrap(),
        origin: Origin::default(),
    }]
}

/// A master that sends the list of protocol 71 twice, as to a player who asked twice: the second time
/// right before the list of 68, to wherever the question came from.
fn late_master() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let addr = socket.local_addr().unwrap();
    // The thread ends when it has been idle.
    socket
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    std::thread::spawn(move || {
        let mut bytes = [0; 2000];
        let mut late: Option<(SocketAddr, Vec<u8>)> = None;
        while let Ok((length, from)) = socket.recv_from(&mut bytes) {
            let reply = match quake3::ListRequest::parse(&bytes[..length]) {
                Ok(request) if request.challenge.is_none() => {
                    let cookie = quake3::ListCookie::from_bits(7);
                    quake3::ListReply::Cookie(cookie).emit(request.reply_form())
                }
                Ok(request) => list(&request),
                Err(_) => steam::page(&listed(2), None).emit(),
            };
            let ends_a_list = reply.ends_with(b"\\EOT\0\0\0");
            if let Some((to, again)) = late.take_if(|_| ends_a_list) {
                socket.send_to(&again, to).unwrap();
                // The player has read it before the next one comes.
                std::thread::sleep(Duration::from_millis(200));
            } else if ends_a_list {
                late = Some((from, reply.clone()));
            }
            socket.send_to(&reply, from).unwrap();
        }
    });
    addr
}

fn list(request: &quake3::ListRequest) -> Vec<u8> {
    let form = request.reply_form();
    let servers = listed(u32::from(request.protocol == 68));
    let mut pages = quake3::paginate(&servers, form).into_iter();
    quake3::ListReply::List(pages.next().unwrap()).emit(form)
}

#[test]
fn the_late_end_of_one_list_does_not_end_another() {
    let seen = Player::of(late_master()).see();
    assert_eq!(seen, Some(vec![true, true, true]));
}
