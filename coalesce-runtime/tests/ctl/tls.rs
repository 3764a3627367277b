//! Redis behind TLS: who signed its certificate decides whether anything is said to it.

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use coalesce_rig::RedisServer;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::scene::{ctl_at, ctl_with};

/// A server that speaks TLS on `port`, with a certificate of an authority that only `ca.pem` in `folder` knows.
fn start(folder: &Path, port: u16) -> RedisServer {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
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
    RedisServer::start_with(&[
        "--tls-port",
        &port.to_string(),
        "--tls-cert-file",
        &certificate,
        "--tls-key-file",
        &key,
        "--tls-ca-cert-file",
        &ca,
        "--tls-auth-clients",
        "no",
    ])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_whose_certificate_nobody_knows_is_told_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
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
