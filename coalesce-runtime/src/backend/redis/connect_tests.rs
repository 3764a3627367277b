//! Tests of Redis URLs: each form, each problem, and a planted secret that is never shown.

use super::*;

fn parse(url: &str) -> Address {
    Address::parse(url).unwrap_or_else(|problem| panic!("{url}: {problem}"))
}

fn problem(url: &str) -> UrlProblem {
    match Address::parse(url) {
        Ok(_) => panic!("{url} was read"),
        Err(problem) => problem,
    }
}

#[test]
fn a_host_is_enough() {
    let address = parse("redis://cache.internal");
    assert!(address.topology == Topology::Single);
    assert_eq!(address.nodes, [("cache.internal".to_owned(), 6_379)]);
    assert_eq!((address.user, address.password), (None, None));
    assert_eq!((address.database, address.tls), (None, false));
}

#[test]
fn user_password_port_and_database_are_read() {
    let address = parse("redis://app:p%40ss%2Fw%25rd@10.0.0.7:6380/3");
    assert_eq!(address.nodes, [("10.0.0.7".to_owned(), 6_380)]);
    assert_eq!(address.user.as_deref(), Some("app"));
    assert_eq!(address.password.as_deref(), Some("p@ss/w%rd"));
    assert_eq!(address.database, Some(3));
    let default_user = parse("redis://:geheim%C3%9F@[::1]/0");
    assert_eq!(default_user.user, None);
    assert_eq!(default_user.password.as_deref(), Some("geheimß"));
    assert_eq!(default_user.nodes, [("[::1]".to_owned(), 6_379)]);
}

#[test]
fn a_cluster_has_seeds() {
    let address = parse("rediss-cluster://:pw@a:7000?node=b:7001&node=[::1]:7002");
    assert!(address.topology == Topology::Cluster && address.tls);
    let hosts = [("a", 7_000), ("b", 7_001), ("[::1]", 7_002)];
    assert_eq!(
        address.nodes,
        hosts.map(|(host, port)| (host.to_owned(), port))
    );
    assert_eq!(parse("redis-cluster://a/0").database, None);
    assert_eq!(
        parse("redis://a/0").database,
        None,
        "it is nothing to ask for"
    );
}

#[test]
fn sentinels_have_a_service_and_may_have_a_password_of_their_own() {
    let address = parse(
        "redis-sentinel://:pw@s1/2?node=s2:26380&sentinelServiceName=main&sentinelPassword=p%26w",
    );
    let expected = Topology::Sentinel {
        service: "main".to_owned(),
        user: None,
        password: Some("p&w".to_owned()),
    };
    assert!(address.topology == expected);
    let nodes = [("s1".to_owned(), 26_379), ("s2".to_owned(), 26_380)];
    assert_eq!(address.nodes, nodes);
    assert_eq!(address.database, Some(2));
}

/// Each of these has `hunter2` where a password, a user or a typing error would put it.
const WRONG: &[(&str, UrlProblem)] = &[
    ("", UrlProblem::NotAUrl),
    ("hunter2@host", UrlProblem::NotAUrl),
    ("hunter2:6379", UrlProblem::Scheme),
    ("http://:hunter2@host", UrlProblem::Scheme),
    ("redis-hunter2://host", UrlProblem::Scheme),
    ("redis-://host", UrlProblem::Scheme),
    ("redis:///hunter2", UrlProblem::Host),
    ("redis:hunter2", UrlProblem::Host),
    ("redis://:hunter2@", UrlProblem::Host),
    ("redis://host:hunter2", UrlProblem::Port),
    ("redis://:hunter2@host:0", UrlProblem::Port),
    ("redis://:hunter2@host:70000", UrlProblem::Port),
    ("redis://user:hunter2/x@host:6379", UrlProblem::Port),
    ("redis://:hunter2@a:1,b:2", UrlProblem::Port),
    ("redis://:hunter2%ff@host", UrlProblem::Encoding),
    ("redis://:hunter2%4@host", UrlProblem::Encoding),
    ("redis://:hunter2%zz@host", UrlProblem::Encoding),
    ("redis://hunter2@host", UrlProblem::UserWithoutPassword),
    ("redis://hunter2:@host", UrlProblem::UserWithoutPassword),
    ("redis://host/hunter2", UrlProblem::Database),
    ("redis://host/256", UrlProblem::Database),
    ("redis://host/+1", UrlProblem::Database),
    (
        "redis-cluster://:hunter2@host/1",
        UrlProblem::DatabaseInCluster,
    ),
    ("redis://host#hunter2", UrlProblem::Fragment),
    ("redis://host?hunter2=1", UrlProblem::Option),
    ("redis://host?password=hunter2", UrlProblem::Option),
    ("redis://host?node=b:1", UrlProblem::Option),
    (
        "redis-cluster://h?sentinelServiceName=m",
        UrlProblem::Option,
    ),
    ("redis-cluster://host?node=hunter2", UrlProblem::Node),
    ("redis-cluster://host?node=:7000", UrlProblem::Node),
    ("redis-cluster://host?node=b:0", UrlProblem::Node),
    ("redis-sentinel://:hunter2@host", UrlProblem::ServiceName),
    (
        "redis-sentinel://h?sentinelServiceName=",
        UrlProblem::ServiceName,
    ),
];

#[test]
fn every_wrong_url_is_told_what_is_wrong() {
    for (url, expected) in WRONG {
        assert_eq!(problem(url), *expected, "{url}");
    }
}

#[test]
fn no_problem_ever_repeats_the_url() {
    for (url, _) in WRONG {
        let problem = problem(url);
        let shown = format!("{problem} {problem:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(!shown.contains('\n'), "one sentence: {shown}");
    }
}
