//! Dovecot, Postfix before it, and maddy.

use crate::FLAVOURS;
use crate::said::{ask, connect};
use crate::stand::{InstanceSpec, TestSite, or_skip};

#[tokio::test(flavor = "multi_thread")]
async fn dovecot_shows_the_mail_that_it_has_taken() {
    let Some([service]) = or_skip(["dovecot"]) else { return };
    let stand = TestSite::new().await;
    for flavour in FLAVOURS {
        let up = stand.start(service, InstanceSpec { name: flavour.name(), flavour, values: &[] }).await;
        let mut lmtp = connect(up.main());
        let mail = b"LHLO x\r\nMAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nDATA\r\nSubject: y\r\n\r\n.\r\nQUIT\r\n";
        let answer = ask(&mut lmtp, mail, "221 2.0.0 Bye\r\n");
        assert!(answer.contains("250 2.0.0 <b@x>"), "{answer}");
        let mut imap = connect(up.at("imap"));
        let answer = ask(&mut imap, b"a LOGIN b@x barograph\r\nb SELECT INBOX\r\nc LOGOUT\r\n", "c OK");
        assert!(answer.contains("* 1 EXISTS\r\n"), "{answer}");
        up.assert_listens_at_home();
        up.assert_version();
        up.stop().await;
    }
    stand.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postfix_passes_mail_of_every_domain_on_to_the_store() {
    let Some([agent, store]) = or_skip(["postfix", "dovecot"]) else { return };
    let stand = TestSite::new().await;
    for flavour in FLAVOURS {
        let name = format!("store-{}", flavour.name());
        let below = stand.start(store, InstanceSpec { name: &name, flavour, values: &[] }).await;
        let values = [("store", below.main().to_string())];
        let up = stand.start(agent, InstanceSpec { name: flavour.name(), flavour, values: &values }).await;
        let mut smtp = connect(up.main());
        let mail = b"HELO x\r\nMAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nDATA\r\nSubject: y\r\n\r\n.\r\nQUIT\r\n";
        let answer = ask(&mut smtp, mail, "221 2.0.0 Bye\r\n");
        assert!(answer.contains("250 2.0.0 Ok: queued"), "{answer}");
        let mut imap = connect(below.at("imap"));
        // It is there already, or IDLE says when it comes.
        let watch = b"a LOGIN b@x barograph\r\nb SELECT INBOX\r\nc IDLE\r\n";
        let answer = ask(&mut imap, watch, "* 1 EXISTS\r\n");
        assert!(answer.contains("* 1 EXISTS\r\n"), "{answer}");
        up.assert_listens_at_home();
        up.assert_version();
        up.stop().await;
        below.stop().await;
    }
    stand.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn maddy_takes_mail_for_accounts_that_have_logged_in_and_shows_it() {
    let Some([service]) = or_skip(["maddy"]) else { return };
    let stand = TestSite::new().await;
    for flavour in FLAVOURS {
        let up = stand.start(service, InstanceSpec { name: flavour.name(), flavour, values: &[] }).await;
        let mail = b"HELO x\r\nMAIL FROM:<a@x>\r\nRCPT TO:<b@x>\r\nDATA\r\nSubject: y\r\n\r\n.\r\nQUIT\r\n";
        let answer = ask(&mut connect(up.main()), mail, "221 ");
        assert!(answer.contains("\r\n501 5.1.1 User does not exist"), "{answer}");
        let wrong = ask(&mut connect(up.at("imap")), b"a LOGIN b@x wrong\r\nc LOGOUT\r\n", "c OK");
        assert!(wrong.contains("a NO "), "{wrong}");
        let look = b"a LOGIN b@x barograph\r\nb SELECT INBOX\r\nc LOGOUT\r\n";
        let answer = ask(&mut connect(up.at("imap")), look, "c OK");
        assert!(answer.contains("* 0 EXISTS\r\n"), "{answer}");
        let answer = ask(&mut connect(up.main()), mail, "221 ");
        assert!(answer.contains("\r\n250 2.0.0 OK: queued"), "{answer}");
        let answer = ask(&mut connect(up.at("imap")), look, "c OK");
        assert!(answer.contains("* 1 EXISTS\r\n"), "{answer}");
        up.assert_listens_at_home();
        up.assert_version();
        up.stop().await;
    }
    stand.end().await;
}
