//! The program itself: what it prints, how it refuses, and how a signal ends it.

use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use coalesce_rig::RedisServer;
use reqwest::{Client, StatusCode};
use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines,
    copy_bidirectional,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinSet;
use url::Url;

use crate::fleet::eventually;
use crate::postgres::Postgres;

const PROGRAM: &str = env!("CARGO_BIN_EXE_product-service");

fn program() -> Command {
    let mut command = Command::new(PROGRAM);
    command.env_clear().env("LISTEN", "127.0.0.1:0");
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.stderr(Stdio::null());
    command.kill_on_drop(true);
    command
}

/// Reads on until a line holds this text.
async fn line_with(lines: &mut Lines<BufReader<ChildStdout>>, text: &str) -> String {
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.contains(text) {
            return line;
        }
    }
    panic!("it ended without a line with {text}");
}

async fn signal(child: &Child, name: &str) {
    let pid = child.id().unwrap().to_string();
    let sent = Command::new("kill").args([name, &pid]).status().await;
    assert!(sent.unwrap().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_shows_its_configuration_once_and_ends_in_order_when_it_is_told_to() {
    let (postgres, redis) = (Postgres::shared(), RedisServer::start());
    let database = postgres.new_database().await;
    let mut child = program()
        .env(
            "DATABASE_URL",
            database.replace("postgres@", "postgres:hidden@"),
        )
        .env("REDIS_URL", redis.url())
        .env("ADMIN_TOKEN", "hidden, and long enough")
        .env("DATABASE_DELAY", "1s")
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let configuration = line_with(&mut lines, "DATABASE_URL=").await;
    assert!(
        configuration.contains("postgres:***@127.0.0.1"),
        "{configuration}"
    );
    assert!(!configuration.contains("hidden"), "{configuration}");
    let listening = line_with(&mut lines, "listening on").await;
    let address = listening.rsplit(' ').next().unwrap();
    let client = Client::builder().no_proxy().build().unwrap();
    let url = format!("http://{address}/api/v1/products/1");
    let asked = tokio::spawn(client.get(url).send());
    let metrics = format!("http://{address}/metrics");
    eventually("it reads", async || {
        let page = client.get(&metrics).send().await.unwrap();
        let page = page.text().await.unwrap();
        page.contains("product_database_reads_total 1")
    })
    .await;
    signal(&child, "-TERM").await;
    line_with(&mut lines, "draining").await;
    assert_eq!(asked.await.unwrap().unwrap().status(), StatusCode::OK);
    line_with(&mut lines, "ended in_time=true").await;
    assert!(child.wait().await.unwrap().success());
    assert_eq!(lines.next_line().await.unwrap(), None);
}

/// Starts a replica; its process, and its products.
async fn replica(database: &str, redis: &RedisServer) -> (Child, String) {
    let mut child = program()
        .env("DATABASE_URL", database)
        .env("REDIS_URL", redis.url())
        .env("DATABASE_DELAY", "2s")
        .env("PENDING_TTL", "1s")
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let listening = line_with(&mut lines, "listening on").await;
    let address = listening.rsplit(' ').next().unwrap();
    (child, format!("http://{address}/api/v1/products"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_leader_is_killed_in_the_read_those_who_followed_are_answered() {
    let (postgres, redis) = (Postgres::shared(), RedisServer::start());
    let database = postgres.new_database().await;
    let (mut leader, leading) = replica(&database, &redis).await;
    let (_follower, following) = replica(&database, &redis).await;
    let client = Client::builder().no_proxy().build().unwrap();
    let reads = async |of: &str| {
        let status = client.get(format!("{of}/cache/status")).send().await;
        let status: Value = status.unwrap().json().await.unwrap();
        status["reads"].as_u64().unwrap()
    };
    let lost = tokio::spawn(client.get(format!("{leading}/1")).send());
    eventually("it leads", async || reads(&leading).await == 1).await;
    let begun = Instant::now();
    let mut followers = JoinSet::new();
    for _ in 0..20 {
        followers.spawn(client.get(format!("{following}/1")).send());
    }
    eventually("the other follows", async || redis.channels() == 2).await;
    leader.kill().await.unwrap();
    for answer in followers.join_all().await {
        assert_eq!(answer.unwrap().status(), StatusCode::OK);
    }
    let took = begun.elapsed();
    // Lease, read and a second; times five, as the machine has other things to do.
    assert!(took < Duration::from_secs(5 * 4), "{took:?}");
    assert_eq!(reads(&following).await, 1);
    assert!(lost.await.unwrap().is_err());
}

#[tokio::test]
async fn it_says_everything_that_is_wrong_and_does_not_start() {
    let wrong = program().env("FRESH_TTL", "soon").output().await.unwrap();
    let Output { status, stdout, .. } = wrong;
    let said = String::from_utf8(stdout).unwrap();
    assert!(!status.success());
    assert!(said.contains("FRESH_TTL is `soon`"), "{said}");
    assert!(said.contains("DATABASE_URL is missing"), "{said}");
}

#[tokio::test]
async fn clocks_that_contradict_each_other_are_refused_before_the_first_request() {
    let postgres = Postgres::shared();
    let wrong = program()
        .env("DATABASE_URL", postgres.new_database().await)
        .env("WAIT_TIMEOUT", "1s")
        .output()
        .await;
    let wrong = wrong.unwrap();
    let said = String::from_utf8(wrong.stdout).unwrap();
    assert!(!wrong.status.success());
    assert!(said.contains("wait_timeout"), "{said}");
}

/// What PostgreSQL says to whom comes too early.
const STARTING: &[u8] = b"SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0";

/// A port at which a database is still starting for so many that come, and is there for the next.
async fn still_starting(server: u16, early: usize) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        for number in 0.. {
            let (mut client, _) = listener.accept().await.unwrap();
            if number < early {
                assert!(client.read(&mut [0; 1024]).await.unwrap() > 0);
                client.write_u8(b'E').await.unwrap();
                let length = u32::try_from(STARTING.len() + 4).unwrap();
                client.write_u32(length).await.unwrap();
                client.write_all(STARTING).await.unwrap();
                continue;
            }
            tokio::spawn(async move {
                let mut server = TcpStream::connect(("127.0.0.1", server)).await.unwrap();
                // Either end may go at any time.
                let _ = copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_still_starting_is_waited_for() {
    let (postgres, redis) = (Postgres::shared(), RedisServer::start());
    let mut url: Url = postgres.new_database().await.parse().unwrap();
    let port = still_starting(postgres.port(), 3).await;
    url.set_port(Some(port)).unwrap();
    let mut child = program()
        .env("DATABASE_URL", url.as_str())
        .env("REDIS_URL", redis.url())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    line_with(&mut lines, "listening on").await;
}

/// Where nobody listens.
const NO_DATABASE: &str = "postgres://nobody@127.0.0.1:1/product";

#[tokio::test]
async fn a_database_that_does_not_come_is_waited_for_no_longer_than_it_should_be() {
    let begun = Instant::now();
    let alone = program()
        .env("DATABASE_URL", NO_DATABASE)
        .env("DATABASE_WAIT", "500ms")
        .output()
        .await
        .unwrap();
    let took = begun.elapsed();
    let said = String::from_utf8(alone.stdout).unwrap();
    assert!(!alone.status.success());
    assert!(said.contains("the database: "), "{said}");
    let wait = Duration::from_millis(500);
    assert!(took > wait && took < 20 * wait, "{took:?}");
}

#[tokio::test]
async fn a_start_that_waits_for_its_database_ends_when_it_is_told_to() {
    let mut child = program()
        .env("DATABASE_URL", NO_DATABASE)
        .env("DATABASE_WAIT", "1h")
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    line_with(&mut lines, "DATABASE_URL=").await;
    signal(&child, "-TERM").await;
    line_with(&mut lines, "ended before it had started").await;
    assert!(child.wait().await.unwrap().success());
}
