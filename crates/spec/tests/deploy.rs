//! Topologies: what they are like unless a plan says otherwise, and what does not go together.

use barograph_spec::{FaultAct, Plan, Refused, read};

fn plan(text: &str) -> Result<Plan, Refused> {
    read("p.toml", text, &[])
}

fn refusal(text: &str) -> (String, String) {
    let refused = plan(text).unwrap_err();
    let first = &refused.0[0];
    (first.key.clone(), first.allowed.clone())
}

#[test]
fn a_topology_gives_the_rest_its_defaults() {
    let d = plan("").unwrap().deploy;
    assert!(d.is_embedded());
    assert_eq!((d.web_nodes, d.balancer_nodes, d.bid_nodes, d.application_nodes), (0, 0, 0, 1));
    let d = plan("deploy.like = \"minimal\"").unwrap().deploy;
    assert_eq!((d.relational.as_str(), d.events.as_str(), d.bus.as_str()), ("postgres", "same", "none"));
    let d = plan("deploy.like = \"full\"\ndeploy.application_nodes = 4").unwrap().deploy;
    assert_eq!((d.application_nodes, d.bid_nodes, d.web_nodes, d.balancer_nodes), (4, 1, 2, 1));
    assert_eq!((d.web.as_str(), d.bus.as_str(), d.events.as_str()), ("nginx", "rabbitmq", "ferretdb"));
    let d = plan("platform = \"namespace\"\ndeploy.like = \"full-ha\"").unwrap().deploy;
    assert_eq!((d.balancer_nodes, d.virtual_addresses, d.standby), (2, 1, true));
}

#[test]
fn a_plan_as_resolved_reads_back_to_itself() {
    let text = "platform = \"namespace\"\ndeploy.like = \"full\"\ndeploy.tls = true\n\
                [[faults]]\nat_s = 3.5\nunit = \"bids-1\"\nact = \"kill\"\n\
                [[faults]]\nat_s = 2\nunit = \"relational-1\"\nact = \"delay\"\ndelay_ms = 12.5\n\
                [[faults]]\nat_s = 9\nact = \"heal\"\n\
                [[faults]]\nat_s = 10\nunit = \"web-1\"\nact = \"fill-disk\"\n\
                [[faults]]\nat_s = 11\nunit = \"web-1\"\nact = \"free-disk\"\n";
    let first = plan(text).unwrap();
    let second = plan(&first.resolved).unwrap();
    assert_eq!((&first.deploy, &first.faults), (&second.deploy, &second.faults));
    let acts: Vec<&str> = first.faults.iter().map(|f| f.act.name()).collect();
    assert_eq!(acts, ["delay", "kill", "heal", "fill-disk", "free-disk"], "in the order of time");
    assert!(matches!(first.faults[0].act, FaultAct::Delay(d) if d.as_secs_f64() == 0.0125));
}

#[test]
fn a_refused_value_is_the_one_that_was_written() {
    for written in ["0.5", "0.07", "12"] {
        let refused = plan(&format!("deploy.link_delay_ms = {written}")).unwrap_err();
        assert_eq!(refused.0[0].value, written);
    }
}

#[test]
fn what_does_not_go_together_is_refused_with_its_key() {
    let wrong = [
        ("deploy.bus = \"nats\"", "deploy.bus"),
        ("deploy.sql_durability = \"off\"", "deploy.sql_durability"),
        ("deploy.application_nodes = 2", "deploy.application_nodes"),
        ("deploy.relational = \"mariadb\"", "deploy.events"),
        (
            "deploy.relational = \"mariadb\"\ndeploy.events = \"ferretdb\"\ndeploy.standby = true",
            "deploy.standby",
        ),
        ("deploy.like = \"minimal\"\ndeploy.application_nodes = 2", "deploy.bus"),
        ("deploy.like = \"full\"\ndeploy.web = \"none\"", "deploy.bid_nodes"),
        ("deploy.like = \"full\"\ndeploy.balancer = \"none\"", "deploy.web_nodes"),
        ("deploy.like = \"full\"\ndeploy.balancer_nodes = 2", "deploy.balancer_nodes"),
        ("deploy.like = \"full-ha\"", "deploy.virtual_addresses"),
        ("deploy.like = \"minimal\"\ndeploy.tls = true", "deploy.tls"),
        ("deploy.link_delay_ms = 5", "deploy.link_delay_ms"),
        ("platform = \"moon\"", "platform"),
        ("[[faults]]\nat_s = 1\nact = \"kill\"", "faults[0].unit"),
        ("[[faults]]\nat_s = 1\nunit = \"a\"\nact = \"burn\"", "faults[0].act"),
        ("[[faults]]\nat_s = 1\nunit = \"a\"\nact = \"kill\"\ndelay_ms = 3", "faults[0].delay_ms"),
    ];
    for (text, key) in wrong {
        assert_eq!(refusal(text).0, key, "{text}");
    }
}
