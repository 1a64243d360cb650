//! Notices, settings and buffers stay within their bounds.

use super::messages::{all, complete, message, ready, welcome};
use super::on_worker;
use super::peer::Peer;

#[test]
fn of_many_notices_and_settings_the_last_and_the_first_are_kept() {
    let notice = |n: usize| message(b'N', format!("VNOTICE\0C00000\0M{n}\0\0").as_bytes());
    let setting = |n: usize| message(b'S', format!("setting{n}\0{n}\0").as_bytes());
    let mut answer: Vec<Vec<u8>> = (0..1_000).flat_map(|n| [notice(n), setting(n)]).collect();
    answer.extend([message(b'A', b"\0\0\0\x01channel\0\0"), complete("SELECT 0"), ready()]);
    let peer = Peer::start(vec![welcome(), all(&answer)]);
    on_worker(async {
        let mut session = peer.session().await;
        session.query("SELECT 1").unwrap().finish().await.unwrap();
        let kept: Vec<String> = session.notices().map(|notice| notice.message().into_owned()).collect();
        assert_eq!(kept, (984..1_000).map(|n| n.to_string()).collect::<Vec<_>>());
        assert_eq!(session.setting("setting0"), Some("0"));
        assert_eq!(session.setting("setting999"), None);
    });
    peer.join();
}
