//! Redis behind TLS: who signed its certificate decides whether anything is said to it.

use std::fs;
use std::path::Path;

use coalesce_rig::{Cluster, RedisServer, Topology as _, eventually, free_port};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::scene::{ctl_at, ctl_with};

/// Settings of servers with a certificate for these names, of an authority that only `ca.pem` in `folder` knows.
fn settings(folder: &Path, names: &[&str]) -> Vec<(&'static str, String)> {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
    let certificate = CertificateParams::new(names).unwrap();
    let certificate = certificate.signed_by(&key, &authority).unwrap();
    let written = [
        ("ca.pem", authority.pem()),
        ("redis.pem", certificate.pem()),
        ("redis.key", key.serialize_pem()),
    ];
    let [ca, certificate, key] = written.map(|(name, text)| {
        let file = folder.join(name);
        fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    });
    vec![
        ("tls-cert-file", certificate),
        ("tls-key-file", key),
        ("tls-ca-cert-file", ca),
        ("tls-auth-clients", "no".to_owned()),
    ]
}

/// A server that speaks TLS on `port`.
fn start(folder: &Path, port: u16) -> RedisServer {
    let mut settings = settings(folder, &["localhost", "127.0.0.1"]);
    settings.push(("tls-port", port.to_string()));
    let options = settings
        .into_iter()
        .flat_map(|(name, value)| [format!("--{name}"), value]);
    let options: Vec<_> = options.collect();
    let options: Vec<_> = options.iter().map(String::as_str).collect();
    RedisServer::start_with(&options)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_whose_certificate_nobody_knows_is_told_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let server = start(folder.path(), port);
    let url = format!("rediss://any:hunter2@127.0.0.1:{port}");
    server.command(&[
        "ACL", "SETUSER", "any", "on", ">hunter2", "~*", "&*", "+@all",
    ]);

    let ca = folder.path().join("ca.pem");
    let trusts = [
        ("COALESCE_REDIS_URL", &*url),
        ("SSL_CERT_FILE", ca.to_str().unwrap()),
    ];
    let said = ctl_with(&trusts, &["status", "--json"]).await;
    assert_eq!(said.code, 0, "{said:?}");

    server.reset_stats();
    let said = ctl_at(url, &["status"]).await;
    assert_eq!(said.code, 3, "{said:?}");
    assert!(!(said.text + &said.complaint).contains("hunter2"));
    // Neither a password nor a question has come through.
    let asked = server.command_stats();
    assert!(
        !asked.contains_key("hello") && !asked.contains_key("auth"),
        "{asked:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_without_tls_is_not_spoken_to_as_if_it_had_it() {
    let server = RedisServer::start();
    let said = ctl_at(format!("rediss://127.0.0.1:{}", server.port()), &["status"]).await;
    assert_eq!(said.code, 3, "{said:?}");
}

/// Nodes of a cluster call each other by their addresses, and certificates know them by their names.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_of_a_cluster_are_connected_to_by_the_names_in_their_certificates() {
    let cluster = Cluster::start_without_replicas();
    let nodes = cluster.servers().into_iter();
    let nodes: Vec<_> = nodes.map(|node| (node, free_port())).collect();
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(folder.path(), &["localhost"]);
    for (node, port) in &nodes {
        let own = [
            ("tls-port", port.to_string()),
            ("cluster-announce-hostname", "localhost".to_owned()),
            ("cluster-announce-port", port.to_string()),
        ];
        let mut words = vec!["CONFIG", "SET"];
        for (name, value) in settings.iter().chain(&own) {
            words.extend([name, value.as_str()]);
        }
        assert_eq!(node.ask(&words), "OK");
    }
    eventually("every node has heard where the others are", || {
        nodes.iter().all(|(node, _)| {
            let slots = node.ask(&["CLUSTER", "SLOTS"]);
            let names = slots.matches("localhost").count();
            let ports = nodes.iter().map(|(_, port)| port.to_string());
            names == nodes.len() && ports.into_iter().all(|port| slots.contains(&port))
        })
    });
    let ca = folder.path().join("ca.pem");
    let url = format!("rediss-cluster://localhost:{}", nodes[0].1);
    let known = [
        ("COALESCE_REDIS_URL", &*url),
        ("SSL_CERT_FILE", ca.to_str().unwrap()),
    ];
    let said = ctl_with(&known, &["status", "--json"]).await;
    assert_eq!(said.code, 0, "{said:?}");
    // Each primary was asked for them.
    assert_eq!(said.json()["processes"], 0, "{said:?}");
}
